"""The picture and the watcher, of answers that are made up."""

from __future__ import annotations

import json
import re

import pytest

from sdstop.core.finding import Finding, Severity
from sdstop.fleet import queries, traits
from sdstop.fleet.answer import QueryAnswer
from sdstop.fleet.picture import names, on_grid, picture
from sdstop.fleet.problem import ServerError
from sdstop.fleet.state import FleetState, RuleRow
from sdstop.fleet.text import fleet_json, fleet_text
from sdstop.fleet.watcher import FleetWatcher
from tests.contrib.known import known
from tests.fleet.answers import ANSWERS, HOSTILE, answer, node


def test_nodes_stand_by_their_worst_and_silent_ones_before_warnings() -> None:
    found = picture(ANSWERS)
    assert [(n.name, n.severity, n.silence != "") for n in found.nodes] == [
        ("c", Severity.CRITICAL, False), ("b", None, True), ("d", None, True), ("e", None, True), ("a", None, False),
    ]  # fmt: skip
    assert [n.name for n in found.silent] == ["e", "d", "b"]
    assert [n.silence for n in found.silent] == [
        "target down", "no longer scraped", "scraped, but no new samples (or its clock is slow)",
    ]  # fmt: skip
    assert found.counts[Severity.CRITICAL] == 1


def test_what_is_not_answered_is_not_said_to_be_good() -> None:
    nothing = picture({})
    assert (nothing.total, nothing.nodes) == (None, ())
    assert "number of nodes unknown" in fleet_text(nothing, "http://p")
    without = picture({name: told for name, told in ANSWERS.items() if name != "nodes"})
    assert next(n for n in without.nodes if n.name == "d").silence == ""  # it may be scraped, for all that is known
    assert picture({"total": answer()}).total == 0


def test_arrays_rebuilds_and_volumes() -> None:
    found = picture(ANSWERS)
    assert [(a.array, a.severity, a.skew, a.members) for a in found.arrays] == [
        ("md0", Severity.CRITICAL, 3, ("sdb",)), ("md2", None, 2.5, ()),
    ]  # fmt: skip
    assert [(r.array, r.done, r.remaining, r.state) for r in found.rebuilds] == [
        ("md1", None, None, "delayed"), ("md0", 0.5, 60, ""),
    ]  # fmt: skip
    (volume,) = found.volumes
    assert (volume.volume, volume.owner, volume.used, volume.binds, len(volume.claims)) == (
        "v",
        "o",
        0.97,
        "read iops",
        1,
    )


def test_names_lose_their_port_only_where_they_stay_apart() -> None:
    told = names([("j", "a:1"), ("j", "b:1"), ("j", "b:2"), ("j", "[::1]:9"), ("k", "x"), ("l", "x")])
    assert list(told.values()) == ["a", "b:1", "b:2", "[::1]", "x (k)", "x (l)"]


def test_courses_are_put_on_the_grid_that_all_share() -> None:
    assert on_grid([(40.0, 2.0), (60.4, 3.0), (0.0, 9.0)], 80.0, 20.0, 4) == (None, 2.0, 3.0, None)


def test_text_and_json_let_nothing_hostile_out() -> None:
    shown = fleet_text(picture(ANSWERS), "http://p")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert 'link-saturated eth\\x1b[31m0\\x0a"\\u202e' in shown
    assert "1 more node without problems" in shown
    written = fleet_json(picture(ANSWERS), "http://p")
    assert "\x1b" not in written
    told = json.loads(written)
    assert told["schema"] == "sdstop.fleet/1"
    assert told["nodes"][0]["worst"]["subject"] == HOSTILE
    assert told["rebuilds"][0]["remaining_seconds"] is None


class Asker:
    """Answers by the text of a question."""

    def __init__(self, *failing: str, error: ServerError | None = None) -> None:
        self.asked: list[str] = []
        self.failing = failing
        self.error = error or ServerError("answers 422: too many samples", 422)

    def query(self, expression: str) -> QueryAnswer:
        self.asked.append(expression)
        if any(part in expression for part in self.failing):
            raise self.error
        if expression.startswith("count(sdstop_frame"):
            return answer(({}, 2), warnings=("half of it is missing",))
        if expression.startswith("topk(500, time()"):
            return answer((node("a"), 1), (node("b"), 1))
        if "sdstop_node_info" in expression:
            return answer(*((node(f"n{at}", kernel="5" if at == 4 else "6"), 1) for at in range(5)))
        return answer(infos=("a remark",)) if "sdstop_findings" in expression else answer()

    def query_range(self, expression: str, start: float, end: float, step: float) -> QueryAnswer:
        self.asked.append(f"{expression} {start:g} {end:g} {step:g}")
        return answer()

    def server(self) -> str:
        return "Prometheus 2"


