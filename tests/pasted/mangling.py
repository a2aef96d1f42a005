"""Mangling: the ways in which people, terminals, mailers, browsers and ticket systems change text that they copy."""

from __future__ import annotations

import json
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


_KNOWN_PROMPT = re.compile(r"^(?:\[\w+@[\w.-]+ [^\]]*\][#$]|\w+@[\w.-]+:[^\s#$]*[#$]|[#$])(?= |$)", re.MULTILINE)


def _numbered(form: str) -> Mangler:
    """Put the number of each line before it."""
    return lambda text: "\n".join(form.format(at=at) + line for at, line in enumerate(text.split("\n"), 1))


def _lines_as(lines: Callable[[list[str]], str]) -> Mangler:
    return lambda text: lines(text.split("\n"))


def _boxed(left: str, right: str, frame: str = "") -> Mangler:
    """Put borders around the lines."""

    def box(text: str) -> str:
        lines = text.expandtabs().split("\n")
        width = max(map(len, lines))
        edge = [frame * (width + 4)] if frame else []
        return "\n".join([*edge, *(f"{left}{line.ljust(width)}{right}" for line in lines), *edge])

    return box


def _beside(bar: str) -> Mangler:
    """Put another terminal on the right side."""
    other = ["other text here", "uptime", " 10:00 up 3 days", "load average: 0.1"]

    def put(text: str) -> str:
        lines = text.expandtabs().split("\n")
        width = max(map(len, lines))
        return "\n".join(f"{line.ljust(width)}{bar}{other[at % 4]}" for at, line in enumerate(lines))

    return put


def _links(text: str) -> str:
    return re.sub(r"\b(\w+@san1)\b", r"\1<mailto:\1>", re.sub(r"(/dev/\w+)", r"[\1](file://\1)", text))


def _asked(question: str) -> Mangler:
    """Write the question for a password below each command line."""
    return lambda text: re.sub(
        r"^(\[\w+@[^\]]*\][#$]|[#$]) (\w.*)$", rf"\1 sudo \2\n{re.escape(question)} ", text, flags=re.MULTILINE
    )


def _remarked(remark: str) -> Mangler:
    return lambda text: re.sub(r"^(.*(?:DEGRADED|FAULTED|failed|down).*)$", rf"\1{remark}", text, flags=re.MULTILINE)


