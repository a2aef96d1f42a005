"""Ceph: health, quorum, capacity and recovery, from the cluster status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph import blocking, health_text, status_text
from sdstop.collectors.ceph.answers import CephStatus
from sdstop.collectors.ceph.health import Check
from sdstop.collectors.ceph.local import folders
from sdstop.collectors.ceph.readings import KIND, NO_ANSWER, NO_QUORUM, CephBlocker, CephCheck
from sdstop.collectors.ceph.tool import (
    CONFIG,
    CONFIG_FILE,
    DEADLINE,
    LOCAL,
    MonitorsUnreachable,
    answers_of,
    configured,
    key_of,
    name_of,
    only_identity,
    parsed_or,
    query_monitors,
    reachable,
    recorded_text,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterNode
from sdstop.readings.rebuild import Rebuild

PACE = 30.0
"""Seconds between samples; each call of Ceph's tool costs 0.22 s of CPU and queries the monitors."""


OLD_NUMBERS = "no manager: numbers of placement groups, usage and clients are old"


def read(host: Host) -> Iterable[Reading]:
    """Return the cluster's row, its monitors, its health checks and its recoveries; of a health alone, its checks."""
    answers = answers_of(host)
    if "status" not in answers:
        if "health" in answers:
            return _of_health(host, answers["health"])
        reachable(host)
    try:
        key, text = query_monitors(host, ceph.STATUS, answers.get("status"))
    except MonitorsUnreachable as error:
        return _unanswered(host, error.key)
    try:
        whole = status_text.status_of(text)
    except Malformed as error:
        if "health" not in answers:
            raise
        host.defect(key, str(error))
        return _of_health(host, answers["health"])
    said = _with_mutes(host, answers, whole.status)
    name = name_of(said.fsid)
    for reason in filter(None, (whole.defect, *_defects(said))):
        host.defect(key, reason, name)
    return [
        _cluster(said, name, key, cut=bool(whole.defect)),
        *_monitors(said, name, key),
        *_checks(host, answers, said, name, key),
        *(_recoveries(said, name, key) if _is_current(said) else ()),
        *_blockers(host, answers, said, name),
    ]


def _is_current(said: CephStatus) -> bool:
    """Return whether the numbers of placement groups and usage are current: a manager counts them."""
    return said.manager is not False and not any(check.code == "MGR_DOWN" for check in said.checks)


def _checks(host: Host, answers: Mapping[str, str], said: CephStatus, name: str, key: str) -> Iterator[CephCheck]:
    """Yield the active checks, with the things that they name if the detailed answer has the same check."""
    none = health_text.PrintedHealth("", ())
    wanted = said.checks or "health" in answers
    detailed = parsed_or(host, ceph.HEALTH, answers, "health", health_text.health_of, none) if wanted else none
    named = {check.code: check for check in detailed.checks}
    origin = key_of(ceph.HEALTH, answers.get("health"))
    if said.health == "HEALTH_OK" and detailed.word in {"HEALTH_WARN", "HEALTH_ERR"}:
        host.defect(origin, f"{detailed.word}, and {said.health} in {key}", name)
        yield from (check_row(check, check.details, name, origin) for check in detailed.checks)
    for check in said.checks:
        more = named.get(check.code)
        details = check.details if more is None else more.details
        yield check_row(check, details, name, key if more is None else origin)


def check_row(check: Check, details: Sequence[str], cluster: str, origin: str) -> CephCheck:
    """Return the row of a check, which `origin` shows; `details` are the lines about the things that it names."""
    return CephCheck(
        cluster=cluster,
        code=check.code,
        severity=check.severity,
        muted=int(check.muted),
        harmless=int(check.is_calm),
        affected=check.count,
        message=check.message,
        details="\n".join(details) or None,
        origin=origin,
        needle=f'"{check.code}"'
        if "json" in origin
        else check.message
        if check.message != health_text.MUTED
        else "muted",
    )


