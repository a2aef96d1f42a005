r"""Sensors and events of the management controller, from recorded output of ipmitool.

    Fan1             | 0 RPM             | cr           ipmitool sdr (lib/ipmi_sdr.c: ipmi_sdr_print_sensor_fc)
    PS2 Status       | 0x01              | ok           a discrete sensor: `ok` states only that it was read
    Fan1             | 30h | lcr | 29.1 | 0 RPM         ipmitool sdr elist
    PS2 Status       | 65h | ok  | 10.2 | Presence detected, Power Supply AC lost
    Fan1             | 0.000      | RPM        | cr    | na | 360.000 | ...     ipmitool sensor (lib/ipmi_sensor.c)
    PS2 Status       | 0x1        | discrete   | 0x0900| na | na | ...
       3 | 11/27/2026 | 04:00:12 | Power Supply #0x51 | Power Supply AC lost | Asserted      ipmitool sel list
       3 | 11/27/26 | 04:00:12 CET | Power Supply PS2 Status | Power Supply AC lost | Deasserted      sel elist

    ID | Date | Time | Name | Type | State | Event       ipmi-sel --output-event-state (FreeIPMI ipmi-sel/)
    3 | Oct-06-2026 | 19:47:12 | PSU2 Status | Power Supply | Critical | Power Supply Failure detected

FreeIPMI shows no direction there: an event whose state is nominal ends the same event of the sensor. The log
(lib/ipmi_sel.c: ipmi_sel_print_std_entry) ends with the newest entry. Names of events: ipmi_sel.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec.structs import replace

from sdstop.collectors.platform.readings import HardwareEvent, HardwareSensor
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

_STATUS = {
    "ok": "ok", "nc": "non-critical", "cr": "critical", "nr": "non-recoverable", "ns": "not readable",
    "na": "not readable",
}  # fmt: skip
_UNITS = {"degrees C": "temperature", "degrees F": "temperature", "RPM": "fan", "Volts": "voltage", "Amps": "current"}
_KINDS = (
    ("power supply", expression(r"(?i)\bPSU?[ _-]?\d|\bPSU?\b|power supply")),
    ("drive", expression(r"(?i)\b(?:drive|disk|hdd|bay)\b")),
    ("memory", expression(r"(?i)\b(?:dimm|memory)")),
    ("fan", expression(r"(?i)\bfan")),
    ("temperature", expression(r"(?i)\btemp")),
)
_CODE = r"(?:ok|ns|na|[lu]?n[cr]|[lu]?cr)"
_VALUE = expression(r"-?\d[\d.]* (?P<unit>\S.*)")
_DATE = (
    expression(r"(?P<month>\d{2})/(?P<day>\d{2})/(?P<year>\d{4}|\d{2})"),
    expression(r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"),
)
_CLOCK = expression(r"(\d{2}):(\d{2}):(\d{2})(?: [A-Z]{1,5}|[+-]\d{2,4})?")
_ENTRY = 6
"""Columns of an entry at least: number, date, time, sensor, event, direction."""


def _kind(name: str, unit: str) -> str | None:
    return _UNITS.get(unit) or next((kind for kind, pattern in _KINDS if pattern.search(name)), None)


def _status(word: str) -> str:
    return _STATUS.get(word[1:] if word[:1] in {"l", "u"} and len(word) > 2 else word, word)


def parse_sensors(text: str, key: str) -> Iterator[HardwareSensor]:
    """Yield the sensors of `sdr`, `sdr elist` or `sensor`; those of one name are numbered."""
    seen: dict[str, int] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        name = cells[0]
        if not name or len(cells) not in {3, 5, 10}:
            continue
        reading = states = status = None
        unit = ""
        if len(cells) == 3:
            shown, status = cells[1], _status(cells[2])
            is_discrete = shown.startswith("0x") and status == "ok"
        elif len(cells) == 5:
            shown, status, is_discrete = cells[4], _status(cells[2]), False
            if status == "ok" and _VALUE.fullmatch(shown) is None:
                states, shown = shown, ""
        else:
            is_discrete = cells[2] == "discrete"
            shown = "" if cells[1] == "na" or is_discrete else f"{cells[1]} {cells[2]}"
            status = _status("na" if cells[1] == "na" else cells[3])
        if is_discrete:
            status = None
        elif (value := _VALUE.fullmatch(shown)) is not None:
            reading, unit = shown, value["unit"]
        seen[name] = seen.get(name, 0) + 1
        yield HardwareSensor(
            place="node", sensor=name if seen[name] == 1 else f"{name} ({seen[name]})", kind=_kind(name, unit),
            status=status, reading=reading, states=states, told=key, needle=line.partition("|")[0].rstrip() + " ",
        )  # fmt: skip


def _time(date: str, clock: str) -> float | None:
    found = next((each for pattern in _DATE if (each := pattern.fullmatch(date)) is not None), None)
    at = _CLOCK.fullmatch(clock)
    if found is None or at is None:
        return None
    year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
    hour, minute, second = map(int, at.groups())
    try:
        moment = datetime(year, int(found["month"]), int(found["day"]), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp()


def parse_events(text: str, key: str) -> Iterator[HardwareEvent]:
    """Yield the events of `sel list` or `sel elist`, the entries of one sensor and event together."""
    found: dict[tuple[str, str], HardwareEvent] = {}
    newest: float | None = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if (oem := next((cell for cell in cells[1:4] if cell.startswith("OEM record ")), None)) is not None:
            found[oem, "OEM record"] = HardwareEvent(
                sensor=oem, event="OEM record", asserted=True, count=1, told=key, needle=line.strip()
            )
        if len(cells) < _ENTRY or cells[5] not in {"Asserted", "Deasserted"}:
            continue
        at = _time(cells[1], cells[2])
        newest = at if newest is None or (at is not None and at > newest) else newest
        event, _, detail = cells[4].partition(" (")
        before = found.get((cells[3], event))
        asserted = cells[5] == "Asserted"
        found[cells[3], event] = HardwareEvent(
            sensor=cells[3], event=event, asserted=asserted, count=(before.count if before else 0) + asserted,
            at=at, last=f"{cells[1]} {cells[2]}" if at is not None else None,
            detail=detail.rstrip(")").strip() or None, told=key, needle=line.strip(),
        )  # fmt: skip
    yield from (replace(each, newest=newest) for each in found.values())


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FREE = expression(r"(?P<month>[A-Z][a-z]{2})-(?P<day>\d{2})-(?P<year>\d{4})")
_WORDS = (
    ("power supply input lost", "ac lost or out-of-range"), ("power supply failure detected", "failure detected"),
    ("uncorrectable memory error", "uncorrectable ecc"),
    ("correctable memory error logging limit reached", "correctable ecc logging limit reached"),
    ("correctable memory error", "correctable ecc"),
)  # fmt: skip
"""Events of FreeIPMI (libfreeipmi/event/ipmi-event-strings) and the names that ipmitool has for them."""


def as_ipmitool(text: str) -> str:
    """Return a log of ipmi-sel as `ipmitool sel list` prints it; a nominal event without a fault before is left out."""
    lines, faults = [], set[tuple[str, str]]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != _FREE_COLUMNS or not cells[0].isdecimal():
            continue
        number, date, clock, name, kind, state, event = cells
        day = _FREE.fullmatch(date)
        if day is not None and day["month"] in _MONTHS:
            date = f"{_MONTHS.index(day['month']) + 1:02}/{day['day']}/{day['year']}"
        event = event.partition(" ; ")[0].replace(" - going ", " going ")
        event = next((own for free, own in _WORDS if event.lower().startswith(free)), event)
        about = name if name.lower().startswith(kind.lower()) else f"{kind} {name}"
        if state in {"Critical", "Warning"}:
            faults.add((about, event))
        elif (about, event) not in faults:
            continue
        direction = "Deasserted" if state == "Nominal" else "Asserted"
        lines.append(f"{number} | {date} | {clock} | {about} | {event} | {direction}")
    return "\n".join(lines)


_FREE_COLUMNS = 7
SENSORS = Form(
    key="cmd:ipmitool sdr",
    first=r"[^\s|][^|\n]{0,15} *\| (?:-?\d[\d.]* (?:degrees [CFK]|Volts|Amps|Watts|RPM|percent|CFM)"
    r"|0x[0-9a-f]{2}|no reading|disabled|Not Readable) *"
    rf"\| {_CODE} *$"
    rf"|[^\s|][^|\n]{{0,15}} *\| [0-9A-F]{{2}}h \| {_CODE} *\| +\d+\.\d+ *\|"
    rf"|[^\s|][^|\n]{{0,15}} *\| (?:-?\d+\.\d{{3}}|na|0x[0-9a-f]+) *\| (?:\S[^|\n]*?) *\| (?:{_CODE}|0x[0-9a-f]{{4}}) *"
    r"\| (?:na|-?\d+\.\d{3}) *\|",
    goes_on=r"[^|]{1,24}\|[^|]*\|[^|]*(?:\|.*)?",
    reads="sensors of the management controller",
    versions="ipmitool 1.8: sdr, sdr elist, sensor",
)
EVENTS = Form(
    key="cmd:ipmitool sel list",
    first=r" *[0-9a-f]{1,4} \| (?: *Pre-Init *\|\d{10}|[\d/.-]{6,10} \| \d\d:\d\d:\d\d[^|\n]{0,10})\| [^|\n]{3,60} \| ",
    goes_on=r" *[0-9a-f]{1,4} \|.*",
    reads="events of the management controller's log",
    versions="ipmitool 1.8: sel list, sel elist",
)


FREE_EVENTS = Form(
    key="cmd:ipmi-sel --output-event-state",
    first=r"ID +\| Date +\| Time +\| Name +\| Type +\| State +\| Event *$",
    goes_on=r"\d+ +\|.*\|.*",
    reads="events of the management controller's log",
    versions="FreeIPMI 1.0 and later, with the column State",
)


def read(host: Host) -> Iterable[Reading]:
    """Return the sensors and events of recorded outputs. Raises Absent without any."""
    sensors: dict[str, HardwareSensor] = {}
    for output in outputs(host, SENSORS):
        for row in parse_sensors(output.text, output.key):
            known = sensors.get(row.sensor)
            if known is None or known.status in {None, "not readable"}:  # the output that shows its state
                sensors[row.sensor] = row
    events = [row for output in outputs(host, EVENTS) for row in parse_events(output.text, output.key)]
    for output in outputs(host, FREE_EVENTS):
        rows = parse_events(as_ipmitool(output.text), output.key)
        events += [replace(row, needle=f"| {row.last.split()[1]} |" if row.last else "") for row in rows]
    if not sensors and not events:
        raise Absent(SENSORS.key, "not recorded", recorded=False)
    return [*sensors.values(), *{(row.sensor, row.event): row for row in events}.values()]


IPMI = Collector(
    "ipmi",
    "Sensors and events in recorded output of ipmitool",
    read,
    (HardwareSensor, HardwareEvent),
    (
        Need("cmd:ipmitool *", "sensors and events of the hardware, from captures only; never run"),
        Need("cmd:ipmi-sel *", "events of the hardware, from captures only; never run"),
    ),
    SLOW,
    forms=(SENSORS, EVENTS, FREE_EVENTS),
)
