"""Codes of Ceph's health checks: what each one means for clients and for the copies of their data.

Codes: doc/rados/operations/health-checks.rst and doc/cephfs/health-messages.rst of Ceph 12 to 19. A code that is not
listed here is judged by the severity that Ceph assigns to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Severity

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
WHOLE = "Data there has fewer copies until it returns or is rebuilt."


class Effect(Struct, frozen=True):
    """Meaning of a health check: severity, damage, title and impact of its finding, and the next steps."""

    severity: Severity
    damage: Damage
    title: str
    impact: str
    advice: tuple[Advice, ...] = ()


DETAIL = run("ceph", "health", "detail")
_TREE = run("ceph", "osd", "tree", "down")
_FILL = ("Delete data or add OSDs; rebalance uneven ones.", run("ceph", "osd", "df", "tree"), run("ceph", "df"))
FULL = (
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
    "Find the slow OSD, then its disk.", run("ceph", "osd", "perf"), DETAIL,
    run("ceph", "daemon", "osd.N", "dump_ops_in_flight", note="on the node of the OSD"),
)  # fmt: skip
_MANAGER = ("Start a manager.", run("systemctl", "status", "ceph-mgr.target", note="on a manager's node"))
_MONITOR = ("Start the missing monitor.", run("ceph", "mon", "stat"))
OSD = ("Start the OSD, or replace its disk.", _TREE)
_MON_DISK = ("Free space below /var/lib/ceph/mon of the named monitors.", DETAIL, run("df", "-h", "/var/lib/ceph"))
_MDS = ("Start a metadata server.", run("ceph", "fs", "status"),
        run("systemctl", "status", "ceph-mds.target", note="on its node"))  # fmt: skip
_MDS_SLOW = ("Check the OSDs of the metadata pool, then the clients.", DETAIL, run("ceph", "fs", "status"))
_DEVICE = ("Check the disk of the named OSD, and replace it in time.", DETAIL, run("ceph", "device", "ls"))

EFFECTS: Mapping[str, Effect] = {
    "OSD_FULL": Effect(
        CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED: OSD full", "Pools on the full OSDs refuse writes.", FULL
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
        WARNING, Damage.REDUNDANCY, "COPIES MISSING", "Another failure reduces redundancy further.", OSD
    ),
    "OSD_DOWN": Effect(WARNING, Damage.REDUNDANCY, "OSD DOWN", WHOLE, OSD),
    "OSD_HOST_DOWN": Effect(WARNING, Damage.REDUNDANCY, "HOST DOWN", WHOLE, OSD),
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
        WARNING, Damage.SPEED, "SLOW NETWORK BETWEEN OSDS", "Writes wait for copies on other OSDs.", (DETAIL,)
    ),
    "OSD_SLOW_PING_TIME_FRONT": Effect(
        WARNING, Damage.SPEED, "SLOW NETWORK TO OSDS", "Requests of clients can be slow.", (DETAIL,)
    ),
    "OSD_NO_DOWN_OUT_INTERVAL": Effect(
        WARNING, Damage.REDUNDANCY, "NO AUTOMATIC REBUILD", "Copies on a failed OSD are not recreated.", (DETAIL,)
    ),
    "POOL_NO_REDUNDANCY": Effect(
        WARNING, Damage.DATA, "POOL WITHOUT REDUNDANCY", "The failure of one disk loses data of the pool.",
        ("Set at least two copies.", run("ceph", "osd", "pool", "ls", "detail")),
    ),
    "DEGRADED_STRETCH_MODE": Effect(
        WARNING, Damage.REDUNDANCY, "ONE SITE LOST: stretch mode",
        "Copies are on one site; its loss stops the cluster.",
        ("Restore the lost site and its monitors.", run("ceph", "osd", "tree", "down"), run("ceph", "mon", "stat")),
    ),
    "RECOVERING_STRETCH_MODE": Effect(
        WARNING, Damage.REDUNDANCY, "SITE RECOVERS: stretch mode",
        "Copies of one site are incomplete until it has caught up.",
        (DETAIL,),
    ),
    "INCORRECT_NUM_BUCKETS_STRETCH_MODE": Effect(
        WARNING, Damage.REDUNDANCY, "STRETCH MODE NOT POSSIBLE",
        "Stretch mode needs exactly two sites in the CRUSH map.",
        (DETAIL, run("ceph", "osd", "tree")),
    ),
    "MON_CLOCK_SKEW": Effect(
        WARNING, Damage.AVAILABILITY, "CLOCKS DIFFER", "Monitors with wrong clocks lose leases, and then the quorum.",
        ("Correct the time of the named monitors.", run("chronyc", "tracking", note="on their nodes"),
         run("ceph", "time-sync-status")),
    ),
    "MON_DISK_CRIT": Effect(
        CRITICAL, Damage.AVAILABILITY, "MONITOR'S DISK FULL", "A monitor without space stops; a majority must run.",
        _MON_DISK,
    ),
    "MON_DISK_LOW": Effect(
        WARNING, Damage.CAPACITY, "MONITOR'S DISK NEARLY FULL", "A monitor without space stops.", _MON_DISK
    ),
    "MON_DISK_BIG": Effect(
        WARNING, Damage.CAPACITY, "MONITOR'S DATABASE LARGE",
        "The database grows while placement groups are not clean.", _MON_DISK
    ),
    "FS_DEGRADED": Effect(
        CRITICAL, Damage.AVAILABILITY, "FILE SYSTEM DEGRADED", "A metadata server is missing: its clients wait.", _MDS
    ),
    "FS_WITH_FAILED_MDS": Effect(
        CRITICAL, Damage.AVAILABILITY, "METADATA SERVER FAILED",
        "No standby takes over: clients of its files wait.", _MDS
    ),
    "MDS_ALL_DOWN": Effect(
        CRITICAL, Damage.AVAILABILITY, "FILE SYSTEM OFFLINE",
        "No metadata server is active: all its clients wait.", _MDS
    ),
    "MDS_DAMAGE": Effect(
        CRITICAL, Damage.DATA, "METADATA DAMAGED", "Files or directories of the file system cannot be accessed.",
        ("Save the journal before any repair.", run("ceph", "fs", "status"),
         run("ceph", "tell", "mds.NAME", "damage", "ls", note="for each named server")),
    ),
    "MDS_READ_ONLY": Effect(
        CRITICAL, Damage.AVAILABILITY, "FILE SYSTEM READ-ONLY", "Writes to the file system are refused.",
        ("A write of metadata failed: check the metadata pool, then restart it.", DETAIL, run("ceph", "fs", "status")),
    ),
    "MDS_SLOW_REQUEST": Effect(
        WARNING, Damage.SPEED, "SLOW METADATA REQUESTS",
        "Clients of the file system wait for these requests.", _MDS_SLOW
    ),
    "MDS_SLOW_METADATA_IO": Effect(
        WARNING, Damage.SPEED, "SLOW METADATA I/O", "The metadata pool is slow: its clients wait.", _MDS_SLOW
    ),
    "MDS_INSUFFICIENT_STANDBY": Effect(
        WARNING, Damage.REDUNDANCY, "STANDBY METADATA SERVER MISSING", "If the active one fails, clients wait.", _MDS
    ),
    "MDS_UP_LESS_THAN_MAX": Effect(
        WARNING, Damage.REDUNDANCY, "METADATA SERVERS MISSING", "Fewer servers than configured share the load.", _MDS
    ),
    "CEPHADM_FAILED_DAEMON": Effect(
        WARNING, Damage.AVAILABILITY, "DAEMON FAILED", "Clients of the daemon are not served.",
        ("Find out why it ended, then start it.", DETAIL, run("ceph", "orch", "ps", "--refresh"),
         run("cephadm", "logs", "--name", "NAME", note="on its host")),
    ),
    "CEPHADM_HOST_CHECK_FAILED": Effect(
        WARNING, Damage.REDUNDANCY, "HOST NOT REACHED by cephadm", "Daemons there are neither watched nor restarted.",
        (DETAIL, run("ceph", "orch", "host", "ls")),
    ),
    "RECENT_CRASH": Effect(
        WARNING, Damage.REDUNDANCY, "DAEMON CRASHED", "The daemon was away until its restart, and can crash again.",
        (run("ceph", "crash", "ls-new"), run("ceph", "crash", "archive-all", note="once the cause is clear")),
    ),
    "RECENT_MGR_MODULE_CRASH": Effect(
        WARNING, Damage.HYGIENE, "MANAGER MODULE CRASHED",
        "The function of the module was missing; clients are unaffected.",
        (run("ceph", "crash", "ls-new"),),
    ),
    "MGR_MODULE_ERROR": Effect(
        WARNING, Damage.HYGIENE, "MANAGER MODULE FAILED",
        "The function of the module is missing; clients are unaffected.",
        (DETAIL, run("ceph", "mgr", "fail", note="starts the modules again")),
    ),
    "MGR_MODULE_DEPENDENCY": Effect(
        WARNING, Damage.HYGIENE, "MANAGER MODULE CANNOT START",
        "The function of the module is missing; clients are unaffected.",
        (DETAIL,),
    ),
    "PG_SLOW_SNAP_TRIMMING": Effect(
        WARNING, Damage.CAPACITY, "SNAPSHOTS NOT TRIMMED", "Space of deleted snapshots is not freed.",
        ("Check for the flag nosnaptrim and for slow OSDs.", DETAIL, run("ceph", "pg", "dump", "pgs_brief")),
    ),
    "DEVICE_HEALTH": Effect(
        WARNING, Damage.REDUNDANCY, "DISK EXPECTED TO FAIL", "Data on the disk loses a copy when it fails.", _DEVICE
    ),
    "DEVICE_HEALTH_IN_USE": Effect(
        WARNING, Damage.REDUNDANCY, "DISK TO BE REPLACED IN USE",
        "Data on the disk has not been moved away yet.", _DEVICE
    ),
    "DEVICE_HEALTH_TOOMANY": Effect(
        WARNING, Damage.REDUNDANCY, "MANY DISKS EXPECTED TO FAIL",
        "Too many for all of them to be emptied at once.", _DEVICE
    ),
    "OSD_TOO_MANY_REPAIRS": Effect(
        WARNING, Damage.DATA, "READS REPAIRED OFTEN",
        "The disk returned wrong data; other copies corrected it.", _DEVICE
    ),
    "BLUESTORE_SPURIOUS_READ_ERRORS": Effect(
        WARNING, Damage.DATA, "READS REPEATED",
        "The disk returned wrong data at first; a second read succeeded.", _DEVICE
    ),
    "BLUEFS_SPILLOVER": Effect(
        WARNING, Damage.SPEED, "METADATA ON THE SLOW DISK", "The fast device is full; requests to the OSD get slower.",
        (DETAIL,),
    ),
    "BLUESTORE_SLOW_OP_ALERT": Effect(
        WARNING, Damage.SPEED, "OSD'S DISK SLOW", "Requests to the OSD wait for it.", _SLOW
    ),
    "BLOCK_DEVICE_STALLED_READ_ALERT": Effect(
        WARNING, Damage.SPEED, "READS OF A DISK STALL", "Requests to the OSD wait for it.", _DEVICE
    ),
    "LARGE_OMAP_OBJECTS": Effect(
        WARNING, Damage.SPEED, "LARGE OBJECTS", "Recovery of one blocks its requests for long.",
        (DETAIL, run("ceph", "osd", "pool", "ls", "detail")),
    ),
    "OSD_UNREACHABLE": Effect(
        WARNING, Damage.AVAILABILITY, "OSD OUTSIDE ITS NETWORK", "Clients without a route there cannot use it.",
        (DETAIL, run("ceph", "config", "get", "osd", "public_network")),
    ),
    "OSD_FLAGS": Effect(
        WARNING, Damage.REDUNDANCY, "FLAGS SET on OSDs or hosts", "Ceph ignores failures of these.", (DETAIL,)
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
    "MDS_ALL_DOWN": ("FS_WITH_FAILED_MDS", "FS_DEGRADED", "MDS_UP_LESS_THAN_MAX", "MDS_INSUFFICIENT_STANDBY"),
    "FS_WITH_FAILED_MDS": ("FS_DEGRADED", "MDS_UP_LESS_THAN_MAX", "MDS_INSUFFICIENT_STANDBY"),
    "MDS_SLOW_METADATA_IO": ("MDS_SLOW_REQUEST",),
    "MON_DISK_CRIT": ("MON_DISK_LOW",),
}
"""Checks that follow from another one, unless they are worse."""
