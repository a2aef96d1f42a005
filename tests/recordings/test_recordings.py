"""Recordings: what was written is read, while it is written and after crashes; nothing in a file is trusted."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from sdstop.capture.reader import OpenError, open_capture
from sdstop.core.block import Block
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.period import Period
from sdstop.exporters.recording import NotRecorded, RecordingLimits, RecordingWriter
from sdstop.recordings.database import NoRecording, Recording

ORIGIN = Origin("store1", privileged=True, facts={"kernel": "6.1"}, collectors=frozenset({"disks", "slow"}))
START = 1_763_900_000.0
ENDLESS = RecordingLimits(1e9, 1 << 40)


WIDE = "/proc/wide"
"""A text of many numbers, which are stored as differences from those of another block."""


def wide(second: int) -> Evidence:
    """Return a text in which one number moves, and that has another form from time to time."""
    rows = [b"%d %d\n" % (at, 1_000_000_007 * (at + 1) % 1_000_003) for at in range(40)]
    rows[second // 150 % 2] += b"x"
    return Evidence(WIDE, data=b"".join(rows) + b"%d\n" % second)


def frame(second: int, start: float = START, extra: Sequence[Evidence] = ()) -> Frame:
    """A frame with disks that move, one file that is read every 100 seconds, and one that was read at the start."""
    evidence = [Evidence("/proc/diskstats", data=b"8 0 sda %d %d\n" % (second, 3 * second)), *extra, wide(second)]
    ran = {"disks": RunMark(float(second), 0.001)}
    if second % 100 == 0:
        evidence.append(Evidence("/sys/slow", data=b"%d\n" % second))
        ran["slow"] = RunMark(float(second), 0.2)
    if second == 0:
        evidence.append(Evidence("cmd:lspci", data=b"once\n", stderr=b"warned", exit=3))
    return Frame(second + 1, start + second, float(second), tuple(evidence), ran)


def write(path: Path, seconds: range, limits: RecordingLimits = ENDLESS, start: float = START) -> RecordingWriter:
    with RecordingWriter(path, ORIGIN, limits) as writer:
        for second in seconds:
            writer.add(frame(second, start))
    return writer


def known(frames: Sequence[Frame]) -> dict[str, bytes]:
    found = {item.key: item.data for each in frames for item in each.evidence}
    last = found.pop(WIDE, None)
    assert last in {None, wide(round(frames[-1].monotonic)).data}
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "node.sdstop"


def test_all_frames_are_read(path: Path) -> None:
    write(path, range(200))
    with Recording(path) as recording:
        (run,) = recording.runs
        frames = list(recording.frames(run, START, START + 1e6))
        assert recording.origin(run).name == "store1"
        assert recording.origin(run).facts == {"kernel": "6.1"}
        assert recording.origin(run).collectors == ORIGIN.collectors
        assert recording.notes == []
    assert [each.number for each in frames] == list(range(1, 201))
    assert known(frames) == {"/proc/diskstats": b"8 0 sda 199 597\n", "/sys/slow": b"100\n", "cmd:lspci": b"once\n"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_part_begins_with_all_that_was_known(path: Path) -> None:
    write(path, range(400))
    _, frames = open_capture(path, period=Period(since="100s", until="90s"))
    assert [each.number for each in frames] == list(range(300, 311))
    first = {item.key: item for item in frames[0].evidence}
    assert first["/sys/slow"].data == b"200\n"
    assert (first["cmd:lspci"].stderr, first["cmd:lspci"].exit) == (b"warned", 3)
    assert frames[0].ran is not None
    assert frames[0].ran["slow"].started == 200.0
    assert frames[1].ran is not None
    assert "slow" in frames[1].ran
    assert "slow" not in (frames[2].ran or {})


def test_names_of_any_bytes_are_kept(path: Path) -> None:
    odd = [Evidence("/sys/x\udcff/y", data=b"1"), Evidence("/z\udc80", Outcome.FAILED, detail="bad \udcfe")]
    with RecordingWriter(path, ORIGIN, RecordingLimits(seconds=60.0)) as writer:
        for second in range(200):
            writer.add(frame(second, extra=odd if second == 0 else ()))
        assert writer.trouble == ""
    first = {item.key: item for item in open_capture(path)[1][0].evidence}
    assert first["/sys/x\udcff/y"].data == b"1"
    assert first["/z\udc80"].detail == "bad \udcfe"


def test_the_last_quarter_of_an_hour_is_opened(path: Path) -> None:
    write(path, range(2000))
    _, frames = open_capture(path)
    assert [frames[0].number, frames[-1].number] == [1100, 2000]


def test_old_blocks_are_dropped_and_what_they_knew_is_kept(path: Path) -> None:
    write(path, range(1000), RecordingLimits(seconds=120.0))
    with Recording(path) as recording:
        (run,) = recording.runs
        frames = list(recording.frames(run, 0, START + 1e6))
    assert 120 <= len(frames) <= 160
    assert known(frames[:1])["cmd:lspci"] == b"once\n"
    assert known(frames[:1])["/sys/slow"] == b"800\n"
    assert frames[0].ran is not None
    assert frames[0].ran["slow"].started == 800.0


def test_its_size_is_bounded(path: Path) -> None:
    chance = random.Random(1)
    limits = RecordingLimits(1e9, 1 << 20)
    with RecordingWriter(path, ORIGIN, limits) as writer:
        for second in range(3000):
            writer.add(frame(second, extra=[Evidence("/noise", data=chance.randbytes(2000))]))
        grown = path.stat().st_size
    assert path.stat().st_size <= grown <= (1 << 20) + 200_000
    _, frames = open_capture(path, period=Period(since="@1"))
    assert 200 < len(frames) < 3000
    assert known(frames[:1])["cmd:lspci"] == b"once\n"


def bases(path: Path) -> dict[int, int]:
    """Return the block that each one continues, 0 for none."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        return {number: Block.loaded(data).base for number, data in store.execute("SELECT id, data FROM block")}


