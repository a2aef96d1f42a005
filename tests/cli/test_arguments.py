"""Words and options: what is understood, and what is said of what is not."""

from __future__ import annotations

import pytest

import sdstop
from sdstop.cli.arguments import COMMANDS, duration
from sdstop.cli.command import execute
from tests.cli.run import one_line


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["frobnicate"], "there is no command 'frobnicate'; there are report, capture, check, export, fleet, doctor, "),
        (["fixtures/x"], "; a capture is opened by --from PATH"),
        (["report", "extra"], "unrecognized arguments: extra; see sdstop report --help"),
        (["report", "--strict"], "unrecognized arguments: --strict; see sdstop report --help"),
        (["report", "--format", "pdf"], "argument --format: invalid choice: 'pdf'"),
        (["report", "--duration", "soon"], "'soon' is no duration; write 10s, 1m, 1h or seconds"),
        (["report", "--duration", "8d"], "'8d' is longer than a week"),
        (["report", "--interval", "1ms"], "'1ms' is no interval; it must be from 100ms to 1h"),
        (["capture"], "the following arguments are required: -o; see sdstop capture --help"),
        (["export", "--listen", "10042"], "'10042' is no address; write ADDR:PORT, as 127.0.0.1:10042"),
        (["export", "--listen", "a:99999"], "'a:99999' is no address"),
        (["export", "--once", "--listen", ":1"], "--once and --listen exclude each other"),
        (["report", "--from"], "argument --from: expected one argument"),
        (["--from", "a", "capture", "-o", "c", "--from", "b"], "--from was given twice"),
        (["report", "--from", "a", "--root", "b"], "--from and --root exclude each other"),
        (["--from", "a", "--root", "b"], "--from and --root exclude each other"),
        (["report", "--from", "a", "--duration", "10"], "--from and --duration exclude each other: a capture is"),
        (["report", "--from", "a", "--interval", "1s"], "--from and --interval exclude each other: a capture has the"),
        (["capture", "-o", "b", "--from", "a", "--duration", "10s"], "--from and --duration exclude each other"),
        (["capture", "-o", "b", "--from", "a", "--interval", "10s"], "--from and --interval exclude each other"),
        (["capture", "-o", "b", "--from", "a", "--collectors", "diskstats"], "--from and --collectors exclude each"),
        (
            ["report", "--from", "a", "--io-sizes"],
            "--from and --io-sizes exclude each other: a capture has the request",
        ),
        (["capture", "-o", "b", "--root", "a", "--io-sizes"], "--root and --io-sizes exclude each other: this machine"),
        (["report", "--from", "a", "--no-smp"], "--from and --no-smp exclude each other: a capture asks nobody"),
        (["export", "--io-sizes"], "unrecognized arguments: --io-sizes"),
        (["export", "--from", "a", "--interval", "1s"], "--from and --interval exclude each other"),
        (["report", "--interval", "11s"], "--interval is longer than the 10 s of watching: there would be one sample"),
        (["capture", "-o", "b", "--interval", "2s", "--duration", "1500ms"], "longer than the 1.5 s of watching"),
        (["export", "--once", "--interval", "3s"], "--interval is longer than the 2 s of watching"),
        (["rules", "--collectors", "nonsense"], "--collectors: there is no 'nonsense'; there are "),
        (["--shape", "deep"], "there is no command 'deep'"),
        (["export", "--profile=deep"], "unrecognized arguments: --profile=deep"),
        (["report", "--profile=wide"], "invalid choice: 'wide'"),
        (["record"], "there is no command 'record'"),
        (["report", "--collectors", "diskstats,nonsense"], "--collectors: there is no 'nonsense'; there are "),
        (["report", "--collectors", ","], "--collectors: the list is empty"),
        (["metrics", "--from", "x"], "unrecognized arguments: --from x"),
    ],
)
def test_usage_errors_are_one_line(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(words) == 2
    out, err = capsys.readouterr()
    line = one_line(err)
    assert line.startswith("sdstop: ")
    assert complaint in line
    assert out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--bogus"],
        ["--bogus", "check"],
        ["check", "--config", "/nonexistent"],
        ["check", "--from", "/nonexistent"],
        ["check", "--root", "/nonexistent"],
        ["check", "--collectors", "x"],
    ],
)
def test_what_check_cannot_judge_is_unknown(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(words) == 3
    out, err = capsys.readouterr()
    assert one_line(out).startswith("SDSTOP UNKNOWN - ")
    assert err == ""


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("/nonexistent", '--root "/nonexistent": No such file or directory'),
        ("nonexistent", '--root "nonexistent": No such file or directory'),
        ("/dev/null", '--root "/dev/null": not a directory'),
        ("/dev/null/x", '--root "/dev/null/x": Not a directory'),
        ("", '--root "": No such file or directory'),
        ("a\0b", '--root "a\\x00b": not a path'),
    ],
)
@pytest.mark.parametrize("command", ["", "report", "check", "doctor", "export"])
def test_a_root_that_is_no_directory_is_a_usage_error(
    command: str, root: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*filter(None, [command]), "--root", root]) == (3 if command == "check" else 2)
    assert said in one_line("".join(capsys.readouterr()))


@pytest.mark.parametrize("command", [command for command in COMMANDS if command])
def test_options_stand_before_and_after_the_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"capture": ["-o", "/nonexistent/x"], "fleet": ["--prometheus", "http://127.0.0.1:9"]}.get(command, [])
    config = "--http-config" if command == "fleet" else "--config"
    options = ["--no-color", config, "/nonexistent", *more]
    said = []
    for words in ([command, *options], [*options, command], [*options[:1], command, *options[1:]]):
        code = execute(words)
        said.append((code, *capsys.readouterr()))
    assert said == [said[0]] * 3
    assert said[0][0] == (3 if command == "check" else 2)
    assert "/nonexistent: No such file or directory" in "".join(said[0][1:])


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_and_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command] if command else []
    with pytest.raises(SystemExit) as ended:
        execute([*words, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    of_nodes = () if command == "fleet" else ("--root DIR", "--config FILE", "--collectors LIST")
    assert all(option in shown for option in (*of_nodes, "--no-color"))
    assert COMMANDS[command].split(";")[0] in " ".join(shown.split())
    with pytest.raises(SystemExit) as ended:
        execute([*words, "--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"sdstop {sdstop.__version__}\n")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("1m", 60), ("1h", 3600), ("2.5", 2.5), ("0", 0), ("500ms", 0.5), ("1d", 86400)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds
