"""Device mapper targets that fail or delay: error segments, targets made for tests, and those that gave up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.devicemapper.other_targets import FAILED, FAULTY, READ_ONLY, UNKNOWN
from sdstop.collectors.devicemapper.readings import MappedDevice, MappedTarget
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.rule import Limits, Rule
from sdstop.core.thing import Thing

_ERROR = "error"
_ZERO = "zero"
"""Target that discards writes; below a sparse snapshot it is normal, alone below a mount it loses all data."""
_TESTS = {
    "flakey": "requests fail at times",
    "dust": "reads of some blocks fail",
    "delay": "requests are held back",
    _ZERO: "writes are lost",
}
_IMPACTS = {"delay": "Each request waits although the disks work."}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    good = []
    states: dict[str, list[MappedTarget]] = {}
    for state in window.rows(MappedTarget).values():
        states.setdefault(state.mapping, []).append(state)
    named = {row.mapping for row in window.rows(MappedDevice).values()}
    for mapping, rows in states.items():
        if mapping not in named:
            yield _by_status(window, mapping, rows)
    for row in window.rows(MappedDevice).values():
        targets = row.targets.split(",")
        stopped = [each for each in states.get(row.mapping, ()) if each.state in {FAILED, READ_ONLY}]
        if stopped:
            yield _stopped(window, row.mapping, row.targets, stopped[0])
        elif unknown := [each.target for each in states.get(row.mapping, ()) if each.state == UNKNOWN]:
            yield Unchecked(f"state of the target {unknown[0]} unknown", row.mapping)
        elif _ERROR in targets:
            yield _finding(window, row.mapping, _ERROR, row)
        elif test := next((target for target in targets if _disturbs(row, target)), ""):
            yield _finding(window, row.mapping, test, row)
        elif _ZERO in targets and (len(targets) > 1 or _affected(window, row)):
            yield _finding(window, row.mapping, _ZERO, row)
        else:
            good.append(row.mapping)
    yield from passed(good, f"no error target in all {len(good)} tables")


def _disturbs(row: MappedDevice, target: str) -> bool:
    """Return whether a target made for tests does harm by itself."""
    return target in _TESTS and target != _ZERO and (target != "delay" or bool(row.delay))


def _affected(window: Window, row: MappedDevice | MappedTarget) -> Sequence[Thing]:
    thing = window.topology.named(Naming.DEV, row.device) if row.device is not None else None
    return window.topology.affected(thing) if thing is not None else ()


def _is_used(window: Window, row: MappedDevice | MappedTarget) -> bool:
    """Return whether a mapping has users, or another device on it, such as a cache that is not mounted."""
    thing = window.topology.named(Naming.DEV, row.device) if row.device is not None else None
    return thing is not None and bool(window.topology.affected(thing) or window.topology.above(thing))


def _by_status(window: Window, mapping: str, rows: Sequence[MappedTarget]) -> Verdict:
    """Judge a mapping whose table was not recorded, by its status alone."""
    targets = ",".join(dict.fromkeys(row.target for row in rows))
    if stopped := next((row for row in rows if row.state in {FAILED, READ_ONLY}), None):
        return _stopped(window, mapping, targets, stopped)
    if unknown := next((row for row in rows if row.state == UNKNOWN), None):
        return Unchecked(f"state of the target {unknown.target} unknown", mapping)
    if faulty := next((row for row in rows if row.target in FAULTY), None):
        return _finding(window, mapping, faulty.target, faulty)
    return RuledOut(mapping, f"{len(rows)} {targets} target{'s' if len(rows) > 1 else ''} working")


def _stopped(window: Window, mapping: str, targets: str, state: MappedTarget) -> Finding:
    failed = state.state == FAILED
    return Finding(
        severity=Severity.CRITICAL,
        subject=mapping,
        title="TARGET FAILED: no I/O" if failed else "TARGET READ-ONLY: no metadata",
        cause=f"The target {state.target} of the mapping is in the state {state.state}.",
        impact="Every request to the mapping fails." if failed else "Writes that need new metadata fail.",
        values=(
            Value("targets", "targets", targets),
            Value("state", "state of the target", state.state),
            Value("users", "users of the mapping", len(_affected(window, state))),
        ),
        evidence=cites(window.cite(state)),
        advice=(
            "Find the error of its metadata device in the kernel log.",
            run("dmsetup", "status", *operands(mapping)),
            run("journalctl", "-k").pipe("grep", "-i", "device-mapper"),
        ),
        refuted_by="counters in place of the state in dmsetup status",
    )


def _finding(window: Window, mapping: str, target: str, row: MappedDevice | MappedTarget) -> Finding:
    """Return the finding of a target that fails or delays requests, in a table or in the status of a segment."""
    table = row if isinstance(row, MappedDevice) else None
    whole = table is not None and table.targets == target
    part = "All" if whole else "A part"
    fails = target == _ERROR
    return Finding(
        severity=Severity.CRITICAL if fails and _is_used(window, row) else Severity.WARNING,
        subject=mapping,
        title="ERROR TARGET: requests fail" if fails else f"TEST TARGET: {target}",
        cause=f"{part} of the mapping has the target {target}{'' if fails else ': ' + _TESTS[target]}.",
        impact=f"Every request to {'it' if whole else 'this part'} fails with an I/O error."
        if fails
        else _IMPACTS.get(target, "Requests fail or are lost although the disks work."),
        values=(
            Value("targets", "targets", table.targets if table else target),
            *((Value("segments", "segments", table.segments),) if table else ()),
            *((Value("delay", "longest delay of a request", table.delay, "seconds"),) if table and table.delay else ()),
            Value("users", "users of the mapping", len(_affected(window, row))),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find out who loaded the table: LVM without a disk, or a test."
            if fails
            else "Load the table without the test target again.",
            run("dmsetup", "table", *operands(mapping), note="the table"),
            run("vgs", "-o", "+vg_missing_pv_count", note="LVM uses error segments for missing disks"),
        ),
        refuted_by="a table without this target in dmsetup table",
        harmless_if="the mapping belongs to a test",
    )


TARGET_LEFT = Rule(
    "target-left",
    "device mapper target that fails or delays requests, on purpose or after an error",
    Severity.CRITICAL,
    _check,
    (MappedDevice,),
    instead=(MappedTarget,),
    damage=Damage.AVAILABILITY,
    explains=(
        "filesystem-readonly",
        "filesystem-errors",
        "kernel-io-errors",
        "slow-device",
        "slow-stripe-member",
        "device-saturated",
        "flush-slow",
        "nfs-server-busy",
    ),
    view="disks",
    advice="Find out who loaded the table: LVM without a disk, or a test.",
)
