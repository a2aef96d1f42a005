"""A link of Corosync is down although the node at its other end is a member: one network is left."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.pacemaker.readings import ClusterMembership, CorosyncLink
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    by_link: dict[tuple[str, str], list[CorosyncLink]] = {}
    for row in window.rows(CorosyncLink).values():
        by_link.setdefault((row.cluster, row.link), []).append(row)
    for (cluster, link), rows in by_link.items():
        subject = f"{cluster}/link{link}"
        down = [row for row in rows if row.state != "connected"]
        others = {number for name, number in by_link if name == cluster and number != link}
        membership = window.get(ClusterMembership, cluster)
        alone = membership is not None and membership.pacemaker in {"not used", "stopped"}
        cut = [row for row in down if row.member != 0 or alone]
        if cut:
            yield _found(window, subject, cut, len(rows), others)
        elif down:
            yield Unchecked("the other node is lost (see cluster-degraded)", subject, gap=Gap.OPEN)
        else:
            yield RuledOut(subject, f"link {link} connected to {len(rows)} nodes")


def _found(window: Window, subject: str, down: list[CorosyncLink], nodes: int, others: set[str]) -> Finding:
    names = down[0].node + (f" and {len(down) - 1} more" if len(down) > 1 else "")
    link, state = down[0].link, down[0].state
    member = down[0].member != 0
    membership = window.get(ClusterMembership, down[0].cluster)
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title="CLUSTER LINK DOWN" if member else "NODE OUT OF REACH",
        cause=fitting(f"Link {link} to {names} is {state}.", f"Link {link} to {len(down)} nodes is {state}."),
        impact="The remaining links carry the cluster; if they fail, it splits." if member and others
        else "The cluster can lose its members or its quorum.",
        values=(
            Value("down", "nodes not reached by this link", len(down), "", of=nodes),
            Value("links", "other links", len(others)),
            Value("state", "state", state),
            Value("members", "members", membership.members if membership is not None else None),
        ),
        evidence=cites(*(window.cite(row) for row in down[:3])),
        advice=(
            "Check the network of this link: switch, cable, address, firewall.",
            run("corosync-cfgtool", "-s"),
            run("corosync-quorumtool", "-s"),
        ),
        refuted_by="all nodes connected by this link in corosync-cfgtool -s",
        view_subject=down[0].cluster,
    )  # fmt: skip


CLUSTER_LINK_DOWN = Rule(
    "cluster-link-down",
    "Corosync link down to a node of the cluster",
    Severity.WARNING,
    _check,
    (CorosyncLink,),
    covers=(Covers(CorosyncLink, "{cluster}/link{link}"),),
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Check the network of this link: switch, cable, address, firewall.",
)
