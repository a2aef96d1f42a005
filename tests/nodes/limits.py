"""Limits made by hand, and a collector that brings them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.rule import Rule
from sdstop.readings.limit import USE, Limit
from tests.nodes.frames import Files, Judged

FILE = "/limits"
MIB = 1 << 20


def read(host: Host) -> Iterable[Reading]:
    for line in host.text(FILE).splitlines():
        yield Limit(**{"origin": FILE, "needle": "", **json.loads(line)})


MADE = Collector("made", "Limits by hand", read, (Limit,), (Need(FILE, "limits"),), derives=(USE,))


def mapping(volume: str = "v", owner: str = "sdc1", **fields: Any) -> dict[str, Any]:
    """Return a mapping of the story's volume of 104 GB."""
    known = {"kind": "powerflex", "direction": "total", "limited": "both", "iops": 500, "bandwidth": 26 * MIB}
    return {"volume": volume, "owner": owner, **known, **fields}


def judged(
    rules: Sequence[Rule],
    readings: Sequence[Sequence[dict[str, Any]]],
    interval: float = 1.0,
    config: dict[str, dict[str, float]] | None = None,
    diskstats: Sequence[str] = (),
) -> Judged:
    shown: list[tuple[float, Files]] = []
    for place, rows in enumerate(readings):
        files = {FILE: "\n".join(json.dumps({**row, "needle": f'"{row["owner"]}"'}) for row in rows)}
        if diskstats:
            files["/proc/diskstats"] = diskstats[place]
        shown.append((place * interval, files))
    return Judged((MADE, DISKSTATS), list(rules), shown, config)
