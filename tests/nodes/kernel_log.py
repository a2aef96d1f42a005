"""The kernel's log of a node, as a live one records it."""

from __future__ import annotations

import json
from typing import Any

from sdstop.collectors.kernel.answer import QUESTION

BOOT = 1_699_990_000.0
"""Unix time of boot: 10,000 seconds before frames begin."""
UP = 10_000.0


def log(*lines: tuple[float, str], up: float = UP, **head: Any) -> dict[str, str]:
    """Return the evidence of a log with messages that are so many seconds old."""
    known = {"boot": BOOT, "since": 0.0, "whole": True, "suspended": 0.0, "suppressed": 0, "lost": 0, "dropped": 0,
             "behind": False}  # fmt: skip
    said = [f"[{up - age:12.6f}] {text}" for age, text in sorted(lines, reverse=True)]
    return {f"answer:{QUESTION}": json.dumps([known | head, *said]), "/proc/uptime": f"{up} 1.0\n"}


def medium(device: str, sector: int = 8201) -> str:
    return f"critical medium error, dev {device}, sector {sector} op 0x0:(READ) flags 0x0"


def lost(device: str) -> str:
    return f"Buffer I/O error on dev {device}, logical block 88, lost async page write"


def abort(address: str) -> str:
    return f"sd {address}: attempting task abort"


def disk(name: str, minor: int, address: str = "") -> dict[str, str]:
    """Return a SCSI disk at an address, by default 0:0:0:MINOR."""
    address = address or f"0:0:0:{minor}"
    base = f"/sys/block/{name}"
    return {
        f"{base}/dev": f"8:{minor}\n", f"{base}/size": "16\n", f"{base}/ro": "0\n", f"{base}/device/state": "running\n",
        f"link:{base}/device": f"../../../{address}",
        f"link:{base}": f"../devices/pci0000:00/0000:00:17.0/host0/target0:0:0/{address}/block/{name}",
        f"/sys/bus/scsi/devices/{address}/block/{name}/size": "16\n",
    }  # fmt: skip
