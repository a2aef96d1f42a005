"""Claims: what was measured, beside a peer or a limit, and whether the target is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure, and what it is held against.

    `ours` and `theirs` are in `unit`; `target` is the most that ours / theirs may be, or, without `theirs`, the most
    that ours may be itself. `missing` says why nothing was measured. Without a target it is told for information.
    """

    what: str
    unit: str
    ours: float | None = None
    peer: str = ""
    theirs: float | None = None
    target: float | None = None
    missing: str = ""

    @property
    def measured(self) -> float | None:
        """The ratio, or the figure where there is no peer."""
        if self.ours is None or not self.peer:
            return self.ours
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None if there is none or nothing was measured."""
        return None if self.measured is None or self.target is None else self.measured <= self.target

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        unit = "x" if self.peer else f" {self.unit}"
        target = f"<= {self.target:g}{unit}" if self.target is not None else ""
        measured = f"{_shown(self.measured)}{unit}" if self.measured is not None else ""
        verdict = self.missing or {None: "", True: "met", False: "**not met**"}[self.met]
        figures = ""
        if self.peer and self.ours is not None and self.theirs is not None:
            figures = f"{_shown(self.ours)} against {_shown(self.theirs)} {self.unit}"
        return self.what, self.peer, target, measured, verdict, figures


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


HEADINGS = ("what", "beside", "target", "measured", "", "figures")


def claims_table(claims: Sequence[Claim], *, figures: bool = True) -> str:
    """Return the claims as a Markdown table; without `figures` only what other machines can be held against."""
    width = len(HEADINGS) if figures else len(HEADINGS) - 1
    return table(HEADINGS[:width], [claim.cells()[:width] for claim in claims])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Return rows as a Markdown table that is aligned for reading; with `numbers`, all but the first column."""
    sizes = [max(len(row[index]) for row in (headings, *rows)) for index in range(len(headings))]
    marks = ["-" * size if index == 0 or not numbers else f"{'-' * (size - 1)}:" for index, size in enumerate(sizes)]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.rjust(size) if numbers and index else text.ljust(size)
            for index, (text, size) in enumerate(zip(row, sizes, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    return "\n".join([line(headings), line(marks), *map(line, rows)])
