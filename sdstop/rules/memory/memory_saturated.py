"""Memory at its limit, or traffic across sockets, as the processors measure it."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.fabric.memory_traffic import MeasuredTraffic, measured_traffic
from sdstop.collectors.memory.readings import MemoryBandwidth, MemoryTraffic
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_RATED = "decimal_bytes_per_second"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    found = measured_traffic(window)
    if not found:
        yield Unchecked("collecting data: needs two samples", "memory", gap=Gap.EARLY)
    for traffic in found:
        yield _judge(window, traffic, limits)


def _judge(window: Window, traffic: MeasuredTraffic, limits: Limits) -> Verdict:
    subject = "memory" if traffic.socket is None else f"memory/{traffic.socket}"
    rate = human.quantity(traffic.rate, _RATED)
    if traffic.seconds + 0.5 < limits["seconds"]:
        said = f"measured for {traffic.seconds:.0f} of {limits['seconds']:g} s"
        return Unchecked(said, subject, gap=Gap.EARLY)
    if traffic.peak is None:
        return Unchecked(f"measured {rate}; peak of the modules unknown", subject, calm=True)
    if not traffic.peak:
        return Unchecked(f"measured {rate}; the socket has no module", subject, calm=True)
    share = traffic.rate / traffic.peak
    peak = human.quantity(traffic.peak, _RATED)
    if share >= limits["share"]:
        return _finding(
            window, traffic, subject, limits,
            f"MEMORY AT ITS LIMIT: {human.percent(share)}% of peak",
            f"Measured: {rate} of {peak}, the computed peak of the modules.",
            "Programs, RAID and checksums wait for memory.",
        )  # fmt: skip
    if traffic.remote is not None and traffic.remote >= limits["remote"] and share >= limits["busy"]:
        return _finding(
            window, traffic, subject, limits,
            f"MEMORY TRAFFIC CROSSES: {human.percent(traffic.remote)}%",
            f"Measured: {human.percent(traffic.remote)}% of {rate} goes to memory of another NUMA node.",
            "Remote accesses take longer and share the link between sockets.",
        )  # fmt: skip
    remote = f", {human.percent(traffic.remote)}% remote" if traffic.remote is not None else ""
    return RuledOut(subject, f"measured {rate} of {peak}{remote}")


def _finding(
    window: Window, traffic: MeasuredTraffic, subject: str, limits: Limits, title: str, cause: str, impact: str
) -> Finding:
    rows = window.rows(MemoryBandwidth).values()
    mine = [row for row in rows if traffic.socket is None or row.domain == traffic.socket] or list(rows)
    share = traffic.rate / (traffic.peak or 1.0)
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("share", "measured traffic, share of the peak", share, "ratio", above=limits["share"]),
            Value("rate", "memory traffic, measured", traffic.rate, _RATED),
            Value("peak", "peak of the modules, computed", traffic.peak, _RATED),
            Value("remote", "to another NUMA node, measured", traffic.remote, "ratio", above=limits["remote"]),
            Value("seconds", "measured over", traffic.seconds, "seconds"),
        ),
        evidence=cites(*(window.cite(row) for row in mine[:2])),
        advice=(
            "Find the programs that move the most memory, and pin them to one node.",
            run("perf", "stat", "-a", "-e", "LLC-load-misses", "sleep", "10", note="misses of the last-level cache"),
            run("numastat", "-c", note="pages of processes by node"),
        ),
        refuted_by="less traffic in mbm_total_bytes under the same load",
    )


MEMORY_SATURATED = Rule(
    "memory-saturated",
    "measured memory traffic close to the peak of the modules, or across sockets",
    Severity.WARNING,
    _check,
    (MemoryTraffic,),
    (
        Threshold("share", 0.7, "share of the computed peak (STREAM reaches 0.72-0.80)", "ratio"),
        Threshold("remote", 0.5, "share of the traffic to another NUMA node", "ratio"),
        Threshold("busy", 0.2, "share of the peak above which remote traffic is reported", "ratio"),
        Threshold("seconds", 10.0, "minimum time of measurement", "seconds"),
    ),
    covers=(Covers(MemoryTraffic, "memory"),),
    explains=("rebuild-slow",),
    view="host",
    advice="Find the programs that move the most memory, and pin them to one node.",
)
