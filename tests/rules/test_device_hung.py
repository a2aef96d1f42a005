"""device-hung: requests in flight and none completed, named at the device that owes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.system.node import NODE
from sdstop.core.finding import SIGN, Finding, Gap, Severity, Unchecked
from sdstop.rules.disks.device_hung import DEVICE_HUNG, _advice
from tests.nodes.frames import Files, Judged, check, value

BLOCK = {
    "/sys/block/sda/dev": "8:0", "/sys/block/sda/queue/iostats": "1", "/sys/block/sda/queue/rotational": "1",
    "/sys/block/sda/sda1/partition": "1", "/sys/block/sda/sda1/dev": "8:1",
    "/sys/block/sdb/dev": "8:16", "/sys/block/sdb/queue/iostats": "1", "/sys/block/sdb/queue/rotational": "0",
    "/sys/block/md0/dev": "9:0", "/sys/block/md0/md/level": "raid1",
    "link:/sys/block/md0/slaves/sda1": "../../sda/sda1", "link:/sys/block/md0/slaves/sdb": "../../sdb",
    "/sys/block/dm-0/dev": "253:0", "/sys/block/dm-0/dm/name": "vg-lv", "/sys/block/dm-0/dm/uuid": "LVM-x",
    "link:/sys/block/dm-0/slaves/md0": "../../md0",
    "/sys/block/loop0/dev": "7:0", "/sys/block/sr0/dev": "11:0",
}  # fmt: skip
MINORS = {
    "sda": (8, 0),
    "sda1": (8, 1),
    "sdb": (8, 16),
    "md0": (9, 0),
    "dm-0": (253, 0),
    "loop0": (7, 0),
    "sr0": (11, 0),
}
Row = tuple[int, int, int]


def row(name: str, done: int, in_flight: int, busy: int, flushes: int = 0) -> str:
    major, minor = MINORS.get(name, (8, 99))
    return (
        f"{major:4} {minor:7} {name} {done} 0 {done * 8} {busy} 0 0 0 0 {in_flight} {busy} {busy} 0 0 0 0 {flushes} 0\n"
    )


def frames(
    seconds: int, devices: Mapping[str, str], *, block: Files = BLOCK, start: int = 0
) -> list[tuple[float, Files]]:
    """Return a frame a second. A device is `works`, `idle`, `hangs` (3 in flight, nothing done), `quiet hangs`."""
    shown: list[tuple[float, Files]] = []
    for t in range(start, start + seconds + 1):
        rows = []
        for name, does in devices.items():
            done = 10 * t if does == "works" else 500
            busy = 0 if does in {"idle", "quiet hangs"} else 1000 * t
            rows.append(row(name, done, 0 if does == "idle" else 3, busy))
        shown.append((float(t), {**block, "/proc/diskstats": "".join(rows)}))
    return shown


def judged(shown: Sequence[tuple[float, Files]], config: dict[str, float] | None = None) -> Judged:
    return Judged((DISKSTATS, BLOCKDEV), [DEVICE_HUNG], shown, {"device-hung": config} if config else None)


@pytest.mark.parametrize(("seconds", "fires"), [(4, False), (5, False), (9, False), (10, True), (40, True)])
def test_ten_seconds(seconds: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(frames(seconds, {"sdb": "hangs", "sda": "works"}))
    if fires:
        finding = said.finding("sdb")
        assert finding.severity is Severity.CRITICAL
        assert value(finding, "seconds") == seconds
        assert "3 requests in flight, none completed for at least" in finding.summary
    else:
        said.unchecked("")
        seen = [v.gap for v in said.all if isinstance(v, Unchecked) and v.subject == "sdb"]
        assert seen == ([Gap.SIGNS] if seconds >= SIGN else [])
        assert not [v for v in said.all if v.subject == "sdb" and not isinstance(v, Unchecked)]


@pytest.mark.parametrize("span", [9.5, 9.93])
def test_frames_that_came_a_little_early_are_enough_to_find_nothing(span: float) -> None:
    shown = frames(10, {"sdb": "works"})
    judged([*shown[:-1], (span, shown[-1][1])]).ruled_out("sdb")


def test_frames_that_came_a_little_early_are_not_enough_to_clear_what_stood_all_the_time() -> None:
    shown = frames(10, {"sdb": "hangs"})
    said = judged([*shown[:-1], (9.93, shown[-1][1])]).unchecked("")
    assert said.reason == "collecting data: 9.9 of 10 s"


@pytest.mark.parametrize(("seconds", "sign"), [(3, False), (4, True), (8, True)])
def test_a_silence_below_the_threshold_is_a_sign_from_5_s_on(seconds: int, sign: bool) -> None:  # noqa: FBT001
    # The 500 of a hang equals what a working device has at 50: from here on it stands.
    shown = [*frames(10, {"sdb": "works"}, start=40), *frames(seconds, {"sdb": "hangs"}, start=51)]
    if sign:
        said = judged(shown).unchecked("sdb")
        assert (said.gap, said.reason) == (Gap.SIGNS, f"no completion for {seconds + 1}.0s: hung after 10 s")
    else:
        assert "4.0s (sdb)" in judged(shown).ruled_out("sdb").summary


def test_a_rotating_disk_that_was_idle_may_spin_up_and_shows_no_sign() -> None:
    judged([*frames(20, {"sda": "idle"}), *frames(8, {"sda": "hangs"}, start=21)]).ruled_out("sda")


def test_the_time_counts_from_the_last_completion() -> None:
    shown = [*frames(10, {"sdb": "works"}, start=40), *frames(14, {"sdb": "hangs"}, start=51)]
    finding = judged(shown).finding("sdb")
    assert value(finding, "seconds") == 15
    assert "at least" not in finding.summary
    assert value(finding, "ticking") == "yes"


def test_a_kernel_that_does_not_count_it_busy() -> None:
    assert value(judged(frames(20, {"sdb": "quiet hangs"})).finding("sdb"), "ticking") == "no"


@pytest.mark.parametrize("does", ["works", "idle"])
def test_what_works_or_rests_does_not_hang(does: str) -> None:
    assert judged(frames(20, {"sda": does, "sdb": does})).ruled_out("sdb").summary == "all requests complete"
    assert judged(frames(20, {"sda": does})).ruled_out("sda").summary == "all requests complete"


def test_one_long_request_is_none_until_the_threshold() -> None:
    shown = [*frames(20, {"sdb": "idle"}), *frames(8, {"sdb": "hangs"}, start=21)]
    assert judged(shown).unchecked("sdb").gap is Gap.SIGNS


def test_a_flush_that_completes_is_an_answer() -> None:
    shown = [(float(t), {**BLOCK, "/proc/diskstats": row("sdb", 500, 1, 1000 * t, flushes=t // 5)}) for t in range(30)]
    judged(shown).ruled_out("sdb")


def test_the_leaf_is_named_and_what_waits_for_it() -> None:
    finding = judged(frames(20, {"sdb": "hangs", "sda": "works", "md0": "hangs", "dm-0": "hangs"})).finding("sdb")
    assert finding.impact == "Blocked: dm-0, md0."
    assert value(finding, "above") == "dm-0, md0"
    said = judged(frames(20, {"sdb": "hangs", "md0": "hangs"}))
    assert [v.subject for v in said.all if isinstance(v, Finding)] == ["sdb"]
    assert said.unchecked("md0").reason == "waits for sdb, which hangs"


def test_things_that_wait_for_several_devices_are_one_verdict() -> None:
    block = {
        **BLOCK, "/sys/block/sdc/dev": "8:32", "/sys/block/md1/dev": "9:1", "/sys/block/md1/md/level": "raid1",
        "link:/sys/block/md1/slaves/sdc": "../../sdc",
    }  # fmt: skip
    said = judged(frames(20, dict.fromkeys(["sdb", "md0", "dm-0", "sdc", "md1"], "hangs"), block=block))
    (verdict,) = [v for v in said.all if isinstance(v, Unchecked)]
    assert (verdict.reason, set(verdict.subjects)) == ("waits for a device that hangs", {"md0", "dm-0", "md1"})


def test_a_partition_is_its_disk() -> None:
    said = judged(frames(20, {"sda": "hangs", "sda1": "hangs", "md0": "hangs"}))
    assert [v.subject for v in said.all if isinstance(v, Finding)] == ["sda"]
    assert "whose disk is judged" in said.unchecked("sda1").reason
    assert said.finding("sda").impact == "Blocked: md0."


@pytest.mark.parametrize(("disk", "part"), [("sdc", "sdc1"), ("nvme0n1", "nvme0n1p2")])
def test_a_partition_is_its_disk_without_sysfs(disk: str, part: str) -> None:
    said = judged(frames(20, {disk: "hangs", part: "hangs"}, block={}))
    assert [v.subject for v in said.all if isinstance(v, Finding)] == [disk]
    assert said.unchecked(part).calm


def test_a_stacked_device_alone_is_less_certain() -> None:
    finding = judged(frames(20, {"md0": "hangs", "sda": "works", "sda1": "idle", "sdb": "idle"})).finding("md0")
    assert finding.severity is Severity.WARNING
    assert "no device below has the requests" in finding.summary
    assert finding.confidence == 0.5


@pytest.mark.parametrize("name", ["md0", "dm-0"])
def test_a_stacked_device_without_sysfs_is_no_more_certain(name: str) -> None:
    finding = judged(frames(40, {name: "hangs", "sda": "works"}, block={})).finding(name)
    assert finding.severity is Severity.WARNING
    assert finding.impact.endswith("; the underlying devices are unknown.")


@pytest.mark.parametrize("block", [BLOCK, {}])
def test_a_drive_for_media_is_left_alone(block: Files) -> None:
    assert judged(frames(70, {"sr0": "hangs"}, block=block)).unchecked("sr0").calm


@pytest.mark.parametrize("block", [BLOCK, {}])
def test_a_loop_device_waits_for_a_file_that_may_be_flushed(block: Files) -> None:
    short = judged(frames(59, {"loop0": "hangs", "sda": "works"}, block=block)).unchecked("loop0")
    assert (short.calm, short.reason) == (True, "waits for its file, which may be flushed")
    finding = judged(frames(60, {"loop0": "hangs", "sda": "works"}, block=block)).finding("loop0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "STACK HUNG: 3 requests waiting")
    assert finding.impact == "Tasks that use the data wait for the file behind the device."
    assert "losetup -l /dev/loop0" in str(finding.steps)
    judged(frames(4, {"loop0": "hangs", "sda": "works"}, block=block)).unchecked("")


def test_a_loop_device_is_no_cause_if_a_disk_hangs() -> None:
    said = judged(frames(70, {"loop0": "hangs", "sdb": "hangs"}))
    assert [each.subject for each in said.all if isinstance(each, Finding)] == ["sdb"]
    assert said.unchecked("loop0").reason == "waits for sdb, which hangs"


def test_a_single_request_of_a_loop_device_may_be_a_stale_count() -> None:
    shown = [(float(t), {**BLOCK, "/proc/diskstats": row("loop0", 500, 1, 1000 * t)}) for t in range(80)]
    assert judged(shown).unchecked("loop0").calm


@pytest.mark.parametrize(
    ("seconds", "severity"), [(20, Severity.WARNING), (29, Severity.WARNING), (30, Severity.CRITICAL)]
)
def test_a_disk_that_was_idle_may_be_spinning_up(seconds: int, severity: Severity) -> None:
    shown = [*frames(5, {"sda": "idle"}), *frames(seconds, {"sda": "hangs"}, start=6)]
    assert judged(shown).finding("sda").severity is severity


def test_flash_does_not_spin_up() -> None:
    shown = [*frames(5, {"sdb": "idle"}), *frames(20, {"sdb": "hangs"}, start=6)]
    assert judged(shown).finding("sdb").severity is Severity.CRITICAL


def test_a_disk_that_worked_before_does_not_spin_up() -> None:
    shown = [*frames(10, {"sda": "works"}, start=40), *frames(15, {"sda": "hangs"}, start=51)]
    assert judged(shown).finding("sda").severity is Severity.CRITICAL


def test_what_is_not_counted_is_not_called_good() -> None:
    block = {**BLOCK, "/sys/block/sdb/queue/iostats": "0"}
    assert "iostats" in judged(frames(20, {"sda": "works", "sdb": "idle"}, block=block)).unchecked("sdb").reason


def test_readings_that_lie_far_apart_need_three() -> None:
    shown = frames(40, {"sdb": "hangs"})[::20]
    judged(shown).finding("sdb")
    assert judged(shown[:2]).unchecked("sdb").reason == "collecting data: needs 3 samples"


def test_the_threshold_is_of_config() -> None:
    judged(frames(20, {"sdb": "hangs"}), {"seconds": 30.0}).unchecked("")
    judged(frames(6, {"sdb": "hangs"}), {"seconds": 5.0}).finding("sdb")


def test_advice_fits_the_kind() -> None:
    def advice(name: str) -> str:
        return "\n".join(judged(frames(20, {name: "hangs"}, block={})).finding(name).steps)

    assert "nvme list-subsys" in advice("nvme0n1")
    assert "aoe-stat" in advice("etherd/e0.1")
    assert "/sys/block/sdz/device" in advice("sdz")


def one(  # one request of sdb, on this kernel, with so many tasks that wait for I/O
    kernel: str | None, blocked: int | None, devices: Mapping[str, str] | None = None, in_flight: int = 1
) -> Judged:
    shown: list[tuple[float, Files]] = []
    for time, files in frames(20, devices or {"sdb": "hangs", "sda": "idle"}):
        node = {"/proc/uptime": "99.0 1.0\n"}
        node |= {"/proc/sys/kernel/osrelease": f"{kernel}\n"} if kernel is not None else {}
        node |= {"/proc/stat": f"btime 1700000000\nprocs_blocked {blocked}\n"} if blocked is not None else {}
        rows = files["/proc/diskstats"].replace(" 0 0 3 ", f" 0 0 {in_flight} ")
        shown.append((time, {**files, **node, "/proc/diskstats": rows}))
    return Judged((DISKSTATS, BLOCKDEV, NODE), [DEVICE_HUNG], shown)


@pytest.mark.parametrize(
    ("kernel", "certain"),
    [
        ("5.14.0-503.el9.x86_64", True),
        ("6.1.0-53-amd64", True),
        ("6.9.12", True),
        ("6.10.0-rc1", False),
        ("6.10.1", False),
        ("6.12.48+deb13-amd64", False),
        ("7.0.0", False),
        (None, False),
        ("nonsense", False),
    ],
)
def test_one_request_nobody_waits_for_is_no_proof_where_the_kernel_may_keep_a_count(
    kernel: str | None,
    certain: bool,  # noqa: FBT001  # a table
) -> None:
    finding = one(kernel, 0).finding("sdb")
    assert finding.severity is (Severity.CRITICAL if certain else Severity.WARNING)
    assert finding.confidence == (None if certain else 0.5)
    assert ("for an idle device" in finding.summary) is not certain
    assert ("a stale count" in finding.refuted_by) is not certain


@pytest.mark.parametrize(("in_flight", "certain"), [(1, False), (2, True), (3, True)])
def test_several_requests_are_proof(in_flight: int, certain: bool) -> None:  # noqa: FBT001  # a table
    finding = one("6.12.1", 0, in_flight=in_flight).finding("sdb")
    assert finding.severity is (Severity.CRITICAL if certain else Severity.WARNING)


def test_a_task_that_can_wait_for_nothing_else_is_proof() -> None:
    finding = one("6.12.1", 1).finding("sdb")
    assert finding.severity is Severity.CRITICAL
    assert finding.confidence is None
    assert value(finding, "blocked") == 1
    assert any(cite.key == "/proc/stat" and "procs_blocked 1" in cite.excerpt for cite in finding.evidence)


def test_tasks_that_may_wait_for_a_disk_that_answers_prove_nothing() -> None:
    finding = one("6.12.1", 2, {"sdb": "hangs", "sda": "works"}).finding("sdb")
    assert finding.severity is Severity.WARNING
    assert "may wait for other devices" in finding.summary


def test_tasks_that_wait_while_no_disk_answers_are_proof_of_each() -> None:
    said = one("6.12.1", 2, {"sdb": "hangs", "sdz": "hangs"})
    assert said.finding("sdb").severity is said.finding("sdz").severity is Severity.CRITICAL


def test_an_array_that_waits_for_it_is_proof() -> None:
    devices = {"sdb": "hangs", "sda": "works", "md0": "hangs"}
    assert one("6.12.1", 0, devices).finding("sdb").severity is Severity.CRITICAL


def test_who_waits_is_not_known() -> None:
    finding = one("6.12.1", None).finding("sdb")
    assert finding.severity is Severity.WARNING
    assert "Blocked tasks are unknown" in finding.summary
    assert value(finding, "blocked") is None


# --- one direction ----------------------------------------------------------------------------------------


def one_direction(in_flight: int, seconds: int = 12, *, reads: bool = False, every: int = 0, wait: int = 10) -> Judged:
    """Return the verdict on sdb: 100 requests/s of one direction take `wait` ms each, and none of the other completes.

    With `every`, the other direction completes one in so many seconds.
    """
    shown: list[tuple[float, Files]] = []
    for t in range(seconds + 1):
        goes, stands = (100 * t, 0, 800 * t, 100 * t * wait), (50 + (t // every if every else 0), 0, 400, 900)
        ways = (*stands, *goes) if reads else (*goes, *stands)
        line = f"   8 16 sdb {' '.join(map(str, ways))} {in_flight} {1000 * t} {1000 * t} 0 0 0 0 0 0\n"
        shown.append((float(t), {**BLOCK, "/proc/diskstats": line}))
    return judged(shown)


@pytest.mark.parametrize(("in_flight", "wait", "fires"), [(3, 10, False), (4, 10, True), (2, 0, True), (1, 0, False)])
def test_writes_that_stand_while_reads_go_on(in_flight: int, wait: int, fires: bool) -> None:  # noqa: FBT001
    """At 100 reads/s of 10 ms one is in flight on average: up to three can be reads."""
    said = one_direction(in_flight, wait=wait)
    if fires:
        finding = said.finding("sdb")
        assert finding.severity is Severity.CRITICAL
        assert finding.title == f"WRITES HUNG: {in_flight} requests waiting"
        check(finding)
    else:
        assert "sdb" in said.ruled_out("sdb").subjects


def test_reads_that_stand_while_writes_go_on() -> None:
    assert one_direction(8, reads=True).finding("sdb").title == "READS HUNG: 8 requests waiting"


@pytest.mark.parametrize(("seconds", "every"), [(9, 0), (40, 9)])
def test_writes_that_stand_for_less_than_ten_seconds_are_no_finding(seconds: int, every: int) -> None:
    assert not [said for said in one_direction(8, seconds, every=every).all if isinstance(said, Finding)]


@pytest.mark.parametrize(
    ("name", "command"),
    [("sda", "smartctl"), ("nvme0n1", "nvme list-subsys"), ("nbd0", "ss -tnpo"), ("rbd3", "ceph health detail"),
     ("loop0", "losetup -l /dev/loop0"), ("vda", "hypervisor"), ("scinia", "drv_cfg")],
)  # fmt: skip
def test_advice_fits_the_kind_of_device(name: str, command: str) -> None:
    said = " ".join(map(str, _advice(name, "", stacked=False)))
    assert command in said
    assert ("smartctl" in said) is (name == "sda")
