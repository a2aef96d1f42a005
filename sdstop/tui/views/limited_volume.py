"""A volume with one of its limits at a moment: the rows of the view of volumes."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from sdstop.analysis.limits.limiting import LimitAnalysis, LimitedWait, limit_analyses
from sdstop.core.finding import Severity
from sdstop.core.model import Reading
from sdstop.readings.cluster import ClusterVolume
from sdstop.readings.limit import Limit, LimitUse
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene


class LimitedVolume(Struct, frozen=True):
    """A volume with one of its limits, or without any; `longest` is the scale of waits in seconds."""

    scene: Scene
    name: str
    known: LimitAnalysis | None
    volume: ClusterVolume | None
    severity: Severity | None
    longest: float

    @property
    def limit(self) -> Limit | None:
        """The limit."""
        return self.known.limit if self.known is not None else None

    @property
    def iops(self) -> float | None:
        """Completed requests per second."""
        if self.known is not None and self.known.requests is not None:
            return self.known.requests
        return _sum(self.volume, "reads", "writes")

    @property
    def bytes(self) -> float | None:
        """Completed bytes per second."""
        if self.known is not None and self.known.bytes is not None:
            return self.known.bytes
        return _sum(self.volume, "read", "write")

    @property
    def iops_share(self) -> float | None:
        """Used share of the IOPS limit."""
        limit = self.limit
        if limit is None or not limit.iops or self.known is None or self.known.requests is None:
            return None
        return self.known.requests * limit.weight(self.known.size) / limit.iops

    @property
    def bytes_share(self) -> float | None:
        """Used share of the bandwidth limit."""
        limit = self.limit
        if limit is None or not limit.bandwidth or self.known is None or self.known.bytes is None:
            return None
        return self.known.bytes / limit.bandwidth

    @property
    def shared(self) -> bool:
        """Whether the numbers cover several mappings together and are only upper bounds for this one."""
        return self.known is not None and not self.known.certain

    @property
    def at_limit(self) -> float | None:
        """Share of the time at the limit."""
        if self.known is None:
            return None
        return self.known.maybe_at_limit if self.shared else self.known.at_limit

    @property
    def wait(self) -> float | None:
        """Mean time of a request in seconds, including the limit's part if known."""
        if self.split is not None and self.split.wait is not None:
            return self.split.wait
        if self.split is not None and self.split.disks is not None:
            return self.split.disks
        return _mean(self.volume)

    @property
    def split(self) -> LimitedWait | None:
        """The wait and its parts, as on the volume's path."""
        return self.known.split if self.known is not None else None

    @property
    def least(self) -> bool:
        """Whether the wait and the limit's part are lower bounds."""
        return self.split is not None and self.split.least

    @property
    def urgency(self) -> tuple[int, float, float, float]:
        """Sort key, worst first: severity, time at the limit, wait caused by the limit, used share."""
        rank = -1 if self.severity is None else self.severity.rank
        own = self.split.limit if self.split is not None else None
        share = max(self.iops_share or 0.0, self.bytes_share or 0.0)
        proven = self.known.at_limit if self.known is not None else None
        return rank, proven or 0.0, own or 0.0, share

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        parts: list[tuple[type[Reading], Hashable]] = []
        if self.limit is not None:
            key = (self.limit.volume, self.limit.owner, self.limit.kind, self.limit.direction)
            parts += [(Limit, key), (LimitUse, key)]
        if self.volume is not None:
            parts.append((ClusterVolume, (self.volume.cluster, self.volume.volume)))
        return FactSubject(self.name, tuple(parts))


def _sum(volume: ClusterVolume | None, *fields: str) -> float | None:
    known = [getattr(volume, field) for field in fields] if volume is not None else []
    return None if not known or any(value is None for value in known) else float(sum(known))


def _mean(volume: ClusterVolume | None) -> float | None:
    if volume is None:
        return None
    pairs = ((volume.read_wait, volume.reads), (volume.write_wait, volume.writes))
    known = [(time, count) for time, count in pairs if time is not None and count]
    total = sum(count for _, count in known)
    return sum(time * count for time, count in known) / total if total else None


def limited_volumes(scene: Scene) -> list[LimitedVolume]:
    """Return every limit with its use, then the volumes without a limit."""
    volumes = list(scene.rows(ClusterVolume)[0].values())
    by_name = {row.volume: row for row in volumes}
    worst = scene.worst()

    def said(name: str, limit: Limit | None = None) -> Severity | None:
        """Return the worst severity of a volume or of its limit for one owner."""
        told = [worst[s] for s in (f"vol:{name}", limit.subject if limit is not None else "") if s in worst]
        return max(told, key=lambda severity: severity.rank, default=None)

    found = limit_analyses(scene.window)
    waits = [known.split.wait or known.split.disks or 0.0 for known in found]
    longest = max([*waits, *(_mean(row) or 0.0 for row in volumes)], default=0.0)
    limited = [
        LimitedVolume(
            scene,
            known.limit.volume,
            known,
            by_name.get(known.limit.volume),
            said(known.limit.volume, known.limit),
            longest,
        )
        for known in found
    ]
    named = {item.name for item in limited}
    others = [row for row in volumes if row.volume not in named]
    return limited + [LimitedVolume(scene, r.volume, None, r, said(r.volume), longest) for r in others]
