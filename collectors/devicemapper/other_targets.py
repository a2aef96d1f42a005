"""Device mapper targets that no other source reads: whether they work, as far as their status shows it."""

from __future__ import annotations

from sdstop.collectors.devicemapper.dmtable import Segment
from sdstop.collectors.devicemapper.readings import MappedTarget
from sdstop.core.expression import expression

FAILED, READ_ONLY, WORKING, UNKNOWN = "failed", "read-only", "working", "unknown"

READ_ELSEWHERE = frozenset({"cache", "writecache", "flashcache"})
"""Targets whose status is the caches' (sdstop.collectors.devicemapper.dmcache)."""
FAULTY = frozenset({"error", "flakey", "dust"})
"""Targets that fail requests: their presence alone is the fault, also where no table was recorded."""
_STATELESS = frozenset({
    "linear", "striped", "crypt", "zero", "delay", "ebs", "switch", "unstriped",
    "log-writes", "snapshot-origin", "zoned", "ioband", "inlinecrypt", "pcache",
})  # fmt: skip
"""Targets whose status has no state, or only counts."""
_FAILS = frozenset({"Fail", "Error", "Invalid"})
_ERA = expression(r"\d{1,9} \d{1,12}/\d{1,12} \d{1,12} (?:\d{1,20}|-)")
_CLONE = expression(r"\d{1,9} \d{1,12}/\d{1,12} \d{1,12} \d{1,20}/\d{1,20} \d{1,12} \d .*(?P<mode>rw|ro)")


def has_state(target: str) -> bool:
    """Return whether the status of a target, which no other source reads, can have a state."""
    return target not in _STATELESS and target not in READ_ELSEWHERE


def parse(target: str, text: str) -> str:
    """Return the state in a status line.

    8 2074/8192 12 -                                      era (drivers/md/dm-era-target.c: era_status)
    8 12/2048 8 100/100 0 0 2 hydration_threshold 1 rw    clone (drivers/md/dm-clone-target.c: clone_status)
    Fail                                                  any target that has given up
    """
    said = text.strip()
    if target in FAULTY:
        return WORKING
    if said in _FAILS:
        return FAILED
    if target == "era" and _ERA.fullmatch(said):
        return WORKING
    if target == "clone" and (found := _CLONE.fullmatch(said)):
        return WORKING if found["mode"] == "rw" else READ_ONLY
    return UNKNOWN


def mapped_target(segment: Segment, device: str | None, where: str) -> MappedTarget | None:
    """Return the row of a segment, None for an unknown target whose status is empty: it has no state."""
    known = segment.target in {"era", "clone", *FAULTY}
    if not known and not segment.text.strip():
        return None
    return MappedTarget(
        mapping=segment.name,
        start=segment.start,
        target=segment.target[:40],
        state=parse(segment.target, segment.text),
        device=device,
        where=where,
        needle=f"{segment.name}:" if segment.name else "",
    )
