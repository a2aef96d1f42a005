"""The connection to an SMB server is lost, or is made again repeatedly."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.filesystems.share_readings import SmbShare
from sdstop.collectors.kernel.readings import KernelComplaint
from sdstop.core import format as human
from sdstop.core.advice import ShellCommand, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SECONDS = 300.0


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge shares; a server that restarts or moves to another node is connected again once."""
    for share in window.rows(SmbShare).values():
        key = (share.server, share.share)
        lost = window.lasting(SmbShare, key, lambda row: row.connection == "lost")
        again = counter_growth(window, SmbShare, key, ("reconnects",), _SECONDS)
        if share.connection == "lost":
            if lost >= limits["lost"]:
                yield _lost(window, share, lost, limits)
            else:
                yield Unchecked(f"connection lost for {human.duration(lost)}", share.subject, gap=Gap.EARLY)
        elif again is not None and again.new >= limits["reconnects"]:
            yield _again(window, share, again.new, again.seconds, limits)
        elif share.connection != "up":
            yield Unchecked(f"connection {share.connection}", share.subject, gap=Gap.EARLY)
        elif again is None:
            yield Unchecked("reconnects need two samples", share.subject, gap=Gap.EARLY)
        else:
            yield RuledOut(share.subject, f"connected, {again.new} reconnects in {human.duration(again.seconds)}")


def _lost(window: Window, share: SmbShare, lost: float, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=share.subject,
        title=f"SMB SERVER NOT CONNECTED for {human.duration(lost)}",
        cause="The client has no TCP connection and tries to make one again.",
        impact="Programs that use the share wait, or get errors.",
        values=(
            Value("lost", "time without connection", lost, "seconds", above=limits["lost"]),
            Value("in_flight", "requests without an answer", share.in_flight),
            Value("reconnects", "reconnects since the mount", share.reconnects),
        ),
        evidence=cites(window.cite(share)),
        advice=_advice(share),
        explains=_messages(window, share),
        refuted_by="TCP status 1 in /proc/fs/cifs/DebugData",
        harmless_if="the server is down for maintenance",
    )


def _again(window: Window, share: SmbShare, count: int, seconds: float, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=share.subject,
        title=f"SMB RECONNECTS: {count} in {human.duration(seconds)}",
        cause=f"The TCP connection to the server was lost and made again {count} times.",
        impact="Requests wait at each reconnect; locks and open files can be lost.",
        values=(
            Value("reconnects", "reconnects", count, above=limits["reconnects"]),
            Value("connection", "connection now", share.connection),
        ),
        evidence=cites(window.cite(share)),
        advice=_advice(share),
        explains=_messages(window, share),
        refuted_by="an equal Instance in two samples of /proc/fs/cifs/DebugData",
        harmless_if="the server was restarted several times in this time",
    )


def _messages(window: Window, share: SmbShare) -> tuple[str, ...]:
    """Return the ID of the finding on the messages of the kernel about the server, none without such a message."""
    return (f"kernel-io-errors:{share.server}",) if window.where(KernelComplaint, "device", share.server) else ()


def _advice(share: SmbShare) -> tuple[str | ShellCommand, ...]:
    return (
        "Check the server and the network to it, then the kernel log.",
        run("ss", "-tno", "dport", "=", ":445"),
        run("smbclient", "-N", "-L", share.server, note="whether the server answers"),
        run("journalctl", "-k").pipe("grep", "-i", "cifs"),
    )


SMB_UNREACHABLE = Rule(
    "smb-unreachable",
    "SMB share whose server is not connected, or reconnects repeatedly",
    Severity.WARNING,
    _check,
    (SmbShare,),
    (
        Threshold("lost", 15.0, "time without a connection", "seconds"),
        Threshold("reconnects", 3.0, "reconnects in five minutes"),
    ),
    covers=(Covers(SmbShare, "//{server}/{share}"),),
    many="are not connected",
    view="network",
    advice="Check the server and the network to it, then the kernel log.",
)