def test_ten_blocks_share_the_texts_of_the_first_one_and_take_less(path: Path) -> None:
    write(path, range(700))
    found = bases(path)
    assert list(found.values())[:12] == [0, *[1] * 9, 0, 11]
    with contextlib.closing(sqlite3.connect(path)) as store:
        sizes = dict(store.execute("SELECT id, length(data) FROM block"))
    assert sizes[3] < 0.75 * sizes[11]
    with Recording(path) as recording:
        frames = list(recording.frames(recording.runs[0], START, START + 1e6))
    assert [{item.key: item.data for item in each.evidence}[WIDE] for each in frames] == [
        wide(second).data for second in range(700)
    ]


def test_a_block_that_others_need_is_dropped_together_with_them(path: Path) -> None:
    write(path, range(4000), RecordingLimits(1800.0, 1 << 40))
    found = bases(path)
    assert 1800 / 31 - 3 <= len(found) <= 1800 / 31 + 4
    assert all(base == 0 or base in found for base in found.values())
    assert set(found.values()) != {0}
    with Recording(path) as recording:
        frames = list(recording.frames(recording.runs[0], START, START + 1e6))
        assert recording.notes == []
    assert known(frames) == {"/proc/diskstats": b"8 0 sda 3999 11997\n", "/sys/slow": b"3900\n", "cmd:lspci": b"once\n"}
    assert frames[-1].number - frames[0].number == len(frames) - 1


def test_short_recordings_drop_blocks_one_by_one(path: Path) -> None:
    write(path, range(1000), RecordingLimits(300.0, 1 << 40))
    assert set(bases(path).values()) == {0}


def test_without_the_block_that_they_continue_others_are_noted(path: Path) -> None:
    write(path, range(700))
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.execute("UPDATE block SET data = x'00' WHERE id = 1")
        store.commit()
    with Recording(path) as recording:
        frames = list(recording.frames(recording.runs[0], START, START + 1e6))
        assert any("is damaged" in note for note in recording.notes)
    assert frames[-1].number == 700
    assert known(frames)["/proc/diskstats"] == b"8 0 sda 699 2097\n"


def test_files_of_ended_processes_do_not_pile_up(path: Path) -> None:
    with RecordingWriter(path, ORIGIN, RecordingLimits(seconds=60.0)) as writer:
        for second in range(2000):
            gone = Evidence(f"/proc/{second}/stat", Outcome.ABSENT)
            writer.add(frame(second, extra=[Evidence(f"/proc/{second + 1}/stat", data=b"x"), gone]))
    store = sqlite3.connect(path)
    (count,) = store.execute("SELECT count(*) FROM base").fetchone()
    store.close()
    assert count < 60


