"""cpu-saturated: one processor full of interrupts, and all processors busy."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.rules.system.cpu_saturated import CPU_SATURATED
from tests.nodes.frames import Judged


def node(*busy: tuple[int, int], seconds: int = 30) -> Judged:
    """Return a node whose processors spend these percentages in programs and in software interrupts."""

    def stat(second: int) -> str:
        rows = [
            [1000 + user * second, 0, 0, 9000 + (100 - user - soft) * second, 0, 0, 50 + soft * second, 0]
            for user, soft in busy
        ]
        every = [[sum(column) for column in zip(*rows, strict=True)], *rows]
        names = ["cpu ", *(f"cpu{number}" for number in range(len(rows)))]
        return "".join(f"{name} {' '.join(map(str, row))} 0 0\n" for name, row in zip(names, every, strict=True))

    shown = [(float(second), {"/proc/stat": stat(second)}) for second in range(seconds + 1)]
    return Judged((NODE,), [CPU_SATURATED], shown)


@pytest.mark.parametrize(
    ("first", "others", "found"),
    [((0, 90), (5, 0), True), ((0, 89), (5, 0), False), ((0, 95), (49, 1), True), ((0, 95), (51, 0), False)],
)
def test_interrupts_that_one_processor_handles_alone(
    first: tuple[int, int],
    others: tuple[int, int],
    found: bool,  # noqa: FBT001
) -> None:
    said = node(first, others, others, others)
    if found:
        finding = said.finding("cpu0")
        assert (finding.severity, finding.title) == (Severity.WARNING, "INTERRUPTS FILL CPU 0")
    else:
        assert isinstance(said.of("processors"), RuledOut)


def test_a_program_that_fills_a_processor_is_no_fault() -> None:
    assert isinstance(node((100, 0), (0, 0)).of("processors"), RuledOut)


def test_interrupts_of_the_only_processor_are_not_bound() -> None:
    assert not [said for said in node((5, 94)).all if isinstance(said, Finding) and said.severity is Severity.WARNING]


@pytest.mark.parametrize(("user", "found"), [(95, True), (94, False)])
def test_all_processors_busy_is_mentioned(user: int, found: bool) -> None:  # noqa: FBT001
    verdict = node((user, 0), (user, 0)).of("processors")
    assert isinstance(verdict, Finding if found else RuledOut)
    assert not isinstance(verdict, Finding) or verdict.severity is Severity.INFO


def test_a_short_time_shows_nothing() -> None:
    verdict = node((60, 39), (60, 39), seconds=15).of("processors")
    assert isinstance(verdict, Unchecked)
    assert (verdict.gap, verdict.calm, verdict.reason) == (Gap.EARLY, True, "collecting data: 15 of 20 s")


def test_interrupts_that_fill_a_processor_so_far_are_a_sign() -> None:
    verdict = node((0, 99), (0, 0), seconds=6).of("processors")
    assert isinstance(verdict, Unchecked)
    assert (verdict.gap, verdict.calm) == (Gap.SIGNS, False)
    assert verdict.reason == "interrupts fill processor 0; collecting data: 6 of 20 s"
    early = node((0, 99), (0, 0), seconds=4).of("processors")
    assert isinstance(early, Unchecked)
    assert early.gap is Gap.EARLY
