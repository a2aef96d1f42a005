"""Facts: every field of the readings about one object, each linked to its raw evidence."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from sdstop.core.format import NONE, cell, quantity
from sdstop.core.model import Buckets, Fact, Label, Reading, schema
from sdstop.tui.scene import Scene
from sdstop.tui.why import Quote
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, text
from sdstop.tui.widgets.pane import Row, words


class FactSubject(Struct, frozen=True):
    """An object whose facts can be shown: its name, and the families and keys of its readings."""

    name: str
    parts: tuple[tuple[type[Reading], Hashable], ...]


class AllFields(Struct, frozen=True):
    """Item of a row that opens every field of the readings about an object, with their evidence."""

    subject: FactSubject


class FactLink(Struct, frozen=True):
    """Item of a row that only links to facts."""

    opens: FactSubject


def fact_rows(thing: FactSubject, scene: Scene, width: int) -> list[Row]:
    """Return a heading for each reading and a row for each of its fields."""
    shown: list[Row] = []
    for family, key in thing.parts:
        known, stale = scene.rows(family)
        reading = known.get(key)
        if reading is None:
            continue
        if shown:
            shown.append(words(()))
        note = "   stale: its source fails now" if stale else ""
        shown.append(words(text((f" {family.title}", STRONG), (note, scene.palette.severity(None)))))
        shown.extend(_fields(reading, scene, width))
    return shown or [words(text((" no data at this time", FAINT)))]


def _fields(reading: Reading, scene: Scene, width: int) -> list[Row]:
    palette = scene.palette
    found = []
    room = max(width - 44, 10)
    for column in schema(type(reading)).columns:
        value = column.base(getattr(reading, column.name))
        said = palette.word(value, room) if isinstance(column.mark, Label | Fact) and value is not None else None
        if isinstance(column.mark, Buckets):
            said = palette.word(cell(column, value), room)
        if said is None:
            said = palette.word(quantity(value, column.unit), room)
        source = reading.source(column.name)
        quote = Quote(source.key, scene.now.number, source.needle) if source is not None else None
        line = text(
            (f"   {palette.fit(column.title, 18)} ", FAINT),
            (f"{said:>14}", FAINT if said == NONE else PLAIN),
            (f"   {column.mark.help}", FAINT),
        )
        key = (reading.family, column.name) if quote is not None else None
        found.append(words(line, key, quote, f"{column.title} {column.name} {said}"))
    return found
