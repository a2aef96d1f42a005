"""Every command over a capture: exit codes, what they print and where."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.cli.command import execute
from sdstop.core.evidence import Evidence, Outcome
from sdstop.exporters import plugin as check
from tests.cli.run import CALM, CRITICAL, MARK, WARNING, Make, one_line, run
from tests.exporters.meters import SIDE, Meter, Mood, frame, refusal

pytestmark = pytest.mark.live


def test_report_as_json_is_the_same_every_time(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["report", "--from", capture, "--format", "json"]) == 0
    first = capsys.readouterr().out
    assert execute(["--from", capture, "--format=json", "report"]) == 0
    assert capsys.readouterr().out == first
    report = json.loads(first)
    assert report["schema"] == "sdstop.report/2"
    assert [(f["rule"], f["severity"], f["subject"]) for f in report["findings"]] == [("too-loud", "critical", "c")]


def test_report_as_text(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["report", "--from", capture]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("node: 1 finding: 1 critical\n")
    assert "\x1b" not in out
    assert err == ""


def test_dashboard_without_a_terminal_is_the_report(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["report", "--from", capture]) == 0
    report = capsys.readouterr().out
    assert execute(["--from", capture]) == 0
    out, err = capsys.readouterr()
    assert out == report
    assert re.fullmatch(r"sdstop: .* is not a terminal; printing the text report\n", err)


COUNTS = "| critical=1;;0 warning=1;0 info=0 unchecked=0 'too-loud c level'=0.9;;0.5 'too-loud b/c level'=0.1;0.5"
SPEAKS = "too-loud not checked (it speaks)"
BELOW = "NOT CHECKED: too-loud (x: it speaks)"


@pytest.mark.parametrize(
    ("rows", "code", "lines"),
    [
        ([CALM], 0, ["OK - no findings | critical=0;;0 warning=0;0 info=0 unchecked=0"]),
        ([], 3, ["UNKNOWN - nothing checked | critical=0;;0 warning=0;0 info=0 unchecked=0"]),
        (
            [CALM, Meter("x", word="y")],
            0,
            [f"OK - no findings; {SPEAKS} | critical=0;;0 warning=0;0 info=0 unchecked=1", BELOW],
        ),
        (
            [Meter("x", word="y")],
            3,
            [f"UNKNOWN - nothing checked; {SPEAKS} | critical=0;;0 warning=0;0 info=0 unchecked=1", BELOW],
        ),
        (
            [WARNING],
            1,
            [
                (
                    "WARNING - 1 finding: too-loud b/c: LOUD METER. b/c is loud. Neighbors can wake up "
                    "| critical=0;;0 warning=1;0 info=0 unchecked=0 'too-loud b/c level'=0.1;0.5"
                )
            ],
        ),
        (
            [WARNING, CRITICAL],
            2,
            [
                "CRITICAL - 2 findings: too-loud c: LOUD METER. c is loud. Neighbors can wake up; too-loud b/c "
                + COUNTS,
                "CRITICAL: too-loud c: LOUD METER. c is loud. Neighbors can wake up",
                "WARNING: too-loud b/c: LOUD METER. b/c is loud. Neighbors can wake up",
            ],
        ),
    ],
)
def test_check(
    rows: Sequence[Meter], code: int, lines: list[str], meters: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    path = meters(frame(1, rows, idle=MARK))
    assert execute(["check", "--from", path]) == code
    assert capsys.readouterr().out.splitlines() == [f"SDSTOP {lines[0]}", *lines[1:]]


def test_check_is_short_however_much_there_is_to_say(meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line counts and names the worst; what else there is stands below it, without a bar, for some lines."""
    rows = [Meter(f"loud|{n}" * 50, level=0.9, mood=Mood.LOUD) for n in range(100)]
    rows += [Meter(f"mute|{n}" * 50, word="y") for n in range(100)]
    assert execute(["check", "--from", meters(frame(1, rows))]) == 2
    first, *more = capsys.readouterr().out.splitlines()
    assert first.startswith("SDSTOP CRITICAL - 100 findings: too-loud loud/0")
    assert " and 94 more; no usable data: idle; too-loud not checked (it speaks)" in first
    assert " | critical=100;;0 warning=0;0 info=0 unchecked=100 'too-loud loud/0" in first
    assert first.endswith("...'=0.9;;0.5")  # a number of a finding is whole or left out
    assert len(first) < 1000
    assert first.count("|") == 1
    assert more[0].startswith("CRITICAL: too-loud loud/0")
    assert more[-1] == "52 more; see 'sdstop report'"
    assert len(more) == 51
    assert not any("|" in line for line in more)


