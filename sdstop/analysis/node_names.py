"""Names by which other nodes may know a node."""

from __future__ import annotations

from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.system.readings import Node
from sdstop.core.history import Window
from sdstop.readings.cluster import ClusterNode


def node_names(window: Window) -> frozenset[str]:
    """Return the host name and addresses of a node, and its names in the clusters that it is part of."""
    node = window.get(Node, ())
    found = {node.hostname} if node is not None and node.hostname else set()
    found |= {row.address for row in window.rows(NodeAddress).values()}
    for row in window.rows(ClusterNode).values():
        if row.local:
            found |= {row.node, *(row.address or "").split()}
    return frozenset(found - {""})
