"""disk-offline: states of disks, write protection, and AoE targets that do not answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdstop.collectors.aoe.targets import AOE
from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.mapper import MAPPER
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from sdstop.rules.paths.path_failed import PATH_FAILED
from tests.nodes.frames import Judged, check

MDSTAT = (
    "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n\nunused devices: <none>\n"
)


def disk(name: str, minor: int, state: str = "running", *, read_only: int = 0) -> dict[str, str]:
    """Return a SCSI disk."""
    base = f"/sys/block/{name}"
    return {
        f"{base}/dev": f"8:{minor}\n", f"{base}/size": "16\n", f"{base}/ro": f"{read_only}\n",
        f"{base}/device/state": f"{state}\n", f"link:{base}/device": f"../../../{minor}:0:0:0",
        f"link:{base}": f"../devices/pci0000:00/0000:00:17.0/host0/target0:0:0/0:0:0:{minor}/block/{name}",
    }  # fmt: skip


def judged(*disks: dict[str, str], mdstat: str = MDSTAT) -> Judged:
    files = {"/proc/mdstat": mdstat}
    for each in disks:
        files |= each
    return Judged((BLOCKDEV, MDRAID, MDMEMBERS, AOE), [DISK_OFFLINE], [(0.0, files)])


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        ("offline", Severity.CRITICAL),
        ("transport-offline", Severity.CRITICAL),
        ("deleted", Severity.CRITICAL),
        ("blocked", Severity.WARNING),
        ("quiesce", Severity.WARNING),
    ],
)
def test_a_disk_in_a_state_without_service(state: str, severity: Severity) -> None:
    said = judged(disk("sda", 0), disk("sdb", 16, state))
    assert said.finding("sdb").severity is severity
    assert said.finding("sdb").cause == f"The kernel reports the state {state}."
    assert said.ruled_out("sda").summary
    check(said.finding("sdb"))


@pytest.mark.parametrize(("status", "severity"), [("A", Severity.WARNING), ("F", Severity.CRITICAL)])
def test_a_disk_that_is_one_path_of_several(status: str, severity: Severity) -> None:
    paths = f"2 0 1 0 1 1 A 0 2 2 8:0 {status} 0 0 1 8:16 F 1 0 1"
    mapped = {
        "list:/sys/block": "dm-0\nsda\nsdb", "list:/sys/block/dm-0/slaves": "sda\nsdb",
        "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/uuid": "mpath-3600", "/sys/block/dm-0/dm/name": "mpatha",
        command_key(STATUS): f"mpatha: 0 16 multipath {paths}\n",
        command_key(TABLE): "mpatha: 0 16 multipath 1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n",
    }  # fmt: skip
    files = disk("sda", 0) | disk("sdb", 16, "transport-offline") | mapped
    said = Judged((BLOCKDEV, DM_STATUS), [DISK_OFFLINE, PATH_FAILED], [(0.0, files)])
    finding = said.finding("sdb")
    assert finding.severity is severity
    assert (finding.impact == "mpatha uses its other paths: 1 of 2 are active.") is (severity is Severity.WARNING)
    assert finding.explains == ("path-failed:mpatha",)


@pytest.mark.parametrize(
    ("other", "severity"), [("running", Severity.WARNING), ("transport-offline", Severity.CRITICAL)]
)
def test_a_disk_below_a_map_whose_paths_are_not_read_yet_is_judged_by_the_other_disks(
    other: str, severity: Severity
) -> None:
    mapped = {
        "list:/sys/block": "dm-0\nsda\nsdb", "list:/sys/block/dm-0": "dev\ndm\nslaves",
        "list:/sys/block/dm-0/slaves": "sda\nsdb",
        "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/uuid": "mpath-3600", "/sys/block/dm-0/dm/name": "mpatha",
    }  # fmt: skip
    said = Judged((BLOCKDEV,), [DISK_OFFLINE], [(0.0, disk("sda", 0, other) | disk("sdb", 16, "offline") | mapped)])
    finding = said.finding("sdb")
    assert finding.severity is severity
    assert (finding.impact == "mpatha has other disks below it: 1 of 2 run.") is (severity is Severity.WARNING)


def test_a_path_that_the_kernel_has_not_used_since_its_disk_went_is_none_of_the_others() -> None:
    mapped = {
        "list:/sys/block": "dm-0\nsda\nsdb", "list:/sys/block/dm-0/slaves": "sda\nsdb",
        "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/uuid": "mpath-3600", "/sys/block/dm-0/dm/name": "mpatha",
        command_key(STATUS): "mpatha: 0 16 multipath 2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:16 F 1 0 1\n",
        command_key(TABLE): "mpatha: 0 16 multipath 1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n",
    }  # fmt: skip
    files = disk("sda", 0, "offline") | disk("sdb", 16, "offline") | mapped
    said = Judged((BLOCKDEV, DM_STATUS), [DISK_OFFLINE], [(0.0, files)])
    assert {said.finding(name).severity for name in ("sda", "sdb")} == {Severity.CRITICAL}


def test_disks_that_run_are_good() -> None:
    assert judged(disk("sda", 0), disk("sdb", 16)).ruled_out("sda").subjects == ("sda", "sdb")


def test_a_state_of_no_known_kernel_is_unchecked() -> None:
    said = judged(disk("sda", 0, "asleep")).unchecked("sda")
    assert (said.gap, said.reason) == (Gap.FAULTY, 'unknown state "asleep"')


def test_write_protection_matters_below_an_array_alone() -> None:
    protected = disk("sdb", 16, read_only=1)
    assert "md0 writes to it" in judged(disk("sda", 0), protected).finding("sdb").summary
    without = judged(disk("sda", 0), protected, mdstat="Personalities : \nunused devices: <none>\n")
    assert without.ruled_out("sdb").summary


@pytest.mark.parametrize("state", ["down", "down,closewait", "up,kickme"])
def test_an_aoe_target_that_does_not_answer_is_critical(state: str) -> None:
    base = "/sys/block/etherd!e0.1"
    known = {f"{base}/dev": "152:16\n", f"{base}/size": "16\n", f"{base}/payload": "8192\n", f"{base}/mac": "001b21\n"}
    assert judged(known | {f"{base}/state": f"{state}\n"}).finding("etherd/e0.1").severity is Severity.CRITICAL
    assert judged(known | {f"{base}/state": "up\n"}).ruled_out("etherd/e0.1").summary
    assert judged(known | {f"{base}/state": "lost\n"}).unchecked("etherd/e0.1").reason == 'unknown state "lost"'


# --- disks that are gone while in use ---------------------------------------------------------------------


def without(gone: Sequence[str], below: Sequence[str], *, uuid: str = "LVM-abc") -> Judged:
    """Judge a device mapper device on `below`, of which some are gone from the third second on."""
    shown = []
    for second in range(5):
        there = [name for name in ("sda", "sdb", "sdc") if second < 2 or name not in gone]
        rows = "".join(f"   8 {n} {name} 1 0 8 1 1 0 8 1 0 1 1\n" for n, name in enumerate(there))
        files = {"/proc/diskstats": f"{rows} 253 0 dm-0 1 0 8 1 1 0 8 1 0 1 1\n"}
        for name in there:
            files |= disk(name, ord(name[-1]) - 97)
        base = "/sys/block/dm-0"
        files |= {f"{base}/dev": "253:0\n", f"{base}/size": "16\n", f"{base}/dm/name": "vg0-data\n",
                  f"{base}/dm/uuid": f"{uuid}\n"}  # fmt: skip
        files |= {f"link:{base}/slaves/{name}": f"../../{name}" for name in below}
        shown.append((float(second), files))
    return Judged((BLOCKDEV, DISKSTATS), [DISK_OFFLINE], shown)


IDLE = Severity.INFO, "DISK GONE"
"""Finding of a disk that left at rest, and that nothing names."""
USED = Severity.WARNING, "DISK GONE, in use until then"
"""Finding of a disk that left at rest while a volume that is still there was built on it."""


def test_a_volume_whose_disk_is_gone() -> None:
    finding = without(["sdb"], ["sdb"]).finding("dm-0")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "DISK GONE, still in use"
    assert finding.cause == "vg0-data is built on sdb, and the node has no such device."


@pytest.mark.parametrize(
    ("gone", "below", "found"),
    [
        pytest.param((), ("sdb",), [], id="all there"),
        pytest.param(("sdc",), ("sdb",), [IDLE], id="an unused disk"),
        pytest.param(("sdb",), ("sdb", "sdc"), [USED], id="one of two"),
    ],
)
def test_disks_that_nothing_waits_for(
    gone: Sequence[str], below: Sequence[str], found: list[tuple[Severity, str]]
) -> None:
    said = without(gone, below).all
    assert [(each.severity, each.title) for each in said if isinstance(each, Finding)] == found


# --- disks that are gone below a mount --------------------------------------------------------------------


def mounted(gone: int, *, unmounted: int = 99, read_every: int = 1, device: str = "/dev/sdb") -> Judged:
    """Judge sdb, mounted until a second, and gone from a second on; the table of mounts is read every few seconds."""
    shown = []
    table = f"/dev/sda / ext4 rw 0 0\n{device} /srv/data xfs rw 0 0\n"
    for second in range(5):
        there = ["sda", "sdb"] if second < gone else ["sda"]
        files = {"/proc/diskstats": "".join(f"   8 {n} {name} 1 0 8 1 1 0 8 1 0 1 1\n" for n, name in enumerate(there))}
        for name in there:
            files |= disk(name, ord(name[-1]) - 97)
        read = second - second % read_every
        files["/proc/mounts"] = table if read < unmounted else "/dev/sda / ext4 rw 0 0\n"
        shown.append((float(second), files))
    return Judged((BLOCKDEV, DISKSTATS, MOUNTED), [DISK_OFFLINE], shown)


def test_a_disk_that_is_gone_while_mounted() -> None:
    finding = mounted(2).finding("sdb")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "DISK GONE, still mounted"
    assert finding.impact == "Every access to /srv/data that is not cached fails."
    check(finding)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param(mounted(99), [], id="there"),
        pytest.param(mounted(4), [], id="gone in one sample"),
        pytest.param(mounted(2, unmounted=2), [IDLE], id="unmounted"),
        pytest.param(mounted(2, device="/dev/mapper/vg0-x"), [IDLE], id="another name"),
        pytest.param(mounted(2, device="/dev/root"), [IDLE], id="no device"),
    ],
)
def test_disks_that_no_mount_lacks(said: Judged, found: list[tuple[Severity, str]]) -> None:
    assert [(each.severity, each.title) for each in said.all if isinstance(each, Finding)] == found


# --- disks that refuse writes, or have no capacity ---------------------------------------------------------


def below_mount(device: str, access: str, *, read_only: int = 0, size: int = 16) -> Judged:
    """Judge sdb below a mount."""
    files = disk("sda", 0) | disk("sdb", 16, read_only=read_only) | {"/sys/block/sdb/size": f"{size}\n"}
    files |= {"/sys/block/sdb/sdb1/partition": "1\n", "/sys/block/sdb/sdb1/dev": "8:17\n"}
    files |= {"/sys/block/sdb/sdb1/size": "8\n", "/proc/mounts": f"{device} /srv/data xfs {access} 0 0\n"}
    return Judged((BLOCKDEV, MOUNTED), [DISK_OFFLINE], [(0.0, files)])


@pytest.mark.parametrize("device", ["/dev/sdb", "/dev/sdb1"])
def test_write_protection_below_a_writable_mount(device: str) -> None:
    assert "/srv/data writes to it" in below_mount(device, "rw", read_only=1).finding("sdb").cause
    assert below_mount(device, "ro", read_only=1).ruled_out("sdb").summary
    assert below_mount(device, "rw").ruled_out("sdb").summary


@pytest.mark.parametrize(("access", "read_only"), [("rw", 1), ("ro", 1), ("rw", 0)])
def test_a_mapped_volume_that_refuses_writes_below_a_writable_mount(access: str, read_only: int) -> None:
    """Read-only snapshots are mounted read-only, and nothing fails on them."""
    base = "/sys/block/dm-3"
    files = disk("sda", 0) | {
        f"{base}/dev": "253:3\n", f"{base}/size": "16\n", f"{base}/ro": f"{read_only}\n",
        f"{base}/dm/name": "vg0-home\n", f"{base}/dm/uuid": "LVM-abc\n",
        "/proc/mounts": f"/dev/mapper/vg0-home /home ext4 {access} 0 0\n",
    }  # fmt: skip
    said = Judged((BLOCKDEV, MOUNTED), [DISK_OFFLINE], [(0.0, files)])
    found = [each for each in said.all if isinstance(each, Finding)]
    assert bool(found) == (access == "rw" and read_only == 1)
    for finding in found:
        assert (finding.subject, finding.title) == ("dm-3", "VOLUME WRITE-PROTECTED")
        check(finding)


def stacked(table: str, below: str, mount: str = "rw", **read_only: int) -> Judged:
    """Judge a volume on a mapping (dm-1) on these devices, of which some are read-only; sda is the first disk."""
    files = {"/proc/mounts": f"/dev/mapper/top /srv ext4 {mount} 0 0\n", command_key(TABLE): table}
    files[command_key(INFO)] = "top:253:0:L--w:1:1:0:LVM-top\nmid:253:1:L--w:1:1:0:LVM-mid\n"
    for name, minor in (("sda", 0), ("sdb", 16)):
        files |= disk(name, minor, read_only=read_only.get(name, 0))
    for at, name, slaves in ((0, "top", "dm-1"), (1, "mid", below)):
        base = f"/sys/block/dm-{at}"
        files |= {
            f"{base}/dev": f"253:{at}\n", f"{base}/size": "16\n", f"{base}/ro": f"{read_only.get(f'dm_{at}', 0)}\n",
            f"{base}/dm/name": f"{name}\n", f"{base}/dm/uuid": f"LVM-{name}\n",
            **{f"link:{base}/slaves/{each}": f"../../{each}" for each in slaves.split()},
        }  # fmt: skip
    return Judged((BLOCKDEV, MOUNTED, MAPPER), [DISK_OFFLINE], [(0.0, files)])


LINEAR = "top: 0 16 linear 253:1 0\n"
MAPPED = "mid: 0 16 multipath 0 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n"


@pytest.mark.parametrize(("table", "below", "mount", "read_only", "found"), [
    ("mid: 0 16 crypt aes 0 0 8:0 0\n", "sda", "rw", {"sda": 1}, "sda"),
    ("mid: 0 8 linear 8:0 0\nmid: 8 8 linear 8:16 0\n", "sda\nsdb", "rw", {"sdb": 1}, "sdb"),
    ("mid: 0 16 crypt aes 0 0 8:0 0\n", "sda", "ro", {"sda": 1}, None),
    ("mid: 0 16 crypt aes 0 0 8:0 0\n", "sda", "rw", {"dm_0": 1, "sda": 1}, "dm-0"),  # does not write itself
    ("mid: 0 16 snapshot 8:0 8:16 P 8\n", "sda\nsdb", "rw", {"sda": 1}, None),  # an image of a live system
    ("mid: 0 16 clone 8:16 8:16 8:0 8\n", "sda\nsdb", "rw", {"sda": 1}, None),
    ("mid: 0 16 thin 8:16 1 8:0\n", "sda\nsdb", "rw", {"sda": 1}, None),  # external origin
    (MAPPED, "sda\nsdb", "rw", {"sda": 1}, None),
    (MAPPED, "sda\nsdb", "rw", {"sda": 1, "sdb": 1}, "sda"),
    ("", "sda\nsdb", "rw", {"sda": 1}, None),  # without dmsetup it may be a snapshot
    ("", "sda", "rw", {"sda": 1}, "sda"),
])  # fmt: skip
def test_write_protection_below_a_stack(
    table: str, below: str, mount: str, read_only: dict[str, int], found: str | None
) -> None:
    said = stacked(LINEAR + table if table else "", below, mount, **read_only)
    findings = [each for each in said.all if isinstance(each, Finding)]
    assert next((each.subject for each in findings), None) == found
    for finding in findings[:1]:
        assert "/srv writes to it" in finding.cause
        check(finding)


@pytest.mark.parametrize(("state", "found"), [("clean", 1), ("read-auto", 0), ("readonly", 0)])
def test_a_write_protected_member_of_an_array_that_writes(state: str, found: int) -> None:
    array = {"/sys/block/md0/md/array_state": f"{state}\n", "/sys/block/md0/dev": "9:0\n"}
    said = judged(disk("sda", 0), disk("sdb", 16, read_only=1), array)
    assert sum(isinstance(each, Finding) for each in said.all) == found


@pytest.mark.parametrize(("whole", "subject"), [(0, "sdb1"), (1, "sdb")])
def test_a_write_protected_partition_is_found_once(whole: int, subject: str) -> None:
    files = disk("sdb", 16, read_only=whole) | {
        "/sys/block/sdb/sdb1/partition": "1\n", "/sys/block/sdb/sdb1/dev": "8:17\n",
        "/sys/block/sdb/sdb1/size": "8\n", "/sys/block/sdb/sdb1/ro": "1\n",
        "/proc/mounts": "/dev/sdb1 /srv/data xfs rw 0 0\n",
    }  # fmt: skip
    said = Judged((BLOCKDEV, MOUNTED), [DISK_OFFLINE], [(0.0, files)])
    assert [each.subject for each in said.all if isinstance(each, Finding)] == [subject]


def test_a_disk_in_use_without_capacity_is_critical() -> None:
    finding = below_mount("/dev/sdb", "rw", size=0).finding("sdb")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "DISK WITHOUT CAPACITY, still in use")
    check(finding)
    assert below_mount("/dev/sda", "rw", size=0).ruled_out("sdb").summary
    assert below_mount("/dev/sdb", "rw", size=1).ruled_out("sdb").summary


@pytest.mark.parametrize(("size", "found"), [(100, True), (103, True), (104, False), (200, False)])
def test_a_partition_behind_the_end_of_its_disk(size: int, *, found: bool) -> None:
    files = disk("sdb", 16) | {
        "/sys/block/sdb/size": f"{size}\n", "/sys/block/sdb/sdb1/partition": "1\n", "/sys/block/sdb/sdb1/dev": "8:17\n",
        "/sys/block/sdb/sdb1/start": "6\n", "/sys/block/sdb/sdb1/size": "100\n",
    }  # fmt: skip
    said = Judged((BLOCKDEV,), [DISK_OFFLINE], [(0.0, files)])
    assert [each.subject for each in said.all if isinstance(each, Finding)] == (["sdb1"] if found else [])
    for each in said.all:
        if isinstance(each, Finding):
            check(each)


@pytest.mark.parametrize(("file", "access", "found"), [
    ("/srv/a.img (deleted)", "rw", True), ("/srv/a.img (deleted)", "ro", False), ("/srv/a.img", "rw", False),
])  # fmt: skip
def test_a_loop_device_without_its_file(file: str, access: str, *, found: bool) -> None:
    """The image of a package is mounted read-only, and its file is deleted with the package."""
    files = disk("sda", 0) | {
        "/sys/block/loop0/dev": "7:0\n", "/sys/block/loop0/size": "16\n", "/sys/block/loop0/ro": "0\n",
        "/sys/block/loop0/loop/backing_file": f"{file}\n", "/proc/mounts": f"/dev/loop0 /srv/data xfs {access} 0 0\n",
    }  # fmt: skip
    said = Judged((BLOCKDEV, MOUNTED), [DISK_OFFLINE], [(0.0, files)])
    assert [each.title for each in said.all if isinstance(each, Finding)] == (
        ["FILE OF THE DEVICE DELETED"] if found else []
    )


@pytest.mark.parametrize(("size", "mounted"), [(0, True), (0, False), (16, True)])
def test_a_mapping_without_a_table_below_a_mount(size: int, *, mounted: bool) -> None:
    files = disk("sda", 0) | {
        "/sys/block/dm-3/dev": "253:3\n", "/sys/block/dm-3/size": f"{size}\n", "/sys/block/dm-3/dm/name": "vg0-home\n",
        "/proc/mounts": f"/dev/mapper/{'vg0-home' if mounted else 'other'} /home ext4 rw 0 0\n",
    }  # fmt: skip
    said = Judged((BLOCKDEV, MOUNTED), [DISK_OFFLINE], [(0.0, files)])
    found = [each.title for each in said.all if isinstance(each, Finding)]
    assert found == (["VOLUME WITHOUT CAPACITY, still in use"] if mounted and not size else [])


@pytest.mark.parametrize(("size", "fits"), [(6, True), (7, False)])
def test_a_member_that_became_smaller_than_its_part_of_the_array(size: int, fits: bool) -> None:  # noqa: FBT001
    """The device has 16 sectors; the array uses `size` KiB behind an offset of 4 sectors."""
    member = "/sys/block/md0/md/dev-sdb"
    used = {f"{member}/size": f"{size}\n", f"{member}/offset": "4\n", f"{member}/state": "in_sync\n"}
    said = judged(disk("sda", 0), disk("sdb", 16) | used)
    if fits:
        assert "sdb" in said.ruled_out("sdb").subjects
    else:
        finding = said.finding("sdb")
        assert finding.title == "MEMBER BEYOND THE END OF ITS DISK"
        assert finding.cause == "md0 uses 1 KiB behind the end of the device."


@pytest.mark.parametrize(("sizes", "fires"), [((16, 16), False), ((16, 20), False), ((16, 15), True)])
@pytest.mark.parametrize("used", [True, False])
def test_a_device_that_becomes_smaller_below_an_array(sizes: tuple[int, int], fires: bool, used: bool) -> None:  # noqa: FBT001
    mdstat = MDSTAT if used else "Personalities : \nunused devices: <none>\n"
    shown = [
        (61.0 * turn, disk("sda", 0) | disk("sdb", 16) | {"/sys/block/sdb/size": f"{size}\n", "/proc/mdstat": mdstat,
                                                          "/proc/partitions": f"{size}\n"})
        for turn, size in enumerate(sizes)
    ]  # fmt: skip
    said = Judged((BLOCKDEV, MDRAID, MDMEMBERS), [DISK_OFFLINE], shown)
    if fires and used:
        assert said.finding("sdb").title == "SMALLER THAN BEFORE, still in use"
        assert said.finding("sdb").cause == "The device lost 512 B; md0 on it."
    else:
        assert "sdb" in said.ruled_out("sdb").subjects
