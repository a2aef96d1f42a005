"""What cannot be read or written is told in one line, and never a traceback."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sdstop.cli import opening
from sdstop.cli.command import execute
from tests.cli.run import one_line


def garbage(folder: Path) -> list[Path]:
    """Make files that are no captures."""
    folder.mkdir()
    (folder / "noise").write_bytes(os.urandom(3000))
    (folder / "empty.tar.gz").write_bytes(b"")
    (folder / "nothing").mkdir()
    (folder / "text").write_text("hello\n")
    with tarfile.open(folder / "evil.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("../../etc/passwd")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    return [*sorted(folder.iterdir()), folder / "missing", folder / "a\nb\x1b[2J"]


@pytest.mark.parametrize(
    "words", [["report"], [], ["export", "--once"], ["doctor"], ["capture", "-o", "/nonexistent/x"]]
)
def test_garbage_is_told_in_one_line(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in garbage(tmp_path / "garbage"):
        assert execute([*words, "--from", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert one_line(err).isprintable()


def test_an_empty_capture_is_nothing_to_call_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "manifest.json").write_text("[[[")
    assert execute(["check", "--from", str(tmp_path)]) == 3
    line, *more = capsys.readouterr().out.splitlines()
    assert re.match(r"SDSTOP UNKNOWN - no usable data: any source; not recorded: .*; \d+ rules not checked \(", line)
    assert more[0] == "NO USABLE DATA: any source"
    listed = more[1:-1] if re.fullmatch(r"\d+ more; see 'sdstop report'", more[-1]) else more[1:]
    assert listed
    assert all(each.startswith(("NOT CHECKED: ", "NOT RECORDED: ")) for each in listed)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "-o", "/nonexistent/x"],
        ["report", "-o", "/"],
        ["report", "-o", "a\0b"],
        ["report", "-o", "/dev/full"],
        ["capture", "-o", "/nonexistent/x.tar.gz"],
        ["capture", "-o", "/dev/null/x"],
        ["export", "--once", "--textfile", "/nonexistent/x"],
        ["export", "--textfile", "/nonexistent/x"],
        ["export", "--listen", "192.0.2.1:1"],
    ],
)
def test_what_cannot_be_written_is_told_in_one_line(
    words: list[str], capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*words, "--from", capture]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.match(r"sdstop: .*(cannot|is no)", one_line(err))


def test_a_report_that_fails_leaves_the_file_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("precious")
    for path in (old, new):
        assert execute(["report", "--from", "/nonexistent", "-o", str(path)]) == 1
    assert old.read_text() == "precious"
    assert not new.exists()


def test_a_report_is_its_owners_alone_and_a_textfile_everybodys(
    capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, page, out = tmp_path / "report.html", tmp_path / "sdstop.prom", tmp_path / "out"
    before = os.umask(0o022)
    try:
        assert execute(["report", "--from", capture, "--format", "html", "-o", str(report)]) == 0
        assert execute(["export", "--once", "--from", capture, "--textfile", str(page)]) == 0
        assert execute(["capture", "--from", capture, "-o", f"{out}.tar.gz"]) == 0
        assert execute(["capture", "--from", capture, "-o", str(out)]) == 0
    finally:
        os.umask(before)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir() if path.name != "node"}
    assert modes == {"report.html": "0o600", "sdstop.prom": "0o644", "out.tar.gz": "0o600", "out": "0o700"}
    assert {path.stat().st_mode & 0o077 for path in out.rglob("*")} == {0}


@pytest.mark.parametrize("words", [["report", "-o"], ["export", "--once", "--textfile"]])
def test_a_full_disk_leaves_what_was_there(words: list[str], capture: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_text("precious")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from sdstop.cli.command import execute; sys.exit(execute(sys.argv[1:]))"
    )
    for name in ("old", "new"):
        argv = [sys.executable, "-c", code, *words, str(folder / name), "--from", capture]
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert one_line(ended.stderr).endswith(f"{name}: File too large")
    assert [path.name for path in folder.iterdir()] == ["old"]
    assert (folder / "old").read_text() == "precious"


@pytest.mark.parametrize("words", [[], ["--once"]])
@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout"])
def test_a_textfile_is_a_regular_file(
    words: list[str], path: str, capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.lstat(path)
    assert execute(["export", *words, "--from", capture, "--textfile", path]) == 1
    assert one_line(capsys.readouterr().err).endswith(f"cannot write {path}: it is not a regular file")
    assert os.lstat(path).st_ino == before.st_ino


def test_report_goes_into_a_file(capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.txt"
    path.write_text("x" * 100_000)
    assert execute(["report", "--from", capture, "-o", str(path)]) == 0
    assert capsys.readouterr() == ("", "")
    assert path.read_text().startswith("node: 1 finding")
    assert "xxx" not in path.read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[[", "sdstop.toml: "),
        ("[rules.nonsense]\nx = 1\n", "rules.nonsense: unknown rule; see `sdstop rules`"),
        ("[rules.too-loud]\nlevel = -1\n", "rules.too-loud.level: expected a number from 0 to 1e18"),
        ("[rules.too-loud]\nloudness = 1\n", "rules.too-loud.loudness: unknown threshold; valid: "),
        ("[sampler]\ninterval = 0\n", "sampler.interval: expected seconds from 0.1 to 3600"),
        ("[sampler]\npace = 1\n", "sampler.pace: unknown setting; valid: interval, smart, smp"),
        ("[export]\nlimit = 0\n", "export.limit: expected a whole number from 1"),
        ("[export]\nlimit = nan\n", "export.limit: expected a whole number from 1, got a number"),
        ("[export]\nlimit_of = 1\n", "export.limit_of: unknown setting; did you mean limit"),
        ("[export]\nlimits = 1\n", "export.limits: expected a table, got a whole number"),
        ("[export]\nexclude = 'x'\n", "export.exclude: expected a table, got text"),
        ("[export.exclude]\nnonsense = 'x'\n", "export.exclude.nonsense: unknown family; valid: "),
        ("[export.exclude]\nmeter = 5\n", "export.exclude.meter: expected a regular expression; put it in quotes"),
        ("[export.exclude]\nmeter = 'a{99999999999}'\n", "export.exclude.meter: not a regular expression: "),
        ("[exporter]\nlimit = 1\n", "exporter: unknown setting; did you mean export?"),
    ],
)
@pytest.mark.parametrize("words", [["export", "--once"], ["report"], ["check"], ["metrics"]])
def test_wrong_config_is_a_usage_error(
    text: str, complaint: str, words: list[str], capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what is said of the exporter, by every command: one that took it silently would vouch for it."""
    config = tmp_path / "sdstop.toml"
    config.write_text(text)
    source = [] if words == ["metrics"] else ["--from", capture]
    assert execute([*words, *source, "--config", str(config)]) == (3 if words == ["check"] else 2)
    said = one_line("".join(capsys.readouterr()))
    assert complaint in said
    assert str(config) in said


def test_an_internal_error_is_one_line(
    capture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("\x1b[2Jnobody\nexpected this")

    monkeypatch.setattr(opening, "configured", broken)
    for words, code in (["report"], 1), (["check"], 3):
        assert execute([*words, "--from", capture]) == code
        line = one_line("".join(capsys.readouterr()))
        assert "internal error: ZeroDivisionError: \\x1b[2Jnobody\\x0aexpected this (set SDSTOP_TRACEBACK=1" in line
    monkeypatch.setenv("SDSTOP_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        execute(["report", "--from", capture])
