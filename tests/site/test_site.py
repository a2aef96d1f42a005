"""Several captures opened together: the report of all nodes in every form, the check, and what cannot be joined."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sdstop.cli import command
from sdstop.cli.arguments import parse
from sdstop.cli.usage import MOST_COMPARED, UsageError
from sdstop.core.evidence import UNDATED
from sdstop.exporters.report.site import clocks, markdown, page, text, to_data
from tests.fixtures import FIXTURES, renamed
from tests.nodes.drbd import STATUS, resource, status
from tests.nodes.drbd_sides import PROC, pair, shown, side
from tests.nodes.site import Shown, site, together, unchecked
from tests.stories.archive import Archive

PUBLISHED = json.loads((FIXTURES.parent / "docs" / "report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(PUBLISHED)
TARGET, INITIATOR = str(FIXTURES / "aoe-flashcache"), str(FIXTURES / "aoe-initiator")
START = 1_795_000_000.0
WAITS, ALONE = side("WFConnection", "Primary/Unknown"), side("StandAlone", "Secondary/Unknown")


def capture(folder: Path, host: str, proc: str, *, at: float = 0.0, frames: int = 4, **more: str) -> str:
    """Write a capture with a DRBD resource, and return its path."""
    made = Archive(folder / host, host, taken=START + at, monotonic=500.0)
    fixed = {"/proc/sys/kernel/hostname": f"{host}\n", **{key.replace("__", "/"): value for key, value in more.items()}}
    for number in range(frames):
        made.add({PROC: proc, **fixed}, 5.0 * number)
    made.finish()
    return str(folder / host / "capture.tar.gz")


def words(*paths: str) -> list[str]:
    return [word for path in paths for word in ("--from", path)]


def report(capsys: pytest.CaptureFixture[str], *paths: str, form: str = "json") -> Any:
    assert command.execute(["report", *words(*paths), "--format", form]) == 0
    said = capsys.readouterr().out
    return json.loads(said) if form == "json" else said


def test_the_json_has_every_host_and_every_finding_its_host(capsys: pytest.CaptureFixture[str]) -> None:
    data = report(capsys, TARGET, INITIATOR)
    assert data["schema"] == "sdstop.report/2"
    assert list(VALIDATOR.iter_errors(data)) == []
    assert [host["name"] for host in data["hosts"]] == ["san1", "hyper3"]
    for host in data["hosts"]:
        assert host["readings"]["aoe_export" if host["name"] == "san1" else "aoe_target"]
        assert data["started"] <= host["started"] < host["ended"] <= data["ended"]
    assert data["frames"] == sum(host["frames"] for host in data["hosts"]) == 26
    first = data["findings"][0]
    assert (first["rule"], first["host"], first["between"]) == ("mtu-misaligned", "san1", ["san1", "hyper3"])
    assert {cite["host"] for cite in first["evidence"]} == {"san1", "hyper3"}
    assert {"san1:mtu-misaligned:eth1", "hyper3:mtu-misaligned:eth1"} <= set(first["explains"])
    for finding in data["findings"][1:]:
        assert finding["host"] in {"san1", "hyper3"} or finding["between"]
    for part in ("ruled_out", "unchecked", "collectors"):
        assert {each["host"] for each in data[part]} >= {"san1", "hyper3"}
    assert data["headline"]["code"] == 2
    assert "san1/eth1" in data["headline"]["text"]
    assert any(each["aspect"] == "mtu" for each in data["differences"])
    assert set(data) <= set(PUBLISHED["$defs"]["Report"]["properties"])


def test_one_capture_has_one_host_with_its_times(capsys: pytest.CaptureFixture[str]) -> None:
    data = report(capsys, TARGET)
    (host,) = data["hosts"]
    assert (host["started"], host["ended"], host["frames"]) == (data["started"], data["ended"], data["frames"])
    assert {finding["host"] for finding in data["findings"]} == {"san1"}
    assert {tuple(finding["between"]) for finding in data["findings"]} == {()}
    assert command.execute(["report", "--from", TARGET, "--format", "json1"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert "host" not in first["ruled_out"][0]
    assert "frames" not in first["host"]
    assert all(set(cite) == {"key", "frame", "excerpt"} for each in first["findings"] for cite in each["evidence"])


def test_every_form_says_the_same() -> None:
    made = pair(WAITS, ALONE)
    assert list(VALIDATOR.iter_errors(to_data(made))) == []
    forms = [" ".join(form.split()) for form in (text(made), markdown(made), page(made))]
    for form in forms:
        for finding in made.judgement.findings:
            assert finding.title in form.replace("\\", "")
        assert "store2" in form
        assert "Aligned by the nodes" in form
    assert max(map(len, text(made, 80).splitlines())) <= 80
    assert "drbd0 on store2 ONE SIDE STANDALONE" in forms[0]
    assert forms[0].index("ONE SIDE STANDALONE") < forms[0].index("cluster-degraded, since")


def test_hostile_names_do_not_reach_the_text() -> None:
    evil = "store\x1b[31m2\u202e"
    made = site({"store1": shown(WAITS), evil: shown(ALONE, 1)})
    for form in (text(made), markdown(made), page(made)):
        assert "\x1b[31m" not in form
        assert "\u202e" not in form


def test_check_has_one_line_for_all_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, other = capture(tmp_path, "store1", WAITS), capture(tmp_path, "store2", ALONE, at=1)
    assert command.execute(["check", *words(one, other)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SDSTOP CRITICAL - 1 finding: replication-stopped drbd0 on store2: ONE SIDE STANDALONE.")
    assert any(line.startswith("CRITICAL: cluster-degraded drbd0 on store1") for line in lines)
    data = report(capsys, one, other)
    assert data["headline"]["text"] in lines[0]


def test_check_of_a_healthy_pair(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    well = [side("Connected", roles, "UpToDate/UpToDate") for roles in ("Primary/Secondary", "Secondary/Primary")]
    paths = [capture(tmp_path, f"store{n}", proc) for n, proc in enumerate(well, 1)]
    assert command.execute(["check", *words(*paths)]) == 0
    assert capsys.readouterr().out.startswith("SDSTOP OK - no findings in the recorded data")


def test_captures_apart_in_time_are_in_the_headline(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    well = [side("Connected", roles, "UpToDate/UpToDate") for roles in ("Primary/Secondary", "Secondary/Primary")]
    paths = [capture(tmp_path, f"store{n}", proc, at=7200.0 * n) for n, proc in enumerate(well)]
    assert command.execute(["check", *words(*paths)]) == 0
    line, *details = capsys.readouterr().out.splitlines()
    assert "2 rules not checked (captures of store0, store1 are 2h00 apart by their clocks)" in line
    assert any("split-brain" in detail and "2h00 apart" in detail for detail in details)


def test_one_node_twice_is_a_comparison_and_no_site(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = capture(tmp_path / "a", "store1", WAITS)
    other = capture(tmp_path / "b", "store1", side("StandAlone", "Primary/Unknown", oos=8), at=3600)
    said = report(capsys, one, other, form="text")
    assert said.startswith("2 captures: ")
    assert "Captures of one node: properties are compared" in said
    data = report(capsys, one, other)
    names = [host["name"] for host in data["hosts"]]
    assert len(set(names)) == 2
    assert all(name.startswith("store1, 20") for name in names)
    assert not any(finding["rule"] == "split-brain" and finding["between"] for finding in data["findings"])
    assert command.execute(["check", *words(one, other)]) == 3
    assert "are captures of one node, store1; give one capture of each node" in capsys.readouterr().out
    third = capture(tmp_path, "store2", ALONE)
    assert command.execute(["report", *words(one, other, third)]) == 2
    assert "beside those of others" in capsys.readouterr().err


def test_captures_that_do_not_name_their_node_are_two_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, proc in (("a", WAITS), ("b", ALONE)):
        (tmp_path / name / "x" / "frames" / "0001" / "proc").mkdir(parents=True)
        (tmp_path / name / "x" / "frames" / "0001" / "proc" / "drbd").write_text(proc)
    data = report(capsys, str(tmp_path / "a" / "x"), str(tmp_path / "b" / "x"))
    assert [host["name"] for host in data["hosts"]] == [str(tmp_path / "a" / "x"), str(tmp_path / "b" / "x")]


def test_a_broken_capture_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, other = capture(tmp_path, "store1", WAITS), tmp_path / "broken.tar.gz"
    other.write_bytes(gzip.compress(b"not a tar archive" * 40))
    assert command.execute(["report", *words(one, str(other))]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert command.execute(["check", *words(one, str(other))]) == 3
    assert capsys.readouterr().out.startswith("SDSTOP UNKNOWN - ")


def test_nothing_is_ruled_out_by_a_damaged_source() -> None:
    """The status of store2 ends in the middle, after the resource: it may have had others."""
    well = status(resource())
    peer = resource()
    peer["connections"][0]["name"] = "store1"
    one = [(5.0 * n, {STATUS: well}) for n in range(4)]
    cut = [(5.0 * n + 1, {STATUS: status(peer)[:-40]}) for n in range(4)]
    made = site({"store1": one, "store2": cut})
    assert [verdict for verdict in made.judgement.ruled_out if verdict.rule == "split-brain"] == []
    assert "store2" in unchecked(made, "split-brain", "r0")


def test_captures_without_a_date_are_not_joined() -> None:
    frames = {"store1": renamed_frames(WAITS, "store1"), "store2": renamed_frames(ALONE, "store2")}
    made = together(frames)
    assert unchecked(made, "replication-stopped", "drbd0") == "time of the capture of store1, store2 unknown"
    assert clocks(made).startswith("Time of the capture of store1, store2 unknown")


def renamed_frames(proc: str, host: str) -> list[Any]:
    from msgspec.structs import replace  # noqa: PLC0415

    from tests.nodes.frames import frames  # noqa: PLC0415

    made = frames([(at, {**files, "/proc/sys/kernel/hostname": host}) for at, files in shown(proc)])
    return [replace(frame, taken=UNDATED + 5 * number) for number, frame in enumerate(made)]


def test_the_order_of_captures_does_not_matter() -> None:
    one, other = pair(WAITS, ALONE), site({"store2": shown(ALONE, 1), "store1": shown(WAITS)})
    assert [e.finding.id for e in one.episodes()] == [e.finding.id for e in other.episodes()]
    assert [e.since for e in one.episodes()] == [e.since for e in other.episodes()]


def test_the_same_captures_give_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for _ in range(2):
        assert command.execute(["report", *words(TARGET, INITIATOR), "--format", "json"]) == 0
        runs.append(capsys.readouterr().out)
    assert runs[0] == runs[1]


def test_names_are_replaced_alike_in_all_captures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.execute(["report", "--redact", *words(TARGET, INITIATOR), "--format", "json"]) == 0
    said = capsys.readouterr().out
    assert "san1" not in said
    assert "hyper3" not in said
    data = json.loads(said)
    assert data["findings"][0]["rule"] == "mtu-misaligned"
    assert set(data["findings"][0]["between"]) == {host["name"] for host in data["hosts"]}


def test_what_takes_several_captures() -> None:
    for name, why in (("capture", "a capture holds one node"), ("export", "an exporter has one node")):
        with pytest.raises(UsageError, match=f"cannot use several --from here .{why}"):
            parse(name, ["--from", "a", "--from", "b", *(["-o", "c"] if name == "capture" else [])])
    with pytest.raises(UsageError, match="the dashboard shows one node"):
        parse("", ["--from", "a", "--from", "b"])
    with pytest.raises(UsageError, match="json1"):
        parse("report", ["--from", "a", "--from", "b", "--format", "json1"])
    with pytest.raises(UsageError, match="not among them"):
        parse("report", ["--from", "a", "--from", "-"])
    with pytest.raises(UsageError, match="at most 64 captures"):
        parse("check", ["--from", "a"] * (MOST_COMPARED + 1))


def many(count: int) -> float:
    """Return the seconds that it takes to judge pairs of nodes together, `count` nodes in all."""
    nodes: dict[str, Shown] = {}
    for number in range(count // 2):
        one, other = f"a{number}", f"b{number}"
        for name, peer, state in ((one, other, "Connecting"), (other, one, "StandAlone")):
            known = resource(f"r{number}", state=state, peer_disk="DUnknown")
            known["connections"][0]["name"] = peer
            known["role"] = "Primary" if state == "Connecting" else "Secondary"
            nodes[name] = [(2.0 * n + 0.1, {STATUS: status(known)}) for n in range(5)]
    begun = time.process_time()
    made = site(nodes)
    took = time.process_time() - begun
    stopped = [finding for finding in made.judgement.findings if finding.rule == "replication-stopped"]
    assert sorted(finding.host for finding in stopped) == sorted(f"b{number}" for number in range(count // 2))
    begun = time.process_time()
    assert len(text(made).splitlines()) > count
    return took + time.process_time() - begun


def test_forty_captures_cost_forty_times_one() -> None:
    """CPU seconds grow with the number of nodes: 40 take less than 12 times what 8 take, where 25 would be square."""
    many(2)
    few, all_ = many(8), many(40)
    assert all_ < 12 * few, f"8 nodes {few:.2f} s, 40 nodes {all_:.2f} s"


def test_a_fixture_beside_itself_under_another_name_is_no_fault() -> None:
    """Two equal healthy nodes: nothing between them."""
    made = together({name: renamed("quiet-node", name) for name in ("a", "b")})
    assert [f for f in made.judgement.findings if f.rule != "node-outlier"] == []
