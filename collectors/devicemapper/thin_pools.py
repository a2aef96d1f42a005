"""Pools of thin volumes (dm-thin, VDO), their fill level and state, and the volumes in them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Annotated, ClassVar

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.core.text import whole

POOLS = ("thin-pool", "vdo")
VOLUME = "thin"
UNREAD = "not understood"
"""State of a pool or volume whose line is cut off or has an unknown format."""
_METADATA_BLOCK = 4096
"""Bytes (drivers/md/dm-thin-metadata.h: THIN_METADATA_BLOCK_SIZE)."""
_VDO_BLOCK = 4096
_MODES = {"rw": "ok", "ro": "read-only", "out_of_data_space": "out of data space"}
_VDO_MODES = {"normal": "ok", "read-only": "read-only", "recovering": "recovering"}
_BROKEN = {"Fail": "failed", "Error": "error"}
_NO_SPACE = {"error_if_no_space": "fail", "queue_if_no_space": "wait"}
_RATIO = expression(r"(\d{1,20})/(\d{1,20})", re.ASCII)


class ThinPool(Reading, frozen=True, kw_only=True):
    """A pool that gives space to its volumes when they are written, from `dmsetup status`.

    `state`: ok, read-only, out of data space, failed (no I/O at all), error (the kernel could not read its state),
    recovering (VDO), or not understood. A pool that needs a check has metadata that must be repaired offline. The
    blocks are exact, the bytes are too if the table is known. Recorded output of lvs has only shares, no blocks.
    """

    family: ClassVar[str] = "thin_pool"
    title: ClassVar[str] = "Thin pools"
    remembered: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(ThingKind.POOL, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
    }

    pool: Annotated[str, Label("Pool", "GROUP/POOL of LVM, otherwise the name of the mapping", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    kind: Annotated[str, Fact("Kind", "thin-pool or vdo", plain=True)]
    state: Annotated[str, State("State", "State of the pool: ok, read-only, out of data space, failed, error")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    blocks: Annotated[int | None, Metric("Blocks", "Data blocks of the pool", export=False)] = None
    used_blocks: Annotated[int | None, Metric("Used blocks", "Allocated data blocks", export=False)] = None
    size: Annotated[int | None, Metric("Size", "Data size of the pool", "bytes", setting=True)] = None
    used: Annotated[int | None, Metric("Used", "Allocated data", "bytes")] = None
    data_share: Annotated[
        float | None, Metric("Data%", "Allocated share of the data, as lvs rounds it", "ratio", export=False)
    ] = None
    metadata_share: Annotated[
        float | None, Metric("Meta%", "Used share of the metadata, as lvs rounds it", "ratio", export=False)
    ] = None
    metadata_size: Annotated[int | None, Metric("Metadata", "Size of the metadata", "bytes", setting=True)] = None
    metadata_used: Annotated[int | None, Metric("Metadata used", "Used metadata", "bytes")] = None
    needs_check: Annotated[int | None, Metric("Needs check", "Whether the metadata must be checked and repaired")] = (
        None
    )
    no_space: Annotated[
        str | None, Fact("Without space", "Fate of writes without space: wait (60 s by default) or fail", plain=True)
    ] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def filled(self) -> float | None:
        """Share of the data space in use, 0..1."""
        return self.used_blocks / self.blocks if self.used_blocks is not None and self.blocks else self.data_share

    @property
    def metadata_filled(self) -> float | None:
        """Share of the metadata in use, 0..1."""
        used, size = self.metadata_used, self.metadata_size
        return used / size if used is not None and size else self.metadata_share


class ThinVolume(Reading, frozen=True, kw_only=True):
    """An active thin volume, from `dmsetup status`; its pool from `dmsetup table`."""

    family: ClassVar[str] = "thin_volume"
    title: ClassVar[str] = "Thin volumes"
    crowded: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(ThingKind.VOLUME, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
        "pool_device": Identity(ThingKind.POOL, Naming.DEV),
    }
    joins = (Join("device", "pool_device", Relation.STORED),)

    volume: Annotated[str, Label("Volume", "GROUP/VOLUME of LVM, otherwise the mapping's name", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    state: Annotated[str, State("State", "State of the volume: ok, failed, error")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    pool_device: Annotated[str | None, Fact("Pool", "Kernel name of its pool", names=Name.DEVICE)] = None
    size: Annotated[int | None, Metric("Size", "Size that users see", "bytes", setting=True)] = None
    mapped: Annotated[int | None, Metric("Mapped", "Space that it uses in the pool, shared or not", "bytes")] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


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
