"""Remarks: the facts about a disk that every finding about it has, such as its health, its slot and logged errors.

A family of rows with a field `device` takes part by declaring `remarked`, a title, and `remark`, its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sdstop.core.evidence import Cite
from sdstop.core.families import in_use
from sdstop.core.finding import Finding, Value, cites
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind
from sdstop.core.model import Reading
from sdstop.core.placement import kinds_of, thing_of
from sdstop.core.rule import Rule

MOST = 64
"""Most findings of a frame that get remarks, the first ones; those that are folded get none."""
DISKS = 4
"""Most disks of one finding that get remarks."""

_WHOLES = frozenset({ThingKind.ARRAY, ThingKind.POOL, ThingKind.CACHE, ThingKind.CLUSTER, ThingKind.GROUP})
"""Kinds of things that are more than one disk, even with a single member."""
_ONE = frozenset({ThingKind.MULTIPATH_MAP, ThingKind.PATH})
"""Kinds of things whose disks are paths to one disk."""


def remarks(window: Window, device: str) -> Iterator[tuple[str, str]]:
    """Yield the remarks about a disk: title and text."""
    for family in _families(window):
        for row in window.where(family, "device", device):
            said = row.remark()
            if said:
                yield family.remarked, said


def _families(window: Window) -> list[type[Reading]]:
    found = [family for family in window.now.by_family if family.remarked and window.rows(family)]
    return sorted(found, key=lambda family: family.family)


def with_remarks(findings: Sequence[Finding], window: Window, rules: Sequence[Rule]) -> list[Finding]:
    """Return the findings with the remarks about their disks as values and evidence.

    A finding is about a disk if its subject holds all of its data on that one disk, or if it names it in `disks`.
    """
    families = _families(window) if findings else []
    if not families:
        return list(findings)
    known = {rule.id: rule for rule in rules}
    done: list[Finding] = []
    for at, finding in enumerate(findings):
        rule = known.get(finding.rule)
        if at >= MOST or finding.members or rule is None:
            done.append(finding)
            continue
        own = {covers.family for covers in in_use(rule.covered)}
        done.append(_remarked(finding, window, rule, [family for family in families if family not in own]))
    return done


def _remarked(finding: Finding, window: Window, rule: Rule, families: Sequence[type[Reading]]) -> Finding:
    disks = list(_disks(finding, window, rule))[:DISKS]
    values: list[Value] = []
    quoted: list[Cite | None] = []
    for disk in disks:
        for family in families:
            for row in window.where(family, "device", disk):
                said = row.remark()
                if said:
                    several = len(disks) > 1 or bool(finding.disks)
                    name, title = (f"_{disk}", f" of {disk}") if several else ("", "")
                    values.append(Value(f"{family.family}{name}", f"{family.remarked}{title}", said))
                    quoted.append(window.cite(row))
    if not values:
        return finding
    kept = (cite for cite in quoted if cite and not (finding.disproof and finding.disproof in cite.excerpt))
    names = {value.name for value in finding.values}
    more = {value.name: value for value in values if value.name not in names}
    return replace(
        finding, values=(*finding.values, *more.values()), evidence=cites(*finding.evidence, *kept)
    )  # fmt: skip


def _disks(finding: Finding, window: Window, rule: Rule) -> Iterator[str]:
    """Yield the kernel names of the whole disks that a finding is about."""
    topology = window.topology
    found: dict[str, None] = {}
    for name in finding.disks or (finding.subject,):
        thing = thing_of(topology, name, kinds_of(rule))
        if thing is None or (not finding.disks and thing.kinds & _WHOLES):
            continue
        disks = [disk.device for disk in topology.disks(thing) if disk.device is not None]
        if len(disks) == 1 or (disks and thing.kinds & _ONE):
            found[disks[0]] = None
    yield from found
