"""Parser for `zpool status -j`, OpenZFS 2.3 and later (cmd/zpool/zpool_main.c: status_callback_json)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.collectors.zfs.zpool_status import PoolStatus, Scan, StatusVdev, ended_at, nicenum
from sdstop.core.form import Form
from sdstop.core.host import Malformed

_GROUPS = {"logs": "logs", "l2cache": "cache", "spares": "spares", "special": "special", "dedup": "dedup"}
_DEEPEST = 12
"""Levels of nested devices; more are an error."""
_STATES = {"HEALTHY": "ONLINE", "CANT_OPEN": "UNAVAIL", "CLOSED": "OFFLINE"}
_SCANS = {"SCANNING": "running", "FINISHED": "finished", "CANCELED": "canceled"}
_REBUILDS = {"ACTIVE": "running", "COMPLETE": "finished", "CANCELED": "canceled"}


FORM = Form(
    key="cmd:zpool status -j",
    first=r'\{\s*"output_version":\s*\{\s*"command":\s*"zpool status"',
    reads="pools, their devices, errors, and running scans",
    versions="OpenZFS 2.3 and later",
)


def parse(text: str) -> list[PoolStatus]:
    """Return the pools; values may be numbers (--json-int), strings of digits (-p) or rounded (`62.6G`).

        {"output_version": {"command": "zpool status", "vers_major": 0, "vers_minor": 1},
         "pools": {"tank": {"name": "tank", "state": "ONLINE", "error_count": 0,
          "scan_stats": {"function": "SCRUB", "state": "SCANNING", "to_examine": 250, "issued": 107, ...},
          "vdevs": {"tank": {"name": "tank", "vdevs": {"mirror-0": {"state": "HEALTHY", "vdevs": {...}}}}},
          "logs": {...}, "l2cache": {...}, "spares": {...}}}}

    Raises Malformed if the text is not JSON or has no pools.
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"zpool status -j: {error}") from error
    pools = told.get("pools") if isinstance(told, dict) else None
    if not isinstance(pools, dict):
        raise Malformed("zpool status -j: no pools in it")
    return [_pool(str(key), pool) for key, pool in pools.items() if isinstance(pool, dict)]


def _pool(key: str, pool: Mapping[str, Any]) -> PoolStatus:
    name = _word(pool.get("name")) or key
    found = PoolStatus(name, _word(pool.get("state")), _word(pool.get("status")), _word(pool.get("action")))
    found.data_errors = _number(pool.get("error_count"))
    if found.data_errors:
        found.errors = f"{found.data_errors} data errors"
    checkpoint = _mapping(pool.get("checkpoint_stats"))
    if _word(checkpoint.get("state")) == "EXISTS":
        found.checkpoint = _number(checkpoint.get("space"))
    scan = _mapping(pool.get("scan_stats"))
    found.scans = [*_scan(scan), *_rebuilds(scan)]
    for root in _mapping(pool.get("vdevs")).values():  # the only entry is the pool itself
        found.vdevs += _vdevs(_mapping(_mapping(root).get("vdevs")), (), "")
    for where, group in _GROUPS.items():
        found.vdevs += _vdevs(_mapping(pool.get(where)), (), group)
    return found


def _scan(scan: Mapping[str, Any]) -> Iterator[Scan]:
    operation, state = _word(scan.get("function")).lower(), _SCANS.get(_word(scan.get("state")), "")
    if operation not in {"scrub", "resilver"} or not state:
        return
    if state == "running" and _pause(scan.get("scrub_pause")):
        state = "paused"
    whole, issued = _number(scan.get("to_examine")), _number(scan.get("issued"))
    total = None if whole is None else max(whole - (_number(scan.get("skipped")) or 0), 0)
    yield Scan(
        operation=operation,
        state=state,
        vdev="",
        scanned=_number(scan.get("examined")),
        issued=issued,
        total=total,
        repaired=_number(scan.get("processed")),
        share=_share(issued, total),
        speed=None,
        remaining=None,
        errors=_number(scan.get("errors")),
        exact=not _rounded(scan.get("issued")),
        line=f'"{operation.upper()}"',
        ended=(_time(scan.get("end_time")) if state == "finished" else None),
    )


def _time(value: Any) -> int | None:
    """Return a Unix time, given as a number, as one in a string, or as a date."""
    return _number(value) or (ended_at(value) if isinstance(value, str) else None)


def _rebuilds(scan: Mapping[str, Any]) -> Iterator[Scan]:
    for vdev, stats in _mapping(scan.get("rebuild_stats")).items():
        row = _mapping(stats)
        state = _REBUILDS.get(_word(row.get("state")), "")
        if not state:
            continue
        scanned, total = _number(row.get("scanned")), _number(row.get("to_scan"))
        passed, taken = _number(row.get("pass_scanned")), _number(row.get("pass_time"))
        yield Scan(
            operation="rebuild",
            state=state,
            vdev=str(vdev),
            scanned=scanned,
            issued=_number(row.get("issued")),
            total=total,
            repaired=_number(row.get("rebuilt")),
            share=_share(scanned, total),
            speed=round(passed * 1e9 / taken) if passed and taken else None,
            remaining=None,
            errors=_number(row.get("errors")),
            exact=not _rounded(row.get("scanned")),
            line='"rebuild_stats"',
        )


def _vdevs(rows: Mapping[str, Any], parents: tuple[str, ...], group: str) -> Iterator[StatusVdev]:
    if len(parents) > _DEEPEST:
        return
    for key, row in rows.items():
        if not isinstance(row, dict):
            continue
        name, path = _word(row.get("name")) or str(key), _word(row.get("path"))
        below = _mapping(row.get("vdevs"))
        state = _word(row.get("state"))
        was = _word(row.get("was"))
        notes = [_word(row.get("aux")).lower().replace("_", " "), f"was {was}" if was else ""]
        notes += ["(resilvering)"] if _number(row.get("scan_processed")) and not below else []
        yield StatusVdev(
            name=name,
            state=_STATES.get(state, state),
            parents=parents,
            group=group,
            leaf=not below,
            read=_number(row.get("read_errors")),
            write=_number(row.get("write_errors")),
            checksum=_number(row.get("checksum_errors")),
            slow=_number(row.get("slow_ios")),
            note=" ".join(note for note in notes if note),
            path=path,
            line=f'"{name}"',
        )
        yield from _vdevs(below, (*parents, name), group)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 10**30 else None
    return nicenum(value) if isinstance(value, str) else None


def _rounded(value: object) -> bool:
    return isinstance(value, str) and not value.isdecimal()


def _pause(value: object) -> bool:
    """Return whether the scrub is paused; otherwise the value is 0, `-`, or the epoch as a date."""
    return value not in {0, "0", "-", "", None} and "1970" not in str(value)


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else min(part / whole, 1.0)
