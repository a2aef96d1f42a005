"""Ceph without a quorum, traced to the nodes whose monitors do not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.ceph.readings import KIND, NO_ANSWER, NO_QUORUM, CephDaemon
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart
from sdstop.readings.cluster import Cluster

_Monitor = tuple[SiteNode, CephDaemon]


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    lost: dict[str, list[tuple[SiteNode, Cluster]]] = {}
    for node in site.nodes:
        for row in node.window.rows(Cluster).values():
            if row.kind == KIND and row.state in {NO_QUORUM, NO_ANSWER}:
                lost.setdefault(row.cluster, []).append((node, row))
    for cluster, seen in sorted(lost.items()):
        monitors = [
            (node, row) for node in site.nodes for row in node.window.rows(CephDaemon).values()
            if row.cluster == cluster and row.kind == "mon"
        ]  # fmt: skip
        down = [(node, row) for node, row in monitors if row.running == 0]
        total = next((row.managers for _, row in seen if row.managers), None)
        distant = site.distant(limits["apart"], *(node for node, _ in (*seen, *down)))
        if distant:
            yield Unchecked(distant, cluster, gap=Gap.UNRECORDED)
        elif total is None or len(down) <= total - (total // 2 + 1):
            count = f"{len(down)} of {total or 'an unknown number of'} monitors"
            yield Unchecked(f"{count} seen to be down: not enough to lose the quorum", cluster, gap=Gap.UNRECORDED)
        else:
            yield _found(cluster, seen, down, total)


def _found(cluster: str, seen: Sequence[tuple[SiteNode, Cluster]], down: Sequence[_Monitor], total: int) -> Finding:
    names = [f"{row.daemon} of {node.name}" for node, row in down]
    nodes = tuple(dict.fromkeys(node.name for node, _ in (*down, *seen)))
    seconds = apart(*(node for node, _ in (*down, *seen)))
    first, daemon = down[0]
    verb = "does" if len(down) == 1 else "do"
    return Finding(
        severity=Severity.CRITICAL,
        subject=cluster,
        title=f"QUORUM LOST: {len(down)} of {total} monitors down",
        cause=fitting(
            f"{human.listed(names)} {verb} not run.", f"{len(down)} of {total} monitors do not run.",
        ),
        impact="Commands and new clients wait; so does I/O after the next change.",
        values=(
            Value("down", "monitors down", len(down), "", of=total),
            *(Value(f"down{number}", f"on {node.name}", row.daemon) for number, (node, row) in enumerate(down[:5], 1)),
            Value("apart", "time between the captures", seconds, "seconds"),
        ),
        evidence=cites(*(node.cite(row) for node, row in down[:3]), *(node.cite(row) for node, row in seen[:2])),
        advice=(
            f"Start {phrase(human.safe(daemon.daemon, 20))} on {phrase(human.safe(first.name, 30))}.",
            run("systemctl", "start", *operands(f"ceph-mon@{daemon.ident}"), note=f"on {human.safe(first.name, 30)}"),
            run("journalctl", "-u", f"ceph-mon@{daemon.ident}", "-n", "50", note=f"on {human.safe(first.name, 30)}"),
        ),
        refuted_by="an answer to ceph -s",
        confidence=None if seconds <= AT_ONCE else 0.8,
        explains=tuple(dict.fromkeys([
            *(f"{node.name}:ceph-daemon-down:{row.name}" for node, row in down),
            *(f"{node.name}:ceph-health:{cluster}" for node, _ in seen),
        ])),
        host=first.name if len({node.name for node, _ in down}) == 1 else "",
        between=nodes,
        damage=Damage.AVAILABILITY,
    )  # fmt: skip


QUORUM_LOST = NodeRule(
    "quorum-lost",
    "Ceph without a quorum, because monitors on these nodes do not run",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(Cluster,),
)
