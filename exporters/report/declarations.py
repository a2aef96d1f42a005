"""Text of the indexes, sdstop.core.index: rules and sources without their functions, and the courses of sources."""

from __future__ import annotations

import enum
import json
import math
import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from sdstop.core.absence import BLOCK, KINDS, QUIET, Call, Elsewhere, End, NothingFound
from sdstop.core.collector import Collector
from sdstop.core.host import Absent, Denied, Failed, Host, LogPart, Malformed, Output, Reply, TimedOut, Unreadable

_encoded = json.JSONEncoder(ensure_ascii=False).encode


def index(declared: Mapping[str, Mapping[str, Struct]]) -> str:
    """Return the text of an index of declarations by module, and by their names in it.

    Raises TypeError for a value that cannot be written, such as an open file.
    """
    writer = _Writer()
    lines = (
        f"{_encoded(module)}: {_encoded({name: writer.data(value, module, name) for name, value in found.items()})}"
        for module, found in declared.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


class _Writer:
    """Values as JSON data; one function has one name, wherever it is."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Any, str]] = {}

    def data(self, value: Any, module: str, path: str) -> Any:
        """Return a value, to which `path` leads from a module, as JSON data. Raises TypeError."""
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, float) and math.isinf(value):
            return str(value)
        if isinstance(value, str | int | float | None):
            return value
        if isinstance(value, type):
            return f"{value.__module__}:{value.__name__}"
        if isinstance(value, tuple):
            return [self.data(each, module, f"{path}[{place}]") for place, each in enumerate(value)]
        if isinstance(value, frozenset):
            return sorted(value)
        if isinstance(value, Struct) and not callable(value):
            return self._struct(value, module, path)
        if callable(value):
            return self._function(value, module, path)
        raise TypeError(f"{module}: {path} cannot be written: {value!r}")

    def _struct(self, value: Struct, module: str, path: str) -> Any:
        if value.__struct_config__.array_like:
            return [self.data(getattr(value, name), module, path) for name in value.__struct_fields__]
        tag = value.__struct_config__.tag
        found: dict[str, Any] = {} if tag is None else {"type": tag}
        for field in fields(value):
            given = getattr(value, field.name)
            if field.default is NODEFAULT or given != field.default:
                found[field.name] = self.data(given, module, f"{path}.{field.name}")
                if isinstance(value, Collector) and field.name in {"read", "fingerprint"}:
                    found[field.name] = self._source(given, found[field.name], module, path)
        return found

    def _source(self, function: Callable[[Host], Any], name: str, module: str, path: str) -> Any:
        """Return the function of a source with its calls on a node without it, or its name if these are unknown."""
        found = absence(function)
        if found is None:
            return name
        told, untold, passes, own = found
        courses = (told,) if told == untold else (told, untold)
        elsewhere = _elsewhere(function, told)
        data = {"function": name, "courses": courses, "passes": passes, "own": own, "elsewhere": elsewhere}
        return {key: self.data(value, module, path) for key, value in data.items() if value}

    def _function(self, function: Any, module: str, path: str) -> str:
        """Return the name of a function: the path to it from a module, the first where several lead to it.

        If it is of another module, it is named there, and the path is only for the case that it was moved.
        """
        if id(function) not in self._names:
            name, home = f"{module}:{path}", getattr(function, "__module__", module)
            if isinstance(function, FunctionType) and home != module:
                own = function.__qualname__
                name = f"{home}:{own} or {name}" if getattr(sys.modules[home], own, None) is function else name
            self._names[id(function)] = function, name
        return self._names[id(function)][1]


_MOST_CALLS = 64
"""Calls that a source may make to an empty host."""


class _Nothing(Host):
    """Host that has nothing: notes the calls, and raises Absent."""

    def __init__(self, *, recorded: bool, first: type[Unreadable] = Absent, known: Collection[str] = (),
        devices: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """`first` is the error of the first call that can fail; `known` are commands that were recorded as absent.

        `devices` are the block devices, None without a list of them.
        """
        self._devices = devices
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
        if self._devices is not None and path == BLOCK:
            self._note("entries", path)
            return list(self._devices)
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

    def rests(self, what: str, of: Hashable = None) -> bool:
        self._note("rests", what, *([] if of is None else [of]))
        return False

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        self._note("rest", what, seconds, *([] if of is None else [of]))

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
    ran = tuple(dict.fromkeys(" ".join(call.argv) for call in told.calls if call.method == "run"))
    same = ran and all(
        _asked(_course(function, _Nothing(recorded=recorded, known=ran))) == _asked(course)
        for recorded, course in ((True, told), (False, untold))
    )
    return told, untold, tuple(passes), ran if same else ()


def _elsewhere(function: Callable[[Host], Any], told: NothingFound) -> Elsewhere | None:
    """Return the courses of a source that looks for its devices in the list of them; None if it uses all, or none."""
    if Call("entries", (BLOCK,)) not in told.calls:
        return None

    def courses(devices: Sequence[str]) -> list[NothingFound | None]:
        return [_course(function, _Nothing(recorded=recorded, devices=devices)) for recorded in (True, False)]

    bare = courses(())
    found = tuple(course for course in bare if course is not None)
    takes = tuple(kind for kind, names in KINDS.items() if any(courses((name,)) != bare for name in names))
    if len(found) < len(bare) or len(takes) == len(KINDS):
        return None
    return Elsewhere(takes, found[:1] if found[0] == found[1] else found)


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
        same = (known is not None and vars(known) == vars(error) for known in host.errors)  # sources raise copies
        own = next((place for place, is_own in enumerate(same) if is_own), -1)
        of = next((place for place, known in enumerate(host.errors) if known and known.detail == error.detail), -1)
        if own < 0 and (not error.key or error.key == "key" or (of < 0 and _DETAIL in error.detail)):
            return None
        end = End(own) if own >= 0 else End(of, error.key, "" if of >= 0 else error.detail, error.recorded)
    except (Unreadable, Malformed, _Untold):
        return None
    else:
        end = End(value=value)
    return NothingFound(tuple(host.calls), end)
