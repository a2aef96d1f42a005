"""An NVMe namespace that its target serves by none of the controllers that are up: every request waits.

An inaccessible path is no fault by itself: arrays serve a namespace by one of their controllers and keep the others as
standbys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.stalled import FOLLOWS_WAITS
from sdstop.collectors.network.nvme_paths import NvmePath
from sdstop.collectors.network.session_states import SessionState
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import (
    Damage,
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
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window

_SERVED = frozenset({"optimized", "non-optimized"})
_REFUSED = frozenset({"inaccessible", "persistent-loss", "change"})
_LIVE = "live"
_GRACE = 0.5


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    by_name: dict[str, list[NvmePath]] = {}
    for row in window.rows(NvmePath).values():
        by_name.setdefault(row.namespace, []).append(row)
    states = {row.session: row.state for row in window.rows(SessionState).values()}
    for name, paths in by_name.items():
        live = [row for row in paths if states.get(row.controller, _LIVE) == _LIVE]
        served = [row for row in live if row.state in _SERVED]
        odd = [row for row in live if row.state not in _SERVED | _REFUSED]
        if served:
            yield RuledOut(name, f"{len(served)} of {human.plural(len(paths), 'path')} served")
        elif not live:
            yield Unchecked("all controllers are down (see session-down)", name)
        elif odd:
            yield Unchecked(f'unknown ANA state "{human.safe(odd[0].state or "", 30)}"', name, gap=Gap.FAULTY)
        else:
            seconds = _since(window, name)
            if seconds + _GRACE < limits["seconds"] and len(window.moments(NvmePath)) > 1:
                why = f"no path for {human.duration(seconds)}: critical after {limits['seconds']:g} s"
                yield Unchecked(why, name, gap=Gap.EARLY)
            else:
                yield _finding(window, name, paths, live, seconds, limits)


def _since(window: Window, name: str) -> float:
    """Return for how many seconds no sample shows a path that is served."""
    moments = window.moments(NvmePath)
    first = moments[-1].started
    for moment in moments[::-1]:
        then = [row for row in moment.rows.values() if row.namespace == name]
        if not then or any(row.state in _SERVED for row in then):
            break
        first = moment.started
    return moments[-1].started - first


def _finding(
    window: Window, name: str, paths: Sequence[NvmePath], live: Sequence[NvmePath], seconds: float,
    limits: Limits,
) -> Finding:  # fmt: skip
    states = ", ".join(dict.fromkeys(row.state or "" for row in live))
    cause = fitting(
        f"Controllers are live, but the target reports all paths {states}.",
        "Controllers are live, but the target serves no path.",
    )
    if len(live) < len(paths):
        down = f"{len(paths) - len(live)} of {human.plural(len(paths), 'controller')} down"
        cause = fitting(f"{down}; paths by the others are {states}.", f"{down}; the others serve no path.")
    return Finding(
        severity=Severity.CRITICAL,
        subject=name,
        title="NO PATH SERVED: I/O is held",
        cause=cause,
        impact="Every request waits until the target serves a path again.",
        values=(
            Value("paths", "paths that the target serves", 0, "", of=len(paths)),
            Value("seconds", "duration, minimum", seconds, "seconds", above=limits["seconds"]),
            *(Value(row.path, f"{row.path} by {row.controller}", row.state) for row in paths[:8]),
        ),
        evidence=cites(*(window.cite(row) for row in paths[:4])),
        advice=(
            "Check on the target which of its controllers owns the namespace.",
            run("nvme", "list-subsys", note="paths and their states"),
            run("journalctl", "-k", note="ANA changes").pipe("grep", "-i", "-E", "nvme.*ana").pipe("tail", "-40"),
        ),
        refuted_by="a path with ana_state optimized or non-optimized, by a live controller",
        lasting=seconds,
    )


NVME_NO_PATH = Rule(
    "nvme-no-path",
    "NVMe namespace that its target serves by no live controller",
    Severity.CRITICAL,
    _check,
    (NvmePath,),
    (Threshold("seconds", 10.0, "minimum time without a path; arrays move a namespace in less", "seconds"),),
    many="have no path that is served",
    damage=Damage.AVAILABILITY,
    view="disks",
    explains=FOLLOWS_WAITS,
)
