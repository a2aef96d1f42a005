"""The last seconds of a story, as a short capture has them: no fault that lasts is OK because there are few samples.

Each rule needs more time than that; what the samples show by then makes the result unknown (see Gap.SIGNS).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Gap, Severity, Unchecked
from sdstop.core.headline import OK, headline
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import each_of, names, opened

SECONDS = 6.5
LASTING = (
    "device-hung", "disk-alone-slow", "half-slow", "hba-lost", "hot-member", "interrupts-bound", "nvme-alone-slow",
    "service-throttled", "slow-member", "tasks-stalled", "volume-left-suspended", "writes-hung",
)  # fmt: skip
"""Stories whose fault shows all the time, and whose rules need more than SECONDS."""
HEALTHY = ("busy-but-healthy", "iostat-healthy-array", "service-roomy", "vm-md-writeback-bursts")
NEAR = frozenset({"devices-alone-healthy", "vm-volume-suspended"})
"""Stories whose disk completes nothing for nine seconds at a time, or whose volume is suspended for a while."""


def windows(frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """Yield the frames of SECONDS from each frame on; the first has all evidence known by then."""
    known: dict[str, Evidence] = {}
    for place, frame in enumerate(frames):
        known.update((each.key, each) for each in frame.evidence)
        end = frame.monotonic + SECONDS
        later = [each for each in frames[place + 1 :] if each.monotonic <= end]
        yield [replace(frame, evidence=tuple(known.values())), *later]


def session(origin: Origin, frames: Sequence[Frame]) -> Session:
    made = Session(origin, BUILTIN, RULES)
    made.feed_all(frames)
    return made


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_lasts_is_not_ok_in_its_last_seconds(name: str) -> None:
    origin, frames = opened(name)
    shown = list(frames)
    begin = next(place for place, frame in enumerate(shown) if frame.monotonic >= shown[-1].monotonic - SECONDS)
    head = session(origin, list(windows(shown))[begin]).head()
    assert headline(head.judgement, head.now.runs, BUILTIN, origin).code != OK


def signs(name: str, *, each: int) -> list[Unchecked]:
    """Return the signs of faults in every so many windows of a story."""
    origin, frames = opened(name)
    found = (session(origin, shown).head().judgement for shown in list(windows(list(frames)))[::each])
    return [verdict for judgement in found for verdict in judgement.unchecked if verdict.gap is Gap.SIGNS]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_load_shows_no_sign(name: str) -> None:
    assert signs(name, each=15) == []


@pytest.mark.slow
@each_of([name for name in names() if name not in NEAR])
def test_no_story_without_findings_shows_a_sign(name: str) -> None:
    origin, frames = opened(name)
    findings = session(origin, list(frames)).head().judgement.findings
    assert any(each.severity is not Severity.INFO for each in findings) or signs(name, each=9) == []
