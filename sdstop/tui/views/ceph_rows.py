"""Ceph's rows of the cluster summary: health checks, OSDs that block, RADOS pools, daemons of this node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.ceph.readings import CephBlocker, CephCheck, CephDaemon, CephPool
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, natural, number
from sdstop.readings.cluster import Cluster
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted
from sdstop.tui.widgets.palette import FAINT, PLAIN, text
from sdstop.tui.widgets.pane import Row, words

KIND = "ceph"
_POOLS = 12
"""Most pools that have a row; those with a fault are first."""


def ceph_rows(cluster: Cluster, scene: Scene, head: int) -> Iterator[Row]:
    """Yield the rows of a cluster of Ceph; `head` is the width of their names."""
    if cluster.kind != KIND:
        return
    name = cluster.cluster
    yield from _health(name, [row for row in scene.rows(CephCheck)[0].values() if row.cluster == name], scene, head)
    yield from _blockers(name, [row for row in scene.rows(CephBlocker)[0].values() if row.cluster == name], scene, head)
    yield from _pools(name, [row for row in scene.rows(CephPool)[0].values() if row.cluster == name], scene, head)
    yield from _daemons(name, [row for row in scene.rows(CephDaemon)[0].values() if row.cluster == name], scene, head)


def _health(name: str, checks: Sequence[CephCheck], scene: Scene, head: int) -> Iterator[Row]:
    """Yield a row with the codes of the active checks, those with findings first."""
    palette, worst = scene.palette, scene.worst()

    def rank(check: CephCheck) -> int:
        found = worst.get(check.name)
        return -1 if found is None else found.rank

    ordered = sorted(checks, key=lambda check: (-rank(check), check.code))
    if not ordered:
        return
    own = worst.get(ordered[0].name)
    style = FAINT if own in {None, Severity.INFO} else palette.severity(own or Severity.INFO)
    said = ", ".join(
        palette.word(check.code, 40) + (" (muted)" if check.muted else " (harmless)" if check.harmless else "")
        for check in ordered
    )
    keys = tuple((CephCheck, (check.cluster, check.code)) for check in ordered)
    thing = FactLink(FactSubject(f"{name} health", keys))
    yield words(text((f" {'health':<{head}} ", FAINT), (said, style)), ("health", name), thing, "health")


def _blockers(name: str, rows: Sequence[CephBlocker], scene: Scene, head: int) -> Iterator[Row]:
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: (-row.blocked, row.number))
    said = ", ".join(f"{row.osd} ({counted(row.blocked, 'PG')})" for row in ordered)
    thing = FactLink(FactSubject(f"{name} blocked", tuple((CephBlocker, (name, row.number)) for row in ordered)))
    style = scene.palette.severity(Severity.CRITICAL)
    yield words(text((f" {'blocked by':<{head}} ", FAINT), (said, style)), ("blocked", name), thing, "blocked")


def _pools(name: str, rows: Sequence[CephPool], scene: Scene, head: int) -> Iterator[Row]:
    palette = scene.palette
    ordered = sorted(rows, key=lambda row: (not row.full, not _lacks(row), natural(row.pool)))
    for row in ordered[:_POOLS]:
        wrong = row.full or _lacks(row)
        facts = [_copies(row, palette.word(row.domain or "domain", 16))]
        if row.stored is not None:
            of = f" of {bytes_(row.stored_limit)}" if row.stored_limit else ""
            facts.append(f"{bytes_(row.stored)}{of} stored")
        if row.objects_limit:
            facts.append(f"{number(row.objects)} of {number(row.objects_limit)} objects")
        facts += [f"{bytes_(row.free)} free"] if row.free is not None else []
        facts += ["refuses writes"] if row.full else []
        shown = palette.word(row.pool, 30)
        thing = FactLink(FactSubject(row.name, ((CephPool, (row.cluster, row.pool)),)))
        line = text(
            (f" {palette.fit(f'pool {shown}', head)} ", FAINT),
            (f" {palette.dot} ".join(facts), palette.severity(Severity.WARNING) if wrong else PLAIN),
        )
        yield words(line, ("rados", name, row.pool), thing, shown)
    if len(ordered) > _POOLS:
        yield words(text((f" {'':<{head}} {counted(len(ordered) - _POOLS, 'more pool')} (view 0)", FAINT)))


def _lacks(row: CephPool) -> bool:
    """Return whether fewer failure domains are up than the pool has copies."""
    return row.domains_up is not None and row.copies is not None and row.domains_up < row.copies


def _copies(row: CephPool, domain: str) -> str:
    """Return the copies or pieces of a pool and the failure domains that hold them: `3 copies, 2 of 3 hosts up`."""
    what = "piece" if row.kind == "erasure" else "copy"
    many = number(row.copies) if row.copies is not None else "-"
    said = f"{many} {what if row.copies == 1 else 'pieces' if what == 'piece' else 'copies'}"
    if row.domains is None:
        return said
    return f"{said}, {number(row.domains_up)} of {row.domains} {domain}s up"


def _daemons(name: str, rows: Sequence[CephDaemon], scene: Scene, head: int) -> Iterator[Row]:
    """Yield a row with the daemons of this node, those that do not run first."""
    if not rows:
        return
    palette = scene.palette
    ordered = sorted(rows, key=lambda row: (row.running != 0, natural(row.daemon)))
    said = ", ".join(
        palette.word(row.daemon, 30)
        + ("" if row.running else " not running" if row.running == 0 else " unknown")
        + (f" on {palette.word(row.local, 20)}" if row.local else "")
        for row in ordered
    )
    keys = tuple((CephDaemon, (row.cluster, row.kind, row.number, row.ident)) for row in ordered)
    own = next((found for row in ordered if (found := scene.worst().get(row.name)) is not None), None)
    style = PLAIN if own is None or ordered[0].running else palette.severity(own)
    thing = FactLink(FactSubject(f"{name} daemons here", keys))
    yield words(text((f" {'this node':<{head}} ", FAINT), (said, style)), ("daemons", name), thing, "this node")
