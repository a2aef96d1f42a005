"""Terminal text: removal of the traces of terminals, mailers, browsers and ticket systems in copied output.

BOM, CR, NBSP, zero-width and colored text      removed, or replaced by plain characters
> quoted lines                                  without the mark
    code indented by four columns               without the common indentation
"""

from __future__ import annotations

import codecs
import enum
import html
import re
from collections.abc import Callable, Sequence
from itertools import groupby

from sdstop.core.expression import expression
from sdstop.pasted.fence import is_fence

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ESCAPES = expression(
    r"(?:\x1b|\x9b|\^\[|\u241b)"
    r"(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[()*+][0-9A-Za-z]|[=>78cDEHMNOZ])"
    r"|\x9b[0-?]{0,40}[@-~]"
)
"""Color and cursor codes, as bytes or as `cat -v` shows them."""
_OVERSTRUCK = expression(r"[^\n]\x08")
_BREAKS = expression(r"\r+\n|\r|\x0b|\x0c|\x85|\u2028|\u2029")
_CHARACTERS = str.maketrans(
    dict.fromkeys("\xa0\u202f\u2007\u3000\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u205f", " ")
    | dict.fromkeys(
        "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\xad"
    )
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2018\u2019", "'")
    | {"\u2014": "--", "\0": None}
    | {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
)
_ENTITY = expression(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_TAG = expression(
    r"</?(?:p|br|div|span|b|i|u|em|strong|font|tt|samp|li|ul|ol|table|tbody|tr|td|o:p)(?:\s[^<>\n]{0,400})?/?>",
    re.IGNORECASE,
)
_TAG_BREAK = expression(r"(?:<br\s?/?>|</(?:p|div|li|tr)>)\n?", re.IGNORECASE)
_FEWEST_TAGS = 3
"""Tags with which a text is HTML."""
_SHOWN_CR = expression(r"\^M$", re.MULTILINE)
_BARE_COLOR = expression(r"\[\d{1,3}(?:;\d{1,3}){0,4}m|\[[mK](?![\w\]])")
_BARE_RESET = expression(r"\[0m|\[m(?![\w\]])")
_LINKED = (
    (expression(r"<(?:mailto|https?|file|ftp):[^<>\s]{1,400}>"), ""),
    (expression(r"\[([^\[\]\n|]{1,200})(?:\]\(|\|)(?:mailto|https?|file|ftp):[^)\]\s]{1,400}[)\]]"), r"\1"),
)
"""Links of mailers, Markdown and Jira to the text before them."""
_BOLD = expression(r"(\*\*|__)(?=\w)([^*\n]{1,80}?)(?<=[\w)])\1(?!\w)")
_NOTE = expression(
    r"(?<=\S)[ \t]+(?:<-{2,}|<={2,}|<{3,}|\u2190|\u21d0|\u27f5|[ \t]# (?=[a-z]))[^\n]{0,200}$", re.MULTILINE
)
"""Remark added to a line: `  <-- here`, `   # broken since noon`."""
_FOOTER = expression(r"^[ \t]*(?:Page|Seite) \d{1,4} (?:of|von|/) \d{1,4}[ \t]*$\n?", re.MULTILINE)
_QUOTED = expression(r" {0,3}>(?: ?(?P<rest>.*))?")
_MOST_LEVELS = 6
"""Maximum levels of quotation or JSON that are removed."""


def decoded(data: bytes) -> str:
    """Return a text, whatever its encoding; bytes that are not UTF-8 are taken for Latin-1."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def cleaned(data: bytes) -> str:
    """Return a text as the program printed it: without control codes, special blanks and quotation marks."""
    text = _BREAKS.sub("\n", _ESCAPES.sub("", decoded(data)))
    while "\x08" in text:
        shorter = _OVERSTRUCK.sub("", text)
        text = shorter if shorter != text else text.replace("\x08", "")
    text = _unmarked(_plain(text.translate(_CHARACTERS)).translate(_CHARACTERS))
    if _ENTITY.search(text):
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text).replace("\xa0", " ")
    lines = text.split("\n")
    for _ in range(_MOST_LEVELS):
        unquoted = _unquoted(lines)
        if unquoted == lines:
            break
        lines = unquoted
    padded = sum(line[-1:].isspace() for line in lines if line.strip())
    if padded * 4 > sum(1 for line in lines if line.strip()):
        lines = [line.rstrip() for line in lines]
    return "\n".join(_single_spaced([line if line.strip() else "" for line in lines]))


def _unmarked(text: str) -> str:
    """Return a text without the marks of browsers, mailers and ticket systems, and remarks at the ends of lines."""
    if len(_TAG.findall(text)) >= _FEWEST_TAGS:
        text = _TAG.sub("", _TAG_BREAK.sub("\n", text))
    if len(_BARE_RESET.findall(text)) > 1:
        text = _BARE_COLOR.sub("", text)
    for pattern, plain in _LINKED:
        text = pattern.sub(plain, text)
    for pattern in (_SHOWN_CR, _FOOTER, _NOTE):
        text = pattern.sub("", text)
    return _BOLD.sub(r"\2", text)


_FEWEST = 5
"""Minimum number of lines by which double spacing is recognized."""


def _single_spaced(lines: list[str]) -> list[str]:
    """Remove the blank line after each line, if each line has one; blank lines of the program are tripled then."""
    last = max((at for at, line in enumerate(lines) if line), default=-1) + 1
    runs = [(bool(key), len(list(run))) for key, run in groupby(lines[:last], bool)]
    inner = runs[1:-1] if runs and not runs[0][0] else runs[:-1]
    full = [length for key, length in runs if key]
    if len(full) < _FEWEST or max(full) > 1 or any(length % 2 == 0 for key, length in inner if not key):
        return lines
    start = 0 if runs[0][0] else runs[0][1]
    return [*lines[:start], *lines[start:last:2]]


def _unquoted(lines: Sequence[str]) -> list[str]:
    """Remove `> ` from successive lines that have it; a single one is a prompt.

    Within quoted lines, further marks are removed from all of them, as mails of several people have them in turn.
    """
    found: list[str] = []
    for quoted, run in groupby(lines, lambda line: _QUOTED.fullmatch(line) is not None):
        same = list(run)
        if not quoted or len(same) == 1:
            found += same
            continue
        bare = [_bare(line) for line in same]
        for _ in range(_MOST_LEVELS):
            if sum(_QUOTED.fullmatch(line) is not None for line in bare) < _FEWEST_QUOTED:
                break
            bare = [_bare(line) for line in bare]
        found += bare
    return found


_FEWEST_QUOTED = 2
"""Quoted lines with which a further level is removed."""


def _bare(line: str) -> str:
    """Return a line without one mark of a quotation."""
    quoted = _QUOTED.fullmatch(line)
    return line if quoted is None else quoted["rest"] or ""


_SOFT = expression(r"^[^\n]{59,75}=[ \t]*\n", re.MULTILINE)
"""Line that a mailer broke: at most 76 columns with the mark."""
_ENCODED = expression(r"(?:=[0-9A-F]{2})+")
_NOT_ENCODED = expression(r"=(?![0-9A-F]{2}|[ \t]*\n)")


def _plain(text: str) -> str:
    """Return a text without the encoding of a mail's source (quoted-printable, RFC 2045), if all of it has that."""
    if ("=3D" not in text and not _SOFT.search(text)) or _NOT_ENCODED.search(text):
        return text
    joined = re.sub(r"=[ \t]*\n", "", text)
    return _ENCODED.sub(lambda found: bytes.fromhex(found[0].replace("=", "")).decode("utf-8", "replace"), joined)


class Start(enum.StrEnum):
    """Start of something at a line."""

    PROMPT = "prompt"
    OUTPUT = "output"
    NOTHING = ""


def dedented(text: str, begins: Callable[[str], Start]) -> str:
    """Remove the common indentation of a text, and of regions of it in which outputs or commands begin.

    `begins` receives the text from a line on. A region ends before the next line without indentation. If it is indented
    by fewer than four columns, which some programs do, it must end with a blank line and have prompts, or outputs that
    begin only without the indentation.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if not lines[at][:1].isspace():
            at += 1
            continue
        end = at
        while end < len(lines) and (lines[end][:1].isspace() or not lines[end]):
            end += 1
        common = _common([_indent(line) for line in lines[at:end] if line])
        if common and _is_copied(lines, at, end, common, begins):
            lines[at:end] = [line[len(common) :] for line in lines[at:end]]
        at = end
    return "\n".join(lines)


_TRIED = 400
"""Number of lines of a region in which an output must begin."""


def _is_copied(lines: Sequence[str], at: int, end: int, common: str, begins: Callable[[str], Start]) -> bool:
    """Return whether the indentation of a region was added to the output."""
    whole = not any(lines[:at]) and not any(lines[end:])
    is_deep = len(common.expandtabs()) >= 4
    opened = at == 0 or not lines[at - 1] or is_fence(lines[at - 1])
    bounded = end == len(lines) or not lines[end - 1] or is_fence(lines[end])
    if not is_deep and not (opened and bounded):
        return False
    bare = [line[len(common) :] for line in lines[at : min(end, at + _TRIED)]]
    tried = [place for place, line in enumerate(bare) if line] if opened else [0]
    if not is_deep:
        plain = {begins("\n".join(lines[at + place : at + place + 40])) for place in tried}
        if plain & {Start.PROMPT, Start.OUTPUT}:
            return Start.PROMPT in plain  # no program prints a prompt
    return whole or any(begins("\n".join(bare[place : place + 40])) for place in tried)


def _common(indents: Sequence[str]) -> str:
    """Return the longest text with which all begin."""
    first, last = min(indents), max(indents)
    return first[: next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


_CUT = expression(
    r"\s*[\[(<]?\s*(?:\.{3,}|\u2026|snip(?:ped)?|cut|truncated|omitted"
    r"|(?:output|lines?|rest) (?:omitted|truncated|cut|skipped)|(?:many|more|other|\d+) (?:more )?lines?(?: \w+)?)"
    r"\s*[\])>]?\s*|\s*-{2,}\s*more\s*-{2,}.{0,20}|\s*lines \d+-\d+.{0,20}|\s*\(END\)\s*",
    re.IGNORECASE,
)
_PAGER = expression(r"\s*(?:-{2,}\s*more\s*-{2,}.{0,20}|lines \d+-\d+.{0,20}|\(END\)|:)\s*", re.IGNORECASE)


def cut_mark(line: str) -> str:
    """Return the text of a line that marks omitted lines (`[...]`, `<snip>`), "" for other lines."""
    return line.strip() if _CUT.fullmatch(line) else ""


def is_pager(line: str) -> bool:
    """Return whether a line is a pager's own (`--More--`, `lines 1-23`); the output goes on after it."""
    return _PAGER.fullmatch(line) is not None


_NARROWEST, _WIDEST = 60, 512
"""Cells of a terminal."""
_USUAL = frozenset({72, 76, 78, 79, 80, 96, 100, 120, 128, 132, 140, 150, 160, 180, 200})
"""Widths at which a single line is enough to assume wrapping."""


def unwrapped(text: str) -> list[str]:
    """Return the texts that wrapping may have changed to this one: a terminal breaks each line at its width."""
    lines = text.split("\n")
    longest = max(map(len, lines), default=0)
    full = sum(len(line) == longest for line in lines)
    if longest not in _USUAL and not (full > 1 and _NARROWEST <= longest <= _WIDEST):
        return []
    joined = _joined(lines, longest)
    return [joined] if joined != text else []


def _joined(lines: Sequence[str], width: int) -> str:
    """Join each line of exactly this width with the next one."""
    found: list[str] = []
    open_ = False
    for line in lines:
        if open_ and line:
            found[-1] += line
        else:
            found.append(line)
        open_ = len(line) == width
    return "\n".join(found)
