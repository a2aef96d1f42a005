"""Collector: one source of readings, with its schedule and declared needs."""

# Annotations are not postponed: an index is decoded by them (sdstop.core.index), and their text would be evaluated.

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fnmatch import translate
from functools import cache
from typing import Any

from msgspec import Struct

from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.families import Derivations, Families, Providers, names_of
from sdstop.core.form import Form
from sdstop.core.host import Host
from sdstop.core.model import Reading, Rows

TEXTS_ONLY = "Read recorded output, not a live node"
"""Heading of sources that are not `Collector.is_live`, in lists of sources of a live node."""
LIVE = 1.0
"""Seconds between runs for sources that the kernel serves from memory."""
SLOW = 60.0
"""Seconds between runs for sources that are expensive to read or rarely change."""
QUIET = 600.0
"""Seconds between runs for what changes with events of block devices, as long as there are none."""
RESTING = 10.0
"""Seconds between the rounds of all sources on a node at rest (see sdstop.sampler.rest).

A scrape fails if the newest judged sample is 15 s old, so a round may be late by five.
"""
ONCE = math.inf
"""Interval of sources read at the start and again only when their fingerprint changes."""


_WORD = expression(r"[A-Za-z0-9_./][A-Za-z0-9_./:@%+=,-]*")


class Interval(Struct, frozen=True):
    """Output of one interval, in the form of output that reports only this one, and its length if known."""

    data: bytes
    seconds: float | None = None


_translated = cache(translate)
"""Patterns of keys as regular expressions; every replay of a capture asks for all of them."""


class Need(Struct, frozen=True, tag=True):
    """One kind of evidence that a collector reads: `what` is a pattern of its keys, `why` one line.

    For `cmd:` patterns the collector reads recorded output; nothing is run for them on a live node (see Command).
    `keep` returns the part of the data to record if the rest may contain secrets; it is applied on a live node while
    reading, and to evidence from other captures. `redact` returns the data that redaction keeps before it replaces
    names: without free text and names that are in no field of a reading. Both are idempotent and never raise. `split`
    receives a recorded command and its output and returns the intervals it reports, oldest first, none if it reports no
    several; it never raises (sdstop.core.interval). `filled` marks evidence that the node never returns empty: all of
    it, or the files with these names; if such a file is empty, its content was lost. `everyone` marks evidence that
    every user of a node can read: no privilege helps where it is refused, so the read has failed and is not denied.
    `part` returns the part of one key's data from which the rows follow, and raises Malformed; as long as the part is
    equal, another version of the data gives the same rows.
    """

    what: str
    why: str
    privilege: str = ""
    keep: Callable[[bytes], bytes] | None = None
    redact: Callable[[bytes], bytes] | None = None
    split: Callable[[str, bytes], Sequence[Interval]] | None = None
    filled: bool | tuple[str, ...] = False
    everyone: bool = False
    part: Callable[[bytes], Hashable] | None = None


class Command(Struct, frozen=True, tag=True):
    """Read-only command that a collector runs on a live node.

    In `argv`, `*` matches one word that is not an option; everything else is run as written. With `keep`, a pattern,
    only output lines that begin with a match are kept; the others may contain secrets. With `filled`, a successful run
    never prints nothing.
    """

    argv: tuple[str, ...]
    why: str
    privilege: str = ""
    keep: str = ""
    filled: bool = False

    @property
    def what(self) -> str:
        """Pattern of the evidence key."""
        return command_key(self.argv)

    def allows(self, argv: Sequence[str]) -> bool:
        """Return whether this declaration covers a call."""
        return len(argv) == len(self.argv) and all(
            given == known or (known == "*" and _WORD.fullmatch(given) is not None)
            for given, known in zip(argv, self.argv, strict=True)
        )

    def kept(self, output: bytes) -> bytes:
        """Return the lines of the output that may be kept."""
        if not self.keep:
            return output
        pattern = re.compile(self.keep.encode())
        return b"".join(line for line in output.splitlines(keepends=True) if pattern.match(line))


class Question(Struct, frozen=True, tag=True):
    """Query of a live node whose result is recorded instead of the files it is derived from.

    Used for files that contain secrets and for trees too large to keep. `answer` runs in the sampler's worker over
    the live host and returns JSON data; the files it reads are not recorded, so its result must not contain secrets.
    Without `answer`, the question must be one that sdstop.node.answers implements. An answer is reused for `holds`
    seconds. `keep` and `redact` are as in Need, for recorded answers.
    """

    name: str
    why: str
    privilege: str = ""
    answer: Callable[[Host], Any] | None = None
    holds: float = 0.0
    keep: Callable[[bytes], bytes] | None = None
    redact: Callable[[bytes], bytes] | None = None

    @property
    def what(self) -> str:
        """Evidence key."""
        return f"answer:{self.name}"


