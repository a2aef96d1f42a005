r"""Facts that matter: single changes to a story's evidence which an engineer would call a fault.

facts.toml lists them by technology. Each entry has:

    at = '/sys/class/net/(?P<thing>e\w+)/carrier'   # pattern of the whole key of the evidence
    find = '^1'                                      # pattern in its text; the first match is changed
    put = '0'                                        # replacement of the match; \1 and \g<name> are groups
    why = 'link is down'                             # the fault, in a few words
    rule = 'link-degraded'                           # rules (one, or a list) of which one must report it

Instead of `put`: `grow = 5` makes the last number of the match grow by 5 per second, `hold = true` keeps the match as
it is in the first frame. `only` is a pattern of the names of stories: elsewhere the change means nothing. `quiet` is
the reason why a verdict must appear and `check` may still return OK. If a group is called `thing`, verdicts count only
if they mention its text.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.collector import commands_of
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, slug
from sdstop.core.finding import Finding, Severity, Unchecked
from sdstop.core.judgement import Judgement, judge
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import names, opened

_NUMBER = re.compile(r"\d+(?=\D*\Z)")
_LIST = Path(__file__).parent / "facts.toml"


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change to one piece of evidence, as facts.toml declares it."""

    at: str
    find: str
    why: str
    rule: str | tuple[str, ...]
    put: str | None = None
    grow: int | None = None
    hold: bool = False
    only: str = ""
    quiet: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of which one must say it."""
        return (self.rule,) if isinstance(self.rule, str) else self.rule

    @property
    def text(self) -> re.Pattern[str]:
        return re.compile(self.find, re.MULTILINE)


class Place(msgspec.Struct, frozen=True):
    """The piece of evidence of a story in which a fact is changed, and the thing that it is about ("": not named)."""

    key: str
    thing: str


@functools.cache
def facts() -> tuple[tuple[str, Fact], ...]:
    """Return the list: technology and fact."""
    read = tomllib.loads(_LIST.read_text(encoding="utf-8"))
    return tuple((name, msgspec.convert(each, Fact)) for name, part in read.items() for each in part["facts"])


@functools.cache
def recorded(story: str) -> tuple[Origin, tuple[Frame, ...]]:
    """Return a story with its commands under their full names."""
    origin, frames = opened(story)
    kept = Retention(BUILTIN).frames(frames)
    return origin, tuple(replace(frame, evidence=tuple(map(_named, frame.evidence))) for frame in kept)


_COMMANDS = {
    f"slug:{slug(' '.join(command.argv))}": command.what for command in commands_of(BUILTIN) if "*" not in command.argv
}


def _named(item: Evidence) -> Evidence:
    return replace(item, key=_COMMANDS[item.key]) if item.key in _COMMANDS else item


@functools.cache
def last(story: str) -> dict[str, bytes]:
    """Return the evidence of a story that can be read, by key and in its last state."""
    found = {item.key: item for frame in recorded(story)[1] for item in frame.evidence}
    texts = {key: item for key, item in found.items() if not key.startswith(("link:", "list:"))}
    return {key: bytes(item.data) for key, item in texts.items() if item.outcome is Outcome.OK}


@functools.cache
def keys() -> dict[str, list[str]]:
    """Return the stories that have a piece of evidence, by its key, in order."""
    found: dict[str, list[str]] = {}
    for story in names():
        for key in last(story):
            found.setdefault(key, []).append(story)
    return dict(sorted(found.items()))


@functools.cache
def places(at: str) -> dict[str, list[re.Match[str]]]:
    """Return the keys that match a pattern, by story."""
    pattern = re.compile(at)
    found: dict[str, list[re.Match[str]]] = {}
    for key, having in keys().items():
        if match := pattern.fullmatch(key):
            for story in having:
                found.setdefault(story, []).append(match)
    return found


@functools.cache
def place(story: str, fact: Fact) -> Place | None:
    """Return the first piece of evidence in which a fact can be changed, None if there is none."""
    for at in places(fact.at).get(story, ()):
        if found := fact.text.search(last(story)[at[0]].decode("utf-8", "surrogateescape")):
            return Place(at[0], {**at.groupdict(), **found.groupdict()}.get("thing") or "")
    return None


def changed(frames: Sequence[Frame], fact: Fact, key: str) -> Iterator[Frame]:
    """Yield the frames with a fact changed in all of them."""
    began, first = frames[0].monotonic, ""
    known: Evidence | None = None

    def grown(found: re.Match[str], seconds: float) -> str:
        step = round((fact.grow or 0) * seconds)
        return _NUMBER.sub(lambda number: str(int(number[0]) + step), found[0], count=1)

    for frame in frames:
        now = next((item for item in frame.evidence if item.key == key), None)
        known = now or known
        if known is None or known.outcome is not Outcome.OK or (now is None and fact.grow is None):
            yield frame
            continue
        text = bytes(known.data).decode("utf-8", "surrogateescape")
        found = fact.text.search(text)
        if found is None:
            yield frame
            continue
        first = first or found[0]
        seconds = frame.monotonic - began
        made = grown(found, seconds) if fact.grow is not None else first if fact.hold else found.expand(fact.put or "")
        data = (text[: found.start()] + made + text[found.end() :]).encode("utf-8", "surrogateescape")
        others = tuple(item for item in frame.evidence if item.key != key)
        yield replace(frame, evidence=(*others, replace(known, data=data)))


def judged(origin: Origin, frames: Iterable[Frame]) -> tuple[Judgement, int]:
    """Return what all rules say at the end of some frames, and the exit code."""
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    judgement = judge(session.head().window, RULES, {})
    return judgement, session.headline(judgement).code


@functools.cache
def unchanged(story: str) -> tuple[Judgement, int]:
    """Return what all rules say of a story, and its exit code."""
    return judged(*recorded(story))


Told = dict[tuple[str, str], Severity | None]
"""Severity by rule and subject; None: unchecked."""


def told(judgement: Judgement, rules: Sequence[str], thing: str) -> Told:
    """Return findings and unchecked verdicts of some rules that mention a thing."""
    made: Told = {}
    for verdict in judgement.unchecked:
        if verdict.rule in rules and not verdict.calm and thing in _words(verdict):
            made[verdict.rule, _words(verdict)] = None
    for finding in judgement.singles:
        if finding.rule in rules and thing in _words(finding):
            made[finding.rule, finding.subject] = finding.severity
    return made


def _words(verdict: Finding | Unchecked) -> str:
    return str(verdict) if isinstance(verdict, Finding) else f"{verdict.subject} {verdict.subjects} {verdict.reason}"


def silent(story: str, fact: Fact) -> str:
    """Return how a changed fact stays unsaid in a story; "" if it is said.

    What was found at the same thing by the same rule before must still be found.
    """
    where = place(story, fact)
    assert where is not None
    origin, frames = recorded(story)
    (before, code), (after, now) = unchanged(story), judged(origin, changed(frames, fact, where.key))
    old, new = told(before, fact.rules, where.thing), told(after, fact.rules, where.thing)
    said = {each for each, severity in new.items() if each not in old or _rank(severity) > _rank(old[each])}
    kept = any(severity is not None and _rank(new.get(each)) >= _rank(severity) for each, severity in old.items())
    if not said and not kept:
        return "nothing new"
    return "still OK" if code == 0 and now == 0 and not fact.quiet else ""


def _rank(severity: Severity | None) -> int:
    return -1 if severity is None else severity.rank


def stories(fact: Fact) -> list[str]:
    """Return the stories in which a fact can be changed."""
    chosen = [story for story in places(fact.at) if not fact.only or re.fullmatch(fact.only, story)]
    return [story for story in chosen if place(story, fact) is not None]
