"""sdstop as a process: live, interrupted, on a terminal, with nobody to write to."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.run import DISKSTATS, one_line, run, start

pytestmark = pytest.mark.live


def test_rules_and_metrics_list_everything() -> None:
    rules = run("rules")
    assert (rules.returncode, rules.stderr) == (0, "")
    assert re.search(r"(?m)^stripe-convoy  \(at worst critical\)\n  \S", rules.stdout)
    some = run("rules", "--collectors", "network").stdout
    assert "stripe-convoy" not in some
    assert re.search(r"(?m)^frames-dropped  ", some)
    metrics = run("metrics")
    assert (metrics.returncode, metrics.stderr) == (0, "")
    assert re.search(r"(?m)^sdstop_disk_reads_total\{device\}  \(counter\)\n    .*/proc/diskstats", metrics.stdout)


def test_a_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    ended = run("metrics", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize(("command", "code"), [("metrics", 1), ("check", 3)])
def test_a_full_or_closed_output_is_one_line(command: str, code: int, node: Path) -> None:
    words = [command, *(["--from", str(tmp_capture(node.parent))] if command == "check" else [])]
    with Path("/dev/full").open("w") as full:
        ended = run(*words, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    if command != "check":
        assert one_line(ended.stderr) == "sdstop: cannot write to standard output: No space left on device"
    argv = f"exec {sys.executable} -m sdstop {' '.join(words)} >&-"
    closed = subprocess.run(["sh", "-c", argv], capture_output=True, text=True, check=False)
    assert closed.returncode == code
    assert "Traceback" not in closed.stderr


def tmp_capture(folder: Path) -> Path:
    path = folder / "hand-made"
    (path / "frames" / "0001" / "proc").mkdir(parents=True)
    (path / "frames" / "0001" / "proc" / "diskstats").write_text(DISKSTATS.format(1))
    return path


def test_a_live_report_below_a_root(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    ended = run("report", "--root", node, "--duration", "1s", "--interval", "200ms", "--format", "json", "-o", path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    report = json.loads(path.read_text())
    assert report["hosts"][0]["live"] is True
    assert report["hosts"][0]["name"] == "fake"
    assert report["frames"] >= 2
    assert [row["device"] for row in report["readings"]["disk_activity"]] == ["sda"]


@pytest.mark.parametrize("root", ["root", "./root/", "root/../root", "link"])
def test_a_root_may_be_relative_to_the_working_directory(root: str, node: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(node.name)
    ended = run("report", "--root", root, "--duration", "1s", "--interval", "200ms", "--format", "json", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    report = json.loads(ended.stdout)
    assert report["hosts"][0]["name"] == "fake"
    assert [row["device"] for row in report["readings"]["disk_activity"]] == ["sda"]


def test_a_root_that_is_the_working_directory(node: Path) -> None:
    ended = run("export", "--once", "--root", ".", cwd=node)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert 'sdstop_node_info{hostname="fake"} 1\n' in ended.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_report_that_is_interrupted_leaves_the_file_as_it_was(number: int, node: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "report").write_text("precious")
    process = start("report", "--root", node, "--duration", "1h", "-o", out / "report")
    _wait_for_child(process.pid)
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert [entry.name for entry in out.iterdir()] == ["report"]
    assert (out / "report").read_text() == "precious"


def test_a_live_capture_below_a_root_can_be_opened(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "made"
    ended = run("capture", "--root", node, "--duration", "500ms", "--interval", "100ms", "-o", path)
    assert ended.returncode == 0
    assert re.fullmatch(rf"sdstop: {path}: wrote \d+ frames\n", ended.stderr)
    again = run("report", "--from", path, "--format", "json")
    assert json.loads(again.stdout)["readings"]["disk"][0]["reads"] == 100


def test_check_sees_a_source_that_hangs(node: Path) -> None:
    (node / "proc" / "mdstat").unlink()
    os.mkfifo(node / "proc" / "mdstat")
    code = (
        "import sys; from sdstop.cli import check; from sdstop.cli.command import execute; "
        "check.SECONDS = 4.0; sys.exit(execute(sys.argv[1:]))"
    )
    argv = [sys.executable, "-c", code, "check", "--root", str(node)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 3
    first, *more = ended.stdout.splitlines()
    assert re.match(r"SDSTOP UNKNOWN - no usable data: .*mdraid", first)
    assert any(line.startswith("NO USABLE DATA: mdraid (timeout: ") for line in more)
    assert ended.stderr == ""


def test_export_once_live(node: Path) -> None:
    config = node / "config.toml"
    config.write_text('[export]\ndisks = "all"\n')
    ended = run("export", "--once", "--root", node, "--config", config)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert 'sdstop_disk_reads_total{device="sda"} 100\n' in ended.stdout


def test_an_interrupt_is_130_without_a_word(node: Path) -> None:
    process = start("report", "--root", node, "--duration", "1h")
    _wait_for_child(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_capture_is_whole(number: int, code: int, node: Path, tmp_path: Path) -> None:
    path = tmp_path / "made.tar.gz"
    process = start("capture", "--root", node, "--duration", "1h", "--interval", "100ms", "-o", path)
    part = tmp_path / "made.tar.gz.part"
    while not (part.exists() and part.stat().st_size > 2000):
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert re.fullmatch(rf"sdstop: {path}: wrote \d+ frames?, interrupted\n", err)
    assert run("report", "--from", path).returncode == 0


def _wait_for_child(pid: int) -> None:
    """Wait until the sampler was forked and the process waits for it, past its imports.

    CPython has a process that is interrupted in `exec`, by which dataclasses are made, end by the signal itself,
    whatever exit code it returns.
    """
    children, state = Path(f"/proc/{pid}/task/{pid}/children"), Path(f"/proc/{pid}/stat")
    idle = 0
    while idle < 20:
        waits = children.read_text().strip() and state.read_text().rpartition(")")[2].split()[0] == "S"
        idle = idle + 1 if waits else 0
        time.sleep(0.01)


def test_progress_and_colour_are_for_terminals_alone(node: Path) -> None:
    (node / "proc" / "mdstat").write_text(
        "Personalities : [raid1]\nmd0 : active raid1 sda1[0] sdb1[1](F)\n      1000 blocks super 1.2 [2/1] [U_]\n\n"
        "unused devices: <none>\n"
    )
    words = ("report", "--root", str(node), "--duration", "400ms", "--interval", "200ms")
    plain = _on_terminal(*words, environment={"NO_COLOR": "1"})
    assert "sdstop: collecting for 0.4s" in plain
    assert not re.search(r"\x1b\[[0-9;]*m", plain)
    assert not re.search(r"\x1b\[[0-9;]*m", _on_terminal(*words, "--no-color"))
    colored = _on_terminal(*words)
    assert "array-degraded" in colored
    assert re.search(r"\x1b\[1;31mCRITICAL|\x1b\[33mWARNING", colored)


def _on_terminal(*words: str, environment: Mapping[str, str] | None = None) -> str:
    """Return all that a command writes to a terminal."""
    ours, theirs = pty.openpty()
    variables = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", **(environment or {})}
    argv = [sys.executable, "-m", "sdstop", *words]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode()


@pytest.mark.parametrize(
    "words", [["rules"], ["check"], ["report", "--format", "json"], ["report"], ["export", "--once"]]
)
def test_start_imports_nothing_large(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from sdstop.cli.command import execute; execute(sys.argv[1:]); "
        "print(*sorted({'textual', 'rich', 'prometheus_client', 'psutil', 'pyudev', 'asyncio'} & set(sys.modules)))"
    )
    source = [] if words == ["rules"] else ["--from", str(tmp_capture(tmp_path))]
    argv = [sys.executable, "-c", code, *words, *source]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == ""
