"""Scrubs of btrfs, as btrfs-progs records them."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.filesystems.readings import BTRFS, RECORDS, BtrfsScrub
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.text import whole
from sdstop.readings.disk import device_name

_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def parse(text: str, uuid: str) -> tuple[str, int | None]:
    """Return the state and the end of the last scrub from its record, which has a line for each device.

    scrub status:1
    7f3e...:1|data_extents_scrubbed:10|...|t_start:1790000000|t_resumed:0|duration:12|canceled:0|finished:1
    """
    rows = [dict(pair.partition(":")[::2] for pair in line.split("|")[1:])
            for line in text.splitlines() if line.startswith(f"{uuid}:")]  # fmt: skip
    flags = [(whole(row.get("canceled")), whole(row.get("finished"))) for row in rows]
    if not rows or any(None in pair for pair in flags):
        return "unknown", None
    if any(canceled for canceled, _ in flags):
        return "canceled", None
    if not all(finished for _, finished in flags):
        return "running", None
    ends = []
    for row in rows:
        began, resumed, took = (whole(row.get(key)) for key in ("t_start", "t_resumed", "duration"))
        if began is None or took is None:
            return "unknown", None
        ends.append(resumed or began + took)  # of a resumed one the duration is that of all its parts
    return "finished", min(ends)


def read(host: Host) -> Iterator[BtrfsScrub]:
    """Yield the mounted btrfs. Raises Absent if the kernel has no btrfs, Denied if the records are not readable."""
    for uuid in filter(_UUID.fullmatch, host.entries(BTRFS)):
        devices = [device_name(name) for name in host.names(f"{BTRFS}/{uuid}/devices")]
        device = devices[0] if devices else None
        name = f"scrub.status.{uuid}"
        if name in host.names(RECORDS):
            yield BtrfsScrub(uuid, device, *parse(host.text(f"{RECORDS}/{name}"), uuid))
        else:
            yield BtrfsScrub(uuid, device, "never")


BTRFS_SCRUBS = Collector(
    "btrfs-scrubs",
    "Last scrubs of btrfs",
    read,
    (BtrfsScrub,),
    (
        Need(f"list:{BTRFS}", "which btrfs file systems are mounted"),
        Need(f"list:{BTRFS}/*", "their devices"),
        Need(f"list:{RECORDS}", "whether a scrub of them was recorded"),
        Need(f"{RECORDS}/scrub.status.*", "when the last scrub ended", "root", filled=True),
    ),
    SLOW,
)
