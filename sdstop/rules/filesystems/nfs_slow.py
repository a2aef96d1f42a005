"""NFS mounts whose requests take far longer than they did, under no more load: known from their own past.

The kernel counts the time of each request until its answer, so the past begins with the mount, before sdstop did.
Programs that now read other data than before look alike: above info is only an answer that takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.network.nfs_reports import slow as slow_reports
from sdstop.collectors.filesystems.readings import NFS_KINDS, NfsMount, NfsReport, NfsRequests
from sdstop.collectors.network.peer_readings import StoragePeer
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import SIGN, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Moment, Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

AFTER = 20.0
"""Last seconds, which are compared; both halves must be slow, as they are not while a disk spins up once."""
_SLACK = 2.0
"""Seconds by which they may be shorter: samples arrive early or late."""
APART = 10.0
"""Minimum seconds between the two: no load changes at one moment."""
BEFORE = 8.0
"""Minimum seconds at the beginning of the window that count as its past."""
_FEWEST = 10
"""Requests of a kind that the last seconds and the past must have."""
_PAST = 100
"""Requests of a kind since the mount of which the mean is a measure."""
_ALIKE = 1.5
"""Largest ratio between mean sizes of requests whose times are compared."""
_MORE = 1.25
"""Load that explains a longer time, as a multiple of the load before."""
_FAR, _FAST = 0.5, 0.1
"""Share of the answer's time from which the round trip explains it, and below which it does not."""
_LIGHT = (100.0, float(1 << 20))
"""Requests and bytes a second that no server becomes slow of."""
_WORDS = {"read": "Reads", "write": "Writes", "commit": "Commits", "name": "Look-ups"}
"""Kinds that are judged; those of kind `long` may take seconds."""


class _Work(Struct, frozen=True):
    """Answered requests of one kind, or of all: their number, what one takes in seconds, and bytes; in `seconds`."""

    seconds: float
    count: int
    answer: float
    execution: float
    moved: int

    @property
    def size(self) -> float:
        """Mean size of a request in bytes."""
        return self.moved / max(self.count, 1)

    def is_no_more_than(self, other: _Work) -> bool:
        """Return whether this load is not larger than another one, or light."""
        mine, others = ((each.count / each.seconds, each.moved / each.seconds) for each in (self, other))
        light = all(one <= most for one, most in zip(mine, _LIGHT, strict=True))
        return light or all(one <= _MORE * two for one, two in zip(mine, others, strict=True))


class _Slow(Struct, frozen=True):
    """Requests of one kind that take longer: now, before, and the name of the time before."""

    kind: str
    now: _Work
    before: _Work
    past: str

    @property
    def times(self) -> float:
        """Time of a request as a multiple of the time before."""
        return _time(self.kind, self.now) / max(_time(self.kind, self.before), 1e-4)


def _time(kind: str, work: _Work) -> float:
    """Return the time that a program waits for a request. The kernel sends writes later: their queue does not count."""
    return work.answer if kind == "write" else work.execution


_Moments = Sequence[Moment[NfsRequests]]


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(NfsRequests)
    old = [at for at, moment in enumerate(moments) if moment.started <= moments[-1].started - AFTER + 0.5]
    last = moments[old[-1] if old else 0 :]
    for mount in window.rows(NfsMount).values():
        seconds = last[-1].started - last[0].started if last else 0.0
        if seconds < SIGN:
            reason = f"collecting data: {seconds:.0f} of {AFTER:g} s"
            yield Unchecked(reason, mount.point, calm=True, gap=Gap.EARLY)
        elif again := _repeated(last[0], last[-1], mount.point):
            yield Unchecked(f"{human.plural(again, 'request')} sent again: see nfs-timeouts", mount.point, calm=True)
        else:
            yield _judged(window, mount, (moments, last), limits)
    yield from slow_reports(window, limits)


def _repeated(begin: Moment[NfsRequests], end: Moment[NfsRequests], point: str) -> int:
    """Return the requests that ended with a repetition or timeout, whose time is not that of an answer."""
    found = 0
    for kind in NFS_KINDS:
        then, now = begin.rows.get((point, kind)), end.rows.get((point, kind))
        if then is not None and now is not None:
            found += max(now.sent - now.completed - then.sent + then.completed, now.timeouts - then.timeouts, 0)
    return found


