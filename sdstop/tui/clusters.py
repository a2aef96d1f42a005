"""Clusters as the screen shows them: failure domains, their nodes and devices as a tree, and what is said of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sdstop.core.finding import Finding, Severity
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.drives import natural, rows
from sdstop.tui.scene import Scene

MANAGERS = frozenset({"mdm", "tiebreaker", "standby", "mon"})
"""Roles of those that lead, and hold no data by it."""
_LED = {"mdm": 0, "tiebreaker": 1, "standby": 2, "mon": 0}


@dataclass(frozen=True, slots=True)
class Twig:
    """Something of a cluster: itself, its managers, a failure domain, a node with its roles, or a device.

    `severity` is the worst that is said of it and of all below; `down` counts what is not well below.
    """

    key: tuple[str, ...]
    kind: str
    name: str
    severity: Severity | None = None
    cluster: Cluster | None = None
    nodes: tuple[ClusterNode, ...] = ()
    domains: tuple[FailureDomain, ...] = ()
    device: ClusterDevice | None = None
    below: tuple[Twig, ...] = ()
    here: bool = False

    @property
    def capacity(self) -> int | None:
        """Raw bytes of its devices, None where nobody says."""
        return _sum(row.capacity for row in self._holding)

    @property
    def used(self) -> float | None:
        """Share of them in use."""
        capacity, used = self.capacity, _sum(row.used for row in self._holding)
        return used / capacity if capacity and used is not None else None

    @property
    def devices(self) -> int | None:
        """How many devices it brings."""
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


def forest(scene: Scene) -> list[Twig]:
    """Return a tree for each cluster; of a single one what hangs on it."""
    clusters = sorted(rows(scene, Cluster)[0].values(), key=lambda row: natural(row.cluster))
    grown = [_grow(row, scene) for row in clusters]
    found = [twig for twig in grown if twig.below]
    return list(found[0].below) if len(clusters) == 1 and found else found


def _grow(cluster: Cluster, scene: Scene) -> Twig:
    name = cluster.cluster
    worst = scene.worst()
    nodes = [row for row in rows(scene, ClusterNode)[0].values() if row.cluster == name]
    devices: dict[str, list[ClusterDevice]] = {}
    for device in rows(scene, ClusterDevice)[0].values():
        if device.cluster == name:
            devices.setdefault(device.node, []).append(device)
    by_domain: dict[str, list[FailureDomain]] = {}
    for domain in rows(scene, FailureDomain)[0].values():
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
        twigs = [_node(name, m, roles.get(m, []), devices.get(m, []), worst) for m in sorted(members, key=natural)]
        if members == [domain_name]:
            below += twigs
            continue
        said = _worst([worst.get(domain_name), *(twig.severity for twig in twigs)])
        rows_ = tuple(by_domain.get(domain_name, ()))
        below.append(
            Twig((name, "domain", domain_name), "domain", domain_name, said, None, (), rows_, None, tuple(twigs))
        )
    own = worst.get(name) or (Severity.WARNING if cluster.healthy == 0 else None)
    severity = _worst([own, *(twig.severity for twig in below)])
    return Twig((name,), "cluster", name, severity, cluster, (), (), None, tuple(below))


def _managers(cluster: str, managers: Sequence[ClusterNode], worst: dict[str, Severity]) -> Twig:
    twigs = tuple(
        Twig((cluster, row.role, row.node), "manager", row.node, _said(row, worst), None, (row,), here=row.local)
        for row in managers
    )
    severity = _worst([twig.severity for twig in twigs])
    return Twig((cluster, "managers"), "managers", "managers", severity, None, (), (), None, twigs)


def _node(
    cluster: str, name: str, roles: Sequence[ClusterNode], devices: Sequence[ClusterDevice], worst: dict[str, Severity]
) -> Twig:  # fmt: skip
    below = tuple(
        Twig((cluster, name, row.device), "device", row.local or row.device, _said(row, worst), None, (), (), row,
             here=row.local is not None)
        for row in sorted(devices, key=lambda row: natural(row.device))
    )  # fmt: skip
    severity = _worst([worst.get(name), *(_said(row, worst) for row in roles), *(twig.severity for twig in below)])
    here = any(row.local for row in roles) or any(twig.here for twig in below)
    return Twig((cluster, "node", name), "node", name, severity, None, tuple(roles), (), None, below, here)


def _said(row: ClusterNode | ClusterDevice, worst: dict[str, Severity]) -> Severity | None:
    name = row.node if isinstance(row, ClusterNode) else row.local or row.device
    return worst.get(name) or (Severity.WARNING if row.healthy == 0 else None)


def _worst(said: Iterable[Severity | None]) -> Severity | None:
    return max((one for one in said if one is not None), key=lambda one: one.rank, default=None)


def pools(scene: Scene) -> list[ClusterPool]:
    """Return the pools of all clusters, by name."""
    return sorted(rows(scene, ClusterPool)[0].values(), key=lambda row: (row.cluster, natural(row.pool)))


def rebuilds(scene: Scene) -> list[Rebuild]:
    """Return what clusters rebuild."""
    found = [row for row in rows(scene, Rebuild)[0].values() if row.kind in {"powerflex", "ceph", "drbd"}]
    return sorted(found, key=lambda row: (row.array, row.operation))


def about(scene: Scene, subject: str, prefix: str = "") -> list[Finding]:
    """Return what rules, those whose id begins with `prefix`, find wrong with a subject."""
    return [f for f in scene.look.judgement.findings if f.subject == subject and f.rule.startswith(prefix)]
