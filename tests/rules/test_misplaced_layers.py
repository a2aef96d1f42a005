"""cache-misplaced, log-device-volatile, sync-disabled and target-left, from what the kernel and the programs print."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.mapper import MAPPER
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.zfs.settings import GET, ZFS_SETTINGS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Damage, Severity, Unchecked
from sdstop.core.retention import mount_table
from sdstop.readings.cache import Cache
from sdstop.rules.caches.cache_misplaced import CACHE_MISPLACED
from sdstop.rules.disks.log_device_volatile import LOG_DEVICE_VOLATILE
from sdstop.rules.mappings.target_left import TARGET_LEFT
from sdstop.rules.zfs.sync_disabled import SYNC_DISABLED
from tests.nodes.cache_rows import BCACHE, DM_CACHE, FLASHCACHE, judged
from tests.nodes.frames import Judged

# --- cache-misplaced --------------------------------------------------------------------------------------


def misplaced(cache: Cache, *devices: str) -> Judged:
    """Judge a cache beside file systems on these devices."""
    mounts = [MountPoint(point=f"/srv/{n}", filesystem="xfs", device=f"/dev/{d}") for n, d in enumerate(devices)]
    disks = [BlockDevice(name, "disk") for name in (cache.slow, cache.device) if name is not None]
    return judged([CACHE_MISPLACED], [[cache, *mounts, *disks]], (Cache, MountPoint, BlockDevice))


@pytest.mark.parametrize("cache", [FLASHCACHE, DM_CACHE, BCACHE], ids=["flashcache", "dm-cache", "bcache"])
def test_a_file_system_below_its_cache(cache: Cache) -> None:
    finding = misplaced(cache, cache.slow or "").finding(cache.cache)
    assert finding.cause == f"/srv/0 uses {cache.slow} itself, not the cache on top of it."
    good = misplaced(cache, cache.device or "").ruled_out(cache.cache)
    assert good.summary == f"only the cache uses its backing device {cache.slow}: all"


def test_a_cache_without_requests_harms_nothing_and_one_with_some_can() -> None:
    idle = misplaced(FLASHCACHE, "md2").finding("cachedev")
    assert (idle.severity, idle.damage) == (Severity.WARNING, Damage.SPEED)
    assert idle.impact == "The cache has received no request since it was loaded."
    busy = misplaced(replace(FLASHCACHE, writes=12), "md2").finding("cachedev")
    assert (busy.severity, busy.damage) == (Severity.CRITICAL, Damage.DATA)
    assert misplaced(replace(FLASHCACHE, writes=12, mode="writethrough"), "md2").finding("cachedev").severity is (
        Severity.WARNING
    )


def test_a_cache_whose_disk_is_unknown_is_not_judged() -> None:
    assert isinstance(misplaced(replace(FLASHCACHE, slow=None), "md2").of("cachedev"), Unchecked)


# --- log-device-volatile ----------------------------------------------------------------------------------


def test_the_device_of_an_external_log_is_the_only_option_that_is_kept() -> None:
    line = b"/dev/sdb1 /srv xfs rw,noatime,logdev=/dev/ram0,logbsize=32k,password=x 0 0\n"
    assert mount_table(line) == b"/dev/sdb1 /srv xfs rw,logdev=/dev/ram0\n"
    assert mount_table(mount_table(line)) == mount_table(line)


def log_on(device: str, more: dict[str, str]) -> Judged:
    """Judge an XFS whose log is on a device."""
    files = {
        "list:/sys/block": f"sda\n{device}",
        "/sys/block/sda/dev": "8:0",
        f"/sys/block/{device}/dev": "1:0",
        "/proc/self/mounts": f"/dev/sda /srv xfs rw,logdev=/dev/{device}\n",
        **more,
    }
    return Judged((BLOCKDEV, MOUNTED), [LOG_DEVICE_VOLATILE], [(0.0, files)])


@pytest.mark.parametrize(
    ("device", "file", "severity", "cause"),
    [
        ("ram0", "", Severity.CRITICAL, "The log of the file system is on ram0, a RAM disk."),
        ("loop0", "/run/log", Severity.CRITICAL, "The log of the file system is on loop0, a file in memory."),
        ("loop0", "/srv/other/log", Severity.WARNING, "The log of the file system is on loop0, a file."),
    ],
)
def test_a_log_in_memory_or_in_a_file(device: str, file: str, severity: Severity, cause: str) -> None:
    more = {"list:/sys/block/loop0": "loop\ndev", "/sys/block/loop0/loop/backing_file": file} if file else {}
    finding = log_on(device, more).finding("/srv")
    assert (finding.severity, finding.cause) == (severity, cause)


def test_a_log_on_a_disk_is_good() -> None:
    assert log_on("nvme0n1", {}).ruled_out("/srv").summary == "all logs on block devices: nvme"


@pytest.mark.parametrize(("device", "bad"), [("ram1", True), ("sdd", False)])
def test_the_journal_of_an_array(device: str, bad: bool) -> None:  # noqa: FBT001
    files = {
        "list:/sys/block": f"md0\nsda\nsdb\nsdc\n{device}",
        **{f"/sys/block/{name}/dev": f"8:{n}" for n, name in enumerate(("sda", "sdb", "sdc", device))},
        "/sys/block/md0/dev": "9:0",
        "/proc/mdstat": f"Personalities : [raid5]\nmd0 : active raid5 {device}[3](J) sdc[2] sdb[1] sda[0]\n"
        "      2093056 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]\n",
    }
    said = Judged((BLOCKDEV, MDRAID, MDMEMBERS), [LOG_DEVICE_VOLATILE], [(0.0, files)])
    if bad:
        assert said.finding("md0").cause == "The write journal of the array is on ram1, a RAM disk."
    else:
        said.ruled_out("md0")


# --- sync-disabled ----------------------------------------------------------------------------------------


def datasets(**sync: str) -> Judged:
    text = "".join(f"tank/{name}\ttype\tfilesystem\t-\ntank/{name}\tsync\t{value}\t-\n" for name, value in sync.items())
    files = {"list:/proc/spl/kstat/zfs": "tank", "/proc/spl/kstat/zfs/tank/state": "ONLINE\n", command_key(GET): text}
    return Judged((ZFS_SETTINGS,), [SYNC_DISABLED], [(0.0, files)])


def test_one_dataset_is_enough() -> None:
    finding = datasets(a="standard", vm="disabled", b="always").finding("tank")
    assert (finding.severity, finding.title) == (Severity.WARNING, "SYNC DISABLED: 1 dataset")
    assert finding.cause == "sync=disabled: tank/vm."
    assert datasets(a="standard", b="always").ruled_out("tank").summary == "sync not disabled: 2 datasets"


# --- target-left ------------------------------------------------------------------------------------------


def tables(text: str, **more: str) -> Judged:
    files: dict[str, Any] = {
        "list:/sys/block": "dm-0\nsda", "/sys/block/dm-0/dev": "253:0", "/sys/block/sda/dev": "8:0",
        "list:/sys/block/dm-0": "dm\ndev", "/sys/block/dm-0/dm/name": "data",
        command_key(TABLE): text, command_key(INFO): "data:253:0:L--w:1:1:0:\n", **more,
    }  # fmt: skip
    return Judged((BLOCKDEV, MAPPER, DM_STATUS, MOUNTED), [TARGET_LEFT], [(0.0, files)])


@pytest.mark.parametrize(
    ("text", "severity", "title"),
    [
        ("data: 0 100 clone Fail\n", Severity.CRITICAL, "TARGET FAILED: no I/O"),
        ("data: 0 100 era Error\n", Severity.CRITICAL, "TARGET FAILED: no I/O"),
        ("data: 0 100 clone 8 12/2048 8 100/100 0 0 2 hydration_threshold 1 ro\n", Severity.CRITICAL,
         "TARGET READ-ONLY: no metadata"),
        ("data: 0 50 linear\ndata: 50 50 error\n", Severity.WARNING, "ERROR TARGET: requests fail"),
        ("data: 0 100 flakey\n", Severity.WARNING, "TEST TARGET: flakey"),
        ("data: 0 100 dust 8:16 fail_read_on_bad_block quiet\n", Severity.WARNING, "TEST TARGET: dust"),
        ("data: 0 100 clone 8 12/2048 8 100/100 0 0 2 hydration_threshold 1 rw\n", None, "1 clone target working"),
    ],
)  # fmt: skip
def test_a_status_without_a_table_is_judged(text: str, severity: Severity | None, title: str) -> None:
    said = Judged((MAPPER, DM_STATUS), [TARGET_LEFT], [(0.0, {"cmd:dmsetup status": text})])
    if severity is None:
        assert said.ruled_out("data").summary == title
    else:
        finding = said.finding("data")
        assert (finding.severity, finding.title) == (severity, title)


def test_an_unknown_target_without_a_table_is_not_good() -> None:
    files = {"cmd:dmsetup status": "data: 0 100 novel 3 bad\n"}
    assert all(isinstance(said, Unchecked) for said in Judged((MAPPER, DM_STATUS), [TARGET_LEFT], [(0.0, files)]).all)


@pytest.mark.parametrize(
    ("text", "title", "cause"),
    [
        ("data: 0 100 error \n", "ERROR TARGET: requests fail", "All of the mapping has the target error."),
        ("data: 0 50 linear 8:0 0\ndata: 50 50 error \n", "ERROR TARGET: requests fail",
         "A part of the mapping has the target error."),
        ("data: 0 100 flakey 8:0 0 10 5 0 \n", "TEST TARGET: flakey",
         "All of the mapping has the target flakey: requests fail at times."),
        ("data: 0 100 delay 8:0 0 0 8:0 0 5\n", "TEST TARGET: delay",
         "All of the mapping has the target delay: requests are held back."),
    ],
)  # fmt: skip
def test_a_target_that_fails_requests(text: str, title: str, cause: str) -> None:
    finding = tables(text).finding("data")
    assert (finding.severity, finding.title, finding.cause) == (Severity.WARNING, title, cause)


def test_an_error_target_below_a_mount_is_critical() -> None:
    said = tables("data: 0 100 error \n", **{"/proc/self/mounts": "/dev/mapper/data /srv ext4 rw\n"})
    assert said.finding("data").severity is Severity.CRITICAL


def test_an_error_target_below_another_mapping_is_critical() -> None:
    """A cache whose fast device fails all requests, without a mount."""
    more = {"list:/sys/block": "dm-0\ndm-1\nsda", "/sys/block/dm-1/dev": "253:1",
            "list:/sys/block/dm-1": "dm\ndev\nslaves",
            "/sys/block/dm-1/dm/name": "vol", "link:/sys/block/dm-1/slaves/dm-0": "../../dm-0",
            "list:/sys/block/dm-1/slaves": "dm-0"}  # fmt: skip
    said = tables("data: 0 100 error \nvol: 0 100 linear 253:0 0\n",
                  **more, **{command_key(INFO): "data:253:0:L--w:1:1:0:\nvol:253:1:L--w:0:1:0:\n"})  # fmt: skip
    assert said.finding("data").severity is Severity.CRITICAL


def test_a_target_that_discards_writes_matters_below_a_mount() -> None:
    mount = {"/proc/self/mounts": "/dev/mapper/data /srv ext4 rw\n"}
    assert tables("data: 0 100 zero \n", **mount).finding("data").title == "TEST TARGET: zero"
    assert tables("data: 0 50 linear 8:0 0\ndata: 50 50 zero \n").finding("data").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("status", "title", "cause"),
    [
        ("clone Fail", "TARGET FAILED: no I/O", "The target clone of the mapping is in the state failed."),
        ("era Error", "TARGET FAILED: no I/O", "The target era of the mapping is in the state failed."),
        ("clone 8 12/2048 8 40/100 3 0 2 hydration_threshold 1 ro", "TARGET READ-ONLY: no metadata",
         "The target clone of the mapping is in the state read-only."),
    ],
)  # fmt: skip
def test_a_target_that_gave_up(status: str, title: str, cause: str) -> None:
    target = status.partition(" ")[0]
    said = tables(f"data: 0 100 {target} 8:0 8\n", **{command_key(STATUS): f"data: 0 100 {status}\n"})
    finding = said.finding("data")
    assert (finding.severity, finding.title, finding.cause) == (Severity.CRITICAL, title, cause)


def test_a_state_that_is_not_known_is_not_good() -> None:
    said = tables("data: 0 100 dedup 8:0 8\n", **{command_key(STATUS): "data: 0 100 dedup 3 7 stopped\n"})
    verdict = said.of("data")
    assert isinstance(verdict, Unchecked)
    assert verdict.reason == "state of the target dedup unknown"
    good = tables("data: 0 100 era 8:0 8 64\n", **{command_key(STATUS): "data: 0 100 era 8 12/8192 4 -\n"})
    assert good.ruled_out("data").summary == "no error target in all 1 tables"


@pytest.mark.parametrize("text", [
    "data: 0 100 linear 8:0 0\n", "data: 0 100 delay 8:0 0 0\n", "data: 0 100 zero \n",
])  # fmt: skip
def test_other_targets_are_good(text: str) -> None:
    assert tables(text).ruled_out("data").summary == "no error target in all 1 tables"
