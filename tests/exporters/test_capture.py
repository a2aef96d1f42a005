"""What is recorded is opened again as it was, whatever it is called, and whatever ends the recording."""

import json
import os
import random
import resource
import stat
import tarfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.reader import OpenError, open_capture
from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Host, Unreadable
from sdstop.exporters.capture import CaptureWriter, Conclusions, Unwritable

NAMES = st.sampled_from(
    ["proc", "diskstats", "PROC", "a b", "etherd!e0.0", "..", ".", "", "links.json", "Outcomes.json", "commands",
     "Answers", "http", "keyed", "x\0y", "tab\t", "\x1b[31m", "\u202e", "caf\u00e9", "cafe\u0301", "\udcff", "n" * 201,
     "\u20ac" * 90, "index.jsonl", "frames", "stdout"]
)  # fmt: skip
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)) | st.just("/" + "deep/" * 40)
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\udc80\udcff/ .-aA"), max_size=8) | st.sampled_from(
    ["smartctl -a /dev/sda", "smartctl -A /dev/sda", "smartctl_-a__dev_sda", "x" * 200, "..", "."]
)
SECONDS = st.none() | st.integers(0, 2 * 10**15).map(lambda micro: round(micro / 1e6, 6))
DATA = st.binary(max_size=40) | st.sampled_from([b"", b"\n", b"a\nb", b"\xff\xfe", b"[]"])


@st.composite
def pieces(draw: st.DrawFn) -> Evidence:
    kind = draw(st.sampled_from(["", "link:", "list:", "cmd:", "answer:", "slug:", "odd:"]))
    text = draw(PATHS if kind in {"", "link:", "list:"} else TEXTS)
    outcome = draw(st.sampled_from([one for one in Outcome if one is not Outcome.UNREAD]))  # only a run is unread
    return Evidence(
        kind + text,
        outcome,
        draw(DATA),
        draw(TEXTS),
        draw(SECONDS),
        draw(SECONDS),
        draw(SECONDS),
        draw(DATA) if kind == "cmd:" else b"",
        draw(st.none() | st.integers(-64, 255)) if kind == "cmd:" else None,
    )


@st.composite
def recordings(draw: st.DrawFn) -> list[Frame]:
    number, taken, monotonic = draw(st.integers(1, 900)), 1.7e9, draw(st.floats(0, 1e6))
    known = draw(st.lists(pieces(), min_size=1, max_size=6))
    frames = []
    for _ in range(draw(st.integers(1, 4))):
        evidence = tuple(draw(st.lists(pieces() | st.sampled_from(known), max_size=6)))
        ran = draw(st.none() | st.dictionaries(TEXTS, st.builds(RunMark, st.floats(0, 1e6), SECONDS), max_size=2))
        frames.append(Frame(number, taken, monotonic, evidence, ran))
        number, taken, monotonic = number + 1, taken + draw(st.floats(0, 9)), monotonic + draw(st.floats(0.01, 9))
    return frames


def write(path: Path, frames: Iterable[Frame], host: str = "node7") -> Path:
    with CaptureWriter(path, host, privileged=True, facts={"kernel": "6.1.0"}) as writer:
        for frame in frames:
            writer.add(frame)
        writer.finish(Conclusions([{"rule": "none"}], "# Report\n", "<!doctype html>\n"))
    return path


def add_all(writer: CaptureWriter, frames: Iterable[Frame]) -> None:
    for item in frames:
        writer.add(item)


def states(frames: Iterable[Frame]) -> list[dict[str, Evidence]]:
    """What is known after each frame."""
    host = EvidenceHost()
    found = []
    for frame in frames:
        host.apply(frame.evidence)
        found.append(dict(host.state.items()))
    return found


def said(ask: Callable[[str], object], what: str) -> object:
    try:
        return ask(what)
    except Unreadable as error:
        return type(error), str(error)


