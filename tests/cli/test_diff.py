"""`sdstop diff`: sources, moments, formats and exit codes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.cli.command import execute
from sdstop.cli.diff import CHANGED, WORSE, split
from sdstop.exporters.recording import RecordingLimits, RecordingWriter
from tests.cli.run import executed, one_line, run
from tests.days import record
from tests.fixtures import FIXTURES, opened

BEFORE, AFTER = str(FIXTURES / "mtu-mismatch"), str(FIXTURES / "mtu-mended")
COURSE = str(FIXTURES / "aoe-flashcache-mended")


@pytest.mark.parametrize(
    ("a", "b", "code"), [(BEFORE, AFTER, CHANGED), (AFTER, BEFORE, WORSE), (BEFORE, BEFORE, 0)], ids=["ab", "ba", "aa"]
)
def test_the_exit_code_is_0_unless_it_is_asked_for(
    a: str, b: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["diff", a, b]) == 0
    assert execute(["diff", a, b, "--exit-code"]) == code
    capsys.readouterr()


def test_two_moments_of_one_capture_read_as_what_the_fix_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["diff", f"{COURSE}@10:04:30", COURSE, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {each["change"] for each in said["findings"]} == {"gone"}
    assert said["a"]["moment"]
    assert said["b"]["moment"]  # the end of the same file, not all that was ever found in it
    assert [(each["field"], each["before"], each["after"]) for each in said["settings"]] == [("mtu", 9000, 8700)]


def test_two_moments_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origin, frames = opened("aoe-flashcache-mended")
    path = tmp_path / "a@b.sdstop"
    with RecordingWriter(path, origin, RecordingLimits()) as writer:
        for frame in frames:
            writer.add(frame)
    assert execute(["diff", f"{path}@10:04:30", f"{path}@-1s"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("san1, A to B: findings: 3 gone; 1 setting")
    assert "a@b.sdstop@-1s" in said


def test_a_path_may_contain_the_mark_of_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x@y"
    path.touch()
    assert split(str(path)) == (str(path), None)
    assert split(f"{path}@03:10") == (str(path), "03:10")
    assert split(f"{path}@@1763900000") == (str(path), "@1763900000")
    assert split("-") == ("-", None)
    assert split("missing@03:10") == ("missing", "03:10")


def test_text_from_a_ticket_is_one_side(tmp_path: Path) -> None:
    listing = tmp_path / "ticket.txt"
    listing.write_text("$ cat /proc/mdstat\nPersonalities : [raid1]\nmd0 : active raid1 sdb1[1] sda1[0]\n"
                       "      1047552 blocks super 1.2 [2/2] [UU]\n\nunused devices: <none>\n")  # fmt: skip
    with listing.open() as stdin:
        done = run("diff", "-", listing, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert "nothing changed" in done.stdout
    assert "Time of A and B unknown" in done.stdout


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "diff.html"
    assert execute(["diff", BEFORE, AFTER, "--format", "html", "-o", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "MTU" in page
    assert "<script" not in page
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["diff", BEFORE], 2, "missing B; run 'sdstop diff --help'"),
        (["diff", "-", "-"], 2, 'only one of A and B can be "-"'),
        (["diff", BEFORE, "/nowhere"], 1, "/nowhere cannot be opened: No such file or directory"),
        (["diff", f"{BEFORE}@noon", AFTER], 1, f"{BEFORE} cannot be opened so: --at: invalid time"),
    ],
    ids=["one", "stdin", "missing", "time"],
)
def test_errors_are_one_line(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(words) == code
    assert one_line(capsys.readouterr().err).startswith(f"sdstop: {said}")


def test_a_moment_without_a_sample_and_damage_are_said(tmp_path: Path) -> None:
    origin, story = opened("quiet-node")
    path = tmp_path / "r"
    again = [
        replace(each, number=each.number + len(story), taken=each.taken + 60, monotonic=each.monotonic + 60)
        for each in story
    ]
    record(path, origin, iter([*story, *again]))
    ended = again[-1].taken
    done = executed("diff", f"{path}@@{story[-1].taken:.0f}", f"{path}@@{ended + 40:.0f}")
    assert "B has no sample at the time chosen: the newest is 40s older." in done.stdout
    assert "A has" not in done.stdout
    done = executed("unpack", str(path), str(tmp_path / "c"), "--until", f"@{ended + 40:.0f}")
    assert "no sample at the end of the period: the newest is 40s older" in done.stderr
    store = sqlite3.connect(path)
    store.execute("UPDATE block SET data = x'00' WHERE id = (SELECT max(id) FROM block)")
    store.commit()
    store.close()
    done = executed("diff", f"{path}@@{story[20].taken:.0f}", str(path))
    assert "B has no sample at this moment: the recording is damaged." in done.stdout
    assert "B is not complete: block" in done.stdout
