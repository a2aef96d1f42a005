"""Place of findings in the topology: the wholes of their things, the users affected, and the findings explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from sdstop.core.families import in_use
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.joins import CONTAINS, Naming, ThingKind
from sdstop.core.rule import Rule
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology

NAMES = 64
"""Most names of affected things that a finding holds; the others are counted."""
SHOWN = 6
"""Most names that a line of text shows."""


def placed(findings: Sequence[Finding], topology: Topology, rules: Sequence[Rule]) -> list[Finding]:
    """Return the findings with what their things are part of, who is affected, and which findings they explain.

    A finding explains those of the rules that its rule declares (`explains`) if their things are its own, or need it.
    Mounts of which they speak count, too: they may need more devices than the one that a finding names. One that is
    only information explains nothing in this way. It explains those that name it in `explained_by`, too.
    """
    named: dict[str, list[str]] = {}
    for finding in findings:
        for cause in finding.explained_by:
            named.setdefault(cause, []).append(finding.id)
    if named:
        findings = [replace(f, explains=(*f.explains, *named[f.id])) if f.id in named else f for f in findings]
    kinds = _kinds(findings, rules)
    things = [thing_of(topology, finding.subject, kinds.get(finding.rule, _ANY)) for finding in findings]
    explains = {rule.id: rule.explains for rule in rules}
    explained = {each for finding in findings for each in explains.get(finding.rule, ())}
    about: dict[str, dict[int, list[str]]] = {}
    for finding, thing in zip(findings, things, strict=True):
        if finding.rule in explained:
            for each in dict.fromkeys((thing, *_mounts(finding, topology))):
                if each is not None:
                    about.setdefault(finding.rule, {}).setdefault(each.place, []).append(finding.id)
    return [
        finding if thing is None else _placed(finding, thing, topology, about, explains.get(finding.rule, ()))
        for finding, thing in zip(findings, things, strict=True)
    ]


_ANY: frozenset[ThingKind] = frozenset()


def _mounts(finding: Finding, topology: Topology) -> Iterator[Thing]:
    """Yield the mounts that a finding names in `others`."""
    for name in finding.others[:NAMES]:
        thing = topology.named(Naming.MOUNT, name) if name.startswith("/") else None
        if thing is not None:
            yield thing


def thing_of(topology: Topology, subject: str, kinds: frozenset[ThingKind]) -> Thing | None:
    """Return the thing that a finding's subject means; `kinds` are those of its rule, which it need not have."""
    return topology.exact(subject, kinds) or topology.find(subject)


def kinds_of(rule: Rule) -> frozenset[ThingKind]:
    """Return the kinds of the things that a rule covers: a cluster and a device may have the same name."""
    subjects = (next(iter(covers.family.things.values()), None) for covers in in_use(rule.covered))
    return frozenset(subject.kind for subject in subjects if subject and isinstance(subject.kind, ThingKind))


def _kinds(findings: Iterable[Finding], rules: Iterable[Rule]) -> dict[str, frozenset[ThingKind]]:
    """Return the kinds of the things that each rule with a finding covers."""
    found = {finding.rule for finding in findings}
    return {rule.id: kinds_of(rule) for rule in rules if rule.id in found}


def _placed(
    finding: Finding,
    thing: Thing,
    topology: Topology,
    about: Mapping[str, Mapping[int, Sequence[str]]],
    rules: Sequence[str],
) -> Finding:
    part_of, affected, count = topology.once(("place", thing.place), lambda: _names(topology, thing))
    above = () if finding.severity is Severity.INFO else _effects(thing, topology, about, rules)
    effects = dict.fromkeys((*finding.explains, *above))
    effects.pop(finding.id, None)
    return replace(
        finding, part_of=part_of, affected=affected, affected_count=count, explains=tuple(effects)
    )  # fmt: skip


def _names(topology: Topology, thing: Thing) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    affected = dict.fromkeys(other.label for other in topology.affected(thing))
    part_of = dict.fromkeys(other.label for other in topology.part_of(thing))
    return tuple(part_of), tuple(affected)[:NAMES], len(affected)


def _effects(
    thing: Thing, topology: Topology, about: Mapping[str, Mapping[int, Sequence[str]]], rules: Sequence[str]
) -> Iterator[str]:
    for rule in rules:
        places = about.get(rule)
        if places:
            for other in (thing, *topology.above(thing)):
                yield from places.get(other.place, ())


def qualified(
    good: Sequence[RuledOut], findings: Sequence[Finding], topology: Topology, rules: Sequence[Rule]
) -> list[RuledOut]:
    """Return the ruled-out verdicts; those about things with a critical finding on or below them name it, and are last.

    "All 12 members in sync" stays true of an array while half of its disks hang; alone it would be misleading.
    Only things that hold the data of others are followed down, not the HBA of a disk. `findings` are the worst first.
    """
    kinds = _kinds(findings, rules)
    worst: dict[str, Finding] = {}
    for finding in findings:
        for each in finding.members or (finding,):
            if each.severity is Severity.CRITICAL:
                thing = thing_of(topology, each.subject, kinds.get(finding.rule, _ANY))
                for name in _names_above(topology, thing) if thing is not None else ():
                    worst.setdefault(name, finding)
    if not worst:
        return list(good)
    whole: list[RuledOut] = []
    partly: list[RuledOut] = []
    for verdict in good:
        hit = [subject for subject in verdict.subjects if subject.removeprefix(_VOLUME) in worst]
        if not hit:
            whole.append(verdict)
            continue
        rest = [subject for subject in verdict.subjects if subject.removeprefix(_VOLUME) not in worst]
        if rest:
            whole.append(replace(verdict, subject=rest[0], others=tuple(rest[1:])))
        about = {f.id: f for f in (worst[subject.removeprefix(_VOLUME)] for subject in hit)}
        first, more = next(iter(about.values())), len(about) - 1
        named = f"{first.rule} {first.subject}{f' and {more} more' if more else ''}"
        summary = f"{verdict.summary}; but see {named}"
        partly.append(replace(verdict, subject=hit[0], others=tuple(hit[1:]), summary=summary, despite=tuple(about)))
    return [*whole, *partly]


_VOLUME = "vol:"


def _names_above(topology: Topology, thing: Thing) -> tuple[str, ...]:
    """Return all names of a thing and of those that hold their data on it."""
    return topology.once(
        ("names above", thing.place),
        lambda: tuple(name for each in (thing, *topology.above(thing, CONTAINS)) for _, name in each.names),
    )


def place_lines(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield what to say of a finding's place: a title, and names with the number of those left out."""
    if finding.members:
        yield "Members", _some([member.subject for member in finding.members], len(finding.members))
    if finding.part_of:
        yield "Part of", _some(finding.part_of, len(finding.part_of))
    if finding.affected:
        yield "Affects", _some(finding.affected, finding.affected_count)


def _some(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {count - SHOWN} more" if count > SHOWN else shown
