"""Related interfaces with different MTUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.network.readings import Interface, InterfaceLink
from sdstop.core import format as human
from sdstop.core.advice import ShellCommand, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

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
            yield Unchecked("MTU of some of its interfaces unknown", upper)
            continue
        found = list(_FINDERS[relation](window, top, lower))
        yield from found
        if not found and relation != "veth":
            yield RuledOut(upper, f"{relation} and its members: MTU {_listed([top, *lower])}")
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
    yield Unchecked(
        f"peers of {', '.join(names[:_FEW])}{more} are in another network namespace",
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
    """Return which of the interfaces are inactive, as a value; empty if none is."""
    return ", ".join(row.interface for row in interfaces if not row.active)


def _bundle(window: Window, bond: Interface, slaves: Sequence[Interface]) -> Iterator[Finding]:
    for slave in slaves:
        if _mtu(slave) == _mtu(bond):
            continue
        small = _mtu(slave) < _mtu(bond)
        yield _finding(
            window,
            f"{bond.interface}/{slave.interface}",
            _severity(bond, slave) if small else Severity.INFO,
            f"{bond.interface} has MTU {bond.mtu}, its slave {slave.interface} {slave.mtu}.",
            (bond, slave),
            (_set(bond, bond.mtu, "applies to every slave"),),
            impact="" if small else "No loss: the slave accepts more than the bond sends.",
        )


def _set(interface: Interface, mtu: int | None, note: str = "") -> ShellCommand:
    return run("ip", "link", "set", "dev", interface.interface, "mtu", f"{mtu}", note=note)


def _upon(window: Window, upper: Interface, lower: Sequence[Interface]) -> Iterator[Finding]:
    for parent in lower:
        if _mtu(upper) <= _mtu(parent):
            continue
        yield _finding(
            window,
            f"{upper.interface}/{parent.interface}",
            _severity(upper, parent),
            f"{upper.interface} has MTU {upper.mtu}, {parent.interface} below only {parent.mtu}.",
            (upper, parent),
            (
                _set(parent, upper.mtu, "if peers and switch support it"),
                _set(upper, parent.mtu, "otherwise"),
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
    if largest.mtu == smallest.mtu:
        cause = f"{bridge.interface} has MTU {bridge.mtu}, its ports {smallest.mtu}."
    else:
        rest = f" and {human.plural(len(few) - 1, 'other port')}" if len(few) > 1 else ""
        cause = f"{largest.interface} has MTU {largest.mtu}, {smallest.interface}{rest} {smallest.mtu}."
    odd = (smallest, largest) if largest is not smallest else (smallest,)
    yield _finding(
        window,
        bridge.interface,
        _severity(bridge, *odd),
        cause,
        (bridge, *odd),
        (
            *(_set(port, largest.mtu) for port in few[:3] if port.mtu != largest.mtu),
            _set(bridge, largest.mtu, "everything behind the ports must support it"),
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
            f"{large.interface} has MTU {large.mtu}, its peer {small.interface} {small.mtu}.",
            (small, large),
            (_set(small, large.mtu), _set(large, small.mtu, "alternative")),
        )


_FINDERS = (
    dict.fromkeys(_BUNDLES, _bundle) | dict.fromkeys(_UPON, _upon) | dict.fromkeys(_FORWARDS, _bridge) | {"veth": _veth}
)


def _finding(
    window: Window,
    subject: str,
    severity: Severity,
    cause: str,
    interfaces: Sequence[Interface],
    commands: tuple[ShellCommand, ...],
    impact: str = "",
) -> Finding:
    large, small = max(interfaces, key=_mtu), min(interfaces, key=_mtu)
    unused = _unused(*interfaces)
    lost = f"Frames above {small.mtu} bytes are lost at {small.interface}."
    return Finding(
        severity=severity,
        subject=subject,
        title="MTU MISMATCH",
        cause=cause,
        impact=impact or (f"Frames above {small.mtu} bytes would be lost; {unused} is down." if unused else lost),
        values=(
            *(
                Value(row.interface, f"MTU of {row.interface}", row.mtu, "", below=None if row is large else large.mtu)
                for row in interfaces
            ),
            *((Value("unused", "interfaces not in use", unused),) if unused else ()),
        ),
        evidence=cites(*(window.cite(row, "mtu") for row in interfaces)),
        advice=(
            *commands,
            "Set it in the network configuration, too; a reboot undoes ip link.",
            run(
                "ping", "-M", "do", "-c", "3", "-s", str(_mtu(large) - 28), "PEER",
                note="must succeed to every storage peer",
            ),
        ),
        refuted_by="a full-size ping -M do that arrives from a peer behind the smaller interface",
        view_subject=small.interface,
    )  # fmt: skip


MTU_MISMATCH = Rule(
    "mtu-mismatch",
    "different MTUs within a bond, bridge, VLAN or veth pair",
    Severity.WARNING,
    _check,
    (Interface, InterfaceLink),
    covers=(Covers(InterfaceLink, "{upper}", lambda link: link.relation in _RELATIONS),),
    explains=(
        "frames-dropped",
        "path-mtu-shrunk",
    ),
    damage=Damage.AVAILABILITY,
    standing=True,
    view="network",
    advice="Set the same MTU on all of them, and in the network configuration.",
)
