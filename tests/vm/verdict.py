"""Verdict: what a scenario expects, held against what sdstop found in the guest and finds here in the same capture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.session import Session
from tests.expectation import Course, Said, alarms, course, differences, meets, names_match
from tests.vm.machine import Run
from tests.vm.scenario import Scenario

TWO = frozenset({"stripe-convoy", "hot-stripe-member", "slow-stripe-member", "frames-dropped"})
"""Rules which look at a rate, of things that every node has."""
AT_ONCE = 10.0
"""Seconds in which the dashboard must be gone after `q`: all takes an emulated processor ten times as long."""


def judge(scenario: Scenario, run: Run) -> list[str]:
    """Return what is not as the scenario expects, nothing if all is."""
    said = list(_conducted(scenario, run))
    capture = run.out / "capture"
    if not capture.is_dir():
        return [*said, "there is no capture"]
    replayed = course(capture)
    scenario = named(scenario, run.result.get("disks", {}))
    said += differences(scenario.expect, replayed)
    said += _same(replayed.session, json.loads((capture / "findings.json").read_text()))
    if scenario.report:
        said += _reported(scenario, json.loads((run.out / "report.json").read_text()))
    if scenario.sos and "sos" in run.result:
        said += [f"the sosreport: {line}" for line in opened(scenario, course(run.out / run.result["sos"]), replayed)]
    for step in scenario.steps:
        if step.screen:
            text = (run.out / f"screen-{step.screen}.txt").read_text()
            said += [f"screen {step.screen}: no {words!r}" for words in step.shows if words not in text]
            said += [f"screen {step.screen}: still {words!r}" for words in step.hides if words in text]
    return said


def named(scenario: Scenario, disks: Mapping[str, str]) -> Scenario:
    """Return a scenario whose expectations name disks as the guest did: `$d2` is sdc, or whatever it became."""

    def of(subject: str) -> str:
        return re.sub(r"\$(\w+)", lambda match: disks.get(match[1], match[0]), subject)

    def each(found: tuple[Said, ...]) -> tuple[Said, ...]:
        return tuple(replace(said, subject=of(said.subject)) for said in found)

    expect = (
        replace(
            one,
            found=each(one.found),
            allowed=each(one.allowed),
            paths=tuple((of(name), of(text)) for name, text in one.paths),
        )
        for one in scenario.expect
    )
    return replace(scenario, expect=tuple(expect))


def opened(scenario: Scenario, report: Course, live: Course) -> Iterator[str]:
    """Yield where a sosreport of the same node says anything else than the capture did at its end.

    What one moment cannot show has to be said to be unchecked, and nothing may be said that takes two.
    """
    last, judgement = scenario.expect[-1], report.judgements[-1]
    unchecked = {unable.rule for unable in judgement.unchecked}
    for wanted in last.found:
        if not any(meets(wanted, finding) for finding in judgement.findings) and wanted.rule not in unchecked:
            yield f"missing: {wanted}"
    yield from alarms([0], [*last.found, *last.allowed], report)
    if len(report.frames) != 1 or "rate" not in report.session.origin.note:
        yield f"it is one moment, and says: {report.session.origin.note!r}"
    if not unchecked >= TWO:
        yield f"rules that want two frames were not told to be unchecked: {sorted(TWO - unchecked)}"
    here, there = report.session.head().window, live.session.head().window
    for family in (Array, Member, BlockDevice):
        rows, known = here.rows(family), there.rows(family)
        if rows.keys() != known.keys():
            yield f"{family.__name__}: {sorted(map(str, rows))}, and live {sorted(map(str, known))}"
        parts = family.__struct_fields__
        younger = {part for part in parts if all(getattr(row, part) is None for row in known.values())}
        for name in rows.keys() & known.keys():
            for part in parts:
                one, other = getattr(rows[name], part), getattr(known[name], part)
                lacks = one is None and family is BlockDevice  # sos copies little of /sys/block
                if one != other and not lacks and part not in younger:  # a capture may be older than a field
                    yield f"{family.__name__}: {name}: {part} is {one!r}, and live {other!r}"


def _conducted(scenario: Scenario, run: Run) -> Iterator[str]:
    if "error" in run.result:
        yield f"the scenario itself failed: {run.result['error']}"
        return
    if run.result["capture"]:
        said = (run.out / "capture.txt").read_text(errors="replace")[-500:]
        yield f"sdstop capture: exit {run.result['capture']}: {said}"
    if not run.result["load_lives"]:
        yield "the load ended before the recording did"
    if scenario.report and run.result["report"]:
        yield f"sdstop report: exit {run.result['report']}: {(run.out / 'report.err').read_text()[-500:]}"
    if scenario.dashboard:
        left = run.result["left_after"]
        if left is None or left > AT_ONCE:
            yield f"the dashboard took {left} s to end"
        said = (run.out / "dashboard.err").read_text(errors="replace").strip()
        if said:
            yield f"the dashboard said: {said[-500:]}"


def _same(session: Session, document: Any) -> Iterator[str]:
    """Yield where the guest's own findings differ from those of the replay."""
    here = {(e.finding.rule, e.finding.subject, e.finding.severity.value) for e in session.episodes()}
    there = {(f["rule"], f["subject"], f["severity"]) for f in document["findings"]}
    for what, only in (("only here", here - there), ("only in the guest", there - here)):
        for words in sorted(only):
            yield f"{what}: {' '.join(words)}"


def _reported(scenario: Scenario, report: Any) -> Iterator[str]:
    """Yield where the guest's live report differs from what is expected at the end."""
    last = scenario.expect[-1]
    now = {(f["rule"], f["subject"]): f["severity"] for f in report["findings"] if f["severity"] != "info"}
    for wanted in last.found:
        if wanted.severity != "info" and not any(names_match((wanted.rule, wanted.subject), *key) for key in now):
            yield f"the report lacks: {wanted}"
    for rule, subject in now:
        if not any(names_match((said.rule, said.subject), rule, subject) for said in (*last.found, *last.allowed)):
            yield f"the report says: {rule} {subject}"
