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

from sdstop.core.evidence import Cite
from sdstop.core.finding import (
    Finding,
    Limits,
    NodeRule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    of_rule,
)
from sdstop.core.format import quantity

THRESHOLDS = (
    Threshold("peers", 3, "peers that a node must have to be held against them; fewer only disagree"),
    Threshold("agree", 0.75, "share of the nodes that must agree on a value, for one to differ from it", "ratio"),
)
NODE_OUTLIER = NodeRule(
    "node-outlier",
    "a node differs from its peers in kernel, memory, network ports or arrays",
    Severity.WARNING,
    THRESHOLDS,
)
MTU_MISMATCH = NodeRule("mtu-mismatch", "nodes do not agree on the MTU of an interface", Severity.WARNING, THRESHOLDS)

Configured = Mapping[str, Mapping[str, float]]
"""Configured thresholds, by rule id and name."""

_NAMED = 4
"""Maximum number of peers that a finding cites."""


class Aspect(Struct, frozen=True):
    """Aspect that nodes are compared by: title, rule, severity of a difference, unit and advice.

    `many`: the title is a plural. `fewest`: only having less than the peers is a fault, having more is not. `always`:
    nodes must agree even if the correct value is unknown, so a mere difference is as severe.
    """

    name: str
    title: str
    severity: Severity
    advice: tuple[str, ...]
    unit: str = ""
    rule: NodeRule = NODE_OUTLIER
    many: bool = False
    fewest: bool = False
    always: bool = False


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
        Aspect("kernel", "Kernel", Severity.INFO, ("uname -r   # was it updated, and not booted since?",)),
        Aspect(
            "mtu",
            "MTU",
            Severity.WARNING,
            (
                "ip link show   # set the MTU of the peers where the network is configured, or a reboot undoes it",
                "ping -M do -c 3 -s SIZE PEER   # SIZE is the MTU less 28: does a full frame arrive?",
            ),
            rule=MTU_MISMATCH,
            always=True,
        ),
        Aspect(
            "nic-speed",
            "Line speed",
            Severity.WARNING,
            ("ethtool INTERFACE   # cable, transceiver, port of the switch, autonegotiation",),
            "bytes_per_second",
        ),
        Aspect(
            "nics",
            "Network ports with a link",
            Severity.WARNING,
            ("ip -br link   # which port is down, or not there?",),
            many=True,
        ),
        Aspect(
            "dimms",
            "Memory modules",
            Severity.WARNING,
            ("dmidecode -t memory   # a module that is missing, disabled, of another size or in another slot",),
            many=True,
        ),
        Aspect(
            "dimm-speed",
            "Speed of the memory",
            Severity.WARNING,
            ("dmidecode -t memory   # Configured Memory Speed; one slow module slows all",),
            "transfers_per_second",
        ),
        Aspect(
            "channels",
            "Memory channels in use",
            Severity.WARNING,
            ("dmidecode -t memory   # each channel should have a module",),
            many=True,
        ),
        Aspect(
            "hba-firmware",
            "Firmware of the HBA",
            Severity.WARNING,
            ("cat /sys/class/scsi_host/host*/version_fw   # update it, or the peers",),
        ),
        Aspect(
            "disk-firmware",
            "Firmware of the disks",
            Severity.INFO,
            ("cat /sys/block/*/device/rev   # compare with the vendor's notes",),
        ),
        Aspect(
            "arrays",
            "Arrays",
            Severity.INFO,
            ("cat /proc/mdstat   # level, chunk and number of members of the peers",),
            many=True,
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
            same = f"{what(aspect, item)} {'are' if aspect.many else 'is'} the same on all {len(traits)}"
            yield RuledOut(subject, f"{same}: {shown(common, aspect)}")
    elif len(traits) <= limits["peers"]:
        yield Unchecked(f"{len(traits)} nodes differ: too few to identify the outlier", subject)
    elif agree < limits["agree"] * len(traits):
        kinds = f"{len(counts)} values on {len(traits)} nodes"
        yield Unchecked(f"{kinds}, the commonest on {agree}: nothing that a node should be like", subject)
    elif aspect.fewest and any(_number(trait.value) > _number(common) for trait in traits):
        yield Unchecked(f"most have {shown(common, aspect)}, and some have more", subject)
    else:
        like = [trait for trait in traits if trait.value == common][:_NAMED]
        for trait in traits:
            if trait.value != common:
                yield _finding(trait, aspect, like, common, agree, len(traits) - 1)


def _finding(odd: Trait, aspect: Aspect, like: Sequence[Trait], common: str | float, agree: int, peers: int) -> Finding:
    others = f"its {peers} peers" if agree == peers else f"{agree} of its {peers} peers"
    here, there = shown(odd.value, aspect), shown(common, aspect)
    return Finding(
        severity=aspect.severity,
        subject=f"{odd.node}/{odd.item}" if odd.item else odd.node,
        cause=f"{what(aspect, odd.item)}: {here}, on {others} {there}",
        values=(
            Value("here", f"{aspect.title} here", odd.value, aspect.unit),
            Value("peers", f"{aspect.title} of {others}", common, aspect.unit),
        ),
        evidence=cites(odd.cite, *(trait.cite for trait in like)),
        advice=aspect.advice,
        refuted_by="a node that is meant to differ from these: give it a group of its own",
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
