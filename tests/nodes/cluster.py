"""A node of a cluster, as rows: a test's own collector brings what it says of managers, nodes, pools and rebuilds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, ClusterVolume, FailureDomain
from sdstop.readings.limit import USE, Limit
from sdstop.readings.rebuild import Rebuild
from tests.nodes.block import STARTED, Node

TOLD = "/told/cluster"
TB = 10**12
FAMILIES: tuple[type[Reading], ...] = (
    Cluster, ClusterNode, ClusterPool, FailureDomain, ClusterDevice, ClusterVolume, Rebuild, Limit,
)  # fmt: skip


def _read(host: Host) -> Iterator[Reading]:
    made = {family.__name__: family for family in FAMILIES}
    for row in json.loads(host.read(TOLD)):
        values = dict(row)
        family = made[values.pop("is")]
        required = len(family.__struct_fields__) - len(family.__struct_defaults__)
        lacking = dict.fromkeys(family.__struct_fields__[:required])
        yield family(**lacking | values)


COLLECTOR = Collector("told", "A cluster, as a test tells it", _read, FAMILIES, (), derives=(USE,))


def cluster(name: str = "c1", **more: Any) -> dict[str, Any]:
    """Return a healthy cluster of three managers."""
    return {
        "is": "Cluster", "cluster": name, "kind": "powerflex", "version": "R3_6", "state": "ClusteredNormal",
        "healthy": 1, "leader": "mdm1", "managers": 3, "managers_up": 3, "replicas": 2, "replicas_up": 2,
        "tolerates": 1, "nodes": 4, "nodes_up": 4, "origin": TOLD,
    } | more  # fmt: skip


def pool(spare: float, used: float = 10 * TB, **more: Any) -> dict[str, Any]:
    """Return a pool of 24 TB raw on two fault sets, half of it on the largest."""
    return {
        "is": "ClusterPool", "cluster": "c1", "pool": "fast", "kind": "powerflex", "copies": 2, "capacity": 24 * TB,
        "used": int(used), "spare": int(spare), "domains": 2, "largest": 12 * TB, "largest_domain": "rack1",
        "origin": TOLD,
    } | more  # fmt: skip


def parts(sets: int = 2, nodes: int = 2, devices: int = 3) -> list[dict[str, Any]]:
    """Return managers, and fault sets of nodes with devices of 2 TB; the first node is the one that is read."""
    found: list[dict[str, Any]] = [
        {"is": "ClusterNode", "cluster": "c1", "role": role, "node": name, "state": "Normal", "healthy": 1,
         "leads": leads, "address": "10.0.0.1", "local": False}
        for role, name, leads in (("tiebreaker", "tb1", False), ("mdm", "mdm2", False), ("mdm", "mdm1", True))
    ]  # fmt: skip
    for rack in range(1, sets + 1):
        found.append({"is": "FailureDomain", "cluster": "c1", "pool": "fast", "domain": f"rack{rack}",
                      "of": "fault set", "nodes": nodes, "devices": nodes * devices,
                      "capacity": nodes * devices * 2 * TB, "used": nodes * devices * TB, "nodes_down": 0})  # fmt: skip
        for number in range(1, nodes + 1):
            name = f"sds{rack}-{number}"
            found.append({"is": "ClusterNode", "cluster": "c1", "role": "sds", "node": name, "domain": f"rack{rack}",
                          "state": "Connected", "healthy": 1, "leads": False, "devices": devices,
                          "capacity": devices * 2 * TB, "used": devices * TB, "address": f"10.0.{rack}.{number}",
                          "local": name == "sds1-1"})  # fmt: skip
            found += [
                {"is": "ClusterDevice", "cluster": "c1", "node": name, "device": f"/dev/disk/by-path/d{disk}",
                 "pool": "fast", "state": "Normal", "healthy": 1, "capacity": 2 * TB, "used": TB, "read_wait": 0.005,
                 "write_wait": 0.002, "local": "sd" + "abc"[disk] if name == "sds1-1" and disk < 3 else None}
                for disk in range(devices)
            ]  # fmt: skip
    return found


def rebalance(**more: Any) -> dict[str, Any]:
    """Return a rebalance at a quarter."""
    return {
        "is": "Rebuild", "array": "c1/fast", "operation": "rebalance", "state": "running", "done": TB, "total": 4 * TB,
        "speed": 10485760, "remaining": 171541, "kind": "powerflex", "limited_by": "rebalance policy favorAppIos",
        "where": TOLD,
    } | more  # fmt: skip


def session(
    told: Sequence[dict[str, Any]], rules: Sequence[Rule] = (), name: str = "node-1", seconds: int = 3
) -> Session:  # fmt: skip
    """Return a session over a node that is told this of its clusters, every second anew."""
    frames = Node(("sda", "sdb", "sdc", "sdd")).frames(seconds)
    for at, frame in enumerate(frames):
        item = Evidence(TOLD, data=json.dumps(list(told)).encode() + b" " * at, taken=STARTED + at)
        frames[at] = Frame(frame.number, frame.taken, frame.monotonic, (*frame.evidence, item))
    made = Session(Origin(name), (*BUILTIN, COLLECTOR), rules)
    made.feed_all(frames)
    return made
