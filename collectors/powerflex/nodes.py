"""Managers, nodes and cluster health of a ScaleIO/PowerFlex system."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.powerflex.objects import Object, rates, size, text, whole
from sdstop.collectors.powerflex.pools import LocalNode, System, bad_states, has_state
from sdstop.readings.cluster import Cluster, ClusterNode

_MODES = {
    "singlenode": (1, 1), "threenodes": (3, 2), "fivenodes": (5, 3), "1_node": (1, 1), "3_node": (3, 2),
    "5_node": (5, 3), "single": (1, 1), "cluster": (3, 2),
}  # fmt: skip
"""Managers and copies of their records by mode; Single and Cluster are of 1.x, whose third manager has no records."""
_OF_1X = {
    "clusterednormal": (3, 2), "clustereddegraded": (2, 1), "clusteredtiebreakerdown": (2, 2),
    "clustereddegradedtiebreakerdown": (1, 1),
}  # fmt: skip


def cluster_row(system: System) -> Cluster:
    """Return the cluster row of a system: leader, managers and nodes that are up, capacity, degraded data."""
    row, numbers = system.objects.system, system.of("System", "")
    managers = row.get("mdmCluster")
    mdms: Object = managers if isinstance(managers, dict) else {}
    said = _idle_domains(system)
    state = text(mdms.get("clusterState")) or text(row.get("mdmClusterState"))
    mode = text(mdms.get("clusterMode")) or text(row.get("mdmMode")) or ""
    expected, copies = _MODES.get(mode.lower(), (None, None))
    up, copies_up = whole(mdms.get("goodNodesNum")), whole(mdms.get("goodReplicasNum"))
    if not mdms and state is not None:
        up, copies_up = (1, 1) if mode.lower() == "single" else _OF_1X.get(state.lower(), (None, None))
    expected = expected or whole(mdms.get("nodesNum")) or len(_members(mdms)) or None
    copies = copies or whole(mdms.get("replicasNum"))
    nodes = system.objects.of("Sds").values()
    reads, read = rates(numbers, "userDataReadBwc")
    writes, write = rates(numbers, "userDataWriteBwc")
    master = mdms.get("master")
    leader: Object = master if isinstance(master, dict) else {}
    return Cluster(
        cluster=system.cluster,
        kind="powerflex",
        ident=text(row.get("id")),
        version=_version(text(row.get("systemVersionName"))),
        state=state,
        healthy=0 if said else _healthy(state, mode, up, expected),
        leader=text(leader.get("name")) or text(leader.get("id")),
        managers=expected,
        managers_up=up,
        replicas=copies,
        replicas_up=copies_up,
        tolerates=_tolerates(expected, up, copies_up),
        nodes=len(nodes) or None,
        nodes_up=sum(not bad_states(node) for node in nodes) if any(map(has_state, nodes)) else None,
        capacity=size(numbers, "maxCapacityInKb", "capacityLimitInKb"),
        used=size(numbers, "capacityInUseInKb"),
        spare=size(numbers, "spareCapacityInKb"),
        degraded=_most(system, numbers, "degradedHealthyCapacityInKb", "degradedFailedCapacityInKb"),
        failed=_most(system, numbers, "failedCapacityInKb"),
        reads=reads,
        writes=writes,
        read=read,
        write=write,
        epoch=system.objects.session,
        says=said,
        origin=system.origin,
        needle="clusterState" if mdms else "mdmClusterState" if state else "",
    )


def _idle_domains(system: System) -> str | None:
    """Return the protection domains that do not serve their data, None if all do."""
    domains = system.objects.of("ProtectionDomain")
    states = {ident: text(row.get("protectionDomainState")) for ident, row in domains.items()}
    return ", ".join(
        f"protection domain {system.objects.name('ProtectionDomain', ident) or ident} is {state}"
        for ident, state in states.items() if state is not None and state != "Active"
    ) or None  # fmt: skip


def _most(system: System, numbers: Object, *names: str) -> int | None:
    """Return the sum of some numbers of the system or that of its pools, whichever is larger."""
    pools = [_added(system.of("StoragePool", ident), *names) for ident in system.objects.of("StoragePool")]
    known = [value for value in pools if value is not None]
    told = [value for value in (_added(numbers, *names), sum(known) if known else None) if value is not None]
    return max(told, default=None)


def _added(row: Object, *names: str) -> int | None:
    found = [size(row, name) for name in names]
    return None if all(part is None for part in found) else sum(part or 0 for part in found)


def _version(name: str | None) -> str | None:
    """Return `ScaleIO R2_6.11000.113` for `DellEMC ScaleIO Version: R2_6.11000.113`."""
    if name is None:
        return None
    product, _, version = name.partition(" Version: ")
    return f"{product.split()[-1]} {version}" if version and product.split() else name


def _healthy(state: str | None, mode: str, up: int | None, expected: int | None) -> int | None:
    if state is None:
        return None
    alone = mode.lower().startswith(("single", "1_"))
    good = state.lower() in ({"clusterednormal", "normal", "notclustered"} if alone else {"clusterednormal", "normal"})
    return int(good and not (up is not None and expected is not None and up < expected))


def _tolerates(expected: int | None, up: int | None, copies_up: int | None) -> int | None:
    """Return how many more managers may fail: a majority must remain, including one with the records."""
    if expected is None or up is None:
        return None
    bounds = [up - (expected // 2 + 1), *([] if copies_up is None else [copies_up - 1])]
    return max(min(bounds), 0)


def _members(mdms: Object) -> list[tuple[str, Object]]:
    """Return the managers with their roles."""
    master = mdms.get("master")
    found: list[tuple[str, Object]] = [("mdm", master)] if isinstance(master, dict) else []
    for role, name in (("mdm", "slaves"), ("tiebreaker", "tieBreakers")):
        listed = mdms.get(name)
        found += [(role, entry) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return found


def manager_rows(system: System) -> Iterator[ClusterNode]:
    """Yield the managers: MDMs, tie-breakers and standby managers."""
    said = system.objects.system.get("mdmCluster")
    mdms: Object = said if isinstance(said, dict) else {}
    standby = mdms.get("standbyMDMs")
    spare = [("standby", row) for row in standby if isinstance(row, dict)] if isinstance(standby, list) else []
    for role, row in [*_members(mdms), *spare]:
        ident = text(row.get("id"))
        leads = row is mdms.get("master")
        state = text(row.get("status")) or ("Normal" if leads else None)  # 2.6 reports no status for the master
        addresses = row.get("ips")
        yield ClusterNode(
            cluster=system.cluster,
            role=role,
            node=text(row.get("name")) or ident or "?",
            ident=ident,
            address=" ".join(map(str, addresses)) if isinstance(addresses, list) else text(addresses),
            area=None,
            domain=None,
            state=state,
            healthy=None if state is None or role == "standby" else int(state == "Normal"),
            maintenance=None,
            leads=leads,
            devices=None,
            capacity=None,
            used=None,
            version=text(row.get("versionInfo")),
            origin=system.origin,
        )


def node_rows(system: System, here: LocalNode) -> Iterator[ClusterNode]:
    """Yield the data nodes (SDSs)."""
    counts: dict[str, int] = {}
    capacity: dict[str, int] = {}
    for device in system.objects.of("Device").values():
        node = str(device.get("sdsId"))
        counts[node] = counts.get(node, 0) + 1
        capacity[node] = capacity.get(node, 0) + (size(device, "maxCapacityInKb") or 0)
    for ident, row in system.objects.of("Sds").items():
        numbers = system.of("Sds", ident)
        bad = bad_states(row)
        maintenance = text(row.get("maintenanceState"))
        addresses = addresses_of(row)
        fault_set = text(row.get("faultSetId"))
        fault_set = None if fault_set is None or not fault_set.strip("0") else fault_set
        yield ClusterNode(
            cluster=system.cluster,
            role="sds",
            node=system.objects.name("Sds", ident) or ident,
            ident=ident,
            address=" ".join(addresses) or None,
            area=system.objects.name("ProtectionDomain", text(row.get("protectionDomainId"))),
            domain=system.objects.name("FaultSet", fault_set) or system.objects.name("Sds", ident),
            state=", ".join(bad) or ("Normal" if has_state(row) else None),
            healthy=int(not bad) if has_state(row) else None,
            maintenance=None if maintenance in {None, "NoMaintenance", "NO_MAINTENANCE"} else maintenance,
            leads=False,
            devices=counts.get(ident, 0),
            capacity=size(numbers, "maxCapacityInKb") or capacity.get(ident),
            used=size(numbers, "capacityInUseInKb"),
            version=text(row.get("softwareVersionInfo")),
            local=not here.addresses.isdisjoint(addresses),
            origin=system.origin,
        )


def addresses_of(row: Object) -> list[str]:
    """Return the addresses of an SDS."""
    listed = row.get("ipList")
    if isinstance(listed, str):
        return [part.strip() for part in listed.split(",") if part.strip()]
    entries = listed if isinstance(listed, list) else []
    return [str(entry.get("ip")) for entry in entries if isinstance(entry, dict) and entry.get("ip")]
