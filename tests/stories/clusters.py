"""Stories of clusters whose state is asked: a drain of Ceph that takes days, a resync of DRBD that takes minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.drbd import status as drbd
from sdstop.collectors.pacemaker import crm_mon as pacemaker
from sdstop.core.evidence import slug
from tests.nodes import ceph as cephnode
from tests.nodes import drbd as drbdnode
from tests.nodes import pacemaker as pacemakernode
from tests.nodes.system import Node, Shape
from tests.stories.archive import Archive
from tests.stories.disks import SYSTEM, SystemDisk
from tests.stories.interfaces import STILL, Interfaces
from tests.stories.rows import text
from tests.stories.scene import NO_PATHS, Stories

_STARTED = 1_795_273_200.0
_STEP = 30
_LOOKS = 16
_NO_MD = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'


@dataclass(slots=True)
class Watched:
    """A node that is looked at every `step` seconds; `more` gives what its clusters say then."""

    shape: Shape
    step: int
    looks: int
    more: Callable[[int], Mapping[str, str]]
    links: Mapping[str, str]

    def write(self, path: Path) -> None:
        """Write the capture."""
        node, interfaces = Node(self.shape, _STARTED), Interfaces(self.shape.host, STILL)
        system = SystemDisk(self.shape.host)
        archive = Archive(path, self.shape.host, taken=_STARTED, monotonic=self.shape.uptime)
        if self.links:
            archive.links(self.links)
        for second in range(self.step * (self.looks - 1) + 1):
            files = node.files(second) | interfaces.files(second)
            files["/proc/diskstats"] = text(SYSTEM, system.rows())
            files["outcomes.json"] = _NO_MD
            if not second:
                files |= system.sysfs() | NO_PATHS
            if second % self.step == 0:
                more = dict(self.more(second))
                files["/proc/diskstats"] += more.pop("/proc/diskstats", "")
                archive.add(files | more, second)
        archive.finish()


def _command(argv: tuple[str, ...], output: str) -> dict[str, str]:
    return {f"commands/{slug(' '.join(argv))}/stdout": output}


def _drain() -> Watched:
    """Let a host be emptied: objects move at 1.7 a second, of which 471 699 are in the wrong place."""
    size = 60_626_000_000 / 295_141

    def said(second: int) -> dict[str, str]:
        files = _command(ceph.STATUS, cephnode.drain(471_699 - round(second * 358_717 / size)))
        if not second:
            files |= _command(ceph.TREE, cephnode.tree(hosts=5))
            files |= _command(ceph.DUMP, cephnode.osd_dump(cephnode.pool(2, "volumes", 2)))
            files |= _command(ceph.RULES, cephnode.crush_rules())
            files |= _command(ceph.USAGE, cephnode.usage({2: 121_252_000_000}))
            files |= _command(ceph.PERF, cephnode.perf({n: 6 + n % 5 for n in range(15)}))
            files |= _command(ceph.HEALTH, '{"status": "HEALTH_OK", "checks": {}}')
        return files

    links = {
        "/var/lib/ceph/osd/ceph-3/block": "/dev/ceph-1a2b/osd-block-3c4d",
        "/dev/ceph-1a2b/osd-block-3c4d": "../dm-0",
    }
    return Watched(Shape("store1", load=1.1), _STEP, _LOOKS, said, links)


_SECTORS = int(93.05 * (1 << 20) / 512)


def _resync() -> Watched:
    """Let a peer that was away be brought up to date, at a little less than c-max-rate allows."""

    def said(second: int) -> dict[str, str]:
        moved = _SECTORS * second
        files = _command(drbd.STATUS, drbdnode.status(drbdnode.syncing(1_405_248 + moved)))
        files |= _command(drbd.SHOW, drbdnode.show())
        # sdb is read from end to end, in requests of 512 KiB
        files["/proc/diskstats"] = (
            f"   8      16 sdb {moved // 1024} 0 {moved} {moved // 300} 0 0 0 0 0 {second * 390} {moved // 300} "
            "0 0 0 0 0 0\n"
            f" 147       0 drbd0 {second * 12} 0 {second * 96} {second * 9} {second * 30} 0 {second * 240} "
            f"{second * 44} 0 {second * 50} {second * 53} 0 0 0 0 0 0\n"
        )
        if not second:
            files["/proc/drbd"] = "version: 9.2.4 (api:2/proto:86-121)\n"
        return files

    return Watched(Shape("store1", load=0.9), 5, 13, said, {"/sys/block/drbd0/slaves/sdb": "../../sdb"})


def _unclean() -> Watched:
    """Let the peer of a pair fall silent: Pacemaker cannot fence it, so what must not run twice runs nowhere else."""
    lun = pacemakernode.instance("lun", "ocf:heartbeat:iSCSILogicalUnit", "store1", failed=True)
    said = pacemakernode.status(
        pacemakernode.node("store1", leads=True) + pacemakernode.node("store2", online=False, unclean=True),
        pacemakernode.clone("r0-clone", pacemakernode.instance("r0", "ocf:linbit:drbd", "store1", "Promoted"),
                            pacemakernode.instance("r0", "ocf:linbit:drbd"))
        + pacemakernode.group("target", pacemakernode.instance("ip", "ocf:heartbeat:IPaddr2", "store1"), lun),
        pacemakernode.failure("lun", "store1", "timed out"),
        bans=pacemakernode.ban("cli-ban-ip-on-store2", "ip", "store2"),
    )  # fmt: skip
    alone = drbdnode.resource(state="Connecting", replication="Off", peer_disk="DUnknown", out_of_sync=91_204)

    def told(second: int) -> dict[str, str]:
        files = _command(drbd.STATUS, drbdnode.status(alone))
        files["/proc/diskstats"] = (
            f" 147       0 drbd0 {second * 12} 0 {second * 96} {second * 9} {second * 30} 0 {second * 240} "
            f"{second * 44} 0 {second * 50} {second * 53} 0 0 0 0 0 0\n"
        )
        if not second:
            files |= _command(pacemaker.MON, said) | dict(pacemakernode.COROSYNC)
            files["/proc/drbd"] = "version: 9.2.4 (api:2/proto:86-121)\n"
        return files

    return Watched(Shape("store1", load=0.4), 5, 4, told, {"/sys/block/drbd0/slaves/sdb": "../../sdb"})


def _clean() -> Watched:
    """Let the same pair be well: both nodes are there, and what is served runs on one of them."""

    def told(second: int) -> dict[str, str]:
        files = _command(drbd.STATUS, drbdnode.status(drbdnode.resource()))
        files["/proc/diskstats"] = (
            f" 147       0 drbd0 {second * 12} 0 {second * 96} {second * 9} {second * 30} 0 {second * 240} "
            f"{second * 44} 0 {second * 50} {second * 53} 0 0 0 0 0 0\n"
        )
        if not second:
            parts = pacemakernode.DRBD + pacemakernode.TARGET
            parts += pacemakernode.instance("fence1", "stonith:fence_ipmilan", "store2")
            said = pacemakernode.status(resources=parts, bans=pacemakernode.ban("fence1-apart", "fence1", "store1"))
            files |= _command(pacemaker.MON, said) | dict(pacemakernode.COROSYNC)
            files["/proc/drbd"] = "version: 9.2.4 (api:2/proto:86-121)\n"
        return files

    return Watched(Shape("store1", load=0.4), 5, 4, told, {"/sys/block/drbd0/slaves/sdb": "../../sdb"})


STORIES: Stories = {
    "ceph-drain": _drain, "drbd-resync": _resync, "pacemaker-unclean": _unclean, "pacemaker-clean": _clean,
}  # fmt: skip
