"""Faults that one node sees in its cluster, traced to the disk or the node that has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites, worst_of
from sdstop.core.finding_order import urgency
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode

_DISK = frozenset({
    "device-hung", "disk-offline", "disk-failing", "kernel-io-errors", "slow-device", "device-saturated", "io-stalled",
    "array-degraded", "hot-stripe-member", "slow-stripe-member", "stripe-convoy", "cache-errors", "phy-errors",
    "session-down", "path-failed", "disk-hot", "disk-worn", "volume-suspended", "cache-full-of-dirty",
})  # fmt: skip
"""Rules whose findings on a disk, or below it, explain the state of its device in a cluster."""
_NODE = frozenset({
    "cluster-not-running", "link-degraded", "frames-dropped", "mtu-mismatch", "path-mtu-shrunk", "link-saturated",
    "memory-short", "memory-errors", "tasks-stuck", "io-stalled", "filesystem-readonly", "filesystem-full",
    "load-unexplained",
})  # fmt: skip
"""Rules whose findings explain the state of the whole node in a cluster."""
_DAEMON = "ceph-daemon-down"
_EFFECTS = frozenset({"cluster-degraded", "slow-device", "osd-down", "osd-slow"})


class _Part(Struct, frozen=True, eq=False):
    """A device or node of a cluster that another node calls faulty; `disk` is its kernel name there, if known."""

    seen_by: SiteNode
    effect: Finding
    row: ClusterDevice | ClusterNode
    what: str
    state: str
    node: SiteNode
    disk: str | None

    @property
    def subject(self) -> str:
        if isinstance(self.row, ClusterNode):
            return f"{self.row.cluster}/{self.row.node}"
        return f"{self.row.cluster}/{self.row.node}/{self.row.device}"


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    done: set[tuple[str, str]] = set()
    for node in site.nodes:
        for part in _parts(site, node):
            if (part.subject, part.node.name) not in done:  # each node of a cluster sees the same
                done.add((part.subject, part.node.name))
                yield _judged(site, part, limits["apart"])


def _parts(site: Site, node: SiteNode) -> Iterator[_Part]:
    """Yield the parts of a cluster on other nodes that a node's own findings accuse."""
    effects = [finding for finding in node.findings if finding.rule in _EFFECTS]
    if not effects:
        return
    addresses = {row.node: row.address or "" for row in node.window.rows(ClusterNode).values()}

    def holder(name: str) -> SiteNode | None:
        names = (name, *addresses.get(name, "").split())
        found = next((each for each in map(site.called, names) if each is not None), None)
        return None if found is node else found

    for device in node.window.rows(ClusterDevice).values():
        effect = _effect(effects, device)
        there = holder(device.node) if effect is not None else None
        if effect is not None and there is not None:
            state = _state(device)
            yield _Part(node, effect, device, device.device, state, there, _disk(there, device))
    for row in node.window.rows(ClusterNode).values():
        effect = next((each for each in effects if row.healthy == 0 and each.subject == row.cluster), None)
        there = holder(row.node) if effect is not None else None
        if effect is not None and there is not None:
            yield _Part(node, effect, row, row.node, human.safe(row.state or "down", 30), there, None)


def _state(device: ClusterDevice) -> str:
    words = (device.state or "").lower().split()
    if "down" in words or not words:
        return "down"
    return human.safe(device.state, 30) if device.healthy == 0 else "slow"


def _effect(effects: Sequence[Finding], device: ClusterDevice) -> Finding | None:
    """Return the finding that accuses a device: of the cluster if it is down, otherwise of the device itself."""
    named = {f"{device.cluster}/{device.node}/{device.device}", f"{device.node}/{device.device}", device.device}
    for effect in effects:
        if named & set(effect.subjects) or (device.healthy == 0 and effect.subject == device.cluster):
            return effect
    return None


