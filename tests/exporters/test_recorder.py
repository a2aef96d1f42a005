"""The exporter's recorder: one sampler for both, and captures of the minutes around new critical findings."""

from __future__ import annotations

import re
import signal
import tarfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.capture.reader import open_capture
from sdstop.cli.command import execute
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.guard import Guard
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.exporters import recorder as module
from sdstop.exporters.critical import CriticalCaptures, CriticalLimits
from sdstop.exporters.recorder import Recorder
from sdstop.exporters.recording import RecordingWriter
from sdstop.rules import RULES
from tests import passwords
from tests.exporters.process import exporting, port_of

ORIGIN = Origin("node", live=True)


def frames(count: int, start: int = 1) -> list[Frame]:
    """Return frames of one second with a file that changes and one that does not."""
    once = Evidence("/proc/b", data=b"b")
    changing = (Evidence("/proc/a", data=b"%d" % n) for n in range(start, start + count))
    return [Frame(n, 1e9 + n, float(n), (item, once) if n == 1 else (item,)) for n, item in enumerate(changing, start)]


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


def put(recorder: Recorder, given: Sequence[Frame]) -> None:
    """Hand over frames and wait until they are written or lost."""
    for frame in given:
        recorder.put(frame)
        until(lambda: len(recorder._waiting) < 10)
    until(lambda: not recorder._waiting)


def test_all_frames_are_recorded(tmp_path: Path) -> None:
    path, said = tmp_path / "a.sdstop", list[str]()
    recorder = Recorder(ORIGIN, Guard(), said.append, path)
    put(recorder, frames(90))
    recorder.close()
    state = recorder.state
    assert (state.frames, state.lost, state.trouble) == (90, 0, "")
    assert state.size == path.stat().st_size > 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(open_capture(path)[1]) == 90
    assert said == []


def test_a_recording_that_cannot_be_opened_is_tried_again_and_loses_no_evidence(tmp_path: Path) -> None:
    path, said = tmp_path / "missing" / "a.sdstop", list[str]()
    recorder = Recorder(ORIGIN, Guard(), said.append, path)
    put(recorder, frames(30))
    until(lambda: bool(said))
    assert "No such file or directory" in recorder.state.trouble
    path.parent.mkdir()
    later = frames(60, 31)
    put(recorder, later)
    recorder.close()
    kept = open_capture(path)[1]
    assert [frame.taken for frame in kept] == [frame.taken for frame in later[30:]]  # tried again after a minute
    assert {item.key for item in kept[0].evidence} == {"/proc/a", "/proc/b"}
    assert recorder.state.lost == 60
    assert recorder.state.trouble == ""
    assert [line.partition(": [record]: ")[2][:7] for line in said] == ["failing", "works a"]


def test_a_full_disk_is_reported_once_and_over_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    recorder = Recorder(ORIGIN, Guard(), said.append, tmp_path / "a.sdstop")
    put(recorder, frames(5))
    until(lambda: recorder.state.frames == 5)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(RecordingWriter, "_write", full)
        put(recorder, frames(65, 6))
        until(lambda: recorder.state.frames + recorder.state.lost == 70)
        assert "No space left" in recorder.state.trouble
        assert recorder.state.lost > 0
    put(recorder, frames(40, 71))
    recorder.close()
    assert recorder.state.trouble == ""
    assert len(said) == 2
    assert open_capture(tmp_path / "a.sdstop")[1]


def test_frames_that_wait_for_a_disk_that_hangs_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hung = time.monotonic() + 0.5
    add = RecordingWriter.add

    def slow(self: RecordingWriter, frame: Frame) -> None:
        time.sleep(max(hung - time.monotonic(), 0))
        add(self, frame)

    monkeypatch.setattr(RecordingWriter, "add", slow)
    recorder = Recorder(ORIGIN, Guard(), lambda _: None, tmp_path / "a.sdstop")
    begun = time.monotonic()
    for frame in frames(300):
        recorder.put(frame)
    assert time.monotonic() - begun < 0.4  # nobody waits
    until(lambda: not recorder._waiting)
    recorder.close()
    kept = open_capture(tmp_path / "a.sdstop")[1]
    assert len(kept) + recorder.state.lost == 300
    assert recorder.state.lost >= 200
    known = {item.key: item.data for frame in kept for item in frame.evidence}
    assert known == {"/proc/a": b"300", "/proc/b": b"b"}


def test_an_internal_error_costs_the_frame_and_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    recorder = Recorder(ORIGIN, guard, lambda _: None, tmp_path / "a.sdstop")

    def broken(*_: object) -> None:
        raise KeyError("x")

    with monkeypatch.context() as patch:
        patch.setattr(RecordingWriter, "add", broken)
        put(recorder, frames(2))
        until(lambda: sum(guard.counts.values()) == 2)
    put(recorder, frames(2, 3))
    recorder.close()
    assert recorder.state.frames == 2


