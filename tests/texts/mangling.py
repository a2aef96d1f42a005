"""Mangling: the ways in which people, terminals, mailers, browsers and ticket systems change text that they copy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

Mangler = Callable[[str], str | bytes]


def _each(change: Callable[[str], str]) -> Mangler:
    return lambda text: "\n".join(change(line) for line in text.split("\n"))


def _wrapped(width: int) -> Mangler:
    """Break lines as a terminal of this width does."""

    def wrap(line: str) -> str:
        return "\n".join(line[at : at + width] for at in range(0, max(len(line), 1), width))

    return _each(wrap)


def _folded(width: int) -> Mangler:
    """Break lines at blanks, as a mailer does."""

    def fold(line: str) -> str:
        indent = line[: len(line) - len(line.lstrip())]
        return "\n".join(textwrap.wrap(line.strip(), width, initial_indent=indent) or [""])

    return _each(fold)


def _colored(line: str) -> str:
    return re.sub(r"(ONLINE|DEGRADED|FAULTED|UP|DOWN|active|\bOK\b|\d+%)", "\x1b[01;32m\\1\x1b[0m", line) + "\x1b[K"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("  ", " &nbsp;")


def _prompts(prompt: str) -> Mangler:
    """Replace the prompts of a text."""
    known = re.compile(r"^(?:\[\w+@[\w.-]+ [^\]]*\][#$]|\w+@[\w.-]+:[^\s#$]*[#$]|[#$])(?= |$)", re.MULTILINE)
    return lambda text: known.sub(lambda _: prompt, text)


def _between(text: str) -> str:
    """Write a sentence in front of each command line."""
    return re.sub(r"^(?=\[\w+@)", "\nAnd then I ran this, see below:\n\n", text, flags=re.MULTILINE)


def _pages(text: str) -> str:
    lines = text.split("\n")
    return "\n".join("\n".join([*lines[at : at + 20], "--More--"]) for at in range(0, len(lines), 20))


SAME: dict[str, Mangler] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cr": lambda text: text.replace("\n", "\r"),
    "crcrlf": lambda text: text.replace("\n", "\r\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "utf16": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "nbsp": lambda text: text.replace(" ", "\xa0"),
    "nbsp-indent": _each(lambda line: re.sub(r"^ +", lambda found: "\xa0" * len(found[0]), line)),
    "nbsp-pairs": lambda text: text.replace("  ", " \xa0"),
    "latin1": lambda text: text.replace("  ", " \xa0").encode("latin-1", "replace"),
    "tabs-as-blanks": lambda text: text.expandtabs(8),
    "tabs-as-one-blank": lambda text: text.replace("\t", " "),
    "tabs-as-four-blanks": lambda text: text.expandtabs(4),
    "markdown": _each(lambda line: f"    {line}" if line else line),
    "markdown-in-prose": lambda text: "Hello,\n\n" + SAME["markdown"](text) + "\n\nThanks\n",  # type: ignore[operator]
    "eight-blanks": _each(lambda line: f"        {line}"),
    "two-blanks": _each(lambda line: f"  {line}"),
    "tab": _each(lambda line: f"\t{line}"),
    "quoted": _each(lambda line: f"> {line}"),
    "quoted-twice": _each(lambda line: f"> > {line}"),
    "quoted-close": _each(lambda line: f">{line}"),
    "quoted-trimmed": _each(lambda line: f"> {line}".rstrip()),
    "quoted-indented": _each(lambda line: f">     {line}"),
    "fence": lambda text: f"```\n{text}\n```\n",
    "fence-in-prose": lambda text: f"Hello,\nthis is san1:\n```console\n{text.rstrip()}\n```\nWhat is wrong here?\n",
    "noformat": lambda text: f"{{noformat}}\n{text}{{noformat}}\n",
    "pre": lambda text: f"<pre>\n{text}</pre>\n",
    "prose-before": lambda text: f"Hello,\n\nour node has been slow since noon. Here is the output:\n\n{text}",
    "prose-after": lambda text: f"{text}\n\nAny idea? Regards, Anna\n",
    "prose-close": lambda text: f"See:\n{text.rstrip()}\nAny idea what this means?\n",
    "prose-between": _between,
    "colors": _each(_colored),
    "trailing-blanks": _each(lambda line: line + "   "),
    "padded-to-120": _each(lambda line: line.ljust(120)),
    "trimmed": _each(str.rstrip),
    "wrapped-80": _wrapped(80),
    "wrapped-100": _wrapped(100),
    "wrapped-120": _wrapped(120),
    "folded-72": _folded(72),
    "html": _escaped,
    "zero-width": _each(lambda line: f"\u200b{line}"),
    "double-spaced": lambda text: text.replace("\n", "\n\n"),
    "no-blank-lines": lambda text: re.sub(r"\n\s*\n", "\n", text),
    "collapsed-blanks": _each(lambda line: re.sub(r"[ \t]+", " ", line)),
    "left-trimmed": _each(str.lstrip),
    "smart-quotes": lambda text: text.replace('"', "\u201d").replace("'", "\u2019").replace("--", "\u2014"),
    "debian-prompt": _prompts("root@san1:/var/log/some-folder#"),
    "user-prompt": _prompts("anna@san1:~$"),
    "bare-prompt": _prompts("#"),
    "long-prompt": _prompts("(base) [root@san1.example.com storage]#"),
    "sudo": lambda text: re.sub(r"^(\[\w+@[^\]]*\][#$]|[#$]) (?=\w)", r"\1 sudo ", text, flags=re.MULTILINE),
    "line-numbers": lambda text: "\n".join(f"{at:6}  {line}" for at, line in enumerate(text.split("\n"), 1)),
    "host-prefix": _each(lambda line: f"san1: {line}"),
    "pages": _pages,
}
"""Changes that lose nothing: all findings stay, or the text is reported as not understood."""


def cuts(text: str, most: int = 12) -> Iterator[tuple[str, str]]:
    """Yield the text cut at line boundaries: its end, its beginning, or lines in the middle are lost."""
    lines = text.split("\n")
    step = max(len(lines) // most, 1)
    for at in range(1, len(lines), step):
        yield f"end from line {at + 1}", "\n".join(lines[:at])
        yield f"end from line {at + 1}, in a fence", "\n".join(["```", *lines[:at], "[...]", "```"])
        yield f"beginning to line {at}", "\n".join(lines[at:])
        yield f"middle from line {at + 1}", "\n".join([*lines[:at], "[...]", *lines[at + max(len(lines) // 4, 1) :]])
