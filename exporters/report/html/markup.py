"""HTML elements. All text is escaped here and nowhere else."""

from __future__ import annotations

import html
from collections.abc import Iterable

from sdstop.core.format import safe, safe_block


class Markup(str):
    """Text that is already markup, built by this module from untrusted text."""

    __slots__ = ()


Part = str | Markup | None
"""Content of an element: text (escaped), markup (not escaped) or None."""

_EMPTY = frozenset({"meta", "br", "line", "rect", "path", "use", "circle"})


def text(value: object, limit: int = 2000) -> Markup:
    """Return an untrusted single-line text as markup, free of elements, control characters and escapes."""
    return Markup(html.escape(safe(value, limit), quote=True))


def block(value: str, limit: int = 20_000) -> Markup:
    """Return an untrusted multi-line text as markup."""
    return Markup(html.escape(safe_block(value, limit), quote=True))


def el(name: str, /, *parts: Part | Iterable[Part], **attributes: object) -> Markup:
    """Return an element; trailing underscores (`class_`) are dropped, others become hyphens, None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not parts:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(*parts)}</{name}>")


def code(text_: str) -> Markup:
    """Return a code element; a fast path, because a page has thousands of them."""
    return Markup(f"<code>{_one(text_)}</code>")


def join(*parts: Part | Iterable[Part]) -> Markup:
    """Concatenate parts."""
    return Markup("".join(_one(part) for part in parts))


def _one(part: Part | Iterable[Part]) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, str):
        return html.escape(safe(part, 2000), quote=True)
    return "".join(_one(each) for each in part)


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return html.escape(safe(value, 4000), quote=True)


def table(headings: Iterable[Part], rows: Iterable[Iterable[Part]], *, right: frozenset[int] = frozenset()) -> Markup:
    """Return a table; columns with an index in `right` hold numbers."""
    sides = dict.fromkeys(right, "n")
    head = el("tr", (el("th", cell, scope="col", class_=sides.get(at)) for at, cell in enumerate(headings)))
    body = Markup("".join(_row(row, right) for row in rows))
    return el("div", el("table", el("thead", head), el("tbody", body)), class_="scroll")


_LONGEST_NUMBER = 24
"""Longest cell treated as a number; longer cells of number columns are text and may wrap."""


def _row(row: Iterable[Part], right: frozenset[int]) -> str:
    """Return a row, formatted directly because a page has tens of thousands of cells."""
    cells = "".join(
        f'<td class="{"t" if cell is not None and len(cell) > _LONGEST_NUMBER else "n"}">{_one(cell)}</td>'
        if at in right
        else f"<td>{_one(cell)}</td>"
        for at, cell in enumerate(row)
    )
    return f"<tr>{cells}</tr>"


def fold(title: Part | Iterable[Part], *parts: Part | Iterable[Part], id_: str | None = None) -> Markup:
    """Return a details element, which opens without a script; printed pages show it open."""
    return el("details", el("summary", title), *parts, id=id_)
