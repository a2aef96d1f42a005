"""rebuild-slow: when it takes too long, and what it waits for."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.processes import PROCESSES
from sdstop.core.finding import Finding, Severity
from sdstop.rules.rebuilds.rebuild_slow import REBUILD_SLOW
from tests.nodes.frames import Judged, value
from tests.nodes.md import run

COLLECTORS = (MDRAID, MDMEMBERS, DISKSTATS)
MUCH = 10e6  # MiB: at 10 MiB/s more than eleven days


def judged(shown: list[tuple[float, dict[str, str]]], config: dict[str, float] | None = None) -> Judged:
    return Judged(COLLECTORS, [REBUILD_SLOW], shown, {"rebuild-slow": config} if config else None)


def slow(rate: float = 10.0, **settings: object) -> Finding:
    return judged(run(30, rate, total=MUCH, **settings)).finding("md0")  # type: ignore[arg-type]


def ruled_out_there(finding: Finding) -> str:
    return str(value(finding, "ruled_out"))


@pytest.mark.parametrize(("hours", "fires"), [(23.5, False), (24.5, True)])
def test_more_than_a_day(hours: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, 100.0, done=0.0, total=100.0 * 3600 * hours, busy=0.95))
    if fires:
        finding = said.finding("md0")
        assert finding.severity is Severity.WARNING
        assert value(finding, "eta") == pytest.approx(hours * 3600, rel=0.01)
    else:
        said.ruled_out("md0")


def test_the_threshold_is_of_config() -> None:
    shown = run(30, 100.0, done=0.0, total=100.0 * 3600 * 5, busy=0.95)
    judged(shown, {"longest": 4 * 3600.0}).finding("md0")
    judged(shown, {"longest": 6 * 3600.0}).ruled_out("md0")


@pytest.mark.parametrize(("busy", "fires"), [(0.38, True), (0.42, False)])
def test_disks_that_could_do_far_more(busy: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, 100.0, busy=busy))
    if fires:
        assert "sda" not in said.finding("md0").subject
        assert said.finding("md0").title == "REBUILD SLOW: disks only 38.0% busy"
    else:
        said.ruled_out("md0")


@pytest.mark.parametrize(("minutes", "fires"), [(58, False), (62, True)])
def test_idle_disks_do_not_matter_for_a_moment(minutes: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, 100.0, done=0.0, total=100.0 * 60 * minutes, busy=0.2))
    if fires:
        said.finding("md0")
    else:
        said.ruled_out("md0")


@pytest.mark.parametrize(("peers", "fires"), [(0.28, True), (0.36, False)])
def test_a_rebuild_that_one_member_holds_back_is_named_however_soon_it_ends(peers: float, fires: bool) -> None:  # noqa: FBT001
    """The peers would do the same in a third of the time; the rebuild takes 20 minutes more."""
    said = judged(run(30, 10.0, done=0.0, total=10.0 * 60 * 20, busy=peers, busier=0.99))
    if fires:
        finding = said.finding("md0")
        assert finding.title == "REBUILD HELD BACK by one member"
        assert finding.cause.startswith("sda is 99.0% busy")
        assert any("smartctl -x /dev/sda" in line for line in finding.steps)
    else:
        said.ruled_out("md0")


def test_the_limit_is_what_it_waits_for() -> None:
    finding = slow(busy=0.1, most="10240 (local)")
    assert finding.cause == "Limited by its maximum speed (see rebuild-throttled)."


def test_yielding_is_what_it_waits_for() -> None:
    finding = slow(busy=0.95, least="10240 (system)", foreground=100.0)
    assert finding.cause.startswith("Yields to other I/O")


def test_one_slow_member_is_what_it_waits_for() -> None:
    finding = slow(busy=0.2, busier=0.99)
    assert "sda is 99.0% busy" in finding.cause
    assert "speed limit" in ruled_out_there(finding)
    assert any("smartctl -x /dev/sda" in line for line in finding.steps)
    assert any(" sda " in cite.excerpt for cite in finding.evidence)


def test_other_load_is_what_it_waits_for() -> None:
    finding = slow(busy=0.97, foreground=300.0)
    assert "busy with other I/O: 300 MiB/s" in finding.cause


def test_the_disks_can_do_no_more() -> None:
    finding = slow(busy=0.97, foreground=1.0)
    assert "the disks are the limit" in finding.cause
    assert "other I/O on md0" in ruled_out_there(finding)


def test_a_small_stripe_cache_is_suspected_when_no_disk_is_full() -> None:
    finding = slow(busy=0.5)
    assert "stripe cache is small (256 stripes)" in finding.cause
    assert "disks (busiest 50.0%)" in ruled_out_there(finding)
    assert "stripe_cache_size" in finding.steps[1]


def test_an_unknown_cause_is_called_so() -> None:
    finding = slow(busy=0.5, stripe_cache=4096)
    assert finding.cause == "Limiting resource not identified."


@pytest.mark.parametrize("operation", ["check", "repair"])
def test_checks_may_take_their_time(operation: str) -> None:
    shown = run(30, 1.0, total=MUCH, operation="check", action=operation, slots="UUUU")
    assert judged(shown).silent()


def test_what_stands_is_not_slow() -> None:
    assert judged(run(30, 0.0, total=MUCH)).silent()


def test_too_little_seen_is_unchecked() -> None:
    judged(run(19, 10.0, total=MUCH)).unchecked("md0")
    judged(run(21, 10.0, total=MUCH)).finding("md0")


def working(name: str, share: float) -> list[tuple[float, dict[str, str]]]:
    """Return a slow rebuild of md0 while a thread takes a share of one of two processors."""
    shown = []
    for second, files in run(30, 10.0, total=MUCH, busy=0.1):
        thread = {
            "pid": 70, "name": name, "started": 9.5, "user": "root", "cmdline": "", "read_bytes": 0, "write_bytes": 0,
            "cpu_seconds": 5 + second * share,
        }  # fmt: skip
        stat = f"cpu  {round(second * 50)} 0 0 {round(second * 150)} 0 0 0 0 0 0\n"
        both = "".join(f"cpu{n} {round(second * 25)} 0 0 {round(second * 75)} 0 0 0 0 0 0\n" for n in range(2))
        shown.append(
            (second, files | {"answer:psutil.processes": json.dumps([thread]), "/proc/stat": f"{stat}{both}btime 5\n"})
        )
    return shown


@pytest.mark.parametrize(("share", "proven"), [(0.94, False), (0.96, True)])
def test_the_one_thread_that_computes_parity(share: float, proven: bool) -> None:  # noqa: FBT001  # a table
    """It wanders: no processor is busy more than a quarter of the time."""
    finding = Judged((*COLLECTORS, NODE, PROCESSES), [REBUILD_SLOW], working("md0_raid6", share)).finding("md0")
    if proven:
        assert finding.cause == "Limited by one CPU: md0_raid6 takes 96.0% of it."
        assert "computes all parity" in str(value(finding, "possible"))
        assert "group_thread_cnt" in finding.steps[0]
        assert any(cite.key == "answer:psutil.processes" for cite in finding.evidence)
    else:
        assert "its busiest thread md0_raid6 94.0%" in ruled_out_there(finding)


@pytest.mark.parametrize("name", ["md1_raid6", "md0x_raid6"])
def test_a_thread_of_another_array_is_not_it(name: str) -> None:
    finding = Judged((*COLLECTORS, NODE, PROCESSES), [REBUILD_SLOW], working(name, 0.99)).finding("md0")
    assert name not in finding.summary
    assert name not in ruled_out_there(finding)
