"""Outputs: the division of a terminal text into the outputs of programs, and how complete each of them is.

An output begins at a command line, or where the text has the form of an output (sdstop.core.form). It ends at the next
prompt, at a fence, at its own last line, where its form does not go on, or where another output begins.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct, field

from sdstop.core.collector import Texts
from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form, Several
from sdstop.pasted import margins, nodes, terminal
from sdstop.pasted.fence import Fence, Fences, apart, is_fence
from sdstop.pasted.prompt import TypedCommand, command, typed

_XML = re.compile(r"<\?xml |<(?P<root>[a-z][\w-]{1,40})[ >]")


_DOCUMENT = re.compile(r"\s*(?:\{|\[\s*(?:[\[{\"\]]|$))", re.MULTILINE)
"""Beginning of JSON; `[0:0:0:0] disk` is lsscsi's."""
_NARROW = 60
"""Minimum width of wrapped lines."""
_RECENT = 200


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


class Division:
    """Division of texts into outputs."""

    def __init__(self, texts: Texts) -> None:
        """Prepare the patterns of all forms."""
        self._texts = texts
        self._firsts = _alternatives(texts.forms)
        programs = "|".join(map(re.escape, sorted(texts.programs)))
        self._alone = re.compile(
            r"[\s=#*_-]{0,10}(?:(?:output of|command|cmd|ran|run|\$)\s?:?\s{0,2})?(?P<mark>[`*_\"']{0,3})"
            rf"(?P<line>(?:sudo )?(?:/[\w/]{{1,40}}/)?(?:{programs})"
            r"(?: [\w./:@%+=,$\"-]{1,100}){0,12}?|(?:cat )?/(?:proc|sys|etc)/[\w./-]{1,100})"
            r"(?P=mark)(?P<tail>\s?:?[\s=#*_-]{0,80})",
            re.IGNORECASE,
        )

    def cleaned(self, data: bytes) -> str:
        """Return a text without what copying added."""
        text = margins.removed(terminal.cleaned(data), lambda part: bool(self._begins(part)), self._understood)
        return nodes.marked(terminal.dedented(apart(text), self._begins))

    def _understood(self, text: str) -> set[int]:
        """Return the indices of the lines that belong to outputs whose form is known, or are their commands."""
        known = set[int]()
        for each in self.outputs(terminal.dedented(text, self._begins)):
            if not each.key or (each.form is None and each.end != "mark"):
                continue
            if each.is_named and not each.alone:
                known.add(each.line - 1)
            first = each.line - (not each.is_named)
            for at, line in enumerate(each.lines):
                if any(map(str.isalnum, line)):
                    known.add(first + at + (bool(each.mark) and at >= each.marked_at))
        return known

    def _begins(self, text: str) -> terminal.Start:
        if self._form(text, 0) is not None:
            return terminal.Start.OUTPUT
        found = typed(text.partition("\n")[0], self._texts.programs)
        return terminal.Start.PROMPT if found is not None and found.key else terminal.Start.NOTHING

    def outputs(self, text: str) -> Iterator[TextOutput]:
        """Yield the outputs and, with an empty key, the lines between them, in order."""
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        current, at = TextOutput("", 1), 0
        fences, prompts, hosts = Fences(lines), set[str](), nodes.headings(lines)
        torn = ""
        while at < len(lines):
            line = lines[at]
            torn = torn if line.strip() else ""
            begun = self._of_host(lines, at, current, hosts) or self._begun(text, lines, at, starts[at], current)
            if begun is None and line.rstrip() in prompts:
                begun = TextOutput("", at + 1, TypedCommand("", "", ends_only=True))
            elif begun is not None and begun.typed is not None and not begun.alone:
                prompts |= _bare_prompt(line, begun.typed)
            fence = fences.meaning(at, line, in_output=bool(current.key and current.is_begun))
            if begun is not None:
                begun.is_rest = bool(torn) and begun.key == torn and not begun.is_named
                torn = ""
                current.end = current.end or ("prompt" if begun.is_named and not begun.alone else "")
                yield current
                current = begun
            elif fence is not Fence.NONE:
                if current.key and current.is_begun:
                    current.end = "fence" if fence is Fence.END else current.end
                    yield current
                    current = TextOutput("", at + 2)
                at += 1
                continue
            elif current.key and self._is_mark(current, lines, at):
                at += 1
                continue
            elif current.key and starts[at] >= current.sure and self._is_outside(current, line, lines[at + 1 : at + 2]):
                torn = current.key if current.lines[-1].strip() else ""
                yield current
                current = TextOutput("", at + 1)
            if begun is not None and begun.is_named:
                at += 1
                continue
            at = self._taken(text, lines, at, starts, current)
            if current.end:
                yield current
                current = TextOutput("", at + 1)
        yield current

    def _of_host(
        self, lines: Sequence[str], at: int, current: TextOutput, hosts: Mapping[str, nodes.NodeHeading]
    ) -> TextOutput | None:
        """Return what begins at a line that names a host, None for other lines, and lines of an output."""
        named = nodes.heading(lines[at])
        if named is None and (named := hosts.get(lines[at])) is not None:
            form = current.form
            if form is not None and form.goes_on and not self._is_outside(current, lines[at], lines[at + 1 : at + 2]):
                return None
        asked = None if named is None else TypedCommand("", "", host=named.host, ends_only=True)
        return None if named is None else TextOutput("", at + 1, asked, alone=not named.ends)

    def _begun(self, text: str, lines: Sequence[str], at: int, start: int, current: TextOutput) -> TextOutput | None:
        """Return the output that begins at a line, None if none does."""
        if not lines[at].strip():
            return None
        form = self._form(text, start)
        if form is None:
            return self._command(lines, at)
        if start < current.sure or self._belongs(current, form, lines[at]):
            return None
        if current.key and not current.is_begun and self._own(text, start, current) is not None:
            return None  # of another program, too
        return TextOutput(form.key, at + 1, form=form)

    def _belongs(self, current: TextOutput, form: Form, line: str) -> bool:
        """Return whether a line with which an output could begin belongs to the current output."""
        if not current.key:
            return False
        of_program = form.program == current.program if current.program else form.key == current.key
        if current.form is None:
            if current.alone or not current.is_begun:
                return of_program
            return of_program or not any(each.program == current.program for each in self._texts.forms)
        if form.key == current.form.key:
            return form.several is Several.JOINED or form.intervals or line not in current.firsts
        if current.form.goes_on and _goes_on(current.form, line):
            return True
        return of_program and current.is_named and not current.alone

    def _is_mark(self, current: TextOutput, lines: Sequence[str], at: int) -> bool:
        """Return whether a line of an output is a mark of omitted lines or a pager's, and note it."""
        line = lines[at]
        mark = terminal.cut_mark(line)
        if not mark or (current.form is not None and current.form.goes_on and _goes_on(current.form, line)):
            return False
        if mark == "(END)":
            current.end = current.end or "fence"
        elif terminal.is_pager(line):
            current.pager = mark
        else:
            current.mark = current.mark or mark
            current.marked_at = len(current.lines)
        return True

    def _own(self, text: str, start: int, current: TextOutput) -> Form | None:
        """Return the form of the current output if it begins at an offset: one of the command's program."""
        for form in self._texts.forms:
            mine = form.key == current.key if not current.program else form.program == current.program
            if mine and _pattern(form.first).match(text, start) is not None:
                return form
        return None

    def _form(self, text: str, at: int) -> Form | None:
        """Return the form of an output that begins at an offset."""
        found = self._firsts.match(text, at)
        if found is None:
            return None
        return next(form for number, form in enumerate(self._texts.forms) if found[f"f{number}"] is not None)

    def _command(self, lines: Sequence[str], at: int) -> TextOutput | None:
        """Return the output of a command line; with an empty key if it is not supported."""
        found = typed(lines[at], self._texts.programs)
        if found is not None:
            return TextOutput(found.key, at + 1, found, width=len(lines[at].rstrip()) if found.watch else 0)
        alone = self._alone.fullmatch(lines[at])
        if alone is None:
            return None
        found = command(
            alone["line"] if not alone["line"].startswith("/") else f"cat {alone['line']}", self._texts.programs
        )
        marked = bool(alone["mark"] or alone["tail"].strip()) or lines[at].lstrip()[:1] in {"=", "#", "*"}
        if found.key and (marked or self._shows(found, "\n".join(lines[at + 1 : at + 8]))):
            return TextOutput(found.key, at + 1, found, alone=True)
        return None

    def _shows(self, found: TypedCommand, text: str) -> bool:
        """Return whether a text begins with an output of a command, after blank lines and fences."""
        lines = [line for line in text.split("\n") if line.strip() and not is_fence(line)]
        if not lines:
            return True
        program = found.key[4:].split(" ", 1)[0] if found.key.startswith("cmd:") else ""
        forms = [f for f in self._texts.forms if (f.program == program if program else f.key == found.key)]
        return not forms or lines[0].lstrip()[:1] in {"{", "[", "<"} or any(f.shows("\n".join(lines)) for f in forms)

    def _is_outside(self, current: TextOutput, line: str, later: Sequence[str]) -> bool:
        """Return whether a line is not part of the current output, by its form.

        The rest of a line that a mailer folded is, if the first word of it did not fit, and the output goes on below.
        """
        form = current.form
        if form is None or not form.goes_on or not line.strip() or not current.is_begun:
            return False
        if _goes_on(form, line) or _pattern(form.first).match(line):
            return False
        recent = current.lines[-_RECENT:]
        width, joined = max(map(len, recent)), line
        for before in reversed(recent if width >= _NARROW else []):
            if len(before) < width:
                break
            joined = before + joined
            if _goes_on(form, joined) or _pattern(form.first).match(joined):
                return False
        before = recent[-1]
        is_folded = bool(before.strip()) and len(f"{before} {line.split(maxsplit=1)[0]}") > max(width, len(line))
        return not (is_folded and any(_goes_on(form, each) for each in later))

    def _taken(self, text: str, lines: Sequence[str], at: int, starts: Sequence[int], current: TextOutput) -> int:
        """Add a line to an output, or all lines of JSON; return the number of the next line."""
        line, start = lines[at], starts[at]
        if current.key and not current.is_begun and _DOCUMENT.match(line):
            try:
                _, end = json.JSONDecoder().raw_decode(text, start + len(line) - len(line.lstrip()))
            except (ValueError, RecursionError):
                pass
            else:
                count = bisect_left(starts, end, at, len(lines)) - at
                current.lines += lines[at : at + count]
                current.end = "mark"
                return at + count
        if current.key and current.form is None and line.strip():
            current.form = self._own(text, start, current)
        if current.form is not None:
            first = _pattern(current.form.first).match(text, start)
            if first is not None:
                current.firsts.add(line)
                current.sure = max(current.sure, first.end())
            if current.form.last and _pattern(current.form.last).match(line):
                current.end = "mark"
        current.lines.append(line)
        current.pager = "" if line.strip() else current.pager
        return at + 1