def answers(host: Host, keys: Iterable[str]) -> list[object]:
    found: list[object] = []
    for key in keys:
        kind, _, rest = key.partition(":")
        match kind:
            case "link":
                found.append(said(host.link, rest))
            case "list":
                found.append(said(host.entries, rest))
            case "cmd":
                found.append(said(lambda argv: host.run([argv]), rest))
            case "answer":
                found.append(said(host.answer, rest))
            case _:
                found += [said(host.read, key), said(host.entries, os.path.dirname(key))]  # noqa: PTH120
    return [*found, host.recorded("smartctl"), said(host.names, "/proc")]


@given(recordings())
def test_what_is_recorded_is_opened_again(frames: list[Frame]) -> None:
    with TemporaryDirectory() as folder:
        for name in ("capture", "capture.tar.gz"):
            origin, opened = open_capture(write(Path(folder) / name, frames))
            assert (origin.name, origin.complete, origin.note) == ("node7", True, "")
            assert (origin.privileged, origin.facts, origin.live) == (True, {"kernel": "6.1.0"}, False)
            assert [(f.number, f.taken, f.monotonic, f.ran) for f in opened] == [
                (f.number, f.taken, f.monotonic, f.ran) for f in frames
            ]
            assert [{e.key for e in f.evidence} for f in opened] == [{e.key for e in f.evidence} for f in frames]
            assert states(opened) == states(frames)
            keys = sorted(states(frames)[-1])
            before, after = EvidenceHost(), EvidenceHost()
            for old, new in zip(frames, opened, strict=True):
                before.apply(old.evidence)
                after.apply(new.evidence)
                assert answers(after, keys) == answers(before, keys)


def frame(number: int, *evidence: Evidence) -> Frame:
    return Frame(number, 1.7e9 + number, 100.0 + number, evidence, {"diskstats": RunMark(100.0 + number, 0.001)})


def diskstats(number: int) -> Evidence:
    row = b"   8 0 sda %d 0 8 1 0 0 0 0 0 %d 1\n" % (number, random.Random(number).getrandbits(40))
    return Evidence("/proc/diskstats", data=row * 20, monotonic=100.0 + number, duration=0.25)


@pytest.fixture
def frames() -> list[Frame]:
    first = (
        Evidence("/proc/mdstat", data=b"Personalities :\n"),
        Evidence("/sys/firmware/dmi/tables/DMI", Outcome.DENIED, detail="needs root"),
        Evidence("link:/sys/block/sda", data=b"../devices/x/sda"),
        Evidence("cmd:smartctl -a /dev/sda", data=b"ok\n", stderr=b"warn\n", exit=4),
    )
    return [frame(1, diskstats(1), *first), *(frame(n, diskstats(n)) for n in range(2, 31))]


def test_the_layout_is_the_contracts(tmp_path: Path, frames: list[Frame]) -> None:
    folder = write(tmp_path / "c", frames)
    assert sorted(p.name for p in folder.iterdir()) == [
        "findings.json", "frames", "frames.jsonl", "index.jsonl", "manifest.json", "report.html", "report.md",
    ]  # fmt: skip
    assert (folder / "frames/0001/proc/mdstat").read_bytes() == b"Personalities :\n"
    command = folder / "frames/0001/commands/smartctl_-a__dev_sda"
    assert {p.name: p.read_text() for p in command.iterdir()} == {"stdout": "ok\n", "stderr": "warn\n", "exit": "4\n"}
    assert json.loads((folder / "frames/0001/links.json").read_text()) == {"/sys/block/sda": "../devices/x/sda"}
    assert json.loads((folder / "frames/0001/outcomes.json").read_text()) == {
        "/sys/firmware/dmi/tables/DMI": {"outcome": "denied", "detail": "needs root"}
    }
    assert [p.name for p in (folder / "frames/0030").rglob("*")] == ["proc", "diskstats"]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["schema"], manifest["host"], manifest["complete"]) == ("sdstop.capture/1", "node7", True)
    assert manifest["frames"][1] == {
        "number": 2, "taken": 1.7e9 + 2, "monotonic": 102.0, "ran": {"diskstats": [102.0, 0.001]},
    }  # fmt: skip
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    needed = {"frame", "kind", "key", "member", "sha256", "outcome", "duration", "taken", "monotonic"}
    assert all(needed <= line.keys() for line in lines)
    assert len(lines) == 5 + 29
    assert json.loads((folder / "findings.json").read_text()) == [{"rule": "none"}]
    assert (folder / "report.md").read_text() == "# Report\n"
    assert (folder / "report.html").read_text() == "<!doctype html>\n"


