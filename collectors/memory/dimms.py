"""Memory modules by slot and the memory channels they populate, from the firmware's SMBIOS table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.collectors.memory import dmidecode, smbios
from sdstop.collectors.memory.channels import family
from sdstop.collectors.memory.locator import Slot, places
from sdstop.collectors.memory.readings import TABLE, TRANSFERS, Dimm, MemorySocket
from sdstop.collectors.memory.smbios import MemoryDevice, Processor, Table
from sdstop.core.collector import ONCE, Collector, Need
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.readings import lscpu

CPUINFO = "/proc/cpuinfo"
_BANNER = "# dmidecode "
"""First line of dmidecode's output."""
_BUS = 8
"""Bytes per transfer of a module; the same for both DDR5 subchannels together."""


def read(host: Host) -> Iterable[Reading]:
    """Return a Dimm per slot and a MemorySocket per processor, from the raw table or recorded dmidecode output.

    dmidecode is never run. Raises Denied without root, Absent on machines without the table, Malformed for a damaged
    table.
    """
    where, table = _table(host)
    said = contradiction(table)
    if said:
        host.defect(where, said, "memory", contradiction=True)
    models = [] if all(p.version for p in table.processors) else _models(host)
    return list(rows(table, where, models))


def _table(host: Host) -> tuple[str, Table]:
    try:
        return TABLE, smbios.parse(host.read(TABLE))
    except Unreadable as error:
        found = _recorded(host)
        if found is not None:
            return found
        if isinstance(error, Absent) and error.recorded:
            raise Absent(TABLE, "no SMBIOS table") from None
        raise


def _recorded(host: Host) -> tuple[str, Table] | None:
    """Return the table of recorded dmidecode output with the most slots; its processors may be in another output.

    `dmidecode -t memory` has no processors: then lscpu, if recorded, has their number and model. None without slots.
    Raises Malformed or Unreadable if no output with slots is understood.
    """
    tables, faults = [], []
    for name in host.recorded("dmidecode"):
        try:
            found = _parsed(name, host.recorded_output(name).text)
            tables.append((f"cmd:{name}" if " " in name or name == "dmidecode" else f"slug:{name}", found))
        except TimedOut:
            raise
        except (Unreadable, Malformed) as error:
            faults.append(error)
    whole = [each for each in tables if each[1].devices]
    if not whole:
        if faults:
            raise faults[0]
        return None
    where, table = max(whole, key=lambda each: len(each[1].devices))
    if not table.arrays and _BANNER not in host.recorded_output(where.partition(":")[2]).text:
        host.defect(where, "beginning not shown, number of slots unknown", "memory", contradiction=True)
    if table.processors:
        return where, table
    others = [other.processors for _, other in tables if other.processors]
    counted, hosted = _counted(host)
    virtual = hosted or any(other.virtual for _, other in tables) or any(_is_virtual(each) for each in table.devices)
    return where, replace(table, processors=others[0] if others else counted, virtual=virtual)


def _parsed(command: str, text: str) -> Table:
    """Parse recorded output. Raises Malformed, also if the structures of the memory arrays are missing in it."""
    found = dmidecode.parse(text)
    if found.devices and not found.arrays and re.search(r"-t memory|^dmidecode[ _]-q?$", command):
        raise Malformed("dmidecode: memory devices without their array")
    return found


def _is_virtual(device: MemoryDevice) -> bool:
    return smbios.virtual(device.manufacturer or "", device.part or "")


def _counted(host: Host) -> tuple[tuple[Processor, ...], bool]:
    """Return the processors that lscpu counts, and whether it shows a hypervisor."""
    for output in outputs(host, lscpu.FORM):
        try:
            said = lscpu.parse(output.text)
        except Malformed:
            continue
        if said.sockets is not None:
            model = said.model
            return tuple(Processor(f"CPU {n}", model, True) for n in range(min(said.sockets, 64))), said.virtual  # noqa: FBT003
    return (), False


def _models(host: Host) -> list[str]:
    """Return the distinct processor models."""
    return sorted(set(re.findall(r"^model name\s*: (.{1,200})$", host.maybe(CPUINFO) or "", re.MULTILINE)))