def _bare_prompt(line: str, asked: TypedCommand) -> set[str]:
    """Return the prompt before a command line, which shows the end of the last output if nothing follows it."""
    before = line.rstrip().removesuffix(asked.asked).rstrip()
    return {before} if asked.asked and before[-1:] in _PROMPT_ENDS and len(before) < len(line.rstrip()) else set()


_PROMPT_ENDS = frozenset("#$%\u276f\u279c\u00bb\u2717")


def _goes_on(form: Form, line: str) -> bool:
    return _pattern(form.goes_on).fullmatch(line) is not None


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern or "(?!)", re.MULTILINE)


@cache
def _alternatives(forms: tuple[Form, ...]) -> re.Pattern[str]:
    """Return a pattern of all first lines; the group `f3` is that of the fourth form."""
    return re.compile("|".join(f"(?P<f{at}>{form.first})" for at, form in enumerate(forms)) or "(?!)", re.MULTILINE)


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
        whole = not line.strip() or _goes_on(form, line) or _pattern(form.first).match("\n".join(lines[at : at + 6]))
        if at == 0 or whole or not lines[at - 1].strip():
            found.append(line)
        else:
            found[-1] += line if len(lines[at - 1]) == widest else f" {line.lstrip()}"
    return "\n".join(found)


