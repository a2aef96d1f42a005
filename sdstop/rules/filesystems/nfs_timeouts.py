"""NFS requests that got no answer in time: sent again, or given up by soft mounts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.network.nfs_reports import timeouts
from sdstop.collectors.filesystems.readings import NFS_KINDS, NfsMount, NfsReport, NfsRequests
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


class _Grown(Struct, frozen=True):
    """Requests of all kinds that ended in some seconds: all, those sent again, and major timeouts."""

    seconds: float
    completed: int
    again: int
    timeouts: int


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for mount in window.rows(NfsMount).values():
        grown = _grown(window, mount.point)
        if grown is None:
            yield Unchecked("timeouts need two samples", mount.point, gap=Gap.EARLY)
        elif not grown.timeouts and (
            grown.again < limits["again"] or grown.again < limits["share"] * max(grown.completed, 1)
        ):
            said = f"{human.plural(grown.completed, 'request')} in {human.duration(grown.seconds)}"
            yield RuledOut(mount.point, f"{said}, {grown.again} sent again")
        else:
            yield _finding(window, mount, grown, limits)
    yield from timeouts(window, limits)


def _grown(window: Window, point: str) -> _Grown | None:
    """Return what ended in the samples of the window since the last mount, None with a single one."""
    moments: list[tuple[float, list[tuple[int, int, int]]]] = []
    for moment in reversed(window.moments(NfsRequests)):
        rows = [moment.rows.get((point, kind)) for kind in NFS_KINDS]
        counts = [(0, 0, 0) if row is None else (row.completed, row.sent, row.timeouts) for row in rows]
        earlier = not moments or all(old <= new for old, new in zip(counts, moments[-1][1], strict=True))
        if not earlier or not any(rows):
            break
        moments.append((moment.started, counts))
    if len(moments) < 2:
        return None
    (ended, last), (began, first) = moments[0], moments[-1]
    new, old = ([sum(each) for each in zip(*counts, strict=True)] for counts in (last, first))
    completed, sent, timeouts = (after - before for after, before in zip(new, old, strict=True))
    return _Grown(ended - began, completed, max(sent - completed, 0), timeouts)


def _finding(window: Window, mount: NfsMount, grown: _Grown, limits: Limits) -> Finding:
    within = human.duration(grown.seconds)
    soft = mount.gives_up is not None and mount.gives_up != "hard"
    after = f" for {human.duration(mount.timeout)}" if mount.timeout else " in time"
    row = next((row for kind in NFS_KINDS if (row := window.get(NfsRequests, (mount.point, kind))) is not None), None)
    most = max(grown.timeouts, grown.again)
    return Finding(
        severity=Severity.WARNING,
        subject=mount.point,
        title=f"NFS TIMEOUTS: {human.plural(most, 'request')} in {within}",
        cause=fitting(
            f"{most} of {human.plural(grown.completed, 'request')} had no answer{after} in the last {within}.",
            f"{human.plural(most, 'request')} had no answer{after} in {within}.",
            f"{human.plural(most, 'request')} had no answer in time.",
        ),
        impact=(
            "Soft mount: such requests fail, and programs can lose data."
            if soft and grown.timeouts
            else "Programs wait until a repetition is answered."
        ),
        values=(
            Value("again", "requests sent again", grown.again, above=limits["again"]),
            Value("timeouts", "major timeouts", grown.timeouts, above=0),
            Value("completed", "requests that ended", grown.completed),
            Value("timeout", "timeout", mount.timeout, "seconds"),
            Value("server", "server", mount.server),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=(
            "Check the server, then the network for loss and lost connections.",
            run("nfsiostat", "5", "2", mount.point, note="retrans"),
            run("journalctl", "-k").pipe("grep", "-i", "nfs"),
        ),
        refuted_by="retrans of nfsiostat that stays the same",
        harmless_if="the server was restarted in this time",
    )


NFS_TIMEOUTS = Rule(
    "nfs-timeouts",
    "NFS requests that got no answer in time",
    Severity.WARNING,
    _check,
    (NfsMount,),
    (
        Threshold("again", 3.0, "requests sent again"),
        Threshold("share", 0.005, "share of requests sent again", "ratio"),
    ),
    instead=(NfsReport,),
    covers=(Covers(NfsMount),),
    many="lack answers",
    view="network",
    advice="Check the server, then the network for loss and lost connections.",
)
