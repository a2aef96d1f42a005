"""Exception that ends a command early with a one-line message."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818
    """Raised when a command fails; one line of text, and the exit code of the process."""

    def __init__(self, line: str, code: int = 1) -> None:
        """Store the exit code; `check` always exits with 3 instead."""
        super().__init__(line)
        self.code = code
