"""Server errors: one-line texts that are safe to display and contain no secrets."""

from __future__ import annotations


class ServerError(Exception):
    """Raised when the server does not answer a query.

    `status` is the HTTP status, None without a response; `lasting` is whether further queries would fail the same
    way, for example because of a wrong password.
    """

    def __init__(self, line: str, status: int | None = None, *, lasting: bool = False) -> None:
        """Store the attributes that decide whether to continue querying."""
        super().__init__(line)
        self.status = status
        self.lasting = lasting
