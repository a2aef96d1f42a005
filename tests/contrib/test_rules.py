"""contrib/prometheus: rules are understood, each alert is tested both ways, and is about metrics that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sdstop.core.finding import Severity
from sdstop.fleet.queries import RECORDED_SKEW, RECORDED_USE, limit_used, skew
from sdstop.rules import RULES
from tests.contrib.known import known

FOLDER = Path(__file__).resolve().parent.parent.parent / "contrib" / "prometheus"
FILES = sorted(FOLDER.glob("sdstop-*.yml"))
CASES = sorted((FOLDER / "tests").glob("*.yml"))
THRESHOLD = "sdstop:threshold:"


def promtool(*arguments: str | Path) -> tuple[int, str]:
    result = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def rules() -> Iterator[dict[str, Any]]:
    for path in FILES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from group["rules"]


def test_every_rule_has_one_sentence_of_advice() -> None:
    written = {
        rule["labels"]["rule"]: rule["labels"]["advice"]
        for rule in rules()
        if rule.get("record") == "sdstop:rule:advice"
    }
    assert written == {rule.id: rule.advice for rule in RULES}
    for rule in RULES:
        assert re.fullmatch(r"[A-Z][^{}]*(\{subject\}[^{}]*)?\.", rule.advice), rule.id
        assert len(rule.advice) <= 80, rule.id


@pytest.mark.needs("promtool")
def test_rules_are_understood() -> None:
    code, said = promtool("check", "rules", *FILES)
    assert code == 0, said


@pytest.mark.needs("promtool")
def test_the_whole_configuration_finds_rules_and_targets() -> None:
    code, said = promtool("check", "config", FOLDER / "prometheus.yml")
    assert code == 0, said
    assert all(str(path) in said for path in FILES)
    code, said = promtool("check", "service-discovery", "--timeout=3s", FOLDER / "prometheus.yml", "sdstop")
    assert '"instance": "127.0.0.1"' in said


@pytest.mark.needs("promtool")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.partition(".")[0])
def test_rules_do_what_their_cases_say(path: Path) -> None:
    code, said = promtool("test", "rules", path)
    assert code == 0, said


def test_every_alert_has_a_case_where_it_fires_and_one_where_it_must_not() -> None:
    alerts = {rule["alert"] for rule in rules() if "alert" in rule}
    fires: set[str] = set()
    silent: set[str] = set()
    for path in CASES:
        for case in yaml.safe_load(path.read_text())["tests"]:
            alert = case["name"].partition(":")[0]
            expected = [
                *(test["exp_samples"] for test in case.get("promql_expr_test", ())),
                *(test["exp_alerts"] for test in case.get("alert_rule_test", ())),
            ]
            (fires if ": fires" in case["name"] else silent).add(alert)
            assert any(expected) is (": is silent" not in case["name"]), case["name"]
    assert alerts
    assert (alerts - fires, alerts - silent) == (set(), set())


def test_the_metrics_exist() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        named = set(re.findall(r"\bsdstop[_:][a-zA-Z0-9_:]+", str(rule["expr"])))
        assert named - known().keys() - recorded == set()


def test_every_threshold_is_used_and_stands_in_one_place() -> None:
    set_here = {r["record"] for r in rules() if r.get("record", "").startswith(THRESHOLD)}
    alerts = [rule for rule in rules() if "alert" in rule and rule["alert"] != "SdstopThresholdMissing"]
    used = {name for rule in alerts for name in re.findall(rf"{THRESHOLD}\w+", rule["expr"])}
    missed = next(rule["expr"] for rule in rules() if rule.get("alert") == "SdstopThresholdMissing")
    assert set_here == used == set(re.findall(rf"{THRESHOLD}\w+", missed)) != set()
    severities = {str(severity.rank + 1) for severity in Severity}
    for rule in alerts:  # a number beside a comparison is 0 or 1 (something is so, or not) or a severity
        known_numbers = severities if rule["expr"].startswith("sdstop:finding:severity") else {"0", "1"}
        assert set(re.findall(r"(?:[<>]=?|[!=]=)\s*(-?[\d.]+)", rule["expr"])) <= known_numbers, rule["alert"]


@pytest.mark.needs("promtool")
@pytest.mark.parametrize(
    ("name", "value", "alert"), [("peers", 5, "SdstopMtuDiffers"), ("silent_seconds", 1e12, "SdstopSilent")]
)
def test_a_threshold_is_changed_in_its_one_place(name: str, value: float, alert: str, tmp_path: Path) -> None:
    """The cases that fire at the value as it is do not at another."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "sdstop-thresholds.yml"
    text, count = re.subn(rf"({THRESHOLD}{name}\n\s+expr: ).*", rf"\g<1>{value:g}", path.read_text())
    path.write_text(text)
    assert count == 1
    for case in (tmp_path / "tests").glob("*.yml"):
        document = yaml.safe_load(case.read_text())
        document["tests"] = [each for each in document["tests"] if each["name"].startswith(f"{alert}: fires")]
        if document["tests"]:
            case.write_text(yaml.safe_dump(document))
            code, said = promtool("test", "rules", case)
            assert code != 0
            assert "FAILED" in said
            return
    raise AssertionError(f"no case in which {alert} fires")


@pytest.mark.parametrize(("name", "expression"), [(RECORDED_SKEW, skew("")), (RECORDED_USE, limit_used(""))])
def test_what_is_recorded_is_what_the_fleet_asks_where_nothing_is(name: str, expression: str) -> None:
    def plain(text: str) -> str:
        return re.sub(r"[\s()]+", "", text)

    recorded = next(rule["expr"] for rule in rules() if rule.get("record") == name)
    assert plain(recorded) == plain(expression)


def test_routes_and_inhibitions_are_about_alerts_and_rules_that_exist() -> None:
    """A pattern that matches nothing silences nothing, and nobody notices."""
    config = yaml.safe_load((FOLDER / "alertmanager.yml").read_text())
    inhibited = [
        m for each in config["inhibit_rules"] for key in ("source_matchers", "target_matchers") for m in each[key]
    ]
    matchers = [matcher for route in config["route"]["routes"] for matcher in route["matchers"]] + inhibited
    known = {"alertname": {r["alert"] for r in rules() if "alert" in r}, "rule": {rule.id for rule in RULES}}
    seen = 0
    for matcher in matchers:
        label, how, pattern = re.fullmatch(r'(\w+)(=~|!=|=)"(.*)"', matcher).groups()  # type: ignore[union-attr]
        if label in known:
            for one in _alternatives(pattern) if how == "=~" else [pattern]:
                seen += 1
                assert any(re.fullmatch(one, name) for name in known[label]), matcher
    assert seen > 20


def _alternatives(pattern: str) -> list[str]:
    """Return the patterns that a pattern such as `Sdstop(Down|Gone)` or `a|b` consists of."""
    found = re.fullmatch(r"(\w*)\((.*)\)", pattern)
    return [f"{found[1]}{part}" for part in found[2].split("|")] if found else pattern.split("|")


def test_words_say_what_the_thing_is() -> None:
    wanted: dict[str, list[str]] = defaultdict(list)
    for rule in rules():
        if "alert" in rule:
            missing = {"summary", "description"} - set(rule["annotations"])
            wanted[rule["alert"]] += missing
            assert rule["labels"]["severity"] in {"info", "warning", "critical"}
    assert [alert for alert, missing in wanted.items() if missing] == []
