"""Related interfaces with different MTUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.network.interfaces import Interface
from sdstop.collectors.network.links import InterfaceLink
from sdstop.core import format as human
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted

_FORWARDS = frozenset({"bridge"})
_BUNDLES = frozenset({"bond", "team"})
_UPON = frozenset({"vlan", "macvlan", "macvtap", "ipvlan"})
_RELATIONS = _FORWARDS | _BUNDLES | _UPON | {"veth"}
_FEW = 4
"""Maximum number of interfaces to name; a container host has hundreds."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    groups: dict[tuple[str, str], list[InterfaceLink]] = {}
    for link in window.rows(InterfaceLink).values():
        groups.setdefault((link.relation, link.upper), []).append(link)
    for (relation, upper), links in sorted(groups.items()):
        if relation not in _RELATIONS:
            continue
        names = sorted({link.interface for link in links})
        top = window.get(Interface, upper)
        lower = [row for row in (window.get(Interface, name) for name in names) if row is not None]
        if top is None or top.mtu is None or len(lower) < len(names) or any(row.mtu is None for row in lower):
            yield Unchecked("the MTU of some of its interfaces is not known", upper)
            continue
        found = list(_FINDERS[relation](window, top, lower))
        yield from found
        if not found and relation != "veth":
            yield RuledOut(upper, f"{relation} and what it is made of agree: MTU {_listed([top, *lower])}")
        elif not found:
            yield RuledOut(f"{names[0]}/{upper}", f"both ends of the pair have MTU {top.mtu}")
    yield from _elsewhere(window)


def _elsewhere(window: Window) -> Iterator[Unchecked]:
    """Yield one entry for interfaces joined to other network namespaces (containers), whose MTU is unreadable here."""
    links = window.rows(InterfaceLink).values()
    joined = {link.upper for link in links if link.relation != "veth"}
    joined |= {name for link in links if link.relation == "veth" for name in (link.interface, link.upper)}
    names = [
        row.interface
        for row in window.rows(Interface).values()
        if row.kind in _UPON | {"veth"} and row.interface not in joined
    ]
    if not names:
        return
    names = sorted(map(human.safe, names))
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    verb = "is" if len(names) == 1 else "are"
    yield Unchecked(
        f"{', '.join(names[:_FEW])}{more} {verb} joined to something that is not in this network namespace, and what "
        "MTU that has cannot be seen",
        calm=True,  # normal on container hosts
    )


def _mtu(interface: Interface) -> int:
    return interface.mtu or 0


def _listed(interfaces: Sequence[Interface]) -> str:
    mtus = sorted({_mtu(row) for row in interfaces})
    return " and ".join(map(str, mtus))


def _severity(*interfaces: Interface) -> Severity:
    """Return info if an interface is inactive, because it then carries no traffic."""
    return Severity.WARNING if all(row.active for row in interfaces) else Severity.INFO


def _unused(*interfaces: Interface) -> str:
    away = [row.interface for row in interfaces if not row.active]
    return f" ({', '.join(away)} not in use now)" if away else ""


def _bundle(window: Window, bond: Interface, slaves: Sequence[Interface]) -> Iterator[Finding]:
    for slave in slaves:
        if _mtu(slave) == _mtu(bond):
            continue
        small = _mtu(slave) < _mtu(bond)
        effect = (
            f"frames of {bond.interface} above {slave.mtu} are lost on it"
            if small
            else f"it takes more than {bond.interface} sends"
        )
        yield _finding(
            window,
            f"{bond.interface}/{slave.interface}",
            _severity(bond, slave) if small else Severity.INFO,
            f"slave {slave.interface} has MTU {slave.mtu}, {bond.interface} {bond.mtu}: {effect}{_unused(bond, slave)}",
            (bond, slave),
            (f"ip link set dev {quoted(bond.interface)} mtu {bond.mtu}   # bonding sets it on every slave",),
        )


def _upon(window: Window, upper: Interface, lower: Sequence[Interface]) -> Iterator[Finding]:
    for parent in lower:
        if _mtu(upper) <= _mtu(parent):
            continue
        yield _finding(
            window,
            f"{upper.interface}/{parent.interface}",
            _severity(upper, parent),
            f"{upper.interface} has MTU {upper.mtu}, {parent.interface} below it only {parent.mtu}: larger frames are "
            f"lost{_unused(upper, parent)}",
            (upper, parent),
            (
                f"ip link set dev {quoted(parent.interface)} mtu {upper.mtu}   # if its peers and the switch take it",
                f"ip link set dev {quoted(upper.interface)} mtu {parent.mtu}   # else",
            ),
        )


