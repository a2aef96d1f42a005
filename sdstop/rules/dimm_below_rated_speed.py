"""Memory modules configured below their rated speed, because of the processor or for an unknown reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.memory.dimms import Dimm, MemorySocket
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
        yield Unchecked("the firmware does not tell at what speed the modules run", _SUBJECT, calm=virtual)
        return
    slow = [row for row in dimms if (row.configured or 0) < (row.speed or 0) * (1 - limits["tolerance"])]
    if not slow:
        yield RuledOut(_SUBJECT, f"all {len(dimms)} modules run at {_speeds(runs)} MT/s or more of {_speeds(rated)}")
        return
    why, known = _why(dimms, sockets, limits)
    yield Finding(
        severity=Severity.INFO if known else Severity.WARNING,
        subject=_SUBJECT,
        cause=f"{len(slow)} of {len(dimms)} modules, made for {_speeds([r.speed for r in slow])} MT/s, run at "
        f"{_speeds([r.configured for r in slow])}: {why}",
        values=(
            Value("configured", "slowest speed set", min(runs) * 1e6, "transfers_per_second", above=min(rated) * 1e6),
            *(Value(f"fastest{row.socket}", f"the most that the processor takes, socket {row.socket}",
                    row.fastest * 1e6, "transfers_per_second") for row in sockets if row.fastest is not None),
        ),
        evidence=cites(*(window.cite(row) for row in slow[:3]), *(window.cite(row) for row in sockets[:1])),
        advice=(
            "dmidecode -t 17 | grep -E 'Locator|Speed'",
            "firmware setup: memory speed, power profile; and the manual's table of speed by modules per channel",
        ),
        refuted_by="a speed set to what the modules are made for in the same table",
    )  # fmt: skip


def _why(dimms: Sequence[Dimm], sockets: Sequence[MemorySocket], limits: Limits) -> tuple[str, bool]:
    """Return the reason as far as known, and whether the speed is, or may be, as intended."""
    fastest = [row.fastest for row in sockets]
    runs = min(row.configured or 0 for row in dimms)
    keeps = 1 - limits["tolerance"]
    if any(f is None for f in fastest) or not fastest:
        return "whether the processor is the limit is not known", True
    most = min(f for f in fastest if f is not None)
    slowest = min(row.speed or 0 for row in dimms)
    if runs >= most * keeps:
        return f"the processor takes no more than {most} MT/s", True
    if runs >= slowest * keeps:
        return f"all run at the speed of the slowest module, {slowest} MT/s", False
    if any(row.used is None or row.dimms is None or row.dimms > row.used for row in sockets):
        return "several modules share a channel, which may be the limit", True
    return f"the processor takes {most} MT/s", False


def _speeds(speeds: Sequence[int | None]) -> str:
    known = sorted({speed for speed in speeds if speed is not None})
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


DIMM_BELOW_RATED_SPEED = Rule(
    "dimm-below-rated-speed",
    "memory modules are set to less than the speed that they and the processor are made for",
    Severity.WARNING,
    _check,
    (MemorySocket, Dimm),
    (Threshold("tolerance", 0.005, "difference that is rounding: 2666 and 2667 are one speed", "ratio"),),
    covers=(Covers(MemorySocket, _SUBJECT),),
)
