"""Parsers for Ceph's JSON output, versions 12 to 19: status, OSD tree, OSD latencies, health, ratios.

Formats: src/mon (OSDMonitor, MgrStatMonitor), src/mgr and src/osd/OSDMap.cc of Ceph. Version differences: up to 14 the
OSD map is nested in itself (`osdmap.osdmap`) and the monitor map lists all monitors; up to 13 OSD latencies are not
wrapped in `osdstats`; `status` of an OSD was added in 14. Rates and counts of degraded objects are omitted when zero.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from sdstop.collectors.ceph.health import HOLDING, Check, checks_of, osds_in
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.retention import json_texts
from sdstop.core.text import is_whole, json_number, json_text, json_whole

_WAIT = ("ceph", "--connect-timeout", "5")
"""Common options; without a timeout the command retries forever without a quorum."""
STATUS = (*_WAIT, "status", "-f", "json")
HEALTH = (*_WAIT, "health", "detail", "-f", "json")
DUMP = (*_WAIT, "osd", "dump", "-f", "json")
RULES = (*_WAIT, "osd", "crush", "rule", "dump", "-f", "json")
USAGE = (*_WAIT, "df", "-f", "json")
PLACES = (*_WAIT, "osd", "tree", "-f", "json")
"""The tree without usage: monitors answer it when no manager does."""
_MANAGER = (*_WAIT, "--rados-mon-op-timeout", "6")
"""Options of commands that only the manager answers; without a timeout they wait for one forever."""
TREE = (*_MANAGER, "osd", "df", "tree", "-f", "json")
PERF = (*_MANAGER, "osd", "perf", "-f", "json")
BLOCKED = (*_MANAGER, "osd", "blocked-by", "-f", "json")
MONITOR = ("ceph", "daemon", "*", "mon_status")
"""State of a monitor of this node, through its socket: it answers without a quorum."""

KIB = 1024

without_names = json_texts(
    "fsid", "status", "overall_status", "quorum_names", "min_mon_release_name", "state_name", "severity", "name",
    "type", "device_class", "devices", "pool_name", "rule_name", "item_name", "op", "flags_set", "state", "flags_names",
    "erasure_code_profile", "outside_quorum", wording=("message",),
)  # fmt: skip
"""Redaction of an answer; messages of health checks contain host names."""
_OPTIONS = expression(
    r" (?:--(?:connect-timeout|rados-mon-op-timeout|cluster|conf|name|id|user|keyring)[ =]\S+|-[cnkm] ?[^ -]\S*"
    r"|(?:-f|--format)[ =]?(?:json(?:-pretty)?|plain))(?= |$)"
)
_QUESTIONS = {
    "ceph -s": "status", "ceph status": "status", "ceph osd df tree": "tree", "ceph osd perf": "perf",
    "ceph health detail": "health", "ceph osd dump": "dump", "ceph-volume lvm list": "volumes",
    "ceph osd crush rule dump": "rules", "ceph df": "usage", "ceph df detail": "usage", "ceph osd tree": "places",
    "ceph osd blocked-by": "blocked",
    "ceph health": "health", "ceph osd df": "fill",
}  # fmt: skip


def question(name: str) -> str | None:
    """Return the query of a recorded command (argv or slug): status, tree, perf, health, dump, volumes, rules ..."""
    words = name if " " in name else name.replace("_", " ")
    asked = _QUESTIONS.get(_OPTIONS.sub("", words).strip())
    return asked if "json" in words or asked in _PRINTED else None


_PRINTED = frozenset({"status", "health", "tree", "places", "fill", "perf"})
"""Queries whose answers are read as text, too."""


_TRANSIENT = frozenset({"activating", "creating", "peering", "unknown"})
"""States of placement groups after each change of the map, and all of them after the start of a manager."""
_LASTING = frozenset({"down", "incomplete", "stale"})


def serves(words: Collection[str]) -> bool:
    """Return whether placement groups in a state, given by its words, serve I/O or are about to."""
    return "active" in words or (not _TRANSIENT.isdisjoint(words) and _LASTING.isdisjoint(words))


class CephStatus(Struct, frozen=True):
    """Output of `ceph -s`; rates are per second. Degraded and misplaced objects are counted as copies, as in Ceph."""

    fsid: str
    health: str
    checks: tuple[Check, ...]
    monitors: int | None
    quorum: tuple[str, ...]
    release: str | None
    epoch: int | None
    osds: int | None
    osds_up: int | None
    osds_in: int | None
    states: Mapping[str, int]
    """Placement groups by each word of their states: active+clean counts as active and as clean."""
    counted: int | None
    """Placement groups of all states; None if they are not listed."""
    pgs: int | None
    objects: int | None
    data: int | None
    used: int | None
    total: int | None
    degraded: int
    degraded_total: int | None
    misplaced: int
    misplaced_total: int | None
    unfound: int
    inactive: int
    """Placement groups that serve no I/O, except those that are about to."""
    recovering: float | None
    manager: bool | None
    """Whether a manager is active; without one all numbers of placement groups and usage are old."""
    reads: float
    writes: float
    read: float
    write: float

    @property
    def object_size(self) -> float | None:
        """Mean object size in bytes; a fixed 4 MiB, as in Proxmox, would be wrong for most clusters."""
        return self.data / self.objects if self.data is not None and self.objects else None

    @property
    def waiting(self) -> int:
        """Placement groups that other OSDs keep from serving I/O, or from finishing their peering."""
        return max(self.states.get(word, 0) for word in ("peering", "activating", "down", "incomplete"))

    @property
    def flags(self) -> frozenset[str]:
        """Flags that pause recovery."""
        return frozenset(flag for check in self.checks for flag in check.flags) & HOLDING


def parse_status(text: str) -> CephStatus:
    """Parse `ceph -s -f json`.

        {"fsid": "...", "health": {"status": "HEALTH_WARN", "checks": {"OSD_DOWN": {"severity": "HEALTH_WARN",
         "summary": {"message": "1 osds down", "count": 1}, "muted": false}}},
         "quorum_names": ["a", "b", "c"], "monmap": {"num_mons": 3, "min_mon_release_name": "reef"},
         "osdmap": {"epoch": 49, "num_osds": 12, "num_up_osds": 11, "num_in_osds": 12},
         "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 69}], "num_pgs": 69, "num_objects": 5,
          "data_bytes": 9, "bytes_used": 27, "bytes_total": 99, "misplaced_objects": 4, "misplaced_total": 15,
          "recovering_bytes_per_sec": 358717}}

    Raises Malformed.
    """
    said = as_object(text, "ceph status")
    health, monitors, map_, groups = (part_of(said, key) for key in ("health", "monmap", "osdmap", "pgmap"))
    manager = part_of(said, "mgrmap").get("available")
    inner = part_of(map_, "osdmap") or map_
    states: dict[str, int] = {}
    inactive = counted = 0
    listed_states = list_of(groups, "pgs_by_state")
    for row in listed_states:
        words, count = str(row.get("state_name", "")).split("+"), json_whole(row.get("count")) or 0
        counted += count
        inactive += 0 if serves(words) else count
        for word in words:
            states[word] = states.get(word, 0) + count
    names = said.get("quorum_names")
    listed = monitors.get("mons")
    count_of = json_whole(monitors.get("num_mons"))
    return CephStatus(
        fsid=json_text(said.get("fsid")) or "unknown",
        health=json_text(health.get("status")) or json_text(health.get("overall_status")) or "unknown",
        checks=checks_of(health),
        monitors=count_of if count_of is not None else len(listed) if isinstance(listed, list) else None,
        quorum=tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else (),
        release=json_text(monitors.get("min_mon_release_name")),
        epoch=json_whole(inner.get("epoch")),
        osds=json_whole(inner.get("num_osds")),
        osds_up=json_whole(inner.get("num_up_osds")),
        osds_in=json_whole(inner.get("num_in_osds")),
        states=states,
        counted=counted if listed_states else None,
        pgs=json_whole(groups.get("num_pgs")),
        objects=json_whole(groups.get("num_objects")),
        data=json_whole(groups.get("data_bytes")),
        used=json_whole(groups.get("bytes_used")),
        total=json_whole(groups.get("bytes_total")),
        degraded=json_whole(groups.get("degraded_objects")) or 0,
        degraded_total=json_whole(groups.get("degraded_total")),
        misplaced=json_whole(groups.get("misplaced_objects")) or 0,
        misplaced_total=json_whole(groups.get("misplaced_total")),
        unfound=json_whole(groups.get("unfound_objects")) or 0,
        inactive=inactive,
        recovering=json_number(groups.get("recovering_bytes_per_sec")),
        manager=manager if isinstance(manager, bool) else None,
        reads=json_number(groups.get("read_op_per_sec")) or 0.0,
        writes=json_number(groups.get("write_op_per_sec")) or 0.0,
        read=json_number(groups.get("read_bytes_sec")) or 0.0,
        write=json_number(groups.get("write_bytes_sec")) or 0.0,
    )


def parse_health(text: str) -> tuple[Check, ...]:
    """Parse `ceph health detail -f json`: checks with one line per affected object. Raises Malformed.

    {"status": "HEALTH_WARN", "checks": {"OSD_NEARFULL": {"severity": "HEALTH_WARN",
     "summary": {"message": "1 nearfull osd(s)"}, "detail": [{"message": "osd.3 is near full"}]}}}
    """
    return checks_of(as_object(text, "ceph health"))


class Osd(Struct, frozen=True, kw_only=True):
    """An OSD; sizes in bytes. `up` is None if unknown.

    `root`, `host` and `rack` are its position in the tree, `buckets` all buckets above it by type.
    """

    number: int
    root: str
    host: str
    rack: str | None
    media: str | None
    weight: float | None
    reweight: float | None
    size: int | None
    used: int | None
    utilization: float | None
    up: bool | None
    buckets: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """`osd.3`."""
        return f"osd.{self.number}"

    @property
    def holds(self) -> bool:
        """Whether the OSD is meant to hold data; one that is out or has no weight is to be emptied."""
        return self.reweight != 0 and self.weight != 0


def parse_tree(text: str) -> list[Osd]:
    """Parse `ceph osd df tree -f json`: one list of buckets, with their children, and OSDs.

        {"nodes": [{"id": -1, "name": "default", "type": "root", "children": [-3]},
         {"id": -3, "name": "store1", "type": "host", "children": [0]},
         {"id": 0, "name": "osd.0", "type": "osd", "device_class": "hdd", "crush_weight": 3.6, "reweight": 1,
          "kb": 3906250000, "kb_used": 1953125000, "utilization": 50.0, "status": "up"}], "stray": []}

    Shadow trees of device classes (`default~hdd`) are skipped. Raises Malformed.
    """
    nodes = list_of(as_object(text, "ceph osd df tree"), "nodes")
    parents: dict[int, Mapping[str, Any]] = {}
    for node in nodes:
        children = node.get("children")
        if isinstance(children, list) and "~" not in str(node.get("name")):
            parents.update((child, node) for child in children if isinstance(child, int))
    return [
        _osd(node, parents) for node in nodes if node.get("type") == "osd" and (json_whole(node.get("id")) is not None)
    ]


def _osd(node: Mapping[str, Any], parents: Mapping[int, Mapping[str, Any]]) -> Osd:
    above = {
        str(bucket.get("type")): json_text(bucket.get("name")) or "?"
        for bucket in reversed(list(_above(node, parents)))
    }
    size, used = json_whole(node.get("kb")), json_whole(node.get("kb_used"))
    share = json_number(node.get("utilization"))
    status = node.get("status")
    return Osd(
        number=json_whole(node.get("id")) or 0,
        root=above.get("root", "none"),
        host=above.get("host", "none"),
        rack=above.get("rack"),
        media=json_text(node.get("device_class")),
        weight=json_number(node.get("crush_weight")),
        reweight=json_number(node.get("reweight")),
        size=None if size is None else size * KIB,
        used=None if used is None else used * KIB,
        utilization=None if share is None else share / 100,
        up=status == "up" if isinstance(status, str) else None,
        buckets=above,
    )


def _above(node: Mapping[str, Any], parents: Mapping[int, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the buckets above a node, nearest first; stop at cycles."""
    seen = set()
    number = node.get("id")
    while isinstance(number, int) and number in parents and number not in seen:
        seen.add(number)
        yield parents[number]
        number = parents[number].get("id")


