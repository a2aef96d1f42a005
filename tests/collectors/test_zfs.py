"""ZFS pools and their scans: text of OpenZFS 0.7 to 2.4, and JSON."""

from __future__ import annotations

import contextlib
import json
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.zfs import zpool_json, zpool_status
from sdstop.collectors.zfs.pools import JSON, LIST, ZFS, parse_list
from sdstop.collectors.zfs.readings import Draid, Pool, Vdev, draid
from sdstop.collectors.zfs.zpool_status import nicenum, parse, seconds
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Malformed, TimedOut
from sdstop.core.model import Reading
from sdstop.readings.rebuild import Rebuild
from tests.nodes.zfs import MIRROR, SIZES, STATUS, node, status, tree
from tests.stories.draid import DraidPool

R = TypeVar("R", bound=Reading)
TIB = 1 << 40


def rows(family: type[R], files: dict[str, str], links: dict[str, str] | None = None) -> list[R]:
    items = [Evidence(key, data=text.encode()) for key, text in files.items()]
    items += [Evidence(f"link:{path}", data=target.encode()) for path, target in (links or {}).items()]
    return [row for row in ZFS.read(EvidenceHost(items)) if isinstance(row, family)]


def scan(text: str) -> zpool_status.Scan:
    (pool,) = parse(status(tree((1, "sda1", "ONLINE")), scan=text))
    (found,) = pool.scans
    return found


def test_vdevs_of_all_groups() -> None:
    found = rows(Vdev, node(MIRROR), {"/dev/disk/by-id/ata-A-part1": "../../sda1"})
    assert [(v.vdev, v.kind, v.group, v.parent, v.device, v.leaf) for v in found] == [
        ("mirror-0", "mirror", "data", None, None, 0),
        ("ata-A-part1", "disk", "data", "mirror-0", "sda1", 1),
        ("sdb1", "disk", "data", "mirror-0", "sdb1", 1),
        ("mirror-2", "mirror", "special", None, None, 0),
        ("nvme0n1p1", "disk", "special", "mirror-2", "nvme0n1p1", 1),
        ("nvme1n1p1", "disk", "special", "mirror-2", "nvme1n1p1", 1),
        ("nvme0n1p2", "disk", "logs", None, "nvme0n1p2", 1),
        ("nvme1n1p2", "disk", "cache", None, "nvme1n1p2", 1),
        ("spares/sdz1", "disk", "spares", None, "sdz1", 1),
    ]
    assert found[-1].state == "AVAIL"
    assert found[-1].errors is None
    assert found[1].errors == 0
    (pool,) = rows(Pool, node(MIRROR))
    assert (pool.state, pool.data_errors, pool.errors, pool.scan_errors, pool.size) == ("ONLINE", 0, None, 0, None)
    assert pool.last_scan is not None
    assert pool.last_scan.startswith("scrub repaired 0B in 2 days")


def test_sizes_come_from_zpool_list() -> None:
    (pool,) = rows(Pool, {**node(MIRROR), SIZES: "tank\t1000\t250\t750\t12\nother\t-\t-\t-\t-\n"})
    assert (pool.size, pool.allocated, pool.free, pool.fragmentation, pool.used) == (1000, 250, 750, 0.12, 0.25)
    assert parse_list("other\t-\t-\t-\t-\n") == {"other": dict.fromkeys(("size", "allocated", "free", "fragmentation"))}


def test_a_draid_with_its_distributed_spare_at_work() -> None:
    story = DraidPool(("sda", "sdb", "sdc", "sdd"), failed=2, data=1, parity=1, spares=1)
    found = {v.vdev: v for v in rows(Vdev, node(story.status(0)))}
    top = "draid1:1d:4c:1s-0"
    assert list(found) == [
        top, "sda1", "sdb1", f"{top}/spare-2", "sdc1", f"{top}/spare-2/draid1-0-0", "sdd1", "spares/draid1-0-0"
    ]  # fmt: skip
    assert (found[top].kind, found[f"{top}/spare-2"].kind) == ("draid1", "spare")
    assert found[f"{top}/spare-2/draid1-0-0"].kind == "draid-spare"
    assert found[f"{top}/spare-2/draid1-0-0"].device is None
    assert (found["sdc1"].state, found["sdc1"].read_errors, found["sdc1"].write_errors) == ("FAULTED", 3, 41)
    assert found["sdc1"].note == "too many errors"
    assert found["spares/draid1-0-0"].state == "INUSE"
    (rebuild,) = rows(Rebuild, node(story.status(0)))
    assert (rebuild.array, rebuild.operation, rebuild.kind) == (f"tank/{top}", "rebuild", "zfs")
    assert rebuild.progress == pytest.approx(0.42)
    assert rebuild.step == pytest.approx(301 * TIB / 10_000, rel=0.01)
    assert rebuild.devices == "sda1,sdb1,sdc1,sdd1"


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("draid2:8d:60c:2s-0", Draid(2, 8, 60, 2, 0)),
        ("draid1:4d:8c:0s-12", Draid(1, 4, 8, 0, 12)),
        ("draid3:16d:58c:1s:1w-0", Draid(3, 16, 58, 1, 0)),
        ("draid2-0-1", None),
        ("draid4:8d:60c:2s-0", None),
        ("raidz2-0", None),
    ],
)
def test_names_of_draids(name: str, layout: Draid | None) -> None:
    assert draid(name) == layout


