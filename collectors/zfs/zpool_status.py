"""Parser for `zpool status`, OpenZFS 0.7 to 2.4 (cmd/zpool/zpool_main.c: status_callback, print_status_config)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.collectors.zfs.readings import KSTATS, NO_POOLS, draid
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.retention import json_texts

NO_ERRORS = "No known data errors"
"""Beginning of the line of a pool whose errors could not be read: without privileges, or suspended."""

_UNITS = "BKMGTPEZ"
_NICE = expression(r"(\d{1,20}(?:[.,]\d{1,6})?)([BKMGTPEZ]?)", re.ASCII)
_HEADER = expression(
    r" {0,3}(pool|state|status|action|see|scan|scrub|remove|expand|checkpoint|config|errors|comment):(.*)"
)
STATES = (
    "ONLINE",
    "DEGRADED",
    "FAULTED",
    "OFFLINE",
    "UNAVAIL",
    "REMOVED",
    "SPLIT",
    "UNKNOWN",
    "AVAIL",
    "INUSE",
    "SUSPENDED",
)
_VDEV = expression(rf"(\S.*?) +({'|'.join(STATES)})(?: +(.*))?", re.ASCII)
_OTHER = expression(r"(\S+) +([A-Z]{4,20})( +[\d.,-]+[KMGTPE]?){3}(?: +(.*))?", re.ASCII)
"""Line of the tree with an unknown state."""
_CHECKPOINT = expression(r"created (.{1,60}), consumes (\S{1,20})")
"""Line of print_checkpoint_status; while a checkpoint is discarded: `discarding, 1.50T remaining.`"""
_SUSPENDED = expression(r"One or more devices are faulted in response to I/?O failures|The pool is suspended because")
"""Sentences about a pool that waits for its devices (status_callback); versions before 0.8 call its state ONLINE."""
_GROUPS = frozenset({"logs", "cache", "spares", "special", "dedup"})
_LARGEST = 10**30
"""Largest size taken from a text."""
_MOST_VDEVS = 20_000
"""Lines read of the table of devices."""


class Scan(Struct, frozen=True, kw_only=True):
    """A resilver, scrub or sequential rebuild (dRAID, mirror), in bytes, seconds and bytes per second.

    `state`: running, paused, finished, canceled. `vdev` is the top-level vdev being rebuilt. Of `total`, `scanned` has
    been examined and `issued` submitted as I/O; `repaired` has been rewritten. Text output rounds numbers to three
    digits, so `share`, printed in hundredths of a percent, has the finest resolution.
    """

    operation: str
    state: str
    vdev: str = ""
    scanned: int | None = None
    issued: int | None = None
    total: int | None = None
    repaired: int | None = None
    share: float | None = None
    speed: int | None = None
    remaining: int | None = None
    errors: int | None = None
    exact: bool = False
    line: str = ""
    ended: int | None = None
    """Unix time of its end, in UTC where the output has a time of the node's zone."""


class StatusVdev(Struct, frozen=True, kw_only=True):
    """A line of the vdev tree; `parents` excludes the pool, `group` is the heading above it (logs, cache ...).

    Errors are None if not printed (spares), `slow` is None if not requested. `note` is the rest of the line.
    """

    name: str
    state: str
    parents: tuple[str, ...]
    group: str
    leaf: bool
    read: int | None = None
    write: int | None = None
    checksum: int | None = None
    slow: int | None = None
    note: str = ""
    path: str = ""
    line: str = ""


class PoolStatus(Struct):
    """A pool; `errors` is the sentence about lost data or None, `data_errors` their number, None if unknown."""

    name: str
    state: str = ""
    status: str = ""
    action: str = ""
    scans: list[Scan] = field(default_factory=list)
    vdevs: list[StatusVdev] = field(default_factory=list)
    errors: str | None = None
    data_errors: int | None = None
    checkpoint: int | None = None
    """Bytes that a checkpoint holds, None without one, or while it is discarded."""
    checkpointed: int | None = None
    """Unix time of the checkpoint, in UTC where the output has a time of the node's zone."""
    defect: str = ""
    """Why not all of it may be known: a tree that is missing or not understood, or no end."""


def imported(host: Host) -> list[str]:
    """Return the imported pools.

    Raises Absent if there are none or ZFS is not loaded, because a command would load its module.
    """
    found = sorted(set(host.entries(KSTATS)) - NO_POOLS)
    if not found:
        raise Absent(KSTATS, "no pool is imported")
    return found


