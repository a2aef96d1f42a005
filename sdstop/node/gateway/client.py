"""Client: several gateways as one.

Gateways are stateless and interchangeable; the last one that worked is tried first. Rejected credentials are not sent
again until they change, so that sdstop never locks an account. A gateway that fails is skipped for a growing time.
While none responds, the last response is returned, and `state` reports its age.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sdstop.core.evidence import http_key
from sdstop.core.host import Denied, Failed, Reply, TimedOut
from sdstop.node.gateway.allowed import may_ask
from sdstop.node.gateway.exchange import exchange, verified_tls
from sdstop.node.gateway.negotiated import LIST, MOST_REFUSALS, Negotiated
from sdstop.node.gateway.secret import Finder, Secret, SecretError, cleaned
from sdstop.node.gateway.session import CredentialsRefused, GatewaySession, UnusableResponse
from sdstop.node.gateway.settings import Address, Settings
from sdstop.node.http import Endpoint, HttpError, HttpTimeout, Response

EACH = 10.0
"""Timeout of one request in seconds."""
STALE = 600.0
"""Seconds for which the last response replaces a new one."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds for which a failed gateway is skipped: after the first failure, and at most."""
_UNTAKEN = 30.0
"""Seconds until the next login after a gateway rejected the token that it issued."""
_VERSIONS_WITHOUT_LATENCY = ("1.", "2.")


class _Gateway(msgspec.Struct):
    """One gateway: its session, its failures, and the end of its back-off (`until`)."""

    address: Address
    session: GatewaySession = msgspec.field(default_factory=GatewaySession)
    failures: int = 0
    until: float = 0.0
    trouble: str = ""
    late: bool = False


