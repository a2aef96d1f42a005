"""memory-short: programs wait for pages that were swapped out or dropped."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.pressure import PRESSURE
from sdstop.collectors.system.reports import REPORTS
from sdstop.collectors.zfs.arc import ARC, ARCSTATS
from sdstop.core.finding import Finding, Gap, Severity, Unchecked
from sdstop.rules.memory.memory_short import MEMORY_SHORT
from tests.nodes.frames import Files, Judged, value


def files(
    some: float, full: float, swap_free: int | None = 1024, pages: float | None = 5.0, stalled: float = 0.0
) -> Files:
    """Return a frame's files; `some` and `full` are seconds in which tasks waited for memory, `stalled` for I/O.

    `swap_free` are KiB of 2048, `pages` those read back from swap.
    """
    swap = "" if swap_free is None else f"SwapTotal: 2048 kB\nSwapFree: {swap_free} kB\n"
    return {
        "/proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1\nprocs_blocked 3\n",
        "/proc/meminfo": f"MemTotal: 9000 kB\nMemAvailable: 100 kB\n{swap}",
        **({} if pages is None else {"/proc/vmstat": f"nr_free_pages 5\npswpin {pages:.0f}\npswpout 7\n"}),
        "/proc/pressure/io": f"some avg10=1.00 avg60=1.00 avg300=1.00 total={stalled * 1e6:.0f}\n",
        "/proc/pressure/memory": f"some avg10=1.00 avg60=1.00 avg300=1.00 total={some * 1e6:.0f}\n"
        f"full avg10=1.00 avg60=1.00 avg300=1.00 total={full * 1e6:.0f}\n",
    }


def judged(
    some: float, full: float = 0.0, seconds: int = 24, swap_free: int | None = 1024, pages: float | None = 5.0
) -> Judged:
    """Judge a node whose tasks wait for this share of each second."""
    shown = [(float(n), files(7 + some * n, 5 + full * n, swap_free, pages)) for n in range(0, seconds + 1, 2)]
    return Judged((NODE, PRESSURE), [MEMORY_SHORT], shown)


@pytest.mark.parametrize(
    ("some", "full", "severity"),
    [
        (0.41, 0.0, Severity.WARNING),
        (0.95, 0.59, Severity.WARNING),
        (0.95, 0.61, Severity.CRITICAL),
        (0.39, 0.2, None),
        (0.0, 0.0, None),
    ],
)
def test_tasks_that_wait_for_memory_most_of_the_time(some: float, full: float, severity: Severity | None) -> None:
    said = judged(some, full)
    if severity is None:
        said.ruled_out("memory")
        return
    finding = said.finding("memory")
    assert finding.severity is severity
    assert value(finding, "some") == pytest.approx(some)
    assert value(finding, "full") == pytest.approx(full)
    assert value(finding, "swap") == 1024 * 1024
    assert finding.impact == "1 MiB in swap."


def test_without_swap_it_is_found_too() -> None:
    finding = judged(0.9, 0.1, swap_free=None).finding("memory")
    assert "swap" not in finding.summary


@pytest.mark.parametrize(
    ("pages", "stalled", "fires"),
    [(110, 0.45, True), (300, 0.85, True), (90, 0.9, False), (300, 0.35, False), (0, 1.0, False)],
)
def test_pages_that_come_back_from_swap_all_the_time(pages: float, stalled: float, fires: bool) -> None:  # noqa: FBT001
    """Seen on a real kernel: 300 pages a second, I/O pressure 85 %, and memory pressure 7 %."""
    shown = [(float(n), files(0.07 * n, 0, 1024, 50 + pages * n, stalled * n)) for n in range(0, 30, 2)]
    said = Judged((NODE, PRESSURE), [MEMORY_SHORT], shown)
    if not fires:
        assert f"{pages} pages/s" in said.ruled_out("memory").summary
        return
    finding = said.finding("memory")
    assert finding.severity is Severity.WARNING
    assert value(finding, "pages") == pages
    assert finding.cause == f"Memory is swapped; tasks waited for I/O in {stalled * 100:.1f}% of 20 s."
    assert {"/proc/vmstat", "/proc/pressure/io"} <= {cite.key for cite in finding.evidence}


def test_a_burst_of_swapping_is_none() -> None:
    """What was swapped out is read back once, in five seconds."""
    shown = [(float(n), files(0, 0, 1024, min(max(300 * (n - 20), 0), 1500), 0.9 * n)) for n in range(0, 30, 2)]
    Judged((NODE, PRESSURE), [MEMORY_SHORT], shown).ruled_out("memory")


def test_what_is_over_counts_no_longer() -> None:
    shown = [(float(n), files(min(n, 30), 0)) for n in range(0, 60, 2)]
    said = Judged((NODE, PRESSURE), [MEMORY_SHORT], shown)
    assert said.ruled_out("memory").summary == (
        "in 20 s, tasks waited for memory in 0% of the time; 0 pages/s read back from swap"
    )


def test_swapping_of_which_a_half_is_unknown_is_not_good() -> None:
    """Without /proc/vmstat, or without I/O pressure; a node without swap needs neither."""
    uncounted = judged(0.1, pages=None)
    assert uncounted.unchecked("memory").reason == "memory is swapped out; number of pages read back unknown"
    judged(0.1, swap_free=None, pages=None).ruled_out("memory")
    judged(0.1, swap_free=2048, pages=None).ruled_out("memory")
    shown = [(float(n), files(0, 0, 1024, 300 * n)) for n in range(0, 30, 2)]
    without = [(at, {k: v for k, v in each.items() if not k.endswith("/io")}) for at, each in shown]
    said = Judged((NODE, PRESSURE), [MEMORY_SHORT], without).unchecked("memory")
    assert said.reason == "300 pages/s read back from swap; I/O pressure unknown"
    Judged((NODE, PRESSURE), [MEMORY_SHORT], shown).ruled_out("memory")


def test_samples_that_come_late_are_judged_all_the_same() -> None:
    """On a busy node samples are 0.7 to 1.6 s apart: 20 s back there may be none."""
    shown = [(n * 1.3, files(0.9 * n * 1.3, 0)) for n in range(40)]
    for frames in range(18, 40):
        Judged((NODE, PRESSURE), [MEMORY_SHORT], shown[:frames]).finding("memory")


def test_a_short_time_is_not_judged() -> None:
    said = judged(0.9, seconds=18).unchecked("memory")
    assert said.gap is Gap.SIGNS
    assert said.reason.endswith("; collecting data: 18 of 20 s")
    assert judged(0.9, seconds=4).unchecked("memory").gap is Gap.EARLY
    assert judged(0.1, seconds=18).unchecked("memory").gap is Gap.EARLY


def test_without_pressure_data_nothing_is_said() -> None:
    shown = [(float(n), {k: v for k, v in files(n, n).items() if "pressure" not in k}) for n in range(0, 30, 2)]
    assert Judged((NODE, PRESSURE), [MEMORY_SHORT], shown).silent()


def available(kilobytes: Sequence[int], total: int = 64_000_000, arc: int | None = None) -> Judged:
    """Judge a node with so much memory available, in KiB; `arc` are bytes of ZFS's cache."""
    more = {} if arc is None else {ARCSTATS: f"9 1 0x01 1 2 3 4\nname type data\nhits 4 1\nmisses 4 1\nsize 4 {arc}\n"}
    shown = [
        (float(n), dict(files(0, 0)) | more | {"/proc/meminfo": f"MemTotal: {total} kB\nMemAvailable: {each} kB\n"})
        for n, each in enumerate(kilobytes)
    ]
    return Judged((NODE, PRESSURE, ARC), [MEMORY_SHORT], shown)


