"""Memory modules of different size, rated speed or type in one machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SUBJECT = "memory"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    dimms = [row for row in window.rows(Dimm).values() if row.size]
    sizes = Counter(row.size for row in dimms)
    kinds = Counter(row.type for row in dimms if row.type is not None)
    speeds = _grouped([row.speed for row in dimms if row.speed is not None], limits["tolerance"])
    if any(row.virtual for row in window.rows(MemorySocket).values()):
        yield Unchecked("virtual machine: no real modules", _SUBJECT, calm=True)
    elif len(dimms) < 2:
        yield Unchecked("fewer than two modules listed" if dimms else "firmware lists no module", _SUBJECT, calm=True)
    elif len(sizes) > 1:
        yield _finding(window, dimms, "SIZES", {_size(size): count for size, count in sorted(sizes.items())}, _SIZES)
    elif len(kinds) > 1:
        yield _finding(window, dimms, "TYPES", dict(sorted(kinds.items())), _SPEEDS)
    elif len(speeds) > 1:
        yield _finding(
            window, dimms, "SPEEDS", {f"{speed} MT/s": count for speed, count in sorted(speeds.items())}, _SPEEDS
        )
    elif any(row.speed is None for row in dimms):
        yield Unchecked("firmware does not report the rated speed of all modules", _SUBJECT, calm=True)
    else:
        yield RuledOut(_SUBJECT, f"{len(dimms)} modules of {_size(next(iter(sizes)))}, {next(iter(speeds))} MT/s")


_SIZES = "Addresses beyond the smallest module are spread over fewer channels."
_SPEEDS = "All modules of a channel run at the speed of the slowest one."


def _grouped(speeds: Sequence[int], tolerance: float) -> Counter[int]:
    """Return how many modules have each speed; speeds within the tolerance (2666, 2667) are one."""
    found: Counter[int] = Counter()
    for speed in sorted(speeds):
        near = next((known for known in found if speed <= known * (1 + tolerance)), speed)
        found[near] += 1
    return found


def _size(size: Hashable) -> str:
    return human.quantity(size, "bytes") if isinstance(size, int) else str(size)


def _finding(window: Window, dimms: Sequence[Dimm], what: str, counts: Mapping[str, int], impact: str) -> Finding:
    said = [f"{count} of {name}" for name, count in counts.items()]
    shown = ", ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")
    fewest = min(counts, key=lambda name: counts[name])
    field = {"SIZES": "size", "TYPES": "type", "SPEEDS": "speed"}[what]
    odd = [row for row in dimms if _name(row, field) == fewest][:3]
    return Finding(
        severity=Severity.INFO,
        subject=_SUBJECT,
        title=f"MIXED MODULE {what}",
        cause=f"{len(dimms)} modules: {shown}.",
        impact=impact,
        values=(
            Value("modules", "modules", len(dimms)),
            *(Value(f"count{place}", name, count) for place, (name, count) in enumerate(counts.items())),
        ),
        evidence=cites(*(window.cite(row) for row in odd or dimms[:2])),
        advice=(
            "Give each channel of each socket the same modules.",
            run("dmidecode", "-t", "17", note="size, speed and part number").pipe(
                "grep", "-E", "Locator|Size|Speed|Part"
            ),
        ),
        refuted_by="the same size and speed of all modules in dmidecode -t 17",
        harmless_if="each channel of each socket has the same modules",
    )


def _name(row: Dimm, field: str) -> str:
    value = getattr(row, field)
    return f"{value} MT/s" if field == "speed" else _size(value)


DIMM_MIXED = Rule(
    "dimm-mixed",
    "memory modules of different size, type or rated speed",
    Severity.INFO,
    _check,
    (Dimm, MemorySocket),
    (Threshold("tolerance", 0.005, "rounding tolerance (2666 = 2667)", "ratio"),),
    covers=(Covers(MemorySocket, _SUBJECT),),
    standing=True,
    view="host",
    advice="Give each channel of each socket the same modules.",
)
