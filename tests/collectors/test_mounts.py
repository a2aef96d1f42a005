"""Mount points: what they are on, and their place in the topology."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.mounts import MOUNTED, MOUNTS, MountPoint, parse, server_of
from sdstop.collectors.block.names import DEVICE_NAMES
from sdstop.core.collector import Collector
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.core.model import Reading, Source
from sdstop.core.retention import mount_table
from sdstop.core.thing import Thing
from sdstop.core.topology import Topologies, Topology

TABLE = r"""proc /proc proc rw 0 0
tmpfs /run tmpfs rw 0 0
/dev/sda2 / ext4 rw,relatime 0 0
/dev/mapper/vg0-home /srv/my\040home xfs rw 0 0
tank/data /tank/data zfs rw,xattr,noacl 0 0
nas:/export /mnt nfs4 rw,addr=10.0.0.5,password=x 0 0
//me:secret@files/share /cifs cifs rw,username=me 0 0
overlay / overlay rw 0 0
"""
BLOCK = {
    "/sys/block/sda/dev": "8:0", "/sys/block/sda/sda2/partition": "2", "/sys/block/sda/sda2/dev": "8:2",
    "/sys/block/dm-0/dev": "253:0", "/sys/block/dm-0/dm/name": "vg0-home", "/sys/block/dm-0/dm/uuid": "LVM-x",
    "link:/sys/block/dm-0/slaves/sda": "../../sda",
}  # fmt: skip


def graph(files: dict[str, str], *collectors: Collector) -> Topology:
    tables: dict[type[Reading], dict[Hashable, Reading]] = {}
    for collector in collectors:
        for number, row in enumerate(collector.read(EvidenceHost.of(files))):
            tables.setdefault(type(row), {})[number] = row
    return Topologies().of(tables)


def find(topology: Topology, name: str) -> Thing:
    found = topology.find(name)
    assert found is not None
    return found


def test_mounts_with_storage_are_read_and_options_are_not_kept() -> None:
    kept = mount_table(TABLE.encode()).decode()
    assert "secret" not in kept
    assert "password" not in kept
    rows = list(parse(kept, MOUNTS[0]))
    assert [(row.point, row.filesystem, row.device, row.dataset, row.server) for row in rows] == [
        ("/", "ext4", "/dev/sda2", None, None),
        ("/srv/my home", "xfs", "/dev/mapper/vg0-home", None, None),
        ("/tank/data", "zfs", None, "tank/data", None),
        ("/mnt", "nfs4", None, None, "nas"),
        ("/cifs", "cifs", None, None, "files"),
    ]
    assert list(parse(TABLE, MOUNTS[0]))[:4] == rows[:4]
    assert rows[0].source() == Source(MOUNTS[0], " / ")


def test_a_container_host_does_not_flood_the_list() -> None:
    rows = list(parse("".join(f"/dev/sda2 /var/lib/pods/{n} ext4\n" for n in range(500)), MOUNTS[0]))
    assert len(rows) == 16


@pytest.mark.parametrize(
    ("source", "host"),
    [("nas:/export", "nas"), ("10.0.0.5:/", "10.0.0.5"), ("[fe80::1]:/x", "fe80::1"), ("//files/share", "files"),
     ("mon1,mon2:/", "mon1"), ("/dev/fuse", None), ("sshfs", None), ("//", None), (":/x", None)],
)  # fmt: skip
def test_the_server_of_a_source(source: str, host: str | None) -> None:
    assert server_of(source) == host


def test_an_archive_may_have_the_table_under_its_other_name() -> None:
    assert len(list(MOUNTED.read(EvidenceHost.of({MOUNTS[1]: TABLE})))) == 5
    with pytest.raises(Absent):
        list(MOUNTED.read(EvidenceHost.of({})))


def test_mounts_are_affected_by_the_disks_below_them() -> None:
    found = graph(BLOCK | {MOUNTS[0]: TABLE}, BLOCKDEV, MOUNTED)
    assert {thing.name for thing in found.affected(find(found, "sda"))} >= {"/", "/srv/my home"}
    assert [thing.name for thing in found.affected(find(found, "dm-0"))] == ["/srv/my home"]
    assert [thing.name for thing in found.affected(find(found, "tank/data"))] == ["/tank/data"]
    assert [thing.name for thing in found.affected(find(found, "nas"))] == ["/mnt"]


def test_a_file_system_of_fstab_that_is_not_mounted_is_affected_too() -> None:
    fstab = "/dev/mapper/vg0-home /backup xfs noauto 0 0\nUUID=1 / ext4 x 0 0\n/dev/sda2 none swap sw 0 0\n"
    found = graph(BLOCK | {"/etc/fstab": fstab}, BLOCKDEV, DEVICE_NAMES)
    assert [thing.name for thing in found.affected(find(found, "sda"))] == ["/backup"]


@given(st.text())
def test_no_text_raises_anything(text: str) -> None:
    assert all(isinstance(row, MountPoint) for row in parse(text, "x"))
    server_of(text)
