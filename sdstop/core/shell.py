"""Quoting of foreign names in shell commands; the only module that does it.

Devices, pools and volumes can have arbitrary names. Advice is meant to be pasted into a shell, so a name must remain
one word of its command and must not execute anything.
"""

from __future__ import annotations

import re

from sdstop.core.expression import expression

_PLAIN = expression(r"(?!=)[A-Za-z0-9@%+=:,./_-]*")
_SUSPECT = expression(r"^=|[^A-Za-z0-9@%+=:,./_-]")  # zsh expands a leading equals sign to the path of a program


def quoted(name: object) -> str:
    r"""Return a name as one word of a command. Ordinary names are unchanged.

    Characters with a possible meaning to a shell are escaped by a backslash; unprintable ones are written in the form
    `$'\n'` (bash, zsh, POSIX.1-2024). Unlike quotation marks around the name, this is also safe in a sentence where a
    preceding apostrophe has opened a quotation.
    """
    text = str(name)
    return text if _PLAIN.fullmatch(text) else _SUSPECT.sub(_escaped, text)


def phrase(name: object) -> str:
    """Return a name for use in a sentence, where it may be several words: spaces are not escaped."""
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
