"""Fuzz, a few cases of each kind with a seed of their own; `python -m tests.fuzz` does it for minutes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdstop.core.diagnosis import Diagnosis
from sdstop.core.replay import Replay
from tests import fuzz
from tests.fixtures import FIXTURES

CASES = {"archive": 3, "folder": 1, "sosreport": 1, "pasted": 3, "recording": 3}
"""Cases of each kind in every run; fifteen times as many more by `-m slow`."""


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "cases"), CASES.items())
def test_what_is_damaged_opens_or_is_refused_and_nothing_else(kind: str, cases: int, *, first: bool) -> None:
    chosen = range(cases) if first else range(cases, 16 * cases)
    tally = fuzz.run(kind, 2026, iter(chosen))
    assert tally.cases == len(chosen)
    assert tally.opened > len(chosen) / 2  # what is refused at once shows nothing


def test_a_case_is_the_same_from_its_seed_and_number(tmp_path: Path) -> None:
    made = []
    for turn in "ab":
        folder = tmp_path / turn
        folder.mkdir()
        made.append(fuzz.KINDS["pasted"](folder, random.Random("pasted 1 7")).read_bytes())
    assert made[0] == made[1]


def _broken(*_: object, **__: object) -> None:
    raise IndexError("broken")


class TestWhatBreaksIsFound:
    """A fuzzer that finds nothing may be blind."""

    def test_a_parser(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def broken(text: str) -> Iterator[Any]:
            raise IndexError(text[:3])

        monkeypatch.setattr("sdstop.collectors.md.mdstat.parse", broken)
        path = tmp_path / "pasted.txt"
        path.write_text("$ cat /proc/mdstat\nPersonalities : [raid1]\nunused devices: <none>\n")
        with pytest.raises(fuzz.Escaped, match=r"collector md\w+: IndexError: "):
            fuzz.look(path)

    def test_a_rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sdstop.rules.arrays.array_degraded._degraded", lambda *_: 1 / 0)
        with pytest.raises(fuzz.Escaped, match="rule array-degraded: error in this rule: ZeroDivisionError"):
            fuzz.look(FIXTURES / "md-degraded")

    def test_an_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for owner, name in ((Replay, "feed"), (Diagnosis, "add")):
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, _broken)
                with pytest.raises(IndexError):
                    fuzz.look(FIXTURES / "quiet-node")

    def test_what_controls_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fuzz, "text_report", lambda _: "a\x1b[2Jb")
        with pytest.raises(fuzz.Escaped, match="the text holds"):
            fuzz.look(FIXTURES / "quiet-node")

    def test_the_case_is_told_and_kept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(fuzz, "open_capture", _broken)
        kept = tmp_path / "kept"
        with pytest.raises(IndexError) as error:
            fuzz.run("pasted", 5, iter([3]), kept)
        assert error.value.__notes__ == ["pasted, seed 5, case 3"]
        assert kept.stat().st_size > 0
