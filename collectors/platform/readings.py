"""Readings of the management controller and of enclosures: sensors as they are now, and the log of events."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State


class HardwareSensor(Reading, frozen=True, kw_only=True):
    """A sensor of the node (IPMI) or an element of an enclosure (SES), as it was when its output was printed.

    `status` is that of the thresholds, or of the element; None where an output shows no state of a discrete sensor.
    `states` are the discrete states that hold, comma-separated, as the tool words them.
    """

    family: ClassVar[str] = "hardware_sensor"
    title: ClassVar[str] = "Sensors of the hardware"
    joined: ClassVar[bool] = True
    rows_of = Source("{told}", "{needle}")

    place: Annotated[str, Label("Place", "node, or the device of an enclosure", names=Name.DEVICE)]
    sensor: Annotated[str, Label("Sensor", "Name of the sensor or element", plain=True)]
    kind: Annotated[str | None, Fact("Kind", "power supply, fan, temperature, voltage, drive ...", plain=True)] = None
    status: Annotated[
        str | None,
        State(
            "Status",
            "State of a sensor: ok, non-critical, critical, non-recoverable, not readable, or as printed",
        ),
    ] = None
    reading: Annotated[str | None, Fact("Reading", "Value with its unit", plain=True)] = None
    states: Annotated[str | None, Fact("States", "Discrete states that hold", plain=True)] = None
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    @property
    def name(self) -> str:
        """Sensor, and the enclosure if it is in one."""
        return self.sensor if self.place == "node" else f"{self.place}/{self.sensor}"


class HardwareEvent(Reading, frozen=True, kw_only=True):
    """Entries of one event of one sensor in the log of the management controller.

    `asserted` is the direction of the last of them; many events are never deasserted. Times are of the controller's
    clock without a zone.
    """

    family: ClassVar[str] = "hardware_event"
    title: ClassVar[str] = "Events of the hardware"
    rows_of = Source("{told}", "{needle}")

    sensor: Annotated[str, Label("Sensor", "Kind and number, or name, of the sensor", plain=True)]
    event: Annotated[str, Label("Event", "Logged event, without details", plain=True)]
    asserted: Annotated[bool, Fact("Asserted", "Whether the last entry asserts it")]
    count: Annotated[int, Metric("Entries", "Entries that assert it", name="sdstop_hardware_event_entries")]
    at: Annotated[
        float | None, Metric("Last at", "Time of the last entry, as if its clock were UTC", "seconds", export=False)
    ] = None
    last: Annotated[str | None, Fact("Last", "Time of the last entry, as printed", plain=True)] = None
    detail: Annotated[str | None, Fact("Detail", "Details of the last entry", plain=True)] = None
    newest: Annotated[
        float | None, Metric("Log ends", "Time of the newest entry of the log", "seconds", export=False)
    ] = None
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""
