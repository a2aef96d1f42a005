"""A lost HBA is one finding in every view, with all of its disks."""

from __future__ import annotations

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sdstop.cli.command import execute
from sdstop.collectors import BUILTIN
from sdstop.core.finding import Severity
from sdstop.core.session import Session
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.rules import RULES
from tests.fixtures import FIXTURES, opened, story
from tests.nodes.block import disk_name
from tests.tui.screens import screen

_STORY = "hba-lost"
_HBA = "0000:3b:00.0"
_DISKS = [disk_name(n) for n in range(24)]
_SAID = f"24 disks behind HBA {_HBA} do not respond"


def _run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    execute([*argv, "--from", str(FIXTURES / _STORY)])
    return capsys.readouterr().out


def test_check_has_one_finding_and_names_some_members(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _run(capsys, "check").splitlines()[:2]
    assert first.startswith(f"SDSTOP CRITICAL - 1 finding: device-hung {_HBA}: 24 DISKS DO NOT RESPOND. {_SAID}.")
    assert " | critical=1;;0 warning=0;0 info=0 " in first
    assert second.endswith("; members sda, sdb, sdc, sdd, sde, sdf and 18 more; part of md0, md1")


def test_json_has_all_members_with_what_was_said_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    [found] = json.loads(_run(capsys, "report", "--format", "json"))["findings"]
    assert (found["rule"], found["subject"], found["severity"]) == ("device-hung", _HBA, "critical")
    assert [member["subject"] for member in found["members"]] == _DISKS
    assert {member["severity"] for member in found["members"]} == {"critical"}
    assert all("in flight, none completed for 40s" in member["summary"] for member in found["members"])
    assert {name: found["values"][name] for name in ("affected", "all", "worst")} == {
        "affected": 24,
        "all": 24,
        "worst": 24,
    }
    assert (len(found["evidence"]), found["part_of"]) == (4, ["md0", "md1"])


def test_the_report_has_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = _run(capsys, "report")
    assert text.count(f"  CRITICAL  {_HBA}  24 DISKS DO NOT RESPOND\n    device-hung, since ") == 1
    assert text.count("  CRITICAL  ") == 1
    assert "    Members: sda, sdb, sdc, sdd, sde, sdf and 18 more\n" in text


def test_the_exporter_has_one_series() -> None:
    origin, frames = opened(_STORY)
    page = Exposition(Session(origin, BUILTIN, RULES))
    for frame in frames:
        page.feed(frame)
    found = {}
    for family in text_string_to_metric_families(page.page().decode()):
        for sample in family.samples:
            if sample.name in {"sdstop_finding_active", "sdstop_findings"} and sample.value:
                found[sample.name, sample.labels.get("subject", "")] = sample.value
    assert found == {("sdstop_finding_active", _HBA): 3, ("sdstop_findings", ""): 1}


def test_single_disks_are_still_marked() -> None:
    look = story(_STORY).session.head()
    assert {each.subject for each in look.judgement.every} == {_HBA, *_DISKS}
    [fold] = look.judgement.findings
    assert {each.severity for each in fold.members} == {Severity.CRITICAL}


async def test_the_screen_has_one_finding() -> None:
    async with screen(story(_STORY).session, (120, 40)) as shown:
        lines = shown.lines()
        assert " 1 CRIT" in lines[0]
        [place] = [place for place, line in enumerate(lines) if "!CRIT " in line]
        assert f"!CRIT 24 DISKS DO NOT RESPOND  {_HBA} " in lines[place]
        assert f" why  {_SAID}." in lines[place + 1]
