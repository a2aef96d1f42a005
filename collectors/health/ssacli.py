"""ssacli's answer about HPE Smart Array controllers: `ctrl all show config detail` (also hpssacli and hpacucli).

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
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.core.expression import expression
from sdstop.core.host import Malformed

_CONTROLLER = expression(r"(?P<model>\S.* (?:Array|Controller|RAID)\b.*?|\S.*?) in Slot (?P<slot>\w+)(?: \(.*\))?")
_VOLUME = expression(r"Logical Drive: (?P<id>\w+)")
_DISK = expression(r"physicaldrive (?P<id>[\w:]+)")
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


def parse(text: str) -> list[SsacliItem]:
    """Return the items in order. Raises Malformed without a controller, and if a volume or disk has no status."""
    items = list(_items(text.splitlines()))
    if not items:
        raise Malformed("no controller in the answer")
    bare = [item.name for item in items if item.kind != "controller" and "Status" not in item.said]
    if bare:
        raise Malformed(f"{bare[0]} has no status: cut off")
    return items


def _items(lines: list[str]) -> Iterator[SsacliItem]:
    item: SsacliItem | None = None
    slot = ""
    for line in lines:
        text = line.strip()
        if not line[:1].isspace() and (found := _CONTROLLER.fullmatch(text)):
            slot = found["slot"]
            fresh = SsacliItem("controller", slot, model=found["model"])
        elif slot and (found := _VOLUME.fullmatch(text)):
            fresh = SsacliItem("volume", slot, found["id"])
        elif slot and (found := _DISK.fullmatch(text)):
            fresh = SsacliItem("disk", slot, found["id"])
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
