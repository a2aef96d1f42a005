"""What device mapper devices are built on, from recorded output of `dmsetup ls --tree` and `dmsetup deps`.

vg0-striped (254:3)              vg0-striped <dm-3> (254:3)         with -o blkdevname
 ├─ (8:16)                        |-<sdb> (8:16)
 └─ (8:32)                        `-<sdc> (8:32)
vg0-thin1 (254:9)
 └─vg0-pool-tpool (254:6)
    └─vg0-pool_tdata (254:5)

vg0-home: 2 dependencies : (8, 32) (8, 16)                          dmsetup deps
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.block.diskstats import PARTITIONS
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.core import format as human
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.recorded import outputs

_LINE = expression(
    r"(?P<branch>[ |│`├└]*[-─]?) *(?P<name>[^\s<(]+)? *(?:<(?P<device>[^>]+)>)? *"
    r"\((?P<number>\d{1,7}:\d{1,7})\)(?: .*)?"
)
_CUT = expression(r"(?P<branch>[ |│`├└]*[-─]?) *[^\s<(]{8,}\.\.\.")
"""Line that dmsetup cut at the width of the terminal, or at 80 columns of a pipe."""
_DEPS = expression(r"(?P<name>\S+): \d+ dependencies\s*:(?P<deps>(?: \(\S+(?:, \d+)?\))*)\s*")
_NUMBER = expression(r"\((\d{1,7}), (\d{1,7})\)|\((\S+?)\)")
_SD = (8, *range(65, 72), *range(128, 136))
"""Major numbers of SCSI disks, 16 minor numbers for each disk (Documentation/admin-guide/devices.txt)."""


def kernel_name(number: str) -> str | None:
    """Return the kernel name of a device whose number implies it: SCSI disks and md arrays; else None."""
    major, minor = map(int, number.split(":"))
    if major == 9:
        return f"md{minor}"
    if major not in _SD or minor > 255:
        return None
    at, name = _SD.index(major) * 16 + minor // 16, ""
    while at >= 0:
        name, at = chr(ord("a") + at % 26) + name, at // 26 - 1
    return f"sd{name}{minor % 16 or ''}"


def tree(text: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    """Yield number, mapping, kernel name and number above of each line of a tree. Raises Malformed."""
    stack: list[tuple[int, str]] = []
    for line in (each.rstrip() for each in text.splitlines() if each.strip()):
        found = _LINE.fullmatch(line)
        if found is None and (cut := _CUT.fullmatch(line)) is not None:  # without its number
            depth = len(cut["branch"])
            stack = [each for each in stack if each[0] < depth]
            stack.append((depth, ""))
            continue
        if found is None:
            raise Malformed(f"dmsetup ls --tree: {line.strip()[:60]!r}")
        depth = len(found["branch"])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        yield found["number"], found["name"], found["device"], (stack[-1][1] or None) if stack else None
        stack.append((depth, found["number"]))


def read(host: Host) -> Iterable[Reading]:
    """Return the links of all trees. Raises Absent without any, Malformed."""
    names = {number: name for line in (host.maybe(PARTITIONS) or "").splitlines()[1:] if len(w := line.split()) == 4
             for number, name in [(f"{w[0]}:{w[1]}", w[3])]}  # fmt: skip
    trees = [*outputs(host, "dmsetup", r"dmsetup[ _]ls[ _].*--tree")]
    deps = [*outputs(host, "dmsetup", r"dmsetup[ _]deps\b")]
    if not trees and not deps:
        raise Absent("cmd:dmsetup ls --tree", "not recorded", recorded=False)
    rows: dict[tuple[str, str], Reading] = {}
    devices: dict[str, BlockDevice] = {}
    for output in trees:
        cut = sum(_CUT.fullmatch(line.rstrip()) is not None for line in output.text.splitlines())
        if cut:
            host.defect(output.key, f"{human.plural(cut, 'line')} cut by dmsetup")
        for number, mapping, said, above in tree(output.text):
            device = said or names.get(number) or (f"dm-{number.partition(':')[2]}" if mapping else kernel_name(number))
            if device is None:
                host.defect(output.key, f"device {number}: name unknown")
                continue
            names[number] = device
            if mapping:
                devices[device] = BlockDevice(device, "dm", number=number, dm_name=mapping, told=output.key)
            if above in names:
                rows[names[above], device] = BlockLink(names[above], device, "slave", output.key)
    known = {row.dm_name: row.device for row in devices.values()}
    for output in deps:
        for line in output.text.splitlines():
            found = _DEPS.fullmatch(line)
            upper = known.get(found["name"]) if found is not None else None
            for major, minor, name in _NUMBER.findall(found["deps"]) if found is not None and upper else ():
                number = f"{major}:{minor}"
                lower = name or names.get(number) or kernel_name(number)
                if upper and lower:
                    rows[upper, lower] = BlockLink(upper, lower, "slave", output.key)
    return [*devices.values(), *rows.values()]


FORM = Form(
    key="cmd:dmsetup ls --tree",
    first=r"\S+ (?:<dm-\d+> )?\(\d+:\d+\)\n +[|`├└][-─ ]",
    reads="what device mapper devices are built on",
    versions="dmsetup 1.02 and later",
    goes_on=r"\S+ (?:<\S+> )?\(\d+:\d+\).*| +[|`├└│].*\(\d+:\d+\).*",
)

DM_TREE = Collector(
    "dm-tree",
    "Device mapper devices in recorded output of dmsetup ls --tree",
    read,
    (BlockDevice, BlockLink),
    (
        Need("cmd:dmsetup ls*", "what device mapper devices are built on, from captures only; never run"),
        Need("cmd:dmsetup deps*", "the same"),
        Need(PARTITIONS, "kernel names by number"),
    ),
    SLOW,
    forms=(FORM,),
)
