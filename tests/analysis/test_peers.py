"""Captures of several nodes beside each other: what they disagree in, what is the same, what is wrong on each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sdstop.analysis.outlier import Trait
from sdstop.analysis.peers import BETWEEN, COMPARED, judged_traits
from sdstop.cli import command
from sdstop.cli.arguments import MOST_COMPARED, UsageError, parse
from sdstop.core.finding import Damage, Finding, Severity, Verdict
from sdstop.exporters.report.comparison import compared, markdown, page, text, to_data
from tests.fixtures import FIXTURES, replayed


def test_an_mtu_that_two_nodes_disagree_in_is_a_warning() -> None:
    said = compared([replayed("aoe-flashcache", "a"), replayed("aoe-flashcache-8700", "b")])
    found = {(f.rule, f.severity, f.subject): f for f in said.findings}
    mtu = found["mtu-mismatch", Severity.WARNING, "mtu/eth1"]
    assert (mtu.title, mtu.cause) == ("DIFFERENT MTU", "MTU of eth1: 4000 on a, 8700 on b.")
    assert (mtu.damage, mtu.view) == (Damage.AVAILABILITY, "network")
    assert {cite.excerpt for cite in mtu.evidence} == {"4000", "8700"}
    assert not any(f.subject == "mtu/eno1" for f in said.findings)
    assert any(v.subject == "mtu/eno1" for v in said.alike)


def test_of_four_the_one_that_differs_is_named() -> None:
    nodes = [replayed("aoe-flashcache-8700", name) for name in "abc"] + [replayed("aoe-flashcache", "odd")]
    said = compared(nodes)
    (mtu,) = [f for f in said.findings if f.rule == "mtu-mismatch"]
    assert (mtu.subject, mtu.severity) == ("odd/eth1", Severity.WARNING)
    assert mtu.cause == "MTU of eth1: 4000; 3 peers have 8700."


def test_memory_and_disks_that_differ_are_told() -> None:
    said = compared([replayed("vm-numa-full-dimms", "full"), replayed("vm-numa-one-dimm", "one")])
    found = {f.subject: f for f in said.findings}
    assert found["dimms"].cause == "Memory modules: 2 x 32G on one, 24 x 16G on full."
    assert found["channels/0"].cause == "Channels used of 0: 1 on one, 6 on full."
    assert ("Memory modules", (("2 x 32G", ("one",)), ("24 x 16G", ("full",)))) in {
        (each.what, each.values) for each in said.differences
    }


def test_one_node_twice_is_before_and_after() -> None:
    same = [replayed("quiet-node", "n"), replayed("quiet-node", "n")]
    said = compared(same)
    assert said.findings == []
    assert said.differences == ()
    names = [name for name, _ in said.sessions]
    assert len(set(names)) == 2
    assert all(name.startswith("n, 20") for name in names)


def test_every_form_says_the_same() -> None:
    said = compared([replayed("aoe-flashcache", "a"), replayed("aoe-flashcache-8700", "b")])
    data = to_data(said)
    assert data["schema"] == "sdstop.comparison/2"
    assert [node["name"] for node in data["nodes"]] == ["a", "b"]
    summaries = [finding["summary"] for finding in data["findings"]]
    assert any(summary.startswith("MTU of eth1: 4000 on a, 8700 on b.") for summary in summaries)
    assert text(said).split("EACH NODE\n")[1].startswith("  a  ")
    assert max(map(len, text(said, 80).splitlines())) <= 80
    plain = " ".join(text(said).split())
    for form in (plain, markdown(said), page(said)):
        assert all(summary in form for summary in summaries)
        assert "3 findings" in form or "1 finding" in form
    assert json.loads(json.dumps(data)) == data


def test_report_takes_several_captures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--from", str(FIXTURES / "aoe-flashcache"), "--from", str(FIXTURES / "aoe-flashcache-8700")]
    assert command.execute(["report", *words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "sdstop.comparison/2"
    for form in ("text", "html", "markdown"):
        assert command.execute(["report", *words, "--format", form, "-o", str(tmp_path / form)]) == 0
        assert "mtu/eth1" in (tmp_path / form).read_text()
    assert command.execute(["report", *words, "--from", str(tmp_path / "none")]) == 1


def test_only_report_compares() -> None:
    with pytest.raises(UsageError, match="accepts several --from"):
        parse("check", ["--from", "a", "--from", "b"])
    with pytest.raises(UsageError, match="not among them"):
        parse("report", ["--from", "a", "--from", "-"])
    with pytest.raises(UsageError, match="at most 64 captures"):
        parse("report", ["--from", "a"] * (MOST_COMPARED + 1))


def ways(*counts: float) -> list[Verdict]:
    """What is said of nodes of which each has so many ways to each of its disks."""
    return judged_traits([Trait(f"n{at}", "ways", "MODEL", count) for at, count in enumerate(counts)])


@pytest.mark.parametrize(
    ("counts", "accused"),
    [
        ((2.0, 2.0, 2.0, 1.0), ["n3/MODEL"]),
        ((2.0, 2.0, 1.0), ["ways/MODEL"]),  # too few: a difference, and nobody is accused
        ((2.0, 1.0), ["ways/MODEL"]),
        ((1.0, 1.0, 1.0, 2.0), ["ways/MODEL"]),  # who has more than most lacks nothing
        ((2.0, 2.0), []),
    ],
)
def test_who_lacks_a_way_is_accused_and_nobody_else(counts: tuple[float, ...], accused: list[str]) -> None:
    found = [verdict for verdict in ways(*counts) if isinstance(verdict, Finding)]
    assert [finding.subject for finding in found] == accused
    assert all((f.rule, f.severity) == ("path-missing", Severity.WARNING) for f in found)
    if accused == ["ways/MODEL"]:
        assert found[0].title == "FEWER DISK PATHS"
        assert found[0].cause.startswith("Disk paths of MODEL: ")
        assert [value.name for value in found[0].values] == [f"n{at}" for at in range(len(counts))]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1.0"] * 3 + ["2.0"], ("n3/9300-8i", Severity.WARNING)),
        (["1.0"] * 2 + ["2.0"], ("hba-firmware/9300-8i", Severity.INFO)),
        (["1.0", "2.0"], ("hba-firmware/9300-8i", Severity.INFO)),
    ],
)
def test_firmware_accuses_with_enough_peers_alone(values: list[str], expected: tuple[str, Severity]) -> None:
    made = [Trait(f"n{at}", "hba-firmware", "9300-8i", value) for at, value in enumerate(values)]
    (finding,) = (verdict for verdict in judged_traits(made) if isinstance(verdict, Finding))
    assert (finding.rule, finding.subject, finding.severity) == ("firmware-mismatch", *expected)


def test_thresholds_between_nodes_are_declared_configured_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {rule.id for rule in BETWEEN} == {aspect.rule.id for aspect in COMPARED.values()}
    file = tmp_path / "c.toml"
    file.write_text("[rules.mtu-mismatch]\npeers = 1\nagree = 0.5\n")
    assert command.execute(["rules", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    for rule in BETWEEN:
        assert f"{rule.id}  (between nodes, at worst warning)" in shown
    assert "1 (default 3)" in shown
    assert "0.5 ratio (default 0.75)" in shown
    words = ["--from", str(FIXTURES / "aoe-flashcache"), "--from", str(FIXTURES / "aoe-flashcache-8700")]
    assert command.execute(["report", *words, "--config", str(file), "--format", "json"]) == 0
    subjects = [finding["subject"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert any(subject.endswith("/eth1") and not subject.startswith("mtu") for subject in subjects)
    file.write_text("[rules.path-missing]\nagreed = 0.5\n")
    assert command.execute(["rules", "--config", str(file)]) == 2
    assert "unknown threshold; did you mean agree?" in capsys.readouterr().err
