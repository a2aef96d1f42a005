"""Controllers, volumes and disks in answers of storcli and perccli, which storcli.py reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sdstop.collectors.health import storcli
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.form import Form, Several
from sdstop.core.host import Malformed
from sdstop.core.text import json_text

TEXT = Form(
    key="cmd:storcli64 /call show all",
    first=r"(?:CLI Version = [^\n]*\n)?Operating system = [^\n]*\nController = \d+ *$",
    reads="controllers, caches, batteries, volumes and disks",
    versions="storcli and perccli 7, storcli2 and perccli2 8",
    several=Several.JOINED,
)
DOCUMENT = Form(
    key="cmd:storcli64 /call show all J",
    first=r'\{\s*"Controllers": ?\[',
    reads="the same as the text",
    versions="storcli and perccli 7, storcli2 and perccli2 8",
)

_VOLUMES = ("VD LIST", "Virtual Drives")
"""Tables of volumes of `/cN show all` and of `/cN/vall show`."""
_DISKS = ("PD LIST", "Drive Information")


def rows_of(controller: storcli.Controller, key: str, tool: str) -> Iterator[RaidController | RaidVolume | RaidDisk]:
    """Yield the rows of one controller in an answer of `tool`; `key` is that of the evidence. Raises Malformed."""
    name = f"c{controller.number}"
    basics, version, status = controller.part("Basics"), controller.part("Version"), controller.part("Status")
    if basics or status or controller.rows(*_VOLUMES, *_DISKS, *storcli.POWER):
        yield _controller(controller, name, basics, version, status, key)
    groups = dict[str, str]()
    for row in controller.rows(*_VOLUMES):
        volume = _volume(name, row, {}, key)
        if volume is not None:
            groups.setdefault(str(row.get("DG/VD", "")).partition("/")[0], volume.volume)
            yield volume
    for section, rows in controller.sections.items():
        if match := re.fullmatch(r"/c\d+/v(\d+)", section.strip()):
            for row in rows if isinstance(rows, list) else ():
                volume = _volume(name, row, controller.part(f"VD{match[1]} Properties"), key)
                yield from (volume,) if volume is not None else ()
        elif match := re.fullmatch(r"Drive /c\d+(/e\d+)?/s(\d+)", section.strip()):
            more = controller.part(f"{section.strip()} - Detailed Information") or _flat(controller, section.strip())
            for row in rows if isinstance(rows, list) else ():
                yield _disk(name, row, section.strip(), more, {}, key, tool)
    for row in controller.rows(*_DISKS):
        yield _disk(name, row, "", {}, groups, key, tool)


def _flat(controller: storcli.Controller, drive: str) -> dict[str, Any]:
    """Return the details of a disk that text shows in sections of their own."""
    return {f"{drive} {part}": controller.part(f"{drive} {part}") for part in ("State", "Device attributes")}


def _controller(
    controller: storcli.Controller, name: str, basics: dict[str, Any], version: dict[str, Any],
    status: dict[str, Any], key: str,
) -> RaidController:  # fmt: skip
    power = controller.rows(*storcli.POWER)
    word = json_text(power[0].get("State") or power[0].get("Battery State")) if power else None
    flags = [*power, *controller.rows(*storcli.STATUS)]
    if any(each.get(flag) == "Yes" for each in flags for flag in _REPLACE):
        word = "Replacement required"
    fitted = json_text(controller.part("HwCfg").get("BBU"))
    battery = word or ("none" if fitted in {"Absent", "No", "Not Present"} else None)
    tasks = controller.part("Scheduled Tasks")
    state = json_text(status.get("Controller Status"))
    address = re.fullmatch(
        r"([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2})", str(basics.get("PCI Address", "")).lower()
    )
    return RaidController(
        controller=name,
        model=json_text(basics.get("Model")) or json_text(basics.get("Product Name")),
        serial=json_text(basics.get("Serial Number")),
        firmware=json_text(version.get("Firmware Version")),
        address=f"00{address[1]}:{address[2]}:{address[3]}.{int(address[4], 16)}" if address else None,
        state=state,
        healthy=None if state is None else state in {"Optimal", "OK"},
        battery=battery,
        protected=None if battery is None else False if battery == "none" else _charged(battery),
        patrol=json_text(tasks.get("Patrol Read Reoccurrence")),
        told=key,
        needle="Cachevault_Info"
        if controller.rows("Cachevault_Info")
        else "BBU_Info"
        if power
        else "Controller Status",
    )


_REPLACE = ("Replacement required", "Battery Replacement required")


def _charged(word: str) -> bool | None:
    """Return whether a state of a battery is a good one; None for unknown ones."""
    low = word.lower()
    found = storcli.BATTERIES.get(low)
    return found if found is not None else storcli.BATTERIES.get(low.partition(" (")[0])


def _volume(name: str, row: Any, properties: dict[str, Any], key: str) -> RaidVolume | None:
    number = re.fullmatch(r"(?:\d+|-)/(\d+)", str(row.get("DG/VD", "")).strip()) if isinstance(row, dict) else None
    if number is None:
        return None
    state, cache = json_text(row.get("State")), json_text(row.get("Cache")) or json_text(row.get("CurrentCache"))
    initial = json_text(properties.get("Write Cache(initial setting)")) or json_text(row.get("DefaultWriteCache"))
    policy = re.fullmatch(r"(?:N?R?A?,)?N?R?(A?WB|WT)[CD]?", cache or "")
    known = storcli.VOLUMES.get(state or "")
    device = json_text(properties.get("OS Drive Name"))
    return RaidVolume(
        volume=f"{name}/v{number[1]}",
        controller=name,
        device=device.removeprefix("/dev/") if device and device.startswith("/dev/") else None,
        level=json_text(row.get("TYPE")),
        state=state,
        whole=None if known is None else known[0],
        lost=None if known is None else known[1],
        cache=cache,
        write_back=None if policy is None else policy[1] != "WT",
        configured=None if initial is None else "back" in initial.lower() or initial in {"WB", "AWB"},
        forced=None if policy is None else policy[1] == "AWB" or "always" in (initial or "").lower(),
        told=key,
        needle=str(row["DG/VD"]),
    )


def _disk(
    name: str, row: Any, drive: str, more: dict[str, Any], groups: dict[str, str], key: str, tool: str
) -> RaidDisk:
    said: dict[str, Any] = row if isinstance(row, dict) else {}
    enclosure, _, slot = str(said.get("EID:Slt", "")).strip().partition(":")
    if re.fullmatch(r"\d{0,5} ?", enclosure) is None or re.fullmatch(r"\d{1,5}", slot) is None:
        raise Malformed("a disk without enclosure and slot")
    word, status = json_text(said.get("State")), json_text(said.get("Status"))
    state = f"{word} {status}" if word and status else word
    counts = next((part for title, part in more.items() if title.endswith(" State") and isinstance(part, dict)), {})
    about = next(
        (part for title, part in more.items() if title.endswith(" Device attributes") and isinstance(part, dict)), {}
    )
    alert = json_text(counts.get("S.M.A.R.T alert flagged by drive"))
    wide = (json_text(about.get("WWN")) or "").strip()
    place = f"e{enclosure.strip()}/" if enclosure.strip() else ""
    return RaidDisk(
        disk=f"{name}/{place}s{slot}",
        controller=name,
        enclosure=f"{name}/e{enclosure.strip()}" if enclosure.strip() else None,
        volume=groups.get(str(said.get("DG", "")).strip()),
        state=state,
        good=storcli.serves(word, status),
        rebuilding=None if state is None else state in storcli.REBUILDING,
        predicted=storcli.number(counts.get("Predictive Failure Count")),
        alert=_ALERTS.get((alert or "").strip().lower()),
        media_errors=storcli.number(counts.get("Media Error Count")),
        other_errors=storcli.number(counts.get("Other Error Count")),
        temperature=storcli.celsius(counts.get("Drive Temperature")),
        flash={"SSD": True, "HDD": False}.get(str(said.get("Med"))),
        model=(json_text(said.get("Model")) or "").strip() or None,
        serial=(json_text(about.get("SN")) or "").strip() or None,
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool=tool,
        told=key,
        needle=f"{drive} State" if drive else str(said.get("EID:Slt", "")).strip(),
    )


_ALERTS = {"yes": True, "no": False}
