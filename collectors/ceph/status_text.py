"""Status of a cluster as `ceph -s` prints it for people (tables: osd_tables.py).

Formats: src/mon/Monitor.cc (get_cluster_status), src/mon/PGMap.cc and src/osd/OSDMap.cc (print_summary) of Ceph 0.80 to
19. The JSON form is read, too, and gives the same. Numbers of the text form are rounded to three digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.answers import CephStatus
from sdstop.collectors.ceph.health_text import WORDS, is_json, messages_of
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.wording import own_words

_SECTIONS = frozenset({"cluster", "services", "task status", "data", "io", "progress"})
_MONITORS = expression(r"(\d{1,6}) daemons?, quorum (\S+)")
_OSDS = expression(r"(\d{1,9}) osds: (\d{1,9}) up(?: \([^)]*\))?, (\d{1,9}) in\b")
_POOLS = expression(r"\d{1,9} pools, (\d{1,12}) pgs")
_OBJECTS = expression(r"(\S+?) ?([kMGTPE]?) +objects, (.+)")
_USAGE = expression(r"(.+) used, (.+) / (.+) avail")
_COPIES = expression(r"(\d{1,18})/(\d{1,18}) objects (degraded|misplaced|unfound) \(.*\)")
_SHARE = expression(r"\d{1,9}(?:\.\d{1,6})?% pgs (?:unknown|not active)")
_STATES = expression(r"(\d{1,12}) +([a-z_]+(?:\+[a-z_]+)*)")
_RATE = expression(r"(\d[\d.]*) ?([kKMGTPE]?)(?:i?B)?(/s| ?op/s)(?: (rd|wr))?")
_BYTES = expression(r"(\d{1,18}(?:\.\d{1,6})?) ?([kKMGTPE]?)(?:iB|B|bytes)?", re.ASCII)
_POWERS = " kMGTPE"
_MOST = 1 << 63
"""Largest number taken from a text: more is not a size of a cluster."""


def size_of(word: str) -> int | None:
    """Return a size (`1.6 GiB`, `2630 MB`, `417 MiB`, `0 B`, `10240M`, `3359 bytes`; powers of 1024), else None."""
    found = _BYTES.fullmatch(word.strip())
    if found is None:
        return None
    power: int = 1024 ** _POWERS.index((found[2] or " ").replace("K", "k"))
    return min(round(float(found[1]) * power), _MOST)


def _count(number: str, unit: str) -> int | None:
    try:
        power: int = 1000 ** _POWERS.index(unit or " ")
        return min(round(float(number) * power), _MOST)
    except (ValueError, OverflowError):
        return None


class ParsedStatus(Struct, frozen=True):
    """A status, and why not all of it may be known: "" if it is complete."""

    status: CephStatus
    defect: str = ""


def status_of(text: str) -> ParsedStatus:
    """Return the status of `ceph -s`.

          cluster:
            id:     a79759ac-0f32-429c-989d-c69801b236ac
            health: HEALTH_WARN
                    1/3 mons down, quorum a,b
                    (muted: OSD_SLOW_PING_TIME_BACK(57m))

          services:
            mon: 3 daemons, quorum a,b (age 9s), out of quorum: c
            mgr: x(active, since 27m)
            osd: 3 osds: 3 up (since 28s), 3 in (since 11m); 43 remapped pgs
                 flags noout,noscrub

          data:
            pools:   3 pools, 49 pgs
            objects: 2.65k objects, 331 MiB
            usage:   1.1 GiB used, 6.9 GiB / 8 GiB avail
            pgs:     1317/5308 objects degraded (24.812%)
                     33 active+clean+remapped
                     16 active+clean

          io:
            client:   55 MiB/s wr, 0 op/s rd, 438 op/s wr
            recovery: 1.2 MiB/s, 9 objects/s

    Rates and counts that are zero are not printed. `_old_entries` shows the form up to Ceph 11. Raises Malformed
    without a health.
    """
    if is_json(text):
        return ParsedStatus(answers.parse_status(text))
    said = dict(_old_entries(text) if _OLD.search(text) else _entries(text))
    health = " ".join(said.get("health", [])[:1])
    word = re.match(WORDS, health)
    if word is None or not _first(said, "id"):
        raise Malformed(f"ceph status: no health, or no id: {text.strip()[:60]!r}")
    lines = [health[word.end() :].strip(), *said["health"][1:]]
    groups = _Groups(said.get("pgs", []))
    objects = _OBJECTS.fullmatch(_first(said, "objects"))
    usage = _USAGE.fullmatch(_first(said, "usage"))
    monitors, osds = _MONITORS.match(_first(said, "mon")), _OSDS.match(_first(said, "osd"))
    pools = _POOLS.match(_first(said, "pools"))
    rates = _rates(_first(said, "client"))
    manager = _first(said, "mgr")
    status = CephStatus(
        fsid=_first(said, "id") or "unknown",
        health=word[0],
        checks=messages_of(word[0], lines),
        monitors=int(monitors[1]) if monitors else None,
        quorum=tuple(monitors[2].rstrip(",").split(",")) if monitors and monitors[2] else (),
        release=None,
        epoch=None,
        osds=int(osds[1]) if osds else None,
        osds_up=int(osds[2]) if osds else None,
        osds_in=int(osds[3]) if osds else None,
        states=groups.states,
        counted=groups.counted,
        pgs=int(pools[1]) if pools else None,
        objects=_count(objects[1], objects[2]) if objects else None,
        data=size_of(objects[3]) if objects else None,
        used=size_of(usage[1]) if usage else None,
        total=size_of(usage[3]) if usage else None,
        degraded=groups.copies.get("degraded", (0, 0))[0],
        degraded_total=groups.copies.get("degraded", (0, None))[1],
        misplaced=groups.copies.get("misplaced", (0, 0))[0],
        misplaced_total=groups.copies.get("misplaced", (0, None))[1],
        unfound=groups.copies.get("unfound", (0, 0))[0],
        inactive=groups.inactive,
        recovering=_rates(_first(said, "recovery")).get("bytes", 0.0) or None,
        manager=None if not manager else not manager.startswith("no daemons active"),
        reads=rates.get("op/s rd", 0.0),
        writes=rates.get("op/s wr", 0.0),
        read=rates.get("bytes rd", 0.0),
        write=rates.get("bytes wr", 0.0),
    )
    return ParsedStatus(status, _lacking(said, status, groups))


def _lacking(said: Mapping[str, list[str]], status: CephStatus, groups: _Groups) -> str:
    """Return which part of a status is missing or not understood, "" if none is."""
    parts = (("mon", status.monitors), ("osd", status.osds), ("pools", status.pgs), ("usage", status.total))
    for name, known in parts:
        if known is None and name in said:
            return f'not understood: "{name}: {_first(said, name)[:40]}"'
        if known is None:
            return f'no line "{name}:"'
    if stray := groups.stray or _first(said, _ASTRAY):
        return f"not understood: {stray[:60]!r}"
    if status.counted is None and status.pgs:
        return 'no states below "pgs:"'
    return ""


def _first(said: Mapping[str, list[str]], name: str) -> str:
    return next(iter(said.get(name, ())), "")


_ENTRY = expression(r"([a-z][a-z_ -]{1,30}):(?: +(.*))?")
_KNOWN = {
    "cluster": {"id", "health"}, "services": {"mon", "mgr", "osd", "mds", "rgw"},
    "data": {"volumes", "pools", "objects", "usage", "pgs"}, "io": {"client", "recovery", "cache"},
}  # fmt: skip
"""Entries of each section that continue over lines, or are read."""
_ANYWHERE = frozenset[str]().union(*_KNOWN.values())


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the entries of all sections and their lines: `health`, ["HEALTH_WARN", "1 osds down"]."""
    section = astray = ""
    margin = 0
    entry: tuple[str, list[str]] | None = None
    for line in text.splitlines():
        words = line.strip()
        if not words:
            continue
        if section and not line[:1].isspace() and words.removesuffix(":") not in _SECTIONS:
            break  # prose
        if words.removesuffix(":") in _SECTIONS and words.endswith(":"):
            section = words[:-1]
            if entry is not None:
                yield entry
            entry = None
            continue
        found = _ENTRY.fullmatch(words) if section else None
        if found is not None and found[1] in _ANYWHERE:  # the title of its section may be cut
            if entry is not None:
                yield entry
            entry = (found[1], [(found[2] or "").strip()])
            margin = len(line) - len(line.lstrip())
        elif entry is not None and (entry[0] != "health" or _is_message(line, margin)):
            entry[1].append(words)
        elif entry is not None:
            astray = astray or words
    if entry is not None:
        yield entry
    if astray:
        yield _ASTRAY, [astray]


