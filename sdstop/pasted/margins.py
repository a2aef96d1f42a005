"""Margins: columns that tools add to copied output: numbers, times, names of files and hosts, borders, quotes.

    12: md0 : active raid1       cat -n, grep -n, editors
    Nov 23 12:03:04 md0 : act    ts, terminal logs
    san1: md0 : active raid1     pdsh, grep -H, docker compose logs
    │md0 : active raid1    │     tmux, boxes; with text on both sides two terminals
    "md0 : active raid1",        Ansible's stdout_lines

A margin is removed if more lines are understood without it, or the same number and lines outside of outputs have it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.pasted.nodes import HOST

SEPARATOR = "\u241c"
"""Line between two terminals that were side by side."""
_LEAST = 3
"""Lines, hosts or breaks with which a margin can be one."""
_LEAST_BARS = 5
"""Lines with which a column of `|` can be a border: tables have it, too."""
_SHORTEST = 3
"""Minimum length of a line that an output can have; an empty prompt is shorter."""
_ROUNDS = 4
"""Maximum margins within each other."""
_MOST = 12
"""Maximum number of regions of one kind that are tried."""
_TRIED = 400
"""Number of lines of a region in which something must begin."""


class Region(Struct, frozen=True):
    """Lines `start` to `end` (exclusive) without their margin.

    `slack` is the number of lines that may be understood only with the margin: -1 if more must be understood without
    it (or the same number if lines outside of outputs have it), 0 or more for margins that are not part of any output.
    """

    start: int
    end: int
    lines: list[str]
    slack: int = -1


def removed(text: str, begins: Callable[[str], bool], understood: Callable[[str], Collection[int]]) -> str:
    """Return a text without margins.

    `begins` receives the text from a line on and returns whether an output or a command begins there; `understood`
    returns the indices of the lines of a text that belong to known outputs.
    """
    lines = text.split("\n")
    for _ in range(_ROUNDS):
        found = _without_one(lines, begins, understood)
        if found is None:
            break
        lines = found
    return "\n".join(lines)


def _without_one(
    lines: list[str], begins: Callable[[str], bool], understood: Callable[[str], Collection[int]]
) -> list[str] | None:
    """Return a text without one margin, None if no more of it is understood then."""
    before: Collection[int] | None = None
    for kind in _KINDS:
        found, tried = lines, 0
        for region in reversed(list(kind(lines))):
            candidates = [each for each in (region, *_inner(region)) if _may_begin(each, begins)]
            tried += bool(candidates)
            for each in candidates if tried <= _MOST else ():
                before = understood("\n".join(found)) if before is None else before
                other = [*found[: each.start], *each.lines, *found[each.end :]]
                after = understood("\n".join(other))
                if after and len(after) + each.slack + _has_others(found, each, before) >= len(before):
                    found, before = other, after
                    break
        if found is not lines:
            return found
    return None


def _has_others(lines: Sequence[str], region: Region, understood: Collection[int]) -> bool:
    """Return whether a region has lines outside of outputs; a margin that these have is part of no output."""
    return any(at not in understood and any(map(str.isalnum, lines[at])) for at in range(region.start, region.end))


def _inner(region: Region) -> Iterator[Region]:
    """Yield a region without the margin that all of its lines have within the first one."""
    for kind in _KINDS:
        for inner in kind(region.lines):
            if inner.end - inner.start == len(region.lines):
                yield Region(region.start, region.end, inner.lines)


def _may_begin(region: Region, begins: Callable[[str], bool]) -> bool:
    tried = [at for at, line in enumerate(region.lines[:_TRIED]) if line.strip()]
    return region.slack >= 0 or any(begins("\n".join(region.lines[at : at + 40])) for at in tried)


def _runs(lines: Sequence[str], mark: Callable[[str], str | None]) -> Iterator[tuple[int, int]]:
    """Yield the runs of lines with the same mark, which may have blank lines between them."""
    start, last, count, current = 0, 0, 0, None
    for at, line in enumerate([*lines, "."]):
        found = mark(line) if at < len(lines) else None
        if found is not None and found == current:
            last, count = at, count + 1
        elif at == len(lines) or line.strip():
            if current is not None and count >= _LEAST:
                yield start, last + 1
            start, last, count, current = at, at, 1, found


def _shifted(rests: Sequence[str]) -> list[str]:
    """Remove the blanks with which all lines begin, or one tabulator."""
    full = [rest for rest in rests if rest.strip()]
    if full and all(rest[:1] == "\t" for rest in full):
        return [rest[1:] for rest in rests]
    common = min((len(rest) - len(rest.lstrip(" ")) for rest in full), default=0)
    return [rest[common:] for rest in rests]


_NUMBER = expression(r" *(?P<number>\d{1,7})(?P<sign>[:.)|\u2502]?)(?P<rest>(?:\s.*)?|(?<=[:.)|\u2502]).*)")


def _numbered(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines have successive numbers."""
    start, number, rests = 0, -1, list[str]()
    for at, line in enumerate([*lines, "."]):
        found = _NUMBER.fullmatch(line) if at < len(lines) else None
        if rests and found is not None and int(found["number"]) == number + 1:
            number += 1
            rests.append(found["rest"])
        elif rests and not line.strip():
            rests.append("")
        else:
            if sum(1 for rest in rests if rest.strip()) >= _LEAST:
                yield Region(start, start + len(rests), _shifted(rests))
            start, rests = at, [found["rest"]] if found is not None else []
            number = int(found["number"]) if found is not None else -1


