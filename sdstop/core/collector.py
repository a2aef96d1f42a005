"""Collector: one source of readings, and what reading it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sdstop.core.evidence import command_key
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Reading, Rows

LIVE = 1.0
"""Seconds between runs of what the kernel answers from memory."""
SLOW = 60.0
"""Seconds between runs of what costs something or hardly changes."""
ONCE = math.inf
"""Read at the start, and again when its fingerprint changes."""

_WORD = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:@%+=,-]*")


class Need(Struct, frozen=True):
    """One kind of evidence that a collector reads: `what` is a pattern of its keys, `why` one line.

    Of `cmd:` patterns the collector reads what others recorded; a live node runs nothing for them (see Command).
    `keep` returns the part of the data that is recorded, where the rest may hold secrets: on a live node as it is read,
    and of what others recorded. `redact` returns what redaction leaves of it before it replaces names: without free
    text, and names that no field of a reading holds. Neither raises, and twice is like once.
    """

    what: str
    why: str
    privilege: str = ""
    keep: Callable[[bytes], bytes] | None = None
    redact: Callable[[bytes], bytes] | None = None


class Command(Struct, frozen=True):
    """A command that a collector runs on a live node. It must change nothing there.

    In `argv`, `*` stands for one word that is not an option; all else is run as written. With `keep`, a pattern, only
    the lines of its output that begin with a match are kept; the others may hold a secret.
    """

    argv: tuple[str, ...]
    why: str
    privilege: str = ""
    keep: str = ""

    @property
    def what(self) -> str:
        """Pattern of the evidence's key."""
        return command_key(self.argv)

    def allows(self, argv: Sequence[str]) -> bool:
        """Return whether this declaration covers a call."""
        return len(argv) == len(self.argv) and all(
            given == known or (known == "*" and _WORD.fullmatch(given) is not None)
            for given, known in zip(argv, self.argv, strict=True)
        )

    def kept(self, output: bytes) -> bytes:
        """Return the lines of an output that may be kept."""
        if not self.keep:
            return output
        pattern = re.compile(self.keep.encode())
        return b"".join(line for line in output.splitlines(keepends=True) if pattern.match(line))


class Question(Struct, frozen=True):
    """What a collector asks a live node, and has recorded as an answer instead of the files that it follows from.

    For files that hold secrets, and for trees that are too large to keep. `answer` runs in the sampler's worker over
    the live host and returns JSON data; nothing of what it reads is recorded, so its result must hold no secret.
    Without `answer`, the question is one of those that sdstop.node.answers knows. An answer stands for `holds` seconds
    before it is looked for again. `keep` and `redact` are those of a need, for answers that others recorded.
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
        """Key of the evidence."""
        return f"answer:{self.name}"


class Collector(Struct, frozen=True):
    """One source. `read` is plain synchronous code over a host; it may raise what hosts raise, and Malformed.

    `pace` is seconds between runs (at least: the sampler's interval may be longer), `deadline` the seconds
    after which a run counts as hung. `fingerprint`, where given, is asked every interval, cheaply; when its
    answer changes the collector runs at once (this is how hot-plug reaches slow collectors). `derives` are
    families that follow from two successive runs. `lacks` says of a good run's tables what of them was denied, "" if
    nothing was; files that were denied need no words of it. `eager`: all reading is done when `read` returns, so that
    who only wants the evidence need not have it parsed; its rows may ask for what other collectors bring. `option` is
    the one without which there is nothing to read.
    """

    name: str
    title: str
    read: Callable[[Host], Iterable[Reading]]
    families: tuple[type[Reading], ...]
    needs: tuple[Need | Command | Question, ...]
    pace: float = LIVE
    deadline: float = 2.0
    fingerprint: Callable[[Host], Hashable] | None = None
    derives: tuple[Derivation, ...] = ()
    lacks: Callable[[Mapping[type[Reading], Rows]], str] | None = None
    eager: bool = False
    option: str = ""


def commands_of(collectors: Iterable[Collector]) -> tuple[Command, ...]:
    """Return the commands that collectors declare, each once: all that a live node is allowed to run for them.

    Raises ValueError if two collectors declare one command and keep different lines of its output.
    """
    found: dict[tuple[str, ...], Command] = {}
    for command in (need for collector in collectors for need in collector.needs if isinstance(need, Command)):
        if found.setdefault(command.argv, command).keep != command.keep:
            raise ValueError(f"{command.what}: declared twice, with different lines to keep")
    return tuple(found.values())


def questions_of(collectors: Iterable[Collector]) -> dict[str, Question]:
    """Return the questions that collectors declare, by name.

    Raises ValueError if two collectors declare one name and answer it in different ways.
    """
    found: dict[str, Question] = {}
    for question in (need for collector in collectors for need in collector.needs if isinstance(need, Question)):
        if found.setdefault(question.name, question).answer is not question.answer:
            raise ValueError(f"{question.what}: declared twice, with different answers")
    return found
