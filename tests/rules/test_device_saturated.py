"""device-saturated: when a device works at its limit, for whom, and when it does not."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.processes import PROCESSES
from sdstop.core.evidence import Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Session
from sdstop.rules.disks.device_saturated import DEVICE_SATURATED
from tests.nodes import peers
from tests.nodes.peers import DISKS, Loads
from tests.rules.stripes import Files, Load, frames
from tests.stories.processes import Process, answer

QUESTION = "answer:psutil.processes"


def judged(files: Files, load: Loads, *, seconds: int = 14) -> Session:
    session = Session(Origin("n"), (*peers.COLLECTORS, PROCESSES), (DEVICE_SATURATED,))
    session.feed_all(frames(peers.shown(files, DISKS, load, seconds=seconds)))
    return session


def findings(session: Session) -> dict[str, Finding]:
    return {finding.subject: finding for finding in session.head().judgement.findings}


def full(*names: str, busy: float = 1.0, queue: float = 12.0) -> Loads:
    def load(device: str, second: int) -> Load:
        return Load(60, 60, 1000 * queue / 120, busy=busy) if device in names else Load(10, 10, 5.0, busy=0.1)

    return load


def test_one_disk_at_its_limit_is_info() -> None:
    (one,) = findings(judged(peers.disks(DISKS), full("sdd"))).values()
    assert (one.subject, one.severity) == ("sdd", Severity.INFO)
    assert "120 requests/s" in one.summary
    assert " 12 waiting" in one.summary


@pytest.mark.parametrize(
    ("busy", "queue", "is_found"), [(0.94, 12.0, False), (0.96, 12.0, True), (1.0, 1.8, False), (1.0, 2.2, True)]
)
def test_near_the_thresholds(busy: float, queue: float, is_found: bool) -> None:  # noqa: FBT001
    assert bool(findings(judged(peers.disks(DISKS), full("sdd", busy=busy, queue=queue)))) is is_found


def test_flash_takes_more_requests_at_once() -> None:
    assert not findings(judged(peers.disks(DISKS, rotational=0), full("sdd")))
    assert findings(judged(peers.disks(DISKS, rotational=0), full("sdd", queue=40.0)))


def test_a_moment_is_not_the_limit() -> None:
    def load(device: str, second: int) -> Load:
        return full("sdd")(device, second) if second % 2 else Load(10, 10, 5.0, busy=0.1)

    session = judged(peers.disks(DISKS), load)
    assert not findings(session)
    assert [good.rule for good in session.head().judgement.ruled_out] == ["device-saturated"]


def test_few_readings_are_not_judged() -> None:
    session = judged(peers.disks(DISKS), full("sdd"), seconds=5)
    assert not findings(session)
    assert "5 of 8 samples" in session.head().judgement.unchecked[0].reason


def test_half_of_a_group_is_told_of_the_group() -> None:
    files = peers.disks(DISKS) | peers.pool(DISKS)
    assert findings(judged(files, full(*DISKS[:3]))).keys() == {"tank"}
    assert findings(judged(files, full(*DISKS[:2]))).keys() == set(DISKS[:2])


def test_a_slow_disk_is_not_called_saturated() -> None:
    def load(device: str, second: int) -> Load:
        return Load(20, 20, 300.0, busy=1.0) if device == "sdd" else Load(20, 20, 5.0, busy=0.2)

    assert not findings(judged(peers.disks(DISKS) | peers.pool(DISKS), load, seconds=40))


def test_it_says_for_whom() -> None:
    """Ten processes of one name, and the volume that stands on the disks."""

    def processes(second: int) -> str:
        return answer([Process(100 + n, "qemu-img", "qemu-img", second * 10_000_000, 0) for n in range(10)], 1.0)

    shown = peers.shown(peers.disks(DISKS) | peers.mapping(DISKS), DISKS, full(*DISKS))
    session = Session(Origin("n"), (*peers.COLLECTORS, PROCESSES), (DEVICE_SATURATED,))
    session.feed_all(frames([(time, files | {QUESTION: processes(int(time))}) for time, files in shown]))
    (one,) = findings(session).values()
    assert one.subject == "vg0/data"
    assert {value.name: value.value for value in one.values}["processes"] == "10 x qemu-img"


def slows(device: str, second: int) -> Load:
    """A disk whose requests suddenly take 60 times as long, and are as many."""
    return Load(20, 20, 300.0, busy=1.0) if device == "sdd" and second > 30 else Load(20, 20, 5.0, busy=0.2)


@pytest.mark.parametrize("files", [peers.disks(DISKS), peers.disks(DISKS) | peers.pool(DISKS)])
def test_a_disk_that_became_slow_is_not_at_its_limit(files: Files) -> None:
    session = judged(files, slows, seconds=42)
    assert not [episode for episode in session.episodes() if episode.finding.subject == "sdd"]
    (why,) = [verdict for verdict in session.head().judgement.unchecked if "sdd" in verdict.subjects]
    assert why.reason == "requests take 5 times as long as before: slow, or at its limit"


def test_more_load_is_the_limit() -> None:
    """The same disk with more requests serves each in no more time."""

    def load(device: str, second: int) -> Load:
        return Load(100, 100, 60.0, busy=1.0) if device == "sdd" and second > 30 else Load(20, 20, 5.0, busy=0.2)

    (one,) = findings(judged(peers.disks(DISKS), load, seconds=42)).values()
    assert "as fast as its peers" in str(one.advice)


def test_it_does_not_praise_a_disk_that_was_always_slower() -> None:
    """Its load differs from that of its peers, so that no rule calls it slow."""

    def load(device: str, second: int) -> Load:
        return Load(10, 0, 400.0, busy=1.0) if device == "sdd" else Load(0, 80, 5.0, busy=0.4)

    (one,) = findings(judged(peers.disks(DISKS) | peers.pool(DISKS), load)).values()
    assert "20 times as long as those of its peers" in one.impact
    assert "as fast as" not in str(one.advice)


def test_it_does_not_praise_a_disk_without_peers() -> None:
    (one,) = findings(judged(peers.disks(DISKS[:1]), full("sdb"))).values()
    assert "as fast as" not in str(one.advice)
