"""Folding: findings of one rule about most of the things that share another one become one finding about that.

At least three, and at least half, of the things of one kind that are attached to, located in, part of or served by the
shared thing have to be affected; once folded, a third is enough. All disks of the node are folded too. Of several
shared things, the one counts that has the most affected things for those that are not, then the lowest one.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.finding import Finding, Rule, Value, cites
from sdstop.core.joins import Relation, ThingKind
from sdstop.core.placement import NAMES
from sdstop.core.shell import quoted
from sdstop.core.topology import Thing, Topology

LEAST = 3
"""Fewest things that are folded."""
NODE = "disks"
"""Subject of a finding about all disks of the node."""
CITED = 4
"""Most members whose evidence a folded finding has."""

_REACHED = (Relation.ATTACHED, Relation.LOCATED, Relation.PART, Relation.SERVED)
_SHARED = (
    ThingKind.EXPANDER, ThingKind.ENCLOSURE, ThingKind.SESSION, ThingKind.TARGET, ThingKind.HBA, ThingKind.CONTROLLER,
    ThingKind.PCIE_LINK, ThingKind.NUMA_NODE, ThingKind.PEER, ThingKind.NODE, ThingKind.FAULT_SET, ThingKind.SOCKET,
    ThingKind.MEMORY_CHANNEL, ThingKind.POOL, ThingKind.CLUSTER,
)  # fmt: skip
"""Kinds of things that findings are folded on; of those with the same things above them, the first."""
_NO_DISK = re.compile(r"(loop|ram|zram|sr|fd|nbd)\d+")
"""Names of devices that a node has without using them."""
_NOUNS: Mapping[str, str] = {
    ThingKind.HBA: "HBA", ThingKind.PCIE_LINK: "PCIe port", ThingKind.NUMA_NODE: "NUMA node", ThingKind.DIMM: "DIMM",
    ThingKind.NIC: "network interface", ThingKind.OSD: "OSD", ThingKind.PEER: "host",
}  # fmt: skip
_PLACES: Mapping[str, str] = {
    ThingKind.ENCLOSURE: "in", ThingKind.NUMA_NODE: "near", ThingKind.SOCKET: "of", ThingKind.MEMORY_CHANNEL: "of",
    ThingKind.NODE: "of", ThingKind.FAULT_SET: "of", ThingKind.POOL: "of", ThingKind.CLUSTER: "of",
}  # fmt: skip
_STACKED = (ThingKind.ARRAY, ThingKind.MULTIPATH_MAP, ThingKind.CACHE, ThingKind.VOLUME)

Folds = AbstractSet[tuple[str, str]]
"""Rules and subjects of folded findings."""


class _Shared(Struct, frozen=True):
    """Thing that several affected ones share; `count` things of their kind depend on it. None is the node itself."""

    thing: Thing | None
    count: int
    rank: int

    @property
    def subject(self) -> str:
        return self.thing.name if self.thing is not None else NODE

    @property
    def kind(self) -> ThingKind | None:
        return _SHARED[self.rank] if self.thing is not None else None

    @property
    def words(self) -> str:
        """The thing after a number of others: `behind HBA 0000:3b:00.0`."""
        if self.kind is None:
            return "of this node"
        noun = _NOUNS.get(self.kind, self.kind.value)
        named = self.subject if self.subject.startswith(noun) else f"{noun} {self.subject}"
        return f"{_PLACES.get(self.kind, 'behind')} {named}"


def folds_of(findings: Iterable[Finding]) -> Folds:
    """Return what is folded."""
    return frozenset((finding.rule, finding.subject) for finding in findings if finding.members)


def folded(findings: Sequence[Finding], topology: Topology, rules: Iterable[Rule], held: Folds) -> list[Finding]:
    """Return the findings, folded; `held` are the folds of the frame before. Findings have their rule and place."""
    counted = Counter(finding.rule for finding in findings)
    known = {rule.id: rule for rule in rules}
    least = {rule: 2 if any(rule == each for each, _ in held) else LEAST for rule in counted}
    groups: dict[tuple[str, str], dict[int, list[Finding]]] = {}
    for finding in findings:
        if counted[finding.rule] >= least[finding.rule] and finding.rule in known:
            thing = topology.find(finding.subject)
            kind = _kind(topology, thing) if thing is not None else ""
            if thing is not None and kind:
                groups.setdefault((finding.rule, kind), {}).setdefault(thing.place, []).append(finding)
    made: list[Finding] = []
    for (rule, kind), about in groups.items():
        if len(about) >= least[rule]:
            taken = {each.subject for each in findings if each.rule == rule}
            for shared, places in _chosen(topology, about, {s for r, s in held if r == rule}, taken):
                made.append(_fold(topology, known[rule], kind, shared, places, about))
    if not made:
        return list(findings)
    inside = {member.id: fold.id for fold in made for member in fold.members}
    rest = [finding for finding in findings if finding.id not in inside]
    return [_relinked(finding, inside) for finding in (*made, *rest)]


def _relinked(finding: Finding, inside: Mapping[str, str]) -> Finding:
    """Return a finding whose links to folded ones lead to the fold."""
    if inside.keys().isdisjoint(finding.explains) and inside.keys().isdisjoint(finding.explained_by):
        return finding
    explains = dict.fromkeys(inside.get(key, key) for key in finding.explains)
    by = dict.fromkeys(inside.get(key, key) for key in finding.explained_by)
    explains.pop(finding.id, None)
    by.pop(finding.id, None)
    return replace(finding, explains=tuple(explains), explained_by=tuple(by))


def _kind(topology: Topology, thing: Thing) -> str:
    """Return the kind of things that a thing is counted with: disk, partition, or a kind of the topology."""
    return topology.once(("kind", thing.place), lambda: _find_kind(topology, thing))


def _find_kind(topology: Topology, thing: Thing) -> str:
    if ThingKind.DEVICE not in thing.kinds:
        return next((kind.value for kind in ThingKind if kind in thing.kinds), "")
    if topology.is_stacked(thing):
        return next((kind.value for kind in _STACKED if kind in thing.kinds), "device")
    if any(how is Relation.PART and ThingKind.DEVICE in other.kinds for other, how in topology.lower(thing).items()):
        return "partition"
    if thing.device is None or _NO_DISK.fullmatch(thing.device):
        return "device"
    return next((kind.value for kind in _STACKED if kind in thing.kinds), "disk")


def _counts(topology: Topology, thing: Thing) -> Counter[str]:
    """Return the number of things that depend on a thing, by kind."""
    return topology.once(
        ("kinds", thing.place),
        lambda: Counter(_kind(topology, other) for other in topology.above(thing, _REACHED)),
    )


def _candidates(topology: Topology, place: int) -> tuple[_Shared, ...]:
    """Return what a thing may share with others of its kind."""

    def make() -> tuple[_Shared, ...]:
        thing = topology.things[place]
        kind = _kind(topology, thing)
        found = []
        for other in topology.below(thing, _REACHED):
            rank = next((rank for rank, each in enumerate(_SHARED) if each in other.kinds), None)
            count = _counts(topology, other)[kind] if rank is not None else 0
            if rank is not None and count >= LEAST:
                found.append(_Shared(other, count, rank))
        if kind == "disk":
            found.append(_Shared(None, _disks(topology), len(_SHARED)))
        return tuple(found)

    return topology.once(("shared by", place), make)


def _disks(topology: Topology) -> int:
    return topology.once("number of disks", lambda: sum(_kind(topology, thing) == "disk" for thing in topology.things))


def _chosen(
    topology: Topology, about: Mapping[int, Sequence[Finding]], held: AbstractSet[str], taken: AbstractSet[str]
) -> Iterator[tuple[_Shared, list[int]]]:  # fmt: skip
    """Yield the shared things and the places of the affected ones; each is in one of them at most."""
    below: dict[str, list[int]] = {}
    shared: dict[str, _Shared] = {}
    for place in about:
        for each in _candidates(topology, place):
            subject = each.subject
            shared.setdefault(subject, each)
            below.setdefault(subject, []).append(place)
    left = set(about)
    affected = {subject: len(places) for subject, places in below.items() if subject not in taken}

    def order(subject: str) -> tuple[int, bool, int, int, str]:
        each = shared[subject]
        return each.count - 2 * affected[subject], subject not in held, each.rank, each.count, subject

    queue = [order(subject) for subject in affected if affected[subject] > 1]
    heapq.heapify(queue)
    while queue:
        found = heapq.heappop(queue)
        subject = found[-1]
        now = order(subject)
        if now != found:  # some of its things are in another fold
            heapq.heappush(queue, now)
            continue
        each, count = shared[subject], affected[subject]
        if not _is_enough(each, count, is_held=subject in held):
            continue
        places = [place for place in below[subject] if place in left]
        yield each, places
        left.difference_update(places)
        for place in places:
            for other in _candidates(topology, place):
                if other.subject in affected:
                    affected[other.subject] -= 1


def _is_enough(shared: _Shared, count: int, *, is_held: bool) -> bool:
    if is_held and count > 1 and 3 * count >= shared.count:
        return True
    if shared.thing is None:
        return count >= max(LEAST, shared.count)
    return count >= LEAST and 2 * count >= shared.count


def _fold(
    topology: Topology, rule: Rule, kind: str, shared: _Shared, places: Sequence[int],
    about: Mapping[int, Sequence[Finding]],
) -> Finding:  # fmt: skip
    """Return the finding about a shared thing that stands for those about the affected ones."""
    members = tuple(finding for place in places for finding in about[place])
    worst = max(members, key=lambda finding: finding.severity.rank)
    certain = [member.confidence for member in members if member.severity is worst.severity]
    nouns = f"{_NOUNS.get(kind, kind)}s"
    number = f"{len(places)}" if len(places) == shared.count else f"{len(places)} of {shared.count}"
    said = f"{number} {nouns} {shared.words}{' ' if rule.many else ': '}{rule.many or rule.says}"
    as_bad = sum(member.severity is worst.severity for member in members)
    mixed = f" ({as_bad} {worst.severity.value})" if as_bad < len(members) else ""
    affected = dict.fromkeys(thing.label for thing in topology.affected(*(topology.things[place] for place in places)))
    return Finding(
        severity=worst.severity,
        subject=shared.subject,
        summary=f"{said}{mixed}; {worst.subject}: {worst.summary}",
        values=(Value("affected", f"{nouns} affected", len(places)), Value("all", f"{nouns} in all", shared.count)),
        evidence=cites(*(cite for member in members[:CITED] for cite in member.evidence[:1])),
        advice=(*_advice(shared), *worst.advice[:2]),
        refuted_by=f"{worst.subject}, and so the others: {worst.refuted_by}" if worst.refuted_by else "",
        confidence=None if None in certain else max(filter(None, certain), default=None),
        explains=tuple(dict.fromkeys(key for member in members for key in member.explains)),
        explained_by=tuple(dict.fromkeys(key for member in members for key in member.explained_by)),
        totals=all(member.totals for member in members),
        rule=rule.id,
        part_of=tuple(dict.fromkeys(name for member in members for name in member.part_of))[:NAMES],
        affected=tuple(affected)[:NAMES],
        affected_count=len(affected),
        members=members,
    )


def _advice(shared: _Shared) -> Iterator[str]:
    """Yield what to look at first: the shared thing."""
    name = quoted(shared.subject)
    if shared.kind is ThingKind.HBA:
        yield f"journalctl -k | grep {name}   # did the adapter reset, or was it lost"
        yield f"lspci -vvs {name}   # does the adapter still answer"
    elif shared.kind in {ThingKind.EXPANDER, ThingKind.ENCLOSURE}:
        yield f"power and cables of {_SHARED[shared.rank]} {shared.subject}"
    elif shared.kind in {ThingKind.SESSION, ThingKind.TARGET, ThingKind.PEER}:
        yield f"whether {shared.subject} answers, and the network in between"
    elif shared.thing is None:
        yield "journalctl -k   # what happened first: the disks share the controllers, the power, the kernel"
