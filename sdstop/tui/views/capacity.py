"""Cluster summary: leader, used capacity, spare compared with the largest failure domain, and rebuilds."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator

from rich.segment import Segment

from sdstop.analysis.clusters.tree import about, pools, rebuilds
from sdstop.analysis.rebuilds.rebuilding import rebuild_analyses
from sdstop.collectors.ceph.readings import CephCheck
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterHeal, GlusterVolume
from sdstop.collectors.pacemaker.readings import RESOURCE_STATES, ClusterResource, CorosyncLink
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, done, duration, natural, number, quantity
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterPool, FailureDomain
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted
from sdstop.tui.views.ceph_rows import ceph_rows
from sdstop.tui.why import entry_mark
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, MARKS, OTHER, PLAIN, STRONG, Line, Palette, text
from sdstop.tui.widgets.pane import Row, words

_NAME = 12
"""Cells."""
_SHADES = ("█", "░", "▒"), ("=", ".", "#")
"""Glyphs of used, free and spare capacity."""
_SURE = 0.5
"""Minimum confidence for an ETA without `about`."""
_RULE = "spare-below-fault-set"


def summary_rows(scene: Scene, width: int, *, findings: bool = True) -> list[Row]:
    """Return the rows of all clusters with their pools, the findings about them if wanted, and of all rebuilds."""
    found: list[Row] = []
    known = sorted(scene.rows(Cluster)[0].values(), key=lambda row: natural(row.cluster))
    for cluster in known:
        own = [pool for pool in pools(scene.window) if pool.cluster == cluster.cluster]
        found += _cluster(cluster, scene)
        for pool in own:
            found += _pool(pool, scene, width)
        names = {cluster.cluster, *(pool.name for pool in own)}
        names |= {f"{row.cluster}/{row.resource}" for row in _resources_of(cluster, scene)}
        names |= {f"{row.cluster}/link{row.link}" for row in scene.rows(CorosyncLink)[0].values()}
        names |= {row.volume for row in _volumes_of(cluster, scene)}
        names |= {row.name for row in scene.rows(CephCheck)[0].values() if row.cluster == cluster.cluster}
        found += _entries(names, scene) if findings else ()
    for rebuild in rebuilds(scene.window):
        found += _rebuild(rebuild, scene, width)
    return found


def _entries(names: set[str], scene: Scene) -> Iterator[Row]:
    """Yield the warnings and critical findings about a cluster and its pools."""
    palette = scene.palette
    for entry in scene.findings():
        if not names.isdisjoint(entry.subjects) and entry.severity in MARKS:
            said = text((f" {palette.word(entry.subject, 30)} ", STRONG), palette.word(entry.summary, 400))
            yield words((*text(" "), *entry_mark(entry, palette), *said), entry.key, entry)


def _cluster(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    palette = scene.palette
    word = palette.word
    severity = scene.worst().get(cluster.cluster) or (Severity.WARNING if cluster.healthy == 0 else None)
    style = PLAIN if severity is None else palette.severity(severity)
    thing = FactLink(FactSubject(cluster.cluster, ((Cluster, cluster.cluster),)))
    facts = [word(fact, 60) for fact in (cluster.version or cluster.kind, cluster.state) if fact]
    if cluster.nodes is not None:
        facts.append(f"{_of(cluster.nodes_up, cluster.nodes)} {'servers' if cluster.kind == 'gluster' else 'nodes'}")
    name = word(cluster.cluster, 40)
    line = text((f" {name} ", style + STRONG), (f" {palette.dot} ".join(facts), FAINT if severity is None else style))
    yield words(line, ("cluster", cluster.cluster), thing, name)
    if cluster.managers is not None:
        voters = "nodes online" if cluster.kind == "pacemaker" else "managers"
        said = f"{_of(cluster.managers_up, cluster.managers)} {voters}"
        if cluster.replicas is not None:
            said += f", {_of(cluster.replicas_up, cluster.replicas)} copies"
        if cluster.leader:
            said += f", led by {word(cluster.leader, 30)}"
        if cluster.tolerates is not None:
            said += f", {cluster.tolerates or 'no'} more can fail"
        bad = next(iter(about(scene.in_force, cluster.cluster, "mdm-")), None)
        mark = PLAIN if bad is None else palette.severity(bad.severity)
        yield words(text((f" {'quorum':<{_NAME}} ", FAINT), (said, mark)), ("quorum", cluster.cluster), thing)
    if cluster.degraded or cluster.failed:
        said = f"{bytes_(cluster.degraded)} degraded, {bytes_(cluster.failed)} unavailable"
        yield words(text((f" {'data':<{_NAME}} ", FAINT), (said, style)), ("data", cluster.cluster), thing)
    yield from _links(cluster, scene)
    yield from _resources(cluster, scene)
    yield from _volumes(cluster, scene)
    yield from ceph_rows(cluster, scene, _NAME)


def _resources_of(cluster: Cluster, scene: Scene) -> list[ClusterResource]:
    return [row for row in scene.window.rows(ClusterResource).values() if row.cluster == cluster.cluster]


def _resources(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    """Yield the resources of a high-availability cluster and their nodes, unhealthy ones first."""
    palette = scene.palette
    known = _resources_of(cluster, scene)
    for row in sorted(known, key=lambda row: (RESOURCE_STATES.index(row.state), row.resource)):
        own = scene.worst().get(f"{cluster.cluster}/{row.resource}")
        style = PLAIN if own is None else palette.severity(own)
        name = palette.word(row.resource, 30)
        thing = FactLink(
            FactSubject(f"{cluster.cluster}/{row.resource}", ((ClusterResource, (row.cluster, row.resource)),))
        )
        where = f" {palette.word(row.where, 60)}" if row.where else ""
        line = text((f" {palette.fit(name, _NAME)} ", FAINT), (row.state, style), where)
        yield words(line, ("resource", row.cluster, row.resource), thing, name)


def _links(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    """Yield the links of Corosync and the nodes that each reaches."""
    palette = scene.palette
    by_link: dict[str, list[CorosyncLink]] = {}
    for row in scene.rows(CorosyncLink)[0].values():
        if row.cluster == cluster.cluster:
            by_link.setdefault(row.link, []).append(row)
    for link in sorted(by_link):
        rows = by_link[link]
        own = scene.worst().get(f"{cluster.cluster}/link{link}")
        style = PLAIN if own is None else palette.severity(own)
        cut = [palette.word(row.node, 30) for row in rows if row.state != "connected"]
        said = f"connected to {counted(len(rows) - len(cut), 'node')}" + (f", not to {', '.join(cut)}" if cut else "")
        thing = FactLink(
            FactSubject(
                f"{cluster.cluster}/link{link}",
                tuple((CorosyncLink, (row.cluster, row.link, row.node)) for row in rows),
            )
        )
        name = f"link {link}"
        line = text((f" {palette.fit(name, _NAME)} ", FAINT), (said, style))
        yield words(line, ("link", cluster.cluster, link), thing, name)


def _volumes_of(cluster: Cluster, scene: Scene) -> list[GlusterVolume]:
    return list(scene.rows(GlusterVolume)[0].values()) if cluster.kind == "gluster" else []


def _volumes(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    """Yield the volumes of GlusterFS with their bricks and the entries that wait to be healed."""
    palette = scene.palette
    heals = scene.rows(GlusterHeal)[0]
    for row in sorted(_volumes_of(cluster, scene), key=lambda row: natural(row.volume)):
        own = scene.worst().get(row.volume)
        style = PLAIN if own is None else palette.severity(own)
        heal = heals.get(row.volume)
        facts = [row.state, f"{row.bricks_up} of {row.bricks} bricks"]
        facts += [f"{row.bricks_unknown} unknown"] if row.bricks_unknown else []
        if heal is not None and heal.pending is not None:
            facts.append(f"{heal.pending} to heal")
        facts += [f"{heal.split} in split brain"] if heal is not None and heal.split else []
        name = palette.word(row.volume, 30)
        parts: list[tuple[type[Reading], Hashable]] = [(GlusterVolume, row.volume), (GlusterHeal, row.volume)]
        parts += [
            (GlusterBrick, (brick.volume, brick.host, brick.path))
            for brick in scene.rows(GlusterBrick)[0].values() if brick.volume == row.volume
        ]  # fmt: skip
        line = text((f" {palette.fit(name, _NAME)} ", FAINT), (", ".join(facts), style), f" {row.type}")
        yield words(
            line, ("volume", cluster.cluster, row.volume), FactLink(FactSubject(row.volume, tuple(parts))), name
        )


def _of(there: int | None, all_: int) -> str:
    return f"{number(there)} of {all_}"


def _pool(pool: ClusterPool, scene: Scene, width: int) -> Iterator[Row]:
    palette = scene.palette
    own = scene.worst().get(pool.pool)
    style = PLAIN if own is None else palette.severity(own)
    key = (pool.cluster, pool.pool)
    domain = ((FailureDomain, (pool.cluster, pool.pool, pool.largest_domain)),) if pool.largest_domain else ()
    thing = FactLink(FactSubject(pool.name, ((ClusterPool, key), *domain)))
    name = f" {palette.fit(palette.word(pool.pool, 30), _NAME)} "
    said = f" {bytes_(pool.used)} of {bytes_(pool.capacity)} in use"
    said += f", spare {bytes_(pool.spare)}" if pool.spare is not None else ""
    if not pool.capacity or pool.used is None:
        yield words(text((name, style), (said, FAINT)), ("pool", *key), thing, pool.pool)
        return
    room = max(width - _NAME - 3 - max(len(said), _BESIDE), 12)
    yield words((*text((name, style)), *_bar(pool, room, palette), *text(said)), ("pool", *key), thing, pool.pool)
    if pool.largest:
        yield words(_bracket(pool, room, scene), ("largest", *key), thing)


_BESIDE = 34
"""Minimum cells to the right of a pool's bar."""