def rows(table: Table, where: str, models: Sequence[str] = ()) -> Iterator[Reading]:
    """Yield the rows of a table; `models` are processor names for firmware that has none."""
    system = [array.handle for array in table.arrays if array.system]
    devices = [d for d in table.devices if d.dram and (d.array is None or not system or d.array in system)]
    if not devices:  # some hypervisors refer to arrays that are not in the table
        arrays = {array.handle for array in table.arrays}
        devices = [d for d in table.devices if d.dram and d.array not in arrays]
    only = models[0] if len(models) == 1 else None
    populated = [(n, p) for n, p in enumerate(table.processors) if p.populated is not False]
    names = {n: p.version if family(p.version) or not only else only for n, p in populated}
    known = [None if table.virtual else family(name) for name in names.values()]
    channels = known[0].channels if known and known[0] else None
    slots = [
        Slot(d.locator or "", d.bank or "", system.index(d.array) if d.array in system else None, bool(d.size))
        for d in devices
    ]
    found = places(slots, len(table.processors), channels)
    for name, device, place in zip(_names(devices), devices, found, strict=True):
        socket = None if place.socket is None else str(place.socket)
        yield Dimm(
            slot=name,
            socket=socket,
            channel=place.channel,
            size=device.size,
            speed=device.speed,
            configured=device.configured,
            type=device.type,
            rank=device.rank,
            maker=device.manufacturer,
            part=device.part,
            where=where,
            needle=device.locator or device.bank or "",
        )
    # Slots of unknown socket are acceptable only if they are empty.
    certain = all(p.socket is not None for p, d in zip(found, devices, strict=True) if d.size != 0)
    whole = all(place.socket is not None for place in found)
    for n, processor in populated:
        own = [(d, p.channel) for d, p in zip(devices, found, strict=True) if p.socket == n] if certain else None
        yield _socket(n, processor, names[n], own, devices, where, whole=whole, virtual=table.virtual)


def contradiction(table: Table) -> str:
    """Return the statements of a table that a processor is absent and that a module at it is there, "" if none."""
    absent = {str(n): p for n, p in enumerate(table.processors) if p.populated is False}
    for row in rows(table, TABLE) if absent else ():
        if isinstance(row, Dimm) and row.size and row.socket in absent:
            processor = absent[row.socket].designation or f"processor {row.socket}"
            return f'"{processor}" is not populated, and a module is in its slot "{row.slot}"'
    return ""


def _names(devices: Sequence[MemoryDevice]) -> list[str]:
    """Return a unique name per slot: its locator, prefixed by the bank or followed by a number if necessary."""
    short = [d.locator or d.bank or "slot" for d in devices]
    often = Counter(short)
    long = [
        name if often[name] == 1 else f"{d.bank or ''} {name}".strip() for name, d in zip(short, devices, strict=True)
    ]
    often, seen, found = Counter(long), Counter[str](), []
    for name in long:
        seen[name] += 1
        found.append(name if often[name] == 1 else f"{name} #{seen[name]}")
    return found


def _socket(
    n: int,
    processor: Processor,
    model: str | None,
    own: Sequence[tuple[MemoryDevice, str | None]] | None,
    devices: Sequence[MemoryDevice],
    where: str,
    *,
    whole: bool,
    virtual: bool,
) -> MemorySocket:
    """Return the row of a socket. `own` lists its slots and their channels, None if unknown.

    `whole` is set if the socket of every slot in the machine is known; otherwise empty slots may be missing.
    """
    kind = None if virtual else family(model)
    channels, basis = (kind.channels, "cpu") if kind else (None, None)
    slots = dimms = capacity = used = None
    at_most = True
    if own is not None:
        filled = [(d, channel) for d, channel in own if d.size]
        named = {channel for _, channel in own}
        slots = len(own) if whole else None
        if all(d.size is not None for d, _ in own):  # otherwise a slot may or may not be populated
            dimms, capacity = len(filled), sum(d.size or 0 for d, _ in filled)
        if own and None not in named:
            if channels is None and whole:
                channels, basis = len(named), "slots"
            at_most = channels is None or len(named) > channels  # more names than channels: they do not name channels
        if channels and slots:
            channels = min(channels, slots)  # small boards have fewer slots than the processor has channels
        if dimms is not None and channels:
            used = min(dimms if at_most else len({channel for _, channel in filled}), channels)
            # The modules need at least this many channels.
            fewest = math.ceil(dimms / math.ceil(slots / channels)) if slots else min(dimms, 1)
            at_most = at_most and fewest < used
    speeds = [d.configured or d.speed for d in devices if d.size]
    speed = min((s for s in speeds if s is not None), default=None) if None not in speeds else None
    return MemorySocket(
        socket=str(n),
        cpu=model,
        basis=basis,
        virtual=virtual,
        channels=channels,
        used=used,
        at_most=at_most,
        slots=slots,
        dimms=dimms,
        capacity=capacity,
        fastest=kind.fastest if kind else None,
        peak=None if speed is None or used is None else used * speed * TRANSFERS * _BUS,
        possible=None if speed is None or channels is None else channels * speed * TRANSFERS * _BUS,
        where=where,
        needle=(processor.version or processor.designation or ""),
    )


DIMMS = Collector(
    "dimms",
    "Memory modules, slots and channels of each processor",
    read,
    (Dimm, MemorySocket),
    (
        Need(
            TABLE,
            "slots, modules, processors, as the firmware has them, serial numbers included",
            "root",
            redact=smbios.without_serials,
        ),
        Need(CPUINFO, "the processors' model, where the firmware does not have it"),
        Need(
            "cmd:dmidecode*",
            "memory modules as text, from captures only; never run",
            redact=dmidecode.without_serials,
        ),
        Need("cmd:lscpu*", "number and model of processors, where dmidecode was asked for memory alone"),
    ),
    ONCE,
    deadline=5.0,
    forms=(dmidecode.FORM,),
)
