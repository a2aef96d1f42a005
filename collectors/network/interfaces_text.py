"""Interfaces, bonds, addresses and traffic from recorded output of ip and ethtool, for captures without sysfs."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from sdstop.collectors.network import ethtool, ip_text, netclass
from sdstop.collectors.network.ip_text import IpInterface
from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.network.readings import Bond, BondSlave, Interface, InterfaceLink, Traffic
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import total, whole

_MEGABIT = 125_000
"""Bytes per second of 1 Mbit/s."""
_VLAN = expression(r".*\.\d{1,4}|vlan\d+")
_PHYSICAL = expression(r"(?:en|eth|em|ib|wl|ww|slave|p\d+p|hsi|rename)\w*")
_COUNTERS = {
    "rx_errors": "RX errors", "rx_dropped": "RX dropped", "rx_missed": "RX missed", "rx_over": "RX overrun",
    "rx_length": "RX errors length", "rx_crc": "RX errors crc", "rx_frame": "RX errors frame",
    "rx_fifo": "RX errors fifo", "rx_nohandler": "RX errors nohandler", "tx_errors": "TX errors",
    "tx_dropped": "TX dropped", "tx_carrier": "TX carrier", "tx_fifo": "TX errors fifo", "collisions": "TX collsns",
}  # fmt: skip
_DRIVERS = {
    "veth": "veth", "bonding": "bond", "bridge": "bridge", "tun": "tun", "802.1Q VLAN Support": "vlan",
    "team": "team", "macvlan": "macvlan", "vxlan": "vxlan",
}  # fmt: skip
"""Kind of virtual interfaces by their driver."""
_STATES = {"GOING_DOWN": "going down", "GOING_BACK": "going back"}


def read(host: Host) -> Iterable[Reading]:
    """Return the rows of all outputs together. Raises Absent without any, Malformed if one of ip is not understood."""
    shown: dict[str, tuple[IpInterface, str]] = {}
    for output in outputs(host, ip_text.FORM):
        for each in ip_text.parse(output.text):
            known = shown.get(each.name)
            shown[each.name] = (each if known is None else _joined(known[0], each), output.key)
    parts = ethtool.parts(host, (ethtool.SETTINGS, ethtool.DRIVER))
    if not shown and not parts:
        raise Absent("cmd:ip -d -s address", "not recorded", recorded=False)
    settings = {part.interface: part for part, _ in parts if part.kind == "settings" and part.interface}
    drivers = {part.interface: part.said["driver"] for part, _ in parts if part.kind == "driver" and part.interface}
    interfaces = {name: each for name, (each, _) in shown.items()}
    _enslave(interfaces.values())
    kinds = {name: _kind(each, interfaces) for name, each in interfaces.items()}
    rows: list[Reading] = []
    for name, (each, key) in shown.items():
        rows += _of_ip(each, key, kinds, settings.get(name), drivers.get(name))
    rows += _links(interfaces, kinds)
    for name, (each, key) in shown.items():
        if kinds[name] == "bond" and _is_up_without_slaves(each, interfaces):
            said = f"{name} is up, and no slave of it is shown to be"
            host.defect(key, said, name, contradiction=True)
            kinds[name] = "bond?"
    rows += _bonds(interfaces, kinds, {name: key for name, (_, key) in shown.items()})
    keys = {part.interface: key for part, key in parts}
    rows += [
        _interface(IpInterface(name, 0), keys[name], _kind_of_driver(name, drivers.get(name)), part, drivers.get(name))
        for name, part in settings.items()
        if name not in shown
    ]
    return rows


def _joined(known: IpInterface, new: IpInterface) -> IpInterface:
    """Return the later output of one interface, with what only the earlier one shows."""
    for name in ("below", "mtu", "master", "state", "link", "mac", "kind"):
        if getattr(new, name) is None:
            setattr(new, name, getattr(known, name))
    for name in ("flags", "bond", "slave", "addresses", "counts"):
        if not getattr(new, name):
            setattr(new, name, getattr(known, name))
    new.detailed = new.detailed or known.detailed
    return new


def _enslave(interfaces: Collection[IpInterface]) -> None:
    """Name the bond of slaves that `ip -br` shows by the flag SLAVE alone: the only one, or that with their address."""
    bonds = [each for each in interfaces if "MASTER" in each.flags]
    for each in interfaces:
        if each.master is None and "SLAVE" in each.flags:
            alike = [bond for bond in bonds if bond.mac == each.mac] if len(bonds) > 1 else bonds
            each.master = alike[0].name if len(alike) == 1 else None


def _kind(each: IpInterface, all_: Mapping[str, IpInterface]) -> str:
    """Return the kind: that of -d, else the one that flags and names imply."""
    if each.kind is not None:
        return each.kind
    if "LOOPBACK" in each.flags:
        return "loopback"
    if "MASTER" in each.flags:
        return "bond"
    if any(other.master == each.name for other in all_.values()):
        return "bridge"
    if each.below is not None:
        return "vlan" if _VLAN.fullmatch(each.name) else "veth" if each.name.startswith("veth") else "virtual"
    is_physical = each.detailed or _PHYSICAL.fullmatch(each.name) is not None
    return "physical" if is_physical and (each.link or "").startswith(("ether", "infiniband")) else "virtual"


def _kind_of_driver(name: str, driver: str | None) -> str:
    """Return the kind of an interface of which only ethtool shows anything."""
    return _DRIVERS.get(driver or "") or ("physical" if _PHYSICAL.fullmatch(name) else "virtual")


def _of_ip(
    each: IpInterface,
    key: str,
    kinds: Mapping[str, str],
    settings: ethtool.EthtoolPart | None,
    driver: str | None,
) -> Iterator[Reading]:
    if each.mtu is not None or each.state is not None:
        yield _interface(each, key, kinds[each.name], settings, driver)
    if "RX bytes" in each.counts and "TX bytes" in each.counts:
        yield _traffic(each, key)
    for text in each.addresses:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if not (address.is_loopback or address.is_link_local):
            yield NodeAddress(text, each.name, key, text)


def _interface(
    each: IpInterface, key: str, kind: str, settings: ethtool.EthtoolPart | None, driver: str | None
) -> Interface:
    up = "UP" in each.flags if each.flags else None
    carrier = True if "LOWER_UP" in each.flags else False if "NO-CARRIER" in each.flags else None
    measured = settings if kind in netclass.MEASURED | netclass.INHERITED else None
    speed = measured.speed if measured is not None else None
    duplex = measured.said.get("Duplex", "").lower() if measured is not None else ""
    counters: dict[str, Any] = {field: each.counts.get(name) for field, name in _COUNTERS.items()}
    if counters["rx_over"] is None:
        counters["rx_over"] = each.counts.get("RX errors overrun")
    return Interface(
        interface=each.name,
        kind=kind,
        operstate=each.state.lower() if each.state is not None else None,
        up=up,
        carrier=settings.carrier if carrier is None and settings is not None else carrier,
        carrier_changes=None,
        mtu=each.mtu,
        speed=speed * _MEGABIT if speed else None,
        duplex=duplex if duplex in {"full", "half"} else None,
        master=each.master,
        parent=each.below if kind in {"vlan", "macvlan", "ipvlan", "macvtap"} else None,
        driver=driver,
        mac=each.mac,
        ifindex=each.index or None,
        **counters,
        told=key,
    )


def _traffic(each: IpInterface, key: str) -> Traffic:
    """Return the counters of an interface; /proc/net/dev counts missed frames as dropped ones."""
    count = each.counts.get

    def known(name: str) -> int:
        return count(name) or 0

    return Traffic(
        each.name, known("RX bytes"), known("RX packets"), known("RX errors"),
        total((count("RX dropped"), count("RX missed"))) or 0, count("RX errors fifo"), count("RX errors frame"),
        known("RX mcast"), known("TX bytes"), known("TX packets"), known("TX errors"), known("TX dropped"),
        count("TX errors fifo"), known("TX collsns"), count("TX carrier"), key,
    )  # fmt: skip


def _links(interfaces: Mapping[str, IpInterface], kinds: Mapping[str, str]) -> Iterator[InterfaceLink]:
    for name, each in interfaces.items():
        if each.master is not None:
            yield InterfaceLink(name, each.master, kinds.get(each.master, "upper"))
        if each.below is None or each.below not in interfaces:
            continue
        if kinds[name] == "veth":
            yield InterfaceLink(min(name, each.below), max(name, each.below), "veth")
        else:
            yield InterfaceLink(each.below, name, kinds[name])


def _is_up_without_slaves(bond: IpInterface, all_: Mapping[str, IpInterface]) -> bool:
    """Return whether the slaves that carry a bond must be missing in the text."""
    slaves = [other for other in all_.values() if other.master == bond.name]
    return "LOWER_UP" in bond.flags and bool(slaves) and all("LOWER_UP" not in slave.flags for slave in slaves)


def _bonds(
    interfaces: Mapping[str, IpInterface], kinds: Mapping[str, str], keys: Mapping[str, str]
) -> Iterator[Reading]:
    for name, each in interfaces.items():
        if kinds[name] != "bond":
            continue
        slaves = [other for other in interfaces.values() if other.master == name]
        miimon = whole(each.bond.get("miimon"))
        yield Bond(
            interface=name,
            mode=each.bond.get("mode"),
            hash_policy=each.bond.get("xmit_hash_policy"),
            active_slave=each.bond.get("active_slave"),
            link=each.state.lower() if each.state in {"UP", "DOWN"} else None,
            slaves=len(slaves),
            miimon=None if miimon is None else miimon / 1000,
            told=keys[name],
        )
        for slave in slaves:
            said = slave.slave
            link = said.get("mii_status", "")
            yield BondSlave(
                bond=name,
                interface=slave.name,
                state=said["state"].lower() if "state" in said else None,
                link=_STATES.get(link, link.lower()) or None,
                link_failures=whole(said.get("link_failure_count")),
                aggregator=whole(said.get("ad_aggregator_id")),
                told=keys[slave.name],
            )


INTERFACES_TEXT = Collector(
    "interfaces-text",
    "Interfaces in recorded output of ip and ethtool",
    read,
    (Interface, Traffic, InterfaceLink, Bond, BondSlave, NodeAddress),
    (
        Need("cmd:ip *", "interfaces, addresses and bonds, from captures only; never run"),
        Need("cmd:ethtool*", "speed, duplex, driver"),
    ),
    SLOW,
    forms=(ip_text.FORM, ethtool.SETTINGS, ethtool.DRIVER),
)
