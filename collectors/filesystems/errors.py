"""Errors that ext4 and btrfs count in sysfs; XFS counts none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from sdstop.collectors.filesystems.readings import BTRFS, EXT4, BtrfsErrors, Ext4Errors
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, FormOutput, Several, outputs
from sdstop.core.host import Host, Malformed
from sdstop.readings.disk import device_name

_PACE = 30.0
"""Seconds between runs."""
_FEATURES = "features"
_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STATS = ("write_errs", "read_errs", "flush_errs", "corruption_errs", "generation_errs")


def parse_stats(text: str) -> Mapping[str, int] | None:
    """Return the counters of error_stats, a line each (`write_errs 0`); None if one is missing."""
    pairs = (line.split() for line in text.splitlines())
    found = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal() and len(pair[1]) <= 20}
    return found if all(name in found for name in _STATS) else None


_LINE = expression(r"\[(?P<device>[^\]]{1,200})\]\.(?P<name>[a-z_]{4,30})\s+(?P<count>\d{1,20})")
_SHOWN = ("write_io_errs", "read_io_errs", "flush_io_errs", "corruption_errs", "generation_errs")
"""Names of _STATS in the output of `btrfs device stats`."""


def parse_shown(text: str, key: str) -> Iterator[BtrfsErrors]:
    """Yield the devices of `btrfs device stats` (btrfs-progs 3.7 and later). Raises Malformed for a device cut off.

    [/dev/sdc].write_io_errs    12981
    """
    found: dict[str, dict[str, int]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        each = _LINE.fullmatch(line)
        if each is None:
            raise Malformed(f"btrfs device stats: {line[:60]!r}")
        found.setdefault(each["device"], {})[each["name"]] = int(each["count"])
    names = ",".join(name.removeprefix("/dev/") for name in found)
    for number, (name, counts) in enumerate(found.items(), 1):
        if set(_SHOWN) - set(counts):
            raise Malformed(f"btrfs device stats: {name} is cut off")
        device = name.removeprefix("/dev/") if name.startswith("/dev/") else None
        write, read, flush, corruption, generation = (counts[each] for each in _SHOWN)
        yield BtrfsErrors(
            key.rpartition(" ")[2], number, device, names, int(device is None), write, read, flush, corruption,
            generation, told=key, needle=f"[{name}].write_io_errs",
        )  # fmt: skip


_SHOW_HEAD = expression(r"(?:Label: .{1,300}?|none)\s+uuid: (?P<uuid>[0-9a-f-]{36})\s*")
_SHOW_TOTAL = expression(r"\s*Total devices (?P<count>\d{1,6}) FS bytes used \S+\s*")
_SHOW_DEVICE = expression(
    r"\s*devid\s+(?P<number>\d{1,6}) size \S+ used \S+ path (?P<path>.{1,200}?)(?P<gone> MISSING)?\s*"
)
_SOME_MISSING = "*** Some devices missing"


class _Shown(Struct):
    """A file system while its lines are read; `line` states that a device is missing."""

    uuid: str
    total: int = 0
    devices: dict[int, str] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    line: str = ""

    def missing(self) -> list[int]:
        """Return the numbers of missing devices; at least one if some are missing."""
        if not self.line or self.gone:
            return self.gone
        every = range(1, max(self.total, len(self.devices)) + 2)
        return [number for number in every if number not in self.devices][: max(self.total - len(self.devices), 1)]


def parse_missing(text: str, key: str) -> Iterator[BtrfsErrors]:
    """Yield the missing devices of `btrfs filesystem show` (btrfs-progs cmds/filesystem.c: print_one_uuid).

        Label: 'data'  uuid: 11111111-2222-3333-4444-555555555555
                Total devices 2 FS bytes used 1.20TiB
                devid    1 size 1.82TiB used 1.21TiB path /dev/sda
                *** Some devices missing

    Since 6.0 a missing device has a line of its own with MISSING; before, it is left out. Errors are not shown.
    """
    found: list[_Shown] = []
    for line in text.splitlines():
        if (head := _SHOW_HEAD.fullmatch(line.strip())) is not None:
            found.append(_Shown(head["uuid"]))
        elif not found:
            continue
        elif (count := _SHOW_TOTAL.fullmatch(line)) is not None:
            found[-1].total = int(count["count"])
        elif (device := _SHOW_DEVICE.fullmatch(line)) is not None:
            if device["gone"] or device["path"].startswith("<missing"):
                found[-1].gone.append(int(device["number"]))
                found[-1].line = line.strip()
            else:
                found[-1].devices[int(device["number"])] = device["path"].removeprefix("/dev/")
        elif line.strip().startswith(_SOME_MISSING):
            found[-1].line = line.strip()
    for each in found:
        names = ",".join(each.devices.values())
        for number in each.missing():
            yield BtrfsErrors(each.uuid, number, None, names, 1, 0, 0, 0, 0, 0, told=key, needle=each.line)


_USAGE_MISSING = expression(r"(?m)^\s+Device missing:\s+(?P<size>\S+)\s*$")


def _of_usage(host: Host) -> Iterator[BtrfsErrors]:
    """Yield a missing device for each `btrfs filesystem usage` in which devices of some size are missing."""
    for key in host.recorded_texts("btrfs", lambda text: text.lstrip().startswith("Overall:")):
        output = FormOutput(key, host.recorded_output(key.partition(":")[2]))
        found = _USAGE_MISSING.search(output.text)
        if found is not None and found["size"].strip("0.") not in {"", "B"}:
            name = output.paths[-1] if output.paths else "btrfs"
            yield BtrfsErrors(name, 0, None, "", 1, 0, 0, 0, 0, 0, told=key, needle="Device missing:")


SHOW_TEXT = Form(
    key="cmd:btrfs filesystem show",
    first=r"(?:Label: [^\n]{1,300}?|none)\s+uuid: [0-9a-f-]{36}\s*\n\s*Total devices \d",
    goes_on=r"\s+(?:Total devices|devid|\*\*\*) .*|(?:Label: .*|none\s+)uuid: .*",
    reads="missing devices of btrfs",
    versions="btrfs-progs 3.12 and later",
)
STATS_TEXT = Form(
    key="cmd:btrfs device stats /",
    first=r"\[(?:/dev/)?[^\]\n]+\]\.write_io_errs\s+\d+",
    goes_on=r"\[[^\]]+\]\.[a-z_]+\s+\d+",
    reads="errors of the devices of btrfs",
    versions="btrfs-progs 3.7 and later",
    several=Several.JOINED,
)


def read_ext4(host: Host) -> Iterator[Ext4Errors]:
    """Yield the mounted ext4 file systems. Raises Absent if the kernel has no ext4."""
    for name in host.entries(EXT4):
        folder = f"{EXT4}/{name}"
        errors = host.number(f"{folder}/errors_count") if name != _FEATURES else None
        if errors is None:
            continue
        first = last = function = None
        if errors:
            first, last = (host.number(f"{folder}/{which}_error_time") or None for which in ("first", "last"))
            function = (host.maybe(f"{folder}/last_error_func") or "")[:64] or None
        yield Ext4Errors(device_name(name), errors, host.number(f"{folder}/warning_count"), first, last, function)


def read_btrfs(host: Host) -> Iterator[BtrfsErrors]:
    """Yield the devices of mounted btrfs, or those of recorded outputs. Raises Absent if the kernel has no btrfs."""
    shown = [row for each in outputs(host, STATS_TEXT) for row in parse_shown(each.text, each.key)]
    shown += [row for each in outputs(host, SHOW_TEXT) for row in parse_missing(each.text, each.key)]
    shown += [] if any(row.missing for row in shown) else list(_of_usage(host))
    if shown:
        yield from shown
        return
    for uuid in filter(_UUID.fullmatch, host.entries(BTRFS)):
        folder = f"{BTRFS}/{uuid}"
        devices = [device_name(name) for name in host.names(f"{folder}/devices")]
        numbers = [number for number in host.names(f"{folder}/devinfo") if number.isdecimal() and len(number) <= 10]
        for number in sorted(numbers, key=int):
            stats = parse_stats(host.maybe(f"{folder}/devinfo/{number}/error_stats") or "")
            if stats is not None:
                write, read, flush, corruption, generation = (stats[name] for name in _STATS)
                missing = host.number(f"{folder}/devinfo/{number}/missing")
                device = devices[0] if len(devices) == len(numbers) == 1 else None
                yield BtrfsErrors(
                    uuid, int(number), device, ",".join(devices), missing, write, read, flush, corruption, generation
                )


EXT4_ERRORS = Collector(
    "ext4-errors",
    "Errors of ext4 file systems",
    read_ext4,
    (Ext4Errors,),
    (
        Need(f"list:{EXT4}", "mounted ext4 file systems"),
        Need(f"{EXT4}/*", "errors since the last check, time and place of the last one", filled=("errors_count",)),
    ),
    _PACE,
)

BTRFS_ERRORS = Collector(
    "btrfs-errors",
    "Errors of btrfs devices",
    read_btrfs,
    (BtrfsErrors,),
    (
        Need(f"list:{BTRFS}*", "mounted btrfs and their devices"),
        Need(f"{BTRFS}/*", "failed requests and wrong checksums of each device", filled=("error_stats",)),
        Need("cmd:btrfs *", "the same of `btrfs device stats` and `btrfs filesystem show`, from captures only"),
    ),
    _PACE,
    forms=(STATS_TEXT, SHOW_TEXT),
)
