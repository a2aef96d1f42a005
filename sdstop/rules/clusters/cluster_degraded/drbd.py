"""What to do about a DRBD resource, by the states of its two sides."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.drbd.status import NAMELESS
from sdstop.core.advice import Advice, operands, run
from sdstop.core.history import Window
from sdstop.readings.cluster import Cluster, ClusterNode

_GOOD = "UpToDate"
_NO_DISK = frozenset({"Diskless", "Failed", "Detaching"})


def node_name(node: ClusterNode) -> str:
    """Return the name of a node in a sentence; version 8 does not know the name of the peer."""
    return "the peer" if node.node == NAMELESS else node.node


def drbd_advice(window: Window, cluster: Cluster) -> Iterator[Advice]:
    """Yield the steps for a resource: the status, then repairs of this side, then repairs of the peer."""
    rows = window.where(DrbdConnection, "resource", cluster.cluster)
    argument = operands(rows[0].argument if rows else cluster.cluster)
    yield run("drbdadm", "status", "--verbose", *argument)
    if any(row.suspended for row in rows):
        yield "Find out what suspended it: fencing, no quorum, or an administrator."
        yield run("journalctl", "-k").pipe("grep", "-i", "drbd")
        yield run("drbdadm", "resume-io", *argument, note="only if the peer cannot be Primary")
        return
    if any(row.disk in _NO_DISK for row in rows):
        yield run("drbdadm", "sh-ll-dev", *argument, note="the disk that this node lost")
        yield run("journalctl", "-k").pipe("grep", "-i", "-E", "I/O error|drbd")
        yield run("drbdadm", "attach", *argument, note="when the disk works; a new one: create-md first")
    if any(row.connection == "StandAlone" for row in rows):
        yield "This node does not reconnect by itself. If no side was written to alone:"
        yield run("drbdadm", "connect", *argument)
    elif away := [row.peer for row in rows if row.connection != "Connected"]:
        if away[0] != NAMELESS:
            yield run("ping", "-c", "3", *operands(away[0]), note="the peer, and the link to it")
        yield "On the peer; if it is StandAlone, it was disconnected there:"
        yield run("drbdadm", "status", *argument)
    if any(row.replication is not None and row.replication.startswith("Paused") for row in rows):
        yield run("drbdadm", "resume-sync", *argument, note="on the side that paused it")
    if any(row.connection == "Connected" and row.peer_disk in _NO_DISK for row in rows):
        yield "On the peer, whose disk is lost:"
        yield run("drbdadm", "sh-ll-dev", *argument)
        yield run("journalctl", "-k").pipe("grep", "-i", "-E", "I/O error|drbd")
        yield run("drbdadm", "attach", *argument, note="when the disk works; a new one: create-md first")