_STAMP = expression(
    r"[ \t]{0,16}\[?(?:(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:[A-Z][a-z]{2} [ \d]?\d|\d\d? [A-Z][a-z]{2} \d{4})[ ,]+"
    r"|\d{4}[-/]\d\d[-/]\d\d[T _]|\d\d[./]\d\d[./]\d{4},? )?"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: \d{4})?(?:Z| ?[+-]\d\d:?\d\d)?\]?:?(?P<rest>(?:[ \t].*)?)"
)


def _stamped(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines begin with a time."""
    for start, end in _runs(lines, lambda line: "" if _STAMP.fullmatch(line) else None):
        found = [_STAMP.fullmatch(line) for line in lines[start:end]]
        yield Region(start, end, _shifted([each["rest"] if each is not None else "" for each in found]))


_MARK = expression(
    r"\s{0,8}(?:(?P<sign>[\u2502\u2503\u2551|!+;#%\u2022\u2023\u25cf*>\u00bb-])"
    r"|(?P<name>[\w./-]{1,60}\s{0,20}\||[\w./-]{1,80}:|\[[\w.-]{1,60}\](?::|(?= ))))(?P<rest>.*)"
)


def _named(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines begin with the same name or sign."""

    def mark(line: str) -> str | None:
        found = _MARK.fullmatch(line)
        return found["sign"] or found["name"] if found is not None else None

    for start, end in _runs(lines, mark):
        found = [_MARK.fullmatch(line) for line in lines[start:end]]
        yield Region(start, end, _shifted([each["rest"] if each is not None else "" for each in found]))


_OF_HOST = expression(r"(?P<host>[A-Za-z0-9][\w.-]{0,63}): ?(?P<rest>.*)|(?P<bare>[A-Za-z0-9][\w.-]{0,63}):")


def _of_hosts(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines begin with names of several hosts, in any order, divided by host."""
    at = 0
    while at < len(lines):
        found, start = dict[str, list[str]](), at
        while at < len(lines) and (each := _OF_HOST.fullmatch(lines[at])) is not None:
            found.setdefault(each["host"] or each["bare"], []).append(each["rest"] or "")
            at += 1
        if len(found) > 1 and min(map(len, found.values())) >= _LEAST:
            parts = [[f"{HOST}{host}", *_shifted(rests)] for host, rests in found.items()]
            yield Region(start, at, [line for part in parts for line in part])
        at = max(at, start + 1)


_FIRST_MARKS = ('"', "'", "`", "*")
_PAIRED = expression(r"\s*(?P<mark>\*\*|[\"'`*])(?P<text>.*)(?P=mark),?\s*")


def _paired(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines are in quotes or other pairs of signs."""

    def mark(line: str) -> str | None:
        if not line.lstrip().startswith(_FIRST_MARKS):
            return None
        found = _PAIRED.fullmatch(line)
        return found["mark"] if found is not None else None

    def plain(line: str) -> str:
        found = _PAIRED.fullmatch(line)
        if found is None or found["mark"] != '"':
            return found["text"] if found is not None else ""
        try:
            return str(json.loads(f'"{found["text"]}"', strict=False))
        except ValueError:
            return found["text"].replace('""', '"')

    for start, end in _runs(lines, mark):
        quoted = mark(lines[start]) in {'"', "'"}  # as the lines of a JSON document can be
        yield Region(start, end, [plain(line) for line in lines[start:end]], -1 if quoted else 0)


_LAST_BARS = ("\u2502", "\u2503", "\u2551", "|")
_LAST_BAR = expression(r"(?P<text>.*?)\s*(?P<bar>[\u2502\u2503\u2551|])\s*")


def _bordered(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions whose lines end with a bar, in any column."""

    def mark(line: str) -> str | None:
        if not line.rstrip().endswith(_LAST_BARS):
            return None
        found = _LAST_BAR.fullmatch(line)
        return found["bar"] if found is not None else None

    for start, end in _runs(lines, mark):
        found = [_LAST_BAR.fullmatch(line) for line in lines[start:end]]
        bare = [each["text"] if each is not None else "" for each in found]
        yield Region(start, end, bare, _slack(mark(lines[start]) or "", bare))


_BARS = expression(r"[\u2502\u2503\u2551|]")
_FRAME = expression(r"\s*[\u2500-\u257f+=-]{5,}\s*")


def _columns(lines: Sequence[str]) -> Iterator[Region]:
    """Yield the regions with a bar in one column: a border, or the one between two terminals."""
    at = 0
    while at < len(lines):
        best = max(
            ((_barred(lines, at, bar.start()), bar.start()) for bar in _BARS.finditer(lines[at])), default=(0, 0)
        )
        end, column = best
        if end - at < (_LEAST_BARS if lines[at][column : column + 1] == "|" else _LEAST):
            at += 1
            continue
        left = [line[:column].rstrip() for line in lines[at:end]]
        right = _shifted([line[column + 1 :].rstrip() for line in lines[at:end]])
        start, stop = at, end
        if not any(each.strip() for each in right) or not any(each.strip() for each in left):
            start -= at > 0 and _FRAME.fullmatch(lines[at - 1]) is not None
            stop += end < len(lines) and _FRAME.fullmatch(lines[end]) is not None
        if not any(each.strip() for each in left):
            yield Region(start, stop, right)
        elif not any(each.strip() for each in right):
            yield Region(start, stop, left, _slack(lines[at][column], left))
        elif sum(1 for each in left if each.strip()) * 2 >= len(left):
            apart = ["[...]", SEPARATOR]
            yield Region(start, stop, [*left, *apart, *right, *apart], _bare_lines(left))
        at = end


def _slack(bar: str, lines: Sequence[str]) -> int:
    """Return the slack of lines without a border on their right side; no program's lines end with a drawn one.

    A border hides fences, so that lines below an output seem to be part of it.
    """
    return _bare_lines(lines) if bar == "|" else len(lines)


def _bare_lines(lines: Sequence[str]) -> int:
    """Return the number of lines that count only with a bar: blank ones, and prompts."""
    return sum(1 for line in lines if len(line.strip()) < _SHORTEST or line.rstrip()[-1:] in _PROMPT_ENDS)


_PROMPT_ENDS = frozenset("#$%")


def _barred(lines: Sequence[str], at: int, column: int) -> int:
    """Return the end of the lines with a bar in a column."""
    bar, end = lines[at][column], at
    while end < len(lines) and lines[end][column : column + 1] == bar:
        end += 1
    return end


_ESCAPED = expression(r"\\([\[\](){}*_|#~<>!+.-])")
_BREAK = expression(r"(?:\\r)?\\n")
_QUOTED = expression(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def _unquoted(text: str) -> str:
    """Return the text that is in quotes as JSON or Python write it, "" if it is not."""
    try:
        found = ast.literal_eval(text) if text[:1] == "'" else json.loads(text, strict=False)
    except (ValueError, SyntaxError):
        return ""
    return str(found)


def _escaped(lines: Sequence[str]) -> Iterator[Region]:
    r"""Yield lines with `\n` for line breaks, and the text with a backslash before signs that a ticket system marks."""
    if not any("\\" in line for line in lines):
        return
    for at, line in enumerate(lines):
        if len(_BREAK.findall(line)) >= _LEAST:
            quoted = max(_QUOTED.findall(line), key=len, default="")
            yield Region(at, at + 1, (_unquoted(quoted) or _BREAK.sub("\n", line.strip())).split("\n"))
    if sum(1 for line in lines if re.search(r"\\[\[\]*{}]|\w\\_\w", line)):
        yield Region(0, len(lines), [_ESCAPED.sub(r"\1", line) for line in lines], 0)


_KINDS: tuple[Callable[[Sequence[str]], Iterator[Region]], ...] = (
    _of_hosts,
    _numbered,
    _stamped,
    _paired,
    _named,
    _columns,
    _bordered,
    _escaped,
)