def test_closing_does_not_wait_for_a_disk_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PARTING", 0.2)
    monkeypatch.setattr(RecordingWriter, "add", lambda *_: time.sleep(3))
    recorder = Recorder(ORIGIN, Guard(), lambda _: None, tmp_path / "a.sdstop")
    recorder.put(frames(1)[0])
    begun = time.monotonic()
    recorder.close()
    assert time.monotonic() - begun < 1.0


# --- beside an exporter ---------------------------------------------------------------------------------------------


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A tree of a node's files."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "diskstats").write_text("   8       0 sda 100 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n")
    return root


def page(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:  # no sample yet
        return ""


def test_an_exporter_records_with_its_own_sampler(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "node.sdstop"
    (node / "config.toml").write_text(f'[record]\nfile = "{path}"\nkeep = "1h"\nmax_size = "10MiB"\n')
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: re.search(r"(?m)^sdstop_recorder_frames_total ([5-9]|\d\d)", page(port)) is not None)
        assert "\nsdstop_recorder_success 1\n" in page(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.communicate() == ("", "")
    origin, found = open_capture(path)
    assert origin.complete
    assert len(found) >= 5
    assert "/proc/diskstats" in {item.key for item in found[0].evidence}


def test_a_recorder_that_fails_does_not_end_the_exporter(node: Path, tmp_path: Path) -> None:
    (node / "config.toml").write_text(f'[export]\ndisks = "all"\n[record]\nfile = "{tmp_path}/missing/node.sdstop"\n')
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: "\nsdstop_recorder_success 0\n" in page(port))
        until(lambda: 'sdstop_disk_reads_total{device="sda"} 100\n' in page(port))
        until(lambda: re.search(r"(?m)^sdstop_recorder_lost_frames_total [1-9]", page(port)) is not None)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        said = process.communicate()[1]
        assert said.count("sdstop: [record]: failing: ") == 1
        assert said.endswith("No such file or directory; the exporter goes on\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('file = "node.sdstop"', "record.file: expected an absolute path"),
        ('keep = "long"', 'record: invalid duration "long"; use 10s, 1m, 1h or seconds'),
        ('max_size = "1kB"', 'record: size "1kB" is below 1MiB'),
        ('after = "2h"', "record: before and after: at most 1h"),
        ("captures = 0", "record.captures: expected a number from 1 to 1000"),
        ('path = "/x"', "record.path: unknown setting"),
    ],
)
def test_wrong_settings_are_named(line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[record]\n{line}\n")
    assert execute(["config", "--config", str(path)]) == 2
    assert said in capsys.readouterr().err


# --- captures of critical findings ----------------------------------------------------------------------------------


def faulty(*spans: tuple[str, int, int], severity: Severity = Severity.CRITICAL, standing: bool = False) -> Rule:
    """Return a rule that finds subjects from one frame to another."""

    def check(window: Window, limits: Limits) -> list[Finding]:
        return [
            Finding(severity=severity, subject=subject, cause="Odd.", title="ODD", standing=standing)
            for subject, first, last in spans
            if first <= window.now.number <= last
        ]

    return Rule("odd", "is odd", severity, check, ())


def watched(rule: Rule, given: Sequence[Frame], captures: CriticalCaptures) -> None:
    """Judge frames and keep them, as the two threads of an exporter do."""
    session = Session(ORIGIN, (), (rule,), remember=0.0)
    session.listeners.append(captures.look)
    for frame in given:
        captures.add(frame)
        session.feed(frame)
    captures.close()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_the_minutes_before_and_after_a_new_critical_finding_are_kept(tmp_path: Path) -> None:
    captures = CriticalCaptures(tmp_path / "c", ORIGIN, CriticalLimits(60.0, 30.0), settled=75.0)
    watched(faulty(("sda", 200, 250)), frames(400), captures)
    (path,) = kept(tmp_path / "c")
    assert path.name == "sdstop-critical-node-20010909T015000Z-odd.tar.gz"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    origin, found = open_capture(path)
    assert origin.complete
    assert (found[0].number, found[-1].number) == (140, 230)
    assert {item.key for item in found[0].evidence} == {"/proc/a", "/proc/b"}
    assert (captures.written, captures.trouble) == (1, "")


@pytest.mark.parametrize(
    "rule",
    [
        faulty(("sda", 1, 400)),
        faulty(("sda", 70, 300)),
        faulty(("sda", 200, 300), severity=Severity.WARNING),
        faulty(("sda", 200, 300), standing=True),
    ],
    ids=["from-the-start", "while-starting", "warning", "standing"],
)
def test_old_lasting_and_lesser_findings_are_not_kept(tmp_path: Path, rule: Rule) -> None:
    captures = CriticalCaptures(tmp_path / "c", ORIGIN, CriticalLimits(60.0, 30.0))
    watched(rule, frames(400), captures)
    assert kept(tmp_path / "c") == []


def test_a_finding_that_comes_and_goes_is_kept_once_and_another_one_too(tmp_path: Path) -> None:
    captures = CriticalCaptures(tmp_path / "c", ORIGIN, CriticalLimits(20.0, 10.0))
    spans = [("sda", at, at + 5) for at in range(100, 380, 20)]
    watched(faulty(*spans, ("sdb", 300, 310)), frames(400), captures)
    assert len(kept(tmp_path / "c")) == 2


def test_an_exporter_that_ends_writes_what_it_has(tmp_path: Path) -> None:
    captures = CriticalCaptures(tmp_path / "c", ORIGIN, CriticalLimits(20.0, 300.0))
    watched(faulty(("sda", 200, 400)), frames(230), captures)
    (path,) = kept(tmp_path / "c")
    assert open_capture(path)[1][-1].number == 230


def test_captures_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "mine.tar.gz").write_bytes(b"mine")
    (folder / "sdstop-critical-node-x.tar.gz.part").write_bytes(b"of a crash")
    captures = CriticalCaptures(folder, ORIGIN, CriticalLimits(5.0, 5.0, captures=2))
    watched(faulty(*((f"sd{at}", at, at + 2) for at in range(100, 200, 20))), frames(300), captures)
    assert captures.written == 5
    names = [path.name for path in kept(folder)]
    assert names[0] == "mine.tar.gz"
    assert len(names) == 3
    small = CriticalCaptures(folder, ORIGIN, CriticalLimits(5.0, 5.0, captures=2, bytes=10))
    watched(faulty(("sdz", 500, 505)), [replace(f, number=f.number + 300) for f in frames(300, 300)][:290], small)
    assert [path.name for path in kept(folder)] in (["mine.tar.gz"], names)


