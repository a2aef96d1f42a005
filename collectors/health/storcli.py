"""storcli's and perccli's answers: JSON (`J`) and text. perccli is storcli under Dell's name.

storcli2 and perccli2 are those of controllers with the driver mpi3mr: their disks have a state and a status, and their
volumes a current and an initial cache.

    {"Controllers":[{"Command Status":{"Controller":0,"Status":"Success"},
      "Response Data":{"Basics":{"Model":"PERC H730P"},"BBU_Info":[{"Model":"BBU","State":"Optimal","Temp":"36C"}],
        "VD LIST":[{"DG/VD":"0/0","TYPE":"RAID1","State":"Optl","Cache":"RWBD"}],
        "PD LIST":[{"EID:Slt":"32:0","State":"Onln","DG":0}]}}]}

Text has the same sections: a heading underlined by `=`, then `NAME = VALUE` lines or a table. Words: storcli reference
manual (Broadcom), "VD LIST" and "PD LIST" legends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import json_whole, whole

Section = Any
"""The value of a section: an object of names and values, or a list of rows."""
Sections = dict[str, Section]


class Controller:
    """The sections of one controller, by name, and its number."""

    __slots__ = ("failed", "number", "sections")

    def __init__(self, number: int, sections: Sections, failed: str = "") -> None:
        self.number = number
        self.sections = sections
        self.failed = failed

    def part(self, *names: str) -> dict[str, Any]:
        """Return the first of several sections that has names and values, {} for none."""
        for name in names:
            found = self.sections.get(name)
            if isinstance(found, dict):
                return found
        return {}

    def rows(self, *names: str) -> list[dict[str, Any]]:
        """Return the rows of the first of several sections that is a table, [] for none."""
        for name in names:
            found = self.sections.get(name)
            if isinstance(found, list):
                return [row for row in found if isinstance(row, dict)]
        return []


def parse(text: str) -> list[Controller]:
    """Return the controllers in an answer. Raises Malformed for anything else, and for an answer that is cut off."""
    return list(_of_json(text) if text.lstrip().startswith("{") else _of_text(text))


def _of_json(text: str) -> Iterator[Controller]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    every = found.get("Controllers") if isinstance(found, dict) else None
    if not isinstance(every, list):
        raise Malformed("no list of controllers")
    for each in every:
        status = each.get("Command Status") if isinstance(each, dict) else None
        if not isinstance(status, dict):
            raise Malformed("a controller without a status")
        said = each.get("Response Data")
        number = json_whole(status.get("Controller"))
        good = status.get("Status") == "Success"
        if number is None:
            continue  # about all controllers: there is none, or the program failed as a whole
        yield Controller(number, said if isinstance(said, dict) else {}, "" if good else str(status.get("Description")))


POWER = ("Cachevault_Info", "BBU_Info", "BBU_Info ")
"""Tables of batteries and capacitors: a row each, or for `/cN/cv show` and `/cN/bbu show` a line for each property."""
STATUS = ("Firmware_Status", "Firmware Status", "BBU_Firmware_Status", "BBU_Firmware Status")
"""Tables of their flags in `/cN/cv show all` and `/cN/bbu show all`."""
_OF_PROPERTIES = frozenset(name.strip().replace(" ", "_") for name in (*POWER, *STATUS))
LISTS = frozenset({"VD LIST", "Virtual Drives", "PD LIST", "Drive Information"})
"""Tables of which each row is a volume or a disk."""

# --- text -------------------------------------------------------------------------------------------------

_START = expression(r"(?m)^Controller = (\d{1,3}) *$")
_HEADING = expression(r"(?P<name>\S.*?) ?:? *")
_PAIR = expression(r"(?P<name>\S.*?) = (?P<value>.*)")
_VOLUME = expression(
    r"(?P<id>(?:\d+|-)/\d+) +(?P<level>\w+) +(?P<state>\w+) +(?P<access>\S+) +(?P<consist>\w+) +(?P<cache>[A-Z]+) +.*"
)
_DISK = expression(r"(?P<place>(?:\d+| )?:\d+) +(?P<did>\d+) +(?P<state>\w+) +(?P<group>\d+|-|F|D) +(?P<rest>.*)")
_VOLUME_2 = expression(
    r"(?P<id>\d+/\d+) +(?P<level>\w+) +(?P<state>\w+) +(?P<access>\w+) +"
    r"(?P<cache>[A-Z]+,[A-Z]+) +(?P<initial>[A-Z]+) +.*"
)
_DISK_2 = expression(
    r"(?P<place>\d*:\d+) +(?P<did>\d+) +(?P<state>[A-Z]\w+) +(?P<status>[A-Z][a-z]\w*) +"
    r"(?P<group>\d+|-|F|D) +(?P<rest>.*)"
)
_FLAG = expression(r"(?P<name>[A-Z][\w /-]{0,60}?) +(?P<value>Yes|No)")
_PROPERTY = expression(r"(?P<name>[A-Z][\w /-]{0,60}?)(?: {2,}| )(?P<value>\S.*)")
_BATTERY = expression(r"(?P<model>\S+) +(?P<state>[A-Z]\w*(?: \(\w[\w ]*\))?) +(?:.* )?(?P<heat>\d+C)\b.*")


def _of_text(text: str) -> Iterator[Controller]:
    starts = [*_START.finditer(text)]
    if not starts:
        raise Malformed("no controller in the answer")
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        part = text[start.end() : end]
        failed = "" if re.search(r"(?m)^Status = Success", part) else "the command failed"
        yield Controller(int(start[1]), dict(_sections(part.splitlines())), failed)


def _sections(lines: list[str]) -> Iterator[tuple[str, Section]]:
    """Yield the sections of a controller. Raises Malformed if a table is not closed."""
    heads = [at for at in range(len(lines) - 1) if lines[at].strip() and re.fullmatch(r"=+", lines[at + 1].strip())]
    for place, at in enumerate(heads):
        found = _HEADING.fullmatch(lines[at].strip())
        name = found["name"] if found else ""
        body = lines[at + 2 : heads[place + 1] if place + 1 < len(heads) else len(lines)]
        rules = [number for number, line in enumerate(body) if re.fullmatch(r"-{8,}", line.strip())]
        if rules:
            if len(rules) < 3:
                raise Malformed(f"the table {name} is cut off")
            shown = [line.strip() for line in body[rules[1] + 1 : rules[2]] if line.strip()]
            rows = [row for line in shown if (row := _row(line))]
            if not rows and shown and name.replace(" ", "_") in _OF_PROPERTIES:
                rows = [_properties(shown)]
            if name in LISTS and len(rows) < len(shown):
                raise Malformed(f"a row of the table {name} is not understood")
            yield name, rows
        else:
            pairs = (_PAIR.fullmatch(line.strip()) for line in body)
            yield name, {pair["name"].strip(): pair["value"].strip() for pair in pairs if pair}


def _row(line: str) -> dict[str, Any]:
    if found := _VOLUME.fullmatch(line):
        return {"DG/VD": found["id"], "TYPE": found["level"], "State": found["state"], "Cache": found["cache"]}
    if found := _DISK.fullmatch(line):
        return {
            "EID:Slt": found["place"],
            "DID": whole(found["did"]),
            "State": found["state"],
            "DG": found["group"],
            "Med": _medium(found["rest"]),
        }
    if found := _VOLUME_2.fullmatch(line):
        return {
            "DG/VD": found["id"],
            "TYPE": found["level"],
            "State": found["state"],
            "CurrentCache": found["cache"],
            "DefaultWriteCache": found["initial"],
        }
    if found := _DISK_2.fullmatch(line):
        return {
            "EID:Slt": found["place"],
            "State": found["state"],
            "Status": found["status"],
            "DG": found["group"],
            "Med": _medium(found["rest"]),
        }
    if found := _BATTERY.fullmatch(line):
        return {"Model": found["model"], "State": found["state"], "Temp": found["heat"]}
    return {}


def _properties(lines: list[str]) -> dict[str, Any]:
    """Return a battery or its flags from lines of properties."""
    pairs = (_FLAG.fullmatch(line) or _PROPERTY.fullmatch(line) for line in lines)
    return {pair["name"]: pair["value"] for pair in pairs if pair}


def _medium(rest: str) -> str | None:
    """Return the medium in the rest of a disk's row: `371.597 GB SAS  SSD N ...`."""
    found = re.search(r" (SSD|HDD) ", rest)
    return found[1] if found else None


