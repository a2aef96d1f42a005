"""Data path of a volume, array, rebuild or mount: where the time of a request goes, from client to medium."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.path.conservation import Imbalance, cluster_mismatches, mismatches
from sdstop.analysis.path.load import Load
from sdstop.analysis.path.network import remote_stages, upper_stages
from sdstop.analysis.path.parts import Layer
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.analysis.path.stages import bus_stages, client_stage, limit_stage, lower_stages
from sdstop.analysis.path.subjects import PathSubject
from sdstop.analysis.rebuilds.rebuilding import rebuild_analyses
from sdstop.core.history import Window
from sdstop.core.joins import Naming, ThingKind
from sdstop.core.thing import Thing
from sdstop.readings.rebuild import Rebuild


class DataPath(Struct, frozen=True):
    """The stages of a path, client first, and the figures of neighboring layers that do not add up."""

    subject: PathSubject
    stages: tuple[Stage, ...]
    mismatches: tuple[Imbalance, ...]

    @property
    def longest(self) -> float:
        """Longest wait of a stage in seconds: the scale that all stages share."""
        return max((stage.wait or 0.0 for stage in self.stages), default=0.0)


def data_path(window: Window, subject: PathSubject, accused: frozenset[str] = frozenset()) -> DataPath:
    """Return the path of one subject, computed once per window.

    Disks whose names are `accused` by a finding are apart from those that are not.
    """
    return window.once(("path", subject.key, accused), lambda: _path(window, subject, accused))


def _path(window: Window, subject: PathSubject, accused: frozenset[str]) -> DataPath:
    stages: list[Stage] = []
    layers: list[Layer] = []
    for stage, own in lower_stages(window, subject.thing, accused):
        stages.append(stage)
        layers += own
    disks = [thing for stage in stages if stage.kind is StageKind.DISKS for thing in stage.things]
    all_data = subject.rebuild is not None or subject.thing.named(Naming.ZFS) is not None
    remote = list(remote_stages(window, disks or [subject.thing]))
    bus = list(bus_stages(window, disks, all_data=all_data))
    found = [each for layer in layers for each in mismatches(window, layer)]
    if _is_of_cluster(subject.thing):
        cluster = subject.thing.name.partition("/")[0]
        found += [each for each in cluster_mismatches(window) if each.lower.partition("/")[0] == cluster]
    head = _head(window, subject)
    return DataPath(subject, (*head, *stages, *remote, *bus), tuple(found))


def _head(window: Window, subject: PathSubject) -> Sequence[Stage]:
    """Return the stages above the subject: clients and limits, or the rebuild."""
    if subject.rebuild is not None:
        return [_rebuild_stage(window, subject.rebuild)]
    if subject.limits:
        return [client_stage(subject.limits[0]), *(limit_stage(known) for known in subject.limits)]
    return list(upper_stages(window, subject.thing, subject.mounts))


def _rebuild_stage(window: Window, row: Rebuild) -> Stage:
    known = next((each for each in rebuild_analyses(window) if each.rebuild == row), None)
    rate = known.pace.rate if known is not None and known.pace is not None else None
    carries = float(row.speed_max) if row.speed_max else None
    used = rate / carries if rate is not None and carries else None
    return Stage(
        kind=StageKind.REBUILD, name=row.operation, load=None if rate is None else Load(write_bytes=rate),
        carries=carries, used=used, full=used is not None and used >= 1 - _NEAR, note=row.state,
        reason="" if rate is not None else "its pace is unknown",
    )  # fmt: skip


_NEAR = 0.1
"""Share below its upper limit at which a rebuild is held by it, as in rebuild-throttled."""


def _is_of_cluster(thing: Thing) -> bool:
    return thing.device is None and not thing.kinds.isdisjoint({ThingKind.VOLUME, ThingKind.POOL, ThingKind.CLUSTER})
