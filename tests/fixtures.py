"""Fixtures: where they lie, their frames, and what must be found in each of them.

`fixtures/NAME/` holds a capture (capture.tar.gz, or files at their own paths, written by hand) and a README.md, in
which one block of TOML declares the findings:

    found = ["critical array-degraded md0"]  # severity, rule, subject: all above info that was ever in force
    at_end = []                              # those in force in the last frame; default: as `found`
    info = ["rebuild-running md0"]           # further findings, of severity info; others of that severity may be there
    good = ["stripe-convoy"]                 # rules that judge this story and find nothing at any time, info included
    code = 0                                 # exit code of `sdstop check`; default: as the worst of `at_end` asks for
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from _pytest.mark import ParameterSet
from msgspec.structs import replace

from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.interval import unrolled
from sdstop.core.judgement import Judgement
from sdstop.core.retention import Retention
from sdstop.core.session import Look, Session
from sdstop.rules import RULES

FIXTURES = Path(__file__).parent.parent / "fixtures"

Said = tuple[str, str, str]
"""Rule, worst severity, subject."""

_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODES = {"warning": 1, "critical": 2}


class Undeclared(Exception):  # noqa: N818
    """A fixture's README.md does not declare what must be found. Says why, and in which file."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The findings of a fixture: all above info that was ever in force, and those that are in the last frame.

    `info` must be there besides, but other findings of that severity may be, too. `good` are rules that must look and
    find nothing. `code` is what `check` returns.
    """

    found: frozenset[Said]
    last: frozenset[Said]
    info: frozenset[tuple[str, str]]
    code: int
    good: frozenset[str] = frozenset()


class _Declared(msgspec.Struct, forbid_unknown_fields=True):
    found: list[str]
    at_end: list[str] | None = None
    info: list[str] = msgspec.field(default_factory=list)
    good: list[str] = msgspec.field(default_factory=list)
    code: int | None = None


def names() -> list[str]:
    """Return the names of all fixtures."""
    return sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "texts")


def each_of(stories: Iterable[str | ParameterSet]) -> pytest.MarkDecorator:
    """Return the parameter `name` for these stories; tests/conftest.py has the tests of one story follow each other."""
    return pytest.mark.parametrize("name", list(stories))


def every_story() -> pytest.MarkDecorator:
    """Return the parameter `name` for all stories."""
    return each_of(names())


def twentieth(turn: int) -> list[ParameterSet]:
    """Return the names of all fixtures as parameters; all but every twentieth, from `turn` on, have the marker `slow`.

    For tests that take a story through a command or the screen; what these show is tested for every story without them.
    """
    return sampled(names(), 20, turn)


def third(turn: int) -> list[ParameterSet]:
    """Return the names of all fixtures as parameters; all but every third, from `turn` on, have the marker `slow`.

    For tests that change a story and judge it again.
    """
    return sampled(names(), 3, turn)


def sampled(values: Iterable[object], each: int, turn: int = 0) -> list[ParameterSet]:
    """Return values as parameters; all but every `each`-th, from `turn` on, have the marker `slow`."""
    return [pytest.param(one, marks=() if at % each == turn else pytest.mark.slow) for at, one in enumerate(values)]


def crossed(ones: Collection[object], others: Collection[object], each: int = 1) -> list[ParameterSet]:
    """Return all pairs; in every run each of the first is with `each` of the others, in turn, and with all by `slow`.

    For tests in which what differs between the others does not depend on the first.
    """
    return [
        pytest.param(one, other, marks=() if (turn - at * each) % len(others) < each else pytest.mark.slow)
        for at, one in enumerate(ones)
        for turn, other in enumerate(others)
    ]


@functools.cache
def opened(name: str) -> tuple[Origin, tuple[Frame, ...]]:
    """Open a fixture, once for all tests."""
    origin, frames = open_capture(FIXTURES / name)
    return origin, tuple(frames)


@dataclass(frozen=True)
class Story:
    """A fixture, opened as the command line does, and judged: the session at its end, and each frame's state."""

    name: str
    frames: Sequence[Frame]
    session: Session
    looks: Sequence[Look]

    @property
    def path(self) -> str:
        return str(FIXTURES / self.name)

    @property
    def judgements(self) -> list[Judgement]:
        return [look.judgement for look in self.looks]


