"""Rebuilds of all kinds by the same rules: each source at its own pace, each kind with its own advice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from sdstop.analysis.rebuilds.advice import advice, filled
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.core.finding import Finding, Severity
from sdstop.core.host import Host
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.readings.rebuild import Rebuild
from sdstop.rules.rebuilds.rebuild_running import REBUILD_RUNNING
from sdstop.rules.rebuilds.rebuild_slow import REBUILD_SLOW
from sdstop.rules.rebuilds.rebuild_stalled import REBUILD_STALLED
from sdstop.rules.rebuilds.rebuild_throttled import REBUILD_THROTTLED
from tests.nodes.frames import check, value
from tests.nodes.md import run

GIB = 1 << 30
RULES = [REBUILD_STALLED, REBUILD_SLOW, REBUILD_THROTTLED, REBUILD_RUNNING]
Told = Callable[[float], dict[str, object]]


def read(host: Host) -> Iterator[Rebuild]:
    yield Rebuild(**json.loads(host.text("/slow")))


SEEN_SLOWLY = Collector("slow", "A slow source", read, (Rebuild,), (), 60.0)


def fed(told: Told, seconds: int, every: int, *, md: bool = False, step: int = 1) -> Session:
    """Show a node each `step` seconds whose slow source is read `every` so many; `md` rebuilds beside it."""
    session = Session(Origin("n"), [MDRAID, MDMEMBERS, DISKSTATS, SEEN_SLOWLY], RULES)
    shown = dict(run(seconds, 100.0, total=1e8, busy=0.95)) if md else {}
    for number, second in enumerate(range(0, seconds + 1, step), start=1):
        now = float(second)
        ran = {name: RunMark(now, 0.01) for name in (("mdraid", "mdmembers", "diskstats") if md else ())}
        items = [Evidence(key, data=text.encode()) for key, text in shown.get(now, {}).items()]
        if not second % every:
            ran["slow"] = RunMark(now, 0.01)
            row = {"array": "tank", "operation": "resilver", "state": "running", "where": "/slow", **told(now)}
            items.append(Evidence("/slow", data=json.dumps(row).encode()))
        session.feed(Frame(number, 1.7e9 + now, now, tuple(items), ran))
    return session


def finding(session: Session, rule: str, subject: str = "tank") -> Finding:
    found = [f for f in session.head().judgement.findings if (f.rule, f.subject) == (rule, subject)]
    assert len(found) == 1, session.head().judgement
    check(found[0])
    return found[0]


def findings(session: Session, subject: str = "tank") -> set[str]:
    return {f.rule for f in session.head().judgement.findings if f.subject == subject}


def moving(rate: float, **more: object) -> Told:
    return lambda now: {"kind": "zfs", "done": int(GIB + rate * now), "total": 1000 * GIB, **more}


def standing(since: float, **more: object) -> Told:
    return lambda now: {"kind": "zfs", "done": int(GIB * min(now, since)), "total": 1000 * GIB, **more}


@pytest.mark.parametrize("every", [10, 60])
def test_a_seldom_read_source_has_an_estimate_of_its_own(every: int) -> None:
    session = fed(moving(50 << 20), every * 8, every, step=10)
    said = finding(session, "rebuild-running")
    assert value(said, "rate") == pytest.approx(50 << 20)
    done = GIB + (50 << 20) * every * 8
    assert value(said, "eta") == pytest.approx((1000 * GIB - done) / (50 << 20), rel=0.01)
    assert value(said, "seen") == every * 8
    assert said.confidence is not None
    assert said.confidence > 0.9


def test_a_look_back_knows_what_was_known_then() -> None:
    session = fed(moving(50 << 20), 900, 60, step=10)
    look = Lookback(session).at(60)  # at 600 s
    (said,) = (f for f in look.judgement.findings if f.rule == "rebuild-running")
    assert value(said, "seen") == 600
    assert value(said, "progress") == pytest.approx((GIB + (50 << 20) * 600) / (1000 * GIB))


def test_between_two_reads_nothing_stands() -> None:
    """News of md come each second; that the pool's row is the same meanwhile says nothing of it."""
    session = fed(moving(50 << 20), 175, 60, md=True)
    lookback = Lookback(session)
    for index in range(60, 176):
        look = lookback.at(index)
        assert "rebuild-stalled" not in {f.rule for f in look.judgement.findings}
    assert finding(session, "rebuild-running", "md0").subject == "md0"
    assert value(finding(session, "rebuild-running"), "rate") == pytest.approx(50 << 20)


