"""Excerpts: the part of a piece of evidence that a finding quotes.

Large nodes have a thousand findings that quote the same file, so a file is searched through once: from the tenth
quotation on, its words are indexed.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Generic, TypeVar

from sdstop.core.evidence import readable
from sdstop.core.expression import expression

Q = TypeVar("Q")

EXCERPT = 400
"""Maximum number of characters of raw evidence quoted by a finding."""

_READ = 1 << 20
"""Number of bytes of a file that are searched."""
_LINES = 4
"""Maximum number of lines that a quotation joins."""
_SEARCHES = 9
"""Number of quotations that are searched for in the text before its words are indexed."""
_KNOWN = 4096
"""Maximum number of excerpts kept of a text."""
_ENDS = " ,\t\n"
_WORD = expression(r"\w+")
_NAME_WORD = expression(r"(?<!\w)\d*[^\W\d]\w*")
"""Word that is not a number; of 20 words in a line of counters, one is."""
_MASK = (1 << 32) - 1
"""Lower half of a number of 64 bits: the place of a word, behind its hash."""


def text_excerpt(data: bytes, needle: str = "", key: str = "") -> str:
    """Return the first lines of a file or an output that contain `needle`, else the beginning.

    Lines that contain it as whole words are preferred: `sda:` does not quote the line of `xsda:`. The result has at
    most EXCERPT characters and shows the needle, unless that is longer. Of each `key` of evidence one text is kept.
    """
    if not needle and len(data) <= EXCERPT:
        return readable(data, "replace").strip("\n")  # attributes of sysfs, thousands of them
    return _text_of(key).of(data).excerpt(needle)


class _Newest(Generic[Q]):
    """Newest text or document of a piece of evidence, which quotations are from; it may have megabytes."""

    def __init__(self, make: Callable[[bytes], Q]) -> None:
        self._make = make
        self._held: tuple[bytes, Q] | None = None

    def of(self, data: bytes) -> Q:
        """Return the text or document of these data; any thread may ask."""
        held = self._held
        if held is None or held[0] != data:
            held = self._held = data, self._make(data)
        return held[1]


@lru_cache(maxsize=8)
def _text_of(key: str) -> _Newest[IndexedText]:
    del key
    return _Newest(lambda data: IndexedText(readable(data[:_READ], "replace")))


class IndexedText:
    """Text with an index of its words, made when many quotations are searched for; 8 bytes a word."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, str] = {}
        self.searches = 0

    def excerpt(self, needle: str) -> str:
        """Return the result of `text_excerpt`, cached."""
        known = self._known.get(needle)
        if known is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            known = self._known[needle] = self._excerpt(needle)
        return known

    def _excerpt(self, needle: str) -> str:
        if not needle:
            return beginning(self._stripped)
        places = self._places(needle)
        if not places:
            return beginning(self._stripped, len(needle))
        text, at = self._text, places[0]
        start, most = self._starts[bisect_right(self._starts, at) - 1], 4 * EXCERPT + len(needle)
        if at + len(needle) - start > EXCERPT:  # in the middle of one long line of JSON
            begin = at + len(needle) - 3 * EXCERPT // 4
            word = min((found + 1 for end in _ENDS if (found := text.find(end, begin, at)) >= 0), default=begin)
            start = min(word, at)
        lines = [text[start : start + most].splitlines()[0]]
        lines += [line for place in places[1:] for line in text[place : place + most].splitlines()[:1]]
        shown = "\n".join(lines).strip("\n")
        return beginning(shown, max(shown.find(needle), 0) + len(needle))

    @cached_property
    def _stripped(self) -> str:
        """The first characters of the text without line breaks at its ends, one more than an excerpt has."""
        return self._text.strip("\n")[: EXCERPT + 1]

    @cached_property
    def _starts(self) -> array[int]:
        """Position of each line, in order."""
        return array("I", accumulate(map(len, self._text.splitlines(keepends=True)), initial=0))

    def _places(self, needle: str) -> list[int]:
        """Return the position of the needle in its first line, and the starts of the further lines that contain it."""
        self.searches += 1
        words = [*_WORD.finditer(needle)]
        names = [word for word in words if not word[0].isdecimal()]
        if names and self.searches > _SEARCHES:
            found = self._first_lines(self._indexed(needle, names), needle)
        else:
            found = self._first_lines(self._found(needle, whole=True), needle)
        return found or self._first_lines(self._found(needle, whole=False), needle)

    def _first_lines(self, places: Iterator[int], needle: str) -> list[int]:
        """Return the result of `_places` for positions of the needle in ascending order."""
        starts, found, last = self._starts, list[int](), -1
        for place in places:
            line = bisect_right(starts, place) - 1
            if line == last:
                continue
            if line + 1 < len(starts) and place + len(needle) > starts[line + 1]:
                continue  # it does not end in this line
            found.append(starts[line] if found else place)
            last = line
            if len(found) == _LINES:
                break
        return found

    def _found(self, needle: str, *, whole: bool) -> Iterator[int]:
        """Yield each position of the needle; `whole`: where it does not begin or end within a word."""
        text, at = self._text, -1
        while (at := text.find(needle, at + 1)) >= 0:
            if not whole or self._whole(needle, at):
                yield at

    def _whole(self, needle: str, at: int) -> bool:
        """Return whether the needle at a position of the text neither begins nor ends within a word."""
        text, end = self._text, at + len(needle)
        begins = at and _WORD.match(needle[0]) and _WORD.match(text[at - 1])
        ends = end < len(text) and _WORD.match(needle[-1]) and _WORD.match(text[end])
        return not begins and not ends

    def _indexed(self, needle: str, words: list[re.Match[str]]) -> Iterator[int]:
        """Yield the positions of `_found` for a needle with these names, which are whole words of the text."""
        index, best = self._index, (len(self._index) + 1, 0, 0, 0)
        for word in words:
            start = (hash(word[0]) & _MASK) << 32
            low = bisect_left(index, start)
            high = bisect_right(index, start | _MASK, low)
            best = min(best, (high - low, low, high, word.start()))
        _, low, high, offset = best
        for entry in index[low:high]:
            at = (entry & _MASK) - offset
            if at >= 0 and self._text.startswith(needle, at) and self._whole(needle, at):
                yield at

    @cached_property
    def _index(self) -> array[int]:
        """Words of the text except numbers, sorted: the hash in the upper, the position in the lower 32 bits."""
        found = ((hash(word[0]) & _MASK) << 32 | word.start() for word in _NAME_WORD.finditer(self._text))
        return array("Q", sorted(found))


