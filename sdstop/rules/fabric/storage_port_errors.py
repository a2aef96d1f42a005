"""Fibre Channel and RDMA ports: links lost or slow, errors that grow, packets that had to be sent again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.fabric.port_readings import FcPort, RdmaPort
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_HOUR = 3600.0
_LOST = frozenset({"Linkdown", "DOWN", "Error", "Blocked", "Bypassed", "Deleted", "Offline"})
"""States of a port without a link that it may have had."""
_OTHERS = frozenset({
    "Unknown", "Not Present", "Diagnostics", "Loopback", "Marginal", "NOP", "ACTIVE_DEFER",
})  # fmt: skip
"""Further states: kernel include/scsi/scsi_transport_fc.h and drivers/infiniband/core/sysfs.c."""


_UNMANAGED = frozenset({"INIT", "ARMED"})
"""States of an InfiniBand port whose link is up, and which no subnet manager has activated."""


class _Port(Struct, frozen=True):
    """A port of either kind; `counters` are the fields of its damaged frames, its losses of the link, and repeats."""

    row: FcPort | RdmaPort
    key: str | tuple[str, str]
    up: str
    damaged: tuple[str, ...]
    lost: tuple[str, ...]
    repeated: tuple[str, ...]
    advice: Advice

    @property
    def name(self) -> str:
        return self.row.port


_FC_ADVICE = run("grep", "-r", ".", "/sys/class/fc_host", "--include=*count", note="all counters, hexadecimal")
_RDMA_ADVICE = run("rdma", "statistic", "show", note="all counters of the adapters")


def _ports(window: Window) -> Iterator[_Port]:
    for fc in window.rows(FcPort).values():
        yield _Port(
            fc,
            fc.port,
            "Online",
            ("invalid_crc", "invalid_words"),
            ("link_failures", "lost_sync", "lost_signal"),
            (),
            _FC_ADVICE,
        )
    for rdma in window.rows(RdmaPort).values():
        yield _Port(
            rdma,
            (rdma.adapter, rdma.number),
            "ACTIVE",
            ("symbol_errors", "receive_errors"),
            ("downs", "recoveries"),
            ("timeouts", "sequence_errors"),
            _RDMA_ADVICE,
        )


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for port in _ports(window):
        yield _judge(window, port, limits)


def _judge(window: Window, port: _Port, limits: Limits) -> Verdict:
    if port.row.state is None:
        return Unchecked("state of the port not readable", port.name)
    if port.row.state != port.up:
        return _without_link(window, port, port.row.state)
    groups = {"damaged": port.damaged, "lost": port.lost, "repeated": port.repeated}
    grown = {
        name: counter_growth(window, type(port.row), port.key, fields, _HOUR)
        for name, fields in groups.items()
        if fields
    }
    known = {name: each for name, each in grown.items() if each is not None}
    slow = _slow(window, port.row) if isinstance(port.row, FcPort) else _narrow(window, port.row)
    if not known:
        return slow or _uncounted(port)
    seconds = max(each.seconds for each in known.values())
    new = {name: each.new for name, each in known.items()}
    rate = new.get("repeated", 0) / seconds
    over = [name for name in ("damaged", "lost") if new.get(name, 0) >= limits[name]]
    if rate >= limits["repeated"]:
        over.append("repeated")
    if over:
        return _finding(window, port, over[0], new, seconds, limits)
    said = ", ".join(f"{count} {_WORDS[name]}" for name, count in new.items())
    return slow or RuledOut(port.name, f"{port.row.state}; new: {said}")


def _without_link(window: Window, port: _Port, state: str) -> Verdict:
    """Judge a port that serves nothing: a fault if it had a link."""
    losses = _total(port, port.lost)
    if state in _UNMANAGED:
        return _unmanaged(window, port, state)
    if state in _LOST and losses:
        return _down(window, port, losses)
    if state not in _LOST and state not in _OTHERS:
        return Unchecked(f'unknown state "{human.safe(state, 40)}"', port.name, gap=Gap.FAULTY)
    if isinstance(port.row, RdmaPort) and port.row.told is not None:
        return _printed(window, port.row, state)
    return Unchecked(f"state {human.safe(state)}; never had a link", port.name, calm=True)


def _printed(window: Window, row: RdmaPort, state: str) -> Verdict:
    """Judge a port without a link of an output that has no counters: a fault if no InfiniBand port has a link.

    The second port of many adapters is not in use, and adapters of Ethernet can lie idle.
    """
    said = f"{human.safe(state)}, {human.safe(row.physical, 24)}" if row.physical else human.safe(state)
    peers = [each for each in window.rows(RdmaPort).values() if each.layer == "InfiniBand"]
    if row not in peers or any(each.state not in _LOST for each in peers):
        why = f"state {said}; the output does not show whether it had a link"
        return Unchecked(why, row.port, gap=Gap.FAULTY)
    these = "The only InfiniBand port" if len(peers) == 1 else f"Each of {len(peers)} InfiniBand ports"
    return Finding(
        severity=Severity.WARNING,
        subject=row.port,
        title="NO INFINIBAND PORT HAS A LINK",
        cause=f"State {said}. {these} is without a link.",
        impact="No path through InfiniBand carries anything.",
        values=(
            Value("state", "state", state),
            Value("physical", "physical state", row.physical),
            Value("ports", "InfiniBand ports without a link", len(peers), "", of=len(peers)),
        ),
        evidence=cites(window.cite(row)),
        advice=("Check cable, module and switch port.", run("ibstatus", note="state, rate and lanes of all ports")),
        refuted_by="the state ACTIVE",
        harmless_if="the adapter is not in use",
    )


def _uncounted(port: _Port) -> Unchecked:
    if _total(port, (*port.damaged, *port.lost)) is None:
        return Unchecked(f"{port.row.state}; counters of errors not reported", port.name, calm=True)
    return Unchecked("growth of errors needs two samples", port.name, calm=True, gap=Gap.EARLY)


def _slow(window: Window, row: FcPort) -> Finding | None:
    """Return the finding of a port below the speed that it supports, None if it has that one.

    Such a port may be connected to an older switch; beside an equal port that is faster it has a bad cable or module.
    """
    most = row.fastest
    if row.speed is None or most is None or row.speed >= most:
        return None
    others = [
        other
        for other in window.rows(FcPort).values()
        if other.state == "Online" and other.supported == row.supported and (other.speed or 0) > row.speed
    ]
    speed = human.quantity(row.speed, "bytes_per_second")
    if others:
        first = others[0]
        fast = human.quantity(first.speed, "bytes_per_second")
        title, cause = "PORT SLOWER THAN ITS PEERS", f"{speed}, and {first.port} of the same kind {fast}."
    else:
        title = "PORT BELOW ITS SPEED"
        cause = f"Negotiated {speed}; the adapter supports {human.quantity(most, 'bytes_per_second')}."
    return Finding(
        severity=Severity.WARNING if others else Severity.INFO,
        subject=row.port,
        title=title,
        cause=cause,
        impact="Its paths carry less than the adapter could.",
        values=(Value("speed", "speed", row.speed, "bytes_per_second", of=most),),
        evidence=cites(window.cite(row, "speed"), window.cite(row, "supported")),
        advice=(
            "Compare the speeds that the switch port and the modules support.",
            run("grep", "-r", ".", "/sys/class/fc_host", "--include=*speed*"),
        ),
        refuted_by="the fastest of supported_speeds in the file speed",
        harmless_if="the switch or the target supports no more",
        damage=Damage.SPEED,
        standing=not others,
    )


def _narrow(window: Window, row: RdmaPort) -> Finding | None:
    """Return the finding of an InfiniBand port that runs on one lane of its cable; RoCE has links of one lane."""
    if row.lanes != 1 or row.layer != "InfiniBand":
        return None
    return Finding(
        severity=Severity.WARNING,
        subject=row.port,
        title="PORT ON ONE LANE",
        cause=f"The link runs on 1 lane of its cable, at {human.quantity(row.rate, 'bytes_per_second')}.",
        impact="Its paths carry a quarter of what four lanes carry.",
        values=(Value("lanes", "lanes", row.lanes, "", below=4), Value("rate", "rate", row.rate, "bytes_per_second")),
        evidence=cites(window.cite(row, "lanes")),
        advice=("Check cable and connectors of the port.", run("ibstatus", note="rate and lanes of all ports")),
        refuted_by="4X in the file rate of the port",
        harmless_if="the switch port has one lane",
        damage=Damage.SPEED,
    )


def _unmanaged(window: Window, port: _Port, state: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=port.name,
        title="STORAGE PORT NOT ACTIVE",
        cause=f"State {state}: the link is up, and no subnet manager has activated the port.",
        impact="The paths through this port carry nothing.",
        values=(Value("state", "state", state),),
        evidence=cites(window.cite(port.row)),
        advice=("Start the subnet manager of the fabric, or check its log.", run("sminfo"), port.advice),
        refuted_by=f"the state {port.up}",
        harmless_if="the port leads to no fabric in use",
    )


_WORDS = {"damaged": "damaged", "lost": "link losses", "repeated": "repeats"}


def _total(port: _Port, fields: tuple[str, ...]) -> int | None:
    counts = [count for name in fields if (count := getattr(port.row, name)) is not None]
    return sum(counts) if counts else None


def _down(window: Window, port: _Port, losses: int) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=port.name,
        title="STORAGE PORT WITHOUT LINK",
        cause=f"State {human.safe(port.row.state or '')}; the port had a link and lost it.",
        impact="The paths through this port carry nothing.",
        values=(Value("losses", "losses of the link, in total", losses), Value("state", "state", port.row.state)),
        evidence=cites(window.cite(port.row), window.cite(port.row, port.lost[0])),
        advice=("Check cable, module and switch port.", port.advice),
        refuted_by=f"the state {port.up}",
        harmless_if="the port was unplugged on purpose",
    )


def _finding(
    window: Window, port: _Port, worst: str, new: Mapping[str, int], seconds: float, limits: Limits
) -> Finding:
    within = human.duration(seconds)
    title, cause, impact, first = {
        "damaged": (
            "DAMAGED FRAMES ON THE PORT",
            f"{new.get('damaged', 0)} damaged frames or words received in {within}.",
            "Damaged frames are lost; their commands time out or are repeated.",
            "Clean or replace the cable and its modules, both ends.",
        ),
        "lost": (
            "LINK OF THE PORT LOST",
            f"{new.get('lost', 0)} losses of link, signal or synchronization in {within}.",
            "Commands in flight were aborted or repeated each time.",
            "Check cable, modules and the log of the switch port.",
        ),
        "repeated": (
            "RDMA REQUESTS REPEATED",
            f"{new.get('repeated', 0)} requests sent again in {within}: packets were lost.",
            "Each loss delays its request by a timeout, mostly milliseconds.",
            "Check flow control (PFC, ECN) at adapters and switches.",
        ),
    }[worst]
    row = port.row
    fields = {"damaged": port.damaged, "lost": port.lost, "repeated": port.repeated}[worst]
    return Finding(
        severity=Severity.WARNING,
        subject=port.name,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("damaged", "new damaged frames or words", new.get("damaged"), "", above=limits["damaged"] - 1),
            Value("lost", "new losses of the link", new.get("lost"), "", above=limits["lost"] - 1),
            Value("repeated", "new repeated requests", new.get("repeated")),
            Value("per_second", "repeated requests", new.get("repeated", 0) / seconds, "per_second",
                  above=limits["repeated"]),
            Value("seconds", "compared over", seconds, "seconds"),
            Value("speed", "speed", row.speed if isinstance(row, FcPort) else row.rate, "bytes_per_second"),
        ),
        evidence=cites(*(window.cite(row, name) for name in fields if getattr(row, name))),
        advice=(first, port.advice),
        refuted_by="counters that stay the same under load",
        harmless_if="the cable was moved or the target restarted in this time",
    )  # fmt: skip


STORAGE_PORT_ERRORS = Rule(
    "storage-port-errors",
    "Fibre Channel or RDMA port that lost its link, is slow, gets damaged frames or repeats requests",
    Severity.WARNING,
    _check,
    (FcPort,),
    (
        Threshold("damaged", 10.0, "new damaged frames or words within an hour"),
        Threshold("lost", 2.0, "new losses of the link within an hour"),
        Threshold("repeated", 1.0, "repeated RDMA requests per second", "per_second"),
    ),
    instead=(RdmaPort,),
    covers=(Covers(FcPort, "{port}"), Covers(RdmaPort, "{adapter}/{number}")),
    many="have link errors",
    damage=Damage.AVAILABILITY,
    view="fabric",
    advice="Clean or replace the cable and its modules, both ends.",
)
