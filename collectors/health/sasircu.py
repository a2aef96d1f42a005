"""The answer of sas2ircu and sas3ircu (`N display`) about HBAs that mirror disks, from texts and captures only.

  Controller type                         : SAS3008
IR volume 1
  Volume ID                               : 323
  Status of volume                        : Degraded (DGD)
  RAID level                              : RAID1
Device is a Hard disk
  Enclosure #                             : 1
  Slot #                                  : 0
  State                                   : Optimal (OPT)
SAS3IRCU: Command DISPLAY Completed Successfully.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.collectors.health.raid_readings import RaidDisk, RaidVolume
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, Several
from sdstop.core.host import Malformed
from sdstop.core.model import Reading

PROGRAMS = ("sas3ircu", "sas2ircu")
_PAIR = expression(r"(?P<name>[A-Za-z][^:]{0,60}?)\s*: (?P<value>.*)")
_BEGINS = expression(r"(?P<what>IR volume \d{1,3}|Device is an? .{3,40}|Enclosure information|Initiator at ID #\d+)")
_VOLUMES: Mapping[str, tuple[bool | None, bool]] = {
    "OKY": (True, False), "OPT": (True, False), "ONL": (True, False), "INIT": (None, False), "DGD": (False, False),
    "RSY": (False, False), "FLD": (False, True), "MIS": (False, True), "INACT": (None, True),
}  # fmt: skip
"""States of volumes: whether one lacks no disk, and whether it is offline."""
_DISKS: Mapping[str, bool] = {
    "OPT": True, "ONL": True, "RDY": True, "HSP": True, "AVL": True, "SBY": True, "RBLD": True, "OSY": True,
    "DGD": False, "FLD": False, "MIS": False, "OFL": False,
}  # fmt: skip


def parse(text: str, key: str) -> Iterator[Reading]:
    """Yield volumes and disks. Raises Malformed without a controller, and if a volume or disk has no state."""
    if "Controller type" not in text:
        raise Malformed("no controller in the answer of sas3ircu")
    number = re.search(r"ircu[ _](\d{1,3})\b", key)
    name, what = f"ircu {number[1] if number else 0}", ""
    said: dict[str, str] = {}
    for line in [*text.splitlines(), "Enclosure information"]:
        stripped = line.strip()
        if (begun := _BEGINS.fullmatch(stripped)) is not None:
            yield from _row(name, what, said, key)
            what, said = begun["what"], {}
        elif (pair := _PAIR.fullmatch(stripped)) is not None:
            said.setdefault(pair["name"].strip(), pair["value"].strip())


def _row(name: str, what: str, said: dict[str, str], key: str) -> Iterator[Reading]:
    if what.startswith("IR volume"):
        yield _volume(name, what, said, key)
    elif what.startswith(("Device is a Hard disk", "Device is a Solid")):
        yield _disk(name, said, key)


def _code(state: str | None) -> str:
    """Return the code of a state: DGD of `Degraded (DGD)`. Raises Malformed without a state."""
    found = re.search(r"\((\w{2,5})\)", state or "")
    if found is None:
        raise Malformed("a volume or disk without a state")
    return found[1]


def _volume(name: str, what: str, said: dict[str, str], key: str) -> RaidVolume:
    state = said.get("Status of volume")
    known = _VOLUMES.get(_code(state))
    return RaidVolume(
        volume=f"{name}/v{what.rpartition(' ')[2]}",
        controller=name,
        level=said.get("RAID level"),
        state=state,
        whole=None if known is None else known[0],
        lost=None if known is None else known[1],
        told=key,
        needle=what,
    )


def _disk(name: str, said: dict[str, str], key: str) -> RaidDisk:
    state, enclosure, slot = said.get("State"), said.get("Enclosure #", ""), said.get("Slot #", "")
    code = _code(state)
    if not (enclosure.isdigit() and slot.isdigit()):
        raise Malformed("a disk without enclosure and slot")
    wide = said.get("GUID", "")
    return RaidDisk(
        disk=f"{name}/e{enclosure}/s{slot}",
        controller=name,
        enclosure=f"{name}/e{enclosure}",
        state=state,
        good=_DISKS.get(code),
        rebuilding=code in {"RBLD", "OSY"},
        flash="SSD" in said["Drive Type"] if "Drive Type" in said else None,
        model=said.get("Model Number") or None,
        serial=said.get("Serial No") or None,
        wwn=wide if re.fullmatch(r"[0-9a-f]{16}", wide) else None,
        tool="sas3ircu",
        told=key,
        needle=f"Slot #                                  : {slot}",
    )


def fault(text: str) -> str:
    """Return why a text is not a complete answer, "" if it is."""
    return "" if re.search(r"IRCU: Command DISPLAY Completed Successfully", text) else NOT_SHOWN


TEXT = Form(
    key="cmd:sas3ircu 0 display",
    first=r"(?:Avago|LSI|Broadcom)[^\n]{0,40} SAS[23] IR Configuration Utility",
    reads="mirrored volumes of HBAs, and their disks",
    versions="sas2ircu, sas3ircu",
    last=r"SAS[23]IRCU: Utility Completed",
    fault=fault,
    several=Several.JOINED,
)
