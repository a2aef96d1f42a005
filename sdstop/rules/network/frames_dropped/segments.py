"""TCP segments that arrive damaged in whole frames."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.path_readings import Tcp
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits
from sdstop.rules.network.frames_dropped.losses import is_beyond, ratio


def damaged_segments(window: Window, limits: Limits) -> Iterator[Finding]:
    """Yield a finding about TCP segments whose checksum is wrong although their frames were whole.

    A card drops the frames that a link damaged. These were damaged elsewhere: in the memory of a switch or a node.
    """
    moments = [moment for moment in window.moments(Tcp) if moment.rows]
    if len(moments) < 2:
        return
    first, last = (next(iter(moment.rows.values())) for moment in (moments[0], moments[-1]))
    bad, passed = _step(first.checksum_errors, last.checksum_errors), _step(first.in_segments, last.in_segments)
    if bad is None or passed is None or not is_beyond(bad, passed, limits):
        return
    yield Finding(
        severity=Severity.WARNING,
        subject="tcp",
        title="TCP SEGMENTS DAMAGED",
        cause=f"{human.number(bad)} of {human.number(passed + bad)} segments had a wrong checksum.",
        impact="Each is sent again; 1 of 65,536 passes the checksum with altered data.",
        values=(
            Value("share", "damaged segments", ratio(bad, passed), "ratio", above=limits["ratio"]),
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
