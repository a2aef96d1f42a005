"""Memory modules configured below their rated speed, because of the processor or for an unknown reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SUBJECT = "memory"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    dimms = [row for row in window.rows(Dimm).values() if row.size]
    sockets = list(window.rows(MemorySocket).values())
    if not dimms:
        yield Unchecked("firmware lists no module", _SUBJECT, calm=True)
        return
    rated = [row.speed for row in dimms if row.speed is not None]
    runs = [row.configured for row in dimms if row.configured is not None]
    if len(rated) < len(dimms) or len(runs) < len(dimms):
        virtual = any(row.virtual for row in sockets)
        yield Unchecked("firmware does not report the configured speed", _SUBJECT, calm=virtual)
        return
    slow = [row for row in dimms if (row.configured or 0) < (row.speed or 0) * (1 - limits["tolerance"])]
    if not slow:
        yield RuledOut(_SUBJECT, f"all {len(dimms)} modules run at {_speeds(runs)} MT/s or more of {_speeds(rated)}")
        return
    why, known = _why(dimms, sockets, limits)
    yield Finding(
        severity=Severity.INFO if known else Severity.WARNING,
        subject=_SUBJECT,
        title=f"MEMORY SLOW: {_speeds([r.configured for r in slow])} MT/s",
        cause=f"{len(slow)} of {len(dimms)} modules rated {_speeds([r.speed for r in slow])} MT/s: {why}.",
        impact=f"Peak memory bandwidth is {human.percent(min(runs) / min(rated))}% of the rated one.",
        values=(
            Value("configured", "slowest speed set", min(runs) * 1e6, "transfers_per_second", below=min(rated) * 1e6),
            *(Value(f"fastest{row.socket}", f"maximum of the processor, socket {row.socket}",
                    row.fastest * 1e6, "transfers_per_second") for row in sockets if row.fastest is not None),
        ),
        evidence=cites(*(window.cite(row) for row in slow[:3]), *(window.cite(row) for row in sockets[:1])),
        advice=(
            "Check memory speed and power profile in the firmware setup.",
            "The board manual has a table of speeds by modules per channel.",
            run("dmidecode", "-t", "17", note="rated and configured speed").pipe("grep", "-E", "Locator|Speed"),
        ),
        refuted_by="the rated speed as Configured Memory Speed in dmidecode -t 17",
    )  # fmt: skip


def _why(dimms: Sequence[Dimm], sockets: Sequence[MemorySocket], limits: Limits) -> tuple[str, bool]:
    """Return the reason as far as known, and whether the speed is, or may be, as intended."""
    fastest = [row.fastest for row in sockets]
    runs = min(row.configured or 0 for row in dimms)
    keeps = 1 - limits["tolerance"]
    if any(f is None for f in fastest) or not fastest:
        return "processor limit unknown", True
    most = min(f for f in fastest if f is not None)
    slowest = min(row.speed or 0 for row in dimms)
    if runs >= most * keeps:
        return f"processor maximum {most} MT/s", True
    if runs >= slowest * keeps:
        return f"slowest module {slowest} MT/s", False
    if any(row.used is None or row.dimms is None or row.dimms > row.used for row in sockets):
        return "several modules per channel", True
    return f"processor maximum {most} MT/s", False


def _speeds(speeds: Sequence[int | None]) -> str:
    known = sorted({speed for speed in speeds if speed is not None})
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


DIMM_BELOW_RATED_SPEED = Rule(
    "dimm-below-rated-speed",
    "memory configured below the rated speed of modules and processor",
    Severity.WARNING,
    _check,
    (MemorySocket, Dimm),
    (Threshold("tolerance", 0.005, "rounding tolerance (2666 = 2667)", "ratio"),),
    covers=(Covers(MemorySocket, _SUBJECT), Covers(Dimm, _SUBJECT)),
    either=2,
    standing=True,
    view="host",
    advice="Check memory speed and power profile in the firmware setup.",
)
