"""Mangled texts: findings stay as they are or the text is reported as unread, and nothing is good that was not before.

Every fourth text has one part of all its changes here, the others have theirs in the slow tests;
`python -m tests.pasted.mangle`, in .ci/full, tries all of them.
"""

from __future__ import annotations

from typing import Self

import pytest

from tests.pasted import mangle
from tests.pasted.corpus import Text
from tests.pasted.mangle import EVERY, Said, changes, faults
from tests.pasted.mangling import DAMAGE

PARTS = 96
"""Number of parts of all changes; pairs of texts have neighboring parts, so every change meets some texts."""
DAMAGES = 6
"""Number of parts of all damage."""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param(text, at // 2, id=text.name, marks=[pytest.mark.slow] * (at % 4 > 0))
        for at, text in enumerate(EVERY)
    ],
)
def test_a_mangled_text_says_the_same_or_is_unread(text: Text, at: int) -> None:
    """No finding is new, nothing is good that was not; damage and cuts may lose findings."""
    every = changes(text)
    damage = [every[name] for name in DAMAGE]
    others = [change for change in every.values() if change.name not in DAMAGE]
    chosen = [*others[at % PARTS :: PARTS], *damage[at % DAMAGES :: DAMAGES]]
    assert {change.name: found for change in chosen if (found := change.faults())} == {}


def test_the_check_sees_each_fault() -> None:
    before = Said(frozenset({"critical a b"}), frozenset({"x y"}), doubtful=False)
    assert faults(before, before) == []
    assert faults(before, Said(frozenset(), frozenset(), doubtful=True)) == []
    assert faults(before, Said(frozenset(), frozenset(), doubtful=False)) == ["lost in silence: critical a b"]
    weaker, other = frozenset({"warning a b"}), frozenset({"warning a c"})
    assert faults(before, Said(weaker, before.good, doubtful=True)) == []
    assert "false alarm: warning a b" in faults(before, Said(weaker, before.good, doubtful=False))
    assert faults(before, Said(other, before.good, doubtful=True)) == ["false alarm: warning a c"]
    assert faults(before, Said(before.found, frozenset({"x z"}), doubtful=True)) == ["good that was not: x z"]


def test_a_fault_is_printed_and_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(mangle, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr("sys.argv", ["mangle", "--text", EVERY[0].name, "--change", "crlf", "--seed", "1"])
    assert mangle.main() == 0
    assert capsys.readouterr().out == "1 of 1 changes with seed 1, 0 with faults\n"
    monkeypatch.setattr(mangle, "faults", lambda *_, **__: ["false alarm: critical a b"])
    assert mangle.main() == 1
    assert f"{EVERY[0].name}, crlf: false alarm: critical a b\n1 of 1 changes" in capsys.readouterr().out


class _Here:
    """A pool of processes that works in this one, so that the test can change what they call."""

    map = staticmethod(map)

    def __init__(self, processes: int) -> None:
        assert processes == 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass
