"""cpu-stolen: processor time that programs wanted and the hypervisor gave to others."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict
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
    assert (verdict.gap, verdict.calm) == (Gap.EARLY, False)
    assert verdict.reason == "collecting data: 10 of 20 s; 50.0% of the processor time wanted stolen so far"
    single = guest(user=100, stolen=100, seconds=0)
    assert isinstance(single, Unchecked)
    assert single.calm


def test_the_impact_has_the_factor() -> None:
    verdict = guest(user=100, stolen=100)
    assert isinstance(verdict, Finding)
    assert verdict.title == "CPU STOLEN: 50.0% by hypervisor"
    assert "takes 2.0 times as long" in (verdict.impact or "")
