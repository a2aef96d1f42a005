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
from collections.abc import Callable, Iterator, Sequence

from sdstop.collectors.health import storcli
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several
from sdstop.core.host import Malformed

PROGRAMS = ("ssacli", "hpssacli", "hpacucli")
DETAIL = ("ssacli", "ctrl", "all", "show", "config", "detail")
TEXT = Form(
    key="cmd:ssacli ctrl all show config detail",
    first=r"(?:HPE? )?(?:Dynamic )?Smart (?:Array|HBA) [^\n]* in Slot \w+",
    reads="controllers, caches, batteries, volumes and disks of HPE",
    versions="ssacli, hpssacli, hpacucli",
    several=Several.JOINED,
)

_CONTROLLER = expression(r"(?P<model>\S.* (?:Array|Controller|RAID)\b.*?|\S.*?) in Slot (?P<slot>\w+)(?: +\(.*\))*")
_VOLUME = expression(r"Logical Drive: (?P<id>\w+)")
_DISK = expression(r"physicaldrive (?P<id>[\w:]+)")
_SHORT_VOLUME = expression(r"logicaldrive (?P<id>\w+) \((?:[\d.]+ \w+, )?(?P<level>RAID [^,]+), (?P<state>.+)\)")
_SHORT_DISK = expression(r"physicaldrive (?P<id>[\w:]+) +\((?P<parts>port .+)\)")
_STATUS_VOLUME = expression(r"logicaldrive (?P<id>\w+) \((?:[\d.]+ \w+, )?(?P<level>RAID [^)]+)\): (?P<state>\S.*)")
_STATUS_DISK = expression(r"physicaldrive (?P<id>[\w:]+) \(port [^)]+\): (?P<state>\S.*)")
_SIZE = expression(r"\d[\d.]* [KMGTP]?B")
_DAMAGED = "Warning: Unrecoverable Media Errors Detected on Drives"
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
    _mark_damaged([item for item in items if item.kind == "volume"], text.splitlines())
    bare = [item.name for item in items if item.kind != "controller" and "Status" not in item.said]
    if bare:
        raise Malformed(f"{bare[0]} has no status: cut off")
    return items


def _mark_damaged(volumes: Sequence[SsacliItem], lines: Sequence[str]) -> None:
    """Note the warning of unrecoverable media errors, which is below the line of its volume."""
    at = -1
    for line in map(str.strip, lines):
        if line.startswith(("Logical Drive:", "logicaldrive ")):
            at += 1
        elif line.startswith(_DAMAGED) and 0 <= at < len(volumes):
            volumes[at].said.setdefault("Unrecoverable Media Errors", "Detected")


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


def rows_of(text: str, key: str) -> Iterator[RaidController | RaidVolume | RaidDisk]:
    """Yield the rows of an answer; `key` is that of the evidence. Raises Malformed as `parse` does.

    Answers about neither a controller nor drives have none.
    """
    slot = re.search(r"\bslot[= ](\w+)", key)  # a sosreport has no "=" in names
    if "in Slot " in text or (slot is not None and "drive " in text):
        for item in parse(text, slot[1] if slot is not None else ""):
            yield _ITEMS[item.kind](item, key)


def _controller(item: SsacliItem, key: str) -> RaidController:
    said = item.said
    state, cache = said.get("Controller Status"), said.get("Cache Status")
    battery = said.get("Battery/Capacitor Status")
    if battery is None and said.get("Battery/Capacitor Count") == "0":
        battery = "none"
    forced = said.get("No-Battery Write Cache")
    return RaidController(
        controller=f"slot {item.slot}",
        model=item.model,
        serial=said.get("Serial Number"),
        firmware=said.get("Firmware Version"),
        address=said.get("PCI Address (Domain:Bus:Device.Function)"),
        state=state,
        healthy=None if state is None else state == "OK",
        battery=battery,
        protected=None if battery is None else False if battery == "none" else _charged(battery),
        cache=cache,
        forced=None if forced is None else forced == "Enabled",
        told=key,
        needle="Battery/Capacitor Status" if "Battery/Capacitor Status" in said else "Controller Status",
    )


def _charged(word: str) -> bool | None:
    if word == "OK" or word.startswith("Recharging"):
        return True
    return False if word.startswith(("Failed", "Replace", "Not Present", "Missing")) else None


def _volume(item: SsacliItem, key: str) -> RaidVolume:
    state, caching = item.said["Status"], item.said.get("Caching")
    word = state.partition(",")[0]
    device = item.said.get("Disk Name", "")
    return RaidVolume(
        volume=f"slot {item.slot}/ld {item.name}",
        controller=f"slot {item.slot}",
        device=device.removeprefix("/dev/") if device.startswith("/dev/") else None,
        level=item.said.get("Fault Tolerance"),
        state=state,
        whole=_VOLUMES.get(word, (None, None))[0],
        lost=_VOLUMES.get(word, (None, None))[1],
        cache=caching,
        damaged={None: None, "None": False}.get(item.said.get("Unrecoverable Media Errors"), True),
        told=key,
        needle=f"Logical Drive: {item.name}",
    )


_VOLUMES: dict[str, tuple[bool | None, bool | None]] = {
    "OK": (True, False), "Interim Recovery Mode": (False, False), "Ready for Rebuild": (False, False),
    "Recovering": (False, False), "Ready for Recovery": (False, False), "Failed": (False, True),
    "Transforming": (True, False), "Expanding": (True, False), "Queued for Expansion": (True, False),
    "Wrong Physical Drive Replaced": (False, True), "Not Available": (False, True), "Overheated": (False, True),
}  # fmt: skip


def _disk(item: SsacliItem, key: str) -> RaidDisk:
    state = item.said["Status"]
    box = item.name.rpartition(":")[0]
    wide = item.said.get("WWID", "")
    heat = storcli.celsius(f"{item.said.get('Current Temperature (C)', '')}C")
    return RaidDisk(
        disk=f"slot {item.slot}/{item.name}",
        controller=f"slot {item.slot}",
        enclosure=f"slot {item.slot}/{box}" if box else None,
        state=state,
        good=_DISKS.get(state.partition(",")[0]),
        rebuilding=state.startswith("Rebuilding"),
        predicted=int("Predictive" in state),
        temperature=heat,
        flash="Solid State" in item.said["Interface Type"] if "Interface Type" in item.said else None,
        model=item.said.get("Model"),
        serial=item.said.get("Serial Number"),
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool="ssacli",
        told=key,
        needle=f"physicaldrive {item.name}",
    )


_DISKS = {
    "OK": True, "Rebuilding": True, "Predictive Failure": True, "Erase Complete": True, "Failed": False,
    "Offline": False, "Missing": False,
}  # fmt: skip
_ITEMS: dict[str, Callable[[SsacliItem, str], RaidController | RaidVolume | RaidDisk]] = {
    "controller": _controller, "volume": _volume, "disk": _disk,
}  # fmt: skip
