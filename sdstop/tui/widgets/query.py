"""Query: what `/` searches for. Regular expressions and conditions, joined with spaces or `and`, `or`, `not`.

`sd[a-c]`: rows whose text matches, ignoring case. `await > 20ms %util > 80`: both conditions; a bare number has the
unit of the heading. `array = md0 or array = nvme*`: text, where * matches anything. Parentheses group.
"""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from sdstop.core.suggestion import quoted, unknown_name
from sdstop.tui.widgets.column import TableColumn
from sdstop.tui.widgets.palette import plain
from sdstop.tui.widgets.pane import Row

Columns = Mapping[str, TableColumn]
"""Columns of a table by heading and by field name, in lower case."""
Test = Callable[[Row, Columns], bool]

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_OPERATOR = re.compile(r"\s*(>=|<=|!=|!~|=~|==|=|~|>|<)\s*")
_NAMED = re.compile(r"([^\s<>=!~()\"']+)\s*(?=>=|<=|!=|!~|=|~|>|<)")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_VALUE = re.compile(r"[^\s()]+")
_UNIT = re.compile(r"\s*(us|µs|ms|s|m|h|d|%|[kmgtp]i?(?:b(?:it)?)?(?:/s)?|b/s)(?![^\s)])", re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)([^\d\s].*)?")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DECIMAL = re.compile(r"(?:[^B]*/s|IOPS)")
"""Headings of numbers that grow by thousands; bytes grow by 1024."""
_MOST = 2000
"""Maximum characters of a row that a pattern searches."""


class QueryError(ValueError):
    """Raised for an invalid query; one line with the error."""


class RowQuery(Struct, frozen=True):
    """A parsed query; `names` are the columns that it compares, in lower case."""

    text: str
    test: Test
    names: frozenset[str] = frozenset()

    def holds(self, row: Row, columns: Columns) -> bool:
        """Return whether a row of a table with these columns is a hit."""
        return self.test(row, columns)

    def judges(self, columns: Columns) -> bool:
        """Return whether a table can have hits: it has one of the compared columns, or the query compares none."""
        return not self.names or not self.names.isdisjoint(columns)


def parse(text: str, known: Collection[str]) -> RowQuery:
    """Return the query of a typed text; `known` are the names of all columns, in lower case. Raises QueryError."""
    reader = _Reader(text, sorted(known, key=len, reverse=True))
    test = reader.either()
    if reader.rest():
        raise QueryError('unexpected ")"' if reader.rest()[0] == ")" else f"unexpected {quoted(reader.rest())}")
    return RowQuery(text, test, frozenset(reader.names))


