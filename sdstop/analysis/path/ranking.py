"""Order of data paths: those that findings accuse first, then limits and rebuilds, then the longest queues."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from msgspec import Struct

from sdstop.analysis.latest import latest_rows
from sdstop.analysis.path.subjects import PathSubject, path_subjects
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity


class RankedPath(Struct, frozen=True):
    """A path with the worst finding about its things, and the load of its subject in the last sample."""

    subject: PathSubject
    severity: Severity | None
    rule: str
    load: DiskActivity | None

    @property
    def urgency(self) -> tuple[int, bool, float, float]:
        """Sort key, worst last: severity, limits and rebuilds, the wait at the limit, outstanding requests."""
        rank = -1 if self.severity is None else self.severity.rank
        queue = self.load.queue if self.load is not None else None
        special = bool(self.subject.limits) or self.subject.rebuild is not None
        at_limit = max((known.split.limit or 0.0 for known in self.subject.limits), default=0.0)
        return rank, special, at_limit, queue or 0.0


def ranked_paths(window: Window, findings: Iterable[Finding]) -> list[RankedPath]:
    """Return all paths of a node, the most urgent first; a path itself is computed only when it is shown."""
    accused = _accused(window, findings)
    activity = latest_rows(window, DiskActivity)[0]
    found = []
    for subject in path_subjects(window):
        known = [each for key in (*subject.subjects, subject.thing) if (each := accused.get(key)) is not None]
        severity, rule = max(known, key=lambda each: each[0].rank, default=(None, ""))
        load = activity.get(subject.thing.device) if subject.thing.device is not None else None
        found.append(RankedPath(subject, severity, rule, load))
    return sorted(found, key=lambda each: each.urgency, reverse=True)


def _accused(window: Window, findings: Iterable[Finding]) -> dict[Hashable, tuple[Severity, str]]:
    """Return the worst finding by subject, and by thing: a finding about a disk counts for all that is built on it."""
    topology, found = window.topology, dict[Hashable, tuple[Severity, str]]()
    for finding in sorted(findings, key=lambda each: -each.severity.rank):
        mark = finding.severity, finding.rule
        for name in finding.subjects:
            found.setdefault(name, mark)
            thing = topology.find(name)
            todo = [thing] if thing is not None else []
            for each in todo:  # grows while it is read: everything above a marked thing is marked
                if each not in found:
                    found[each] = mark
                    todo += topology.upper(each)
    return found
