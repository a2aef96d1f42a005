"""Key bindings with their own help, from which the help screen, footers and command names are derived."""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, format_key

Hint = tuple[str, str]
"""Keys and a word for their action, as shown in a footer."""

_NAMES = {
    "enter": "Enter", "escape": "Esc", "backspace": "Backspace", "tab": "Tab", "space": "Space", "pageup": "PgUp",
    "pagedown": "PgDn", "home": "Home", "end": "End", "up": "Up", "down": "Down", "left": "Left", "right": "Right",
}  # fmt: skip


class Section(enum.StrEnum):
    """Section of the help screen."""

    VIEWS = "Views"
    ROWS = "Rows"
    TIME = "Time"
    OTHER = "Other"


@dataclass(frozen=True)
class KeyHelp(Binding.Group):
    """Line of the help screen, shared by the bindings that it describes.

    `hint` is the word in a footer, where hints are ordered by `rank`, 1 first; "" keeps the keys out of it.
    """

    section: Section = Section.OTHER
    hint: str = ""
    rank: int = 0


@dataclass(frozen=True)
class KeyBinding(Binding):
    """Binding of one action; `commands` name it in the command palette."""

    show: bool = False
    commands: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Readable names of the keys: `t`, `PgUp`, `Ctrl-C`."""
        return [key_name(key) for key in self.key.split(",")]


def bind(keys: str, action: str, *commands: str) -> KeyBinding:
    """Return the binding of keys, separated by commas, to an action that may have command names."""
    return KeyBinding(keys, action, commands=commands)


def explained(section: Section, help_: str, *keys: KeyBinding, hint: str = "", rank: int = 0) -> list[BindingType]:
    """Return bindings that share one line of the help screen."""
    line = KeyHelp(help_, section=section, hint=hint, rank=rank)
    return [KeyBinding(key.key, key.action, group=line, commands=key.commands) for key in keys]


def key_name(key: str) -> str:
    """Return the readable name of a Textual key: `PgUp`, `Ctrl-C`, `?`."""
    *modifiers, last = key.split("+")
    shown = _NAMES.get(last) or (last.upper() if modifiers or last[1:].isdigit() else format_key(last))
    return "-".join([*(modifier.capitalize() for modifier in modifiers), shown])


def pressed(name: str) -> str:
    """Return the Textual key of a readable name: `pageup` for `PgUp`, `question_mark` for `?`."""
    *modifiers, last = name.split("-") if len(name) > 1 else [name]
    known = {shown: key for key, shown in _NAMES.items()}
    key = known.get(last) or (key_of(last) if len(last) == 1 else last.lower())
    return "+".join([*(modifier.lower() for modifier in modifiers), key.lower() if modifiers else key])


def key_of(character: str) -> str:
    """Return Textual's name for the key of a character: `exclamation_mark` for `!`."""
    if character.isalnum():
        return character
    name = unicodedata.name(character).lower().replace(" ", "_").replace("-", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def keys_of(bindings: Iterable[BindingType]) -> Iterator[KeyBinding]:
    """Yield the bindings that are instances of KeyBinding."""
    return (binding for binding in bindings if isinstance(binding, KeyBinding))


def lines_of(*tables: Iterable[BindingType]) -> dict[KeyHelp, list[str]]:
    """Return the key names of each help line, in the order of the bindings.

    The first keys of all bindings of a line precede the second ones: `t T ] [`.
    """
    grouped: dict[KeyHelp, list[KeyBinding]] = {}
    for table in tables:
        for key in keys_of(table):
            if isinstance(key.group, KeyHelp):
                grouped.setdefault(key.group, []).append(key)
    return {line: _in_columns([key.names for key in keys]) for line, keys in grouped.items()}


def _in_columns(names: Sequence[Sequence[str]]) -> list[str]:
    return [each[at] for at in range(max(map(len, names))) for each in names if at < len(each)]


def hints_of(*tables: Iterable[BindingType]) -> tuple[Hint, ...]:
    """Return the hints of a footer, the most important first: the first key of each binding, and the hint."""
    grouped: dict[KeyHelp, list[str]] = {}
    for table in tables:
        for key in keys_of(table):
            if isinstance(key.group, KeyHelp) and key.group.hint:
                grouped.setdefault(key.group, []).append(key.names[0])
    return tuple((" ".join(names), line.hint) for line, names in sorted(grouped.items(), key=lambda item: item[0].rank))
