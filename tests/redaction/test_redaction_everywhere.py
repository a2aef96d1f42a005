"""Every story with names and secrets planted in every place that a capture has: none is left, and the findings are."""

from __future__ import annotations

import ipaddress
import json
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.collectors.memory import smbios
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.core.interval import unrolled
from sdstop.core.judgement import Judgement, judge
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter
from sdstop.redaction import credentials, sockets
from sdstop.redaction.leak import leaks
from sdstop.redaction.ordinary import is_ordinary
from sdstop.redaction.pseudonym import NameKind, Pseudonyms
from sdstop.redaction.redactor import REMOVED, Redactor
from sdstop.rules import RULES
from tests.fixtures import expected, opened, sampled, twentieth
from tests.redaction import planting

KEY = b"a key of thirty-two bytes, or so"
TRACES = planting.traces()
LONGEST = 14
"""Frames of a story that are judged: enough for every rule, and before and after must only be the same."""


def redactor(frames: Iterable[Frame], host: str, collectors: frozenset[str] | None = None) -> Redactor:
    """Return a redactor that has learned frames; `collectors` are those that the manifest names."""
    known = Redactor(Pseudonyms(KEY), BUILTIN, collectors)
    known.learn_origin(Origin(host))
    for frame in frames:
        known.learn(frame)
    return known


def parts(items: Iterable[Evidence]) -> Iterator[tuple[str, bytes]]:
    """Yield everything that is written of evidence, and the key whose it is."""
    for item in items:
        told = (item.key.encode("utf-8", "surrogateescape"), item.detail.encode("utf-8", "surrogateescape"))
        yield from ((item.key, data) for data in (*told, item.data, item.stderr) if data)


