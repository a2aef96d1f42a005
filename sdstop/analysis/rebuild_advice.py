"""Advice for rebuilds by kind, because the commands for md are wrong for a pool.

In the lines `{array}` is the object of the rebuild, `{operand}` the same as an operand of a command, `{pool}` the part
before a slash as such an operand, `{md}` the directory of md's attributes.
"""

from __future__ import annotations

from msgspec import Struct, field

from sdstop.core.shell import operand, quoted
from sdstop.readings.rebuild import Rebuild, folder


class Advice(Struct, frozen=True, kw_only=True):
    """Advice lines for one kind of rebuild.

    `teller` is the source of the progress, and `shown` where an administrator sees it; `waits` and `waiting` are the
    words and lines for states in which it waits; `end` ends a check, `stalled` shows why nothing moves, `yields` gives
    the rebuild more of busy disks, `unknown` continues the search if no cause was found; `faster` raises the binding
    limit. `patience` is the usual number of seconds without progress.
    """

    teller: str
    shown: str
    end: str = ""
    stalled: tuple[str, ...] = ()
    yields: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    faster: tuple[str, ...] = ()
    waits: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    patience: float = 0.0


_PAUSED = {"paused": "is paused: an administrator stopped it for a while"}

_ADVICE: dict[str, Advice] = {
    "md": Advice(
        teller="md",
        shown="/proc/mdstat",
        end="echo idle > {md}/sync_action",
        stalled=("journalctl -k | grep -w {operand}; ps axo pid,stat,wchan:30,comm | grep {operand}_",),
        yields=("let md take more: echo 50000 > {md}/sync_speed_min",),
        unknown=(
            "is {array}_resync on the CPU all the time? top -H; if it waits: cat /proc/$(pgrep {operand}_resync)/stack",
        ),
        faster=(),
        waits={
            "delayed": "waits: another array that shares a disk with it goes first",
            "pending": "is due and begins with the first write: the array is read-only until then",
            "remote": "runs on another node of the cluster",
        },
        waiting={
            "delayed": "nothing to do: md takes arrays on the same disks one after the other; cat /proc/mdstat",
            "pending": "mdadm --readwrite /dev/{array}   # begins at once",
        },
    ),
    "zfs": Advice(
        teller="zpool status",
        shown="zpool status {pool}",
        end="zpool scrub -s {pool}   # -p only pauses it",
        stalled=("zpool status -s {pool}; zpool events -v | tail -60", "zpool iostat -v -l -q {pool} 10 2"),
        yields=(
            "zfs_resilver_min_time_ms (/sys/module/zfs/parameters) is a resilver's time of each transaction group",
        ),
        unknown=("zpool iostat -v -l -q {pool} 10 2; top -H: are z_rd_* and z_wr_* threads on the CPU all the time?",),
        faster=(),
        waits=_PAUSED,
        waiting={"paused": "zpool scrub {pool}   # goes on where it was"},
        patience=60.0,
    ),
    "drbd": Advice(
        teller="DRBD",
        shown="drbdadm status {pool}",
        end="drbdadm disconnect {pool}; drbdadm connect {pool}   # ends an online verify",
        stalled=("drbdadm status --verbose --statistics {pool}; journalctl -k | grep -w drbd",),
        yields=("let it take more: c-min-rate of drbdadm peer-device-options {pool} (man drbd.conf)",),
        unknown=("is the network between the nodes full, or the peer's disks? drbdadm status --statistics {pool}",),
        faster=("drbdadm peer-device-options --c-max-rate=RATE {pool}   # until it is adjusted again",),
        waits={
            "paused": "is paused, here or on the peer",
            "delayed": "waits: another resource goes first (resync-after)",
        },
        waiting={"paused": "drbdadm resume-sync {pool}   # on the node that paused it"},
    ),
    "ceph": Advice(
        teller="Ceph",
        shown="ceph -s",
        end="",
        stalled=("ceph health detail; ceph pg dump_stuck; ceph osd blocked-by",),
        yields=("osd_mclock_profile high_recovery_ops gives recovery more, clients less (Quincy and later)",),
        unknown=("ceph osd perf; ceph pg dump pgs_brief | grep -v active+clean | head",),
        faster=("ceph config set osd osd_mclock_profile high_recovery_ops   # take it back when it is done",),
        waits={"paused": "is held by a flag of the cluster", "frozen": "is held by a flag of the cluster"},
        waiting={
            "paused": "ceph osd dump | grep flags   # norecover, nobackfill, norebalance",
            "frozen": "ceph osd dump | grep flags",
        },
        patience=60.0,
    ),
    "powerflex": Advice(
        teller="the cluster",
        shown="the cluster's storage pool",
        end="",
        stalled=("are all SDS connected and all devices normal? scli --query_all_sds; scli --query_cluster",),
        yields=("give it more by the pool's policy for rebuild and rebalance I/O",),
        unknown=("which SDS is slowest? scli --query_all_device_latency_meters --protection_domain_name DOMAIN",),
        faster=(
            "raise the limit in the pool's policy (scli --set_rebuild_policy, --set_rebalance_policy) for a while",
        ),
        waits={"paused": "is switched off in the pool", "pending": "is due and has not begun"},
        waiting={},
        patience=60.0,
    ),
}
_OTHER = Advice(teller="its source", shown="its source")


def advice(row: Rebuild) -> Advice:
    """Return the words and lines for a rebuild, nearly empty for an unknown kind."""
    return _ADVICE.get(row.kind, _OTHER)


def filled(row: Rebuild, *lines: str) -> tuple[str, ...]:
    """Return lines with the placeholders filled in."""
    return tuple(
        line.format(
            array=quoted(row.array),
            operand=operand(row.array),
            pool=operand(row.array.partition("/")[0]),
            md=quoted(folder(row.array)),
        )
        for line in lines
        if line
    )
