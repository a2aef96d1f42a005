"""One part of a cluster's health in recorded lines: `ceph pg stat`, `osd stat`, `mon stat` and `quorum_status`.

    256 pgs: 2 active+undersized+degraded, 254 active+clean; 1.2 TiB data, 3.6 TiB used, 10 TiB / 14 TiB avail
    3 osds: 2 up (since 5m), 3 in (since 2d); epoch: e1234
    e3: 3 mons at {a=192.0.2.1:6789/0,...}, election epoch 42, leader 0 a, quorum 0,1 a,b
    {"quorum_names": ["a", "b"], "monmap": {"mons": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}

Formats: src/mon/PGMap.cc (print_oneline_summary), src/osd/OSDMap.cc (print_summary), src/mon/MonmapMonitor.cc and
src/mon/Monitor.cc (handle quorum_status) of Ceph 0.94 to 19. The lines have no health checks: these are named as Ceph
names them for the same states. Where a status or a health was recorded, too, that is read instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.cluster import CALM, check_row
from sdstop.collectors.ceph.health import Check
from sdstop.collectors.ceph.readings import KIND, CephCheck
from sdstop.collectors.ceph.status_text import without_names
from sdstop.collectors.ceph.tool import answers_of, configured, name_of
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import json_text
from sdstop.readings.cluster import Cluster, ClusterNode

_GROUPS = expression(r"(?:v\d{1,18}: )?(?P<count>\d{1,12}) pgs: (?P<states>[^;]+)(?P<rest>;.*)?")
_STATE = expression(r"(?P<count>\d{1,12}) (?P<words>[a-z_]+(?:\+[a-z_]+)*)")
_OBJECTS = expression(r"(\d{1,18}/\d{1,18} objects (?:degraded|unfound) \([^)]*\))")
_OSDS = expression(
    r"\s*(?:osdmap e\d+: )?(?P<count>\d{1,9}) osds: (?P<up>\d{1,9}) up(?: \([^)]*\))?, (?P<in>\d{1,9}) in\b.*"
)
_FLAGS = expression(r"\s*flags (?P<flags>[a-z_,-]+)\s*")
_MONITORS = expression(
    r"e\d{1,9}: (?P<count>\d{1,6}) mons? at \{(?P<all>[^}]*)\}.*election epoch \d{1,12}, "
    r"(?:leader \d{1,6} (?P<leader>\S+), )?quorum [\d,]* ?(?P<quorum>\S*)\s*"
)
_UNSERVED = frozenset({"down", "incomplete", "stale", "peering", "inactive", "unknown", "peered", "undersized_peered"})
_DAMAGED = frozenset({"inconsistent", "failed_repair", "recovery_unfound", "backfill_unfound", "snaptrim_error"})
_FULL = {"backfill_toofull": "PG_BACKFILL_FULL", "recovery_toofull": "PG_RECOVERY_FULL"}
_LACKING = frozenset({"degraded", "undersized"})
_HOLDING = frozenset({
    "noup", "nodown", "noout", "noin", "norecover", "nobackfill", "norebalance", "pause", "pauserd", "pausewr", "full",
})  # fmt: skip


class HealthPart(Struct, frozen=True):
    """Content of a line: its words, its faults as health checks, and whether it proves its part of the health.

    `good` is None if it shows no fault and does not prove that there is none. `monitors` are all monitors, with
    whether they are in the quorum.
    """

    state: str
    checks: tuple[Check, ...] = ()
    good: bool | None = None
    monitors: Mapping[str, bool] = {}
    leader: str | None = None


def _warning(code: str, message: str, count: int, severity: str = "HEALTH_WARN") -> Check:
    return Check(code, severity, message, muted=False, count=count)


def groups_of(text: str) -> HealthPart:
    """Return what `ceph pg stat` shows. Raises Malformed, also if its states do not add up."""
    line = next((line for line in text.splitlines() if _GROUPS.fullmatch(line.strip())), "")
    found = _GROUPS.fullmatch(line.strip())
    if found is None:
        raise Malformed(f"ceph pg stat: {text.strip()[:60]!r}")
    states = [_STATE.fullmatch(part.strip()) for part in found["states"].split(", ")]
    if any(each is None for each in states):
        raise Malformed(f"ceph pg stat: states not understood: {found['states'][:60]!r}")
    counts = {each["words"]: int(each["count"]) for each in states if each is not None}
    if sum(counts.values()) != int(found["count"]):
        raise Malformed(f"ceph pg stat: states of {sum(counts.values())} of {found['count']} placement groups")
    checks = tuple(_of_states(counts, _OBJECTS.findall(line)))
    strange = [words for words in counts if not set(words.split("+")) <= CALM | _KNOWN]
    well = not checks and not strange and all("active" in words.split("+") for words in counts)
    said = ", ".join(f"{count} {words}" for words, count in counts.items())
    return HealthPart(f"{found['count']} pgs: {said}", checks, True if well else None)


_KNOWN = _UNSERVED | _DAMAGED | _LACKING | frozenset(_FULL)


def _of_states(counts: Mapping[str, int], objects: list[str]) -> Iterator[Check]:
    """Yield the checks that Ceph derives from the states of placement groups (PGMap::get_health_checks)."""

    def those(words: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for word in words:
            number = sum(count for state, count in counts.items() if word in state.split("+"))
            if number:
                found[word] = number
        return found

    served = {state: count for state, count in counts.items() if not answers.serves(state.split("+"))}
    if served:
        listed = those(sorted(_UNSERVED)) or {"inactive": sum(served.values())}
        said = ", ".join(f"{count} pgs {word}" for word, count in listed.items())
        yield _warning("PG_AVAILABILITY", f"Reduced data availability: {said}", sum(served.values()))
    if lacking := those(sorted(_LACKING)):
        parts = [*objects, *(f"{count} pgs {word}" for word, count in lacking.items())]
        yield _warning("PG_DEGRADED", f"Degraded data redundancy: {', '.join(parts)}", max(lacking.values()))
    if damaged := those(sorted(_DAMAGED)):
        said = ", ".join(f"{count} pgs {word}" for word, count in damaged.items())
        yield _warning("PG_DAMAGED", f"Possible data damage: {said}", sum(damaged.values()), "HEALTH_ERR")
    for word, count in those(_FULL).items():
        yield _warning(_FULL[word], f"Low space hindering: {count} pgs {word}", count)


def osds_of(text: str) -> HealthPart:
    """Return the content of `ceph osd stat`. Raises Malformed.

    OSDs that are down and out are not a fault by themselves, so a number of OSDs up below that of all is inconclusive.
    """
    lines = text.splitlines()
    found = next((found for line in lines if (found := _OSDS.fullmatch(line)) is not None), None)
    if found is None:
        raise Malformed(f"ceph osd stat: {text.strip()[:60]!r}")
    count, up, inside = int(found["count"]), int(found["up"]), int(found["in"])
    if max(up, inside) > count:
        raise Malformed(f"ceph osd stat: {up} up and {inside} in, of {count}")
    checks = []
    if inside > up:
        checks.append(_warning("OSD_DOWN", f"{inside - up} osds down", inside - up))
    named = [each["flags"].split(",") for line in lines if (each := _FLAGS.fullmatch(line)) is not None]
    held = [flag for flags in named for flag in flags if flag in _HOLDING]
    if held:
        checks.append(_warning("OSDMAP_FLAGS", f"{','.join(held)} flag(s) set", len(held)))
    return HealthPart(
        f"{count} osds: {up} up, {inside} in", tuple(checks), True if up == count and not checks else None
    )


def monitors_of(text: str) -> HealthPart:
    """Return what `ceph mon stat` or `ceph quorum_status` shows. Raises Malformed."""
    at = text.find("{")
    found = next((each for line in text.splitlines() if (each := _MONITORS.fullmatch(line.strip())) is not None), None)
    if found is not None:
        every = [part.partition("=")[0].strip() for part in found["all"].split(",") if "=" in part]
        names = [name for name in every if name and not name.startswith(("v1:", "v2:", "["))]
        quorum = {name for name in found["quorum"].split(",") if name}
        expected, leader = int(found["count"]), found["leader"]
    elif at >= 0 and '"quorum_names"' in text:
        document = _object(text[at:])
        listed = answers.list_of(answers.part_of(document, "monmap"), "mons")
        names = [name for row in listed if isinstance(name := row.get("name"), str)]
        named = document.get("quorum_names")
        quorum = {name for name in (named if isinstance(named, list) else ()) if isinstance(name, str)}
        expected, leader = len(listed), json_text(document.get("quorum_leader_name"))
    else:
        raise Malformed(f"ceph mon stat: {text.strip()[:60]!r}")
    if len(names) != expected or not names or not quorum <= set(names):
        raise Malformed(f"ceph mon stat: {len(names)} of {expected} monitors, {len(quorum)} in quorum")
    out = len([name for name in names if name not in quorum])
    said = f"{out}/{expected} mons down, quorum {','.join(sorted(quorum))}"
    checks = (_warning("MON_DOWN", said, out),) if out else ()
    state = f"{len(quorum)} of {expected} monitors in quorum"
    leader = leader or next((name for name in names if name in quorum), None)
    return HealthPart(state, checks, None if out else True, {name: name in quorum for name in names}, leader)


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object at the beginning of a text. Raises Malformed."""
    try:
        said, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"ceph quorum_status: {error}") from error
    if not isinstance(said, dict):
        raise Malformed("ceph quorum_status: no object")
    return said


