"""Templates: text with field names in braces, filled from a row."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from sdstop.core.expression import expression

_FIELD = expression(r"\{(\w+(?:\|\w+)*)(?::(sysfs|dev))?\}")
_DEV = "/dev/"


def filled(template: str, row: Any) -> str | None:
    """Return a template filled with the fields (or properties) of a row, or None if one of them is None or "".

    `{device}` is a field, `{ident|name}` the first of several that has a value, `{device:sysfs}` its name in
    /sys/block (`!` for `/`), `{path:dev}` a path without `/dev/`; a path without that prefix counts as no value.
    """
    return _filler(template)(row)


@functools.cache
def _filler(template: str) -> Callable[[Any], str | None]:
    """Return the function that fills a template: most have one field or none, and thousands of rows are cited."""
    form, needed = _pieces(template)

    def fill(row: Any) -> str | None:
        texts = [
            next((text for name in names if (text := _text(getattr(row, name), how))), None) for names, how in needed
        ]
        return None if None in texts else form.format(*texts)

    if not needed:
        constant = form.format()
        return lambda _: constant
    names, how = needed[0]
    if len(needed) > 1 or len(names) > 1 or how is not None or form.count("{") + form.count("}") > 2:
        return fill
    before, _, after = form.partition("{}")
    value_of = attrgetter(names[0])

    def fill_one(row: Any) -> str | None:
        value = value_of(row)
        text = value if type(value) is str else "" if value is None else str(value)
        return f"{before}{text}{after}" if text else None

    return fill_one


def filled_column(template: str, columns: Mapping[str, Sequence[Any]]) -> list[str | None]:
    """Return a template filled for many rows, whose fields are given as columns: the same as `filled` of each row."""
    form, needed = _pieces(template)
    parts = [_alternatives([columns[name] for name in names], how) for names, how in needed]
    if form == "{}":
        return parts[0]
    fill = form.format
    return [None if None in values else fill(*values) for values in zip(*parts, strict=True)]


def _alternatives(columns: Sequence[Sequence[Any]], form: str | None) -> list[str | None]:
    texts = [_plain(each) if form is None else [_text(value, form) or None for value in each] for each in columns]
    if len(texts) == 1:
        return texts[0]
    return [next((text for text in row if text is not None), None) for row in zip(*texts, strict=True)]


def _plain(column: Sequence[Any]) -> list[str | None]:
    if not set(map(type, column)) <= {str, type(None)}:
        return [None if value is None else str(value) or None for value in column]
    return [value or None for value in column] if "" in column else list(column)


@functools.cache
def _pieces(template: str) -> tuple[str, tuple[tuple[tuple[str, ...], str | None], ...]]:
    """Return a template with `{}` for each placeholder, and the fields and form of each."""
    needed = tuple((tuple(names.split("|")), form or None) for names, form in _FIELD.findall(template))
    return _FIELD.sub("{}", template), needed


def _text(value: Any, form: str | None) -> str | None:
    text = "" if value is None else str(value)
    match form:
        case "sysfs":
            return text.replace("/", "!")
        case "dev":
            return text.removeprefix(_DEV) if text.startswith(_DEV) else None
    return text


def needed_fields(template: str) -> frozenset[str]:
    """Return the names of the fields used by a template."""
    return frozenset(name for names, _ in _FIELD.findall(template) for name in names.split("|"))
