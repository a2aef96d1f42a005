"""lsblk, dmsetup ls --tree, df, mount and fio as recorded text."""
# ruff: noqa: E501  # lines as wide as programs print them

from __future__ import annotations

from typing import Any

import pytest

from sdstop.collectors.block.df import DF_TEXT, without_options
from sdstop.collectors.block.dm_tree import DM_TREE, kernel_name, tree
from sdstop.collectors.block.fio import FIO, fault
from sdstop.collectors.block.lsblk_text import LSBLK
from sdstop.collectors.block.mount_readings import FilesystemSpace, MountPoint
from sdstop.collectors.block.readings import BlockDevice, BlockLink, FioResult
from sdstop.core.collector import Collector
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed

TREE = """\
NAME               MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
sda                  8:0    0 447.1G  0 disk
|-sda1               8:1    0     1G  0 part  /boot
`-sda2               8:2    0 446.1G  0 part
  |-vg0-root       253:0    0    70G  0 lvm   /
  |                                           /var
  `-vg0-home       253:1    0   376G  0 lvm   /home
sdb                  8:16   0 447,1G  0 disk
`-md0                9:0    0     9G  0 raid1
sdc                  8:32   0 447,1G  0 disk
`-md0                9:0    0     9G  0 raid1
"""
INVERSE = """\
NAME         MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS
vg0-root     253:0    0    70G  0 lvm  /
└─sda2         8:2    0 446.1G  0 part
  └─sda        8:0    0 447.1G  0 disk
"""


def rows(collector: Collector, **files: str) -> list[Any]:
    return list(collector.read(EvidenceHost.of({f"cmd:{name}": text for name, text in files.items()})))


def links(found: list[Any]) -> set[tuple[str, str]]:
    return {(row.device, row.below) for row in found if isinstance(row, BlockLink)}


def test_the_tree_of_lsblk() -> None:
    found = rows(LSBLK, lsblk=TREE)
    devices = {row.device: row for row in found if isinstance(row, BlockDevice)}
    assert set(devices) == {"sda", "sda1", "sda2", "dm-0", "dm-1", "sdb", "md0", "sdc"}
    assert (devices["dm-0"].dm_name, devices["dm-0"].kind, devices["sda1"].parent) == ("vg0-root", "dm", "sda")
    assert devices["sdb"].size == devices["sda"].size == round(447.1 * 2**30)
    assert links(found) == {
        ("sda1", "sda"), ("sda2", "sda"), ("dm-0", "sda2"), ("dm-1", "sda2"), ("md0", "sdb"), ("md0", "sdc"),
    }  # fmt: skip
    assert [row.point for row in found if isinstance(row, MountPoint)] == ["/boot", "/", "/var", "/home"]


def test_a_tree_upside_down() -> None:
    assert links(rows(LSBLK, lsblk=INVERSE)) == {("dm-0", "sda2"), ("sda2", "sda")}
    assert links(rows(LSBLK, **{"lsblk -s": INVERSE})) == {("dm-0", "sda2"), ("sda2", "sda")}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (" -P", 'NAME="sda" MAJ:MIN="8:0" SIZE="1G" TYPE="disk" ROTA="1"\n'),
        (" -r -o NAME,SIZE,TYPE,ROTA,MODEL", "NAME SIZE TYPE ROTA MODEL\nsda 1G disk 1 QEMU\\x20HARDDISK\n"),
        (
            " -J",
            '{"blockdevices": [{"name": "sda", "size": "1G", "type": "disk", "rota": true, "mountpoints": [null]}]}',
        ),
        (" -d -o name,size,type,rota", "NAME SIZE TYPE ROTA\nsda    1G disk    1\n"),
    ],
)
def test_other_forms_of_lsblk(options: str, text: str) -> None:
    (row,) = rows(LSBLK, **{f"lsblk{options}": text})
    assert (row.device, row.size, row.kind, row.rotational) == ("sda", 1 << 30, "disk", 1)


@pytest.mark.parametrize(
    "text",
    [
        TREE.replace("`-sda2 ", "  `-sda2"),  # no branch leads there
        TREE.replace("|-sda1", "`-sda1"),  # the last one is followed by another
        "what lsblk says\n",
    ],
)
def test_a_broken_tree_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        rows(LSBLK, lsblk=text)


def test_the_tree_of_dmsetup() -> None:
    text = "vg0-s (254:3)\n ├─ (8:16)\n └─ (65:32)\nmp (254:7)\n |-<sdb> (8:16)\n `-<nvme0n1> (259:1)\n"
    assert links(rows(DM_TREE, **{"dmsetup ls --tree": text})) == {
        ("dm-3", "sdb"), ("dm-3", "sds"), ("dm-7", "sdb"), ("dm-7", "nvme0n1"),
    }  # fmt: skip
    deps = "vg0-s: 2 dependencies\t: (8, 32) (9, 0)\n"
    assert ("dm-3", "md0") in links(rows(DM_TREE, **{"dmsetup ls --tree": text, "dmsetup deps": deps}))


