"""Expectation: what must be said of a recording between two of its seconds, and where a replay differs from that.

The scenarios of virtual machines (tests/vm) and of clusters (tests/clusters) declare it as tables of TOML:

    [[expect]]
    until = 12
    found = []
    looked = ["slow-stripe-member md0"]
    [[expect]]
    since = 13
    found = ["warning slow-stripe-member md0/vdd"]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sdstop.analysis.path import data_path
from sdstop.analysis.path.sentences import limit_sentence, second_sentence
from sdstop.analysis.path.subjects import path_subjects
from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.judgement import Judgement
from sdstop.core.session import Session
from sdstop.rules import RULES

SEVERITIES = ("info", "warning", "critical")


class Misdeclared(Exception):  # noqa: N818
    """A scenario file says something that cannot be meant. Says what, and in which file."""


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, as far as an expectation names it: severity, rule, subject."""

    severity: str
    rule: str
    subject: str

    def __str__(self) -> str:
        """Return it as it is written in a scenario."""
        return f"{self.severity} {self.rule} {self.subject}"


@dataclass(frozen=True, slots=True)
class Expect:
    """What is expected between two seconds of the recording, both None: in all of it.

    `found` must be in force when the time is over; `allowed` may be in force; any other finding above info that is in
    force in between is a false alarm. `never` must not be in force whatever its severity (rule, or rule and subject).
    `looked` are rules (and subjects) that must have been able to look and found nothing. `says` are rule, subject and a
    text that the summary of this finding must hold when the time is over. `paths` are name of a data path and a text
    that the sentences below it must hold.
    """

    since: float | None = None
    until: float | None = None
    found: tuple[Said, ...] = ()
    allowed: tuple[Said, ...] = ()
    never: tuple[tuple[str, ...], ...] = ()
    looked: tuple[tuple[str, ...], ...] = ()
    says: tuple[tuple[str, ...], ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


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


def parse_expect(declared: Mapping[str, Any]) -> Expect:
    """Return what an `[[expect]]` table declares. Raises ValueError."""
    known = {"since", "until", "found", "allowed", "never", "looked", "says", "paths"}
    if set(declared) - known:
        raise ValueError(f"expect: {sorted(set(declared) - known)}: there are {sorted(known)}")
    return Expect(
        declared.get("since"),
        declared.get("until"),
        tuple(_said(text) for text in declared.get("found", ())),
        tuple(_said(text) for text in declared.get("allowed", ())),
        tuple(tuple(text.split()) for text in declared.get("never", ())),
        tuple(tuple(text.split()) for text in declared.get("looked", ())),
        tuple(_text(text) for text in declared.get("says", ())),
        tuple(_sentence(text) for text in declared.get("paths", ())),
    )


def _sentence(declared: str) -> tuple[str, ...]:
    name, colon, text = declared.partition(": ")
    if not colon:
        raise ValueError(f"expect: {declared!r}: write the name of a path, a colon, and a text of its sentences")
    return name, text


def _text(declared: str) -> tuple[str, ...]:
    words = tuple(declared.split(maxsplit=2))
    if len(words) != 3:
        raise ValueError(f"expect: {declared!r}: write rule, subject, and a text of its summary")
    return words


def _said(text: str) -> Said:
    words = text.split()
    if len(words) != 3 or words[0] not in SEVERITIES:
        raise ValueError(f"expect: {text!r}: write severity, rule, subject (warning slow-stripe-member md0/vdd)")
    return Said(*words)


def differences(expects: Sequence[Expect], course: Course) -> list[str]:
    """Return where a course differs from what is expected of it, nothing if it does not."""
    said: list[str] = []
    spans = [(expect, _places(expect, course)) for expect in expects]
    for expect, places in spans:
        if not places:
            said.append(f"{_span(expect)}: no frame")
            continue
        said += [f"{_span(expect)}: {line}" for line in _held(expect, places, course)]
    covered = {place for _, places in spans for place in places}
    anywhere = [said for expect in expects for said in (*expect.found, *expect.allowed)]
    rest = [place for place in range(len(course.frames)) if place not in covered]
    return said + list(alarms(rest, anywhere, course))


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
        if not any(meets(wanted, finding) for finding in last.findings):
            near = [f"{f.severity.value} {f.rule} {f.subject}" for f in last.findings]
            near += [f"unchecked {u.rule}: {u.reason}" for u in last.unchecked if u.rule == wanted.rule]
            near += [f"ruled out {r.subject}: {r.summary}" for r in last.ruled_out if r.rule == wanted.rule]
            yield f"missing: {wanted} (in force: {'; '.join(near) or 'nothing'})"
    yield from alarms(places, [*expect.found, *expect.allowed], course)
    for place in places:
        for finding in course.judgements[place].findings:
            if any(names_match(words, finding.rule, finding.subject) for words in expect.never):
                yield f"at {course.seconds[place]:.0f} s: never: {finding.rule} {finding.subject}: {finding.summary}"
    for rule, subject, text in expect.says:
        summaries = [f.summary for f in last.findings if names_match((rule, subject), f.rule, f.subject)]
        if not any(text in summary for summary in summaries):
            yield f"{rule} {subject} does not say {text!r}: {'; '.join(summaries) or 'not found'}"
    for name, text in expect.paths:
        said = _sentences(course, places[-1])
        if not any(text in sentences for path, sentences in said.items() if path == name):
            yield f"path {name} does not say {text!r}: {said}"
    for words in expect.looked:
        if not any(names_match(words, r.rule, subject) for r in last.ruled_out for subject in r.subjects):
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


def alarms(places: Iterable[int], known: Sequence[Said], course: Course) -> Iterator[str]:
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


def meets(said: Said, finding: Finding) -> bool:
    return said.severity == finding.severity.value and names_match(
        (said.rule, said.subject), finding.rule, finding.subject
    )


def _covers(said: Said, finding: Finding) -> bool:
    """Whether a finding is one that is expected, and no worse."""
    return SEVERITIES.index(said.severity) >= finding.severity.rank and names_match(
        (said.rule, said.subject), finding.rule, finding.subject
    )


def names_match(words: Sequence[str], rule: str, subject: str) -> bool:
    return words[0] == rule and (len(words) < 2 or fnmatchcase(subject, words[1]))