def test_it_is_read_while_it_is_written_by_two_readers(path: Path) -> None:
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        for second in range(100):
            writer.add(frame(second))
        one, other = Recording(path), Recording(path)
        seen = [len(list(each.frames(each.runs[0], 0, START + 1e6))) for each in (one, other)]
        for second in range(100, 200):
            writer.add(frame(second))
        with Recording(path) as later:
            more = len(list(later.frames(later.runs[0], 0, START + 1e6)))
        one.close()
        other.close()
    assert seen[0] == seen[1] <= 100
    assert more > seen[0] >= 62


def test_a_copy_of_the_file_alone_while_it_grows_has_all_blocks(path: Path, tmp_path: Path) -> None:
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        shutil.copy(path, tmp_path / "begun.sdstop")
        for second in range(100):
            writer.add(frame(second))
        shutil.copy(path, tmp_path / "copy.sdstop")
    with pytest.raises(OpenError, match="is a recording without a frame"):
        open_capture(tmp_path / "begun.sdstop")
    _, frames = open_capture(tmp_path / "copy.sdstop")
    assert [each.number for each in frames] == list(range(1, 94))


def test_a_reader_delays_what_the_file_alone_has_and_loses_nothing(path: Path, tmp_path: Path) -> None:
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        for second in range(40):
            writer.add(frame(second))
        with sqlite3.connect(path, isolation_level=None) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM block").fetchone()
            for second in range(40, 140):
                writer.add(frame(second))
            assert not writer.trouble
        reader.close()
        for second in range(140, 180):
            writer.add(frame(second))
        shutil.copy(path, tmp_path / "copy.sdstop")
        assert len(open_capture(path)[1]) == len(open_capture(tmp_path / "copy.sdstop")[1]) == 155


def test_an_empty_database_may_be_the_file_of_a_recording_that_grows(path: Path) -> None:
    store = sqlite3.connect(path)
    store.execute("PRAGMA user_version = 0")
    store.execute("VACUUM")
    store.close()
    with pytest.raises(NoRecording, match="is an empty SQLite database; a recording that grows has its frames in"):
        Recording(path)


@pytest.mark.parametrize("left", [100, 4096, 5000, 0.5, -4096])
def test_a_file_that_is_cut_is_called_so(path: Path, left: float) -> None:
    write(path, range(100))
    data = path.read_bytes()
    path.write_bytes(data[: round(left * len(data)) if 0 < left < 1 else int(left)])
    with pytest.raises(OpenError, match=r"is cut: it has [\d.]+K? of [\d.]+K$"):
        open_capture(path)


def test_another_writer_is_refused(path: Path) -> None:
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        writer.add(frame(0))
        with pytest.raises(NotRecorded, match="is being written by another process"):
            RecordingWriter(path, ORIGIN, ENDLESS)
        writer.add(frame(1))
    assert len(open_capture(path)[1]) == 2


def test_each_start_is_a_run_of_its_own(path: Path) -> None:
    write(path, range(100))
    write(path, range(50), start=START + 5000)
    origin, frames = open_capture(path)
    assert len(frames) == 50
    assert "1 other run" in origin.note
    _, earlier = open_capture(path, period=Period(at=f"@{START + 60:.0f}"))
    assert [earlier[0].number, earlier[-1].number] == [1, 61]
    with pytest.raises(OpenError, match="has no frame before the end of the period"):
        open_capture(path, period=Period(at=f"@{START - 60:.0f}"))


def test_runs_that_hold_nothing_any_more_are_removed(path: Path) -> None:
    write(path, range(100))
    write(path, range(100), RecordingLimits(seconds=60.0), start=START + 5000)
    with Recording(path) as recording:
        assert [run.id for run in recording.runs] == [2]
    store = sqlite3.connect(path)
    assert store.execute("SELECT count(*) FROM run").fetchone() == (1,)
    store.close()


class FullDisk(sqlite3.Connection):
    """A store that fails for a while as SQLite does on a full disk."""

    full = False

    def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
        if type(self).full and sql.startswith("INSERT INTO block"):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(sql, *rest)  # type: ignore[arg-type]