def _quorum_fault(text: str) -> str:
    try:
        monitors_of(text)
    except Malformed as error:
        return str(error)
    return ""


def _groups_fault(text: str) -> str:
    try:
        groups_of(text)
    except Malformed as error:
        return str(error)
    return "" if " avail" in text else NOT_SHOWN


def _osds_fault(text: str) -> str:
    """Return why a line about OSDs may go on: up to Ceph 11 the flags are behind it, later the epoch is its end."""
    return "" if re.search(r"; epoch: e\d|^ *flags ", text, re.MULTILINE) else NOT_SHOWN


_VERSIONS = "Ceph 0.94 and later"
PG_STAT = Form(
    key="cmd:ceph pg stat",
    first=r" *(?:v\d+: )?\d+ pgs: \d+ [a-z_+]+",
    goes_on=r"(?!)",
    reads="states of placement groups",
    versions=_VERSIONS,
    fault=_groups_fault,
)
OSD_STAT = Form(
    key="cmd:ceph osd stat",
    first=r" *(?:osdmap e\d+: )?\d+ osds: \d+ up(?: \([^)\n]*\))?, \d+ in\b",
    goes_on=r" *flags [a-z_,-]+ *",
    reads="numbers of OSDs that are up and in",
    versions=_VERSIONS,
    fault=_osds_fault,
)
MON_STAT = Form(
    key="cmd:ceph mon stat",
    first=r"e\d+: \d+ mons? at \{",
    goes_on=r"(?!)",
    reads="monitors, and those in the quorum",
    versions=_VERSIONS,
    fault=_quorum_fault,
)
QUORUM = Form(
    key="cmd:ceph quorum_status",
    first=r'\{\s*"election_epoch":\s*\d+,\s*"quorum":',
    reads=MON_STAT.reads,
    versions=_VERSIONS,
    fault=_quorum_fault,
)
_READERS = ((MON_STAT, monitors_of), (QUORUM, monitors_of), (OSD_STAT, osds_of), (PG_STAT, groups_of))


