"""Output: the lines of a text that one program printed, their completeness, and the part that can be used."""

from __future__ import annotations

import json
import re

from msgspec import Struct, field

from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form
from sdstop.pasted import terminal
from sdstop.pasted.prompt import TypedCommand

_XML = re.compile(r"<\?xml |<(?P<root>[a-z][\w-]{1,40})[ >]")
DOCUMENT = re.compile(r"\s*(?:\{|\[\s*(?:[\[{\"\]]|$))", re.MULTILINE)
"""Beginning of JSON; `[0:0:0:0] disk` is lsscsi's."""


class TextOutput(Struct):
    """Lines of one output, or (with an empty key) lines between outputs.

    `line` is the number of its first line, from 1. `end` is what shows that the output is over: "prompt", "fence",
    "mark" (its own last line); "" if nothing does. `mark` is the mark of omitted lines, `typed` its command
    line.
    """

    key: str
    line: int
    typed: TypedCommand | None = None
    form: Form | None = None
    lines: list[str] = field(default_factory=list)
    end: str = ""
    mark: str = ""
    marked_at: int = 0
    pager: str = ""
    """Mark of a pager after the last line; the output goes on if it was not left there."""
    sure: int = 0
    """Offset in the text up to which lines are known to be part of it."""
    firsts: set[str] = field(default_factory=set)
    """Lines with which an output of its form can begin."""
    alone: bool = False
    """Its command line is not a prompt's."""
    width: int = 0
    """Width of the terminal if the heading of watch shows it; longer lines are cut."""
    is_rest: bool = False
    """Lines of its program that are not understood precede it, so that it is only a part of an output."""

    @property
    def holed(self) -> bool:
        """Whether lines are omitted between others."""
        return bool(self.mark) and any(line.strip() for line in self.lines[self.marked_at :])

    @property
    def is_named(self) -> bool:
        """Whether a command line precedes it."""
        return self.typed is not None

    @property
    def program(self) -> str:
        """Program of the key, "" for a file."""
        return self.key[4:].split(" ", 1)[0] if self.key.startswith("cmd:") else ""

    @property
    def is_begun(self) -> bool:
        """Whether it has text; cheap, as it is asked at each line."""
        return any(self.lines)

    @property
    def text(self) -> str:
        """The lines without blank lines around them."""
        return "\n".join(self.lines).strip("\n")

    @property
    def shown(self) -> str:
        """The lines below their command line, as the text has them."""
        asked = [f"{self.typed.prompt} {self.typed.asked}".strip()] if self.typed is not None else []
        return "\n".join([*asked, *self.lines])

    @property
    def first(self) -> str:
        """The first line with text; the program of its command line if there is none."""
        return next((line.strip() for line in self.lines if line.strip()), self.typed.program if self.typed else "")


class UsableText(Struct, frozen=True):
    """Text of an output, why it is not complete ("" if it is), and whether it misleads and must not be used."""

    text: str
    fault: str
    misleads: bool = False


def usable(output: TextOutput) -> UsableText:
    """Return the text of an output and why it is incomplete; of its unwrapped variants the first one without fault."""
    text = _rejoined(output)
    fault = _fault(output, text)
    if fault:
        for other in terminal.unwrapped(text):
            if not _fault(output, other):
                text, fault = other, ""
                break
    form, mark = output.form, output.mark or output.pager
    if mark:
        fault = f"cut: {mark!r}"
    elif output.typed is not None and output.typed.fault:
        fault = output.typed.fault
    fault = fault or _cut_lines(output, text) or ("lines above it not understood" if output.is_rest else "")
    holed = output.holed and not (form is not None and form.by_line)
    part = form is not None and (form.whole or (fault == NOT_BEGUN and not form.by_line))
    return UsableText(text, fault, misleads=bool(fault) and (holed or part))


def _rejoined(output: TextOutput) -> str:
    """Return the text; lines that the form does not have continue the ones before them."""
    form = output.form
    if form is None or not form.goes_on:
        return output.text
    lines = output.text.split("\n")
    widest = max(map(len, lines))
    found: list[str] = []
    for at, line in enumerate(lines):
        whole = not line.strip() or form.goes_on_with(line) or form.begun("\n".join(lines[at : at + 6]))
        if at == 0 or whole or not lines[at - 1].strip():
            found.append(line)
        else:
            found[-1] += line if len(lines[at - 1]) == widest else f" {line.lstrip()}"
    return "\n".join(found)


_CUT_WIDTHS = frozenset({80, 132})
_FEWEST_CUT = 2
"""Lines that must be cut at one width to be called so."""


def _cut_lines(output: TextOutput, text: str) -> str:
    """Return that lines are cut at the width of the terminal, as watch and `less -S` do; "" if they are not.

    A line of exactly this width is cut if a further line of the output follows it, not the rest of a wrapped one.
    """
    lines, form = text.split("\n"), output.form
    widest = max(map(len, lines))
    if output.width and widest >= output.width:
        return f"lines cut at {output.width} columns"
    if widest not in _CUT_WIDTHS or form is None:
        return ""
    if len(lines[0]) == widest and re.fullmatch(form.first, lines[0]):  # a table of this width, such as that of free
        return ""
    full = [at for at, line in enumerate(lines) if len(line) == widest]
    short = any(line.strip() and len(line) < widest for at, line in enumerate(lines) if at not in {0, *full})
    shapes = {
        re.sub(r"\d+", "", lines[at][: len(lines[at]) - len(lines[at].lstrip())] + lines[at].split()[0]) for at in full
    }
    if len(shapes) < _FEWEST_CUT or form.by_line:  # lines of one kind can have one width
        return ""
    later = [next(iter(lines[at + 1 : at + 2]), "") for at in full]
    cut = [line for line in later if not line.strip() or form.goes_on_with(line) or form.begun(line)]
    return f"lines cut at {widest} columns" if len(cut) >= _FEWEST_CUT and short else ""


_DATED = re.compile(r"\s*\[[ A-Z+]?[^\]\n{\"]{5,60}\] ?\S")
"""Line of a log that begins with a time in brackets."""


_INTERRUPTED = re.compile(r"\[ {0,6}\d{1,7}\.\d{4,6}\] \S")
"""Time of a kernel message, which a console prints in the middle of an output."""


def _fault(output: TextOutput, text: str) -> str:
    """Return why a text is not a complete output."""
    is_document = DOCUMENT.match(text) is not None and _DATED.match(text) is None
    if is_document and (output.form is None or output.form.fault is None):
        try:
            json.JSONDecoder(strict=True).decode(text)
        except (ValueError, RecursionError) as error:
            if "Extra data" not in str(error):
                return "JSON is cut or damaged"
        return ""
    document = _XML.match(text)
    if document is not None:
        end = text.rstrip().rpartition("</")[2]
        first = re.search(r"<([a-z][\w-]*)[ >]", text)
        return "" if first is not None and end == f"{first[1]}>" else "XML is cut or damaged"
    fault = NOT_SHOWN if output.form is None or output.form.fault is None else output.form.fault(text)
    if fault == NOT_BEGUN and output.is_named and not output.alone:
        fault = NOT_SHOWN
    fault = "" if fault == NOT_SHOWN and output.end else fault
    by_line = output.form is not None and output.form.by_line
    return fault or ("" if by_line or not _INTERRUPTED.search(text) else "interrupted by messages of the kernel")
