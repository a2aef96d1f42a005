"""Ceph: health, quorum, capacity and recovery, from the cluster status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph.answers import CephStatus, Check
from sdstop.collectors.ceph.tool import CONFIG, DEADLINE, answers_of, name_of, query_monitors, reachable
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterNode
from sdstop.readings.rebuild import Rebuild

KIND = "ceph"
PACE = 30.0
"""Seconds between samples; each call of Ceph's tool costs half a second of CPU and queries the monitors."""


def read(host: Host) -> Iterable[Reading]:
    """Return the cluster's row, its monitors and its recoveries."""
    answers = answers_of(host)
    if "status" not in answers:
        reachable(host)
    key, text = query_monitors(host, ceph.STATUS, answers.get("status"))
    said = ceph.parse_status(text)
    for reason in _defects(said):
        host.defect(key, reason, name_of(said.fsid))
    name = name_of(said.fsid)
    return [_cluster(said, name, key), *_monitors(said, name, key), *_recoveries(said, name, key)]


def _cluster(said: CephStatus, name: str, key: str) -> Cluster:
    size = said.object_size
    needed = said.monitors // 2 + 1 if said.monitors else None
    lost = said.inactive / said.pgs * said.data if said.pgs and said.data is not None else None
    return Cluster(
        cluster=name,
        kind=KIND,
        ident=said.fsid,
        version=said.release,
        state=said.health,
        healthy=_healthy(said),
        leader=said.quorum[0] if said.quorum else None,
        managers=said.monitors,
        managers_up=len(said.quorum),
        replicas=None,
        replicas_up=None,
        tolerates=None if needed is None else max(len(said.quorum) - needed, 0),
        nodes=None,
        nodes_up=None,
        capacity=said.total,
        used=said.used,
        spare=None,
        degraded=round(said.degraded * size) if size is not None else 0 if not said.degraded else None,
        failed=None if lost is None else round(lost + said.unfound * (size or 0)),
        reads=said.reads,
        writes=said.writes,
        read=said.read,
        write=said.write,
        epoch=said.epoch,
        says="; ".join(_say(check) for check in sorted(said.checks, key=lambda check: check.harmless)) or None,
        origin=key,
        needle=f'"{said.health}"',
    )


def _healthy(said: CephStatus) -> int | None:
    """Return 1 if all of its health checks are harmless; None for an unknown word, or one without a check."""
    if said.health == "HEALTH_ERR" or not all(check.harmless for check in said.checks):
        return 0
    if said.health == "HEALTH_WARN":
        return 1 if said.checks else None
    return 1 if said.health == "HEALTH_OK" else None


def _defects(said: CephStatus) -> Iterator[str]:
    """Yield counts that do not agree."""
    if said.pgs is not None and said.counted is not None and said.counted != said.pgs:
        yield f"pgs_by_state has {said.counted} placement groups, num_pgs is {said.pgs}"
    if said.monitors is not None and len(said.quorum) > said.monitors:
        yield f"quorum_names has {len(said.quorum)} monitors, num_mons is {said.monitors}"
    if not _healthy(said):
        return
    if said.osds_up is not None and said.osds_in is not None and said.osds_up < said.osds_in:
        yield f"num_up_osds is {said.osds_up} and num_in_osds {said.osds_in}, without a health check"
    bad = [word for word, count in said.states.items() if count and word not in _CALM]
    if bad:
        yield f"placement groups are {', '.join(sorted(bad))[:60]}, without a health check"


_CALM = frozenset({
    "active", "clean", "remapped", "backfilling", "backfill_wait", "backfill", "recovering", "recovery_wait",
    "scrubbing", "deep", "snaptrim", "snaptrim_wait", "repair", "creating", "activating", "forced_recovery",
    "forced_backfill", "premerge", "laggy", "wait",
})  # fmt: skip
"""Words of the states of placement groups that need no health check."""


def _say(check: Check) -> str:
    return f"{check.code}: {check.message}" + (" (muted)" if check.muted else " (harmless)" if check.harmless else "")


def _monitors(said: CephStatus, name: str, key: str) -> Iterator[ClusterNode]:
    for place, monitor in enumerate(said.quorum):
        yield ClusterNode(
            cluster=name,
            role="mon",
            node=monitor,
            ident=None,
            address=None,
            area=None,
            domain=monitor,
            state="in quorum",
            healthy=1,
            maintenance=None,
            leads=place == 0,
            devices=None,
            capacity=None,
            used=None,
            version=said.release,
            local=False,
            origin=key,
        )


def _recoveries(said: CephStatus, name: str, key: str) -> Iterator[Rebuild]:
    """Yield recovery (missing copies) and rebalance (misplaced copies).

    Bytes are the mean object size times the copies; with erasure coding a copy is smaller, so less is left. Ceph
    recovers degraded objects first and reports one rate for both.
    """
    size = said.object_size
    if size is None:
        return
    first = True
    for operation, left, total in (
        ("recovery", said.degraded, said.degraded_total),
        ("rebalance", said.misplaced, said.misplaced_total),
    ):
        if not left or not total or left > total:  # old versions overcount
            continue
        speed = round(said.recovering or 0) if first else None
        state = _state(said, operation)
        first = False
        yield Rebuild(
            array=name,
            operation=operation,
            state=state,
            done=round((total - left) * size),
            total=round(total * size),
            speed=speed,
            remaining=round(left * size / said.recovering) if speed and said.recovering else None,
            kind=KIND,
            limited_by=_held_by(said),
            where=key,
            needle='"degraded_objects"' if operation == "recovery" else '"misplaced_objects"',
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
    (Cluster, ClusterNode, Rebuild),
    (
        Need(f"list:{CONFIG}", "whether a cluster is administered from here"),
        Command(ceph.STATUS, "health, quorum, capacity and recovery", "root, or a user who can read the keyring"),
        Need("cmd:ceph *", "the same, as others recorded it", redact=ceph.without_names),
    ),
    PACE,
    deadline=DEADLINE + 3,
)
