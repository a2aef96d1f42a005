"""Elements of SES enclosures in recorded output of sg_ses: power supplies, fans, temperatures, slots.

      LSI       SAS3x40           0601                   sg_ses -p 2 /dev/sg12 (sg3_utils src/sg_ses.c)
    Enclosure Status diagnostic page:
      INVOP=0, INFO=0, NON-CRIT=0, CRIT=1, UNRECOV=0
        Element type: Power supply, subenclosure id: 0 [ti=1]
          Overall descriptor:
            Predicted failure=0, Disabled=0, Swap=0, status: OK
          Element 0 descriptor:
            Predicted failure=0, Disabled=0, Swap=0, status: Critical
            Overtmp fail=0, Temperature warn=0, AC fail=1, DC fail=0
    Slot 01 [0,0]  Element type: Array device slot       sg_ses --join
      Enclosure Status:
        Predicted failure=0, Disabled=0, Swap=0, status: OK

The element `Overall` is a summary that many enclosures leave unsupported; it is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from sdstop.collectors.platform.readings import HardwareSensor
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, FormOutput, outputs
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

_TYPE = expression(r"\s*Element type: (?P<type>[^,\[]{2,60}?), subenclosure id: \d+(?: \[ti=\d+\])?\s*")
_ELEMENT = expression(r"\s*Element (?P<number>\d{1,4}) descriptor:\s*")
_OVERALL = expression(r"\s*Overall descriptor:\s*")
_JOINED = expression(
    r"(?:(?P<name>\S.{0,60}?) )?\[(?P<type>\d{1,3}),(?P<number>-?\d{1,4})\]  Element type: (?P<kind>.{2,60})"
)
_STATUS = expression(r"\s+Predicted failure=(?P<predicted>\d), Disabled=\d, Swap=\d, status: (?P<status>\S.{0,40}?)\s*")
_FLAG = expression(r"\b([A-Za-z][A-Za-z/ ]{1,30}?)=1\b")
_VALUE = expression(r"(?:Temperature=-?\d{1,4} C|Actual speed=\d{1,6} rpm|Voltage: -?[\d.]{1,8} volts)")
_OTHER_PART = expression(r"\s+Additional Element Status:\s*")
_STATES = {
    "OK": "ok", "Critical": "critical", "Noncritical": "non-critical", "Unrecoverable": "non-recoverable",
    "Not installed": "not readable", "Unsupported": "not readable",
    "Not available": "not readable", "No access allowed": "not readable",
}  # fmt: skip
_KINDS = {
    "Power supply": "power supply", "Cooling": "fan", "Temperature sensor": "temperature", "Voltage sensor": "voltage",
    "Current sensor": "current", "Array device slot": "drive", "Device slot": "drive",
}  # fmt: skip
_WORDS = {"ovrtmp fail": "Overtmp fail", "temp warn": "Temperature warn", "fault reqstd": "Fault requested"}
"""Flags as older versions abbreviate them."""
_PLAIN = frozenset({
    "Ident", "OK", "Do not remove", "Hot swap", "Requested on", "Rqsted on", "Fault requested", "RMV",
    "Ready to insert", "Report", "Swap", "Hot spare", "Reserved device", "Cons check", "Actual_fan_speed",
    "Fan_speed_factor", "Mated",
})  # fmt: skip
"""Flags without a meaning for the health of an element."""


class _Element(Struct):
    """An element while its lines are read."""

    name: str
    kind: str
    line: str
    status: str = ""
    flags: list[str] = field(default_factory=list)
    reading: str | None = None


def parse(text: str, key: str, place: str) -> Iterator[HardwareSensor]:
    """Yield the elements of `sg_ses -p 2`, `--page=es` or `--join`; those without a status were cut off."""
    found: list[_Element] = []
    kind, current, seen = "", None, dict[str, int]()
    for line in text.splitlines():
        if (of := _TYPE.fullmatch(line)) is not None:
            kind, current = of["type"], None
        elif (joined := _JOINED.fullmatch(line.rstrip())) is not None:
            kind = joined["kind"].strip()
            name = joined["name"] or f"{kind} {joined['number']}"
            current = None if joined["number"] == "-1" else _Element(name, kind, line.strip())
            found += [] if current is None else [current]
        elif (element := _ELEMENT.fullmatch(line)) is not None and kind:
            current = _Element(f"{kind} {element['number']}", kind, line.strip())
            found.append(current)
        elif _OVERALL.fullmatch(line) is not None or _OTHER_PART.fullmatch(line) is not None:
            current = None
        elif current is not None and (status := _STATUS.fullmatch(line)) is not None:
            current.status = status["status"]
            current.flags += ["Predicted failure"] if status["predicted"] == "1" else []
        elif current is not None and current.status:
            current.flags += [_WORDS.get(flag.lower(), flag) for flag in _FLAG.findall(line)]
            value = _VALUE.search(line)
            current.reading = value[0].replace("=", " ") if value is not None else current.reading
    for each in found:
        if not each.status:
            continue
        seen[each.name] = seen.get(each.name, 0) + 1
        flags = [flag for flag in each.flags if flag not in _PLAIN]
        yield HardwareSensor(
            place=place, sensor=each.name if seen[each.name] == 1 else f"{each.name} ({seen[each.name]})",
            kind=_KINDS.get(each.kind), status=_STATES.get(each.status, each.status), reading=each.reading,
            states=", ".join(flags) if flags else None, told=key, needle=each.line,
        )  # fmt: skip


def fault(text: str) -> str:
    """Return why a text is not the whole output: an element without its status."""
    last = re.split(r"(?m)^\s*Element \d+ descriptor:\s*$|^.*\[\d+,-?\d+\]  Element type: .*$", text)[-1]
    return NOT_SHOWN if "status: " in last else "last element cut off"


SES = Form(
    key="cmd:sg_ses -p 2",
    first=r"(?: {2}\S[^\n]{6,60}\n(?: {4}[^\n]+\n)*)?Enclosure [Ss]tatus diagnostic page:\s*$"
    r"|(?: {2}\S[^\n]{6,60}\n(?: {4}[^\n]+\n)*)?(?:\S[^\n]{0,60} )?\[\d+,-?\d+\]  Element type: [A-Z]",
    goes_on=r"\s+\S.*|Enclosure [Ss]tatus diagnostic page:.*|(?:\S.* )?\[\d+,-?\d+\]  Element type: .*",
    reads="power supplies, fans, temperatures and slots of enclosures",
    versions="sg3_utils 1.30 and later: -p 2, --page=es, --join",
    fault=fault,
)


def _place(output: FormOutput) -> str:
    return next((path for path in reversed(output.paths) if path.startswith("/dev/")), "enclosure")


def read(host: Host) -> Iterable[Reading]:
    """Return the elements of recorded outputs; of several about one enclosure the last. Raises Absent without any."""
    rows = [row for output in outputs(host, SES) for row in parse(output.text, output.key, _place(output))]
    if not rows:
        raise Absent(SES.key, "not recorded", recorded=False)
    return list({(row.place, row.sensor): row for row in rows}.values())


SES_ELEMENTS = Collector(
    "ses",
    "Elements of enclosures in recorded output of sg_ses",
    read,
    (HardwareSensor,),
    (Need("cmd:sg_ses *", "power supplies, fans, temperatures and slots, from captures only; never run"),),
    SLOW,
    forms=(SES,),
)
