"""No secret is ever recorded: of a live node, of a tree of files, of what other people made."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.cli.command import execute
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Outcome, slug
from sdstop.core.retention import Retention, mount_table
from sdstop.exporters.capture import CaptureWriter
from tests import passwords
from tests.passwords import NUMBER, WORD

SERVERS = """
import ctypes, json, os, sys, time
libc = ctypes.CDLL(None)
begin, end = (int(word) for word in open("/proc/self/stat").read().rpartition(")")[2].split()[45:47])
for number, argv in enumerate(json.load(sys.stdin)):
    if os.fork() == 0:
        line = b"".join(word.encode() + bytes(1) for word in argv)
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, line, len(line))
        libc.prctl(15, argv[0].partition(" ")[0].encode()[:15], 0, 0, 0)
        with open(os.path.join(sys.argv[2], str(os.getpid())), "wb") as file:
            file.write(bytes(4096))
            os.fsync(file.fileno())
        os.write(1, b"%d %d\\n" % (number, os.getpid()))
        time.sleep(300)
        os._exit(0)
time.sleep(300)
"""
"""Processes that do nothing, each with a command line of its own."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[int]]:
    """Run a process of each form, which wrote some bytes."""
    folder = tmp_path / "io"
    folder.mkdir()
    command = [sys.executable, "-c", SERVERS, "x" * 600, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(passwords.FORMS).encode())
        process.stdin.close()
        lines = [process.stdout.readline().split() for _ in passwords.FORMS]
        started = {int(number): int(pid) for number, pid in lines}
        pids = [started[number] for number in range(len(passwords.FORMS))]
        for pid, argv in zip(pids, passwords.FORMS, strict=True):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            assert line.rstrip(b"\0").split(b"\0") == [word.encode() for word in argv]
        yield pids
    finally:
        os.killpg(process.pid, 9)
        process.stdout.close()
        process.wait()


Out = pytest.CaptureFixture[bytes]


def sdstop(told: Out, *words: str) -> bytes:
    assert execute(words) == 0
    out, err = told.readouterr()
    assert out or err
    return out + err


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            yield member.name, file.read() if file is not None else b""


def assert_without_secrets(source: tuple[str, ...], out: Path, told: Out) -> None:
    """Capture and report what the options name, in every form: no secret is in what comes out."""
    assert passwords.left(sdstop(told, "capture", *source, "-o", str(out))) == []
    files = dict(members(out))
    assert any(name.endswith("report.html") for name in files)
    assert [(name, passwords.left(name.encode() + data)) for name, data in files.items()] == [
        (name, []) for name in files
    ]
    for form in ("html", "json", "text", "markdown"):
        assert passwords.left(sdstop(told, "report", *source, "--format", form)) == []


def test_a_live_capture_has_no_password_of_any_process(running: list[int], tmp_path: Path, capfdbinary: Out) -> None:
    out = tmp_path / "out.tar.gz"
    assert_without_secrets(("--duration", "1s"), out, capfdbinary)
    _, frames = open_capture(out)
    answers = [item.data for frame in frames for item in frame.evidence if item.key == "answer:psutil.processes"]
    rows = {row["pid"]: row["cmdline"] for answer in answers for row in json.loads(answer)}
    assert set(running) <= rows.keys()
    assert all(rows[pid] for pid in running)
    assert any(line.startswith("qemu-system-x86_64 -name guest=web -drive file=/dev/vg/web,") for line in rows.values())


