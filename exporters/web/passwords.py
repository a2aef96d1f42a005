"""Basic authentication with bcrypt. A check takes about 0.1 s, so verdicts are cached.

A scraper sends the same password with every request. The verdict is cached under a keyed hash of name, bcrypt
hash and password, so that a changed bcrypt hash in the file is checked again.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

MOST_WRONG = 100
"""Maximum cached verdicts on wrong passwords."""
MOST_RIGHT = 1000
"""Right passwords remembered, so that bcrypt does not run again for each request."""


class Login(Struct, frozen=True):
    """User name and password as received."""

    user: str
    password: bytes


def login_of(header: str) -> Login | None:
    """Parse an Authorization header, `Basic dXNlcjpwYXNz`; None if it is not valid basic authentication."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(rest.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    return Login(user.decode("utf-8", "replace"), password) if colon else None


class LoginCache:
    """Cache of login verdicts. Right ones are kept separately, so that a flood of wrong ones cannot evict them."""

    def __init__(self) -> None:
        """Start empty, with a random hash key."""
        self._secret = os.urandom(32)
        self._right: OrderedDict[bytes, bool] = OrderedDict()
        self._wrong: OrderedDict[bytes, bool] = OrderedDict()

    def key(self, users: Mapping[str, str], login: Login) -> bytes:
        """Return the cache key of a login."""
        parts = (login.user.encode(), users.get(login.user, "").encode(), login.password)
        text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        import hashlib  # noqa: PLC0415  # only needed if passwords are configured

        return hashlib.blake2b(text, key=self._secret, digest_size=32).digest()

    def known(self, key: bytes) -> bool | None:
        """Return a cached verdict, None if there is none."""
        for table in (self._right, self._wrong):
            if key in table:
                table.move_to_end(key)
                return table[key]
        return None

    def keep(self, key: bytes, *, right: bool) -> None:
        """Cache a verdict."""
        table, most = (self._right, MOST_RIGHT) if right else (self._wrong, MOST_WRONG)
        table[key] = right
        if len(table) > most:
            table.popitem(last=False)


def right(users: Mapping[str, str], login: Login) -> bool:
    """Return whether the password is right. Slow, and equally slow for unknown names."""
    import bcrypt  # noqa: PLC0415  # only needed if passwords are configured

    stored = users.get(login.user) or next(iter(users.values()))
    try:
        same = bcrypt.checkpw(login.password, stored.encode())
    except ValueError:  # contains NUL, or exceeds bcrypt's maximum length
        return False
    return same and login.user in users
