"""Rules about the kernel's log and the error counters of file systems."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.multipath import TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.filesystems.errors import BTRFS_ERRORS, EXT4_ERRORS
from sdstop.collectors.filesystems.readings import RECORDS
from sdstop.collectors.filesystems.scrubs import BTRFS_SCRUBS
from sdstop.collectors.kernel.answer import QUESTION
from sdstop.collectors.kernel.log import KERNEL_LOG
from sdstop.collectors.md.arrays import MDRAID
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark, command_key
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.session import Session
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from sdstop.rules.disks.kernel_io_errors import KERNEL_IO_ERRORS
from sdstop.rules.filesystems.filesystem_errors import FILESYSTEM_ERRORS
from sdstop.rules.filesystems.filesystem_readonly import FILESYSTEM_READONLY
from sdstop.rules.system.kernel_faults import KERNEL_FAULTS
from tests.nodes.frames import START, Judged
from tests.nodes.kernel_log import abort, disk, log, lost, medium
from tests.stories.texts import faults

COLLECTORS = (BLOCKDEV, MOUNTED, EXT4_ERRORS, BTRFS_ERRORS, KERNEL_LOG)
RULES = [KERNEL_IO_ERRORS, FILESYSTEM_READONLY, FILESYSTEM_ERRORS, KERNEL_FAULTS, DISK_OFFLINE]
HOUR = 3600.0
GONE = "sd 0:0:0:16: Device offlined - not ready after error recovery"


def judged(*parts: dict[str, str], rules: list[Any] | None = None) -> Judged:
    files: dict[str, str] = {}
    for part in parts:
        files |= part
    said = Judged(COLLECTORS, RULES if rules is None else rules, [(0.0, files)])
    for verdict in said.all:
        if isinstance(verdict, Finding):
            assert list(faults(verdict)) == []
    return said


def on_disks(*lines: tuple[float, str], **head: Any) -> Judged:
    return judged(disk("sda", 0), disk("sdb", 16), log(*lines, **head), rules=[KERNEL_IO_ERRORS])


def errors(said: Judged, subject: str = "sdb") -> Finding:
    return said.finding(subject, "kernel-io-errors")


def test_a_silent_log_is_good_for_every_disk() -> None:
    assert on_disks().ruled_out("sda").subjects == ("sda", "sdb")
    assert on_disks().ruled_out("sda").summary == "0 errors and delays logged in 2h46 since boot"


def test_a_log_that_was_overwritten_is_good_only_as_far_as_it_goes() -> None:
    said = on_disks(whole=False, since=9_000.0)
    assert said.ruled_out("sda").summary == "0 errors and delays logged in the last 16m40"


@pytest.mark.parametrize(("head", "gap"), [
    ({"lost": 3}, Gap.OPEN), ({"suppressed": 3}, Gap.OPEN), ({"dropped": 3}, Gap.OPEN), ({"behind": True}, Gap.EARLY),
])  # fmt: skip
def test_a_log_with_gaps_is_not_good(head: dict[str, Any], gap: Gap) -> None:
    verdict = on_disks((5.0, medium("sda")), **head).of("sdb")
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is gap
    assert errors(on_disks((5.0, medium("sda")), **head), "sda").severity is Severity.WARNING


def test_a_denied_log_is_not_good() -> None:
    session = Session(Origin("n"), COLLECTORS, RULES)
    items = [Evidence(key, data=text.encode()) for key, text in disk("sda", 0).items()]
    denied = Evidence(f"answer:{QUESTION}", Outcome.DENIED, detail="requires root; run with sudo")
    session.feed_all([Frame(1, START, 0.0, (*items, denied))])
    judgement = session.head().judgement
    (verdict,) = (each for each in judgement.unchecked if each.rule == "kernel-io-errors")
    assert verdict.gap is Gap.DENIED
    assert not [each for each in judgement.ruled_out if each.rule in {"kernel-io-errors", "kernel-faults"}]


@pytest.mark.parametrize(("lines", "severity"), [
    ([(5.0, medium("sdb"))], Severity.WARNING),
    ([(599.0, medium("sdb"))], Severity.WARNING),
    ([(601.0, medium("sdb"))], Severity.INFO),
    ([(float(n), medium("sdb")) for n in range(12)], Severity.CRITICAL),
    ([(100.0 + n, medium("sdb")) for n in range(12)], Severity.WARNING),
    ([(5.0, lost("sdb1"))], Severity.CRITICAL),
    ([(3 * HOUR / 4, lost("sdb1"))], Severity.WARNING),
    ([(5.0, abort("0:0:0:16"))], Severity.INFO),
    ([(5.0, abort("0:0:0:16")), (9.0, abort("0:0:0:16"))], Severity.WARNING),
    ([(5.0, GONE)], Severity.CRITICAL),
    ([(HOUR, GONE)], Severity.INFO),
    ([(5.0, "sd 0:0:0:16: [sdb] tag#1 FAILED Result: hostbyte=DID_TIME_OUT")], Severity.WARNING),
])  # fmt: skip
def test_severity_follows_from_effect_and_age(lines: list[tuple[float, str]], severity: Severity) -> None:
    finding = errors(on_disks(*lines))
    assert finding.severity is severity
    assert finding.standing is (severity is Severity.INFO)
    assert on_disks(*lines).ruled_out("sda").subjects == ("sda",)


@pytest.mark.parametrize(("text", "subject", "severity"), [
    (
        "qla2xxx [0000:05:00.0]-600f:1: Device temperature 95 degrees C exceeds operating range.",
        "0000:05:00.0", "warning",
    ),
    ("qla2xxx [0000:05:00.0]-00b8:1: Disabling the board.", "0000:05:00.0", "critical"),
    ("qla2xxx [0000:05:00.0]-d046:1: Exchange starvation. Resetting RISC", "0000:05:00.0", "info"),
    ("lpfc 0000:81:00.0: 0:3190 Over Temperature:99 Celsius- Port Name c", "0000:81:00.0", "warning"),
    ("mpt3sas_cm0: coredump_state(0x5854)!", "mpt3sas_cm0", "critical"),
    ("hpsa 0000:03:00.0: f: [0:1:0:2] A phys disk component of LV is missing", "0:1:0:2", "warning"),
    ("smartpqi 0000:5c:00.0: scsi 1:0:3:0 removing device with 12 outstanding command(s)", "1:0:3:0", "critical"),
    ("sdb: guard tag error at sector 1234 (rcvd 1234, want 4321)", "sdb", "warning"),
    ("VFS: Dirty inode writeback failed for block device sdb1 (err=-5).", "sdb", "critical"),
    ("bcache: cached_dev_status_update() I/O disabled on cached dev sdb", "sdb", "critical"),
    ("md/raid:md5: journal disk is missing, force array readonly", "md5", "critical"),
    ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", "nvme0", "warning"),
    ("nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10", "nvme0", "info"),
    (" session1: session recovery timed out after 120 secs", "session1", "warning"),
    (" connection1:0: detected conn error (1020)", "connection1:0", "info"),
    (" rport-1:0-3: blocked FC remote port time out: removing target and saving binding", "rport-1:0-3", "warning"),
    ("nvme nvme2: Removing controller (18)...", "nvme2", "warning"),
    ("sd 2:0:0:0: [sdc] tag#12 Medium access timeout failure. Offlining disk!", "sdc", "critical"),
    ("nvme nvme2: NVME-FC{0}: Max reconnect attempts (60) reached.", "nvme2", "critical"),
])  # fmt: skip
def test_the_words_of_drivers_have_their_weight(text: str, subject: str, severity: str) -> None:
    assert errors(on_disks((5.0, text)), subject).severity == severity


FAILED_MEMBER = "md/raid:md0: Disk failure on sdb, disabling device."
MDSTAT = """Personalities : [raid6]
md0 : active raid6 sdb[2](F) sda[0] sdc[1] sdd[3]
      2048 blocks super 1.2 level 6, 512k chunk, algorithm 2 [4/3] [UU_U]

