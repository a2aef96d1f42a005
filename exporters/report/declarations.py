"""Indexes of declarations: rules and sources without their functions, as Python source text.

A rule or a source is a record of words, numbers, families and functions. Its index has all but the functions, which
`later` names, so that nothing else of it is imported where it has nothing to do. scripts/docs writes the indexes, and
pytest stops while an entry differs from its declaration (tests/conftest.py).
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from textwrap import indent
from types import FunctionType
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from sdstop.core.absence import QUIET, Call, End, IfPresent, NothingFound
from sdstop.core.collector import Collector
from sdstop.core.host import Absent, Denied, Failed, Host, LogPart, Malformed, Output, Reply, TimedOut, Unreadable

_WIDTH = 500
"""Columns up to which a value has one line: thus fields of a source, and each thing that it needs, have their own."""
_PLAIN = (str, int, float, bool, bytes, type(None))


def index(about: str, name: str, declared: Mapping[str, Mapping[str, Struct]]) -> str:
    """Return the text of a module that defines `name`: declarations by module, and by their names in it.

    `about` is its docstring. Raises TypeError for a value that cannot be written, such as an open file.
    """
    text = _Text()
    lines = []
    for module, found in declared.items():
        lines.append(f'    "{module}": {{')
        lines += [indent(f'"{each}": {text.of(value, module, each)},', 8 * " ") for each, value in found.items()]
        lines.append("    },")
    kind = text.name_of(type(next(value for found in declared.values() for value in found.values())))
    head = (
        f'"""{about}',
        "",
        "Written by scripts/docs from the declarations themselves; pytest stops while an entry differs from them.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        *text.imports(),
        "",
        f"{name}: dict[str, dict[str, {kind}]] = {{",
    )
    return "\n".join((*head, *lines, "}", ""))


class _Text:
    """Text of values, and the names used in it."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._paths: dict[int, tuple[Any, str]] = {}

    def imports(self) -> list[str]:
        """Return the lines that import the names used in the text."""
        found = {f"from {each.__module__} import {_named(each, name)}" for name, each in self._names.items()}
        return sorted(found | {"from sdstop.core.later import later"})

    def name_of(self, each: type) -> str:
        """Return the name of a class in the text."""
        name, number = each.__name__, 1
        while self._names.setdefault(name, each) is not each:
            number += 1
            name = f"{each.__name__}{number}"
        return name

    def of(self, value: Any, module: str, path: str) -> str:
        """Return the text of a value that `path` leads to from a module. Raises TypeError."""
        if isinstance(value, enum.Enum):
            return f"{self.name_of(type(value))}.{value.name}"
        if isinstance(value, float) and math.isinf(value):
            return f'float("{value}")'
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, type):
            return self.name_of(value)
        if isinstance(value, tuple):
            texts = [self.of(each, module, f"{path}[{place}]") for place, each in enumerate(value)]
            return f"({texts[0]},)" if len(texts) == 1 else _called("", texts)
        if isinstance(value, frozenset):
            return f"frozenset({{{', '.join(repr(each) for each in sorted(value))}}})" if value else "frozenset()"
        if isinstance(value, Struct) and not callable(value):
            texts = [
                f"{field.name}={self._field(value, field.name, module, f'{path}.{field.name}')}"
                for field in fields(value)
                if field.default is NODEFAULT or getattr(value, field.name) != field.default
            ]
            return _called(self.name_of(type(value)), texts)
        if callable(value):
            return self._later(value, module, path)
        raise TypeError(f"{module}: {path} cannot be written: {value!r}")

    def _field(self, value: Struct, name: str, module: str, path: str) -> str:
        """Return the text of a field's value; those of a source have its calls on a node without it."""
        text = self.of(getattr(value, name), module, path)
        function = getattr(value, name) if isinstance(value, Collector) and name in {"read", "fingerprint"} else None
        found = None if function is None else absence(function)
        if found is None:
            return text
        told, untold, passes, own = found
        self.name_of(IfPresent)
        courses = f"({self.of(told, module, path)},) * 2" if told == untold else self.of((told, untold), module, path)
        given = (self.of(value, module, path) for value in (passes, *([own] if own else [])))
        return _called("IfPresent", [text, courses, *given])

    def _later(self, function: Any, module: str, path: str) -> str:
        """Return the text of a function: the path to it from a module, the first where several lead to it.

        If it is of another module, it is named there, and the path is only for the case that it was moved.
        """
        text = f'"{module}", "{path}"'
        if isinstance(function, FunctionType) and function.__module__ != module:
            home, name = function.__module__, function.__qualname__
            if getattr(sys.modules[home], name, None) is function:
                text = f'"{home}", "{name}", {text}'
        return self._paths.setdefault(id(function), (function, f"later({text})"))[1]


def _called(name: str, given: Sequence[str]) -> str:
    """Return the text of a call, or of a tuple without a name: each argument has a line unless all of them fit."""
    line = f"{name}({', '.join(given)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    return f"{name}(\n{indent(''.join(f'{each},{chr(10)}' for each in given), '    ')})"


def _named(each: type, name: str) -> str:
    return name if name == each.__name__ else f"{each.__name__} as {name}"


_MOST_CALLS = 64


