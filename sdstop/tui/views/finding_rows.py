"""Table of findings, shared by the overview and the view of all findings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from msgspec import Struct

from sdstop.core.finding_order import by_cause
from sdstop.core.format import clock, duration
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.why import WIDEST, entry_mark, figures
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, Line, text
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.table import Cell, LineTable, TableColumn


class FindingRow(Struct, frozen=True):
    """An entry at a moment; `follows` is set if its cause is listed above it."""

    entry: FindingEntry
    scene: Scene
    follows: bool = False

    @property
    def opens(self) -> FindingEntry:
        """Target that Enter opens for this row."""
        return self.entry


def _mark(item: FindingRow, _: int) -> Line:
    return entry_mark(item.entry, item.scene.palette)


def _summary(item: FindingRow, _: int) -> Line:
    """Return the title, and the beginning of the cause behind it."""
    quiet = item.entry.until is not None or item.follows or item.entry.calm
    said = item.scene.palette.word(item.entry.summary, 400)
    title = item.scene.palette.word(_title(item.entry), 60)
    if not title:
        return text((said, FAINT if quiet else PLAIN))
    return text((title, FAINT if quiet else STRONG), (f"  {said}", FAINT))


def _title(entry: FindingEntry) -> str:
    return entry.finding.title if entry.finding is not None else ""


def _subject(item: FindingRow, _: int) -> Line:
    quiet = item.entry.until is not None or item.follows or item.entry.calm
    shown = item.scene.palette.word(item.entry.subject, 60)
    return text((f"{_BELOW if item.follows else ''}{shown}", FAINT if quiet else STRONG))


def _since(item: FindingRow, _: int) -> Cell:
    return text((clock(item.entry.since), FAINT)) if item.entry.since is not None else ""


def _age(item: FindingRow, _: int) -> Cell:
    lasted = item.entry.lasted(item.scene.now.monotonic)
    return "" if lasted is None else text((duration(lasted), FAINT))


def _figures(item: FindingRow, _: int) -> Cell:
    return figures(item.entry.finding, item.scene.palette, 3) if item.entry.finding is not None else ""


_BELOW = "  "
"""Indentation of a subject that is explained by another finding."""


def _rank(item: FindingRow) -> int:
    return -1 if item.entry.severity is None else item.entry.severity.rank


COLUMNS = (
    TableColumn("severity", "SEV", 5, _mark, _rank),
    TableColumn("subject", "WHERE", 12, _subject, lambda i: i.entry.subject, widest=30, rising=True),
    TableColumn("finding", "FINDING", 44, _summary, widest=110, comfort=52),
    TableColumn("figures", "COMPARED", 50, _figures, keep=1, widest=70),
    TableColumn("since", "SINCE", 8, _since, lambda i: i.entry.since, keep=2),
    TableColumn("age", "FOR", 7, _age, lambda i: i.entry.lasted(i.scene.now.monotonic), keep=3, rising=True),
)


def entry_row(entry: FindingEntry, scene: Scene, *, follows: bool = False) -> Row:
    """Return an entry's row; `follows` is set if its cause is listed above it."""
    search = f"{entry.subject} {_title(entry)} {entry.summary} {entry.severity or 'unknown'}"
    return Row(entry.key, FindingRow(entry, scene, follows), None, search)


def cut(item: FindingRow, table: LineTable) -> bool:
    """Return whether the subject or the summary of a row does not fit its column."""
    room = {column.name: size for column, size in table.fitted(table.size.width)}
    entry = item.entry
    return any(
        len(said) > room.get(name, 0)
        for name, said in (("subject", entry.subject), ("finding", f"{_title(entry)}  {entry.summary}"))
    )


def full_text_rows(item: FindingRow | None, width: int, most: int) -> list[Row]:
    """Return the full text of a row of the table, in at most `most` lines below an empty one."""
    if item is None:
        return []
    word = item.scene.palette.word
    said = f"{word(item.entry.subject, 100)}: {word(item.entry.summary, 2000)}"
    lines = textwrap.wrap(
        said, max(min(width - 3, WIDEST), 10), max_lines=most, placeholder=item.scene.palette.ellipsis
    )
    return [words(()), *(words(text(f" {line}")) for line in lines)]


def heading(title: str, count: int | None = None) -> Row:
    """Return a heading row, with the number of rows below it if given."""
    return words(text((title, STRONG), (f"  {count}" if count is not None else "", FAINT)))


def note_row(note: str, scene: Scene) -> Row:
    """Return a row that explains why a table is empty."""
    return words(text((scene.palette.word(note, 300), FAINT)))


def entry_rows(entries: Sequence[FindingEntry], scene: Scene) -> list[Row]:
    """Return the rows of entries; active findings listed below their cause are marked."""
    findings = [entry.finding for entry in entries if entry.finding is not None and entry.until is None]
    below = {findings[led.place].id for led in by_cause(findings) if led.follows}
    return [entry_row(entry, scene, follows=entry.key in below) for entry in entries]
