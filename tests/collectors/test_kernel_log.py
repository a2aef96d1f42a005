"""The kernel's log: forms of its lines, what is kept of them, times, names of disks, and the live device."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.kernel.answer import QUESTION, LogTrail, kept_lines
from sdstop.collectors.kernel.lines import Clock, lines_of
from sdstop.collectors.kernel.log import KERNEL_LOG
from sdstop.collectors.kernel.names import disk_of
from sdstop.collectors.kernel.readings import DiskLog, KernelComplaint, KernelEvent, KernelLog
from sdstop.collectors.kernel.trail import MOST, SERIES, kept
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, LogPart, LogRecord, Malformed
from sdstop.node.kmsg import KmsgReader
from sdstop.node.live import LiveHost

MEDIUM = "critical medium error, dev sdc, sector 8201 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
ABORT = "sd 6:0:3:0: attempting task abort!scmd(0x0000000012345678), outstanding for 30312 ms & timeout 30000 ms"
DMESG = f"""[    0.000000] Linux version 6.1.0-38-amd64 (someone@build)
[   71.250000] {ABORT}
[   72.500000] {MEDIUM}
[  172.000000] systemd[1]: Started secret.service
"""


def rows(files: dict[str, str], family: type[Any]) -> list[Any]:
    return [row for row in KERNEL_LOG.read(EvidenceHost.of(files)) if isinstance(row, family)]


def complaints(text: str, key: str = "cmd:dmesg", **files: str) -> dict[tuple[str, str], KernelComplaint]:
    found = rows({key: text} | files, KernelComplaint)
    return {(row.device, row.kind): row for row in found}


FORMS = {
    "plain": (DMESG, Clock.BOOT),
    "raw": ("".join(f"<3>{line}\n" for line in DMESG.splitlines()), Clock.BOOT),
    "-x": ("".join(f"kern  :err   : {line}\n" for line in DMESG.splitlines()), Clock.BOOT),
    "colour": ("".join(f"\x1b[32m{line[:15]}\x1b[0m{line[15:]}\n" for line in DMESG.splitlines()), Clock.BOOT),
    "caller": (DMESG.replace("] ", "][    T1] ", 4), Clock.BOOT),
    "-d": (DMESG.replace("] ", " <    1.250000>] "), Clock.BOOT),
    "-T": ((f"[Mon Nov 23 07:00:00 2026] a\n[Mon Nov 23 07:01:11 2026] {ABORT}\n[Mon Nov 23 07:01:12 2026] {MEDIUM}\n"
           "[Mon Nov 23 07:02:52 2026] b\n"), Clock.LOCAL),
    "-H": ((f"[Nov23 07:01] a\n[  +1.250000] {ABORT}\n[  +1.250000] {MEDIUM}\n"
            "[Nov23 07:02] b\n[ +42.500000] c\n"), Clock.LOCAL),
    "iso": ((f"2026-11-23T07:01:11,250000+01:00 {ABORT}\n2026-11-23T07:01:12,500000+01:00 {MEDIUM}\n"
            "2026-11-23T07:02:52,000000+01:00 b\n"), Clock.UNIX),
    "journal": ((f"-- Journal begins --\nNov 23 07:01:11 db1 kernel: {ABORT}\nNov 23 07:01:12 db1 kernel: {MEDIUM}\n"
                "Nov 23 07:02:52 db1 sshd[12]: password hunter2\n"), Clock.LOCAL),
    "kern.log": ((f"Nov 23 07:01:11 db1 kernel: [   71.250000] {ABORT}\nNov  3 07:01:12 db1 kernel: [   72.5] x\n"
                 f"Nov 23 07:01:12 db1 kernel: [   72.500000] {MEDIUM}\n"
                 "Nov 23 07:02:52 db1 CRON[12]: x\n"), Clock.LOCAL),
    "--no-hostname": ((f"Nov 23 07:01:11 kernel: {ABORT}\nNov 23 07:01:12 kernel: {MEDIUM}\n"
                       "Nov 23 07:02:52 sshd[12]: password hunter2\n"), Clock.LOCAL),
    "short-iso": ((f"2026-11-23T07:01:11+0100 db1 kernel: {ABORT}\n2026-11-23T07:01:12+0100 db1 kernel: {MEDIUM}\n"
                  "2026-11-23T07:02:52+0100 db1 cron[1]: x\n"), Clock.UNIX),
    "rsyslog": ((f"2026-11-23T07:01:11.250000+01:00 db1 kernel: [   71.250000] {ABORT}\n"
                f"2026-11-23T07:01:12.500000+01:00 db1 kernel: [   72.500000] {MEDIUM}\n"
                "2026-11-23T07:02:52.000000+01:00 db1 cron[1]: x\n"), Clock.UNIX),
    "monotonic": ((f"[   71.250000] db1 kernel: {ABORT}\n[   72.500000] db1 kernel: {MEDIUM}\n"
                   "[  172.000000] db1 x[1]: y\n"), Clock.BOOT),
    "json": ("".join(json.dumps({"_TRANSPORT": "kernel", "__REALTIME_TIMESTAMP": str(at), "MESSAGE": text,
                                 "_HOSTNAME": "db1"}) + "\n"
                     for at, text in ((1795413671250000, ABORT), (1795413672500000, MEDIUM), (1795413772000000, "b"))),
             Clock.UNIX),
    "export": ("\n".join(f"__REALTIME_TIMESTAMP={at}\n_TRANSPORT=kernel\nMESSAGE={text}\n"
                         for at, text in ((1795413671250000, ABORT), (1795413672500000, MEDIUM),
                                          (1795413772000000, "b"))), Clock.UNIX),
    "-J": (json.dumps({"dmesg": [{"pri": 3, "time": 71.25, "msg": ABORT}, {"pri": 3, "time": 72.5, "msg": MEDIUM},
                                 {"pri": 6, "time": 172.0, "msg": "b"}]}), Clock.BOOT),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_log_is_read_in_each_form(form: str) -> None:
    text, clock = FORMS[form]
    found = complaints(text)
    assert set(found) == {("6:0:3:0", "abort"), ("sdc", "medium-error")}
    medium = found["sdc", "medium-error"]
    assert (medium.count, medium.minute) == (1, 0)
    assert medium.ago == pytest.approx(99.5, abs=1)
    assert {line.clock for line in lines_of(text.encode()) if line.text.startswith("critical")} == {clock}
    if clock is Clock.UNIX:
        assert medium.last == pytest.approx(1795413672.5, abs=1)
    else:
        assert medium.last is None


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept_says_the_same_without_the_rest(form: str) -> None:
    text, _ = FORMS[form]
    once = kept(text.encode())
    assert kept(once) == once
    shown = once.decode()
    assert not {"db1", "secret", "hunter2", "someone", "0x0000000012345678"} & set(shown.replace("(", " ").split())

    def said(of: str) -> list[tuple[Any, ...]]:
        return [(row.device, row.kind, row.count, row.minute, row.line, row.last) for row in complaints(of).values()]

    assert said(shown) == said(text)


def test_lines_without_times_are_read_and_have_no_age() -> None:
    row = complaints(f"{MEDIUM}\n{MEDIUM}\n")["sdc", "medium-error"]
    assert (row.count, row.minute, row.ago, row.last) == (2, None, None, None)


def test_lines_of_programs_in_the_kernels_buffer_are_not_read() -> None:
    assert complaints(f"user  :notice: [   71.250000] {MEDIUM}\nkern  :info  : [   72.000000] x\n") == {}
    assert complaints(f"Nov 23 07:01:11 db1 myapp[1]: {MEDIUM}\n") == {}


def test_a_driver_is_not_the_program_of_a_log_without_names_of_nodes() -> None:
    """`kernel: megasas: text` is not the program megasas on the node `kernel:`."""
    said = complaints(
        "Nov 23 07:01:11 kernel: megasas: cannot recover from previous reset failures\n", "cmd:journalctl -k"
    )
    assert set(said) == {("megasas", "controller-fault")}


def test_zfs_events_of_the_daemon_are_read_from_a_system_log() -> None:
    said = "Nov 23 07:01:11 db1 zed[812]: eid=9 class=statechange pool='tank' vdev=sdc1 vdev_state=FAULTED\n"
    assert ("sdc1", "vdev-failed") in complaints(said)


def test_text_without_a_line_of_a_log_is_not_understood() -> None:
    with pytest.raises(Malformed):
        list(
            KERNEL_LOG.read(EvidenceHost.of({"cmd:dmesg": "dmesg: read kernel buffer failed: Operation not permitted"}))
        )


def test_without_a_log_nothing_was_recorded() -> None:
    with pytest.raises(Absent) as raised:
        list(KERNEL_LOG.read(EvidenceHost.of({"/proc/uptime": "1 1"})))
    assert not raised.value.recorded


def storm(number: int, devices: int = 4, start: float = 20.0) -> str:
    return "".join(
        f"[{start + at / 10:12.6f}] I/O error, dev sd{chr(97 + at % devices)}, sector {at} op 0x0:(READ) flags 0x0\n"
        for at in range(number)
    )


def test_a_storm_is_kept_in_bounds_and_counted_in_full() -> None:
    text = storm(20_000)
    part = kept(text.encode())
    assert len(part) < 16_000
    assert kept(part) == part
    found = complaints(part.decode())
    assert [row.count for row in found.values()] == [5000] * 4
    assert sum(row.minute or 0 for row in found.values()) == pytest.approx(600, abs=8)
    assert [row.count for row in complaints(text).values()] == [5000] * 4
    events = [row for row in rows({"cmd:dmesg": text}, KernelEvent) if row.device == "sda"]
    assert sum(row.count for row in events) == 5000
    assert len({(row.device, row.kind, row.number) for row in events}) == len(events)


def test_many_devices_are_bounded_and_the_others_counted() -> None:
    text = "".join(f"[{20 + n / 1e4:12.6f}] I/O error, dev sd{'abcdefghij'[n % 10]}{chr(97 + n // 10 % 26)}"
                   f"{chr(97 + n // 260)}, sector 1\n" for n in range(2600) for _ in range(3))  # fmt: skip
    part = kept(text.encode())
    assert part.count(b"\n") <= MOST + 2 * SERIES
    log = rows({"cmd:dmesg": text}, KernelLog)[0]
    assert log.dropped == (2600 - SERIES) * 3
    assert rows({"cmd:dmesg": part.decode()}, KernelLog)[0].dropped == log.dropped


def test_messages_that_the_kernel_suppressed_are_counted() -> None:
    text = f"{DMESG}[  173.000000] blk_print_req_error: 31 callbacks suppressed\n"
    assert rows({"cmd:dmesg": text}, KernelLog)[0].suppressed == 31
    assert rows({"cmd:dmesg": kept(text.encode()).decode()}, KernelLog)[0].suppressed == 31


def test_the_log_shows_how_far_it_goes() -> None:
    log = rows({"cmd:dmesg": DMESG, "/proc/uptime": "200.0 1", "/proc/stat": "btime 1795360000\n"}, KernelLog)[0]
    assert (log.whole, log.current, log.seconds, log.since) == (True, True, 200.0, 1795360000.0)
    wrapped = DMESG.split("\n", 1)[1]
    assert rows({"cmd:dmesg": wrapped}, KernelLog)[0].whole is False


def test_times_of_messages_follow_from_the_boot_time_of_the_same_capture() -> None:
    row = complaints(DMESG, **{"/proc/uptime": "200.0 1", "/proc/stat": "btime 1795360000\n"})["sdc", "medium-error"]
    assert (row.ago, row.last) == (127.5, 1795360072.5)


def test_disks_are_named_through_sysfs() -> None:
    files = {
        "/sys/bus/scsi/devices/6:0:3:0/block/sdc/size": "1",
        "link:/sys/dev/block/253:2": "../../devices/virtual/block/dm-2",
        "/sys/class/nvme/nvme1/nvme1c1n1/size": "1",
        "/sys/class/ata_port/ata7/device/host6/target6:0:0/6:0:0:0/block/sdd/size": "1",
    }
    text = DMESG + (
        "[  173.000000] device-mapper: thin: 253:2: switching pool to read-only mode\n"
        "[  174.000000] nvme nvme1: I/O 512 QID 3 timeout, aborting\n"
        "[  175.000000] ata7.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x6 frozen\n"
    )
    assert {name for name, _ in complaints(text, **files)} == {"sdc", "dm-2", "nvme1n1", "sdd"}


def test_a_disk_is_named_by_another_message_of_the_same_log() -> None:
    text = f"{DMESG}[  173.000000] sd 6:0:3:0: [sdc] tag#1 Sense Key : Medium Error [current]\n"
    assert {name for name, _ in complaints(text)} == {"sdc"}


def test_both_disks_of_a_port_multiplier_are_told_apart() -> None:
    base = "/sys/class/ata_port/ata7/device/host6"
    files = {f"{base}/target6:0:0/6:0:0:0/block/sdd/size": "1", f"{base}/target6:1:0/6:1:0:0/block/sde/size": "1"}
    said = "[  175.000000] ata7.01: disable device\n[  176.000000] ata7: hard resetting link\n"
    assert {name for name, _ in complaints(said, **files)} == {"sde", "ata7"}


@pytest.mark.parametrize(("name", "disk"), [
    ("sda1", "sda"), ("sdaa12", "sdaa"), ("nvme0n1p2", "nvme0n1"), ("nvme0n1", "nvme0n1"), ("md0p1", "md0"),
    ("md127", "md127"), ("dm-3", "dm-3"), ("vdb", "vdb"), ("mmcblk0p1", "mmcblk0"), ("6:0:3:0", "6:0:3:0"),
])  # fmt: skip
def test_a_partition_belongs_to_its_disk(name: str, disk: str) -> None:
    assert disk_of(name) == disk


def test_a_disk_has_one_row_with_its_partitions() -> None:
    text = f"{DMESG}[  171.500000] Buffer I/O error on dev sdc1, logical block 88, lost async page write\n"
    (row,) = (row for row in rows({"cmd:dmesg": text}, DiskLog) if row.device == "sdc")
    assert row.remark() == "1 lost write in the last minute"
    assert len(row.remark()) <= 60


def test_several_logs_of_one_node_are_not_added() -> None:
    found = complaints(DMESG, **{"cmd:journalctl -k": FORMS["journal"][0] + f"Nov 23 07:03:00 db1 kernel: {MEDIUM}\n"})
    assert found["sdc", "medium-error"].count == 2
    assert found["6:0:3:0", "abort"].count == 1


# The live device.


class Records(LiveHost):
    """Live host whose kernel logs what a test adds."""

    def __init__(self) -> None:
        super().__init__(collectors=(KERNEL_LOG,))
        self.parts: list[LogPart] = []

    def log_part(self) -> LogPart:
        return self.parts.pop(0) if self.parts else LogPart((), more=False, boot=1795360000.0)


def part(*records: tuple[int, float, str], more: bool = False, boot: float = 1795360000.0) -> LogPart:
    return LogPart(tuple(LogRecord(*record) for record in records), more, boot)


def test_a_live_log_grows_and_an_unchanged_one_has_the_same_answer() -> None:
    host, ask = Records(), LogTrail()
    host.parts = [
        part((0, 0.0, "Linux version 6"), (1, 71.25, ABORT), (2, 72.5, MEDIUM)),
        part(),
        part((3, 99.0, MEDIUM)),
    ]
    first, same, grown = (ask(host) for _ in range(3))
    assert first[0]["whole"] is True
    assert first[1:] == [f"[   71.250000] {ABORT[:33]}", f"[   72.500000] {MEDIUM[:67]}"]
    assert same == first
    assert len(grown) == 4


def test_records_that_were_overwritten_are_counted() -> None:
    host, ask = Records(), LogTrail()
    host.parts = [part((5, 1.0, "a")), part((6, 2.0, "b"), (20, 3.0, "c"))]
    ask(host)
    assert (ask(host)[0]["lost"], ask(host)[0]["whole"]) == (13, False)


def test_errors_that_are_not_understood_are_counted() -> None:
    host, ask = Records(), LogTrail()
    records = [LogRecord(0, 1.0, "frob0: the frobnicator failed", 3), LogRecord(1, 1.5, MEDIUM, 3)]
    records += [LogRecord(2, 2.0, "eth0: link up", 6), LogRecord(3, 3.0, "", 7)]
    host.parts = [LogPart(tuple(records), more=False, boot=1.0)]
    answer = ask(host)
    assert (answer[0]["unknown"], len(answer)) == (1, 2)
    (row,) = (row for row in live(answer) if isinstance(row, KernelLog))
    assert row.unknown == 1


def test_each_host_has_a_trail_of_its_own() -> None:
    ask, one, other = LogTrail(), Records(), Records()
    one.parts = [part((0, 1.0, MEDIUM))]
    assert len(ask(one)) == 2
    assert len(ask(other)) == 1


def test_small_steps_of_the_clock_do_not_change_the_answer() -> None:
    host, ask = Records(), LogTrail()
    host.parts = [part((0, 1.0, "a")), part(boot=1795360001.5), part(boot=1795363600.0)]
    assert ask(host) == ask(host)
    assert ask(host)[0]["boot"] == 1795363600.0


def live(answer: list[Any], up: str = "200.0 1") -> list[Any]:
    return list(KERNEL_LOG.read(EvidenceHost.of({f"answer:{QUESTION}": json.dumps(answer), "/proc/uptime": up})))


HEAD = {"boot": 1795360000.0, "since": 0.0, "whole": True, "suspended": 0.0, "suppressed": 0, "lost": 0, "dropped": 0,
        "behind": False}  # fmt: skip


def test_an_answer_has_ages_and_times() -> None:
    found = live([HEAD, "[   71.250000] " + MEDIUM[:67], "[  199.000000] " + MEDIUM[:67]])
    (row,) = (row for row in found if isinstance(row, KernelComplaint))
    assert (row.count, row.minute, row.ago, row.first, row.last) == (2, 1, 1.0, 1795360071.25, 1795360199.0)
    source = row.source()
    assert source is not None
    assert (source.key, source.needle) == (f"answer:{QUESTION}", MEDIUM[:67])


def test_time_in_suspend_is_not_part_of_the_kernels_times() -> None:
    found = live([HEAD | {"suspended": 100.0}, "[   99.000000] " + MEDIUM[:67]])
    (row,) = (row for row in found if isinstance(row, KernelComplaint))
    assert (row.ago, row.last) == (1.0, 1795360199.0)


@pytest.mark.parametrize("answer", [[], {}, "x", [1], ["x"], [HEAD, 3], [HEAD, {"line": 1}]])
def test_any_other_answer_is_malformed(answer: Any) -> None:
    with pytest.raises(Malformed):
        live(answer)


def test_of_a_recorded_answer_only_messages_are_kept() -> None:
    said = [HEAD | {"password": "x"}, "[   71.250000] " + MEDIUM, "hunter2"]
    once = kept_lines(json.dumps(said).encode())
    assert json.loads(once) == [HEAD, "[   71.250000] " + MEDIUM[:67]]
    assert kept_lines(once) == once
    assert [kept_lines(data) for data in (b"", b"[]", b"[3]", b"{", b'"x"')] == [b""] * 5


@pytest.mark.parametrize("head", [{}, {"boot": "x", "since": None, "lost": [], "behind": 3, "suspended": "1"}])
def test_a_head_without_numbers_is_unknown_not_zero(head: dict[str, Any]) -> None:
    (log,) = (row for row in live([head]) if isinstance(row, KernelLog))
    assert (log.since, log.seconds, log.whole) == (None, None, False)


@pytest.mark.needs("kernel log")
def test_the_device_is_read_without_waiting() -> None:
    reader = KmsgReader()
    first = reader.take()
    while first.more:
        first = reader.take()
    numbers = [record.number for record in first.records]
    assert numbers == sorted(numbers)
    reader.take()  # returns at once although nothing follows
    reader.close()


def test_another_file_in_place_of_the_device_is_not_opened(tmp_path: Path) -> None:
    fifo = tmp_path / "kmsg"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path / "none"):
        with pytest.raises(Denied, match="as in a container"):
            KmsgReader(str(path))


def test_the_log_of_another_root_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(Denied):
        LiveHost(str(tmp_path)).log_part()


@given(st.binary(max_size=400) | st.lists(st.sampled_from([
    DMESG, MEDIUM, "[   1.000000] ", "sdstop: 3 more of io-error disk sdc until 90.500000\n", "[Feb30 25:61] x\n",
    "Nov 31 99:99:99 a kernel: x\n", "2026-13-45T07:01:11+0100 a kernel: x\n", '{"MESSAGE": 3}\n', "[  +9.9] y\n",
    "sdstop: log begins at boot\n", "__CURSOR=x\nMESSAGE=y\n\n", "[99999999999.000000] x\n", "\x00\x1b[", "\udc80",
])).map(lambda parts: "".join(parts).encode("utf-8", "surrogateescape")))  # fmt: skip
def test_any_bytes_are_kept_once_and_never_raise(data: bytes) -> None:
    once = kept(data)
    assert kept(once) == once


def test_seconds_of_a_delta_may_have_a_decimal_comma() -> None:
    text = b"[Apr19 18:52] usb 1-1: new device\n[  +0,369556] BTRFS error (device sdq1): bdev /dev/sdq1 errs: wr 1\n"
    first, second = lines_of(text)
    assert round(second.seconds - first.seconds, 6) == 0.369556
    assert second.text.startswith("BTRFS error")
