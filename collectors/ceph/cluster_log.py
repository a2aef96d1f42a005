"""Health of a Ceph cluster by its log: `ceph log last`, /var/log/ceph/ceph.log, or what `ceph -w` prints.

Formats: src/common/LogEntry.cc and src/mon/HealthMonitor.cc, LogMonitor.cc of Ceph 12 to 19.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.ceph.cluster import check_row
from sdstop.collectors.ceph.health import MOST_DETAILS, Check
from sdstop.collectors.ceph.health_codes import UNKNOWN, code_of
from sdstop.collectors.ceph.health_text import WORDS, messages_of
from sdstop.collectors.ceph.readings import KIND, CephCheck
from sdstop.collectors.ceph.status_text import status_of, without_names
from sdstop.collectors.ceph.tool import answers_of, configured, name_of, recorded_text
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster

RECENT = 60.0
"""Seconds before the last line in which slow requests count as present."""
_LINE = (
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^ ]*) (?:mon|osd|mds|mgr|client)\.[^ ]+ (?:[^\n\[\]]{0,120} )?"
    r"\[(?P<level>DBG|INF|SEC|WRN|ERR)\] ?"
)
_ENTRY = expression(rf"{_LINE}(?P<text>.*)")
_CHANGE = expression(r"Health check (?:failed|update): (?P<message>.*) \((?P<code>[A-Z][A-Z0-9_]+)\)")
_CUT = expression(r"Health check (?:failed|update): (?P<message>.*?)(?: \([A-Z0-9_]*)?")
"""The same in a line whose end is missing, as the last one of a copied log."""
_WORDS = ("Health check failed: ", "Health check update: ")
_CLEARED = expression(r"Health check cleared: (?P<code>[A-Z][A-Z0-9_]+)\b")
_OVERALL = expression(rf"overall (?P<word>{WORDS}) ?(?P<messages>.*)")
_DETAIL = expression(rf"Health detail: {WORDS}|\[(?:WRN|ERR)\] [A-Z][A-Z0-9_]+: |\s")
_FAILED = expression(r"(?P<osd>osd\.\d{1,7}) (?:failed \((?P<place>[^()]{0,200})\)|marked itself (?:down|dead))")
_BOOTED = expression(r"(?P<osd>osd\.\d{1,7}) .*\bboot$")
_SLOW = expression(r"\d+ slow requests|slow request ")
_LEVELS = {"WRN": "HEALTH_WARN", "ERR": "HEALTH_ERR"}


class LoggedHealth(Struct, frozen=True):
    """Health at the end of a log: active checks, and whether those from before its first line are known, too."""

    checks: tuple[Check, ...]
    is_whole: bool

    @property
    def word(self) -> str:
        """The overall health; "unknown" if no check is active and earlier ones are unknown."""
        if any(check.severity == "HEALTH_ERR" for check in self.checks):
            return "HEALTH_ERR"
        return "HEALTH_WARN" if self.checks else "HEALTH_OK" if self.is_whole else "unknown"


def parse(text: str) -> LoggedHealth:
    """Return the health at the end of a log.

        2026-11-29T03:00:14.293172+0000 mon.a (mon.0) 91 : cluster [WRN] Health check failed: 1 osds down (OSD_DOWN)
        2026-11-29T03:00:49.678358+0000 mon.a (mon.0) 95 : cluster [INF] Health check cleared: OSD_DOWN (was: 1 ...)
        2026-11-29T03:00:49.678360+0000 mon.a (mon.0) 96 : cluster [INF] Cluster is now healthy

    Up to Ceph 14 a line has `mon.a mon.0 192.0.2.1:6789/0 91 : cluster [WRN] ...`, from `ceph -w` `mon.a [WRN] ...`.
    Once an hour the monitors log `overall HEALTH_WARN 1 osds down; ...`. Other errors are one check of their own.
    """
    active: dict[str, Check] = {}
    is_whole, errors, last_error = False, 0, ""
    slow: tuple[float, str] | None = None
    end = 0.0
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None:
            continue
        end = _seconds(entry["time"]) or end
        message = entry["text"]
        if changed := _CHANGE.match(message):
            severity = _LEVELS.get(entry["level"], "HEALTH_WARN")
            active[changed["code"]] = Check(changed["code"], severity, changed["message"], muted=False)
        elif (cut := _cut_off(entry["level"], message)) is not None:
            active[cut.code] = cut
        elif cleared := _CLEARED.match(message):
            active.pop(cleared["code"], None)
        elif message.startswith("Cluster is now healthy"):
            active, is_whole = {}, True
        elif overall := _OVERALL.match(message):
            checks = messages_of(overall["word"], overall["messages"].split("; "))
            active, is_whole = {check.code: check for check in checks}, True
        elif _SLOW.match(message):
            slow = (end, message)
        elif entry["level"] == "ERR" and not _DETAIL.match(message):
            errors, last_error = errors + 1, message
    if slow is not None and end - slow[0] <= RECENT and not active.keys() & {"SLOW_OPS", "REQUEST_SLOW"}:
        active["REQUEST_SLOW"] = Check("REQUEST_SLOW", "HEALTH_WARN", slow[1], muted=False)
    if errors:
        message = f"{errors} {'error' if errors == 1 else 'errors'} in the cluster log, the last: {last_error}"
        active["CLUSTER_LOG_ERROR"] = Check("CLUSTER_LOG_ERROR", "HEALTH_WARN", message, muted=False)
    down = _down(text)
    is_whole = is_whole and (not down or "OSD_DOWN" in active)  # its health check follows within seconds
    return LoggedHealth(tuple([_counted(check, down) for check in active.values()]), is_whole)


def _cut_off(level: str, message: str) -> Check | None:
    """Return the check of a line that is cut off, None for any other line."""
    if found := _CUT.fullmatch(message):
        return Check(code_of(found["message"]), _LEVELS.get(level, "HEALTH_WARN"), found["message"], muted=False)
    if message and level in _LEVELS and any(words.startswith(message) for words in _WORDS):
        return Check(UNKNOWN, _LEVELS[level], "its line is cut off", muted=False)
    return None


def _down(text: str) -> tuple[str, ...]:
    """Return a line for each OSD that failed, and did not boot after that, as `ceph health detail` has it."""
    found: dict[str, str] = {}
    for entry in filter(None, map(_ENTRY.fullmatch, text.splitlines())):
        if failed := _FAILED.match(entry["text"]):
            found[failed["osd"]] = f"{failed['osd']} ({failed['place'] or 'marked itself down'}) is down"
        elif booted := _BOOTED.match(entry["text"]):
            found.pop(booted["osd"], None)
        elif entry["text"].startswith(("Cluster is now healthy", "overall HEALTH_OK")):
            found.clear()
    return tuple(found.values())[:MOST_DETAILS]


def _counted(check: Check, down: tuple[str, ...]) -> Check:
    """Return a check with the number of things that it counts; OSD_DOWN with the OSDs that are down."""
    number = check.message.partition(" ")[0]
    count = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else None
    return replace(check, count=count, details=down if check.code == "OSD_DOWN" else ())


def _seconds(time: str) -> float | None:
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or UTC).timestamp()


def read(host: Host) -> Iterable[Reading]:
    """Return the health at the end of a recorded log. Raises Absent without one: nothing is run for it."""
    logs = list(outputs(host, FORM))
    if not logs:
        raise Absent(FORM.key, "not recorded", recorded=False)
    return list(_rows(host, logs[-1].key, logs[-1].text))


def _rows(host: Host, key: str, text: str) -> Iterator[Reading]:
    found, name = parse(text), _name(host)
    if not found.is_whole:
        host.defect(key, "checks from before its first line are not shown", name)
    healthy = 0 if any(not check.harmless for check in found.checks) else 1 if found.is_whole else None
    words = [f"{check.code}: {check.message}" for check in found.checks]
    yield Cluster(
        cluster=name, kind=KIND, ident=None, version=None, state=found.word, healthy=healthy, leader=None,
        managers=None, managers_up=None, replicas=None, replicas_up=None, tolerates=None, nodes=None, nodes_up=None,
        capacity=None, used=None, spare=None, degraded=None, failed=None, says="; ".join(words) or None,
        origin=key, needle="ealth",
    )  # fmt: skip
    for check in found.checks:
        yield check_row(check, check.details, name, key)


def _name(host: Host) -> str:
    """Return the name of the cluster, which a status recorded beside the log, or ceph.conf, has."""
    status = answers_of(host).get("status")
    try:
        return name_of(status_of(recorded_text(host, status)).status.fsid) if status else _configured(host)
    except Malformed:
        return _configured(host)


def _configured(host: Host) -> str:
    fsid = configured(host)[0]
    return name_of(fsid) if fsid else KIND


FORM = Form(
    key="cmd:ceph log last",
    first=_LINE.replace("?P<time>", "?:").replace("?P<level>", "?:"),
    goes_on=_LINE.replace("?P<time>", "?:").replace("?P<level>", "?:") + ".*",
    reads="health checks that are active at the end of the cluster log",
    versions="Ceph 12 and later",
    by_line=True,
)
CEPH_LOG = Collector(
    "ceph-log",
    "Ceph's cluster log",
    read,
    (Cluster, CephCheck),
    (Need("cmd:ceph *", "answers recorded by other tools, also as text", redact=without_names),),
    SLOW,
    forms=(FORM,),
)
