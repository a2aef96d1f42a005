"""MegaCli's answers, from texts and captures only: storcli asks the same controllers, and writes no log.

Adapter 0 -- Virtual Drive Information:         MegaCli -LDInfo -Lall -aALL, and with disks -LdPdInfo -aALL
Virtual Drive: 0 (Target Id: 0)
RAID Level          : Primary-5, Secondary-0, RAID Level Qualifier-3
State               : Degraded
Default Cache Policy: WriteBack, ReadAheadNone, Direct, No Write Cache if Bad BBU
Current Cache Policy: WriteThrough, ReadAheadNone, Direct, No Write Cache if Bad BBU

Adapter #0                                      MegaCli -PDList -aALL
Enclosure Device ID: 32
Slot Number: 1
Media Error Count: 1033
Firmware state: Online, Spun Up

BBU status for Adapter: 0                       MegaCli -AdpBbuCmd -aALL
Battery State: Failed
  Battery Replacement required            : Yes

Exit Code: 0x00
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.collectors.health import storcli
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, Several
from sdstop.core.host import Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

PROGRAMS = ("MegaCli64", "MegaCli", "megacli", "/opt/MegaRAID/MegaCli/MegaCli64")
_ADAPTER = expression(r"(?:Adapter #?(\d{1,3})\b.*|BBU status for Adapter: (\d{1,3}))")
_PAIR = expression(r"(?P<name>[A-Za-z][\w .'/&-]{0,60}?)\s*: ?(?P<value>.*)")
_VOLUMES: Mapping[str, tuple[bool, bool]] = {
    "Optimal": (True, False), "Degraded": (False, False), "Partially Degraded": (False, False),
    "Offline": (False, True), "Failed": (False, True),
}  # fmt: skip
"""States of volumes: whether one lacks no disk, and whether it is offline."""
_DISKS: Mapping[str, bool] = {
    "Online": True, "Unconfigured(good)": True, "Hotspare": True, "Rebuild": True, "JBOD": True, "Copyback": True,
    "Unconfigured(bad)": False, "Failed": False, "Offline": False, "Missing": False,
}  # fmt: skip
_BATTERIES: Mapping[str, bool] = {
    "optimal": True, "operational": True, "learning": True, "charging": True, "degraded": False, "failed": False,
    "missing": False, "degraded(need attention)": False, "non operational": False,
}  # fmt: skip
_BAD = ("Battery Replacement required", "Battery Pack Missing", "Pack is about to fail & should be replaced")
"""Flags that make a battery a bad one, whatever its state."""
_BEGINS = frozenset({"Virtual Drive", "CacheCade Virtual Drive", "Enclosure Device ID", "PD"})


def parse(text: str, key: str) -> Iterator[Reading]:
    """Yield controllers, volumes and disks. Raises Malformed without an adapter, and for a disk without its place."""
    adapter, said, volume = "", dict[str, str](), ""
    found = False
    for line in [*text.splitlines(), "Adapter #999"]:
        stripped = line.strip().replace("Virtual Disk:", "Virtual Drive:", 1)  # as MegaCli 4 and older call it
        begun, pair = _ADAPTER.fullmatch(stripped), _PAIR.fullmatch(stripped)
        if begun is not None or (pair is not None and pair["name"] in _BEGINS):
            if adapter:
                for row in _rows(f"c{adapter}", said, volume, key):
                    found = True
                    volume = row.volume if isinstance(row, RaidVolume) else volume
                    yield row
            said = {}
        if begun is not None:
            adapter, volume = begun[1] or begun[2], ""
            said["adapter"] = line
        elif pair is not None:
            said.setdefault(pair["name"].strip(), pair["value"].strip())
    if not found:
        raise Malformed("no adapter in the answer of MegaCli")


def _rows(name: str, said: dict[str, str], volume: str, key: str) -> Iterator[Reading]:
    if "Virtual Drive" in said and "State" in said:
        yield _volume(name, said, key)
    elif "Slot Number" in said:
        yield _disk(name, said, volume, key)
    elif "Enclosure Device ID" in said:
        raise Malformed("a disk without slot")
    elif "Battery State" in said or "BatteryType" in said:
        yield _battery(name, said, key)


def _volume(name: str, said: dict[str, str], key: str) -> RaidVolume:
    number = said["Virtual Drive"].split(" ")[0]
    level = re.match(r"Primary-(\d{1,2}), Secondary-(\d)", said.get("RAID Level", ""))
    known = _VOLUMES.get(said["State"])
    current, initial = said.get("Current Cache Policy"), said.get("Default Cache Policy")
    return RaidVolume(
        volume=f"{name}/v{number}",
        controller=name,
        level=f"RAID{level[1]}{'0' if level[2] != '0' and level[1] != '1' else ''}" if level is not None else None,
        state=said["State"],
        whole=None if known is None else known[0],
        lost=None if known is None else known[1],
        cache=current,
        write_back=None if not current else current.startswith("WriteBack"),
        configured=None if not initial else initial.startswith("WriteBack"),
        damaged={"Yes": True, "No": False}.get(said.get("Bad Blocks Exist", "")),
        forced=None if not current else not current.endswith("No Write Cache if Bad BBU"),
        told=key,
        needle=f": {number} (",
    )


def _disk(name: str, said: dict[str, str], volume: str, key: str) -> RaidDisk:
    enclosure, slot = said.get("Enclosure Device ID", ""), said["Slot Number"]
    if re.fullmatch(r"\d{1,5}", slot) is None or "Firmware state" not in said:
        raise Malformed("a disk without slot or state")
    place = f"e{enclosure}/" if enclosure.isdigit() else ""
    state = said["Firmware state"].partition(",")[0]
    wide = said.get("WWN", "").replace(" ", "")
    return RaidDisk(
        disk=f"{name}/{place}s{slot}",
        controller=name,
        enclosure=f"{name}/{place.rstrip('/')}" if place else None,
        volume=volume or None,
        state=state,
        good=_DISKS.get(state),
        rebuilding=state in {"Rebuild", "Copyback"},
        predicted=whole(said.get("Predictive Failure Count")),
        alert={"Yes": True, "No": False}.get(said.get("Drive has flagged a S.M.A.R.T alert", "")),
        media_errors=whole(said.get("Media Error Count")),
        other_errors=whole(said.get("Other Error Count")),
        temperature=storcli.celsius(said.get("Drive Temperature")),
        flash={"Solid State Device": True, "Hard Disk Device": False}.get(said.get("Media Type", "")),
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool="MegaCli64",
        told=key,
        needle=f"Slot Number: {slot}",
    )


def _battery(name: str, said: dict[str, str], key: str) -> RaidController:
    state = said.get("Battery State", "")
    flagged = [flag for flag in _BAD if said.get(flag) == "Yes"]
    known = False if flagged else _BATTERIES.get(state.lower())
    words = [state or "unknown", *(flag.lower() for flag in flagged)]
    return RaidController(controller=name, battery=", ".join(words), protected=known, told=key, needle="Battery State")


def without_inquiry(data: bytes) -> bytes:
    """Return an answer without the inquiry data of disks, in which serial numbers have no separator."""
    return re.sub(rb"(?m)^Inquiry Data:.*$", b"Inquiry Data:", data)


def fault(text: str) -> str:
    """Return why a text is not a complete answer, "" if it is."""
    return "" if re.search(r"(?m)^Exit Code: 0x[0-9a-f]{2} *$", text) else NOT_SHOWN


TEXT = Form(
    key="cmd:MegaCli64 -LdPdInfo -aALL",
    first=r"(?:Adapter #?\d+(?: -- Virtual Drive Information:)?|BBU status for Adapter: \d+) *\n",
    reads="volumes, disks and batteries of MegaRAID controllers",
    versions="MegaCli 8",
    last=r"Exit Code: 0x",
    fault=fault,
    several=Several.JOINED,
)
