"""Mangled texts: findings stay as they are or the text is reported as unread, and nothing is good that was not before.

A text that is cut at a line boundary may lose findings about the lost rows. It never has findings of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet

from sdstop.core.account import Use, accounts
from sdstop.core.evidence import Outcome
from sdstop.core.session import Session
from sdstop.pasted import TextRefused
from tests.pasted.corpus import Text, findings, judged, ruled_out, texts
from tests.pasted.mangling import DAMAGE, SAME, TOOLS, cuts

EVERY = texts()


@dataclass(frozen=True)
class Said:
    """Findings, things ruled out, and whether it is reported that something was not read, or not as a whole."""

    found: frozenset[str]
    good: frozenset[str]
    doubtful: bool


def said(data: str | bytes, names: Mapping[str, str]) -> Said:
    """Return the result of a text; `names` has the other names of things, which they have where a command is lost."""
    try:
        session = judged(data.encode() if isinstance(data, str) else data)
    except TextRefused:
        return Said(frozenset(), frozenset(), doubtful=True)
    return Said(_known(findings(session), names), _known(ruled_out(session), names), _doubtful(session))


def _known(results: Iterable[str], names: Mapping[str, str]) -> frozenset[str]:
    """Return results with the usual names of their things."""
    parts = (each.rpartition(" ") for each in results)
    return frozenset(f"{words} {names.get(name, name)}" for words, _, name in parts)


@functools.cache
def of_whole(text: Text) -> Said:
    """Return the result of a text, once for all tests; good too is what is so where a fence shows its end."""
    plain, names = text.data.decode(), text.declared.names
    bare, fenced = said(plain, names), said(f"```\n{plain.rstrip()}\n```\n", names)
    return Said(bare.found, bare.good | fenced.good, bare.doubtful)


def _doubtful(session: Session) -> bool:
    now = session.head().now
    unread = any(each.use is Use.UNREAD for each in accounts(session.origin, now))
    return unread or any(run.outcome in {Outcome.UNREAD, Outcome.FAILED} or run.defects for run in now.runs.values())


def faults(before: Said, after: Said, *, cut: bool = False) -> list[str]:
    """Return what is wrong with the result of a mangled text.

    A cluster or host that a thing is in may be lost, as may its name, but not changed. A text that shows less may have
    a weaker form of a finding: that a pool is degraded, and not that nothing more can fail. It must be doubtful then.
    """
    found, good = _things(before.found), _things(before.good)
    if after.doubtful:
        found |= _things(_above(before.found))
        found |= {each.replace("critical ", "warning ", 1) for each in found}
    wrong = [f"false alarm: {each}" for each in sorted(after.found - before.found) if not _is_of(each, found)]
    wrong += [f"good that was not: {each}" for each in sorted(after.good - before.good) if not _is_of(each, good)]
    if not cut and not after.doubtful:
        wrong += [f"lost in silence: {each}" for each in sorted(before.found - after.found)]
    return wrong


_WHOLE = re.compile(r"(?:ceph(?:-\w+)?|HEALTH_\w+|\d+:\d+:\d+:\d+|UNKNOWN_CHECK\w*|memory)?")
"""Thing that has no name of its own, or has lost it."""


def _thing(said: str) -> str:
    """Return a result with the last part of its thing's name, or without one that names no single thing."""
    *words, name = said.split(" ") if said.count(" ") < 3 else said.split(" ", 2)
    leaf = name.rpartition("/")[2]
    return " ".join([*words, "" if _WHOLE.fullmatch(leaf) else leaf])


def _above(found: Iterable[str]) -> Iterator[str]:
    """Yield the findings for the things that contain theirs: a pool is degraded as its device is."""
    for each in found:
        kind, _, name = each.rpartition(" ")
        yield from (f"{kind} {name[: at.start()]}" for at in re.finditer("/", name))


def _is_of(said: str, known: set[str]) -> bool:
    """Return whether a result is a known one, whose thing may have lost the beginning of its name."""
    *words, name = _thing(said).split(" ")
    likely = [each.split(" ")[-1] for each in known if words and each.split(" ")[:-1] == words]
    return _thing(said) in known or any(_ends(each, name) or name.endswith(f"-{each}") for each in likely if each)


_SHORTEST = 2
"""Minimum length of the end of a name."""


def _ends(name: str, end: str) -> bool:
    return len(end) >= min(_SHORTEST, len(name)) and name.endswith(end)


def _things(said: Iterable[str]) -> set[str]:
    """Return the results that may be left of these: with the last part of the name, or without a name."""
    every = list(said)
    return set(map(_thing, every)) | {f"{_thing(each).rpartition(' ')[0]} " for each in every}


# The parameters' scope has the tests of one text follow each other: a process that has some of them judges it once.

PARTS = 16
"""Number of parts of all changes; each text has one of them by default, and all others with `-m slow`."""


def _turns() -> list[ParameterSet]:
    return [
        pytest.param(text, part, id=f"{text.name}-{part}", marks=() if at % PARTS == part else pytest.mark.slow)
        for at, text in enumerate(EVERY)
        for part in range(PARTS)
    ]


@pytest.mark.parametrize(("text", "part"), _turns(), scope="module")
def test_a_mangled_text_says_the_same_or_is_unread(text: Text, part: int) -> None:
    plain = text.data.decode()
    names = text.declared.names
    before = of_whole(text)
    chosen = list((SAME | TOOLS).items())[part::PARTS]
    wrong = {name: fault for name, mangle in chosen if (fault := faults(before, said(mangle(plain), names)))}
    assert wrong == {}


@pytest.mark.parametrize("text", EVERY, ids=lambda text: text.name, scope="module")
def test_a_damaged_text_makes_nothing_good_and_nothing_bad(text: Text) -> None:
    plain = text.data.decode()
    names = text.declared.names
    before = of_whole(text)
    wrong = {
        name: fault for name, harm in DAMAGE.items() if (fault := faults(before, said(harm(plain), names), cut=True))
    }
    assert wrong == {}


@pytest.mark.parametrize(("text", "part"), _turns(), scope="module")
def test_a_cut_text_makes_nothing_good_and_nothing_bad(text: Text, part: int) -> None:
    plain = text.data.decode()
    names = text.declared.names
    before = of_whole(text)
    chosen = list(cuts(plain))[part::PARTS]
    wrong = {name: fault for name, cut in chosen if (fault := faults(before, said(cut, names), cut=True))}
    assert wrong == {}


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
