"""Settings files: TOML and YAML converted to declared types, or refused in one line.

The types are msgspec.Struct classes with `forbid_unknown_fields=True, frozen=True`; `Meta(description=...)` names what
a setting expects where its type alone does not. A message names the path of the setting, `sampler.interval: expected a
number from 0.1 to 3600, got text`, and never quotes a value: it may be a secret in the wrong place.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec import inspect

from sdstop.core.format import safe

T = TypeVar("T")
LARGEST = 1 << 20
"""Bytes of a file."""
_WHERE = re.compile(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")
_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "object": "a table",
    "array": "a list", "null": "nothing",
}  # fmt: skip
_UNQUOTED = {"int", "float", "bool", "datetime", "date", "time"}

Step = str | int
"""Name of a setting, or index in a list."""


class ConfigError(Exception):
    """A settings file cannot be used; one line that names the setting and what is wrong."""


class InvalidSetting(ValueError):  # noqa: N818
    """Raised by `__post_init__` of a declared type: which field is wrong ("": the whole table), and why."""

    def __init__(self, field: str, text: str) -> None:
        """Keep both."""
        super().__init__(text)
        self.field = field


@contextlib.contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Put the name of a file before the line of a ConfigError."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{safe(path)}: {error}") from error.__cause__


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a file. Raises ConfigError, which names the file."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # a path with NUL is a ValueError
        raise ConfigError(f"{safe(path)}: {getattr(error, 'strerror', None) or 'not a path'}") from error
    if len(data) > LARGEST:
        raise ConfigError(f"{safe(path)}: larger than {LARGEST >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{safe(path)}: not UTF-8 text") from None


def read_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML document. Raises ConfigError."""
    import tomllib  # noqa: PLC0415  # most nodes have no file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {safe(error)}") from None
    except RecursionError:
        raise ConfigError("not TOML: nested too deeply") from None


def read_yaml(text: str) -> Any:
    """Return the plain data of a YAML document, in which no key may stand twice. Raises ConfigError."""
    import yaml  # noqa: PLC0415  # 3 MB that most exporters do without

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  # its signature
            seen = []
            for key, _ in node.value:
                if key.value in seen:
                    raise ConfigError(f"line {key.start_mark.line + 1}: duplicate key {safe(key.value, 40)}")
                seen.append(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)  # noqa: S506  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        why = error.problem if error.problem and not re.search("['\"]", error.problem) else None  # it quotes the text
        raise ConfigError(f"{line}not YAML{f': {safe(why)}' if why else ''}") from None
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        raise ConfigError("not YAML") from None