def test_nobody_else_may_read_it(tmp_path: Path, frames: list[Frame]) -> None:
    old = os.umask(0)
    try:
        folder, archive = write(tmp_path / "c", frames), write(tmp_path / "c.tgz", frames)
    finally:
        os.umask(old)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_the_same_frames_give_the_same_bytes(tmp_path: Path, frames: list[Frame]) -> None:
    first = write(tmp_path / "a.tar.gz", frames)
    shuffled = [Frame(f.number, f.taken, f.monotonic, f.evidence[::-1], f.ran) for f in frames]
    assert write(tmp_path / "b.tar.gz", shuffled).read_bytes() == first.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # no time in the header
    with tarfile.open(first) as tar:
        assert {(m.uid, m.gid, m.uname, m.gname) for m in tar} == {(0, 0, "", "")}
        assert {m.name.partition("/")[0] for m in tar} == {"sdstop-node7"}
        assert [m.mtime for m in tar if "/frames/0003/" in m.name] == [1_700_000_003]


def test_an_archive_unpacks_to_the_folder(tmp_path: Path, frames: list[Frame]) -> None:
    with tarfile.open(write(tmp_path / "c.tar.gz", frames)) as tar:
        for member in tar:
            source = tar.extractfile(member)
            assert source is not None
            target = tmp_path / "out" / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())
    assert states(open_capture(tmp_path / "out/sdstop-node7")[1]) == states(frames)


def test_what_did_not_change_is_stored_once(tmp_path: Path) -> None:
    quiet = Evidence("/proc/mdstat", data=b"Personalities :\n", taken=1.0)
    again = Evidence("/proc/mdstat", data=b"Personalities :\n", taken=2.0)
    gone = Evidence("/proc/mdstat", Outcome.ABSENT, detail="no such file")
    folder = write(tmp_path / "c", [frame(1, quiet), frame(2, again), frame(3, gone), frame(4, gone), frame(5, again)])
    assert sorted(str(p.relative_to(folder)) for p in folder.glob("frames/*/*")) == [
        "frames/0001/proc", "frames/0003/outcomes.json", "frames/0005/proc",
    ]  # fmt: skip
    assert [f.evidence for f in open_capture(folder)[1]] == [(quiet,), (again,), (gone,), (gone,), (again,)]
    for index in (*folder.glob("*.jsonl"),):  # and without an index the states are the same, but for the times
        index.unlink()
    assert [s["/proc/mdstat"].data for s in states(open_capture(folder)[1])] == [
        quiet.data,
        quiet.data,
        b"",
        b"",
        quiet.data,
    ]


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for make in (path.mkdir, path.touch, partial(path.symlink_to, "/nowhere"), partial(path.symlink_to, "victim")):
        make()
        with pytest.raises(Unwritable, match="exists already, and nothing is overwritten"):
            CaptureWriter(path, "node7")
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert list(tmp_path.iterdir()) == []


def test_what_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    with CaptureWriter(path, "node7") as writer:
        writer.add(frame(1, diskstats(1)))
        path.write_bytes(b"somebody's")
        with pytest.raises(Unwritable, match="exists already"):
            writer.finish(Conclusions([], "", ""))
    assert path.read_bytes() == b"somebody's"
    assert len(open_capture(tmp_path / "c.tar.gz.part")[1]) == 1


