"""`sdstop record` and what opens its file: as processes on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.recordings.database import Recording
from tests.cli.run import executed, one_line, run, start

pytestmark = pytest.mark.live


def wait_for(recorder: subprocess.Popen[str], path: Path, frames: int) -> None:
    """Wait for frames beyond the tables: they are written half a minute later, or at the end."""
    end = time.monotonic() + 60
    while not has_tables(path) or time.monotonic() < end - 60 + frames * 0.2:
        assert recorder.poll() is None, recorder.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def has_tables(path: Path) -> bool:
    if not path.is_file():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("select 1 from sqlite_master").fetchone() is not None


def test_a_recording_is_ended_by_a_signal_and_opened(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "node.sdstop"
    recorder = start("record", "-o", str(path), "--root", str(node), "--interval", "200ms")
    wait_for(recorder, path, 12)
    refused = run("record", "-o", str(path), "--root", str(node))
    assert refused.returncode == 1
    assert one_line(refused.stderr) == f"sdstop: {path} is being written by another process"
    recorder.send_signal(signal.SIGTERM)
    _, said = recorder.communicate(timeout=20)
    assert recorder.returncode == 0, said
    found = re.fullmatch(rf"sdstop: {path}: recorded (\d+) frames", one_line(said))
    assert found
    count = int(found[1])
    assert count >= 5
    origin, frames = open_capture(path)
    assert len(frames) == count
    assert origin.complete
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith("node.sdstop")) == ["node.sdstop"]

    report = json.loads(executed("report", "--from", str(path), "--format", "json").stdout)
    assert report["frames"] == count
    judged = executed("check", "--from", str(path))
    assert judged.returncode in {0, 3}
    assert re.search(r"^NEWEST SAMPLE: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", judged.stdout, re.MULTILINE)

    part = tmp_path / "part"
    done = executed("unpack", str(path), str(part), "--since", "0.5s")
    assert done.returncode == 0, done.stderr
    assert len(open_capture(part)[1]) in {3, 4}
    known = {item.key: item.data for frame in frames for item in frame.evidence}
    assert {item.key: item.data for frame in open_capture(part)[1] for item in frame.evidence} == known

    again = start("record", "-o", str(path), "--root", str(node), "--interval", "200ms")
    wait_for(again, path, 8)
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=20)
    with Recording(path) as recording:
        assert len(recording.runs) == 2
    both = json.loads(executed("report", "--from", str(path), "--format", "json").stdout)
    assert both["frames"] > count  # one timeline of both runs


def test_a_killed_recorder_leaves_a_file_that_is_continued(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "node.sdstop"
    recorder = start("record", "-o", str(path), "--root", str(node), "--interval", "200ms")
    wait_for(recorder, path, 5)
    recorder.kill()
    recorder.communicate(timeout=20)
    opened = executed("check", "--from", str(path))
    assert opened.returncode == 3
    assert "is a recording without a frame" in opened.stdout
    again = start("record", "-o", str(path), "--root", str(node), "--interval", "200ms")
    wait_for(again, path, 12)
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=20)
    assert again.returncode == 0
    assert open_capture(path)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["record"], "missing option -o"),
        (["record", "-o", "x", "--keep", "long"], 'invalid duration "long"'),
        (["record", "-o", "x", "--max-size", "10k"], "is below 1MiB"),
        (["record", "-o", "x", "--max-size", "many"], 'invalid size "many"'),
        (["report", "--since", "2h"], "--since, --until and --at require --from"),
        (["check", "--from", "x", "--at", "3:10", "--until", "4:10"], "not allowed with argument"),
        (["unpack", "x"], "missing PATH"),
    ],
    ids=["file", "keep", "small", "size", "live", "both", "path"],
)
def test_wrong_options_are_one_line(words: list[str], said: str) -> None:
    done = run(*words)
    assert done.returncode == (3 if words[0] == "check" else 2)
    assert said in one_line(done.stdout if words[0] == "check" else done.stderr)


@pytest.mark.parametrize("name", ["missing/node.sdstop", "directory", "text"])
def test_a_file_that_cannot_be_a_recording_is_one_line(name: str, node: Path, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "text").write_text("notes\n")
    done = run("record", "-o", str(tmp_path / name), "--root", str(node))
    assert done.returncode == 1
    assert one_line(done.stderr).startswith(f"sdstop: {tmp_path / name} ")
    assert (tmp_path / "text").read_text() == "notes\n"


def test_a_part_of_a_capture_is_chosen(tmp_path: Path) -> None:
    story = os.fspath(Path(__file__).parent.parent.parent / "fixtures" / "clone-convoy")
    whole = open_capture(story)[1]
    done = executed("report", "--from", story, "--since", "20s", "--until", "10s", "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 9 <= report["frames"] <= 12
    assert report["ended"] <= whole[-1].taken - 10
    assert any(row["rule"] == "stripe-convoy" for row in report["findings"])
    late = executed("report", "--from", story, "--until", "2001-01-01 00:00")
    assert late.returncode == 1
    assert one_line(late.stderr).endswith("has no frame before the end of the period")
    wrong = executed("check", "--from", story, "--at", "soon")
    assert wrong.returncode == 3
    assert "--at: invalid time; use 2h (before the end), 03:10 or 2026-11-21 03:10" in wrong.stdout
