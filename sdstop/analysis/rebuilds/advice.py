"""Advice for rebuilds by kind, because the commands for md are wrong for a pool.

In sentences and arguments `{array}` is the object of the rebuild, `{pool}` the part before a slash, `{md}` the
directory of md's attributes; an argument that is one of them alone is an operand.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.advice import Advice, operands, run
from sdstop.core.shell import phrase
from sdstop.readings.rebuild import Rebuild, folder

Lines = tuple[Advice, ...]


class RebuildAdvice(Struct, frozen=True, kw_only=True):
    """Advice for one kind of rebuild.

    `teller` is the source of the progress, and `shown` where an administrator sees it; `waits` and `waiting` are the
    causes and advice for states in which it waits; `end` ends a check, `stalled` shows why nothing moves, `yields`
    gives the rebuild more of busy disks, `unknown` continues the search if no cause was found; `faster` raises the
    active limit. `patience` is the usual number of seconds without progress.
    """

    teller: str
    shown: str
    end: Lines = ()
    stalled: Lines = ()
    yields: Lines = ()
    unknown: Lines = ()
    faster: Lines = ()
    waits: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, Lines] = field(default_factory=dict)
    patience: float = 0.0


_FLAGS = (
    "Find the flag of the cluster: norecover, nobackfill or norebalance.",
    run("ceph", "osd", "dump").pipe("grep", "flags"),
)
_ADVICE: dict[str, RebuildAdvice] = {
    "md": RebuildAdvice(
        teller="mdstat",
        shown="/proc/mdstat",
        end=(run("echo", "idle", into="{md}/sync_action"),),
        stalled=(
            "Look for errors of the array, and where its threads wait.",
            run("journalctl", "-k").pipe("grep", "-w", "{array}"),
            run("ps", "axo", "pid,stat,wchan:30,comm").pipe("grep", "-e", "{array}_"),
        ),
        yields=("Let md take more of the disks.", run("echo", "50000", into="{md}/sync_speed_min")),
        unknown=(
            "Check whether the resync thread of the array uses a full CPU.",
            run("top", "-H", "-b", "-n", "1").pipe("grep", "-e", "{array}_resync"),
        ),
        waits={
            "delayed": "Another array on the same disk is rebuilt first.",
            "pending": "Starts at the first write: the array is read-only until then.",
            "remote": "Runs on another node of the cluster.",
        },
        waiting={
            "delayed": ("Wait: md rebuilds arrays on the same disks one at a time.", run("cat", "/proc/mdstat")),
            "pending": ("Make the array writable; the rebuild starts at once.",
                        run("mdadm", "--readwrite", "/dev/{array}")),
        },
    ),
    "zfs": RebuildAdvice(
        teller="zpool status",
        shown="zpool status {pool}",
        end=(run("zpool", "scrub", "-s", "{pool}", note="-p only pauses it"),),
        stalled=(
            "Look for slow devices and errors of the pool.",
            run("zpool", "status", "-s", "{pool}"),
            run("zpool", "events", "-v").pipe("tail", "-60"),
            run("zpool", "iostat", "-v", "-l", "-q", "{pool}", "10", "2"),
        ),
        yields=(
            "Raise zfs_resilver_min_time_ms: the share of a resilver in each txg.",
            run("cat", "/sys/module/zfs/parameters/zfs_resilver_min_time_ms"),
        ),
        unknown=(
            "Check queues and latencies, and z_rd_ and z_wr_ threads at 100%.",
            run("zpool", "iostat", "-v", "-l", "-q", "{pool}", "10", "2"),
            run("top", "-H", "-b", "-n", "1"),
        ),
        waits={"paused": "Paused by an administrator."},
        waiting={"paused": ("Resume the scan.", run("zpool", "scrub", "{pool}", note="resumes"))},
        patience=60.0,
    ),
    "lvm": RebuildAdvice(
        teller="dmsetup status",
        shown="dmsetup status",
        end=(run("lvchange", "--syncaction", "idle", "{array}"),),
        stalled=(
            "Look for errors of the volume, and where the threads of md wait.",
            run("journalctl", "-k").pipe("grep", "-i", "-e", "md/raid", "-e", "device-mapper"),
            run("ps", "axo", "pid,stat,wchan:30,comm").pipe("grep", "-e", "mdX_"),
        ),
        yields=(
            "Let the rebuild take more of the disks (KiB/s per member).",
            run("lvchange", "--minrecoveryrate", "50000", "{array}"),
        ),
        unknown=(
            "Check whether a resync thread uses a full CPU.",
            run("top", "-H", "-b", "-n", "1").pipe("grep", "-e", "mdX_resync"),
        ),
        waits={"frozen": "The synchronization is frozen."},
        waiting={"frozen": ("Resume it.", run("lvchange", "--refresh", "{array}"))},
    ),
    "drbd": RebuildAdvice(
        teller="DRBD",
        shown="drbdadm status {pool}",
        end=(
            run("drbdadm", "disconnect", "{pool}", note="ends an online verify"),
            run("drbdadm", "connect", "{pool}"),
        ),
        stalled=(
            "Check the connection and the disk of the peer.",
            run("drbdadm", "status", "--verbose", "--statistics", "{pool}"),
            run("journalctl", "-k").pipe("grep", "-w", "drbd"),
        ),
        yields=(
            "Raise c-min-rate: the rate that a resync keeps beside other I/O.",
            run("drbdadm", "peer-device-options", "--c-min-rate=RATE", "{pool}"),
        ),
        unknown=(
            "Check whether the network or the disks of the peer are the limit.",
            run("drbdadm", "status", "--statistics", "{pool}"),
        ),
        faster=(
            "Raise the limit for as long as the resync runs.",
            run("drbdadm", "peer-device-options", "--c-max-rate=RATE", "{pool}", note="until the next adjust"),
        ),
        waits={
            "paused": "Paused on this node or on the peer.",
            "paused here": "Paused by an administrator of this node.",
            "paused on peer": "Paused on the peer, by an administrator or for another resource.",
            "delayed": "Another resource goes first (resync-after).",
        },
        waiting={
            "paused": ("Resume on the node that paused it.", run("drbdadm", "resume-sync", "{pool}")),
            "paused here": ("Resume here.", run("drbdadm", "resume-sync", "{pool}")),
            "paused on peer": ("Resume on the peer.", run("drbdadm", "resume-sync", "{pool}")),
        },
    ),
    "ceph": RebuildAdvice(
        teller="Ceph",
        shown="ceph -s",
        stalled=(
            "Look for stuck placement groups and the OSDs that block them.",
            run("ceph", "health", "detail"),
            run("ceph", "pg", "dump_stuck"),
            run("ceph", "osd", "blocked-by"),
        ),
        yields=(
            "Give recovery more than clients for a while (Quincy and later).",
            run("ceph", "config", "set", "osd", "osd_mclock_profile", "high_recovery_ops"),
        ),
        unknown=(
            "Look for a slow OSD and the placement groups that wait.",
            run("ceph", "osd", "perf"),
            run("ceph", "pg", "dump", "pgs_brief").pipe("grep", "-v", "active+clean").pipe("head"),
        ),
        faster=(
            "Give recovery more than clients for as long as it runs.",
            run("ceph", "config", "set", "osd", "osd_mclock_profile", "high_recovery_ops", note="revert at the end"),
        ),
        waits={"paused": "Held by a flag of the cluster.", "frozen": "Held by a flag of the cluster."},
        waiting={"paused": _FLAGS, "frozen": _FLAGS},
        patience=60.0,
    ),
    "powerflex": RebuildAdvice(
        teller="the cluster",
        shown="the cluster's storage pool",
        stalled=(
            "Check that all SDS are connected and all devices normal.",
            run("scli", "--query_all_sds"),
            run("scli", "--query_cluster"),
        ),
        yields=("Give it more by the policy of the pool for rebuild and rebalance I/O.",),
        unknown=(
            "Find the slowest SDS.",
            run("scli", "--query_all_device_latency_meters", "--protection_domain_name", "DOMAIN"),
        ),
        faster=(
            "Raise the limit in the policy of the pool for as long as it runs.",
            "Set it with scli --set_rebuild_policy or --set_rebalance_policy.",
        ),
        waits={"paused": "Switched off in the pool.", "pending": "Due, and not started."},
        patience=60.0,
    ),
}  # fmt: skip
_OTHER = RebuildAdvice(teller="its source", shown="its source")


def advice(row: Rebuild) -> RebuildAdvice:
    """Return the words and advice for a rebuild, nearly empty for an unknown kind."""
    return _ADVICE.get(row.kind, _OTHER)


def filled(row: Rebuild, *lines: Advice) -> Lines:
    """Return advice with the placeholders filled in."""
    names = {"array": row.array, "pool": row.array.partition("/")[0], "md": folder(row.array)}
    shown = {key: phrase(name) for key, name in names.items()}
    return tuple(
        line.format(**shown)
        if isinstance(line, str)
        else replace(
            line,
            pipeline=tuple(tuple(_arguments(argv, names)) for argv in line.pipeline),
            into=line.into.format(**names),
        )
        for line in lines
        if line
    )


def _arguments(argv: tuple[str, ...], names: dict[str, str]) -> Iterator[str]:
    for argument in argv:
        alone = names.get(argument.strip("{}")) if argument.startswith("{") else None
        yield from operands(alone) if alone is not None else (argument.format(**names),)