def nicenum(word: str) -> int | None:
    """Return a number printed by zfs_nicenum (`1.68K`, `43.4T`, `0B`; powers of 1024), None for any other word.

    Some locales print a decimal comma.
    """
    found = _NICE.fullmatch(word)
    if not found:
        return None
    power: int = 1024 ** _UNITS.index(found[2] or "B")
    return min(round(float(found[1].replace(",", ".")) * power), _LARGEST)


def parse(text: str) -> list[PoolStatus]:
    """Return the pools in printed order; empty for `no pools available`.

    Sample of 2.1 (-pP -s); the lines of the tree begin with a TAB:

          pool: tank
         state: DEGRADED
          scan: resilver (draid1:4d:8c:1s-0) in progress since Sat Nov 21 14:36:01 2026
            96.0M scanned at 23.8M/s, 16.2M issued 4.02M/s, 250M total
            3.23M resilvered, 38.35% done, 00:00:06 to go
        config:

            NAME                 STATE     READ WRITE CKSUM  SLOW
            tank                 DEGRADED     0     0     0     0
              draid1:4d:8c:1s-0  DEGRADED     0     0     0     0
                spare-3          DEGRADED     0     0     0     0
                  /dev/vdd1      OFFLINE      0     0     0     0
                  draid1-0-0     ONLINE       0     0     0     0  (resilvering)
            spares
              draid1-0-0         INUSE     currently in use

        errors: No known data errors

    Terminals copy TABs as blanks, so that the tree is known by the indent of its heading. `errors:` is the last line of
    a pool; whatever follows its first line is not part of it. Unknown lines are skipped. Raises Malformed if the text
    has no pool.
    """
    pools: list[PoolStatus] = []
    ended: set[int] = set()
    for key, lines in _sections(text):
        said = " ".join(part for line in lines if (part := line.strip()))
        if key == "pool":
            pools.append(PoolStatus(lines[0].strip()))
        elif not pools:
            continue
        elif key in {"state", "status", "action"}:
            setattr(pools[-1], key, said if key != "state" else lines[0].strip())
            if key == "status" and _SUSPENDED.match(said):
                pools[-1].state = "SUSPENDED"
        elif key in {"scan", "scrub"}:
            found = _scan(lines)
            pools[-1].scans += [found] if found is not None else []
        elif key == "config":
            rows, stray = _tree(lines, pools[-1].name)
            pools[-1].vdevs += rows
            pools[-1].defect = f"line not understood: {stray[0][:60]!r}" if stray else ""
        elif key == "checkpoint" and (found_checkpoint := _CHECKPOINT.fullmatch(said)) is not None:
            pools[-1].checkpoint = nicenum(found_checkpoint[2])
            pools[-1].checkpointed = ended_at(found_checkpoint[1])
        elif key == "errors":
            _note_errors(pools[-1], lines[0].strip())
            ended.add(len(pools))
    for number, pool in enumerate(pools, 1):
        pool.defect = _lacking(pool, ended=number in ended)
    if not pools and "no pools available" not in text:
        raise Malformed(f"no pool in what zpool status printed: {text[:80]!r}")
    return pools


def _lacking(pool: PoolStatus, *, ended: bool) -> str:
    """Return why not all of a pool may be known, "" if all is."""
    if not pool.state:
        return 'no line "state:"'
    if not pool.vdevs:
        return pool.defect or "no device tree"
    strange = next((state for state in (pool.state, *(vdev.state for vdev in pool.vdevs)) if state not in STATES), "")
    if strange:
        return pool.defect or f"state not understood: {strange[:20]!r}"
    for vdev in pool.vdevs:
        layout = draid(vdev.name)
        below = sum(each.parents[-1:] == (vdev.name,) for each in pool.vdevs if each.group == vdev.group)
        if layout is not None and below != layout.children:
            return pool.defect or f"{vdev.name} has {below} of {layout.children} children"
    return pool.defect or ("" if ended else "end not shown")


def _note_errors(pool: PoolStatus, said: str) -> None:
    number = re.match(r"(\d{1,18}) data errors", said, re.ASCII)
    known = number is not None or said.startswith("Permanent errors have been")
    pool.errors = said if known else None
    pool.data_errors = 0 if said == NO_ERRORS else int(number[1]) if number else None
    if "I/O is currently suspended" in said:
        pool.state = "SUSPENDED"
    if not known and said != NO_ERRORS:  # unavailable, or cut
        pool.defect = pool.defect or said[:80] or "errors not shown"


def fault(text: str) -> str:
    """Return why a text is not a complete output of `zpool status`, "" if it is."""
    try:
        return next((pool.defect for pool in parse(text) if pool.defect), "")
    except Malformed as error:
        return str(error)


