"""Kind of a network interface, from its directory in /sys/class/net (net/core/net-sysfs.c)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.collectors.network.readings import CLASS
from sdstop.core.host import Host

_LOOPBACK = 772
"""ARPHRD_LOOPBACK in `type`."""

MEASURED = frozenset({"physical", "wlan", "wwan"})
"""Kinds with a measured or negotiated speed. Other kinds report made-up ones: a veth 10 Gb/s, a tun 10 Mb/s."""
INHERITED = frozenset({"bond", "team", "vlan", "macvlan"})
"""Kinds that take their speed from the interfaces they are built on."""


class Folder(Struct, frozen=True):
    """An interface's directory: its kind, and the interfaces below and above it."""

    name: str
    kind: str
    lower: tuple[str, ...]
    upper: tuple[str, ...]


def folders(host: Host) -> dict[str, Folder]:
    """Return all interfaces of the node by name.

    Raises the errors of listing /sys/class/net.
    """
    found = {}
    for name in host.entries(CLASS):
        entries = host.names(f"{CLASS}/{name}")
        if "ifindex" in entries or "mtu" in entries:  # bonding_masters is a file
            found[name] = _folder(host, name, entries)
    return found


def _folder(host: Host, name: str, entries: Sequence[str]) -> Folder:
    lower = tuple(entry.removeprefix("lower_") for entry in entries if entry.startswith("lower_"))
    upper = tuple(entry.removeprefix("upper_") for entry in entries if entry.startswith("upper_"))
    return Folder(name, _kind(host, name, entries, stacked=bool(lower)), lower, upper)


def _kind(host: Host, name: str, entries: Sequence[str], *, stacked: bool) -> str:
    """Return the kind: DEVTYPE in uevent if the driver sets it, else by entries that only that kind has."""
    base = f"{CLASS}/{name}"
    said = dict(line.partition("=")[::2] for line in (host.maybe(f"{base}/uevent") or "").splitlines())
    devtype = said.get("DEVTYPE", "")
    if devtype and devtype != "dsa":
        return devtype
    for entry, kind in (("bonding", "bond"), ("bridge", "bridge"), ("tun_flags", "tun"), ("device", "physical")):
        if entry in entries:
            return kind
    if host.number(f"{base}/type") == _LOOPBACK:
        return "loopback"
    if stacked:
        return "macvlan"
    index, linked = host.number(f"{base}/ifindex"), host.number(f"{base}/iflink")
    return "veth" if index is not None and linked not in {None, 0, index} else "virtual"


def measured(folder: Folder, all_: dict[str, Folder]) -> bool:
    """Return whether the kernel's speed of an interface is that of a physical link."""
    if folder.kind in MEASURED:
        return True
    below = [all_[name] for name in folder.lower if name in all_ and name != folder.name]
    return folder.kind in INHERITED and bool(below) and all(lower.kind in MEASURED for lower in below)
