"""Frames with receive errors, or dropped, on an interface."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import Struct

from sdstop.collectors.network.path_readings import Softnet, Tcp
from sdstop.collectors.network.readings import STATISTICS, BondSlave, Interface, InterfaceFault, Traffic
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.columns import values_of
from sdstop.core.expression import expression
from sdstop.core.finding import (
    Covers,
    Damage,
    Finding,
    Gap,
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
from sdstop.core.model import Rows

_SECONDS = 60.0

_WIRES = frozenset({"physical", "bond", "team", "vlan", "wlan", "wwan"})
"""Kinds that end at a wire, as slaves of a bond do. A tap or veth drops frames that a paused guest does not receive."""


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
    yield from _by_driver(window, limits)
    if not window.moments(Traffic):
        return
    recent = window.last(_SECONDS)
    if len(recent.moments(Traffic)) < 2 and len(rare := window.moments(Traffic)) > 1:
        recent = window.last(window.now.monotonic - rare[-2].started)  # samples are further apart
    moments = recent.moments(Traffic)
    softnet = _softnet_dropped(recent)
    if len(moments) < 2:
        yield Unchecked("collecting data: needs two samples", gap=Gap.EARLY)
        yield from _damaged_since_boot(window, limits)
        return
    masters = {row.master for row in window.rows(Interface).values() if row.master}
    before = _counters(moments[0].rows, _COUNTERS)
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
            began, first = since.started, _COUNTED(since.rows[row.interface])
        losses = _losses(recent, first, row, moments[-1].started - began, softnet)
        if losses is None:
            yield Unchecked("counters were reset", row.interface)
        else:
            yield from _judge(window, losses, known, softnet, limits)
    yield from _damaged_segments(recent, limits)


def _damaged_segments(window: Window, limits: Limits) -> Iterator[Finding]:
    """Yield a finding about TCP segments whose checksum is wrong although their frames were whole.

    A card drops the frames that a link damaged. These were damaged elsewhere: in the memory of a switch or a node.
    """
    moments = [moment for moment in window.moments(Tcp) if moment.rows]
    if len(moments) < 2:
        return
    first, last = (next(iter(moment.rows.values())) for moment in (moments[0], moments[-1]))
    bad, passed = _step(first.checksum_errors, last.checksum_errors), _step(first.in_segments, last.in_segments)
    if bad is None or passed is None or not _beyond(bad, passed, limits):
        return
    yield Finding(
        severity=Severity.WARNING,
        subject="tcp",
        title="TCP SEGMENTS DAMAGED",
        cause=f"{human.number(bad)} of {human.number(passed + bad)} segments had a wrong checksum.",
        impact="Each is sent again; 1 of 65,536 passes the checksum with altered data.",
        values=(
            Value("share", "damaged segments", _ratio(bad, passed), "ratio", above=limits["ratio"]),
            Value("bad", "damaged segments, number", bad, "", above=limits["count"]),
            Value("seconds", "time", moments[-1].started - moments[0].started, "seconds"),
        ),
        evidence=cites(window.cite(last)),
        advice=(
            "Find the switch, card or node that alters data: compare peers by path.",
            run("nstat", "-az", "TcpInCsumErrors", note="on the other nodes, too"),
            "Use data digests (iSCSI, NVMe over TCP) until it is found.",
        ),
        refuted_by="the same InCsumErrors in two outputs of nstat -az under load",
        harmless_if="the segments are from outside the storage network",
        damage=Damage.DATA,
    )


def _step(before: int | None, after: int | None) -> int | None:
    """Return the growth of a counter, None if it is unknown or was reset."""
    return None if before is None or after is None or after < before else after - before


_DAMAGED = expression(r"(?:rx_|port\.rx_)?(?:crc_errors|crc_errors_phy|fcs_errors|symbol_err_phy|fcs_err)|rx_crc")
"""Counters of drivers (ethtool -S) of frames that a link damaged."""


def _by_driver(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge interfaces that only ethtool -S shows: by damaged frames, which a sound link does not have."""
    known = {row.interface for row in window.rows(Traffic).values()}
    for row in window.rows(InterfaceFault).values():
        if row.interface in known or not _DAMAGED.fullmatch(row.counter) or row.count < limits["count"]:
            continue
        key, moments = (row.interface, row.counter), window.moments(InterfaceFault)
        first = moments[0].rows.get(key)
        new = row.count - first.count if len(moments) > 1 and first is not None else None
        if new is None or new < limits["count"]:
            said = f"{row.counter} is {human.number(row.count, 0)} since the driver loaded"
            yield Unchecked(f"{said}; another sample shows whether it grows", row.interface, gap=Gap.FAULTY)
        else:
            yield _damaged(window, row, new)


def _damaged(window: Window, row: InterfaceFault, new: int) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.interface,
        title="FRAMES DAMAGED",
        cause=f"{human.safe(row.counter, 24)} grew by {human.number(new, 0)} between two outputs.",
        impact="Damaged frames are lost; TCP sends them again, AoE waits for its timeout.",
        values=(Value("new", "damaged frames", new), Value("count", "since the driver loaded", row.count)),
        evidence=cites(window.cite(row)),
        advice=("Change cable and module, then the switch port.", run("ethtool", "-m", row.interface)),
        refuted_by="the same counter in two outputs of ethtool -S under load",
    )


