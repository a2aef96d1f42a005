"""smartctl's text about one disk, of any version and with any options.

    SMART overall-health self-assessment test result: PASSED
    ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
    197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       0

Formats: smartctl(8), and ataprint.cpp, scsiprint.cpp and nvmeprint.cpp of smartmontools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.collectors.health.smart_fields import (
    HOUR,
    Fields,
    SmartAttribute,
    celsius,
    last_error,
    of_attributes,
    serial,
    share,
    spares,
    tested,
)
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_ROW = expression(
    r" *(?P<id>\d{1,3}) (?P<name>[A-Za-z][\w./-]*) +(?P<flags>0x[0-9a-f]{4}|[POSRCK-]{6}) +(?P<value>\d{3}|---) +"
    r"(?P<worst>\d{3}|---) +(?P<thresh>\d{3}|---) +(?:(?:Pre-fail|Old_age) +(?:Always|Offline) +)?"
    r"(?P<now>-|NOW|Past|FAILING_NOW|In_the_past) +(?P<raw>\S.*)"
)
_PART = expression(r"Failed Attributes:|Please note the following marginal Attributes:")
"""Line above the table of `-H`, which has only the attributes that are, or were, below their threshold."""
_LINE = expression(r"(?P<name>[A-Za-z#][^:=]{1,60}?) *[:=] +(?P<value>\S.*)")
_ERROR_AT = expression(r"Error \d+ (?:\[\d+\] )?occurred at disk power-on lifetime: (\d+) hours")
_TEST = expression(
    r"# ?1 +\S.{1,22}? +(?P<result>(?:Completed|Failed)(?:[ :][\w >:/-]{1,40}?)?) +(?P<left>\d\d%|-) +(?P<at>\d+|NOW)\b"
)
_UNCORRECTED = expression(r"(?:read|write|verify): +(?:\d+ +){5}[\d.]+ +(?P<count>\d+)", re.MULTILINE)
_STANDBY = expression(r"Device is in (?:STANDBY|SLEEP|STANDBY_Y|IDLE\w*) .*mode", re.IGNORECASE)
_OPEN = expression(r"(?:Permission denied|Operation not permitted)", re.IGNORECASE)


def is_asleep(said: list[str]) -> bool:
    """Return whether messages say that the disk was left asleep (`-n standby`)."""
    return any(_STANDBY.search(line) for line in said)


def is_denied(said: list[str]) -> bool:
    """Return whether messages say that a privilege is missing."""
    return any(_OPEN.search(line) for line in said)


def parse_text(text: str) -> Fields:
    """Return the fields of smartctl's text. Raises Malformed for text without any, or with a table that is cut off.

    If the disk's own assessment is a failure, that alone is returned of a text with such a table.
    """
    lines = text.splitlines()
    if not any(line.startswith("smartctl ") or "SMART" in line or _ROW.fullmatch(line.rstrip()) for line in lines):
        raise Malformed("not the output of smartctl")
    said: dict[str, str] = {}
    for line in lines:
        if found := _LINE.fullmatch(line.strip()):
            said.setdefault(" ".join(found["name"].lower().split()), found["value"].strip())
    heading = max((at for at, line in enumerate(lines) if line.startswith("ID# ATTRIBUTE_NAME")), default=None)
    rows = lines[heading + 1 :] if heading is not None else [line for line in lines if _ROW.fullmatch(line.rstrip())]
    is_part = not heading or _PART.match(lines[heading - 1]) is not None  # without a heading: of grep
    try:
        table = list(_table(rows, is_part=is_part))
    except Malformed:
        if _passed(said) is not False:
            raise
        kept = {"protocol", "model", "serial", "passed", "verdict"}
        return {name: value for name, value in _of_text(said, [], "") if name in kept}
    fields = dict(_of_text(said, table, text))
    return {name: value for name, value in fields.items() if not (is_part and name == "attributes")}


def has_table(text: str) -> bool:
    """Return whether a text has a line of a table of attributes."""
    return any(_ROW.fullmatch(line.rstrip()) for line in text.splitlines())


def _table(lines: list[str], *, is_part: bool) -> Iterator[SmartAttribute]:
    """Yield the attributes below a heading. Raises Malformed if the text ends within their table, unless `is_part`."""
    for line in lines:
        found = _ROW.fullmatch(line.rstrip())
        if found is None:
            if not line.strip() or line.lstrip().startswith("|"):
                return
            raise Malformed(f"unknown attribute: {line.strip()[:60]}")
        yield SmartAttribute(
            int(found["id"]), found["name"], whole(found["value"]), whole(found["thresh"]), found["raw"], found["now"]
        )
    if not is_part:
        raise Malformed("the table of attributes is cut off")


def _of_text(said: Mapping[str, str], table: list[SmartAttribute], text: str) -> Iterator[tuple[str, Any]]:
    protocol = "NVMe" if "critical warning" in said else "SCSI" if _is_scsi(said) else "ATA"
    yield "protocol", protocol
    product = " ".join(said[name] for name in ("vendor", "product") if name in said)
    yield "model", said.get("device model") or said.get("model number") or product or None
    yield "serial", serial(said.get("serial number"))
    rotation = said.get("rotation rate")
    yield "flash", True if protocol == "NVMe" else None if rotation is None else rotation.startswith("Solid State")
    hours = _leading(said.get("power on hours"))
    hours = next((each.count for each in table if each.number == 9), hours)
    hours = _leading((said.get("accumulated power on time, hours") or "").split(":")[-1]) if hours is None else hours
    yield "power_on", None if hours is None else hours * HOUR
    verdict = _verdict(said)
    yield "passed", _passed(said)
    if protocol == "NVMe":
        yield from _nvme_text(said)
    elif protocol == "SCSI":
        yield "verdict", None if verdict in {None, "OK"} else verdict
        yield from _scsi_text(said, text)
    else:
        yield from of_attributes(table) if table else _statistics(text)
        yield from last_error([int(at) for at in _ERROR_AT.findall(text)], hours)
    if (test := _TEST.search(text)) is not None:
        yield from tested(test["result"], whole(test["at"]), hours)


def _verdict(said: Mapping[str, str]) -> str | None:
    return said.get("smart overall-health self-assessment test result") or said.get("smart health status")


def _passed(said: Mapping[str, str]) -> bool | None:
    """Return the disk's own assessment, None if it is not shown or qualified."""
    verdict = _verdict(said)
    passed = verdict in {"PASSED", "OK"}
    return None if verdict is None or (not passed and re.match(r"PASSED|OK\b", verdict)) else passed