FSTAB = f"""# root {WORD}
UUID=2f0b9c1e-7a44-4f0e-9d55-0a1d2c3b4e5f / ext4 errors=remount-ro 0 1
/dev/sda2 none swap sw 0 0
//root:{WORD}@nas/share /mnt/a cifs username=root,password={NUMBER} 0 0
https://me:{WORD}@dav.example/x /mnt/b davfs user 0 0
me:{NUMBER}@nas:/x /mnt/c fuse.sshfs _netdev 0 0
curlftpfs#me:{WORD}@ftp /mnt/d fuse rw 0 0
tank/a@daily /mnt/e zfs ro 0 0
"""
DOMAIN = f"""<domain type='kvm'><name>web</name><devices><graphics type='vnc' passwd='{WORD}'/>
<disk type='block'><auth username='x'><secret uuid='{WORD}'/></auth><source dev='/dev/vg/web'/><target dev='vda'/>
<iotune><total_iops_sec>500</total_iops_sec></iotune></disk></devices>
<commandline><arg value='-vnc'/><arg value=':1,x={NUMBER}'/></commandline></domain>"""
FILES = {
    "proc/diskstats": "   8       0 sda 100 0 800 4 0 0 0 0 0 4 4 0 0 0 0 0 0\n",
    "proc/net/packet": "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n0 3 3 88a2 3 1 0 0 11800\n",
    "etc/fstab": FSTAB,
    "etc/mdadm/mdadm.conf": f"DEVICE /dev/sda1 # {WORD}\nPROGRAM /x --token {NUMBER}\nMAILADDR {WORD}@x\n",
    "etc/corosync/corosync.conf": f"totem {{\n cluster_name: san\n key: {WORD}\n}}\n",
    "etc/libvirt/qemu/web.xml": DOMAIN,
    "proc/71/comm": "vblade\n", "proc/71/cmdline": f"vblade\0--token={WORD}\0{NUMBER}\0",
    "proc/72/comm": "vblade\n", "proc/72/cmdline": f"vblade {WORD}\0-m\0003cecef9a8b7c\0000\0001\0eth1\0/dev/vg/a\0",
}  # fmt: skip
ALSO = {
    "proc/mounts": f"//nas/x /mnt cifs rw,username=me,password={WORD} 0 0\n",
    "proc/71/environ": f"TOKEN={WORD}\0", "etc/shadow": f"root:{WORD}:1:0:9:7:::\n",
    "etc/crontab": f"0 0 * * * root mysqldump -p{WORD} --pin {NUMBER}\n",
}  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_tree_of_files_is_read_without_secrets(tmp_path: Path, capfdbinary: Out) -> None:
    root, out = tmp_path / "root", tmp_path / "out.tar.gz"
    write(root, FILES | ALSO)
    assert_without_secrets(("--root", str(root), "--duration", "1s"), out, capfdbinary)
    _, frames = open_capture(out)
    found = {item.key: item.data.decode() for frame in frames for item in frame.evidence}
    assert found["/etc/fstab"].splitlines() == [
        "UUID=2f0b9c1e-7a44-4f0e-9d55-0a1d2c3b4e5f / ext4 defaults", "/dev/sda2 none swap defaults",
        "//nas/share /mnt/a cifs defaults", "https://dav.example/x /mnt/b davfs defaults",
        "nas:/x /mnt/c fuse.sshfs defaults", "curlftpfs#ftp /mnt/d fuse rw",
        "tank/a@daily /mnt/e zfs ro",
    ]  # fmt: skip
    assert found["/proc/71/cmdline"] == ""
    assert found["/proc/72/cmdline"] == "vblade\0-m\0003cecef9a8b7c\0000\0001\0eth1\0/dev/vg/a\0"


def test_what_others_made_is_opened_without_secrets(tmp_path: Path, capfdbinary: Out) -> None:
    """Three forms: a folder with answers of processes, a sosreport, and pasted text."""
    folder, report, pasted = tmp_path / "folder", tmp_path / "sosreport-a-2026-11-21-abcdefg", tmp_path / "ticket.txt"
    processes = [
        {"pid": at, "name": argv[0].split()[0], "started": 1.0, "user": "root", "cmdline": " ".join(argv),
         "read_bytes": at << 20, "write_bytes": 0}
        for at, argv in enumerate(passwords.FORMS, 100)
    ]  # fmt: skip
    with CaptureWriter(folder, "n") as writer:
        items = [Evidence(f"/{name}", data=text.encode()) for name, text in (FILES | ALSO).items()]
        for number in (1, 2):
            rows = [row | {"write_bytes": number << 30} for row in processes]
            answer = Evidence("answer:psutil.processes", data=json.dumps(rows).encode())
            writer.add(Frame(number, 6.0 * number, 6.0 * number, (*items, answer)))
        writer.finish()
    mdstat = "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      10 blocks [2/2] [UU]\n"
    lines = "".join(f"root {at} 0.0 0.1 1 1 ? S 0:00 {' '.join(a)}\n" for at, a in enumerate(passwords.FORMS))
    ps = f"USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n{lines}"
    write(report, FILES | ALSO | {
        "version.txt": "sosreport: 4.0\n", "sos_commands/process/ps_auxwww": ps, "ps": ps,
        "proc/mdstat": mdstat,
    })  # fmt: skip
    outputs = {"ps auxwww": ps, "cat /etc/fstab": FSTAB, "cat /proc/mdstat": mdstat}
    pasted.write_text("".join(f"[root@a ~]# {command}\n{text}" for command, text in outputs.items()))
    for at, source in enumerate((folder, report, pasted)):
        assert_without_secrets(("--from", str(source)), tmp_path / f"{at}.tar.gz", capfdbinary)


@pytest.mark.parametrize("source", ["/dev/mapper/a-b", "LABEL=a@b", "nas:/x", "//nas/x", "tank/a@b", "UUID=1", "a@b"])
def test_a_source_without_a_password_stays(source: str) -> None:
    assert mount_table(f"{source} /mnt x\n".encode()) == f"{source} /mnt x\n".encode()


