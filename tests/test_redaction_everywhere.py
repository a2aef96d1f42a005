"""Every story with names and secrets planted in every place that a capture has: none is left, and the findings are."""

from __future__ import annotations

import re
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sdstop.capture import open_capture
from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.diagnosis import Judgement, judge
from sdstop.evidence import Evidence, Frame, Origin
from sdstop.exporters.capture import CaptureWriter
from sdstop.history import Window
from sdstop.redaction import Pseudonyms, Redactor, leaks
from sdstop.rules import RULES
from sdstop.session import Session
from tests import planting
from tests.stories.expected import FIXTURES, STORIES

KEY = b"a key of thirty-two bytes, or so"
TRACES = planting.traces()
LONGEST = 14
"""Frames of a story that are judged: enough for every rule, and before and after must only be the same."""


def opened(name: str) -> tuple[Origin, list[Frame]]:
    packed = FIXTURES / name / "capture.tar.gz"
    return open_capture(packed if packed.exists() else FIXTURES / name)


def redactor(frames: Iterable[Frame], host: str) -> Redactor:
    known = Redactor(Pseudonyms(KEY))
    known.learn((), host)
    for frame in frames:
        known.learn(frame.evidence)
    return known


def parts(items: Iterable[Evidence]) -> Iterator[tuple[str, bytes]]:
    """Yield everything that is written of evidence, and the key whose it is."""
    for item in items:
        told = (item.key.encode("utf-8", "surrogateescape"), item.detail.encode("utf-8", "surrogateescape"))
        yield from ((item.key, data) for data in (*told, item.data, item.stderr) if data)


def left(items: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Return what is left of the secrets, and of which evidence."""
    told = list(parts(items))
    if not any(TRACES.left(b"\n\n".join(data for _, data in told))):
        return []
    return [(key, said) for key, data in told for said in TRACES.left(data)]


def short(frames: Sequence[Frame]) -> list[Frame]:
    """Return the first frame and the last ones of a long course."""
    return list(frames) if len(frames) <= LONGEST else [frames[0], *frames[1 - LONGEST :]]


def judged(origin: Origin, frames: Iterable[Frame]) -> Judgement:
    """Return what the rules say of all frames together."""
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    return judge(session.head().window, RULES, {})


Told = tuple[list[tuple[object, ...]], set[tuple[str, str]], set[str]]


def told(found: Judgement, renamed: Callable[[str], str]) -> Told:
    """Return the findings with their numbers, what was ruled out, and what could not be checked."""
    findings = [
        (f.rule, f.severity, renamed(f.subject), renamed(f.summary), [(v.name, renamed(v.value) if isinstance(v.value, str) else v.value) for v in f.values],
         [renamed(cite.key) for cite in f.evidence], [renamed(advice) for advice in f.advice])
        for f in found.findings
    ]  # fmt: skip
    return findings, {(r.rule, renamed(r.subject)) for r in found.ruled_out}, {u.rule for u in found.unchecked}


STORY = sorted(name for name in STORIES if not name.startswith("vm-"))
UNSEEN = {"rebuild-stalled"}
"""Rules that want more frames than are judged here."""
KINDS: set[str] = set()
"""Kinds of evidence that had everything put into them already, in another story."""


@pytest.mark.parametrize("name", STORY)
def test_nothing_planted_is_left_in_a_story_and_its_findings_are_the_same(name: str) -> None:
    origin, frames = opened(name)
    frames = short(frames)
    planted = planting.planted(frames)
    known = redactor(planted, planting.FQDN)
    redacted = [known.frame(frame) for frame in planted]
    assert left(item for frame in redacted for item in frame.evidence) == []
    of = known.origin(planting.planted_origin(origin))
    assert left([Evidence(of.name, detail="\n".join((of.note, *of.facts, *of.facts.values())))]) == []
    before, after = judged(origin, planted), judged(of, redacted)
    assert {rule for rule, _, _ in STORIES[name].last} - UNSEEN <= {finding.rule for finding in before.findings}
    assert told(after, str) == told(before, known.text)
    for item in {re.sub(r"\d+|/sys/devices/.*/", "", item.key): item for frame in frames for item in frame.evidence}.values():
        kind = re.sub(r"\d+|/sys/devices/.*/", "", item.key)
        if kind not in KINDS:
            KINDS.add(kind)
            assert left([known.evidence(planting.mentioned(item))]) == []
