"""Frames with receive errors, or dropped, on an interface."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.network.interfaces import STATISTICS, Interface, Traffic
from sdstop.collectors.network.paths import Softnet
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import quoted

_SECONDS = 60.0

_WIRES = frozenset({"physical", "bond", "team", "vlan", "wlan", "wwan"})
"""Kinds that end at a wire. A tap or veth drops frames that a paused guest does not receive."""


class _Losses(Struct, frozen=True, kw_only=True):
    """Frames of one interface in one window: passed and lost, by direction.

    `detail` has each counter of Interface that grew, None if they were read only once. `unwanted` is the number of
    received good frames without a receiver here; None: unknown.
    """

    interface: str
    seconds: float
    rx: int
    tx: int
    rx_errors: int
    rx_dropped: int
    tx_lost: int
    detail: dict[str, int] | None
    unwanted: int | None

    @property
    def rx_lost(self) -> int:
        """Frames lost on receipt, without unwanted ones."""
        return self.rx_errors + self.rx_dropped - (self.rx_dropped if self.unwanted is None else self.unwanted)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    recent = window.last(_SECONDS)
    moments = recent.moments(Traffic)
    softnet = _softnet_dropped(recent)
    if len(moments) < 2:
        yield Unchecked("needs two frames")
        return
    masters = {row.master for row in window.rows(Interface).values() if row.master}
    for row in sorted(moments[-1].rows.values(), key=lambda row: row.interface):
        known = window.get(Interface, row.interface)
        kind = known.kind if known is not None else ""
        # A bond's counters are the sum of its slaves' counters.
        if kind in {"bond", "team"} and row.interface in masters:
            yield Unchecked("sum of its slaves, which are judged", row.interface, calm=True)
            continue
        if kind == "loopback" or not _has_wire(row):
            yield Unchecked("loopback", row.interface, calm=True)
            continue
        first = next((m for m in moments if row.interface in m.rows), moments[-1])
        losses = _losses(recent, first.rows[row.interface], row, moments[-1].started - first.started, softnet)
        if losses is None:
            yield Unchecked("its counters started again", row.interface)
        else:
            yield from _judge(window, losses, known, softnet, limits)


def _judge(window: Window, losses: _Losses, known: Interface | None, softnet: int, limits: Limits) -> Iterator[Verdict]:
    lost = _beyond(losses.rx_lost, losses.rx, limits) or _beyond(losses.tx_lost, losses.tx, limits)
    bad = losses.rx_errors + losses.rx_dropped + losses.tx_lost
    if lost:
        wire = known is None or known.kind in _WIRES
        yield _finding(window, losses, known, Severity.WARNING if wire else Severity.INFO, softnet, limits)
    elif _beyond(losses.rx_errors + losses.rx_dropped, losses.rx, limits):
        yield _finding(window, losses, known, Severity.INFO, softnet, limits)
    elif losses.rx or losses.tx or bad:
        yield RuledOut(
            losses.interface,
            f"{bad} of {human.number(losses.rx + losses.tx + bad)} frames bad or dropped in "
            f"{human.duration(losses.seconds)}",
        )
    else:
        yield Unchecked("no frames in this window", losses.interface, calm=True)


def _has_wire(row: Traffic) -> bool:
    return row.interface != "lo"


def _beyond(lost: int, passed: int, limits: Limits) -> bool:
    return lost >= limits["count"] and lost > limits["ratio"] * (passed + lost)


def _losses(window: Window, first: Traffic, last: Traffic, seconds: float, softnet: int) -> _Losses | None:
    step = {name: getattr(last, name) - getattr(first, name) for name in _COUNTERS}
    if min(step.values()) < 0:
        return None
    detail = _detail(window, last.interface)
    dropped = step["rx_dropped"]
    return _Losses(
        interface=last.interface,
        seconds=seconds,
        rx=step["rx_packets"],
        tx=step["tx_packets"],
        rx_errors=step["rx_errors"],
        rx_dropped=dropped,
        tx_lost=step["tx_errors"] + step["tx_dropped"],
        detail=detail,
        unwanted=_unwanted(dropped, detail, softnet),
    )


_COUNTERS = ("rx_packets", "tx_packets", "rx_errors", "rx_dropped", "tx_errors", "tx_dropped")


def _unwanted(dropped: int, detail: dict[str, int] | None, softnet: int) -> int | None:
    """Return how many of the drops in /proc/net/dev were good but unwanted frames.

    That counter adds frames missed by the card to frames dropped by the stack; the latter have unknown protocols or
    VLANs that are not configured, or (if the CPUs' queues also dropped some) exceeded the CPUs' capacity.
    """
    if softnet:
        return 0
    if not dropped:
        return 0
    if detail is None:
        return None
    missed, stack = detail.get("rx_missed", 0), detail.get("rx_dropped", 0)
    return dropped - round(dropped * missed / (missed + stack)) if missed + stack else None


def _detail(window: Window, interface: str) -> dict[str, int] | None:
    """Return the growth of each counter between the first and the last sysfs reading in the window."""
    moments = window.moments(Interface)
    first = next((moment for moment in moments if interface in moment.rows), None)
    last = next((moment for moment in reversed(moments) if interface in moment.rows), None)
    if first is None or last is None or first is last:
        return None
    found, old, new = {}, first.rows[interface], last.rows[interface]
    for field in STATISTICS:
        before, after = getattr(old, field), getattr(new, field)
        if before is not None and after is not None and after > before:
            found[field] = after - before
    return found


def _softnet_dropped(window: Window) -> int:
    """Return the number of packets that the CPUs' queues dropped in the window."""
    moments = window.moments(Softnet)
    if len(moments) < 2:
        return 0
    first, last = moments[0].rows, moments[-1].rows
    return sum(max(row.dropped - first[cpu].dropped, 0) for cpu, row in last.items() if cpu in first)


def _finding(
    window: Window, losses: _Losses, known: Interface | None, severity: Severity, softnet: int, limits: Limits
) -> Finding:
    name = losses.interface
    causes = list(_causes(losses, known, softnet))
    share = max(_ratio(losses.rx_errors + losses.rx_dropped, losses.rx), _ratio(losses.tx_lost, losses.tx))
    parts = [
        f"{human.number(count)} {what}"
        for count, what in (
            (losses.rx_errors, "received badly"),
            (losses.rx_dropped, "dropped on receipt"),
            (losses.tx_lost, "not sent"),
        )
        if count
    ]
    summary = (
        f"{', '.join(parts)} of {human.number(losses.rx + losses.tx)} frames in {human.duration(losses.seconds)}: "
        f"{'; '.join(text for text, _, _ in causes)}"
    )
    traffic = window.get(Traffic, name)
    fields = [field for _, _, field in causes if field]
    return Finding(
        severity=severity,
        subject=name,
        cause=summary,
        values=(
            Value("share", "lost or bad, in the worse direction", share, "ratio", above=limits["ratio"]),
            Value("rx_errors", "received badly", losses.rx_errors, "", above=limits["count"]),
            Value("rx_dropped", "dropped or missed on receipt", losses.rx_dropped, "", above=limits["count"]),
            Value("tx_lost", "not sent", losses.tx_lost, "", above=limits["count"]),
            *(Value(field, field, count) for field, count in (losses.detail or {}).items()),
            Value("softnet", "dropped by the CPUs' queues, all interfaces", softnet),
        ),
        evidence=cites(
            window.cite(traffic) if traffic is not None else None,
            *(window.cite(known, field) for field in fields if known is not None),
        ),
        advice=tuple(dict.fromkeys(advice for _, advice, _ in causes)),
        refuted_by=f"the counters of ip -s -s link show {quoted(name)} standing still under the same load",
    )


def _ratio(lost: int, passed: int) -> float:
    return lost / (lost + passed) if lost else 0.0


def _causes(losses: _Losses, known: Interface | None, softnet: int) -> Iterator[tuple[str, str, str]]:
    """Yield the meaning of each counter that grew, the advice, and the field that shows it."""
    name, detail = losses.interface, losses.detail
    mtu = known.mtu if known is not None else None
    if detail is None:
        yield "which kind is known after two readings of its counters", f"ip -s -s link show {quoted(name)}", ""
        return
    explained = set()
    for fields, text, advice in _MEANINGS:
        count = sum(detail.get(field, 0) for field in fields)
        if count:
            field = next(field for field in fields if detail.get(field, 0))
            explained.add(field[:2])
            shown = text.format(count=human.number(count), mtu=mtu or "its MTU")
            yield shown, advice.format(name=quoted(name), mtu=mtu or "MTU"), field
    if detail.get("rx_dropped") and softnet:
        explained.add("rx")
        yield (
            f"the CPUs' receive queues dropped {human.number(softnet)}",
            "sysctl net.core.netdev_max_backlog net.core.netdev_budget; spread its interrupts (RSS, RPS)",
            "rx_dropped",
        )
    elif detail.get("rx_dropped"):
        explained.add("rx")
        yield (
            f"{human.number(detail['rx_dropped'])} good frames that nobody here wanted: an unknown protocol or VLAN",
            f"tcpdump -ni {quoted(name)} -c 200 -e   # LLDP, STP, VLANs that are not set up here: harmless",
            "rx_dropped",
        )
    for way, count in (("rx", losses.rx_errors + losses.rx_dropped), ("tx", losses.tx_lost)):
        if count and way not in explained:
            yield (
                f"no counter says why ({way})",
                f"ethtool -S {quoted(name)} | grep -i -E '{way}.*(err|drop|miss|disc)'",
                "",
            )


_MEANINGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("rx_length",),
        "{count} of a wrong length: somebody sends frames larger than {mtu}",
        "compare the MTU of {name}, {mtu}, with every peer and the switch; ping -M do -s SIZE from the peers",
    ),
    (
        ("rx_over",),
        "{count} did not fit into the buffers: larger than {mtu}, or the ring was full",
        "ip link show dev {name}; ethtool -g {name}   # MTU of the peers, ring size",
    ),
    (
        ("rx_crc", "rx_frame"),
        "{count} damaged on the wire: cable, plug, transceiver or port",
        "ethtool -m {name}; ethtool -S {name} | grep -i crc   # then change cable or transceiver",
    ),
    (
        ("rx_missed", "rx_fifo"),
        "{count} missed because the card had no free buffer: ring too small, or the CPU too slow",
        "ethtool -g {name}; ethtool -G {name} rx 4096   # larger ring; then see whether one CPU takes all interrupts",
    ),
    (
        ("tx_carrier",),
        "{count} lost with the link: it goes down and up",
        "journalctl -k | grep -w {name}   # link is down/up: cable, transceiver, switch port",
    ),
    (
        ("collisions",),
        "{count} collisions: half duplex",
        "ethtool {name}   # a failed negotiation: set both sides alike",
    ),
    (
        ("tx_dropped", "tx_fifo"),
        "{count} dropped before they were sent: the send queue was full",
        "ethtool -g {name}; tc -s qdisc show dev {name}",
    ),
)


FRAMES_DROPPED = Rule(
    "frames-dropped",
    "an interface receives frames badly or drops them",
    Severity.WARNING,
    _check,
    (Traffic,),
    (
        Threshold("ratio", 1e-4, "share of the frames of a direction in a minute", "ratio"),
        Threshold("count", 10.0, "and at least so many"),
    ),
    covers=(Covers(Traffic, where=_has_wire),),
    many="receive frames badly or drop them",
)