def _damaged_since_boot(window: Window, limits: Limits) -> Iterator[Unchecked]:
    """Yield the interfaces that received many damaged frames; one sample does not show when."""
    for row in window.rows(Traffic).values():
        if _beyond(row.rx_errors, row.rx_packets, limits):
            told = f"{human.number(row.rx_errors, 0)} of {human.number(row.rx_packets, 0)} frames damaged since boot"
            yield Unchecked(f"{told}; another sample shows whether that goes on", row.interface, gap=Gap.FAULTY)


def _judge(window: Window, losses: _Losses, known: Interface | None, softnet: int, limits: Limits) -> Iterator[Verdict]:
    lost = _beyond(losses.rx_lost, losses.rx, limits) or _beyond(losses.tx_lost, losses.tx, limits)
    bad = losses.rx_errors + losses.rx_dropped + losses.tx_lost
    if lost:
        wire = known is None or known.kind in _WIRES or bool(window.where(BondSlave, "interface", losses.interface))
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


def _losses(window: Window, first: _Counts, last: Traffic, seconds: float, softnet: int) -> _Losses | None:
    step = {name: after - before for name, before, after in zip(_COUNTERS, first, _COUNTED(last), strict=True)}
    if min(step.values()) < 0:
        return None
    detail = _detail(window, last.interface)
    dropped = step["rx_dropped"]
    return _Losses(
        interface=last.interface,
        seconds=seconds,
        rx=step["rx_packets"],
        tx=step["tx_packets"],
        rx_errors=step["rx_errors"] or (0 if dropped else _sum_of(detail, _RECEIVED_BADLY)),
        rx_dropped=dropped,
        tx_lost=step["tx_errors"] + step["tx_dropped"] or _sum_of(detail, _SENT_BADLY),
        detail=detail,
        unwanted=_unwanted(dropped, detail, softnet),
    )


_RECEIVED_BADLY = ("rx_crc", "rx_frame", "rx_length", "rx_over", "rx_fifo")
_SENT_BADLY = ("tx_carrier", "tx_fifo", "collisions")
"""Counters that some drivers do not add to the totals of errors and drops; collisions are in none."""


def _sum_of(detail: dict[str, int] | None, fields: tuple[str, ...]) -> int:
    """Return the growth of these counters."""
    return sum((detail or {}).get(field, 0) for field in fields)


_COUNTERS = ("rx_packets", "tx_packets", "rx_errors", "rx_dropped", "tx_errors", "tx_dropped")
_COUNTED = attrgetter(*_COUNTERS)
_Counts = tuple[Any, ...]


def _counters(rows: Rows, names: Iterable[str]) -> dict[Hashable, _Counts]:
    """Return counters of all rows; old samples are columns, of which single rows are expensive."""
    return dict(zip(rows, zip(*[values_of(rows, name) for name in names], strict=True), strict=True))


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
    last = next((moment for moment in reversed(moments) if interface in moment.rows), None)
    first = next((moment for moment in moments if interface in moment.rows), None)
    if first is None or last is None or first is last:
        return None
    known = window.once("statistics before", lambda: _counters(moments[0].rows, STATISTICS))
    before = known[interface] if first is moments[0] else _STATISTICS(first.rows[interface])
    return {
        field: new - old
        for field, old, new in zip(STATISTICS, before, _STATISTICS(last.rows[interface]), strict=True)
        if old is not None and new is not None and new > old
    }


