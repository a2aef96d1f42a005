"""rebuild-running: progress and an estimate of our own."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Severity
from sdstop.rules.rebuilds.rebuild_running import REBUILD_RUNNING
from tests.nodes.frames import Files, Judged, value
from tests.nodes.md import MIB, Node, run

COLLECTORS = (MDRAID, MDMEMBERS, DISKSTATS)


def judged(shown: list[tuple[float, dict[str, str]]]) -> Judged:
    return Judged(COLLECTORS, [REBUILD_RUNNING], shown)


def test_its_own_estimate_beside_the_kernels() -> None:
    finding = judged(run(60, 100.0, done=0.0, total=60_000.0)).finding("md0")
    assert finding.severity is Severity.INFO
    assert value(finding, "progress") == pytest.approx(0.1)
    assert value(finding, "rate") == pytest.approx(100 * MIB)
    assert value(finding, "eta") == pytest.approx(540, rel=0.01)
    assert value(finding, "kernel_eta") == 60
    assert value(finding, "trend") == "steady"
    assert finding.confidence is not None
    assert finding.confidence > 0.9
    assert finding.title == "RECOVERY RUNNING: 10.0%"


def test_one_frame_has_progress_and_no_estimate() -> None:
    finding = judged(run(0, 100.0)).finding("md0")
    assert (value(finding, "rate"), value(finding, "eta"), finding.confidence) == (None, None, None)
    assert "a few more samples" in finding.cause


def test_almost_done_is_not_done() -> None:
    assert judged(run(0, 0.0, done=999_999.0)).finding("md0").title == "RECOVERY RUNNING: 99.9%"


def test_slowing_down_is_said() -> None:
    shown = run(30, 100.0)
    shown += [(30 + t, files) for t, files in run(30, 40.0, done=4000.0)[1:]]
    finding = judged(shown).finding("md0")
    assert value(finding, "trend") == "slowing"
    assert "slowing" in finding.summary


@pytest.mark.parametrize(
    ("operation", "action", "word"),
    [
        ("check", "check", "data check"),
        ("resync", "resync", "resync"),
        ("resync", "repair", "repair"),
        ("reshape", "reshape", "reshape"),
    ],
)
def test_every_operation_has_its_word(operation: str, action: str, word: str) -> None:
    finding = judged(run(20, 100.0, operation=operation, action=action, slots="UUUU")).finding("md0")
    assert finding.severity is Severity.INFO
    assert finding.title.startswith(f"{word.upper()} RUNNING: ")


@pytest.mark.parametrize(
    ("waiting", "word"), [("DELAYED", "on the same disk"), ("PENDING", "first write"), ("REMOTE", "another node")]
)
def test_what_waits_is_info(waiting: str, word: str) -> None:
    finding = judged([(0.0, Node(waiting=waiting).files())]).finding("md0")
    assert finding.severity is Severity.INFO
    assert word in finding.summary


@pytest.mark.parametrize(("still", "silent"), [(9, False), (10, True)])
def test_what_stands_still_is_not_running(still: int, silent: bool) -> None:  # noqa: FBT001  # a table
    shown: list[tuple[float, dict[str, str]]] = [*run(20, 100.0)]
    shown += [(20 + t, shown[20][1]) for t in range(1, still + 1)]
    assert judged(shown).silent("rebuild-running") is silent


def test_a_check_that_stands_still_is_still_only_mentioned() -> None:
    shown = run(15, 0.0, operation="check", action="check", slots="UUUU")
    assert judged(shown).finding("md0").severity is Severity.INFO


def test_frozen_is_not_running() -> None:
    assert judged(run(5, 100.0, action="frozen")).silent()


def test_nothing_to_rebuild_is_silence() -> None:
    files: Files = Node(slots="UUUU", action="idle").files()
    assert Judged(COLLECTORS, [REBUILD_RUNNING], [(0.0, files)]).silent()