def test_a_full_disk_loses_frames_and_no_knowledge(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=FullDisk))
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        for second in range(310):
            FullDisk.full = 180 <= second < 260
            writer.add(frame(second))
            if second == 240:
                assert writer.trouble == "database or disk is full"
        assert writer.trouble == ""
        assert 60 <= writer.lost <= 100
    _, frames = open_capture(path)
    assert len(frames) == 310 - writer.lost
    assert known([each for each in frames if each.taken < START + 299])["/sys/slow"] == b"200\n"


@pytest.mark.needs("root", "mounts")
def test_a_disk_that_is_really_full_ends_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "small", small], check=True)
    try:
        chance = random.Random(2)
        troubles = set()
        with RecordingWriter(small / "node.sdstop", ORIGIN, ENDLESS) as writer:
            for second in range(600):
                writer.add(frame(second, extra=[Evidence("/noise", data=chance.randbytes(2000))]))
                troubles.add(writer.trouble)
        assert "database or disk is full" in troubles
        assert writer.lost > 100
        _, frames = open_capture(small / "node.sdstop")
        assert known(frames)["cmd:lspci"] == b"once\n"
    finally:
        subprocess.run(["umount", small], check=True)


KILLED = """
import os, sys, sqlite3
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from sdstop.exporters.recording import RecordingWriter, RecordingLimits
import sdstop.exporters.recording as module
from test_recordings import ORIGIN, frame

class Killed(sqlite3.Connection):
    count = int(sys.argv[2])
    def execute(self, *given):
        Killed.count -= 1
        if Killed.count < 0:
            os.kill(os.getpid(), 9)
        return super().execute(*given)

connect = sqlite3.connect
module.sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Killed)
with RecordingWriter(sys.argv[1], ORIGIN, RecordingLimits(90.0)) as writer:
    for second in range(400):
        writer.add(frame(second))
        print(second, flush=True)
"""


