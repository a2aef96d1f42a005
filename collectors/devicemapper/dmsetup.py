"""dmsetup commands, live or recorded with other arguments, and the kernel names of the devices in their output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper.readings import INFO
from sdstop.collectors.devicemapper.volume_readings import mapped
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Denied, Failed, Host, Output, Unreadable
from sdstop.core.refusal import refusal
from sdstop.readings.disk import device_name

STATUS = ("dmsetup", "status", "--noflush")
FLASHCACHES = ("dmsetup", "table", "--target", "flashcache")
PARTITIONS = "/proc/partitions"
BLOCK = "/sys/block"
ROOT = "root: device mapper requires it"
"""Privilege required to run dmsetup."""

NAME = r"[^\s\"'`|/\u2502\u2503\u2551]{1,200}"
"""Name of a mapping, which has no slash; quotes and bars before it are of the text around it."""
_STATES = (
    r"raid raid\w{1,8} \d{1,3} [AaD-]{1,253} \d|mirror \d (?:\S+ )+\d+/\d+ 1 [ADFSRU]+ "
    r"|striped \d+ (?:\d+:\d+ )+1 [AD]+ *\n|thin-pool (?:\d+ \d+/\d+ \d|Fail|Error)|vdo /dev/\S+ \S+ \S+ "
    r"|snapshot(?:-merge)? (?:\d+/\d|Invalid|Overflow|Merge)|integrity \d+ \d+ [\d-]|multipath \d \d \d \d "
)
"""Beginnings of the states of targets, which differ from those of their tables."""
_GOES_ON = rf"\s+\S.*|(?:{NAME}: )?\d+ \d+ \S.*|[a-zA-Z_ ]{{2,40}}(?:\(| thresh).*|Size Hist: .*|(?: ?\d+:\d+)+ *"
"""Lines of dmsetup; those of flashcache lose their indentation in some copies."""
FORMS = (
    Form(
        key="cmd:dmsetup status",
        first=rf"(?:{NAME}: )?\d+ \d+ flashcache stats:|{NAME}: \d+ \d+ (?:cache \d+ \d+/\d+|writecache \d+) "
        rf"|(?:{NAME}: \d+ \d+ (?:linear|crypt|snapshot-origin) *\n){{0,60}}{NAME}: \d+ \d+ (?:{_STATES})",
        reads="states of caches, LVM RAID, thin pools, snapshots, checksums, multipath maps",
        versions="dmsetup 1.02 and later",
        goes_on=_GOES_ON,
    ),
    Form(
        key="cmd:dmsetup table",
        first=rf"(?:{NAME}: )?\d+ \d+ flashcache conf:",
        reads="the tables of caches, and the request sizes of flashcache",
        versions="dmsetup 1.02 and later",
        goes_on=_GOES_ON,
        whole=True,
    ),
)
"""Text outputs of dmsetup without a command line."""

_ASKED = expression(
    r"(?!.*--target[ _]multipath$)"  # output about some maps is not that about all
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


def recorded(host: Host, what: str) -> bool:
    """Return whether output of `dmsetup status`, `table` or `info` was recorded, whatever its arguments."""
    return any((found := _ASKED.fullmatch(name)) and found["what"] == what for name in host.recorded("dmsetup"))


def _recorded(host: Host, name: str, device: str) -> DmsetupOutput:
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    return DmsetupOutput(key, device, _text(key, host.recorded_output(name)))


def _text(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.stderr.decode("utf-8", "replace").strip()
    if "ermission denied" in said or "peration not permitted" in said:
        raise Denied(key, f"needs {ROOT}")
    refused = refusal("dmsetup", said)
    if refused is not None:
        raise Absent(key, refused.reason)
    raise Failed(key, said.splitlines()[0] if said else f"exit status {output.exit}")


def of_targets(host: Host, what: str) -> list[DmsetupOutput]:
    """Return recorded output about the maps of one target (`--target multipath`); a live node has none."""
    names = [name for name in host.recorded("dmsetup") if (found := _PARTIAL.match(name)) and found["what"] == what]
    return [_recorded(host, name, "") for name in names]


_PARTIAL = expression(r"dmsetup[ _](?P<what>status|table)[ _](?:\S+[ _])*--target[ _]")


class MappingNames:
    """Names of mappings and devices from the data of all collectors; None for unknown names."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.mappings: Mapping[str, dmtable.Mapping] = {}
        self._scanned: dict[str | None, str] = {}
        self._numbers = dmtable.numbered(host.maybe(PARTITIONS) or "")
        for said in of_others(host, INFO, "info"):
            self.mappings = dmtable.mappings(said.text)
        if not self.mappings:
            self.mappings = dict(_of_sysfs(host))
        self._numbers = {each.number: each.device for each in self.mappings.values() if each.number} | self._numbers

    @cached_property
    def _in_sysfs(self) -> Mapping[str, dmtable.Mapping]:
        """Names that are newer than the output of the slower source."""
        return dict(_of_sysfs(self._host))

    def named(self, mapping: str) -> tuple[str, str | None]:
        """Return the display name and the kernel name of a mapping."""
        known = self.mappings.get(mapping) or self._in_sysfs.get(mapping)
        return (mapping, None) if known is None else (dmtable.volume(mapping, known.uuid), known.device)

    def device(self, told: str | None) -> str | None:
        """Return the kernel name of a device given as `253:2` or as a path; unresolvable paths lose only `/dev/`."""
        if not told:
            return None
        if not told.startswith("/"):
            return self._numbers.get(told) or self._number(told)
        path = told.removeprefix("/dev/")
        group, _, name = path.partition("/")
        known = self.mappings.get(name if group == "mapper" else mapped(group, name))
        if name and known is not None:
            return known.device
        return self._host.target(told) or path

    def access(self, number: str) -> str | None:
        """Return the access that an array gives through a path: ALUA's state as the kernel last learned it."""
        device = self.device(number)
        return self._host.maybe(f"{BLOCK}/{device}/device/access_state") if device is not None else None

    def _number(self, told: str) -> str | None:
        """Return a device that /proc/partitions lacks; the file of each device is read at most once."""
        while told not in self._scanned and (name := next(self._unscanned, None)) is not None:
            self._scanned[self._host.maybe(f"{BLOCK}/{name}/dev")] = device_name(name)
        return self._scanned.get(told)

    @cached_property
    def _unscanned(self) -> Iterator[str]:
        return iter(self._host.names(BLOCK))


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
