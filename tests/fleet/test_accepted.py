"""Accepted findings of nodes, and between them, in the fleet: listed as such, and no alarm."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace

from sdstop.analysis.comparison.outlier import Trait, outliers
from sdstop.core.finding import Severity
from sdstop.core.policy import Acceptance, Policy, RulePolicy
from sdstop.fleet.answer import QueryAnswer
from sdstop.fleet.picture import picture
from sdstop.fleet.state import FleetState, RuleRow
from sdstop.fleet.text import fleet_json, fleet_text
from sdstop.fleet.watcher import FleetWatcher, node_picture
from sdstop.tui.fleet.sheets import DifferenceSheet, NodeSheet
from sdstop.tui.fleet.tables import rows_of
from sdstop.tui.widgets.palette import Palette
from sdstop.tui.widgets.pane import Row
from tests.fleet.answers import ANSWERS, answer, node

DIMM = "dimm-too-few-channels"
TOLD = {**ANSWERS, "accepted": answer(({"rule": DIMM, "severity": "critical"}, 87))}


class Server:
    """Prometheus of five nodes, one of which has another MTU."""

    def server(self) -> str:
        return ""

    def query(self, expression: str) -> QueryAnswer:
        if "sdstop_interface_mtu_bytes" in expression:
            return answer(*((node(f"n{at}", interface="eth2"), 1500 if at == 4 else 9000) for at in range(5)))
        return ANSWERS["total"]

    def query_range(self, expression: str, start: float, end: float, step: float) -> QueryAnswer:
        del expression, start, end, step
        return answer()


def shown(rows: list[Row], width: int = 120) -> str:
    return "\n".join("".join(part.text for part in row.line(width)) for row in rows if row.line is not None)


def test_accepted_findings_are_listed_by_number_of_nodes() -> None:
    state = picture(TOLD)
    assert state.accepted == (RuleRow(DIMM, Severity.CRITICAL, 87),)
    text = fleet_text(state, "http://p")
    assert f"Accepted findings by number of nodes\n87 nodes  {DIMM}  otherwise critical\n" in text
    assert json.loads(fleet_json(state, "http://p"))["accepted"] == [
        {"rule": DIMM, "severity": "critical", "nodes": 87}
    ]
    assert "Accepted findings" not in fleet_text(picture(ANSWERS), "http://p")


def test_the_screen_has_them_below_the_findings() -> None:
    said = shown(rows_of("!", picture(TOLD), Palette()))
    assert re.search(rf"(?m)^INFO {DIMM}  87 nodes  accepted; otherwise critical$", said), said


def test_the_sheet_of_a_node_says_which_of_its_findings_are_accepted() -> None:
    key = ("sdstop", "n1:10042")
    found = [(node("n1", rule=rule, subject="memory"), 1.0) for rule in (DIMM, "scaling-poor")]
    answers = {
        "findings": answer(*found),
        "accepted": answer((node("n1", rule=DIMM, subject="memory"), 3.0)),
    }
    sheet = NodeSheet(key, "n1")
    sheet.told = node_picture(key, 0.0, answers, None, ())
    lines = shown(list(sheet.fill(Palette(), 100))).splitlines()
    (place,) = (at for at, line in enumerate(lines) if DIMM in line)
    assert lines[place + 1].strip() == "accepted by the node; otherwise critical"
    assert sum("accepted" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("policy", "severities"),
    [
        (Policy(), [Severity.WARNING]),
        (Policy(accepted=(Acceptance("a lab", "mtu-mismatch", "n4*"),)), [Severity.INFO]),
        (Policy(accepted=(Acceptance("a lab", "mtu-mismatch", "n3*"),)), [Severity.WARNING]),
        (Policy(accepted=(Acceptance("a lab", until=500.0),)), [Severity.WARNING]),
        (Policy({"mtu-mismatch": RulePolicy(enabled=False)}), []),
        (Policy({"mtu-mismatch": RulePolicy(severity=Severity.CRITICAL)}), [Severity.CRITICAL]),
        (Policy({"mtu-mismatch": RulePolicy(subjects={"n4*": {"agree": 0.9}})}), []),
    ],
    ids=["none", "accepted", "of another", "ended", "off", "severity", "threshold"],
)
def test_nodes_that_differ_are_judged_by_the_policy(policy: Policy, severities: list[Severity]) -> None:
    state = FleetWatcher(Server(), clock=lambda: 1000.0, policy=policy).refresh()
    assert [each.severity for each in state.differing if each.rule == "mtu-mismatch"] == severities


def test_an_accepted_difference_says_so() -> None:
    (found,) = outliers(Trait(f"n{at}", "mtu", "eth2", 1500 if at == 4 else 9000) for at in range(5))
    accepted = Policy(accepted=(Acceptance("a lab"),)).applied([found], 0.0)[0]  # type: ignore[list-item]
    state = replace(FleetState(total=5), outliers=(accepted,))
    assert re.search(r"(?m)^ INFO  n4.*accepted: a lab \(otherwise warning\)$", fleet_text(state, "http://p"))
    assert json.loads(fleet_json(state, "http://p"))["differing"][0]["accepted"] == "a lab"
    assert "accepted: a lab (otherwise warning)" in shown(list(DifferenceSheet(accepted).fill(Palette(), 100)))
