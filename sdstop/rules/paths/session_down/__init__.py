"""Storage sessions that are down, reconnecting or gone: requests of their disks wait, and are in flight nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.analysis.tasks.stalled import FOLLOWS_WAITS
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.network.peer_readings import SessionState, StorageSession
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.snapshot import Snapshot
from sdstop.rules.paths.session_down.gone import gone_controllers, role

_UP = frozenset({"LOGGED_IN", "live"})
_DOWN = frozenset({"FAILED", "FREE", "connecting", "resetting", "new", "dead", "deleting", "deleting (no IO)"})
_ENDED = frozenset({"dead"})
"""States that no reset ends."""
_GRACE = 0.5
"""Seconds that a span of samples may lack."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(SessionState).values():
        if row.state is None:
            yield Unchecked("state not readable", row.session)
        elif row.state in _UP:
            yield RuledOut(row.session, f"all up: {row.state}")
        elif row.state not in _DOWN:
            yield Unchecked(f'unknown state "{human.safe(row.state)}"', row.session, gap=Gap.FAULTY)
        else:
            seconds = _since(window, row)
            allowed = f"warning after {limits['seconds']:g} s"
            if seconds + _GRACE < limits["seconds"] and row.state not in _ENDED and row.told is None:
                yield Unchecked(f"{row.state} for {human.duration(seconds)}: {allowed}", row.session, gap=Gap.SIGNS)
            else:
                yield _finding(window, row, seconds, limits)
    yield from gone_controllers(window)


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
    """Return the sessions that are up and lead to the same disks or, by a multipath map, to the same data.

    Where only outputs of tools are known, those to the same target.
    """
    topology = window.topology
    thing = topology.find(row.session, (ThingKind.SESSION,))
    if thing is None:
        return []
    if row.told is not None:
        return _to_same_target(window, row)
    above = topology.above(thing)
    shared = {each.name for each in above if each.kinds & {ThingKind.DEVICE, ThingKind.MULTIPATH_MAP}}
    found = []
    for other in window.rows(SessionState).values():
        its = topology.find(other.session, (ThingKind.SESSION,)) if other.session != row.session else None
        if its is not None and other.state in _UP and shared & {each.name for each in topology.above(its)}:
            found.append(other.session)
    return found


def _to_same_target(window: Window, row: SessionState) -> list[str]:
    known = window.rows(StorageSession)
    own = known.get(row.session)
    if own is None or own.target is None:
        return []
    up = {each.session for each in window.rows(SessionState).values() if each.state in _UP}
    return [each.session for each in known.values() if each.session in up and each.target == own.target]


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
    alone = not others and (bool(devices) or (row.told is not None and session is not None))
    severity = Severity.CRITICAL if alone else Severity.WARNING
    whole = "CONTROLLER" if session is None else "SESSION"
    peer = human.safe(session.peer or "the target") if session is not None else "controller"
    state = human.safe(row.state) + (f" for at least {human.duration(seconds)}" if row.told is None else "")
    if others:
        impact = f"The data stays reachable: {human.plural(len(others), 'other session')} up."
    elif devices:
        listed = human.safe(devices[0]) + (f" and {len(devices) - 1} more" if len(devices) > 1 else "")
        impact = fitting(f"Requests to {listed} wait or fail.", "Requests to these disks wait or fail.")
    elif alone:
        impact = "Requests to the disks of this target wait or fail."
    else:
        impact = "No disk here depends on it now."
    return Finding(
        severity=severity,
        subject=row.session,
        title=f"{whole} DOWN",
        cause=fitting(
            f"{peer[:1].upper()}{peer[1:]} does not answer: {state}.",
            f"The target does not answer: {state}.",
        ),
        impact=impact,
        values=(
            Value("state", "state", row.state),
            Value(
                "seconds",
                "duration, minimum",
                seconds if row.told is None else None,
                "seconds",
                above=limits["seconds"],
            ),
            Value("peer", "peer", session.peer if session is not None else None),
            Value("target", "target", session.target if session is not None else None),
            Value("devices", "disks", ", ".join(devices[:8]) or None),
            Value("others", "other sessions to the same data", len(others)),
        ),
        evidence=cites(window.cite(row), window.cite(session, "target") if session is not None else None),
        advice=tuple(_advice(row, session)),
        refuted_by="the state live or LOGGED_IN",
        lasting=seconds,
        damage=Damage.REDUNDANCY if others else None,
    )


def _advice(row: SessionState, session: StorageSession | None) -> Iterator[Advice]:
    if session is not None and session.peer:
        address = session.peer.rpartition(":")[0].strip("[]")
        yield run("ping", "-c", "3", *operands(address or session.peer), note="the network to the target")
    if row.session.startswith("session"):
        yield run("iscsiadm", "-m", "session", "-P", "3", note="session, connection, disks")
        yield run("journalctl", "-k", note="timeouts, recovery_tmo").pipe("grep", "-i", "iscsi").pipe("tail", "-40")
    else:
        yield run("nvme", "list-subsys", note="paths of the subsystem")
        log = run("journalctl", "-k", note="resets, reconnect attempts")
        yield log.pipe("grep", "-w", *operands(row.session)).pipe("tail", "-40")


def _roles(shot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    return {row.session: (its,) for row in shot.rows(StorageSession).values() if (its := role(row)) is not None}


SESSION_DOWN = Rule(
    "session-down",
    "iSCSI session or NVMe controller that is down, reconnecting or gone",
    Severity.CRITICAL,
    _check,
    (SessionState, StorageSession),
    (Threshold("seconds", 5.0, "minimum time down; resets by the kernel are shorter", "seconds"),),
    remembers=True,
    roles=_roles,
    many="are down or reconnecting",
    damage=Damage.AVAILABILITY,
    view="network",
    explains=(*FOLLOWS_WAITS, "path-failed", "disk-offline"),
    advice="Check the target, and the network to it.",
)
