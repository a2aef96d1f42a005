r"""Multipath maps from recorded output of `multipath -ll` (multipath-tools 0.4.8 to 0.14, libmultipath/print.h).

    mpatha (36001405a1b2c3d400001111222233334) dm-0 LIO-ORG,IBLOCK
    size=64M features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
    `-+- policy='service-time 0' prio=50 status=active
      |- 7:0:0:0 sdb 8:16 active ready  running
      `- 6:0:0:0 sda 8:0  failed faulty running

Until 0.4.8:

    mpath0 (360060e8004f2a4000000f2a400000101) dm-4 HITACHI,OPEN-V
    [size=100G][features=1 queue_if_no_path][hwhandler=0][rw]
    \_ round-robin 0 [prio=2][active]
     \_ 1:0:0:1 sdb 8:16  [active][ready]
     \_ 2:0:0:1 sdc 8:32  [failed][faulty]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from sdstop.collectors.devicemapper.multipath import ACTIVE, FAILED, QUEUES
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.recorded import RecordedOutput, outputs
from sdstop.core.text import whole

_MAP = expression(
    r"(?:(?:create|reload|resize|switchpg|rename|unchanged|reject|: )[a-z ,]*: )?"
    r"(?P<name>[^\s\[|`\\][^\s\[]*)(?: ?\((?P<wwid>[^()\s]+)\))? (?P<device>dm-\d{1,7})(?P<product>\s.*)?"
)
_FOREIGN = expression(r"\S+ \[nvme\]:\S+")
_PROPERTIES = expression(r"\[?size=\S+")
_FEATURES = expression(r"features='([^']*)'|\[features=([^\]]*)\]")
_PROTECTED = expression(r"\bwp=(\w+)|\[(r[ow])\]")
_GROUP = expression(
    r"[|` ]?-\+- policy='[^']*' prio=(?P<prio>-?\w+) status=(?P<status>\w+)"
    r"|\\_ .{1,60}?\[prio=(?P<oldprio>-?\w+)\](?:\[(?P<old>\w+)\])?"
)
_PATH = expression(
    r"[| ]{0,3} ?[|`\\ ]{1,2}[-_] (?P<hctl>\S+:\S+)\s+(?P<device>\S+)\s+(?P<number>\d+:\d+|#:#)\s+"
    r"(?:\[(?P<old>\w+)\]\[(?P<old_check>[^\]]+)\]|(?P<state>active|failed|undef|n/a)\s+"
    r"(?P<check>i/o \w+|\w+)(?:\s+(?P<online>[\w-]+))?)\s*"
)
_GOOD = frozenset({"ready", "ghost", "undef"})
"""States of a working path by its checker; `multipath -l` does not run the checker: undef."""


class _Map(Struct):
    """A map while its lines are read."""

    name: str
    device: str
    product: str = ""
    queues: bool | None = None
    read_only: bool | None = None
    groups: int = 0
    is_tree: bool = False
    is_open: bool = True
    is_sized: bool = False
    last_group: bool = False
    """Whether further groups or paths must follow, by the branches."""
    status: str | None = None
    priority: int | None = None
    paths: list[MultipathPath] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def parse(text: str, origin: str) -> Iterator[_Map]:
    """Yield the maps of the output, without native NVMe multipath devices. Raises Malformed.

    A line that is neither known nor a message is an error, and so is a map without any path line.
    """
    current: _Map | None = None
    is_foreign = False
    for line in (each.rstrip() for each in text.splitlines() if each.strip()):
        head = _MAP.fullmatch(line)
        if head is not None or _FOREIGN.match(line):
            if current is not None:
                yield _whole(current)
            is_foreign = head is None
            current = None if head is None else _Map(head["name"], head["device"], (head["product"] or "").strip())
        elif current is not None:
            _take(current, line, origin)
        elif not is_foreign and (_PATH.fullmatch(line) or _GROUP.match(line) or _PROPERTIES.match(line)):
            raise Malformed(f"no map above {line.strip()[:60]!r}")
    if current is not None:
        yield _whole(current)
    elif not is_foreign and re.search(r" dm-\d|size=\S+ features=|policy='", text):
        raise Malformed(f"no map of multipath: {text.strip()[:60]!r}")


def _take(each: _Map, line: str, origin: str) -> None:
    """Take a line below the first one of a map. Raises Malformed where lines before it are missing."""
    if _PROPERTIES.match(line):
        if each.groups:
            raise Malformed(f"no map above {line.strip()[:60]!r}")
        each.is_sized = True
        features = _FEATURES.search(line)
        each.queues = None if features is None else QUEUES in (features[1] or features[2] or "").split()
        protected = _PROTECTED.search(line)
        said = None if protected is None else protected[1] or protected[2]
        each.read_only = said == "ro" if said in {"ro", "rw"} else None
    elif (group := _GROUP.match(line)) is not None:
        if each.groups and each.is_tree and (each.is_open or not each.paths):
            raise Malformed(f"no last path above {line.strip()[:60]!r}")
        each.is_tree = group["old"] is None and "-+-" in line
        each.last_group, each.is_open = line.startswith("`"), True
        each.groups += 1
        each.status = group["status"] or group["old"]
        each.priority = whole(group["prio"] or group["oldprio"])
    elif (path := _PATH.fullmatch(line)) is not None:
        if not each.groups or (each.is_tree and not each.is_open):
            raise Malformed(f"no group above {line.strip()[:60]!r}")
        each.is_open = re.match(r".{2,3}`- ", line) is None
        _add(each, path, origin)
    elif line[:1] in {"|", "`", "\\"} or line.startswith("  "):
        raise Malformed(f"multipath: {line.strip()[:60]!r}")


def _add(each: _Map, path: re.Match[str], origin: str) -> None:
    state = path["old"] or path["state"]
    check = path["old_check"] or path["check"]
    device = None if path["device"] in {"-", "#"} else path["device"]
    number = path["number"]
    taken = sum(known.number.partition(" ")[0] == number for known in each.paths)
    if state == ACTIVE and (check not in _GOOD or path["online"] == "offline"):
        said = check if check not in _GOOD else path["online"]
        each.doubts.append(f"{device or number}: active in the kernel, and {said}")
    each.paths.append(
        MultipathPath(
            each.name,
            number if not taken else f"{number} #{taken + 1}",
            device,
            each.device,
            state,
            each.groups,
            each.status if each.status in {"active", "enabled", "disabled"} else None,
            None,
            origin,
            priority=each.priority,
        )
    )


def _whole(each: _Map) -> _Map:
    if (
        not each.is_sized
        or (not each.paths and each.groups)
        or (each.is_tree and (each.is_open or not each.last_group))
    ):
        raise Malformed(f"no last path of {each.name}")
    return each


def fault(text: str) -> str:
    """Return why a text may lack paths of its last map: branches show the last group and its last path."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    group = next((line for line in reversed(lines) if "-+- policy=" in line), "")
    last = lines[-1] if lines else ""
    return "" if group.startswith("`-+-") and re.match(r" {2,4}`- ", last) else "end not shown"


