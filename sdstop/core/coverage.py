"""Coverage: a rule's verdicts, completed so that each thing that it covers has one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, partial
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import Defect, Outcome
from sdstop.core.expression import expression
from sdstop.core.families import in_use, names_of
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict, unchecked
from sdstop.core.history import Window
from sdstop.core.joins import Identity
from sdstop.core.model import Reading, Rows
from sdstop.core.rule import Covers, Rule, of_rule
from sdstop.core.snapshot import Run, Snapshot, column_parts
from sdstop.core.template import filled
from sdstop.core.topology import Topology

NO_VERDICT = "no verdict from this rule"
"""Reason for things that a rule covers and does not mention; a fault of the rule, which tests do not tolerate."""

_PLAIN = expression(r"(?:[\w/-](?![?*{|]))*")
"""Literal beginning of a pattern, up to a character that may be missing."""
_FIELD = expression(r"\{(\w+)\}")
_VOLUME = "vol:"
_MAPPER = "mapper/"


def settled(window: Window, rule: Rule, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return a rule's verdicts: nothing doubtful is ruled out, none is missing, and those alike are one."""
    defects = _defects(window, rule)
    said = _merged(_distrusted(verdicts, defects) if defects else verdicts, rule)
    missing = (*_missing(window, rule, said), *without_source(window, rule, said))
    return [*said, *(replace(verdict, rule=rule.id) for verdict in missing)]


def without_source(window: Window, rule: Rule, said: Iterable[Verdict] = ()) -> Iterator[Unchecked]:
    """Yield verdicts on devices that exist and that a rule cannot judge because their source was not recorded.

    Example: md0 in /proc/diskstats of a capture without mdstat. The rule covers rows of the missing source, so the
    device is the only sign of an array. Devices that have a verdict of the rule are left out.
    """
    known = devices_of_sources(window)
    if not known:
        return
    names = [name for name in window.providers.of(rule.covered_names) if name in known]
    lacking = [known[name] for name in names if known[name].run.outcome is Outcome.ABSENT]
    if not lacking:
        return
    seen = {device for name in names if known[name].run.outcome is not Outcome.ABSENT for device in known[name].devices}
    seen.update(
        *(names_in(s) for v in said for s in ((v.subject, *v.others) if isinstance(v, Finding) else v.subjects))
    )
    for each in lacking:
        yield from _unrecorded(each.run, [device for device in each.devices if device not in seen])
        seen.update(each.devices)


class DependentDevices(Struct, frozen=True):
    """Run of a source, and the devices whose state is known from it alone."""

    run: Run
    devices: tuple[str, ...]


def devices_of_sources(window: Window) -> Mapping[str, DependentDevices]:
    """Return the sources that devices of this node depend on; none if all of them were recorded."""
    return window.once("devices of sources", lambda: _devices_of_sources(window))


def _devices_of_sources(window: Window) -> dict[str, DependentDevices]:
    found = {}
    for name, run in window.now.runs.items():
        devices = _devices(window.topology, run.devices) if run.devices else ()
        if devices:
            found[name] = DependentDevices(run, devices)
    return found if any(each.run.outcome is Outcome.ABSENT for each in found.values()) else {}


def _devices(topology: Topology, pattern: str) -> tuple[str, ...]:
    """Return the kernel names of the block devices with a name that matches a pattern, in order."""

    def make() -> tuple[str, ...]:
        begins = _beginning(pattern)
        named = [(thing.device, name) for thing in topology.things if thing.device is not None
                 for _, name in thing.names if name.startswith(begins)]  # fmt: skip
        known = re.compile(pattern) if named else None
        return tuple(dict.fromkeys(device for device, name in named if known is not None and known.fullmatch(name)))

    return topology.once(("devices", pattern), make)


def _beginning(pattern: str) -> str:
    """Return the text with which each match of a pattern begins, "" if unknown."""
    if "|" in pattern and not (pattern.count("(") == 1 and pattern.endswith(")") and "|" in pattern.partition("(")[2]):
        return ""
    begins = _PLAIN.match(pattern)
    return begins[0] if begins is not None else ""


def _unrecorded(run: Run, devices: Sequence[str]) -> Iterator[Unchecked]:
    if run.recorded:
        yield from unchecked(devices, f"{run.collector}: {run.reason}")
    else:
        yield from unchecked(devices, f"{run.collector}: {not_recorded(run)}", calm=True, gap=Gap.UNRECORDED)


def not_recorded(run: Run) -> str:
    """Return why a source was not recorded, unless that is only because this capture lacks it."""
    return "not recorded in this capture" if "not recorded" in run.reason else run.reason


def names_in(subject: str) -> Iterator[str]:
    """Yield the names that a subject may contain, itself first: `md2/sdc`, `md2`, `sdc`; `vol:web`, `web`."""
    yield subject
    if subject.startswith(_VOLUME):
        subject = subject[len(_VOLUME) :]
        yield subject
    at = subject.find("/")
    while at >= 0:
        yield subject[:at]
        yield subject[at + 1 :]
        at = subject.find("/", at + 1)


def covered(shot: Snapshot, covers: Sequence[Covers]) -> Iterator[tuple[str, Callable[[], Iterable[str]]]]:
    """Yield each thing to which a verdict is owed: its name, and how to get all of its names."""
    return ((name, partial(_all_names, each, row, name)) for each, row, name in _owed(shot, covers, frozenset()))