def _with_mutes(host: Host, answers: Mapping[str, str], said: CephStatus) -> CephStatus:
    """Return a status whose muted checks have the messages of the detailed answer; without one there they are over.

    `ceph -s` prints the codes of mutes alone, also of those that outlive their check (sticky).
    """
    if "health" not in answers or not any(check.message == health_text.MUTED for check in said.checks):
        return said
    detailed = parsed_or(host, ceph.HEALTH, answers, "health", health_text.health_of, health_text.PrintedHealth("", ()))
    if not detailed.coded or detailed.defect:
        return said
    own = {check.code: check for check in detailed.checks}
    kept = tuple(
        structs.replace(own[check.code], details=()) if check.message == health_text.MUTED else check
        for check in said.checks if check.message != health_text.MUTED or check.code in own
    )  # fmt: skip
    return structs.replace(said, checks=kept)


def _of_health(host: Host, name: str) -> list[Reading]:
    """Return the rows of a recorded `ceph health detail` without a status."""
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    said = health_text.health_of(recorded_text(host, name))
    fsid = configured(host)[0]
    cluster = name_of(fsid) if fsid else KIND
    if said.defect:
        host.defect(key, said.defect, cluster)
    words = [_say(check) for check in sorted(said.checks, key=lambda check: check.harmless)]
    return [
        Cluster(
            cluster=cluster, kind=KIND, ident=fsid, version=None, state=said.word,
            healthy=_healthy(said.word, said.checks), leader=None, managers=None, managers_up=None, replicas=None,
            replicas_up=None, tolerates=None, nodes=None, nodes_up=None, capacity=None, used=None, spare=None,
            degraded=None, failed=None, says="; ".join(words) or None, origin=key, needle=said.word,
        ),
        *(check_row(check, check.details, cluster, key) for check in said.checks),
    ]  # fmt: skip


def _blockers(host: Host, answers: Mapping[str, str], said: CephStatus, name: str) -> Iterator[CephBlocker]:
    """Yield the OSDs for which placement groups wait; a healthy cluster is not asked."""
    if not said.waiting or not _is_current(said):
        return
    none: list[tuple[int, int]] = []
    origin = key_of(ceph.BLOCKED, answers.get("blocked"))
    for number, count in parsed_or(
        host, ceph.BLOCKED, answers, "blocked", lambda text: list(blocking.parse(text)), none
    ):
        yield CephBlocker(cluster=name, number=number, blocked=count, origin=origin)


def _unanswered(host: Host, key: str) -> list[Reading]:
    """Return the rows known here of a cluster whose monitors do not answer."""
    fsid, count = configured(host)
    name = name_of(fsid) if fsid else KIND
    local = _local_monitor(host)
    monitors = len(local.monitors) if local is not None else count
    up = None if local is None else len(local.reached)
    needle = ""
    if local is not None:
        key, needle = local.key, '"quorum"'
    elif count:
        key, needle = CONFIG_FILE, "mon"
    rows: list[Reading] = [
        Cluster(
            cluster=name, kind=KIND, ident=fsid, version=None, state=NO_ANSWER if local is None else NO_QUORUM,
            healthy=0, leader=None, managers=monitors, managers_up=up, replicas=None, replicas_up=None,
            tolerates=None if up is None else 0, nodes=None, nodes_up=None, capacity=None, used=None, spare=None,
            degraded=None, failed=None, says=NO_ANSWER, origin=key, needle=needle,
        )
    ]  # fmt: skip
    for monitor in local.monitors if local is not None else ():
        up_here = local is not None and monitor in local.reached
        rows.append(_monitor(name, monitor, "no quorum" if up_here else "not reached", up_here, key))
    return rows


class _LocalMonitor(Struct, frozen=True):
    """A monitor of this node without a quorum: all monitors, and those that it reaches, itself included."""

    monitors: tuple[str, ...]
    reached: tuple[str, ...]
    key: str
    """Key of the evidence."""


def _local_monitor(host: Host) -> _LocalMonitor | None:
    """Return the report of a monitor of this node; None if none runs here, or it is in a quorum.

    {"name": "a", "state": "probing", "quorum": [], "outside_quorum": ["a"],
     "monmap": {"mons": [{"rank": 0, "name": "a"}, {"rank": 1, "name": "b"}]}}
    """
    for kind, ident, _ in folders(host):
        if kind != "mon":
            continue
        argv = tuple(f"mon.{ident}" if word == "*" else word for word in ceph.MONITOR)
        try:
            output = host.run(argv, DEADLINE)
            said: Any = json.loads(output.text) if output.exit == 0 else None
        except TimedOut:
            raise
        except (Unreadable, ValueError, RecursionError):
            continue
        if not isinstance(said, dict) or said.get("quorum"):
            continue
        listed = ceph.list_of(ceph.part_of(said, "monmap"), "mons")
        names = tuple(name for row in listed if isinstance(name := row.get("name"), str))
        outside = said.get("outside_quorum")
        reached = {ident, *(name for name in (outside if isinstance(outside, list) else ()) if isinstance(name, str))}
        if names:
            return _LocalMonitor(names, tuple(name for name in names if name in reached), command_key(argv))
    return None


