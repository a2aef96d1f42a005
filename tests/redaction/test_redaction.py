"""Redaction: nothing is left that tells who it is, a name has one pseudonym, and findings stay as they were."""

from __future__ import annotations

import ipaddress
import json
import re
import stat
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.capture.reader import open_capture
from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.collectors.ceph.readings import CephDaemon
from sdstop.collectors.devicemapper.volume_readings import LVS
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, command_key
from sdstop.core.model import Name
from sdstop.core.session import Session
from sdstop.readings.cluster import ClusterDevice, ClusterNode
from sdstop.redaction.declared import names_in
from sdstop.redaction.identity import IPV4, usable
from sdstop.redaction.leak import leaks
from sdstop.redaction.pseudonym import NameKind, Pseudonyms
from sdstop.redaction.redactor import Redactor
from sdstop.rules import RULES
from tests.clusters.scenario import RECORDED
from tests.fixtures import opened

KEY = b"a key of thirty-two bytes, or so"

SERIAL, WWN, HOST, MAC = "ZC1A7WQ9", "5000c500a1b2c3d4", "stor-berlin7", "3c:ec:ef:12:34:56"


def made(*items: Evidence, host: str = HOST) -> tuple[Redactor, list[Evidence]]:
    known = Redactor(Pseudonyms(KEY), BUILTIN)
    known.learn_origin(Origin(host))
    frame = Frame(1, 1.0, 1.0, items)
    known.learn(frame)
    return known, list(known.frame(frame).evidence)


LVM_UUID = "Xk3dRtq7Lw2mNvYp4sHc8bJz1fWa6eQg"
NQN = "nqn.2014-08.com.acme:disk1"
ZPOOL = b"""  pool: payroll
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\tpayroll     ONLINE       0     0     0
\t  /dev/sda  ONLINE       0     0     0

errors: Permanent errors have been detected in the following files:

        /srv/acme/secret-plan.txt
"""
EVERYWHERE = (
    Evidence("/proc/sys/kernel/hostname", data=f"{HOST}\n".encode()),
    Evidence("/proc/diskstats", data=b"   8       0 sda 100 0 800 4 0 0 0 0 0 4 4 0 0 0 0 0 0\n"),
    Evidence("/sys/block/sda/dev", data=b"8:0\n"),
    Evidence("/sys/block/sda/size", data=b"8192\n"),
    Evidence("list:/run/udev", data=b"data"),
    Evidence("/run/udev/data/b8:0", data=f"S:disk/by-id/ata-ST4000_{SERIAL}\nE:ID_SERIAL_SHORT={SERIAL}\n"
             f"E:ID_WWN=0x{WWN}\nE:ID_FS_LABEL=acme-label\n".encode()),
    Evidence(f"link:/dev/disk/by-id/ata-ST4000NM0033-9ZM170_{SERIAL}", data=b"../../sda"),
    Evidence("/sys/block/dm-0/dev", data=b"254:0\n"),
    Evidence("/sys/block/dm-0/size", data=b"8192\n"),
    Evidence("/sys/block/dm-0/dm/name", data=b"customers-acme--db\n"),
    Evidence("/sys/block/dm-0/dm/uuid", data=f"LVM-{LVM_UUID}{LVM_UUID}\n".encode()),
    Evidence("cmd:dmsetup info -c --noheadings --separator :",
             data=f"customers-acme--db:254:0:L--w:1:1:0:LVM-{LVM_UUID}{LVM_UUID}\n".encode()),
    Evidence("cmd:dmsetup table", data=b"customers-acme--db: 0 8192 linear 8:0 2048\n"),
    Evidence(command_key(LVS), data=b'{"report":[{"lv":[{"lv_name":"acme-db","vg_name":"customers"}]}]}'),
    Evidence("list:/proc/spl/kstat/zfs", data=b"payroll"),
    Evidence("cmd:zpool status -pP -s -t", data=ZPOOL, stderr=f"{HOST}: acme is slow\nof payroll".encode()),
    Evidence("/etc/fstab", data=b"/dev/customers/acme-db /srv/kunde-amsler/db ext4 defaults 0 0\n"),
    Evidence("/proc/7/cmdline", data=f"iscsid\0--host\0{HOST}\0{NQN}\0".encode()),
    Evidence("cmd:smp_rep", stderr=f"{HOST}: cannot open\n".encode(), exit=1, detail=f"on {HOST}"),
    Evidence("/sys/block/sda/device/vpd_pg80", data=b"\0\x80\0\x08" + SERIAL.encode()),
    Evidence("/etc/crypttab", Outcome.DENIED, detail=f"{HOST} {MAC} 10.20.30.40 {NQN}"),
)  # fmt: skip
SECRETS = (HOST, SERIAL, WWN, "acme", "customers", "payroll", "amsler", MAC, "10.20.30.40", LVM_UUID)