FORM = Form(
    key="cmd:zpool status",
    first=r" *pool: \S",
    goes_on=r"\s+\S.*|(?:state|status|action|see|scan|scrub|remove|expand|checkpoint|config|errors|comment|dedup):.*",
    about=r"(?m)^ *pool: (\S+)",
    reads="pools, their devices, errors, and running scans",
    versions="ZFS 0.6 and later",
    fault=fault,
)


def without_files(data: bytes) -> bytes:
    """Return the status without the list of damaged files below `errors:`; JSON without texts that are not parsed."""
    if data.lstrip()[:1] == b"{":
        return _without_texts(data)
    kept, listed = [], False
    for line in data.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.decode("utf-8", "surrogateescape").rstrip("\n"))
        listed = header[1] == "errors" if header else listed
        kept += [line] if header or not listed or not line.strip() else []
    return b"".join(kept)


_without_texts = json_texts("name", "state", "status", "action", "function", "aux", "path", "was", "scrub_pause")


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    key, lines = "", list[str]()
    for line in text.split("\n"):
        found = _HEADER.fullmatch(line)
        if found:
            if key:
                yield key, lines
            key, lines = found[1], [found[2]]
        else:
            lines.append(line)
    if key:
        yield key, lines


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = expression(
    r"(?:.* on )?[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d{2}:\d{2}:\d{2}) (?P<year>\d{4})"
)


