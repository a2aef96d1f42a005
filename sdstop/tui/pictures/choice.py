"""Choice: the picture of a finding, by its rule, then by its view; of a node without findings, its load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sdstop.analysis.caches.state import caches, split
from sdstop.analysis.path import data_path
from sdstop.analysis.path.sentences import serious
from sdstop.core.finding import Finding
from sdstop.core.later import later
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cache_row import cache_row
from sdstop.tui.views.cause import ROLES
from sdstop.tui.views.path_strip import path_of
from sdstop.tui.widgets.palette import Line
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.roles import role

Maker = Callable[[Finding, Scene], Picture | None]
_Later = Callable[..., Picture | None]
_Rows = Callable[..., Sequence[Row]]

array_slots: _Later = later("sdstop.tui.pictures.array_slots:array_slots")
mapped_slots: _Later = later("sdstop.tui.pictures.array_slots:mapped_slots")
cluster_picture: _Later = later("sdstop.tui.pictures.blocks:cluster_picture")
dirty_picture: _Later = later("sdstop.tui.pictures.dirty:dirty_picture")
frame_picture: _Later = later("sdstop.tui.pictures.frames:frame_picture")
health_picture: _Later = later("sdstop.tui.pictures.health:health_picture")
log_picture: _Later = later("sdstop.tui.pictures.kernel_log:log_picture")
limit_picture: _Later = later("sdstop.tui.pictures.limits:limit_picture")
member_heat: _Later = later("sdstop.tui.pictures.members:member_heat")
mtu_picture: _Later = later("sdstop.tui.pictures.packets:mtu_picture")
passed_picture: _Later = later("sdstop.tui.pictures.passed:passed_picture")
pool_picture: _Later = later("sdstop.tui.pictures.pool:pool_picture")
evidence_picture: _Later = later("sdstop.tui.pictures.quoted:evidence_picture")
scaling_picture: _Later = later("sdstop.tui.pictures.scaling:scaling_picture")
slot_picture: _Later = later("sdstop.tui.pictures.slots:slot_picture")
space_picture: _Later = later("sdstop.tui.pictures.space:space_picture")
load_picture: _Later = later("sdstop.tui.pictures.traffic:load_picture")
network_picture: _Later = later("sdstop.tui.pictures.traffic:network_picture")
waiting_picture: _Later = later("sdstop.tui.pictures.waiting:waiting_picture")
summary_rows: _Rows = later("sdstop.tui.views.capacity:summary_rows")
gauge_lines: Callable[..., Sequence[Line]] = later("sdstop.tui.views.gauges:gauge_lines")
mixture_rows: _Rows = later("sdstop.tui.views.mixture:mixture_rows")
mixture_title: Callable[..., str] = later("sdstop.tui.views.mixture:mixture_title")
stage_rows: _Rows = later("sdstop.tui.views.path:stage_rows")


def picture_of(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the first picture that there is data for; None if nothing of the node can be drawn."""
    if finding is not None:
        makers = (*_BY_RULE.get(finding.rule, ()), *_BY_VIEW.get(finding.view, ()), _path, *_REST)
        for make in makers:
            picture = make(finding, scene)
            if picture is not None:
                return picture
    return next((found for make in _QUIET if (found := make(scene)) is not None), None)


def _lines(rows: Iterable[Row], width: int) -> list[Line]:
    return [row.line(width) for row in rows if row.line is not None]


def _path(finding: Finding, scene: Scene) -> Picture | None:
    """Return the stages of the path of a finding's subject, as in the view of paths."""
    strip = path_of(scene, finding)
    if strip is None:
        return None
    subject = strip.path.subject
    path = data_path(scene.window, subject, serious(scene.worst()))

    def draw(width: int, height: int) -> list[Line]:
        return _lines(stage_rows(path, scene, width, height, noted=height > brief), width)

    name = scene.palette.word(subject.name, 60)
    brief, full = (len(stage_rows(path, scene, 200, 99, noted=noted)) for noted in (False, True))
    title = f"Path of {name}: client to medium"
    return Picture(title, draw, tuple(sorted({*range(4, brief + 1), full})), whole=brief, is_path=True)


def _mixture(finding: Finding, scene: Scene) -> Picture | None:
    known = [cache_row(state, scene) for state in caches(scene.window, scene.in_force)]
    named = {finding.subject, finding.view_subject}
    cached = next((row for row in known if not named.isdisjoint(row.names)), None)
    if cached is None or cached.activity is None:
        return None
    if split(cached.activity) is None:
        return dirty_picture(cached, finding)
    title = mixture_title(cached)
    return Picture(title, lambda width, height: _lines(mixture_rows(cached, width, height), width), tuple(range(4, 15)))


