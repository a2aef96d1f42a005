"""Space, inodes and flags of local file systems of a live node: statvfs(3) and mountinfo."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sdstop.collectors.block.mount_readings import FilesystemSpace
from sdstop.core.collector import Collector, Question
from sdstop.core.host import Host, Malformed
from sdstop.core.text import json_number, json_text, json_whole

QUESTION = "filesystems.space"
PACE = 10.0
"""Seconds between runs; a query of 50 file systems takes 1 ms of CPU."""


def parse(said: Any) -> Iterator[FilesystemSpace]:
    """Yield the rows of an answer (sdstop.node.answers has its form). Raises Malformed for anything else.

    Remote file systems and those of programs (FUSE) are not in it: they can hang, and their server knows their space.
    ZFS datasets limited by their pool alone are left out, but for one of each pool.
    """
    if not isinstance(said, list):
        raise Malformed(f"{QUESTION}: not a list of file systems")
    for row in said:
        point = json_text(row.get("point")) if isinstance(row, dict) else None
        if point is None:
            raise Malformed(f"{QUESTION}: a file system without a mount point")
        yield _row(point, row)


def _row(point: str, row: dict[str, Any]) -> FilesystemSpace:
    size, free, left = (json_whole(row.get(name)) for name in ("size", "free", "available"))
    inodes, spare = json_whole(row.get("files")), json_whole(row.get("files_free"))
    if not size or free is None or left is None or free > size:
        size = free = left = None
    used = size - free if size is not None and free is not None else None
    known = bool(inodes) and spare is not None and spare <= (inodes or 0)
    taken = (inodes or 0) - (spare or 0) if known else None
    return FilesystemSpace(
        point=point,
        source_name=json_text(row.get("source")) or "?",
        type=json_text(row.get("filesystem")),
        size=size,
        used=used,
        available=left,
        share=used / (used + left) if used is not None and left is not None and used + left else None,
        inodes=inodes if known else None,
        inodes_used=taken,
        inodes_share=taken / inodes if taken is not None and inodes else None,
        told=f"answer:{QUESTION}",
        state=_state(row),
        hung=json_number(row.get("hung")),
        unasked=json_text(row.get("unasked")),
        needle=f'"point": {json.dumps(point)}',
    )


def _state(row: dict[str, Any]) -> str:
    """Return the state: the flags of the mount are an administrator's wish, those of the file system the fact."""
    writable, fact, hint = row.get("writable"), row.get("super_writable"), row.get("hint")
    if hint == "shutdown":
        return "shut down"
    if hint is not None or (writable is True and fact is False):
        return "forced read-only"
    if writable is True and fact is True:
        return "writable"
    return "read-only" if writable is False else "unknown"


def read(host: Host) -> Iterable[FilesystemSpace]:
    """Return the local file systems."""
    return list(parse(host.answer(QUESTION)))


FILESYSTEMS = Collector(
    "filesystems",
    "Space and flags of local file systems",
    read,
    (FilesystemSpace,),
    (Question(QUESTION, "space, inodes and read-only flags of local file systems"),),
    PACE,
    deadline=5.0,
    resting=30.0,
)
