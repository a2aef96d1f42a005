"""Servers of a GlusterFS pool that do not reach each other, and a glusterd that does not run, as all of them show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.clusters.gluster_pool import GLUSTER
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterVolume
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart
from sdstop.readings.cluster import Cluster, ClusterNode

_SHOWN = 5
"""Nodes listed of each part."""


class _View(Struct, frozen=True, eq=False):
    """A pool as one server sees it: servers that it reaches and does not, by node name, or by pool name if not here.

    `runs` is False if its glusterd does not run; `known` is whether it names another node of the site, and `address`
    the name that the others have for it.
    """

    node: SiteNode
    cluster: Cluster
    runs: bool
    known: bool
    reached: frozenset[str]
    lost: frozenset[str]
    address: str


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    views = [view for node in site.nodes if (view := _view(site, node)) is not None]
    joined = [view for view in views if not view.runs or view.known]
    if len(joined) < 2:  # one server alone is judged by its own rule
        return
    distant = site.distant(limits["apart"], *(view.node for view in joined))
    if distant:
        yield Unchecked(distant, GLUSTER, gap=Gap.UNRECORDED)
        return
    dead = [view for view in joined if not view.runs]
    yield from (_dead(view, [other for other in joined if view.node.name in other.lost]) for view in dead)
    running = [view for view in joined if view.runs]
    parts = _parts(running)
    if len(parts) > 1:
        yield _split(site, parts)
    elif any(view.lost & {each.node.name for each in running} for view in running):
        seconds = human.duration(apart(*(view.node for view in running)))
        yield Unchecked(f"one server sees another as lost, which sees it; {seconds} apart", GLUSTER)
    elif not dead:
        yield RuledOut(GLUSTER, f"{len(running)} servers reach each other")


def _view(site: Site, node: SiteNode) -> _View | None:
    cluster = node.window.get(Cluster, GLUSTER)
    if cluster is None or cluster.kind != GLUSTER:
        return None
    rows = [row for row in node.window.rows(ClusterNode).values() if row.cluster == GLUSTER]
    own = next((row.address for row in rows if row.local and row.address), "")
    others = [(site.called(row.node), row) for row in rows if not row.local]
    named = [(other.name if other is not None else row.node, row.healthy) for other, row in others]
    reached = frozenset(name for name, healthy in named if healthy)
    return _View(
        node, cluster, cluster.nodes is not None, any(other is not None for other, _ in others), reached | {node.name},
        frozenset(name for name, _ in named) - reached, own.split(" ")[0] or node.name,
    )  # fmt: skip


def _parts(views: Sequence[_View]) -> list[list[_View]]:
    """Return the servers by part, the largest first; none of a part is lost to another of it."""
    parts: list[list[_View]] = []
    for view in views:
        part = next((part for part in parts if not any(_exclude(view, other) for other in part)), None)
        if part is None:
            parts.append([view])
        else:
            part.append(view)
    return sorted(parts, key=lambda part: (-len(_members(part)), part[0].node.name))


def _members(part: Sequence[_View]) -> list[str]:
    """Return the servers of a part, those without a capture by their name in the pool."""
    return sorted({name for view in part for name in view.reached})


def _exclude(one: _View, other: _View) -> bool:
    return other.node.name in one.lost and one.node.name in other.lost


def _divided(site: Site, parts: Sequence[Sequence[_View]]) -> Iterator[tuple[GlusterVolume, bool]]:
    """Yield started volumes with a set of bricks in several parts, and whether no quorum keeps both from writing."""
    place = {view.node.name: number for number, part in enumerate(parts) for view in part}
    window = parts[0][0].node.window
    for volume in window.rows(GlusterVolume).values():
        sets: dict[int, set[int]] = {}
        for brick in window.where(GlusterBrick, "volume", volume.volume):
            node = site.called(brick.host)
            if node is not None and node.name in place:
                sets.setdefault(brick.set, set()).add(place[node.name])
        if volume.state == "Started" and any(len(each) > 1 for each in sets.values()):
            yield volume, volume.copies is not None and volume.copies > 1 and volume.quorum == "none"


def _split(site: Site, parts: Sequence[Sequence[_View]]) -> Finding:
    views = [view for part in parts for view in part]
    members = [_members(part) for part in parts]
    sizes = " + ".join(str(len(each)) for each in members)
    sides = " | ".join(human.listed(each) for each in members)
    divided = list(_divided(site, parts))
    open_ = [volume.volume for volume, free in divided if free]
    names = human.listed([volume.volume for volume, _ in divided])
    impact = "No volume has bricks in several parts."
    if open_:
        impact = fitting(
            f"Clients of each part can write {human.listed(open_)}: split brain.",
            "Clients of each part can write the same files: split brain.",
        )
    elif divided:
        who = "the smaller part" if len(members[-1]) < len(members[0]) else "one part"
        impact = fitting(f"Clients of {who} cannot write {names}.", f"Clients of {who} cannot write.")
    host = parts[-1][0].node.name if len(members[-1]) == 1 < len(members[0]) else ""
    other = parts[0][0].address
    return Finding(
        severity=Severity.CRITICAL if open_ else Severity.WARNING,
        subject=GLUSTER,
        title=f"POOL SPLIT: {sizes} servers",
        cause=fitting(f"Each sees the other as disconnected: {sides}.", f"{sizes} servers do not reach each other."),
        impact=impact,
        values=(
            *(
                Value(f"part{number}", f"part {number}", human.listed(each, _SHOWN))
                for number, each in enumerate(members, 1)
            ),
            Value("divided", "volumes in several parts", names or None),
            Value("open", "volumes without a quorum for writes", human.listed(open_) or None),
            Value("apart", "time between the captures", apart(*(view.node for view in views)), "seconds"),
        ),
        evidence=cites(*(view.node.cite(row) for view in views for row in _lost_rows(site, view)[:1])),
        advice=(
            f"Restore the network {f'of {phrase(human.safe(host, 30))}' if host else 'between the parts'}.",
            run("ping", "-c", "3", *operands(other), note=f"on {human.safe(host or parts[-1][0].node.name)}"),
            run("gluster", "peer", "status", note="on each server"),
            "Once they reach each other, see to heals and split brains:",
            *(run("gluster", "volume", "heal", volume.volume, "info", "summary") for volume, _ in divided[:2]),
        ),
        refuted_by="all servers connected in gluster peer status on each of them",
        confidence=None if apart(*(view.node for view in views)) <= AT_ONCE else 0.8,
        explains=tuple(f"{view.node.name}:cluster-degraded:{GLUSTER}" for view in views),
        host=host,
        between=tuple(view.node.name for view in views),
        damage=Damage.DATA if open_ else Damage.AVAILABILITY,
    )  # fmt: skip


def _lost_rows(site: Site, view: _View) -> list[ClusterNode]:
    rows = view.node.window.rows(ClusterNode).values()
    return [row for row in rows if (node := site.called(row.node)) is not None and node.name in view.lost]


def _dead(view: _View, seen_by: Sequence[_View]) -> Finding:
    name = human.safe(view.node.name, 30)
    others = [other.node.name for other in seen_by]
    said = f"{human.listed(others)} {'sees' if len(others) == 1 else 'see'} it as disconnected" if others else ""
    return Finding(
        severity=Severity.WARNING,
        subject=f"{GLUSTER}/{view.node.name}",
        title="GLUSTERD NOT RUNNING",
        cause=fitting(
            *([f"glusterd of {name} does not run; {said}."] if said else []), f"glusterd of {name} does not run.",
            "glusterd of a server does not run.",
        ),
        impact="Bricks there may serve on; after a restart of one no client finds it.",
        values=(
            Value("state", "state there", view.cluster.state),
            Value("seen", "seen as disconnected by", human.listed(others) or None),
        ),
        evidence=cites(
            view.node.cite(view.cluster), *(other.node.cite(other.cluster) for other in seen_by[:2]),
        ),
        advice=(
            f"Start glusterd on {phrase(name)}; the network is not at fault.",
            run("systemctl", "status", "glusterd", note=f"on {name}"),
            run("journalctl", "-b", "-u", "glusterd", note=f"on {name}"),
        ),
        refuted_by="an answer of gluster volume info on that server",
        explains=tuple(f"{each.node.name}:cluster-degraded:{GLUSTER}" for each in (view, *seen_by)),
        host=view.node.name,
        between=(view.node.name, *others),
        damage=Damage.AVAILABILITY,
    )  # fmt: skip


GLUSTER_POOL_SPLIT = NodeRule(
    "gluster-pool-split",
    "GlusterFS servers that do not reach each other, and volumes with bricks on both sides",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(Cluster, ClusterNode),
)
