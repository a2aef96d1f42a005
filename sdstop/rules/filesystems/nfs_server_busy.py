"""All threads of the kernel's NFS server are busy, and requests of clients wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.filesystems.share_readings import NfsExport, NfsServer, NfsServerPool, waited
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SPAN = 4.0
"""Minimum seconds of a step: in a shorter one a burst of one client fills it."""
_CITED = 3
"""Mounted file systems that are cited at most."""


class _Step(Struct, frozen=True):
    """Requests between two samples: seconds, all, and those for which no idle thread was found."""

    seconds: float
    arrived: int
    waiting: int

    def is_busy(self, limits: Limits) -> bool:
        """Return whether the share of waiting requests and their rate reach the thresholds."""
        return self.waiting >= limits["share"] * max(self.arrived, 1) and self.waiting >= limits["rate"] * self.seconds


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge steps of at least 4 s of the last 30 s: a backup that starts fills all threads for a while."""
    for server in window.rows(NfsServer).values():
        steps = _steps(window, limits["lasts"])
        busy = [step for step in steps if step.is_busy(limits)]
        seconds = sum(step.seconds for step in steps)
        arrived, waiting = sum(step.arrived for step in steps), sum(step.waiting for step in steps)
        if not server.threads:
            yield Unchecked("no threads: server stopped", server.server, calm=True)
        elif not window.rows(NfsServerPool):
            yield Unchecked("no counters of waiting requests", server.server)
        elif not steps:
            yield Unchecked("waiting requests need two samples", server.server, gap=Gap.EARLY)
        elif len(busy) == len(steps) and len(steps) > 1 and seconds >= limits["lasts"] * 0.8:
            yield _finding(window, server, _Step(seconds, arrived, waiting), limits)
        elif len(busy) == len(steps):
            yield Unchecked(
                f"all threads busy for {human.duration(seconds)} of {human.duration(limits['lasts'])}",
                server.server,
                gap=Gap.EARLY,
            )
        else:
            yield RuledOut(
                server.server, f"{waiting} of {human.plural(arrived, 'request')} in {human.duration(seconds)} waited"
            )


def _steps(window: Window, seconds: float) -> list[_Step]:
    """Return the steps of the last `seconds`, newest first; those before a restart of the server are left out."""
    steps: list[_Step] = []
    moments = window.moments(NfsServerPool)
    if not moments:
        return []
    later = moments[-1]
    for moment in reversed(moments[:-1]):
        passed = later.started - moment.started
        if passed < _SPAN:
            continue
        if moment.rows.keys() != later.rows.keys():
            break
        grown = [
            (new.arrived - old.arrived, new.queued - old.queued, new.woken - old.woken)
            for key, new in later.rows.items()
            if (old := moment.rows.get(key)) is not None
        ]
        if any(min(each) < 0 for each in grown):
            break
        steps.append(_Step(passed, sum(max(each[0], each[1]) for each in grown), sum(waited(*each) for each in grown)))
        later = moment
        if sum(step.seconds for step in steps) >= seconds:
            break
    return steps


def _mounts(window: Window) -> list[MountPoint]:
    """Return the mounted file systems whose directories are exported: a slow disk below one keeps threads busy."""
    points = {row.point: row for row in window.rows(MountPoint).values()}
    found: dict[str, MountPoint] = {}
    for export in window.rows(NfsExport).values():
        folder = PurePosixPath(export.path)
        point = next((str(each) for each in (folder, *folder.parents) if str(each) in points), None)
        if point is not None:
            found[point] = points[point]
    return list(found.values())


def _finding(window: Window, server: NfsServer, all_: _Step, limits: Limits) -> Finding:
    threads, share = server.threads or 0, all_.waiting / max(all_.arrived, 1)
    count, within = human.plural(threads, "thread"), human.duration(all_.seconds)
    more = max(threads * 2, 8)
    row = next(iter(window.rows(NfsServerPool).values()))
    mounts = _mounts(window)
    return Finding(
        severity=Severity.WARNING,
        subject=server.server,
        title=f"NFS SERVER: ALL {threads} THREADS BUSY" if threads > 1 else "NFS SERVER: ITS ONLY THREAD BUSY",
        cause=fitting(
            f"{human.percent(share)}% of requests found no idle thread of {count} in {within}.",
            f"{human.percent(share)}% of requests found no idle thread of {count}.",
        ),
        impact="NFS clients wait for a thread in addition to the disks.",
        values=(
            Value("share", "requests without idle thread", share, "ratio", above=limits["share"]),
            Value("rate", "such requests", all_.waiting / all_.seconds, "per_second", above=limits["rate"]),
            Value("requests", "all requests", all_.arrived / all_.seconds, "per_second"),
            Value("threads", "threads", threads),
        ),
        evidence=cites(
            window.cite(row), window.cite(server, "threads"), *(window.cite(mount) for mount in mounts[:_CITED])
        ),
        others=tuple(mount.point for mount in mounts),
        advice=(
            "Fix slow disks first: threads that wait for them are busy, too.",
            run("rpc.nfsd", str(more), note="more threads at once, until the next restart"),
            f"To keep it, set threads={more} in the section [nfsd] of /etc/nfs.conf.",
            run("cat", "/proc/fs/nfsd/pool_stats"),
        ),
        refuted_by="threads-woken that grows like sockets-enqueued in pool_stats",
        harmless_if="a backup or copy is to use the server at full rate",
    )


NFS_SERVER_BUSY = Rule(
    "nfs-server-busy",
    "NFS server whose threads are all busy while requests wait",
    Severity.WARNING,
    _check,
    (NfsServer,),
    (
        Threshold("share", 0.5, "share of requests that find no idle thread", "ratio"),
        Threshold("rate", 10.0, "requests that find no idle thread", "per_second"),
        Threshold("lasts", 30.0, "time for which each sample exceeds both", "seconds"),
    ),
    covers=(Covers(NfsServer),),
    view="network",
    advice="Raise the number of threads, unless slow disks keep them busy.",
)