@functools.lru_cache(maxsize=12)
def story(name: str) -> Story:
    """Return a fixture, judged once for the tests that follow each other."""
    origin, recorded = opened(name)
    assert origin.complete
    assert not origin.note
    frames = Retention(BUILTIN).frames(recorded)  # as the command line opens what others made
    origin, frames = unrolled(origin, frames, BUILTIN)
    session = Session(origin, BUILTIN, RULES)
    return Story(name, frames, session, [session.feed(frame) for frame in frames])


def untimed(fixture: str) -> Session:
    """Return a session of a fixture whose kernel counts requests and those in flight, but no time."""
    origin, frames = opened(fixture)
    session = Session(origin, BUILTIN, ())
    session.feed_all(replace(frame, evidence=tuple(map(_untimed, frame.evidence))) for frame in frames)
    return session


def _untimed(item: Evidence) -> Evidence:
    if item.key != "/proc/diskstats":
        return item
    rows = [line.split() for line in item.data.decode().splitlines()]
    times = {6, 10, 12, 13, 17, 19}
    kept = (" ".join("0" if at in times else cell for at, cell in enumerate(row)) for row in rows)
    return replace(item, data="".join(f"{row}\n" for row in kept).encode())


def renamed(fixture: str, name: str) -> list[Frame]:
    """Return a fixture's frames, whose host has another name."""
    return [
        replace(frame, evidence=tuple(_renamed(item, name) for item in frame.evidence)) for frame in opened(fixture)[1]
    ]


def _renamed(item: Evidence, name: str) -> Evidence:
    return replace(item, data=f"{name}\n".encode()) if item.key.endswith("kernel/hostname") else item


@functools.cache
def expected(name: str) -> Expected:
    """Return what must be found in a fixture. Raises Undeclared."""
    return parse(FIXTURES / name / "README.md")


def parse(readme: Path) -> Expected:
    """Return what a README.md declares. Raises Undeclared."""
    try:
        blocks = _BLOCK.findall(readme.read_text(encoding="utf-8"))
        if len(blocks) != 1:
            raise Undeclared(f"{readme}: {len(blocks)} blocks of TOML; write one that declares what must be found")
        declared = msgspec.convert(tomllib.loads(blocks[0]), _Declared)
        found = frozenset(map(_said, declared.found))
        last = found if declared.at_end is None else frozenset(map(_said, declared.at_end))
        info = frozenset(_pair(text) for text in declared.info)
    except (OSError, ValueError) as error:
        raise Undeclared(f"{readme}: {error}") from error
    code = max((_CODES[severity] for _, severity, _ in last), default=0)
    good = frozenset(declared.good)
    return Expected(found, last, info, code if declared.code is None else declared.code, good)


def declaration(found: Iterable[Said], at_end: Iterable[Said], info: Iterable[tuple[str, str]]) -> str:
    """Return the block that declares findings; `parse` reads it."""
    lists = {"found": _lines(found), "at_end": _lines(at_end), "info": sorted(f"{r} {s}" for r, s in info)}
    if lists["at_end"] == lists["found"]:
        del lists["at_end"]
    if not lists["info"]:
        del lists["info"]
    return "```toml\n" + "".join(f"{key} = {_toml(lines)}\n" for key, lines in lists.items()) + "```\n"


def _lines(found: Iterable[Said]) -> list[str]:
    return [f"{severity} {rule} {subject}" for rule, severity, subject in sorted(found)]


def _toml(lines: list[str]) -> str:
    if not lines:
        return "[]"
    quoted = [msgspec.json.encode(line).decode() for line in lines]
    return f"[{quoted[0]}]" if len(quoted) == 1 else "[\n" + "".join(f"    {line},\n" for line in quoted) + "]"


def _said(text: str) -> Said:
    words = text.split(maxsplit=2)
    if len(words) != 3 or words[0] not in _CODES:
        raise ValueError(f'"{text}": write severity, rule, subject (warning slow-stripe-member md0/vdd)')
    severity, rule, subject = words
    return rule, severity, subject


def _pair(text: str) -> tuple[str, str]:
    rule, _, subject = text.partition(" ")
    if not subject:
        raise ValueError(f'"{text}": write rule and subject (rebuild-running md0)')
    return rule, subject
