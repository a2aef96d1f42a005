"""Comparison of captures of several nodes (or of one, before and after): common and differing properties."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.comparison.outlier import (
    ASPECTS,
    MTU_MISMATCH,
    NODE_OUTLIER,
    THRESHOLDS,
    Aspect,
    Configured,
    Trait,
    outliers,
    shown,
    what,
)
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.md.readings import Array
from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.collectors.network.readings import Interface
from sdstop.collectors.system.readings import Node
from sdstop.core.advice import run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.format import bytes_
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Limits, NodeRule, of_rule
from sdstop.core.site import Site, SiteNode

PATH_MISSING = NodeRule(
    "path-missing",
    "node with fewer paths to its disks than its peers",
    Severity.WARNING,
    THRESHOLDS,
    damage=Damage.REDUNDANCY,
    view="fabric",
)
FIRMWARE_MISMATCH = NodeRule(
    "firmware-mismatch",
    "firmware that differs between nodes (same disk model or HBA)",
    Severity.WARNING,
    THRESHOLDS,
    damage=Damage.HYGIENE,
    view="fabric",
)
COMPARED: Mapping[str, Aspect] = {
    **{
        name: replace(aspect, rule=FIRMWARE_MISMATCH) if "firmware" in name else aspect
        for name, aspect in ASPECTS.items()
    },
    "ways": Aspect(
        "ways",
        "Disk paths",
        Severity.WARNING,
        "Another failure on the path can make these disks unavailable.",
        (
            "Check cables, expanders and zoning of the HBA that misses disks.",
            run("lsscsi", "-t", note="disks by HBA"),
            run("multipath", "-ll"),
        ),
        rule=PATH_MISSING,
        fewest=True,
        always=True,
    ),
    "disks": Aspect(
        "disks",
        "Disks",
        Severity.INFO,
        "Capacity and performance can differ from the peers.",
        (run("lsblk", "-d", "-o", "NAME,MODEL,SIZE", note="a missing or different disk"),),
        view="disks",
    ),
}
"""Aspects for comparing captures: those of the fleet, and those that require evidence."""

_PHYSICAL = frozenset({"physical", "bond"})
_DISKS = frozenset({"disk", "nvme"})


class Difference(Struct, frozen=True):
    """Aspect in which nodes differ: each value for display with its nodes, the most common first."""

    aspect: Aspect
    item: str
    values: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def what(self) -> str:
        """Name of the aspect and item, for display."""
        return what(self.aspect, self.item)


def traits(peer: SiteNode) -> Sequence[Trait]:
    """Return the traits of a node; unknown values yield none."""
    return peer.window.once(("traits", peer.name), lambda: tuple(_traits(peer)))


def _traits(peer: SiteNode) -> Iterator[Trait]:
    window, name = peer.window, peer.name

    def trait(aspect: str, item: str, value: str | float, row: Reading | None, field: str = "", /) -> Trait:
        cite: Cite | None = peer.cite(row, field) if row is not None else None
        return Trait(name, aspect, item, value, "", cite)

    node = window.get(Node, ())
    if node is not None and node.kernel:
        yield trait("kernel", "", node.kernel, node, "kernel")
    ports = [row for row in window.rows(Interface).values() if row.kind in _PHYSICAL]
    linked = [row for row in ports if row.carrier]
    for row in linked:
        if row.mtu is not None:
            yield trait("mtu", row.interface, row.mtu, row, "mtu")
        if row.speed:
            yield trait("nic-speed", row.interface, row.speed, row, "speed")
    if ports:
        yield trait("nics", "", len(linked), ports[0], "carrier")
    yield from _memory(window, trait)
    yield from _storage(window, trait)


class _TraitFactory(Protocol):
    """Factory for the traits of one node."""

    def __call__(self, aspect: str, item: str, value: str | float, row: Reading | None, field: str = "", /) -> Trait:
        """Return a trait that cites a row's field."""


def _memory(window: Window, trait: _TraitFactory) -> Iterator[Trait]:
    filled = [row for row in window.rows(Dimm).values() if row.size]
    if filled:
        sizes = Counter(bytes_(row.size) for row in filled)
        yield trait("dimms", "", _counted(sizes), filled[0])
        speeds = [row.configured for row in filled if row.configured]
        if speeds:
            yield trait("dimm-speed", "", min(speeds) * 1e6, filled[0])
    for socket in window.rows(MemorySocket).values():
        if socket.used is not None:
            yield trait("channels", socket.socket, socket.used, socket)


