"""Captures made by hand, cut down, damaged or hostile: each opens as far as it goes, or says why not."""

import gzip
import hashlib
import io
import json
import os
import random
import socket
import tarfile
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.contents import CaptureRefused, ReadLimits, read_folder
from sdstop.capture.reader import OpenError, open_capture
from sdstop.core.evidence import UNDATED, Evidence, Frame, Outcome, RunMark
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import LARGEST, Absent, Denied, Failed, TimedOut

Files = dict[str, Any]


def make(folder: Path, files: Files) -> Path:
    """Write files, JSON where it is no text; a name that ends with / is a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes | str) else json.dumps(content)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def pack(folder: Path, top: str, kind: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=kind) as tar:  # type: ignore[call-overload]
        tar.add(folder, top)
    return out.getvalue()


def by_key(frame: Frame) -> dict[str, Evidence]:
    return {item.key: item for item in frame.evidence}


def host_of(frames: list[Frame]) -> EvidenceHost:
    host = EvidenceHost()
    for frame in frames:
        host.apply(frame.evidence)
    return host


BY_HAND: Files = {
    "README.md": "not evidence",
    "static/proc/version": "Linux version 6.1.0\n",
    "static/proc/mdstat": "static\n",
    "static/links.json": {"/sys/block/md0/slaves/sda": "../../sda", "/sys/block/sda": "../devices/pci/sda"},
    "frames/0001/proc/diskstats": "one\n",
    "frames/0001/proc/mdstat": "Personalities :\n",
    "frames/0001/links.json": {"/sys/block/md0/slaves/sdb": "../../sdb"},
    "frames/0001/lists.json": {"/sys/empty": [], "/sys/class/net": ["eth0", "lo"]},
    "frames/0001/commands/iostat_-x/stdout": "Device\n",
    "frames/0001/commands/smartctl_-a__dev_sda/stdout": "half\n",
    "frames/0001/commands/smartctl_-a__dev_sda/stderr": "oops\n",
    "frames/0001/commands/smartctl_-a__dev_sda/exit": "4\n",
    "frames/0001/answers/psutil.processes.json": [{"pid": 1}],
    "frames/0001/http/GET_api": "kept for later",
    "frames/0001/http/GET_api.status": "200",
    "frames/0001/outcomes.json": {
        "cmd:zpool status": {"outcome": "absent", "detail": "no such program"},
        "cmd:lsblk -J": {"outcome": "failed"},
        "http:GET /api": {"outcome": "timeout"},
        "/sys/firmware/dmi/tables/DMI": {"outcome": "denied", "detail": "needs root"},
    },
    "frames/0001/commands/lsblk_-J/stdout": "half\n",
    "frames/0002/proc/diskstats": "two\n",
    "frames/0002/outcomes.json": {"/proc/mdstat": {"outcome": "absent", "detail": "gone"}},
}


def check_by_hand(frames: list[Frame]) -> None:
    assert [(f.number, f.taken, f.monotonic, f.ran) for f in frames] == [
        (1, UNDATED, 0.0, None),
        (2, UNDATED + 1, 1.0, None),
    ]
    host = host_of(frames[:1])
    assert host.read("/proc/version") == b"Linux version 6.1.0\n"
    assert host.read("/proc/mdstat") == b"Personalities :\n"
    assert host.entries("/sys/block/md0/slaves") == ["sda", "sdb"]
    assert host.link("/sys/block/sda") == "../devices/pci/sda"
    assert host.entries("/sys/empty") == []
    assert host.entries("/sys/class/net") == ["eth0", "lo"]
    assert host.run(["iostat", "-x"]).text == "Device\n"
    output = host.run(["smartctl", "-a", "/dev/sda"])
    assert (output.stdout, output.stderr, output.exit) == (b"half\n", b"oops\n", 4)
    assert host.answer("psutil.processes") == [{"pid": 1}]
    with pytest.raises(Absent, match="no such program"):
        host.run(["zpool", "status"])
    with pytest.raises(Failed):
        host.run(["lsblk", "-J"])
    with pytest.raises(Denied, match="needs root"):
        host.read("/sys/firmware/dmi/tables/DMI")
    with pytest.raises(Absent) as nothing:
        host.read("/proc/loadavg")
    assert nothing.value.recorded is False
    assert host.state["cmd:lsblk -J"].data == b"half\n"
    assert not [key for key in host.state if "README" in key]
    assert host.state["http-slug:GET_api"].data == b"kept for later"
    assert by_key(frames[1]).keys() == {"/proc/diskstats", "/proc/mdstat"}
    assert by_key(frames[1])["/proc/mdstat"] == Evidence("/proc/mdstat", Outcome.ABSENT, detail="gone")


def test_a_folder_made_by_hand(tmp_path: Path) -> None:
    origin, frames = open_capture(make(tmp_path / "node7", BY_HAND))
    assert (origin.name, origin.live, origin.complete, origin.note, origin.privileged) == (
        "node7",
        False,
        True,
        "",
        None,
    )
    check_by_hand(frames)


@pytest.mark.parametrize(
    ("name", "top", "kind"),
    [("a.tar.gz", "node7", "w:gz"), ("a.tgz", ".", "w:gz"), ("a.tar", "x/", "w"), ("a", "x", "w:gz")],
)
def test_its_archive_says_the_same(tmp_path: Path, name: str, top: str, kind: str) -> None:
    made = make(tmp_path / "made", BY_HAND)
    (made / "README.md").unlink()
    (tmp_path / name).write_bytes(pack(made, top, kind))
    origin, frames = open_capture(tmp_path / name)
    assert (origin.name, origin.complete, origin.note) == ("a", True, "")
    check_by_hand(frames)


def test_a_folder_that_holds_its_capture_packed(tmp_path: Path) -> None:
    made = make(tmp_path / "made", BY_HAND)
    story = make(tmp_path / "story", {"README.md": "what it shows", "capture.tar.gz": pack(made, "made")})
    origin, frames = open_capture(str(story))
    assert origin.name == "story"
    check_by_hand(frames)


def test_static_alone_is_one_frame(tmp_path: Path) -> None:
    frames = open_capture(make(tmp_path / "c", {"static/proc/version": "v"}))[1]
    assert [f.evidence for f in frames] == [(Evidence("/proc/version", data=b"v"),)]


@pytest.mark.parametrize(
    ("said", "known"), [(["a", "late"], {"a", "late"}), ([], set()), ("a", {"a"}), ([1], {"a"}), (None, {"a"})]
)
def test_who_could_have_run_is_the_manifests(said: object, known: set[str], tmp_path: Path) -> None:
    manifest = {"collectors": said, "frames": [{"ran": {"a": [1.0, 0.1]}}]}
    origin, _ = open_capture(make(tmp_path / "c", {"manifest.json": manifest, "frames/0001/x": ""}))
    assert origin.collectors == frozenset(known)


def test_times_are_the_manifests(tmp_path: Path) -> None:
    manifest = {
        "schema": "sdstop.capture/1", "host": "node7", "privileged": False, "facts": {"kernel": "6.1", "odd": 1},
        "frames": [
            {"taken": 1.7e9, "monotonic": 50.5, "ran": {"a": [50.4, 0.1], "b": [50.0, None], "c": "odd"}},
            {"taken": 1.7e9 + 2},
            {"monotonic": 55},
            {},
            {"taken": "soon", "monotonic": True},
        ],
    }  # fmt: skip
    origin, frames = open_capture(
        make(tmp_path / "c", {"manifest.json": manifest, "frames/0001/x": "", "frames/0007/x": ""})
    )
    assert (origin.name, origin.privileged, origin.facts) == ("node7", False, {"kernel": "6.1"})
    assert origin.collectors == frozenset("ab")  # who ran, as nobody says who was there
    assert [(f.number, f.taken - 1.7e9, f.monotonic) for f in frames] == [
        (1, 0, 50.5), (2, 2, 52.5), (3, 4.5, 55), (4, 5.5, 56), (5, 6.5, 57), (7, 8.5, 59),
    ]  # fmt: skip
    assert [f.ran for f in frames] == [{"a": RunMark(50.4, 0.1), "b": RunMark(50.0, None)}, *[None] * 5]
    assert [len(f.evidence) for f in frames] == [1, 0, 0, 0, 0, 1]
    assert origin.note == "missing frames: 6"


def test_a_clock_that_does_not_go_forward(tmp_path: Path) -> None:
    entries = [{"taken": 100.0 + n, "monotonic": m, "ran": {"a": [m, 0]}} for n, m in enumerate([9.0, 5.0, 5.5, 12.0])]
    origin, frames = open_capture(make(tmp_path / "c", {"manifest.json": {"frames": entries}, "static/x": ""}))
    assert [(f.taken, f.monotonic) for f in frames] == [(100, 9), (101, 10), (102, 11), (103, 12)]
    assert [f.ran is None for f in frames] == [False, True, True, False]
    assert origin.note == "frames with a clock that does not advance, assumed 1 s apart: 2"


def test_a_wall_clock_that_alone_is_known_and_runs_back(tmp_path: Path) -> None:
    entries = [{"taken": 100.0 + n} for n in (0, 2, -5, -4)]
    origin, frames = open_capture(make(tmp_path / "c", {"manifest.json": {"frames": entries}, "static/x": ""}))
    assert [(f.taken, f.monotonic) for f in frames] == [(100, 0), (102, 2), (95, 3), (96, 4)]
    assert origin.note == "frames with a clock that does not advance, assumed 1 s apart: 1"


def test_gaps_are_said(tmp_path: Path) -> None:
    files = {f"frames/{n}/x": "" for n in ("0003", "4", "0000010", "12", "14", "16", "18")}
    origin, frames = open_capture(make(tmp_path / "c", files))
    assert [f.number for f in frames] == [3, 4, 10, 12, 14, 16, 18]
    assert frames[2].monotonic - frames[1].monotonic == 6
    assert origin.note == "missing frames: 5-9, 11, 13 and more"
    assert origin.complete


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing", "cannot be opened: No such file or directory"),
        ("nul\0", "invalid path"),
        ("empty", r"is not a capture \(no frames/ or static/\)"),
        ("text", r"is text without a recognized output \(line 1: 'hello'\); supported: "),
        ("packed", "cannot be opened: Too many levels of symbolic links"),
        ("fifo", "not a file or directory"),
        ("fifo-in-it", "not a file or directory"),
        ("other.tar.gz", r"is not a capture \(no frames/ or static/\)"),
        ("two.tar.gz", r"is not a capture \(no frames/ or static/\)"),
        ("cut.tar.gz", r"is not a capture \(no frames/ or static/\) \(the archive is cut off\)"),
        ("text/x", "cannot be opened: Not a directory"),
        ("both", "holds two captures: capture.tar.gz and frames/; remove one of them"),
        ("newer", "has the unsupported capture schema sdstop.capture/2 .supported: sdstop.capture/1."),
        ("strange", "has the unsupported capture schema .1. .supported: sdstop.capture/1."),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_says_why_in_one_line(tmp_path: Path, path: str, reason: str) -> None:
    make(tmp_path, {"empty/README.md": "", "text": "hello", "packed/README.md": "", "fifo-in-it/README.md": ""})
    (tmp_path / "packed/capture.tar.gz").symlink_to(tmp_path / "whole.tar.gz")
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo-in-it/capture.tar.gz")
    make(tmp_path / "o", {"a": "", "b/c": ""})
    make(tmp_path / "t", {"c1/frames/0001/x": "", "c2/frames/0001/x": ""})
    whole = pack(make(tmp_path / "w", {"manifest.json": {}, "static/x": "1" * 5000}), "w", "w")
    make(tmp_path, {"other.tar.gz": pack(tmp_path / "o", "."), "two.tar.gz": pack(tmp_path / "t", "."),
                    "whole.tar.gz": whole, "cut.tar.gz": whole[:1600]})  # fmt: skip
    make(tmp_path / "both", {"README.md": "", "capture.tar.gz": whole, "frames/0001/x": "", "static/x": ""})
    make(tmp_path / "newer", {"manifest.json": {"schema": "sdstop.capture/2"}, "static/x": ""})
    make(tmp_path / "strange", {"manifest.json": {"schema": [1]}, "static/x": ""})
    with pytest.raises(OpenError, match=f" {reason}$") as refusal:
        open_capture(tmp_path / path)
    assert str(refusal.value).isprintable()
    assert refusal.value.path == tmp_path / path


def test_a_minor_schema_is_opened(tmp_path: Path) -> None:
    assert open_capture(make(tmp_path / "c", {"manifest.json": {"schema": "sdstop.capture/1.3"}, "static/x": ""}))


@pytest.mark.parametrize("inside", ["frames/0001/proc/mdstat", "frames/0001", "frames", "static", "manifest.json"])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, inside: str) -> None:
    make(tmp_path, {"secret/0001/proc/mdstat": "secret", "secret/proc/mdstat": "secret"})
    for target in (tmp_path / "secret", tmp_path / "secret/proc/mdstat", Path("/nowhere"), Path("manifest.json")):
        with TemporaryDirectory(dir=tmp_path) as folder:
            make(Path(folder), {"frames.jsonl": "", "static/x": "", "frames/0002/y": ""})
            victim = Path(folder) / inside
            if victim.is_dir():
                victim.rename(Path(folder) / "moved")
            victim.parent.mkdir(parents=True, exist_ok=True)
            victim.symlink_to(target)
            with pytest.raises(OpenError, match=f"contains a symbolic link: {inside}$"):
                open_capture(folder)


def test_what_is_no_file_is_refused_without_touching_it(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", {"frames/0001/proc/mdstat": ""})
    odd = folder / "frames/0001/proc/diskstats"
    os.mkfifo(odd)  # would block for ever
    with pytest.raises(OpenError, match=r"contains a FIFO: frames/0001/proc/diskstats$"):
        open_capture(folder)
    odd.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(odd))
        with pytest.raises(OpenError, match="contains a socket"):
            open_capture(folder)


def test_names_that_are_refused_in_a_folder(tmp_path: Path) -> None:
    for name in (b"a\x1b[31m", b"a\nb", b"a\xff", b"n" * 201):
        with TemporaryDirectory(dir=tmp_path) as folder:
            make(Path(folder), {"static/": ""})
            (Path(folder) / "static" / os.fsdecode(name)).touch()
            with pytest.raises(OpenError, match="contains an entry whose name has") as refusal:
                open_capture(folder)
            assert str(refusal.value).isprintable()


def test_a_folder_has_the_limits_of_an_archive(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", {f"static/{n}": "x" * 1000 for n in range(9)})
    with pytest.raises(CaptureRefused, match="contains a file of more than 0 MiB: static/0"):
        read_folder(str(folder), ["static"], ReadLimits(member=999))
    deep = make(tmp_path / "d", {"static/" + "d/" * 40 + "x": ""})
    with pytest.raises(OpenError, match="more than 32 parts"):
        open_capture(deep)
    for limits, note in (
        (ReadLimits(total=3500), "the directory contains more than 0 MiB: rest ignored"),
        (ReadLimits(members=4), "the directory has more than 4 entries: rest ignored"),
    ):
        contents = read_folder(str(folder), ["static"], limits)
        assert sorted(contents.files) == ["static/0", "static/1", "static/2"]
        assert (contents.complete, contents.notes) == (False, [note])


def test_what_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "c", {"frames/0001/a": "1", "frames/0001/b": "2", "frames/0001/d/e": ""})
    real_open, real_list = os.open, os.listdir

    def guarded(path: Any, *args: Any, **kwargs: Any) -> int:
        if path == "a":
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args, **kwargs)

    def listed(folder: Any) -> list[str]:
        names = real_list(folder)
        if names == ["e"]:
            raise OSError(5, "Input/output error")
        return names

    monkeypatch.setattr(os, "open", guarded)
    monkeypatch.setattr(os, "listdir", listed)
    origin, frames = open_capture(folder)
    assert {e.key: (e.outcome, e.fault) for e in frames[0].evidence} == {
        "/a": (Outcome.FAILED, "cannot be read: Permission denied"),
        "/b": (Outcome.OK, ""),
    }
    assert origin.complete is False
    assert origin.note == (
        "frames/0001/a could not be read: Permission denied; frames/0001/d/ could not be read: Input/output error"
    )


DAMAGES: list[tuple[Files, str]] = [
    ({"manifest.json": "{"}, "manifest.json is damaged"),
    ({"manifest.json": "[" * 100_000}, "manifest.json is damaged: nested too deeply"),
    ({"manifest.json": '{"frames": [{"taken": NaN}]}'}, "NaN is not a number in JSON"),
    ({"manifest.json": f'{{"frames": {"9" * 5000}}}'}, "manifest.json is damaged"),
    ({"manifest.json": b"\xff\xfe"}, "manifest.json is damaged"),
    ({"manifest.json": [1]}, "manifest.json is not a table"),
    ({"manifest.json": {"frames": {"a": 1}}}, "unrecognized frames in the manifest"),
    ({"manifest.json": {"frames": [1]}}, "unrecognized frames in the manifest"),
    ({"static/links.json": "{"}, "links.json is damaged"),
    ({"static/links.json": [1]}, "links.json is not a table"),
    ({"static/links.json": {"/x": 1}}, "links.json has an unrecognized entry: link:/x"),
    ({"static/links.json": {"/x": "\ud800"}}, "links.json has an unrecognized entry: link:/x"),
    ({"static/links.json": {"/\ud800": "x"}}, r"links.json has an unrecognized entry: link:/\ud800"),
    ({"static/lists.json": {"/x": "ab"}}, "lists.json has an unrecognized entry: list:/x"),
    ({"static/lists.json": {"/x": [1]}}, "lists.json has an unrecognized entry: list:/x"),
    ({"static/outcomes.json": {"/x": "absent"}}, "outcomes.json has an unrecognized entry: /x"),
    ({"static/outcomes.json": {"/x": {"outcome": []}}}, "outcomes.json has an unrecognized entry"),
    ({"static/outcomes.json": {"/x": {"outcome": "gone"}}}, "outcomes.json has an unrecognized entry"),
    ({"static/outcomes.json": {"": {"outcome": "ok"}}}, "outcomes.json has an unrecognized entry"),
    ({"static/commands/x/exit": "soon"}, "commands/x/exit is not recognized"),
    ({"static/commands/x/stdin": ""}, "commands/x/stdin is not recognized"),
    ({"static/commands/x": ""}, "commands/x is not recognized"),
    ({"index.jsonl": "{\n\n[]\n{}\n"}, "unrecognized lines of the index: 3"),
    ({"index.jsonl": {"frame": 1, "key": "/x", "outcome": {}}}, "unrecognized lines of the index: 1"),
    ({"index.jsonl": {"frame": 1, "key": 1, "outcome": "ok"}}, "unrecognized lines of the index: 1"),
    ({"frames.jsonl": {"frame": -1, "kind": "frame"}}, "unrecognized lines of the index: 1"),
    ({"static/large": b"x" * (LARGEST + 1)}, "static/large is larger than 4 MiB: rest ignored"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "note"), DAMAGES)
def test_damage_is_said_and_the_rest_opened(tmp_path: Path, files: Files, note: str) -> None:
    origin, frames = open_capture(make(tmp_path / "c", {"static/proc/version": "v", **files}))
    assert by_key(frames[0])["/proc/version"].data == b"v"
    assert all(len(e.data) <= LARGEST for e in frames[0].evidence)
    assert note in origin.note
    assert origin.note.isprintable()


def test_many_faults_make_a_short_note(tmp_path: Path) -> None:
    origin, _ = open_capture(make(tmp_path / "c", {f"static/commands/{n:02}/exit": "x" for n in range(20)}))
    assert origin.note.endswith("commands/04/exit is not recognized; and 15 more")


def test_numbers_too_large_for_a_clock(tmp_path: Path) -> None:
    files = {"manifest.json": f'{{"frames": [{{"taken": {10**400}, "monotonic": -{10**400}}}]}}', "static/x": ""}
    assert [(f.taken, f.monotonic) for f in open_capture(make(tmp_path / "c", files))[1]] == [(UNDATED, 0.0)]


def test_what_exceeds_a_limit_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.capture.frames.MOST_FRAMES", 3)
    monkeypatch.setattr("sdstop.capture.manifest._MOST_LINES", 2)
    monkeypatch.setattr("sdstop.capture.layout.LONGEST_JSON", 200)
    files = {f"frames/{n}/x": "" for n in range(1, 6)} | {"frames.jsonl": "[]\n" * 3, "manifest.json": " " * 201}
    origin, frames = open_capture(make(tmp_path / "c", files))
    assert [f.number for f in frames] == [1, 2, 3]
    assert origin.complete is False
    assert origin.note == (
        "manifest.json is damaged: more than 0 MiB; the index has more than 2 lines: rest ignored; "
        "only the first 3 frames are shown"
    )


def test_an_archive_too_large_for_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("sdstop.capture.reader.read_archive", exhausted)
    with pytest.raises(OpenError, match=r"does not fit into memory$"):
        open_capture(make(tmp_path, {"c.tar": ""}) / "c.tar")


def line(frame: int, key: str, member: str | None, data: bytes = b"", **more: Any) -> str:
    entry = {"frame": frame, "kind": "file", "key": key, "member": member, "outcome": "ok",
             "sha256": hashlib.sha256(data).hexdigest(), "taken": 1.5, "monotonic": 2.5, "duration": 0.5}  # fmt: skip
    return json.dumps(entry | more) + "\n"


INDEXED: Files = {
    "index.jsonl": (
        line(1, "/proc/version", "static/proc/version", b"v")
        + line(1, "/proc/mdstat", "frames/0001/proc/mdstat", b"m1")
        + line(1, "cmd:iostat -x", "frames/0001/commands/iostat_-x/stdout", b"i1", exit=0)
        + line(1, "/odd/../path/", "frames/0001/keyed/aa", b"odd")
        + line(1, "link:/l", "frames/0001/links.json", b"target")
        + line(2, "/proc/mdstat", "frames/0002/proc/mdstat", b"m2")
        + line(2, "link:/l", "frames/0001/links.json", b"target", taken=9)
        + line(3, "/proc/mdstat", "frames/0003/proc/mdstat", b"m3")
    ),
    "static/proc/version": "v",
    "frames/0001/proc/mdstat": "m1",
    "frames/0001/commands/iostat_-x/stdout": "i1",
    "frames/0001/keyed/aa": "odd",
    "frames/0001/links.json": {"/l": "target"},
    "frames/0002/proc/mdstat": "m2",
    "frames/0003/proc/mdstat": "m3",
}


def test_the_index_gives_keys_and_times(tmp_path: Path) -> None:
    origin, frames = open_capture(make(tmp_path / "c", INDEXED))
    assert (origin.complete, origin.note) == (True, "")
    first = by_key(frames[0])
    assert first.keys() == {"/proc/version", "/proc/mdstat", "cmd:iostat -x", "/odd/../path/", "link:/l"}
    assert {(e.taken, e.monotonic, e.duration) for e in first.values()} == {(1.5, 2.5, 0.5)}
    assert first["cmd:iostat -x"].exit == 0
    assert by_key(frames[1])["link:/l"] == Evidence("link:/l", data=b"target", taken=9, monotonic=2.5, duration=0.5)


def test_what_was_changed_by_hand_counts_and_is_said(tmp_path: Path) -> None:
    changed = {
        "frames/0001/proc/mdstat": "edited",
        "frames/0002/links.json": {"/l": "elsewhere"},
        "frames/0003/new": "n",
    }
    origin, frames = open_capture(make(tmp_path / "c", INDEXED | changed))
    assert (origin.complete, origin.note) == (True, "evidence modified after recording: 1")
    assert by_key(frames[0])["/proc/mdstat"].data == b"edited"
    assert by_key(frames[1])["link:/l"].data == b"elsewhere"
    assert by_key(frames[2])["/new"].data == b"n"


def test_what_was_lost_does_not_go_on_as_if_unchanged(tmp_path: Path) -> None:
    files = {name: data for name, data in INDEXED.items() if name != "frames/0002/proc/mdstat"}
    origin, frames = open_capture(make(tmp_path / "c", files | {"frames/0002/x": ""}))
    assert (origin.complete, origin.note) == (False, "lost evidence: 1")
    assert [host_of(frames[:n]).state["/proc/mdstat"].outcome for n in (1, 2, 3)] == ["ok", "failed", "ok"]
    assert "lost from the capture" in host_of(frames[:2]).state["/proc/mdstat"].detail


def test_what_the_index_has_and_no_file_is_damaged(tmp_path: Path) -> None:
    files = {name: data for name, data in INDEXED.items() if not name.endswith("mdstat")}
    origin, frames = open_capture(make(tmp_path / "c", files | {"frames/0002/x": "", "frames/0003/x": ""}))
    assert origin.complete is False
    with pytest.raises(Failed, match="lost from the capture"):
        host_of(frames).read("/proc/mdstat")


def test_frames_may_be_taken_out(tmp_path: Path) -> None:
    files = {name: data for name, data in INDEXED.items() if "0002" not in name}
    files["frames.jsonl"] = "".join(f'{{"frame": {n}, "kind": "frame", "taken": {n}}}\n' for n in (1, 2, 3))
    origin, frames = open_capture(make(tmp_path / "c", files))
    assert [f.number for f in frames] == [1, 3]
    assert "removed frames: 1" in origin.note
    assert "missing frames: 2" in origin.note


@pytest.mark.parametrize(
    "member", ["../../../../etc/passwd", "/etc/passwd", "manifest.json", "frames/0009/x", "README.md"]
)
def test_an_index_leads_nowhere_else(tmp_path: Path, member: str) -> None:
    files = {"index.jsonl": line(1, "/proc/mdstat", member), "static/x": "", "README.md": "secret", "manifest.json": {}}
    frames = open_capture(make(tmp_path / "c", files))[1]
    assert {e.key: (e.outcome, e.data) for e in frames[0].evidence} == {
        "/x": (Outcome.OK, b""), "/proc/mdstat": (Outcome.FAILED, b""),
    }  # fmt: skip


def test_a_hostile_index_costs_little(tmp_path: Path) -> None:
    big = "x" * LARGEST
    lines = "".join(line(1, f"/k{n}", "static/big") for n in range(3000))  # 12 GiB, were each read anew
    frames = open_capture(make(tmp_path / "c", {"static/big": big + "more", "index.jsonl": lines}))[1]
    assert {id(e.data) for e in frames[0].evidence if e.key.startswith("/k")} == {id(by_key(frames[0])["/k1"].data)}


def test_a_cut_archive_says_nothing_of_frames_that_did_not_come(tmp_path: Path) -> None:
    noise = random.Random(3)
    files: Files = {f"frames/{n:04}/proc/diskstats": noise.randbytes(3000) for n in range(1, 21)}
    files["a-first"] = ""
    files["manifest.json"] = {"frames": [{"taken": 5000 + n, "monotonic": n} for n in range(1, 21)]}
    made = make(tmp_path / "made", files)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name in ("manifest.json", "frames"):
            tar.add(made / name, name)
    data = out.getvalue()
    counts = []
    for twentieth in range(2, 20):
        (tmp_path / "c.tgz").write_bytes(data[: len(data) * twentieth // 20])
        origin, frames = open_capture(tmp_path / "c.tgz")
        assert origin.complete is False
        assert all(f.evidence for f in frames)
        counts.append(len(frames))
    assert counts == sorted(counts)
    assert counts[0] < 4
    assert counts[-1] > 16


def test_the_hosts_name_of_an_archive(tmp_path: Path) -> None:
    packed = pack(make(tmp_path / "made", {"static/x": ""}), "made")
    for name, shown in (("n.tar.gz", "n"), ("n.tgz", "n"), ("n.b.tar.gz.part", "n.b"), ("plain", "plain")):
        (tmp_path / name).write_bytes(packed)
        assert open_capture(tmp_path / name)[0].name == shown


WORDS = st.sampled_from(["/x", "ok", "absent", "static/x", "frames/0001/x", "frame", "cmd:a b", "1"])
FIELDS = st.sampled_from(
    ["frames", "taken", "monotonic", "ran", "number", "host", "facts", "schema", "frame", "kind", "key", "member",
     "sha256", "outcome", "detail", "exit", "stderr", "/x", "cmd:a b", "link:/x"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | FIELDS, inner, max_size=5),
    max_leaves=12,
)
DOCUMENTS = [
    "manifest.json", "manifest-final.json", "index.jsonl", "frames.jsonl", "index/0001.jsonl", "static/links.json",
    "static/lists.json", "frames/0001/outcomes.json", "frames/0002/links.json",
]  # fmt: skip


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(DOCUMENTS, JSON | st.binary(max_size=20))))
def test_any_json_opens_or_is_refused(files: Files) -> None:
    with TemporaryDirectory() as folder, suppress(OpenError):
        origin, frames = open_capture(
            make(Path(folder), {"static/x": "1", "frames/0002/commands/a_b/stdout": "2"} | files)
        )
        assert origin.note.isprintable()
        assert frames
        assert all(a.monotonic < b.monotonic and a.number < b.number for a, b in pairwise(frames))
        host = host_of(frames)
        for ask in (host.read, host.link, host.entries, host.answer):
            with suppress(Absent, Denied, Failed, TimedOut):
                ask("/x")


@given(st.binary(max_size=600), st.sampled_from([bytes, gzip.compress]))
def test_random_bytes_are_no_capture(data: bytes, packing: Callable[[bytes], bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.tar.gz"
        path.write_bytes(packing(data))
        with pytest.raises(OpenError):
            open_capture(path)
