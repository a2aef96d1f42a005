"""Passwords of basic authentication: bcrypt hashes, which take a tenth of a second each, so that a verdict is kept.

A scraper sends the same password with every request. Its verdict is remembered under a keyed hash of name, bcrypt hash
and password: a hash that the file changed is judged anew.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

MOST_WRONG = 100
"""Wrong passwords that are remembered."""
MOST_RIGHT = 1000


class Login(Struct, frozen=True):
    """A name and a password, as they came."""

    user: str
    password: bytes


def login_of(header: str) -> Login | None:
    """Return what an Authorization header says, `Basic dXNlcjpwYXNz`; None if that is nothing."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(rest.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    return Login(user.decode("utf-8", "replace"), password) if colon else None


class Verdicts:
    """What is known of logins. The right ones have room of their own: no flood of wrong ones drives them out."""

    def __init__(self) -> None:
        """Know nothing."""
        self._secret = os.urandom(32)
        self._right: OrderedDict[bytes, bool] = OrderedDict()
        self._wrong: OrderedDict[bytes, bool] = OrderedDict()

    def key(self, users: Mapping[str, str], login: Login) -> bytes:
        """Return what a verdict is kept under."""
        parts = (login.user.encode(), users.get(login.user, "").encode(), login.password)
        text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hashlib.blake2b(text, key=self._secret, digest_size=32).digest()

    def known(self, key: bytes) -> bool | None:
        """Return a verdict, None if there is none yet."""
        for table in (self._right, self._wrong):
            if key in table:
                table.move_to_end(key)
                return table[key]
        return None

    def keep(self, key: bytes, *, right: bool) -> None:
        """Remember one."""
        table, most = (self._right, MOST_RIGHT) if right else (self._wrong, MOST_WRONG)
        table[key] = right
        if len(table) > most:
            table.popitem(last=False)


def right(users: Mapping[str, str], login: Login) -> bool:
    """Return whether the user has this password; takes a while, and as long for a name that nobody has."""
    import bcrypt  # noqa: PLC0415  # only who asks for passwords needs it

    stored = users.get(login.user) or next(iter(users.values()))
    try:
        same = bcrypt.checkpw(login.password, stored.encode())
    except ValueError:  # it has a NUL, or more bytes than bcrypt looks at
        return False
    return same and login.user in users
