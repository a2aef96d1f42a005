"""dmsetup commands, live or recorded with other arguments, and the kernel names of the devices in their output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.devicemapper import dmtable
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Denied, Failed, Host, Output, Unreadable
from sdstop.readings.disk import device_name

STATUS = ("dmsetup", "status", "--noflush")
TABLE = ("dmsetup", "table")
FLASHCACHES = ("dmsetup", "table", "--target", "flashcache")
INFO = ("dmsetup", "info", "-c", "--noheadings", "--separator", ":")
PARTITIONS = "/proc/partitions"
BLOCK = "/sys/block"
ROOT = "root: device mapper requires it"
"""Privilege required to run dmsetup."""

_ASKED = re.compile(
    r"(?!.*--target[ _]multipath$)"  # a table of some maps is not the table
    r"dmsetup[ _](?P<what>status|table|info)(?:[ _]-\S*(?:[ _](?:flashcache|:))?)*(?:[ _](?P<name>\S+))?"
)


class DmsetupOutput(Struct, frozen=True):
    """Output of a dmsetup command: evidence key, device if a single one was queried, and text."""

    key: str
    name: str
    text: str


def output(host: Host, argv: Sequence[str], what: str) -> list[DmsetupOutput]:
    """Run a dmsetup command, or use recorded variants of it (`dmsetup status NAME`).

    Raises Denied, Absent or Failed, depending on dmsetup's error message.
    """
    recorded = host.recorded("dmsetup")
    others = [(name, found) for name in recorded if (found := _ASKED.fullmatch(name)) and found["what"] == what]
    if " ".join(argv) in recorded or not others:
        key = command_key(argv)
        return [DmsetupOutput(key, "", _text(key, host.run(argv)))]
    whole = [(name, found) for name, found in others if found["name"] is None]
    return [_recorded(host, name, found["name"] or "") for name, found in whole or others]


def _recorded(host: Host, name: str, device: str) -> DmsetupOutput:
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    return DmsetupOutput(key, device, _text(key, host.recorded_output(name)))


def _text(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.stderr.decode("utf-8", "replace").strip()
    if "ermission denied" in said or "peration not permitted" in said:
        raise Denied(key, f"needs {ROOT}")
    if "No such device" in said or "Check that device-mapper is available" in said:
        raise Absent(key, "device mapper is not active in this kernel")
    raise Failed(key, said.splitlines()[0] if said else f"exit status {output.exit}")


class MappingNames:
    """Names of mappings and devices from the data of all collectors; None for unknown names."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.mappings: Mapping[str, dmtable.Mapping] = {}
        self._numbers = dmtable.numbered(host.maybe(PARTITIONS) or "")
        for said in of_others(host, INFO, "info"):
            self.mappings = dmtable.mappings(said.text)
        if not self.mappings:
            self.mappings = dict(_of_sysfs(host))

    def device(self, told: str | None) -> str | None:
        """Return the kernel name of a device given as `253:2` or as a path; unresolvable paths lose only `/dev/`."""
        if not told:
            return None
        if not told.startswith("/"):
            return self._numbers.get(told) or self._number(told)
        path = told.removeprefix("/dev/")
        group, _, name = path.partition("/")
        known = self.mappings.get(name if group == "mapper" else dmtable.mapped(group, name))
        if name and known is not None:
            return known.device
        return self._host.target(told) or path

    def _number(self, told: str) -> str | None:
        names = self._host.names(BLOCK)
        return next((device_name(n) for n in names if self._host.maybe(f"{BLOCK}/{n}/dev") == told), None)


def of_others(host: Host, argv: Sequence[str], what: str) -> list[DmsetupOutput]:
    """Return output that the slower collector requested; empty on failure, which that collector reports."""
    try:
        return output(host, argv, what)
    except Unreadable:
        return []


def _of_sysfs(host: Host) -> Iterator[tuple[str, dmtable.Mapping]]:
    for device in host.names(BLOCK):
        name = host.maybe(f"{BLOCK}/{device}/dm/name") if device.startswith("dm-") else None
        if name:
            yield name, dmtable.Mapping(name, host.maybe(f"{BLOCK}/{device}/dm/uuid") or "", device)
