"""Command execution. Errors are reported in one line; for `check` they are UNKNOWN, exit code 3."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
from collections.abc import Callable, Sequence

from sdstop.cli.arguments import parse, split
from sdstop.cli.problem import Problem
from sdstop.cli.usage import DASHBOARD, UsageError

_MODULES = {
    DASHBOARD: "dashboard:run", "report": "report:run", "capture": "capture:run", "record": "record:run",
    "unpack": "record:unpack", "diff": "diff:run", "check": "check:run",
    "export": "export:run", "backfill": "backfill:run", "fleet": "fleet:run", "doctor": "doctor:run",
    "rules": "lists:rules",
    "config": "lists:config", "metrics": "lists:metrics",
}  # fmt: skip

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended (128 + SIGINT)."""
HUNG_UP = 141
"""Exit code after SIGPIPE: the reader of the output has gone."""


CHECKED = 200_000
"""New objects after which a check collects garbage: it ends soon, and 600 of its 400 000 objects are garbage."""
SERVED = 100_000
"""The same of an exporter: a frame of 5000 things makes 80 000 objects, and scanning them finds them in use."""


def collect_seldom(objects: int = 20_000) -> None:
    """Make Python collect garbage after this number of new objects instead of 700.

    Modules and the frames of large nodes, with tens of thousands of rows, are long-lived: scanning them repeatedly
    costs 10% of the start time and 20% of the run time after it, without finding garbage.
    """
    gc.set_threshold(objects, 10, 10)


_SELDOM = {"check": CHECKED, "export": SERVED}


def execute(argv: Sequence[str]) -> int:
    """Run a command line and return the exit code. Raises SystemExit for --help and --version."""
    judge = "check" in argv
    collect_seldom()
    try:
        command, words = split(argv)
        judge = command == "check"
        if command in _SELDOM:
            collect_seldom(_SELDOM[command])
        options = parse(command, words)
        return _function(command)(options)
    except UsageError as usage:
        return _tell(str(usage), 2, judge=judge)
    except Problem as problem:
        return _tell(str(problem), problem.code, judge=judge)
    except BrokenPipeError:
        from sdstop.cli.stdout import discard_output

        discard_output()
        return 3 if judge else HUNG_UP
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("SDSTOP_TRACEBACK"):
            raise
        from sdstop.core.format import safe

        said = f"internal error: {type(error).__name__}: {safe(error)} (set SDSTOP_TRACEBACK=1 and report a bug)"
        return _tell(said, 1, judge=judge)


def _function(command: str) -> Callable[[argparse.Namespace], int]:
    module, _, name = _MODULES[command].partition(":")
    function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(f"sdstop.cli.{module}"), name)
    return function


def _tell(text: str, code: int, *, judge: bool) -> int:
    from sdstop.cli import output

    if not judge:
        output.say(f"sdstop: {text}")
        return code
    from sdstop.core.headline import UNKNOWN
    from sdstop.exporters.plugin import line

    with contextlib.suppress(Problem, BrokenPipeError):
        output.write(line(UNKNOWN, text))
    return UNKNOWN