_OLD = expression(r"^ *cluster ([0-9a-f]{8}-[0-9a-f-]{27}) *\n *health (?=HEALTH_)", re.MULTILINE)
_OLD_MAP = expression(r"(?:monmap|osdmap|mdsmap|fsmap|pgmap) (?:[ev]\d|.*\bepoch\b)|mgr |election epoch |flags ")
"""Beginning of a line that is not a message of the health."""
_OLD_MONITORS = expression(r"monmap e\d+: (\d{1,6}) mons? at \{[^\n]*\},?\s+election epoch \d+, quorum [\d,]+ (\S+)")
_OLD_OSDS = expression(r"osdmap e\d+: (\d[^\n]*)")
_OLD_GROUPS = expression(r"pgmap v\d+: (\d{1,12}) pgs, (\d{1,9}) pools, (.+) data, (\d[\d.]*) ?([kMGTPE]?)objects")


def _old_entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the entries of a status of Ceph 0.80 to 11, as newer versions name and print them.

            cluster 9ef6b84f-2707-4446-8e35-378e7c01af27
             health HEALTH_WARN
                    2 pgs degraded
                    recovery 5/115 objects degraded (4.348%)
             monmap e1: 3 mons at {a=192.0.2.1:6789/0,b=192.0.2.2:6789/0,c=192.0.2.3:6789/0}
                    election epoch 100, quorum 0,1,2 a,b,c
             osdmap e3999: 24 osds: 23 up, 24 in; 2 remapped pgs
                    flags sortbitwise,require_jewel_osds
              pgmap v99757124: 600 pgs, 1 pools, 1966 GB data, 531 kobjects
                    5409 GB used, 39161 GB / 44570 GB avail
                    5/115 objects degraded (4.348%)
                         598 active+clean
                           2 active+degraded
        recovery io 10240 kB/s, 3 objects/s
          client io 22383 B/s rd, 3574 kB/s wr, 159 op/s rd, 177 op/s wr

    Up to 0.94 the messages of the health are in one line, and the quorum is in that of the monitors.
    """
    found = _OLD.search(text)
    if found is None:
        return
    yield "id", [found[1]]
    lines = [line.strip() for line in text[found.end() :].splitlines() if line.strip()]
    end = next((place for place, line in enumerate(lines) if _OLD_MAP.match(line)), len(lines))
    word, _, rest = lines[0].partition(" ")
    yield "health", [word, *(part for line in (rest, *lines[1:end]) for part in re.split(r"; (?=\S)", line) if part)]
    if monitors := _OLD_MONITORS.search(text):
        yield "mon", [f"{monitors[1]} daemons, quorum {monitors[2]}"]
    if osds := _OLD_OSDS.search(text):
        yield "osd", [osds[1]]
    groups: list[str] = []
    for line in lines[end:]:
        if counts := _OLD_GROUPS.fullmatch(line):
            yield "pools", [f"{counts[2]} pools, {counts[1]} pgs"]
            yield "objects", [f"{counts[4]}{counts[5]} objects, {counts[3]}"]
        elif _USAGE.fullmatch(line):
            yield "usage", [line]
        elif " io " in line:
            yield line.split()[0], [line.partition(" io ")[2]]
        elif re.match(r"\d", line):
            groups.append(re.sub(r"^(\d+/\d+) unfound", r"\1 objects unfound", line))
    yield "pgs", groups


_ASTRAY = "?"
_MESSAGE = 8
"""Columns between `health:` and the messages below."""


def _is_message(line: str, margin: int) -> bool:
    """Return whether a line below the health is one of its messages; blanks may have been collapsed."""
    indent = len(line) - len(line.lstrip())
    return indent == margin + _MESSAGE or (indent == margin and margin <= 1)


class _Groups:
    """Lines below `pgs:`: copies that are degraded, misplaced or unfound, and the states of placement groups."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Parse the lines; `stray` is the first one that is not understood."""
        self.states: dict[str, int] = {}
        self.copies: dict[str, tuple[int, int]] = {}
        self.counted: int | None = None
        self.inactive = 0
        self.stray = ""
        for line in lines:
            copies, states = _COPIES.fullmatch(line), _STATES.fullmatch(line)
            if copies is not None:
                self.copies[copies[3]] = (int(copies[1]), int(copies[2]))
            elif states is not None:
                self._add(states[2], int(states[1]))
            elif line and not _SHARE.fullmatch(line):
                self.stray = self.stray or line

    def _add(self, state: str, count: int) -> None:
        words = state.split("+")
        self.counted = (self.counted or 0) + count
        self.inactive += 0 if answers.serves(words) else count
        for word in words:
            self.states[word] = self.states.get(word, 0) + count


