"""Caches whose device takes longer for a request than the disk behind it."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.disks.device_work import DeviceWork, device_work
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Moment, Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cache import Cache
from sdstop.readings.disk import Disk

_SECONDS = 20.0
"""Time to judge."""
_FEWEST = 40
"""Requests that each of both devices must have in it."""
_MOVES = 5e7
"""Bytes per second that any cache device moves: the time for a request's size does not count."""
_ALIKE = 2.0
"""Largest ratio of the cache's mean request to the disk's."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    for cache in window.rows(Cache).values():
        if not cache.fast or not cache.slow:
            yield Unchecked("cache device or the disk behind it unknown", cache.cache, calm=True)
            continue
        for fast in cache.fast.split(","):
            yield _judged(window, moments, cache, fast, cache.slow, limits)


def _judged(window: Window, moments: list[Moment[Disk]], cache: Cache, fast: str, slow: str, limits: Limits) -> Verdict:
    first = next((m for m in moments if m.started >= moments[-1].started - _SECONDS - 0.5), None)
    if first is None or moments[-1].started - first.started < _SECONDS - 1.0:
        seconds = 0.0 if first is None else moments[-1].started - first.started
        return Unchecked(f"collecting data: {seconds:.0f} of {_SECONDS:g} s", cache.cache, gap=Gap.EARLY)
    cached, stored = (device_work(first, moments[-1], name, _FEWEST) for name in (fast, slow))
    if cached is None:
        return Unchecked(f"fewer than {_FEWEST} requests to its device in {_SECONDS:g} s", cache.cache, calm=True)
    takes = cached.service - cached.size / _MOVES
    said = f"{human.wait(cached.service)} ms of work a request of {human.safe(fast, 20)}"
    if takes < limits["service"] or cached.wait < limits["wait"]:
        return RuledOut(cache.cache, said)
    if stored is None or cached.size > stored.size * _ALIKE:
        return Unchecked(f"{said}, but no requests as large to the disk behind it", cache.cache, calm=True)
    if takes < limits["times"] * stored.service or cached.wait < limits["times"] * stored.wait:
        return RuledOut(cache.cache, f"{said}, {human.wait(stored.service)} ms of the disk behind it")
    return _finding(window, cache, fast, slow, cached, stored, limits)


def _finding(
    window: Window, cache: Cache, fast: str, slow: str, cached: DeviceWork, stored: DeviceWork, limits: Limits
) -> Finding:
    rows = [window.get(Disk, name) for name in (fast, slow)]
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title=f"CACHE SLOWER THAN ITS DISK: {human.wait(cached.wait)} ms",
        cause=f"A request to the cache device waits {human.wait(cached.wait)} ms, to the disk "
        f"{human.wait(stored.wait)} ms.",
        impact="Requests that the cache serves or absorbs wait longer than without it.",
        values=(
            Value("device", "cache device", fast),
            Value("service", "busy time per request, cache device", cached.service, "seconds", above=limits["service"]),
            Value("wait", "wait of a request, cache device", cached.wait, "seconds", above=limits["wait"]),
            Value("completed", "requests completed, cache device", cached.completed, "per_second"),
            Value("disk", "disk behind it", slow),
            Value("disk_service", "busy time per request, disk", stored.service, "seconds"),
            Value("disk_wait", "wait of a request, disk", stored.wait, "seconds"),
        ),
        evidence=cites(*(window.cite(row) for row in rows if row is not None)),
        advice=tuple(_advice(cache, fast)),
        refuted_by="a cache device that is slow only while it cleans up after a large write",
        cost=cached.completed * cached.wait,
        lasting=cached.seconds,
    )


def _advice(cache: Cache, fast: str) -> Iterator[Advice]:
    yield "Check the cache device; run without it until it is replaced."
    yield run("smartctl", "-x", f"/dev/{fast}", note="wear, errors, temperature")
    if cache.kind == "bcache" and cache.device:
        yield run("echo", "1", into=f"/sys/block/{cache.device}/bcache/detach", note="after dirty data are written")
    elif cache.kind == "dm-cache" and "/" in cache.cache:
        yield run("lvconvert", "--splitcache", cache.cache, note="after dirty data are written")


CACHE_SLOW = Rule(
    "cache-slow",
    "cache whose device takes longer for a request than the disk behind it",
    Severity.WARNING,
    _check,
    (Cache, Disk),
    (
        Threshold("service", 0.005, "busy time per request of the cache device", "seconds"),
        Threshold("wait", 0.01, "wait of a request to it", "seconds"),
        Threshold("times", 3.0, "both, as a multiple of those of the disk"),
    ),
    covers=(),
    explains=("device-slowed", "cache-bypassed"),
    many="are slower than their disks",
    view="caches",
    advice="Check the cache device; run without it until it is replaced.",
)