def _gauges(finding: Finding, scene: Scene) -> Picture | None:
    """Return the gauges of the node, the pressure that a finding is about in its color; processors give way first."""
    lines = gauge_lines(scene, 80)
    name = ROLES.get(finding.severity)
    style = role(name, bold=True) if name is not None else role("text")

    def draw(width: int, height: int) -> list[Line]:
        lines: Sequence[Line] = gauge_lines(scene, width, _PRESSURES.get(finding.rule, ""), style)
        return list(lines[max(len(lines) - height, 0) :])

    return Picture("Processors, memory and pressure", draw, tuple(range(min(len(lines), 3), len(lines) + 1)))


_PRESSURES = {"load-unexplained": "io", "io-stalled": "io", "memory-short": "memory"}
"""Resource for which tasks wait, by the rule that finds it."""


_SUMMARY = 2
"""Minimum lines of a summary of clusters."""


def _cluster(_: Finding, scene: Scene) -> Picture | None:
    return _clusters(scene)


def _clusters(scene: Scene) -> Picture | None:
    """Return the summary of the clusters, None if there is too little to say."""
    rows = summary_rows(scene, 80, findings=False)
    if len(rows) < _SUMMARY:
        return None
    return Picture(
        "Clusters",
        lambda width, height: _lines(summary_rows(scene, width, findings=False)[:height], width),
        tuple(range(min(len(rows), 3), len(rows) + 1)),
    )


_QUIET: Sequence[Callable[[Scene], Picture | None]] = (
    lambda scene: load_picture(None, scene),
    _clusters,
    lambda scene: pool_picture(None, scene),
    lambda scene: space_picture(None, scene),
    passed_picture,
)
"""Pictures of a node without findings, by precedence."""
_BY_RULE: dict[str, Sequence[Maker]] = {
    "stripe-convoy": (member_heat,),
    "hot-stripe-member": (member_heat,),
    "slow-stripe-member": (member_heat,),
    "slow-device": (member_heat,),
    "mtu-misaligned": (frame_picture,),
    "cache-sub-block-io": (frame_picture,),
    "cache-errors": (evidence_picture,),
    "cache-bypassed": (frame_picture,),
    "dimm-too-few-channels": (slot_picture,),
    "dimm-unequal-sockets": (slot_picture,),
    "dimm-below-rated-speed": (slot_picture,),
    "dimm-mixed": (slot_picture,),
    "memory-errors": (slot_picture,),
    "memory-missing": (slot_picture,),
    "scaling-poor": (scaling_picture,),
    "unstable-device-path": (cluster_picture,),
    "zero-padding-off": (cluster_picture,),
    "spare-below-fault-set": (cluster_picture,),
    "capacity-near-full": (cluster_picture,),
    "cluster-degraded": (cluster_picture, _cluster),
    "mdm-no-redundancy": (_cluster,),
    "no-spare-left": (array_slots, cluster_picture),
    "array-degraded": (array_slots,),
    "data-mismatch": (array_slots, mapped_slots),
    "rebuild-stalled": (array_slots,),
    "volume-degraded": (mapped_slots,),
    "volume-qos-saturated": (limit_picture,),
    "qos-multiplied": (limit_picture,),
    "qos-partial": (limit_picture,),
    "volume-below-promise": (limit_picture,),
    "device-saturated": (load_picture,),
    "disk-failing": (health_picture,),
    "disk-worn": (health_picture,),
    "disk-hot": (health_picture,),
    "disk-link-errors": (health_picture,),
    "raid-volume-degraded": (health_picture,),
    "cache-unprotected": (health_picture,),
    "filesystem-full": (space_picture,),
    "thin-pool-filling": (space_picture,),
    "snapshot-filling": (space_picture,),
    "volume-group-partial": (space_picture,),
    "volume-unhealthy": (mapped_slots, space_picture),
    "kernel-io-errors": (log_picture,),
    "kernel-faults": (log_picture,),
    "filesystem-errors": (log_picture,),
    "filesystem-readonly": (log_picture, space_picture),
    "session-down": (_path,),
    "mtu-mismatch": (mtu_picture,),
    "zfs-small-blocks": (pool_picture,),
    "scrub-overdue": (pool_picture,),
    "path-mtu-shrunk": (mtu_picture,),
    "memory-short": (_gauges,),
    "load-unexplained": (_gauges,),
    "tasks-stuck": (waiting_picture, _gauges),
    "io-stalled": (waiting_picture, _gauges),
}
_REST: Sequence[Maker] = (pool_picture, evidence_picture, load_picture)
"""Pictures of a finding that no other can draw."""
_BY_VIEW: dict[str, Sequence[Maker]] = {
    "caches": (frame_picture, _mixture),
    "network": (network_picture,),
    "cluster": (cluster_picture, _cluster),
    "volumes": (limit_picture,),
    "host": (_gauges,),
}
