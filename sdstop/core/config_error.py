"""Errors in settings files, each one line that names the setting.

msgspec reports `Expected `float`, got `str` - at `$.rules[...][...]``: it omits the keys of tables,
and names neither ranges nor the valid settings. Both are determined here from the value and the declared types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from sdstop.core.expression import expression
from sdstop.core.format import safe
from sdstop.core.suggestion import nearest

_WHERE = expression(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)
_STEP = expression(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")
_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "object": "a table",
    "array": "a list", "null": "nothing",
}  # fmt: skip
_UNQUOTED = {"int", "float", "bool", "datetime", "date", "time"}

Convert = Callable[[object, type], object]
Step = str | int
"""Name of a setting, or index in a list."""


class ConfigError(Exception):
    """Raised when a settings file cannot be used; the one-line message names the setting and the error."""


class InvalidSetting(ValueError):  # noqa: N818
    """Raised by `__post_init__` of a declared type; `field` is the wrong field ("": the whole table)."""

    def __init__(self, field: str, text: str) -> None:
        """Keep the field and the message."""
        super().__init__(text)
        self.field = field


def unknown(what: str, name: str, known: Collection[str], valid: str | None = None) -> str:
    """Return the message for an unknown name, with the closest match or all valid names."""
    near = nearest(name, known)
    return f"unknown {what}; " + (
        f"did you mean {near}?" if near else valid or f"valid: {', '.join(sorted(known)) or 'none'}"
    )


def message(value: object, kind: type, error: msgspec.ValidationError, place: str, convert: Convert) -> str:
    """Return the message for an error raised by `convert(value, kind)`; `place` is the path of the value."""
    match = _WHERE.fullmatch(str(error))
    text, of_key, where = match.groups() if match else (str(error), None, None)
    steps = _steps(value, str(error), where or "", lambda changed: convert(changed, kind))
    declared = [inspect.type_info(kind)]
    for step in steps:
        declared = [below for above in declared for below in _below(above, step)]
    cause = error.__cause__
    field, what = "", safe(cause)
    if isinstance(cause, InvalidSetting):
        field = cause.field
    elif cause is None and (extra := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL)):
        field, what = extra[1], _unknown(extra[1], declared)
    elif cause is None and (missing := re.fullmatch(r"Object missing required field `(.*)`", text)):
        field = missing[1]
        what = f"missing; expected {_expected([t for above in declared for t in _below(above, field)])}"
    elif of_key:
        what = "a key is not text; put it in quotes"
    elif cause is None:
        got = re.search(r"got `(\w+)`", text)
        what = f"expected {_expected(declared) or 'another value'}" + (
            f", got {_WORDS.get(got[1], got[1])}" if got else ""
        )
        if got and got[1] in _UNQUOTED and text.startswith("Expected `str"):
            what += "; put it in quotes"
    named = "".join(
        f"[{s}]" if isinstance(s, int) else f".{safe(s, 40)}" for s in [*steps, *([field] if field else [])]
    )
    return f"{f'{place}{named}'.lstrip('.')}: {what}".removeprefix(": ")


def _steps(value: object, text: str, where: str, convert: Callable[[object], object]) -> list[Step]:
    """Return the path of a message; a key omitted as `[...]` is the one that alone causes the same error."""
    found: list[Step] = []
    node: Any = value
    for name, index, hidden in _STEP.findall(where):
        step: Step = int(index) if index else name
        if hidden:
            step = next((key for key in node if _fails(_only(value, found, key), text, convert)), "?")
            value = _only(value, found, step) if step in node else value  # other keys may cause the same error
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


def _fails(value: object, text: str, convert: Callable[[object], object]) -> bool:
    try:
        convert(value)
    except msgspec.ValidationError as error:
        return str(error) == text
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
    """Return a description of the values that a setting accepts."""
    words: list[str] = []
    for each in declared:
        match each:
            case inspect.Metadata(type=inner, extra_json_schema=extra):
                words.append((extra or {}).get("description") or _expected([inner]))
            case inspect.UnionType(types=types):
                words.append(_expected(types))
            case inspect.EnumType(cls=kind):
                words.append(f"one of {', '.join(str(member.value) for member in kind)}")
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
    """Return the message for a setting that does not exist."""
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