def test_scans_of_every_version() -> None:
    old = scan("resilver in progress since X\n        2.09T scanned out of 13.8T at 3.90G/s, 0h51m to go\n"
               "        3.67G resilvered, 15.11% done")  # fmt: skip
    assert (old.operation, old.state, old.issued, old.total) == (
        "resilver",
        "running",
        nicenum("2.09T"),
        nicenum("13.8T"),
    )
    assert (old.speed, old.remaining, old.repaired) == (nicenum("3.90G"), 51 * 60, nicenum("3.67G"))
    assert old.share == pytest.approx(0.1511)
    eight = scan("resilver in progress since X\n\t93.7G scanned at 21.1M/s, 8.63G issued at 1.95M/s, 93.7G total\n"
                 "\t8.61G resilvered, 9.21% done, no estimated completion time")  # fmt: skip
    assert (eight.scanned, eight.issued, eight.total) == (nicenum("93.7G"), nicenum("8.63G"), nicenum("93.7G"))
    assert (eight.speed, eight.remaining) == (nicenum("1.95M"), None)
    assert eight.share == pytest.approx(0.0921)
    days = scan("scrub in progress since X\n\t5.00T scanned at 1.00G/s, 1.50T issued at 500M/s, 9.00T total\n"
                "\t0B repaired, 16.66% done, 1 days 03:22:35 to go")  # fmt: skip
    assert (days.operation, days.remaining, days.repaired) == ("scrub", 86400 + 3 * 3600 + 22 * 60 + 35, 0)
    new = scan("resilver in progress since X\n\t1.38P / 1.38P scanned, 144T / 177T issued at 1.29G/s\n"
               "\t43.4T resilvered, 81.21% done, 07:21:15 to go")  # fmt: skip
    assert (new.scanned, new.issued, new.total) == (nicenum("1.38P"), nicenum("144T"), nicenum("177T"))
    assert new.speed == nicenum("1.29G")
    assert new.share == pytest.approx(0.8121)


def test_a_sequential_rebuild_measures_itself_by_what_it_looked_at() -> None:
    for text in (
        "334T scanned at 2.13G/s, 306T issued 1.95G/s, 359T total",
        "334T / 359T scanned at 2.13G/s, 306T / 340T issued at 1.95G/s",
    ):
        found = scan(f"resilver (draid3:19d:24c:2s-0) in progress since X\n\t{text}\n"
                     "\t13.9T resilvered, 92.97% done, 03:22:35 to go")  # fmt: skip
        assert (found.operation, found.vdev) == ("rebuild", "draid3:19d:24c:2s-0")
        assert (found.scanned, found.issued, found.total) == (nicenum("334T"), nicenum("306T"), nicenum("359T"))
        assert (found.speed, found.remaining) == (nicenum("2.13G"), 12155)


