"""Outliers: nodes that differ from their peers. Pure functions over traits from any source.

A trait is one property of one node, as text or number, that nodes are compared by:

    Trait("n07", "mtu", "eth2", 1500)    beside 11 peers with 9000

Peers are nodes of one group that have a trait of the same aspect and item. A node that differs is an outlier only if
nearly all others agree: two generations of hardware in one rack are not a fault.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from sdstop.core.advice import Advice, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.format import quantity
from sdstop.core.rule import Limits, NodeRule, Threshold, of_rule

THRESHOLDS = (
    Threshold("peers", 3, "minimum number of peers to call a node an outlier"),
    Threshold("agree", 0.75, "share of nodes that must agree on a value", "ratio"),
)
NODE_OUTLIER = NodeRule(
    "node-outlier",
    "node that differs from its peers (kernel, memory, ports, arrays)",
    Severity.WARNING,
    THRESHOLDS,
    damage=Damage.HYGIENE,
    view="host",
)
MTU_MISMATCH = NodeRule(
    "mtu-mismatch",
    "MTU that differs between nodes",
    Severity.WARNING,
    THRESHOLDS,
    damage=Damage.AVAILABILITY,
    view="network",
)

Configured = Mapping[str, Mapping[str, float]]
"""Configured thresholds, by rule id and name."""

_NAMED = 4
"""Maximum number of peers that a finding cites."""


class Aspect(Struct, frozen=True):
    """Aspect that nodes are compared by: title, rule, severity of a difference, impact, unit and advice.

    `fewest`: only having less than the peers is a fault, having more is not. `always`: nodes must agree even if the
    correct value is unknown, so a mere difference is as severe. `damage` and `view` are those of its rule by default.
    """

    name: str
    title: str
    severity: Severity
    impact: str
    advice: tuple[Advice, ...]
    unit: str = ""
    rule: NodeRule = NODE_OUTLIER
    fewest: bool = False
    always: bool = False
    damage: Damage | None = None
    view: str = ""

    @property
    def heading(self) -> str:
        """Title of a finding about a difference."""
        return f"{'FEWER' if self.fewest else 'DIFFERENT'} {self.title.upper()}"


class Trait(Struct, frozen=True):
    """Value of an aspect on one node. `item` identifies one of several (`eth2`, a network), "" for the node as a whole.

    `group` defines its peers: a job, a cluster, a role. `value` is in the aspect's unit. `cite` is the location of the
    source.
    """

    node: str
    aspect: str
    item: str
    value: str | float
    group: str = ""
    cite: Cite | None = None


ASPECTS: Mapping[str, Aspect] = {
    aspect.name: aspect
    for aspect in (
        Aspect(
            "kernel",
            "Kernel",
            Severity.INFO,
            "Behavior and performance can differ from the peers.",
            (run("uname", "-r", note="an update can wait for a restart"),),
        ),
        Aspect(
            "mtu",
            "MTU",
            Severity.WARNING,
            "Frames larger than the smaller MTU are lost between these nodes.",
            (
                "Set the MTU of the peers in the network configuration.",
                run("ip", "link", "show", note="MTU of each interface"),
                run("ping", "-M", "do", "-c", "3", "-s", "SIZE", "PEER", note="SIZE is the MTU less 28"),
            ),
            rule=MTU_MISMATCH,
            always=True,
        ),
        Aspect(
            "nic-speed",
            "Line speed",
            Severity.WARNING,
            "Connections of this node can be slower than those of its peers.",
            (run("ethtool", "INTERFACE", note="cable, transceiver, switch port, autonegotiation"),),
            "bytes_per_second",
            damage=Damage.SPEED,
            view="network",
        ),
        Aspect(
            "nics",
            "Ports with a link",
            Severity.WARNING,
            "The node can have less bandwidth or fewer paths than its peers.",
            (run("ip", "-br", "link", note="a port that is down or missing"),),
            damage=Damage.REDUNDANCY,
            view="network",
        ),
        Aspect(
            "dimms",
            "Memory modules",
            Severity.WARNING,
            "Memory size or bandwidth can be lower than on the peers.",
            (run("dmidecode", "-t", "memory", note="a missing or different module"),),
            damage=Damage.SPEED,
        ),
        Aspect(
            "dimm-speed",
            "Memory speed",
            Severity.WARNING,
            "Memory bandwidth differs from that of the peers.",
            (run("dmidecode", "-t", "memory", note="Configured Memory Speed"), "One slow module slows all."),
            "transfers_per_second",
            damage=Damage.SPEED,
        ),
        Aspect(
            "channels",
            "Channels used",
            Severity.WARNING,
            "Memory bandwidth differs from that of the peers.",
            (run("dmidecode", "-t", "memory", note="one module per channel"),),
            damage=Damage.SPEED,
        ),
        Aspect(
            "hba-firmware",
            "HBA firmware",
            Severity.WARNING,
            "Faults and limits of the HBA can differ from the peers.",
            (
                "Update the firmware of this node, or that of the peers.",
                run("cat", "/sys/class/scsi_host/hostN/version_fw", note="version of host N"),
            ),
            view="fabric",
        ),
        Aspect(
            "disk-firmware",
            "Disk firmware",
            Severity.INFO,
            "Faults and performance of the disks can differ from the peers.",
            (run("lsblk", "-d", "-o", "NAME,MODEL,REV", note="compare with the vendor's notes"),),
            view="disks",
        ),
        Aspect(
            "arrays",
            "Arrays",
            Severity.INFO,
            "Redundancy and performance can differ from the peers.",
            (run("cat", "/proc/mdstat", note="level, chunk, number of members"),),
            view="disks",
        ),
    )
}
"""Aspects that are compared, by name."""


def outliers(
    traits: Iterable[Trait], configured: Configured = MappingProxyType({}), aspects: Mapping[str, Aspect] = ASPECTS
) -> Iterator[Verdict]:
    """Judge each aspect and item of each group, in order: outliers, full agreement, or undecidable.

    A trait whose aspect is unknown raises KeyError.
    """
    groups: dict[tuple[str, str, str], dict[str, Trait]] = defaultdict(dict)
    for trait in traits:
        groups[trait.group, trait.aspect, trait.item][trait.node] = trait
    for (group, name, item), by_node in sorted(groups.items()):
        aspect = aspects[name]
        limits = aspect.rule.limits(configured.get(aspect.rule.id))
        for verdict in _judged(group, item, aspect, [by_node[node] for node in sorted(by_node)], limits):
            yield of_rule(verdict, aspect.rule)


def _judged(group: str, item: str, aspect: Aspect, traits: Sequence[Trait], limits: Limits) -> Iterator[Verdict]:
    subject = "/".join(part for part in (group, aspect.name, item) if part)
    counts = Counter(trait.value for trait in traits)
    common, agree = min(counts.items(), key=lambda counted: (-counted[1], str(counted[0])))
    if len(counts) == 1:
        if len(traits) > 1:
            yield RuledOut(subject, f"{what(aspect, item)}: {shown(common, aspect)} on all {len(traits)} nodes")
    elif len(traits) <= limits["peers"]:
        yield Unchecked(f"only {len(traits)} nodes, and they differ: no majority", subject)
    elif agree < limits["agree"] * len(traits):
        yield Unchecked(f"{len(counts)} values on {len(traits)} nodes, most common on {agree}: no majority", subject)
    elif aspect.fewest and any(_number(trait.value) > _number(common) for trait in traits):
        yield Unchecked(f"most have {shown(common, aspect)}, some have more", subject)
    else:
        like = [trait for trait in traits if trait.value == common][:_NAMED]
        for trait in traits:
            if trait.value != common:
                yield _finding(trait, aspect, like, common, agree, len(traits) - 1)


def _finding(odd: Trait, aspect: Aspect, like: Sequence[Trait], common: str | float, agree: int, peers: int) -> Finding:
    others = f"{peers} peers" if agree == peers else f"{agree} of {peers} peers"
    here, there = shown(odd.value, aspect), shown(common, aspect)
    return Finding(
        severity=aspect.severity,
        subject=f"{odd.node}/{odd.item}" if odd.item else odd.node,
        title=aspect.heading,
        cause=fitting(
            f"{what(aspect, odd.item)}: {here}; {others} have {there}.",
            f"{aspect.title}: {here}; {others} have {there}.",
            f"{aspect.title} differs from {others}.",
        ),
        impact=aspect.impact,
        values=(
            Value("here", f"{aspect.title} here", odd.value, aspect.unit),
            Value("peers", f"{aspect.title} of {others}", common, aspect.unit),
        ),
        evidence=cites(odd.cite, *(trait.cite for trait in like)),
        advice=aspect.advice,
        refuted_by="the same value on this node as on its peers",
        harmless_if="the node is meant to differ; put it into its own group",
        damage=aspect.damage,
        view=aspect.view,
        host=odd.node,
        between=(odd.node, *(trait.node for trait in like)),
    )


def _number(value: str | float) -> float:
    return value if not isinstance(value, str) else 0.0


def what(aspect: Aspect, item: str) -> str:
    """Return the name of the compared aspect and item for display."""
    return f"{aspect.title} of {item}" if item else aspect.title


def shown(value: str | float, aspect: Aspect) -> str:
    """Return a value for display; MTUs are not abbreviated."""
    if isinstance(value, str):
        return quantity(value, "")
    if not aspect.unit and value == int(value):
        return f"{value:.0f}"
    return quantity(value, aspect.unit)
