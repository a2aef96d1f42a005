"""cpu-saturated: a recorded mpstat, whose processors are judged by one interval or the mean of several."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.mpstat import PRINTED, parse
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.system.cpu_saturated import CPU_SATURATED
from tests.nodes.frames import Judged

KEY = "cmd:mpstat -P ALL 1 1"
HEAD = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"


def block(time: str, soft: float, busy: float = 5.0, *, only: bool = False) -> str:
    """A block of four processors; the first spends `soft` percent in interrupts, the others are `busy` percent busy."""
    rows = (
        [("all", 0.0, busy)]
        if only
        else [("all", 0.0, busy), ("0", soft, 0.0), *((str(n), 0.0, busy) for n in (1, 2, 3))]
    )
    lines = [f"{time}     {HEAD}"]
    for cpu, irq, usr in rows:
        idle = 100 - irq - usr
        shares = [usr, 0.0, 0.0, 0.0, 0.0, irq, 0.0, 0.0, 0.0, idle]
        lines.append(f"{time}     {cpu:>3}{''.join(f'{share:8.2f}' for share in shares)}")
    return "\n".join(lines) + "\n\n"


def judged(text: str, key: str = KEY) -> Judged:
    return Judged(
        (PRINTED,),
        [CPU_SATURATED],
        [(0.0, {key: f"Linux 6.1.0-18-amd64 (san1) \t11/29/26 \t_x86_64_\t(4 CPU)\n\n{text}"})],
    )


@pytest.mark.parametrize(
    ("soft", "busy", "is_found"), [(91.0, 5.0, True), (89.0, 5.0, False), (95.0, 49.0, True), (95.0, 51.0, False)]
)
def test_a_processor_that_interrupts_fill(soft: float, busy: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(block("10:00:02", soft, busy) + block("Average:", soft, busy))
    if is_found:
        finding = said.finding("cpu0")
        assert (finding.severity, finding.title) == (Severity.WARNING, "INTERRUPTS FILL CPU 0")
    else:
        said.ruled_out("processors")


def test_one_interval_may_be_a_second() -> None:
    assert judged(block("10:00:02 AM", 100.0)).finding("cpu0").severity is Severity.INFO


def test_the_mean_counts_before_the_last_interval() -> None:
    judged(block("10:00:02", 100.0) + block("10:00:03", 100.0) + block("Average:", 30.0)).ruled_out("processors")
    assert judged(block("10:00:02", 0.0) + block("10:00:03", 100.0)).finding("cpu0").severity is Severity.INFO


def test_means_since_the_boot_say_nothing_of_now() -> None:
    said = judged(block("10:00:02", 100.0), "cmd:mpstat -P ALL")
    assert not any(isinstance(each, (Finding, RuledOut)) for each in said.all)


def test_without_each_processor_nothing_is_good() -> None:
    assert isinstance(judged(block("10:00:02", 0.0, only=True), "cmd:mpstat 1 1").of("processors"), Unchecked)


def test_other_tables_are_no_processors() -> None:
    text = "10:00:02     CPU    intr/s\n10:00:03     all    812.00\n"
    assert list(parse(text, KEY)) == []
