"""Scene: everything a view needs to paint one moment."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from sdstop.analysis.disks.array_states import array_states
from sdstop.analysis.disks.drives import DriveState, drives
from sdstop.analysis.disks.fold_queues import queue_courses
from sdstop.analysis.disks.likeness import device_folds
from sdstop.analysis.disks.recent_activity import totals
from sdstop.analysis.latest import latest_rows
from sdstop.analysis.load_course import LoadCourse, LoadMetric
from sdstop.analysis.path import data_path
from sdstop.analysis.path.ranking import ranked_paths
from sdstop.analysis.tasks.stalled import EXPLAINED_BY, LOAD_RULE
from sdstop.core.account import NOT_UNDERSTOOD, not_understood
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, worst_by_subject
from sdstop.core.finding_order import by_cause
from sdstop.core.headline import NOT_YET, UNSURE, Headline, named, reason_of
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.session import Look, Session
from sdstop.core.snapshot import Run, Snapshot
from sdstop.tui.widgets.palette import Palette

R = TypeVar("R", bound=Reading)

_DRAWN = 60
"""Number of lines of devices that most screens have room for."""
BAD = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.UNREAD, Outcome.DENIED)
"""Outcomes that leave something unknown."""


class Mode(enum.StrEnum):
    """Relation of the displayed moment to the newest one."""

    LIVE = "LIVE"
    PAUSED = "PAUSED"
    REPLAY = "REPLAY"


class FindingEntry(Struct, frozen=True):
    """An entry of the list of findings.

    `severity` None means unknown; `calm` is set if that is expected, `early` if more time is all it needs, `faulty` if
    it makes the result of a check unknown. `since` and `until` are Unix seconds, `began` and `ended` the same times in
    monotonic seconds. The entry opens `finding` or `run`.
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
    early: bool = False
    faulty: bool = False

    @property
    def title(self) -> str:
        """Title of the finding; without one, the name of its rule in capitals."""
        if self.finding is not None:
            return self.finding.title or self.finding.rule.replace("-", " ").upper()[:40]
        return "NO USABLE DATA" if self.run is not None else "NOT CHECKED"

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subject, and those of the findings that are folded in it."""
        return self.finding.subjects if self.finding is not None else (self.subject,)

    def lasted(self, now: float) -> float | None:
        """Return the duration in seconds until `now` (monotonic seconds) or the end; None if unknown."""
        return None if self.began is None else max((now if self.ended is None else self.ended) - self.began, 0.0)


class Checks(Struct, frozen=True):
    """Numbers of rules without a finding, at a moment: those that passed, and those with nothing to check here."""

    passed: int
    not_applicable: int


class Scene(Struct, frozen=True):
    """One moment of a session; `behind` is its distance from the newest moment in seconds."""

    look: Look
    session: Session
    palette: Palette
    mode: Mode = Mode.LIVE
    behind: float = 0.0
    interval: float = 1.0
    silent: float | None = None
    """Seconds since the last output of the sampler, None unless that is too long."""
    trouble: str = ""
    """Reason for the silence, "" if unknown."""
    late: int = 0
    """Frames that were not judged because newer ones were waiting."""
    sought: float | None = None
    """Unix time of the frame that was selected and is being judged."""
    course: LoadCourse | None = None
    speed: float = 0.0
    """Multiple of the recorded speed at which a capture plays, 0 if it does not."""
    ahead: float | None = None
    """Position of the playback or of the frame that is being judged in monotonic seconds, None if it is this one."""
    zoom: float | None = None
    """Seconds on the time bar, None for all that are held."""
    metric: LoadMetric = LoadMetric.THROUGHPUT
    """Metric of the load above the time axis."""

    @property
    def position(self) -> float:
        """Position of the playhead in monotonic seconds."""
        return self.now.monotonic if self.ahead is None else self.ahead

    @property
    def window(self) -> Window:
        """Window that ends at this moment."""
        return self.look.window

    @property
    def now(self) -> Snapshot:
        """Snapshot of this moment."""
        return self.look.window.now

    @property
    def in_force(self) -> tuple[Finding, ...]:
        """Findings active at this moment, about each single thing, too."""
        return self.look.judgement.every

    def rows(self, family: type[R]) -> tuple[Mapping[Hashable, R], bool]:
        """Return a family's rows and whether they are stale: from the last good run of a source that fails now."""
        return latest_rows(self.window, family)

    def drives(self) -> dict[str, DriveState]:
        """Return every block device by name."""
        return drives(self.window, self.in_force)

    @property
    def headline(self) -> Headline:
        """The same line and exit code as of a check at this moment."""
        return self.session.headline(self.look.judgement, self.look)

    @property
    def troubled(self) -> list[Run]:
        """Collector runs that leave something unknown."""
        return [run for run in self.now.runs.values() if run.outcome in BAD]

    def unseen(self, sources: Iterable[str]) -> str:
        """Return in one line which of these sources are incomplete, and why; "" if all are complete."""
        said, unrecorded = [], []
        for name in sources:
            run = self.now.runs.get(name)
            if run is None:
                said.append(f"{name}: {NOT_YET}")
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
        """Return the latest episode of each finding that began by this moment, keyed by finding id."""
        latest: dict[str, Episode] = {}
        for episode in self.session.episodes(self.now.monotonic):
            known = latest.get(episode.finding.id)
            if known is None or known.began < episode.began:
                latest[episode.finding.id] = episode
        return latest

    def findings(self) -> list[FindingEntry]:
        """Return entries for the active findings, worst first."""
        known = self.episodes()
        entries = []
        for f in self.look.judgement.findings:
            episode = known.get(f.id)
            if episode is None and self.look.provisional:
                entries.append(FindingEntry(f.id, f.severity, f.summary, f.subject, finding=f))
                continue
            since, began = (episode.since, episode.began) if episode else (self.now.taken, self.now.monotonic)
            entries.append(FindingEntry(f.id, f.severity, f.summary, f.subject, since, None, f, began=began))
        return entries

    def unknown(self) -> list[FindingEntry]:
        """Return entries for failed collectors, and for unchecked rules grouped by reason.

        Those that make the result of a check unknown (`faulty`) are first, those that are expected (`calm`) last. The
        list is made once per judgement.
        """
        return self.window.once(("unknown", id(self.look.judgement)), self._unknown)

    def _unknown(self) -> list[FindingEntry]:
        entries = [
            FindingEntry(
                f"run:{r.collector}",
                None,
                f"{r.outcome}: {r.reason}",
                r.collector,
                r.since,
                run=r,
                began=r.began,
                faulty=r.outcome is not Outcome.DENIED,
            )
            for r in self.troubled
        ]
        doubt = self.session.doubt(self.look)
        entries += [FindingEntry("doubt", None, doubt, self.session.origin.name, faulty=True)] if doubt else []
        unread = not_understood(self.session.origin, self.now)
        entries += [FindingEntry(f"unread:{key}", None, why, key, faulty=True) for key, why in unread.items()]
        said = {run.collector for run in self.troubled}
        reasons: dict[tuple[bool, str], list[Unchecked]] = {}
        for unchecked in self.look.judgement.unchecked:
            if unchecked.reason.partition(":")[0] not in said:
                reason = reason_of(unchecked) if unchecked.gap is Gap.UNRECORDED else unchecked.reason
                reasons.setdefault((unchecked.calm, reason), []).append(unchecked)
        for (calm, reason), verdicts in sorted(reasons.items(), key=lambda item: item[0][0]):
            names = sorted({verdict.rule for verdict in verdicts})
            early = all(verdict.gap is Gap.EARLY for verdict in verdicts)
            faulty = any(verdict.gap in UNSURE for verdict in verdicts)
            subject = names[0] if len(names) == 1 else f"{len(names)} rules"
            shown = reason if len(names) == 1 else f"{reason}: {', '.join(names)}"
            entries.append(
                FindingEntry(f"unchecked:{reason}", None, shown, subject, calm=calm, early=early, faulty=faulty)
            )
        others = [key for key in self.now.unread if key not in unread]
        if others and not self.session.origin.live:
            subject = others[0] if len(others) == 1 else f"{len(others)} outputs"
            entries.append(FindingEntry("unread", None, f"{NOT_UNDERSTOOD}: {named(others)}", subject, calm=True))
        return sorted(entries, key=lambda entry: (entry.calm, not entry.faulty, entry.early))

    @property
    def is_settled(self) -> bool:
        """Whether each unknown is expected, or only needs more time, and each device has a verdict."""
        return not self.headline.unjudged and all(entry.calm or entry.early for entry in self.unknown())

    def ended(self) -> list[FindingEntry]:
        """Return entries for findings that ended by this moment, the most recently ended first."""
        current = {f.id for f in self.look.judgement.findings}
        entries = [
            FindingEntry(f"ended:{e.finding.id}:{e.began}", e.finding.severity, e.finding.summary, e.finding.subject,
                         e.since, e.until, e.finding, began=e.began, ended=e.ended)
            for e in self.session.episodes(self.now.monotonic)
            if e.finding.id not in current and None not in {e.until, e.ended} and (e.ended or 0) <= self.now.monotonic
        ]  # fmt: skip
        return sorted(entries, key=lambda entry: -(entry.ended or 0.0))

    def worst(self) -> dict[str, Severity]:
        """Return the worst severity by subject and by each part of a subject (`md2/sdc`: also sdc)."""
        return worst_by_subject(self.in_force)

    def checks(self) -> Checks:
        """Return how many rules passed and how many do not apply to this node."""
        judgement = self.look.judgement
        failed = {finding.rule for finding in judgement.singles}
        open_ = {unchecked.rule for unchecked in judgement.unchecked if not unchecked.calm}
        passed = {each.rule for each in judgement.ruled_out} - failed - open_
        rules = {rule.id for rule in self.session.rules}
        return Checks(len(passed), len(rules - passed - failed - open_))

    @property
    def is_load_explained(self) -> bool:
        """Whether the load of the node is high, and findings account for it."""
        passed = self.look.judgement.ruled_out
        return any(each.rule == LOAD_RULE and EXPLAINED_BY in each.summary for each in passed)

    def counts(self) -> dict[Severity | None, int]:
        """Return the number of findings per severity, counting a cause and everything it explains as one.

        The key None counts unexpected unknowns, the number that the view of all findings lists.
        """
        found: dict[Severity | None, int] = dict.fromkeys((*reversed(Severity), None), 0)
        for led in by_cause(self.look.judgement.findings):
            if not led.follows:
                found[led.severity] += 1
        found[None] = sum(not entry.calm for entry in self.unknown())
        return found


def prepared(look: Look) -> None:
    """Make what most views need of a moment, so that it is painted faster; the window keeps it."""
    window, findings = look.window, look.judgement.every
    drives(window, findings)
    array_states(window, findings)
    totals(window)
    queue_courses(device_folds(window, findings)[:_DRAWN], window)
    for path in ranked_paths(window, findings)[:1]:
        data_path(window, path.subject)
