"""Frames with receive errors, or dropped, on an interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.network.readings import BondSlave, Interface, InterfaceFault, Traffic
from sdstop.core import format as human
from sdstop.core.advice import Advice
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.network.frames_dropped.causes import LossCause, causes_of
from sdstop.rules.network.frames_dropped.driver_counters import of_drivers
from sdstop.rules.network.frames_dropped.losses import (
    COUNTERS,
    Losses,
    counts_by_interface,
    counts_of,
    is_beyond,
    losses_of,
    softnet_dropped,
)
from sdstop.rules.network.frames_dropped.segments import damaged_segments

_SECONDS = 60.0
"""Length of the judged window."""

_WIRES = frozenset({"physical", "bond", "team", "vlan", "wlan", "wwan"})
"""Kinds that end at a wire, as slaves of a bond do. A tap or veth drops frames that a paused guest does not receive."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    yield from of_drivers(window, limits)
    if not window.moments(Traffic):
        return
    recent = window.last(_SECONDS)
    if len(recent.moments(Traffic)) < 2 and len(rare := window.moments(Traffic)) > 1:
        recent = window.last(window.now.monotonic - rare[-2].started)  # samples are further apart
    moments = recent.moments(Traffic)
    softnet = softnet_dropped(recent)
    if len(moments) < 2:
        yield Unchecked("collecting data: needs two samples", gap=Gap.EARLY)
        yield from _damaged_since_boot(window, limits)
        return
    masters = {row.master for row in window.rows(Interface).values() if row.master}
    before = counts_by_interface(moments[0].rows, COUNTERS)
    for row in sorted(moments[-1].rows.values(), key=lambda row: row.interface):
        known = window.get(Interface, row.interface)
        kind = known.kind if known is not None else ""
        # A bond's counters are the sum of its slaves' counters.
        if kind in {"bond", "team"} and row.interface in masters:
            yield Unchecked("sum of its slaves, which are checked", row.interface, calm=True)
            continue
        if kind == "loopback" or not _has_wire(row):
            yield Unchecked("loopback", row.interface, calm=True)
            continue
        began, first = moments[0].started, before.get(row.interface)
        if first is None:
            since = next((m for m in moments if row.interface in m.rows), moments[-1])
            began, first = since.started, counts_of(since.rows[row.interface])
        losses = losses_of(recent, first, row, moments[-1].started - began, softnet)
        if losses is None:
            yield Unchecked("counters were reset", row.interface)
        else:
            yield from _judge(window, losses, known, softnet, limits)
    yield from damaged_segments(recent, limits)


def _damaged_since_boot(window: Window, limits: Limits) -> Iterator[Unchecked]:
    """Yield the interfaces that received many damaged frames; one sample does not show when."""
    for row in window.rows(Traffic).values():
        if is_beyond(row.rx_errors, row.rx_packets, limits):
            told = f"{human.number(row.rx_errors, 0)} of {human.number(row.rx_packets, 0)} frames damaged since boot"
            yield Unchecked(f"{told}; another sample shows whether that goes on", row.interface, gap=Gap.FAULTY)


def _judge(window: Window, losses: Losses, known: Interface | None, softnet: int, limits: Limits) -> Iterator[Verdict]:
    lost = is_beyond(losses.rx_lost, losses.rx, limits) or is_beyond(losses.tx_lost, losses.tx, limits)
    if lost:
        wire = known is None or known.kind in _WIRES or bool(window.where(BondSlave, "interface", losses.interface))
        yield _finding(window, losses, known, Severity.WARNING if wire else Severity.INFO, softnet, limits)
    elif is_beyond(losses.rx_bad, losses.rx, limits):
        yield _finding(window, losses, known, Severity.INFO, softnet, limits)
    elif losses.frames:
        yield RuledOut(
            losses.interface,
            f"{losses.bad} of {human.number(losses.frames)} frames bad or dropped in {human.duration(losses.seconds)}",
        )
    else:
        yield Unchecked("no frames in this window", losses.interface, calm=True)


def _has_wire(row: Traffic) -> bool:
    return row.interface != "lo"


def _finding(
    window: Window, losses: Losses, known: Interface | None, severity: Severity, softnet: int, limits: Limits
) -> Finding:
    name = losses.interface
    causes = list(causes_of(losses, known, softnet))
    traffic = window.get(Traffic, name)
    fields = [each.field for each in causes if each.field]
    lost = losses.rx_lost + losses.tx_lost
    ignored = losses.bad == losses.unwanted
    gone, word = (lost, "lost") if lost else (losses.bad, "ignored" if ignored else "dropped")
    return Finding(
        severity=severity,
        subject=name,
        title="UNHANDLED FRAMES" if ignored else "FRAMES DROPPED",
        cause=causes[0].text,
        impact=(
            f"{human.number(gone)} of {human.number(losses.frames)} frames {word} in {human.duration(losses.seconds)}."
        ),
        values=(
            Value("share", "lost frames, worse direction", losses.share, "ratio", above=limits["ratio"]),
            Value("rx_errors", "receive errors", losses.rx_errors, "", above=limits["count"]),
            Value("rx_dropped", "receive drops", losses.rx_dropped, "", above=limits["count"]),
            Value("tx_lost", "transmit drops", losses.tx_lost, "", above=limits["count"]),
            *[Value(field, field, count) for field, count in (losses.detail or {}).items()],
            *[Value(f"cause{n}", "also", each.text) for n, each in enumerate(causes[1:], 2)],
            Value("softnet", "drops of CPU queues, all interfaces", softnet),
        ),
        evidence=cites(
            window.cite(traffic) if traffic is not None else None,
            *(window.cite(known, field) for field in fields if known is not None),
        ),
        advice=_advice(window, name, causes),
        refuted_by="unchanged counters in ip -s -s link show under the same load",
        harmless_if="the frames are of protocols and VLANs not meant for this node" if ignored else "",
    )


def _advice(window: Window, name: str, causes: Sequence[LossCause]) -> tuple[Advice, ...]:
    kinds = tuple([each.steps for each in causes])
    return window.topology.latest(
        "advice on lost frames",
        name,
        kinds,
        lambda: tuple(dict.fromkeys(step for steps in kinds for step in steps(name))),
    )


FRAMES_DROPPED = Rule(
    "frames-dropped",
    "network interface with receive errors or drops, TCP segments that arrive damaged",
    Severity.WARNING,
    _check,
    (Traffic,),
    (
        Threshold("ratio", 1e-4, "share of frames per direction and minute", "ratio"),
        Threshold("count", 10.0, "minimum number of lost frames"),
    ),
    instead=(InterfaceFault,),
    covers=(Covers(Traffic, where=_has_wire),),
    many="lose frames",
    view="network",
    advice="Compare the MTU with every peer and the switch; enlarge full rings.",
)
