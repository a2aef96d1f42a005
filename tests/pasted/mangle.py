"""Mangle: texts of the corpus as people and tools change them; findings stay as they are or the text is unread.

    python -m tests.pasted.mangle [--minutes 3] [--seed 1] [--processes 2] [--text md/mdstat] [--change grep-file]

Without `--minutes` it tries every change of every text: 31,000, in five minutes of one core. A text that is cut at a
line boundary may lose findings about the lost rows. Nothing is good that was not before, and no finding is new.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Change:
    """A change of a text; whether it loses lines, about which findings may be lost."""

    text: Text
    name: str
    made: Callable[[], str | bytes]
    loses: bool

    def faults(self) -> list[str]:
        """Return what is wrong with the result of the changed text."""
        return faults(of_whole(self.text), said(self.made(), self.text.declared.names), cut=self.loses)


@functools.cache
def changes(text: Text) -> dict[str, Change]:
    """Return all changes of a text by their names."""
    plain = text.data.decode()
    kept = {name: functools.partial(change, plain) for name, change in (SAME | TOOLS).items()}
    lost = {name: functools.partial(change, plain) for name, change in DAMAGE.items()}
    lost |= {name: functools.partial(str, cut) for name, cut in cuts(plain)}
    both = [(kept, False), (lost, True)]
    return {name: Change(text, name, made, loses) for group, loses in both for name, made in group.items()}


_CHUNK = 50
"""Number of changes that a process tries before it looks at the time."""


def tried(chosen: Sequence[tuple[str, str]], end: float) -> tuple[int, dict[str, list[str]]]:
    """Try changes, each the name of its text and its own, until a time (monotonic); return how many, and the faults."""
    by_name = {text.name: text for text in EVERY}
    wrong = dict[str, list[str]]()
    count = 0
    for text, name in chosen if time.monotonic() < end else ():
        count += 1
        if found := changes(by_name[text])[name].faults():
            wrong[f"{text}, {name}"] = found
    return count, wrong


def main() -> int:
    """Try changes in random order; print each fault, and how many changes there were."""
    parser = argparse.ArgumentParser(description="Texts of the corpus, changed as people and tools change them.")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--text", action="append", help="only this text, as its folder and name")
    parser.add_argument("--change", action="append", help="only this change")
    options = parser.parse_args()
    chosen = [
        (text.name, name)
        for text in EVERY
        if not options.text or text.name in options.text
        for name in changes(text)
        if not options.change or name in options.change
    ]
    random.Random(options.seed).shuffle(chosen)
    chunks = [chosen[at : at + _CHUNK] for at in range(0, len(chosen), _CHUNK)]
    end, count, broken = time.monotonic() + 60 * options.minutes, 0, 0
    with ProcessPoolExecutor(options.processes) as pool:
        for done, wrong in pool.map(tried, chunks, [end] * len(chunks)):
            count += done
            for change, found in wrong.items():
                broken += 1
                print(f"{change}: {'; '.join(found)}", flush=True)  # noqa: T201
    print(f"{count} of {len(chosen)} changes with seed {options.seed}, {broken} with faults")  # noqa: T201
    return 1 if broken or not count else 0


if __name__ == "__main__":
    sys.exit(main())
