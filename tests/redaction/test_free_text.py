"""Names where no field holds them: in health texts, reasons, comments, folders and command lines. None is handed on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.retention import Retention
from sdstop.core.wording import own_words
from sdstop.redaction.pseudonym import Pseudonyms
from sdstop.redaction.redactor import Redactor
from tests.fixtures import opened

KEY = b"a key of thirty-two bytes, or so"
STRANGERS = ("zurichhost", "kundeamsler", "payrollvip", "acmelun", "brauerei")


def redacted(*frames: Frame) -> tuple[Redactor, bytes]:
    """Return everything that is handed on of frames, as of a capture that others made."""
    kept = Retention(BUILTIN).frames(frames)
    known = Redactor(Pseudonyms(KEY), BUILTIN)
    for frame in kept:
        known.learn(frame)
    items = [item for frame in kept for item in known.frame(frame).evidence]
    assert known.changed == set()
    return known, b"\n".join(
        part for item in items for part in (item.key.encode(), item.data, item.stderr, item.detail.encode())
    )


def changed(frames: list[Frame], key: str, old: str, new: str) -> list[Frame]:
    """Return frames with a text replaced in one piece of evidence, where it must stand."""
    made = [
        replace(frame, evidence=tuple(
            replace(item, data=item.data.replace(old.encode(), new.encode())) if item.key == key else item
            for item in frame.evidence
        ))
        for frame in frames
    ]  # fmt: skip
    assert made != frames
    return made


def left(data: bytes) -> list[str]:
    return [name for name in STRANGERS if name.encode() in data.lower()]


def test_host_names_in_the_health_text_of_ceph() -> None:
    _, frames = opened("ceph-drain")
    keys = {item.key for frame in frames for item in frame.evidence}
    status = next(key for key in keys if "ceph" in key and "status" in key)
    document = json.loads(next(i.data for f in frames for i in f.evidence if i.key == status and i.data))
    document["health"] = {
        "status": "HEALTH_WARN",
        "checks": {"HOST_DOWN": {
            "severity": "HEALTH_WARN", "muted": False, "summary": {"message": "host zurichhost (4 osds) is down"},
            "detail": [{"message": "osd.3 on zurichhost of kundeamsler is down"}],
        }},
    }  # fmt: skip
    document["servicemap"] = {"services": {"rgw": {"daemons": {"1": {"metadata": {"hostname": "zurichhost"}}}}}}
    first = tuple(replace(i, data=json.dumps(document).encode()) if i.key == status else i for i in frames[0].evidence)
    _, data = redacted(replace(frames[0], evidence=first))
    assert left(data) == []
    assert b"host * (4 osds) is down" in data
    assert b"HOST_DOWN" in data


def test_resources_and_reasons_of_pacemaker() -> None:
    frames = list(opened("pacemaker-unclean")[1])
    key = "slug:crm_mon_--output-as=xml_-1"
    frames = changed(frames, key, 'id="lun"', 'id="acmelun"')
    frames = changed(frames, key, 'id="ip"', 'id="payrollvip"')
    frames = changed(
        frames, key, "</pacemaker-result>", "<bans><ban id='b' node='zurichhost'/></bans></pacemaker-result>"
    )
    frames = changed(frames, key, 'exitreason="', 'exitreason="zurichhost of kundeamsler did not answer; ')
    frames = changed(frames, key, "store2", "zurichhost")
    known, data = redacted(*frames)
    assert left(data) == []
    assert {"acmelun", "payrollvip", "zurichhost"} <= known.names.keys()


FILES = {
    "/proc/sys/kernel/hostname": b"zurichhost\n",
    "/etc/fstab": b"# disks of kundeamsler\n/dev/brauerei/acmelun /srv/kundeamsler/web ext4 defaults 0 2\n"
    b"nfs.zurichhost.example:/payrollvip /mnt nfs ro 0 0\nLABEL=kundeamsler /a xfs x 0 0\n",
    "/etc/mdadm/mdadm.conf": b"MAILADDR root@zurichhost\nDEVICE /dev/sda1 # of kundeamsler\nARRAY /dev/md0 "
    b"name=zurichhost:0 devices=/dev/sda1,/dev/sdb1\n",
    "cmd:iostat -x": b"Linux 6.1.0 (zurichhost) \t11/21/26 \t_x86_64_\t(8 CPU)\n\nDevice r/s w/s rkB/s wkB/s r_await "
    b"w_await %util\nsda 1.00 2.00 4.00 8.00 1.00 1.00 3.00\n",
    "/proc/version": b"Linux version 6.1.0 (kundeamsler@zurichhost) (gcc 12) #1 SMP\n",
}


def processes(*lines: str) -> Evidence:
    rows = [
        {"pid": at, "name": line.split()[0][:15], "started": 1.0, "user": "kundeamsler", "cmdline": line,
         "read_bytes": 1, "write_bytes": 2}
        for at, line in enumerate(lines, 100)
    ]  # fmt: skip
    return Evidence("answer:psutil.processes", data=json.dumps(rows).encode())


def test_folders_comments_and_command_lines() -> None:
    lines = (
        "qemu-img convert -O raw /srv/kundeamsler/desk.raw /dev/brauerei/acmelun", "rsync -a /home/payrollvip/a /mnt/b",
        "qemu-system-x86_64 -name guest=payrollvip -drive file=/srv/acmelun/web.qcow2,if=virtio,id=brauerei",
        "dd if=/dev/zero of=/srv/kundeamsler/x", "python3 /opt/payrollvip/app.py --host zurichhost",
        "zfs send brauerei/kundeamsler@daily", "rsync root@zurichhost:/a /b",
    )  # fmt: skip
    items = (processes(*lines), *(Evidence(key, data=data) for key, data in FILES.items()))
    known, data = redacted(Frame(1, 1.0, 1.0, items))
    assert left(data) == []
    assert b"qemu-img convert -O raw /srv/" in data
    assert b"ARRAY /dev/md0" in data
    assert "zurichhost" in known.map()["host"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("1/3 mons down, quorum zurichhost,b", "1/3 mons down, quorum *,*"),
        ("mon zurichhost (rank 1) addr 10.0.0.2 is down", "mon * (rank 1) addr 10.0.0.2 is down"),
        ("noout,norebalance flag(s) set", "noout,norebalance flag(s) set"),
        ("osd.3 is near full: 85%", "osd.3 is near full: 85%"), ("pool 'brauerei' is full", "pool '*' is full"),
        ("BRAUEREI PAYROLLVIP OSD_DOWN", "* * OSD_DOWN"), ("", ""),
    ],
)  # fmt: skip
def test_messages_keep_their_own_words(said: str, shown: str) -> None:
    assert own_words(said) == shown
    assert own_words(shown) == shown


def test_names_in_the_kernels_log() -> None:
    head = {"boot": 1.0, "since": 0.0, "whole": True, "suspended": 0, "suppressed": 0, "lost": 0, "dropped": 0}
    lines = [
        "nfs: server zurichhost not responding, still trying", "EXT4-fs error (device sda1): ext4_lookup:18: comm x",
        "WARNING: Pool 'kundeamsler' has encountered an uncorrectable I/O failure and has been suspended",
        "payrollvip: sdc - tur checker reports path is down",
        "md/raid:acmelun: Disk failure on sdc1, disabling device.", "secret brauerei",
    ]  # fmt: skip
    said = json.dumps([head, *(f"[    1.000000] {line}" for line in lines)]).encode()
    dmesg = "".join(f"[    1.000000] {line}\n" for line in lines).encode()
    journal = "".join(f"Nov 23 07:12:01 brauerei kernel: {line}\n" for line in lines).encode()
    for key, data in (("answer:kernel.log", said), ("cmd:dmesg", dmesg), ("cmd:journalctl -k", journal)):
        _, handed = redacted(Frame(1, 1.0, 1.0, (Evidence(key, data=data),)))
        assert b"sdc" in handed
        assert left(handed) == [], key


TICKET = """\
[root@kundeamsler ~]# zpool status payrollvip
  pool: payrollvip
 state: ONLINE
