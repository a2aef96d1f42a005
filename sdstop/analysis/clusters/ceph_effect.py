"""Effects of Ceph's health checks in their circumstances: flags, PGs and pools that they name, and muting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sdstop.analysis.clusters.ceph_codes import CRITICAL, DETAIL, EFFECTS, FULL, INFO, OSD, WARNING, WHOLE, Effect
from sdstop.collectors.ceph.health import (
    CALM_FLAGS,
    HOLDING,
    STOPPING,
    acting_in,
    flags_in,
    groups_in,
    osds_in,
    pools_in,
)
from sdstop.collectors.ceph.health_codes import UNKNOWN
from sdstop.collectors.ceph.readings import CephCheck, CephPool
from sdstop.core.advice import run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Severity
from sdstop.core.history import Window

HUNG = 60.0
"""Seconds for which a request is blocked that make slow requests critical."""
_BLOCKED = expression(r"\bblocked (?:for|>) (\d{1,12})(?:\.\d+)? sec|\bblocked requests > (\d{1,12})(?:\.\d+)? sec")
_DAEMONS = expression(r"(?<!\()\b(?:mon|mds|mgr)\.[A-Za-z0-9_-]+")
"""Daemons, not the ranks of metadata servers in mds.a(mds.0)."""
_NAMED = expression(r"\bdaemon ([A-Za-z0-9_][A-Za-z0-9_.-]{0,99}) on ")
"""A daemon in details of CEPHADM_FAILED_DAEMON: daemon rgw.store.node1.abc on node1 is in error state."""
_LISTED = expression(r"\d+ pgs? ([a-z_]+)")
"""States in messages about placement groups: Possible data damage: 1 pg inconsistent, 1 pg repair."""


def effect_of(check: CephCheck, pools: Mapping[int, CephPool]) -> Effect:
    """Return the effect of a check; a muted one is a degree less severe."""
    found = _effect(check, pools)
    if not check.muted:
        return found
    lower = WARNING if found.severity is CRITICAL else INFO
    title = f"MUTED: {found.title}"
    return Effect(lower, found.damage, title if len(title) <= 40 else title[:40].rstrip(), found.impact, found.advice)


def _effect(check: CephCheck, pools: Mapping[int, CephPool]) -> Effect:
    if check.code.startswith("OSDMAP_FLAGS"):
        return _of_flags(flags_in(check.message))
    if check.harmless:
        return Effect(
            INFO, Damage.HYGIENE, check.code.replace("_", " ")[:40], "Neither data nor service is affected.", (DETAIL,)
        )
    known = EFFECTS.get(check.code)
    if known is None and re.fullmatch(r"OSD_[A-Z]+_DOWN", check.code):
        known = Effect(WARNING, Damage.REDUNDANCY, f"{check.code.split('_')[1]} DOWN"[:40], WHOLE, OSD)
    if known is None:
        return _by_severity(check)
    if check.code == "PG_DEGRADED" and (last := last_copies(check, pools)):
        pieces = any(pools[int(group.partition(".")[0])].kind == "erasure" for group in last)
        count = f"{len(last)} {'PG' if len(last) == 1 else 'PGs'}"
        title = f"NO PIECE TO SPARE: {count}" if pieces else f"ONE COPY LEFT: {count}"
        return Effect(
            CRITICAL, Damage.REDUNDANCY, title, "Another failure loses data of these PGs.", known.advice
        )  # fmt: skip
    if check.code == "PG_DAMAGED":
        return _of_damage(check, known)
    if check.code in {"SLOW_OPS", "REQUEST_SLOW"} and _blocked(check) >= HUNG and "osd." in " ".join(check.lines):
        return Effect(CRITICAL, Damage.AVAILABILITY, "REQUESTS BLOCKED", known.impact, known.advice)
    return known


def states_in(check: CephCheck) -> frozenset[str]:
    """Return the states that a message about placement groups counts."""
    return frozenset(_LISTED.findall(check.message))


def _of_damage(check: CephCheck, known: Effect) -> Effect:
    """Return the effect of PG_DAMAGED by the states of the placement groups that it counts."""
    states = states_in(check)
    if "inconsistent" in states:
        impact = "Copies differ: reads can return errors or wrong data."
        return Effect(CRITICAL, Damage.DATA, "DATA INCONSISTENT", impact, known.advice)
    if states == {"snaptrim_error"}:
        impact = "Space of deleted snapshots is not freed; their metadata can be damaged."
        return Effect(CRITICAL, Damage.DATA, "SNAPSHOT TRIM FAILED", impact, known.advice)
    if states == {"repair"}:
        return Effect(WARNING, Damage.DATA, "REPAIR RUNS", "The copies are compared and corrected now.", (DETAIL,))
    return known


def _by_severity(check: CephCheck) -> Effect:
    title = "HEALTH CHECK" if check.code.startswith(UNKNOWN) else check.code.replace("_", " ")[:40]
    if check.severity == "HEALTH_ERR":
        return Effect(CRITICAL, Damage.AVAILABILITY, title, "Ceph reports it as an error.", (DETAIL,))
    return Effect(WARNING, Damage.REDUNDANCY, title, "Ceph reports it as a warning.", (DETAIL,))


def _of_flags(flags: frozenset[str]) -> Effect:
    clear = tuple(run("ceph", "osd", "unset", flag) for flag in _unset_names(flags))
    if stopping := flags & STOPPING:
        if "full" in stopping:
            return Effect(
                CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED: flag full", "No pool takes writes.", (*FULL, *clear)
            )
        what = "I/O" if len(stopping) > 1 else "READS" if "pauserd" in stopping else "WRITES"
        who = "All requests" if what == "I/O" else "All reads" if what == "READS" else "All writes"
        return Effect(
            CRITICAL, Damage.AVAILABILITY, f"{what} PAUSED by flags", f"{who} of all clients wait.",
            ("Clear the flags once the maintenance is over.", *clear),
        )  # fmt: skip
    if flags and flags <= CALM_FLAGS:
        return Effect(
            INFO, Damage.HYGIENE, "HOUSEKEEPING OFF by flags", "Scrubs or cleanup wait; service is unaffected.",
            ("Clear the flags once the maintenance is over.", *clear),
        )  # fmt: skip
    title, impact = "FLAGS SET", "Ceph does not react to failures as configured."
    if flags & HOLDING:
        title, impact = "RECOVERY OFF by flags", "Missing or misplaced copies are not recreated or moved."
    elif flags & {"noout", "nodown", "noup", "noin"}:
        title = "FAILURE HANDLING OFF by flags"
        impact = _HANDLING.get(min(flags & _HANDLING.keys(), default=""), impact)
    return Effect(WARNING, Damage.REDUNDANCY, title, impact, ("Clear the flags once the maintenance is over.", *clear))


_HANDLING = {
    "nodown": "OSDs that fail count as up; their requests wait.",
    "noin": "OSDs that return get no data.",
    "noout": "Copies on OSDs that fail are not recreated elsewhere.",
    "noup": "OSDs that start stay down.",
}


def _unset_names(flags: frozenset[str]) -> Iterator[str]:
    """Yield the names by which flags are cleared: both pause flags have one."""
    names = {"pause" if flag.startswith("pause") else flag for flag in flags if flag != "full"}
    yield from sorted(names)


def _blocked(check: CephCheck) -> float:
    """Return the seconds for which the oldest request is blocked, at least; 0 if that is not printed."""
    found = (float(one or other) for line in check.lines for one, other in _BLOCKED.findall(line))
    return max(found, default=0.0)


def explained(window: Window, cluster: str, codes: Iterable[str], severity: Severity) -> tuple[str, ...]:
    """Return the findings about health checks that a fault explains: active ones, unless they are worse."""
    pools = {row.number: row for row in window.where(CephPool, "cluster", cluster)}
    wanted = frozenset(codes)
    return tuple(
        f"ceph-health:{row.name}" for row in window.where(CephCheck, "cluster", cluster)
        if row.code in wanted and effect_of(row, pools).severity.rank <= severity.rank
    )  # fmt: skip


def last_copies(check: CephCheck, pools: Mapping[int, CephPool]) -> list[str]:
    """Return the PGs that a check names whose data would be lost by one more failure.

    Those of pools that keep more copies than that when healthy: a pool of one copy has no redundancy to lose.
    """
    found = []
    for group, acting in acting_in(check.lines):
        pool = pools.get(int(group.partition(".")[0]))
        if pool is not None and pool.needed is not None and acting <= pool.needed < (pool.copies or 0):
            found.append(group)
    return found


def things_in(check: CephCheck, pools: Mapping[int, CephPool]) -> dict[str, list[str]]:
    """Return the OSDs, PGs, pools and daemons that a check names, by kind; PGs name their pools."""
    groups = groups_in(check.lines)
    named = pools_in(check.lines)
    for group in groups:
        pool = pools.get(int(group.partition(".")[0]))
        if pool is not None and pool.pool not in named:
            named.append(pool.pool)
    osds = [f"osd.{number}" for number in osds_in(check.lines)]
    daemons = dict.fromkeys(
        name for line in check.lines for name in (*_DAEMONS.findall(line), *_NAMED.findall(line))
        if not name.startswith("osd.")
    )  # fmt: skip
    found = {"pools": named, "osds": osds, "pgs": groups, "daemons": list(daemons)}
    return {kind: names for kind, names in found.items() if names}
