"""smartctl's answers about one disk: JSON (smartmontools 7.0 and later) and text.

    {"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},"device":{"protocol":"ATA"},
     "smart_status":{"passed":true},"ata_smart_attributes":{"table":[{"id":197,"name":"Current_Pending_Sector","value":100,
     "worst":100,"thresh":0,"when_failed":"","raw":{"value":0,"string":"0"}}]},"temperature":{"current":31}, ...}

    SMART overall-health self-assessment test result: PASSED
    ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
    197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       0

Formats: smartctl(8), and ataprint.cpp, scsiprint.cpp and nvmeprint.cpp of smartmontools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import json_number, json_text, json_whole, whole

HOUR = 3600.0
ABSURD = 1 << 31
"""Larger counts of errors are taken for packed or invalid raw values, which some firmware has."""

_FAILING = 8
"""Bit of the exit status: the status check returned that the disk is failing (smartctl(8))."""

Fields = dict[str, Any]
"""Fields of a DiskHealth by name."""

_NAMES: Mapping[int, tuple[str, re.Pattern[str]]] = {
    5: ("reallocated", expression(r"Reallocated_|Retired_Block|Reallocate_NAND|Bad_Block|Grown_")),
    187: ("uncorrected", expression(r"Reported_Uncorr|Uncorrectable_Error|Uncorr_Error|Reported_UE")),
    197: ("pending", expression(r"(?:Current_|Total_)?Pending_Sect|Current_Pend_Sect")),
    198: ("offline_uncorrectable", expression(r"Offline_Uncorr|Total_Offl_Uncorrect|Offline_Scan_UNC")),
    199: ("crc_errors", expression(r"(?:U?DMA_|SATA_|Interface_)?CRC_Err|UDMA_CRC")),
}
"""Field of an attribute, and the names under which it has this meaning: vendors use its number for others, too."""
_LIFE_LEFT = expression(
    r"Media_Wearout_Indicator|SSD_Life_Left|Percent_Lifetime_Remain|Wear_Leveling_Count|Remaining_Lifetime_Perc"
)
"""Attributes whose normalized value falls from 100 to the limit in the rated life of a flash disk."""
_TEMPERATURES = (194, 190)
_CAPACITORS = expression(r"Power_Loss_Cap_Test|Power_Loss_Protection|PLP_")


def parse_json(text: str) -> Fields:
    """Return the fields of a document. Raises Malformed for anything else, and for a document that is cut off."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("smartctl"), dict):
        raise Malformed("not a document of smartctl")
    return dict(_of_document(found))


def messages(text: str) -> list[str]:
    """Return the messages in a document or in text, none if there are none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [line.strip() for line in text.splitlines()[:12] if line.strip()]
    said = _part(found if isinstance(found, dict) else {}, "smartctl").get("messages")
    said = said if isinstance(said, list) else []
    return [word for each in said if isinstance(each, dict) and (word := json_text(each.get("string")))]


def exit_status(text: str) -> int:
    """Return the exit status in a document, 0 without one: captures may lack that of the command."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    return json_whole(_part(found if isinstance(found, dict) else {}, "smartctl").get("exit_status")) or 0