@pytest.mark.parametrize(
    ("number", "name"), [("8:0", "sda"), ("8:17", "sdb1"), ("65:0", "sdq"), ("65:160", "sdaa"), ("128:0", "sddy"),
                         ("9:127", "md127"), ("259:0", None), ("253:0", None)]
)  # fmt: skip
def test_numbers_that_imply_a_name(number: str, name: str | None) -> None:
    assert kernel_name(number) == name


def test_space_in_any_language() -> None:
    german = (
        "Dateisystem      Größe Benutzt Verf. Verw% Eingehängt auf\n"
        "/dev/mapper/vg00-very-long-name\n                  1,8T    1,7T   12G   99% /srv/data one\n"
        "tmpfs              16G    1,2M   16G    1% /run\n"
    )
    inodes = "Filesystem      Inodes  IUsed   IFree IUse% Mounted on\n/dev/mapper/x  1000000 990000   10000   99% /srv/data one\n"
    found = {
        row.point: row
        for row in rows(DF_TEXT, **{"df -h": german, "df -i": inodes})
        if isinstance(row, FilesystemSpace)
    }
    full = found["/srv/data one"]
    assert (full.share, full.available, full.inodes_share, full.inodes) == (0.99, 12 << 30, 0.99, 1_000_000)
    assert found["/run"].inodes is None


@pytest.mark.parametrize(
    ("command", "heading", "line", "size"),
    [
        ("df", "Filesystem 1K-blocks Used Available Use% Mounted on", "/dev/sda1 1024 512 512 50% /a", 1 << 20),
        ("df -B1M", "Filesystem 1M-blocks Used Available Use% Mounted on", "/dev/sda1 1 0 1 1% /a", 1 << 20),
        ("df -P", "Filesystem 512-blocks Used Available Capacity% Mounted on", "/dev/sda1 2048 0 2048 1% /a", 1 << 20),
        ("df -H", "Filesystem Size Used Avail Use% Mounted on", "/dev/sda1 1.0M 0 1.0M 1% /a", 1_000_000),
        (
            "df -T",
            "Filesystem Type 1K-blocks Used Available Use% Mounted on",
            "/dev/sda1 ext4 1024 0 1024 0% /a",
            1 << 20,
        ),
        ("df", "Filesystem Blocks Used Available Use% Mounted on", "/dev/sda1 1024 512 512 50% /a", None),
    ],
)
def test_units_of_df(command: str, heading: str, line: str, size: int | None) -> None:
    (row,) = (row for row in rows(DF_TEXT, **{command: f"{heading}\n{line}\n"}) if isinstance(row, FilesystemSpace))
    assert row.size == size


def test_mount_keeps_no_password() -> None:
    text = b"//nas/x on /mnt type cifs (rw,username=me,password=secret)\n/dev/sda1 on / type ext4 (ro,relatime)\n"
    assert without_options(text) == b"//nas/x on /mnt type cifs (rw)\n/dev/sda1 on / type ext4 (ro)\n"
    assert without_options(without_options(text)) == without_options(text)
    found = {row.point: (row.access, row.device, row.server) for row in rows(DF_TEXT, mount=text.decode())}
    assert found == {"/": ("ro", "/dev/sda1", None), "/mnt": ("rw", None, "nas")}


RESULT = """\
a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=423: Mon Nov 23 07:40:12 2026
  read: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(144MiB/3001msec)
    clat (usec): min=62, max=3417, avg=80.00, stdev=38.07
     lat (usec): min=62, max=3417, avg=83.42, stdev=38.07
    clat percentiles (nsec):
     | 99.00th=[204000], 99.50th=[253000], 99.90th=[578000], 99.95th=[848000],
  write: IOPS=10, BW=1024KiB/s (1049kB/s)(3MiB/3001msec); 0 zone resets
    clat (msec): min=1, max=3, avg= 2.00, stdev=0.07
"""


def test_results_of_fio() -> None:
    read, write = rows(FIO, fio=RESULT)
    assert isinstance(read, FioResult)
    assert (read.iops, read.bandwidth, read.depth, read.pattern) == (12300.0, 48.0 * 2**20, 4, "randread")
    assert (read.latency, read.latency_99, read.latency_999) == pytest.approx((80e-6, 204e-6, 578e-6))
    assert (write.way, write.bandwidth, write.latency, write.latency_99) == ("write", 2.0**20, 2e-3, None)
    assert fault(RESULT) == "end not shown"
    assert fault(RESULT + "\nRun status group 0 (all jobs):\n   READ: bw=48.0MiB/s\n") == ""


def test_a_tree_with_a_cut_line_keeps_the_others() -> None:
    text = (
        "crypt-88244ad9 (253:2)\n `- (8:16)\n"
        "ceph--48858aa1--71a3--4f0e--95f3--a07d1d9a6749-osd--block--48858aa1--71a3...\n"
        " `-crypt-48858aa1 (253:0)\n    `- (8:32)\n"
    )
    known = [(number, above) for number, _, _, above in tree(text)]
    assert known == [("253:2", None), ("8:16", "253:2"), ("253:0", None), ("8:32", "253:0")]
    host = EvidenceHost.of({"cmd:dmsetup ls --tree": text})
    assert {type(row).__name__ for row in DM_TREE.read(host)} == {"BlockDevice", "BlockLink"}
    assert host.defects