_STATISTICS = attrgetter(*STATISTICS)


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
    traffic = window.get(Traffic, name)
    fields = [each.field for each in causes if each.field]
    bad, lost = losses.rx_errors + losses.rx_dropped + losses.tx_lost, losses.rx_lost + losses.tx_lost
    ignored = bad == losses.unwanted
    gone, word = (lost, "lost") if lost else (bad, "ignored" if ignored else "dropped")
    return Finding(
        severity=severity,
        subject=name,
        title="UNHANDLED FRAMES" if ignored else "FRAMES DROPPED",
        cause=causes[0].text,
        impact=(
            f"{human.number(gone)} of {human.number(losses.rx + losses.tx + bad)} frames {word} in "
            f"{human.duration(losses.seconds)}."
        ),
        values=(
            Value("share", "lost frames, worse direction", share, "ratio", above=limits["ratio"]),
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


def _ratio(lost: int, passed: int) -> float:
    return lost / (lost + passed) if lost else 0.0


_Steps = Callable[[str], tuple[Advice, ...]]
"""Function of an interface's name that returns advice."""


class _Cause(Struct, frozen=True):
    """Meaning of a counter that grew, the advice, and the field that shows it; "" for none."""

    text: str
    steps: _Steps
    field: str


def _causes(losses: _Losses, known: Interface | None, softnet: int) -> Iterator[_Cause]:
    """Yield the meaning of each counter that grew, worst first."""
    detail = losses.detail
    if detail is None:
        yield _Cause("The kind of loss needs a second sample of the detailed counters.", _counter_steps, "")
        return
    mtu = f"{known.mtu} bytes" if known is not None and known.mtu else "the MTU"
    explained = set()
    found = []
    for fields, words, steps in _MEANINGS:
        grown = [field for field in fields if field in detail]
        if grown:
            count = sum([detail[field] for field in grown])
            explained.add(grown[0][:2])
            text = f"{human.number(count)} {words}".replace("{mtu}", mtu)
            found.append((count, _Cause(text, steps, grown[0])))
    dropped = detail.get("rx_dropped")
    if dropped and softnet:
        explained.add("rx")
        text = f"{human.number(softnet)} drops in the CPUs' receive queues."
        found.append((dropped, _Cause(text, _softnet_steps, "rx_dropped")))
    found.sort(key=itemgetter(0), reverse=True)
    yield from [each for _, each in found]
    if dropped and not softnet:
        explained.add("rx")
        text = f"{human.number(dropped)} frames of an unknown protocol or unconfigured VLAN."
        yield _Cause(text, _unwanted_steps, "rx_dropped")
    for way, count, steps in (
        ("rx", losses.rx_errors + losses.rx_dropped, _rx_steps),
        ("tx", losses.tx_lost, _tx_steps),
    ):
        if count and way not in explained:
            yield _Cause(f"No counter gives the reason ({way}).", steps, "")


def _advice(window: Window, name: str, causes: Sequence[_Cause]) -> tuple[Advice, ...]:
    kinds = tuple([each.steps for each in causes])
    return window.topology.latest(
        "advice on lost frames",
        name,
        kinds,
        lambda: tuple(dict.fromkeys(step for steps in kinds for step in steps(name))),
    )


def _counter_steps(name: str) -> tuple[Advice, ...]:
    return (run("ip", "-s", "-s", "link", "show", "dev", name, note="all counters"),)


def _softnet_steps(_: str) -> tuple[Advice, ...]:
    return (
        run("sysctl", "net.core.netdev_max_backlog", "net.core.netdev_budget", note="queue lengths"),
        "Spread its interrupts over more CPUs (RSS, RPS).",
    )


def _unwanted_steps(name: str) -> tuple[Advice, ...]:
    return (run("tcpdump", "-ni", name, "-c", "200", "-e", note="LLDP and STP are harmless"),)


def _rx_steps(name: str) -> tuple[Advice, ...]:
    return _driver_steps(name, "rx")


def _tx_steps(name: str) -> tuple[Advice, ...]:
    return _driver_steps(name, "tx")


def _driver_steps(name: str, way: str) -> tuple[Advice, ...]:
    return (run("ethtool", "-S", *operands(name)).pipe("grep", "-i", "-E", f"{way}.*(err|drop|miss|disc)"),)


def _mtu_steps(name: str) -> tuple[Advice, ...]:
    return (
        "Compare the MTU with every peer and the switch.",
        run("ip", "link", "show", "dev", name, note="MTU here"),
        run("ping", "-M", "do", "-s", "SIZE", "PEER", note="from the peers; SIZE is the MTU less 28"),
    )


def _ring_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("ethtool", "-g", *operands(name), note="ring size and its maximum"),
        run("ethtool", "-G", *operands(name), "rx", "4096", note="larger ring"),
        "Then check whether one CPU takes all interrupts.",
    )


def _wire_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("ethtool", "-m", *operands(name), note="light of the module"),
        run("ethtool", "-S", *operands(name)).pipe("grep", "-i", "crc"),
        "Then replace the cable or transceiver.",
    )


def _log_steps(name: str) -> tuple[Advice, ...]:
    return (run("journalctl", "-k", note="link down and up").pipe("grep", "-w", *operands(name)),)


def _duplex_steps(name: str) -> tuple[Advice, ...]:
    return (run("ethtool", *operands(name), note="negotiated mode"), "Configure both ends alike.")


def _queue_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("tc", "-s", "qdisc", "show", "dev", name, note="drops of the queue"),
        run("ethtool", "-g", *operands(name), note="ring size"),
    )


_MEANINGS: tuple[tuple[tuple[str, ...], str, _Steps], ...] = (
    (("rx_length",), "length errors: a peer sends frames larger than {mtu}.", _mtu_steps),
    (("rx_over",), "overruns: frames larger than {mtu}, or RX ring full.", _ring_steps),
    (("rx_crc", "rx_frame"), "CRC errors: cable, connector, transceiver or port.", _wire_steps),
    (("rx_missed", "rx_fifo"), "missed: RX ring full (too small, or CPU too slow).", _ring_steps),
    (("tx_carrier",), "carrier losses: the link is flapping.", _log_steps),
    (("collisions",), "collisions: half duplex.", _duplex_steps),
    (("tx_dropped", "tx_fifo"), "transmit drops: TX queue full.", _queue_steps),
)
"""Counters, what follows their number in the cause, and the advice; `{mtu}` is the MTU."""


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
