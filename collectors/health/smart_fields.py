"""Fields of a disk's health from smartctl, whether a document or text: attributes, ages, shares, serial numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.core.expression import expression
from sdstop.core.text import json_number, whole

HOUR = 3600.0
ABSURD = 1 << 31
"""Larger counts of errors are taken for packed or invalid raw values, which some firmware has."""

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
"""Attributes whose normalized value falls from 100 to the limit in the rated life of a flash disk: to 1 at the least.
A disk that does not keep it reports 0."""
_PACKED_WEAR = expression(r"0x([0-9a-f]{2})[0-9a-f]{10}")
"""Raw value of Media_Wearout_Indicator as attribute 230 of disks by SanDisk and Western Digital: its first byte is the
percentage of the endurance used (smartmontools-support, 2021-03-24). The normalized value does not fall from 100."""
_SANDISK_WEAR = 230
"""SMART attribute with this meaning on SanDisk's and WD's SSDs."""
_TEMPERATURES = (194, 190)
"""SMART attributes of the temperature, the usual one first."""
_CAPACITORS = expression(r"Power_Loss_Cap_Test|Power_Loss_Protection|PLP_")


_MASKED = expression(
    r".*(?:[xX]{3}|[*#?]{2}).*|[0.-]+|[<\[(]?(?:redacted|removed|hidden|masked|deleted|censored|serial|s/?n)\b.*",
    re.IGNORECASE,
)


def serial(text: str | None) -> str | None:
    """Return a serial number, None if it is masked: several disks would have the same one."""
    return None if text is None or _MASKED.fullmatch(text.strip()) else text


def celsius(value: object) -> float | None:
    """Return a plausible temperature; 0 and 255 mean that there is none."""
    number = json_number(value)
    return number if number is not None and 0 < number < 150 else None


def share(value: object) -> float | None:
    """Return a percentage as a share; 255 is the largest that disks report."""
    number = json_number(value)
    return None if number is None or number > 255 else number / 100


def spares(spare: int | None, limit: int | None) -> Iterator[tuple[str, Any]]:
    """Yield spare blocks and their limit in percent; a virtual disk has neither, and reports 0 and 0."""
    if spare or limit:
        yield "spare", share(spare)
        yield "spare_limit", share(limit)


def last_error(at: list[int | None], hours: int | None) -> Iterator[tuple[str, Any]]:
    """Yield the time since the newest error; the log's hours have 16 bits."""
    known = [(hours - one) % (1 << 16) for one in at if one is not None and hours is not None]
    if known:
        yield "error_age", min(known) * HOUR


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


def of_attributes(table: list[SmartAttribute]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that a table of attributes has."""
    for each in table:
        field, names = _NAMES.get(each.number, ("", _LIFE_LEFT))
        if field and names.match(each.name):
            yield field, each.count
        elif each.number == _SANDISK_WEAR and _LIFE_LEFT.fullmatch(each.name):
            if (packed := _PACKED_WEAR.match(each.raw or "")) is not None:
                yield "used", int(packed[1], 16) / 100
        elif _LIFE_LEFT.fullmatch(each.name) and each.value is not None and 0 < each.value <= 100:
            yield "used", (100 - each.value) / 100
    by_number = {each.number: each for each in table}
    heat = [by_number[number].count for number in _TEMPERATURES if number in by_number]
    found = next((known for count in heat if (known := celsius(count)) is not None), None)
    if found is not None:
        yield "temperature", found
    if any(_CAPACITORS.search(each.name) for each in table):
        yield "protected", True
    failing = [each.name for each in table if each.failing and each.number not in _TEMPERATURES]
    if failing:
        yield "failing", ",".join(failing)
    if table:
        yield "attributes", "table"
