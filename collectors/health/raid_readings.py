"""RAID controllers with their caches, volumes and disks, as their own programs report them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.format import quantity
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source


class RaidController(Reading, frozen=True, kw_only=True):
    """A RAID controller: its cache, and the battery or capacitor that keeps the cache's data without power."""

    family: ClassVar[str] = "raid_controller"
    title: ClassVar[str] = "RAID controllers"
    rows_of = Source("{told}", "{needle}")
    things: ClassVar = {"controller": Identity(ThingKind.CONTROLLER, Naming.SCSI, aliases=(("{address}", Naming.PCI),))}

    controller: Annotated[str, Label("Controller", "Number as its program shows it: c0, slot 0", plain=True)]
    model: Annotated[str | None, Fact("Model", "Model", plain=True)] = None
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False, names=Name.SERIAL)] = None
    firmware: Annotated[str | None, Fact("Firmware", "Firmware version", plain=True)] = None
    address: Annotated[str | None, Fact("Address", "PCI address", plain=True)] = None
    state: Annotated[str | None, Fact("State", "State as its program reports it", plain=True)] = None
    healthy: Annotated[bool | None, Metric("Healthy", "Whether the controller reports itself as healthy")] = None
    battery: Annotated[
        str | None, Fact("Battery", "State of the battery or capacitor of its cache; none: it has none", plain=True)
    ] = None
    protected: Annotated[
        bool | None, Metric("Cache protected", "Whether the battery or capacitor of the cache is good", setting=True)
    ] = None
    cache: Annotated[str | None, Fact("Cache", "State of its write cache, if it reports one", plain=True)] = None
    forced: Annotated[
        bool | None, Metric("Write-back forced", "Whether it caches writes even without a good battery", setting=True)
    ] = None
    patrol: Annotated[str | None, Fact("Patrol read", "Interval of the patrol read, or that it is off", plain=True)] = (
        None
    )
    told: Annotated[str, Fact("Source", "Evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks the battery in its evidence", export=False, names=Name.EVIDENCE)] = ""


class RaidVolume(Reading, frozen=True, kw_only=True):
    """A volume (virtual or logical drive) of a RAID controller."""

    family: ClassVar[str] = "raid_volume"
    title: ClassVar[str] = "RAID controller volumes"
    rows_of = Source("{told}", "{needle}")
    things: ClassVar = {
        "volume": Identity(ThingKind.GROUP, Naming.SCSI),
        "device": Identity(None, Naming.DEV),
        "controller": Identity(None, Naming.SCSI),
    }
    joins = (Join("device", "volume", Relation.STORED), Join("volume", "controller", Relation.ATTACHED))

    volume: Annotated[str, Label("Volume", "Controller and number: c0/v1, slot 0/ld 1", plain=True)]
    controller: Annotated[str, Fact("Controller", "Its controller", plain=True)]
    device: Annotated[str | None, Fact("Device", "Kernel name, if known", names=Name.DEVICE)] = None
    level: Annotated[str | None, Fact("Level", "RAID level", plain=True)] = None
    state: Annotated[str | None, Fact("State", "State as the program reports it", plain=True)] = None
    whole: Annotated[bool | None, Metric("Whole", "Whether the volume lacks no disk; absent for unknown states")] = None
    lost: Annotated[bool | None, Metric("Offline", "Whether the volume is offline or failed")] = None
    cache: Annotated[
        str | None, Fact("Cache", "Cache policy: WB write-back, AWB forced, WT write-through", plain=True)
    ] = None
    write_back: Annotated[bool | None, Metric("Write-back", "Whether writes are cached now", setting=True)] = None
    configured: Annotated[
        bool | None, Metric("Write-back configured", "Whether writes should be cached", setting=True)
    ] = None
    forced: Annotated[
        bool | None, Metric("Write-back forced", "Whether they are cached without a good battery", setting=True)
    ] = None
    damaged: Annotated[
        bool | None, Metric("Damaged", "Whether the controller found blocks that no disk of the volume could restore")
    ] = None
    told: Annotated[str, Fact("Source", "Evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks the volume in its evidence", export=False, names=Name.EVIDENCE)] = ""


class RaidDisk(Reading, frozen=True, kw_only=True):
    """A disk behind a RAID controller, with the errors that the controller counted."""

    family: ClassVar[str] = "raid_disk"
    title: ClassVar[str] = "RAID controller disks"
    rows_of = Source("{told}", "{needle}")
    fields_of: ClassVar = {"predicted": Source("{told}", "Predictive Failure")}
    things: ClassVar = {
        "disk": Identity(ThingKind.DEVICE, Naming.SCSI),
        "volume": Identity(None, Naming.SCSI),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
        "controller": Identity(None, Naming.SCSI),
    }
    joins = (
        Join("volume", "disk", Relation.MEMBER),
        Join("disk", "enclosure|controller", Relation.LOCATED),
        Join("enclosure", "controller", Relation.ATTACHED),
    )

    disk: Annotated[str, Label("Disk", "Controller, enclosure and slot: c0/e32/s4, slot 0/1I:1:4", plain=True)]
    controller: Annotated[str, Fact("Controller", "Its controller", plain=True)]
    enclosure: Annotated[str | None, Fact("Enclosure", "Controller and enclosure", plain=True)] = None
    volume: Annotated[str | None, Fact("Volume", "The volume that it is a member of", plain=True)] = None
    state: Annotated[str | None, Fact("State", "State as the program reports it", plain=True)] = None
    good: Annotated[
        bool | None, Metric("Good", "Whether the disk serves, or is a spare; absent for unknown states")
    ] = None
    rebuilding: Annotated[bool | None, Metric("Rebuilding", "Whether the disk is being rebuilt")] = None
    predicted: Annotated[
        int | None, Metric("Predicted failures", "Warnings of failure, counted by the controller", exact=True)
    ] = None
    alert: Annotated[bool | None, Metric("SMART alert", "Whether the disk itself warns of its failure")] = None
    media_errors: Annotated[int | None, Metric("Media errors", "Media errors", kind=Kind.COUNTER, exact=True)] = None
    other_errors: Annotated[
        int | None, Metric("Other errors", "Errors of the link and others", kind=Kind.COUNTER, exact=True)
    ] = None
    temperature: Annotated[float | None, Metric("Temperature", "Temperature", "celsius")] = None
    flash: Annotated[bool | None, Metric("Flash", "Whether the disk has no rotating medium", detail=True)] = None
    model: Annotated[str | None, Fact("Model", "Model", plain=True)] = None
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False, names=Name.SERIAL)] = None
    wwn: Annotated[str | None, Fact("WWN", "World wide name", export=False, names=Name.IDENTIFIER)] = None
    tool: Annotated[str | None, Fact("Program", "Program that reports it", export=False, plain=True)] = None
    told: Annotated[str, Fact("Source", "Evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks the disk in its evidence", export=False, names=Name.EVIDENCE)] = ""

    def words(self) -> str:
        """Return its state, errors and temperature."""
        counts = (("predicted failures", self.predicted), ("media errors", self.media_errors))
        said = [self.state or "state unknown", *(f"{number} {name}" for name, number in counts if number)]
        said += [quantity(self.temperature, "celsius")] if self.temperature is not None else []
        return ", ".join(said)