@pytest.mark.parametrize("statement", [3, 9, 15, 21, 24, 27, 40, 57, 77, 93, 110, 128])
def test_a_kill_at_any_statement_loses_at_most_the_last_block(path: Path, statement: int) -> None:
    argv = [sys.executable, "-c", KILLED, str(path), str(statement), str(Path(__file__).parent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    added = len(done.stdout.splitlines())
    try:
        with Recording(path) as recording:
            frames = list(recording.frames(recording.runs[-1], 0, START + 1e6))
            assert recording.notes == []
    except NoRecording:
        assert added <= 32
        return
    assert frames[-1].number >= added - 32
    assert known(frames[:1])["cmd:lspci"] == b"once\n"
    write(path, range(40), start=START + 9000)
    assert len(open_capture(path)[1]) == 40


WRITING = """
import sys
import threading
sys.path.insert(0, sys.argv[2])
from sdstop.exporters.recording import RecordingWriter, RecordingLimits
from test_recordings import ORIGIN, frame

with RecordingWriter(sys.argv[1], ORIGIN, RecordingLimits(90.0)) as writer:
    for second in range(200):
        writer.add(frame(second))
        print(second, flush=True)
"""
WRITES = "pwrite64,fdatasync,fsync,ftruncate,unlink"
"""System calls by which SQLite changes files, and makes changes last."""


@pytest.mark.needs("strace")
@pytest.mark.parametrize("calls", [(1, 4, 30), pytest.param((), id="each", marks=pytest.mark.slow)], ids=str)
def test_a_kill_at_each_write_of_the_file_leaves_whole_blocks(
    path: Path, tmp_path: Path, calls: tuple[int, ...]
) -> None:
    log = tmp_path / "calls"
    program = [sys.executable, "-c", WRITING, str(path), str(Path(__file__).parent)]
    argv = ["strace", "-f", "-o", str(log), "-P", str(path), "-P", f"{path}-wal", "-e"]
    subprocess.run([*argv, f"trace={WRITES}", *program], check=True, capture_output=True, timeout=120)
    lines = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    made = Counter(line.partition("(")[0] for line in lines if "(" in line)
    assert made["pwrite64"] > 40
    assert len(made) > 1
    each = [(name, number) for name in sorted(made) for number in range(1, made[name] + 1)]
    for name, number in [("pwrite64", call) for call in calls] or each:
        for old in path.parent.glob(f"{path.name}*"):
            old.unlink()
        kill = f"inject={name}:signal=SIGKILL:when={number}"
        done = subprocess.run([*argv, kill, *program], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == -signal.SIGKILL, (name, number)
        added = len(done.stdout.splitlines())
        try:
            with Recording(path) as recording:
                frames = list(recording.frames(recording.runs[-1], 0, START + 1e6))
                assert recording.notes == []
        except NoRecording:
            assert added <= 32, (name, number)
            continue
        assert frames[-1].number >= added - 32, (name, number)
        assert [each.number for each in frames] == list(range(frames[0].number, frames[-1].number + 1))
        assert known(frames[:1])["cmd:lspci"] == b"once\n"


def test_a_power_cut_after_each_write_leaves_whole_blocks(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block is written to the log, page by page over an older log, and from there to the file; each write is cut."""
    log, moved = Path(f"{path}-wal"), RecordingWriter._into_file
    steps: list[tuple[bytes, bytes, bytes]] = []
    """The file before a block is moved into it, the log, and the file after that."""

    def noted(writer: RecordingWriter) -> None:
        before, written = path.read_bytes(), log.read_bytes()
        moved(writer)
        steps.append((before, written, path.read_bytes()))

    monkeypatch.setattr(RecordingWriter, "_into_file", noted)
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        for second in range(155):
            writer.add(frame(second))
    assert len(steps) == 5
    older = b""
    for blocks, (before, written, after) in enumerate(steps[:5], 1):
        page = int.from_bytes(written[8:12], "big") + 24
        ends = {0, 16, 32, *range(32, len(written) + 1, page)}
        counts = [
            _blocks(tmp_path, before, written[:length] + older[length:])
            for length in sorted(ends | {end + 24 for end in ends} | {end + page // 2 for end in ends})
        ]
        assert counts == sorted(counts)
        assert {counts[0], counts[-1]} == {blocks - 1, blocks}
        assert len(counts) > 12
        for length in range(0, len(after), 2048):  # within pages, too
            assert _blocks(tmp_path, after[:length] + before[length:], written) == blocks
        assert _blocks(tmp_path, after, b"") == blocks
        older = written


def _blocks(folder: Path, file: bytes, log: bytes) -> int:
    """Return how many whole blocks a recording has after a cut, without any that is damaged."""
    for old in folder.glob("cut.*"):
        old.unlink()
    cut = folder / "cut.sdstop"
    cut.write_bytes(file)
    Path(f"{cut}-wal").write_bytes(log)
    try:
        with Recording(cut) as recording:
            frames = list(recording.frames(recording.runs[-1], 0, START + 1e6))
            assert recording.notes == []
    except NoRecording:
        return 0
    assert len(frames) % 31 == 0
    return len(frames) // 31


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_file_gives_a_part_or_a_reason(path: Path, seed: int) -> None:
    write(path, range(130))
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(16, len(data))
        data[place : place + 64] = chance.randbytes(64)
    path.write_bytes(bytes(data[: chance.randrange(1000, len(data))] if seed % 3 == 0 else data))
    reason, origin = "", ORIGIN
    try:
        origin, frames = open_capture(path)
    except OpenError as error:
        reason = str(error)
        frames = []
    if not frames:
        assert "\n" not in reason
        return
    texts = {b"8 0 sda %d %d\n" % (second, 3 * second) for second in range(130)}
    assert all(item.data in texts for each in frames for item in each.evidence if item.key == "/proc/diskstats")
    assert len(frames) == 130 or not origin.complete


def hostile(path: Path, *statements: str) -> None:
    write(path, range(100))
    store = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        store.execute(statement)
    store.close()


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["ALTER TABLE block RENAME TO b", "CREATE VIEW block AS SELECT * FROM b"], "has other tables"),
        (["CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END"], "has other tables"),
        (["CREATE TABLE more (x)"], "has other tables"),
        (["PRAGMA application_id = 7"], "is an SQLite database, not a recording"),
        (["PRAGMA user_version = 9"], "has version 9"),
        (["DELETE FROM block"], "without a frame"),
        (["UPDATE run SET origin = x'00'"], "is damaged"),
        (["UPDATE run SET origin = 7"], "is damaged"),
        (["UPDATE block SET data = zeroblob(80000000)"], "has no frame|is damaged"),
        (["UPDATE block SET data = 'text'"], "has no frame that can be read"),
        (["UPDATE block SET first = 'x', last = 'y'"], "is damaged|has no frame"),
    ],
    ids=["view", "trigger", "table", "other", "version", "empty", "origin", "number", "huge", "text", "times"],
)
def test_a_hostile_file_is_refused_in_one_line(path: Path, statements: list[str], why: str) -> None:
    hostile(path, *statements)
    with pytest.raises(OpenError, match=why) as caught:
        open_capture(path)
    assert "\n" not in str(caught.value)


def test_without_its_names_a_recording_knows_less_and_notes_it(path: Path) -> None:
    hostile(path, "UPDATE name SET key = CAST(key AS BLOB)")
    origin, frames = open_capture(path, period=Period(since="50s"))
    assert not origin.complete
    assert "a column of text has something else" in (origin.note or "")
    assert "cmd:lspci" not in known(frames)


def test_a_damaged_page_costs_its_block_alone(path: Path) -> None:
    write(path, range(130))
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.execute("UPDATE block SET data = 'text' WHERE id = 2")
    store.close()
    origin, frames = open_capture(path)
    assert "block 2 is damaged" in (origin.note or "")
    assert len([each for each in frames if any(item.key == "/proc/diskstats" for item in each.evidence)]) >= 98


def test_a_read_only_directory_is_enough(path: Path) -> None:
    write(path, range(100))
    before = path.read_bytes()
    os.chmod(path, 0o400)  # noqa: PTH101
    os.chmod(path.parent, 0o500)  # noqa: PTH101
    try:
        assert len(open_capture(path)[1]) == 100
    finally:
        os.chmod(path.parent, 0o700)  # noqa: PTH101
    assert path.read_bytes() == before


READ_ONLY = """
mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} && exec {python} -m sdstop report --from {file}
"""


@pytest.mark.needs("root")
@pytest.mark.parametrize("left", [("-wal", "-shm"), ("-wal",), ()], ids=["log and index", "log", "nothing"])
def test_the_file_of_a_dead_node_is_read_on_a_read_only_mount(path: Path, left: Sequence[str]) -> None:
    with RecordingWriter(path, ORIGIN, ENDLESS) as writer:
        for second in range(100):
            writer.add(frame(second))
        kept = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", *left)}
    for suffix, data in kept.items():
        Path(f"{path}{suffix}").write_bytes(data)
    script = READ_ONLY.format(folder=path.parent, python=sys.executable, file=path)
    done = subprocess.run(["unshare", "-m", "bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "93 frames over 1m32" in done.stdout
    assert ("node.sdstop-wal cannot be read" in " ".join(done.stdout.split())) is (left == ("-wal",))


@pytest.mark.parametrize("data", [b"hello", b"SQLite format 3\0" + bytes(200), b"\x1f\x8b" + bytes(50)])
def test_another_file_is_not_overwritten(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(NotRecorded):
        RecordingWriter(path, ORIGIN, ENDLESS)
    assert path.read_bytes() == data


CLOSED = """
import sys, threading, time
from pathlib import Path
from sdstop.recordings.database import NoRecording, Recording

def read(recording):
    try:
        while True:
            recording.changed(1, 99)
            recording.holds(1)
    except NoRecording as error:
        said.append(str(error))

said = []
for turn in range(50):
    recording = Recording(Path(sys.argv[1]))
    readers = [threading.Thread(target=read, args=(recording,)) for _ in range(2)]
    for reader in readers:
        reader.start()
    time.sleep(turn % 7 / 2000)
    recording.close()
    for reader in readers:
        reader.join()
print(len(said))
"""


def test_closing_while_threads_read_is_no_crash(path: Path) -> None:
    write(path, range(40))
    done = subprocess.run([sys.executable, "-c", CLOSED, path], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100\n", "")


def test_closing_does_not_wait_for_a_read_that_hangs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, range(40))
    monkeypatch.setattr("sdstop.recordings.database._PATIENCE", 0.05)
    recording, held, done = Recording(path), threading.Event(), threading.Event()

    def hang() -> None:
        with recording._lock:
            held.set()
            done.wait(10.0)

    reader = threading.Thread(target=hang)
    reader.start()
    assert held.wait(10.0)
    recording.close()
    done.set()
    reader.join()
    assert recording.holds(1)
    recording.close()