FORM = Form(
    key="cmd:multipath -ll",
    first=r"(?:[a-z]+: )?\S+ (?:\(\S+\) ?)?dm-\d+ [^\n]*\nsize=",
    reads="multipath maps, the states of their paths, what happens without one",
    versions="multipath-tools 0.4.9 and later",
    goes_on=r" {0,2}[|`].*|size=.*|(?:[a-z]+: )?\S+ (?:\(\S+\) ?)?dm-\d+.*|\S+ \[nvme\]:.*",
    fault=fault,
)
OLD_FORM = Form(
    key="cmd:multipath -ll",
    first=r"(?:[a-z]+: )?\S+ (?:\(\S+\) ?)?dm-\d+ [^\n]*\n\[size=",
    reads="multipath maps, the states of their paths, what happens without one",
    versions="multipath-tools 0.4.7 and 0.4.8",
    goes_on=r" ?\\_ .*|\[size=.*|(?:[a-z]+: )?\S+ (?:\(\S+\) ?)?dm-\d+.*",
)


def read(host: Host) -> Iterable[Reading]:
    """Return the maps and their paths of each output; of one map in several, the one with fewer active paths counts.

    A map whose paths have no state in the kernel (`undef`) is left out. Raises Absent without an output, Malformed if
    none is understood.
    """
    found: dict[str, list[Reading]] = {}
    known: list[RecordedOutput] = [
        *outputs(host, "multipath", r"multipath[ _](?:-v ?[0-2][ _])?-l"),
        *outputs(host, "multipath", r"multipath[ _]-v ?2(?:[ _]-l+)?$"),
        *outputs(
            host, "multipathd", r"multipathd[ _](?:-k ?'?)?show[ _](?:topology|maps topology|multipaths topology)"
        ),
    ]
    for output in known:
        maps = list(parse(output.text, output.key))
        for place, each in enumerate(maps):
            if not (each.paths and each.is_tree) and place == len(maps) - 1 and not output.is_whole:
                host.defect(output.key, "paths may be missing at its end", each.name)
                continue
            most = max(len(other.paths) for other in maps if other.product == each.product)
            if len(each.paths) < most and all(path.state == ACTIVE for path in each.paths):
                host.defect(output.key, f"{len(each.paths)} of {most} paths that like maps have", each.name)
            for doubt in each.doubts:
                host.defect(output.key, doubt, each.name, contradiction=True)
            states = {path.state for path in each.paths}
            if not states <= {ACTIVE, FAILED}:
                host.defect(output.key, "the kernel's state of paths is undef", each.name)
                continue
            active = sum(path.state == ACTIVE for path in each.paths)
            queues = None if each.queues is None else int(each.queues)
            line = f"{each.name} "
            before = found.get(each.name, [None])[0]
            if isinstance(before, MultipathState) and before.active != active:
                said = f"{active} active paths, and {before.active} in {before.origin}"
                host.defect(output.key, said, each.name)
                if before.active is not None and before.active < active:
                    continue
            refuses = None if each.read_only is None else int(each.read_only)
            state = MultipathState(each.name, each.device, len(each.paths), active, queues, output.key, line, refuses)
            found[each.name] = [state, *each.paths]
    if not known:
        raise Absent("cmd:multipath -ll", "not recorded", recorded=False)
    return [row for rows in found.values() for row in rows]


MULTIPATH_TEXT = Collector(
    "multipath-text",
    "Multipath maps in recorded output of multipath -ll",
    read,
    (MultipathState, MultipathPath),
    (
        Need("cmd:multipath *", "maps and paths as text, from captures only; never run"),
        Need("cmd:multipathd *", "the same of multipathd show topology"),
    ),
    forms=(FORM, OLD_FORM),
)
