"""Corrected and uncorrected memory errors, as counted by the kernel's EDAC drivers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Source, Unplaced

MC = "/sys/devices/system/edac/mc"
_MIB = 1 << 20


_CONTROLLER = {
    "name": "mc_name", "size": "size_mb", "counted_for": "seconds_since_reset", "corrected": "ce_count",
    "uncorrected": "ue_count", "unplaced": "ce_noinfo_count", "uncorrected_unplaced": "ue_noinfo_count",
}  # fmt: skip


class MemoryController(Reading, frozen=True):
    """A memory controller (kernel drivers/edac/edac_mc_sysfs.c). Counters start when its driver is loaded.

    `unplaced` errors are not attributed to a module by the hardware; they are also included in the other counters.
    """

    family: ClassVar[str] = "memory_controller"
    title: ClassVar[str] = "Memory controllers"
    things: ClassVar = {
        "controller": Identity(ThingKind.CONTROLLER, Naming.EDAC),
    }

    controller: Annotated[str, Label("Controller", "mcN", plain=True)]
    name: Annotated[str | None, Fact("Name", "Name given by its driver", plain=True)]
    size: Annotated[int | None, Metric("Memory", "Memory behind it", "bytes")]
    counted_for: Annotated[float | None, Metric("Counted for", "Time since the counters were reset", "seconds")]
    corrected: Annotated[int | None, Metric("Corrected", "Corrected memory errors", kind=Kind.COUNTER)]
    uncorrected: Annotated[int | None, Metric("Uncorrected", "Uncorrected memory errors", kind=Kind.COUNTER)]
    unplaced: Annotated[int | None, Metric("Unplaced", "Corrected errors without a known module", kind=Kind.COUNTER)]
    uncorrected_unplaced: Annotated[
        int | None, Metric("Uncorrected, unplaced", "Uncorrected errors without a known module", kind=Kind.COUNTER)
    ]
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the attribute of a field (by default the corrected errors), or the line of an output."""
        if self.told is not None:
            return Source(self.told, self.needle)
        return Source(f"{MC}/{self.controller}/{_CONTROLLER.get(field, 'ce_count')}")


class MemoryErrors(Reading, frozen=True):
    """Errors of a module (dimm), a rank, or a row and channel, as far as the controller distinguishes them."""

    family: ClassVar[str] = "memory_errors"
    title: ClassVar[str] = "Memory errors"
    things: ClassVar = {
        "place": Identity(ThingKind.DIMM, Naming.EDAC, aliases=(("{label}", Naming.DIMM),)),
        "controller": Identity(ThingKind.CONTROLLER, Naming.EDAC),
    }
    joins = (Join("place", "controller", Relation.ATTACHED),)

    place: Annotated[str, Label("Place", "mcN/dimmN, mcN/rankN; of old kernels mcN/csrowN/chN", plain=True)]
    controller: Annotated[str, Fact("Controller", "mcN", plain=True)]
    label: Annotated[str | None, Fact("Name", "Name of the slot, from the driver or an administrator", plain=True)]
    location: Annotated[
        str | None, Fact("Location", "Location by the hardware's numbering: channel 1 slot 0", export=False, plain=True)
    ]
    size: Annotated[int | None, Metric("Memory", "Size of the module", "bytes")]
    corrected: Annotated[int | None, Metric("Corrected", "Corrected memory errors", kind=Kind.COUNTER)]
    uncorrected: Annotated[int | None, Metric("Uncorrected", "Uncorrected memory errors", kind=Kind.COUNTER)]
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the attribute of a field (by default the corrected errors), or the line of an output."""
        if self.told is not None:
            return Source(self.told, self.needle)
        head, _, last = self.place.rpartition("/")
        if last.startswith("ch"):  # csrow3/ch0: ch0_ce_count; uncorrected errors are counted only per row
            names = {"label": f"{last}_dimm_label", "uncorrected": "ue_count", "size": "size_mb"}
            return Source(f"{MC}/{head}/{names.get(field, f'{last}_ce_count')}")
        names = {
            "label": "dimm_label", "location": "dimm_location", "size": "size", "uncorrected": "dimm_ue_count"
        }  # fmt: skip
        return Source(f"{MC}/{self.place}/{names.get(field, 'dimm_ce_count')}")


class MemoryErrorActivity(Reading, frozen=True):
    """Memory errors of a module, rank or channel between two samples."""

    family: ClassVar[str] = "memory_error_activity"
    title: ClassVar[str] = "New memory errors"
    exported: ClassVar[bool] = False
    rows_of = Unplaced("it follows from two readings of a place")
    things: ClassVar = {
        "place": Identity(None, Naming.EDAC),
    }

    place: Annotated[str, Label("Place", "As in the other tables", plain=True)]
    seconds: Annotated[float, Metric("Time", "Time between the two readings", "seconds")]
    corrected: Annotated[int, Metric("Corrected", "New corrected memory errors")]
    uncorrected: Annotated[int, Metric("Uncorrected", "New uncorrected memory errors")]


class MemoryControllerActivity(MemoryErrorActivity, frozen=True):
    """Memory errors of a whole controller between two samples."""

    family: ClassVar[str] = "memory_controller_activity"
    title: ClassVar[str] = "New errors of memory controllers"
    rows_of = Unplaced("it follows from two readings of a controller")
    things: ClassVar = {
        "place": Identity(ThingKind.CONTROLLER, Naming.EDAC),
    }


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
        corrected, uncorrected, unplaced, lost = (host.number(f"{base}/{_CONTROLLER[field]}") for field in _COUNTS)
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
