"""Allow-list for requests to a gateway: methods and paths that read, log in or renew a token."""

from __future__ import annotations

import re

from sdstop.core.expression import expression

_TO_ASK = (
    ("GET", expression(r"/api/instances/?")),
    ("GET", expression(r"/api/types/[A-Z][A-Za-z]{1,40}/instances")),
    ("POST", expression(r"/api/instances/querySelectedStatistics")),
)
_TO_BE_LET_IN = (
    ("GET", expression(r"/api/(?:login|version)")),
    ("POST", expression(r"/rest/auth/(?:login|update-token)")),
)


def may_ask(method: str, path: str) -> bool:
    """Return whether a collector may send this request: it only reads."""
    return _listed(_TO_ASK, method, path)


def may_send(method: str, path: str) -> bool:
    """Return whether this request may be sent at all: collector requests and logins."""
    return _listed(_TO_ASK + _TO_BE_LET_IN, method, path)


def _listed(known: tuple[tuple[str, re.Pattern[str]], ...], method: str, path: str) -> bool:
    return any(method == its and pattern.fullmatch(path) is not None for its, pattern in known)
