"""PCI Express links of HBAs, NVMe drives and network cards that are narrower or slower than both ends support."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.fabric.hba_throughput import disks_behind
from sdstop.collectors.fabric.readings import NETWORK, Hba, PcieFunction
from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

_VIRTIO = "1af4:"
"""Vendor of virtual devices, which have no physical link."""


_HYPERVISORS = ("1b36:", "15ad:", "1af4:")
"""Vendors of virtual ports (QEMU, VMware). A real card behind one has a physical slot that the guest cannot see."""


def _has_link(row: Hba) -> bool:
    return (row.speed is not None or row.width is not None) and not (row.device_id or "").startswith(_VIRTIO)


def _is_network_link(row: PcieFunction) -> bool:
    return row.kind == NETWORK and (row.speed is not None or row.width is not None)


def _name(row: Hba | PcieFunction) -> str:
    return row.hba if isinstance(row, Hba) else row.function


def _kind(row: Hba | PcieFunction) -> str | None:
    return row.kind if isinstance(row, Hba) else row.interfaces or row.kind


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    cards = [row for row in window.rows(Hba).values() if _has_link(row)]
    networks = [row for row in window.rows(PcieFunction).values() if _is_network_link(row)]
    every: list[Hba | PcieFunction] = [*cards, *networks]
    for row in sorted(every, key=_name):
        if (row.port_device_id or "").startswith(_HYPERVISORS):
            yield Unchecked("upstream port is virtual; slot capability unknown", _name(row), calm=True)
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
            yield Unchecked("link speed or width missing", _name(row))
        else:
            yield RuledOut(_name(row), f"link at {_said(row.speed, row.width)}, the best of both ends")


def _of_card(row: Hba | PcieFunction) -> Verdict:
    """Return the verdict where the port is unknown: a link at the maximum of the card is the best of both ends."""
    if None in {row.speed, row.width, row.max_speed, row.max_width}:
        return Unchecked("link capability unknown", _name(row), calm=isinstance(row, PcieFunction))
    now, most = _said(row.speed, row.width), _said(row.max_speed, row.max_width)
    if now == most:
        return RuledOut(_name(row), f"link at {now}, the maximum of the card")
    return Unchecked(f"link at {now}, the card supports {most}; the slot is unknown", _name(row))


def _said(speed: float | None, width: int | None) -> str:
    rate = f"{speed / 1e9:g} GT/s" if speed is not None else "an unknown speed"
    return f"{rate} x{width}" if width is not None else rate


def _busy(window: Window, row: Hba | PcieFunction, limits: Limits) -> bool:
    """Return whether a card was busy in every part of the window; an idle link may be slow to save power."""
    if isinstance(row, PcieFunction):
        names = (row.interfaces or "").split(",")
        rates = [
            added(
                each.rx_bytes_per_second + each.tx_bytes_per_second
                for name in names
                if (each := moment.rows.get(name)) is not None
            )
            for moment in window.last(10.0).moments(InterfaceActivity)
        ]
        return len(rates) >= 2 and min(rates) >= limits["load"]
    disks = disks_behind(window, row.hba)
    loads = [
        added(
            disk.read_bytes_per_second + disk.write_bytes_per_second
            for device in disks
            if (disk := moment.rows.get(device)) is not None
        )
        for moment in window.last(10.0).moments(DiskActivity)
    ]
    return len(loads) >= 2 and min(loads) >= limits["load"]


def _finding(
    window: Window, row: Hba | PcieFunction, lanes: int, speed: float, limits: Limits, *, narrow: bool
) -> Finding:
    # A low speed alone must be seen twice and under load, because it may be power saving.
    name = _name(row)
    seen = [old for _, old in window.series(type(row), name) if old is not None and old.speed == row.speed]
    sure = narrow or (len(seen) > 1 and _busy(window, row, limits))
    now, best = _said(row.speed, row.width), _said(speed, lanes)
    disks = len(disks_behind(window, name))
    behind = human.plural(disks, "disk") if isinstance(row, Hba) else f"Traffic of {row.interfaces or 'the card'}"
    return Finding(
        severity=Severity.WARNING if sure else Severity.INFO,
        subject=name,
        title=f"PCIE DEGRADED: {now}",
        cause=f"The link runs at {now}, both ends support {best}.",
        impact=(
            f"{behind} {'share' if disks > 1 else 'shares'} the reduced bandwidth."
            if sure
            else "An idle link can run slower to save power; only one under load counts."
        ),
        values=(
            Value("width", "lanes in use", row.width, "", of=float(lanes)),
            Value("speed", "transfers per second of a lane", row.speed, "per_second", of=speed),
            Value("kind", "kind", _kind(row)),
            *((Value("disks", "disks behind it", disks),) if isinstance(row, Hba) else ()),
        ),
        evidence=cites(
            *(
                window.cite(row, field)
                for field in ("width", "max_width", "port_max_width", "speed", "max_speed", "port_max_speed")
            )
        ),
        advice=(
            "Reseat the card or try another slot.",
            run("lspci", "-vv", "-s", name, note="link of the card").pipe("grep", "-E", "LnkCap|LnkSta"),
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
    "PCIe link of an HBA, NVMe drive or network card below the capability of both ends",
    Severity.WARNING,
    _check,
    (Hba,),
    (Threshold("load", 10e6, "throughput above which a link is not idle", "bytes_per_second"),),
    instead=(PcieFunction,),
    explains=("hba-oversubscribed", "link-saturated"),
    covers=(Covers(Hba, where=_has_link), Covers(PcieFunction, where=_is_network_link)),
    many="have degraded PCIe links",
    standing=True,
    view="fabric",
    advice="Reseat the card or try another slot.",
)
