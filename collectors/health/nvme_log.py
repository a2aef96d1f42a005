"""The health log of an NVMe disk, as nvme-cli prints it: JSON (`-o json`) and text.

    {"critical_warning":0,"temperature":311,"avail_spare":100,"spare_thresh":10,"percent_used":3,"media_errors":0, ...}

    Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
    critical_warning                        : 0
    temperature                             : 38 C (311 Kelvin)
    available_spare                         : 100%

Format: nvme-cli's nvme-print-json.c and nvme-print-stdout.c; the temperature of JSON is in kelvin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sdstop.collectors.health.smart_fields import HOUR, Fields, spares
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import json_number, json_whole, whole

_KELVIN = 273
"""0 degrees Celsius, in the whole kelvins of NVMe logs."""
_FEWEST = frozenset({"critical_warning", "percent_used", "media_errors"})
_TEXT_NAMES: Mapping[str, str] = {
    "available_spare": "avail_spare", "available_spare_threshold": "spare_thresh", "percentage_used": "percent_used",
}  # fmt: skip
_LINE = expression(
    r"(?P<name>[a-z_]+)\s*: (?P<value>\d{1,3}(?:\s\d{3})+(?!\d)|(?:0x)?[\da-f,.]+)(?P<unit>%| ?[°]?C\b)?"
    r"(?:.*\((?P<kelvin>\d+) K)?"
)


def parse_json(text: str) -> Fields:
    """Return the fields of a document. Raises Malformed for anything else, and for a document that is cut off."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    if not isinstance(found, dict) or not found.keys() >= _FEWEST:
        raise Malformed("not a health log of an NVMe disk")
    bits = found["critical_warning"]
    kelvin = json_number(found.get("temperature"))
    known = {name: _number(found.get(name)) for name in _NUMBERS}
    warning = json_whole(bits.get("value") if isinstance(bits, dict) else bits, 256)
    return _fields(known, warning, None if kelvin is None else kelvin - _KELVIN)


def parse_text(text: str) -> Fields:
    """Return the fields of a log in text. Raises Malformed without a log, and for one that is cut off."""
    known: dict[str, int | None] = {}
    celsius: float | None = None
    for line in text.splitlines():
        found = _LINE.match(line.strip())
        if found is None:
            continue
        number = _digits(found["value"])
        if found["name"] == "temperature":
            celsius = number if found["unit"] else None
        known.setdefault(_TEXT_NAMES.get(found["name"], found["name"]), number)
    if not known.keys() >= _FEWEST:
        raise Malformed("not a complete health log of an NVMe disk")
    warning = known["critical_warning"]
    return _fields(known, warning if warning is not None and warning < 256 else None, celsius)


_NUMBERS = ("avail_spare", "spare_thresh", "percent_used", "media_errors", "power_on_hours")


def _fields(known: Mapping[str, int | None], warning: int | None, celsius: float | None) -> Fields:
    spare, limit, used, errors, hours = (known.get(name) for name in _NUMBERS)
    return {
        "protocol": "NVMe",
        "flash": True,
        "critical_warning": warning,
        "passed": None if warning is None else warning == 0,
        "temperature": celsius if celsius is not None and 0 < celsius < 150 else None,
        **dict(spares(spare, limit)),
        "used": None if used is None or used > 255 else used / 100,
        "uncorrected": errors,
        "power_on": None if hours is None else hours * HOUR,
        "attributes": "log",
    }


def _number(value: Any) -> int | None:
    """Return a whole number; those of 128 bits are text in some versions."""
    if isinstance(value, str):
        return _digits(value)
    found = json_whole(value, 1 << 128)
    return found if found is not None else int(value) if isinstance(value, float) and value >= 0 else None


def _digits(text: str) -> int | None:
    if text.startswith("0x"):
        return int(text, 16) if re.fullmatch(r"0x[0-9a-f]{1,2}", text) else None
    return whole(re.sub(r"[,.\s]", "", text), 39)


def fault(text: str) -> str:
    """Return why a text is not a complete log; its last line is a time or a temperature."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "" if lines and re.match(r"Thermal Management T2 Total Time|Temperature Sensor \d", lines[-1]) else _CUT


_CUT = "end not shown"
