"""Scene: all that a view needs to paint one moment."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sdstop.evidence import Outcome
from sdstop.finding import Finding, Severity
from sdstop.history import Window
from sdstop.session import Look, Session
from sdstop.snapshot import Run, Snapshot
from sdstop.tui.palette import Palette

BAD = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.DENIED)
"""Outcomes that leave something unknown."""


class Mode(enum.StrEnum):
    """Where the moment that is shown stands."""

    LIVE = "LIVE"
    PAUSED = "PAUSED"
    REPLAY = "REPLAY"


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of the list of findings.

    `severity` None: unknown. `since` and `until` are Unix seconds. `finding` or `run` is what it opens.
    """

    key: str
    severity: Severity | None
    summary: str
    subject: str
    since: float | None = None
    until: float | None = None
    finding: Finding | None = None
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Scene:
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
    def troubled(self) -> list[Run]:
        """Runs of collectors that leave something unknown."""
        return [run for run in self.now.runs.values() if run.outcome in BAD]

    def since(self) -> dict[str, float]:
        """Return when each finding that is in force began, by its id."""
        began: dict[str, float] = {}
        for episode in self.session.episodes(self.now.taken):
            began[episode.finding.id] = max(episode.since, began.get(episode.finding.id, episode.since))
        return began

    def findings(self) -> list[Claim]:
        """Return the findings in force, worst first."""
        began = self.since()
        return [
            Claim(f.id, f.severity, f.summary, f.subject, began.get(f.id, self.now.taken), None, f)
            for f in self.look.judgement.findings
        ]

    def unknown(self) -> list[Claim]:
        """Return what could not be seen: collectors in trouble, and rules that could not look, by reason."""
        claims = [
            Claim(f"run:{run.collector}", None, f"{run.outcome.value}: {run.reason}", run.collector, run.since, run=run)
            for run in self.troubled
        ]
        said = {run.collector for run in self.troubled}
        reasons: dict[str, list[str]] = {}
        for unchecked in self.look.judgement.unchecked:
            if unchecked.reason.partition(":")[0] not in said:
                reasons.setdefault(unchecked.reason, []).append(unchecked.rule)
        for reason, rules in reasons.items():
            names = sorted(set(rules))
            subject = names[0] if len(names) == 1 else f"{len(names)} rules"
            shown = reason if len(names) == 1 else f"{reason}: {', '.join(names)}"
            claims.append(Claim(f"unchecked:{reason}", None, shown, subject))
        return claims

    def ended(self) -> list[Claim]:
        """Return findings that were in force before the moment looked at, the last first."""
        current = {f.id for f in self.look.judgement.findings}
        claims = [
            Claim(f"ended:{f.id}:{e.since}", f.severity, f.summary, f.subject, e.since, e.until, f)
            for e in self.session.episodes(self.now.taken)
            if (f := e.finding).id not in current and e.until is not None and e.until <= self.now.taken
        ]
        return sorted(claims, key=lambda claim: -(claim.until or 0.0))

    def worst(self) -> dict[str, Severity]:
        """Return the worst severity said of each thing, by subject and by each part of it (`md2/sdc`: sdc)."""
        found: dict[str, Severity] = {}
        for finding in self.look.judgement.findings:
            for name in {finding.subject, finding.subject.rpartition("/")[2]}:
                known = found.get(name)
                if known is None or known.rank < finding.severity.rank:
                    found[name] = finding.severity
        return found

    def counts(self) -> dict[Severity | None, int]:
        """Return how many findings of each severity there are; None counts what is unknown."""
        found: dict[Severity | None, int] = dict.fromkeys((*reversed(Severity), None), 0)
        for finding in self.look.judgement.findings:
            found[finding.severity] += 1
        found[None] = len(self.troubled) + len({u.rule for u in self.look.judgement.unchecked})
        return found
