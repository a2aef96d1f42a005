"""scrub-overdue: ages of scrubs of ZFS, btrfs, md and Ceph, and unknown ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.filesystems.scrubs import BTRFS_SCRUBS, parse
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.system.node import NODE
from sdstop.collectors.zfs.pools import ZFS
from sdstop.collectors.zfs.zpool_status import ended_at
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.rebuilds.scrub_overdue import SCRUB_OVERDUE
from tests.nodes.ceph import HERE, STATUS
from tests.nodes.ceph import status as printed
from tests.nodes.frames import START, Judged
from tests.nodes.zfs import node, status, tree

DAY = 86_400
UUID = "7f3ec1d2-52ab-4c1d-9e77-0a1b2c3d4e5f"
CTIME = "%a %b %e %H:%M:%S %Y"


def ctime(days: float) -> str:
    """Return a date that many days before the frames, in the form of the C library."""
    return datetime.fromtimestamp(START - days * DAY, UTC).strftime(CTIME)


def pool(scan: str) -> Judged:
    return Judged((ZFS,), [SCRUB_OVERDUE], [(0.0, node(status(tree((1, "/dev/sdb1", "ONLINE")), scan=scan)))])


def test_dates_of_zpool_status() -> None:
    assert ended_at("scrub repaired 0B in 00:55:00 with 0 errors on Sun Nov 15 04:35:03 2026") == 1_794_717_303
    assert ended_at("Tue Dec  1 00:00:00 2026") == 1_796_083_200
    assert ended_at("scrub repaired 0B with 0 errors on Sun Nov 35 04:35:03 2026") is None
    assert ended_at("none requested") is None


@pytest.mark.parametrize(("days", "late"), [(3, False), (44, False), (46, True), (400, True), (-0.5, False)])
def test_pools(days: float, late: bool) -> None:  # noqa: FBT001
    said = pool(f"scrub repaired 0B in 00:55:00 with 0 errors on {ctime(days)}").of("tank")
    assert isinstance(said, Finding if late else RuledOut)
    if isinstance(said, Finding):
        assert (said.severity, said.title) == (Severity.WARNING, f"SCRUB OVERDUE: {days:.0f} days")


@pytest.mark.parametrize(
    "scan",
    [
        "none requested",
        f"resilvered 1.2G in 00:10:00 with 0 errors on {ctime(2)}",
        f"scrub canceled on {ctime(2)}",
        "scrub repaired 0B in 00:55:00 with 0 errors on a day",
        f"scrub repaired 0B in 00:55:00 with 0 errors on {ctime(-30)}",
    ],
)
def test_an_unknown_age_is_neither_good_nor_late(scan: str) -> None:
    assert isinstance(pool(scan).of("tank"), Unchecked)


def record(began: int, *, canceled: int = 0, finished: int = 1, resumed: int = 0) -> str:
    return (
        f"scrub status:1\n{UUID}:1|data_extents_scrubbed:10|t_start:{began}|t_resumed:{resumed}|duration:100"
        f"|canceled:{canceled}|finished:{finished}\n"
    )


def test_records_of_btrfs() -> None:
    assert parse(record(1000), UUID) == ("finished", 1100)
    assert parse(record(1000, resumed=5000), UUID) == ("finished", 5000)
    assert parse(record(1000, canceled=1), UUID) == ("canceled", None)
    assert parse(record(1000, finished=0), UUID) == ("running", None)
    assert parse("scrub status:1\n", UUID) == ("unknown", None)
    assert parse(record(1000).replace("duration:100", ""), UUID) == ("unknown", None)
    assert parse(f"{record(1000)}{UUID}:2|t_start:900|t_resumed:0|duration:9|canceled:0|finished:1\n", UUID) == (
        "finished", 909,
    )  # fmt: skip


def btrfs(text: str | None) -> Judged:
    files = {f"list:/sys/fs/btrfs/{UUID}/devices": "sdb", "list:/sys/fs/btrfs": f"features\n{UUID}"}
    if text is not None:
        files[f"/var/lib/btrfs/scrub.status.{UUID}"] = text
    return Judged((BTRFS_SCRUBS,), [SCRUB_OVERDUE], [(0.0, files)])


def test_btrfs() -> None:
    assert isinstance(btrfs(record(int(START - 100 * DAY))).of("sdb"), Finding)
    assert isinstance(btrfs(record(int(START - 3 * DAY))).of("sdb"), RuledOut)
    assert isinstance(btrfs(record(int(START - 100 * DAY), finished=0)).of("sdb"), RuledOut)
    assert isinstance(btrfs(record(int(START - 3 * DAY), canceled=1)).of("sdb"), Unchecked)
    assert isinstance(btrfs(None).of("sdb"), Unchecked)
    assert isinstance(btrfs("x\n").of("sdb"), Unchecked)


def array(last: str | None, days: float, action: str = "idle") -> Judged:
    files = {
        "/proc/mdstat": "Personalities : [raid1]\nmd0 : active raid1 sdb1[1] sda1[0]\n      1000 blocks [2/2] [UU]\n\n"
        "unused devices: <none>\n",
        "/sys/block/md0/md/sync_action": f"{action}\n",
        "/sys/block/md0/md/array_state": "clean\n",
        "/sys/block/md0/md/degraded": "0\n",
        "/proc/uptime": f"{days * DAY:.2f} 10.00\n",
        "/proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
    }
    if last is not None:
        files["/sys/block/md0/md/last_sync_action"] = f"{last}\n"
    return Judged((MDRAID, NODE), [SCRUB_OVERDUE], [(0.0, files)])


def test_md_is_late_only_if_nothing_was_compared_since_a_boot_long_ago() -> None:
    finding = array("none", 130).finding("md0")
    assert finding.cause == "No check, repair or rebuild since boot, 130 days ago."
    assert isinstance(array("check", 20).of("md0"), RuledOut)
    assert isinstance(array("check", 130).of("md0"), Unchecked)  # since boot, and at an unknown time
    assert isinstance(array("resync", 130).of("md0"), Unchecked)  # may have followed a check
    assert isinstance(array("none", 20).of("md0"), Unchecked)
    assert isinstance(array(None, 130).of("md0"), Unchecked)
    assert isinstance(array("none", 130, "check").of("md0"), RuledOut)


def test_ceph_knows_it_by_itself() -> None:
    checks = {
        "PG_NOT_DEEP_SCRUBBED": "7 pgs not deep-scrubbed in time",
        "PG_NOT_SCRUBBED": "3 pgs not scrubbed in time",
    }
    files = {**HERE, STATUS: printed(health="HEALTH_WARN", checks=checks)}
    said = Judged((CEPH,), [SCRUB_OVERDUE], [(0.0, files)])
    (finding,) = [one for one in said.all if isinstance(one, Finding)]
    assert finding.title.startswith("SCRUB OVERDUE: ")
    assert finding.title.endswith(" not deep-scrubbed")
    assert len(finding.explains) == 2
    healthy = Judged((CEPH,), [SCRUB_OVERDUE], [(0.0, {**HERE, STATUS: printed()})])
    assert not [one for one in healthy.all if isinstance(one, Finding)]
