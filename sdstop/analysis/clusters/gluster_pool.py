"""A trusted pool of GlusterFS: its servers, as the glusterd of this one sees them."""

from __future__ import annotations

from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.readings.cluster import Cluster, ClusterNode

GLUSTER = "gluster"
"""Kind of cluster."""


def pool_verdict(window: Window, cluster: Cluster) -> Verdict:
    """Return the verdict on the servers of a pool; those of volumes and bricks are other rules'."""
    gone = [
        row for row in window.rows(ClusterNode).values() if row.cluster == cluster.cluster and row.healthy == 0
    ]  # fmt: skip
    if cluster.nodes is None:
        return Finding(
            severity=Severity.WARNING,
            subject=cluster.cluster,
            title="GLUSTERD NOT RUNNING",
            cause="Volumes are configured on this server, and glusterd does not run.",
            impact="Bricks here may serve on; after a restart of one no client finds it.",
            values=(Value("state", "state", cluster.state), Value("says", "found", cluster.says)),
            evidence=cites(window.cite(cluster)),
            advice=(
                "Start glusterd, then check the bricks of this server.",
                run("systemctl", "status", "glusterd"),
                run("journalctl", "-b", "-u", "glusterd"),
                run("gluster", "volume", "status", note="on another server"),
            ),
            refuted_by="an answer of gluster volume info on this server",
            damage=Damage.AVAILABILITY,
        )
    if not gone:
        return RuledOut(cluster.cluster, f"{cluster.nodes_up} of {cluster.nodes} servers connected")
    names = gone[0].node + (f" and {len(gone) - 1} more" if len(gone) > 1 else "")
    every = len(gone) == cluster.nodes - 1 and len(gone) > 1
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        title="THIS SERVER IS ALONE" if every else "SERVER OUT OF REACH" if len(gone) == 1
        else f"{len(gone)} SERVERS OUT OF REACH",
        cause=fitting(f"glusterd here does not reach {names}.", f"glusterd here does not reach {len(gone)} servers."),
        impact="The state of their bricks is unknown here; clients may still reach them.",
        values=(
            Value("servers", "servers connected", cluster.nodes_up, "", of=cluster.nodes),
            *(Value(f"state{number}", row.node, row.state) for number, row in enumerate(gone[:5], 1)),
        ),
        evidence=cites(window.cite(cluster), *(window.cite(row) for row in gone[:3])),
        advice=(
            "Check these servers and their network; compare with another server.",
            run("ping", "-c", "3", *operands(gone[0].node)),
            run("gluster", "peer", "status", note="here, and on another server"),
            run("systemctl", "status", "glusterd", note="on the server out of reach"),
        ),
        refuted_by="all servers connected in gluster peer status",
        damage=Damage.REDUNDANCY,
    )  # fmt: skip
