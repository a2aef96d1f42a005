"""Multipath maps of device mapper: which paths work, and whether requests wait when none does."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper.dmsetup import MappingNames
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.model import Reading

TARGET = "multipath"
TABLE = ("dmsetup", "table", "--target", TARGET)
QUEUES = "queue_if_no_path"

MAP_UUID = "mpath-"
"""Beginning of the UUIDs of multipath maps (libmultipath/devmapper.h)."""
ACTIVE, FAILED = "active", "failed"
UNNAMED = "multipathd"
"""Name of the map of paths whose maps are unknown: all that multipathd lists."""
_STATES = {"A": ACTIVE, "F": FAILED}
_GROUPS = {"A": "active", "E": "enabled", "D": "disabled"}


class PathStatus(Struct, frozen=True):
    """A path in `dmsetup status`: number, state, failures, its group counted from 1, and the state of the group."""

    number: str
    state: str
    fails: int
    group: int
    group_state: str


def parse_status(text: str) -> list[PathStatus]:
    """Parse the status of a multipath target (kernel drivers/md/dm-mpath.c: multipath_status).

        2 0 1 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:0 F 3 0 1

    Features with their values, handler, number of groups, next group; then for each group its state, arguments of its
    selector, number of paths and of arguments of a path; then for each path its number, A or F, failures, arguments.
    Raises Malformed.
    """
    words = iter(text.split())
    try:
        _skip(words, int(next(words)))
        _skip(words, int(next(words)))
        groups = int(next(words))
        next(words)
        found = [path for group in range(1, groups + 1) for path in _group(words, group)]
    except (StopIteration, ValueError, KeyError) as error:
        raise Malformed(f"multipath status not understood: {text.strip()[:80]!r}") from error
    return found


def _group(words: Iterator[str], group: int) -> list[PathStatus]:
    state = _GROUPS[next(words)]
    _skip(words, int(next(words)))
    count, arguments = int(next(words)), int(next(words))
    found = []
    for _ in range(count):
        number, path_state, fails = next(words), _STATES[next(words)], int(next(words))
        _skip(words, arguments)
        found.append(PathStatus(number, path_state, fails, group, state))
    return found


def _skip(words: Iterator[str], count: int) -> None:
    for _ in range(count):
        next(words)


_FEATURES = expression(r"\s*(\d{1,3})((?:\s+\S+)*)")


def parse_queues(text: str) -> bool | None:
    """Return whether a table of a multipath target queues without a path; None if it is not understood.

    1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:16 1 1 service-time 0 1 2 8:0 1 1
    """
    match = _FEATURES.fullmatch(text.rstrip())
    if match is None:
        return None
    words = match[2].split()
    count = int(match[1])
    return QUEUES in words[:count] if len(words) >= count else None


def rows(segment: dmtable.Segment, key: str, names: MappingNames, *, queues: bool | None) -> Iterator[Reading]:
    """Yield a map and its paths; a map whose line is not understood has no number of paths."""
    mapping = names.mappings.get(segment.name)
    device = mapping.device if mapping is not None else None
    try:
        paths = parse_status(segment.text)
    except Malformed:
        yield MultipathState(
            segment.name, device, None, None, None if queues is None else int(queues), key, f"{segment.name}:"
        )
        return
    yield MultipathState(
        segment.name,
        device,
        len(paths),
        sum(path.state == ACTIVE for path in paths),
        None if queues is None else int(queues),
        key,
        f"{segment.name}:",
    )
    for path in paths:
        yield MultipathPath(
            segment.name,
            path.number,
            names.device(path.number),
            device,
            path.state,
            path.group,
            path.group_state,
            path.fails,
            key,
            names.access(path.number),
        )


def is_impaired(segment: dmtable.Segment) -> bool:
    """Return whether a segment is a multipath map with a failed path, or with a status that is not understood."""
    try:
        return segment.target == TARGET and any(path.state == FAILED for path in parse_status(segment.text))
    except Malformed:
        return True
