"""Paths and maps in recorded tables of multipathd (libmultipath/print.h, print.c of multipath-tools 0.4.9 to 0.14).

`multipathd show paths`, of which the maps stay unknown:

    hcil    dev dev_t pri dm_st  chk_st dev_st  next_check
    7:0:0:0 sdb 8:16  50  active ready  running XXX....... 7/20
    6:0:0:0 sda 8:0   10  failed faulty running X......... 2/20
    2:0:0:0 sdc 8:32  1   undef  undef  unknown orphan

`multipathd show paths format "%w %d %t %i %o %T %m"` has columns in any order, here also that of the map:

    uuid              dev dm_st  hcil    dev_st  chk_st multipath
    3600a098038303053 sdb active 7:0:0:0 running ready  mpatha
    3600a098038303053 sda failed 6:0:0:0 offline faulty mpatha

`multipathd show maps status`, of which the failed paths stay unknown: it counts active ones.

    name   failback  queueing paths dm-st  write_prot
    mpatha immediate 12 chk   2     active rw
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sdstop.collectors.devicemapper.multipath import ACTIVE, FAILED, UNNAMED
from sdstop.collectors.devicemapper.multipath_text import FORM as TOPOLOGY
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core.collector import Collector, Need
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.table import aligned
from sdstop.core.text import whole

_GOOD = frozenset({"ready", "ghost"})
_BAD = frozenset({"faulty", "shaky", "i/o timeout", "delayed", "disconnected"})
_MOVING = frozenset({"i/o pending", "undef"})
_WAITS = {"on": 1, "off": 0, "-": None}


def _is_orphan(row: Mapping[str, str]) -> bool:
    """Return whether a path belongs to no map."""
    if "multipath" in row:
        return row["multipath"] == "[orphan]"
    return row.get("next_check") == "orphan" or (row["dm_st"] == "undef" and row.get("dev_st") == "unknown")


def _state(row: Mapping[str, str]) -> str:
    """Return the state of a path; one that its checker found bad is about to fail. Raises Malformed if unknown."""
    state, check = row["dm_st"], row["chk_st"]
    if check in _BAD or state == FAILED or row.get("dev_st") == "offline":
        return FAILED
    if check in _GOOD or (check in _MOVING and state == ACTIVE):
        return ACTIVE
    raise Malformed(f"multipathd show paths: state {state[:20]!r} {check[:20]!r}")


def parse_paths(text: str, key: str) -> Iterator[Reading]:
    """Yield the paths, and their numbers by map, as those of one where maps are not shown. Raises Malformed."""
    maps: dict[str, list[MultipathPath]] = {}
    for row in aligned(text.splitlines()):
        if not _is_orphan(row):
            name = row.get("multipath", UNNAMED)
            path = MultipathPath(name, row.get("dev_t", row["dev"]), row["dev"], None, _state(row), 1, None, None, key)
            maps.setdefault(name, []).append(path)
    for name, paths in maps.items():
        active = sum(path.state == ACTIVE for path in paths)
        yield MultipathState(name, None, len(paths), active, None, key, "dm_st" if name == UNNAMED else name)
        yield from paths


def parse_maps(text: str, key: str) -> Iterator[MultipathState]:
    """Yield the maps; how many paths one has is known only if none works. Raises Malformed."""
    for row in aligned(text.splitlines()):
        active, queues = whole(row["paths"]), row["queueing"]
        if active is None:
            raise Malformed(f"multipathd show maps status: {row['paths'][:20]!r} paths")
        waits = _WAITS.get(queues, 1)  # "12 chk", "60 sec": for that long
        refuses = {"ro": 1, "rw": 0}.get(row["write_prot"])
        name = row["name"].strip()
        yield MultipathState(name, None, 0 if not active else None, active, waits, key, f"{name} ", refuses)


PATHS = Form(
    key="cmd:multipathd show paths",
    first=r"hcil +dev +dev_t +pri +dm_st +chk_st +dev_st +next_check",
    reads="states of the paths of multipath maps",
    versions="multipath-tools 0.4.9 and later",
    goes_on=r"(?:\S+:\S+|#:#:#:#)\s+\S+\s+(?:\d+:\d+|#:#)\s.*",
)
_ANY = r"(?=[^\n]*\bdm_st\b)(?=[^\n]*\bchk_st\b)(?=(?:[^\n]* )?dev\b)"
CHOSEN = Form(
    key="cmd:multipathd show paths format",
    first=rf"{_ANY}(?!hcil +dev +dev_t +pri )[a-z_/.+]+(?: +[a-z_/.+%]+){{2,12}}\s*$",
    reads=PATHS.reads,
    versions=PATHS.versions,
    goes_on=r"\S+(?: +\S+){2,14}\s*",
)
MAPS = Form(
    key="cmd:multipathd show maps status",
    first=r"name +failback +queueing +paths +dm-st(?: +write_prot)?",
    reads="active paths of multipath maps, and what happens without one",
    versions="multipath-tools 0.4.9 and later",
    goes_on=r"\S+ +(?:immediate|manual|followover|undef|deferred:\d+|[X.]+ \d+/\d+) +.*",
)


def read(host: Host) -> Iterable[Reading]:
    """Return paths and maps; `multipath -ll` shows more. Raises Absent where it was recorded, or neither; Malformed."""
    paths = [each for form in (PATHS, CHOSEN) for each in outputs(host, form)]
    maps = list(outputs(host, MAPS))
    if not paths and not maps:
        raise Absent(PATHS.key, "not recorded", recorded=False)
    if any(host.recorded_texts(program, TOPOLOGY.shows) for program in ("multipath", "multipathd")):
        raise Absent(PATHS.key, "multipath -ll was recorded, too", recorded=False)
    rows = [row for each in paths for row in parse_paths(each.text, each.key)]
    for each in paths:
        if orphans := sum(map(_is_orphan, aligned(each.text.splitlines()))):
            host.defect(each.key, f"{orphans} without a map: local disks, or lost by a map", UNNAMED)
    return [*rows, *(row for each in maps for row in parse_maps(each.text, each.key))]


MULTIPATHD_TEXT = Collector(
    "multipathd-text",
    "Multipath paths and maps in recorded tables of multipathd",
    read,
    (MultipathState, MultipathPath),
    (Need("cmd:multipathd *", "tables of multipathd show paths and show maps status, from captures only; never run"),),
    forms=(PATHS, CHOSEN, MAPS),
)