def _part(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return an inner object of a document, empty if it is missing or something else."""
    found: Any = document
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _rows(document: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return an inner list of objects."""
    *outer, last = names
    found = _part(document, *outer).get(last)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _of_document(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    protocol = json_text(_part(said, "device").get("protocol"))
    yield "protocol", protocol
    product = [word for name in ("scsi_vendor", "scsi_product") if (word := json_text(said.get(name)))]
    yield (
        "model",
        json_text(said.get("model_name")) or json_text(said.get("scsi_model_name")) or " ".join(product) or None,
    )
    yield "serial", _serial(json_text(said.get("serial_number")))
    passed = _part(said, "smart_status").get("passed")
    failing = (json_whole(_part(said, "smartctl").get("exit_status")) or 0) & _FAILING
    yield "passed", False if failing else passed if isinstance(passed, bool) else None
    rotation = json_whole(said.get("rotation_rate"))
    yield "flash", True if protocol == "NVMe" else None if rotation is None else rotation == 0
    hours = json_whole(_part(said, "power_on_time").get("hours"))
    yield "power_on", None if hours is None else hours * HOUR
    if _part(said, "smart_support").get("enabled") is False and "smart_status" not in said:
        yield "reason", "SMART is switched off on the disk"
    heat = _part(said, "temperature")
    yield "temperature", _celsius(heat.get("current"))
    yield "hot", _celsius(heat.get("drive_trip"))
    if protocol == "NVMe":
        yield from _nvme(said)
    elif protocol == "SCSI":
        yield from _scsi(said)
    else:
        yield from _ata(said, hours)


_MASKED = expression(
    r".*(?:[xX]{3}|[*#?]{2}).*|[0.-]+|[<\[(]?(?:redacted|removed|hidden|masked|deleted|censored|serial|s/?n)\b.*",
    re.IGNORECASE,
)


def _serial(text: str | None) -> str | None:
    """Return a serial number, None if it is masked: several disks would have the same one."""
    return None if text is None or _MASKED.fullmatch(text.strip()) else text


def _celsius(value: object) -> float | None:
    """Return a plausible temperature; 0 and 255 mean that there is none."""
    number = json_number(value)
    return number if number is not None and 0 < number < 150 else None


def _share(value: object) -> float | None:
    number = json_number(value)
    return None if number is None or number > 255 else number / 100


def spares(spare: int | None, limit: int | None) -> Iterator[tuple[str, Any]]:
    """Yield spare blocks and their limit in percent; a virtual disk has neither, and reports 0 and 0."""
    if spare or limit:
        yield "spare", _share(spare)
        yield "spare_limit", _share(limit)


def _nvme(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    log = _part(said, "nvme_smart_health_information_log")
    yield "critical_warning", json_whole(log.get("critical_warning"), 256)
    yield "uncorrected", json_whole(log.get("media_errors"), 1 << 128)
    yield from spares(json_whole(log.get("available_spare")), json_whole(log.get("available_spare_threshold")))
    yield "used", _share(log.get("percentage_used"))
    limits = _part(said, "nvme_composite_temperature_threshold")
    yield "warm", _celsius(limits.get("warning"))
    if (hot := _celsius(limits.get("critical"))) is not None:
        yield "hot", hot
    newest = next(iter(_rows(said, "nvme_self_test_log", "table")), {})
    yield from _tested(newest, _part(newest, "self_test_result"), None)
    if log:
        yield "attributes", "log"


def _scsi(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    status = _part(said, "smart_status", "scsi")
    yield "verdict", json_text(status.get("ie_string"))
    yield "reallocated", json_whole(said.get("scsi_grown_defect_list"))
    logs = _part(said, "scsi_error_counter_log")
    counts = [json_whole(_part(logs, name).get("total_uncorrected_errors")) for name in ("read", "write", "verify")]
    known = [count for count in counts if count is not None]
    yield "uncorrected", sum(known) if known else None
    yield "used", _share(said.get("scsi_percentage_used_endurance_indicator"))
    yield "pending", json_whole(_part(said, "scsi_pending_defects").get("count"))
    if known or "scsi_grown_defect_list" in said:
        yield "attributes", "logs"
    newest = _part(said, "scsi_self_test_0")
    hours = json_whole(_part(said, "power_on_time").get("hours"))
    at = json_whole(_part(newest, "power_on_time").get("hours"))
    yield from tested(json_text(_part(newest, "result").get("string")), at, hours)


def _ata(said: Mapping[str, Any], hours: int | None) -> Iterator[tuple[str, Any]]:
    table = _rows(said, "ata_smart_attributes", "table")
    known = [
        SmartAttribute(number, name, json_whole(each.get("value")), json_whole(each.get("thresh")),
                       json_text(_part(each, "raw").get("string")), json_text(each.get("when_failed")))
        for each in table if (number := json_whole(each.get("id"))) and (name := json_text(each.get("name")))
    ]  # fmt: skip
    shown = _celsius(_part(said, "temperature").get("current")) is not None
    yield from ((field, value) for field, value in _of_attributes(known) if field != "temperature" or not shown)
    statistics = {
        json_text(row.get("name")): json_number(row.get("value"))
        for page in _rows(said, "ata_device_statistics", "pages")
        for row in _rows(page, "table")
        if _part(row, "flags").get("valid") is True
    }
    if (used := statistics.get("Percentage Used Endurance Indicator")) is not None and used <= 255:
        yield "used", used / 100
    newest = next(iter(_rows(said, "ata_smart_self_test_log", "standard", "table")), {})
    newest = newest or next(iter(_rows(said, "ata_smart_self_test_log", "extended", "table")), {})
    yield from _tested(newest, _part(newest, "status"), hours)
    for kind in ("summary", "extended"):
        errors = [json_whole(row.get("lifetime_hours")) for row in _rows(said, "ata_smart_error_log", kind, "table")]
        yield from _last_error(errors, hours)


def _last_error(at: list[int | None], hours: int | None) -> Iterator[tuple[str, Any]]:
    """Yield the time since the newest error; the log's hours have 16 bits."""
    known = [(hours - one) % (1 << 16) for one in at if one is not None and hours is not None]
    if known:
        yield "error_age", min(known) * HOUR


def _tested(newest: Mapping[str, Any], result: Mapping[str, Any], hours: int | None) -> Iterator[tuple[str, Any]]:
    yield from tested(json_text(result.get("string")), json_whole(newest.get("lifetime_hours")), hours)


def tested(result: str | None, at: int | None, hours: int | None) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a self-test that ended by itself: not of one that was aborted, interrupted, or still runs."""
    failed = result is not None and _TEST_FAILED.search(result) is not None
    if result is None or not (failed or result.startswith("Completed")):
        return
    yield "selftest", result
    yield "selftest_passed", not failed
    if at is not None and hours is not None:
        yield "selftest_age", (hours - at) % (1 << 16) * HOUR


_TEST_FAILED = expression(r"fail|fatal|damage|unknown", re.IGNORECASE)


class SmartAttribute:
    """A row of the table of SMART attributes; `now` is FAILING_NOW or In_the_past: it is or was below its threshold."""

    __slots__ = ("name", "now", "number", "raw", "thresh", "value")

    def __init__(
        self, number: int, name: str, value: int | None, thresh: int | None, raw: str | None, now: str | None
    ) -> None:
        self.number = number
        self.name = name
        self.value = value
        self.thresh = thresh
        self.raw = raw
        self.now = now

    @property
    def count(self) -> int | None:
        """The leading number of the raw value, as smartctl prints it; None for absurd ones."""
        number = re.match(r"\d+", self.raw or "")
        found = whole(number[0]) if number else None
        return found if found is not None and found < ABSURD and found != _ALL_ONES else None

    @property
    def failing(self) -> bool:
        """Whether the disk reports it as below its threshold now."""
        return (self.now or "").lower() in {"now", "failing_now"}


_ALL_ONES = 0xFFFF
"""Raw value of counters that some firmware does not keep."""


def _of_attributes(table: list[SmartAttribute]) -> Iterator[tuple[str, Any]]:
    for each in table:
        field, names = _NAMES.get(each.number, ("", _LIFE_LEFT))
        if field and names.match(each.name):
            yield field, each.count
        elif _LIFE_LEFT.fullmatch(each.name) and each.value is not None and each.value <= 100:
            yield "used", (100 - each.value) / 100
    by_number = {each.number: each for each in table}
    heat = [by_number[number].count for number in _TEMPERATURES if number in by_number]
    found = next((celsius for count in heat if (celsius := _celsius(count)) is not None), None)
    if found is not None:
        yield "temperature", found
    if any(_CAPACITORS.search(each.name) for each in table):
        yield "protected", True
    failing = [each.name for each in table if each.failing and each.number not in _TEMPERATURES]
    if failing:
        yield "failing", ",".join(failing)
    if table:
        yield "attributes", "table"


# --- text -------------------------------------------------------------------------------------------------

_ROW = expression(
    r" *(?P<id>\d{1,3}) (?P<name>[A-Za-z][\w./-]*) +(?P<flags>0x[0-9a-f]{4}|[POSRCK-]{6}) +(?P<value>\d{3}|---) +"
    r"(?P<worst>\d{3}|---) +(?P<thresh>\d{3}|---) +(?:(?:Pre-fail|Old_age) +(?:Always|Offline) +)?"
    r"(?P<now>-|NOW|Past|FAILING_NOW|In_the_past) +(?P<raw>\S.*)"
)
_PART = expression(r"Failed Attributes:|Please note the following marginal Attributes:")
"""Line above the table of `-H`, which has only the attributes that are, or were, below their threshold."""
_LINE = expression(r"(?P<name>[A-Za-z#][^:=]{1,60}?) *[:=] +(?P<value>\S.*)")
_ERROR_AT = expression(r"Error \d+ (?:\[\d+\] )?occurred at disk power-on lifetime: (\d+) hours")
_TEST = expression(r"# ?1  \S.{1,22}?  +(?P<result>(?:Completed|Failed)\S.*?)  +(?P<left>\d\d%|-) +(?P<at>\d+|NOW) ")
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
    """Return the fields of smartctl's text. Raises Malformed for text without any, or with a table that is cut off."""
    lines = text.splitlines()
    if not any(line.startswith("smartctl ") or "SMART" in line for line in lines):
        raise Malformed("not the output of smartctl")
    said: dict[str, str] = {}
    for line in lines:
        if found := _LINE.fullmatch(line.strip()):
            said.setdefault(" ".join(found["name"].lower().split()), found["value"].strip())
    heading = max((at for at, line in enumerate(lines) if line.startswith("ID# ATTRIBUTE_NAME")), default=None)
    if heading is None:
        return dict(_of_text(said, [], text))
    is_part = _PART.match(lines[heading - 1]) is not None
    fields = dict(_of_text(said, list(_table(lines[heading + 1 :], is_part=is_part)), text))
    return {name: value for name, value in fields.items() if not (is_part and name == "attributes")}


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
    yield "serial", _serial(said.get("serial number"))
    rotation = said.get("rotation rate")
    yield "flash", True if protocol == "NVMe" else None if rotation is None else rotation.startswith("Solid State")
    hours = _leading(said.get("power on hours"))
    hours = next((each.count for each in table if each.number == 9), hours)
    hours = _leading((said.get("accumulated power on time, hours") or "").split(":")[-1]) if hours is None else hours
    yield "power_on", None if hours is None else hours * HOUR
    verdict = said.get("smart overall-health self-assessment test result") or said.get("smart health status")
    passed = verdict in {"PASSED", "OK"}
    yield "passed", None if verdict is None or (not passed and re.match(r"PASSED|OK\b", verdict)) else passed
    if protocol == "NVMe":
        yield from _nvme_text(said)
    elif protocol == "SCSI":
        yield "verdict", None if verdict in {None, "OK"} else verdict
        yield from _scsi_text(said, text)
    else:
        yield from _of_attributes(table)
        yield from _last_error([int(at) for at in _ERROR_AT.findall(text)], hours)
    if (test := _TEST.search(text)) is not None:
        yield from tested(test["result"], whole(test["at"]), hours)


def _is_scsi(said: Mapping[str, str]) -> bool:
    return "smart health status" in said or "transport protocol" in said or "elements in grown defect list" in said


def _leading(text: str | None) -> int | None:
    """Return the leading number of `12,345 [6.32 TB]` or `31 Celsius`."""
    found = re.match(r"(?:0x)?[\d,.']+", text or "")
    return whole(re.sub(r"[,.']", "", found[0])) if found and not found[0].startswith("0x") else None


def _nvme_text(said: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    bits = re.fullmatch(r"0x([0-9a-fA-F]{1,2})", said["critical warning"])
    yield "critical_warning", int(bits[1], 16) if bits else None
    yield "temperature", _celsius(_leading(said.get("temperature")))
    yield from spares(_leading(said.get("available spare")), _leading(said.get("available spare threshold")))
    yield "used", _share(_leading(said.get("percentage used")))
    yield "uncorrected", _leading(said.get("media and data integrity errors"))
    yield "warm", _celsius(_leading(said.get("warning comp. temp. threshold")))
    yield "hot", _celsius(_leading(said.get("critical comp. temp. threshold")))
    if "media and data integrity errors" in said:
        yield "attributes", "log"


def _scsi_text(said: Mapping[str, str], text: str) -> Iterator[tuple[str, Any]]:
    yield "temperature", _celsius(_leading(said.get("current drive temperature")))
    yield "hot", _celsius(_leading(said.get("drive trip temperature")))
    yield "reallocated", _leading(said.get("elements in grown defect list"))
    counts = [int(count) for count in _UNCORRECTED.findall(text)]
    yield "uncorrected", sum(counts) if counts else None
    yield "used", _share(_leading(said.get("percentage used endurance indicator")))
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