def _cluster(said: CephStatus, name: str, key: str, *, cut: bool) -> Cluster:
    size = said.object_size
    needed = said.monitors // 2 + 1 if said.monitors else None
    lost = said.inactive / said.pgs * said.data if said.pgs and said.data is not None else None
    degraded = round(said.degraded * size) if size is not None else 0 if not said.degraded else None
    if said.degraded_total is not None and said.degraded > said.degraded_total:
        degraded = None  # objects that were deleted while an OSD was away
    failed = None if lost is None else round(lost + said.unfound * (size or 0))
    current = _is_current(said)
    words = [_say(check) for check in sorted(said.checks, key=lambda check: check.harmless)]
    return Cluster(
        cluster=name,
        kind=KIND,
        ident=said.fsid,
        version=said.release,
        state=said.health,
        healthy=None if cut and not said.checks else _healthy(said.health, said.checks),
        leader=said.quorum[0] if said.quorum else None,
        managers=said.monitors,
        managers_up=len(said.quorum) if said.monitors is not None else None,
        replicas=None,
        replicas_up=None,
        tolerates=None if needed is None else max(len(said.quorum) - needed, 0),
        nodes=None,
        nodes_up=None,
        capacity=said.total if current else None,
        used=said.used if current else None,
        spare=None,
        degraded=degraded if current else None,
        failed=failed if current else None,
        reads=said.reads if current else None,
        writes=said.writes if current else None,
        read=said.read if current else None,
        write=said.write if current else None,
        epoch=said.epoch,
        says="; ".join(words if current else [OLD_NUMBERS, *words]) or None,
        origin=key,
        needle=said.health,
    )


def _healthy(word: str, checks: Sequence[Check]) -> int | None:
    """Return 1 if all health checks are harmless; None for an unknown word, or one without a check."""
    if word == "HEALTH_ERR" or not all(check.harmless for check in checks):
        return 0
    if word == "HEALTH_WARN":
        return 1 if checks else None
    return 1 if word == "HEALTH_OK" else None


def _defects(said: CephStatus) -> Iterator[str]:
    """Yield counts that do not agree, and parts that every status has."""
    if said.pgs is None:
        yield "without num_pgs: nothing is known of placement groups"
    if said.monitors and not said.quorum:
        yield "an answer without quorum_names, which only a quorum gives"
    if said.pgs is not None and said.counted is not None and said.counted != said.pgs:
        yield f"pgs_by_state has {said.counted} placement groups, num_pgs is {said.pgs}"
    if said.monitors is not None and len(said.quorum) > said.monitors:
        yield f"quorum_names has {len(said.quorum)} monitors, num_mons is {said.monitors}"
    if not _healthy(said.health, said.checks) or any(check.muted for check in said.checks) or not _is_current(said):
        return
    if said.osds_up is not None and said.osds_in is not None and said.osds_up < said.osds_in:
        yield f"num_up_osds is {said.osds_up} and num_in_osds {said.osds_in}, without a health check"
    missing = [(said.degraded, "degraded_objects"), (said.unfound, "unfound_objects")]
    yield from (f"{name} is {count}, without a health check" for count, name in missing if count > 0)
    bad = [word for word, count in said.states.items() if count and word not in CALM]
    if bad:
        yield f"placement groups are {', '.join(sorted(bad))[:60]}, without a health check"


CALM = frozenset({
    "active", "clean", "remapped", "backfilling", "backfill_wait", "backfill", "recovering", "recovery_wait",
    "scrubbing", "deep", "snaptrim", "snaptrim_wait", "repair", "creating", "activating", "forced_recovery",
    "forced_backfill", "premerge", "laggy", "wait",
})  # fmt: skip
"""Words of the states of placement groups that need no health check."""


