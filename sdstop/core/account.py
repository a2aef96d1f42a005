"""Account of recorded text: each block of a pasted text is read, not understood, or unknown."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from sdstop.core.evidence import NO_OUTPUT, Origin, Outcome, TextBlock
from sdstop.core.format import safe
from sdstop.core.snapshot import Snapshot

NOT_UNDERSTOOD = "recorded, not understood"
_OTHER_FORM = "recorded in another form: "
_NOT_USED = "not used: "


class Use(enum.StrEnum):
    """Use of a block of text."""

    READ = "read"
    UNREAD = "unread"
    """Its command is supported, or a source wants it, and nothing was read from it."""
    UNKNOWN = "unknown"


class Account(Struct, frozen=True):
    """Use of a block: `sources` are the collectors that read it, `reason` is why nothing was read from it.

    Outputs of captures other than pasted text have line 0.
    """

    block: TextBlock
    use: Use
    sources: tuple[str, ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        """The reason, or the sources."""
        if self.use is Use.READ:
            return f"read: {', '.join(self.sources)}"
        if self.use is Use.UNREAD:
            if self.reason.startswith(_NOT_USED):
                return f"recorded, {self.reason}"
            if self.block.unused:
                return f"recorded, not usable: {self.reason}"
            if self.reason.startswith(_OTHER_FORM):
                return f"{NOT_UNDERSTOOD}: {self.reason.partition(': ')[2]}"
            return f"{NOT_UNDERSTOOD}: {self.reason}" if self.reason else NOT_UNDERSTOOD
        return self.reason or "unknown"


def accounts(origin: Origin, shot: Snapshot) -> list[Account]:
    """Return the use of each block of a pasted text; of another capture, the outputs that no source understands."""
    if not origin.blocks:
        return [
            Account(TextBlock(0, 0, first, key), Use.UNREAD, reason=f'begins "{first}"')
            for key, first in shot.unread.items()
        ]
    readers: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    wanted = {block.key for block in origin.blocks if block.key}
    for run in shot.runs.values():
        for key in wanted & run.keys:
            if run.outcome is Outcome.OK:
                readers.setdefault(key, []).append(run.collector)
            elif run.outcome in {Outcome.UNREAD, Outcome.FAILED}:
                reasons[key] = run.reason
            elif run.outcome is Outcome.ABSENT and run.reason.startswith(key):
                reasons.setdefault(key, f"{_NOT_USED}{run.reason.removeprefix(f'{key}: ')}")
    return [_account(block, readers, reasons, shot.unread) for block in origin.blocks]


def _account(
    block: TextBlock, readers: Mapping[str, list[str]], reasons: Mapping[str, str], unread: Mapping[str, str]
) -> Account:
    if not block.key or block.unused == NO_OUTPUT:
        return Account(block, Use.UNKNOWN, reason=block.unused)
    if block.unused:
        return Account(block, Use.UNREAD, reason=": ".join(filter(None, (block.unused, block.node))))
    sources = tuple(readers.get(block.key, ()))
    if sources:
        return Account(block, Use.READ, sources)
    return Account(block, Use.UNREAD, reason=reasons.get(block.key, f'begins "{unread.get(block.key, block.first)}"'))


def not_understood(origin: Origin, shot: Snapshot) -> dict[str, str]:
    """Return the outputs of a pasted text from which nothing was read, by key or program, with the reason.

    Outputs whose source failed or is unread are left out: the source is reported. Outputs of captures and sosreports
    are not missed: these have many that no source wants. Nor are those of SILENT programs, or lines without a command.
    """
    if not origin.blocks:
        return {}
    faulty = [run.keys for run in shot.runs.values() if run.outcome in {Outcome.UNREAD, Outcome.FAILED}]
    found = {
        each.block.key: each.text
        for each in accounts(origin, shot)
        if each.use is Use.UNREAD and not any(each.block.key in keys for keys in faulty)
    }
    for block in origin.blocks:
        if not block.key and block.program and block.program not in SILENT:
            found.setdefault(block.program, f"no source reads this output (line {block.line})")
    return found


SILENT = frozenset({
    "alias", "apt", "apt-get", "bash", "cd", "clear", "cp", "date", "dnf", "dpkg", "echo", "exit", "export", "history",
    "hostname", "id", "kill", "less", "ln", "logout", "ls", "man", "mkdir", "mv", "nano", "passwd", "pwd", "rm", "rpm",
    "scp", "screen", "sh", "sleep", "ssh", "su", "sudo", "tar", "time", "tmux", "touch", "type", "uname", "vi", "vim",
    "w", "wget", "which", "who", "whoami", "yum", "zypper",
})  # fmt: skip
"""Programs whose output has nothing about the state of storage; it is unknown, and not missed."""


def unknown_lines(origin: Origin) -> str:
    """Return a text with the lines of a pasted text that belong to no known command, "" if there are none."""
    found = [block for block in origin.blocks if not block.key and not block.program]
    shown = [f'line {block.line} "{safe(block.first, 40)}"' for block in found[:_MOST_NAMED]]
    more = [f"and {len(found) - len(shown)} more"] if len(found) > len(shown) else []
    return ", ".join([*shown, *more])


_MOST_NAMED = 3
"""Maximum lines that are quoted."""


_MOST = 40
"""Maximum number of rows of a list."""


def account_rows(origin: Origin, shot: Snapshot) -> list[tuple[str, str, str]]:
    """Return a row for each block: its lines, its key or first line, and its use; adjacent ones alike are one."""
    rows: list[tuple[str, str, str]] = []
    for each in accounts(origin, shot):
        block = each.block
        end = block.line + max(block.lines, 1) - 1
        place = "" if not block.line else f"{block.line}" if end == block.line else f"{block.line}-{end}"
        name = safe(block.key, _WIDEST) if block.key else f'"{safe(block.first, _WIDEST)}"'
        if rows and rows[-1][1:] == (name, each.text):
            continue
        rows.append((place, name, safe(each.text, 300)))
    more = len(rows) - _MOST
    return rows[:_MOST] + ([("", f"and {more} more", "")] if more > 0 else [])


_WIDEST = 80
"""Maximum characters of a key or a first line."""