config:

        NAME        STATE     READ WRITE CKSUM
        payrollvip  ONLINE       0     0     0
          sda       ONLINE       0     0     0

errors: No known data errors
[root@kundeamsler ~]# zpool status acmelun
cannot open 'acmelun': no such pool of brauerei
[root@kundeamsler ~]# ls /srv/brauerei
acmelun of brauerei
[root@kundeamsler ~]# drbdsetup status brauerei --verbose
brauerei is strange at zurichhost
[root@kundeamsler ~]# zfs list brauerei
[root@kundeamsler ~]# ssh zurichhost
Last login of acmelun from brauerei
[root@zurichhost ~]# cat /proc/mdstat
Personalities : [raid1]
md7 : active raid1 sdb[1] sda[0]
      10 blocks [2/2] [UU]

unused devices: <none>
[root@zurichhost.payrollvip.example ~]# multipath -ll acmelun
acmelun (36001405aaaabbbbcccc) dm-7 ACME,DISK
please ask brauerei about acmelun
"""


@pytest.mark.parametrize("form", ["text", "json", "html", "markdown"])
def test_the_account_of_a_pasted_text(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(TICKET)
    shown = []
    for more in ([], ["--redact"]):
        command.execute(["report", "--from", str(file), "--format", form, *more])
        shown.append(capsys.readouterr().out)
    plain, made = shown
    assert left(plain.encode())
    assert left(made.encode()) == []
    assert "(removed by redaction)" in made
    assert [plain.count(text) for text in ACCOUNT] == [made.count(text) for text in ACCOUNT]


ACCOUNT = ("from another node: ", "no output", "unknown")
"""What an account says beside names."""


def test_an_archive_of_a_pasted_text_has_no_account(tmp_path: Path) -> None:
    file, out = tmp_path / "ticket.txt", tmp_path / "out"
    file.write_text(TICKET)
    assert command.execute(["capture", "--from", str(file), "-o", str(out), "--redact"]) == 0
    for path in out.rglob("*"):
        assert (path.name, left(path.name.encode() + (path.read_bytes() if path.is_file() else b""))) == (path.name, [])
