"""Problem: what ends a command early, told in one line."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818
    """The command cannot do what it was asked. One line; `code` is what the process exits with."""

    def __init__(self, line: str, code: int = 1) -> None:
        """Keep the exit code; for `check` it is 3 whatever it is here."""
        super().__init__(line)
        self.code = code
