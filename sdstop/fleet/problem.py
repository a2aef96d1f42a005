"""What goes wrong between sdstop and a server, each in one line that is safe to show and names no secret."""

from __future__ import annotations


class ServerError(Exception):
    """The server did not answer a question.

    `status` is that of HTTP, None where there was no answer; `lasting` is whether the next question would fare the
    same, as where a password is wrong.
    """

    def __init__(self, line: str, status: int | None = None, *, lasting: bool = False) -> None:
        """Keep what decides whether to ask on."""
        super().__init__(line)
        self.status = status
        self.lasting = lasting
