"""PCI functions of storage and network, and the ports above them: links and errors (AER) that the kernel counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.fabric.hba import link_speed, link_width
from sdstop.collectors.fabric.locality import functions
from sdstop.collectors.fabric.readings import ERRORS, LINK, NETWORK, PCI, PORT, STORAGE, PcieFunction
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole

_KINDS = {0x01: STORAGE, 0x02: NETWORK}
_SERIAL = {0x0C04: STORAGE, 0x0C06: NETWORK}
"""Fibre Channel and InfiniBand, which are serial buses by their class."""
_PROBES = frozenset({"UnsupReq"})
"""Errors that firmware and drivers provoke when they look for a device."""


def kind_of(pci_class: int | None) -> str | None:
    """Return storage or network from a function's class (`0x020000`: Ethernet), None for any other."""
    if pci_class is None:
        return None
    return _KINDS.get(pci_class >> 16) or _SERIAL.get(pci_class >> 8)


def counted(text: str | None) -> int | None:
    """Return the errors in one of the files, None without any line.

        RxErr 0
        BadTLP 3
        TOTAL_ERR_COR 3

    Errors of probing do not count.
    """
    found = {}
    for line in (text or "").splitlines():
        name, _, number = line.strip().rpartition(" ")
        count = whole(number)
        if name and count is not None:
            found[name] = count
    total = next((count for name, count in found.items() if name.startswith("TOTAL_ERR_")), None)
    if total is None:
        return None
    return max(0, total - sum(count for name, count in found.items() if name in _PROBES))


def read(host: Host) -> Iterable[Reading]:
    """Return the functions and the ports above them. Raises Absent without storage or network on PCI."""
    kinds = {address: kind for address in host.names(PCI) if (kind := kind_of(host.number(f"{PCI}/{address}/class")))}
    if not kinds:
        raise Absent(f"list:{PCI}", "no storage or network function on PCI")
    above = {address: functions(host, address)[:-1] for address in kinds}
    for bridges in above.values():
        kinds |= dict.fromkeys(bridges, PORT)
    return list(_rows(host, kinds, above))


def _rows(host: Host, kinds: dict[str, str], above: dict[str, tuple[str, ...]]) -> Iterator[PcieFunction]:
    for address, kind in sorted(kinds.items()):
        base = f"{PCI}/{address}"
        port = above.get(address, ())[-1:]
        link = _link(host, address, *port) if kind == NETWORK else {}
        counts = {name: counted(host.maybe(f"{base}/{file}")) for name, file in ERRORS.items()}
        if kind != PORT or any(count is not None for count in counts.values()):
            yield PcieFunction(function=address, kind=kind, port=port[0] if port else None, **link, **counts)  # type: ignore[arg-type]


def _link(host: Host, address: str, port: str | None = None) -> dict[str, str | float | int | None]:
    """Return the link of a network function, and the names of its interfaces."""
    base = f"{PCI}/{address}"
    found: dict[str, str | float | int | None] = {
        "interfaces": ",".join(host.names(f"{base}/net")) or None,
        "speed": link_speed(host.maybe(f"{base}/{LINK[0]}")),
        "width": link_width(host.number(f"{base}/{LINK[1]}")),
        "max_speed": link_speed(host.maybe(f"{base}/{LINK[2]}")),
        "max_width": link_width(host.number(f"{base}/{LINK[3]}")),
    }
    if port is not None:
        ids = [host.maybe(f"{PCI}/{port}/{name}") for name in ("vendor", "device")]
        found["port_device_id"] = ":".join(word.removeprefix("0x") for word in ids if word) if all(ids) else None
        found["port_max_speed"] = link_speed(host.maybe(f"{PCI}/{port}/{LINK[2]}"))
        found["port_max_width"] = link_width(host.number(f"{PCI}/{port}/{LINK[3]}"))
    return found


PCIE = Collector(
    "pcie",
    "PCIe links of network cards, and errors of PCIe",
    read,
    (PcieFunction,),
    (
        Need(f"list:{PCI}", "which PCI functions there are"),
        Need(f"{PCI}/*/*", "class, numbers, link", filled=("class", "vendor", "device", *LINK)),
        *(Need(f"{PCI}/*/{name}", "errors of the link since boot", filled=True) for name in ERRORS.values()),
        Need(f"link:{PCI}/*", "the ports above a PCI function"),
        Need(f"list:{PCI}/*/net", "the interfaces of a network card"),
    ),
    SLOW,
    deadline=10.0,
)
