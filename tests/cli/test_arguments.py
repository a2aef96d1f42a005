"""Words and options: what is understood, and what is said of what is not."""

from __future__ import annotations

import pytest

import sdstop
from sdstop.cli.command import execute
from sdstop.cli.option_values import duration
from sdstop.cli.usage import COMMANDS
from tests.cli.run import one_line


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["reprot"], 'unknown command "reprot" (did you mean "report"?)'),
        (["--frm", "x"], 'unknown option "--frm" (did you mean "--from"?)'),
        (["hepl"], 'unknown command "hepl" (did you mean "help"?)'),
        (["help", "reprot"], 'unknown command "reprot" (did you mean "report"?)'),
        (["help", "report", "more"], 'unexpected argument "more"'),
        (["version", "more"], 'unexpected argument "more"'),
        (["report", "--format", "jsn"], "invalid choice: 'jsn' (did you mean \"json\"?)"),
        (["report", "--collectors", "disksats"], 'unknown collector "disksats"; did you mean "diskstats"?'),
        (["--mouse", "--no-mouse"], "argument --no-mouse: not allowed with argument --mouse"),
        (["frobnicate"], "unknown command \"frobnicate\"; run 'sdstop --help'"),
        (["fixtures/x"], "open a capture with --from fixtures/x"),
        (["report", "extra"], "unexpected argument \"extra\"; run 'sdstop report --help'"),
        (["report", "--strict"], 'unknown option "--strict"'),
        (["report", "--format", "pdf"], "argument --format: invalid choice: 'pdf'"),
        (["report", "--duration", "soon"], 'invalid duration "soon"; use 10s, 1m, 1h or seconds'),
        (["report", "--duration", "8d"], 'duration "8d" exceeds one week'),
        (["report", "--interval", "1ms"], 'invalid interval "1ms"; valid range 100ms to 1h'),
        (["capture"], "missing option -o; run 'sdstop capture --help'"),
        (["export", "--listen", "10042"], 'invalid address "10042"; use ADDR:PORT, e.g. 127.0.0.1:10042'),
        (["export", "--listen", "a:99999"], 'invalid address "a:99999"'),
        (["export", "--once", "--listen", ":1"], "cannot use --listen with --once"),
        (["report", "--from"], "argument --from: expected one argument"),
        (["--from", "a", "capture", "-o", "c", "--from", "b"], "cannot use several --from here"),
        (
            ["report", "--from", "a", "--root", "b"],
            "cannot use --root with --from (choose the",
        ),
        (["--from", "a", "--root", "b"], "cannot use --root with --from (choose the"),
        (
            ["report", "--from", "a", "--duration", "10"],
            "cannot use --duration with --from (a capture is",
        ),
        (
            ["report", "--from", "a", "--interval", "1s"],
            "cannot use --interval with --from (a capture keeps",
        ),
        (["capture", "-o", "b", "--from", "a", "--duration", "10s"], "cannot use --duration with --from"),
        (["capture", "-o", "b", "--from", "a", "--interval", "10s"], "cannot use --interval with --from"),
        (
            ["capture", "-o", "b", "--from", "a", "--collectors", "diskstats"],
            "cannot use --collectors with --from",
        ),
        (
            ["report", "--from", "a", "--io-sizes"],
            "cannot use --io-sizes with --from (captures contain recorded sizes only)",
        ),
        (
            ["capture", "-o", "b", "--root", "a", "--io-sizes"],
            "cannot use --io-sizes with --root (it",
        ),
        (["report", "--from", "a", "--no-smp"], "cannot use --no-smp with --from (a capture queries no hardware)"),
        (["export", "--io-sizes"], 'unknown option "--io-sizes"'),
        (["export", "--from", "a", "--interval", "1s"], "cannot use --interval with --from"),
        (["report", "--interval", "11s"], "--interval exceeds the duration (10s); rates need two samples"),
        (["capture", "-o", "b", "--interval", "2s", "--duration", "1500ms"], "--interval exceeds the duration (1.5s)"),
        (["export", "--once", "--interval", "3s"], "--interval exceeds the duration (2s)"),
        (["rules", "--collectors", "nonsense"], 'unknown collector "nonsense"; valid: '),
        (["--shape", "deep"], 'unknown option "--shape"'),
        (["export", "--profile=deep"], 'unknown option "--profile"'),
        (["report", "--profile=wide"], "invalid choice: 'wide'"),
        (["recrd"], 'unknown command "recrd" (did you mean "record"?)'),
        (["record"], "missing option -o; run 'sdstop record --help'"),
        (["unpack"], "missing RECORDING and PATH; run 'sdstop unpack --help'"),
        (["report", "--collectors", "diskstats,nonsense"], 'unknown collector "nonsense"; valid: '),
        (["report", "--collectors", ","], "--collectors: empty list"),
        (["metrics", "--from", "x"], 'unknown option "--from"'),
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


@pytest.mark.parametrize("option", ["--root", "--config", "--collectors"])
def test_a_check_of_an_empty_name_is_not_left_to_the_exporter(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exporter of this node has another root, configuration and sources."""
    monkeypatch.setattr("sdstop.exporters.local.client.check", lambda *_, **__: (0, "SDSTOP OK - no findings\n", 0.1))
    assert execute(["check"]) == 0
    assert "exporter, 0.1 s ago" in capsys.readouterr().out
    assert execute(["check", option, ""]) == 3
    assert "SDSTOP OK" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [each for each in COMMANDS if each not in {"", "unpack", "diff"}])
def test_options_stand_before_and_after_the_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = ["-o", "/nonexistent/x"]
    server, capture = ["--prometheus", "http://127.0.0.1:9"], ["--from", "/nonexistent/x"]
    more = {"capture": file, "record": file, "fleet": server, "backfill": capture}.get(command, [])
    config = "--http-config" if command == "fleet" else "--config"
    options = ["--no-color", config, "/nonexistent", *more]
    said = []
    for words in ([command, *options], [*options, command], [*options[:1], command, *options[1:]]):
        code = execute(words)
        said.append((code, *capsys.readouterr()))
    assert said == [said[0]] * 3
    assert said[0][0] == (3 if command == "check" else 2)
    assert "/nonexistent: No such file or directory" in "".join(said[0][1:])


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["help"], ["--help"]),
        (["help", "report"], ["report", "--help"]),
        (["--no-color", "help"], ["--help"]),
        (["version"], ["--version"]),
    ],
)
def test_help_and_version_are_words_too(
    words: list[str], option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for each in (words, option):
        with pytest.raises(SystemExit) as ended:
            execute(each)
        assert ended.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_and_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command] if command else []
    with pytest.raises(SystemExit) as ended:
        execute([*words, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    of_nodes = () if command in {"fleet", "unpack", "diff"} else ("--root DIR", "--config FILE", "--collectors LIST")
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
