"""device-slowed: a device without peers that waits far longer than it did, under no more load."""

from __future__ import annotations

import pytest

from sdstop.core.evidence import Origin
from sdstop.core.finding import Finding, Severity, Unchecked
from sdstop.core.session import Session
from sdstop.rules.disks.device_slowed import DEVICE_SLOWED
from tests.nodes import peers
from tests.nodes.peers import DISKS, Loads
from tests.rules.stripes import Load, frames

ALONE = DISKS[:1]
(NAME,) = ALONE


def judged(load: Loads, *, disks: tuple[str, ...] = ALONE, seconds: int = 60) -> Session:
    session = Session(Origin("n"), peers.COLLECTORS, (DEVICE_SLOWED,))
    session.feed_all(frames(peers.shown(peers.disks(disks), disks, load, seconds=seconds)))
    return session


def found(session: Session) -> dict[str, Finding]:
    return {finding.subject: finding for finding in session.head().judgement.findings}


def turned(before: Load, after: Load, at: int = 30) -> Loads:
    """Return a load that changes at a second."""
    return lambda _, second: after if second >= at else before


def test_a_lone_disk_slows_under_the_same_load() -> None:
    finding = found(judged(turned(Load(30, 30, 0.8, busy=0.05), Load(30, 30, 48.0, busy=0.9))))[NAME]
    assert (finding.severity, finding.title) == (Severity.INFO, "DEVICE SLOWED: 0.80 to 48.0 ms")
    assert finding.cause == "Requests wait 60.0 times as long as 50s before, under no more load."


@pytest.mark.parametrize(
    ("after", "is_found"),
    [
        (Load(30, 30, 9.9), False),  # below 10 ms
        (Load(30, 30, 10.1), True),
        (Load(38, 38, 48.0), False),  # more load
        (Load(36, 36, 48.0), True),
        (Load(10, 10, 48.0), True),  # who waits for each request asks less often
        (Load(44, 16, 48.0), False),  # reads instead of writes
        (Load(40, 20, 48.0), True),
        (Load(0, 0, 0.0), False),
    ],
)
def test_near_the_thresholds(after: Load, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert bool(found(judged(turned(Load(30, 30, 0.8), after)))) is is_found


def resized(load: Loads, factor: float) -> Session:
    """Judge a disk that moves so many times the bytes a second after 30 s."""
    shown = peers.shown(peers.disks(ALONE), ALONE, load, seconds=60)
    changed = []
    for second, (at, files) in enumerate(shown):
        words = files["/proc/diskstats"].split()
        for place in (5, 9):  # sectors read and written; each second has as many
            words[place] = str(round(480 * (min(second, 30) + max(second - 30, 0) * factor)))
        changed.append((at, {**files, "/proc/diskstats": " ".join(words) + "\n"}))
    session = Session(Origin("n"), peers.COLLECTORS, (DEVICE_SLOWED,))
    session.feed_all(frames(changed))
    return session


@pytest.mark.parametrize(("factor", "is_found"), [(1.4, True), (1.6, False), (0.7, True), (0.6, False)])
def test_requests_of_another_size_take_another_time(factor: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert bool(found(resized(turned(Load(30, 30, 0.8), Load(30, 30, 48.0)), factor))) is is_found


@pytest.mark.parametrize(
    ("busy", "factor", "is_found"), [(0.66, 0.1, True), (0.54, 0.1, False), (0.66, 1.0, False), (0.66, 0.3, True)]
)
def test_smaller_requests_explain_no_more_than_a_random_access(
    busy: float,
    factor: float,
    is_found: bool,  # noqa: FBT001  # a table
) -> None:
    """20 a second instead of 60: busy 0.66 is 33 ms a request; moving as many bytes, each is three times as large."""
    load = turned(Load(30, 30, 0.8, busy=0.05), Load(10, 10, 48.0, busy=busy))
    assert bool(found(resized(load, factor))) is is_found


@pytest.mark.parametrize(("before", "is_found"), [(9.9, True), (10.1, False)])
def test_five_times_as_long(before: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert bool(found(judged(turned(Load(30, 30, before), Load(30, 30, 50.0))))) is is_found


@pytest.mark.parametrize(("wait", "is_good"), [(98.0, True), (102.0, False)])
def test_a_long_wait_is_not_good_because_it_is_as_long_as_before(wait: float, is_good: bool) -> None:  # noqa: FBT001
    judgement = judged(lambda *_: Load(5, 5, wait)).head().judgement
    assert ([good.subject for good in judgement.ruled_out] == [NAME]) is is_good
    assert any(each.subject == NAME and each.calm for each in judgement.unchecked) is not is_good


def test_a_steady_wait_is_ruled_out() -> None:
    session = judged(lambda *_: Load(30, 30, 48.0))
    assert [good.subject for good in session.head().judgement.ruled_out] == [NAME]


def test_members_of_a_group_are_judged_beside_their_peers() -> None:
    """Disks of one model in one role are peers; their group shows which of them is slow."""
    slow, fast = Load(30, 30, 48.0), Load(30, 30, 0.8)
    session = judged(lambda name, second: slow if second >= 30 and name == "sdb" else fast, disks=DISKS)
    assert not found(session)


def test_seconds_are_too_few() -> None:
    session = judged(turned(Load(30, 30, 0.8), Load(30, 30, 48.0), at=10), seconds=25)
    (left,) = session.head().judgement.unchecked
    assert isinstance(left, Unchecked)
    assert left.reason == "collecting data: 25 of 28 s"


def test_the_lowest_device_is_named() -> None:
    """A mapping on the disk slows with it."""
    files = peers.disks(ALONE) | {
        "/sys/block/dm-0/dev": "253:0\n",
        f"link:/sys/block/dm-0/slaves/{NAME}": f"../../{NAME}",
    }
    shown = peers.shown(files, (NAME, "dm-0"), turned(Load(30, 30, 0.8), Load(30, 30, 48.0)), seconds=60)
    session = Session(Origin("n"), peers.COLLECTORS, (DEVICE_SLOWED,))
    session.feed_all(frames(shown))
    assert found(session).keys() == {NAME}