def test_a_directory_that_cannot_be_written_is_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    captures = CriticalCaptures(tmp_path / "file" / "c", ORIGIN, CriticalLimits(5.0, 5.0))
    watched(faulty(("sda", 100, 105)), frames(200), captures)
    assert captures.written == 0
    assert "cannot be written: Not a directory" in captures.trouble


MDSTAT = """Personalities : [raid10]
md0 : active raid10 sdd[3] sdc[2]{failed} sdb[1] sda[0]
      7809794048 blocks super 1.2 512K chunks 2 near-copies [4/{working}] [UU{slot}U]

unused devices: <none>
"""


def secretive(node: Path) -> None:
    """Add files with passwords that collectors read: mount options, command lines, and the configuration of Ceph."""
    mount = f"//nas/x /mnt cifs rw,username=root,password={passwords.WORD}"
    for name in ("1", "self"):
        (node / "proc" / name).mkdir()
        (node / "proc" / name / "mounts").write_text(f"/dev/sda / ext4 rw 0 0\n{mount} 0 0\n")
    (node / "proc" / "mounts").symlink_to("self/mounts")
    for number, argv in enumerate(passwords.FORMS, 100):
        process = node / "proc" / str(number)
        process.mkdir()
        (process / "comm").write_text(f"{argv[0][:15]}\n" if not passwords.left(argv[0][:15].encode()) else "app\n")
        (process / "cmdline").write_bytes(b"\\0".join(word.encode() for word in argv) + b"\\0")
    (node / "etc" / "ceph").mkdir(parents=True)
    (node / "etc" / "ceph" / "ceph.conf").write_text(f"[global]\nfsid = 1\nkey = {passwords.WORD}\n")


@pytest.mark.slow
def test_an_exporter_keeps_the_minutes_around_a_critical_finding_and_no_secret(node: Path, tmp_path: Path) -> None:
    folder, recording = tmp_path / "critical", tmp_path / "node.sdstop"
    mdstat = node / "proc" / "mdstat"
    mdstat.write_text(MDSTAT.format(failed="", working=4, slot="U"))
    secretive(node)
    (node / "config.toml").write_text(
        f'[record]\nfile = "{recording}"\non_critical = "{folder}"\nbefore = "20s"\nafter = "10s"\ncaptures = 2\n'
    )
    with exporting(node, "--listen", "127.0.0.1:0") as process:
        port = port_of(process)
        until(lambda: re.search(r"(?m)^sdstop_recorder_frames_total [1-9]", page(port)) is not None)
        time.sleep(80)  # findings of the first 75 s are those that the exporter found
        assert kept(folder) == []
        changed = time.time()
        mdstat.write_text(MDSTAT.format(failed="(F)", working=3, slot="_"))
        until(lambda: bool(kept(folder)) and kept(folder)[0].suffix == ".gz")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    (path,) = kept(folder)
    assert path.name.endswith("-array-degraded.tar.gz")
    origin, found = open_capture(path)
    assert origin.complete
    assert -25 < found[0].taken - changed < -15
    assert 9 < found[-1].taken - changed < 25
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(found)
    assert "array-degraded" in {finding.rule for finding in session.head().judgement.findings}
    assert "array-degraded" not in {episode.finding.rule for episode in session.episodes(found[0].monotonic)}
    for frames in (found, open_capture(recording)[1]):
        data = [item.data + item.stderr + item.key.encode() for frame in frames for item in frame.evidence]
        assert any(item.key == "/proc/self/mounts" for frame in frames for item in frame.evidence)
        assert [each for each in data if passwords.left(each)] == []
    with tarfile.open(path) as archive:
        members = [archive.extractfile(member) for member in archive if member.isreg()]
        assert [each for each in members if each is not None and passwords.left(each.read())] == []
