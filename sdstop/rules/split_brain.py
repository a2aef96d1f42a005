"""DRBD resources whose sides were written to apart from each other, and that refuse to reconnect.

After a split brain DRBD drops the connection: at least one side becomes StandAlone and stays so (DRBD User's Guide,
"Split brain notification"). `drbdadm disconnect` has the same effect, and the states of one side are the same for both,
so the confidence stays below 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.connections import DrbdConnection
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand

_ALONE = "StandAlone"
_GOOD = frozenset({"UpToDate", "Consistent"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(DrbdConnection).values():
        if row.connection == "Connected":
            yield RuledOut(row.name, f"all is replicated to {human.safe(row.peer)}: {row.connection}")
        elif row.connection != _ALONE:
            yield Unchecked(f"{row.connection}: the peer's state is unknown", row.name, calm=True)
        elif row.disk not in _GOOD:
            yield RuledOut(row.name, f"all data here is {row.disk or 'unknown'}: it is not the newer side")
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
    name, peer = operand(row.argument), human.safe(row.peer)
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.name,
        cause=(
            f"StandAlone: this node was written to alone ({size} out of sync) and does not reconnect to {peer}; "
            + (
                "both sides were Primary: their data diverged"
                if both
                else "split brain, unless it was disconnected by hand"
            )
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
            "journalctl -k | grep -i 'split-brain'   # `Split-Brain detected`: it is one; otherwise: drbdadm connect",
            "choose the side whose changes are discarded, and save its data first",
            (
                f"on that side: drbdadm disconnect {name}; drbdadm secondary {name}; "
                f"drbdadm connect --discard-my-data {name}"
            ),
            f"on the other side, if it is StandAlone: drbdadm connect {name}",
        ),
        refuted_by="`drbdadm disconnect` by an administrator; or cs:Connected after drbdadm connect, without data loss",
        confidence=0.9 if both else 0.6,
        explains=(f"cluster-degraded:{row.resource}",),
    )


SPLIT_BRAIN = Rule(
    "split-brain",
    "the sides of a DRBD resource were written to apart from each other and do not reconnect",
    Severity.CRITICAL,
    _check,
    (DrbdConnection,),
)