class _Reader:
    """Reads a query from left to right."""

    def __init__(self, text: str, known: list[str]) -> None:
        self.text = text
        self.known = known
        self.at = 0
        self.names: set[str] = set()

    def rest(self) -> str:
        """Skip blanks and return the rest."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at :]

    def word(self, *words: str) -> bool:
        """Skip one of these words if it is the next one."""
        rest = self.rest()
        for word in words:
            after = rest[len(word) : len(word) + 1]
            if rest.lower().startswith(word) and (not after or after.isspace() or after == "("):
                self.at += len(word)
                return True
        return False

    def either(self) -> Test:
        tests = [self.all()]
        while self.word("or", "||", "|"):
            tests.append(self.all())
        return tests[0] if len(tests) == 1 else lambda row, columns: any(test(row, columns) for test in tests)

    def all(self) -> Test:
        tests = [self.one()]
        while True:
            joined = self.word("and", "&&", "&")
            rest = self.rest()
            if not joined and (not rest or rest[0] == ")" or self._is_or(rest)):
                break
            tests.append(self.one())
        return tests[0] if len(tests) == 1 else lambda row, columns: all(test(row, columns) for test in tests)

    @staticmethod
    def _is_or(rest: str) -> bool:
        return re.match(r"(?:or|\|\||\|)(?=[\s(]|$)", rest, re.IGNORECASE) is not None

    def one(self) -> Test:
        rest = self.rest()
        if not rest:
            raise QueryError("nothing to search for" if not self.text.strip() else "incomplete; something must follow")
        if self.word("not", "!"):
            inner = self.one()
            return lambda row, columns: not inner(row, columns)
        if rest[0] == "(" and not _balanced(_token(rest)):
            self.at += 1
            test = self.either()
            if not self.rest().startswith(")"):
                raise QueryError('missing ")"')
            self.at += 1
            return test
        named = self._name(rest)
        return self._condition(named) if named is not None else self._pattern(rest)

    def _name(self, rest: str) -> str | None:
        """Return the name of the next condition, in lower case; None if a pattern is next."""
        lower = rest.lower()
        for name in self.known:
            if lower.startswith(name) and _OPERATOR.match(rest, len(name)):
                self.at += len(name)
                return name
        found = _NAMED.match(rest)
        if found is None:
            return None
        hint = "put text in quotes"
        raise QueryError(unknown_name("column", found[1], self.known, hint))

    def _condition(self, name: str) -> Test:
        found = _OPERATOR.match(self.text, self.at)
        assert found is not None  # noqa: S101  # checked by _name
        self.at = found.end()
        self.names.add(name)
        sign, value = found[1], self._value(name)
        if sign in _COMPARED:
            number = _NUMBER.fullmatch(value)
            if number is None:
                raise QueryError(f"{name} {sign} needs a number, not {quoted(value)}")
            return _ordered(name, _COMPARED[sign], float(number[1]), _unit(number[2], value))
        if sign in {"~", "=~", "!~"}:
            pattern = _compiled(value)
            found_in = _matching(name, pattern)
        else:
            found_in = _equal(name, value)
        if sign.startswith("!"):
            return lambda row, columns: name in columns and not found_in(row, columns)
        return found_in

    def _value(self, name: str) -> str:
        literal = _QUOTED.match(self.text, self.at)
        if literal is not None:
            self.at = literal.end()
            return literal[1] if literal[1] is not None else literal[2]
        found = _VALUE.match(self.text, self.at)
        if found is None:
            raise QueryError(f"{name} must be compared with a value")
        self.at = found.end()
        unit = _UNIT.match(self.text, self.at) if _NUMBER.fullmatch(found[0]) else None
        if unit is None or unit.start(1) == self.at:
            return found[0]
        self.at = unit.end()
        return found[0] + unit[1]

    def _pattern(self, rest: str) -> Test:
        literal = _QUOTED.match(rest)
        token = literal[0] if literal is not None else _token(rest)
        while literal is None and token.endswith(")") and not _balanced(token):
            token = token[:-1]
        self.at += len(token)
        if not token:
            raise QueryError('unexpected ")"')
        shown = (literal[1] if literal[1] is not None else literal[2]) if literal is not None else None
        pattern = _compiled(token) if shown is None else re.compile(re.escape(shown), re.IGNORECASE)
        return lambda row, _: pattern.search(row.searchable[:_MOST]) is not None


def _token(rest: str) -> str:
    return re.split(r"\s", rest, maxsplit=1)[0]


def _balanced(token: str) -> bool:
    return token.count("(") - token.count("\\(") == token.count(")") - token.count("\\)")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of meanings that a pattern may get in a later Python
            return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise QueryError(f"invalid pattern {quoted(pattern)}: {error}") from None


def _unit(unit: str | None, value: str) -> Callable[[TableColumn], float]:
    """Return a function for the factor from a typed number to the base unit of a column. Raises QueryError."""
    if unit is None:
        return lambda column: column.scale
    lower = unit.lower()
    if unit in _SECONDS:
        seconds = _SECONDS[unit]
        # An upper-case letter is a prefix; of the lower-case ones only m is both, and only waits are seen in minutes.
        return lambda column: 1e6 if unit == "m" and _DECIMAL.fullmatch(column.heading) else seconds
    if lower == "%":
        return lambda _: 0.01
    found = re.fullmatch(r"([kmgtp]?)(i?)(b?)(?:it)?(?:/s)?", lower)
    if found is None or not lower:
        raise QueryError(f"unknown unit in {quoted(value)}; use ms, s, %, K, M, G or T")
    power = " kmgtp".index(found[1]) if found[1] else 0
    if found[2] or found[3]:
        return lambda _: 1024.0**power
    return lambda column: (1000.0 if _DECIMAL.fullmatch(column.heading) else 1024.0) ** power


def _number(row: Row, column: TableColumn) -> float | None:
    """Return the value of a column in its base unit; None if it is unknown or not a number."""
    value = column.value(row.item) if column.value is not None and row.line is None else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ordered(
    name: str, compare: Callable[[float, float], bool], typed: float, unit: Callable[[TableColumn], float]
) -> Test:
    def test(row: Row, columns: Columns) -> bool:
        column = columns.get(name)
        value = _number(row, column) if column is not None else None
        if value is None or column is None:
            return False
        wanted = typed * unit(column)
        return compare(0.0 if _same(value, wanted) else value - wanted, 0.0)

    return test


def _matching(name: str, pattern: re.Pattern[str]) -> Test:
    def test(row: Row, columns: Columns) -> bool:
        column = columns.get(name)
        return column is not None and any(pattern.search(text) for text in _texts(row, column))

    return test


def _equal(name: str, value: str) -> Test:
    glob = value.lower()
    number = _NUMBER.fullmatch(value)
    try:
        unit = _unit(number[2], value) if number is not None else None
    except QueryError:
        unit = None  # a name that begins with digits

    def test(row: Row, columns: Columns) -> bool:
        column = columns.get(name)
        if column is None:
            return False
        if any(fnmatchcase(text.lower(), glob) for text in _texts(row, column)):
            return True
        found = _number(row, column) if unit is not None and number is not None else None
        if found is None or unit is None or number is None:
            return False
        return _same(found, float(number[1]) * unit(column))

    return test


def _same(value: float, wanted: float) -> bool:
    """Return whether two numbers differ only by the rounding of a unit."""
    return math.isclose(value, wanted, rel_tol=1e-9)


def _texts(row: Row, column: TableColumn) -> Iterator[str]:
    """Yield the painted text of a cell, then its words, which are names of several things."""
    if row.line is not None:
        return
    cell = column.cell(row.item, _WIDTH)
    text = (cell if isinstance(cell, str) else plain(cell)).strip()
    yield text
    parts = re.split(r"[\s,]+", text)
    if len(parts) > 1:
        yield from parts


_WIDTH = 60
"""Cells in which a cell is painted to be searched."""
