"""arcconf's answer about Adaptec and Microchip controllers (`getconfig N`), from texts and captures only.

Controllers found: 1
Controller information
   Controller Status                               : Optimal
   Overall Backup Unit Status                      : Ready
Logical Device number 0
   RAID level                                      : 6
   Status of Logical Device                        : Degraded
   Write-cache setting                             : Enabled
      Device #1
         Device is a Hard drive
         State                                     : Failed
         Reported Location                         : Enclosure 0, Slot 1
         S.M.A.R.T. warnings                       : 3

Command completed successfully.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, Several
from sdstop.core.host import Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

PROGRAMS = ("arcconf", "/usr/StorMan/arcconf", "/usr/Arcconf/arcconf")
_PAIR = expression(r"(?P<name>[A-Za-z][^:]{0,60}?)\s*: (?P<value>.*)")
_VOLUME = expression(r"Logical [Dd]evice [Nn]umber (\d{1,5})")
_DISK = expression(r"Device #(\d{1,5})")
_STATUS = expression(r"Status of [Ll]ogical (?:[Dd]evice|[Dd]rive)")
"""Name of the state of a volume: arcconf 1 wrote it in lower case."""
_VOLUMES: Mapping[str, tuple[bool, bool]] = {
    "Optimal": (True, False), "Okay": (True, False), "Degraded": (False, False), "Interim Recovery": (False, False),
    "Rebuilding": (False, False), "Suboptimal": (False, False), "Impacted": (True, False), "Failed": (False, True),
    "Offline": (False, True),
}  # fmt: skip
"""States of volumes: whether one lacks no disk, and whether it is offline. Impacted: parity is being built."""
_DISKS: Mapping[str, bool] = {
    "Online": True, "Optimal": True, "Ready": True, "Raw": True, "Raw (Pass Through)": True, "Hot Spare": True,
    "Hot-Spare": True, "Global Hot-Spare": True, "Dedicated Hot-Spare": True, "Rebuilding": True, "JBOD": True,
    "Online (JBOD)": True, "Failed": False, "Defunct": False, "Offline": False, "Missing": False, "Inconsistent": False,
}  # fmt: skip
_BACKUPS: Mapping[str, bool] = {
    "ready": True, "optimal": True, "zmm optimal": True, "normal": True, "ok": True, "charging": True,
    "fully charged": True, "not ready": False, "failed": False, "degraded": False, "replace": False,
}  # fmt: skip
_NO_BATTERY = frozenset({"not installed", "not present", "zmm not installed"})


def parse(text: str, key: str) -> Iterator[Reading]:
    """Yield the controller, its volumes and disks. Raises Malformed without a controller or a state."""
    number = re.search(r"getconfig[ _](\d{1,3})", key, re.IGNORECASE)
    name, kind, ident = f"adaptec {number[1] if number else 1}", "controller", ""
    said: dict[str, str] = {}
    found = False
    for line in [*text.splitlines(), "Device #0"]:
        stripped = line.strip()
        begun = _VOLUME.fullmatch(stripped) or _DISK.fullmatch(stripped)
        if begun is not None:
            for row in _row(name, kind, ident, said, key):
                found = True
                yield row
            kind, ident, said = "disk" if stripped.startswith("Device") else "volume", begun[1], {}
        elif (pair := _PAIR.fullmatch(stripped)) is not None:
            name_of = pair["name"].strip()
            said.setdefault(
                "Status of Logical Device" if _STATUS.fullmatch(name_of) else name_of, pair["value"].strip()
            )
        elif stripped.startswith("Device is a"):
            said["is"] = stripped
    if not found:
        raise Malformed("no controller in the answer of arcconf")


def _row(name: str, kind: str, ident: str, said: dict[str, str], key: str) -> Iterator[Reading]:
    if kind == "controller" and "Controller Status" in said:
        yield _controller(name, said, key)
    elif kind == "volume":
        if "Status of Logical Device" not in said:
            raise Malformed("a logical device without status: cut off")
        yield _volume(name, ident, said, key)
    elif kind == "disk" and said.get("is", "").startswith(
        ("Device is a Hard", "Device is a Solid", "Device is an SSD")
    ):
        if "State" not in said:
            raise Malformed("a disk without state: cut off")
        yield _disk(name, ident, said, key)


def _controller(name: str, said: dict[str, str], key: str) -> RaidController:
    battery = said.get("Overall Backup Unit Status") or said.get("Status")
    if (battery or "").lower() in _NO_BATTERY:
        battery = "none"
    state = said["Controller Status"]
    return RaidController(
        controller=name,
        model=said.get("Controller Model"),
        serial=said.get("Controller Serial Number"),
        firmware=said.get("Firmware"),
        state=state,
        healthy=state in {"Optimal", "Okay", "OK"},
        battery=battery,
        protected=False if battery == "none" else _BACKUPS.get((battery or "").lower()),
        told=key,
        needle="Overall Backup Unit Status" if "Overall Backup Unit Status" in said else "Controller Status",
    )


def _volume(name: str, ident: str, said: dict[str, str], key: str) -> RaidVolume:
    state = said["Status of Logical Device"]
    known = _VOLUMES.get(re.split(r"[,(]", state, maxsplit=1)[0].strip())
    cache = said.get("Write-cache setting") or said.get("Write-cache mode")
    status = said.get("Write-cache status")
    device = said.get("Disk Name", "").partition(" ")[0]
    on = None if cache is None else cache.startswith(("Enabled", "On")) and "write-through" not in cache
    return RaidVolume(
        volume=f"{name}/ld {ident}",
        controller=name,
        device=device.removeprefix("/dev/") if device.startswith("/dev/") else None,
        level=f"RAID{said['RAID level']}" if re.match(r"\d", said.get("RAID level", "")) else said.get("RAID level"),
        state=state,
        whole=None if known is None else known[0],
        lost=None if known is None else known[1],
        cache=cache,
        write_back={"On": True, "Off": False}.get(status or "", on),
        configured=on,
        damaged={"Yes": True, "No": False}.get(said.get("Failed stripes", "")),
        told=key,
        needle=f"evice number {ident}",
    )


def _disk(name: str, ident: str, said: dict[str, str], key: str) -> RaidDisk:
    state = said["State"]
    place = re.search(r"Enclosure (\d{1,5}), Slot (\d{1,5})", said.get("Reported Location", ""))
    wide = said.get("World-wide name", "")
    return RaidDisk(
        disk=f"{name}/e{place[1]}/s{place[2]}" if place else f"{name}/d{ident}",
        controller=name,
        enclosure=f"{name}/e{place[1]}" if place else None,
        state=state,
        good=_DISKS.get(state),
        rebuilding=state == "Rebuilding",
        predicted=whole(said.get("S.M.A.R.T. warnings")),
        alert={"Yes": True, "No": False}.get(said.get("S.M.A.R.T.", "")),
        media_errors=whole(said.get("Medium Error Count")),
        flash="Solid" in said["is"] or "SSD" in said["is"] or said.get("SSD") == "Yes",
        model=said.get("Model"),
        serial=said.get("Serial number"),
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool="arcconf",
        told=key,
        needle=f"Device #{ident}",
    )


def fault(text: str) -> str:
    """Return why a text is not a complete answer, "" if it is."""
    return "" if "Command completed successfully." in text else NOT_SHOWN


TEXT = Form(
    key="cmd:arcconf getconfig 1",
    first=r"Controllers [Ff]ound: \d+ *\n(?:-+ *\n)?(?:Controller information|\S)",
    reads="controllers, backup units, volumes and disks of Adaptec and Microchip",
    versions="arcconf 1 to 4",
    last=r"Command completed successfully",
    fault=fault,
    several=Several.JOINED,
)
