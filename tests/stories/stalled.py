"""Stories of I/O that stands still although no disk has a request in flight, and of what was read and not judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.nodes.system import Shape
from tests.stories.clusters import Watched
from tests.stories.scene import Stories

_ANSWER = "answers/tasks.blocked.json"
_SECONDS = 40
_HANGS_AT = 5


def _task(ident: int, name: str, switches: int, **more: Any) -> dict[str, Any]:
    known = {"kernel": False, "wait": None, "switches": switches, "moved": None, "mount": None, "filesystem": None,
             "device": None, "number": None}  # fmt: skip
    return {"task": ident, "process": ident, "started": 31204.55 + ident, "name": name} | known | more


def _answer(tasks: Sequence[dict[str, Any]], blocked: int | None = None, denied: int = 0) -> dict[str, str]:
    head = {"blocked": len(tasks) if blocked is None else blocked, "denied": denied}
    return {_ANSWER: "[" + ",\n ".join(map(json.dumps, [head, *tasks])) + "]\n"}


def _story(shape: Shape, more: Callable[[int], Mapping[str, str]]) -> Callable[[], Watched]:
    return lambda: Watched(shape, 1, _SECONDS + 1, more, {})


def _nfs(second: int) -> dict[str, str]:
    """Let 257 tasks wait for a server that does not answer; the kernel counts none of them as waiting for I/O."""
    if second < _HANGS_AT:
        return _answer([])
    place = {"wait": "rpc_wait_bit_killable", "mount": "/srv/projects", "filesystem": "nfs4"}
    names = ["php-fpm"] * 250 + ["df", "bash", "bash", "updatedb.mlocat", "rsync", "tar"]
    return _answer([_task(4100 + n, name, 120 + n, **place) for n, name in enumerate(names)], blocked=257)


def _unplaced(second: int) -> dict[str, str]:
    """Let six tasks wait, seen by a user who may not look at their files."""
    if second < _HANGS_AT:
        return _answer([_task(881, "postgres", 4000 + 70 * second)], denied=1)
    return _answer([_task(880 + n, "postgres", 4000 + n) for n in range(6)], denied=6)


_NVME = {
    "/sys/class/nvme/nvme1/transport": "tcp\n",
    "/sys/class/nvme/nvme1/address": "traddr=10.20.0.7,trsvcid=4420,src_addr=10.20.0.21\n",
    "/sys/class/nvme/nvme1/subsysnqn": "nqn.2026-11.example:fast\n",
    "/sys/class/nvme/nvme1/nvme1c1n1/size": "4194304\n",
    "/sys/block/nvme1n1/dev": "259:3\n",
    "/sys/block/nvme1n1/size": "4194304\n",
    "/sys/block/nvme1n1/queue/max_sectors_kb": "1024\n",
}


def _target_dead(second: int) -> dict[str, str]:
    """Let an NVMe/TCP target vanish: the multipath head holds the requests, and none is in flight."""
    place = {"wait": "folio_wait_bit_common", "mount": "/var/lib/db", "filesystem": "xfs", "device": "nvme1n1",
             "number": "259:3"}  # fmt: skip
    done = 40_000 + 300 * min(second, _HANGS_AT)
    row = f" 259       3 nvme1n1 {done} 0 {8 * done} {done} 0 0 0 0 0 {done} {done} 0 0 0 0 0 0\n"
    dead = second >= _HANGS_AT
    tasks = [_task(2200 + n, "mysqld", 900 + n, **place) for n in range(5)] if dead else []
    files = {"/sys/class/nvme/nvme1/state": "connecting\n" if dead else "live\n", "/proc/diskstats": row}
    return files | _answer(tasks) | (_NVME if not second else {})


_VOLUME = {
    "/sys/block/dm-2/dev": "253:2\n",
    "/sys/block/dm-2/dm/name": "vg0-mail\n",
    "/sys/block/dm-2/dm/uuid": "LVM-vb2WQk5TjoHfNDXA1Zyd9Uhp0S6cBxRe\n",
    "/sys/block/dm-2/size": "83886080\n",
}


def _left_suspended(second: int) -> dict[str, str]:
    """Let LVM's command die between suspend and resume; five snapshots before it were right."""
    place = {"wait": "blk_io_schedule", "mount": "/srv/mail", "filesystem": "ext4", "device": "dm-2", "number": "253:2"}
    left = second >= _HANGS_AT
    tasks = [_task(3300 + n, "imapd", 77 + n, **place) for n in range(8)]
    writer = _task(311, "jbd2/dm-2-8", 5012, **place | {"kernel": True, "wait": "jbd2_journal_commit_transaction"})
    row = " 253       2 dm-2 51220 0 409760 51220 0 0 0 0 0 51220 51220 0 0 0 0 0 0\n"
    files = {"/sys/block/dm-2/dm/suspended": "1\n" if left else "0\n", "/proc/diskstats": row}
    return files | _answer([writer, *tasks] if left else []) | (_VOLUME if not second else {})


