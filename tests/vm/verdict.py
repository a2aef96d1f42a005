"""Verdict: what a scenario expects, held against what sdstop found in the guest and finds here in the same capture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sdstop.analysis.path import data_path
from sdstop.analysis.path.sentences import limit_sentence, second_sentence
from sdstop.analysis.path.subjects import path_subjects
from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.diagnosis import Judgement
from sdstop.core.evidence import Frame
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.vm.machine import Run
from tests.vm.scenario import SEVERITIES, Expect, Said, Scenario

TWO = frozenset({"stripe-convoy", "hot-stripe-member", "slow-stripe-member", "frames-dropped"})
"""Rules which look at a rate, of things that every node has."""
AT_ONCE = 10.0
"""Seconds in which the dashboard must be gone after `q`: all takes an emulated processor ten times as long."""


@dataclass(frozen=True, slots=True)
class Course:
    """A capture, judged frame by frame: `seconds[i]` after the first frame, `judgements[i]` was in force."""

    session: Session
    frames: Sequence[Frame]
    seconds: Sequence[float]
    judgements: Sequence[Judgement]


def course(capture: Path) -> Course:
    """Replay a capture."""
    origin, frames = open_capture(capture)
    session = Session(origin, BUILTIN, RULES)
    judgements = [session.feed(frame).judgement for frame in frames]
    return Course(session, frames, [frame.monotonic - frames[0].monotonic for frame in frames], judgements)


def judge(scenario: Scenario, run: Run) -> list[str]:
    """Return what is not as the scenario expects, nothing if all is."""
    said = list(_conducted(scenario, run))
    capture = run.out / "capture"
    if not capture.is_dir():
        return [*said, "there is no capture"]
    replayed = course(capture)
    scenario = named(scenario, run.result.get("disks", {}))
    said += expected(scenario, replayed)
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


def expected(scenario: Scenario, course: Course) -> list[str]:
    """Return where a course differs from what a scenario expects."""
    said: list[str] = []
    spans = [(expect, _places(expect, course)) for expect in scenario.expect]
    for expect, places in spans:
        if not places:
            said.append(f"{_span(expect)}: no frame")
            continue
        said += [f"{_span(expect)}: {line}" for line in _held(expect, places, course)]
    covered = {place for _, places in spans for place in places}
    anywhere = [said for expect in scenario.expect for said in (*expect.found, *expect.allowed)]
    rest = [place for place in range(len(course.frames)) if place not in covered]
    return said + list(_alarms(rest, anywhere, course))


def opened(scenario: Scenario, report: Course, live: Course) -> Iterator[str]:
    """Yield where a sosreport of the same node says anything else than the capture did at its end.

    What one moment cannot show has to be said to be unchecked, and nothing may be said that takes two.
    """
    last, judgement = scenario.expect[-1], report.judgements[-1]
    unchecked = {unable.rule for unable in judgement.unchecked}
    for wanted in last.found:
        if not any(_is(wanted, finding) for finding in judgement.findings) and wanted.rule not in unchecked:
            yield f"missing: {wanted}"
    yield from _alarms([0], [*last.found, *last.allowed], report)
    if len(report.frames) != 1 or "rate" not in report.session.origin.note:
        yield f"it is one moment, and says: {report.session.origin.note!r}"
    if not unchecked >= TWO:
        yield f"rules that want two frames were not told to be unchecked: {sorted(TWO - unchecked)}"
    here, there = report.session.head().window, live.session.head().window
    for family in (Array, Member):
        if here.rows(family) != there.rows(family):
            yield f"{family.__name__}: {here.rows(family)}, and live {there.rows(family)}"
    disks, known = here.rows(BlockDevice), there.rows(BlockDevice)
    if disks.keys() != known.keys():
        yield f"disks: {sorted(map(str, disks))}, and live {sorted(map(str, known))}"
    for name in disks.keys() & known.keys():
        for part in BlockDevice.__struct_fields__:
            one, other = (getattr(rows[name], part) for rows in (disks, known))
            if one not in {None, other}:
                yield f"{name}: {part} is {one!r}, and live {other!r}"


def _places(expect: Expect, course: Course) -> list[int]:
    since = -1.0 if expect.since is None else expect.since
    until = float("inf") if expect.until is None else expect.until
    return [place for place, second in enumerate(course.seconds) if since <= second <= until]


def _span(expect: Expect) -> str:
    if expect.since is None and expect.until is None:
        return "in all"
    return f"{'the start' if expect.since is None else f'{expect.since:g} s'} to " + (
        "the end" if expect.until is None else f"{expect.until:g} s"
    )


def _held(expect: Expect, places: Sequence[int], course: Course) -> Iterator[str]:
    last = course.judgements[places[-1]]
    for wanted in expect.found:
        if not any(_is(wanted, finding) for finding in last.findings):
            near = [f"{f.severity.value} {f.rule} {f.subject}" for f in last.findings]
            near += [f"unchecked {u.rule}: {u.reason}" for u in last.unchecked if u.rule == wanted.rule]
            near += [f"ruled out {r.subject}: {r.summary}" for r in last.ruled_out if r.rule == wanted.rule]
            yield f"missing: {wanted} (in force: {'; '.join(near) or 'nothing'})"
    yield from _alarms(places, [*expect.found, *expect.allowed], course)
    for place in places:
        for finding in course.judgements[place].findings:
            if any(_names(words, finding.rule, finding.subject) for words in expect.never):
                yield f"at {course.seconds[place]:.0f} s: never: {finding.rule} {finding.subject}: {finding.summary}"
    for rule, subject, text in expect.says:
        summaries = [f.summary for f in last.findings if _names((rule, subject), f.rule, f.subject)]
        if not any(text in summary for summary in summaries):
            yield f"{rule} {subject} does not say {text!r}: {'; '.join(summaries) or 'not found'}"
    for name, text in expect.paths:
        said = _sentences(course, places[-1])
        if not any(text in sentences for path, sentences in said.items() if path == name):
            yield f"path {name} does not say {text!r}: {said}"
    for words in expect.looked:
        if not any(_names(words, r.rule, r.subject) for r in last.ruled_out):
            why = [f"{u.reason}" for u in last.unchecked if u.rule == words[0]]
            yield f"could not look: {' '.join(words)}{f' ({why[0]})' if why else ''}"


def _sentences(course: Course, place: int) -> dict[str, str]:
    """Return the sentences below each data path after a frame, by name of the path."""
    session = Session(course.session.origin, BUILTIN, RULES)
    session.feed_all(course.frames[: place + 1])
    window, findings = session.head().window, course.judgements[place].findings
    accused = worst_by_subject(findings)
    paths = [data_path(window, subject) for subject in path_subjects(window)]
    return {
        path.subject.name: f"{limit_sentence(path.stages, accused)}. "
        f"{second_sentence(path.stages, path.mismatches, accused)}"
        for path in paths
    }


def _alarms(places: Iterable[int], known: Sequence[Said], course: Course) -> Iterator[str]:
    """Yield each false alarm once."""
    told: set[str] = set()
    for place in places:
        for finding in course.judgements[place].findings:
            if finding.severity is Severity.INFO or any(_covers(said, finding) for said in known) or finding.id in told:
                continue
            told.add(finding.id)
            yield (
                f"at {course.seconds[place]:.0f} s: not expected: {finding.severity.value} {finding.rule} "
                f"{finding.subject}: {finding.summary}"
            )


def _is(said: Said, finding: Finding) -> bool:
    return said.severity == finding.severity.value and _names((said.rule, said.subject), finding.rule, finding.subject)


def _covers(said: Said, finding: Finding) -> bool:
    """Whether a finding is one that is expected, and no worse."""
    return SEVERITIES.index(said.severity) >= finding.severity.rank and _names(
        (said.rule, said.subject), finding.rule, finding.subject
    )


def _names(words: Sequence[str], rule: str, subject: str) -> bool:
    return words[0] == rule and (len(words) < 2 or fnmatchcase(subject, words[1]))


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
        if wanted.severity != "info" and not any(_names((wanted.rule, wanted.subject), *key) for key in now):
            yield f"the report lacks: {wanted}"
    for rule, subject in now:
        if not any(_names((said.rule, said.subject), rule, subject) for said in (*last.found, *last.allowed)):
            yield f"the report says: {rule} {subject}"
