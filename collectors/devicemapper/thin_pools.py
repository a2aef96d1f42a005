"""Pools of thin volumes (dm-thin, VDO), their fill level and state, and the volumes in them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.collectors.devicemapper.volume_readings import ThinPool, ThinVolume
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import whole

POOLS = ("thin-pool", "vdo")
VOLUME = "thin"
UNREAD = "not understood"
"""State of a pool or volume whose line is cut off or has an unknown format."""
_METADATA_BLOCK = 4096
"""Bytes (drivers/md/dm-thin-metadata.h: THIN_METADATA_BLOCK_SIZE)."""
_VDO_BLOCK = 4096
"""Bytes of a VDO block, in which its status counts."""
_MODES = {"rw": "ok", "ro": "read-only", "out_of_data_space": "out of data space"}
_VDO_MODES = {"normal": "ok", "read-only": "read-only", "recovering": "recovering"}
_BROKEN = {"Fail": "failed", "Error": "error"}
_NO_SPACE = {"error_if_no_space": "fail", "queue_if_no_space": "wait"}
_RATIO = expression(r"(\d{1,20})/(\d{1,20})", re.ASCII)


def pool(segment: Segment, name: str, device: str | None, table: str, origin: str) -> ThinPool:
    """Return the row of a pool, with an unknown state if its line is not understood."""
    found: dict[str, object]
    try:
        found = _vdo(segment.text) if segment.target == "vdo" else _thin_pool(segment, table)
    except (Malformed, ValueError, IndexError):
        found = {"state": UNREAD}
    needle = f"{segment.name}:" if segment.name else ""
    return ThinPool(
        pool=name, mapping=segment.name, kind=segment.target, device=device, origin=origin, needle=needle,
        **found,  # type: ignore[arg-type]  # names are those of fields
    )  # fmt: skip


def _words(text: str) -> list[str]:
    """Return the words of a whole line. Raises Malformed if it has no end: its last word may be cut."""
    if not text.endswith("\n"):
        raise Malformed(f"the line is cut off: {text[:80]!r}")
    return text.split()


def _thin_pool(segment: Segment, table: str) -> dict[str, object]:
    """Parse the status of a thin-pool (drivers/md/dm-thin.c: pool_status).

        1 143/1024 412/512 - rw discard_passdown queue_if_no_space - 1024
        1 143/1024 512/512 - out_of_data_space discard_passdown queue_if_no_space needs_check 1024

    Transaction, metadata blocks used/total, data blocks used/total, held metadata root, mode, discards; later versions
    add writes without space (3.15), needs_check (4.2) and a low-water mark of the metadata (4.19). A failed pool prints
    only `Fail` or `Error`.
    """
    words = _words(segment.text)
    if words[:1] and words[0] in _BROKEN:
        return {"state": _BROKEN[words[0]]}
    metadata_used, metadata_total = _ratio(words[1])
    used, total = _ratio(words[2])
    int(words[0])
    block = _block(table, segment, total)
    return {
        "state": _MODES.get(words[4], UNREAD),
        "blocks": total,
        "used_blocks": used,
        "size": total * block,
        "used": used * block,
        "metadata_size": metadata_total * _METADATA_BLOCK,
        "metadata_used": metadata_used * _METADATA_BLOCK,
        "needs_check": int(words[7] == "needs_check") if len(words) > 7 else None,
        "no_space": _NO_SPACE.get(words[6]) if len(words) > 6 else None,
    }


def _block(table: str, segment: Segment, total: int) -> int:
    """Return the bytes of a data block: of the table (`META DATA BLOCK ...`), otherwise of the length."""
    words = table.split()
    sectors = whole(words[2], 11) if len(words) > 2 else None
    return sectors * SECTOR if sectors else segment.length // total if total else 0


def _vdo(text: str) -> dict[str, object]:
    """Parse the status of VDO (drivers/md/dm-vdo/dm-vdo-target.c: vdo_status).

        /dev/dm-3 normal - online online 1068812 2621440

    Device, mode, whether it recovers, index, compression, blocks used and total, of 4 KiB each.
    """
    words = _words(text)
    used, total = int(words[5]), int(words[6])
    if used > total:
        raise Malformed(f"more blocks than there are: {text[:80]!r}")
    mode = _VDO_MODES.get(words[1], UNREAD)
    return {
        "state": "recovering" if mode == "ok" and words[2] == "recovering" else mode,
        "blocks": total,
        "used_blocks": used,
        "size": total * _VDO_BLOCK,
        "used": used * _VDO_BLOCK,
        "no_space": "fail",
    }


def _ratio(word: str) -> tuple[int, int]:
    found = _RATIO.fullmatch(word)
    if found is None or int(found[1]) > int(found[2]):
        raise Malformed(f"{word[:40]!r} where used/all should be")
    return int(found[1]), int(found[2])


def thin_volume(segment: Segment, name: str, device: str | None, pool_device: str | None, origin: str) -> ThinVolume:
    """Return the row of a thin volume; status `MAPPED HIGHEST` in sectors, `0 -`, `Fail`, `Error` or `-`."""
    state, mapped = UNREAD, None
    with contextlib.suppress(Malformed):
        state, mapped = _thin(_words(segment.text))
    needle = f"{segment.name}:" if segment.name else ""
    return ThinVolume(
        volume=name, mapping=segment.name, state=state, device=device, pool_device=pool_device, size=segment.length,
        mapped=mapped, origin=origin, needle=needle,
    )  # fmt: skip


def _thin(words: Sequence[str]) -> tuple[str, int | None]:
    if len(words) == 1 and words[0] in _BROKEN:
        return _BROKEN[words[0]], None
    mapped = whole(words[0]) if len(words) == 2 else None
    return (UNREAD, None) if mapped is None else ("ok", mapped * SECTOR)