def parse_volumes(text: str) -> dict[int, str]:
    """Parse `ceph-volume lvm list --format json` into devices by OSD. Raises Malformed.

    {"0": [{"type": "block", "devices": ["/dev/sdb"], "lv_path": "/dev/ceph-.../osd-block-..."}]}
    """
    found = {}
    for number, volumes in as_object(text, "ceph-volume lvm list").items():
        for volume in volumes if isinstance(volumes, list) else ():
            devices = volume.get("devices") if isinstance(volume, dict) and volume.get("type") == "block" else None
            if is_whole(number, 7) and isinstance(devices, list) and devices:
                found[int(number)] = str(devices[0]).removeprefix("/dev/")
    return found


def concerned(checks: tuple[Check, ...]) -> dict[int, list[str]]:
    """Return the codes of unmuted health checks by the OSDs named in their details."""
    found: dict[int, list[str]] = {}
    for check in checks:
        if check.muted:
            continue
        for number in osds_in(check.details):
            found.setdefault(number, []).append(check.code)
    return found


def as_object(text: str, what: str) -> dict[str, Any]:
    """Return the JSON object in a text; Ceph may print other lines before it. Raises Malformed with `what` it is."""
    start = text.find("{")
    try:
        said = json.loads(text[start:] if start >= 0 else text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what}: not JSON") from error
    if not isinstance(said, dict):
        raise Malformed(f"{what}: no object")
    return said


def part_of(said: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return an object in another one, empty if it is missing or something else."""
    value = said.get(key)
    return value if isinstance(value, dict) else {}


def list_of(said: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a list in an object, empty if it is missing or something else."""
    rows = said.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