def left(items: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Return what is left of the secrets, and of which evidence."""
    told = list(parts(items))
    if not any(TRACES.left(b"\n\n".join(data for _, data in told))):
        return []
    return [(key, said) for key, data in told for said in TRACES.left(data)]


def short(frames: Sequence[Frame]) -> list[Frame]:
    """Return the first frame and the last ones of a long course; the first of these holds what changed in between."""
    if len(frames) <= LONGEST:
        return list(frames)
    at = len(frames) + 1 - LONGEST
    between = frames[1 : at + 1]
    changed = {item.key: item for frame in between for item in frame.evidence}
    ran = {name: mark for frame in between for name, mark in (frame.ran or {}).items()}
    first = replace(frames[at], evidence=tuple(changed.values()), ran=None if frames[at].ran is None else ran)
    return [frames[0], first, *frames[at + 1 :]]


def judged(origin: Origin, frames: Iterable[Frame]) -> Judgement:
    """Return what the rules say of all frames together."""
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    return judge(session.head().window, RULES, {})


FREE = {"cluster-constraint-left"}
"""Rules whose subjects that pass have free text, which is replaced by words of our own: IDs of constraints."""
Told = tuple[list[tuple[object, ...]], set[tuple[str, str]], set[str]]


def told(found: Judgement, renamed: Callable[[str], str]) -> Told:
    """Return the findings with their numbers, what was ruled out, and what could not be checked."""
    findings: list[tuple[object, ...]] = [
        (f.rule, f.severity, renamed(f.subject), renamed(f.summary),
        [(v.name, renamed(v.value) if isinstance(v.value, str) else v.value) for v in f.values],
         [renamed(cite.key) for cite in f.evidence], [renamed(advice) for advice in f.steps])
        for f in found.findings
    ]  # fmt: skip
    findings.sort(key=repr)  # their order is that of their names
    passed = {
        (good.rule, "" if good.rule in FREE else renamed(subject))
        for good in found.ruled_out
        for subject in good.subjects
    }
    return findings, passed, {u.rule for u in found.unchecked}


RECORDED = (
    "ceph-osd-down", "ceph-slow-osd", "gluster-brick-down", "gluster-clean", "gluster-split-brain", "kernel-hung",
    "kernel-medium-error", "kernel-quiet", "kernel-xfs-shutdown", "pacemaker-link-down", "pacemaker-stopped",
    "san-healthy", "san-path-failed",
)  # fmt: skip
"""Recordings of real clusters and kernels, by a few collectors: what is planted for others is not recorded there."""
STORY = [
    name for name in twentieth(1) if not str(name.values[0]).startswith("vm-") and name.values[0] not in RECORDED
]  # fmt: skip
"""All that are no recordings; of every twentieth of them in every run."""
WHOLE = {"nfs-timeouts", "relapsing-member"}
"""Stories that are judged with all their frames: what happened minutes before counts, too."""
UNSEEN = {"rebuild-stalled", "tasks-stuck", "io-stalled", "slow-device"}
"""Rules that want more frames than are judged here, or a paste without any topology: planting brings some."""


@pytest.mark.parametrize("name", sampled(RECORDED, 3))
def test_nothing_planted_is_left_in_a_recording_of_a_cluster_and_its_findings_are_the_same(name: str) -> None:
    origin, course = opened(name)
    planted = Retention(BUILTIN).frames(planting.planted(course))
    known = redactor(planted, planting.FQDN, origin.collectors)
    redacted = [known.frame(frame) for frame in planted]
    assert left(item for frame in redacted for item in frame.evidence) == []
    after, before = told(judged(origin, redacted), str), told(judged(origin, planted), known.text)
    assert after[:2] == before[:2]
    assert after[0] or not expected(name).last
    assert known.kept == known.changed == set()


@pytest.mark.parametrize("name", STORY)
def test_nothing_planted_is_left_in_a_story_and_its_findings_are_the_same(name: str) -> None:
    origin, course = opened(name)
    frames = course if name in WHOLE else short(course)
    planted = Retention(BUILTIN).frames(planting.planted(frames))  # as a capture of others is opened
    origin, planted = unrolled(origin, planted, BUILTIN)
    known = redactor(planted, planting.FQDN)
    redacted = [known.frame(frame) for frame in planted]
    assert left(item for frame in redacted for item in frame.evidence) == []
    of = known.origin(planting.planted_origin(origin))
    assert left([Evidence(of.name, detail="\n".join((of.note, *of.facts, *of.facts.values())))]) == []
    before, after = judged(origin, planted), judged(of, redacted)
    assert {rule for rule, _, _ in expected(name).last} - UNSEEN <= {finding.rule for finding in before.findings}
    assert told(after, str) == told(before, known.text)
    assert known.kept == known.changed == set()


def members(path: Path) -> dict[str, bytes]:
    """Return the files of an archive, decompressed."""
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]


def test_an_archive_has_nothing_planted_in_any_member_and_its_map_is_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the commands that a person types: all files of the archive, their names, the reports in it, what is said."""
    origin, frames = opened("aoe-flashcache")
    origin = planting.planted_origin(origin)
    source, out, key = tmp_path / "raw.tar.gz", tmp_path / "out.tar.gz", tmp_path / "key"
    with CaptureWriter(source, origin.name, facts=origin.facts, collectors=None) as writer:
        for frame in planting.planted(frames):
            writer.add(frame)
        writer.finish()
    assert any(TRACES.left(data) for data in members(source).values())
    assert command.execute(["capture", "--from", str(source), "-o", str(out), "--redact", str(key)]) == 0
    files = members(out)
    assert {"findings.json", "report.md", "report.html", "manifest-final.json", "index.jsonl"} <= {
        name.partition("/")[2] for name in files
    }
    for name, data in files.items():
        assert list(TRACES.left(name.encode())) == []
        assert (name, list(TRACES.left(data))) == (name, [])
    assert list(TRACES.left(capsys.readouterr().err.encode())) == []
    mapped = Path(f"{out}.map.json")
    assert stat.S_IMODE(mapped.stat().st_mode) == stat.S_IMODE(out.stat().st_mode) == 0o600
    said = mapped.read_bytes()
    assert planting.HOST.encode() in said
    assert planting.SERIAL.encode() in said
    assert not [secret for secret in planting.CREDENTIALS if secret.encode() in said]
    assert command.execute(["check", "--from", str(out)]) == 2
    assert "cachedev" in capsys.readouterr().out
    for form in ("html", "json"):
        assert command.execute(["report", "--from", str(source), "--format", form, "--redact", str(key)]) == 0
        assert list(TRACES.left(capsys.readouterr().out.encode())) == []


def test_credentials_are_taken_out_of_what_others_made_without_being_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A capture from elsewhere, copied or reported without --redact: its names stay, its passwords do not."""
    source, out = tmp_path / "raw", tmp_path / "out.tar.gz"
    with CaptureWriter(source, "n") as writer:
        writer.add(Frame(1, 1.0, 1.0, tuple(planting.saying())))
        writer.finish()
    assert command.execute(["capture", "--from", str(source), "-o", str(out)]) == 0
    everything = b"\n".join([*(name.encode() for name in members(out)), *members(out).values()])
    assert planting.HOST.encode() in everything
    secrets = set(planting.CREDENTIALS) - {planting.VENDOR}  # which is only a text of the firmware
    assert secrets & set(TRACES.left(everything)) == set()
    capsys.readouterr()
    assert command.execute(["report", "--from", str(source), "--format", "html"]) == 0
    assert secrets & set(TRACES.left(capsys.readouterr().out.encode())) == set()


def test_a_sosreport_and_a_pasted_text_are_redacted_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = tmp_path / f"sosreport-{planting.HOST}-2026-11-21-abcdefg"
    for name, data in {
        "version.txt": b"sosreport: 4.0\n",
        "etc/hostname": f"{planting.FQDN}\n".encode(),
        "proc/mdstat": b"Personalities : [raid1]\nmd0 : active raid1 sdb[1](F) sda[0]\n      10 blocks [2/1] [U_]\n",
        "sos_commands/host/uname_-a": f"Linux {planting.FQDN} 6.1.0\n".encode(),
        f"sos_commands/devicemapper/dmsetup_info_{planting.GROUP}-x": planting.EVERYTHING.encode(),
        **{
            f"sos_commands/x/{item.key[4:].replace(' ', '_').replace('/', '.')}": item.data
            for item in planting.saying()
            if item.key.startswith("cmd:")
        },
        **{
            item.key[1:]: item.data
            for item in planting.saying()
            if item.key.startswith(("/proc", "/sys", "/etc", "/run"))
        },
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
    pasted = tmp_path / "ticket.txt"
    pasted.write_text(
        f"[{planting.USER}@{planting.HOST} ~]# dmsetup table\n{planting.GROUP}-{planting.VOLUME.replace('-', '--')}:"
        " 0 8 linear\n"
        f"[{planting.USER}@{planting.HOST} ~]# zpool status\n  pool: {planting.POOL}\n state: ONLINE\n"
        f"{planting.USER}@{planting.HOST}:~$ drbdsetup show\nresource {planting.RESOURCE} {{\n"
        f"    _name {planting.PEER};\n"
        f'    shared-secret "{planting.PASSWORD}";\n}}\nmail {planting.MAIL}\n',
        encoding="utf-8",
    )
    for source, out in ((top, tmp_path / "a.tar.gz"), (pasted, tmp_path / "b.tar.gz")):
        assert command.execute(["capture", "--from", str(source), "-o", str(out), "--redact"]) == 0
        for name, data in members(out).items():
            assert (name, list(TRACES.left(name.encode() + data))) == (name, [])


COINCIDENCES = (
    "sda", "node", "md0", "eth1", "data", "error", "online", "active", "linear", "flashcache", "cache", "read", "name",
    "raid10", "recovery", "mdadm", "block", "disk", "memory", "total", "stats", "nvme", "iops", "volume", "status",
    "type",
    "devices", "frozen", "idle", "true", "null", "draid3", "raidz2", "mirror", "resilver", "Health", "hits", "100",
    "4096",
)  # fmt: skip


def plain(found: Judgement) -> list[tuple[object, ...]]:
    """Return the findings without their words, of which some are names here."""
    return sorted(
        (f.rule, f.severity, *(v.value for v in f.values if not isinstance(v.value, str))) for f in found.findings
    )


_SLOW = ("draid-one-hba", "scaleio-cloud", "md-rebuild-throttled", "drbd-resync")


@pytest.mark.parametrize("name", ["aoe-flashcache", *(pytest.param(name, marks=pytest.mark.slow) for name in _SLOW)])
def test_a_volume_that_is_called_like_a_word_of_the_formats_destroys_nothing(name: str) -> None:
    """Names that parsers need as words are kept: no finding, and no number, may go with them."""
    origin, course = opened(name)
    frames = short(course)
    named = [{"machine": word, "drive": "vda", "source": None, "limits": {"iops": 500}} for word in COINCIDENCES]
    answer = Evidence("answer:qemu.drives", data=json.dumps(named).encode())
    ran = None if frames[0].ran is None else {**frames[0].ran, "qemu": RunMark(frames[0].monotonic, 0.0)}
    frames[0] = replace(frames[0], evidence=(*frames[0].evidence, answer), ran=ran)
    known = redactor(frames, "localhost")
    after = judged(known.origin(origin), [known.frame(frame) for frame in frames])
    assert plain(after) == plain(judged(origin, frames))
    assert after.findings
    assert known.changed == set()
    assert {"frozen", "resilver"} & known.names.keys() or known.kept  # some of them are not ordinary


@pytest.mark.parametrize("host", ["kappel9", "kappel9.kanton.example"])
def test_a_name_that_a_parser_needs_is_found_by_trial_and_kept(host: str) -> None:
    """A machine may be called `recovery`, and an array be in it; another machine's name goes all the same."""
    mdstat = b"""Personalities : [raid1]
md0 : active raid1 sdb[2] sda[0]
      1046528 blocks super 1.2 [2/1] [U_]
      [==>..................]  recovery = 12.6% (132096/1046528) finish=0.9min speed=16512K/sec

unused devices: <none>
"""
    drives = [{"machine": m, "drive": "vda", "source": None, "limits": {"iops": 5}} for m in ("recovery", "brauerei")]
    items = (
        Evidence("/proc/mdstat", data=mdstat), Evidence("answer:qemu.drives", data=json.dumps(drives).encode()),
        Evidence("/proc/sys/kernel/hostname", data=f"{host}\n".encode()),
    )  # fmt: skip
    frame = Frame(1, 1.0, 1.0, items)
    known = redactor([frame], host)
    made = {item.key: item.data for item in known.frame(frame).evidence}
    assert known.kept == {"recovery"}
    assert known.changed == set()
    assert made["/proc/mdstat"] == mdstat
    assert b"recovery" in made["answer:qemu.drives"]
    assert not [name for name in (b"brauerei", b"kappel9") if name in b"".join(made.values())]
    assert "recovery" not in json.dumps(known.map())


def test_what_comes_in_place_of_a_short_name_is_no_word_of_the_formats() -> None:
    """Of three letters there are not many: none of them may become a disk."""
    known = Pseudonyms(KEY)
    names = [a + b + c for a in "xyz" for b in "klm" for c in "pqrs"]
    made = [known.of(NameKind.VOLUME, name) for name in names]
    assert not [word for word in made if is_ordinary(word)]
    assert len(set(made)) == len(names)


@pytest.mark.parametrize(
    "text",
    [
        f"node.session.auth.password = {planting.CHAP}", f"--password {planting.PASSWORD}",
        f"--token={planting.PASSWORD}",
        json.dumps({"password": planting.PASSWORD}), json.dumps({"x": json.dumps({"token": planting.PASSWORD})}),
        json.dumps({"apiKey": 'a"b' + planting.PASSWORD}), f"key = {planting.CEPH}", planting.LEGACY, planting.BASIC,
        f"x\0--password\0{planting.PASSWORD}\0y", f"mysql -p{planting.PASSWORD}",
        f"Set-Cookie: sid={planting.PASSWORD}; Path=/",
        f"passwd='{planting.PASSWORD}'", f"community={planting.PASSWORD}", f"https://u:{planting.PASSWORD}@h/x",
    ],
)  # fmt: skip
def test_a_credential_is_gone(text: str) -> None:
    made = credentials.without(text)
    assert list(TRACES.left(made.encode())) == []
    assert "removed" in made
    if text.startswith("{"):
        json.loads(made)


@pytest.mark.parametrize(
    "text",
    [
        '{"password": null, "secretsEnabled": true, "tokens": null}', "tcp_keepalive_time 75", "Session: 12",
        "keyLength 3",
        "bypass_writes 7", "0 8 crypt aes-xts-plain64 0000000000000000000000000000000000000000 0 8:0 4096", "passed 3",
        "https://host/path@2x", "cookies 5",
        "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block",
        "token ring", "author=x", "sync_action resync=DELAYED", "AQ", "$1 $2",
    ],
)  # fmt: skip
def test_what_is_no_credential_stays(text: str) -> None:
    assert credentials.without(text) == text


@given(st.text(max_size=300), st.binary(max_size=300))
def test_taking_credentials_out_raises_nothing_and_twice_is_once(text: str, data: bytes) -> None:
    once = credentials.without(text)
    assert credentials.without(once) == once
    known = Pseudonyms(KEY)
    assert len(smbios.without_serials(data)) == len(data)
    for key in ("/proc/net/tcp", "/proc/net/route", "/proc/net/if_inet6"):
        assert sockets.replaced(key, text, known) is not None


def test_a_firmware_table_is_the_same_machine_without_serial_numbers() -> None:
    _, frames = opened("draid-one-dimm")
    table = next(item for item in frames[0].evidence if item.key.endswith("/DMI"))
    item = replace(table, data=planting.FIRMWARE + table.data)
    frame = Frame(1, 1.0, 1.0, (item,))
    (made,) = redactor([frame], "localhost").frame(frame).evidence
    assert len(made.data) == len(item.data)
    assert smbios.parse(made.data) == smbios.parse(item.data)
    assert list(TRACES.left(made.data)) == []
    assert smbios.without_serials(made.data) == made.data


def test_what_no_collector_reads_is_not_handed_on() -> None:
    """Who is logged in, which programs run for whom: nobody here knows where such texts say names."""
    unread = ("cmd:ps auxwww", "cmd:getent passwd", "slug:last_-x", "/etc/passwd", "/var/log/messages", "/proc/cmdline",
              "http:GET /api/x", "answer:psutil.users", "cmd:ceph mon dump")  # fmt: skip
    mdstat = Evidence("/proc/mdstat", data=b"Personalities :\nunused devices: <none>\n")
    frame = Frame(1, 1.0, 1.0, (mdstat, *(Evidence(key, data=b"xaver") for key in unread)))
    made = redactor([frame], "localhost").frame(frame).evidence
    withheld = [  # unread before, and unread after
        Evidence(key, data=f"({REMOVED})".encode()) for key in ("/var/log/messages", f"cmd:ceph ({REMOVED})")
    ]
    assert [item for item in made if item.data or item.stderr] == [mdstat, *withheld]
    assert "xaver" not in str(made)


def test_addresses_in_hex_digits_are_those_in_plain_text() -> None:
    known = Pseudonyms(KEY)
    plain = [known.of(NameKind.IPV4, a) for a in (planting.IPV4, planting.CLIENT)] + [
        known.of(NameKind.IPV6, planting.IPV6)
    ]
    texts = {item.key: item.data.decode() for item in planting.saying() if "/777/net/" in item.key}
    made = {key: sockets.replaced(key, text, known) or "" for key, text in texts.items()}
    tcp = made["/proc/777/net/tcp"].split()
    assert tcp[2] == f"{planting.little(plain[0])}:1F90"
    assert tcp[3] == f"{planting.little(plain[1])}:C738"
    assert made["/proc/777/net/if_inet6"].split()[0] == ipaddress.IPv6Address(plain[2]).packed.hex()


def test_a_leak_is_seen_in_other_letters_and_with_other_signs() -> None:
    known = redactor([Frame(1, 1.0, 1.0, tuple(planting.saying()))], planting.FQDN)
    known.text(planting.SAID)
    for text in (
        planting.HOST.upper(),
        planting.WWN.upper(),
        planting.MAC.replace(":", "-"),
        planting.UUID.replace("-", ""),
    ):
        assert list(leaks([("a", f"x {text} y".encode())], known.pseudonyms))
