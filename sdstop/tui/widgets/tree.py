"""TreeTable: a table of tree rows. Branches can be folded; automatic folding keeps faulty rows visible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace
from textual.binding import BindingType

from sdstop.tui.widgets.keys import Section, bind, explained
from sdstop.tui.widgets.palette import MARKS, Palette
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.table import LineTable, TableColumn

GENEROUS = 2
"""Number of screens of rows up to which everything is unfolded by default."""
FEWEST = 24
"""Number of rows up to which everything is unfolded by default, even on the smallest screen."""
BUSHY = 8
"""Minimum leaves of a branch that is folded by default in a tree larger than GENEROUS and FEWEST allow."""


class Branch(Struct, frozen=True):
    """A row and its descendants: `count` in total, `leaves` of them direct children without children.

    The row's item is a named tuple with a field `lead`, which the table fills with the tree lines before the name.
    `below` returns the child branches, `marked` only those that stay visible when the branch is folded by default.
    """

    row: Row
    below: Callable[[], Sequence[Branch]] = tuple
    marked: Callable[[], Sequence[Branch]] = tuple
    count: int = 0
    leaves: int = 0


class TreeTable(LineTable):
    """Table of tree rows; siblings are sorted, and a filter shows matching rows and their ancestors."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *explained(Section.ROWS, "tree: collapse, expand", bind("h,left", "fold"), bind("l,right", "unfold")),
        *explained(Section.ROWS, "tree: collapse/expand all; + only branches with problems", bind("z", "fold_all")),
    ]

    def __init__(
        self,
        title: str,
        columns: Sequence[TableColumn],
        *,
        id: str | None = None,  # noqa: A002
        bushy: int = BUSHY,
    ) -> None:
        """Create an empty, unsorted table; `bushy` is the minimum number of leaves for folding by default."""
        super().__init__(title, columns, id=id)
        self.bushy = bushy
        self.folded: dict[Hashable, bool] = {}
        self._roots: Sequence[Branch] = ()
        self._all = 0
        self._above: dict[Hashable, Hashable] = {}
        self._branches: dict[Hashable, tuple[Branch, bool]] = {}

    def grow(self, roots: Sequence[Branch], palette: Palette, note: str = "", notes: Sequence[Row] = ()) -> None:
        """Show a tree, with the rows `notes` below it."""
        self._roots = roots
        if palette != self.palette:
            self.palette, self._fitted = palette, (-1, [])
        self.put(notes, palette, note)

    def fail(self, said: str, palette: Palette) -> None:
        """Show why the rows cannot be shown, or nothing for ""."""
        self._roots = ()
        super().fail(said, palette)

    def _arranged(self, rows: Sequence[Row]) -> list[Row]:
        self._all = sum(1 + branch.count for branch in self._roots)
        self._above, self._branches = {}, {}
        notes = super()._arranged(rows)
        if self.wanted is not None:
            self.hits += sum(self.hit(row) for row in all_rows(self._roots))
        return [*self._shown(self._roots, "", None), *notes]

    def _shown(self, branches: Sequence[Branch], lead: str, above: Hashable, *, bare: bool = False) -> Iterator[Row]:
        """Yield the rows of the branches below `above`; `bare` if an ancestor already matches the filter."""
        by_key = {branch.row.key: branch for branch in branches}
        wanted = [branch for branch in branches if bare or self._wanted(branch)]
        ordered = self._ordered([branch.row for branch in wanted])
        between, last = self.palette.branches
        for row in ordered:
            branch = by_key[row.key]
            held = bare or not self.narrowing or self.hit(row)
            below, folded = self._below(branch, held=held)
            hang = "" if above is None else last if row is ordered[-1] else between
            mark = "+ " if folded else ""
            self._branches[row.key] = branch, folded
            self._above[row.key] = above
            yield replace(row, item=replace(row.item, lead=f"{lead}{hang}{mark}"))
            deeper = lead + ("" if above is None else " " * len(hang) if row is ordered[-1] else self._bar(hang))
            yield from self._shown(below, deeper, row.key, bare=held and self.narrowing)

    def _bar(self, hang: str) -> str:
        return ("|" if self.palette.ascii else "│").ljust(len(hang))

    def _wanted(self, branch: Branch) -> bool:
        if not self.narrowing or self.hit(branch.row):
            return True
        return bool(branch.count) and any(self._wanted(part) for part in branch.below())

    def _below(self, branch: Branch, *, held: bool) -> tuple[Sequence[Branch], bool]:
        """Return the visible children of a branch, and whether the branch is folded."""
        if not branch.count:
            return (), False
        if not held:  # shown only because a descendant matches
            return branch.below(), False
        chosen = self.folded.get(branch.row.key)
        if chosen is None and self._all > max(GENEROUS * self.room, FEWEST) and branch.leaves >= self.bushy:
            return branch.marked(), True
        return ((), True) if chosen else (branch.below(), False)

    def point(self, key: Hashable) -> bool:
        """Move the cursor to the row with a key, unfolding what hides it; return False if there is none."""
        if super().point(key):
            return True
        above = _above(self._roots, key)
        for each in above or ():
            self.folded[each] = False
        if above:
            self._rearrange()
        return bool(above) and super().point(key)

    # -- keys -------------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Fold the branch under the cursor; if it is folded or a leaf, move to its parent."""
        key = self.cursor
        if key not in self._branches:
            return
        branch, _ = self._branches[key]
        if branch.count and self.folded.get(key) is not True:
            self._set(key, folded=True)
        elif self._above[key] is not None:
            self.point(self._above[key])

    def action_unfold(self) -> None:
        """Unfold the branch under the cursor; if it is unfolded, move to its first child."""
        key = self.cursor
        if key not in self._branches:
            return
        branch, folded = self._branches[key]
        if folded:
            self._set(key, folded=False)
        elif branch.count:
            self.action_move(1)

    def action_fold_all(self) -> None:
        """Unfold everything; if everything is unfolded, fold all branches with leaves."""
        fold = not any(folded for _, folded in self._branches.values())
        self.folded = {branch.row.key: fold for branch in self._all_branches(self._roots) if branch.leaves or not fold}
        self._rearrange()

    def _all_branches(self, branches: Sequence[Branch]) -> Iterator[Branch]:
        for branch in branches:
            if branch.count:
                yield branch
                yield from self._all_branches(branch.below())

    def _set(self, key: Hashable, *, folded: bool) -> None:
        self.folded[key] = folded
        self.held = True
        self._rearrange()


def _above(branches: Sequence[Branch], key: Hashable) -> list[Hashable] | None:
    """Return the keys of the branches above a row, the nearest last; None if it is not among them."""
    for branch in branches:
        if branch.row.key == key:
            return []
        found = _above(branch.below(), key) if branch.count else None
        if found is not None:
            return [branch.row.key, *found]
    return None


def all_rows(branches: Sequence[Branch]) -> Iterator[Row]:
    """Yield the rows of branches and of everything below them, folded or not."""
    for branch in branches:
        yield branch.row
        if branch.count:
            yield from all_rows(branch.below())


def severe(item: object) -> bool:
    """Return whether a row has a severity mark and so stays visible in a branch folded by default."""
    return getattr(item, "severity", None) in MARKS