_STATISTIC = expression(r"(?m)^0x0[1-9a-f] +0x[0-9a-f]{3} +[1-8] +(?P<value>\d{1,20}) +[ANDV-]{3} +(?P<name>\S.*?) *$")
_STATISTICS = {
    "Number of Reallocated Logical": "reallocated", "Number of Reported Uncorrectable": "uncorrected",
    "Number of Interface CRC": "crc_errors", "Percentage Used Endurance": "used",
}  # fmt: skip
"""Beginnings of their names: lines are wrapped."""


def _statistics(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the counts of the device statistics (`-l devstat`), where no table of attributes has them.

    0x04  0x008  4             512  ---  Number of Reported Uncorrectable Errors
    """
    for found in _STATISTIC.finditer(text):
        field = next((field for begin, field in _STATISTICS.items() if found["name"].startswith(begin)), None)
        if field is not None:
            yield field, share(int(found["value"])) if field == "used" else int(found["value"])


def _is_scsi(said: Mapping[str, str]) -> bool:
    return "smart health status" in said or "transport protocol" in said or "elements in grown defect list" in said


def _leading(text: str | None) -> int | None:
    """Return the leading number of `12,345 [6.32 TB]` or `31 Celsius`; some locales separate thousands by a space."""
    found = re.match(r"\d{1,3}(?:\s\d{3})+(?![\d,.'])|(?:0x)?[\d,.']+", text or "")
    return whole(re.sub(r"[,.'\s]", "", found[0])) if found and not found[0].startswith("0x") else None


def _nvme_text(said: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    bits = re.fullmatch(r"0x([0-9a-fA-F]{1,2})", said["critical warning"])
    yield "critical_warning", int(bits[1], 16) if bits else None
    yield "temperature", celsius(_leading(said.get("temperature")))
    yield from spares(_leading(said.get("available spare")), _leading(said.get("available spare threshold")))
    yield "used", share(_leading(said.get("percentage used")))
    yield "uncorrected", _leading(said.get("media and data integrity errors"))
    yield "warm", celsius(_leading(said.get("warning comp. temp. threshold")))
    yield "hot", celsius(_leading(said.get("critical comp. temp. threshold")))
    if "media and data integrity errors" in said:
        yield "attributes", "log"


def _scsi_text(said: Mapping[str, str], text: str) -> Iterator[tuple[str, Any]]:
    yield "temperature", celsius(_leading(said.get("current drive temperature")))
    yield "hot", celsius(_leading(said.get("drive trip temperature")))
    yield "reallocated", _leading(said.get("elements in grown defect list"))
    counts = [int(count) for count in _UNCORRECTED.findall(text)]
    yield "uncorrected", sum(counts) if counts else None
    yield "used", share(_leading(said.get("percentage used endurance indicator")))
    if counts or "elements in grown defect list" in said:
        yield "attributes", "logs"


_ENDS = expression(
    r"(?m)^If Selective self-test is pending on power-up|^Error Information \(NVMe Log 0x01|^No Errors Logged|"
    r"^Long \(extended\) Self-test duration|^No [Ss]elf-tests have been logged"
)
"""Last sections of `smartctl -a` for ATA, NVMe and SCSI disks."""


def fault(text: str) -> str:
    """Return why a text is not the complete output of `smartctl -a`."""
    return "" if _ENDS.search(text) is not None else "end not shown"
