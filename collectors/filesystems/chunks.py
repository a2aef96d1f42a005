"""Space of btrfs in chunks: of mounted ones from sysfs, else of `btrfs filesystem usage`, or `df` and `show`.

    Overall:                                           btrfs filesystem usage /srv (cmds/filesystem-usage.c)
        Device size:                  5.46TiB
        Device unallocated:           1.00MiB
        Device missing:               1.82TiB
        Global reserve:             512.00MiB    (used: 0.00B)
    Metadata,RAID1: Size:4.00GiB, Used:3.81GiB (95.31%)
       /dev/sdb        4.00GiB
    Unallocated:
       /dev/sdb        1.00MiB
    Metadata, RAID1: total=4.00GiB, used=3.81GiB        btrfs filesystem df /srv (cmds/filesystem.c)
    GlobalReserve, single: total=512.00MiB, used=0.00B
            devid    1 size 1.82TiB used 1.82TiB path /dev/sdb       btrfs filesystem show (cmds/filesystem.c)

A chunk of RAID1 needs room on two devices. `df` shows no unallocated space; `show` beside it does, if both are about
one file system. sysfs has the unallocated space of all devices together only, and the sizes of the devices: a file
system that does not fill them has less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sdstop.collectors.filesystems.errors import SHOW_TEXT
from sdstop.collectors.filesystems.readings import BTRFS, BtrfsSpace
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, FormOutput, outputs
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import decimal, whole_total
from sdstop.readings.disk import device_name

_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SECTOR = 512
"""Bytes."""
_SIZE = r"-?\d{1,20}(?:\.\d{1,2})?(?:[KMGTPE]iB|[kMGTPE]?B)?"
_AMOUNT = expression(r"(?P<number>\d{1,20}(?:\.\d{1,2})?)(?P<unit>[kKMGTPE]?)(?P<binary>i?)B?")
_OVERALL = expression(
    rf"\s+(?P<name>[A-Z][a-z]+ [a-z ()]{{3,20}}|Used):\s+(?P<size>{_SIZE})(?:\s+\(used: (?P<used>{_SIZE})\))?\s*.*"
)
_TYPES = r"Data|Metadata|System|Data\+Metadata"
_USAGE = expression(
    rf"(?P<type>{_TYPES}),\s?(?P<profile>\w{{1,12}}): Size:(?P<all>{_SIZE}), Used:(?P<used>{_SIZE})(?: \(.*\))?\s*"
)
_DF = expression(
    rf"(?P<type>{_TYPES}|GlobalReserve), (?P<profile>\w{{1,12}}): total=(?P<all>{_SIZE}), used=(?P<used>{_SIZE})"
    r"(?:, .*)?\s*"
)
_DEVICE = expression(rf"\s+(?P<path>/\S.{{0,200}}?|missing)\s+(?P<size>{_SIZE})\s*")
_SHOWN = expression(rf"\s*devid\s+\d{{1,6}} size (?P<size>{_SIZE}) used (?P<used>{_SIZE}) path .*")
_DEVICES = {"RAID1": 2, "RAID10": 2, "RAID5": 2, "RAID6": 3, "RAID1C3": 3, "RAID1C4": 4}
"""Number of devices that a chunk of a profile needs at least (fs/btrfs/volumes.c: btrfs_raid_array); 1 for others."""


def amount(word: str) -> int | None:
    """Return a size in bytes as pretty_size_snprintf (common/units.c) prints it; None for anything else."""
    found = _AMOUNT.fullmatch(word)
    number = decimal(found["number"]) if found is not None else None
    if found is None or number is None:
        return None
    power = "BKMGTPE".index((found["unit"] or "B").upper())
    return round(number * float((1024 if found["binary"] else 1000) ** power))


def _chunks(found: dict[str, tuple[str, int | None, int | None]], free: Sequence[int | None]) -> dict[str, Any]:
    """Return the fields of the chunks by type, with the room of a chunk of metadata on devices with this free space."""
    profile, size, used = found.get("Metadata", ("", None, None))
    _, data, data_used = found.get("Data", ("", None, None))
    needed = _DEVICES.get(profile.upper(), 1)
    known = sorted((each for each in free if each is not None), reverse=True)
    whole = free and len(known) == len(free)
    return {
        "data": data,
        "data_used": data_used,
        "metadata": size,
        "metadata_used": used,
        "copies": 2 if profile.upper() == "DUP" else 1 if profile else None,
        "room": (known[needed - 1] if len(known) >= needed else 0) if whole else None,
    }


def parse_usage(text: str, key: str, name: str) -> BtrfsSpace:
    """Parse `btrfs filesystem usage`. Raises Malformed without the part Overall, or below it."""
    overall: dict[str, tuple[int | None, int | None]] = {}
    found: dict[str, tuple[str, int | None, int | None]] = {}
    free, in_free = list[int | None](), False
    for line in text.splitlines():
        if (each := _USAGE.fullmatch(line)) is not None:
            found[each["type"]] = each["profile"], amount(each["all"]), amount(each["used"])
        elif line.startswith("Unallocated:"):
            in_free = True
        elif in_free and (device := _DEVICE.fullmatch(line)) is not None:
            free += [] if device["path"] == "missing" else [amount(device["size"])]
        elif not found and (total := _OVERALL.fullmatch(line)) is not None:
            overall[total["name"]] = amount(total["size"]), amount(total["used"] or "")
    if "Device size" not in overall or "Device unallocated" not in overall:
        raise Malformed("btrfs filesystem usage: no unallocated space")
    reserve, used = overall.get("Global reserve", (None, None))
    return BtrfsSpace(
        filesystem=name,
        size=overall["Device size"][0],
        unallocated=overall["Device unallocated"][0],
        reserve=reserve,
        reserve_used=used,
        **_chunks(found, free),
        told=key,
        needle="Device unallocated:",
    )


def parse_df(text: str, key: str, name: str, shown: Sequence[tuple[int, int]] = ()) -> BtrfsSpace:
    """Parse `btrfs filesystem df`, with size and allocated bytes of each device if they are known.

    Raises Malformed without metadata.
    """
    rows = [each for line in text.splitlines() if (each := _DF.fullmatch(line.rstrip())) is not None]
    found = {each["type"]: (each["profile"], amount(each["all"]), amount(each["used"])) for each in rows}
    if "Metadata" not in found and "Data+Metadata" not in found:
        raise Malformed("btrfs filesystem df: no metadata")
    free = [max(size - used, 0) for size, used in shown]
    _, reserve, used = found.get("GlobalReserve", ("", None, None))
    return BtrfsSpace(
        filesystem=name,
        size=sum(size for size, _ in shown) if shown else None,
        unallocated=sum(free) if shown else None,
        reserve=reserve,
        reserve_used=used,
        **_chunks(found, free),
        told=key,
        needle="Metadata",
    )


def _of_show(host: Host) -> list[tuple[int, int]]:
    """Return size and allocated bytes of the devices of the only file system that `btrfs filesystem show` lists."""
    texts = [output.text for output in outputs(host, SHOW_TEXT)]
    rows = [each for text in texts for line in text.splitlines() if (each := _SHOWN.fullmatch(line)) is not None]
    pairs = [(amount(each["size"]), amount(each["used"])) for each in rows]
    known = [(size, used) for size, used in pairs if size is not None and used is not None]
    alone = sum(text.count("Total devices") for text in texts) == 1
    return known if alone and len(known) == len(pairs) else []


def _name(output: FormOutput) -> str:
    return output.paths[-1] if output.paths else "btrfs"


def fault_of_usage(text: str) -> str:
    """Return why a text is not the whole output: the chunks of metadata follow those of data."""
    return NOT_SHOWN if "Metadata" in text else "no metadata"


USAGE = Form(
    key="cmd:btrfs filesystem usage",
    first=r"Overall:\s*\n\s+Device size:\s",
    goes_on=rf"\s+[A-Z][a-z]+[a-z ()]*:\s.*|(?:{_TYPES}),.*|Unallocated:|\s+(?:/\S|missing\s).*"
    r"|\s*(?:Data|Metadata|System|Id|Path|Total|Used|-+|[A-Z0-9]+|\d+)\s.*",
    reads="chunks of btrfs, and unallocated space",
    versions="btrfs-progs 3.18 and later",
    fault=fault_of_usage,
)
DF_TEXT = Form(
    key="cmd:btrfs filesystem df",
    first=r"(?:Data(?:\+Metadata)?|System|Metadata), \w+: total=",
    goes_on=rf"(?:{_TYPES}|GlobalReserve|unknown), \w+: total=.*",
    reads="chunks of btrfs",
    versions="btrfs-progs 0.20 and later",
    fault=fault_of_usage,
)


def read(host: Host) -> Iterator[Reading]:
    """Yield the mounted btrfs, or those of recorded outputs. Raises Absent if the kernel has no btrfs, Malformed."""
    names = set[str]()
    for output in outputs(host, USAGE):
        row = parse_usage(output.text, output.key, _name(output))
        names.add(row.filesystem)
        yield row
    for output in outputs(host, DF_TEXT):
        if _name(output) not in names:
            yield parse_df(output.text, output.key, _name(output), _of_show(host))
            names.add(_name(output))
    if names:
        return
    for uuid in filter(_UUID.fullmatch, host.entries(BTRFS)):
        mounted = _of_sysfs(host, uuid)
        if mounted is not None:
            yield mounted


def _of_sysfs(host: Host, uuid: str) -> BtrfsSpace | None:
    base = f"{BTRFS}/{uuid}"
    devices = host.names(f"{base}/devices")
    numbers = [each for each in host.names(f"{base}/devinfo") if each.isdecimal()]
    is_whole = not numbers or len(numbers) == len(devices)  # a missing device has no size
    sectors = whole_total([host.number(f"{base}/devices/{name}/size") for name in devices])

    def number(name: str) -> int | None:
        return host.number(f"{base}/allocation/{name}")

    taken = [number(f"{kind}/disk_total") for kind in ("data", "metadata", "system")]
    if taken[1] is None:  # chunks of both kinds, or no file system any more
        return None
    allocated = whole_total(taken)
    size = sectors * _SECTOR if sectors is not None and devices and is_whole else None
    reserve, left = number("global_rsv_size"), number("global_rsv_reserved")
    return BtrfsSpace(
        filesystem=uuid,
        device=device_name(devices[0]) if devices else None,
        size=size,
        unallocated=max(size - allocated, 0) if size is not None and allocated is not None else None,
        data=number("data/total_bytes"),
        data_used=number("data/bytes_used"),
        metadata=number("metadata/total_bytes"),
        metadata_used=number("metadata/bytes_used"),
        reserve=reserve,
        reserve_used=max(reserve - left, 0) if reserve is not None and left is not None else None,
    )


BTRFS_CHUNKS = Collector(
    "btrfs-chunks",
    "Chunks of btrfs, and unallocated space",
    read,
    (BtrfsSpace,),
    (
        Need(f"list:{BTRFS}*", "mounted btrfs and their devices"),
        Need(f"{BTRFS}/*", "sizes of chunks and their space in use", filled=("bytes_used",)),
        Need("cmd:btrfs *", "the same of `btrfs filesystem usage` and `df`, from captures only"),
    ),
    SLOW,
    forms=(USAGE, DF_TEXT),
)
