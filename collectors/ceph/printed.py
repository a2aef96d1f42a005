"""Answers of Ceph's tool as it prints them for people: `ceph -s` and `ceph health detail` (tables: osd_tables.py).

Formats: src/mon/Monitor.cc (get_cluster_status), src/mon/HealthMonitor.cc (get_health_status), src/mon/PGMap.cc
(print_summary), src/osd/OSDMap.cc (print_summary) of Ceph 12 to 19.
Each function reads the JSON form, too, and returns the same. Numbers of the text form are rounded to three digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.answers import CephStatus
from sdstop.collectors.ceph.health import MOST_DETAILS, Check
from sdstop.collectors.ceph.health_codes import UNKNOWN, code_of, severities
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.wording import own_words

_JSON = expression(r"^\s*\{", re.MULTILINE)
_WORDS = r"HEALTH_(?:OK|WARN|ERR)"
_SECTIONS = frozenset({"cluster", "services", "task status", "data", "io", "progress"})
_MUTED = expression(r"\(muted: (?P<codes>[A-Z0-9_]+(?:\([^)]*\))?(?: [A-Z0-9_]+(?:\([^)]*\))?)*)\)")
_MUTED_CODE = expression(r"([A-Z][A-Z0-9_]+)(?:\([^)]*\))?")
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
MUTED = "muted; whether it is active is not shown"
"""Message of a check of which only the code is printed."""


def is_json(text: str) -> bool:
    """Return whether an answer is JSON; other lines may precede it."""
    return _JSON.search(text) is not None


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

    Rates and counts that are zero are not printed. Raises Malformed without a health.
    """
    if is_json(text):
        return ParsedStatus(answers.parse_status(text))
    said = dict(_entries(text))
    health = " ".join(said.get("health", [])[:1])
    word = re.match(_WORDS, health)
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
        checks=_messages(word[0], lines),
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