def convert(value: object, kind: type[T], place: str = "") -> T:
    """Return parsed TOML or YAML as a declared type; `place` is the path of the value. Raises ConfigError."""
    try:
        return _converted(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(_line(value, kind, error, place)) from None
    except RecursionError:
        raise ConfigError(f"{place}: nested too deeply".removeprefix(": ")) from None


def _converted(value: object, kind: type[T]) -> T:
    return msgspec.convert(value, kind, dec_hook=_special)


def _special(kind: type, value: object) -> object:
    """Convert to types that msgspec does not know. Raises ValueError."""
    if not isinstance(value, str):
        raise InvalidSetting("", f"expected {_SPECIAL[kind.__name__]}; put it in quotes")
    if (get_origin(kind) or kind) is re.Pattern:
        try:
            return re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidSetting("", f"not a regular expression: {error}") from None
    return kind(value)


_SPECIAL = {"Pattern": "a regular expression", "Path": "a path"}


def unknown(what: str, name: str, known: Collection[str], valid: str | None = None) -> str:
    """Return a complaint about an unknown name: with the one that is probably meant, or all there are."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    near = get_close_matches(name, known, 1)
    return f"unknown {what}; " + (
        f"did you mean {near[0]}?" if near else valid or f"valid: {', '.join(sorted(known)) or 'none'}"
    )


# --- the one line -------------------------------------------------------------------------------------------------


def _line(value: object, kind: type, error: msgspec.ValidationError, place: str) -> str:
    match = _WHERE.fullmatch(str(error))
    text, of_key, where = match.groups() if match else (str(error), None, None)
    steps = _steps(value, kind, str(error), where or "")
    declared = [inspect.type_info(kind)]
    for step in steps:
        declared = [below for above in declared for below in _below(above, step)]
    cause = error.__cause__
    field, what = "", str(cause)
    if isinstance(cause, InvalidSetting):
        field = cause.field
    elif cause is None and (unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL)):
        field, what = unknown[1], _unknown(unknown[1], declared)
    elif cause is None and (missing := re.fullmatch(r"Object missing required field `(.*)`", text)):
        field = missing[1]
        what = f"missing; expected {_expected([t for above in declared for t in _below(above, field)])}"
    elif of_key:
        what = "a key is not text; put it in quotes"
    elif cause is None:
        got = re.search(r"got `(\w+)`", text)
        what = f"expected {_expected(declared)}" + (f", got {_WORDS.get(got[1], got[1])}" if got else "")
        if got and got[1] in _UNQUOTED and text.startswith("Expected `str"):
            what += "; put it in quotes"
    named = "".join(
        f"[{s}]" if isinstance(s, int) else f".{safe(s, 40)}" for s in [*steps, *([field] if field else [])]
    )
    return f"{f'{place}{named}'.lstrip('.')}: {what}".removeprefix(": ")


def _steps(value: object, kind: type, message: str, where: str) -> list[Step]:
    """Return the path of a message; the key that msgspec leaves out as `[...]` is the one that alone fails alike."""
    found: list[Step] = []
    node: Any = value
    for name, index, hidden in _STEP.findall(where):
        step: Step = int(index) if index else name
        if hidden:
            step = next((key for key in node if _fails(_only(value, found, key), kind, message)), "?")
            value = _only(value, found, step) if step in node else value  # the next one may fail alike elsewhere
        found.append(step)
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            break
    return found


def _only(value: Any, steps: Sequence[Step], key: object) -> object:
    """Return the data with the table at `steps` reduced to one key."""
    if not steps:
        return {key: value[key]}
    changed = _only(value[steps[0]], steps[1:], key)
    if isinstance(value, Mapping):
        return {**value, steps[0]: changed}
    return [changed if index == steps[0] else item for index, item in enumerate(value)]


def _fails(value: object, kind: type, message: str) -> bool:
    try:
        _converted(value, kind)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


def _below(declared: inspect.Type, step: Step) -> list[inspect.Type]:
    """Return the types declared for a setting or an item of a table or list."""
    match declared:
        case inspect.Metadata():
            return _below(declared.type, step)
        case inspect.UnionType():
            return [below for each in declared.types for below in _below(each, step)]
        case inspect.StructType():
            return [field.type for field in declared.fields if field.encode_name == step]
        case inspect.DictType():
            return [declared.value_type]
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            return [declared.item_type]
    return []


def _expected(declared: Sequence[inspect.Type]) -> str:
    """Return words for what a setting may be."""
    words: list[str] = []
    for each in declared:
        match each:
            case inspect.Metadata(type=inner, extra_json_schema=extra):
                words.append((extra or {}).get("description") or _expected([inner]))
            case inspect.UnionType(types=types):
                words.append(_expected(types))
            case inspect.LiteralType(values=values):
                words.append(f"one of {', '.join(str(value) for value in values if value != '')}")
            case inspect.FloatType(ge=low, le=high) | inspect.IntType(ge=low, le=high):
                noun = "a number" if isinstance(each, inspect.FloatType) else "a whole number"
                bounds = (("from", low), ("to", high))
                range_ = "".join(f" {word} {limit:g}" for word, limit in bounds if limit is not None)
                words.append(noun + range_.replace("e+", "e"))
            case inspect.StrType():
                words.append("text")
            case inspect.BoolType():
                words.append("true or false")
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                words.append(f"a list of {_expected([item]).removeprefix('a ')}")
            case inspect.StructType() | inspect.DictType():
                words.append("a table")
    return " or ".join(dict.fromkeys(words))


def _unknown(name: str, declared: Sequence[inspect.Type]) -> str:
    """Return what is said of a setting that does not exist."""
    known = _names(declared)
    elsewhere = [f"{outer}.{name}" for outer, types in known.items() if name in _names(types)]
    return f"unknown setting; did you mean {elsewhere[0]}?" if elsewhere else unknown("setting", name, known)


def _names(declared: Sequence[inspect.Type]) -> dict[str, list[inspect.Type]]:
    found: dict[str, list[inspect.Type]] = {}
    for each in declared:
        match each:
            case inspect.Metadata(type=inner):
                found |= _names([inner])
            case inspect.UnionType(types=types):
                found |= _names(types)
            case inspect.StructType(fields=fields):
                found |= {field.encode_name: [field.type] for field in fields}
    return found
