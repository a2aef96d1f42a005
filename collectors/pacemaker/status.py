"""State of a Pacemaker cluster as `crm_mon` prints it, in XML or as text: nodes, resources, failures, bans, fencing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

UNPROMOTED = frozenset({"Unpromoted", "Slave"})
"""Roles of instances of a promotable clone that serve no data; Slave is of Pacemaker before 2.1."""


class PacemakerNode(Struct, frozen=True):
    """A cluster node; `kind` is member, or remote for a node that runs resources without a vote.

    `failed_over` is set if a failed action put it into standby. `wanted` is whether it is expected to run the cluster:
    False after an orderly shutdown, None if not reported. `health` is green, yellow or red, None if not reported.
    `inside` is the resource that is this node: a virtual machine, or the container of a bundle.
    """

    name: str
    kind: str
    online: bool
    unclean: bool
    standby: bool
    maintenance: bool
    pending: bool
    leads: bool
    failed_over: bool = False
    wanted: bool | None = None
    health: str | None = None
    inside: str | None = None

    @property
    def state(self) -> str:
        """UNCLEAN, pending, online, offline after a shutdown, or lost: offline although expected to run."""
        if self.unclean:
            return "UNCLEAN"
        if not self.online:
            return "lost" if self.wanted and self.kind == "member" else "offline"
        return "pending" if self.pending else "online"


class ManagedResource(Struct, frozen=True):
    """A resource with all its instances: `running` lists the nodes and roles of the active ones.

    `expected` is set if it should run: neither the resource nor its container (clone, group, bundle) is disabled.
    `promoted` is set if it is promotable and one instance should be promoted. `many` marks instances of clones and
    bundles, which may run on several nodes; `group` is the group, `after` are the members of it that start before.
    `orphaned`: no longer configured. `pending` is an action under way, such as Starting, "" if none. `parts` are the
    names of its instances if they differ from its own: a bundle includes the containers, addresses and connections of
    its replicas, of which the containers count as instances. `ignored` are the nodes where the last monitor failed and
    on-fail=ignore keeps the resource listed as running.
    """

    name: str
    agent: str
    instances: int
    running: tuple[tuple[str, str], ...]
    failed: tuple[str, ...]
    blocked: bool
    managed: bool
    expected: bool
    promoted: bool = False
    many: bool = False
    group: str = ""
    after: tuple[str, ...] = ()
    orphaned: bool = False
    pending: str = ""
    parts: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Failure(Struct, frozen=True):
    """A failed action that was not cleaned up: `monitor of r0 on san1: error (timed out)`, with its time if known."""

    resource: str
    task: str
    node: str
    status: str
    reason: str
    when: str


class Ban(Struct, frozen=True):
    """A location constraint that forbids a node to a resource; `by_hand`: left by `crm_resource --ban` or `--move`."""

    ident: str
    resource: str
    node: str
    by_hand: bool


class Ticket(Struct, frozen=True):
    """A ticket of a geo cluster: `state` is granted, revoked or standby."""

    name: str
    state: str


class Fencing(Struct, frozen=True):
    """A fencing action: `state` is success, failed or pending, `when` the time it ended, 0 if unknown."""

    target: str
    action: str
    state: str
    when: float


class FailCount(Struct, frozen=True):
    """Failures of a resource since its last cleanup; `last` is the time of the last one on the clock of `now`."""

    failures: int
    last: float


class PacemakerStatus(Struct, frozen=True, kw_only=True):
    """A cluster; unknown fields are None. `fencing` is set if fencing is enabled, with or without a device."""

    version: str | None
    leader: str | None
    quorum: bool | None
    maintenance: bool
    fencing: bool | None
    policy: str | None
    members: tuple[PacemakerNode, ...]
    resources: tuple[ManagedResource, ...]
    failures: tuple[Failure, ...]
    bans: tuple[Ban, ...] = ()
    tickets: tuple[Ticket, ...] = ()
    unfenced: bool = False
    """Whether fencing is enabled without a fence device and without SBD, as pcs reports it."""
    fencings: tuple[Fencing, ...] = ()
    daemon: str | None = None
    stopped: bool = False
    counts: Mapping[str, FailCount] = MappingProxyType({})
    """Failures of each resource since its last cleanup, of all nodes together; empty if none is known."""
    now: float = 0.0
    """When the status was taken, as `moment` counts; 0 if unknown."""


BY_HAND = ("cli-ban-", "cli-standby-")
"""Beginnings of the IDs of bans that crm_resource makes; IDs of others are free text."""


_TIMES = ("%Y-%m-%d %H:%M:%S", "%a %b %d %H:%M:%S %Y", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z")
"""Forms of times of failures: since 2.1, before, and of 2.1.3 and later with a zone."""


def moment_of(failure: Failure) -> float:
    """Return the time of a failure as a number that orders failures of one cluster; 0 if unknown."""
    return moment(failure.when)


def moment(text: str) -> float:
    """Return the time that crm_mon prints as a number that orders the times of one cluster; 0 if unknown."""
    from calendar import timegm  # noqa: PLC0415  # takes milliseconds to import

    for form in _TIMES:
        try:
            return timegm(time.strptime(text.removesuffix("Z").strip(), form))
        except ValueError:
            continue
    return 0.0


def nodes_of(running: Iterable[tuple[str, str]]) -> str:
    """Return the nodes of a resource: `san1 (Promoted), san2 (Unpromoted)`; the role Started is omitted."""
    return ", ".join(node if role == "Started" else f"{node} ({role})" for node, role in running)
