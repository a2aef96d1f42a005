"""Effects of Ceph's health checks: what each one means for clients and for the copies of their data.

Codes: doc/rados/operations/health-checks.rst of Ceph 12 to 19. A code that is not listed here is judged by the
severity that Ceph assigns to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

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
from sdstop.collectors.ceph.readings import CephCheck, CephPool
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Severity
from sdstop.core.history import Window

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
HUNG = 60.0
"""Seconds for which a request is blocked that make slow requests critical."""
_BLOCKED = re.compile(r"blocked for (\d+) sec")
_DAEMONS = re.compile(r"\b(?:mon|mds|mgr)\.[A-Za-z0-9_-]+")
_WHOLE = "Data there has fewer copies until it returns or is rebuilt."


class Effect(Struct, frozen=True):
    """Meaning of a health check: severity, damage, title and impact of its finding, and the next steps."""

    severity: Severity
    damage: Damage
    title: str
    impact: str
    advice: tuple[Advice, ...] = ()


_DETAIL = run("ceph", "health", "detail")
_TREE = run("ceph", "osd", "tree", "down")
_FILL = ("Delete data or add OSDs; rebalance uneven ones.", run("ceph", "osd", "df", "tree"), run("ceph", "df"))
_FULL = (
    "Add OSDs, or delete data; raise the full ratio only for the deletion.", run("ceph", "osd", "df", "tree"),
    run("ceph", "osd", "set-full-ratio", "0.97", note="temporary, then delete data"),
)  # fmt: skip
_QUOTA = ("Raise the quota, delete data, or add OSDs.", run("ceph", "df", "detail"), run("ceph", "osd", "pool", "ls",
          "detail"))  # fmt: skip
_STUCK = ("Start the OSDs that are down.", _TREE, run("ceph", "pg", "dump_stuck", "inactive"))
_DAMAGED = (
    "Check the disks of the named OSDs before the repair.", run("ceph", "health", "detail"),
    run("rados", "list-inconsistent-obj", "PG", note="for each named PG"),
    run("ceph", "pg", "repair", "PG", note="for each named PG, once the disks are healthy"),
)  # fmt: skip
_LOST = (
    "Start the OSDs that had the data; do not mark objects lost yet.", _TREE,
    run("ceph", "pg", "PG", "query", note="for each named PG: might_have_unfound"),
)  # fmt: skip
_SLOW = (
    "Find the slow OSD, then its disk.", run("ceph", "osd", "perf"), _DETAIL,
    run("ceph", "daemon", "osd.N", "dump_ops_in_flight", note="on the node of the OSD"),
)  # fmt: skip
_MANAGER = ("Start a manager.", run("systemctl", "status", "ceph-mgr.target", note="on a manager's node"))
_MONITOR = ("Start the missing monitor.", run("ceph", "mon", "stat"))
_OSD = ("Start the OSD, or replace its disk.", _TREE)

EFFECTS: Mapping[str, Effect] = {
    "OSD_FULL": Effect(
        CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED: OSD full", "Pools on the full OSDs refuse writes.", _FULL
    ),
    "POOL_FULL": Effect(
        CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED: pool full", "Clients of the pool cannot write.", _QUOTA
    ),
    "PG_AVAILABILITY": Effect(
        CRITICAL, Damage.AVAILABILITY, "DATA UNAVAILABLE", "Requests for data in these PGs wait.", _STUCK
    ),
    "PG_DAMAGED": Effect(
        CRITICAL, Damage.DATA, "DATA DAMAGED", "Requests for data in these PGs can fail or wait.", _DAMAGED
    ),
    "OSD_SCRUB_ERRORS": Effect(
        CRITICAL, Damage.DATA, "SCRUB ERRORS", "Copies differ: reads can return errors or wrong data.", _DAMAGED
    ),
    "OBJECT_UNFOUND": Effect(
        CRITICAL, Damage.DATA, "OBJECTS UNFOUND", "Requests for them wait; their newest data is missing.", _LOST
    ),
    "PG_RECOVERY_FULL": Effect(
        CRITICAL, Damage.REDUNDANCY, "RECOVERY BLOCKED: OSDs full", "Missing copies are not recreated.", _FILL
    ),
    "PG_BACKFILL_FULL": Effect(
        WARNING, Damage.REDUNDANCY, "BACKFILL BLOCKED: OSDs full", "Copies are not moved to their place.", _FILL
    ),
    "OSD_NEARFULL": Effect(
        WARNING, Damage.CAPACITY, "OSD NEARLY FULL", "A full OSD makes its pools refuse writes.", _FILL
    ),
    "OSD_BACKFILLFULL": Effect(
        WARNING, Damage.CAPACITY, "OSD TOO FULL FOR BACKFILL", "No copies can be rebuilt on these OSDs.", _FILL
    ),
    "POOL_NEARFULL": Effect(
        WARNING, Damage.CAPACITY, "POOL NEARLY FULL", "Writes are refused once the pool is full.", _QUOTA
    ),
    "POOL_NEAR_FULL": Effect(
        WARNING, Damage.CAPACITY, "POOL NEARLY FULL", "Writes are refused once the pool is full.", _QUOTA
    ),
    "POOL_BACKFILLFULL": Effect(
        WARNING, Damage.CAPACITY, "POOL TOO FULL FOR BACKFILL", "Missing copies can have no place.", _QUOTA
    ),
    "PG_DEGRADED": Effect(
        WARNING, Damage.REDUNDANCY, "COPIES MISSING", "Another failure reduces redundancy further.", _OSD
    ),
    "OSD_DOWN": Effect(WARNING, Damage.REDUNDANCY, "OSD DOWN", _WHOLE, _OSD),
    "OSD_HOST_DOWN": Effect(WARNING, Damage.REDUNDANCY, "HOST DOWN", _WHOLE, _OSD),
    "MON_DOWN": Effect(
        WARNING, Damage.REDUNDANCY, "MONITOR DOWN", "Without a majority of monitors the cluster stops.", _MONITOR
    ),
    "MGR_DOWN": Effect(
        WARNING, Damage.AVAILABILITY, "NO MANAGER: numbers are old",
        "PG states, usage and latencies are those of before its end.", _MANAGER,
    ),
    "SLOW_OPS": Effect(WARNING, Damage.SPEED, "SLOW REQUESTS", "Clients wait for these requests.", _SLOW),
    "REQUEST_SLOW": Effect(WARNING, Damage.SPEED, "SLOW REQUESTS", "Clients wait for these requests.", _SLOW),
    "REQUEST_STUCK": Effect(CRITICAL, Damage.AVAILABILITY, "STUCK REQUESTS", "Clients wait for these requests.", _SLOW),
    "OSD_SLOW_PING_TIME_BACK": Effect(
        WARNING, Damage.SPEED, "SLOW NETWORK BETWEEN OSDS", "Writes wait for copies on other OSDs.", (_DETAIL,)
    ),
    "OSD_SLOW_PING_TIME_FRONT": Effect(
        WARNING, Damage.SPEED, "SLOW NETWORK TO OSDS", "Requests of clients can be slow.", (_DETAIL,)
    ),
    "OSD_NO_DOWN_OUT_INTERVAL": Effect(
        WARNING, Damage.REDUNDANCY, "NO AUTOMATIC REBUILD", "Copies on a failed OSD are not recreated.", (_DETAIL,)
    ),
    "POOL_NO_REDUNDANCY": Effect(
        WARNING, Damage.DATA, "POOL WITHOUT REDUNDANCY", "The failure of one disk loses data of the pool.",
        ("Set at least two copies.", run("ceph", "osd", "pool", "ls", "detail")),
    ),
    "OSD_FLAGS": Effect(
        WARNING, Damage.REDUNDANCY, "FLAGS SET on OSDs or hosts", "Ceph ignores failures of these.", (_DETAIL,)
    ),
}  # fmt: skip
"""Effects by code."""

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "OSD_FULL": ("POOL_FULL", "OSD_BACKFILLFULL", "OSD_NEARFULL", "POOL_BACKFILLFULL", "POOL_NEARFULL"),
    "OSD_BACKFILLFULL": ("POOL_BACKFILLFULL", "OSD_NEARFULL", "POOL_NEARFULL"),
    "OSD_NEARFULL": ("POOL_NEARFULL",),
    "OBJECT_UNFOUND": ("PG_DAMAGED",),
    "PG_DAMAGED": ("OSD_SCRUB_ERRORS",),
    "OSD_DOWN": ("OSD_HOST_DOWN", "OSD_RACK_DOWN", "OSD_ROOT_DOWN", "OSD_CHASSIS_DOWN", "PG_DEGRADED"),
    "OSD_SLOW_PING_TIME_BACK": ("OSD_SLOW_PING_TIME_FRONT",),
}
"""Checks that follow from another one, unless they are worse."""


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
            INFO, Damage.HYGIENE, check.code.replace("_", " ")[:40], "Neither data nor service is affected.", (_DETAIL,)
        )
    known = EFFECTS.get(check.code)
    if known is None and re.fullmatch(r"OSD_[A-Z]+_DOWN", check.code):
        known = Effect(WARNING, Damage.REDUNDANCY, f"{check.code.split('_')[1]} DOWN"[:40], _WHOLE, _OSD)
    if known is None:
        return _by_severity(check)
    if check.code == "PG_DEGRADED" and (last := last_copies(check, pools)):
        return Effect(
            CRITICAL, Damage.REDUNDANCY, f"ONE COPY LEFT: {len(last)} PGs" if len(last) > 1 else "ONE COPY LEFT: 1 PG",
            "Another failure loses data of these PGs.", known.advice,
        )  # fmt: skip
    if check.code == "PG_DAMAGED" and "inconsistent" in check.message:
        impact = "Copies differ: reads can return errors or wrong data."
        return Effect(CRITICAL, Damage.DATA, "DATA INCONSISTENT", impact, known.advice)
    if check.code in {"SLOW_OPS", "REQUEST_SLOW"} and _blocked(check) >= HUNG and "osd." in " ".join(check.lines):
        return Effect(CRITICAL, Damage.AVAILABILITY, "REQUESTS BLOCKED", known.impact, known.advice)
    return known


def _by_severity(check: CephCheck) -> Effect:
    title = check.code.replace("_", " ")[:40]
    if check.severity == "HEALTH_ERR":
        return Effect(CRITICAL, Damage.AVAILABILITY, title, "Ceph reports it as an error.", (_DETAIL,))
    return Effect(WARNING, Damage.REDUNDANCY, title, "Ceph reports it as a warning.", (_DETAIL,))


def _of_flags(flags: frozenset[str]) -> Effect:
    clear = tuple(run("ceph", "osd", "unset", flag) for flag in _unset_names(flags))
    if stopping := flags & STOPPING:
        if "full" in stopping:
            return Effect(
                CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED: flag full", "No pool takes writes.", (*_FULL, *clear)
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
    found = _BLOCKED.search(check.message)
    return float(found[1]) if found is not None and len(found[1]) < 10 else 0.0


def explained(window: Window, cluster: str, codes: Iterable[str], severity: Severity) -> tuple[str, ...]:
    """Return the findings about health checks that a fault explains: active ones, unless they are worse."""
    pools = {row.number: row for row in window.rows(CephPool).values() if row.cluster == cluster}
    wanted = frozenset(codes)
    return tuple(
        f"ceph-health:{row.name}" for row in window.rows(CephCheck).values()
        if row.cluster == cluster and row.code in wanted and effect_of(row, pools).severity.rank <= severity.rank
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
        name for line in check.lines for name in _DAEMONS.findall(line) if not name.startswith("osd.")
    )
    found = {"pools": named, "osds": osds, "pgs": groups, "daemons": list(daemons)}
    return {kind: names for kind, names in found.items() if names}
