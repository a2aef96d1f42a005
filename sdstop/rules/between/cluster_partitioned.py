"""Nodes of one cluster that see each other as lost: who lies in which part, and what runs in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.pacemaker.corosync import KIND
from sdstop.collectors.pacemaker.readings import ClusterResource
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Cite
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart
from sdstop.readings.cluster import Cluster, ClusterNode

_LOST = frozenset({"offline", "lost", "UNCLEAN"})
_WHERE = expression(r"(?P<node>[^ ,]+)(?: \((?P<role>[^)]*)\))?")
_FIRST = frozenset({"Promoted", "Master"})
_SHOWN = 3
"""Resources listed."""


class _View(Struct, frozen=True, eq=False):
    """A cluster as one node sees it: its own name there, and the members online and lost."""

    node: SiteNode
    cluster: Cluster
    own: str
    online: frozenset[str]
    lost: frozenset[str]
    resources: Sequence[ClusterResource]

    @property
    def quorum(self) -> bool:
        """Whether its part has the quorum."""
        return self.cluster.state not in {"no quorum", "no leader", "partition"}

    def runs(self) -> Mapping[str, str]:
        """Return the nodes of its own part that run a resource that may run once, or the promoted instance of it."""
        found = {}
        for resource in self.resources:
            for each in _WHERE.finditer(resource.where):
                single = resource.instances == 1 or each["role"] in _FIRST
                if single and each["node"] in self.online:
                    found[resource.resource] = each["node"]
        return found


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    clusters: dict[str, list[_View]] = {}
    for node in site.nodes:
        for view in _views(node):
            clusters.setdefault(view.cluster.cluster, []).append(view)
    for name, views in sorted(clusters.items()):
        yield _judged(site, name, views, limits["apart"])


def _views(node: SiteNode) -> Iterator[_View]:
    rows = node.window.rows(ClusterNode).values()
    for cluster in node.window.rows(Cluster).values():
        members = [row for row in rows if row.cluster == cluster.cluster and row.role == "member"]
        own = next((row.node for row in members if row.local or row.node in node.names), None)
        if cluster.kind == KIND and own is not None:
            lost = frozenset(row.node for row in members if row.state in _LOST)
            online = frozenset(row.node for row in members) - lost
            resources = [row for row in node.window.rows(ClusterResource).values() if row.cluster == cluster.cluster]
            yield _View(node, cluster, own, online, lost, resources)


def _judged(site: Site, name: str, views: Sequence[_View], limit: float) -> Verdict:
    nodes = [view.node for view in views]
    if len(views) == 1:
        known = views[0].online | views[0].lost
        if len(known) == 1:
            return RuledOut(name, "1 member: no other part")
        why = "; ".join(filter(None, (_silent(site, other) for other in sorted(known - {views[0].own}))))
        reason = f"seen by 1 of {len(known)} nodes: {why or 'no capture of the others'}"
        return Unchecked(reason, name, gap=Gap.UNRECORDED)
    distant = site.distant(limit, *nodes)
    if distant:
        return Unchecked(distant, name, gap=Gap.UNRECORDED)
    parts = _parts(views)
    if len(parts) > 1:
        return _finding(name, parts)
    if len({view.online for view in views}) > 1:
        seconds = human.duration(apart(*nodes))
        return Unchecked(f"members online differ by node, {seconds} apart: the state is changing", name)
    online = views[0].online
    return RuledOut(name, f"the same {len(online)} members online on all {len(views)} nodes")


def _silent(site: Site, member: str) -> str:
    """Return why a member that has a capture shows no cluster."""
    node = site.called(member)
    why = node.lacks(ClusterResource) if node is not None else ""
    return f"{member}: {why}" if why else ""


def _parts(views: Sequence[_View]) -> list[list[_View]]:
    """Return the views by part, the one with quorum or more members first; views of one part do not exclude others."""
    parts: list[list[_View]] = []
    for view in views:
        part = next((part for part in parts if not any(_exclude(view, other) for other in part)), None)
        if part is None:
            parts.append([view])
        else:
            part.append(view)
    return sorted(parts, key=lambda part: (not part[0].quorum, -len(part[0].online), part[0].own))


def _exclude(one: _View, other: _View) -> bool:
    return other.own in one.lost and one.own in other.lost


def _finding(name: str, parts: Sequence[Sequence[_View]]) -> Finding:
    views = [view for part in parts for view in part]
    twice = _twice(parts)
    quorate = [part for part in parts if part[0].quorum]
    sizes = " + ".join(str(len(part[0].online)) for part in parts)
    sides = " | ".join(", ".join(sorted(part[0].online)) for part in parts)
    both = len(quorate) > 1
    minority = parts[-1][0].node.name if len(parts) == 2 and not both and len(parts[-1]) == 1 and quorate else ""
    words = [f"each sees the other as lost: {sides}", f"{sizes} nodes see each other as lost"]
    quorum = "both parts have quorum" if both else "one part has quorum" if quorate else "neither part has quorum"
    return Finding(
        severity=Severity.CRITICAL if twice or both or not quorate else Severity.WARNING,
        subject=name,
        title=f"PARTITIONED AND RUNNING TWICE: {sizes}" if twice else f"PARTITIONED: {sizes} nodes",
        cause=fitting(*(f"{text[:1].upper()}{text[1:]}; {quorum}." for text in words), f"{quorum.capitalize()}."),
        impact=_impact(twice, quorate=len(quorate), minority=minority),
        values=(
            *(Value(f"part{number}", f"part {number}", _part_text(part)) for number, part in enumerate(parts, 1)),
            *(Value(f"twice{number}", "runs twice", f"{what} on {human.listed(on, 4)}")
              for number, (what, on) in enumerate(sorted(twice.items())[:_SHOWN], 1)),
            Value("apart", "time between the captures", apart(*(view.node for view in views)), "seconds"),
        ),
        evidence=cites(*(cite for part in parts for cite in _cites(part))),
        advice=tuple(_advice(parts, twice=bool(twice), host=minority)),
        refuted_by="the same members online in crm_mon on all nodes at one time",
        confidence=None if apart(*(view.node for view in views)) <= AT_ONCE else 0.8,
        explains=tuple(f"{view.node.name}:cluster-degraded:{name}" for view in views),
        host=minority,
        between=tuple(view.node.name for view in views),
        damage=Damage.DATA if twice else Damage.AVAILABILITY,
    )  # fmt: skip


def _twice(parts: Sequence[Sequence[_View]]) -> dict[str, list[str]]:
    """Return the resources that run in several parts at once, each with its nodes."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for resource, node in part[0].runs().items():
            found.setdefault(resource, set()).add(node)
    return {resource: sorted(nodes) for resource, nodes in found.items() if len(nodes) > 1}


