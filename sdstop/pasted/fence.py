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
