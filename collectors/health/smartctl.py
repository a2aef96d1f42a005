"""smartctl's document about one disk (JSON of smartmontools 7.0 and later).

    {"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},"device":{"protocol":"ATA"},
     "smart_status":{"passed":true},"ata_smart_attributes":{"table":[{"id":197,"name":"Current_Pending_Sector","value":100,
     "worst":100,"thresh":0,"when_failed":"","raw":{"value":0,"string":"0"}}]},"temperature":{"current":31}, ...}

Formats: smartctl(8), and ataprint.cpp, scsiprint.cpp and nvmeprint.cpp of smartmontools.
"""

from __future__ import annotations

import json
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
from sdstop.core.host import Malformed
from sdstop.core.text import json_number, json_text, json_whole

_LARGEST = 255
"""Largest percentage that disks report."""
_FAILING = 8
"""Bit of the exit status: the status check returned that the disk is failing (smartctl(8))."""


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
    yield "serial", serial(json_text(said.get("serial_number")))
    passed = _part(said, "smart_status").get("passed")
    failing = (json_whole(_part(said, "smartctl").get("exit_status")) or 0) & _FAILING
    yield "passed", False if failing else passed if isinstance(passed, bool) else None
    rotation = json_whole(said.get("rotation_rate"))
    yield "flash", True if protocol == "NVMe" else None if rotation is None else rotation == 0
    hours = json_whole(_part(said, "power_on_time").get("hours"))
    yield "power_on", None if hours is None else hours * HOUR
    if _part(said, "smart_support").get("enabled") is False and "smart_status" not in said:
        yield "reason", "SMART is switched off on the disk"
    worn = json_whole(_part(said, "endurance_used").get("current_percent"))  # smartmontools 7.4, all protocols
    if worn is not None and worn <= _LARGEST:
        yield "used", worn / 100
    heat = _part(said, "temperature")
    yield "temperature", celsius(heat.get("current"))
    yield "hot", celsius(heat.get("drive_trip"))
    if protocol == "NVMe":
        yield from _nvme(said)
    elif protocol == "SCSI":
        yield from _scsi(said)
    else:
        yield from _ata(said, hours)


def _nvme(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    log = _part(said, "nvme_smart_health_information_log")
    yield "critical_warning", json_whole(log.get("critical_warning"), 256)
    yield "uncorrected", json_whole(log.get("media_errors"), 1 << 128)
    yield from spares(json_whole(log.get("available_spare")), json_whole(log.get("available_spare_threshold")))
    if (used := share(log.get("percentage_used"))) is not None:
        yield "used", used
    limits = _part(said, "nvme_composite_temperature_threshold")
    yield "warm", celsius(limits.get("warning"))
    if (hot := celsius(limits.get("critical"))) is not None:
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
    if (used := share(said.get("scsi_percentage_used_endurance_indicator"))) is not None:
        yield "used", used
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
    shown = celsius(_part(said, "temperature").get("current")) is not None
    yield from ((field, value) for field, value in of_attributes(known) if field != "temperature" or not shown)
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
        yield from last_error(errors, hours)


def _tested(newest: Mapping[str, Any], result: Mapping[str, Any], hours: int | None) -> Iterator[tuple[str, Any]]:
    yield from tested(json_text(result.get("string")), json_whole(newest.get("lifetime_hours")), hours)