def _say(check: Check) -> str:
    return f"{check.code}: {check.message}" + (" (muted)" if check.muted else " (harmless)" if check.harmless else "")


def _monitors(said: CephStatus, name: str, key: str) -> Iterator[ClusterNode]:
    for monitor in said.quorum:
        yield _monitor(name, monitor, "in quorum", True, key, said.quorum[0] == monitor, said.release)  # noqa: FBT003


def _monitor(
    name: str, monitor: str, state: str, good: bool, key: str, leads: bool = False, version: str | None = None  # noqa: FBT001, FBT002
) -> ClusterNode:  # fmt: skip
    return ClusterNode(
        cluster=name, role="mon", node=monitor, ident=None, address=None, area=None, domain=monitor, state=state,
        healthy=int(good), maintenance=None, leads=leads, devices=None, capacity=None, used=None, version=version,
        origin=key,
    )  # fmt: skip


def _recoveries(said: CephStatus, name: str, key: str) -> Iterator[Rebuild]:
    """Yield recovery (missing copies) and rebalance (misplaced copies).

    Bytes are the mean object size times the copies; with erasure coding a copy is smaller, so less is left. Ceph
    recovers degraded objects first and reports one rate for both.
    """
    size = said.object_size
    if size is None:
        return
    first = True
    for operation, word, left, total in (
        ("recovery", "degraded", said.degraded, said.degraded_total),
        ("rebalance", "misplaced", said.misplaced, said.misplaced_total),
    ):
        if not left or not total:
            continue
        # Objects deleted while an OSD was away count as degraded, but no longer as objects: no progress is known.
        whole = total if left <= total else None
        speed = round(said.recovering or 0) if first else None
        state = _state(said, operation)
        first = False
        yield Rebuild(
            array=name,
            operation=operation,
            state=state,
            done=None if whole is None else round((whole - left) * size),
            total=None if whole is None else round(whole * size),
            speed=speed,
            remaining=round(left * size / said.recovering) if whole and speed and said.recovering else None,
            kind=KIND,
            limited_by=_held_by(said),
            where=key,
            needle=f'"{word}_objects"' if "json" in key else f"objects {word}",
        )


def _state(said: CephStatus, operation: str) -> str:
    if said.flags:
        return "paused"
    at_work = said.states.get("backfilling", 0)
    if operation == "recovery":
        at_work += said.states.get("recovering", 0)
    return "running" if at_work else "pending"


def _held_by(said: CephStatus) -> str | None:
    """Return the limit in effect: flags, full OSDs, or placement groups waiting for one of the few backfill slots."""
    if said.flags:
        return ", ".join(sorted(said.flags))
    full = said.states.get("backfill_toofull", 0) + said.states.get("recovery_toofull", 0)
    if full:
        return f"OSDs too full to take more: {full} placement groups wait"
    waiting = said.states.get("backfill_wait", 0) + said.states.get("recovery_wait", 0)
    at_work = said.states.get("recovering", 0) + said.states.get("backfilling", 0)
    return f"osd_max_backfills: {at_work} placement groups at work, {waiting} wait" if waiting else None


CEPH = Collector(
    "ceph",
    "Ceph",
    read,
    (Cluster, ClusterNode, CephCheck, CephBlocker, Rebuild),
    (
        Need(f"list:{CONFIG}", "presence of ceph.conf and an admin keyring"),
        Need(CONFIG_FILE, "cluster ID and monitors, if no monitor answers", keep=only_identity),
        Command(ceph.STATUS, "health, quorum, capacity and recovery", "root, or a user who can read the keyring"),
        Command(
            ceph.HEALTH,
            "things named by health checks, if there are checks",
            "root, or a user who can read the keyring",
        ),
        Command(
            ceph.BLOCKED,
            "OSDs for which placement groups wait, if some wait",
            "root, or a user who can read the keyring",
        ),
        Command(ceph.MONITOR, "state of a monitor of this node, if no monitor answers", "root, or group ceph"),
        Need(f"list:{LOCAL}*", "monitors of this node"),
        Need("cmd:ceph *", "answers recorded by other tools, also as text", redact=status_text.without_names),
    ),
    PACE,
    deadline=3 * DEADLINE + 3,
    forms=(status_text.STATUS, health_text.HEALTH, status_text.STATUS_JSON, health_text.HEALTH_JSON),
)
