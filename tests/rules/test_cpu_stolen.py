"""cpu-stolen: processor time that programs wanted and the hypervisor gave to others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.reports import REPORTS
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict
from sdstop.readings import cpu
from sdstop.readings.cpu import CpuReport
from sdstop.rules.system.cpu_stolen import CPU_STOLEN
from tests.nodes.frames import Judged


def guest(*, user: int, stolen: int, seconds: int = 30, cpus: int = 4, every: int = 1) -> Verdict:
    """Return the verdict on a guest with these ticks a second of all its processors."""

    def stat(second: int) -> str:
        idle = max(0, 100 * cpus - user - stolen)
        row = f"{100_000 + user * second} 0 0 {900_000 + idle * second} 40 0 0 {7_000 + stolen * second} 0 0"
        return f"cpu  {row}\n" + "".join(f"cpu{number} {row}\n" for number in range(cpus)) + "btime 1763701560\n"

    shown = [(float(second), {"/proc/stat": stat(second)}) for second in range(0, seconds + 1, every)]
    return Judged((NODE,), [CPU_STOLEN], shown).of("cpu")


@pytest.mark.parametrize(
    ("user", "stolen", "found"),
    [
        (300, 101, True), (300, 99, False),  # a quarter of 4 processors
        (59, 21, True), (59, 19, False),  # a fifth of a processor, of which little was wanted
        (0, 400, True), (400, 0, False), (0, 0, False),
    ],
)  # fmt: skip
def test_a_quarter_of_what_was_wanted_is_too_much(user: int, stolen: int, found: bool) -> None:  # noqa: FBT001
    verdict = guest(user=user, stolen=stolen)
    assert isinstance(verdict, Finding if found else RuledOut)


@pytest.mark.parametrize("every", [1, 5, 15, 30])
def test_samples_may_be_far_apart(every: int) -> None:
    assert isinstance(guest(user=100, stolen=150, seconds=60, every=every), Finding)


def test_a_short_time_is_early_and_no_good_sign() -> None:
    verdict = guest(user=100, stolen=100, seconds=10)
    assert isinstance(verdict, Unchecked)
    assert (verdict.gap, verdict.calm) == (Gap.SIGNS, False)
    assert verdict.reason == "collecting data: 10 of 20 s; 50.0% of the processor time wanted stolen so far"
    brief = guest(user=100, stolen=100, seconds=4)
    assert isinstance(brief, Unchecked)
    assert brief.gap is Gap.EARLY
    single = guest(user=100, stolen=100, seconds=0)
    assert isinstance(single, Unchecked)
    assert single.calm


def test_the_impact_has_the_factor() -> None:
    verdict = guest(user=100, stolen=100)
    assert isinstance(verdict, Finding)
    assert verdict.title == "CPU STOLEN: 50.0% by hypervisor"
    assert "takes 2.0 times as long" in (verdict.impact or "")


IOSTAT = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.30    0.00    1.10    0.20    0.40   97.00

Device r/s

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          22,30    0,00   11,10    0,20   46,40   20,00

"""
VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu
 6  0      0 812344 123132 5312344    0    0   120  8212  412  812  1  1 98  0  0  0
 6  0      0 812344 123132 5312344    0    0   120  8212  412  812 23  8 10  0 59  0
"""


@pytest.mark.parametrize(
    ("parse", "text", "wanted", "stolen"),
    [
        (cpu.iostat, IOSTAT, 0.798, 0.464),
        (cpu.vmstat, VMSTAT, 0.90, 0.59),
        (cpu.top, "%Cpu(s): 23.1 us,  8.0 sy,  0.0 ni, 10.0 id,  0.1 wa,  0.0 hi,  0.0 si, 58.8 st\n", 0.899, 0.588),
        (cpu.top, "Cpu(s):  3.1%us,  1.0%sy,  0.0%ni, 95.9%id,  0.0%wa,  0.0%hi,  0.0%si,  0.0%st\n", 0.041, 0.0),
    ],
)
def test_the_last_interval_that_a_tool_prints(
    parse: Callable[[str, str], CpuReport | None], text: str, wanted: float, stolen: float
) -> None:
    row = parse(text, "cmd:x")
    assert row is not None
    assert row.wanted == pytest.approx(wanted)
    assert row.stolen == pytest.approx(stolen)
    assert row.needle in text


@pytest.mark.parametrize("text", ["", "avg-cpu:  %user %nice\n 1.0 2.0\n", IOSTAT[:40], "Cpu(s): junk\n", "1 2 3\n"])
def test_a_text_without_steal_has_none(text: str) -> None:
    assert cpu.iostat(text, "") is None
    assert cpu.top(text, "") is None
    assert cpu.vmstat(text, "") is None


@pytest.mark.parametrize(("more", "found"), [("45.0", True), ("0.30", False)])
def test_a_pasted_text_is_judged(more: str, found: bool) -> None:  # noqa: FBT001
    command = "top -b -n1"
    head = "top - 14:02:22 up 33 days,  2:01,  3 users,  load average: 4.18, 3.02, 2.11\n"
    text = f"{head}%Cpu(s): 23.1 us, 8.0 sy, 0.0 ni, 20.0 id, 0.0 wa, 0.0 hi, 0.1 si, {more} st\n"
    said = Judged((REPORTS,), [CPU_STOLEN], [(0.0, {f"cmd:{command}": text})])
    assert isinstance(said.of("cpu"), Finding if found else RuledOut)
