"""PCI Express links of HBAs or NVMe drives that are narrower or slower than both ends support."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.fabric import disks_behind
from sdstop.collectors.fabric.hba import Hba
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

_VIRTIO = "1af4:"
"""Vendor of virtual devices, which have no physical link."""


_HYPERVISORS = ("1b36:", "15ad:", "1af4:")
"""Vendors of virtual ports (QEMU, VMware). A real card behind one has a physical slot that the guest cannot see."""


def _has_link(row: Hba) -> bool:
    return (row.speed is not None or row.width is not None) and not (row.device_id or "").startswith(_VIRTIO)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in sorted(window.rows(Hba).values(), key=lambda row: row.hba):
        if not _has_link(row):
            continue
        if (row.port_device_id or "").startswith(_HYPERVISORS):
            made_up = "the port above it is made up by a hypervisor: what the slot can is not seen"
            yield Unchecked(made_up, row.hba, calm=True)
            continue
        if row.port_max_speed is None or row.port_max_width is None or row.max_speed is None or row.max_width is None:
            yield Unchecked("what both ends of its link can is not known", row.hba)
            continue
        lanes, speed = min(row.max_width, row.port_max_width), min(row.max_speed, row.port_max_speed)
        narrow = row.width is not None and row.width < lanes
        slow = row.speed is not None and row.speed < speed
        if narrow or slow:
            yield _finding(window, row, lanes, speed, limits, narrow=narrow)
        elif row.width is None or row.speed is None:
            yield Unchecked("of its link only half is said", row.hba)
        else:
            yield RuledOut(row.hba, f"{_said(row.speed, row.width)}, as both ends allow")


def _said(speed: float | None, width: int | None) -> str:
    rate = f"{speed / 1e9:g} GT/s" if speed is not None else "an unknown speed"
    return f"{rate} x{width}" if width is not None else rate


def _busy(window: Window, hba: str, limits: Limits) -> bool:
    """Return whether the disks were busy in every part of the window; an idle link may be slow to save power."""
    disks = disks_behind(window, hba)
    loads = [
        added(
            row.read_bytes_per_second + row.write_bytes_per_second
            for device in disks
            if (row := moment.rows.get(device)) is not None
        )
        for moment in window.last(10.0).moments(DiskActivity)
    ]
    return len(loads) >= 2 and min(loads) >= limits["load"]


def _finding(window: Window, row: Hba, lanes: int, speed: float, limits: Limits, *, narrow: bool) -> Finding:
    # A low speed alone must be seen twice and under load, because it may be power saving.
    seen = [old for _, old in window.series(Hba, row.hba) if old is not None and old.speed == row.speed]
    sure = narrow or (len(seen) > 1 and _busy(window, row.hba, limits))
    now, best = _said(row.speed, row.width), _said(speed, lanes)
    doubt = "" if sure else "; idle links may be slow to save power: it counts when it stays so under load"
    disks = len(disks_behind(window, row.hba))
    return Finding(
        severity=Severity.WARNING if sure else Severity.INFO,
        subject=row.hba,
        cause=f"its link runs at {now}, both ends allow {best}; {disks} disks are behind it ({row.kind}){doubt}",
        values=(
            Value("width", "lanes in use", row.width, "", above=float(lanes)),
            Value("speed", "transfers per second of a lane", row.speed, "per_second", above=speed),
            Value("disks", "disks behind it", disks),
        ),
        evidence=cites(
            *(
                window.cite(row, name)
                for name in ("width", "max_width", "port_max_width", "speed", "max_speed", "port_max_speed")
            )
        ),
        advice=(
            f"lspci -vv -s {quoted(row.hba)} | grep -E 'LnkCap|LnkSta'   # and of the port above, {quoted(row.port)}",
            "seat the card anew, try another slot; in a slot that is shared or wired narrower the board sets the limit",
        ),
        refuted_by=(
            "a board that wires fewer lanes to this slot than its port can: its manual says so, the port does not"
        ),
        confidence=None if sure else 0.3,
    )


PCIE_DEGRADED = Rule(
    "pcie-degraded",
    "the PCI Express link of an HBA or NVMe drive runs below what both of its ends allow",
    Severity.WARNING,
    _check,
    (Hba,),
    (
        Threshold(
            "load", 10e6, "bytes per second through it at which a slow link is no longer idle", "bytes_per_second"
        ),
    ),
    explains=("hba-oversubscribed",),
    covers=(Covers(Hba, where=_has_link),),
    many="have links that run below what both of their ends allow",
)