@pytest.mark.parametrize("name", ["out", "out.tar.gz"])
def test_a_file_below_a_documents_name(name: str, tmp_path: Path) -> None:
    evidence = (
        Evidence("/links.json/x", data=b"1"),
        Evidence("/Lists.JSON/y", data=b"2"),
        Evidence("link:/a", data=b"b"),
    )
    made = [Frame(1, 1700000000.0, 0.0, evidence)]
    assert states(open_capture(write(tmp_path / name, made))[1]) == states(made)


def test_a_file_system_without_hard_links(tmp_path: Path, frames: list[Frame], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert states(open_capture(write(tmp_path / "c.tar.gz", frames))[1]) == states(frames)
    assert [p.name for p in tmp_path.iterdir()] == ["c.tar.gz"]


def test_the_rest_of_a_killed_run_is_in_nobodys_way_unsaid(tmp_path: Path) -> None:
    (tmp_path / "c.tar.gz.part").touch()
    with pytest.raises(Unwritable, match=r"c\.tar\.gz\.part exists already"):
        CaptureWriter(tmp_path / "c.tar.gz", "node7")


@pytest.mark.parametrize("name", ["c.tar", "c.zip", "c.tar.xz", "c.tar.zst", "c.gz", "c.sdstop"])
def test_other_archives_are_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unwritable, match=r"must end in \.tar\.gz, or be a new directory"):
        CaptureWriter(tmp_path / name, "node7")


def test_what_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(Unwritable, match="invalid path"):
        CaptureWriter(tmp_path / "a\0b.tar.gz", "node7")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for name in ("no/c", "no/c.tar.gz"):
        with pytest.raises(Unwritable, match=r"cannot be written: No such file or directory$"):
            CaptureWriter(tmp_path / name, "node7")


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_a_capture_without_a_frame_leaves_nothing(tmp_path: Path, name: str) -> None:
    with CaptureWriter(tmp_path / name, "node7") as writer, pytest.raises(Unwritable, match="would contain no frame"):
        writer.finish(Conclusions([], "", ""))
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_numbers_go_up(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "c", "node7") as writer:
        writer.add(frame(2, diskstats(2)))
        with pytest.raises(ValueError, match="frame 2 after frame 2"):
            writer.add(frame(2))


@pytest.mark.parametrize("host", ["..", "", ".hidden", "static", "a/../../b", "\x1b[31m", "\udcff\ud800", "n" * 400])
def test_any_host_name_will_do(tmp_path: Path, host: str) -> None:
    folder, archive = write(tmp_path / "c", [frame(1)], host), write(tmp_path / "c.tgz", [frame(1)], host)
    assert open_capture(folder)[0].name == (host[:253] or "c")
    assert open_capture(archive)[0].name == (host[:253] or "c")


def test_a_run_killed_at_any_moment_leaves_whole_frames(tmp_path: Path, frames: list[Frame]) -> None:
    with CaptureWriter(tmp_path / "c.tar.gz", "node7") as writer:
        ends = []
        for item in frames:
            writer.add(item)
            ends.append((tmp_path / "c.tar.gz.part").stat().st_size)
    data = (tmp_path / "c.tar.gz.part").read_bytes()
    known = states(frames)
    for cut in (*range(ends[0], len(data), 97), *ends):
        (tmp_path / "cut").write_bytes(data[:cut])
        origin, opened = open_capture(tmp_path / "cut")
        flushed = 5  # bytes that end a frame and hold nothing
        assert sum(end <= cut for end in ends) <= len(opened) <= sum(end <= cut + flushed for end in ends)
        assert states(opened) == known[: len(opened)]
        assert origin.complete is False
        assert "the archive is cut off" in origin.note


