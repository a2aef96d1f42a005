"""Changes that rules judge at once: things, states, outcomes; not numbers, and not tasks that come and go."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pytest

from sdstop.core.change import is_change
from sdstop.core.columns import Columns
from sdstop.core.evidence import Defect, Outcome
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Label, Metric, Reading, Rows, State
from sdstop.core.snapshot import Run, snapshot
from tests.core.meters import Meter, frame, session


class Drive(Reading, frozen=True):
    """A thing with a state; its load alone changes between idle and busy."""

    family: ClassVar[str] = "drive"
    title: ClassVar[str] = "Drives"
    things: ClassVar = {"name": Identity(ThingKind.DEVICE, Naming.DEV)}

    name: Annotated[str, Label("Name")]
    state: Annotated[str, State("State", "h", alike=frozenset({"idle", "busy"}))]
    count: Annotated[int, Metric("Count", "h")] = 0


class ManyDrives(Drive, frozen=True):
    """The same where there are thousands."""

    family: ClassVar[str] = "many_drives"
    numerous: ClassVar[bool] = True


def run(*rows: Drive, outcome: Outcome = Outcome.OK, reason: str = "", defects: tuple[Defect, ...] = ()) -> Run:
    tables: dict[type[Reading], Rows] = {Drive: {row.name: row for row in rows}}
    return Run("drives", outcome, reason, 1.0, 1.0, 1.0, tables=tables, defects=defects)


def differs(before: Run, now: Run) -> bool:
    return is_change(snapshot(1, 1.0, 1.0, {"drives": before}), snapshot(2, 2.0, 2.0, {"drives": now}))


GOOD = run(Drive("a", "idle"), Drive("b", "idle"))


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (run(Drive("a", "idle", 5), Drive("b", "idle", 7)), False),
        (run(Drive("b", "idle"), Drive("a", "idle")), False),
        (run(Drive("a", "busy"), Drive("b", "idle")), False),  # alike
        (run(Drive("a", "faulty"), Drive("b", "idle")), True),
        (run(Drive("a", "idle")), True),
        (run(Drive("a", "idle"), Drive("c", "idle")), True),
        (run(Drive("a", "idle"), Drive("b", "idle"), Drive("c", "idle")), True),
        (run(Drive("a", "idle"), Drive("b", "idle"), reason="1 of 3 denied"), True),
        (run(Drive("a", "idle"), Drive("b", "idle"), outcome=Outcome.TIMEOUT), True),
        (run(Drive("a", "idle"), Drive("b", "idle"), defects=(Defect("/m", "cut"),)), True),
    ],
)
def test_more_than_numbers(now: Run, found: bool) -> None:  # noqa: FBT001
    assert differs(GOOD, now) is found
    assert differs(now, GOOD) is found


def test_a_source_that_appears_is_a_change() -> None:
    shots = [snapshot(1, 1.0, 1.0, {}), snapshot(2, 2.0, 2.0, {"drives": GOOD})]
    assert is_change(*shots)
    assert is_change(*shots[::-1])


def test_of_thousands_of_rows_the_things_count() -> None:
    def many(*rows: tuple[str, str], like: Columns | None = None) -> Columns:
        names, states = zip(*rows, strict=True)
        return Columns(ManyDrives, {"name": names, "state": states}, like)

    def shot(table: Columns) -> Run:
        return Run("drives", Outcome.OK, "", 1.0, 1.0, 1.0, tables={ManyDrives: table})

    first = many(("a", "idle"), ("b", "idle"))
    assert not differs(shot(first), shot(many(("a", "faulty"), ("b", "idle"), like=first)))
    assert not differs(shot(first), shot(many(("a", "idle"), ("b", "idle"))))
    assert differs(shot(first), shot(many(("a", "idle"), like=first)))


def test_rows_that_are_no_things_come_and_go() -> None:
    given = session()
    before, now = (given.feed(frame(n, n)).now for n in (3, 4))
    assert is_change(before, now)  # the first rates
    gone = given.feed(frame(5, 5)).now
    assert not is_change(now, gone)
    named = {"meter": Run("meter", Outcome.OK, "", 1.0, 1.0, 1.0, tables={Meter: {"b": Meter("b", 1)}})}
    other = {"meter": Run("meter", Outcome.OK, "", 2.0, 2.0, 2.0, tables={Meter: {}})}
    assert not is_change(snapshot(1, 1.0, 1.0, named), snapshot(2, 2.0, 2.0, other))
