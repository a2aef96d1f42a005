"""Usage: names of commands, lengths of their runs, and errors of a command line, in one line with a hint."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from sdstop.core.suggestion import nearest, quoted

DASHBOARD = ""
"""The command without a name."""

COMMANDS: Mapping[str, str] = {
    DASHBOARD: "live dashboard of this node or of a capture; text report without a terminal",
    "report": "one-shot diagnostic report",
    "capture": "record raw evidence and findings to a file",
    "record": "record evidence for days, bounded in age and size",
    "unpack": "write a part of a recording as a capture",
    "diff": "show what changed from one capture or moment to another",
    "check": "monitoring check: one line; exit 0 ok, 1 warning, 2 critical, 3 unknown",
    "export": "Prometheus exporter",
    "backfill": "write a capture as OpenMetrics with timestamps, for promtool",
    "fleet": "dashboard of all nodes, from a Prometheus-compatible server",
    "doctor": "show which sources work and how to enable the others",
    "rules": "list rules and their thresholds",
    "config": "show the settings in effect, and the file that has each",
    "metrics": "list exported metrics",
}
TIMED = ("report", "capture")
"""Commands whose live run has a length."""
SECONDS = 10.0
"""Default length of a live run."""
PROFILES = {"quick": SECONDS, "standard": 60.0, "deep": 60.0}
"""Length of a live run by profile."""
ONCE_SECONDS = 2.0
"""Length of the run of `export --once`: rates need two frames. Slow sources get a little longer."""

MOST_COMPARED = 64
"""Largest number of captures in one comparison; all of them are in memory."""
ALIASES = ("help", "version")
"""Words that people type for an option of the same name."""


class UsageError(Exception):
    """Raised for a wrong command line; one line with the error and a hint."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are raised."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        if found := re.fullmatch(r"unrecognized arguments: (\S+)(?: .*)?", message, re.DOTALL):
            word = found[1]
            known = self._option_string_actions
            message = unknown_option(word, known) if word[0] == "-" else f"unexpected argument {quoted(word)}"
        elif found := re.fullmatch(r"(argument \S+: invalid choice: '(.*)') \(choose from (.*)\)", message, re.DOTALL):
            message = found[1] + (
                _suggestion(found[2], re.findall(r"[\w-]+", found[3])) or f" (choose from {found[3]})"
            )
        elif found := re.fullmatch(r"the following arguments are required: (.+)", message):
            message = f"missing {'option ' if found[1][0] == '-' else ''}{found[1].replace(', ', ' and ')}"
        raise UsageError(f"{message}; run '{self.prog} --help'")


def _suggestion(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known, 0.7)
    return f" (did you mean {quoted(near)}?)" if near else ""


def unknown_command(word: str) -> str:
    """Return the error of a word that is not a command."""
    known = [*filter(None, COMMANDS), *ALIASES]
    if "/" in word or os.path.exists(word):  # noqa: PTH110  # pathlib takes 3 ms
        import shlex

        return f"unknown command {quoted(word)}; open a capture with --from {shlex.quote(word)}"
    return f"unknown command {quoted(word)}{_suggestion(word, known)}"


def unknown_option(word: str, known: Iterable[str]) -> str:
    """Return the error of an option that a command does not have."""
    option = word.partition("=")[0]
    return f"unknown option {quoted(option)}{_suggestion(option, known)}"
