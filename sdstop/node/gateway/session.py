"""Session: being let in by one gateway, in the way of its version, and the password is sent as seldom as can be.

ScaleIO and PowerFlex 1.x to 3.x: `GET /api/login` with Basic gives a token, a JSON string that is the password of all
that follows; it lives for 8 hours, and 10 minutes without use. PowerFlex 4.x: `POST /rest/auth/login` gives an access
token of 5 minutes and one of 30 that renews it (`/rest/auth/update-token`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from sdstop.node.gateway.secret import Secret
from sdstop.node.http import Response

TOKEN, BEARER = "token", "bearer"
LIFETIME, IDLE = 8 * 3600.0, 600.0
"""Seconds that a token of 1.x to 3.x lives, and lives without use."""
ACCESS, REFRESH = 300.0, 1800.0
"""Seconds that the tokens of 4.x live where they do not say."""
_EARLY = 0.8
"""Share of its life after which a token is renewed."""
_NO_SUCH_PATH = frozenset({400, 404, 405, 406, 501})

Send = Callable[[str, str, Mapping[str, str], bytes | None], Response]
"""Sends one request to the gateway: method, path, headers, body. Raises HttpError."""


class Unusable(Exception):  # noqa: N818  # another gateway may do
    """The gateway gave no usable answer; leave it alone for at least `pause` seconds."""

    def __init__(self, text: str, *, pause: float | None = None) -> None:
        """Keep why, and for how long."""
        super().__init__(text)
        self.pause = pause


class CredentialsRefused(Exception):  # noqa: N818
    """The gateway does not take the credentials: they are not sent again."""


class GatewaySession(msgspec.Struct):
    """What one gateway gave for the credentials. `way` is how it lets in, None until that is known."""

    way: str | None = None
    version: str | None = None
    token: Secret | None = None
    refresh: Secret | None = None
    _expires: float = 0.0
    _renewable: float = 0.0
    _used: float = 0.0
    _idle: float = IDLE
    seen: list[Secret] = msgspec.field(default_factory=list)
    """All that must not be shown: the last few tokens, in every form in which they are sent."""

    def headers(self, now: float) -> dict[str, str]:
        """Return the headers that show that we were let in; the session is in use."""
        if self.token is None:
            raise CredentialsRefused("is not logged in")
        self._used = now
        if self.way == BEARER:
            return {"Authorization": f"Bearer {self.token.reveal()}"}
        return {"Authorization": f"Basic {_basic('', self.token).reveal()}"}

    def valid(self, now: float) -> bool:
        """Whether there is a token that should still be good."""
        idle = self.way == TOKEN and now - self._used > self._idle * _EARLY
        return self.token is not None and now < self._expires and not idle

    def drop(self) -> None:
        """Forget the token: it was not taken."""
        self.token = None

    def enter(self, send: Send, user: str, password: Callable[[], Secret], now: float) -> None:
        """Log in, or renew what there is. Raises Refused, Unusable, HttpError and SecretError."""
        if self.way == BEARER and self._renew(send, now):
            return
        secret = password()
        if self.way != TOKEN and self._bearer(send, user, secret, now):
            return
        self._legacy(send, user, secret, now)

    def _bearer(self, send: Send, user: str, secret: Secret, now: float) -> bool:
        """Log in as 4.x wants it; False if this gateway is older."""
        body = json.dumps({"username": user, "password": secret.reveal()}).encode()
        answer = send("POST", "/rest/auth/login", _JSON, body)
        if answer.status == 200 and self._take(answer, now):
            self.way = BEARER
            return True
        if self.way == BEARER:
            raise _rejected(answer)
        older = answer.status in _NO_SUCH_PATH or 200 <= answer.status < 400 or answer.status in {401, 403}
        if older:  # whoever guards all paths alike says 401 to one that does not exist: the other way decides
            return False
        raise _rejected(answer)

    def _take(self, answer: Response, now: float) -> bool:
        try:
            tokens = msgspec.json.decode(answer.body, type=_Tokens)
        except (msgspec.MsgspecError, RecursionError):
            return False
        self._keep(Secret(tokens.access_token))
        self.refresh = Secret(tokens.refresh_token) if tokens.refresh_token else None
        if self.refresh is not None:
            self.seen.append(self.refresh)
        self._expires = now + _EARLY * _seconds(tokens.expires_in, ACCESS)
        self._renewable = now + _EARLY * _seconds(tokens.refresh_expires_in, REFRESH)
        self._used = now
        return True

    def _renew(self, send: Send, now: float) -> bool:
        if self.refresh is None or now >= self._renewable:
            return False
        refresh, self.refresh = self.refresh, None
        body = json.dumps({"refresh_token": refresh.reveal()}).encode()
        answer = send("POST", "/rest/auth/update-token", _JSON, body)
        return answer.status == 200 and self._take(answer, now)

    def _legacy(self, send: Send, user: str, secret: Secret, now: float) -> None:
        basic = _basic(user, secret)
        self.seen.append(basic)
        answer = send("GET", "/api/login", {"Authorization": f"Basic {basic.reveal()}"}, None)
        if answer.status != 200:
            raise _rejected(answer)
        try:
            token = msgspec.json.decode(answer.body, type=_Text)
        except (msgspec.MsgspecError, RecursionError):
            raise _rejected(answer) from None
        self.way = TOKEN
        self._keep(Secret(token))
        self._expires = now + _EARLY * LIFETIME
        self._used = now

    def _keep(self, token: Secret) -> None:
        self.token = token
        self.seen = [*self.seen[-12:], token, _basic("", token)]
        inner = _decoded(token)
        if inner is not None:
            self.seen.append(inner)


_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Tokens(msgspec.Struct):
    """What a login or a renewal of 4.x returns; lifetimes in seconds."""

    access_token: _Text
    refresh_token: str | None = None
    expires_in: float | None = None
    refresh_expires_in: float | None = None


_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def _basic(user: str, secret: Secret) -> Secret:
    return Secret(base64.b64encode(f"{user}:{secret.reveal()}".encode()).decode())


def _decoded(token: Secret) -> Secret | None:
    """Return what a token of 1.x to 3.x says in Base64: user, when it expires, and a checksum."""
    try:
        return Secret(base64.b64decode(token.reveal(), validate=True).decode())
    except ValueError:
        return None


def _seconds(value: float | None, usual: float) -> float:
    return value if value is not None and 1 <= value <= 1e6 else usual


def _rejected(answer: Response) -> Exception:
    if answer.status in {401, 403}:
        return CredentialsRefused(f"login failed ({answer.status}): wrong user or password")
    if answer.status == 200:
        return Unusable("unexpected login response; is this a PowerFlex gateway?")
    if 300 <= answer.status < 400:
        return Unusable(f"login redirected ({answer.status}), not followed; is this a PowerFlex gateway?")
    return Unusable(f"login failed ({answer.status})")