def test_nothing_that_was_planted_is_left() -> None:
    known, redacted = made(*EVERYWHERE)
    assert known.kept == known.changed == set()
    for item in redacted:
        for secret in SECRETS:
            assert secret.encode() not in item.data + item.stderr, (item.key, secret)
            assert secret not in item.key + item.detail, (item.key, secret)
    assert set(known.map()) >= {"host", "serial", "wwn", "volume", "path", "uuid"}
    assert "mapper" in known.sources


def test_the_same_name_is_the_same_everywhere_and_keeps_its_shape() -> None:
    known, redacted = made(*EVERYWHERE)
    by_key = {item.key: item.data.decode() for item in redacted}
    of = known.pseudonyms.of
    serial = of(NameKind.SERIAL, SERIAL)
    assert len(serial) == len(SERIAL)
    assert [c.isdigit() for c in serial] == [c.isdigit() for c in SERIAL]
    assert serial.isupper()
    wwn, group, volume = of(NameKind.WWN, WWN), of(NameKind.VOLUME, "customers"), of(NameKind.VOLUME, "acme-db")
    assert by_key["/run/udev/data/b8:0"].splitlines() == [
        f"S:disk/by-id/ata-ST4000_{serial}", f"E:ID_SERIAL_SHORT={serial}", f"E:ID_WWN=0x{wwn}",
    ]  # fmt: skip
    assert by_key["/sys/block/dm-0/dm/name"] == f"{group}-{volume.replace('-', '--')}\n"
    assert by_key["cmd:dmsetup table"].startswith(f"{group}-{volume.replace('-', '--')}: 0 8192 linear")
    (row,) = json.loads(by_key[command_key(LVS)])["report"][0]["lv"]
    assert (row["lv_name"], row["vg_name"]) == (volume, group)
    assert (
        by_key["/etc/fstab"] == f"/dev/{group}/{volume} /srv/{of(NameKind.PATH, 'kunde-amsler')}/db ext4 defaults 0 0\n"
    )
    again, _ = made(*EVERYWHERE)
    assert again.map() == known.map()
    other = Redactor(Pseudonyms(b"another key of minimum 16"), BUILTIN)
    other.learn(Frame(1, 1.0, 1.0, EVERYWHERE))
    assert other.text(SERIAL) not in {SERIAL, serial}


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1 localhost", "0.0.0.0:*", "255.255.255.0", "224.0.0.251", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00",
        "::1", "ff02::1", "[::]:22", "firmware 20.00.07.00", "1.2.3", "12:34:56", "0:0:0:0", "pci 0000:3b:00.0",
        "md0 : active raid10 sda1[0]", "cached blocks(3642185), cache percent(24)", "5123456789012345",
        "phy-1:0:52", "end_device-1:0:5", "6.1.0-38-amd64", "",
    ],
)  # fmt: skip
def test_what_tells_nobody_who_it_is_stays(text: str) -> None:
    known, _ = made(*EVERYWHERE)
    assert known.text(text) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (NameKind.SERIAL, "Not Specified"), (NameKind.SERIAL, "To Be Filled By O.E.M."), (NameKind.SERIAL, "00000000"),
        (NameKind.SERIAL, "0123456789"), (NameKind.HOST, "localhost"), (NameKind.HOST, "(none)"),
        (NameKind.VOLUME, "cache"),
        (NameKind.VOLUME, "sda1"), (NameKind.VOLUME, "data"), (NameKind.VOLUME, "md127"), (NameKind.VOLUME, "ab"),
    ],
)  # fmt: skip
def test_words_of_everybody_are_no_names(kind: NameKind, value: str) -> None:
    assert not usable(kind, value)