def _rates(line: str) -> dict[str, float]:
    """Return rates by kind: `55 MiB/s wr, 0 op/s rd` is {"bytes wr": 57671680.0, "op/s rd": 0.0}."""
    found = {}
    for part in line.split(","):
        rate = _RATE.fullmatch(part.strip())
        if rate is None:
            continue
        operations = "op" in rate[3]
        value = _count(rate[1], rate[2]) if operations else size_of(f"{rate[1]} {rate[2]}")
        if value is not None:
            found[f"{'op/s' if operations else 'bytes'}{' ' + rate[4] if rate[4] else ''}"] = float(value)
    return found


_PLAIN = expression(r"\s*(?:id|osd|pools|objects|usage|pgs|client|recovery|cache|cluster|services|data|io): ?.*")
_LOGGED = expression(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*) (mon|osd|mds|mgr|client)\.\S+ (?:[^\[\]]{0,120} )?(\[[A-Z]{3}\]) "
    r"((?:Health check (?:failed|update|cleared): |Cluster is now healthy|overall |slow request |Health detail: )?)"
)
"""Beginning of a line of the cluster log (cluster_log.py)."""
_OLD_KEPT = expression(
    r" *(?:cluster [0-9a-f-]{36}$|monmap e\d+: \d+ mons? at \{|election epoch \d|osdmap e\d|pgmap v\d"
    r"|(?:client|recovery) io \d|[\d.]+ [kMGTP]?B used, )"
)
"""Lines of a status up to Ceph 11 that hold numbers, and the names of monitors, which readings have."""
_SERVICE = expression(r"(\s*(?:mgr|mds|rgw|rbd-mirror|iscsi)):\s*(no daemons active)?.*")


