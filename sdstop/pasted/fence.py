"""Fences: lines that delimit a code block in a ticket, a mail or a web page.

    ```console                Markdown; ends at an equal number of backquotes
    {code:bash|title=san1}    Jira; ends at {code}
    <pre>                     HTML; ends at </pre>

A line of backquotes can also be part of an output. Only the fence that closes a block shows the end of an output.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from sdstop.core.expression import expression
from sdstop.pasted.margins import SEPARATOR

_MARKDOWN = expression(r"\s*(?P<signs>`{3,}|~{3,})\s*(?P<info>\w{0,20})\s*")
_TAG = expression(
    r"\s*(?P<bracket>[\[{<])(?P<close>/?)(?P<name>code|noformat|pre|quote)\b[^\]}>\n]{0,80}[\]}>]\s*", re.IGNORECASE
)
_LINE = expression(rf"\s*-{{2,}}\s*(?:8<|>8|cut here|snip|begin|end)\b.{{0,60}}|{SEPARATOR}", re.IGNORECASE)


_GLUED = expression(r"(?P<signs>`{3,})(?!\w{0,20}\s*$)(?P<text>[^`]+)(?P<end>`{3,})?\s*")
_GLUED_END = expression(r"(?P<text>.*[^\s`]\s*)(?P<signs>`{3,})\s*")


def apart(text: str) -> str:
    """Return a text in which fences are separate lines; chats put them into the first and the last line of the text.

    A margin must be removed before, as it would be taken for text before a fence.
    """
    if "```" not in text:
        return text
    found, opened = list[str](), ""
    for line in text.split("\n"):
        markdown = _MARKDOWN.fullmatch(line)
        first = None if opened else _GLUED.fullmatch(line)
        last = _GLUED_END.fullmatch(line) if opened else None
        if markdown is not None and markdown["signs"][0] == "`":
            if not opened or (markdown["signs"] >= opened and not markdown["info"]):
                opened = "" if opened else markdown["signs"]
        elif first is not None:
            found += [first["signs"], first["text"]]
            opened = "" if first["end"] else first["signs"]
            if first["end"]:
                found.append(first["end"])
            continue
        elif last is not None and last["signs"] == opened:
            found += [last["text"], opened]
            opened = ""
            continue
        found.append(line)
    return "\n".join(found)


def is_fence(line: str) -> bool:
    """Return whether a line can delimit a code block."""
    return any(each.fullmatch(line) for each in (_MARKDOWN, _TAG, _LINE))


class Fence(enum.StrEnum):
    """Meaning of a line: `END` closes a block, `EDGE` separates outputs without showing that one is complete."""

    NONE = ""
    EDGE = "edge"
    END = "end"


class Fences:
    """The fences of a text, from its first line to its last one."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Count the fences of each kind."""
        self._left: dict[str, int] = {}
        for line in lines:
            kind = _kind(line)
            self._left[kind] = self._left.get(kind, 0) + 1
        self._last = max((at for at, line in enumerate(lines) if line.strip()), default=0)
        self._open: tuple[str, int] | None = None

    def meaning(self, at: int, line: str, *, in_output: bool) -> Fence:
        """Return the meaning of the next line; `at` is its index, `in_output` whether an output precedes it."""
        kind = _kind(line)
        if not kind:
            return Fence.NONE
        self._left[kind] -= 1
        if kind == "line":
            return Fence.END
        markdown, tag = _MARKDOWN.fullmatch(line), _TAG.fullmatch(line)
        size = len(markdown["signs"]) if markdown is not None else 0
        named = bool(markdown is not None and markdown["info"])
        if self._open is not None:
            if self._open[0] != kind or size < self._open[1]:
                return Fence.NONE
            if named:
                return Fence.EDGE
            self._open = None
            return Fence.END
        if tag is not None and tag["close"]:
            return Fence.END
        if in_output and not named and self._left[kind] % 2 == 0:  # its first fence is not in the text
            return Fence.END if at == self._last or tag is not None else Fence.EDGE
        self._open = (kind, size)
        return Fence.EDGE


def _kind(line: str) -> str:
    """Return the kind of a fence, "" for other lines; a fence is closed by one of its kind."""
    markdown = _MARKDOWN.fullmatch(line)
    if markdown is not None:
        return markdown["signs"][0]
    tag = _TAG.fullmatch(line)
    if tag is not None:
        return f"{tag['bracket']}{tag['name'].lower()}"
    return "line" if _LINE.fullmatch(line) else ""