def _storage(window: Window, trait: _TraitFactory) -> Iterator[Trait]:
    disks = [row for row in window.rows(BlockDevice).values() if row.kind in _DISKS and row.model]
    firmware: dict[str, set[str]] = defaultdict(set)
    ways: dict[str, set[str]] = defaultdict(set)
    models: dict[str, set[str]] = defaultdict(set)
    hbas = {row.device: row.hba for row in window.rows(DiskPath).values()}
    for row in disks:
        model = row.model or ""
        if row.revision:
            firmware[model].add(row.revision)
        disk = row.wwn or row.device
        models[model].add(disk)
        if row.device in hbas:
            ways[model].add(f"{disk} {hbas[row.device]}")
    of_model = {row.model: row for row in disks}
    for model, revisions in firmware.items():
        yield trait("disk-firmware", model, ", ".join(sorted(revisions)), of_model[model], "revision")
    for model, found in models.items():
        yield trait("disks", model, len(found), of_model[model], "model")
        if ways[model]:
            yield trait("ways", model, len(ways[model]) / len(found), of_model[model])
    for hba in window.rows(Hba).values():
        if hba.firmware and hba.device_id:
            yield trait("hba-firmware", hba.device_id, hba.firmware, hba, "firmware")
    arrays = list(window.rows(Array).values())
    if arrays:
        kinds = Counter(" ".join(filter(None, (row.level, row.layout))) or "unknown" for row in arrays)
        yield trait("arrays", "", _counted(kinds), arrays[0])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))


def judged_traits(found: Sequence[Trait], configured: Configured = MappingProxyType({})) -> list[Verdict]:
    """Return the verdicts on traits: outliers or, with too few nodes to decide, disagreements."""
    verdicts: list[Verdict] = []
    for verdict in outliers(found, configured, COMPARED):
        verdicts += _disagreement(verdict, found) if isinstance(verdict, Unchecked) else [verdict]
    verdicts.sort(key=lambda v: -v.severity.rank if isinstance(v, Finding) else 1)
    return verdicts


def _disagreement(verdict: Unchecked, found: Iterable[Trait]) -> list[Verdict]:
    """Return the disagreements without an outlier: an MTU must be equal on all nodes, whichever value is correct."""
    aspect, _, item = verdict.subject.partition("/")
    group = [trait for trait in found if (trait.aspect, trait.item) == (aspect, item)]
    known = COMPARED[aspect]
    values = _values(group, known)
    told = ", ".join(f"{value} on {_named(nodes)}" for value, nodes in values)
    finding = Finding(
        severity=known.severity if known.always else Severity.INFO,
        subject=verdict.subject,
        title=known.heading,
        cause=fitting(
            f"{what(known, item)}: {told}.",
            f"{known.title}: {told}.",
            f"{known.title}: {len(values)} values on {len(group)} nodes.",
        ),
        impact=known.impact,
        values=tuple(Value(trait.node, f"on {trait.node}", trait.value, known.unit) for trait in group),
        evidence=cites(*(trait.cite for trait in group)),
        advice=known.advice,
        refuted_by="the same value on all of these nodes",
        harmless_if="the difference is intended",
        damage=known.damage,
        view=known.view,
        between=tuple(trait.node for trait in group),
    )
    return [of_rule(finding, known.rule)]


def _named(nodes: Sequence[str]) -> str:
    return nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"


def differences(peers: Sequence[SiteNode]) -> list[Difference]:
    """Return every aspect in which nodes differ, in the order of aspects."""
    groups: dict[tuple[str, str], list[Trait]] = defaultdict(list)
    for peer in peers:
        for trait in traits(peer):
            groups[trait.aspect, trait.item].append(trait)
    order = list(COMPARED)
    found = []
    for (aspect, item), group in sorted(groups.items(), key=lambda pair: (order.index(pair[0][0]), pair[0][1])):
        lacking = sorted({peer.name for peer in peers} - {trait.node for trait in group})
        values = _values(group, COMPARED[aspect])
        if len(values) > 1 or (lacking and item):
            rest = (("not there", tuple(lacking)),) if lacking and item else ()
            found.append(Difference(COMPARED[aspect], item, (*values, *rest)))
    return found


def _values(group: Iterable[Trait], aspect: Aspect) -> tuple[tuple[str, tuple[str, ...]], ...]:
    by_value: dict[str, list[str]] = defaultdict(list)
    for trait in group:
        by_value[shown(trait.value, aspect)].append(trait.node)
    return tuple(
        (value, tuple(sorted(nodes))) for value, nodes in sorted(by_value.items(), key=lambda v: (-len(v[1]), v[0]))
    )


def _comparing(rule: NodeRule) -> NodeRule:
    """Return a rule that compares the traits of its aspects."""

    def check(site: Site, limits: Limits) -> list[Verdict]:
        own = [each for node in site.nodes for each in traits(node) if COMPARED[each.aspect].rule.id == rule.id]
        return judged_traits(own, {rule.id: limits})

    return replace(rule, check=check, timeless=True)


COMPARING: tuple[NodeRule, ...] = tuple(map(_comparing, (NODE_OUTLIER, MTU_MISMATCH, PATH_MISSING, FIRMWARE_MISMATCH)))
"""The rules between nodes that compare traits, in display order."""