@pytest.mark.parametrize(
    ("own", "bucket"),
    [
        ("node2", "node2"), ("stor2", "stor2"), ("stor2.corp.example", "stor2"), ("ceph.example", "ceph"),
        ("stor2.corp.example", "stor2.corp.example"), ("stor2", "stor2.corp.example"), ("n2", "n2"),
    ],
)  # fmt: skip
def test_a_node_of_a_cluster_is_this_node_under_its_pseudonym_too(own: str, bucket: str) -> None:
    _, frames = open_capture(RECORDED / "ceph-slow-disk@3.tar.gz")
    renamed = [
        replace(frame, evidence=tuple(
            replace(item, data=f"{own}\n".encode()) if item.key == "/proc/sys/kernel/hostname"
            else replace(item, data=item.data.replace(b'"node2"', f'"{bucket}"'.encode()))
            for item in frame.evidence
        ))
        for frame in frames
    ]  # fmt: skip
    known = Redactor(Pseudonyms(KEY), BUILTIN)
    known.learn_origin(Origin(own))
    for frame in renamed:
        known.learn(frame)
    for course in (renamed, [known.frame(frame) for frame in renamed]):
        session = Session(Origin("n"), BUILTIN, ())
        session.feed_all(course)
        window = session.head().window
        (local,) = (row for row in window.rows(ClusterNode).values() if row.local)
        assert local.role == "osd"
        (daemon,) = window.rows(CephDaemon).values()
        (device,) = (row for row in window.rows(ClusterDevice).values() if row.device == "osd.2")
        assert device.local == "vda"
        things = {window.topology.find(name) for name in (daemon.name, f"{device.cluster}/{device.node}/osd.2")}
        assert len(things) == 1
    said = b"".join(item.data for frame in course for item in frame.evidence)
    assert b"corp" not in said
    assert b"stor2" not in said


def test_a_host_that_is_called_like_a_disk_or_numa_node_has_another_name_where_it_says_its_own() -> None:
    """Elsewhere the word has to stay, or there would be no such disk any more."""
    for name in ("sda", "node7", "online"):
        known, redacted = made(
            Evidence("/proc/sys/kernel/hostname", data=f"{name}\n".encode()),
            Evidence("/proc/mdstat", data=b"Personalities :\nunused devices: node7 sda online\n"),
            host=name,
        )  # fmt: skip
        assert known.origin(Origin(name)).name.startswith("host-")
        assert redacted[0].data.startswith(b"host-")
        assert redacted[1].data.endswith(b"node7 sda online\n")
        assert list(leaks([("f", b"node7 sda online")], known.pseudonyms)) == []
    assert made(host="localhost")[0].origin(Origin("localhost")).name == "localhost"


def test_a_raid_of_lvm_keeps_its_images_under_the_name_of_the_volume() -> None:
    """They belong together by the volume's name, the suffixes of LVM and the group's half of their UUIDs."""
    group, images = "Xk3dRtq7Lw2mNvYp4sHc8bJz1fWa6eQg", {}
    for number, suffix in enumerate(("", "_rimage_0", "_rimage_1", "_rmeta_0", "_rmeta_1")):
        folder = f"/sys/block/dm-{number}/dm"
        images[f"{folder}/name"] = f"vgkappel-kunde--amsler{suffix}"
        images[f"{folder}/uuid"] = f"LVM-{group}{number}s3dRtq7Lw2mNvYp4sHc8bJz1fWa6eQg"
    listed = Evidence("list:/sys/block", data="\n".join(f"dm-{number}" for number in range(5)).encode())
    known, redacted = made(listed, *(Evidence(key, data=f"{text}\n".encode()) for key, text in images.items()))
    assert known.kept == known.changed == set()
    assert "mapped-raids" in known.sources
    texts = {item.key: item.data.decode().strip() for item in redacted}
    of = known.pseudonyms.of
    mapping = f"{of(NameKind.VOLUME, 'vgkappel')}-{of(NameKind.VOLUME, 'kunde-amsler').replace('-', '--')}"
    assert mapping not in images.values()
    assert [texts[key] for key in images if key.endswith("name")] == [
        images[key].replace("vgkappel-kunde--amsler", mapping) for key in images if key.endswith("name")
    ]
    assert {text[:36] for key, text in texts.items() if key.endswith("uuid")} == {f"LVM-{of(NameKind.UUID, group)}"}
    hyphenated = "-".join(
        group[at:to] for at, to in ((0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32))
    )
    assert known.text(f"VG UUID {hyphenated}").replace("-", "").endswith(of(NameKind.UUID, group))


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        (Name.DEVICE, "disk/by-id/ata-ST4000NM0033-9ZM170_ZQ7K2WPX", [(NameKind.SERIAL, "ZQ7K2WPX")]),
        (Name.DEVICE, "disk/by-path/pci-0000:00:1f.2-ata-1", []),
        (Name.DEVICE, "mapper/vgkappel-amsler", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "amsler")]),
        (Name.MAPPING, "vgkappel-amsler-tpool", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "amsler")]),
        (Name.MAPPING, "vgkappel-my--tpool", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "my-tpool")]),
        (Name.VOLUME, "vgkappel/amsler_tdata", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "amsler")]),
        (Name.VOLUME, "vgkappel/amsler_rimage_0", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "amsler")]),
        (Name.VOLUME, "vgkappel/data_cold", [(NameKind.VOLUME, "vgkappel"), (NameKind.VOLUME, "data_cold")]),
    ],
)
def test_names_are_learned_without_words_of_udev_and_lvm(
    kind: Name, text: str, names: list[tuple[NameKind, str]]
) -> None:
    assert list(names_in(kind, text)) == names