def without_names(data: bytes) -> bytes:
    """Return an answer for redaction: its own words, numbers, and the names that readings have."""
    text = data.decode("utf-8", "surrogateescape")
    if is_json(text) or text.lstrip().startswith("["):  # ceph osd crush rule dump is a list
        return answers.without_names(data)
    lines = text.splitlines()
    kept = []
    table = any(line.split()[:1] == ["ID"] for line in lines)
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        if table or _PLAIN.fullmatch(line) or re.match(r"\s*mon: ", line) or _STATES.fullmatch(line.strip()):
            kept.append(line)
        elif overall := re.fullmatch(rf"(\s*(?:health:? )?{WORDS})(.*)", line):
            kept.append(overall[1] + own_words(overall[2]))
        elif logged := _LOGGED.match(line):
            kept.append(f"{logged[1]} {logged[2]}.* {logged[3]} {logged[4]}{own_words(line[logged.end() :])}")
        elif _OLD_KEPT.match(line):
            kept.append(re.sub(r"\{[^}]*\}", "{*}", line))
        elif service := _SERVICE.fullmatch(line):
            kept.append(f"{service[1]}: {service[2] or '*(active)'}")
        else:
            kept.append(indent + own_words(line.strip()))
    return "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape")


def status_fault(text: str) -> str:
    """Return why a status is not complete; "" if it is."""
    try:
        defect = status_of(text).defect
    except Malformed as error:
        return str(error)
    return defect or ("older than the events below it" if re.search(rf"(?m)^(?:{_EVENT})$", text) else "")


_EVENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* \S+ \[(?:INF|WRN|ERR|DBG|SEC)\] .*"
"""Line that `ceph -w` prints below the status whenever something happens."""
_VERSIONS = "Ceph 0.80 and later"
STATUS = Form(
    key="cmd:ceph -s",
    first=r" *cluster:\n *id: +[0-9a-f-]{8}| *cluster [0-9a-f]{8}-[0-9a-f-]{27} *\n *health HEALTH_",
    goes_on=rf" +.*|(?:{'|'.join(sorted(_SECTIONS))}):|{_EVENT}",
    reads="health and its checks, monitors, usage, placement groups, recovery, client I/O",
    versions=_VERSIONS,
    fault=status_fault,
)
STATUS_JSON = Form(
    key="cmd:ceph status -f json",
    first=r'\{\s*"fsid":\s*"[0-9a-f-]{36}",\s*"health":',
    reads=STATUS.reads,
    versions=_VERSIONS,
)