@pytest.mark.parametrize(
    ("outcome", "strict", "code"),
    [
        (Outcome.FAILED, False, 3),
        (Outcome.TIMEOUT, False, 3),
        (Outcome.DENIED, False, 0),
        (Outcome.DENIED, True, 3),
        (Outcome.ABSENT, True, 0),
    ],
)
def test_check_does_not_call_good_what_it_did_not_see(
    outcome: Outcome, *, strict: bool, code: int, meters: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = frame(1, [CALM], idle=MARK)
    refused = Evidence(SIDE, outcome, detail="it | is so")
    path = meters(replace(seen, evidence=(*seen.evidence, refused)))
    assert execute(["check", "--from", path, *["--strict"] * strict]) == code
    line, *more = capsys.readouterr().out.splitlines()
    assert line.startswith("SDSTOP UNKNOWN - no usable data: idle | " if code == 3 else "SDSTOP OK - no findings | ")
    assert line.count("|") == 1
    assert more == ([f"NO USABLE DATA: idle ({outcome}: /idle: it / is so)"] if code == 3 else [])


def test_a_rule_that_could_not_look_is_unknown_where_no_other_did(
    meters: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["check", "--from", meters(frame(1, Evidence(SIDE, data=b"x"), idle=MARK))]) == 3
    line, *more = capsys.readouterr().out.splitlines()
    reason = "(meters: not recorded in this capture)"
    said = "nothing checked; not recorded: meters; too-loud not checked"
    assert line.startswith(f"SDSTOP UNKNOWN - {said} {reason} | ")
    assert more == [f"NOT CHECKED: too-loud {reason}", "NOT RECORDED: meters"]


def test_what_nobody_recorded_is_told_below_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A capture that is older than a source is not worse for it."""
    (tmp_path / "frames" / "0001" / "proc").mkdir(parents=True)
    (tmp_path / "frames" / "0001" / "proc" / "mdstat").write_text(MDSTAT)
    assert execute(["check", "--from", str(tmp_path)]) == 0
    line, *more = capsys.readouterr().out.splitlines()
    assert line.startswith("SDSTOP OK - no findings in the recorded data; not recorded: ")
    assert any(
        re.fullmatch(r"NOT CHECKED: cache-errors, .* \(dmcache: not recorded in this capture\)", m) for m in more
    )
    assert execute(["report", "--from", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"\n  \d rules +dmcache: not recorded in this capture: cache-errors,", text)
    assert re.search(r"Not recorded in this capture: [a-z, -]*dmcache", " ".join(text.split()))


MDSTAT = """\
Personalities : [raid1]
md0 : active raid1 sdb[1] sda[0]
      1952382464 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""


def test_check_judges_the_last_window(meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = meters(frame(1, [CRITICAL], idle=MARK), frame(2, [CALM]))
    assert execute(["check", "--from", path]) == 0
    assert capsys.readouterr().out.startswith("SDSTOP OK - ")


def test_worst_wins_over_unknown(meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = meters(frame(1, [CRITICAL]))  # the other source did not answer
    assert execute(["check", "--from", path]) == 2
    line, *more = capsys.readouterr().out.splitlines()
    assert "; no usable data: idle | " in line
    assert more == ["NO USABLE DATA: idle (no data yet)"]


def test_export_once(capture: str, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    assert execute(["export", "--once", "--from", capture]) == 0
    page = capsysbinary.readouterr().out
    assert re.search(rb'\nsdstop_finding_active\{.*rule="too-loud",severity="critical",.*subject="c"\} 3\n', page)
    assert b"process_" not in page
    path = tmp_path / "sdstop.prom"
    assert execute(["export", "--once", "--from", capture, "--textfile", str(path)]) == 0
    assert path.read_bytes() == page


def test_capture_of_a_capture_finds_the_same(capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "again.tar.gz"
    assert execute(["capture", "--from", capture, "-o", str(packed)]) == 0
    out, err = capsys.readouterr()
    assert (out, one_line(err)) == ("", f"sdstop: {packed}: wrote 2 frames")
    reports = []
    for path in (capture, str(packed)):
        assert execute(["report", "--from", path, "--format", "json"]) == 0
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2]: name for name in archive.getnames()}
        findings = archive.extractfile(names["findings.json"])
        report = archive.extractfile(names["report.md"])
        assert findings is not None
        assert report is not None
        assert json.load(findings)["findings"][0]["subject"] == "c"
        assert report.read().startswith(b"# node: 1 finding: 1 critical\n")


def test_capture_overwrites_nothing(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["capture", "--from", capture, "-o", capture]) == 1
    assert "exists already" in one_line(capsys.readouterr().err)


def test_doctor(meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = meters(frame(1, refusal(Outcome.DENIED, "needs root"), idle=MARK))
    assert execute(["doctor", "--from", path]) == 0
    assert capsys.readouterr().out == (
        "node, from a capture: 1 of 2 sources ok\n"
        "\n"
        "SOURCE  STATUS  TIME     DESCRIPTION / ACTION\n"
        "meters  denied  2.00 ms  Meters. /meters: needs root. /meters requires root (all of it)\n"
        "idle    ok      100 ms   Never there\n"
    )


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.ABSENT, "absent 2.00 ms Meters. /meters: so. Not present on this node"),
        (Outcome.FAILED, "failed 2.00 ms Meters. /meters: so"),
        (Outcome.TIMEOUT, "timeout 2.00 ms Meters. /meters: so. Hung: check dmesg and the device"),
    ],
)
def test_doctor_says_what_to_do(outcome: Outcome, said: str, meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["doctor", "--from", meters(frame(1, refusal(outcome, "so")))]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.endswith(f" meters {said} idle waiting Never there. No data yet")


def test_doctor_says_what_a_privilege_would_add(meters: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["doctor", "--from", meters(frame(1, [CALM]))]) == 0
    assert "Meters. /meters requires root (all of it)\n" in capsys.readouterr().out


def test_rules_show_the_thresholds_in_force(meters: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "sdstop.toml"
    config.write_text("[rules.stripe-convoy]\ncolumns = 9\n")
    monkeyless = ["rules", "--config", str(config)]
    assert execute(monkeyless) == 2  # the made-up source has its own rules alone
    assert "unknown rule; see" in one_line(capsys.readouterr().err)
    shown = run(*monkeyless)
    assert shown.returncode == 0
    assert re.search(r"(?m)^ +columns +9 \(default 4\) +\S", shown.stdout)


def test_plugin_line_has_one_bar() -> None:
    assert check.line(0, "a|b\nc", ["x=1"]) == "SDSTOP OK - a/b\\x0ac | x=1\n"


ZONE_FILE = (b"TZif2" + bytes(15) + bytes(19) + b"\1" + bytes(3) + b"\4" + bytes(6) + b"UTC\0") * 2


@pytest.mark.parametrize("redacted", [False, True])
def test_times_have_the_zone_of_the_node_that_was_recorded(
    redacted: bool,  # noqa: FBT001  # a parameter of the test
    node: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (node / "etc").mkdir()
    (node / "etc/localtime").write_bytes(ZONE_FILE + b"\nCET-1CEST,M3.5.0,M10.5.0/3\n")
    target = tmp_path / "dump"
    more = ["--redact"] if redacted else []
    words = ["capture", "--root", str(node), "--collectors", "diskstats", "--duration", "1s", "-o", str(target)]
    assert execute([*words, *more]) == 0
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["facts"]["time_zone"] == "CET-1CEST,M3.5.0,M10.5.0/3"
    assert re.search(r"\d\d:\d\d:\d\d\+0[12]\b", (target / "report.md").read_text())
    monkeypatch.setenv("TZ", "Asia/Kolkata")  # of whoever opens it
    capsys.readouterr()
    assert execute(["report", "--from", str(target)]) == 0
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+0[12]\b", capsys.readouterr().out)
    config = tmp_path / "config.toml"
    config.write_text('[ui]\ntime = "utc"\n')
    assert execute(["report", "--from", str(target), "--config", str(config)]) == 0
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ", capsys.readouterr().out)


def test_a_zone_with_a_name_of_its_own_is_not_kept(tmp_path: Path, capture: str) -> None:
    manifest = json.loads((Path(capture) / "manifest.json").read_text())
    manifest["facts"] = {"time_zone": "zurich-1", "kernel": "6.1"}
    (Path(capture) / "manifest.json").write_text(json.dumps(manifest))
    assert execute(["capture", "--from", capture, "-o", str(tmp_path / "plain"), "--redact"]) == 0
    assert json.loads((tmp_path / "plain/manifest.json").read_text())["facts"] == {"kernel": "6.1"}
