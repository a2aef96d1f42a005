"""memory-short: programs wait for pages that were swapped out or dropped."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.node import NODE, PRESSURE
from sdstop.core.finding import Severity
from sdstop.rules.memory_short import MEMORY_SHORT
from tests.nodes.frames import Files, Judged, value


def files(some: float, full: float, swap_free: int | None = 1024) -> Files:
    """Return a frame's files; `some` and `full` are seconds in which tasks waited, `swap_free` KiB of 2048."""
    swap = "" if swap_free is None else f"SwapTotal: 2048 kB\nSwapFree: {swap_free} kB\n"
    return {
        "/proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1\nprocs_blocked 3\n",
        "/proc/meminfo": f"MemTotal: 9000 kB\nMemAvailable: 100 kB\n{swap}",
        "/proc/pressure/memory": f"some avg10=1.00 avg60=1.00 avg300=1.00 total={some * 1e6:.0f}\n"
        f"full avg10=1.00 avg60=1.00 avg300=1.00 total={full * 1e6:.0f}\n",
    }


def judged(some: float, full: float = 0.0, seconds: int = 24, swap_free: int | None = 1024) -> Judged:
    """Judge a node whose tasks wait for this share of each second."""
    shown = [(float(n), files(7 + some * n, 5 + full * n, swap_free)) for n in range(0, seconds + 1, 2)]
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
    assert "; 1 MiB in swap" in finding.summary


def test_without_swap_it_is_found_too() -> None:
    finding = judged(0.9, 0.1, swap_free=None).finding("memory")
    assert "swap" not in finding.summary


def test_what_is_over_counts_no_longer() -> None:
    shown = [(float(n), files(min(n, 30), 0)) for n in range(0, 60, 2)]
    said = Judged((NODE, PRESSURE), [MEMORY_SHORT], shown)
    assert said.ruled_out("memory").summary == "tasks waited for memory in 0 % of 20 s"


def test_a_short_time_is_not_judged() -> None:
    assert judged(0.9, seconds=18).unchecked("memory").reason == "needs 20 s of samples, has 18 s"


def test_without_pressure_data_nothing_is_said() -> None:
    shown = [(float(n), {k: v for k, v in files(n, n).items() if "pressure" not in k}) for n in range(0, 30, 2)]
    assert Judged((NODE, PRESSURE), [MEMORY_SHORT], shown).silent()