class Collector(Struct, frozen=True):
    """One source. `read` is plain synchronous code over a host; it may raise the errors of hosts, and Malformed.

    `pace` is the minimum number of seconds between runs (the sampler's interval may be longer), `deadline` the number
    of seconds after which a read, and so its run, counts as hung. `fingerprint`, if given, is evaluated at every
    interval and must be cheap; when its value changes the collector runs at once (this is how slow collectors notice
    hot-plug). `quiet` is the minimum number of seconds between runs while the kernel reports events of block devices
    and has reported none since the last run; 0: `pace`. `resting` is the minimum number of seconds on a node at rest;
    0: `pace`. `second` is that between the first run and the second, so that counters grow within a check of seconds;
    0: `pace`. `derives` are families derived from two successive runs. `lacks` receives the tables of a successful
    run and returns which data was denied, "" if none; denied files are reported without it. `eager`: all reads are
    complete when `read` returns, so that the evidence can be collected without parsing; its rows may use other
    collectors' evidence. `option` is the command-line option that the source requires. `devices` is a pattern of
    names (`md0`, `mapper/vg0-home`) of block devices whose state is known from this source: where it was not
    recorded, rules owe an unchecked verdict to each of them that another source shows (see sdstop.core.coverage).
    `forms` are the text outputs that it reads, by which they are recognized in pasted text. `stirs` receives two
    successive contents of the first file among the needs, and the seconds between them; it returns whether the node
    does enough for every source to be read at each interval. It is called in the sampler and must be cheap (see
    sdstop.sampler.rest).
    """

    name: str
    title: str
    read: Callable[[Host], Iterable[Reading]]
    families: Families
    needs: tuple[Need | Command | Question, ...]
    pace: float = LIVE
    deadline: float = 2.0
    fingerprint: Callable[[Host], Hashable] | None = None
    derives: Derivations = ()
    lacks: Callable[[Mapping[type[Reading], Rows]], str] | None = None
    eager: bool = False
    option: str = ""
    devices: str = ""
    forms: tuple[Form, ...] = ()
    quiet: float = 0.0
    resting: float = 0.0
    second: float = 0.0
    stirs: Callable[[bytes, bytes, float], bool] | None = None

    @property
    def family_names(self) -> Sequence[str]:
        """Names of its families and of those that are derived from them."""
        return (*names_of(self.families), *names_of(self.derives))

    @property
    def longest(self) -> float:
        """Longest number of seconds between runs."""
        return max(self.pace, self.quiet)

    @property
    def longest_at_rest(self) -> float:
        """The same for an exporter, whose node may be at rest."""
        return self.longest if self.stirs is not None else max(self.longest, self.resting, RESTING)

    @property
    def is_live(self) -> bool:
        """Whether a live node can be asked; otherwise it reads only recorded output of other people's commands."""
        return not self.needs or any(
            not isinstance(need, Need) or not need.what.startswith("cmd:") for need in self.needs
        )

    def filled(self) -> Callable[[str], object]:
        """Return a test of keys: whether the node never returns this evidence empty (see Need).

        The first call compiles the pattern, because nearly all evidence has content.
        """
        needs = [need for need in self.needs if not isinstance(need, Question) and need.filled]
        exact = {need.what for need in needs if need.filled is True and not is_pattern(need.what)}
        others = [need for need in needs if need.what not in exact]
        pattern = cache(lambda: re.compile(_filled_keys(others)))
        return lambda key: key in exact or (bool(others) and pattern().match(key))

    def everyone(self) -> Callable[[str], object]:
        """Return a test of keys: whether every user of a node can read this evidence (see Need); compiled if asked."""
        whats = [need.what for need in self.needs if isinstance(need, Need) and need.everyone]
        exact = {what for what in whats if not is_pattern(what)}
        others = [what for what in whats if what not in exact]
        pattern = cache(lambda: re.compile("|".join(map(_translated, others))))
        return lambda key: key in exact or (bool(others) and pattern().match(key))


def is_pattern(what: str) -> bool:
    """Return whether `what` of a need matches more than one key."""
    return "*" in what or "?" in what or "[" in what


def _filled_keys(needs: Iterable[Need | Command]) -> str:
    """Return the pattern of the keys of evidence that is never empty."""
    return "|".join(
        f"(?={_translated(need.what)})"
        + ("" if isinstance(need.filled, bool) else f"(?:{'|'.join(_translated(f'*/{name}') for name in need.filled)})")
        for need in needs
    )


def commands_of(collectors: Iterable[Collector]) -> tuple[Command, ...]:
    """Return the commands declared by collectors, without duplicates: the only ones a live node may run for them.

    Raises ValueError if two collectors declare one command and keep different lines of its output.
    """
    found: dict[tuple[str, ...], Command] = {}
    for command in (need for collector in collectors for need in collector.needs if isinstance(need, Command)):
        if found.setdefault(command.argv, command).keep != command.keep:
            raise ValueError(f"{command.what}: declared twice, with different lines to keep")
    return tuple(found.values())


class Texts(Struct, frozen=True):
    """Text that can be read: the forms of outputs, and the programs of which any recorded output is kept."""

    forms: tuple[Form, ...]
    programs: frozenset[str]


def texts_of(collectors: Iterable[Collector]) -> Texts:
    """Return the text outputs that collectors read, without duplicates.

    Raises ValueError if two forms have one key and one first line.
    """
    every = list(collectors)
    forms: dict[tuple[str, str], Form] = {}
    for form in (form for collector in every for form in collector.forms):
        if forms.setdefault((form.key, form.first), form) != form:
            raise ValueError(f"{form.key}: declared twice, with different properties")
    called = {
        need.what.removeprefix("cmd:").split(" ", 1)[0].rstrip("*").rpartition("/")[2]
        for collector in every
        for need in collector.needs
        if need.what.startswith("cmd:")
    }
    return Texts(tuple(forms.values()), frozenset(called | {form.program for form in forms.values()} - {""}))


def questions_of(collectors: Iterable[Collector]) -> dict[str, Question]:
    """Return the questions declared by collectors, by name.

    Raises ValueError if two collectors declare one name and answer it in different ways.
    """
    found: dict[str, Question] = {}
    for question in (need for collector in collectors for need in collector.needs if isinstance(need, Question)):
        if found.setdefault(question.name, question).answer is not question.answer:
            raise ValueError(f"{question.what}: declared twice, with different answers")
    return found


def providers_of(collectors: Sequence[Collector]) -> Providers:
    """Return the names of the collectors that produce each family."""
    found: dict[str, tuple[str, ...]] = {}
    for collector in collectors:
        for family in collector.family_names:
            found[family] = (*found.get(family, ()), collector.name)
    return Providers(found)
