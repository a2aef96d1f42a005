"""A cluster manager (Pacemaker): quorum, lost nodes and their fencing, maintenance, as crm_mon shows them.

Resources may run where this side of a cluster does not see them. So nothing is stated of a lost node but that it is
lost, and nothing of resources but what crm_mon lists; the policy that decides on them is a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.pacemaker.corosync import COROSYNC_MEMBERSHIP
from sdstop.collectors.pacemaker.readings import ClusterMembership, ClusterPolicy, ClusterResource, CorosyncLink
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.snapshot import Run
from sdstop.readings.cluster import Cluster, ClusterNode

PACEMAKER = "pacemaker"
"""Kind of cluster that holds no data but runs the services for it."""
_PAIR = 2
"""Managers of a cluster in which none alone has a majority."""
_MEMBER = "member"
"""Role of a node that votes; remote nodes and guests run resources without a vote."""


class _Fault(Struct, frozen=True):
    """One fault of a cluster; `standing` for conditions, `nodes` are those that it is about."""

    severity: Severity
    damage: Damage
    title: str
    cause: str
    impact: str
    nodes: tuple[ClusterNode, ...] = ()
    advice: tuple[Advice, ...] = ()
    standing: bool = False


class _Side(Struct, frozen=True, kw_only=True):
    """What this side of a cluster knows."""

    cluster: Cluster
    nodes: Sequence[ClusterNode]
    resources: Sequence[ClusterResource]
    policy: ClusterPolicy | None
    membership: ClusterMembership | None
    links: Sequence[CorosyncLink]

    def named(self, *states: str) -> tuple[ClusterNode, ...]:
        """Return the unhealthy nodes in one of these states."""
        return tuple(node for node in self.nodes if node.state in states and node.healthy == 0)

    @property
    def fencing(self) -> bool | None:
        """Whether fencing is enabled, None if unknown."""
        return None if self.policy is None or self.policy.fencing is None else bool(self.policy.fencing)

    @property
    def is_pair(self) -> bool:
        """Whether one node alone keeps quorum."""
        if self.membership is not None and self.membership.two_node is not None:
            return bool(self.membership.two_node)
        ignored = self.policy is not None and self.policy.without_quorum == "ignore"
        return ignored or self.cluster.managers == _PAIR


def can_fence(policy: ClusterPolicy) -> bool | None:
    """Return whether fencing has a device or a watchdog, None if unknown."""
    if policy.fence_devices or policy.watchdog:
        return True
    return None if policy.watchdog is None else False


def silent(window: Window, source: str) -> Run | None:
    """Return the last run of a source if the daemon that it asks did not answer in time, None if it did."""
    ran = window.now.runs.get(source)
    return ran if ran is not None and ran.outcome is Outcome.TIMEOUT else None


def doubt(window: Window, cluster: str) -> Unchecked | None:
    """Return why nothing good can be concluded from crm_mon here: Pacemaker reports its state before Corosync hung.

    None if Corosync answers, or is not asked.
    """
    if silent(window, COROSYNC_MEMBERSHIP.name) is None:
        return None
    return Unchecked("Corosync does not answer (see cluster-not-running)", cluster, gap=Gap.FAULTY)


def manager_verdict(window: Window, cluster: Cluster) -> Verdict:
    """Return the verdict on a cluster of Pacemaker: its worst fault, with the others as values."""
    side = _Side(
        cluster=cluster,
        nodes=window.where(ClusterNode, "cluster", cluster.cluster),
        resources=window.where(ClusterResource, "cluster", cluster.cluster),
        policy=window.get(ClusterPolicy, cluster.cluster),
        membership=window.get(ClusterMembership, cluster.cluster),
        links=window.where(CorosyncLink, "cluster", cluster.cluster),
    )
    faults = [*_without_leader(side), *_lost(side), *_limping(side), *_on_purpose(side)]
    if not faults:
        return doubt(window, cluster.cluster) or _good(side)
    first = max(faults, key=lambda each: (each.severity.rank, -each.damage.rank, -faults.index(each)))
    others = [each.cause for each in faults if each is not first]
    about = [*first.nodes, *(node for each in faults if each is not first for node in each.nodes)]
    policy = side.policy
    policy_is_cited = policy is not None and (first.standing or not about)
    return Finding(
        severity=first.severity,
        subject=cluster.cluster,
        title=first.title,
        cause=first.cause,
        impact=first.impact,
        values=(
            Value("managers", "nodes online", cluster.managers_up, "", of=cluster.managers),
            Value("state", "state", cluster.state),
            *_values(side),
            *(Value(f"also{number}", "also", cause) for number, cause in enumerate(dict.fromkeys(others), 1)),
        ),
        evidence=cites(
            window.cite(cluster), *(window.cite(node) for node in about[:3]),
            window.cite(policy) if policy is not None and policy_is_cited else None,
            *(window.cite(link) for link in _cut(side, first.nodes)[:2]),
        ),
        advice=(*first.advice, run("crm_mon", "-1", "-r", "-f"), run("corosync-quorumtool", "-s")),
        refuted_by="quorum, and every node online and clean, in crm_mon on each node",
        damage=first.damage,
        standing=first.standing,
    )  # fmt: skip


def _values(side: _Side) -> Iterator[Value]:
    policy, membership = side.policy, side.membership
    running, wanted = _running(side)
    yield Value("running", "resources running on online nodes", running, "", of=wanted)
    if policy is not None:
        word = {True: "enabled", False: "disabled"}.get(side.fencing) if side.fencing is not None else None
        yield Value("fencing", "fencing", word)
        yield Value("devices", "fence devices", policy.fence_devices)
        yield Value("policy", "no-quorum-policy", policy.without_quorum)
    if membership is not None and membership.quorum is not None:
        yield Value("votes", "votes", membership.votes, "", of=membership.quorum)
    for number, link in enumerate(_cut(side, ()), 1):
        yield Value(f"link{number}", f"link {link.link} to {link.node}", link.state)


def _cut(side: _Side, nodes: Sequence[ClusterNode]) -> list[CorosyncLink]:
    """Return the links that do not work, to these nodes or to all."""
    names = {node.node for node in nodes}
    return [
        link for link in side.links if link.state in {"disconnected", "faulty"} and (not names or link.node in names)
    ]


def _running(side: _Side) -> tuple[int, int]:
    """Return how many resources run on an online node, and how many are enabled."""
    online = {node.node for node in side.nodes if node.state not in {"lost", "offline", "UNCLEAN"}}
    enabled = [row for row in side.resources if row.state != "disabled"]
    return sum(any(node in online for node in _nodes(row)) for row in enabled), len(enabled)


def _nodes(row: ClusterResource) -> list[str]:
    return [part.split(" (")[0] for part in row.where.split(", ") if part]


def _without_leader(side: _Side) -> Iterator[_Fault]:
    cluster = side.cluster
    running, wanted = _running(side)
    shown = f"{running} of {wanted} resources run on the nodes that are online."
    if cluster.state == "no leader":
        yield _Fault(
            Severity.CRITICAL, Damage.AVAILABILITY, "NO LEADER", "The cluster has no designated controller.",
            "Resources are not started, moved or fenced.",
        )  # fmt: skip
    elif cluster.state == "no quorum":
        yield _Fault(
            Severity.CRITICAL, Damage.AVAILABILITY, "NO QUORUM",
            f"{cluster.managers_up} of {cluster.managers} nodes are online: no quorum.",
            shown if running else "Resources do not run on any node that is online.",
            side.named("UNCLEAN", "lost"),
            ("Find out whether the other nodes run before anything is forced.",),
        )  # fmt: skip


def _lost(side: _Side) -> Iterator[_Fault]:
    """Yield nodes that are lost: not fenced yet, never to be fenced, or left without fencing."""
    unclean = side.named("UNCLEAN")
    if unclean:
        yield _unclean(side, unclean)
    lost = side.named("lost")
    if lost:
        yield _left(side, lost)
    down = tuple(node for node in side.named("offline") if node.role == _MEMBER)
    remote = tuple(node for node in side.named("offline") if node.role != _MEMBER)
    if remote:
        yield _Fault(
            Severity.WARNING, Damage.REDUNDANCY, _counted(len(remote), "REMOTE NODE DOWN", "REMOTE NODES DOWN"),
            fitting(f"{_listed(remote)} is not connected.", "A remote node or guest is not connected."),
            "Resources cannot run there.", remote,
            (run("crm_mon", "-1", "-r", "-f", note="the resource of its name, or its virtual machine"),),
        )  # fmt: skip
    if down:
        yield _Fault(
            Severity.WARNING, Damage.REDUNDANCY, _counted(len(down), "NODE DOWN", "NODES DOWN"),
            fitting(f"{_listed(down)} is offline after a shutdown or fencing.", "A node was shut down or fenced."),
            "The cluster can lose fewer nodes than configured.", down, _of_node(down[0]),
        )  # fmt: skip


def _unclean(side: _Side, nodes: tuple[ClusterNode, ...]) -> _Fault:
    name = nodes[0].node
    held = sum(set(_nodes(row)) <= {node.node for node in nodes} for row in side.resources if _nodes(row))
    waits = f"{held} resources of lost nodes are not started elsewhere." if held else "Its resources wait for fencing."
    waits = waits if held != 1 else "One resource of a lost node is not started elsewhere."
    waits = fitting(f"Resources of {name} wait for fencing.", "Resources wait for fencing.") if not held else waits
    title, why = _counted(len(nodes), "NODE UNCLEAN", "NODES UNCLEAN"), "fencing has not completed"
    failed = side.policy is not None and any(
        node.node in side.policy.fencing_failed.split(", ") for node in nodes
    )  # fmt: skip
    if side.fencing is False:
        why = "fencing is disabled"
    elif side.policy is not None and not can_fence(side.policy):
        title, why = "NODE UNCLEAN, NO FENCE DEVICE", "no fence device is configured"
    elif failed:
        title, why = "FENCING FAILED", "the last fencing failed"
    elif side.cluster.state == "no quorum":
        why = "nothing is fenced without quorum"
    return _Fault(
        Severity.CRITICAL, Damage.AVAILABILITY, title,
        fitting(f"{_listed(nodes)} UNCLEAN: {why}.", f"{len(nodes)} nodes UNCLEAN: {why}."), waits, nodes,
        (
            "Make sure that the lost node is off, at its power or console.",
            "Confirm only then: a node that still runs would run resources twice.",
            run("stonith_admin", "--confirm", *operands(name), note="only when it is off"),
        ),
    )  # fmt: skip


def _left(side: _Side, nodes: tuple[ClusterNode, ...]) -> _Fault:
    """Return lost nodes that crm_mon does not call UNCLEAN: fenced, or never to be fenced."""
    names, reachable = _listed(nodes), bool(side.resources)
    if side.fencing is not False:
        return _Fault(
            Severity.WARNING, Damage.REDUNDANCY, _counted(len(nodes), "NODE LOST", "NODES LOST"),
            fitting(f"{names} is offline, though expected to run.", "A node is offline, though expected to run."),
            "The cluster can lose fewer nodes than configured.", nodes, _of_node(nodes[0]),
        )  # fmt: skip
    twice = side.is_pair and reachable
    return _Fault(
        Severity.CRITICAL if twice else Severity.WARNING,
        Damage.DATA if twice else Damage.REDUNDANCY,
        "LOST NODE MAY RUN RESOURCES TOO" if reachable else _counted(len(nodes), "NODE LOST", "NODES LOST"),
        fitting(f"{names} is offline and not fenced: fencing is disabled.", "A lost node is not fenced."),
        fitting(f"Resources can run here and on {nodes[0].node} at once.", "Resources can run on both sides at once."),
        nodes,
        (
            "Check by console or another network whether the lost node runs.",
            run("crm_mon", "-1", note="on the lost node"),
            *_of_node(nodes[0]),
            "Enable fencing with a device: without it each side starts everything.",
        ),
    )  # fmt: skip


def _of_node(node: ClusterNode) -> tuple[Advice, ...]:
    return (
        run("ping", "-c", "3", *operands(node.node), note="network of the lost node"),
        run("corosync-cfgtool", "-s", note="links"),
    )


def _limping(side: _Side) -> Iterator[_Fault]:
    """Yield nodes that are online and take no part, or only in part."""
    pending = side.named("pending")
    if pending:
        yield _Fault(
            Severity.WARNING, Damage.REDUNDANCY, _counted(len(pending), "NODE NOT READY", "NODES NOT READY"),
            fitting(f"{_listed(pending)} is pending: not yet a full member.", "A node is not yet a full member."),
            "The node runs none of the resources.", pending, ("Check pacemaker.log on that node.",),
        )  # fmt: skip
    failed = side.named("standby after a failure")
    if failed:
        yield _Fault(
            Severity.WARNING, Damage.REDUNDANCY, "NODE IN STANDBY BY A FAILURE",
            fitting(f"A failed action put {_listed(failed)} into standby.", "A failed action put a node into standby."),
            "The node runs none of the resources.", failed,
            (run("crm_mon", "-1", "-f", note="failed actions"), run("crm_resource", "--cleanup", note="after the fix")),
        )  # fmt: skip
    sick = tuple(node for node in side.nodes if node.state in {"health red", "health yellow"})
    if sick:
        color = (sick[0].state or "").split()[-1]
        red = color == "red"
        yield _Fault(
            Severity.WARNING if red else Severity.INFO, Damage.REDUNDANCY, "NODE HEALTH RED" if red else "NODE HEALTH",
            fitting(f"Health of {_listed(sick)} is {color}.", "Health of a node is not green."),
            "Resources can be kept from the node, by node-health-strategy.", sick,
            (run("crm_mon", "-1", "-A", note="attributes of the node"),),
        )  # fmt: skip


def _on_purpose(side: _Side) -> Iterator[_Fault]:
    policy = side.policy
    if policy is not None and policy.stop_all:
        yield _Fault(
            Severity.WARNING, Damage.AVAILABILITY, "ALL RESOURCES STOPPED BY OPTION", "Set: stop-all-resources.",
            "Pacemaker stops every resource until the option is removed.",
            advice=(run("crm_attribute", "-t", "crm_config", "-n", "stop-all-resources", "-D", note="to end it"),),
            standing=True,
        )  # fmt: skip
    if policy is not None and policy.maintenance:
        yield _Fault(
            Severity.INFO, Damage.HYGIENE, "MAINTENANCE MODE", "The whole cluster is in maintenance mode.",
            "Resources are neither monitored nor started nor moved.", standing=True,
            advice=(run("crm_attribute", "-t", "crm_config", "-n", "maintenance-mode", "-D", note="to end it"),),
        )  # fmt: skip
    for word, title, impact in (
        ("maintenance", "NODE IN MAINTENANCE", "Resources there are neither monitored nor moved."),
        ("standby", "NODE IN STANDBY", "The node runs none of the resources; redundancy is reduced."),
    ):
        away = tuple(node for node in side.nodes if node.maintenance == word)
        whole = policy is not None and policy.maintenance and word == "maintenance"
        if away and not whole:
            yield _Fault(
                Severity.INFO, Damage.HYGIENE, title,
                fitting(f"In {word}: {_listed(away)}.", f"In {word}: {len(away)} nodes."), impact, away, standing=True,
            )  # fmt: skip


def _counted(count: int, one: str, several: str) -> str:
    return one if count == 1 else f"{count} {several}"


def _listed(nodes: Sequence[ClusterNode]) -> str:
    return nodes[0].node + (f" and {len(nodes) - 1} more" if len(nodes) > 1 else "")


def _good(side: _Side) -> Verdict:
    cluster = side.cluster
    if cluster.state == "partition":
        return Unchecked("quorum unknown", cluster.cluster, gap=Gap.FAULTY)
    return RuledOut(
        cluster.cluster, f"{cluster.state}, {cluster.managers_up} of {cluster.managers} nodes online"
    )  # fmt: skip