def _bridge(window: Window, bridge: Interface, ports: Sequence[Interface]) -> Iterator[Finding]:
    used = [port for port in ports if port.active] or list(ports)
    largest, smallest = max(used, key=_mtu), min(used, key=_mtu)
    too_small = min(_mtu(port) for port in used) < _mtu(bridge)
    if largest.mtu == smallest.mtu and not too_small:
        # Only inactive ports differ: report as info.
        others = [port for port in ports if _mtu(port) != largest.mtu]
        if not others:
            return
        used, smallest, largest = list(ports), min(ports, key=_mtu), max(ports, key=_mtu)
    few = [port for port in used if port.mtu == smallest.mtu]
    names = ", ".join(port.interface for port in few[:4])
    if largest.mtu == smallest.mtu:
        what = f"{bridge.interface} has MTU {bridge.mtu}, its ports {smallest.mtu}: larger frames of its own are lost"
    else:
        what = (
            f"its ports differ: {largest.interface} {largest.mtu}, {names} {smallest.mtu}; frames above "
            f"{smallest.mtu} from the one do not come out at the other, without a word"
        )
    odd = (smallest, largest) if largest is not smallest else (smallest,)
    yield _finding(
        window,
        bridge.interface,
        _severity(bridge, *odd),
        what + _unused(bridge, *odd),
        (bridge, *odd),
        (
            *(
                f"ip link set dev {quoted(port.interface)} mtu {largest.mtu}"
                for port in few[:3]
                if port.mtu != largest.mtu
            ),
            (
                f"ip link set dev {quoted(bridge.interface)} mtu {largest.mtu}"
                "   # what is behind the ports must take it, too"
            ),
        ),
    )


def _veth(window: Window, one: Interface, ends: Sequence[Interface]) -> Iterator[Finding]:
    for other in ends:
        if other.mtu == one.mtu:
            continue
        small, large = sorted((one, other), key=_mtu)
        yield _finding(
            window,
            f"{other.interface}/{one.interface}",
            _severity(one, other),
            f"the ends of a veth pair differ: {large.interface} sends up to {large.mtu}, {small.interface} takes "
            f"{small.mtu}; larger frames are lost{_unused(one, other)}",
            (small, large),
            (
                f"ip link set dev {quoted(small.interface)} mtu {large.mtu}",
                f"ip link set dev {quoted(large.interface)} mtu {small.mtu}   # or so",
            ),
        )


_FINDERS = (
    dict.fromkeys(_BUNDLES, _bundle) | dict.fromkeys(_UPON, _upon) | dict.fromkeys(_FORWARDS, _bridge) | {"veth": _veth}
)


def _finding(
    window: Window,
    subject: str,
    severity: Severity,
    summary: str,
    interfaces: Sequence[Interface],
    commands: tuple[str, ...],
) -> Finding:
    large = max(interfaces, key=_mtu)
    return Finding(
        severity=severity,
        subject=subject,
        cause=summary,
        values=tuple(
            Value(row.interface, f"MTU of {row.interface}", row.mtu, "", above=large.mtu) for row in interfaces
        ),
        evidence=cites(*(window.cite(row, "mtu") for row in interfaces)),
        advice=(
            *commands,
            "set it where the network is configured, too, or it is gone after a reboot",
            f"ping -M do -c 3 -s {_mtu(large) - 28} PEER   # does a full frame reach the storage peers?",
        ),
        refuted_by="full frames that arrive: ping -M do with the larger MTU, from a peer behind the smaller interface",
    )


MTU_MISMATCH = Rule(
    "mtu-mismatch",
    "the parts of a bond, bridge, VLAN or veth pair do not agree on the MTU",
    Severity.WARNING,
    _check,
    (Interface, InterfaceLink),
    covers=(Covers(InterfaceLink, "{upper}", lambda link: link.relation in _RELATIONS),),
    explains=(
        "frames-dropped",
        "path-mtu-shrunk",
    ),
)
