"""Folding: findings of one rule about most of the things that share another one become one finding about that.

At least three, and at least half, of the things of one kind that are attached to, located in, part of or served by the
shared thing have to be affected; once folded, a third is enough. All disks of the node are folded, too, and all its
network interfaces if their causes differ in nothing but numbers. Of several shared things, the one counts that has the
most affected things for those that are not, then the lowest one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Value, cites
from sdstop.core.finding_text import TITLE, fitting
from sdstop.core.joins import Relation, ThingKind
from sdstop.core.placement import NAMES, kinds_of, thing_of
from sdstop.core.rule import Rule
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

LEAST = 3
"""Fewest things that are folded."""
NODE = "disks"
"""Subject of a finding about all disks of the node."""
INTERFACES = "interfaces"
"""Subject of a finding about all network interfaces of the node."""
CITED = 4
"""Most members whose evidence a folded finding has."""

_REACHED = (Relation.ATTACHED, Relation.LOCATED, Relation.PART, Relation.SERVED)
"""Relations of things to the one that they share."""
_SHARED = (
    ThingKind.EXPANDER, ThingKind.ENCLOSURE, ThingKind.SESSION, ThingKind.TARGET, ThingKind.HBA, ThingKind.CONTROLLER,
    ThingKind.PCIE_LINK, ThingKind.NUMA_NODE, ThingKind.PEER, ThingKind.NODE, ThingKind.FAULT_SET, ThingKind.SOCKET,
    ThingKind.MEMORY_CHANNEL, ThingKind.POOL, ThingKind.CLUSTER,
)  # fmt: skip
"""Kinds of things that findings are folded on; of those with the same things above them, the first."""
_NO_DISK = expression(r"(loop|ram|zram|sr|fd|nbd)\d+")
"""Names of devices that a node has without using them."""
_NUMBERS = expression(r"\d[\d.,]*[kMGT]?")
"""A number with its prefix, by which alone the causes of one fault differ."""
_NOUNS: Mapping[str, str] = {
    ThingKind.HBA: "HBA", ThingKind.PCIE_LINK: "PCIe port", ThingKind.NUMA_NODE: "NUMA node", ThingKind.DIMM: "DIMM",
    ThingKind.NIC: "network interface", ThingKind.OSD: "OSD", ThingKind.PEER: "host",
}  # fmt: skip
"""Words for kinds of things; others have their value."""
_PLACES: Mapping[str, str] = {
    ThingKind.ENCLOSURE: "in", ThingKind.NUMA_NODE: "near", ThingKind.SOCKET: "of", ThingKind.MEMORY_CHANNEL: "of",
    ThingKind.NODE: "of", ThingKind.FAULT_SET: "of", ThingKind.POOL: "of", ThingKind.CLUSTER: "of",
}  # fmt: skip
"""Prepositions of things in relation to a shared one; others are behind it."""
_STACKED = (ThingKind.ARRAY, ThingKind.MULTIPATH_MAP, ThingKind.CACHE, ThingKind.VOLUME)
"""Kinds of block devices that are built on others, the first that a thing has counts."""

Folds = AbstractSet[tuple[str, str]]
"""Rules and subjects of folded findings."""


class _SharedThing(Struct, frozen=True):
    """Thing that several affected ones share; `count` things of their kind depend on it. None is the node itself."""

    thing: Thing | None
    count: int
    rank: int
    hba: str = ""
    """HBA of an expander or enclosure that is attached to a single one."""
    every: str = NODE
    """Subject of a finding about all things of their kind, if the node itself is shared."""

    @property
    def subject(self) -> str:
        return self.thing.name if self.thing is not None else self.every

    @property
    def kind(self) -> ThingKind | None:
        return _SHARED[self.rank] if self.thing is not None else None

    @property
    def words(self) -> str:
        """The thing after a number of others: `behind HBA 0000:3b:00.0`."""
        if self.kind is None:
            return "of this node"
        noun, name = _NOUNS.get(self.kind, self.kind.value), human.safe(self.subject, 24)
        if self.kind is ThingKind.NUMA_NODE:
            name = name.removeprefix("node")
        return f"{_PLACES.get(self.kind, 'behind')} {name if name.startswith(noun) else f'{noun} {name}'}"


class _Group(Struct, frozen=True, eq=False):
    """Affected things of one kind that may share the same things."""

    kind: str
    shared: tuple[_SharedThing, ...]


def folds_of(findings: Iterable[Finding]) -> Folds:
    """Return the folds among findings."""
    return frozenset((finding.rule, finding.subject) for finding in findings if finding.members)


def folded(findings: Sequence[Finding], topology: Topology, rules: Iterable[Rule], held: Folds) -> list[Finding]:
    """Return the findings, folded; `held` are the folds of the frame before. Findings have their rule and place."""
    known = {rule.id: rule for rule in rules}
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    made: list[Finding] = []
    for name, found in by_rule.items():
        kept = {subject for rule, subject in held if rule == name}
        if name in known and len(found) >= (2 if kept else LEAST):
            made += _folds(topology, known[name], found, kept)
    if not made:
        return list(findings)
    inside = {member.id: fold.id for fold in made for member in fold.members}
    rest = [finding for finding in findings if finding.id not in inside]
    return [_relinked(finding, inside) for finding in (*made, *rest)]


def _folds(topology: Topology, rule: Rule, findings: Sequence[Finding], held: AbstractSet[str]) -> Iterator[Finding]:
    """Yield the findings on shared things that findings of one rule become."""
    kinds = kinds_of(rule)
    by_kind: dict[str, dict[_Group, dict[int, list[Finding]]]] = {}
    for finding in findings:
        thing = thing_of(topology, finding.subject, kinds)
        group = _group(topology, thing.place) if thing is not None else None
        if thing is not None and group is not None:
            by_kind.setdefault(group.kind, {}).setdefault(group, {}).setdefault(thing.place, []).append(finding)
    taken = {finding.subject for finding in findings}
    for kind, groups in by_kind.items():
        for shared, chosen in _chosen(groups, held, taken):
            about = {place: each for group in chosen for place, each in groups[group].items()}
            if shared.subject != INTERFACES or _is_one_fault(about.values()):
                yield _fold(topology, rule, kind, shared, about)


def _is_one_fault(found: Iterable[Sequence[Finding]]) -> bool:
    """Return whether the causes of findings differ in nothing but numbers."""
    return len({_NUMBERS.sub("", finding.cause) for each in found for finding in each}) == 1


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


def _group(topology: Topology, place: int) -> _Group | None:
    """Return the group of a thing, the same object for all of a group; None if it shares nothing."""
    known: dict[tuple[str, tuple[int, ...]], _Group] = topology.once("fold groups", dict)

    def make() -> tuple[_Group | None]:
        thing = topology.things[place]
        kind = _kind(topology, thing)
        ranked = [(other, _rank(other)) for other in topology.below(thing, _REACHED)]
        found = [
            _SharedThing(other, count, rank, _hba(topology, other))
            for other, rank in ranked
            if rank is not None and (count := _counts(topology, other)[kind]) >= LEAST
        ]
        if kind == "disk" and _disks(topology) >= LEAST:
            found.append(_SharedThing(None, _disks(topology), len(_SHARED)))
        if kind == ThingKind.NIC and _is_end(topology, thing) and _interfaces(topology) >= LEAST:
            found.append(_SharedThing(None, _interfaces(topology), len(_SHARED), every=INTERFACES))
        if not kind or not found:
            return (None,)
        key = kind, tuple(each.thing.place if each.thing is not None else -1 for each in found)
        return (known.setdefault(key, _Group(kind, tuple(found))),)

    return topology.once(("fold group", place), make)[0]


def _rank(thing: Thing) -> int | None:
    return next((rank for rank, kind in enumerate(_SHARED) if kind in thing.kinds), None)


def _hba(topology: Topology, thing: Thing) -> str:
    if thing.kinds.isdisjoint({ThingKind.EXPANDER, ThingKind.ENCLOSURE}):
        return ""
    found = [other.name for other in topology.below(thing, _REACHED) if ThingKind.HBA in other.kinds]
    return found[0] if len(found) == 1 else ""


def _disks(topology: Topology) -> int:
    return topology.once("number of disks", lambda: sum(_kind(topology, thing) == "disk" for thing in topology.things))


def _interfaces(topology: Topology) -> int:
    """Return the number of network interfaces that end at a wire or another machine: no loopback, bond or VLAN."""
    return topology.once("number of interfaces", lambda: sum(_is_end(topology, thing) for thing in topology.things))


def _is_end(topology: Topology, thing: Thing) -> bool:
    return (
        _kind(topology, thing) == ThingKind.NIC
        and thing.name != "lo"
        and not any(ThingKind.NIC in other.kinds or ThingKind.BOND in other.kinds for other in topology.lower(thing))
    )


def _chosen(
    groups: Mapping[_Group, Mapping[int, object]], held: AbstractSet[str], taken: AbstractSet[str]
) -> Iterator[tuple[_SharedThing, list[_Group]]]:
    """Yield shared things and the groups that are folded on them, each group at most once; none on those `taken`."""
    shared: dict[str, _SharedThing] = {}
    below: dict[str, list[_Group]] = {}
    affected = Counter[str]()
    for group, places in groups.items():
        for each in group.shared:
            subject = each.subject
            if subject not in taken:
                shared.setdefault(subject, each)
                below.setdefault(subject, []).append(group)
                affected[subject] += len(places)

    def order(subject: str) -> tuple[int, bool, int, int, str]:
        each = shared[subject]
        return each.count - 2 * affected[subject], subject not in held, each.rank, each.count, subject

    left = set(groups)
    queue = [order(subject) for subject in shared]
    heapq.heapify(queue)
    while queue:
        found = heapq.heappop(queue)
        subject = found[-1]
        now = order(subject)
        if now != found:  # some of its things are in another fold
            heapq.heappush(queue, now)
        elif _is_enough(shared[subject], affected[subject], is_held=subject in held):
            chosen = [group for group in below[subject] if group in left]
            yield shared[subject], chosen
            left.difference_update(chosen)
            for group in chosen:
                for each in group.shared:
                    affected[each.subject] -= len(groups[group])


def _is_enough(shared: _SharedThing, count: int, *, is_held: bool) -> bool:
    if is_held and count > 1 and 3 * count >= shared.count:
        return True
    if shared.thing is None:
        return count >= max(LEAST, shared.count)
    return count >= LEAST and 2 * count >= shared.count


def _fold(
    topology: Topology, rule: Rule, kind: str, shared: _SharedThing, about: Mapping[int, Sequence[Finding]]
) -> Finding:
    """Return the finding about a shared thing that replaces those about the affected ones, by place."""
    members = tuple(finding for each in about.values() for finding in each)
    severity = max({member.severity for member in members}, key=lambda severity: severity.rank)
    as_bad = [member for member in members if member.severity is severity]
    certain = {member.confidence for member in as_bad}
    worst = as_bad[0]
    nouns = f"{_NOUNS.get(kind, kind)}s"
    number = f"{len(about)}" if len(about) == shared.count else f"{len(about)} of {shared.count}"
    hba = f" of HBA {shared.hba}" if shared.hba else ""
    where = (f"{number} {nouns} {shared.words}", rule.many or "are affected")
    whole = f"{where[0]}{hba} {where[1]}."
    affected, count = _affected(topology, f"{rule.id}:{shared.subject}", tuple(about))
    part_of = tuple(dict.fromkeys(name for member in members for name in member.part_of))
    return Finding(
        severity=severity,
        subject=shared.subject,
        title=_title(rule, worst, f"{len(about)} {nouns}"),
        cause=fitting(whole, f"{where[0]} {where[1]}."),
        impact=_impact(members, worst, affected or part_of, count or len(part_of)),
        values=(
            Value("affected", f"{nouns} affected", len(about), of=shared.count),
            Value("all", nouns, shared.count),
            Value("worst", severity.value, len(as_bad)),
            Value("example", "example", f"{worst.subject}: {worst.cause}"),
        ),
        evidence=cites(*(cite for member in as_bad[:CITED] for cite in member.evidence[:1])),
        advice=(*(() if rule.inherent else _advice(shared)), *worst.advice[:3]),
        refuted_by=f"{worst.refuted_by} (for example {worst.subject})" if worst.refuted_by else "",
        harmless_if=worst.harmless_if,
        confidence=None if None in certain else max(filter(None, certain), default=None),
        explains=tuple(dict.fromkeys(key for member in members for key in member.explains)),
        explained_by=tuple(dict.fromkeys(key for member in members for key in member.explained_by)),
        totals=all(member.totals for member in members),
        rule=rule.id,
        damage=worst.damage,
        standing=worst.standing,
        view=worst.view,
        view_subject=worst.view_subject,
        cost=sum(member.cost for member in members),
        part_of=part_of[:NAMES],
        affected=affected,
        affected_count=count,
        members=members,
    )


def _title(rule: Rule, worst: Finding, number: str) -> str:
    """Return the title of a fold: how many things, and their fault in the words of the rule."""
    fault = f" {rule.many}" if rule.many else f": {_FAULT.split(worst.title)[0]}"
    title = f"{number}{fault}".upper()
    return title if human.width_of(title) <= TITLE else f"{number} affected".upper()


_FAULT = expression(r"[:,]| (?=[a-z])")
"""End of the fault in the title of a finding."""


def _impact(members: Sequence[Finding], worst: Finding, affected: Sequence[str], count: int) -> str:
    """Return the impact of a fold: that of all its members, the things that need them, or that of the worst one."""
    if all(member.impact == worst.impact for member in members):
        return worst.impact
    if not affected:
        return fitting(f"{worst.subject}: {worst.impact[:1].lower()}{worst.impact[1:]}", worst.impact)
    more = count - len(affected[:2])
    return f"Affected: {human.listed(affected[:2])}{f' and {more} more' if more else ''}."


def _affected(topology: Topology, fold: str, places: tuple[int, ...]) -> tuple[tuple[str, ...], int]:
    """Return the names of what needs the affected things, and their number; kept while the things are the same."""
    known: dict[str, tuple[tuple[int, ...], tuple[str, ...], int]] = topology.once("affected by folds", dict)
    if fold not in known or known[fold][0] != places:
        things = topology.affected(*(topology.things[place] for place in places))
        names = tuple(dict.fromkeys(thing.label for thing in things))
        known[fold] = places, names[:NAMES], len(names)
    return known[fold][1:]


def _advice(shared: _SharedThing) -> Iterator[Advice]:
    """Yield the first steps, which concern the shared thing."""
    if shared.kind is ThingKind.HBA:
        yield "Check whether the adapter was reset or lost."
        yield run("journalctl", "-k").pipe("grep", "-e", shared.subject)
        yield run("lspci", "-vvs", shared.subject, note="no answer from a lost adapter")
    elif shared.kind in {ThingKind.EXPANDER, ThingKind.ENCLOSURE}:
        yield f"Check power and cables of the {_SHARED[shared.rank]}."
        if shared.hba:
            yield run("journalctl", "-k", note="reset or loss of its HBA").pipe("grep", "-e", shared.hba)
    elif shared.kind in {ThingKind.SESSION, ThingKind.TARGET, ThingKind.PEER}:
        yield "Check that the other side answers, and the network in between."
    elif shared.subject == INTERFACES:
        yield "Look for a shared cause: the switch, the card, the CPUs."
    elif shared.thing is None:
        yield "Find the first error: the disks share controllers and power."
        yield run("journalctl", "-k")
