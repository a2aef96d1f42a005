"""Policy: rules switched off, other severities, thresholds of single things, and accepted findings."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from sdstop.core.finding import Severity
from sdstop.core.judgement import Judgement, judge
from sdstop.core.policy import OFF, Acceptance, Policy, RulePolicy
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import story

DIMM, SLOW, POOL = "dimm-too-few-channels", "rebuild-slow", "zfs-pool-degraded"


def judged(name: str, policy: Policy) -> tuple[Session, Judgement]:
    """Judge the newest frame of a story again, with a policy."""
    session = story(name).session
    head, made = session.head(), session.diagnosis
    held = made.folded_before(head.now.number)
    return session, judge(head.window, RULES, made.configured, held=held, policy=policy)


def severities(judgement: Judgement) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in judgement.findings}


def test_no_policy_changes_nothing() -> None:
    plain = story("draid-one-dimm").session.head().judgement
    assert judged("draid-one-dimm", Policy())[1] == plain


def test_an_accepted_finding_is_information_and_stays_visible() -> None:
    session, judgement = judged("draid-one-dimm", Policy(accepted=(Acceptance("ordered", DIMM, "mem*"),)))
    (finding,) = [each for each in judgement.findings if each.rule == DIMM]
    assert finding.severity is Severity.INFO
    assert finding.accepted is not None
    assert (finding.accepted.reason, finding.accepted.severity) == ("ordered", Severity.CRITICAL)
    assert severities(judgement)[POOL] is Severity.WARNING
    said = session.headline(judgement)
    assert said.word == "WARNING"
    assert "accepted: dimm-too-few-channels memory" in said.text


def test_worse_harm_than_the_accepted_cause_is_not_accepted() -> None:
    """The DIMMs cost speed, the rebuild that they slow down costs redundancy."""
    _, judgement = judged("draid-one-dimm", Policy(accepted=(Acceptance("ordered", DIMM),)))
    assert severities(judgement)[SLOW] is Severity.WARNING


def test_what_follows_from_an_accepted_cause_is_accepted() -> None:
    _, judgement = judged("aoe-flashcache", Policy(accepted=(Acceptance("switch comes in May", "mtu-misaligned"),)))
    assert set(severities(judgement).values()) == {Severity.INFO}
    (bypassed,) = [each for each in judgement.findings if each.rule == "cache-bypassed"]
    assert bypassed.accepted is not None
    assert bypassed.accepted.reason == "follows from mtu-misaligned eth1"


@pytest.mark.parametrize(
    ("rule", "subject"), [("dimm-unequal-sockets", "*"), (DIMM, "memory1"), ("dimm", "*"), (DIMM, "MEMORY")]
)
def test_other_findings_are_not_accepted(rule: str, subject: str) -> None:
    _, judgement = judged("draid-one-dimm", Policy(accepted=(Acceptance("ordered", rule, subject),)))
    assert severities(judgement)[DIMM] is Severity.CRITICAL


def test_an_acceptance_ends() -> None:
    taken = story("draid-one-dimm").session.head().now.taken
    assert taken > datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    for until, wanted in ((taken + 1, Severity.INFO), (taken - 1, Severity.CRITICAL)):
        _, judgement = judged("draid-one-dimm", Policy(accepted=(Acceptance("ordered", DIMM, until=until),)))
        assert severities(judgement)[DIMM] is wanted


def test_what_gets_worse_than_the_accepted_severity_is_an_alarm_again() -> None:
    """An array is accepted with one missing member, and loses the next one."""
    policy = Policy(accepted=(Acceptance("ordered", "array-degraded", severity=Severity.WARNING),))
    assert severities(judged("md-rebuild-running", policy)[1])["array-degraded"] is Severity.INFO
    session, judgement = judged("md-degraded", policy)
    assert severities(judgement)["array-degraded"] is Severity.CRITICAL
    assert session.headline(judgement).word == "CRITICAL"
    worst = Policy(accepted=(Acceptance("ordered", "array-degraded", severity=Severity.CRITICAL),))
    assert severities(judged("md-degraded", worst)[1])["array-degraded"] is Severity.INFO


def test_an_acceptance_that_ends_holds_for_no_undated_capture() -> None:
    accepted = Acceptance("ordered", "disk-offline", until=4e9)
    assert severities(judged("offline-disk", Policy(accepted=(accepted,)))[1])["disk-offline"] is Severity.CRITICAL
    endless = Policy(accepted=(Acceptance("ordered", "disk-offline"),))
    assert severities(judged("offline-disk", endless)[1])["disk-offline"] is Severity.INFO


def test_a_folded_finding_is_accepted_only_with_all_its_things() -> None:
    one = Policy(accepted=(Acceptance("known", "device-hung", "sda"),))
    assert severities(judged("hba-lost", one)[1])["device-hung"] is Severity.CRITICAL
    every = Policy(accepted=(Acceptance("known", "device-hung", "sd*"),))
    _, judgement = judged("hba-lost", every)
    (finding,) = [each for each in judgement.findings if each.rule == "device-hung"]
    assert {finding.severity, *(member.severity for member in finding.members)} == {Severity.INFO}


def test_a_rule_that_is_off_says_so_and_finds_nothing() -> None:
    session, judgement = judged("draid-one-dimm", Policy({DIMM: RulePolicy(enabled=False)}))
    assert DIMM not in severities(judgement)
    assert [verdict.reason for verdict in judgement.unchecked if verdict.rule == DIMM] == [OFF]
    assert f"switched off: {DIMM}" in session.headline(judgement).text
    _, calm = judged("gluster-clean", Policy({"array-degraded": RulePolicy(enabled=False)}))
    assert not [verdict for verdict in calm.unchecked if verdict.reason == OFF]  # nothing there to switch off


def test_all_rules_off_is_not_ok() -> None:
    session, judgement = judged("md-degraded", Policy({rule.id: RulePolicy(enabled=False) for rule in RULES}))
    assert not judgement.findings
    assert session.headline(judgement).word == "UNKNOWN"


def test_a_severity_is_that_of_the_policy_except_for_information() -> None:
    _, judgement = judged("draid-one-dimm", Policy({DIMM: RulePolicy(severity=Severity.WARNING)}))
    assert severities(judgement)[DIMM] is Severity.WARNING
    _, judgement = judged("draid-one-dimm", Policy({"rebuild-running": RulePolicy(severity=Severity.CRITICAL)}))
    assert severities(judgement)["rebuild-running"] is Severity.INFO


def test_thresholds_of_single_things() -> None:
    plain = story("scaleio-cloud").session.head().judgement
    rule = "volume-qos-saturated"
    found = {each.subject for each in plain.findings if each.rule == rule and each.severity is Severity.WARNING}
    assert {"vol:canary@10.20.0.201", "vol:web-data@10.20.0.201"} <= found
    names = {threshold.name for each in RULES if each.id == rule for threshold in each.thresholds}
    assert "share" in names
    _, judgement = judged(
        "scaleio-cloud", Policy({rule: RulePolicy(subjects={"vol:canary@*": {"share": 2.0}, "vol:*": {}})})
    )
    left = {each.subject for each in judgement.findings if each.rule == rule and each.severity is Severity.WARNING}
    assert left == found - {"vol:canary@10.20.0.201"}
    subjects = [name for verdict in judgement.ruled_out if verdict.rule == rule for name in verdict.subjects]
    assert len(subjects) == len(set(subjects))


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("md0/sdd", Severity.INFO),
        ("md0/wwn-0x5000c500378cfa23", Severity.INFO),
        ("*0x5000c500378cfa23", Severity.INFO),
        ("md0/disk/by-path/pci-0000:3b:00.0-sas-phy3-lun-0", Severity.INFO),
        ("md0/wwn-0x5000c500378cfa24", Severity.WARNING),  # another disk
        ("wwn-0x5000c500378cfa23", Severity.WARNING),  # the disk, but not in md0
        ("md0/sde", Severity.WARNING),
        ("md0/8:48", Severity.WARNING),  # numbers of devices change with each boot, as kernel names do
    ],
)
def test_a_subject_is_accepted_by_any_of_its_names(pattern: str, wanted: Severity) -> None:
    """The disk that is sdd today can be sdf after a boot; its WWN stays."""
    policy = Policy(accepted=(Acceptance("ordered", "slow-stripe-member", pattern),))
    assert severities(judged("slow-member", policy)[1])["slow-stripe-member"] is wanted


def test_a_name_with_brackets_is_itself() -> None:
    found = story("slow-member").session.head().judgement.findings[0]
    hostile = replace(found, subject="vol:a[1]*")
    assert Acceptance("known", subject="vol:a[1]*").covers(hostile, 0.0)
    assert not Acceptance("known", subject="vol:a[1]*").covers(replace(found, subject="vol:b1"), 0.0)


def test_thresholds_hold_for_a_thing_under_any_of_its_names() -> None:
    found = story("lvm-failing").session.head().judgement.findings
    assert any((each.rule, each.subject) == ("snapshot-filling", "vg2/backup") for each in found)
    for name in ("mapper/vg2-backup", "LVM-*J012", "vg2/backup"):
        limits = {"near_full": 1.0, "full": 1.0}
        _, judgement = judged("lvm-failing", Policy({"snapshot-filling": RulePolicy(subjects={name: limits})}))
        kept = [each for each in judgement.findings if each.rule == "snapshot-filling"]
        assert not [each for each in kept if each.subject == "vg2/backup"], name


def test_of_several_acceptances_the_one_that_lasts_longest_counts() -> None:
    taken = story("draid-one-dimm").session.head().now.taken
    several = (
        Acceptance("until tomorrow", DIMM, until=taken + 86400),
        Acceptance("ended", DIMM, until=taken - 1),
        Acceptance("until May", DIMM, until=taken + 1e6),
    )
    _, judgement = judged("draid-one-dimm", Policy(accepted=several))
    (accepted,) = [each.accepted for each in judgement.findings if each.rule == DIMM]
    assert accepted is not None
    assert (accepted.reason, accepted.until) == ("until May", taken + 1e6)
