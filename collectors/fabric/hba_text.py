"""HBAs and the disks behind them from recorded output of lspci, lsscsi and sg_map, for captures without sysfs.

lsscsi and sg_map number the SCSI hosts; `lsscsi -v` and `lsscsi -H -v` show the PCI function of a host, by which it is
one with the function that lspci describes. Otherwise disks are attached to hostN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from sdstop.collectors.fabric import lspci, lsscsi, sgmap
from sdstop.collectors.fabric.locality import FIRMWARE
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.core.collector import ONCE, Collector, Need
from sdstop.core.form import FormOutput, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading


class _HbaTables(Struct):
    """Disks with their hosts, PCI functions of hosts, drivers of hosts, and HBAs, of all outputs."""

    disks: dict[str, tuple[int, str | None, str | None, str]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    drivers: dict[int, str | None] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    hbas: dict[str, Hba] = field(default_factory=dict)


def read(host: Host) -> Iterable[Reading]:
    """Return the path of each disk and the HBAs. Raises Absent without an output, Malformed if none is understood."""
    found = _HbaTables()
    faults: list[tuple[str, Malformed]] = []
    seen = 0
    for form, take in ((lspci.FORM, _take_lspci), (lsscsi.FORM, _take_lsscsi), (sgmap.FORM, _take_sgmap)):
        for output in outputs(host, form):
            seen += 1
            try:
                take(found, output)
            except Malformed as error:
                faults.append((output.key, error))
    if not seen:
        raise Absent("cmd:lspci -vv", "not recorded", recorded=False)
    rows = list(_rows(found))
    if faults and not rows:
        raise faults[0][1]
    for key, why in faults:
        host.defect(key, f"not understood: {why}")
    return rows


def _take_lspci(found: _HbaTables, output: FormOutput) -> None:
    every = lspci.parse(output.text)
    bridges = {bus: each for each in every if (bus := each.secondary) is not None}
    for each in every:
        if each.kind is not None:
            row = _hba(each, each.kind, lspci.above(each, bridges), output.key)
            known = found.hbas.get(row.hba)
            if known is None or (known.speed is None and known.driver is None):
                found.hbas[row.hba] = row


def _hba(each: lspci.PciFunction, kind: str, above: Sequence[lspci.PciFunction], key: str) -> Hba:
    port = above[0] if above else None
    speed, width = each.link("LnkSta")
    most, widest = each.link("LnkCap")
    port_most, port_widest = port.link("LnkCap") if port is not None else (None, None)
    return Hba(
        hba=each.address,
        kind=kind,
        device_id=each.ids,
        driver=each.driver,
        firmware=None,
        port=port.address if port is not None else None,
        port_device_id=port.ids if port is not None else None,
        node=each.node,
        speed=speed,
        width=width,
        max_speed=most,
        max_width=widest,
        port_max_speed=port_most,
        port_max_width=port_widest,
        node_by=FIRMWARE if each.node is not None else None,
        bridges=",".join(bridge.address for bridge in reversed(above[1:])) or None,
        told=key,
    )


def _take_lsscsi(found: _HbaTables, output: FormOutput) -> None:
    devices, hosts = lsscsi.parse(output.text)
    for each in hosts:
        found.drivers[each.number] = each.driver
        found.keys.setdefault(each.number, output.key)
        if each.function is not None:
            found.functions[each.number] = each.function
    for device in devices:
        if device.function is not None:
            found.functions[device.host] = device.function
        if device.type == "disk" and device.device is not None:
            _add(found, device.device, device.host, device.model, device.hctl, output.key)


def _take_sgmap(found: _HbaTables, output: FormOutput) -> None:
    devices = sgmap.parse(output.text)
    if not devices:
        raise Malformed("sg_map: no host numbers, which -x shows")
    for device in devices:
        if device.type == sgmap.DISK and device.device is not None:
            model = " ".join(filter(None, (device.vendor, device.model))) or None
            _add(found, device.device, device.host, model, None, output.key)


def _add(found: _HbaTables, device: str, number: int, model: str | None, hctl: str | None, key: str) -> None:
    known = found.disks.get(device)
    found.disks[device] = (number, model, hctl, key) if known is None or known[1] is None else known
    found.keys.setdefault(number, key)


def _rows(found: _HbaTables) -> Iterator[Reading]:
    for device, (number, model, _, key) in found.disks.items():
        place = f"host{number}"
        yield DiskPath(
            device=device,
            hba=found.functions.get(number, place),
            host=place,
            port=None,
            expander=None,
            end_device=None,
            enclosure=None,
            bay=None,
            model=model,
            told=key,
        )
    yield from found.hbas.values()
    yield from _hosts(found, {number for number, *_ in found.disks.values()})


def _hosts(found: _HbaTables, numbers: Iterable[int]) -> Iterator[Hba]:
    """Yield the HBAs of hosts that lspci does not describe."""
    known: Mapping[str, Hba] = found.hbas
    for number in sorted({*numbers, *found.drivers}):
        name = found.functions.get(number, f"host{number}")
        if name not in known:
            rest = (None,) * 10
            yield Hba(name, "scsi", None, found.drivers.get(number), *rest, told=found.keys[number])


HBA_TEXT = Collector(
    "hba-text",
    "HBAs and disks in recorded output of lspci, lsscsi and sg_map",
    read,
    (Hba, DiskPath),
    (
        Need("cmd:lspci*", "PCI Express links and drivers of HBAs, from captures only; never run"),
        Need("cmd:lsscsi*", "host of each disk"),
        Need("cmd:sg_map*", "the same"),
    ),
    ONCE,
    forms=(lspci.FORM, lsscsi.FORM, sgmap.FORM),
)
