"""Clusters as trees of failure domains, nodes and devices, each with its severity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.latest import latest_rows
from sdstop.core.finding import Finding, Severity, worst_by_subject, worst_of
from sdstop.core.format import natural
from sdstop.core.history import Window
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.readings.rebuild import Rebuild

MANAGERS = frozenset({"mdm", "tiebreaker", "standby", "mon"})
"""Roles that manage the cluster and hold no data."""
_LED = {"mdm": 0, "tiebreaker": 1, "standby": 2, "mon": 0}


class ClusterEntity(Struct, frozen=True, kw_only=True):
    """Entity of a cluster: the cluster itself, its managers, a failure domain, a node with its roles, or a device.

    `severity` is the worst severity of the entity and everything below it; `down` counts the unhealthy parts below it.
    """

    key: tuple[str, ...]
    kind: str
    name: str
    severity: Severity | None = None
    cluster: Cluster | None = None
    nodes: tuple[ClusterNode, ...] = ()
    domains: tuple[FailureDomain, ...] = ()
    device: ClusterDevice | None = None
    below: tuple[ClusterEntity, ...] = ()
    here: bool = False

    @property
    def capacity(self) -> int | None:
        """Raw bytes of the devices, None if unknown."""
        return _sum(row.capacity for row in self._holding)

    @property
    def used(self) -> float | None:
        """Used share of the capacity."""
        capacity, used = self.capacity, _sum(row.used for row in self._holding)
        return used / capacity if capacity and used is not None else None

    @property
    def devices(self) -> int | None:
        """Number of devices."""
        return _sum([*(row.devices for row in self.domains), *(row.devices for row in self.nodes)])

    @property
    def _holding(self) -> Sequence[FailureDomain | ClusterNode | ClusterDevice | Cluster]:
        if self.device is not None:
            return (self.device,)
        if self.cluster is not None:
            return (self.cluster,)
        return self.domains or tuple(row for row in self.nodes if row.capacity is not None)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def forest(window: Window, findings: Sequence[Finding]) -> list[ClusterEntity]:
    """Return a tree for each cluster, or the parts of the only cluster; `findings` are the active ones."""
    worst = worst_by_subject(findings)
    clusters = sorted(latest_rows(window, Cluster)[0].values(), key=lambda row: natural(row.cluster))
    grown = [_grow(row, window, worst) for row in clusters]
    found = [entity for entity in grown if entity.below]
    return list(found[0].below) if len(clusters) == 1 and found else found


def _grow(cluster: Cluster, window: Window, worst: Mapping[str, Severity]) -> ClusterEntity:
    name = cluster.cluster
    nodes = [row for row in latest_rows(window, ClusterNode)[0].values() if row.cluster == name]
    devices: dict[str, list[ClusterDevice]] = {}
    for device in latest_rows(window, ClusterDevice)[0].values():
        if device.cluster == name:
            devices.setdefault(device.node, []).append(device)
    by_domain: dict[str, list[FailureDomain]] = {}
    for domain in latest_rows(window, FailureDomain)[0].values():
        if domain.cluster == name:
            by_domain.setdefault(domain.domain, []).append(domain)
    managers = sorted(
        (n for n in nodes if n.role in MANAGERS), key=lambda n: (not n.leads, _LED[n.role], natural(n.node))
    )
    roles: dict[str, list[ClusterNode]] = {}
    for node in nodes:
        if node.role not in MANAGERS:
            roles.setdefault(node.node, []).append(node)
    placed: dict[str, list[str]] = {}
    for node_name, found in roles.items():
        placed.setdefault(found[0].domain or node_name, []).append(node_name)
    for node_name in devices.keys() - roles.keys():
        placed.setdefault(node_name, []).append(node_name)
    below = [_managers(name, managers, worst)] if managers else []
    for domain_name, members in sorted(placed.items(), key=lambda item: natural(item[0])):
        entities = [_node(name, m, roles.get(m, []), devices.get(m, []), worst) for m in sorted(members, key=natural)]
        if members == [domain_name]:
            below += entities
            continue
        said = worst_of([worst.get(domain_name), *(entity.severity for entity in entities)])
        rows_ = tuple(by_domain.get(domain_name, ()))
        below.append(
            ClusterEntity(
                key=(name, "domain", domain_name),
                kind="domain",
                name=domain_name,
                severity=said,
                cluster=None,
                nodes=(),
                domains=rows_,
                device=None,
                below=tuple(entities),
            )
        )
    own = worst.get(name) or (Severity.WARNING if cluster.healthy == 0 else None)
    severity = worst_of([own, *(entity.severity for entity in below)])
    return ClusterEntity(
        key=(name,),
        kind="cluster",
        name=name,
        severity=severity,
        cluster=cluster,
        nodes=(),
        domains=(),
        device=None,
        below=tuple(below),
    )


def _managers(cluster: str, managers: Sequence[ClusterNode], worst: Mapping[str, Severity]) -> ClusterEntity:
    entities = tuple(
        ClusterEntity(
            key=(cluster, row.role, row.node),
            kind="manager",
            name=row.node,
            severity=_said(row, worst),
            cluster=None,
            nodes=(row,),
            here=row.local,
        )
        for row in managers
    )
    severity = worst_of([entity.severity for entity in entities])
    return ClusterEntity(
        key=(cluster, "managers"),
        kind="managers",
        name="managers",
        severity=severity,
        cluster=None,
        nodes=(),
        domains=(),
        device=None,
        below=entities,
    )


def _node(
    cluster: str,
    name: str,
    roles: Sequence[ClusterNode],
    devices: Sequence[ClusterDevice],
    worst: Mapping[str, Severity],
) -> ClusterEntity:
    below = tuple(
        ClusterEntity(
            key=(cluster, name, row.device),
            kind="device",
            name=row.local or row.device,
            severity=_said(row, worst),
            cluster=None,
            nodes=(),
            domains=(),
            device=row,
            here=row.local is not None,
        )
        for row in sorted(devices, key=lambda row: natural(row.device))
    )
    severity = worst_of(
        [worst.get(name), *(_said(row, worst) for row in roles), *(entity.severity for entity in below)]
    )
    here = any(row.local for row in roles) or any(entity.here for entity in below)
    return ClusterEntity(
        key=(cluster, "node", name),
        kind="node",
        name=name,
        severity=severity,
        cluster=None,
        nodes=tuple(roles),
        domains=(),
        device=None,
        below=below,
        here=here,
    )


def _said(row: ClusterNode | ClusterDevice, worst: Mapping[str, Severity]) -> Severity | None:
    name = row.node if isinstance(row, ClusterNode) else row.local or row.device
    return worst.get(name) or (Severity.WARNING if row.healthy == 0 else None)


def pools(window: Window) -> list[ClusterPool]:
    """Return the pools of all clusters, sorted by name."""
    return sorted(latest_rows(window, ClusterPool)[0].values(), key=lambda row: (row.cluster, natural(row.pool)))


def rebuilds(window: Window) -> list[Rebuild]:
    """Return the rebuilds of clusters."""
    found = [row for row in latest_rows(window, Rebuild)[0].values() if row.kind in {"powerflex", "ceph", "drbd"}]
    return sorted(found, key=lambda row: (row.array, row.operation))


def about(findings: Sequence[Finding], subject: str, prefix: str = "") -> list[Finding]:
    """Return the findings about a subject from rules whose id begins with `prefix`."""
    return [f for f in findings if f.subject == subject and f.rule.startswith(prefix)]
