"""Readings of memory: modules, controllers, errors, traffic."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, Unplaced

TABLE = "/sys/firmware/dmi/tables/DMI"

TRANSFERS = 1e6
"""Transfers per second of 1 MT/s."""


class Dimm(Reading, frozen=True, kw_only=True):
    """A memory slot, populated or empty; read once, because modules change only with the power off.

    Speeds are in transfers per second, of 8 bytes each.
    """

    family: ClassVar[str] = "dimm"
    title: ClassVar[str] = "Memory modules"
    rows_of = (Source("{where}", "{needle}"), Source(TABLE, "{needle}"))
    things: ClassVar = {
        "slot": Identity(ThingKind.DIMM, Naming.DIMM),
        "channel": Identity(ThingKind.MEMORY_CHANNEL, Naming.SOCKET, "{socket}/{channel}"),
        "socket": Identity(ThingKind.SOCKET, Naming.SOCKET),
    }
    joins = (
        Join("slot", "channel|socket", Relation.ATTACHED),
        Join("channel", "socket", Relation.PART),
    )

    slot: Annotated[str, Label("Slot", "Name on the board, with the bank's where slots share a name", plain=True)]
    socket: Annotated[str | None, Fact("Socket", "Processor socket, from 0, if the slots' names prove it", plain=True)]
    channel: Annotated[
        str | None, Fact("Channel", "Memory channel of the processor, if the slots' names prove it", plain=True)
    ]
    size: Annotated[int | None, Metric("Size", "Size of the module; 0 for an empty slot", "bytes", setting=True)]
    speed: Annotated[
        int | None,
        Metric(
            "Rated", "Rated speed of the module, in transfers per second", "per_second", scale=TRANSFERS, setting=True
        ),
    ]
    configured: Annotated[
        int | None,
        Metric(
            "Runs at",
            "Configured speed of the module, in transfers per second",
            "per_second",
            scale=TRANSFERS,
            setting=True,
        ),
    ]
    type: Annotated[str | None, Fact("Type", "DDR3, DDR4, DDR5 ...", plain=True)]
    rank: Annotated[int | None, Metric("Ranks", "Ranks of the module")]
    maker: Annotated[str | None, Fact("Maker", "Manufacturer, as reported by the firmware", plain=True)]
    part: Annotated[str | None, Fact("Part", "Part number", plain=True)]
    where: Annotated[str, Fact("Where", "Evidence of it", export=False, names=Name.EVIDENCE)] = TABLE
    needle: Annotated[str, Fact("Mark", "Text that marks it there", export=False, names=Name.EVIDENCE)] = ""


class MemorySocket(Reading, frozen=True, kw_only=True):
    """A populated processor socket and its memory.

    Fields are None if it is unknown which slots belong to the socket. `used` counts channels with a module; if
    `at_most` is set it is an upper bound derived from the number of modules.
    """

    family: ClassVar[str] = "memory_socket"
    title: ClassVar[str] = "Memory of each processor"
    rows_of = (Source("{where}", "{needle}"), Source(TABLE, "{needle}"))
    things: ClassVar = {
        "socket": Identity(ThingKind.SOCKET, Naming.SOCKET),
    }

    socket: Annotated[str, Label("Socket", "Processor socket, from 0, in the order of the firmware", plain=True)]
    cpu: Annotated[str | None, Fact("Processor", "Model", plain=True)]
    basis: Annotated[
        str | None, Fact("Known by", "How the channels are known: cpu, or slots (their names)", plain=True)
    ]
    virtual: Annotated[bool, Metric("Virtual", "Whether the firmware is that of a virtual machine", export=False)]
    channels: Annotated[int | None, Metric("Channels", "Number of memory channels", setting=True)]
    used: Annotated[int | None, Metric("Used", "Number of memory channels with a module (upper bound)", setting=True)]
    at_most: Annotated[bool, Metric("At most", "Whether fewer channels may be in use", export=False)]
    slots: Annotated[int | None, Metric("Slots", "Number of memory slots", setting=True)]
    dimms: Annotated[int | None, Metric("DIMMs", "Number of memory slots with a module", setting=True)]
    capacity: Annotated[int | None, Metric("Memory", "Size of all modules of the socket", "bytes", setting=True)]
    fastest: Annotated[
        int | None,
        Metric(
            "CPU takes",
            "Maximum transfer rate that the processor supports",
            "per_second",
            scale=TRANSFERS,
            setting=True,
            detail=True,
        ),
    ]
    peak: Annotated[
        float | None,
        Metric(
            "Peak", "Peak bandwidth of the channels in use (8 bytes per transfer)", "bytes_per_second", setting=True
        ),
    ]
    possible: Annotated[
        float | None,
        Metric("Possible", "Peak bandwidth with all channels populated, at this speed", "bytes_per_second"),
    ]
    where: Annotated[str, Fact("Where", "Evidence of it", export=False, names=Name.EVIDENCE)] = TABLE
    needle: Annotated[str, Fact("Mark", "Text that marks it there", export=False, names=Name.EVIDENCE)] = ""


MC = "/sys/devices/system/edac/mc"

CONTROLLER = {
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
        return Source(f"{MC}/{self.controller}/{CONTROLLER.get(field, 'ce_count')}")


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


TOP = "/sys/fs/resctrl"


class MemoryTraffic(Reading, frozen=True):
    """Bytes between a last-level cache and memory since resctrl was mounted, of all tasks together.

    The processor counts them for each monitoring group (Linux Documentation/arch/x86/resctrl.rst); the sum over the
    groups is that of the cache. A group that is removed takes its bytes with it. The file system is never mounted for
    this.
    """

    family: ClassVar[str] = "memory_traffic"
    title: ClassVar[str] = "Memory traffic (measured)"
    rows_of = Source(f"{TOP}/mon_data/{{folder}}/mbm_total_bytes")
    fields_of: ClassVar = {"local": Source(f"{TOP}/mon_data/{{folder}}/mbm_local_bytes")}

    domain: Annotated[str, Label("Cache", "Number of the last-level cache, mostly that of its socket", plain=True)]
    folder: Annotated[str, Label("Folder", "Its folder in resctrl: mon_L3_00", plain=True)]
    total: Annotated[int | None, Metric("Total", "Bytes between the cache and memory", "bytes", Kind.COUNTER)]
    local: Annotated[
        int | None, Metric("Local", "Bytes between the cache and the memory of its node", "bytes", Kind.COUNTER)
    ]


class MemoryBandwidth(Reading, frozen=True):
    """Memory traffic of a last-level cache between two samples."""

    family: ClassVar[str] = "memory_bandwidth"
    title: ClassVar[str] = "Memory bandwidth in use (measured)"
    exported: ClassVar[bool] = False
    rows_of = Source(f"{TOP}/mon_data/{{folder}}/mbm_total_bytes")

    domain: Annotated[str, Label("Cache", "Number of the last-level cache", plain=True)]
    folder: Annotated[str, Label("Folder", "Its folder in resctrl: mon_L3_00", plain=True)]
    rate: Annotated[float, Metric("Traffic", "Bytes between the cache and memory per second", "bytes_per_second")]
    remote: Annotated[float | None, Metric("Remote", "Share of the traffic that crosses to another NUMA node", "ratio")]
