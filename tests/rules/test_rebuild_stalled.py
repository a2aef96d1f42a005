"""rebuild-stalled: what claims to run and does not move, and why."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Severity
from sdstop.rules.rebuilds.rebuild_running import REBUILD_RUNNING
from sdstop.rules.rebuilds.rebuild_stalled import REBUILD_STALLED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.md import KIB, Disk, Node, run

COLLECTORS = (MDRAID, MDMEMBERS, DISKSTATS)
Shown = list[tuple[float, Files]]


def judged(shown: Shown, config: dict[str, float] | None = None) -> Judged:
    given = {"rebuild-stalled": config} if config else None
    return Judged(COLLECTORS, [REBUILD_STALLED, REBUILD_RUNNING], shown, given)


def standing(still: int, *, before: int = 20, busy: float = 0.3, in_flight: int = 0, **settings: object) -> Shown:
    """Return a rebuild that moves for `before` seconds and then stands, its members busy with something else."""
    shown: Shown = [*run(before, 100.0, **settings)]  # type: ignore[arg-type]
    for t in range(before + 1, before + still + 1):
        node = Node(done=int((1000 + 100 * before) * KIB), total=10**6 * KIB, speed=50, **settings)  # type: ignore[arg-type]
        node.disks = [
            Disk(name, 100 * t if busy else 100 * before, 10**6, int(1000 * busy * t), in_flight) for name in node.names
        ]
        shown.append((float(t), node.files()))
    return shown


@pytest.mark.parametrize(("still", "fires"), [(9, False), (10, True), (11, True)])
def test_ten_seconds_are_a_stall(still: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(standing(still))
    if fires:
        finding = said.finding("md0", "rebuild-stalled")
        assert value(finding, "unchanged") == still
        assert finding.severity is Severity.WARNING
        assert said.silent("rebuild-running")
    else:
        said.ruled_out("md0", "rebuild-stalled")


@pytest.mark.parametrize(("still", "severity"), [(59, Severity.WARNING), (60, Severity.CRITICAL)])
def test_a_minute_is_critical(still: int, severity: Severity) -> None:
    assert judged(standing(still, before=10)).finding("md0", "rebuild-stalled").severity is severity


def test_the_threshold_is_of_config() -> None:
    judged(standing(12), {"pause": 20.0}).ruled_out("md0", "rebuild-stalled")
    judged(standing(5), {"pause": 5.0}).finding("md0", "rebuild-stalled")


def test_it_has_reached_where_it_was_told_to_stop() -> None:
    stop = str((1000 + 100 * 20) * KIB * 2)
    finding = judged(standing(12, stop=stop)).finding("md0", "rebuild-stalled")
    assert finding.severity is Severity.CRITICAL
    assert "sync_max" in finding.summary
    assert finding.steps[1] == "echo max > /sys/block/md0/md/sync_max"
    assert any(cite.key.endswith("sync_max") and stop in cite.excerpt for cite in finding.evidence)


def test_a_reshape_is_led_by_mdadm() -> None:
    stop = str((1000 + 100 * 20) * KIB * 2)
    shown = standing(12, stop=stop, operation="reshape", action="reshape", slots="UUUU")
    finding = judged(shown).finding("md0", "rebuild-stalled")
    assert any("mdadm --grow --continue" in line for line in finding.steps)
    assert not any("echo max" in line for line in finding.steps)


def test_md_asks_nothing_of_its_members() -> None:
    finding = judged(standing(40, busy=0.0)).finding("md0", "rebuild-stalled")
    assert finding.severity is Severity.CRITICAL
    assert "no I/O issued to its members by md" in finding.cause


def test_a_member_does_not_answer() -> None:
    finding = judged(standing(40, busy=0.0, in_flight=2)).finding("md0", "rebuild-stalled")
    assert "sda, sdb, sdc and 1 more do not respond" in finding.cause


def test_its_members_are_full_with_something_else() -> None:
    finding = judged(standing(40, busy=0.99)).finding("md0", "rebuild-stalled")
    assert "busy with other I/O" in finding.summary


def test_stood_since_before_anybody_looked() -> None:
    finding = judged(standing(30, before=0)).finding("md0", "rebuild-stalled")
    assert "for at least 30s" in finding.summary


def test_rests_of_a_throttled_rebuild_are_none() -> None:
    shown: Shown = []
    for t in range(76):
        shown.append((float(t), Node(done=4000 * (t // 4), total=10**9).files()))
        said = judged(shown)
        if t >= 8:
            said.ruled_out("md0", "rebuild-stalled")
            assert not said.silent("rebuild-running")


@pytest.mark.parametrize("slots", ["UUUU"])
@pytest.mark.parametrize("operation", ["check", "repair"])
def test_checks_may_rest(slots: str, operation: str) -> None:
    said = judged(standing(30, operation="check" if operation == "check" else "resync", action=operation, slots=slots))
    assert said.silent("rebuild-stalled")


def test_what_waits_does_not_stall() -> None:
    shown: Shown = [(float(t), Node(waiting="DELAYED").files()) for t in range(70)]
    assert judged(shown).silent("rebuild-stalled")
    assert judged(shown).finding("md0", "rebuild-running").severity is Severity.INFO


def test_frozen_is_no_stall() -> None:
    assert judged(standing(30, action="frozen")).silent("rebuild-stalled")


def test_too_short_to_tell_is_not_good() -> None:
    assert "10s" in judged(standing(5, before=0)).unchecked("md0", "rebuild-stalled").reason


def test_frames_that_lie_far_apart_need_three_readings() -> None:
    shown: Shown = [*run(60, 0.0, step=30)]
    judged(shown).finding("md0", "rebuild-stalled")
    judged(shown[:2]).unchecked("md0", "rebuild-stalled")


def test_after_a_stall_it_runs_again() -> None:
    shown = standing(30)
    shown += [(50 + t, files) for t, files in run(10, 100.0, done=3000.0)[1:]]
    said = judged(shown)
    said.ruled_out("md0", "rebuild-stalled")
    assert value(said.finding("md0", "rebuild-running"), "rate") == pytest.approx(100 * 1024 * 1024, rel=0.01)
