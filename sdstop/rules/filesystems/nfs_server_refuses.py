"""The kernel's NFS server refuses calls of clients, or they use stale file handles."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.filesystems.share_readings import NfsServer
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SECONDS = 60.0
_KINDS = {
    "bad_format": (
        "NFS CALLS REFUSED: VERSION OR FORMAT",
        "refused: damaged, or of a version the server lacks",
        "Their clients cannot mount, or lose requests.",
        "Compare the versions of the server with those that clients mount.",
    ),
    "bad_login": (
        "NFS CALLS REFUSED: CLIENT OR LOGIN",
        "refused for their credentials or client",
        "Their clients get no access to the export.",
        "Compare the exports with the addresses and security of the clients.",
    ),
    "stale": (
        "NFS STALE FILE HANDLES",
        "for a file that is gone or no longer exported",
        "Programs of clients get the error ESTALE.",
        "Look for exports that were removed, replaced or got another fsid.",
    ),
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each counter beside all calls: a single mount attempt or a deleted file is in both on a healthy server."""
    for server in window.rows(NfsServer).values():
        calls = counter_growth(window, NfsServer, server.server, ("calls",), _SECONDS)
        if calls is None:
            yield Unchecked("refused calls need two samples", server.server, gap=Gap.EARLY)
            continue
        grown = {}
        for kind in _KINDS:
            growth = counter_growth(window, NfsServer, server.server, (kind,), _SECONDS)
            if growth is not None:
                grown[kind] = growth.new
        # Refused calls count among all since Linux 2.6, but for those that are too short to be one.
        all_ = max(calls.new, sum(grown.get(kind, 0) for kind in ("bad_format", "bad_login")), 1)
        kind = max(grown, key=lambda each: grown[each], default="")
        most = grown.get(kind, 0)
        enough = limits["calls"] * calls.seconds / _SECONDS
        if most < max(enough, limits["least"]) or most < limits["share"] * all_:
            yield RuledOut(server.server, f"{most} of {human.plural(all_, 'call')} refused or stale")
        else:
            yield _finding(window, server, kind, most, all_, calls.seconds, limits)


def _finding(
    window: Window, server: NfsServer, kind: str, most: int, calls: int, seconds: float, limits: Limits
) -> Finding:
    title, cause, impact, first = _KINDS[kind]
    return Finding(
        severity=Severity.WARNING,
        subject=server.server,
        title=title,
        cause=fitting(
            f"{most} of {human.plural(calls, 'call')} {cause}.",
            f"{human.percent(most / calls)}% of calls {cause}.",
        ),
        impact=impact,
        values=(
            Value("share", "share of calls", most / calls, "ratio", above=limits["share"]),
            Value("rate", "such calls", most / seconds, "per_second"),
            Value("calls", "all calls", calls / seconds, "per_second"),
        ),
        evidence=cites(window.cite(server, "stale" if kind == "stale" else "")),
        advice=(
            first,
            run("exportfs", "-v"),
            run("nfsstat", "-s", "-r", note="badfmt and badauth"),
            run("journalctl", "-u", "nfs-mountd", "-u", "nfs-server").pipe("tail", "-40"),
        ),
        refuted_by="counters of nfsstat -s that stay the same",
        harmless_if="a scanner or a monitor probes the server",
    )


NFS_SERVER_REFUSES = Rule(
    "nfs-server-refuses",
    "NFS server that refuses calls, or gets stale file handles",
    Severity.WARNING,
    _check,
    (NfsServer,),
    (
        Threshold("share", 0.05, "share of calls", "ratio"),
        Threshold("calls", 60.0, "calls in a minute"),
        Threshold("least", 10.0, "calls between two samples"),
    ),
    covers=(Covers(NfsServer),),
    view="network",
    advice="Compare exports, security and versions with those of the clients.",
)