def _bar(pool: ClusterPool, room: int, palette: Palette) -> Line:
    """Draw the used capacity from the left and the spare from the right."""
    full, free, spare = _SHADES[palette.ascii]
    capacity = pool.capacity or 1
    kept = round(min((pool.spare or 0) / capacity, 1.0) * room)
    used = min(round((pool.used or 0) / capacity * room), room)
    over = max(used + kept - room, 0)
    return text(full * used, (free * max(room - used - kept, 0), FAINT), (spare * (kept - over), FAINT))


def _bracket(pool: ClusterPool, room: int, scene: Scene) -> Line:
    """Draw the size of the largest failure domain below the pool's bar, with the result of the rule on its loss."""
    palette = scene.palette
    lost = min(max(round((pool.largest or 0) / (pool.capacity or 1) * room), 1), room)
    drawn = (f"|{'-' * (lost - 2)}|" if palette.ascii else f"├{'─' * (lost - 2)}┤") if lost > 1 else "|"
    found = next(iter(about(scene.in_force, pool.name, _RULE)), None)
    good = any(r.rule == _RULE and pool.name in r.subjects for r in scene.look.judgement.ruled_out)
    said = "loss tolerated" if good else "loss not checked"
    style = FAINT
    if found is not None:
        said, style = "loss NOT tolerated" if found.severity is Severity.CRITICAL else "not safe to lose", (
            palette.severity(found.severity)
        )  # fmt: skip
    name = palette.word(pool.largest_domain or "-", 24)
    leads = f"largest of {pool.domains}: {name} {bytes_(pool.largest)} ", f"{name} {bytes_(pool.largest)} ", f"{name} "
    lead = next((lead for lead in leads if len(lead) <= room - lost), "")
    return text(
        " " * (_NAME + 2), (f"{lead:>{room - lost}}", FAINT), (drawn, style if found is not None else PLAIN),
        (f" {said}", style),
    )  # fmt: skip