def _judged(window: Window, mount: NfsMount, samples: tuple[_Moments, _Moments], limits: Limits) -> Verdict:
    moments, last = samples
    works = {kind: work for kind in _WORDS if (work := _work(last[0], last[-1], mount.point, kind)) is not None}
    asked = {kind: work for kind, work in works.items() if work.count >= _FEWEST}
    seconds = last[-1].started - last[0].started
    if not asked:
        count = human.plural(sum(work.count for work in works.values()), "request")
        return Unchecked(f"{count} answered in {human.duration(seconds)}", mount.point, calm=True)
    slow, compared = [], set()
    for past, begin, end in _pasts(moments, last[0]):
        for kind, now in asked.items():
            before = _work(begin, end, mount.point, kind, mount.age)
            if before is None or before.count < (_FEWEST if begin is not None else _PAST):
                continue
            compared.add(kind)
            one = _Slow(kind, now, before, past)
            if (
                _is_slower(one, limits)
                and _is_lasting(one, mount, last, limits)
                and _is_unloaded(mount, last, begin, end)
            ):
                slow.append(one)
    took = ", ".join(
        f"{_WORDS[kind].lower()} {human.quantity(_time(kind, work), 'seconds')}" for kind, work in asked.items()
    )
    if not slow:
        fast = all(_time(kind, work) < limits["wait"] for kind, work in asked.items() if kind not in compared)
        if any(_time(kind, work) >= limits["bad"] for kind, work in asked.items() if kind in compared):
            return Unchecked(f"{took}, as before", mount.point, calm=True)
        if fast:
            return RuledOut(mount.point, took)
        return Unchecked(f"no past to compare with: {took}", mount.point, calm=True, gap=Gap.EARLY)
    worst = max(slow, key=lambda one: (_severity(one, limits) is Severity.WARNING, one.times))
    if seconds < AFTER - _SLACK:
        return Unchecked(f"slower, for {seconds:.0f} of {AFTER:g} s: {took}", mount.point, gap=Gap.SIGNS)
    return _finding(window, mount, worst, limits)


def _pasts(
    moments: _Moments, begun: Moment[NfsRequests]
) -> Iterator[tuple[str, Moment[NfsRequests] | None, Moment[NfsRequests]]]:
    """Yield the times with which the last seconds are compared, as a name, a beginning (None: the mount) and an end."""
    yield "their mean since the mount", None, begun
    until = next((each for each in reversed(moments) if each.started <= begun.started - APART + 0.5), None)
    if until is not None and until.started - moments[0].started >= BEFORE:
        ago = human.duration(moments[-1].started - until.started)
        yield f"as long as {ago} before", moments[0], until


def _work(
    begin: Moment[NfsRequests] | None, end: Moment[NfsRequests], point: str, kind: str = "", age: int | None = None
) -> _Work | None:
    """Return the requests of a kind, or of all, between two samples, the first None for the mount.

    None after a reset, and for a mount that was not there.
    """
    steps = [0, 0, 0, 0]
    for each in (kind,) if kind else NFS_KINDS:
        now, then = end.rows.get((point, each)), begin.rows.get((point, each)) if begin is not None else None
        if now is not None and (begin is None or then is not None):
            old = (0, 0, 0, 0) if then is None else _counters(then)
            steps = [sum(three) for three in zip(steps, _counters(now), (-one for one in old), strict=True)]
    seconds = end.started - begin.started if begin is not None else float(age or 0)
    if min(steps) < 0 or seconds <= 0:
        return None
    count, answer, execution, moved = steps
    return _Work(seconds, count, answer / 1000 / max(count, 1), execution / 1000 / max(count, 1), moved)


def _counters(row: NfsRequests) -> tuple[int, int, int, int]:
    return row.completed, row.answer, row.execution, row.bytes


def _is_slower(one: _Slow, limits: Limits) -> bool:
    """Return whether requests of about the same size take far longer."""
    sizes = sorted((one.now.size, one.before.size))
    alike = one.kind not in {"read", "write"} or sizes[1] <= _ALIKE * sizes[0]
    return alike and _time(one.kind, one.now) >= limits["wait"] and one.times >= limits["times"]


