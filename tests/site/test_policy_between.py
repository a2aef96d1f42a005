"""Policy of findings between nodes: they follow what the nodes that they are about have in common."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sdstop.core.finding import Severity
from sdstop.core.policy import OFF, Acceptance, Policy, RulePolicy, agreed
from sdstop.core.site_session import SiteSession
from tests.cli.run import executed
from tests.nodes.drbd_sides import pair, side
from tests.nodes.site import finding, unchecked

KNOWN = Acceptance("the copy is discarded on Monday", "split-brain")
LATER = Acceptance("the copy is discarded on Tuesday", "split-brain")
ALONE = side("StandAlone", "Primary/Unknown", oos=4096)


def split(policy: Policy, other: Policy | None = None) -> SiteSession:
    return pair(ALONE, ALONE, policies={"store1": policy, "store2": policy if other is None else other})


def test_a_finding_that_both_nodes_accept_is_accepted_everywhere() -> None:
    made = split(Policy(accepted=(KNOWN,)))
    one = finding(made, "split-brain")
    assert (one.severity, one.title) == (Severity.INFO, "SPLIT BRAIN: BOTH SIDES PRIMARY")
    assert one.accepted is not None
    assert (one.accepted.reason, one.accepted.severity) == (KNOWN.reason, Severity.CRITICAL)
    (episode,) = (each for each in made.episodes() if each.finding.id == one.id)
    assert episode.finding.accepted == one.accepted
    assert "accepted: split-brain" in made.headline().text


@pytest.mark.parametrize("other", [Policy(), Policy(accepted=(LATER,))], ids=["none", "another"])
def test_what_one_node_accepts_is_not_accepted_for_the_other(other: Policy) -> None:
    made = split(Policy(accepted=(KNOWN,)), other)
    assert finding(made, "split-brain").severity is Severity.CRITICAL
    assert made.headline().word == "CRITICAL"


def test_an_acceptance_that_ended_holds_no_more() -> None:
    made = split(Policy(accepted=(Acceptance("until then", "split-brain", until=2.0),)))
    assert finding(made, "split-brain").accepted is None


def test_what_follows_on_the_nodes_is_accepted_with_it() -> None:
    made = split(Policy(accepted=(Acceptance("known", "split-brain", "drbd0"),)))
    one = finding(made, "split-brain")
    followers = [each for each in made.whole().findings if each.id in one.explains]
    assert {each.rule for each in followers} == {"split-brain", "cluster-degraded"}
    assert {each.accepted.reason for each in followers if each.accepted is not None} == {
        "follows from split-brain drbd0"
    }
    assert {each.severity for each in followers} == {Severity.INFO}
    assert {each.finding.severity for each in made.episodes()} == {Severity.INFO}


def test_worse_harm_than_the_accepted_one_is_a_finding_of_its_own() -> None:
    milder = {"split-brain": RulePolicy(severity=Severity.WARNING)}
    made = split(Policy(milder, (Acceptance("known", "split-brain"),)))
    found = {each.id: each for each in made.whole().findings}
    assert found["between:split-brain:drbd0"].accepted is not None
    assert found["store1:cluster-degraded:drbd0"].severity is Severity.CRITICAL


PAIR = [f"--from={Path(__file__).parent.parent}/clusters/recorded/drbd-split-brain{side}.tar.gz" for side in ("", "@2")]


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "c.toml").write_text("[[accept]]\nrule = 'split-brain'\nsubject = 'r0'\nreason = 'Monday'\n")
    return f"--config={tmp_path / 'c.toml'}"


def test_check_of_two_captures_accepts_what_its_file_accepts(config: str) -> None:
    plain, said = executed("check", *PAIR), executed("check", *PAIR, config)
    assert plain.returncode == 2
    assert "split-brain r0" in plain.stdout.splitlines()[0]
    assert re.search(
        r"(?m)^ACCEPTED: split-brain r0.* between .*: accepted: Monday \(otherwise critical\)$", said.stdout
    )
    assert "accepted: split-brain r0" in said.stdout.splitlines()[0]
    assert said.returncode == 0, said.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_reports_of_two_captures_say_that_it_is_accepted(config: str, form: str) -> None:
    said = executed("report", *PAIR, config, "--format", form).stdout
    if form != "json":
        assert "ccepted: Monday (otherwise critical)" in said
        return
    (one,) = [each for each in json.loads(said)["findings"] if each["rule"] == "split-brain" and each["between"]]
    assert one["accepted"] == {"reason": "Monday", "until": None, "severity": "critical"}


def test_a_rule_that_all_nodes_switch_off_finds_nothing_and_is_named() -> None:
    off = Policy({"split-brain": RulePolicy(enabled=False)})
    made = split(off)
    assert not [each for each in made.judgement.findings if each.rule == "split-brain"]
    assert unchecked(made, "split-brain", "") == OFF
    assert "switched off: split-brain" in made.headline().text
    assert finding(split(off, Policy()), "split-brain").severity is Severity.CRITICAL


def test_a_severity_is_that_of_the_policy_of_both() -> None:
    milder = Policy({"split-brain": RulePolicy(severity=Severity.WARNING)})
    assert finding(split(milder), "split-brain").severity is Severity.WARNING
    assert finding(split(milder, Policy()), "split-brain").severity is Severity.CRITICAL


def test_policies_agree_on_what_all_of_them_have() -> None:
    rules = {"a": RulePolicy(enabled=False), "b": RulePolicy(severity=Severity.INFO)}
    both = agreed([Policy(rules, (KNOWN, LATER)), Policy({"a": rules["a"]}, (LATER,))])
    assert both == Policy({"a": rules["a"]}, (LATER,))
    assert agreed([]) == Policy()