def _messages(overall: str, lines: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks of messages without codes, and those that are muted, of which only the codes are printed."""
    lines = _closed(lines)
    muted = [code for line in lines for found in _MUTED.finditer(line) for code in _MUTED_CODE.findall(found["codes"])]
    messages = [message for line in lines if (message := _MUTED.sub("", line).strip().rstrip(";").strip())]
    messages = [] if overall == "HEALTH_OK" else messages
    codes = [code_of(message) for message in messages]
    told = severities(overall, list(zip(codes, messages, strict=True)))
    found: dict[str, Check] = {}
    for code, message, severity in zip(codes, messages, told, strict=True):
        number = re.match(r"(\d{1,9}) ", message)
        own = code
        while own in found and code == UNKNOWN:
            own = f"{UNKNOWN}_{len(found) + 1}"
        found[own] = Check(own, severity, message, muted=False, count=int(number[1]) if number else None)
    for code in muted:
        found.setdefault(code, Check(code, "HEALTH_WARN", MUTED, muted=True))
    return tuple(found.values())


def _closed(lines: Sequence[str]) -> list[str]:
    """Return the lines; a list of muted checks that was wrapped is one line."""
    found: list[str] = []
    for line in lines:
        if found and "(muted:" in found[-1] and found[-1].count("(") > found[-1].count(")"):
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line)
    return found


class PrintedHealth(Struct, frozen=True):
    """The overall health and its checks; `coded` is whether their codes were printed, `defect` as in ParsedStatus."""

    word: str
    checks: tuple[Check, ...]
    coded: bool = True
    defect: str = ""


_CHECK = expression(
    r"(?P<muted>\(MUTED[^)]*\) )?(?:\[(?P<severity>WRN|ERR|OK|UNKNOWN)\] )?(?P<code>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)"
    r"(?P<colon>:)?(?: (?P<message>.*))?"
)
_SEVERITIES = {"WRN": "HEALTH_WARN", "ERR": "HEALTH_ERR", "OK": "HEALTH_OK"}


def health_of(text: str) -> PrintedHealth:
    """Return the answer of `ceph health detail`, or of `ceph health`, which has no codes.

        HEALTH_WARN 1 osds down; 1 host (1 osds) down; (muted: POOL_NO_REDUNDANCY)
        [WRN] OSD_DOWN: 1 osds down
            osd.2 (root=default,host=node2) is down
        (MUTED ttl 57m, STICKY) [WRN] POOL_NO_REDUNDANCY: 1 pool(s) have no replicas configured
            pool 'scratch' has no replicas configured

    Up to Ceph 14 a check is printed as `OSD_DOWN 1 osds down`. Raises Malformed without a health.
    """
    if is_json(text):
        said = answers.as_object(text, "ceph health")
        return PrintedHealth(
            str(said.get("status") or said.get("overall_status") or "unknown"), answers.parse_health(text)
        )
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if re.match(rf"\s*{_WORDS}\b", line)), None)
    if start is None:
        raise Malformed(f"ceph health: no health: {text.strip()[:60]!r}")
    head = lines[start].strip()
    word, _, rest = head.partition(" ")
    listed = _messages(word, re.split(r"; (?=\S)", rest.strip()))
    found = _detailed(word, lines[start + 1 :])
    if not found:
        return PrintedHealth(word, listed, coded=not listed)
    known = {check.message for check in found} | {check.code for check in found}
    missing = [check for check in listed if check.message not in known and check.code not in known]
    active = [check for check in missing if not check.muted]
    defect = f"lists {len(listed)} checks, ends after {len(found)}" if active else ""
    return PrintedHealth(word, (*found, *active), defect=defect)


def _detailed(overall: str, lines: Sequence[str]) -> list[Check]:
    found: list[Check] = []
    bare: list[bool] = []
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for line in lines:
        if re.match(_WORDS, line.strip()):
            break  # another health
        indent = len(line) - len(line.lstrip())
        check = _CHECK.fullmatch(line.strip()) if indent == margin else None
        if check is not None:
            severity = _SEVERITIES.get(check["severity"] or "", "")
            message = (check["message"] or "").strip()
            number = re.match(r"(\d{1,9}) ", message)
            found.append(
                Check(
                    check["code"], severity, message, check["muted"] is not None, (), int(number[1]) if number else None
                )
            )
            bare.append(not severity)
        elif found and len(found[-1].details) < MOST_DETAILS:
            found[-1] = replace(found[-1], details=(*found[-1].details, line.strip()))
    told = severities(overall, [(check.code, check.message) for check in found])
    return [
        replace(check, severity=severity) if is_bare else check
        for check, severity, is_bare in zip(found, told, bare, strict=True)
    ]


_PLAIN = expression(r"\s*(?:id|osd|pools|objects|usage|pgs|client|recovery|cache|cluster|services|data|io): ?.*")
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
        elif overall := re.fullmatch(rf"(\s*(?:health: )?{_WORDS})(.*)", line):
            kept.append(overall[1] + own_words(overall[2]))
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
_CODE = r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+"
_MUTE = r"(?:\(MUTED[^\n]*\) )?"
_VERSIONS = "Ceph 12 and later"
STATUS = Form(
    key="cmd:ceph -s",
    first=r" *cluster:\n *id: +[0-9a-f-]{8}",
    goes_on=rf" +.*|(?:{'|'.join(sorted(_SECTIONS))}):|{_EVENT}",
    reads="health and its checks, monitors, usage, placement groups, recovery, client I/O",
    versions=_VERSIONS,
    fault=status_fault,
)
HEALTH = Form(
    key="cmd:ceph health detail",
    first=rf"HEALTH_(?:WARN|ERR) \S[^\n]*\n{_MUTE}(?:\[(?:WRN|ERR)\] )?{_CODE}:? \S|HEALTH_OK(?: \(muted: [^\n]*\))?$",
    goes_on=rf"{_MUTE}(?:\[(?:WRN|ERR)\] )?{_CODE}:? .*| {{2,}}\S.*",
    reads="health checks, and the things they name",
    versions=_VERSIONS,
)
STATUS_JSON = Form(
    key="cmd:ceph status -f json",
    first=r'\{\s*"fsid":\s*"[0-9a-f-]{36}",\s*"health":',
    reads=STATUS.reads,
    versions=_VERSIONS,
)
HEALTH_JSON = Form(
    key="cmd:ceph health detail -f json",
    first=r'\{\s*(?:"status":\s*"HEALTH_\w+",\s*)?"checks":\s*\{',
    reads=HEALTH.reads,
    versions=_VERSIONS,
)
