"""Sides of comparisons, made of fixtures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from sdstop.analysis.comparison.comparison import Comparison, comparison
from sdstop.analysis.comparison.load_totals import LoadTotals
from sdstop.analysis.comparison.sides import ComparedSide
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.interval import unrolled
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import opened, story


def side(
    name: str, frames: Sequence[Frame] | None = None, *, host: str | None = None, moment: bool = False
) -> ComparedSide:
    """Return a fixture as a side, or other frames of its origin."""
    session, loads = _whole(name) if frames is None and host is None else _fed(name, frames, host)
    return ComparedSide(session, loads, f"fixtures/{name}", moment=moment)


@functools.lru_cache(maxsize=16)
def _whole(name: str) -> tuple[Session, LoadTotals]:
    """Return a fixture, judged once for all tests: comparisons only read it."""
    told, loads = story(name), LoadTotals()
    for look in told.looks:
        loads.add(look.now)
    return told.session, loads


def _fed(name: str, frames: Sequence[Frame] | None = None, host: str | None = None) -> tuple[Session, LoadTotals]:
    origin, recorded = opened(name)
    origin, chosen = unrolled(origin, list(recorded if frames is None else frames), BUILTIN)
    session = Session(origin if host is None else replace(origin, name=host), BUILTIN, RULES, remember=0.0)
    loads = LoadTotals()
    for frame in chosen:
        loads.add(session.feed(frame).now)
    return session, loads


def pair(before: str, after: str) -> Comparison:
    """Compare two fixtures."""
    return comparison(side(before), side(after))


def without(name: str, unwanted: Callable[[str], bool], collectors: Iterable[str] = ()) -> list[Frame]:
    """Return a fixture's frames without some evidence, as if these sources had not been recorded."""
    gone = frozenset(collectors)
    return [
        replace(
            frame,
            evidence=tuple(item for item in frame.evidence if not unwanted(item.key)),
            ran=None if frame.ran is None else {key: mark for key, mark in frame.ran.items() if key not in gone},
        )
        for frame in opened(name)[1]
    ]


def edited(name: str, edit: Callable[[str], str]) -> list[Frame]:
    """Return a fixture's frames with keys and text changed."""

    def changed(item: Evidence) -> Evidence:
        return replace(item, key=edit(item.key), data=edit(item.data.decode("latin-1")).encode("latin-1"))

    return [replace(frame, evidence=tuple(map(changed, frame.evidence))) for frame in opened(name)[1]]
