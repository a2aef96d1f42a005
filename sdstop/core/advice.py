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
        """Return the shell line, followed by the note, which a line break in a name must not end."""
        note = "".join(char if char.isprintable() else "?" for char in self.note)
        return f"{self.shell}{_NOTE}{note}" if note else self.shell


Advice = str | ShellCommand
_NOTE = "   # "
"""Separator of a command and its note. No command contains it, because blanks of names are escaped."""


def advice_lines(advice: str, width: int) -> list[str]:
    """Return an advice in lines that can be pasted into a shell; a longer word is a line of its own.

    Words are not broken, also not at an escaped blank, and each further line of a note is a comment as well: the rest
    of either would be a command of its own.
    """
    shell, _, note = advice.partition(_NOTE)
    lines: list[str] = []
    for part, begin, first in ((shell, "", ""), (note, "# ", _NOTE)):
        opens = True
        for word in part.replace("\\ ", "\\\0").split():
            space = (first if opens else " ") if lines else begin
            if lines and len(lines[-1]) + len(space) + len(word) <= width:
                lines[-1] += space + word
            else:
                lines.append(begin + word)
            opens = False
    return [line.replace("\0", " ") for line in lines] or [""]


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
