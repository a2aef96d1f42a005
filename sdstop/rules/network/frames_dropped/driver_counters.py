"""Interfaces of which only the counters of their driver are known, from recorded output of ethtool -S."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.readings import InterfaceFault, Traffic
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

_DAMAGED = expression(r"(?:rx_|port\.rx_)?(?:crc_errors|crc_errors_phy|fcs_errors|symbol_err_phy|fcs_err)|rx_crc")
"""Counters of drivers (ethtool -S) of frames that a link damaged."""


def of_drivers(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge interfaces that only ethtool -S shows: by damaged frames, which a sound link does not have."""
    known = {row.interface for row in window.rows(Traffic).values()}
    for row in window.rows(InterfaceFault).values():
        if row.interface in known or not _DAMAGED.fullmatch(row.counter) or row.count < limits["count"]:
            continue
        key, moments = (row.interface, row.counter), window.moments(InterfaceFault)
        first = moments[0].rows.get(key)
        new = row.count - first.count if len(moments) > 1 and first is not None else None
        if new is None or new < limits["count"]:
            said = f"{row.counter} is {human.number(row.count, 0)} since the driver loaded"
            yield Unchecked(f"{said}; another sample shows whether it grows", row.interface, gap=Gap.FAULTY)
        else:
            yield _damaged(window, row, new)


def _damaged(window: Window, row: InterfaceFault, new: int) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.interface,
        title="FRAMES DAMAGED",
        cause=f"{human.safe(row.counter, 24)} grew by {human.number(new, 0)} between two outputs.",
        impact="Damaged frames are lost; TCP sends them again, AoE waits for its timeout.",
        values=(Value("new", "damaged frames", new), Value("count", "since the driver loaded", row.count)),
        evidence=cites(window.cite(row)),
        advice=("Change cable and module, then the switch port.", run("ethtool", "-m", row.interface)),
        refuted_by="the same counter in two outputs of ethtool -S under load",
    )
