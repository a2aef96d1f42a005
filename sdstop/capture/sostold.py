"""What a sosreport's commands tell of files and answers that it has no copy of.

sos copies little of /sys/block and nothing of udev's database, but runs programs that print the same:

    uname -a             Linux san1 6.1.0-38-amd64 #1 SMP ...           /proc/sys/kernel/osrelease
    blockdev --report    rw   256   512  4096   0   134217728   /dev/vda    /sys/block/vda/size, ro
    udevadm info /dev/X  E: ID_SERIAL_SHORT=ZC1A7WQ9                    udev's answer for block devices
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from sdstop.core.evidence import Evidence, Outcome

_UNAME = re.compile(r"Linux (\S+) (\S+) #")
_REPORT = re.compile(
    r"^(?P<mode>rw|ro) +\d+ +\d+ +\d+ +\d+ +(?P<size>\d{1,19}) +/dev/(?P<device>[\w./-]{1,80})$", re.MULTILINE
)
_ABOUT = re.compile(r"cmd:udevadm info (?:--export-db|(?:-n |-q all -n |--name[= ])?\S*dev[./]\S+)")
_PROPERTY = re.compile(r"E: (?P<name>[A-Z][A-Z0-9_]{0,80})=(?P<value>.*)")
_SECTOR = 512
_MOST = 1 << 20


def told(evidence: Mapping[str, Evidence]) -> Iterator[Evidence]:
    """Yield what commands say in place of files; each tells of whom it is in its detail."""
    names: dict[str, dict[str, str]] = {}
    for key, item in evidence.items():
        if item.outcome is not Outcome.OK or not key.startswith(("cmd:uname", "cmd:blockdev", "cmd:udevadm")):
            continue
        text = item.data[:_MOST].decode("utf-8", "replace")
        if key == "cmd:uname -a" and (found := _UNAME.match(text)):
            yield _said("/proc/sys/kernel/hostname", found[1], key)
            yield _said("/proc/sys/kernel/osrelease", found[2], key)
        elif key == "cmd:blockdev --report":
            yield from _sizes(text, evidence)
        elif _ABOUT.fullmatch(key):
            _properties(text, names)
    if names:
        document = json.dumps(names, sort_keys=True)
        yield Evidence("answer:udev.block", data=document.encode(), detail="as udevadm info says")


def _said(key: str, text: str, command: str) -> Evidence:
    return Evidence(key, data=f"{text}\n".encode(), detail=f"as {command.removeprefix('cmd:')} says")


def _sizes(text: str, evidence: Mapping[str, Evidence]) -> Iterator[Evidence]:
    """Yield sizes of whole devices that the tree has, if only by a link or some attribute."""
    whole = {part[3] for key in evidence if len(part := key.split("/")) > 3 and part[1:3] == ["sys", "block"]}
    copied = {"/".join(key.rsplit("/", 2)[1:]) for key in evidence if key.endswith(("/size", "/ro"))}
    for found in _REPORT.finditer(text):
        name = found["device"].replace("/", "!")
        told = {"size": str(int(found["size"]) // _SECTOR), "ro": str(int(found["mode"] == "ro"))}
        for file, value in told.items() if name in whole else ():
            if f"{name}/{file}" not in copied:
                yield _said(f"/sys/block/{name}/{file}", value, "blockdev --report")


def _properties(text: str, names: dict[str, dict[str, str]]) -> None:
    """Add the properties of block devices; a blank line ends a device."""
    for block in text.split("\n\n"):
        said = {found["name"]: found["value"] for line in block.splitlines() if (found := _PROPERTY.fullmatch(line))}
        device = said.get("DEVNAME", "")
        if said.get("SUBSYSTEM") == "block" and device.startswith("/dev/"):
            names[device.removeprefix("/dev/")] = said
