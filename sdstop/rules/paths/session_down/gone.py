"""NVMe controllers that left the node while it was watched, and were a path to a namespace that is still there.

After `ctrl_loss_tmo`, or a fault of a card, the kernel removes the controller with its paths: the namespace is whole
again, with fewer paths. `nvme disconnect` does the same on purpose. Without another path, the namespace leaves as well,
and disk-offline judges it; so it does with the disks of an iSCSI session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.network.peer_readings import NvmePath, SessionState, StorageSession
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window


def role(row: StorageSession) -> str | None:
    """Return target and portal of a session: a repeated login has another number."""
    return f"{row.target} at {row.peer}" if row.target and row.peer else None


def gone_controllers(window: Window) -> Iterator[Finding]:
    """Yield a finding for each controller that is gone, and to whose namespaces other paths are left."""
    moments, now = window.moments(SessionState), window.rows(SessionState)
    if len(moments) < 2 or moments[0].rows is now:
        return
    names = dict.fromkeys(name for moment in moments for name in moment.rows if name not in now)
    if not names:
        return
    roles = {role(row) for row in window.rows(StorageSession).values()}
    left = {row.device: row for row in window.rows(NvmePath).values()}
    for name in map(str, names):
        row = next(row for moment in reversed(moments) if (row := moment.rows.get(name)) is not None)
        known = [moment.rows for moment in reversed(window.moments(NvmePath))]
        paths = next((found for rows in known if (found := [p for p in rows.values() if p.controller == name])), [])
        lacking = [path.device for path in paths if path.device in left]
        session = _session(window, name)
        its = role(session) if session is not None else None
        if row.told is None and lacking and (its is None or its not in roles):
            last = next(moment.started for moment in reversed(moments) if name in moment.rows)
            yield _finding(window, name, session, lacking, window.now.monotonic - last)


def _session(window: Window, name: str) -> StorageSession | None:
    found = (moment.rows.get(name) for moment in reversed(window.moments(StorageSession)))
    return next((row for row in found if row is not None), None)


def _finding(
    window: Window, name: str, session: StorageSession | None, lacking: Sequence[str], seconds: float
) -> Finding:
    rest = [path for path in window.rows(NvmePath).values() if path.device == lacking[0]]
    count = human.plural(len(rest), "path")
    who = f"{human.safe(name, 12)} left the node {human.duration(seconds)} ago"
    its = role(session) if session is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        title=f"PATH GONE: {len(rest)} left",
        cause=fitting(f"{who}; {human.safe(lacking[0], 16)} has {count} left.", f"{who}."),
        impact="The data stays reachable." if len(rest) > 1 else "If the last path fails, the data is unreachable.",
        values=(
            Value("seconds", "time since the last sample with it", seconds, "seconds"),
            Value("paths", "paths left", len(rest)),
            Value("namespaces", "namespaces that lack it", human.listed(lacking, 8, 200)),
            Value("peer", "peer", session.peer if session is not None else None),
            Value("target", "target", session.target if session is not None else None),
        ),
        evidence=cites(window.cite(rest[0])),
        advice=(
            "Find out why the controller left: target, network, ctrl_loss_tmo.",
            run("nvme", "list-subsys", note="paths of the subsystem"),
            run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40"),
        ),
        refuted_by=f"{human.safe(name, 16)} in nvme list-subsys",
        harmless_if="it was disconnected on purpose",
        damage=Damage.REDUNDANCY,
        left=((name, its) if its is not None else (name,),),
    )