# --- words ------------------------------------------------------------------------------------------------

VOLUMES: Mapping[str, tuple[bool, bool]] = {
    "Optl": (True, False), "Dgrd": (False, False), "Pdgd": (False, False), "Rec": (False, False),
    "OfLn": (False, True),
}  # fmt: skip
"""States of volumes: whether it lacks no disk, and whether it is offline. Cac and HD are not states of redundancy."""
DISKS: Mapping[str, bool] = {
    "Onln": True, "UGood": True, "GHS": True, "DHS": True, "JBOD": True, "Rbld": True, "Cpybck": True, "Conf": True,
    "UGShld": True, "HSPShld": True, "CFShld": True, "CBShld": True, "Optl": True,
    "Offln": False, "UBad": False, "Failed": False, "Msng": False, "Missing": False, "UBUnsp": False,
}  # fmt: skip
"""States of disks: whether it serves, is a spare, or is unused but good."""
DISKS_2: Mapping[tuple[str, str], bool] = {
    ("Conf", "Online"): True, ("JBOD", "Online"): True, ("GHS", "Good"): True, ("DHS", "Good"): True,
    ("UConf", "Good"): True, ("GHS", "Online"): True, ("DHS", "Online"): True, ("UConf", "Online"): True,
    ("JBOD", "Good"): True, ("Conf", "Rebuild"): True,
}  # fmt: skip
"""States and statuses of disks of storcli2 that serve, are spares, or are unused but good."""
_BAD_STATES = ("Unusbl", "Dgrd")
_BAD_STATUSES = frozenset({"Offline", "Failed", "Missing", "Bad"})
REBUILDING = frozenset({"Rbld", "Cpybck", "Conf Rebuild"})
BATTERIES: Mapping[str, bool] = {
    "optimal": True, "opt": True, "ok": True, "good": True, "charging": True, "learning": True, "discharging": True,
    "failed": False, "degraded": False, "dgd": False, "missing": False, "absent": False, "not present": False,
    "replacement required": False, "needs attention": False, "bad": False,
}  # fmt: skip
"""States of batteries and capacitors, in lower case: whether the cache is protected, or about to be again."""


def celsius(text: object) -> float | None:
    """Return the temperature of ` 32C (89.60 F)`."""
    found = re.search(r"(\d{1,3}) ?C", text) if isinstance(text, str) else None
    return float(found[1]) if found and 0 < int(found[1]) < 150 else None


def number(value: object) -> int | None:
    """Return a count that is a number in JSON, and digits in text."""
    return whole(value.strip()) if isinstance(value, str) else json_whole(value)


def serves(state: str | None, status: str | None) -> bool | None:
    """Return whether a disk serves, is a spare, or is unused but good; None if unknown. Only storcli2 has a status."""
    if state is None or status is None:
        return DISKS.get(state or "")
    if state.endswith(_BAD_STATES) or status in _BAD_STATUSES:
        return False
    return DISKS_2.get((state, status))
