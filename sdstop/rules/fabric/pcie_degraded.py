"""PCI Express links of HBAs or NVMe drives that are narrower or slower than both ends support."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.fabric.hba_throughput import disks_behind
from sdstop.collectors.fabric.hba import Hba
from sdstop.core import format as human
from sdstop.core.advice import run
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
            yield Unchecked("upstream port is virtual; slot capability unknown", row.hba, calm=True)
            continue
        if row.port_max_speed is None or row.port_max_width is None or row.max_speed is None or row.max_width is None:
            yield _of_card(row)
            continue
        lanes, speed = min(row.max_width, row.port_max_width), min(row.max_speed, row.port_max_speed)
        narrow = row.width is not None and row.width < lanes
        slow = row.speed is not None and row.speed < speed
        if narrow or slow:
            yield _finding(window, row, lanes, speed, limits, narrow=narrow)
        elif row.width is None or row.speed is None:
            yield Unchecked("link speed or width missing", row.hba)
        else:
            yield RuledOut(row.hba, f"link at {_said(row.speed, row.width)}, the best of both ends")


def _of_card(row: Hba) -> Verdict:
    """Return the verdict where the port is unknown: a link at the maximum of the card is the best of both ends."""
    if None in {row.speed, row.width, row.max_speed, row.max_width}:
        return Unchecked("link capability unknown", row.hba)
    now, most = _said(row.speed, row.width), _said(row.max_speed, row.max_width)
    if now == most:
        return RuledOut(row.hba, f"link at {now}, the maximum of the card")
    return Unchecked(f"link at {now}, the card supports {most}; the slot is unknown", row.hba)


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
    disks = len(disks_behind(window, row.hba))
    return Finding(
        severity=Severity.WARNING if sure else Severity.INFO,
        subject=row.hba,
        title=f"PCIE DEGRADED: {now}",
        cause=f"The link runs at {now}, both ends support {best}.",
        impact=(
            f"{human.plural(disks, 'disk')} {'shares' if disks == 1 else 'share'} the reduced bandwidth."
            if sure
            else "An idle link can run slower to save power; only one under load counts."
        ),
        values=(
            Value("width", "lanes in use", row.width, "", of=float(lanes)),
            Value("speed", "transfers per second of a lane", row.speed, "per_second", of=speed),
            Value("kind", "kind", row.kind),
            Value("disks", "disks behind it", disks),
        ),
        evidence=cites(
            *(
                window.cite(row, name)
                for name in ("width", "max_width", "port_max_width", "speed", "max_speed", "port_max_speed")
            )
        ),
        advice=(
            "Reseat the card or try another slot.",
            run("lspci", "-vv", "-s", row.hba, note="link of the card").pipe("grep", "-E", "LnkCap|LnkSta"),
            *(
                (run("lspci", "-vv", "-s", row.port, note="the upstream port").pipe("grep", "-E", "LnkCap|LnkSta"),)
                if row.port
                else ()
            ),
        ),
        refuted_by=f"{best} in lspci -vv under load",
        harmless_if="the board wires fewer lanes to this slot (see its manual)",
        confidence=None if sure else 0.3,
    )


PCIE_DEGRADED = Rule(
    "pcie-degraded",
    "PCIe link of an HBA or NVMe drive below the capability of both ends",
    Severity.WARNING,
    _check,
    (Hba,),
    (Threshold("load", 10e6, "throughput above which a link is not idle", "bytes_per_second"),),
    explains=("hba-oversubscribed",),
    covers=(Covers(Hba, where=_has_link),),
    many="have degraded PCIe links",
    standing=True,
    view="fabric",
    advice="Reseat the card or try another slot.",
)