class GatewayClient:
    """Client of all gateways. Requests are serial; concurrent ones wait for their turn within their deadline."""

    def __init__(
        self, settings: Settings, password: Finder | None, clock: Callable[[], float] = time.monotonic,
        each: float = EACH,
    ) -> None:  # fmt: skip
        """Start without a connection; `password` returns the current password (None: not configured)."""
        self._settings = settings
        self._password = password
        self._clock = clock
        self._each = each
        self._gateways = [_Gateway(address) for address in settings.gateways]
        for gateway in self._gateways:
            gateway.session.way = None if settings.login == "auto" else settings.login
        self._last = self._gateways[0]
        self._refused: tuple[Secret, str] | None = None
        self._shown: list[Secret] = []
        self._negotiated = Negotiated()
        self._answers: dict[str, tuple[float, Reply]] = {}
        self._trouble = ""
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None, deadline: float) -> Reply:
        """Return a valid response (status 200, JSON): a new one, or the last one if it is at most STALE seconds old.

        Raises Denied if the credentials are rejected or missing, TimedOut, and Failed.
        """
        key = http_key(method, path, body)
        if not may_ask(method, path):
            raise Failed(key, "not in the allow-list of requests")
        end = self._clock() + deadline
        if not self._lock.acquire(timeout=deadline):
            raise TimedOut(key, "another request to the gateway is still pending")
        try:
            reply = self._ask(key, method, path, body, end)
        except (Denied, Failed, TimedOut) as error:
            self._trouble = error.detail
            kept = self._answers.get(key)
            if kept is None or self._clock() - kept[0] > STALE:
                raise
            return kept[1]
        finally:
            self._lock.release()
        self._trouble = ""
        self._answers[key] = (self._clock(), reply)
        return reply

    def state(self) -> dict[str, Any]:
        """Return the state of the gateway connection as JSON data, without secrets."""
        known = self._last
        oldest = min((taken for taken, _ in self._answers.values()), default=None)
        return {
            "gateway": known.address.shown,
            "state": "ok" if not self._trouble else "stale",
            "age": 0.0 if not self._trouble else None if oldest is None else round(self._clock() - oldest, 1),
            "version": known.session.version,
            "login": known.session.way,
            "verified": self._settings.verified,
            "gateways": len(self._gateways),
            "failures": sum(gateway.failures for gateway in self._gateways),
            "dropped": sorted(f"{kind}.{name}" for kind, name in self._negotiated.unknown),
            "trouble": self._trouble,
        }

    def _ask(self, key: str, method: str, path: str, body: Mapping[str, Any] | None, end: float) -> Reply:
        now = self._clock()
        order = sorted(self._gateways, key=lambda gateway: gateway is not self._last)
        for gateway in order:
            if gateway.until > now:
                continue
            try:
                reply = self._of(gateway, method, path, body, end)
            except (UnusableResponse, HttpError) as error:
                pause = error.pause if isinstance(error, UnusableResponse) else None
                self._leave(gateway, str(error), late=isinstance(error, HttpTimeout), pause=pause)
                continue
            except CredentialsRefused as error:
                raise Denied(key, self._clean(f"{gateway.address.shown}: {error}")) from None
            except SecretError as error:
                raise Denied(key, str(error)) from None
            gateway.failures, gateway.until, gateway.trouble = 0, 0.0, ""
            self._last = gateway
            return reply
        said = "; ".join(f"{gateway.address.shown}: {gateway.trouble}" for gateway in order if gateway.trouble)
        kind = TimedOut if all(gateway.late for gateway in self._gateways) else Failed
        raise kind(key, self._clean(said or "no gateway available"))

    def _leave(self, gateway: _Gateway, why: str, *, late: bool, pause: float | None) -> None:
        gateway.failures += 1
        gateway.trouble, gateway.late = why, late
        usual = min(FIRST_PAUSE * 2 ** min(gateway.failures - 1, 9), LONGEST_PAUSE)
        gateway.until = self._clock() + max(usual, min(pause or 0.0, LONGEST_PAUSE))

    def _of(self, gateway: _Gateway, method: str, path: str, body: Mapping[str, Any] | None, end: float) -> Reply:
        if gateway.address.tls and self._context is None:
            self._context = verified_tls(self._settings)
        send = _RequestSender(self, gateway, self._context, end)
        answer = self._let_in(send, method, path, body)
        for _ in range(MOST_REFUSALS):
            if answer.status != 400 or body is None or LIST not in body:
                break
            if not self._negotiated.find(body, answer.body, lambda part: self._known(send, method, path, part)):
                raise UnusableResponse(f"rejects the query (400): {self._message(answer)}")
            answer = self._let_in(send, method, path, body)
        self._judge(answer)
        kind = answer.header("Content-Type")[:100].partition(";")[0]
        return Reply(cleaned(answer.body, self._secrets()), answer.status, kind)

    def _known(self, send: _RequestSender, method: str, path: str, part: Mapping[str, Any]) -> bool:
        answer = self._let_in(send, method, path, part)
        if answer.status != 400:
            self._judge(answer)
        return answer.status == 200

    def _let_in(self, send: _RequestSender, method: str, path: str, body: Mapping[str, Any] | None) -> Response:
        """Log in if necessary and send a request; retry once with a new token if the old one is rejected."""
        session = send.gateway.session
        fresh = not session.valid(self._clock())
        if fresh:
            self._enter(send)
        answer = self._send(send, method, path, body)
        if answer.status == 401 and not fresh:
            session.drop()
            self._enter(send)
            answer = self._send(send, method, path, body)
        if answer.status == 401:  # possible during a manager failover; a successful login cannot lock the account
            session.drop()
            raise UnusableResponse("rejects the token that it issued (401)", pause=_UNTAKEN)
        if answer.status == 403:
            session.drop()
            self._refuse(f"{path}: forbidden ({answer.status}); the user needs the role Monitor")
        return answer

    def _send(self, send: _RequestSender, method: str, path: str, body: Mapping[str, Any] | None) -> Response:
        headers = {"Accept": "application/json", **send.gateway.session.headers(self._clock())}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(self._negotiated.body(body) if LIST in body else body).encode()
        return send(method, path, headers, data)

    def _enter(self, send: _RequestSender) -> None:
        """Log in, unless these credentials were rejected before."""
        if self._password is None:
            raise SecretError(
                'no password set; use password_file in [powerflex], the systemd credential "powerflex" or '
                "$SDSTOP_POWERFLEX_PASSWORD"
            )
        session = send.gateway.session
        password = self._password
        secret = password()
        if self._refused is not None and self._refused[0] == secret:
            raise CredentialsRefused(f"{self._refused[1]}; not retried until the credentials change")
        self._refused = None
        self._shown = [secret, *self._shown[:2]]
        try:
            session.enter(send, self._settings.user, lambda: secret, self._clock())
        except CredentialsRefused as error:
            self._refuse(f"{error}, or the gateway does not trust the certificate of its MDM")
        if session.version is None and session.token is not None:
            self._ask_version(send)

    def _ask_version(self, send: _RequestSender) -> None:
        session = send.gateway.session
        answer = send("GET", "/api/version", session.headers(self._clock()), None)
        said = answer.body.decode("ascii", "replace").strip().strip('"')
        if answer.status == 200 and 0 < len(said) <= 20 and said.isprintable():
            session.version = said
            self._negotiated.of_version(said)
            if said.startswith(_VERSIONS_WITHOUT_LATENCY):
                self._negotiated.unknown |= {
                    (kind, f"userDataSdc{way}Latency")
                    for kind in ("Volume", "Sdc", "StoragePool", "System") for way in ("Read", "Write")
                }  # fmt: skip

    def _refuse(self, why: str) -> None:
        if self._password is not None:
            self._refused = (self._password(), why)
        raise CredentialsRefused(why)

    def _judge(self, answer: Response) -> None:
        """Raise Unusable unless the response has status 200 and complete JSON."""
        status, body = answer.status, answer.body.strip()
        if status == 200 and body[:1] in {b"{", b"["} and body[-1:] in {b"}", b"]"}:
            return
        if status in {429, 503}:
            raise UnusableResponse(f"busy ({status}): {self._message(answer)}", pause=_retry_after(answer))
        if 300 <= status < 400:
            raise UnusableResponse(f"redirect ({status}) not followed; is this a PowerFlex gateway?")
        if status == 200 and body[:1] == b"<":
            raise UnusableResponse("unexpected web page; is this a PowerFlex gateway?")
        if status == 200 and body:
            raise UnusableResponse("incomplete JSON response")
        if status in {200, 204}:
            raise UnusableResponse(f"empty response ({status})")
        raise UnusableResponse(f"HTTP {status}: {self._message(answer)}")

    def _message(self, answer: Response) -> str:
        """Return the error message of a response, at most 200 characters."""
        try:
            words = msgspec.json.decode(answer.body, type=_ErrorResponse).message.split()
        except (msgspec.MsgspecError, RecursionError):
            words = []
        if not words:
            return "a web page" if answer.body.lstrip()[:1] == b"<" else "no reason"
        return self._clean(" ".join(words)[:200])

    def _secrets(self) -> list[Secret]:
        return [*self._shown, *(secret for gateway in self._gateways for secret in gateway.session.seen)]

    def _clean(self, text: str) -> str:
        return cleaned(text.encode("utf-8", "replace"), self._secrets()).decode("utf-8", "replace")


class _ErrorResponse(msgspec.Struct):
    """An error response: `{"message": "...", "httpStatusCode": 400, "errorCode": 0}`."""

    message: str


class _RequestSender:
    """Sender of requests to one gateway, with a timeout for each and a deadline for all."""

    def __init__(self, client: GatewayClient, gateway: _Gateway, context: ssl.SSLContext | None, end: float) -> None:
        self.gateway = gateway
        self._client = client
        self._context = context
        self._end = end

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        client = self._client
        left = min(self._end - client._clock(), client._each)  # noqa: SLF001  # this class is part of the client
        address = self.gateway.address
        endpoint = Endpoint(
            address.host, address.port, self._context if address.tls else None,
            fingerprint=client._settings.fingerprint,  # noqa: SLF001
        )  # fmt: skip
        return exchange(endpoint, method, path, headers, body, left)


def _retry_after(answer: Response) -> float | None:
    """Return the seconds in the Retry-After header, None for a date or no header."""
    text = answer.header("Retry-After")
    return float(text) if text.isdecimal() and len(text) < 6 else None