@pytest.mark.parametrize(
    ("text", "operation", "state", "errors"),
    [
        ("scrub repaired 0B in 2 days 10:05:20 with 0 errors on Tue Jul 11", "scrub", "finished", 0),
        ("resilvered 1.27T in 08:45:06 with 3 errors on Sat Nov 21", "resilver", "finished", 3),
        ("resilvered (draid1:4d:8c:1s-0) 21.4M in 00:00:22 with 0 errors on Sat", "rebuild", "finished", 0),
        ("scrub canceled on Sat Nov 21", "scrub", "canceled", None),
        ("resilver (mirror-0) canceled on Sat Nov 21", "rebuild", "canceled", None),
        ("scrub paused since Sat\n\tscrub started on Fri\n\t5G scanned, 4G issued, 9G total\n\t0B repaired, 44% done",
         "scrub", "paused", None),
    ],
)  # fmt: skip
def test_scans_that_do_not_run(text: str, operation: str, state: str, errors: int | None) -> None:
    found = scan(text)
    assert (found.operation, found.state, found.errors) == (operation, state, errors)
    read = rows(Rebuild, node(status(tree((1, "sda1", "ONLINE")), scan=text)))
    assert [(r.state, r.done) for r in read] == ([("paused", round(0.44 * 9 * 2**30))] if state == "paused" else [])


def test_several_scan_lines_and_lines_nobody_knows() -> None:
    more = "\tsomething new\n  scan: walked the dog\nremove: Removal of vdev 1 copied 4G\n\t0 memory used"
    said = f"none requested\n  scan: resilver (mirror-0) in progress since X\n{more}"
    text = status(tree((1, "sda1", "ONLINE")), scan=said)
    (pool,) = parse(text)
    assert [(s.operation, s.total) for s in pool.scans] == [("rebuild", None)]
    (rebuild,) = rows(Rebuild, node(text))
    assert (rebuild.done, rebuild.total, rebuild.progress, rebuild.step) == (None, None, None, 0)


def test_several_pools_and_none() -> None:
    two = (
        status(tree((1, "sda1", "ONLINE")))
        + "\n"
        + status(tree((1, "sdb1", "FAULTED")), pool="b a c k", state="UNAVAIL")
    )
    assert [(p.name, p.state, len(p.vdevs)) for p in parse(two)] == [("tank", "ONLINE", 1), ("b a c k", "UNAVAIL", 1)]
    assert parse("no pools available\n") == []
    with pytest.raises(Malformed):
        parse("internal error: unknown error")


@pytest.mark.parametrize(("pool", "device"), [("DEGRADFD", "ONLINE"), ("ONLINE", "FAULTFD")])
def test_a_state_that_is_not_understood_makes_nothing_good(pool: str, device: str) -> None:
    text = status(tree((1, "sda1", device)), state=pool)
    assert zpool_status.fault(text).startswith("state not understood")
    assert zpool_status.fault(status(tree((1, "sda1", "ONLINE")))) == ""


def test_lost_data() -> None:
    (pool,) = rows(Pool, node(status(tree((1, "sda1", "ONLINE")), errors="4 data errors, use '-v' for a list")))
    assert (pool.data_errors, pool.errors) == (4, "4 data errors, use '-v' for a list")
    listed = "Permanent errors have been detected in the following files:\n\n        /tank/a file\n"
    (pool,) = rows(Pool, node(status(tree((1, "sda1", "ONLINE")), errors=listed)))
    assert pool.data_errors is None
    assert pool.errors is not None
    assert "Permanent errors" in pool.errors


def test_rounded_errors_and_names_of_devices() -> None:
    text = tree(
        (1, "raidz2-0", "DEGRADED"),
        (2, "0a-0", "ONLINE"),
        (2, "11257591183213", "UNAVAIL"),
        (2, "replacing-2", "DEGRADED"),
        (3, "sdc", "ONLINE"),
        notes={"11257591183213": "was /dev/sdq1"},
    )
    text = text.replace("0     0     0     0", "0 1.68K     2     -", 1)
    found = {v.vdev: v for v in rows(Vdev, node(status(text)), {"/dev/disk/by-vdev/0a-0": "../../sdaa"})}
    assert list(found) == ["raidz2-0", "0a-0", "11257591183213", "raidz2-0/replacing-2", "sdc"]
    assert (found["raidz2-0"].write_errors, found["raidz2-0"].checksum_errors) == (1720, 2)
    assert (found["raidz2-0"].kind, found["raidz2-0"].slow_ios) == ("raidz2", None)
    assert (found["0a-0"].device, found["sdc"].device, found["11257591183213"].device) == ("sdaa", "sdc", None)
    assert found["11257591183213"].note == "was /dev/sdq1"