def _pressure(second: int) -> dict[str, str]:
    """Let 18 tasks wait for I/O at every look; each of them runs now and then, so none is stuck."""
    return _answer([_task(700 + n, "backupd", 50 * second + n, wait="io_schedule") for n in range(18)])


_MD = """Personalities : [raid6] [raid5] [raid4]
md0 : active raid6 sdf[6] sdd[3] sdc[2] sdb[1] sda[0] sde[4](F)
      23441686528 blocks super 1.2 level 6, 512k chunk, algorithm 2 [5/5] [UUUUU]

unused devices: <none>
"""
_ARRAY = {
    "level": "raid6", "raid_disks": "5", "array_state": "clean", "degraded": "0", "sync_action": "idle",
    "last_sync_action": "check", "mismatch_cnt": "8192", "stripe_cache_size": "256",
}  # fmt: skip


def _unjudged(second: int) -> dict[str, str]:
    """Show an array after a check and after a spare took over; one member corrected read errors, and goes on to."""
    files: dict[str, str] = {"outcomes.json": "{}\n", "/proc/mdstat": _MD}
    if not second:
        files |= {f"/sys/block/md0/md/{name}": f"{said}\n" for name, said in _ARRAY.items()}
        for slot, device in ((0, "sda"), (1, "sdb"), (2, "sdc"), (3, "sdd"), (4, "sdf")):
            base = f"/sys/block/md0/md/dev-{device}"
            files |= {f"{base}/state": "in_sync\n", f"{base}/slot": f"{slot}\n", f"{base}/errors": "0\n"}
        files |= {"/sys/block/md0/md/dev-sde/state": "faulty\n", "/sys/block/md0/md/dev-sde/slot": "none\n"}
    if second % 30 == 0:
        files["/sys/block/md0/md/dev-sdc/errors"] = f"{184 + second // 30}\n"
    files["/proc/diskstats"] = "".join(
        f"   8 {16 * place:>7} sd{letter} 918220 0 7345760 4591100 771310 0 6170480 3856550 0 812040 8447650\n"
        for place, letter in enumerate("abcdef")
    )
    # A healthy node has tasks in D state, too: they are others at each look, or have run.
    return files | _answer([_task(90 + second % 3, "kworker/u16:2", 10 * second), _task(70, "rsync", 31 * second)])


_DRBD = """version: 8.4.11 (api:1/proto:86-101)
srcversion: F73C670A7EC572DB9CF3E5B
 0: cs:{state}
    ns:7160 nr:0 dw:16640 dr:54648 al:12 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:{oos}
"""


def _split_brain(second: int) -> dict[str, str]:
    """Let the cable be cut under writes, the peer be made Primary and written to, and the cable be put back."""
    state, oos = "Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----", 0
    if second >= _HANGS_AT:
        state, oos = "WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----", 11776
    if second >= 5 * _HANGS_AT:
        state = "StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----"
    return {"/proc/drbd": _DRBD.format(state=state, oos=oos)}


STORIES: Stories = {
    "nfs-server-dead": _story(Shape("web3", cpus=2, load=263.0), _nfs),
    "tasks-stalled": _story(Shape("db4", cpus=4, iowait=0.6, load=8.0, stalled=0.75), _unplaced),
    "nvme-target-dead": _story(Shape("db5", cpus=8, iowait=0.4, load=5.0, stalled=0.9), _target_dead),
    "volume-left-suspended": _story(Shape("mail1", cpus=8, iowait=0.4, load=9.0, stalled=0.9), _left_suspended),
    "pressure-unexplained": _story(Shape("backup2", cpus=4, iowait=0.9, load=20.0, stalled=0.9), _pressure),
    "md-unjudged": _story(Shape("vault12", cpus=8), _unjudged),
    "drbd-split-brain": _story(Shape("store7", cpus=4), _split_brain),
}
