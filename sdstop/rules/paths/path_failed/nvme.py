"""Native NVMe multipath: a namespace with failed paths, or without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

_GRACE = 0.5
"""Seconds that a span of samples may lack."""


def namespaces(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the namespaces with native multipath."""
    grouped: dict[str, list[NvmePath]] = {}
    for row in window.rows(NvmePath).values():
        grouped.setdefault(row.device, []).append(row)
    for device, paths in grouped.items():
        yield _judge(window, device, paths, limits)


def _judge(window: Window, device: str, paths: Sequence[NvmePath], limits: Limits) -> Verdict:
    if any(path.state is None for path in paths):
        return Unchecked("state of a controller not readable", device)
    working = [path for path in paths if path.works]
    failed = [path for path in paths if path.failed]
    if working and not failed:
        passive = len(paths) - len(working)
        more = f", {passive} inaccessible (ANA)" if passive else ""
        return RuledOut(device, f"{human.plural(len(working), 'path')} active{more}")
    seconds = _since(window, device)
    if seconds + _GRACE < limits["seconds"] and len(window.moments(NvmePath)) > 1:
        count = len(failed) if working else len(paths)
        why = f"{count} failed for {human.duration(seconds)}: warning after {limits['seconds']:g} s"
        return Unchecked(why, device, gap=Gap.SIGNS)
    return _finding(window, device, paths, seconds)


def _since(window: Window, device: str) -> float:
    """Return for how many seconds each sample shows a failed path, or none that works."""
    moments = window.moments(NvmePath)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = [path for path in moment.rows.values() if path.device == device]
        if not any(path.failed for path in then) and any(path.works for path in then):
            break
        first = moment.started
    return moments[-1].started - first


def _finding(window: Window, device: str, paths: Sequence[NvmePath], seconds: float) -> Finding:
    working = [path for path in paths if path.works]
    out = [path for path in paths if path.failed] if working else list(paths)
    live = [path for path in out if path.state == "live"]
    listed = human.listed([f"{path.controller} {_state(path)}" for path in out], 2, 24)
    if working:
        impact = "The data stays reachable." if len(working) > 1 else "If the last path fails, the data is unreachable."
    else:
        impact = "Every request waits or fails."
    return Finding(
        severity=Severity.WARNING if working else Severity.CRITICAL,
        subject=device,
        title=f"PATH FAILED: {len(working)} of {len(paths)} left" if working else "NO PATH LEFT",
        cause=f"Controllers without access: {listed}." if working else f"No controller gives access: {listed}.",
        impact=impact,
        values=(
            Value("active", "active paths", len(working), "", of=len(paths)),
            Value("seconds", "failed for, minimum", seconds, "seconds"),
            Value("inaccessible", "live but inaccessible", len(live)),
            Value("policy", "choice among paths", paths[0].policy),
            Value("failed", "failed paths", ", ".join(path.path for path in out[:8])),
        ),
        evidence=cites(*(window.cite(path, "access" if path.state == "live" else "") for path in out[:3])),
        advice=tuple(_advice(out, live)),
        refuted_by="all controllers live and accessible in nvme list-subsys",
        lasting=seconds,
        damage=Damage.REDUNDANCY if working else None,
    )


def _state(path: NvmePath) -> str:
    state = path.access if path.state == "live" else path.state
    return human.safe(state or "unknown")


def _advice(out: Sequence[NvmePath], live: Sequence[NvmePath]) -> Iterator[Advice]:
    if live:
        yield "Check the target: the controllers are live and refuse access."
    else:
        yield "Repair the link, the switch or the target; paths return by themselves."
    yield run("nvme", "list-subsys", note="controllers and their access state")
    yield run("journalctl", "-k").pipe("grep", "-w", *operands(out[0].controller)).pipe("tail", "-40")