def test_what_is_kept_is_kept_again() -> None:
    retention = Retention(BUILTIN)
    for name, text in FILES.items():
        once = retention.part(f"/{name}", text.encode())
        assert retention.part(f"/{name}", once) == once
        assert passwords.left(once) == []


@pytest.mark.parametrize("data", [b"", b"\xff\0\n", b"{", b"[1]", b"<domain>", b"#"])
def test_no_part_of_what_is_damaged_raises(data: bytes) -> None:
    retention = Retention(BUILTIN)
    keys = [need.what.replace("*", "1") for collector in BUILTIN for need in collector.needs]
    assert all(isinstance(retention.part(key, data), bytes) for key in keys)


def test_what_no_collector_reads_is_not_kept() -> None:
    retention = Retention(BUILTIN)
    kept = (
        "cmd:zpool status -v", "slug:dmsetup_table", "cmd:smp_rep_phy_err_log -p 1 /dev/bsg/x", "/proc/mdstat",
        "/etc/fstab", "/sys/anything", "link:/dev/x", "http:GET /api/x", "/proc/400/net/dev", "/proc/17/comm",
    )  # fmt: skip
    assert [key for key in kept if not retention.needs(key)] == []
    assert retention.evidence(Evidence("cmd:ps auxwww", data=b"xaver")).data == b""  # no list of tasks
    for key in (
        "cmd:pstree -a",
        "cmd:getent passwd",
        "slug:last_-x",
        "/etc/passwd",
        "/var/log/auth.log",
        "/proc/1/maps",
    ):
        made = retention.evidence(Evidence(key, data=b"xaver", stderr=b"xaver"))
        assert (made.data, made.stderr, made.outcome) == (b"", b"", Outcome.DENIED)


MDSTAT = """Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      1000 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
TYPED = (
    *(form for form in passwords.FORMS if form[0] != "fio"),
    ("scli", "--query_all_sds", "--mdm_password", WORD), ("ceph", "-s", f"--key={WORD}"), (f"password={WORD}",),
    ("storcli", "/c0", "set", f"securitykey={WORD}"),
    ("iscsiadm", "-m", "node", "-o", "update", "-n", "node.session.auth.password", f"-v{WORD}"),
    ("pcs", "stonith", "create", "f", "fence_ipmilan", "username=a", f"password={NUMBER}"),
)  # fmt: skip


@pytest.mark.parametrize("words", [["report"], ["report", "--format", "json"], ["check"], ["doctor"]])
def test_no_password_that_somebody_typed_before_an_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """The commands of a pasted text are the keys of its evidence, and stand in every list of it."""
    text = tmp_path / "pasted.txt"
    prompt = "root@n1:~# "
    text.write_text("".join(f"{prompt}{shlex.join(form)}\nany: output\n" for form in TYPED)
                    + f"{prompt}scli --query_all --mdm_password {WORD}; cat /proc/mdstat\n{MDSTAT}"
                    + f"{prompt}cat /proc/mdstat\n{MDSTAT}password: {WORD}\n")  # fmt: skip
    execute([*words, "--from", str(text)])
    said = capsys.readouterr()
    assert passwords.left((said.out + said.err).encode()) == []
    assert "removed" in said.out


def test_a_capture_of_a_pasted_text_has_no_password_that_was_typed(tmp_path: Path) -> None:
    text = tmp_path / "pasted.txt"
    text.write_text("".join(f"root@n1:~# {shlex.join(form)}\nany: output\n" for form in TYPED))
    assert execute(["capture", "--from", str(text), "-o", str(tmp_path / "made")]) == 0
    files = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert len(files) > 3
    assert {path: found for path in files if (found := passwords.left(str(path).encode() + path.read_bytes()))} == {}


@pytest.mark.parametrize(("command", "is_kept"), [
    ("nvme smart-log /dev/nvme0", True), ("nvme list-subsys", True), ("nvme list-subsys -o json", True),
    ("nvme list", False), ("nvme list -v", False), ("nvme list-ns /dev/nvme0", False),
    ("nvme id-ctrl /dev/nvme0", False),
    ("nvme self-test-log /dev/nvme0", False), ("nvme lba-status-log /dev/nvme0", False),
])  # fmt: skip
def test_other_outputs_of_nvme_are_not_kept(command: str, is_kept: bool) -> None:  # noqa: FBT001  # a table
    retention = Retention(BUILTIN)
    for key in (f"cmd:{command}", f"slug:{slug(command)}"):
        assert bool(retention.part(key, b"SN QQ77ZZ88")) is is_kept, key
