"""Which disks are members: something other than a mount or a target is built on them."""

from __future__ import annotations

from collections.abc import Hashable

from sdstop.collectors.aoe.readings import AoeExport
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.model import Reading
from sdstop.core.topologies import Topologies
from sdstop.exporters.prometheus.members import members_of, paths_of
from sdstop.readings.cluster import ClusterDevice
from tests.nodes.rows import row


def members(*rows: Reading) -> frozenset[str]:
    tables: dict[type[Reading], dict[Hashable, Reading]] = {}
    for each in rows:
        table = tables.setdefault(type(each), {})
        table[len(table)] = each
    return members_of(Topologies().of(tables))


def partition(name: str, disk: str) -> Reading:
    made: Reading = row(BlockDevice, device=name, kind="partition", parent=disk)
    return made


def test_slaves_and_paths_are_members_and_the_disks_of_their_partitions() -> None:
    links = (BlockLink("md0", "sda1", "slave"), BlockLink("nvme0n1", "nvme0c0n1", "path"))
    assert members(partition("sda1", "sda"), *links) == {"sda1", "sda", "nvme0c0n1"}


def test_leaves_of_pools_and_disks_of_osds_are_members() -> None:
    leaf = row(Vdev, pool="tank", vdev="sdb1", device="sdb1", kind="disk", group="data", state="ONLINE", leaf=1)
    osd = row(ClusterDevice, cluster="c", node="n", device="osd.0", local="sdc")
    assert members(partition("sdb1", "sdb"), leaf, osd) == {"sdb1", "sdb", "sdc"}


def test_disks_that_are_only_mounted_exported_or_partitioned_are_none() -> None:
    mount = MountPoint(point="/", filesystem="ext4", device="/dev/sda1")
    export = row(AoeExport, shelf=0, slot=1, device="/dev/sdd", kernel="sdd", interface="eth1")
    assert members(partition("sda1", "sda"), mount, export) == frozenset()


def test_maps_stand_for_their_paths_with_and_without_a_privilege() -> None:
    slaves = [BlockLink("dm-0", name, "slave") for name in ("sda", "sdb")]
    tables: dict[type[Reading], dict[Hashable, Reading]] = {
        BlockLink: dict(
            enumerate((*slaves, BlockLink("dm-1", "dm-0", "slave"), BlockLink("nvme0n1", "nvme0c0n1", "path")))
        )
    }
    topology = Topologies().of(tables)
    known = frozenset({"dm-0", "nvme0n1"}), frozenset({"sda", "sdb", "nvme0c0n1"})
    assert paths_of(topology, {"dm-0"}) == known
    assert paths_of(topology, ()) == (frozenset({"nvme0n1"}), frozenset({"nvme0c0n1"}))  # dm-0 may be a volume