def test_no_memory_available() -> None:
    finding = available([200_000] * 24).finding("memory")
    assert (finding.severity, finding.title) == (Severity.WARNING, "MEMORY NEARLY FULL")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(available([263_000] * 24), id="a quarter of a GiB"),
        pytest.param(available([200_000] * 23 + [300_000]), id="some in one sample"),
        pytest.param(available([11_000] * 24, total=1_000_000), id="one percent of a small node"),
        pytest.param(available([20_000] * 24, arc=30 << 30), id="ZFS gives it back"),
    ],
)
def test_enough_memory_available(said: Judged) -> None:
    assert "tasks waited" in said.ruled_out("memory").summary


@pytest.mark.parametrize(
    ("swapped", "blocked", "found"), [(9000, 9, True), (390, 9, False), (9000, 0, False), (400, 1, True)]
)
def test_swapping_in_a_text_of_vmstat(swapped: int, blocked: int, found: bool) -> None:  # noqa: FBT001
    """100 pages of 4 KiB a second, as with counters."""
    text = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        f" 1 {blocked:2} 999344  12344    132  12344 {swapped} 8000 12000  8212  412  812  3  2  0 95  0\n"
    )
    said = Judged((REPORTS,), [MEMORY_SHORT], [(0.0, {"cmd:vmstat 1 5": text})])
    assert any(isinstance(each, Finding) for each in said.all) is found


@pytest.mark.parametrize(
    ("kills", "reason"), [(2, "2 programs killed for lack of memory; no kernel log shows why"), (0, "")]
)
def test_killed_programs_without_a_kernel_log(kills: int, reason: str) -> None:
    shown = [
        (float(n), {**files(0, 0), "/proc/vmstat": f"pswpin 5\noom_kill {7 + (kills if n > 10 else 0)}\n"})
        for n in range(0, 25, 2)
    ]
    said = Judged((NODE, PRESSURE), [MEMORY_SHORT], shown).of("memory")
    if reason:
        assert isinstance(said, Unchecked)
        assert (said.gap, said.reason) == (Gap.SIGNS, reason)
    else:
        assert not isinstance(said, Unchecked) or said.gap is not Gap.SIGNS
