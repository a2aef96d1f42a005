"""Captures of several nodes beside each other: what they disagree in, what is the same, what is wrong on each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.analysis.comparison.outlier import Trait
from sdstop.analysis.comparison.peers import COMPARED, COMPARING, judged_traits
from sdstop.cli import command
from sdstop.core.finding import Damage, Finding, Severity, Verdict
from sdstop.core.site_session import SiteSession
from sdstop.exporters.report.site import differing
from sdstop.rules.between import BETWEEN
from tests.fixtures import FIXTURES, opened, renamed
from tests.nodes.site import together


def compared(**nodes: str) -> SiteSession:
    """Return fixtures judged together, by the name that their node gets."""
    origins = {name: replace(opened(fixture)[0], name=name) for name, fixture in nodes.items()}
    return together({name: renamed(fixture, name) for name, fixture in nodes.items()}, origins=origins)


def test_an_mtu_that_two_nodes_disagree_in_is_a_warning() -> None:
    judged = compared(a="aoe-flashcache", b="aoe-flashcache-8700").judgement
    found = {(f.rule, f.severity, f.subject): f for f in judged.findings}
    mtu = found["mtu-mismatch", Severity.WARNING, "mtu/eth1"]
    assert (mtu.title, mtu.cause) == ("DIFFERENT MTU", "MTU of eth1: 4000 on a, 8700 on b.")
    assert (mtu.damage, mtu.view) == (Damage.AVAILABILITY, "network")
    assert {(cite.host, cite.excerpt) for cite in mtu.evidence} == {("a", "4000"), ("b", "8700")}
    assert (mtu.host, mtu.between) == ("", ("a", "b"))
    assert not any(f.subject == "mtu/eno1" for f in judged.findings)
    assert any(v.subject == "mtu/eno1" for v in judged.ruled_out)


def test_of_four_the_one_that_differs_is_named() -> None:
    peers = dict.fromkeys("abc", "aoe-flashcache-8700")
    judged = compared(**peers, odd="aoe-flashcache").judgement
    (mtu,) = [f for f in judged.findings if f.rule == "mtu-mismatch"]
    assert (mtu.subject, mtu.host, mtu.severity) == ("odd/eth1", "odd", Severity.WARNING)
    assert mtu.cause == "MTU of eth1: 4000; 3 peers have 8700."


def test_memory_and_disks_that_differ_are_told() -> None:
    said = compared(full="vm-numa-full-dimms", one="vm-numa-one-dimm")
    found = {f.subject: f for f in said.judgement.findings}
    assert found["dimms"].cause == "Memory modules: 2 x 32G on one, 24 x 16G on full."
    assert found["channels/0"].cause == "Channels used of 0: 1 on one, 6 on full."
    assert ("Memory modules", (("2 x 32G", ("one",)), ("24 x 16G", ("full",)))) in {
        (each.what, each.values) for each in differing(said)
    }


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
    assert {rule.id for rule in COMPARING} == {aspect.rule.id for aspect in COMPARED.values()}
    assert set(COMPARING) < set(BETWEEN)
    file = tmp_path / "c.toml"
    file.write_text("[rules.mtu-mismatch]\npeers = 1\nagree = 0.5\n")
    assert command.execute(["rules", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    for rule in BETWEEN:
        assert f"{rule.id}  (between nodes, at worst {rule.worst})" in shown
    assert "1 (default 3)" in shown
    assert "0.5 ratio (default 0.75)" in shown
    words = ["--from", str(FIXTURES / "aoe-flashcache"), "--from", str(FIXTURES / "aoe-initiator")]
    assert command.execute(["report", *words, "--config", str(file), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {"san1/eth1", "hyper3/eth1"} & {each["subject"] for each in found if each["rule"] == "mtu-mismatch"}
    file.write_text("[rules.path-missing]\nagreed = 0.5\n")
    assert command.execute(["rules", "--config", str(file)]) == 2
    assert "unknown threshold; did you mean agree?" in capsys.readouterr().err
