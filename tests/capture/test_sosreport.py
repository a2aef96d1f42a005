"""sosreports of sos 3 and 4, packed and unpacked, open as one frame of a node; hostile ones open nothing else."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.reader import OpenError, open_capture
from sdstop.capture.sosreport import stand_ins, unmangled
from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.evidence import UNDATED, Evidence, Outcome
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.expectation import course
from tests.fixtures import FIXTURES
from tests.vm import scenario
from tests.vm.fixture import SOSREPORT
from tests.vm.verdict import opened

TOP = "sosreport-san1-2026-11-21-abcdefg"
STATUS = (
    "0 2930294784 flashcache stats: \n\treads(85485), writes(379006)\n\tread hits(12699), read hit percent(14)\n"
    "\twrite hits(11805) write hit percent(3)\n\tuncached reads(65392), uncached writes(362807), "
    "uncached IO requeue(13)\n"
)
MDSTAT = (
    "Personalities : [raid1]\nmd0 : active raid1 sdb[1](F) sda[0]\n      1047552 blocks super 1.2 [2/1] [U_]\n\n"
    "unused devices: <none>\n"
)
FILES = {
    "version.txt": "sosreport: 4.0\n",
    "etc/hostname": "san1\n",
    "proc/mdstat": MDSTAT,
    "proc/diskstats": "   8       0 sda 100 0 800 4 0 0 0 0 0 4 4 0 0 0 0 0 0\n",
    "proc/meminfo": "MemTotal:       16000000 kB\n",
    "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda/size": "2095104\n",
    "sos_commands/devicemapper/dmsetup_status": f"cachedev: {STATUS}",
    "sos_commands/date/date": "Sat Nov 21 16:32:30 UTC 2026\n",
    "sos_commands/logs/journalctl_--no-pager": "no storage here\n",
}
LINKS = {
    "sys/block/sda": "../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
    "date": "sos_commands/date/date",
}
MANIFEST = {
    "start_time": "2026-11-21 16:32:11.000000",
    "components": {"report": {"plugins": {"devicemapper": {"commands": [
        {"exec": "dmsetup status", "filepath": "sos_commands/devicemapper/dmsetup_status", "return_code": 0},
        {"exec": "/usr/sbin/nothing", "filepath": "sos_commands/none/nothing", "return_code": 127},
        {"exec": 7}, None,
    ]}}}},
}  # fmt: skip


def packed(folder: Path, files: dict[str, str], links: dict[str, str], top: str = TOP) -> Path:
    path = folder / f"{TOP}.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.PAX_FORMAT) as archive:
        header = tarfile.TarInfo(top)
        header.type = tarfile.DIRTYPE
        archive.addfile(header)
        for name, target in links.items():
            link = tarfile.TarInfo(f"{top}/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name, text in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def unpacked(folder: Path, files: dict[str, str], links: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / TOP / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / TOP / name).write_text(text)
    for name, target in links.items():
        (folder / TOP / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / TOP / name).symlink_to(target)
    return folder / TOP


def evidence(path: Path) -> dict[str, Evidence]:
    _, frames = open_capture(path)
    (frame,) = frames
    return {item.key: item for item in frame.evidence}


@pytest.mark.parametrize("made", [packed, unpacked])
@pytest.mark.parametrize("manifest", ["", "sos_reports/manifest.json"])
def test_a_sosreport_is_one_frame(tmp_path: Path, made: object, manifest: str) -> None:
    files = FILES | ({manifest: json.dumps(MANIFEST)} if manifest else {})
    path = (packed if made is packed else unpacked)(tmp_path, files, LINKS)
    origin, frames = open_capture(path)
    assert (origin.name, origin.complete, origin.collectors) == ("san1", True, frozenset())
    assert "a sosreport is a single snapshot" in origin.note
    assert frames[0].taken == 1795278750.0
    found = evidence(path)
    assert found["/proc/mdstat"].data == MDSTAT.encode()
    assert found["link:/sys/block/sda"].data == LINKS["sys/block/sda"].encode()
    assert found["cmd:dmsetup status"].data.startswith(b"cachedev: 0 2930294784 flashcache stats:")
    assert not [key for key in found if "journalctl" in key or "/date" in key]
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    judged = session.head().judgement
    assert {(f.rule, f.subject) for f in judged.findings} >= {("array-degraded", "md0")}
    assert any(u.rule == "frames-dropped" or "two frames" in u.reason or "frames" in u.reason for u in judged.unchecked)


def test_the_report_of_a_sosreport_says_what_it_cannot_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path, FILES, LINKS)
    assert command.execute(["report", "--from", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "san1: " in said
    assert "rates are unavailable" in said
    assert "array-degraded md0" in said


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("Sat Nov 21 16:32:30 UTC 2026", 1795278750.0),
        ("Sat Nov 21 04:32:30 PM UTC 2026", 1795278750.0),
        ("Sat Nov 21 12:00:01 AM UTC 2026", 1795219201.0),
        ("Sat Nov 21 17:32:30 CET 2026", 1795282350.0),  # of the node's clock, as it is said
        ("2026-11-21T17:32:30+01:00", 1795278750.0),
        ("nonsense", UNDATED),
        ("Sat Nov 99 16:32:30 UTC 2026", UNDATED),
    ],
)
def test_when_it_was_made(tmp_path: Path, said: str, taken: float) -> None:
    path = packed(tmp_path, FILES | {"sos_commands/date/date": said + "\n"}, LINKS)
    origin, frames = open_capture(path)
    assert frames[0].taken == taken
    assert ("time of creation unknown" in origin.note) == (taken == UNDATED)
    assert ("time zone unknown" in origin.note) == ("CET" in said)


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ({"proc/stat": "cpu 1\nbtime 1795270000\n", "proc/uptime": "8750.50 1.00\n"}, 1795278750.5),
        ({"proc/stat": "cpu 1\nbtime 0\n", "proc/uptime": "8750.50 1.00\n"}, 1795282350.0),
        ({"sos_commands/systemd/timedatectl": "               Local time: Sat 2026-11-21 17:32:30 CET\n"
          "           Universal time: Sat 2026-11-21 16:32:30 UTC\n                 RTC time: n/a\n"}, 1795278750.0),
    ],
)  # fmt: skip
def test_a_date_of_some_zone_is_less_than_what_the_kernel_or_timedatectl_says(
    tmp_path: Path, more: dict[str, str], taken: float
) -> None:
    date = {"sos_commands/date/date": "Sat Nov 21 17:32:30 CET 2026\n"}
    assert open_capture(packed(tmp_path, FILES | date | more, LINKS))[1][0].taken == taken


def test_a_sosreport_without_a_date_shows_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path, FILES | {"sos_commands/date/date": "nonsense\n"}, LINKS)
    assert command.execute(["report", "--from", str(path)]) == 0
    said = capsys.readouterr().out
    assert "1 frame, time unknown: a sosreport" in said
    assert not re.search(r"\b\d{4}-\d\d-\d\d\b", said)


def test_command_lines_are_told_from_names() -> None:
    assert unmangled("dmsetup_table") == "dmsetup table"
    assert unmangled("smp_rep_phy_err_log_-p_3_.dev.bsg.expander-1:0").startswith("smp_rep_phy_err_log -p 3")
    assert unmangled("zpool_status_-Td_-v") == "zpool status -Td -v"


def test_what_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    for at, name in enumerate(("../../etc/passwd", "proc/../../x")):
        folder = tmp_path / str(at)
        folder.mkdir()
        with pytest.raises(OpenError, match="leads outside the archive"):
            open_capture(packed(folder, FILES | {name: "x"}, LINKS))


def test_links_and_devices_lead_nowhere(tmp_path: Path) -> None:
    """A link is known by where it leads; nobody goes there. Devices and FIFOs are left out, and counted."""
    secret = tmp_path / "secret"
    secret.write_text("not for you")
    links = {"proc/version": str(secret), "etc/hostname": "/etc/shadow", "sos_commands/x": "/"}
    files = {name: text for name, text in FILES.items() if name != "etc/hostname"}
    for path in (packed(tmp_path, files, LINKS | links), unpacked(tmp_path, files, LINKS | links)):
        assert not any(b"not for you" in item.data for item in evidence(path).values())
    os.mkfifo(tmp_path / TOP / "proc/fifo")
    origin, _ = open_capture(tmp_path / TOP)
    assert "kinds or sizes: 1" in origin.note


def test_a_cut_one_opens_as_far_as_it_goes(tmp_path: Path) -> None:
    noise = {f"proc/{n}": os.urandom(3000).hex() for n in range(40)}
    path = packed(tmp_path, FILES | noise, LINKS)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    try:
        origin, _ = open_capture(path)
    except OpenError:
        return  # xz gave nothing of its one block
    assert origin.complete is False


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / f"{TOP}.tar.xz"
    header = tarfile.TarInfo(f"{TOP}/proc/zeros")
    header.size = 1 << 30
    with lzma.open(path, "wb", preset=0) as stream:
        stream.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(128):
            stream.write(bytes(1 << 20))
    with pytest.raises(OpenError, match="expands to more than 400 times its size: refused"):
        open_capture(path)


@given(st.data())
def test_garbage_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("sos")
    path = packed(folder, FILES | {"sos_reports/manifest.json": json.dumps(MANIFEST)}, LINKS)
    raw = bytearray(lzma.decompress(path.read_bytes()))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(lzma.compress(bytes(raw), preset=0))
    with contextlib.suppress(OpenError):
        origin, frames = open_capture(path)
        assert len(frames) == 1
        Session(origin, BUILTIN, RULES).feed_all(frames)


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.needs("sos", "root")
def test_a_real_one_of_this_machine(tmp_path: Path) -> None:
    """Made by the distribution's own package."""
    subprocess.run(
        ["sos", "report", "--batch", "--quiet", "-o", "block,date,host", "--tmp-dir", tmp_path],
        check=True, capture_output=True, timeout=240, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    (path,) = [each for each in tmp_path.iterdir() if ".tar" in each.name and not each.name.endswith(("md5", "sha256"))]
    origin, frames = open_capture(path)
    assert origin.name == os.uname().nodename
    keys = {item.key for item in frames[0].evidence}
    assert "cmd:lsblk" in keys
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    assert session.head().now.runs["diskstats"].ok == ("/proc/diskstats" in keys)


def test_what_sos_did_not_copy_is_told_by_its_commands(tmp_path: Path) -> None:
    """Sizes, modes, names of udev and the kernel; what was copied counts more, and what is no device is no disk."""
    more = {
        "sos_commands/kernel/uname_-a": "Linux san1 6.1.0-38-amd64 #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n",
        "sos_commands/block/blockdev_--report": "RO    RA   SSZ   BSZ        StartSec            Size   Device\n"
        "rw   256   512  4096               0       999   /dev/sda\nro   256   512  4096               0"
        "       134217728   /dev/vdb\nrw   256   512  4096               0       134217728   /dev/nowhere\n",
        "sos_commands/block/udevadm_info_.dev.vdb": "P: /devices/pci/vdb\nE: DEVNAME=/dev/vdb\nE: SUBSYSTEM=block\n"
        "E: ID_SERIAL_SHORT=ZC1A7WQ9\nE: DEVLINKS=/dev/disk/by-id/virtio-d0 /dev/disk/by-path/pci-0000:00:01.0\n",
        "sos_commands/block/udevadm_info_-a_.dev.vdc": "E: DEVNAME=/dev/vdc\nE: SUBSYSTEM=block\n",
        "sos_commands/block/udevadm_info_.dev.kmsg": "E: DEVNAME=/dev/kmsg\nE: SUBSYSTEM=mem\n",
        "sys/block/vdb/queue/rotational": "0\n",
    }
    origin, frames = open_capture(packed(tmp_path, FILES | more, LINKS))
    evidence = {item.key: item for item in frames[0].evidence}
    assert evidence["/proc/sys/kernel/osrelease"].data == b"6.1.0-38-amd64\n"
    assert evidence["/proc/sys/kernel/osrelease"].detail == "from uname -a"
    assert (evidence["/sys/block/vdb/size"].data, evidence["/sys/block/vdb/ro"].data) == (b"262144\n", b"1\n")
    assert "/sys/block/nowhere/size" not in evidence
    assert json.loads(evidence["answer:udev.block"].data).keys() == {"vdb"}
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    disks = session.head().window.rows(BlockDevice)
    assert (disks["vdb"].serial, disks["vdb"].by_id, disks["vdb"].size) == ("ZC1A7WQ9", "virtio-d0", 134217728)
    assert disks["sda"].size == 2095104 * 512


MOUNTED = "/dev/vda1 / ext4 rw,relatime 0 0\n//nas/x /mnt/x cifs rw,username=me,password=Tr0ub4dor&3 0 0\n"


@pytest.mark.parametrize("made", [packed, unpacked])
def test_mounts_are_read_through_the_link_of_the_process(tmp_path: Path, made: object) -> None:
    """As sos 3 copies /proc/mounts: a link to the file of its own process. Passwords in it are not kept."""
    assert callable(made)
    links = LINKS | {"proc/mounts": "self/mounts", "proc/self": "4711"}
    path = made(tmp_path, FILES | {"proc/4711/mounts": MOUNTED}, links)
    origin, frames = open_capture(path)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    assert session.head().now.runs["mounts"].outcome is Outcome.OK
    assert {mount.point for mount in session.head().window.rows(MountPoint).values()} == {"/", "/mnt/x"}
    assert not [item.key for item in Retention(BUILTIN).frames(frames)[0].evidence if b"Tr0ub4dor" in item.data]


def test_a_command_without_an_answer_gives_its_reason(tmp_path: Path) -> None:
    """Without an exit status, as in sos 3, the message is all that is known. No rule takes it for a healthy state."""
    refused = (
        "/dev/mapper/control: open failed: No such device\nFailure to communicate with kernel device-mapper driver.\n"
    )
    more = {
        "sos_commands/devicemapper/dmsetup_status": refused, "sos_commands/devicemapper/dmsetup_table": refused,
        "sos_commands/devicemapper/dmsetup_info_-c": refused, "sos_commands/devicemapper/dmsetup_ls_--tree": refused,
        "sos_commands/pacemaker/crm_mon_-1_-A_-n_-r_-t": "crm_mon: Connection to cluster failed: Connection refused\n",
        "sos_commands/hardware/dmidecode": "# dmidecode 3.4\nScanning /dev/mem for entry point.\n/dev/mem: none\n",
        "sos_commands/networking/ip_-4_rule": "0:\tfrom all lookup local\n",
        "sos_commands/networking/ip_route_show_table_all": "default via 10.0.0.1 dev eth0\n",
    }  # fmt: skip
    files = {name: text for name, text in FILES.items() if "dmsetup" not in name}
    origin, frames = open_capture(unpacked(tmp_path, files | more, LINKS))
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    runs = session.head().now.runs
    assert {name: run.reason for name, run in runs.items() if run.outcome is Outcome.UNREAD} == {}
    assert runs["mapper"].reason == "cmd:dmsetup table: device mapper is not active in this kernel"
    assert runs["dimms"].reason == "cmd:dmidecode: dmidecode was not able to read the table"
    ruled_out = {verdict.rule for verdict in session.head().judgement.ruled_out}
    assert ruled_out.isdisjoint({"volume-degraded", "dimm-too-few-channels", "cluster-resource-failed"})


@given(st.sampled_from(["cmd:uname -a", "cmd:blockdev --report", "cmd:udevadm info .dev.sda"]), st.binary(max_size=200))
def test_no_output_of_a_command_raises(key: str, data: bytes) -> None:
    there = {key: Evidence(key, data=data), "link:/sys/block/sda": Evidence("link:/sys/block/sda", data=b"../x")}
    assert all(item.detail for item in stand_ins(there))


def test_a_real_sosreport_says_what_the_capture_of_the_same_machine_does() -> None:
    """Made by Debian's package in a virtual machine: the arrays, members and disks; what needs a rate is not judged."""
    folder = FIXTURES / "vm-sosreport"
    report, live = course(folder / SOSREPORT), course(folder / "capture.tar.gz")
    assert list(opened(scenario.load("sosreport"), report, live)) == []
    assert report.session.origin.name == "sdsvm"
    assert [(f.rule, f.subject) for f in report.judgements[-1].findings] == [("array-degraded", "md0")]
    window = report.session.head().window
    assert window.rows(Array)["md0"].degraded == 1
    assert {disk.by_id for disk in window.rows(BlockDevice).values()} >= {f"virtio-d{number}" for number in range(6)}
    assert all(disk.size for disk in window.rows(BlockDevice).values())


def test_logs_are_read_for_the_kernels_messages_alone(tmp_path: Path) -> None:
    error = "I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
    files = FILES | {
        "sos_commands/kernel/dmesg": f"[    0.000000] Linux version 6.1\n[   71.250000] {error}\n",
        "var/log/messages": f"Nov 21 16:31:30 san1 kernel: {error}\nNov 21 16:31:31 san1 kernel: {error}\n"
        "Nov 21 16:32:00 san1 sshd[1]: password hunter2\n",
        "var/log/secure": "password hunter2\n",
        "sos_commands/logs/journalctl_--no-pager_--catalog_--boot": "Nov 21 16:32:00 san1 kernel: x\n",
    }
    origin, frames = open_capture(packed(tmp_path, files, LINKS))
    kept = Retention(BUILTIN).frames(frames)
    found = {item.key: item.data.decode() for frame in kept for item in frame.evidence}
    assert not [key for key, text in found.items() if "hunter2" in text or key == "/var/log/secure"]
    assert found["/var/log/messages"].count("I/O error") == 2
    assert "cmd:journalctl --no-pager --catalog --boot" in found
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(kept)
    (finding,) = (each for each in session.head().judgement.findings if each.rule == "kernel-io-errors")
    assert (finding.subject, finding.values[0].value) == ("sda", 2)