def test_a_folder_left_at_any_moment_has_whole_frames(tmp_path: Path, frames: list[Frame]) -> None:
    with CaptureWriter(tmp_path / "c", "node7") as writer:
        for item in frames[:3]:
            writer.add(item)
    origin, opened = open_capture(tmp_path / "c")
    assert (origin.complete, origin.note) == (False, "the recording is incomplete")
    assert states(opened) == states(frames[:3])
    half = tmp_path / "c/frames/0004/proc"
    half.mkdir(parents=True)
    (half / "diskstats").write_bytes(b"   8 0 sda 4")
    origin, opened = open_capture(tmp_path / "c")
    assert (origin.complete, origin.note) == (False, "frame 4 is truncated; skipped")
    assert states(opened) == states(frames[:3])


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_a_full_disk_keeps_what_was_written(tmp_path: Path, frames: list[Frame], name: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = CaptureWriter(tmp_path / name, "node7")
    resource.setrlimit(resource.RLIMIT_FSIZE, (2500, hard))  # a file grows no further, as on a full disk
    try:
        with pytest.raises(Unwritable) as refusal:
            add_all(writer, frames)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = tmp_path / name if name == "c" else tmp_path / "c.tar.gz.part"
    origin, opened = open_capture(kept)
    assert 1 <= len(opened) < len(frames)
    assert states(opened) == states(frames[: len(opened)])
    assert origin.complete is False
    reason = f"cannot be written: File too large; its {len(opened)} whole frames are kept in {kept}"
    assert str(refusal.value) == f"{tmp_path / name} {reason}"
    for attempt in (partial(writer.add, frame(99)), partial(writer.finish)):
        with pytest.raises(Unwritable, match="File too large"):
            attempt()
    writer.close()
    assert len(open_capture(kept)[1]) == len(opened)


@pytest.mark.parametrize("name", ["c", "c.tar.gz"])
def test_a_disk_that_is_full_from_the_start_keeps_nothing(tmp_path: Path, name: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(Unwritable, match=r"cannot be written: File too large$"):
            CaptureWriter(tmp_path / name, "node7")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", ["MOST_FRAMES", "_MOST_MEMBERS", "_MOST_BYTES"])
def test_what_could_not_be_opened_is_not_written(
    tmp_path: Path, frames: list[Frame], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"sdstop.exporters.capture.{limit}", {"MOST_FRAMES": 3, "_MOST_MEMBERS": 15}.get(limit, 15_000))
    with CaptureWriter(tmp_path / "c.tgz", "node7") as writer:
        with pytest.raises(
            Unwritable, match=r"has reached the maximum size of a capture; its [23] whole frames are kept in"
        ):
            add_all(writer, frames)
        writer.finish(Conclusions([], "", ""))
    origin, opened = open_capture(tmp_path / "c.tgz")
    assert origin.complete
    assert len(opened) in {2, 3}
    assert states(opened) == states(frames[: len(opened)])


def test_a_long_index_is_continued(tmp_path: Path, frames: list[Frame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.capture.sink._LONGEST_INDEX", 2000)
    for name in ("c", "c.tar.gz"):
        origin, opened = open_capture(write(tmp_path / name, frames))
        assert (origin.complete, origin.note) == (True, "")
        assert opened == open_capture(write(tmp_path / f"x{name}", frames))[1]
        assert [f.evidence for f in opened[1:]] == [f.evidence for f in frames[1:]]
    assert (tmp_path / "c/index/0030.jsonl").exists()


def test_a_damaged_archive_opens_in_part_or_not_at_all(tmp_path: Path, frames: list[Frame]) -> None:
    data = write(tmp_path / "c.tar.gz", frames).read_bytes()
    known = states(frames)
    rnd = random.Random(7)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rnd.choice([1, 1, 5])):
            damaged[rnd.randrange(len(damaged))] ^= 1 << rnd.randrange(8)
        (tmp_path / "d").write_bytes(damaged)
        with suppress(OpenError):
            origin, opened = open_capture(tmp_path / "d")
            assert origin.complete is False or states(opened) == known
    for twentieth in range(20):
        (tmp_path / "d").write_bytes(data[: len(data) * twentieth // 20])
        with suppress(OpenError):
            origin, opened = open_capture(tmp_path / "d")
            assert origin.complete is False
            if len(opened) > 1:  # of the first frame, what there is of it is opened
                assert states(opened) == known[: len(opened)]