def told(**more: object) -> str:
    leaf = {"name": "sdb1", "vdev_type": "disk", "path": "/dev/sdb1", "state": "FAULTED", "read_errors": 7,
            "write_errors": 0, "checksum_errors": 12, "slow_ios": 1, "aux": "ERR_EXCEEDED"}  # fmt: skip
    mirror = {"name": "mirror-0", "state": "DEGRADED", "read_errors": 0, "write_errors": 0, "checksum_errors": 0,
              "vdevs": {"sda1": {"name": "sda1", "path": "/dev/sda1", "state": "HEALTHY"}, "sdb1": leaf}}  # fmt: skip
    pool = {"name": "tank", "state": "DEGRADED", "status": "One is bad. Sufficient replicas exist.", "error_count": 0,
            "vdevs": {"tank": {"name": "tank", "vdevs": {"mirror-0": mirror}}},
            "logs": {"sdl1": {"name": "sdl1", "path": "/dev/sdl1", "state": "HEALTHY"}},
            "spares": {"draid1-0-0": {"name": "draid1-0-0", "vdev_type": "dspare", "state": "AVAIL"}},
            **more}  # fmt: skip
    return json.dumps({"output_version": {"command": "zpool status"}, "pools": {"tank": pool}})


def in_json(text: str) -> dict[str, str]:
    return {**node(None), "/sys/module/zfs/version": "2.3.0-1\n", command_key(JSON): text}


def test_json_says_the_same() -> None:
    stats = {"function": "RESILVER", "state": "SCANNING", "to_examine": 1000, "examined": 900, "skipped": 100,
             "processed": 40, "issued": 450, "errors": 0, "scrub_pause": 0}  # fmt: skip
    found = rows(Vdev, in_json(told(scan_stats=stats)))
    assert [(v.vdev, v.state, v.group, v.device, v.errors) for v in found] == [
        ("mirror-0", "DEGRADED", "data", None, 0),
        ("sda1", "ONLINE", "data", "sda1", None),
        ("sdb1", "FAULTED", "data", "sdb1", 19),
        ("sdl1", "ONLINE", "logs", "sdl1", None),
        ("spares/draid1-0-0", "AVAIL", "spares", None, None),
    ]
    assert found[2].note == "err exceeded"
    (pool,) = rows(Pool, in_json(told()))
    assert (pool.status, pool.data_errors) == ("One is bad", 0)
    (rebuild,) = rows(Rebuild, in_json(told(scan_stats=stats)))
    assert (rebuild.done, rebuild.total, rebuild.scanned, rebuild.repaired, rebuild.step) == (450, 900, 900, 40, 0)


def test_json_of_a_sequential_rebuild_and_a_pause() -> None:
    draid_ = {"draid1:4d:8c:1s-0": {"state": "ACTIVE", "scanned": 300, "issued": 200, "to_scan": 900, "rebuilt": 9,
              "errors": 0, "pass_scanned": 300, "pass_time": 2_000_000_000}}  # fmt: skip
    stats = {
        "function": "SCRUB",
        "state": "SCANNING",
        "to_examine": "900",
        "issued": "450",
        "scrub_pause": "1700000000",
    }
    found = rows(Rebuild, in_json(told(scan_stats={**stats, "rebuild_stats": draid_})))
    assert [(r.array, r.operation, r.state, r.done, r.speed) for r in found] == [
        ("tank", "scrub", "paused", 450, None),
        ("tank/draid1:4d:8c:1s-0", "rebuild", "running", 300, 150),
    ]


def test_numbers_that_json_rounds_move_in_steps() -> None:
    stats = {"function": "SCRUB", "state": "SCANNING", "to_examine": "900G", "issued": "450G"}
    (rebuild,) = rows(Rebuild, in_json(told(scan_stats=stats)))
    assert rebuild.step == 900 * 2**30 // 10_000


def test_tools_that_are_older_than_the_module_are_asked_for_text() -> None:
    refused = Evidence(command_key(JSON), data=b"", stderr=b"invalid option 'j'", exit=2)
    files = {**node(MIRROR), "/sys/module/zfs/version": "2.3.0-1\n"}
    host = EvidenceHost([refused, *(Evidence(key, data=text.encode()) for key, text in files.items())])
    assert [row.pool for row in ZFS.read(host) if isinstance(row, Pool)] == ["tank"]


def test_what_somebody_else_recorded_is_read() -> None:
    for key in ("cmd:zpool status", "cmd:zpool status -v", "cmd:zpool status -LP tank"):
        assert [pool.where for pool in rows(Pool, {key: MIRROR})] == [key]
    with pytest.raises(Absent):
        rows(Pool, {"cmd:zpool status -x": "all pools are healthy"})