@pytest.mark.parametrize(
    ("every", "still", "fires"), [(10, 50, False), (10, 60, True), (60, 60, False), (60, 120, True)]
)
def test_a_stall_takes_three_readings_and_what_is_usual_of_a_kind(every: int, still: int, fires: bool) -> None:  # noqa: FBT001  # a table
    session = fed(standing(300.0), 300 + still, every, step=10)
    assert ("rebuild-stalled" in findings(session)) == fires
    assert ("rebuild-running" in findings(session)) != fires
    if fires:
        said = finding(session, "rebuild-stalled")
        assert value(said, "unchanged") == still
        assert "zpool status" in said.refuted_by
        assert not any("md" in line for line in said.steps)


def test_what_looks_at_data_moves() -> None:
    session = fed(lambda now: {**standing(100.0)(now), "scanned": int(GIB * now)}, 300, 10, step=10)
    assert "rebuild-stalled" not in findings(session)


def test_a_scrub_that_rests_is_no_stall() -> None:
    assert "rebuild-stalled" not in findings(fed(standing(100.0, operation="scrub"), 300, 10, step=10))


def test_a_policy_holds_what_cannot_be_seen_from_here() -> None:
    def at(rate: float) -> Told:
        by = "favorAppIos, 10240 KB/s"
        return moving(rate, kind="powerflex", array="pool1", operation="rebuild", limited_by=by, speed_max=10 << 20)

    session = fed(at(10 << 20), 200, 10, step=10)
    said = finding(session, "rebuild-throttled", "pool1")
    assert "favorAppIos, 10240 KB/s" in said.summary
    assert not any("md" in line.split() or "sysctl" in line for line in said.steps)
    assert said.explains == ("rebuild-slow:pool1",)
    slow = finding(session, "rebuild-slow", "pool1")
    assert "rebuild-throttled" in slow.summary
    assert "rebuild-throttled" not in findings(fed(at(5 << 20), 200, 10, step=10), "pool1")


@pytest.mark.parametrize(("share", "fires"), [(0.89, False), (0.91, True)])
def test_near_a_policys_limit(share: float, fires: bool) -> None:  # noqa: FBT001  # a table
    told = moving(share * (10 << 20), kind="drbd", array="r0/0", speed_max=10 << 20, limited_by="c-max-rate")
    said = findings(fed(told, 200, 10, step=10), "r0/0")
    assert ("rebuild-throttled" in said) == fires


def test_rebalance_may_take_its_time() -> None:
    told = moving(1 << 20, kind="powerflex", operation="rebalance")
    assert findings(fed(told, 200, 10, step=10)) == {"rebuild-running"}


def test_before_an_own_estimate_the_sources_own_is_told_as_its() -> None:
    said = finding(fed(moving(50 << 20, remaining=7200), 5, 10), "rebuild-running")
    assert "zpool status reports 2h00 left" in said.summary
    assert value(said, "eta") is None


def test_paused_is_said_and_is_no_stall() -> None:
    session = fed(standing(0.0, state="paused", operation="scrub"), 200, 10, step=10)
    said = finding(session, "rebuild-running")
    assert said.severity is Severity.INFO
    assert (said.title, said.cause) == ("SCRUB PAUSED", "Paused by an administrator.")
    assert said.steps == ("Resume the scan.", "zpool scrub tank   # resumes")


@pytest.mark.parametrize("kind", ["md", "zfs", "drbd", "ceph", "powerflex", "other"])
def test_each_kind_has_its_own_lines(kind: str) -> None:
    row = Rebuild("a/b{c}", "rebuild", "running", kind=kind)
    known = advice(row)
    waiting = (line for each in known.waiting.values() for line in each)
    lines = tuple(
        map(str, filled(row, *known.end, *known.stalled, *known.yields, *known.unknown, *known.faster, *waiting))
    )
    assert lines or kind == "other"
    assert all("{pool}" not in line and "{array}" not in line and "{md}" not in line for line in lines)
    assert known.waits.keys() >= known.waiting.keys()
    if kind != "md":
        assert not any("mdadm" in line or "/md/" in line or "speed_limit" in line for line in lines)