def _disk(there: SiteNode, device: ClusterDevice) -> str | None:
    """Return the kernel name of a device on its own node, by that node's view of the cluster or by its path."""
    for row in there.window.rows(ClusterDevice).values():
        same = (row.cluster, row.device) == (device.cluster, device.device)
        if same and row.local is not None:
            return row.local
    path = device.path or (device.device if device.device.startswith("/dev/") else None)
    thing = there.window.topology.find(path.removeprefix("/dev/")) if path is not None else None
    return thing.device if thing is not None else None


def _judged(site: Site, part: _Part, limit: float) -> Verdict:
    why = site.distant(limit, part.seen_by, part.node)
    if why:
        return Unchecked(why, part.subject, gap=Gap.UNRECORDED)
    causes = sorted(_causes(part), key=urgency)
    if causes:
        return _finding(part, causes)
    if part.disk is not None:
        return RuledOut(part.subject, f"disk {part.disk} of {part.node.name}: no finding above info on all of its path")
    if isinstance(part.row, ClusterDevice):
        return Unchecked(f"disk of {human.safe(part.what)} on {part.node.name} unknown", part.subject)
    return Unchecked(f"{part.state}, but no finding on {part.node.name} explains it", part.subject, calm=True)


def _causes(part: _Part) -> Iterator[Finding]:
    known = [finding for finding in part.node.findings if finding.severity is not Severity.INFO]
    yield from (finding for finding in known if finding.rule == _DAEMON and finding.subject == part.subject)
    if part.disk is None:
        if isinstance(part.row, ClusterNode):
            yield from (finding for finding in known if finding.rule in _NODE)
        return
    topology = part.node.window.topology
    thing = topology.find(part.disk)
    below = topology.below(thing) if thing is not None else ()
    names = {part.disk, *topology.devices(part.disk), *(each.name for each in below)}
    for finding in known:
        if finding.rule in _DISK and names & {part for each in finding.subjects for part in (each, *each.split("/"))}:
            yield finding


def _finding(part: _Part, causes: Sequence[Finding]) -> Finding:
    first = causes[0]
    where, what = human.safe(part.node.name, 20), human.safe(part.what, 20)
    disk = f"{part.disk} of {where}" if part.disk is not None else where
    seconds = apart(part.seen_by, part.node)
    return Finding(
        severity=worst_of([part.effect.severity, first.severity]) or Severity.WARNING,
        subject=part.subject,
        view_subject=part.subject,
        title=first.title,
        cause=fitting(
            f"{what} is {part.state}: {first.rule} of {human.safe(first.subject, 20)} on {where}.",
            f"{what} is {part.state}: see {first.rule} on {where}.",
            f"The cause is on another node: {first.rule}.",
        ),
        impact=part.effect.impact or first.impact,
        values=(
            Value("part", "part of the cluster", part.what),
            Value("state", "state in the cluster", part.state),
            Value("place", "located on", disk),
            Value("seen_by", "reported on", part.seen_by.name),
            *(Value(f"cause{number}", f"on {part.node.name}", f"{each.rule} {each.subject}: {each.cause}")
              for number, each in enumerate(causes[:3], 1)),
            Value("apart", "time between the captures", seconds, "seconds"),
        ),
        evidence=cites(part.seen_by.cite(part.row), *_cites(part.node, causes)),
        advice=(f"Repair {disk} first; the cluster follows.", *first.advice[:5]),
        refuted_by="the same fault of the cluster after that is repaired",
        confidence=0.9 if seconds <= AT_ONCE else 0.7,
        cost=first.cost,
        explains=tuple(dict.fromkeys([
            *(f"{part.node.name}:{each.id}" for each in causes), f"{part.seen_by.name}:{part.effect.id}",
        ])),
        host=part.node.name,
        between=tuple(dict.fromkeys([part.seen_by.name, part.node.name])),
        damage=part.effect.damage,
        standing=False,
    )  # fmt: skip


def _cites(node: SiteNode, causes: Sequence[Finding]) -> Iterator[Cite]:
    for cause in causes[:2]:
        yield from (replace(cite, host=node.name) for cite in cause.evidence[:2])


CAUSE_ON_NODE = NodeRule(
    "cause-on-node",
    "device or node that a cluster reports as faulty, traced to a fault of its own node",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(Cluster,),
)