def test_a_serial_number_of_digits_alone_is_one() -> None:
    assert usable(NameKind.SERIAL, "191145870012")
    assert not usable(NameKind.SERIAL, "1911458")


def test_addresses_of_one_network_stay_in_one() -> None:
    pseudonyms = Pseudonyms(KEY)
    one, two, far = (pseudonyms.of(NameKind.IPV4, a) for a in ("10.20.30.40", "10.20.30.77", "10.99.30.77"))
    assert one.rpartition(".")[0] == two.rpartition(".")[0] != far.rpartition(".")[0]
    assert pseudonyms.of(NameKind.IPV4, "10.20.30.0").endswith(".0")
    assert pseudonyms.of(NameKind.IPV4, "10.20.30.255").endswith(".255")
    six = [ipaddress.IPv6Address(pseudonyms.of(NameKind.IPV6, a)) for a in ("2001:db8:1:2::15", "2001:db8:1:2::16")]
    assert six[0].exploded[:19] == six[1].exploded[:19]
    assert pseudonyms.of(NameKind.IPV6, "fe80::1234").startswith("fe80::")


@given(st.lists(st.ip_addresses(v=4).map(str), min_size=2, max_size=20, unique=True))
def test_no_two_addresses_become_one(addresses: list[str]) -> None:
    pseudonyms = Pseudonyms(KEY)
    assert len({pseudonyms.of(NameKind.IPV4, a) for a in addresses}) == len(addresses)
    assert all(IPV4.fullmatch(pseudonyms.of(NameKind.IPV4, a)) for a in addresses)


@given(st.text(max_size=200), st.binary(max_size=200))
def test_nothing_raises(text: str, data: bytes) -> None:
    known, _ = made(*EVERYWHERE)
    known.text(text)
    for item in (*EVERYWHERE, Evidence("/sys/firmware/dmi/tables/DMI")):
        assert isinstance(known.evidence(replace(item, data=data)).data, bytes)
    for name in Name:
        assert all(isinstance(value, str) for _, value in names_in(name, text))


SAME = ("vm-numa-one-dimm", "vm-sas-hba", "vm-dm-cache", "md-rebuild-stalled")


@pytest.mark.parametrize("name", SAME)
def test_findings_are_the_same(name: str) -> None:
    origin, frames = opened(name)
    known = Redactor(Pseudonyms(KEY), BUILTIN, origin.collectors)
    known.learn_origin(origin)
    for frame in frames:
        known.learn(frame)
    found = []
    for whose, course in ((origin, frames), (known.origin(origin), [known.frame(frame) for frame in frames])):
        session = Session(whose, BUILTIN, RULES)
        session.feed_all(course)
        text = known.text if whose is origin else str
        found.append([
            (e.finding.rule, e.finding.severity, text(e.finding.subject), text(e.finding.summary), e.since, e.until)
            for e in session.episodes()
        ])  # fmt: skip
    assert sorted(found[0]) == sorted(found[1])
    assert known.changed == known.kept == set()


def test_a_leak_is_found_wherever_it_is() -> None:
    known, _ = made(*EVERYWHERE)
    known.text(f"{SERIAL} {HOST} {WWN}")
    for name, data, left in (
        ("a", f"x {SERIAL}-1 y".encode(), SERIAL),
        (f"b/{HOST}/c", b"", HOST),
        ("d", b"\0\1" + HOST.encode() + b"\0", HOST),
        ("e", f"naa.{WWN}".encode(), WWN),
    ):
        assert list(leaks([(name, data)], known.pseudonyms)) == [(name, left)]
    assert list(leaks([("f", b"nothing of anybody")], known.pseudonyms)) == []


