"""Corrected and uncorrected memory errors, as counted by the kernel's EDAC drivers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.collectors.memory.readings import (
    CONTROLLER,
    MC,
    MemoryController,
    MemoryControllerActivity,
    MemoryErrorActivity,
    MemoryErrors,
)
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Derivation, Reading

_MIB = 1 << 20
"""Bytes."""


def read(host: Host) -> Iterable[Reading]:
    """Return controllers and their modules. Raise Absent if no driver counts errors: no ECC, or a guest."""
    names = [name for name in host.entries(MC) if re.fullmatch(r"mc\d{1,4}", name)]
    if not names:
        raise Absent(MC, "no EDAC driver (no ECC memory, virtual machine, or firmware-first error handling)")
    return _rows(host, names)


def _rows(host: Host, names: list[str]) -> Iterator[Reading]:
    for name in names:
        base = f"{MC}/{name}"
        size = host.number(f"{base}/size_mb")
        corrected, uncorrected, unplaced, lost = (host.number(f"{base}/{CONTROLLER[field]}") for field in _COUNTS)
        yield MemoryController(
            name,
            host.maybe(f"{base}/mc_name") or None,
            None if size is None else size * _MIB,
            host.number(f"{base}/seconds_since_reset"),
            corrected,
            uncorrected,
            unplaced,
            lost,
        )
        inside = host.names(base)
        modules = [entry for entry in inside if re.fullmatch(r"(?:dimm|rank)\d{1,4}", entry)]
        if modules:
            yield from (_module(host, name, entry) for entry in modules)
        else:
            for row in (entry for entry in inside if re.fullmatch(r"csrow\d{1,4}", entry)):
                yield from _row(host, name, row)


_COUNTS = ("corrected", "uncorrected", "unplaced", "uncorrected_unplaced")


def _module(host: Host, controller: str, entry: str) -> MemoryErrors:
    base = f"{MC}/{controller}/{entry}"
    size = host.number(f"{base}/size")
    return MemoryErrors(
        f"{controller}/{entry}",
        controller,
        host.maybe(f"{base}/dimm_label") or None,
        host.maybe(f"{base}/dimm_location") or None,
        None if size is None else size * _MIB,
        host.number(f"{base}/dimm_ce_count"),
        host.number(f"{base}/dimm_ue_count"),
    )


def _row(host: Host, controller: str, entry: str) -> Iterator[MemoryErrors]:
    """Yield the channels of a row; kernels before 3.6 have nothing else."""
    base = f"{MC}/{controller}/{entry}"
    channels = sorted({int(n[1]) for name in host.names(base) if (n := re.fullmatch(r"ch(\d{1,3})_ce_count", name))})
    uncorrected = host.number(f"{base}/ue_count")
    for number in channels:
        yield MemoryErrors(
            f"{controller}/{entry}/ch{number}",
            controller,
            host.maybe(f"{base}/ch{number}_dimm_label") or None,
            None,
            None,
            host.number(f"{base}/ch{number}_ce_count"),
            uncorrected if len(channels) == 1 else None,  # counted per row, so the channel is unknown
        )


def _step(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def activity(before: MemoryErrors, after: MemoryErrors, seconds: float) -> MemoryErrorActivity | None:
    """Return the new errors of a module, rank or channel; None if a counter is unknown or was reset."""
    corrected, uncorrected = _step(before.corrected, after.corrected), _step(before.uncorrected, after.uncorrected)
    if seconds <= 0 or corrected is None or corrected < 0 or (uncorrected or 0) < 0:
        return None
    return MemoryErrorActivity(after.place, seconds, corrected, uncorrected or 0)


def controller_activity(
    before: MemoryController, after: MemoryController, seconds: float
) -> MemoryControllerActivity | None:
    """Return the new errors of a controller; None if a counter is unknown or was reset."""
    corrected, uncorrected = _step(before.corrected, after.corrected), _step(before.uncorrected, after.uncorrected)
    if seconds <= 0 or corrected is None or uncorrected is None or corrected < 0 or uncorrected < 0:
        return None
    return MemoryControllerActivity(after.controller, seconds, corrected, uncorrected)


EDAC = Collector(
    "edac",
    "Corrected and uncorrected memory errors",
    read,
    (MemoryController, MemoryErrors),
    (
        Need(f"list:{MC}", "which memory controllers there are"),
        Need(
            f"{MC}/*",
            "errors of memory controllers and of their modules, with the names of the modules",
            filled=("*ce_count", "*ue_count", "*noinfo_count", "size", "size_mb"),
        ),
        Need(f"list:{MC}/*", "the modules or rows of a controller"),
    ),
    SLOW,
    deadline=5.0,
    derives=(
        Derivation(MemoryErrors, MemoryErrorActivity, activity),
        Derivation(MemoryController, MemoryControllerActivity, controller_activity),
    ),
)