_CUT_WIDTHS = frozenset({80, 132})
_FEWEST_CUT = 2


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
    full = [at for at, line in enumerate(lines) if len(line) == widest]
    short = any(line.strip() and len(line) < widest for at, line in enumerate(lines) if at not in {0, *full})
    shapes = {
        re.sub(r"\d+", "", lines[at][: len(lines[at]) - len(lines[at].lstrip())] + lines[at].split()[0]) for at in full
    }
    if len(shapes) < _FEWEST_CUT or form.by_line:  # lines of one kind can have one width
        return ""
    later = [next(iter(lines[at + 1 : at + 2]), "") for at in full]
    cut = [line for line in later if not line.strip() or (form.goes_on and _goes_on(form, line)) or _begins(form, line)]
    return f"lines cut at {widest} columns" if len(cut) >= _FEWEST_CUT and short else ""


def _begins(form: Form, line: str) -> bool:
    return _pattern(form.first).match(line) is not None


_DATED = re.compile(r"\s*\[[ A-Z+]?[^\]\n{\"]{5,60}\] ?\S")
"""Line of a log that begins with a time in brackets."""


_INTERRUPTED = re.compile(r"\[ {0,6}\d{1,7}\.\d{4,6}\] \S")
"""Time of a kernel message, which a console prints in the middle of an output."""


def _fault(output: TextOutput, text: str) -> str:
    """Return why a text is not a complete output."""
    is_document = _DOCUMENT.match(text) is not None and _DATED.match(text) is None
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
