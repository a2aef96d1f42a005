"""Stories as an exporter would sample them on a node at rest: the same findings, although most samples are lacking.

Most of these nodes are not at rest, and would be read each second. That their findings do not depend on it shows that
no rule counts samples where it means seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.collector import RESTING
from sdstop.core.evidence import Frame
from sdstop.core.judgement import Judgement
from sdstop.core.judging import merged
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.sampler.rest import WATCH
from tests.fixtures import every_story, story

WATCHED = {collector.name: collector.needs[0].what for collector in BUILTIN if collector.stirs is not None}
"""The sources that are read each WATCH seconds, and their files."""
ROUNDS = 2
"""Rounds of all sources that a story must last for: after one, most rules still wait for a second sample."""
AWAKE = {"vm-disk-stalls": "the disk stalls for a second at a time, with requests in flight, which end the rest"}
"""Stories whose findings need a sample each second, and why the node would not be at rest."""


def at_rest(frames: Sequence[Frame]) -> Iterator[Frame]:
    """Yield the frames of a sampler at rest: all sources each RESTING seconds, those that notice work each WATCH."""
    whole = watched = float("-inf")
    waiting: Frame | None = None
    for frame in frames:
        waiting = frame if waiting is None or frame.fresh else merged(waiting, frame)
        if waiting.fresh or frame is frames[-1] or frame.monotonic - whole >= RESTING - 0.5:
            yield waiting
            whole = watched = frame.monotonic
            waiting = None
        elif frame.monotonic - watched >= WATCH - 0.5:
            watch, waiting = _divided(waiting)
            yield watch
            watched = frame.monotonic


def _divided(frame: Frame) -> tuple[Frame, Frame]:
    """Return the part of a frame that notices work, as a quiet frame, and the rest of it."""
    files = set(WATCHED.values())
    watched = tuple(item for item in frame.evidence if item.key in files)
    others = tuple(item for item in frame.evidence if item.key not in files)
    ran = frame.ran
    if ran is None:
        return replace(frame, evidence=watched, quiet=True), replace(frame, evidence=others)
    return (
        replace(frame, evidence=watched, ran={name: ran[name] for name in ran if name in WATCHED}, quiet=True),
        replace(frame, evidence=others, ran={name: ran[name] for name in ran if name not in WATCHED}),
    )


def found(judgement: Judgement) -> set[tuple[str, str, str]]:
    return {(finding.rule, finding.subject, finding.severity.value) for finding in judgement.every}


@pytest.mark.slow
@every_story()
def test_a_story_sampled_at_rest_ends_with_the_same_findings(name: str) -> None:
    told = story(name)
    fewer = list(at_rest(told.frames))
    if told.frames[-1].monotonic - told.frames[0].monotonic < ROUNDS * RESTING or name in AWAKE:
        return
    session = Session(told.session.origin, BUILTIN, RULES)
    session.feed_all(fewer)
    assert found(session.head().judgement) == found(told.judgements[-1])
