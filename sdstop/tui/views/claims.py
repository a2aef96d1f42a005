"""The table of findings, as Overview and the view of all findings have it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from sdstop.core.finding import by_cause
from sdstop.core.format import clock, duration
from sdstop.tui.palette import FAINT, PLAIN, STRONG, Line, text
from sdstop.tui.pane import Row, words
from sdstop.tui.scene import Claim, Scene
from sdstop.tui.table import Cell, Column, LineTable
from sdstop.tui.why import WIDEST, claim_mark, figures


@dataclass(frozen=True, slots=True)
class Said:
    """A claim at a moment; `follows` if another one above it is its cause."""

    claim: Claim
    scene: Scene
    follows: bool = False

    @property
    def opens(self) -> Claim:
        """What a choice of the row leads to."""
        return self.claim


def _mark(item: Said, width: int) -> Line:
    del width
    return claim_mark(item.claim, item.scene.palette)


def _summary(item: Said, width: int) -> Line:
    del width
    quiet = item.claim.until is not None or item.follows or item.claim.calm
    return text((item.scene.palette.word(item.claim.summary, 400), FAINT if quiet else PLAIN))


def _subject(item: Said, width: int) -> Line:
    del width
    quiet = item.claim.until is not None or item.follows or item.claim.calm
    shown = item.scene.palette.word(item.claim.subject, 60)
    return text((f"{_BELOW if item.follows else ''}{shown}", FAINT if quiet else STRONG))


def _since(item: Said, width: int) -> Cell:
    del width
    return text((clock(item.claim.since), FAINT)) if item.claim.since is not None else ""


def _age(item: Said, width: int) -> Cell:
    del width
    lasted = item.claim.lasted(item.scene.now.monotonic)
    return "" if lasted is None else text((duration(lasted), FAINT))


def _figures(item: Said, width: int) -> Cell:
    del width
    return figures(item.claim.finding, item.scene.palette, 3) if item.claim.finding is not None else ""


_BELOW = "  "
"""Before the name of what another finding explains."""


def _rank(item: Said) -> int:
    return -1 if item.claim.severity is None else item.claim.severity.rank


COLUMNS = (
    Column("severity", "", 5, _mark, _rank),
    Column("subject", "WHERE", 12, _subject, lambda i: i.claim.subject, widest=30, rising=True),
    Column("finding", "FINDING", 44, _summary, widest=110, comfort=52),
    Column("figures", "COMPARED", 50, _figures, keep=1, widest=70),
    Column("since", "SINCE", 8, _since, lambda i: i.claim.since, keep=2),
    Column("age", "FOR", 7, _age, lambda i: i.claim.lasted(i.scene.now.monotonic), keep=3, rising=True),
)


def claim_row(claim: Claim, scene: Scene, *, follows: bool = False) -> Row:
    """Return a claim's row; `follows` if another one above it is its cause."""
    search = f"{claim.subject} {claim.summary} {claim.severity or 'unknown'}"
    return Row(claim.key, Said(claim, scene, follows), None, search)


def cut(item: Said, table: LineTable) -> bool:
    """Whether a row of the table has no room for all that it says."""
    room = {column.name: size for column, size in table.fitted(table.size.width)}
    claim = item.claim
    return any(len(said) > room[name] for name, said in (("subject", claim.subject), ("finding", claim.summary)))


def told_rows(item: Said | None, width: int, most: int) -> list[Row]:
    """Return what a row of the table says, whole, in at most so many lines below an empty one."""
    if item is None:
        return []
    word = item.scene.palette.word
    said = f"{word(item.claim.subject, 100)}: {word(item.claim.summary, 2000)}"
    lines = textwrap.wrap(
        said, max(min(width - 3, WIDEST), 10), max_lines=most, placeholder=item.scene.palette.ellipsis
    )
    return [words(()), *(words(text(f" {line}")) for line in lines)]


def heading(title: str, count: int | None = None) -> Row:
    """Return a line above some rows."""
    return words(text((title, STRONG), (f"  {count}" if count is not None else "", FAINT)))


def note_row(note: str, scene: Scene) -> Row:
    """Return a line that says why there is nothing."""
    return words(text((scene.palette.word(note, 300), FAINT)))


def claim_rows(claims: Sequence[Claim], scene: Scene) -> list[Row]:
    """Return the rows of some claims, findings in force below their cause."""
    findings = [claim.finding for claim in claims if claim.finding is not None and claim.until is None]
    below = {findings[led.place].id for led in by_cause(findings) if led.follows}
    return [claim_row(claim, scene, follows=claim.key in below) for claim in claims]
