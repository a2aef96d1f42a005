"""Storage sessions that are down or reconnecting: requests of their disks wait, and are in flight nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.analysis.stalled import FOLLOWS_WAITS
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.network.session_states import SessionState
from sdstop.collectors.network.sessions import StorageSession
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind
from sdstop.core.shell import operand

_UP = frozenset({"LOGGED_IN", "live"})
_DOWN = frozenset({"FAILED", "FREE", "connecting", "resetting", "new", "dead", "deleting", "deleting (no IO)"})
_ENDED = frozenset({"dead"})
"""States that no reset ends."""
_GRACE = 0.5


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(SessionState).values():
        if row.state is None:
            yield Unchecked("its state is not readable", row.session)
        elif row.state in _UP:
            yield RuledOut(row.session, f"all of it is up: {row.state}")
        elif row.state not in _DOWN:
            yield Unchecked(f'unknown state "{human.safe(row.state)}"', row.session, gap=Gap.FAULTY)
        else:
            seconds = _since(window, row)
            allowed = f"{limits['seconds']:g} s are allowed"
            if seconds + _GRACE < limits["seconds"] and row.state not in _ENDED:
                yield Unchecked(f"{row.state} for {human.duration(seconds)}: {allowed}", row.session, gap=Gap.EARLY)
            else:
                yield _finding(window, row, seconds, limits)


def _since(window: Window, row: SessionState) -> float:
    """Return for how many seconds each sample shows the session down."""
    moments = window.moments(SessionState)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = moment.rows.get(row.session)
        if then is None or then.state not in _DOWN:
            break
        first = moment.started
    return moments[-1].started - first


def _others(window: Window, row: SessionState) -> list[str]:
    """Return the sessions that are up and lead to the same disks or, by a multipath map, to the same data."""
    topology = window.topology
    thing = topology.find(row.session, (ThingKind.SESSION,))
    if thing is None:
        return []
    above = topology.above(thing)
    shared = {each.name for each in above if each.kinds & {ThingKind.DEVICE, ThingKind.MULTIPATH_MAP}}
    found = []
    for other in window.rows(SessionState).values():
        its = topology.find(other.session, (ThingKind.SESSION,)) if other.session != row.session else None
        if its is not None and other.state in _UP and shared & {each.name for each in topology.above(its)}:
            found.append(other.session)
    return found


def _devices(window: Window, row: SessionState) -> list[str]:
    """Return the disks that a session brings, or those of a local NVMe controller."""
    session = window.get(StorageSession, row.session)
    if session is not None:
        return [name for name in (session.devices or "").split(",") if name]
    namespace = re.compile(rf"{re.escape(row.session)}n\d+")
    return [name for name in map(str, window.rows(BlockDevice)) if namespace.fullmatch(name)]


def _finding(window: Window, row: SessionState, seconds: float, limits: Limits) -> Finding:
    session = window.get(StorageSession, row.session)
    others, devices = _others(window, row), _devices(window, row)
    severity = Severity.CRITICAL if devices and not others else Severity.WARNING
    peer = human.safe(session.peer or "its target") if session is not None else "the controller"
    silent = "does not answer" if session is None else "is not reached"
    summary = f"{row.state} for at least {human.duration(seconds)}: {peer} {silent}"
    if others:
        summary += f"; {len(others)} other session{'' if len(others) == 1 else 's'} to the same data up"
    elif devices:
        summary += f"; requests to {human.safe(', '.join(devices[:4]))} wait or fail"
    else:
        summary += "; it has no disk here"
    return Finding(
        severity=severity,
        subject=row.session,
        cause=summary,
        values=(
            Value("state", "state", row.state),
            Value("seconds", "for at least", seconds, "seconds", above=limits["seconds"]),
            Value("peer", "peer", session.peer if session is not None else None),
            Value("target", "target", session.target if session is not None else None),
            Value("devices", "disks", ", ".join(devices[:8]) or None),
            Value("others", "other sessions to the same data, up", len(others)),
        ),
        evidence=cites(window.cite(row), window.cite(session, "target") if session is not None else None),
        advice=tuple(_advice(row, session)),
        refuted_by="the state live or LOGGED_IN",
        lasting=seconds,
    )


def _advice(row: SessionState, session: StorageSession | None) -> Iterator[str]:
    if session is not None and session.peer:
        address = session.peer.rpartition(":")[0].strip("[]")
        yield f"ping -c 3 {operand(address or session.peer)}   # the network, or the target behind it?"
    if row.session.startswith("session"):
        yield "iscsiadm -m session -P 3   # state of session, connection and disks"
        yield "journalctl -k | grep -i iscsi | tail -40   # timeouts, recovery_tmo"
    else:
        yield "nvme list-subsys   # paths of the subsystem, and their state"
        yield f"journalctl -k | grep -w {operand(row.session)} | tail -40   # resets, reconnect attempts"


SESSION_DOWN = Rule(
    "session-down",
    "an iSCSI session or NVMe controller is down or reconnecting, and requests to its disks wait",
    Severity.CRITICAL,
    _check,
    (SessionState, StorageSession),
    (Threshold("seconds", 5.0, "time that it is down; then no reset by the kernel lasts", "seconds"),),
    remembers=True,
    many="are down or reconnecting",
    explains=FOLLOWS_WAITS,
)