def _rebuild(rebuild: Rebuild, scene: Scene, width: int) -> Iterator[Row]:
    palette = scene.palette
    said = about(scene.in_force, rebuild.array, "rebuild-")
    worst = max((f.severity for f in said), key=lambda s: s.rank, default=None)
    style = PLAIN if worst is None else palette.severity(worst)
    thing = FactLink(FactSubject(rebuild.array, ((Rebuild, (rebuild.array, rebuild.operation)),)))
    key = ("rebuild", rebuild.array, rebuild.operation)
    where = palette.word(rebuild.array, 30)
    head = f" {palette.fit(palette.word(rebuild.operation, 20), _NAME)} "
    tail = f" {'  '.join(_pace(rebuild, scene))}  {where}"
    room = max(width - len(head) - len(tail) - 1, 8)
    done = bar(rebuild.progress, min(room, 60), palette, OTHER if style is PLAIN else style)
    line: list[Segment] = [*text((head, style)), *done, *text(tail)]
    yield words(tuple(line), key, thing, f"{where} {rebuild.operation}")
    if rebuild.limited_by:
        policy = f"throttled by {palette.word(rebuild.limited_by, 200)}"
        for part in textwrap.wrap(policy, max(width - _NAME - 3, 20)):
            yield words(text(" " * (_NAME + 2), (part, FAINT)))


def _pace(rebuild: Rebuild, scene: Scene) -> Iterator[str]:
    known = next((k for k in rebuild_analyses(scene.window) if k.rebuild == rebuild), None)
    seen = known.pace if known is not None else None
    if rebuild.progress is not None:
        yield f"{done(rebuild.progress)}%"
    if rebuild.state != "running":
        yield scene.palette.word(rebuild.state, 20)
    speed = seen.rate if seen is not None and seen.rate is not None else rebuild.speed
    if speed is not None:
        yield quantity(speed, "bytes_per_second")
    if seen is not None and seen.eta is not None:
        yield f"ETA {'' if (seen.confidence or 0.0) >= _SURE else 'about '}{duration(seen.eta)}"
    elif rebuild.remaining is not None:
        yield f"cluster reports {duration(rebuild.remaining)} left"


def headline(scene: Scene) -> str:
    """Return the number of clusters, unless there is exactly one."""
    known = list(scene.rows(Cluster)[0].values())
    facts = [counted(len(known), "cluster")] if len(known) != 1 else []
    return f" {scene.palette.dot} ".join(facts)
