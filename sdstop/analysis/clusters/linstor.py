"""LINSTOR: the copies of a resource on all nodes, and the nodes and storage pools themselves."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.drbd.linstor import KIND, LEAVING, WITHOUT_DATA, condition, is_known
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode

LINSTOR = KIND
"""Kind of cluster."""
_CURRENT = frozenset({"UpToDate", "Created", "Attached"})


def linstor_verdict(window: Window, cluster: Cluster) -> Verdict:
    """Return the verdict on a resource, or on all nodes and their storage pools."""
    nodes = window.where(ClusterNode, "cluster", cluster.cluster)
    pools = window.where(ClusterDevice, "cluster", cluster.cluster)
    states = [(row.node, row.state or "") for row in nodes] + [(row.node, row.state or "") for row in pools]
    strange = [(node, state) for node, state in states if not is_known(state)]
    if strange:
        node, said = human.safe(strange[0][0], 20), human.safe(strange[0][1], 40)
        return Unchecked(f'unknown state "{said}" on {node}', cluster.cluster, gap=Gap.FAULTY)
    return _servers(window, cluster, nodes, pools) if cluster.cluster == KIND else _copies(window, cluster, nodes)


def _servers(window: Window, cluster: Cluster, nodes: Sequence[ClusterNode], pools: Sequence[ClusterDevice]) -> Verdict:
    down = [row for row in nodes if row.healthy == 0]
    unsure = [row for row in nodes if row.healthy is None]
    broken = [row for row in pools if row.healthy == 0]
    if down:
        return _offline(window, cluster, nodes, down)
    if broken:
        return _broken(window, cluster, broken, len(pools))
    if unsure:
        return Unchecked(f"{human.safe(unsure[0].node, 20)} is {unsure[0].state}", cluster.cluster)
    said = f"{len(nodes)} of {len(nodes)} nodes online" if nodes else ""
    return RuledOut(cluster.cluster, ", ".join(filter(None, (said, f"{len(pools)} storage pools ok" if pools else ""))))


def _broken(window: Window, cluster: Cluster, broken: Sequence[ClusterDevice], count: int) -> Finding:
    first = broken[0]
    name = f"{human.safe(first.device, 20)} of {human.safe(first.node, 20)}"
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        title="STORAGE POOL FAULTY" if len(broken) == 1 else f"{len(broken)} STORAGE POOLS FAULTY",
        cause=fitting(f"Storage pool {name} reports {human.safe(first.state or '', 20)}.", f"{name} is faulty."),
        impact="Its volumes may have failed; no new ones are placed on it.",
        values=(
            Value("pools", "storage pools ok", count - len(broken), "", of=count),
            *(Value(f"state{n}", f"{row.node}/{row.device}", row.state) for n, row in enumerate(broken[:5], 1)),
        ),
        evidence=cites(*(window.cite(row) for row in broken[:3])),
        advice=(
            "Check the volume group or pool below it on that node.",
            run("linstor", "storage-pool", "list", note="the error is below the table"),
            run("lvs", "-a", note="on the node"),
            run("zpool", "status", note="on the node"),
        ),
        refuted_by="Ok in linstor storage-pool list",
        damage=Damage.AVAILABILITY,
    )


def _offline(window: Window, cluster: Cluster, nodes: Sequence[ClusterNode], down: Sequence[ClusterNode]) -> Finding:
    names = f"{human.safe(down[0].node, 20)} is {human.safe(down[0].state or '', 30)}"
    more = f", and {len(down) - 1} more are not online" if len(down) > 1 else ""
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        title="NODE OFFLINE" if len(down) == 1 else f"{len(down)} NODES OFFLINE",
        cause=fitting(f"{names}{more}.", f"{len(down)} of {len(nodes)} nodes are not online."),
        impact="The controller cannot manage them; their copies are unknown.",
        values=(
            Value("nodes", "nodes online", cluster.nodes_up, "", of=cluster.nodes),
            *(Value(f"state{number}", row.node, row.state) for number, row in enumerate(down[:5], 1)),
        ),
        evidence=cites(*(window.cite(row) for row in down[:3])),
        advice=(
            "Check the satellite of the node, and the network to it.",
            run("systemctl", "status", "linstor-satellite", note="on the node"),
            run("drbdadm", "status", note="on the node and on its peers"),
            run("linstor", "resource", "list"),
        ),
        refuted_by="Online in linstor node list",
        damage=Damage.REDUNDANCY,
    )


def _copies(window: Window, cluster: Cluster, nodes: Sequence[ClusterNode]) -> Verdict:
    meant = [row for row in nodes if not _is_without_data(row)]
    good = [row for row in meant if condition(row.state or "").word in _CURRENT]
    bad = [row for row in meant if row not in good]
    unknown = [row for row in bad if row.healthy is None]
    apart = cluster.says or ""
    if not bad and not apart:
        client = "" if len(meant) == len(nodes) else f", {len(nodes) - len(meant)} without data"
        return RuledOut(cluster.cluster, f"{len(good)} of {len(meant)} copies current{client}")
    alone = apart.count("StandAlone")
    title, severity, damage = _fault(good, bad, alone, len(unknown))
    first = bad[0] if bad else None
    said = f"{human.safe(first.node, 20)} is {human.safe(first.state or '', 24)}" if first is not None else ""
    link = f"connection of {human.safe(apart.partition('; ')[0], 40)}" if apart else ""
    causes = (f"{said}; {link}." if said and link else f"{said or link}.", f"{said or link}.", "A copy is not current.")
    return Finding(
        severity=severity,
        subject=cluster.cluster,
        title=title,
        cause=fitting(*(each.replace("connection", "Connection", not said) for each in causes)),
        impact=_impact(len(good), alone),
        values=(
            Value("copies", "current copies", len(good), "", of=len(meant)),
            Value("connections", "connections that fail", apart or None),
            *(Value(f"state{number}", row.node, row.state) for number, row in enumerate(bad[:5], 1)),
        ),
        evidence=cites(*(window.cite(row) for row in (bad or nodes)[:3])),
        advice=(
            "Do not stop nodes with a current copy.",
            run("drbdadm", "status", *operands(cluster.cluster.partition("/")[2]), note="on each node"),
            run("linstor", "node", "list"),
            run("journalctl", "-k", note="on that node").pipe("grep", "-i", "drbd").pipe("tail", "-40"),
        ),
        refuted_by="UpToDate and Ok on all nodes in linstor resource list",
        damage=damage,
    )


def _is_without_data(row: ClusterNode) -> bool:
    found = condition(row.state or "")
    return found.good is True and (found.word in WITHOUT_DATA or found.word in LEAVING)


def _fault(
    good: Sequence[ClusterNode], bad: Sequence[ClusterNode], alone: int, unknown: int
) -> tuple[str, Severity, Damage]:
    if not good:
        return "NO CURRENT COPY KNOWN" if unknown else "NO CURRENT COPY", Severity.CRITICAL, Damage.AVAILABILITY
    if alone:
        return "STANDALONE: no replication", Severity.CRITICAL, Damage.REDUNDANCY
    if not bad:
        return "NODES NOT CONNECTED", Severity.WARNING, Damage.REDUNDANCY
    if len(good) == 1:
        return "ONE COPY REACHABLE" if unknown else "ONE COPY LEFT", Severity.CRITICAL, Damage.REDUNDANCY
    return "COPIES NOT CURRENT", Severity.WARNING, Damage.REDUNDANCY


def _impact(good: int, alone: int) -> str:
    if not good:
        return "The resource can be unusable until a copy is current."
    if alone:
        return "Both sides may have been written to: a split brain."
    return "Another failure can lose this data." if good == 1 else "Another failure reduces redundancy further."
