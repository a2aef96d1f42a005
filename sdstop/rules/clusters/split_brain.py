"""DRBD resources whose sides were written to apart from each other, and that refuse to reconnect.

After a split brain DRBD drops the connection: at least one side becomes StandAlone and stays so (DRBD User's Guide,
"Split brain notification"). `drbdadm disconnect` has the same effect, and the states of one side are the same for both,
so the confidence stays below 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule

_ALONE = "StandAlone"
_GOOD = frozenset({"UpToDate", "Consistent"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(DrbdConnection).values():
        if row.connection == "Connected":
            yield RuledOut(row.name, f"all data replicated to {human.safe(row.peer)}: {row.connection}")
        elif row.connection != _ALONE:
            yield Unchecked(f"{row.connection}: the peer's state is unknown", row.name, calm=True)
        elif row.disk not in _GOOD:
            yield RuledOut(row.name, f"all data here {row.disk or 'unknown'}: not the newer side")
        elif row.role == "Primary" and row.out_of_sync != 0:
            yield _finding(window, row)
        else:
            role = row.role or "role unknown"
            yield Unchecked(f"StandAlone, {role}: the peer decides whether data diverged", row.name)


def _were_both_primary(window: Window, row: DrbdConnection) -> bool:
    """Return whether an earlier sample shows both sides as Primary."""
    key = (row.resource, row.peer, row.volume)
    rows = (then for _, then in window.series(DrbdConnection, key) if then is not None)
    return any(then.role == then.peer_role == "Primary" for then in rows)


def _finding(window: Window, row: DrbdConnection) -> Finding:
    both = _were_both_primary(window, row)
    size = "an unknown amount" if row.out_of_sync is None else human.quantity(row.out_of_sync, "bytes")
    name, peer = operands(row.argument), human.safe(row.peer)
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.name,
        view_subject=row.resource,
        title="SPLIT BRAIN" if both else "SPLIT BRAIN OR MANUAL DISCONNECT",
        cause=fitting(
            f"Written without {peer} ({size} out of sync), no reconnect.",
            f"Written without the peer ({size} out of sync), no reconnect.",
        ),
        impact=(
            "Both sides were Primary: their data diverged, one side loses its changes."
            if both
            else "If the peer was written to as well, one side loses its changes."
        ),
        values=(
            Value("connection", "connection, this node", row.connection),
            Value("role", "role, this node", row.role),
            Value("disk", "data, this node", row.disk),
            Value("peer_disk", "data of the peer, as known here", row.peer_disk),
            Value("out_of_sync", "out of sync", row.out_of_sync, "bytes", above=0),
        ),
        evidence=cites(window.cite(row), window.cite(row, "out_of_sync")),
        advice=(
            "Choose the side whose changes are discarded; save its data first.",
            run("journalctl", "-k", note="without such a line: drbdadm connect").pipe("grep", "-i", "split-brain"),
            "On the side to discard:",
            run("drbdadm", "disconnect", *name),
            run("drbdadm", "secondary", *name),
            run("drbdadm", "connect", "--discard-my-data", *name),
            "On the other side, if it is StandAlone:",
            run("drbdadm", "connect", *name),
        ),
        refuted_by="cs:Connected after drbdadm connect, without data loss",
        harmless_if="an administrator disconnected the resource, and only one side was written to",
        confidence=0.9 if both else 0.6,
        explains=(f"cluster-degraded:{row.resource}",),
    )


SPLIT_BRAIN = Rule(
    "split-brain",
    "DRBD sides that were written to separately and do not reconnect",
    Severity.CRITICAL,
    _check,
    (DrbdConnection,),
    damage=Damage.DATA,
    view="cluster",
    advice="Choose the side whose changes are discarded; save its data first.",
)
