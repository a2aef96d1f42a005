"""Advice: sentences, and commands as argument lists that are quoted here and nowhere else."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.shell import quoted


class ShellCommand(Struct, frozen=True, gc=False):
    """Command to paste into a shell: one argument list, or several that are connected by pipes.

    `into` is a file that the output is written to (`echo idle > FILE`); `note` is a noun phrase, shown after `#`;
    `background` appends `&`, for commands that can hang.
    """

    pipeline: tuple[tuple[str, ...], ...]
    into: str = ""
    note: str = ""
    background: bool = False

    def pipe(self, *argv: str) -> ShellCommand:
        """Return the command with its output piped to another one."""
        return replace(self, pipeline=(*self.pipeline, argv))

    def noted(self, note: str) -> ShellCommand:
        """Return the command with a note: a noun phrase, shown after `#`."""
        return replace(self, note=note)

    @property
    def shell(self) -> str:
        """The command as a shell line, without the note."""
        line = " | ".join(" ".join(map(_word, argv)) for argv in self.pipeline)
        return f"{line}{f' > {_word(self.into)}' if self.into else ''}{' &' if self.background else ''}"

    def __str__(self) -> str:
        """Return the shell line, followed by the note."""
        return f"{self.shell}   # {self.note}" if self.note else self.shell


Advice = str | ShellCommand


def run(*argv: str, into: str = "", note: str = "", background: bool = False) -> ShellCommand:
    """Return a command of one argument list."""
    return ShellCommand((argv,), into, note, background)


def operands(*names: str) -> tuple[str, ...]:
    """Return names as operands that the command cannot mistake for options."""
    return ("--", *names) if any(name.startswith("-") for name in names) else names


def _word(text: str) -> str:
    """Return one word of a command: in single quotes where that is enough, otherwise escaped."""
    plain = quoted(text)
    if plain == text and text:
        return text
    return f"'{text}'" if text.isascii() and text.isprintable() and "'" not in text else plain or "''"
