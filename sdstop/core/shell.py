"""Foreign names in shell commands: the one place that quotes them.

A device, a pool or a volume may be called anything. What is advised is meant to be pasted, so a name must stay one
word of the command it stands in, and run nothing.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"(?!=)[A-Za-z0-9@%+=:,./_-]*")
_SUSPECT = re.compile(r"^=|[^A-Za-z0-9@%+=:,./_-]")  # zsh looks up the program after a leading equals sign


def quoted(name: object) -> str:
    r"""Return a name as one word of a command. Usual names stay as they are.

    A character that may mean something to a shell gets a backslash; one that cannot be printed is written as in
    `$'\n'` (bash, zsh, POSIX.1-2024). Unlike quotation marks around the whole, this also holds in a sentence in which
    an apostrophe before the name has opened a quotation.
    """
    text = str(name)
    return text if _PLAIN.fullmatch(text) else _SUSPECT.sub(_escaped, text)


def operand(name: object) -> str:
    """Return a name as an operand of a command that must not take it for an option."""
    word = quoted(name)
    return f"-- {word}" if word.startswith("-") else word


def phrase(name: object) -> str:
    """Return a name that stands in a sentence, where it may be several words: spaces stay as they are."""
    return " ".join(map(quoted, str(name).split(" ")))


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    if char.isalnum():  # a letter of any language
        return char
    if char.isprintable():
        return f"\\{char}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"$'\\x{code - 0xDC00:02x}'"
    if code < 0x80:
        return f"$'\\x{code:02x}'"
    return f"$'\\u{code:04x}'" if code < 0x10000 else f"$'\\U{code:08x}'"
