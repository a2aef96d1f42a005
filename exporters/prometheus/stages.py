"""Stages of data paths as series: where the time of requests goes, of the paths that matter most.

    sdstop_path_stage_own_seconds{path="vmstore/vm01",stage="cache",name="cachedev"} 0.0012

A path with a single known stage is left out, because its figures are those of the disk or volume itself; so is that of
a single disk without a finding.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Annotated, ClassVar

from sdstop.analysis.path import data_path
from sdstop.analysis.path.ranking import RankedPath, ranked_paths
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Window
from sdstop.core.model import Label, Metric, Name, Reading, Unplaced

MOST_PATHS = 6
"""Maximum number of paths."""
PACE = 5.0
"""Seconds after which the stages are computed again: half of the time over which their figures are means."""
AHEAD = 2.5
"""They are computed in this number of samples before an expected page: one can be late."""


class PathStage(Reading, frozen=True):
    """A stage between clients and disks, with its figures over the last ten seconds."""

    family: ClassVar[str] = "path_stage"
    title: ClassVar[str] = "Stages of data paths"
    rows_of = Unplaced("it is derived from several sources")

    path: Annotated[str, Label("Path", "Volume, array, cache, pool or rebuild whose path it is", names=Name.VOLUME)]
    stage: Annotated[
        str,
        Label(
            "Stage",
            "Kind: client, network, limit, rebuild, volume, cache, array, disks, HBA, PCIe, memory, CPU",
            plain=True,
        ),
    ]
    name: Annotated[str, Label("Name", "Things of the stage", names=Name.DEVICE)]
    used: Annotated[
        float | None,
        Metric("Used", "Used share of the capacity of the stage; of disks the share of time that they were busy",
               "ratio"),
    ]  # fmt: skip
    wait: Annotated[float | None, Metric("Wait", "Mean latency of a request at the stage, those below it included",
                                         "seconds")]  # fmt: skip
    own: Annotated[float | None, Metric("Own wait", "Part of the latency of a request that the stage adds itself",
                                        "seconds")]  # fmt: skip
    bytes: Annotated[
        float | None,
        Metric(
            "Rate", "Bytes per second through the stage", "bytes_per_second", name="sdstop_path_stage_bytes_per_second"
        ),
    ]
    requests: Annotated[
        float | None,
        Metric(
            "Requests",
            "Requests per second through the stage",
            "per_second",
            detail=True,
            name="sdstop_path_stage_requests_per_second",
        ),
    ]
    queue: Annotated[float | None, Metric("Queue", "Requests outstanding at the stage", detail=True)]
    full: Annotated[
        bool | None,
        Metric("At limit", "Whether the stage is at its limit", detail=True, name="sdstop_path_stage_at_limit"),
    ]


Stages = Mapping[Hashable, PathStage]


def path_stages(window: Window, findings: Sequence[Finding]) -> Stages:
    """Return the known stages of at most MOST_PATHS paths: those with findings first, then rebuilds and limits.

    Load does not choose between paths: their series stay the same.
    """
    found: dict[Hashable, PathStage] = {}
    names = set[str]()
    named = {name for finding in findings if finding.severity in _ALARMS for name in finding.subjects}
    for ranked in sorted(ranked_paths(window, findings), key=lambda each: _order(each, named)):
        name = ranked.subject.name
        stages = [stage for stage in data_path(window, ranked.subject).stages if stage.known]
        if len(stages) < 2 or name in names or (not _is_chosen(ranked) and _PLAIN.issuperset(s.kind for s in stages)):
            continue
        names.add(name)
        for stage in stages:
            row = _row(name, stage)
            found.setdefault((row.path, row.stage, row.name), row)
        if len(names) == MOST_PATHS:
            break
    return found


_PLAIN = frozenset(
    {StageKind.CLIENT, StageKind.DISKS, StageKind.HOST, StageKind.HBA, StageKind.PCIE, StageKind.MEMORY, StageKind.CPU}
)
"""Kinds of stages that every disk has."""


def _is_chosen(ranked: RankedPath) -> bool:
    """Return whether a finding, a limit or a rebuild speaks for a path."""
    return ranked.severity in _ALARMS or bool(ranked.subject.limits) or ranked.subject.rebuild is not None


_ALARMS = (Severity.WARNING, Severity.CRITICAL)


def _order(ranked: RankedPath, named: Container[str]) -> tuple[int, bool, bool, str]:
    """Return the sort key: severity, paths that a finding names before those with a thing that one names, the name."""
    accused = ranked.severity.rank if ranked.severity in _ALARMS and ranked.severity is not None else 0
    direct = any(name in named for name in ranked.subject.subjects)
    return -accused, not direct, not _is_chosen(ranked), ranked.subject.name


def _row(path: str, stage: Stage) -> PathStage:
    return PathStage(
        path, stage.kind.value, stage.name, stage.used, stage.wait, stage.own, stage.bytes, stage.requests,
        stage.queue, stage.full,
    )  # fmt: skip