def _html(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_PUTTY = (
    "=~=~=~=~=~=~=~=~=~=~=~= PuTTY log 2026.11.23 12:03:04 =~=~=~=~=~=~=~=~=~=~=~=\r\nlogin as: root\r\n"
    "root@san1's password:\r\nLast login: Mon Nov 23 10:00:00 2026 from 192.0.2.1\r\n"
)
_MAIL = (
    "From: Anna\nSent: Monday, November 23, 2026 12:03 PM\nTo: Support\nSubject: RE: slow storage\n\nHi,\n\n",
    "\n\nRegards\nAnna\n\n-----Original Message-----\nFrom: Support\nplease send the outputs\n",
)

TOOLS: dict[str, Mangler] = {
    "dots-after": lambda text: f"{text.rstrip()}\n...\n",
    "less": lambda text: f"{text.rstrip()}\n:\n",
    "less-end": lambda text: f"{text.rstrip()}\nlines 1-40/40 (END)\n",
    "en-dashes": lambda text: text.replace("-", "\u2013"),
    "ellipsis": lambda text: text.replace("...", "\u2026"),
    "ligatures": lambda text: text.replace("fi", "\ufb01").replace("fl", "\ufb02"),
    "cat-n": _numbered("{at:6}\t"),
    "cat-n-as-blanks": lambda text: _numbered("{at:6}\t")(text).expandtabs(8),
    "grep-n": _numbered("{at}:"),
    "grep-file": _each(lambda line: f"out.txt:{line}"),
    "grep-file-n": _numbered("/srv/ticket.txt:{at}:"),
    "numbered-list": _numbered("{at}. "),
    "editor-numbers": _numbered("{at:4} "),
    "ts": _each(lambda line: f"Nov 23 12:03:04 {line}"),
    "ts-iso": _each(lambda line: f"2026-11-23T12:03:04+0000 {line}"),
    "ts-brackets": _each(lambda line: f"[2026-11-23 12:03:04.123] {line}"),
    "ts-clock": _each(lambda line: f"12:03:04 {line}"),
    "ts-german": _each(lambda line: f"23.11.2026 12:03:04 {line}"),
    "ts-host": _each(lambda line: f"Nov 23 12:03:04 san1: {line}"),
    "pdsh": _each(lambda line: f"san1: {line}"),
    "clush": lambda text: f"---------------\nsan1\n---------------\n{text}",
    "docker-log": _each(lambda line: f"ceph-mon_1  | {line}"),
    "diff": _each(lambda line: f"+{line}"),
    "diff-context": _each(lambda line: f" {line}"),
    "commented": _each(lambda line: f"# {line}"),
    "semicolons": _each(lambda line: f"; {line}"),
    "bullets": _each(lambda line: f"- {line}" if line.strip() else line),
    "round-bullets": _each(lambda line: f"\u2022 {line}" if line.strip() else line),
    "asterisks": _each(lambda line: f"*{line}*" if line.strip() else line),
    "backquotes": _each(lambda line: f"`{line}`" if line.strip() else line),
    "csv": _each(lambda line: '"' + line.replace('"', '""') + '"'),
    "json": json.dumps,
    "python": repr,
    "ansible": lambda text: f"san1 | CHANGED | rc=0 >>\n{text}",
    "ansible-json": lambda text: f'san1 | CHANGED => {{\n    "rc": 0,\n    "stdout": {json.dumps(text)}\n}}\n',
    "ansible-lines": _lines_as(
        lambda lines: '{\n    "stdout_lines": [\n        ' + ",\n        ".join(map(json.dumps, lines)) + "\n    ]\n}\n"
    ),
    "putty": lambda text: _PUTTY + text.replace("\n", "\r\n"),
    "script": lambda text: f"Script started on 2026-11-23 12:03:04+00:00\n{text}\nScript done on 2026-11-23 12:05:04\n",
    "tmux-left": _boxed("\u2502", ""),
    "tmux-right": _boxed("", "\u2502"),
    "box": _boxed("\u2502 ", " \u2502", "\u2500"),
    "ascii-box": _boxed("| ", " |", "-"),
    "side-by-side": _beside(" | "),
    "side-by-side-tmux": _beside("\u2502"),
    "quoted-partly": _lines_as(
        lambda lines: "\n".join(f"> {line}" if at % 3 else line for at, line in enumerate(lines))
    ),
    "quoted-second-half": _lines_as(
        lambda lines: "\n".join(f"> {line}" if at > len(lines) // 2 else line for at, line in enumerate(lines))
    ),
    "quoted-in-turns": _lines_as(
        lambda lines: "\n".join(f"{'>' * (at % 2 + 1)} {line}" for at, line in enumerate(lines))
    ),
    "entities": lambda text: text.replace("&", "&#38;").replace("<", "&#60;").replace(">", "&#62;"),
    "br": _each(lambda line: f"{_html(line)}<br>"),
    "paragraphs": _each(lambda line: f"<p>{_html(line)}</p>"),
    "span": _each(lambda line: f'<span style="color:red">{_html(line)}</span>'),
    "links": _links,
    "bold": lambda text: re.sub(r"(DEGRADED|FAULTED|DOWN|failed)", r"**\1**", text),
    "jira-signs": lambda text: re.sub(r"([\[\]{}*_|])", r"\\\1", text),
    "jira-code": lambda text: f"{{code:bash|title=output}}\n{text}{{code}}\n",
    "jira-quote": lambda text: f"{{quote}}\n{text}{{quote}}\n",
    "slack": lambda text: f"Anna Schmidt  12:03 PM\n{text}\nBert  12:05 PM\nthanks, looks bad\n",
    "slack-code": lambda text: (
        f"Anna Schmidt  12:03 PM\nhere it is\n```{text.rstrip()}```\nBert  12:05 PM\nlooks bad\n"
    ),
    "mail": lambda text: f"{_MAIL[0]}{text}{_MAIL[1]}",
    "pdf": _lines_as(
        lambda lines: "\n".join(
            (f"Page {at // 25 + 1} of 9\n\x0c" if at and at % 25 == 0 else "") + line for at, line in enumerate(lines)
        )
    ),
    "sudo-password": _asked("[sudo] password for anna:"),
    "sudo-password-german": _asked("[sudo] Passwort f\u00fcr anna:"),
    "git-prompt": _prompts("root@san1:~/src (main *$)#"),
    "zsh-prompt": _prompts("\u279c  ~ git:(main) \u2717"),
    "two-line-prompt": _prompts("\u250c\u2500\u2500(root\u327fsan1)-[~]\n\u2514\u2500#"),
    "clock-prompt": _prompts("12:03:04 root@san1:~ #"),
    "history-prompt": _prompts("[root@san1 12:03:04 ~ !501]#"),
    "percent-prompt": _prompts("san1%"),
    "bare-prompt-after": lambda text: "# date\n\n" + _prompts("#")(text).rstrip() + "\n# \n",  # type: ignore[operator]
    "serial": lambda text: "\x1b[?2004h" + text.replace("\n", "\x1b[K\r\n\x1b[0m"),
    "serial-title": lambda text: _KNOWN_PROMPT.sub(lambda found: f"\x1b]0;root@san1:~\x07{found[0]}", text),
    "shown-cr": _each(lambda line: f"{line}^M"),
    "shown-color": _each(lambda line: f"[0m{line}[0m"),
    "watch": lambda text: f"Every 2.0s: sh report.sh{'':120}san1: Mon Nov 23 12:03:04 2026\n\n{text}",
    "remarks": _remarked("   <--- here!"),
    "comments": _remarked("   # look at this"),
    "twice": lambda text: f"{text}\n{text}",
    "quoted-printable": _lines_as(
        lambda lines: "\n".join(
            "=\n".join(part or "" for part in re.findall(r".{1,75}|^$", line.replace("=", "=3D"))) for line in lines
        )
    ),
    "wrapped-72": _wrapped(72),
    "wrapped-132": _wrapped(132),
    "wrapped-and-indented": _each(lambda line: "\n    ".join(re.findall(r".{1,76}|^$", line))),
}
"""Changes by tools: like SAME, all findings stay, or the text is reported as not understood."""

DAMAGE: dict[str, Mangler] = {
    "cut-80": _each(lambda line: line[:80]),
    "cut-100": _each(lambda line: line[:100]),
    "first-character": lambda text: text[1:],
    "first-characters": lambda text: text[3:],
    "last-characters": lambda text: text.rstrip()[:-3],
    "half-of-last-line": lambda text: text.rstrip()[: -(len(text.rstrip().rpartition("\n")[2]) // 2) or None],
}
"""Changes that lose something: findings may be lost, nothing is found or good that was not."""


def cuts(text: str, most: int = 12) -> Iterator[tuple[str, str]]:
    """Yield the text cut at line boundaries: its end, its beginning, or lines in the middle are lost."""
    lines = text.split("\n")
    step = max(len(lines) // most, 1)
    for at in range(1, len(lines), step):
        yield f"end from line {at + 1}", "\n".join(lines[:at])
        yield f"end from line {at + 1}, in a fence", "\n".join(["```", *lines[:at], "[...]", "```"])
        yield f"beginning to line {at}", "\n".join(lines[at:])
        yield f"middle from line {at + 1}", "\n".join([*lines[:at], "[...]", *lines[at + max(len(lines) // 4, 1) :]])
