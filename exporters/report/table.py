"""Text tables: aligned columns that fit a width without losing information."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from sdstop.core.advice import advice_lines
from sdstop.core.format import NONE, cell, right_aligned, safe, timestamp, width_of
from sdstop.core.model import Column, Label, Metric, Reading, Schema
from sdstop.core.text import added

MOST_ROWS = 200
"""Maximum rows of a readings table; data formats have all rows."""

_GAP = "  "


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Pad a text with spaces to a width."""
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


def wrapped(text: str, width: int, indent: str = "", hanging: str | None = None, *, pasted: bool = False) -> list[str]:
    """Wrap a text into lines; `hanging` is the indent of all but the first (default: `indent`).

    The lines of `pasted` text can be pasted into a shell.
    """
    hanging = indent if hanging is None else hanging
    width = max(width, len(indent) + 20)
    if pasted:
        lines = advice_lines(text, width - max(len(indent), len(hanging)))
        return [f"{hanging if at else indent}{line}".rstrip() for at, line in enumerate(lines)]
    found = textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False,
    )  # fmt: skip
    return found or [indent.rstrip()]


def listing(rows: Sequence[Sequence[str]], width: int, headings: Sequence[str] = (), indent: str = "") -> list[str]:
    """Return rows as aligned lines; the last cell of a row is wrapped. Cells must be sanitized already.

    A long cell followed only by empty ones is wrapped too, and does not widen its column.
    """
    shown = [headings, *rows] if headings else list(rows)
    if not rows:
        return []
    ends = [_end(row, width // 3) for row in shown]
    widths = [
        max((width_of(row[i]) for row, end in zip(shown, ends, strict=True) if i < end), default=0)
        for i in range(len(rows[0]) - 1)
    ]
    lines = []
    for row, end in zip(shown, ends, strict=True):
        start = indent + "".join(padded(word, size) + _GAP for word, size in zip(row[:end], widths, strict=False))
        lines += [line.rstrip() for line in wrapped(row[end], width, start, " " * width_of(start))]
    return lines


def _end(row: Sequence[str], long: int) -> int:
    """Return the index of the wrapped cell: the last, or a long one followed only by empty cells."""
    last = max((at for at, word in enumerate(row) if word), default=0)
    return last if last > 0 and width_of(row[last]) > long else len(row) - 1


def notable(declared: Schema, rows: Sequence[Reading]) -> tuple[Sequence[Reading], str]:
    """Return the rows of a family to display, and a note on the omitted ones, "" if none."""
    if not declared.reading.crowded:
        return rows, ""
    numbers = [column.name for column in declared.columns if isinstance(column.mark, Metric)]
    sizes = [added(getattr(row, name) or 0 for name in numbers) for row in rows]
    order = sorted((at for at, size in enumerate(sizes) if size), key=lambda at: -sizes[at])
    idle = len(rows) - len(order)
    said = f"{'and ' if order else ''}{idle}{' more' if order else ''} with zeros only" if idle else ""
    return [rows[at] for at in order], said


def readings(declared: Schema, rows: Sequence[Reading], width: int, *, silent: bool = True) -> list[str]:
    """Return the rows of a family as a table.

    Columns with one value in all rows are listed once, above; columns that do not fit go into further blocks. Columns
    without any value are named at the end, if `silent`.
    """
    rows, idle = notable(declared, rows)
    cells = [[shown(column, getattr(row, column.name)) for row in rows[:MOST_ROWS]] for column in declared.columns]
    columns = list(zip(declared.columns, cells, strict=True))
    unsaid = [column.title for column, texts in columns if all(text == NONE for text in texts)]
    said = [(column, texts) for column, texts in columns if column.title not in unsaid]
    lines: list[str] = []
    if len(rows) == 1:
        lines = _pairs("", said, width)
    elif rows:
        labels = [pair for pair in said if isinstance(pair[0].mark, Label)]
        others = [pair for pair in said if not isinstance(pair[0].mark, Label)]
        same = [pair for pair in others if len(set(pair[1])) == 1]
        if same:
            lines = _pairs("Equal in all rows: ", same, width)
        for block in _blocks(labels, [pair for pair in others if pair not in same], width - 2):
            lines += [f"  {line}" for line in _grid(block)]
    if silent and unsaid and rows:
        lines += wrapped(f"No data: {', '.join(unsaid)}", width, "  ", "    ")
    if len(rows) > MOST_ROWS:
        lines.append(f"  and {len(rows) - MOST_ROWS} more; --format json lists them all")
    if idle:
        lines.append(f"  {idle}; --format json lists them all")
    return lines


def shown(column: Column, value: object) -> str:
    """Return the text of a cell; Unix times as timestamps."""
    if isinstance(column.mark, Metric | Label) and column.mark.help.startswith("Unix time") and value is not None:
        return timestamp(float(column.base(value)))
    return safe(cell(column, value), 60)


def heading(column: Column) -> str:
    """Return the column title with the unit omitted from the cells."""
    title = column.title
    match column.unit:
        case "ratio":
            return title if "%" in title else f"{title} %"
        case "bytes":
            return f"{title} B"
        case "bytes_per_second":
            return f"{title} B/s"
        case "per_second":
            return title if "/s" in title else f"{title}/s"
        case _:
            return title


_Pair = tuple[Column, list[str]]


def _pairs(said: str, pairs: list[_Pair], width: int) -> list[str]:
    """Return headings, each with the first row's value; no pair is broken across lines."""
    told = ", ".join(f"{heading(column)} {texts[0]}".replace(" ", _UNBROKEN) for column, texts in pairs)
    return [line.replace(_UNBROKEN, " ") for line in wrapped(said + told, width, "  ", "    ")]


_UNBROKEN = "\u00a0"  # sanitized labels contain none


def _size(pair: _Pair) -> int:
    return max(width_of(text) for text in (heading(pair[0]), *pair[1]))


def _blocks(labels: list[_Pair], others: list[_Pair], width: int) -> Iterable[list[_Pair]]:
    """Split the columns into tables that fit the width; each starts with the labels."""
    start = sum(_size(pair) + len(_GAP) for pair in labels)
    block: list[_Pair] = []
    used = start
    for pair in others:
        size = _size(pair)
        if block and used + size > width:
            yield [*labels, *block]
            block, used = [], start
        block.append(pair)
        used += size + len(_GAP)
    if block or not others:
        yield [*labels, *block]


def _grid(block: list[_Pair]) -> Iterable[str]:
    sizes = [_size(pair) for pair in block]
    sides = [right_aligned(column) for column, _ in block]
    for row in ([heading(column) for column, _ in block], *zip(*(texts for _, texts in block), strict=True)):
        yield _GAP.join(map(_aligned, row, sizes, sides)).rstrip()


def _aligned(text: str, size: int, right: bool) -> str:  # noqa: FBT001  # mapped over three lists
    return padded(text, size, right=right)