def read(host: Host) -> Iterable[Reading]:
    """Return what recorded lines show. Raises Absent without any, or with a status or a health beside them."""
    found = [(each, parse) for form, parse in _READERS for each in list(outputs(host, form))[-1:]]
    if not found:
        raise Absent(PG_STAT.key, "not recorded", recorded=False)
    if {"status", "health"} & answers_of(host).keys():
        raise Absent(PG_STAT.key, "a status or a health is recorded, too", recorded=False)
    fsid = configured(host)[0]
    name = name_of(fsid) if fsid else KIND
    parts = [(each.key, parse(each.text)) for each, parse in found]
    checks = {check.code: (check, key) for key, part in parts for check in part.checks}
    well = 0 if checks else 1 if all(part.good for _, part in parts) else None
    monitors = next((part.monitors for _, part in parts if part.monitors), {})
    key = next((key for _, key in checks.values()), parts[0][0])
    leader = next((part.leader for _, part in parts if part.leader), None)
    up = sum(monitors.values())
    rows: list[Reading] = [
        Cluster(
            cluster=name, kind=KIND, ident=fsid, version=None, state="; ".join(part.state for _, part in parts),
            healthy=well, leader=leader, managers=len(monitors) or None, managers_up=up if monitors else None,
            replicas=None, replicas_up=None,
            tolerates=max(up - (len(monitors) // 2 + 1), 0) if monitors else None, nodes=None, nodes_up=None,
            capacity=None, used=None, spare=None, degraded=None, failed=None,
            says="; ".join(f"{code}: {check.message}" for code, (check, _) in checks.items()) or None, origin=key,
        )
    ]  # fmt: skip
    rows += [_monitor(name, each, here, parts) for each, here in monitors.items()]
    rows += [check_row(check, (), name, where) for check, where in checks.values()]
    return rows


def _monitor(cluster: str, name: str, here: bool, parts: list[tuple[str, HealthPart]]) -> ClusterNode:  # noqa: FBT001
    key = next(key for key, part in parts if part.monitors)
    return ClusterNode(
        cluster=cluster, role="mon", node=name, ident=None, address=None, area=None, domain=name,
        state="in quorum" if here else "out of quorum", healthy=int(here), maintenance=None, leads=False, devices=None,
        capacity=None, used=None, version=None, origin=key,
    )  # fmt: skip


CEPH_STAT = Collector(
    "ceph-stat",
    "Ceph in recorded lines",
    read,
    (Cluster, ClusterNode, CephCheck),
    (Need("cmd:ceph *", "answers recorded by other tools, also as text", redact=without_names),),
    SLOW,
    forms=(PG_STAT, OSD_STAT, MON_STAT, QUORUM),
)
