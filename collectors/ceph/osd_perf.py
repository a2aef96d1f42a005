"""Latencies of OSDs from `ceph osd perf`, JSON or text (src/mon/PGMap.cc: print_osd_perf_stats, Ceph 12 to 19)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import json_number, json_whole
from sdstop.readings import service
from sdstop.readings.service import Service

_ROW = expression(r"\s*(\d{1,7})\s+(\d{1,9})\s+(\d{1,9})\s*", re.ASCII)
_HEAD = expression(r"\s*osd\s+(?:fs_)?commit_latency\(ms\)\s+(?:fs_)?apply_latency\(ms\)\s*")
_LINE = expression(rb"^[ \t\d]+$|^\s*osd\s+\w*commit_latency.*$", re.MULTILINE)


def parse(text: str) -> dict[int, float]:
    """Return the commit latency in seconds by OSD. Raises Malformed.

        {"osdstats": {"osd_perf_infos": [{"id": 2, "perf_stats": {"commit_latency_ms": 7, "apply_latency_ms": 7}}]}}

        osd  commit_latency(ms)  apply_latency(ms)
          2                   7                  7

    Up to Ceph 13, `osd_perf_infos` is not wrapped. The newest value of each daemon's own mean over a few seconds.
    """
    if text.lstrip().startswith(("{", "[")):
        return _parse_json(text)
    heads, *lines = [line for line in text.splitlines() if line.strip()] or [""]
    if _HEAD.fullmatch(heads) is None:
        raise Malformed(f"no heading of ceph osd perf: {heads[:80]!r}")
    return {int(row[1]): int(row[2]) / 1000 for line in lines if (row := _ROW.fullmatch(line)) is not None}


def _parse_json(text: str) -> dict[int, float]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"ceph osd perf: not JSON: {str(error)[:80]}") from error
    if not isinstance(said, dict):
        raise Malformed("ceph osd perf: not an object")
    rows = (_part(said, "osdstats") or said).get("osd_perf_infos")
    found = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        number, stats = json_whole(row.get("id")), _part(row, "perf_stats")
        exact, coarse = json_number(stats.get("commit_latency_ns")), json_number(stats.get("commit_latency_ms"))
        wait = exact / 1e9 if exact else None if coarse is None else coarse / 1000
        if number is not None and wait is not None:
            found[number] = wait
    return found


def _part(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = said.get(name)
    return part if isinstance(part, dict) else {}


FORM = Form(
    key="cmd:ceph osd perf",
    first=r" *osd\s+(?:fs_)?commit_latency\(ms\)\s",
    reads="latencies of OSDs",
    versions="Ceph 12 and later",
)


def services(waits: Mapping[int, float], names: Mapping[int, str], origin: str) -> Iterator[Service]:
    """Yield a Service for each OSD; `names` are their names by number, as the tree of the cluster has them.

    0 ms is below the resolution of the tool, or of an OSD without writes, and becomes None.
    """
    for number, wait in waits.items():
        yield Service(
            device=names.get(number, f"osd.{number}"),
            tool=service.OSD_PERF,
            kind="osd",
            write_wait=wait or None,
            wait=wait or None,
            origin=origin,
        )


def only_numbers(data: bytes) -> bytes:
    """Return the heading and the rows of the text form: redaction keeps no other line."""
    return b"\n".join(_LINE.findall(data)) + b"\n"