def _is_lasting(one: _Slow, mount: NfsMount, last: _Moments, limits: Limits) -> bool:
    """Return whether both halves of the last seconds are slow, as far as each has requests."""
    half = (last[0].started + last[-1].started) / 2
    middle = min(last, key=lambda moment: abs(moment.started - half))
    parts = [_work(*ends, mount.point, one.kind) for ends in ((last[0], middle), (middle, last[-1]))]
    known = [part for part in parts if part is not None and part.count]
    return all(_time(one.kind, part) >= limits["times"] * _time(one.kind, one.before) for part in known)


def _is_unloaded(mount: NfsMount, last: _Moments, begin: Moment[NfsRequests] | None, end: Moment[NfsRequests]) -> bool:
    """Return whether the load of all requests is not larger than it was."""
    now, before = _work(last[0], last[-1], mount.point), _work(begin, end, mount.point, age=mount.age)
    return now is not None and before is not None and now.is_no_more_than(before)


def _severity(one: _Slow, limits: Limits) -> Severity:
    bad = _time(one.kind, one.now) >= limits["bad"] and one.times >= 2 * limits["times"]
    return Severity.WARNING if bad else Severity.INFO


def _finding(window: Window, mount: NfsMount, one: _Slow, limits: Limits) -> Finding:
    now, before = (_time(one.kind, work) for work in (one.now, one.before))
    row = window.get(NfsRequests, (mount.point, one.kind))
    who, often = _WORDS[one.kind], human.number(one.times)
    queued = max(one.now.execution - one.now.answer, 0.0)
    trip = _round_trip(window, mount)
    where = "to be sent" if queued > one.now.answer else _place(one.now.answer, trip)
    return Finding(
        severity=_severity(one, limits),
        subject=mount.point,
        title=f"NFS SLOW: {human.wait(before)} to {human.wait(now)} ms",
        cause=fitting(
            f"{who} take {often} times {one.past}, at no more load.",
            f"{who} take {often} times {one.past}.",
        ),
        impact=fitting(
            f"{who} wait {human.wait(now)} ms each, most of it {where}.",
            f"{who} wait {human.wait(now)} ms each.",
        ),
        values=(
            Value("time", "time of a request", now, "seconds", above=limits["wait"]),
            Value("time_before", "time before", before, "seconds"),
            Value("answer", "until the answer", one.now.answer, "seconds"),
            Value("queued", "not sent yet", queued, "seconds"),
            Value("round_trip", "round trip of the connection", trip, "seconds"),
            Value("requests", "requests completed", one.now.count / one.now.seconds, "per_second"),
            Value("server", "server", mount.server),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=tuple(_advice(mount)),
        refuted_by="programs that now ask for data that the server has to read from its disks",
        harmless_if="the server's disks are busy for another client for a while",
        cost=one.now.count / one.now.seconds * now,
        lasting=one.now.seconds,
    )


def _round_trip(window: Window, mount: NfsMount) -> float | None:
    """Return the mean round trip of TCP to the server, by its address, or if it is the only one."""
    peers = [row for row in window.rows(StoragePeer).values() if row.service == "nfs"]
    known = [row for row in peers if row.peer == mount.server]
    servers = {row.server for row in window.rows(NfsMount).values()}
    if not known and len(peers) == len(servers) == 1:
        known = peers
    return known[0].round_trip if known else None


def _place(answer: float, trip: float | None) -> str:
    """Return where a request waits for its answer: the round trip has no part in it that the server takes."""
    if trip is None or _FAST * answer < trip < _FAR * answer:
        return "for the server or the network"
    return "on the network" if trip >= _FAR * answer else "for the server"


def _advice(mount: NfsMount) -> Iterator[Advice]:
    yield "Check disks and load of the server, then the network for loss."
    if mount.server:
        yield run("ping", "-c", "5", mount.server)
    yield run("nfsiostat", "5", "2", mount.point, note="avg RTT, avg exe, avg queue")
    yield run("ss", "-tinO", "dport", "=", ":2049", note="rtt and retrans of its connections")


NFS_SLOW = Rule(
    "nfs-slow",
    "NFS mounts whose requests take far longer than before, under no more load",
    Severity.WARNING,
    _check,
    (NfsMount,),
    (
        Threshold("wait", 0.01, "time of a request", "seconds"),
        Threshold("bad", 0.1, "time of a request that is a warning", "seconds"),
        Threshold("times", 5.0, "time as a multiple of the time before; for a warning twice this"),
    ),
    instead=(NfsReport,),
    covers=(Covers(NfsMount),),
    many="answer slowly",
    view="network",
    advice="Check disks and load of the server, then the network for loss.",
)
