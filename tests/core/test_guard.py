"""The guard: an exception costs one part, and is counted."""

from __future__ import annotations

import re
import threading
from typing import NoReturn

import pytest

from sdstop.core.guard import Guard, Part, Superseded, caught, check_wanted, described, given_up_if


def broken() -> NoReturn:
    raise KeyError("md5")


def test_an_exception_is_described_counted_and_replaced() -> None:
    guard = Guard()
    said = guard.call(Part.RULE, "array-degraded", broken, lambda said: said)
    assert re.fullmatch(r"KeyError: 'md5' \(test_guard.py:\d+\)", said)
    assert guard.call(Part.RULE, "array-degraded", lambda: 1, lambda _: 2) == 1
    assert guard.call(Part.TALLY, "heat", broken, lambda _: 2) == 2
    assert guard.call(Part.TALLY, "heat", broken, lambda _: 2) == 2
    assert guard.counts == {(Part.RULE, "array-degraded"): 1, (Part.TALLY, "heat"): 2}


class Unspeakable(Exception):  # noqa: N818
    """An exception without a text."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_exception_without_a_text_is_described_by_its_kind() -> None:
    def unspeakable() -> NoReturn:
        raise Unspeakable

    said = caught(unspeakable)
    assert isinstance(said, Unspeakable)
    assert re.fullmatch(r"Unspeakable \(test_guard.py:\d+\)", described(said))
    assert described(ValueError("a\x1b[2Jb" + "x" * 1000)).startswith("ValueError: a\\x1b[2Jbx")
    assert len(described(ValueError("x" * 1000))) < 250


def test_what_is_not_wanted_is_given_up_where_it_was_asked_for_only() -> None:
    check_wanted()
    with given_up_if(lambda: True):
        with given_up_if(lambda: False):
            check_wanted()
        other = threading.Thread(target=check_wanted)
        other.start()
        other.join()
        with pytest.raises(Superseded):
            Guard().call(Part.RULE, "slow", check_wanted, lambda _: None)
    check_wanted()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, Superseded])
def test_the_end_of_the_program_is_not_caught(error: type[BaseException]) -> None:
    def end() -> NoReturn:
        raise error

    guard = Guard()
    with pytest.raises(error):
        guard.call(Part.FRAME, "frame", end, lambda _: None)
    assert not guard.counts