unused devices: <none>
"""


@pytest.mark.parametrize(("lines", "mdstat", "severity"), [
    ([(5.0, FAILED_MEMBER)], MDSTAT, Severity.WARNING),
    ([(5.0, FAILED_MEMBER)], "", Severity.CRITICAL),
    ([(5.0, FAILED_MEMBER), (4.0, lost("sdb"))], MDSTAT, Severity.CRITICAL),
])  # fmt: skip
def test_a_member_that_an_array_gave_up_is_as_bad_as_the_array_says(
    lines: list[tuple[float, str]], mdstat: str, severity: Severity
) -> None:
    files = disk("sda", 0) | disk("sdb", 16) | log(*lines) | ({"/proc/mdstat": mdstat} if mdstat else {})
    said = Judged((*COLLECTORS, MDRAID), [KERNEL_IO_ERRORS], [(0.0, files)])
    assert errors(said).severity is severity


@pytest.mark.parametrize(("lines", "severity"), [
    ([(5.0, "md: super_written gets error=-5")], Severity.WARNING),
    ([(5.0, "md: super_written gets error=-5"), (5.0, FAILED_MEMBER)], Severity.INFO),
    ([(5.0, "md: super_written gets error=-5"), (300.0, FAILED_MEMBER)], Severity.WARNING),
])  # fmt: skip
def test_a_superblock_of_a_member_that_was_given_up_is_told_once(
    lines: list[tuple[float, str]], severity: Severity
) -> None:
    said = judged(log(*lines), rules=[KERNEL_FAULTS])
    assert said.finding("superblock-error", "kernel-faults").severity is severity


def test_a_disk_that_was_disabled_and_is_gone_stays_a_warning() -> None:
    said = judged(
        disk("sda", 0), log((HOUR, "ata7.00: disable device"), (HOUR, medium("sdb"))), rules=[KERNEL_IO_ERRORS]
    )
    assert errors(said, "ata7.00").severity is Severity.WARNING
    assert errors(said, "sdb").severity is Severity.INFO


def test_the_finding_counts_quotes_and_names_the_last_message() -> None:
    lines = [(float(n), abort("0:0:0:16")) for n in range(14)] + [(30.0, "sd 0:0:0:16: attempting device reset")] * 2
    finding = errors(on_disks(*lines))
    assert finding.cause == "The kernel logged 14 aborts and 2 resets in the last minute."
    assert finding.title == "KERNEL LOG: 14 ABORTS"
    assert finding.evidence[0].excerpt.strip(' ",]').endswith(abort("0:0:0:16"))
    assert {(value.name, value.value) for value in finding.values} >= {("abort", 14), ("reset", 2), ("minute", 16)}


@pytest.mark.parametrize("text", [
    "ata1: hard resetting link", "sd 0:0:0:16: Power-on or device reset occurred",
    "usb 2-1: USB disconnect, device number 2",
    "mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)",
    "md: recovery of RAID array md0", "nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
])  # fmt: skip
def test_an_event_of_normal_operation_is_not_a_finding(text: str) -> None:
    said = on_disks((5.0, text))
    assert not [each for each in said.all if isinstance(each, Finding)]
    assert {"sda", "sdb"} <= set(said.ruled_out("sda").subjects)


def test_a_storm_of_normal_events_is_a_finding() -> None:
    said = on_disks(*((float(n), "ata7: hard resetting link") for n in range(40)))
    assert errors(said, "ata7").severity is Severity.WARNING


@pytest.mark.parametrize(("fault", "over", "subject"), [
    ("nfs: server nas1 not responding, still trying", "nfs: server nas1 OK", "nas1"),
    ("nvme nvme1: starting error recovery", "nvme nvme1: Successfully reconnected", "nvme1"),
    ("device-mapper: thin: 253:2: switching pool to out-of-data-space (queue IO) mode",
     "device-mapper: thin: 253:2: switching pool to write mode", "253:2"),
])  # fmt: skip
def test_a_fault_that_is_over_is_history(fault: str, over: str, subject: str) -> None:
    before = on_disks((9.0, fault), (8.0, fault))
    after = on_disks((9.0, fault), (8.0, fault), (5.0, over))
    again = on_disks((9.0, fault), (5.0, over), (2.0, fault), (1.0, fault))
    assert errors(before, subject).severity.rank >= Severity.WARNING.rank
    assert errors(after, subject).severity is Severity.INFO
    assert errors(again, subject).severity.rank >= Severity.WARNING.rank


def test_the_log_joins_the_findings_of_other_rules() -> None:
    files = disk("sdb", 16) | {"/sys/block/sdb/device/state": "offline\n"}
    said = judged(files, log(*((float(n), abort("0:0:0:16")) for n in range(14))))
    finding = said.finding("sdb", "disk-offline")
    assert ("disk_log", "14 aborts in the last minute") in {(value.name, value.value) for value in finding.values}
    assert any("attempting task abort" in cite.excerpt for cite in finding.evidence)
    quiet = judged(files, log()).finding("sdb", "disk-offline")
    assert "disk_log" not in {value.name for value in quiet.values}


def test_hostile_names_are_shown_safely() -> None:
    said = on_disks((5.0, "WARNING: Pool 'a b' has encountered an uncorrectable I/O failure and has been suspended"))
    assert errors(said, "a b").severity is Severity.CRITICAL


# File systems.

EXT4 = {"/sys/fs/ext4/sdb1/errors_count": "0\n", "/sys/fs/ext4/sdb1/warning_count": "0\n"}


def ext4(errors: int, ago: float) -> dict[str, str]:
    return {
        "/sys/fs/ext4/sdb1/errors_count": f"{errors}\n", "/sys/fs/ext4/sdb1/warning_count": "0\n",
        "/sys/fs/ext4/sdb1/first_error_time": f"{START - ago - 9:.0f}\n",
        "/sys/fs/ext4/sdb1/last_error_time": f"{START - ago:.0f}\n",
        "/sys/fs/ext4/sdb1/last_error_func": "ext4_lookup\n",
    }  # fmt: skip


def mounts(kind: str = "ext4", access: str = " rw") -> dict[str, str]:
    return {"/proc/self/mounts": f"/dev/sdb1 /srv {kind}{access}\n/dev/sda1 / ext4 rw\n"}


REMOUNT = "EXT4-fs (sdb1): Remounting filesystem read-only"
SHUTDOWN = "XFS (sdb1): Filesystem has been shut down due to log error"


def readonly(*parts: dict[str, str]) -> Judged:
    return judged(*parts, rules=[FILESYSTEM_READONLY])


def test_a_file_system_that_is_written_is_good() -> None:
    assert readonly(mounts(), EXT4, log()).ruled_out("sdb1").subjects == ("sdb1", "/srv", "sda1", "/")


def test_a_remount_after_an_error_is_critical() -> None:
    finding = readonly(mounts(access=" ro"), EXT4, log((5.0, REMOUNT))).finding("sdb1")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "The kernel made /srv read-only after an error 5.0s ago."
    assert [cite.key for cite in finding.evidence] == [f"answer:{QUESTION}", "/proc/self/mounts"]


JOURNAL = {
    "list:/sys/fs/ext4": "sdb1", "/sys/fs/ext4/sdb1/journal_task": "202\n", "/proc/202/comm": "jbd2/sdc1\n",
    "/sys/block/sdc/dev": "8:32\n", "/sys/block/sdc/sdc1/dev": "8:33\n",
}  # fmt: skip


@pytest.mark.parametrize("device", ["sdc1", "sdb1-8"])
def test_a_journal_on_a_device_of_its_own_is_that_of_its_file_system(device: str) -> None:
    said = readonly(mounts(access=" ro"), EXT4, JOURNAL, log((5.0, f"Aborting journal on device {device}.")))
    assert [v.subject for v in said.all if isinstance(v, Finding)] == ["sdb1"]
    assert said.finding("sdb1").cause == "The kernel made /srv read-only after an error 5.0s ago."


def test_a_file_system_mounted_again_is_good() -> None:
    assert isinstance(
        readonly(mounts(), EXT4, log((5.0, REMOUNT), (2.0, "EXT4-fs (sdb1): re-mounted"))).of("sdb1"), RuledOut
    )
    again = log((5.0, SHUTDOWN), (2.0, "XFS (sdb1): Unmounting Filesystem"), (1.0, "XFS (sdb1): Mounting V5"))
    assert isinstance(readonly(mounts("xfs"), again).of("sdb1"), RuledOut)


def test_a_mount_table_read_before_the_message_does_not_refute_it() -> None:
    """Of one frame both have one time, and the message is older: the table shows that the file system is written."""
    assert isinstance(readonly(mounts(), EXT4, log((5.0, REMOUNT))).of("sdb1"), RuledOut)
    old = {**mounts(), **EXT4, **disk("sda", 0)}
    items = [Evidence(key, data=text.encode()) for key, text in (old | log()).items()]
    session = Session(Origin("n"), COLLECTORS, [FILESYSTEM_READONLY])
    newer = [Evidence(key, data=text.encode()) for key, text in log((1.0, REMOUNT), up=10_030.0).items()]
    runs = {each.name: RunMark(0.0, 0.1) for each in COLLECTORS}
    session.feed_all([Frame(1, START, 0.0, tuple(items), runs),
                      Frame(2, START + 30, 30.0, tuple(newer), {"kernel-log": RunMark(30.0, 0.1)})])  # fmt: skip
    (finding,) = session.head().judgement.findings
    assert (finding.subject, finding.severity) == ("sdb1", Severity.CRITICAL)


def test_xfs_is_shut_down_although_it_is_mounted_read_write() -> None:
    finding = readonly(mounts("xfs"), log((HOUR, SHUTDOWN))).finding("sdb1")
    assert finding.title == "FILE SYSTEM SHUT DOWN after an error"


@pytest.mark.parametrize("word", ["emergency_ro", "shutdown"])
def test_options_of_new_kernels_need_no_log(word: str) -> None:
    assert readonly(mounts(access=f" rw,{word}")).finding("sdb1").severity is Severity.CRITICAL


def test_a_file_system_mounted_read_only_on_purpose_is_good_if_the_log_shows_no_error() -> None:
    assert readonly(mounts(access=" ro"), EXT4, log()).ruled_out("sdb1").summary.startswith("read-only, 0")


def test_ext4_counted_the_error_that_made_it_read_only() -> None:
    assert isinstance(
        readonly(mounts(access=" ro"), ext4(3, 60.0), log(whole=False, since=9_990.0)).of("sdb1"), Finding
    )
    assert isinstance(readonly(mounts(access=" ro"), ext4(3, 60.0)).of("sdb1"), Finding)
    assert isinstance(readonly(mounts(access=" ro"), ext4(3, 99_999.0), log()).of("sdb1"), RuledOut)


@pytest.mark.parametrize(("kind", "access"), [("xfs", " rw"), ("ext4", " ro")])
def test_without_a_log_the_cause_is_unknown(kind: str, access: str) -> None:
    verdict = readonly(mounts(kind, access), EXT4 if kind == "ext4" else {}).of("sdb1")
    assert isinstance(verdict, Unchecked)


def test_without_options_nothing_is_said() -> None:
    verdict = readonly(mounts(access=""), EXT4, log()).of("sdb1")
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is Gap.UNRECORDED


def test_the_image_of_a_package_is_never_written() -> None:
    assert readonly(mounts("squashfs", " ro")).ruled_out("sdb1").summary == "all squashfs are read-only"


def fs_errors(*parts: dict[str, str]) -> Judged:
    return judged(*parts, rules=[FILESYSTEM_ERRORS])


def test_ext4_without_errors_is_good() -> None:
    assert fs_errors(EXT4, mounts()).ruled_out("sdb1").summary == "0 errors since the last check"


def test_old_errors_of_ext4_need_a_check() -> None:
    finding = fs_errors(ext4(3, 3 * HOUR), mounts(), log()).finding("sdb1")
    assert (finding.severity, finding.standing, finding.damage) == (Severity.WARNING, True, Damage.DATA)
    assert finding.cause == "ext4 counted 3 errors since its last check, the last 3h00 ago."


def test_new_errors_of_ext4_are_critical() -> None:
    assert fs_errors(ext4(3, 30.0), mounts(), log()).finding("sdb1").severity is Severity.CRITICAL


BTRFS_UUID = "0f3a1b2c-1111-2222-3333-444455556666"


def btrfs(**counts: int) -> dict[str, str]:
    names = ("write_errs", "read_errs", "flush_errs", "corruption_errs", "generation_errs")
    base = f"/sys/fs/btrfs/{BTRFS_UUID}"
    return {
        f"{base}/devinfo/1/error_stats": "".join(f"{name} {counts.get(name, 0)}\n" for name in names),
        f"{base}/devinfo/1/missing": f"{counts.get('missing', 0)}\n", f"link:{base}/devices/sdb1": "../../../sdb/sdb1",
    }  # fmt: skip


def scrubbed(corrected: int, lost: int | None, *, finished: int = 1) -> dict[str, str]:
    counts = f"corrected_errors:{corrected}|" + ("" if lost is None else f"uncorrectable_errors:{lost}|")
    record = f"{BTRFS_UUID}:1|data_extents_scrubbed:9|{counts}t_start:1|t_resumed:0|duration:5|canceled:0|"
    return {f"{RECORDS}/scrub.status.{BTRFS_UUID}": f"scrub status:1\n{record}finished:{finished}\n"}


def with_scrubs(*parts: dict[str, str]) -> Judged:
    files: dict[str, str] = {}
    for part in parts:
        files |= part
    return Judged((*COLLECTORS, BTRFS_SCRUBS), [FILESYSTEM_ERRORS], [(0.0, files)])


@pytest.mark.parametrize(
    ("counts", "scrub", "severity"),
    [
        ({"read_errs": 1}, {}, Severity.WARNING),  # nobody knows whether a copy repaired it
        ({"corruption_errs": 1}, scrubbed(0, None), Severity.WARNING),
        ({"corruption_errs": 1}, scrubbed(0, 0, finished=0), Severity.WARNING),
        ({"corruption_errs": 1}, scrubbed(1, 0), Severity.INFO),
        ({"write_errs": 9}, scrubbed(9, 0), Severity.INFO),
        ({"write_errs": 5, "read_errs": 5}, scrubbed(9, 0), Severity.WARNING),
    ],
)
def test_old_errors_of_btrfs_by_number_and_last_scrub(
    counts: dict[str, int], scrub: dict[str, str], severity: Severity
) -> None:
    assert with_scrubs(btrfs(**counts), scrub, log()).finding("sdb1").severity is severity


def test_errors_of_btrfs_are_critical_once_they_grow() -> None:
    assert isinstance(fs_errors(btrfs(), log()).of("sdb1"), RuledOut)
    files = [(0.0, btrfs(read_errs=4) | log()), (30.0, btrfs(read_errs=9) | log())]
    grown = Judged(COLLECTORS, [FILESYSTEM_ERRORS], files)
    assert grown.finding("sdb1").severity is Severity.CRITICAL
    assert fs_errors(btrfs(missing=1), log()).finding("sdb1").title == "BTRFS DEVICE MISSING"


def test_errors_of_xfs_are_only_in_the_log() -> None:
    said = 'XFS (sdb1): metadata I/O error in "xfs_buf_ioerror_alert'
    assert fs_errors(mounts("xfs"), log((5.0, said))).finding("sdb1").severity is Severity.CRITICAL
    assert fs_errors(mounts("xfs"), log((HOUR, said))).finding("sdb1").severity is Severity.INFO
    assert fs_errors(mounts("xfs"), log()).ruled_out("sdb1").summary == "0 errors logged in 2h46 since boot"


# The node.


@pytest.mark.parametrize(("text", "severity"), [
    ("INFO: task dd:123 blocked for more than 120 seconds", Severity.WARNING),
    ("Out of memory: Killed process 1234 (mysqld)", Severity.WARNING),
    ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s", Severity.CRITICAL),
    ("{1}[Hardware Error]: event severity: fatal", Severity.CRITICAL),
    ("drbd r0: PingAck did not arrive in time", Severity.WARNING),
    ("bond0: now running without any active interface!", Severity.WARNING),
    ("swapper/3: page allocation failure: order:0, mode:0x20", Severity.WARNING),
    ("md: super_written gets error=-5", Severity.WARNING),
    ("Memory failure: 0x12: recovery action for dirty LRU page: Recovered", Severity.CRITICAL),
    ("ABORT_TASK: Found referenced iSCSI task_tag: 12", Severity.WARNING),
    ("Write-error on swap-device (253:1:1234)", Severity.WARNING),
    ("general protection fault: 0000 [#1] SMP", Severity.CRITICAL),
    ("Oops: 0000 [#1] PREEMPT SMP NOPTI", Severity.CRITICAL),
    ("refcount_t: underflow; use-after-free.", Severity.CRITICAL),
    ("gfs2: fsid=c1:fs0.1: withdrawn", Severity.CRITICAL),
    ("sdb: Worker [9123] processing SEQNUM=5123 is taking a long time", Severity.WARNING),
])  # fmt: skip
def test_faults_of_the_node(text: str, severity: Severity) -> None:
    def found(age: float) -> Finding:
        said = judged(log((age, text)), rules=[KERNEL_FAULTS])
        (finding,) = (each for each in said.all if isinstance(each, Finding))
        return finding

    assert found(5.0).severity is severity
    assert found(2 * HOUR).severity is Severity.INFO


@pytest.mark.parametrize("text", ["Memory cgroup out of memory: Killed process 1234 (java)", "EDAC MC0: 1 CE"])
def test_a_limit_of_a_cgroup_and_a_corrected_error_are_normal(text: str) -> None:
    assert isinstance(judged(log((5.0, text)), rules=[KERNEL_FAULTS]).of("kernel"), RuledOut)


@pytest.mark.parametrize(("count", "age", "severity"), [
    (1, 5.0, Severity.INFO), (1, 599.0, Severity.INFO), (1, 601.0, None), (20, 2.0, Severity.WARNING),
    (19, 2.0, Severity.INFO),
])  # fmt: skip
def test_a_lost_network_link_is_mentioned(count: int, age: float, severity: Severity | None) -> None:
    """Drivers log it at boot, too; a link that is still down is judged by link-degraded."""
    said = judged(log(*[(age, "ixgbe 0000:05:00.0 eth0: NIC Link is Down")] * count), rules=[KERNEL_FAULTS])
    found = [each.severity for each in said.all if isinstance(each, Finding)]
    assert found == ([severity] if severity is not None else [])


@pytest.mark.parametrize(("count", "age", "severity"), [
    (1, 5.0, Severity.INFO), (1, 599.0, Severity.INFO), (1, 601.0, None), (20, 2.0, Severity.WARNING),
    (19, 2.0, Severity.INFO),
])  # fmt: skip
@pytest.mark.parametrize(
    "text", ["nvme nvme4: Identify namespace failed (-5)", "WARNING: CPU: 3 PID: 9 at fs/iomap/a.c:8"]
)
def test_a_fault_that_no_pattern_knows_is_mentioned(
    text: str, count: int, age: float, severity: Severity | None
) -> None:
    said = judged(log(*[(age, text)] * count), rules=[KERNEL_FAULTS])
    found = [each.severity for each in said.all if isinstance(each, Finding)]
    assert found == ([severity] if severity is not None else [])


@pytest.mark.parametrize(("text", "severity"), [
    ("sd 0:0:0:16: [sdb] Read Capacity(16) failed: Result: hostbyte=DID_OK", Severity.INFO),
    ("sdb1: rw=2048, sector=77, nr_sectors = 8 limit=16", Severity.WARNING),
    ("ata1.00: exception Emask 0x10 SAct 0x40 SErr 0x4050002 action 0xe frozen", Severity.INFO),
    ("md/raid:md3: journal device is missing, mount the array read-only", Severity.CRITICAL),
    ("megaraid_sas 0000:3b:00.0: 7 (boot + 12s/0x0020/CRIT) - Battery needs replacement", Severity.WARNING),
    ("megaraid_sas 0000:3b:00.0: 8 (642437832s/0x0001/FATAL) - VD 00/0 is now OFFLINE", Severity.CRITICAL),
    ("Device: /dev/sdb [SAT], FAILED SMART self-check. BACK UP DATA NOW!", Severity.CRITICAL),
    ("Device: /dev/sdb [SAT], 8 Currently unreadable (pending) sectors", Severity.WARNING),
    ("Device: /dev/sdb [SAT], ATA error count increased from 3 to 5", Severity.INFO),
    ("DegradedArray event detected on md device /dev/md0", Severity.WARNING),
    ("block nvme0n1: no usable path - requeuing I/O", Severity.INFO),
    ("block nvme0n1: no available path - failing I/O", Severity.WARNING),
])  # fmt: skip
def test_faults_of_devices(text: str, severity: Severity) -> None:
    (finding,) = (each for each in on_disks((5.0, text)).all if isinstance(each, Finding))
    assert finding.severity is severity


def test_a_disk_that_is_one_path_of_several_is_at_most_a_warning() -> None:
    mapped = {
        "list:/sys/block": "dm-0\nsda\nsdb", "list:/sys/block/dm-0/slaves": "sda\nsdb",
        "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/uuid": "mpath-3600", "/sys/block/dm-0/dm/name": "mpatha",
        command_key(STATUS): "mpatha: 0 16 multipath 2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:16 F 1 0 1\n",
        command_key(TABLE): "mpatha: 0 16 multipath 1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n",
    }  # fmt: skip
    files = disk("sda", 0) | disk("sdb", 16) | log((5.0, GONE))
    said = Judged((BLOCKDEV, DM_STATUS, KERNEL_LOG), [KERNEL_IO_ERRORS], [(0.0, files | mapped)])
    assert (errors(said).severity, errors(said).damage) == (Severity.WARNING, Damage.REDUNDANCY)
    assert errors(Judged((BLOCKDEV, KERNEL_LOG), [KERNEL_IO_ERRORS], [(0.0, files)])).severity is Severity.CRITICAL


def listed(pid: int) -> str:
    return f"task:mysqld          state:D stack:    0 pid: {pid} ppid:     1 flags:0x00000000"


@pytest.mark.parametrize(("lines", "severity"), [
    ([(60.0, listed(12)), (60.0, listed(13))], Severity.INFO),
    ([(60.0, listed(12)), (55.0, listed(12))], Severity.INFO),
    ([(60.0, listed(12)), (30.0, listed(13))], Severity.INFO),
    ([(60.0, listed(12)), (30.0, listed(12))], Severity.WARNING),
    ([(60.0, listed(pid)) for pid in range(100, 140)], Severity.INFO),
    ([(60.0, listed(pid)) for pid in range(100, 300)], Severity.INFO),
    ([(age, listed(pid)) for age in (60.0, 55.0) for pid in range(100, 300)], Severity.INFO),
    ([(age, listed(pid)) for age in (60.0, 30.0) for pid in range(100, 300)], Severity.WARNING),
])  # fmt: skip
def test_tasks_in_state_d_are_stuck_in_two_lists(lines: list[tuple[float, str]], severity: Severity) -> None:
    """`echo w > /proc/sysrq-trigger` shows one moment: many tasks may have waited for a moment."""
    said = judged(log(*lines), rules=[KERNEL_FAULTS])
    found = said.finding("task-waiting", "kernel-faults")
    assert found.severity is severity
    assert ("in two lists" in found.cause) is (severity is Severity.WARNING)


def test_a_task_that_the_kernel_lists_below_its_own_report_is_counted_once() -> None:
    said = judged(
        log((60.0, "INFO: task mysqld:12 blocked for more than 120 seconds."), (60.0, listed(12))),
        rules=[KERNEL_FAULTS],
    )
    assert [each.subject for each in said.all if isinstance(each, Finding)] == ["hung-task"]


@pytest.mark.parametrize("text", [
    "sd 2:2:0:0: [sda] megasas: RESET cmd=28 retries=0", "megasas: cannot recover from previous reset failures",
    "mptscsih: ioc1: attempting task abort! (sc=ffff88061db32a00)", "mpt2sas3: attempting host reset! scmd(ffff8814)",
    "mptbase: ioc0: WARNING - IOC is in FAULT state (1234h)!!!", "sas: Enter sas_scsi_recover_host busy: 1 failed: 1",
    "pm80xx0:: mpi_ssp_completion 1933: sas IO status 0x3b",
    "3w-9xxx: scsi0: AEN: ERROR (0x04:0x0009): Drive timeout detected:port=3.",
    "sd 11:0:0:1: [sdx] Result: hostbyte=DID_TRANSPORT_DISRUPTED driverbyte=DRIVER_OK",
    "raid5: Disk failure on sdb1, disabling device.", "raid5:md0: read error not correctable (sector 12 on sdb1).",
    "nvme 0000:03:00.0: I/O 22 QID 3 timeout, disable controller",
    "scsi target0:0:1: attempting target reset! scmd(0x00000000abcd1234)",
    "aoe: device 1.1 is not up", "JBD: Detected IO errors while flushing file data on sdx1",
])  # fmt: skip
def test_no_log_with_a_fault_of_an_old_driver_is_free_of_faults(text: str) -> None:
    said = judged(disk("sda", 0), log((5.0, text)), rules=[KERNEL_IO_ERRORS, FILESYSTEM_ERRORS, KERNEL_FAULTS])
    found = [each.subject for each in said.all if isinstance(each, Finding)]
    assert found
    assert "unnamed-fault" not in found


def test_a_disk_that_was_pulled_is_no_fault_and_hundred_are() -> None:
    gone = "mpt3sas_cm0: removing handle(0x000c), sas_addr(0x5000c500a1b2c3d4)"
    assert not any(isinstance(each, Finding) for each in on_disks((5.0, gone)).all)
    (finding,) = (each for each in on_disks(*[(5.0, gone)] * 100).all if isinstance(each, Finding))
    assert finding.severity is Severity.WARNING
