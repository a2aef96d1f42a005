"""Tables with a heading, as lvs, lsblk, `dmsetup info -c` and others print them: rows by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sdstop.core.expression import expression
from sdstop.core.host import Malformed

Row = Mapping[str, str]
_WORD = expression(r"\S+")


def separated(lines: Sequence[str], separator: str) -> list[Row]:
    """Return the rows of a table with a separator; the first line is the heading. Raises Malformed.

    LV;VG;Attr
    home;vg0;-wi-ao----
    """
    names = [name.strip() for name in lines[0].split(separator)] if lines else []
    return [_row(names, [cell.strip() for cell in line.split(separator)], line) for line in lines[1:] if line.strip()]


def aligned(lines: Sequence[str], last: Sequence[str] = ()) -> list[Row]:
    """Return the rows of a table with aligned columns; the first line is the heading. A missing cell is "".

        LV    VG   Attr       LSize  Pool Origin
        home  vg0  -wi-ao---- 32.00m
        snap  vg0  swi-a-s--- 16.00m      home

    A column is a run of positions between positions that are blank in every line. Where blanks were lost (web pages
    and tickets collapse them), a row must have one word for each heading. The first cell keeps the blanks before
    it. `last` are headings whose cells alone may be missing then, at the end of a row. Raises Malformed.
    """
    whole = [line.expandtabs() for line in lines if line.strip()]
    if not whole:
        return []
    columns = list(_columns(whole))
    if all(len(_WORD.findall(whole[0][start:end])) == 1 for start, end in columns):
        names = [whole[0][start:end].strip() for start, end in columns]
        return [_row(names, list(_cells(line, columns)), line) for line in whole[1:]]
    names = whole[0].split()
    least = len(names) - (names[-1] in last)
    rows = []
    for line in whole[1:]:
        words = _words(line)
        rows.append(_row(names, [*words, ""] if len(words) == least < len(names) else words, line))
    return rows


def _cells(line: str, columns: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the cells of a line; the first one with the blanks before it, which show the depth in a tree."""
    for place, (start, end) in enumerate(columns):
        yield line[start:end].strip() if place else line[start:end].rstrip()


def _words(line: str) -> list[str]:
    words = line.split()
    return [line[: len(line) - len(line.lstrip())] + word if place == 0 else word for place, word in enumerate(words)]


def _row(names: Sequence[str], cells: Sequence[str], line: str) -> Row:
    if len(names) != len(cells) or len(set(names)) != len(names):
        raise Malformed(f"{len(cells)} cells below {len(names)} headings: {line.strip()[:60]!r}")
    return dict(zip(names, cells, strict=True))


def _columns(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each column; columns without a heading belong to the one before."""
    width = max(map(len, lines))
    used = [False] * (width + 1)
    for line in lines:
        for word in _WORD.finditer(line):
            used[word.start() : word.end()] = [True] * (word.end() - word.start())
    start, last = None, None
    for place, is_used in enumerate(used):
        if is_used and start is None:
            start = place
        elif not is_used and start is not None:
            if lines[0][start:place].strip() or last is None:
                if last is not None:
                    yield last
                last = (start, place)
            else:
                last = (last[0], place)
            start = None
    if last is not None:
        yield last
