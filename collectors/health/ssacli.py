"""ssacli's answer about HPE Smart Array controllers: `ctrl all show config detail` (also hpssacli and hpacucli).

The short forms `show config`, with a line for each volume and disk, and `show status` are read as well.

Smart Array P420i in Slot 0 (Embedded)
   Controller Status: OK
   Cache Status: Temporarily Disabled
   No-Battery Write Cache: Disabled
   Battery/Capacitor Count: 1
   Battery/Capacitor Status: Failed (Replace Batteries)
   Array: A
      Logical Drive: 1
         Status: OK
         Disk Name: /dev/sda
      physicaldrive 1I:1:1
         Status: Predictive Failure

      logicaldrive 1 (558.73 GB, RAID 1, Interim Recovery Mode)
      physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS HDD, 600 GB, OK)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.core.expression import expression
from sdstop.core.host import Malformed

_CONTROLLER = expression(r"(?P<model>\S.* (?:Array|Controller|RAID)\b.*?|\S.*?) in Slot (?P<slot>\w+)(?: +\(.*\))*")
_VOLUME = expression(r"Logical Drive: (?P<id>\w+)")
_DISK = expression(r"physicaldrive (?P<id>[\w:]+)")
_SHORT_VOLUME = expression(r"logicaldrive (?P<id>\w+) \((?:[\d.]+ \w+, )?(?P<level>RAID [^,]+), (?P<state>.+)\)")
_SHORT_DISK = expression(r"physicaldrive (?P<id>[\w:]+) +\((?P<parts>port .+)\)")
_STATUS_VOLUME = expression(r"logicaldrive (?P<id>\w+) \((?:[\d.]+ \w+, )?(?P<level>RAID [^)]+)\): (?P<state>\S.*)")
_STATUS_DISK = expression(r"physicaldrive (?P<id>[\w:]+) \(port [^)]+\): (?P<state>\S.*)")
_SIZE = expression(r"\d[\d.]* [KMGTP]?B")
_PAIR = expression(r"(?P<name>[A-Za-z].{0,60}?):(?: +(?P<value>.*))?")


class SsacliItem:
    """A controller, a volume or a disk, with its properties by name; `name` is empty for a controller."""

    __slots__ = ("kind", "model", "name", "said", "slot")

    def __init__(self, kind: str, slot: str, name: str = "", model: str = "") -> None:
        self.kind = kind
        self.slot = slot
        self.name = name
        self.model = model
        self.said: dict[str, str] = {}


def parse(text: str, slot: str = "") -> list[SsacliItem]:
    """Return the items in order. Raises Malformed without a controller, and if a volume or disk has no status.

    `slot` is that of the command line: `ctrl slot=0 pd all show status` prints no controller.
    """
    items = list(_items(text.splitlines(), slot))
    if not items:
        raise Malformed("no controller in the answer")
    bare = [item.name for item in items if item.kind != "controller" and "Status" not in item.said]
    if bare:
        raise Malformed(f"{bare[0]} has no status: cut off")
    return items


def _items(lines: list[str], slot: str) -> Iterator[SsacliItem]:
    item: SsacliItem | None = None
    for line in lines:
        text = line.strip()
        if not line[:1].isspace() and (found := _CONTROLLER.fullmatch(text)):
            slot = found["slot"]
            fresh = SsacliItem("controller", slot, model=found["model"])
        elif slot and (found := _VOLUME.fullmatch(text)):
            fresh = SsacliItem("volume", slot, found["id"])
        elif slot and (found := _DISK.fullmatch(text)):
            fresh = SsacliItem("disk", slot, found["id"])
        elif slot and (short := _short(slot, text)) is not None:
            if item is not None:
                yield item
            yield short
            item = None
            continue
        elif item is not None and re.fullmatch(
            r"(?:Array: \w+|unassigned|.*Expander.*|.*\bSEP\b.*|Port Name: .*)", text, re.IGNORECASE
        ):
            if item.kind != "controller":
                yield item
                item = None
            continue
        else:
            if item is not None and (pair := _PAIR.fullmatch(text)):
                item.said.setdefault(pair["name"].strip(), (pair["value"] or "").strip())
            continue
        if item is not None:
            yield item
        item = fresh
    if item is not None:
        yield item


def _short(slot: str, text: str) -> SsacliItem | None:
    """Return the volume or disk of a line of the short form, or of `show status`."""
    if found := _STATUS_VOLUME.fullmatch(text):
        item = SsacliItem("volume", slot, found["id"])
        item.said = {"Status": found["state"], "Fault Tolerance": found["level"].removeprefix("RAID ")}
        return item
    if found := _STATUS_DISK.fullmatch(text):
        item = SsacliItem("disk", slot, found["id"])
        item.said = {"Status": found["state"]}
        return item
    if found := _SHORT_VOLUME.fullmatch(text):
        item = SsacliItem("volume", slot, found["id"])
        item.said = {"Status": found["state"], "Fault Tolerance": found["level"].removeprefix("RAID ")}
        return item
    if found := _SHORT_DISK.fullmatch(text):
        item = SsacliItem("disk", slot, found["id"])
        parts = found["parts"].split(", ")
        size = max((at for at, part in enumerate(parts) if _SIZE.fullmatch(part)), default=len(parts) - 2)
        item.said = {"Status": ", ".join(parts[size + 1 :])}
        return item
    return None