def _owed(shot: Snapshot, covers: Sequence[Covers], judged: AbstractSet[str]) -> Iterator[tuple[Covers, Reading, str]]:
    """Yield the things to which a verdict is owed, without those of these names."""
    for each in in_use(covers):
        rows: Rows = shot.rows(each.family)
        parts = column_parts(rows)
        for part in parts:
            names: _Names = part.once(("covered", each), partial(_names, each))
            if not names.every <= judged:
                yield from ((each, part.row(place), name) for place, name in names.placed if name not in judged)
        if rows and not parts:
            yield from ((each, row, name) for row, name in _named(each, rows.values()) if name not in judged)


class _Names(NamedTuple):
    """Names of the things in a table to which a verdict is owed, and the places of their rows."""

    every: AbstractSet[str]
    placed: Sequence[tuple[int, str]]


def _names(covers: Covers, rows: Iterator[Reading]) -> _Names:
    found = []
    for place, row in enumerate(rows):
        found += [(place, name) for _, name in _named(covers, (row,))]
    return _Names(frozenset(name for _, name in found), found)


def _named(covers: Covers, rows: Iterable[Reading]) -> Iterator[tuple[Reading, str]]:
    first = _first_name(covers)
    for row in rows:
        if covers.where is None or covers.where(row):
            name = first(row)
            if name:
                yield row, name


def _first_name(covers: Covers) -> Callable[[Any], str | None]:
    role, identity = next(iter(covers.family.things.items()), ("", None))
    return _filling(covers.subject or (_template(identity, role) if identity is not None else ""))


@cache
def _filling(template: str) -> Callable[[Any], str | None]:
    """Return what fills a template from a row."""
    simple = _FIELD.fullmatch(template)
    if simple is None:
        return lambda row: filled(template, row)
    return operator.attrgetter(simple[1])


def _template(identity: Identity, role: str) -> str:
    return identity.name or f"{{{role}}}"


def _all_names(covers: Covers, row: Any, name: str) -> Iterator[str]:
    yield name
    if not covers.subject:
        role, identity = next(iter(covers.family.things.items()))
        for alias in (alias.name for thing in identity.of(row, role) for alias in thing.names):
            yield alias
            yield alias.removeprefix(_MAPPER)


def _missing(window: Window, rule: Rule, said: Sequence[Verdict]) -> Iterator[Unchecked]:
    if not rule.covered:
        return
    judged: set[str] = set()
    for verdict in said:
        subjects = (verdict.subject, *verdict.others) if isinstance(verdict, Finding) else verdict.subjects
        if not subjects or subjects == ("",):
            return  # it holds for the whole node
        for subject in subjects:
            judged.update(names_in(subject))
    missing = [name for covers, row, name in _owed(window.now, rule.covered, judged)
               if judged.isdisjoint(_all_names(covers, row, name))]  # fmt: skip
    if missing:  # a subject may be another name of the thing
        things = {id(thing) for name in judged if (thing := window.topology.find(name)) is not None}
        missing = [n for n in missing if (thing := window.topology.find(n)) is None or id(thing) not in things]
    yield from unchecked(missing, NO_VERDICT)


def _defects(window: Window, rule: Rule) -> list[Defect]:
    """Return the defects of the evidence of the families that a rule needs, or uses where those are not recorded."""
    runs: Mapping[str, tuple[Defect, ...]] = window.once(
        "defects", lambda: {name: run.defects for name, run in window.now.runs.items() if run.ok and run.defects}
    )
    if not runs:
        return []
    bare = not any(window.rows(family) for family in in_use(rule.needs))
    families = (*names_of(rule.needs), *(names_of(rule.instead) if bare else ()))
    return [defect for name in window.providers.of(families) for defect in runs.get(name, ())]


def _distrusted(verdicts: Iterable[Verdict], defects: Sequence[Defect]) -> Iterator[Verdict]:
    """Replace RuledOut verdicts on doubtful evidence by Unchecked ones, and findings based on a contradiction."""
    everything = next((defect for defect in defects if not defect.subject), None)
    single = {defect.subject: defect for defect in defects if defect.subject}
    for verdict in verdicts:
        if isinstance(verdict, Finding):
            defect = next((single[name] for name in names_in(verdict.subject) if name in single), None)
            if defect is None or not defect.contradiction:
                yield verdict
            else:
                yield Unchecked(defect.text, verdict.subject, gap=Gap.FAULTY)
        elif isinstance(verdict, Unchecked):
            yield verdict
        elif everything is not None:
            yield Unchecked(everything.text, verdict.subject, gap=Gap.FAULTY, others=verdict.others)
        else:
            good = []
            for subject in verdict.subjects:
                defect = next((single[name] for name in names_in(subject) if name in single), None)
                if defect is None:
                    good.append(subject)
                else:
                    yield Unchecked(defect.text, subject, gap=Gap.FAULTY)
            if good:
                yield replace(verdict, subject=good[0], others=tuple(good[1:]))


def _merged(verdicts: Iterable[Verdict], rule: Rule) -> list[Verdict]:
    """Return the verdicts with the rule's ID; those ruled out or unchecked with the same text become one."""
    found: list[Verdict] = []
    places: dict[tuple[object, ...], int] = {}
    subjects: dict[int, list[str]] = {}
    for verdict in verdicts:
        if isinstance(verdict, Finding):
            found.append(of_rule(verdict, rule))
            continue
        alike = (
            (verdict.summary,)
            if isinstance(verdict, RuledOut)
            else (verdict.reason, verdict.calm, verdict.gap, bool(verdict.subject))
        )
        place = places.get(alike)
        if place is None:
            places[alike] = len(found)
            found.append(of_rule(verdict, rule))
        else:
            subjects.setdefault(place, list(found[place].others)).extend(verdict.subjects)
    for place, others in subjects.items():
        verdict = found[place]
        if not isinstance(verdict, Finding):
            found[place] = replace(verdict, others=tuple(dict.fromkeys(o for o in others if o != verdict.subject)))
    return found