def test_a_refresh_asks_a_handful_and_seldom_for_what_seldom_changes() -> None:
    asker = Asker()
    watcher = FleetWatcher(asker, clock=lambda: 10_000.0)
    first = watcher.refresh()
    assert (first.total, first.server, first.failed) == (2, "Prometheus 2", False)
    assert (first.warnings, first.infos) == (("half of it is missing",), ("a remark",))
    assert [f.subject for f in first.differing] == ["n4"]
    counts = []
    for _ in range(10):
        asker.asked.clear()
        assert watcher.refresh().differing == first.differing
        counts.append(len(asker.asked))
    fast = sum(query.pace == queries.FAST for query in queries.QUERIES)
    assert counts[0] == fast <= 10
    assert max(counts[:9]) == sum(query.pace != queries.RARE for query in queries.QUERIES)
    assert counts[9] == len(queries.QUERIES) + len(traits.TRAITS)


def test_one_question_that_fails_costs_that_one_alone() -> None:
    found = FleetWatcher(Asker("sdstop_rebuild")).refresh()
    assert found.troubles == ("rebuilds: answers 422: too many samples",)
    assert found.total == 2


@pytest.mark.parametrize("error", [ServerError("timed out after 15 s"), ServerError("is overloaded", 503)])
def test_a_server_that_does_not_answer_is_asked_twice_and_then_less_and_less(error: ServerError) -> None:
    asker = Asker("sdstop_findings", error=error)
    watcher = FleetWatcher(asker)
    pauses = []
    for _ in range(6):
        asker.asked.clear()
        found = watcher.refresh()
        assert found.failed
        assert found.troubles == (str(error),)
        assert len(asker.asked) == 5  # two in a row were not answered
        pauses.append(watcher.pause(30))
    assert pauses == [60, 120, 240, 300, 300, 300]
    asker.failing = ()
    assert not watcher.refresh().failed
    assert watcher.pause(30) == 30


def test_who_is_not_let_in_asks_once() -> None:
    asker = Asker("count(", error=ServerError("does not let us in", 401, lasting=True))
    assert FleetWatcher(asker).refresh().failed
    assert len(asker.asked) == 1


def test_recorded_names_are_used_where_they_are() -> None:
    class Recorded(Asker):
        def query(self, expression: str) -> QueryAnswer:
            if "__name__" in expression:
                return answer(({"__name__": queries.RECORDED_SKEW}, 5))
            return super().query(expression)

    asker = Recorded()
    FleetWatcher(asker, 'cluster="a"').refresh()
    assert any(f'{queries.RECORDED_SKEW}{{cluster="a"}}' in text for text in asker.asked)
    assert any("sdstop_limit_used_requests_total" in text for text in asker.asked)


def test_every_question_is_for_the_selected_and_about_metrics_that_exist() -> None:
    asker = Asker()
    watcher = FleetWatcher(asker, 'cluster="a"', ("job", "cluster"))
    watcher.refresh()
    watcher.node(("sdstop", 'n1"} or up{a="'))
    assert len(asker.asked) > 25
    for text in asker.asked:
        for selector in re.finditer(r"\b((?:sdstop|up)\w*)(\{[^}]*\})?", re.sub(r'"(?:[^"\\]|\\.)*"', '"x"', text)):
            assert selector[1] in {"up", *known()}, text
            assert 'cluster="x"' in (selector[2] or ""), text
        if "__name__" not in text:
            aggregated = (
                text.startswith(("topk(", "count", "max", "sum", "label_replace(topk(")) or "by (collector)" in text
            )
            assert aggregated, text


def test_who_differs_is_judged_by_the_configured_thresholds() -> None:
    assert [v.rule for v in FleetWatcher(Asker()).refresh().outliers if isinstance(v, Finding)] == ["node-outlier"]
    strict = FleetWatcher(Asker(), configured={"node-outlier": {"agree": 0.9}}).refresh()
    assert not [v for v in strict.outliers if isinstance(v, Finding)]


def test_labels_of_questions_exist() -> None:
    """What is summed by a label that no series has would be one number for everything."""
    asker = Asker()
    watcher = FleetWatcher(asker)
    watcher.refresh()
    assert sum(bool(re.search(r"\bsdstop_\w+\{[^}]", text)) for text in asker.asked) > 5
    for text in asker.asked:
        for metric, condition in re.findall(r"\b(sdstop_\w+)\{([^}]*)\}", text):
            labels = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", condition)) - {"job", "instance"}
            assert labels <= known()[metric], text


def test_findings_of_a_rule_have_its_advice() -> None:
    rows = (RuleRow("device-hung", Severity.CRITICAL, 2), RuleRow("of-a-later-version", Severity.WARNING, 1))
    lines = fleet_text(FleetState(total=3, rules=rows), "http://x").splitlines()
    (hung,) = [line for line in lines if "device-hung" in line]
    (later,) = [line for line in lines if "of-a-later-version" in line]
    assert hung.endswith("Look for timeouts, resets and link loss of it in the kernel log.")
    assert later.endswith("of-a-later-version")
    first, second = json.loads(fleet_json(FleetState(total=3, rules=rows), "http://x"))["rules"]
    assert first["nodes"] == 2
    assert first["advice"].startswith("Look for")
    assert second["advice"] is None