class _Nothing(Host):
    """Host that has nothing: notes the calls, and raises Absent."""

    def __init__(self, *, recorded: bool, first: type[Unreadable] = Absent, known: Collection[str] = ()) -> None:
        """`first` is the error of the first call that can fail; `known` are commands that were recorded as absent."""
        self.calls: list[Call] = []
        self.errors: list[Unreadable | None] = []
        self._recorded = recorded
        self._first = first
        self._known = known

    def _note(self, method: str, *given: Any) -> None:
        if len(self.calls) == _MOST_CALLS:
            raise _Untold
        self.calls.append(Call(method, given))
        self.errors.append(None)

    def _failed(self, method: str, *given: Any) -> Unreadable:
        self._note(method, *given)
        error: Unreadable
        if self._first is not Absent and not any(self.errors):
            error = self._first("key", _DETAIL)
        else:
            error = Absent("key", f"{_DETAIL}{len(self.errors)}", recorded=self._recorded)
        self.errors[-1] = error
        return error

    def read(self, path: str) -> bytes:
        raise self._failed("read", path)

    def entries(self, path: str) -> list[str]:
        raise self._failed("entries", path)

    def link(self, path: str) -> str:
        raise self._failed("link", path)

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        raise self._failed("run", tuple(argv), deadline)

    def answer(self, question: str) -> Any:
        raise self._failed("answer", question)

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        raise self._failed("request", method, path, body, deadline)

    def promptly(self, path: str, seconds: float) -> str:
        raise self._failed("promptly", path, seconds)

    def recorded(self, program: str) -> list[str]:
        self._note("recorded", program)
        return sorted(known for known in self._known if known.startswith(f"{program} "))

    def recorded_texts(self, program: str, shows: Callable[[str], bool]) -> list[str]:
        del shows  # it is not asked where no output of the program is recorded
        self._note("recorded_texts", program)
        return []

    def rests(self, what: str) -> bool:
        self._note("rests", what)
        return False

    def rest(self, what: str, seconds: float) -> None:
        self._note("rest", what, seconds)

    def defect(self, key: str, reason: str, subject: str = "", *, contradiction: bool = False) -> None:
        del key, reason, subject, contradiction
        raise _Untold

    def log_part(self) -> LogPart:
        raise _Untold


class _Untold(Exception):  # noqa: N818
    """Raised for a call that an index cannot repeat."""


_DETAIL = "no\x00thing"
"""Detail of errors that no source has in its own."""


_Absence = tuple[NothingFound, NothingFound, tuple[type[Unreadable], ...], tuple[str, ...]]


def absence(function: Callable[[Host], Any]) -> _Absence | None:
    """Return the calls of a source's function on a node without it, where that is recorded and where it is not.

    Also the errors of the first call that can fail that it passes on at once, and the commands that it runs and whose
    record changes nothing. None if the calls cannot be repeated, or if the source has rows nevertheless.
    """
    told, untold = (_course(function, _Nothing(recorded=recorded)) for recorded in (True, False))
    if told is None or untold is None or not _is_alike(told, untold):
        return None
    passes = []
    for kind in (Denied, Failed, TimedOut):
        host = _Nothing(recorded=True, first=kind)
        try:
            _result(function, host)
        except (Unreadable, Malformed, _Untold) as error:
            if isinstance(error, kind) and host.errors[-1] is error:
                passes.append(kind)
    ran = tuple(dict.fromkeys(" ".join(call.given[0]) for call in told.calls if call.method == "run"))
    same = ran and all(
        _asked(_course(function, _Nothing(recorded=recorded, known=ran))) == _asked(course)
        for recorded, course in ((True, told), (False, untold))
    )
    return told, untold, tuple(passes), ran if same else ()


def _asked(course: NothingFound | None) -> object:
    """Return the calls of a course beside those for recorded commands, and its end."""
    if course is None:
        return None
    end = course.end
    asked = [call for call in course.calls if not call.method.startswith("recorded")]
    return asked, course.calls[end.call] if end.call >= 0 else None, end.key, end.detail, end.recorded, end.value


def _is_alike(told: NothingFound, untold: NothingFound) -> bool:
    """Return whether both courses have the same calls up to the first that can fail."""
    first = next((place for place, call in enumerate(told.calls) if call.method not in QUIET), len(told.calls) - 1)
    return bool(told.calls) and told.calls[: first + 1] == untold.calls[: first + 1]


def _result(function: Callable[[Host], Any], host: Host) -> Any:
    """Return the result of a function; rows, which may be made when they are asked for, as a tuple."""
    found = function(host)
    return tuple(found) if isinstance(found, list | Iterator) else found


def _course(function: Callable[[Host], Any], host: _Nothing) -> NothingFound | None:
    try:
        value = _result(function, host)
        if not isinstance(value, tuple) or any(isinstance(row, Struct) for row in value):
            return None
    except Absent as error:
        own = next((place for place, known in enumerate(host.errors) if known is error), -1)
        of = next((place for place, known in enumerate(host.errors) if known and known.detail == error.detail), -1)
        if own < 0 and (not error.key or error.key == "key" or (of < 0 and _DETAIL in error.detail)):
            return None
        end = End(own) if own >= 0 else End(of, error.key, "" if of >= 0 else error.detail, error.recorded)
    except (Unreadable, Malformed, _Untold):
        return None
    else:
        end = End(value=value)
    return NothingFound(tuple(host.calls), end)