def test_no_pool_and_no_zfs() -> None:
    with pytest.raises(Absent, match="no pool"):
        list(ZFS.read(EvidenceHost([Evidence("list:/proc/spl/kstat/zfs", data=b"arcstats\nzil\nfm")])))
    with pytest.raises(Absent):
        list(ZFS.read(EvidenceHost([Evidence("list:/proc/spl/kstat/zfs", Outcome.ABSENT, detail="no such file")])))


@pytest.mark.parametrize(("said", "error"), [("permission denied", Denied), ("cannot open '/dev/zfs'", Failed)])
def test_a_command_that_fails(said: str, error: type[Exception]) -> None:
    items = [Evidence(key, data=text.encode()) for key, text in node(None).items()]
    with pytest.raises(error):
        list(ZFS.read(EvidenceHost([*items, Evidence(STATUS, stderr=said.encode(), exit=1)])))


def test_a_pool_that_does_not_answer_is_hung_and_not_gone() -> None:
    items = [Evidence(key, data=text.encode()) for key, text in node(None).items()]
    late = Evidence(STATUS, Outcome.TIMEOUT, detail="timed out after 8 s (D, waiting in txg_wait_synced)")
    with pytest.raises(TimedOut, match="txg_wait_synced"):
        list(ZFS.read(EvidenceHost([*items, late])))
    sizes = Evidence(command_key(LIST), Outcome.TIMEOUT, detail="no answer")
    with pytest.raises(TimedOut):
        list(ZFS.read(EvidenceHost([*items, Evidence(STATUS, data=MIRROR.encode()), sizes])))


def test_durations() -> None:
    assert [seconds(t) for t in ("00:00:06", "2 days 10:05:20", "0h51m", "soon", "1:2:3")] == [
        6, 2 * 86400 + 36320, 3060, None, None
    ]  # fmt: skip


STATUS_TEXTS = [MIRROR, DraidPool(("sda", "sdb", "sdc", "sdd"), failed=1, data=1, parity=1, spares=1).status(10)]


@given(st.sampled_from(STATUS_TEXTS), st.integers(0, 1500), st.integers(0, 30), st.text(max_size=12))
def test_no_text_breaks_the_parser(text: str, at: int, length: int, instead: str) -> None:
    with contextlib.suppress(Malformed):
        for pool in parse(text[:at] + instead + text[at + length :]):
            assert all(vdev.name and vdev.state for vdev in pool.vdevs)
            assert all(scan.share is None or 0 <= scan.share <= 1 for scan in pool.scans)


words = st.sampled_from(["pools", "tank", "name", "state", "vdevs", "scan_stats", "rebuild_stats", "issued", "SCANNING",
                         "function", "SCRUB", "logs", "read_errors"])  # fmt: skip
tangled = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@given(
    tangled | st.dictionaries(st.just("pools"), st.dictionaries(words, tangled, max_size=2), max_size=1),
    st.text(max_size=8),
)
def test_no_json_breaks_the_parser(data: object, tail: str) -> None:
    for text in (json.dumps(data), json.dumps({"pools": {"p": data}}), json.dumps(data) + tail):
        with contextlib.suppress(Malformed):
            for pool in zpool_json.parse(text):
                assert all(scan.share is None or 0 <= scan.share <= 1 for scan in pool.scans)


@given(st.text(max_size=24))
def test_numbers_in_words(text: str) -> None:
    found = nicenum(text)
    assert found is None or found >= 0


SUSPENDED = """  pool: tank
 state: ONLINE
status: {status}
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  sda       ONLINE       3   811     0

errors: {errors}
"""


@pytest.mark.parametrize(("status", "errors", "state"), [
    ("One or more devices are faulted in response to IO failures.", "No known data errors", "SUSPENDED"),
    ("The pool is suspended because multihost writes failed;\n\tx", "No known data errors", "SUSPENDED"),
    ("x", "List of errors unavailable: pool I/O is currently suspended", "SUSPENDED"),
    ("One or more devices are faulted in response to persistent errors.", "No known data errors", "ONLINE"),
])  # fmt: skip
def test_a_pool_that_waits_for_its_devices_is_suspended_whatever_its_state(
    status: str, errors: str, state: str
) -> None:
    """Versions before 0.8 print ONLINE as the state of such a pool."""
    (pool,) = zpool_status.parse(SUSPENDED.format(status=status, errors=errors))
    assert pool.state == state
