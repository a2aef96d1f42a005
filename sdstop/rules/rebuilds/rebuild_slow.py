"""Rebuilds that will take too long, and their bottleneck."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.rebuilds.pace import Pace
from sdstop.analysis.rebuilds.rebuilding import (
    REPAIRS,
    DeviceLoad,
    RebuildAnalysis,
    active_throttle,
    eta_words,
    rebuild_analyses,
)
from sdstop.analysis.rebuilds.suspects import Suspect, suspects
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.averages import median
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.shell import phrase
from sdstop.readings.disk import DiskActivity
from sdstop.readings.rebuild import Rebuild, folder
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED


class _Cause(Struct, frozen=True):
    """Bottleneck, advice, and the causes that were ruled out."""

    text: str
    advice: tuple[Advice, ...]
    ruled_out: tuple[str, ...]
    device: str = ""
    readings: tuple[tuple[Reading, str], ...] = ()
    unknown: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in rebuild_analyses(window):
        pace, row = known.pace, known.rebuild
        if row.state != "running" or row.operation not in REPAIRS or known.stands or known.at_end:
            yield Unchecked(known.not_judged, known.name, calm=True)
        elif pace is None or pace.rate is None or pace.eta is None or pace.seconds < limits["seconds"]:
            yield Unchecked(
                f"collecting data: the speed needs {limits['seconds']:g} s of progress", known.name, gap=Gap.EARLY
            )
        elif pace.eta > limits["longest"]:
            yield _slow(window, known, pace, limits, f"REBUILD SLOW: {human.duration(pace.eta)} left")
        elif (member := _held_back(known, limits)) is not None:
            yield _slow(window, known, pace, limits, "REBUILD HELD BACK by one member", member)
        elif _idle(known, pace, limits):
            busy = known.busiest.busy if known.busiest else None
            yield _slow(window, known, pace, limits, f"REBUILD SLOW: disks only {human.percent(busy)}% busy")
        else:
            yield RuledOut(
                known.name,
                f"{known.what} at {human.quantity(pace.rate, 'bytes_per_second')}, {eta_words(pace)}",
            )


def _idle(known: RebuildAnalysis, pace: Pace, limits: Limits) -> bool:
    """Return whether members are far from saturated, no limit applies, and the remaining time matters."""
    busiest = known.busiest
    if busiest is None or busiest.busy is None or (pace.eta or 0.0) < limits["worth"]:
        return False
    return busiest.busy < limits["idle"] and active_throttle(known) is None


def _slow(
    window: Window, known: RebuildAnalysis, pace: Pace, limits: Limits, title: str, held_back: DeviceLoad | None = None
) -> Finding:
    row, cause = known.rebuild, _cause(window, known, limits) if held_back is None else _of_one(held_back, ())
    busiest = known.busiest
    activity = window.get(DiskActivity, cause.device) if cause.device else None
    return Finding(
        severity=Severity.WARNING,
        subject=known.name,
        title=title,
        cause=f"{cause.text}.",
        impact=f"{known.end}.",
        values=(
            Value("eta", "remaining at this speed", pace.eta, "seconds", above=_exceeded(pace.eta, limits["longest"])),
            Value("rate", "speed measured", pace.rate, "bytes_per_second"),
            Value("progress", "done", row.progress, "progress"),
            Value(
                "busy",
                f"busy time of {busiest.device}" if busiest else "busy time",
                busiest.busy if busiest else None,
                "ratio",
                below=limits["idle"] if busiest and (busiest.busy or 0.0) < limits["idle"] else None,
            ),
            Value("foreground", "other I/O on the array", known.own.bytes if known.own else None, "bytes_per_second"),
            Value("ruled_out", "ruled out", "; ".join(cause.ruled_out) or None),
            *((Value("possible", "possible limits", "; ".join(cause.possible)),) if cause.possible else ()),
            *((Value("unknown", "not checked", "; ".join(cause.unknown)),) if cause.unknown else ()),
        ),
        evidence=cites(
            window.cite(row),
            window.cite(row, "speed_max"),
            window.cite(row, "speed_min"),
            window.cite(activity) if activity is not None else None,
            *(window.cite(reading, field) for reading, field in cause.readings),
        ),
        advice=cause.advice,
        refuted_by="a higher speed over the next minutes (the estimate assumes the present one)",
        confidence=pace.confidence,
        damage=known.damage,
        view=known.view,
    )


def _exceeded(value: float | None, threshold: float) -> float | None:
    return threshold if value is not None and value > threshold else None


def _cause(window: Window, known: RebuildAnalysis, limits: Limits) -> _Cause:
    """Try the causes in order of certainty; causes that do not match are ruled out."""
    name = known.name
    limit = active_throttle(known)
    if limit is not None:
        text = "Limited by its maximum speed" if limit.which == "max" else "Yields to other I/O at its minimum speed"
        return _Cause(
            f"{text} (see rebuild-throttled)", (f"Raise {phrase(limit.setting)} (see rebuild-throttled).",), ()
        )
    most = HBA_OVERSUBSCRIBED.limits()
    looked = suspects(window, known, most["disk_rate"], most["flash_rate"], most["efficiency"])
    proven = [suspect for suspect in looked if suspect.guilt == "proven"]
    out = [suspect.what for suspect in looked if suspect.guilt == "none"]
    if known.rebuild.speed_max is not None:
        out.insert(0, f"speed limit {human.quantity(known.rebuild.speed_max, 'bytes_per_second')}")
    if proven:
        first = proven[0]
        return _Cause(
            f"Limited by {first.limit}", first.advice, tuple(out), readings=_shown(first), possible=(first.what,)
        )
    slow = _slowest(known.loads, limits)
    if slow is not None:
        return _of_one(slow, tuple(out))
    busy, own = known.busiest, known.own
    full = busy is not None and (busy.busy or 0.0) >= limits["full"]
    if known.loads and not full:
        out.append(f"disks (busiest {human.percent(busy.busy if busy else None)}%)")
    rate = known.pace.rate if known.pace is not None and known.pace.rate is not None else 0.0
    if full and own is not None and own.bytes >= rate:
        return _Cause(
            f"Members are busy with other I/O: {human.quantity(own.bytes, 'bytes_per_second')}",
            known.lines("Move load away from the array, or let the rebuild take more.", *known.advice.yields),
            tuple(out),
            busy.device if busy else "",
        )
    if own is not None:
        out.append(f"other I/O on {name} ({human.quantity(own.bytes, 'bytes_per_second')})")
    if full and busy is not None:
        return _Cause(
            "All members are busy: the disks are the limit",
            ("Look for other users of these disks: partitions, programs.",),
            tuple(out),
            busy.device,
        )
    return _open(known, looked, tuple(out), limits)


def _of_one(slow: DeviceLoad, ruled_out: tuple[str, ...]) -> _Cause:
    wait = f", {human.wait(slow.wait)} ms a request" if slow.wait is not None else ""
    return _Cause(
        f"{human.safe(slow.device, 12)} is {human.percent(slow.busy)}% busy{wait}, its peers are not",
        (
            "Check this disk and its link.",
            run("smartctl", "-x", f"/dev/{slow.device}"),
            run("journalctl", "-k").pipe("grep", "-w", *operands(slow.device)),
        ),
        ruled_out,
        slow.device,
    )


def _held_back(known: RebuildAnalysis, limits: Limits) -> DeviceLoad | None:
    """Return the only saturated member, if its peers move the same bytes in a fraction of its busy time.

    Then the rebuild could go several times as fast, however soon it ends. A healthy member that is written while the
    others are read is full as well, but its peers need much of the time, too.
    """
    slow = _slowest(known.loads, limits)
    if slow is None or slow.wait is None or not slow.bytes:
        return None
    peers = [load for load in known.loads if load is not slow and load.busy is not None and load.bytes]
    waits = [load.wait for load in peers if load.wait is not None]
    if len(waits) < FEWEST_PEERS or slow.wait < limits["waits"] * median(waits):
        return None
    cost = median((load.busy or 0.0) / load.bytes for load in peers)
    return slow if (slow.busy or 0.0) / slow.bytes >= limits["gain"] * cost else None


FEWEST_PEERS = 2
"""Members to compare with."""


def _shown(suspect: Suspect) -> tuple[tuple[Reading, str], ...]:
    return tuple((reading, suspect.field) for reading in suspect.readings)


def _open(known: RebuildAnalysis, looked: list[Suspect], out: tuple[str, ...], limits: Limits) -> _Cause:
    """Return the possible causes if none is proven."""
    cache = known.array.stripe_cache if known.array is not None else None
    possible = [suspect for suspect in looked if suspect.guilt == "possible"]
    unknown = tuple(suspect.what for suspect in looked if suspect.guilt == "unknown")
    if cache is not None and cache <= limits["stripe_cache"]:
        return _Cause(
            f"No disk is full; the stripe cache is small ({cache} stripes)",
            (
                "Enlarge the stripe cache.",
                run(
                    "echo",
                    "4096",
                    into=f"{folder(known.name)}/stripe_cache_size",
                    note="takes 16 MiB of memory for each member",
                ),
            ),
            out,
            unknown=unknown,
        )
    if possible:
        return _Cause(
            f"Possible limit: {possible[0].limit}",
            tuple(dict.fromkeys(each for suspect in possible for each in suspect.advice)),
            out,
            readings=tuple(shown for suspect in possible for shown in _shown(suspect)[:2]),
            unknown=unknown,
            possible=tuple(suspect.what for suspect in possible),
        )
    return _Cause(
        "Limiting resource not identified",
        known.lines(*known.advice.unknown),
        out,
        unknown=unknown,
    )


def _slowest(loads: tuple[DeviceLoad, ...], limits: Limits) -> DeviceLoad | None:
    """Return the only saturated member, None unless there is exactly one."""
    known = [load for load in loads if load.busy is not None]
    full = [load for load in known if (load.busy or 0.0) >= limits["full"]]
    others = sorted(load.busy or 0.0 for load in known if load not in full)
    return full[0] if len(full) == 1 and others and others[-1] < limits["full"] * 0.7 else None


REBUILD_SLOW = Rule(
    "rebuild-slow",
    "rebuild that will take too long, or is far slower than its disks allow",
    Severity.WARNING,
    _check,
    (Rebuild,),
    (
        Threshold("longest", 86400.0, "remaining time of a slow rebuild", "seconds"),
        Threshold("idle", 0.4, "busy time of the busiest member below which the disks are idle", "ratio"),
        Threshold("worth", 3600.0, "remaining time below which idle disks are not reported", "seconds"),
        Threshold("full", 0.9, "busy time of a full member", "ratio"),
        Threshold("gain", 3.0, "speedup without the one member that holds it back"),
        Threshold("waits", 3.0, "wait of that member, as a multiple of its peers' median"),
        Threshold("stripe_cache", 256.0, "small stripe cache, in stripes: the default of md"),
        Threshold("seconds", 20.0, "time of progress observed", "seconds"),
    ),
    view="disks",
    advice="Find the limit of the rebuild in view Path, and raise that one.",
)