def beginning(text: str, least: int = 0) -> str:
    """Return the beginning of a text, at most EXCERPT characters, cut at the end of a line or word.

    The result has at least `least` characters, and at least half of EXCERPT.
    """
    if len(text) <= EXCERPT:
        return text
    kept, least = text[:EXCERPT], max(least, EXCERPT // 2)
    line, word = kept.rfind("\n"), max(map(kept.rfind, _ENDS))
    ends = line if line >= least else word
    return kept[:ends].rstrip() if ends >= least else kept


def json_excerpt(data: bytes, needle: str, key: str = "") -> tuple[str, str]:
    """Return the relevant part of a JSON document, and the text that marks it in the displayed document.

    `IDENT>NAME,NAME` selects the name and the given fields of the object with this ID or under this key; a name alone
    selects the first field with that name. Documents are displayed one field per line: `"NAME": value`. Both results
    are "" if nothing matches. Of each `key` of evidence one document is kept.
    """
    return _document_of(key).of(data).excerpt(needle)


class _Document:
    """JSON document with cached excerpts: rules quote the same ones every second, and documents may be large."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8", "replace")
        self._known: dict[str, tuple[str, str]] = {}

    @cached_property
    def _ids(self) -> dict[str, re.Match[str]]:
        """Position of each object's ID; the first one if several are equal."""
        return {match[1]: match for match in reversed([*_ID.finditer(self._text)])}

    @cached_property
    def _keys(self) -> dict[str, re.Match[str]]:
        return {match[1]: match for match in reversed([*_KEY.finditer(self._text)])}

    def excerpt(self, needle: str) -> tuple[str, str]:
        """Return the result of `json_excerpt`, cached."""
        if needle not in self._known:
            self._known[needle] = self._find(needle)
        return self._known[needle]

    def _find(self, needle: str) -> tuple[str, str]:
        text = self._text
        ident, _, names = needle.partition(">")
        if not names:
            found = re.search(rf'"{re.escape(ident)}"\s*:\s*("[^"]*"|[^\s,}}\]]+)', text) if ident else None
            return (found[0], f'"{ident}": {found[1]}') if found else ("", "")
        if match := self._ids.get(ident):
            start, mark, lines = _object_around(text, match), f'"id": "{ident}"', []
        elif match := self._keys.get(ident):
            start, mark, lines = match.end(), f'"{ident}": {{', [match[0]]
        else:
            return "", ""
        fields = _fields(text, start)
        kept = [fields[name] for name in ("name", "id", *names.split(",")) if name in fields]
        return "\n".join([*lines, *kept]), mark


_ID = expression(r'"id"\s*:\s*"([^"]{1,200})"')
_NAME = expression(r'[\s,]*"([^"\\]{1,200})"\s*:\s*')
_KEY = expression(r'"([^"]{1,200})"\s*:\s*(?=\{)')


@lru_cache(maxsize=4)
def _document_of(key: str) -> _Newest[_Document]:
    del key
    return _Newest(_Document)


def _fields(text: str, start: int) -> dict[str, str]:
    """Return the fields of the object that begins at `start`, each as its original text including the name."""
    found: dict[str, str] = {}
    at = start + 1
    while match := _NAME.match(text, at):
        end = _end(text, match.end())
        if end == match.end():
            break
        found.setdefault(match[1], text[match.start(1) - 1 : end])
        at = end
    return found


def _end(text: str, start: int) -> int:
    """Return the end of the JSON value that begins at `start`, or `start` if there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start


def _object_around(text: str, match: re.Match[str]) -> int:
    """Return the start of the innermost object that contains a field, found by trying the preceding braces."""
    start = match.start()
    for _ in range(200):
        start = text.rfind("{", 0, start)
        if start < 0:
            break
        if _end(text, start) > match.end():
            return start
    return match.start()