def capture(folder: Path) -> Path:
    """A capture made by hand, with names in many places."""
    frame = folder / "in/frames/0001"
    for key, text in {
        "proc/sys/kernel/hostname": HOST,
        "proc/diskstats": "   8       0 sda 100 0 800 4 0 0 0 0 0 4 4 0 0 0 0 0 0\n",
        "sys/block/sda/dev": "8:0\n",
        "sys/block/sda/size": "8192\n",
        "run/udev/data/b8:0": f"E:ID_SERIAL_SHORT={SERIAL}\nE:ID_FS_LABEL=payroll\n",
        "sys/class/net/eth0/address": MAC,
        "proc/mdstat": "Personalities : [raid1]\nmd0 : active raid1 sda[0](F)\n      10 blocks [2/1] [U_]\n\n"
        "unused devices: <none>\n",
        "commands/zpool_status/stdout": "  pool: payroll\n state: ONLINE\n",
    }.items():
        (frame / key).parent.mkdir(parents=True, exist_ok=True)
        (frame / key).write_text(text)
    (folder / "in/manifest.json").write_text(json.dumps({"schema": "sdstop.capture/1", "host": HOST}))
    return folder / "in"


@pytest.mark.parametrize("target", ["out", "out.tar.gz"])
def test_a_capture_is_copied_without_names(tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, key = tmp_path / target, tmp_path / "key"
    words = ["capture", "--from", str(capture(tmp_path)), "-o", str(out), "--redact", str(key)]
    assert command.execute(words) == 0
    said = capsys.readouterr().err
    assert re.search(
        r"; replaced [3-9] names from \d+ sources; mapping saved in \S+\.map\.json \(keep it private\)$", said
    )
    assert "no name" not in said
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    mapped = Path(f"{out}.map.json")
    assert stat.S_IMODE(mapped.stat().st_mode) == 0o600
    assert json.loads(mapped.read_text())["serial"].keys() == {SERIAL}
    if target == "out":
        files = {str(file): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    else:
        with tarfile.open(out) as archive:
            files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
    assert files
    for name, data in files.items():
        for secret in (HOST, SERIAL, MAC, "payroll"):
            assert secret not in name
            assert secret.encode() not in data, name
    origin, _ = open_capture(out)
    assert origin.name == json.loads(mapped.read_text())["host"][HOST]
    assert command.execute(["check", "--from", str(out)]) == 2


def test_two_captures_with_one_key_agree(tmp_path: Path) -> None:
    names = []
    for number in "12":
        out = tmp_path / f"o{number}"
        source = str(capture(tmp_path / number))
        assert command.execute(["capture", "--from", source, "-o", str(out), "--redact", str(tmp_path / "key")]) == 0
        names.append(open_capture(out)[0].name)
    assert names[0] == names[1]


def test_a_capture_with_a_name_left_in_it_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that some part of the writer put back is found by the look through the finished archive."""
    plain = Redactor.evidence
    monkeypatch.setattr(
        Redactor,
        "evidence",
        lambda self, item: item if item.key.endswith("/b8:0") else plain(self, item),
    )
    monkeypatch.setattr(Redactor, "origin", lambda self, _: Origin(self.text(f"{HOST} {SERIAL}")))
    out = tmp_path / "out.tar.gz"
    assert command.execute(["capture", "--from", str(capture(tmp_path)), "-o", str(out), "--redact"]) == 1
    assert "1 names survived redaction" in capsys.readouterr().err
    assert not out.exists()


def test_a_report_has_no_names_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(capture(tmp_path))
    for form in ("text", "json", "html", "markdown"):
        assert command.execute(["report", "--from", source, "--format", form, "--redact"]) == 0
        said = capsys.readouterr().out
        assert "host-" in said
        assert not [secret for secret in (HOST, SERIAL, MAC, "payroll") if secret in said]


@pytest.mark.parametrize(
    ("mode", "text", "why"), [(0o644, "x" * 32, "readable by others"), (0o600, "short", "minimum 16")]
)
def test_a_key_that_is_none_is_refused(
    tmp_path: Path, mode: int, text: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.write_text(text)
    key.chmod(mode)
    source = str(capture(tmp_path))
    assert command.execute(["report", "--from", source, "--redact", str(key)]) == 1
    assert why in capsys.readouterr().err


def test_frames_are_held_back_until_names_are_known() -> None:
    """A name that is said only in the second frame is not in the first one either."""
    drives = [{"machine": f"acme-{SERIAL}", "drive": "vda", "source": None, "limits": {"iops": 5}}]
    first = Frame(1, 1.0, 1.0, (Evidence("answer:qemu.drives", data=json.dumps(drives).encode()),))
    second = Frame(2, 2.0, 2.0, tuple(item for item in EVERYWHERE if item.key.startswith(("/sys/block/sda/", "/run"))))
    known = Redactor(Pseudonyms(KEY), BUILTIN)
    for frame in (first, second):
        known.learn(frame)
    assert SERIAL.encode() not in known.frame(first).evidence[0].data
