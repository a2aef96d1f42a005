"""Pause frames: a switch that stops this node, or a node that cannot process received frames fast enough."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.network.readings import PauseFrames
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_SPAN = 600.0
"""Seconds over which frames are counted."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(PauseFrames).values():
        ways = {
            name: counter_growth(window, PauseFrames, row.interface, (name,), _SPAN) for name in ("received", "sent")
        }
        rates = {name: grown.new / grown.seconds for name, grown in ways.items() if grown is not None}
        if not rates:
            yield Unchecked("pause frames need two samples", row.interface, calm=True, gap=Gap.EARLY)
            continue
        worst = max(rates, key=lambda name: rates[name])
        if rates[worst] < limits["rate"]:
            said = ", ".join(f"{name} {human.number(rate)}/s" for name, rate in rates.items())
            yield RuledOut(row.interface, f"pause frames: {said}")
        else:
            yield _finding(window, row, worst, rates, limits)


def _finding(window: Window, row: PauseFrames, worst: str, rates: dict[str, float], limits: Limits) -> Finding:
    rate = human.number(rates[worst])
    stopped = worst == "received"
    return Finding(
        severity=Severity.WARNING,
        subject=row.interface,
        title=f"PAUSED BY THE SWITCH: {rate}/s" if stopped else f"PAUSES THE SWITCH: {rate}/s",
        cause=f"The interface {worst} {rate} pause frames per second.",
        impact="Each pause delays everything that the interface sends."
        if stopped
        else "Each pause delays everything sent to this node.",
        values=(
            Value("received", "pause frames received", rates.get("received"), "per_second", above=limits["rate"]),
            Value("sent", "pause frames sent", rates.get("sent"), "per_second", above=limits["rate"]),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the receiver that is too slow behind the switch."
            if stopped
            else "Find out why the node takes frames too slowly: rings, PCIe link, processors.",
            run("ethtool", "-a", *operands(row.interface), note="pause settings"),
            run("ethtool", "-S", *operands(row.interface), note="frames by priority").pipe(
                "grep", "-E", "pause|xoff|pfc"
            ),
        ),
        refuted_by="counts of pause frames that stay the same under load",
    )


PAUSE_FRAMES = Rule(
    "pause-frames",
    "network interface that is paused by its switch, or pauses it",
    Severity.WARNING,
    _check,
    (PauseFrames,),
    (Threshold("rate", 100.0, "pause frames per second in one direction", "per_second"),),
    many="are paused",
    view="network",
    advice="Find the receiver that is too slow behind the switch.",
)
