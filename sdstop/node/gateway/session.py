"""Session: login to one gateway with the protocol of its version, sending the password as rarely as possible.

ScaleIO and PowerFlex 1.x to 3.x: `GET /api/login` with Basic authentication returns a token, a JSON string that is the
password of all later requests; it is valid for 8 hours, or 10 minutes without use. PowerFlex 4.x: `POST
/rest/auth/login` returns an access token (5 minutes) and a refresh token (30 minutes; `/rest/auth/update-token`).
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
"""Lifetime of a token of 1.x to 3.x in seconds: in total, and without use."""
ACCESS, REFRESH = 300.0, 1800.0
"""Default lifetime of the tokens of 4.x in seconds, if the response contains none."""
_EARLY = 0.8
"""Fraction of its lifetime after which a token is renewed."""
_NO_SUCH_PATH = frozenset({400, 404, 405, 406, 501})

Send = Callable[[str, str, Mapping[str, str], bytes | None], Response]
"""Function that sends one request to the gateway: method, path, headers, body. Raises HttpError."""


class UnusableResponse(Exception):  # noqa: N818  # another gateway may do
    """Raised if the gateway returned no usable response; skip it for at least `pause` seconds."""

    def __init__(self, text: str, *, pause: float | None = None) -> None:
        """Store the reason and the pause."""
        super().__init__(text)
        self.pause = pause


class CredentialsRefused(Exception):  # noqa: N818
    """Raised if the gateway rejects the credentials; they are not sent again."""


class GatewaySession(msgspec.Struct):
    """Login state of one gateway. `way` is its login protocol, None while unknown."""

    way: str | None = None
    version: str | None = None
    token: Secret | None = None
    refresh: Secret | None = None
    _expires: float = 0.0
    _renewable: float = 0.0
    _used: float = 0.0
    _idle: float = IDLE
    seen: list[Secret] = msgspec.field(default_factory=list)
    """Secrets to hide in output: the last few tokens, in every form in which they are sent."""

    def headers(self, now: float) -> dict[str, str]:
        """Return the headers that authenticate a request at `now` (monotonic seconds), and note the use of the session.

        Raises CredentialsRefused without a login.
        """
        if self.token is None:
            raise CredentialsRefused("is not logged in")
        self._used = now
        if self.way == BEARER:
            return {"Authorization": f"Bearer {self.token.reveal()}"}
        return {"Authorization": f"Basic {_basic('', self.token).reveal()}"}

    def valid(self, now: float) -> bool:
        """Return whether there is a token that should still be valid."""
        idle = self.way == TOKEN and now - self._used > self._idle * _EARLY
        return self.token is not None and now < self._expires and not idle

    def drop(self) -> None:
        """Discard the token after the gateway rejected it."""
        self.token = None

    def enter(self, send: Send, user: str, password: Callable[[], Secret], now: float) -> None:
        """Log in, or renew the token. Raises CredentialsRefused, UnusableResponse, HttpError and SecretError."""
        if self.way == BEARER and self._renew(send, now):
            return
        secret = password()
        if self.way != TOKEN and self._bearer(send, user, secret, now):
            return
        self._legacy(send, user, secret, now)

    def _bearer(self, send: Send, user: str, secret: Secret, now: float) -> bool:
        """Log in with the protocol of 4.x; return False if this gateway is older."""
        body = json.dumps({"username": user, "password": secret.reveal()}).encode()
        answer = send("POST", "/rest/auth/login", _JSON, body)
        if answer.status == 200 and self._take(answer, now):
            self.way = BEARER
            return True
        if self.way == BEARER:
            raise _rejected(answer)
        older = answer.status in _NO_SUCH_PATH or 200 <= answer.status < 400 or answer.status in {401, 403}
        if older:  # a gateway may return 401 for unknown paths, too: try the older protocol
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
    """Response to a login or a renewal of 4.x; lifetimes in seconds."""

    access_token: _Text
    refresh_token: str | None = None
    expires_in: float | None = None
    refresh_expires_in: float | None = None


_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def _basic(user: str, secret: Secret) -> Secret:
    return Secret(base64.b64encode(f"{user}:{secret.reveal()}".encode()).decode())


def _decoded(token: Secret) -> Secret | None:
    """Return the Base64-decoded token of 1.x to 3.x (user, expiry and checksum), None if it is not Base64."""
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
        return UnusableResponse("unexpected login response; is this a PowerFlex gateway?")
    if 300 <= answer.status < 400:
        return UnusableResponse(f"login redirected ({answer.status}), not followed; is this a PowerFlex gateway?")
    return UnusableResponse(f"login failed ({answer.status})")
