"""Scene: all that a view needs to paint one moment."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from sdstop.analysis.drives import DriveState, drives
from sdstop.analysis.latest import latest_rows
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Finding, Severity, by_cause, worst_by_subject
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.session import Look, Session
from sdstop.core.snapshot import Run, Snapshot
from sdstop.tui.widgets.palette import Palette

R = TypeVar("R", bound=Reading)

BAD = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.DENIED)
"""Outcomes that leave something unknown."""


class Mode(enum.StrEnum):
    """Where the moment that is shown stands."""

    LIVE = "LIVE"
    PAUSED = "PAUSED"
    REPLAY = "REPLAY"


class FindingEntry(Struct, frozen=True):
    """A line of the list of findings.

    `severity` None: unknown, and `calm` if nothing is at fault for that. `since` and `until` are Unix seconds,
    `began` and `ended` the same in monotonic ones.
    `finding` or `run` is what it opens.
    """

    key: str
    severity: Severity | None
    summary: str
    subject: str
    since: float | None = None
    until: float | None = None
    finding: Finding | None = None
    run: Run | None = None
    began: float | None = None
    ended: float | None = None
    calm: bool = False

    def lasted(self, now: float) -> float | None:
        """Return for how many seconds it was so by a moment (monotonic seconds); None where nobody knows."""
        return None if self.began is None else max((now if self.ended is None else self.ended) - self.began, 0.0)


class Scene(Struct, frozen=True):
    """One moment of a session. `behind` is how many seconds it lies before the newest."""

    look: Look
    session: Session
    palette: Palette
    mode: Mode = Mode.LIVE
    behind: float = 0.0
    interval: float = 1.0
    silent: float | None = None
    """Seconds for which the sampler has said nothing, where that is too long."""
    trouble: str = ""
    """Why, as far as that is known."""

    @property
    def window(self) -> Window:
        """The window that ends at the moment."""
        return self.look.window

    @property
    def now(self) -> Snapshot:
        """The snapshot looked at."""
        return self.look.window.now

    @property
    def in_force(self) -> tuple[Finding, ...]:
        """The findings at the moment."""
        return self.look.judgement.findings

    def rows(self, family: type[R]) -> tuple[Mapping[Hashable, R], bool]:
        """Return a family's rows, and whether they are stale: those of the last good run of a source that fails now."""
        return latest_rows(self.window, family)

    def drives(self) -> dict[str, DriveState]:
        """Return every block device by name."""
        return drives(self.window, self.in_force)

    @property
    def troubled(self) -> list[Run]:
        """Runs of collectors that leave something unknown."""
        return [run for run in self.now.runs.values() if run.outcome in BAD]

    def unseen(self, sources: Iterable[str]) -> str:
        """Return what keeps these sources from saying that there is nothing, in one line; "" if each has looked."""
        said, unrecorded = [], []
        for name in sources:
            run = self.now.runs.get(name)
            if run is None:
                said.append(f"{name}: not answered yet")
            elif run.outcome in BAD:
                said.append(f"{name}: {run.outcome}: {run.reason}")
            elif run.partial or (not run.recorded and self.session.origin.live):
                said.append(f"{name}: {run.reason}")
            elif not run.recorded:
                unrecorded.append(name)
        if unrecorded:
            said.append(f"not recorded: {', '.join(unrecorded)}")
        return "; ".join(said)

    def episodes(self) -> dict[str, Episode]:
        """Return the latest episode of each finding that had begun by this moment, by its id."""
        latest: dict[str, Episode] = {}
        for episode in self.session.episodes(self.now.monotonic):
            known = latest.get(episode.finding.id)
            if known is None or known.began < episode.began:
                latest[episode.finding.id] = episode
        return latest

    def findings(self) -> list[FindingEntry]:
        """Return the findings in force, worst first."""
        known = self.episodes()
        entries = []
        for f in self.in_force:
            episode = known.get(f.id)
            since, began = (episode.since, episode.began) if episode else (self.now.taken, self.now.monotonic)
            entries.append(FindingEntry(f.id, f.severity, f.summary, f.subject, since, None, f, began=began))
        return entries

    def unknown(self) -> list[FindingEntry]:
        """Return what could not be seen: collectors in trouble, and rules that could not look, by reason.

        What none could see here comes last, and is no trouble.
        """
        entries = [
            FindingEntry(
                f"run:{r.collector}", None, f"{r.outcome}: {r.reason}", r.collector, r.since, run=r, began=r.began
            )
            for r in self.troubled
        ]
        said = {run.collector for run in self.troubled}
        reasons: dict[tuple[bool, str], list[str]] = {}
        for unchecked in self.look.judgement.unchecked:
            if unchecked.reason.partition(":")[0] not in said:
                reasons.setdefault((unchecked.calm, unchecked.reason), []).append(unchecked.rule)
        for (calm, reason), rules in sorted(reasons.items(), key=lambda item: item[0][0]):
            names = sorted(set(rules))
            subject = names[0] if len(names) == 1 else f"{len(names)} rules"
            shown = reason if len(names) == 1 else f"{reason}: {', '.join(names)}"
            entries.append(FindingEntry(f"unchecked:{reason}", None, shown, subject, calm=calm))
        return entries

    def ended(self) -> list[FindingEntry]:
        """Return findings that were in force before the moment looked at, the last first."""
        current = {f.id for f in self.in_force}
        entries = [
            FindingEntry(f"ended:{e.finding.id}:{e.began}", e.finding.severity, e.finding.summary, e.finding.subject,
                         e.since, e.until, e.finding, began=e.began, ended=e.ended)
            for e in self.session.episodes(self.now.monotonic)
            if e.finding.id not in current and e.ended is not None and e.ended <= self.now.monotonic
        ]  # fmt: skip
        return sorted(entries, key=lambda entry: -(entry.ended or 0.0))

    def worst(self) -> dict[str, Severity]:
        """Return the worst severity said of each thing, by subject and by each part of it (`md2/sdc`: sdc)."""
        return worst_by_subject(self.in_force)

    def counts(self) -> dict[Severity | None, int]:
        """Return how many findings of each severity there are, a cause with all it explains as one.

        None: what is unknown and should not be, as many as the view of all findings has lines of it.
        """
        found: dict[Severity | None, int] = dict.fromkeys((*reversed(Severity), None), 0)
        for led in by_cause(self.in_force):
            if not led.follows:
                found[led.severity] += 1
        found[None] = sum(not entry.calm for entry in self.unknown())
        return found
