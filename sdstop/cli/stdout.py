"""Standard output. Imports little, for commands that must start fast. Raises only Problem and BrokenPipeError."""

from __future__ import annotations

import contextlib
import os
import sys

from sdstop.cli.problem import Problem


def write(text: str) -> None:
    """Write to standard output and flush; unencodable characters are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_bytes(text.encode(encoding, "backslashreplace"))


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output and flush, regardless of the locale's encoding. Raises Problem."""
    if sys.stdout is None:  # the process was started with stdout closed
        raise Problem("cannot write to standard output: closed")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise Problem(f"cannot write to standard output: {error.strerror}") from error


def discard_output() -> None:
    """Redirect standard output to /dev/null, because a failing flush at exit would change the exit code."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
