"""Parser for the table of `zpool list`, with or without `-v` and `-p` (cmd/zpool/zpool_main.c: zpool_do_list)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sdstop.collectors.zfs.zpool_status import nicenum
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed

_HEALTH = frozenset({"ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "REMOVED", "UNAVAIL", "SUSPENDED"})
_RATIO = expression(r"\d{1,9}(?:[.,]\d{1,3})?x?")
"""Deduplication of a pool; vdevs have none."""
_CELL = r"(?:-|[\d.,]+[BKMGTPEZ]?[%x]?)"


class ListedPool(Struct, frozen=True):
    """A pool: its health, and sizes in bytes and fragmentation in percent; None for `-`."""

    pool: str
    health: str
    sizes: Mapping[str, int | None]


def parse(text: str) -> list[ListedPool]:
    """Return the pools of a table.

        NAME   SIZE  ALLOC   FREE  CKPOINT  EXPANDSZ   FRAG    CAP  DEDUP    HEALTH  ALTROOT
        tank   480M   120M   360M        -         -     3%    25%  1.00x    DEGRADED  -
          draid1:3d:6c:1s-0   480M   120M   360M        -         -     3%  25.0%      -  DEGRADED

    The lines of `-v` about vdevs are skipped: they have neither errors nor, up to 0.8, states. Columns that a version
    does not have are left out. Raises Malformed without a heading, or with a line that does not fit it.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    start = next((at for at, line in enumerate(lines) if line.split()[:2] == ["NAME", "SIZE"]), None)
    if start is None or "HEALTH" not in lines[start].split():
        raise Malformed(f"zpool list: no heading: {text.strip()[:60]!r}")
    titles = lines[start].split()
    margin = len(lines[start]) - len(lines[start].lstrip())
    found = []
    for line in lines[start + 1 :]:
        words = line.split()
        cells = dict(zip(titles, words, strict=False))
        if len(line) - len(line.lstrip()) > margin or not _RATIO.fullmatch(cells.get("DEDUP", "1x")):
            continue  # a vdev, or the heading of a group of them
        if len(words) < len(titles) - 1 or cells.get("HEALTH") not in _HEALTH:
            raise Malformed(f"zpool list: line not understood: {line.strip()[:60]!r}")
        found.append(ListedPool(words[0], cells["HEALTH"], _sizes(cells)))
    return found


def _sizes(cells: Mapping[str, str]) -> dict[str, int | None]:
    fragmentation = cells.get("FRAG", "-").removesuffix("%")
    return {
        "size": nicenum(cells.get("SIZE", "-")),
        "allocated": nicenum(cells.get("ALLOC", "-")),
        "free": nicenum(cells.get("FREE", "-")),
        "fragmentation": int(fragmentation) if fragmentation.isdecimal() else None,
    }


def without_vdevs(data: bytes) -> bytes:
    """Return a table without the lines of vdevs, whose names can have serial numbers."""
    return b"".join(line for line in data.splitlines(keepends=True) if not line[:1].isspace())


FORM = Form(
    key="cmd:zpool list",
    first=r" *NAME +SIZE +ALLOC +FREE .*\bHEALTH\b",
    goes_on=rf" *\S+(?: +{_CELL}){{5,}}(?: .*)?| *(?:logs|cache|special|dedup|spares?)(?: .*)?",
    reads="health, sizes and fragmentation of pools",
    versions="ZFS 0.6 and later",
)
