"""One of several usable paths carries everything, and requests queue on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from sdstop.collectors.devicemapper.multipath import ACTIVE
from sdstop.collectors.devicemapper.readings import MultipathPath
from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.averages import fmean
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.disk import DiskActivity

R = TypeVar("R", bound=Reading)
K = TypeVar("K", str, int)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for mapping, of_map in _grouped(window.rows(MultipathPath).values(), lambda row: row.mapping).items():
        groups = _grouped((row for row in of_map if row.state == ACTIVE and row.path), lambda row: row.group)
        used = next((each for each in groups.values() if each[0].group_state == "active"), [])
        yield _judge(window, mapping, [row.path for row in used if row.path], used, limits)
    for device, paths in _grouped(window.rows(NvmePath).values(), lambda row: row.device).items():
        working = [row for row in paths if row.works]
        best = [row for row in working if row.access in {None, "optimized"}] or working
        yield _judge(window, device, [row.path for row in best], best, limits)


def _grouped(rows: Iterable[R], key: Callable[[R], K]) -> dict[K, list[R]]:
    found: dict[K, list[R]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _judge(window: Window, subject: str, paths: Sequence[str], rows: Sequence[Reading], limits: Limits) -> Verdict:
    if len(paths) < 2:
        return RuledOut(subject, f"{human.plural(len(paths), 'path')} in use, nothing to balance")
    moments = [moment for moment in window.moments(DiskActivity) if all(path in moment.rows for path in paths)]
    seconds = sum(moment.seconds or 0.0 for moment in moments)
    if seconds + 0.5 < limits["seconds"]:
        return Unchecked(f"collecting data: {seconds:.0f} of {limits['seconds']:g} s", subject, gap=Gap.EARLY)
    each = {path: [moment.rows[path] for moment in moments] for path in paths}
    rates = {
        path: fmean(row.read_bytes_per_second + row.write_bytes_per_second for row in known)
        for path, known in each.items()
    }
    full = max(rates, key=lambda path: rates[path])
    total = sum(rates.values())
    queue = fmean(row.queue or 0.0 for row in each[full])
    spread = f"{human.plural(len(paths), 'path')}, {human.quantity(total, 'bytes_per_second')}"
    if total < limits["rate"] or queue < limits["queue"]:
        return RuledOut(subject, f"{spread}, {human.number(queue)} requests in flight on the fullest")
    share = rates[full] / total
    if share < limits["share"]:
        return RuledOut(subject, f"{spread}, the fullest carries {human.percent(share)}%")
    return _finding(window, subject, full, rates, queue, rows, limits)


def _finding(
    window: Window,
    subject: str,
    full: str,
    rates: Mapping[str, float],
    queue: float,
    rows: Sequence[Reading],
    limits: Limits,
) -> Finding:
    share = rates[full] / sum(rates.values())
    policy = next((row.policy for row in rows if isinstance(row, NvmePath)), None)
    activity = [row for path in rates if (row := window.get(DiskActivity, path)) is not None]
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title=f"ONE OF {len(rates)} PATHS CARRIES ALL",
        cause=f"{human.safe(full, 20)} carries {human.percent(share)}%; {human.number(queue)} requests queue on it.",
        impact=f"{len(rates) - 1} of {human.plural(len(rates), 'usable path')} carry almost nothing.",
        values=(
            Value("share", f"share of {full}", share, "ratio", above=limits["share"]),
            Value("rate", f"carried by {full}", rates[full], "bytes_per_second", above=limits["rate"]),
            Value("queue", f"requests in flight on {full}", queue, "", above=limits["queue"]),
            Value("policy", "choice among paths", policy),
        ),
        evidence=cites(*map(window.cite, activity[:3]), *(window.cite(row) for row in rows[:1])),
        advice=tuple(_advice(subject, rows)),
        refuted_by="an equal share of all paths in iostat -x under the same load",
        cost=queue,
    )


def _advice(subject: str, rows: Sequence[Reading]) -> Iterator[Advice]:
    nvme = next((row for row in rows if isinstance(row, NvmePath)), None)
    if nvme is not None:
        yield "Choose round-robin or queue-depth instead of numa for this subsystem."
        yield run("cat", f"/sys/class/nvme-subsystem/{nvme.subsystem}/iopolicy", note="the policy in use")
        yield run("echo", "round-robin", into=f"/sys/class/nvme-subsystem/{nvme.subsystem}/iopolicy")
    else:
        yield "Put paths of equal cost into one group (group_by_prio)."
        yield run("multipath", "-ll", *operands(subject), note="groups, policy and priorities")


PATHS_UNBALANCED = Rule(
    "paths-unbalanced",
    "disk with several usable paths of which one carries everything",
    Severity.WARNING,
    _check,
    (MultipathPath, DiskActivity),
    (
        Threshold("share", 0.9, "share of the fullest path", "ratio"),
        Threshold("rate", 100e6, "minimum rate of all paths together", "bytes_per_second"),
        Threshold("queue", 2.0, "minimum requests in flight on the fullest path"),
        Threshold("seconds", 10.0, "minimum time over which the paths are compared", "seconds"),
    ),
    instead=(NvmePath,),
    covers=(Covers(MultipathPath, "{mapping}"), Covers(NvmePath, "{device}")),
    view="disks",
    advice="Put paths of equal cost into one group.",
)
