"""Errors that ext4 and btrfs count in sysfs; XFS counts none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source
from sdstop.readings.disk import device_name

EXT4, BTRFS = "/sys/fs/ext4", "/sys/fs/btrfs"
_PACE = 30.0
_FEATURES = "features"
_COUNTER = Kind.COUNTER
_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STATS = ("write_errs", "read_errs", "flush_errs", "corruption_errs", "generation_errs")


class Ext4Errors(Reading, frozen=True):
    """Errors of a mounted ext4 file system since its last check, from its superblock (fs/ext4/sysfs.c).

    The counters outlive mounts and boots; only e2fsck resets them. Times are None without an error.
    """

    family: ClassVar[str] = "ext4_errors"
    title: ClassVar[str] = "Errors of ext4 file systems"
    rows_of = Source(f"{EXT4}/{{device:sysfs}}/errors_count")
    fields_of: ClassVar = {
        "first": Source(f"{EXT4}/{{device:sysfs}}/first_error_time"),
        "last": Source(f"{EXT4}/{{device:sysfs}}/last_error_time"),
        "function": Source(f"{EXT4}/{{device:sysfs}}/last_error_func"),
        "warnings": Source(f"{EXT4}/{{device:sysfs}}/warning_count"),
    }
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    errors: Annotated[
        int,
        Metric("Errors", "Errors since the last check of the file system", kind=_COUNTER,
               name="sdstop_ext4_recorded_errors_total"),
    ]  # fmt: skip
    warnings: Annotated[int | None, Metric("Warnings", "Warnings since the mount", kind=_COUNTER)] = None
    first: Annotated[int | None, Metric("First at", "Unix timestamp of the first error", "seconds", export=False)] = (
        None
    )
    last: Annotated[
        int | None,
        Metric(
            "Last at", "Unix timestamp of the last error", "seconds", name="sdstop_ext4_errors_last_timestamp_seconds"
        ),
    ] = None
    function: Annotated[str | None, Fact("In", "Function that found the last error", plain=True)] = None


class BtrfsErrors(Reading, frozen=True):
    """Errors of a device of a mounted btrfs since they were last reset (fs/btrfs/sysfs.c, Linux 5.14 and later).

    `btrfs device stats --reset` resets them; they outlive mounts. The device is None in a file system of several: sysfs
    does not say which number is which device.
    """

    family: ClassVar[str] = "btrfs_errors"
    title: ClassVar[str] = "Errors of btrfs devices"
    rows_of = Source(f"{BTRFS}/{{filesystem}}/devinfo/{{number}}/error_stats")
    things: ClassVar = {"device": Identity(None, Naming.DEV, "{subject}")}

    filesystem: Annotated[str, Label("File system", "UUID", names=Name.IDENTIFIER)]
    number: Annotated[int, Label("Number", "Number of the device in the file system")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)]
    devices: Annotated[str, Fact("Devices", "Kernel names of all devices", export=False, names=Name.DEVICE)]
    missing: Annotated[int | None, Metric("Missing", "Whether the device is missing: 1 or 0")]
    write_errors: Annotated[int, Metric("Write", "Failed writes", kind=_COUNTER)]
    read_errors: Annotated[int, Metric("Read", "Failed reads", kind=_COUNTER)]
    flush_errors: Annotated[int, Metric("Flush", "Failed cache flushes", kind=_COUNTER)]
    corruption_errors: Annotated[int, Metric("Corrupt", "Blocks with a wrong checksum", kind=_COUNTER)]
    generation_errors: Annotated[int, Metric("Stale", "Blocks of an older generation", kind=_COUNTER)]

    @property
    def subject(self) -> str:
        """Kernel name of the device, or the UUID and the number."""
        return self.device or f"{self.filesystem}/{self.number}"

    @property
    def total(self) -> int:
        """All errors."""
        return (
            self.write_errors + self.read_errors + self.flush_errors + self.corruption_errors + self.generation_errors
        )


def parse_stats(text: str) -> Mapping[str, int] | None:
    """Return the counters of error_stats, a line each (`write_errs 0`); None if one is missing."""
    pairs = (line.split() for line in text.splitlines())
    found = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal() and len(pair[1]) <= 20}
    return found if all(name in found for name in _STATS) else None


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
    """Yield the devices of mounted btrfs. Raises Absent if the kernel has no btrfs."""
    for uuid in filter(_UUID.fullmatch, host.entries(BTRFS)):
        folder = f"{BTRFS}/{uuid}"
        devices = [device_name(name) for name in host.names(f"{folder}/devices")]
        numbers = [number for number in host.names(f"{folder}/devinfo") if number.isdecimal() and len(number) <= 10]
        for number in sorted(numbers, key=int):
            stats = parse_stats(host.maybe(f"{folder}/devinfo/{number}/error_stats") or "")
            if stats is not None:
                counts = (stats[name] for name in _STATS)
                missing = host.number(f"{folder}/devinfo/{number}/missing")
                device = devices[0] if len(devices) == len(numbers) == 1 else None
                yield BtrfsErrors(uuid, int(number), device, ",".join(devices), missing, *counts)


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
    ),
    _PACE,
)
