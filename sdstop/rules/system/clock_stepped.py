"""The clock of the node was set while it was watched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sdstop.collectors.system.readings import STAT, Node
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_SUBJECT = "clock"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the time of boot: the kernel computes it from the clock, so that it moves when the clock is set."""
    boots = [row.boot_time for moment in window.moments(Node) for row in moment.rows.values()]
    known = [boot for boot in boots if boot is not None]
    step = max((after - before for before, after in pairwise(known)), key=abs, default=0)
    if len(known) < 2:
        yield Unchecked("steps of the clock need two samples", _SUBJECT, calm=True, gap=Gap.EARLY)
    elif abs(step) >= limits["step"]:
        yield _finding(window, step, limits)
    else:
        yield RuledOut(_SUBJECT, f"not set in {human.duration(window.seconds)}")


def _finding(window: Window, step: int, limits: Limits) -> Finding:
    size = human.duration(abs(step))
    return Finding(
        severity=Severity.INFO,
        subject=_SUBJECT,
        title=f"CLOCK SET {'FORWARD' if step > 0 else 'BACK'} by {size}",
        cause=f"The boot time, computed from the clock, moved by {size}.",
        impact="Times of logs and other nodes do not match; clusters can lose quorum.",
        values=(Value("step", "step of the clock", step, "seconds", above=limits["step"] if step > 0 else None),),
        evidence=cites(window.quote(STAT, "btime ")),
        advice=(
            "Find out what set the clock, and let one service keep it.",
            run("chronyc", "tracking"),
            run("journalctl", "-u", "chronyd", "-u", "ntpd", "-u", "systemd-timesyncd").pipe("tail", "-40"),
        ),
        refuted_by="the same btime in all samples of /proc/stat",
        harmless_if="an administrator set the clock, or a virtual machine was resumed",
        damage=Damage.HYGIENE,
    )


CLOCK_STEPPED = Rule(
    "clock-stepped",
    "clock of the node set while it was watched",
    Severity.INFO,
    _check,
    (Node,),
    (Threshold("step", 2.0, "minimum step of the clock", "seconds"),),
    covers=(),
    damage=Damage.HYGIENE,
    view="host",
    advice="Find out what set the clock, and let one service keep it.",
)