def ended_at(text: str) -> int | None:
    """Return the Unix time at the end of a text: `... on Sun Nov 15 04:35:03 2026` (ctime(3)), as if it were UTC."""
    found = _DATE.fullmatch(text)
    if found is None or found["month"] not in _MONTHS:
        return None
    hours, minutes, seconds_ = (int(word) for word in found["time"].split(":"))
    try:
        when = datetime(
            int(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"]), hours, minutes, min(seconds_, 59),
            tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    return int(when.timestamp())


_RUNS = expression(
    r"(resilver|scrub|thorough scrub|error scrub)(?: \((\S{1,200})\))? (in progress since|paused since|canceled on).*"
)
_DONE = expression(
    r"(resilvered|scrub repaired)(?: \((\S{1,200})\))? (\S{1,20})(?: in .*)? with (\d{1,18}) errors.*", re.ASCII
)
_AMOUNTS = (
    # 2.2 and later; then 0.8 to 2.1; then 0.7
    expression(r"(\S+) / (\S+) scanned(?: at (\S+)/s)?, (\S+) / (\S+) issued(?: at (\S+)/s)?"),
    expression(r"(\S+) scanned(?: at (\S+)/s)?, (\S+) issued(?:(?: at)? (\S+)/s)?, (\S+) total"),
    expression(r"(\S+) scanned out of (\S+)(?: at (\S+)/s)?(?:, (.+) to go|, .*)?"),
)
_REPAIRED = expression(r"(\S+) (?:resilvered|repaired), (\d{1,9}(?:[.,]\d{1,4})?)% done(?:, (.+) to go)?.*", re.ASCII)
_CLOCK = expression(r"(?:(\d{1,9}) days? )?(\d{1,9}):(\d{2}):(\d{2})", re.ASCII)
_HOURS = expression(r"(\d{1,9})h(\d{1,9})m", re.ASCII)
_WORDS = {"in progress since": "running", "paused since": "paused", "canceled on": "canceled"}


def _scan(lines: list[str]) -> Scan | None:
    first = lines[0].strip()
    rest = [line.strip() for line in lines[1:]]
    done = _DONE.fullmatch(first)
    if done:
        operation = "scrub" if done[1].startswith("scrub") else "rebuild" if done[2] else "resilver"
        return Scan(
            operation=operation,
            state="finished",
            vdev=done[2] or "",
            repaired=nicenum(done[3]),
            errors=int(done[4]),
            line=first,
            ended=ended_at(first),
        )
    runs = _RUNS.fullmatch(first)
    if not runs:
        return None
    operation = "rebuild" if runs[2] else runs[1].rpartition(" ")[2]
    made: dict[str, int | float | None] = {}
    for line in rest:
        made |= _amounts(line, rebuild=operation == "rebuild")
    return Scan(operation=operation, state=_WORDS[runs[3]], vdev=runs[2] or "", line=first, **made)  # type: ignore[arg-type]


def _amounts(line: str, *, rebuild: bool) -> dict[str, int | float | None]:
    """Parse a line below `scan:`; the total, share and speed of a rebuild refer to scanned bytes."""
    two = _AMOUNTS[0].fullmatch(line)
    if two:
        scanned, whole, rate, issued, total, speed = two.groups()
        total, speed = (whole, rate) if rebuild else (total, speed)
        return _known(scanned=scanned, issued=issued, total=total, speed=speed)
    one = _AMOUNTS[1].fullmatch(line)
    if one:
        scanned, rate, issued, speed, total = one.groups()
        return _known(scanned=scanned, issued=issued, total=total, speed=rate if rebuild else speed)
    old = _AMOUNTS[2].fullmatch(line)
    if old:
        scanned, total, speed, left = old.groups()
        return _known(issued=scanned, total=total, speed=speed) | {"remaining": seconds(left or "")}
    done = _REPAIRED.fullmatch(line)
    if done:
        left = {"remaining": seconds(done[3])} if done[3] else {}
        return {"repaired": nicenum(done[1]), "share": min(float(done[2].replace(",", ".")) / 100, 1.0), **left}
    return {}


def _known(**words: str | None) -> dict[str, int | float | None]:
    return {name: nicenum(word) if word else None for name, word in words.items()}


def seconds(text: str) -> int | None:
    """Return a duration: `1 days 03:22:35`, `00:00:06`, `0h51m`; None for any other text."""
    clock = _CLOCK.fullmatch(text)
    if clock:
        days, hours, minutes, rest = (int(part or 0) for part in clock.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    short = _HOURS.fullmatch(text)
    return (int(short[1]) * 60 + int(short[2])) * 60 if short else None


_STEP = 2
"""Columns by which a level of the tree is indented."""
_GROUP = expression(r"(?:mirror|raidz[123]?|draid[123]?|spare|replacing|indirect|root|hole|missing|any|\d{5,20}$)")
"""Names of vdevs with others below them."""


def _tree(lines: list[str], pool: str) -> tuple[list[StatusVdev], list[str]]:
    """Return the vdevs, and the lines of the tree that are not understood."""
    found: list[tuple[int, StatusVdev]] = []
    stray: list[str] = []
    above: list[tuple[int, str]] = []
    group, slow = "", False
    left: int | None = None
    for line in lines[:_MOST_VDEVS]:
        words = line.split()
        text = line.expandtabs(8).rstrip()
        indent = len(text) - len(text.lstrip())
        if words[:2] == ["NAME", "STATE"]:
            slow, left = "SLOW" in words, indent
            continue
        if not words or left is None:
            continue
        depth = indent - left
        if words[0] in _GROUPS and len(words) == 1 and not depth:
            group, above = words[0], []
            continue
        row = _VDEV.fullmatch(text.strip()) or _OTHER.fullmatch(text.strip())
        if not row:
            stray.append(text.strip())
            continue
        if depth <= 0 and not group:
            # The pool's own line is not indented; its data is in the header. Others are where blanks were lost.
            stray += [] if row[1] == pool else [text.strip()]
            continue
        above = [(d, name) for d, name in above if d < depth]
        if (depth > above[-1][0] + _STEP or not _GROUP.match(above[-1][1])) if above else depth > _STEP:
            stray.append(text.strip())  # the line of the vdev above it is missing
            continue
        vdev = _vdev(row, tuple(name for _, name in above), group, slow=slow, line=line.strip())
        stray += [text.strip()] if vdev.read is None and vdev.note[:1].isdecimal() else []  # not three counts
        found.append((depth, vdev))
        above.append((depth, row[1]))
    inner = {place for place, (depth, vdev) in enumerate(found[:-1]) if _above(found[place + 1], depth, vdev)}
    return [replace(vdev, leaf=place not in inner) for place, (_, vdev) in enumerate(found)], stray


def _above(after: tuple[int, StatusVdev], depth: int, vdev: StatusVdev) -> bool:
    return after[0] > depth and after[1].group == vdev.group


def _vdev(row: re.Match[str], parents: tuple[str, ...], group: str, *, slow: bool, line: str) -> StatusVdev:
    rest = row.string[row.end(2) :]
    words = rest.split()
    numbers: list[int | None] = []
    while words and len(numbers) < 3 + slow and (words[0] == "-" or nicenum(words[0]) is not None):
        numbers.append(nicenum(words.pop(0)))
    if len(numbers) < 3:
        numbers = []
        words = rest.split()
    counts = [*numbers, None, None, None, None]
    return StatusVdev(
        name=row[1],
        state=row[2],
        parents=parents,
        group=group,
        leaf=True,
        read=counts[0],
        write=counts[1],
        checksum=counts[2],
        slow=counts[3],
        note=" ".join(words),
        path=row[1] if row[1].startswith("/") else "",
        line=line,
    )
