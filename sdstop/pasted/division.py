"""Division of a terminal text into the outputs of programs.

An output begins at a command line, or where the text has the form of an output (sdstop.core.form). It ends at the next
prompt, at a fence, at its own last line, where its form does not go on, or where another output begins.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from sdstop.core.collector import Texts
from sdstop.core.form import Form, Several
from sdstop.pasted import margins, nodes, terminal
from sdstop.pasted.fence import Fence, Fences, apart, is_fence
from sdstop.pasted.output import DOCUMENT, TextOutput
from sdstop.pasted.prompt import TypedCommand, command, typed

_NARROW = 60
"""Minimum width of wrapped lines."""
_RECENT = 200
"""Lines of an output by whose width the rest of a folded line is recognized."""


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
        if current.form.goes_on_with(line):
            return True
        return of_program and current.is_named and not current.alone

    def _is_mark(self, current: TextOutput, lines: Sequence[str], at: int) -> bool:
        """Return whether a line of an output is a mark of omitted lines or a pager's, and note it."""
        line = lines[at]
        mark = terminal.cut_mark(line)
        if not mark or (current.form is not None and current.form.goes_on_with(line)):
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
            if mine and form.begun(text, start) is not None:
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
        if form.goes_on_with(line) or form.begun(line):
            return False
        recent = current.lines[-_RECENT:]
        width, joined = max(map(len, recent)), line
        for before in reversed(recent if width >= _NARROW else []):
            if len(before) < width:
                break
            joined = before + joined
            if form.goes_on_with(joined) or form.begun(joined):
                return False
        before = recent[-1]
        is_folded = bool(before.strip()) and len(f"{before} {line.split(maxsplit=1)[0]}") > max(width, len(line))
        return not (is_folded and any(map(form.goes_on_with, later)))

    def _taken(self, text: str, lines: Sequence[str], at: int, starts: Sequence[int], current: TextOutput) -> int:
        """Add a line to an output, or all lines of JSON; return the number of the next line."""
        line, start = lines[at], starts[at]
        if current.key and not current.is_begun and DOCUMENT.match(line):
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
            first = current.form.begun(text, start)
            if first is not None:
                current.firsts.add(line)
                current.sure = max(current.sure, first.end())
            if current.form.ends_with(line):
                current.end = "mark"
        current.lines.append(line)
        current.pager = "" if line.strip() else current.pager
        return at + 1


def _bare_prompt(line: str, asked: TypedCommand) -> set[str]:
    """Return the prompt before a command line, which shows the end of the last output if nothing follows it."""
    before = line.rstrip().removesuffix(asked.asked).rstrip()
    return {before} if asked.asked and before[-1:] in _PROMPT_ENDS and len(before) < len(line.rstrip()) else set()


_PROMPT_ENDS = frozenset("#$%\u276f\u279c\u00bb\u2717")


@cache
def _alternatives(forms: tuple[Form, ...]) -> re.Pattern[str]:
    """Return a pattern of all first lines; the group `f3` is that of the fourth form."""
    return re.compile("|".join(f"(?P<f{at}>{form.first})" for at, form in enumerate(forms)) or "(?!)", re.MULTILINE)