def _impact(twice: Mapping[str, Sequence[str]], *, quorate: int, minority: str) -> str:
    if twice:
        named = human.listed(sorted(twice))
        return fitting(
            f"{named} on both sides at once: shared data can be destroyed.",
            f"{human.plural(len(twice), 'resource')} on both sides at once: shared data can be destroyed.",
        )
    if quorate > 1:
        return "Both parts can start the same resources: data can be destroyed."
    if not quorate:
        return "Without quorum, no part starts, moves or fences resources."
    return fitting(f"{minority or 'The minority'} does not run or take over services.", "One part runs no services.")


def _part_text(part: Sequence[_View]) -> str:
    view = part[0]
    word = "quorum" if view.quorum else human.safe(view.cluster.state or "state unknown")
    runs = ", ".join(sorted(view.runs()))
    return f"{human.listed(sorted(view.online), 6)}: {word}; runs {runs or 'nothing'}"


def _cites(part: Sequence[_View]) -> Iterator[Cite | None]:
    view = part[0]
    yield view.node.cite(view.cluster)
    yield from (view.node.cite(row) for row in view.node.window.rows(ClusterNode).values() if row.node in view.lost)


def _advice(parts: Sequence[Sequence[_View]], *, twice: bool, host: str) -> Iterator[Advice]:
    weaker = ", ".join(human.safe(name) for name in sorted(parts[-1][0].online))
    if twice:
        yield "Stop the cluster on one side at once, before anything else."
        yield run("systemctl", "stop", "pacemaker", note=f"on {weaker}, or on the side with the older data")
    else:
        yield f"Restore the cluster network of {human.safe(host, 30)}." if host else "Restore the cluster network."
    yield run("corosync-cfgtool", "-s", note="links to the other nodes, on each side")
    other = min(parts[0][0].online)
    yield run("ping", "-c", "3", *operands(other), note=f"on {weaker}")
    yield run("corosync-quorumtool", "-s")
    yield run("crm_mon", "-1", "-r", note="on one node of each side")
    yield "Enable fencing: without it the cluster cannot distinguish a lost node from a running one."


CLUSTER_PARTITIONED = NodeRule(
    "cluster-partitioned",
    "cluster nodes that see each other as lost, and resources that run in both parts",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(Cluster, ClusterNode),
)
