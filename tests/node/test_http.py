"""Every request ends by its deadline or at its size, whatever the server does, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sdstop.__main__ import main
from sdstop.core.host import Failed, TimedOut
from sdstop.fleet.client import PrometheusClient
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.problem import ServerError
from sdstop.fleet.url import parse_url
from sdstop.node.gateway.client import GatewayClient
from sdstop.node.gateway.secret import Secret
from sdstop.node.gateway.settings import settings
from sdstop.node.http import (
    Endpoint,
    HttpClient,
    HttpError,
    HttpTimeout,
    Response,
    ResponseTooLarge,
    UntrustedCertificate,
    fingerprint,
    tls_context,
)
from tests.nodes import hostile_http
from tests.nodes.hostile_http import DEADLINE, HANDSHAKE, OK, TOO_LARGE, Behaviour

SECONDS = 0.3
LATE = 2.0
"""Seconds after which a request that should take SECONDS has not ended by its deadline, on a busy machine."""
CERTIFICATES = Path(__file__).parent.parent / "gateway" / "certificates"


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """Check that no thread and no descriptor is left, and how long it took."""
    threads, descriptors = set(threading.enumerate()), set(Path("/proc/self/fd").iterdir())
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < LATE
    assert set(threading.enumerate()) <= threads
    assert set(Path("/proc/self/fd").iterdir()) <= descriptors  # garbage of other tests may be closed meanwhile


@contextlib.contextmanager
def served(behaviour: Behaviour, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    """Serve, and check that nothing is left."""
    with nothing_left(), hostile_http.serving(behaviour, context) as address:
        yield address


def asked(endpoint: Endpoint, seconds: float = SECONDS, body: bytes | None = None, largest: int = 1 << 20) -> Response:
    with HttpClient(endpoint, lambda method, _: method in {"GET", "POST"}, largest=largest) as client:
        return client.request("POST" if body else "GET", "/x", {}, body, seconds)


def answering(*pieces: bytes, close: bool = False) -> Behaviour:
    """Return a server that answers each request of a connection with these bytes."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        while connection.recv(1 << 16):
            connection.sendall(b"".join(pieces))
            if close:
                return

    return serve


def server_context(name: str = "good") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{name}.pem")
    return context


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# --- the client itself ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DEADLINE)
def test_a_server_that_does_not_finish_costs_the_deadline(name: str, *, tls: bool) -> None:
    with (
        served(DEADLINE[name], server_context() if tls else None) as (host, port),
        pytest.raises(HttpTimeout, match=r"no complete response within 0\.3 s"),
    ):
        asked(Endpoint(host, port, tls_context(verify=False) if tls else None))


@pytest.mark.parametrize("name", HANDSHAKE)
def test_a_handshake_that_does_not_end_costs_the_deadline(name: str) -> None:
    with served(HANDSHAKE[name]) as (host, port), pytest.raises(HttpTimeout):
        asked(Endpoint(host, port, tls_context(verify=False)))


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_response_that_is_too_large_is_not_kept(name: str, *, tls: bool) -> None:
    with (
        served(TOO_LARGE[name], server_context() if tls else None) as (host, port),
        pytest.raises(ResponseTooLarge, match="exceeds 1 MiB"),
    ):
        asked(Endpoint(host, port, tls_context(verify=False) if tls else None), LATE)


def test_a_server_that_does_not_read_costs_the_deadline(*, tls: bool) -> None:
    serve = hostile_http.DEADLINE["silent"]
    with served(serve, server_context() if tls else None) as (host, port), pytest.raises(HttpTimeout):
        asked(Endpoint(host, port, tls_context(verify=False) if tls else None), body=bytes(64 << 20))


@contextlib.contextmanager
def full_queue() -> Iterator[Endpoint]:
    """Listen with a full queue, so that further connection attempts get no answer."""
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)  # noqa: FBT003  # its signature
            one.connect_ex(listener.getsockname())
        yield Endpoint(*listener.getsockname())


def test_a_host_that_accepts_no_connection_costs_the_deadline() -> None:
    with full_queue() as endpoint, nothing_left(), pytest.raises(HttpTimeout, match="no complete response"):
        asked(endpoint)


def test_another_server_may_be_asked_when_connecting_takes_too_long() -> None:
    with full_queue() as endpoint, HttpClient(endpoint, lambda *_: True, connect=0.1) as client:
        begun = time.monotonic()
        with pytest.raises(HttpTimeout, match="connection timed out"):
            client.request("GET", "/x", {}, None, 60.0)
        assert time.monotonic() - begun < LATE


def test_a_resolver_that_does_not_answer_costs_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    over, real = threading.Event(), socket.getaddrinfo

    def resolve(host: str, port: int, *, type: int = 0, flags: int = 0) -> object:  # noqa: A002  # its signature
        if flags & socket.AI_NUMERICHOST:
            return real(host, port, type=type, flags=flags)
        over.wait(10)
        return real("127.0.0.1", port, type=type)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with nothing_left():
        with pytest.raises(HttpTimeout):
            asked(Endpoint("name.example", 80))
        over.set()
        for thread in threading.enumerate():
            if thread.name == "name-lookup":
                thread.join()


BROKEN = {
    "no HTTP": (answering(b"hello\r\n\r\n", close=True), "malformed HTTP response"),
    "cut off": (answering(OK, b"Content-Length: 9\r\n\r\nhalf", close=True), "closed before the response was complete"),
    "a chunk cut off": (answering(OK, b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", close=True), "closed before"),
    "nothing": (answering(close=True), "connection closed before the response was complete"),
    "no gzip": (answering(OK, b"Content-Encoding: gzip\r\n\r\nplain", close=True), "malformed gzip data"),
    "gzip cut off": (
        answering(OK, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"x" * 99)[:-9], close=True), "closed before",
    ),
    "not gzip": (answering(OK, b"Content-Encoding: br\r\n\r\nx", close=True), 'unsupported content encoding "br"'),
    "many headers": (answering(OK, b"X: y\r\n" * 200, b"\r\n", close=True), "malformed HTTP response"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_response_is_one_line(name: str) -> None:
    behaviour, why = BROKEN[name]
    with served(behaviour) as (host, port), pytest.raises(HttpError, match=why):
        asked(Endpoint(host, port), LATE)


def test_a_connection_is_kept_and_opened_again_when_the_server_closed_it() -> None:
    ended = threading.Event()

    def once(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(1 << 16)
        connection.sendall(OK + b"Content-Length: 2\r\n\r\nok")
        connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    ports: list[int] = []

    def kept(connection: socket.socket, over: threading.Event) -> None:
        ports.append(connection.getpeername()[1])
        answering(OK, b"Content-Length: 2\r\n\r\nok")(connection, over)

    for behaviour in (once, kept):
        with served(behaviour) as (host, port), HttpClient(Endpoint(host, port), lambda *_: True) as client:
            for _ in range(3):
                assert client.request("GET", "/x", {}, None, LATE).body == b"ok"
                assert behaviour is kept or ended.wait(LATE)
    assert len(ports) == 1


def test_a_gzip_body_is_decompressed() -> None:
    packed = gzip.compress(b"[1, 2]")
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\nX-Y: z\r\n\r\n" % len(packed)
    with hostile_http.serving(answering(OK, head, packed)) as (host, port):
        response = asked(Endpoint(host, port))
    assert (response.status, response.body, response.header("x-y"), response.header("x-z")) == (200, b"[1, 2]", "z", "")


def test_what_is_not_on_the_allow_list_is_not_sent() -> None:
    with (
        HttpClient(Endpoint("127.0.0.1", 1), lambda *_: False) as client,
        pytest.raises(ValueError, match="DELETE /x is not in the allow-list of requests") as refused,
    ):
        client.request("DELETE", "/x?secret", {}, None, 1)
    assert "secret" not in str(refused.value)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with hostile_http.serving(answering(OK, b"Content-Length: 2\r\n\r\nok")) as (host, port):
        assert asked(Endpoint(host, port)).body == b"ok"


def test_the_name_and_the_fingerprint_of_a_certificate() -> None:
    pem = (CERTIFICATES / "good.pem").read_text()
    print_ = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem[: pem.index("-----BEGIN P")])).hexdigest()
    received: list[bytes] = []

    def serve(connection: socket.socket, over: threading.Event) -> None:
        received.append(connection.recv(1 << 16))
        connection.sendall(OK + b"Content-Length: 2\r\n\r\nok")

    trusting, blind = tls_context(ca_file=str(CERTIFICATES / "ca.pem")), tls_context(verify=False)
    with served(serve, server_context()) as (host, port):
        assert asked(Endpoint(host, port, trusting), LATE).body == b"ok"
        assert asked(Endpoint(host, port, blind, fingerprint=print_), LATE).body == b"ok"
        received.clear()
        with pytest.raises(UntrustedCertificate, match=f"pinned fingerprint .got sha256:{print_}"):
            asked(Endpoint(host, port, blind, fingerprint="0" * 64), LATE)
        with pytest.raises(UntrustedCertificate, match="Hostname mismatch"):
            asked(Endpoint(host, port, trusting, name="other.example"), LATE)
        with pytest.raises(UntrustedCertificate, match="unable to get local issuer"):
            asked(Endpoint(host, port, tls_context()), LATE)
        assert fingerprint(Endpoint(host, port, tls_context()), LATE) == print_
        assert [data for data in received if data] == []
    assert fingerprint(Endpoint("127.0.0.1", 1, blind), 1.0) is None


# --- cancel ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["silent after the request", "body drips", "handshake drips", "TLS body drips"])
def test_close_ends_a_request_of_another_thread(phase: str) -> None:
    handshake, secured = phase in HANDSHAKE, phase.startswith("TLS ")
    behaviour = HANDSHAKE[phase] if handshake else DEADLINE[phase.removeprefix("TLS ")]
    with served(behaviour, server_context() if secured else None) as (host, port):
        assert_canceled(Endpoint(host, port, tls_context(verify=False) if handshake or secured else None))


def test_close_ends_an_attempt_to_connect() -> None:
    with full_queue() as endpoint, nothing_left():
        assert_canceled(endpoint)


def assert_canceled(endpoint: Endpoint) -> None:
    """Close a client while a thread of its own waits for a response, and use it no more."""
    client, errors = HttpClient(endpoint, lambda *_: True), []

    def ask() -> None:
        try:
            client.request("GET", "/x", {}, None, 60.0)
        except HttpError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.2)
    client.close()
    thread.join()
    assert errors == ["request canceled"]
    with pytest.raises(HttpError, match="request canceled"):
        client.request("GET", "/x", {}, None, 1.0)


def test_close_ends_a_name_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def resolve(*_: object, flags: int = 0, **__: object) -> object:
        if not flags & socket.AI_NUMERICHOST:
            over.wait(10)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with nothing_left():
        assert_canceled(Endpoint("name.example", 80))
        over.set()
        for thread in threading.enumerate():
            if thread.name == "name-lookup":
                thread.join()


# --- its two users --------------------------------------------------------------------------------------------


def by_gateway(host: str, port: int, *, secured: bool, seconds: float) -> None:
    scheme = "https" if secured else "http"
    section = settings({"gateways": [f"{scheme}://{host}:{port}"], "user": "monitor", "insecure": True})
    GatewayClient(section, lambda: Secret("hunter2-secret")).request("GET", "/api/instances", None, seconds)


def by_fleet(host: str, port: int, *, secured: bool, seconds: float) -> None:
    url = parse_url(f"{'https' if secured else 'http'}://{host}:{port}")
    with PrometheusClient(url, HttpConfig(insecure=True), seconds) as client:
        client.query("up")


BY = {"gateway": by_gateway, "fleet": by_fleet}


@pytest.mark.parametrize("user", BY)
@pytest.mark.parametrize("name", [*DEADLINE, *HANDSHAKE])
def test_gateway_and_fleet_end_by_the_deadline(name: str, user: str) -> None:
    behaviour = DEADLINE.get(name) or HANDSHAKE[name]
    ask: Callable[..., None] = BY[user]
    with (
        served(behaviour) as (host, port),
        pytest.raises((TimedOut, ServerError), match=r"no complete response within 0\.3 s"),
    ):
        ask(host, port, secured=name in HANDSHAKE, seconds=SECONDS)


@pytest.mark.parametrize("user", BY)
@pytest.mark.parametrize("name", TOO_LARGE)
def test_gateway_and_fleet_end_at_the_size(name: str, user: str) -> None:
    with served(TOO_LARGE[name]) as (host, port), pytest.raises((Failed, ServerError), match="exceeds 32 MiB"):
        BY[user](host, port, secured=False, seconds=10.0)


@pytest.mark.parametrize("name", ["silent", "headers drip", "body of a closed connection drips", "handshake drips"])
def test_fleet_once_ends_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sdstop.fleet.client.SECONDS", 0.5)
    behaviour = DEADLINE.get(name) or HANDSHAKE[name]
    scheme = "https" if name in HANDSHAKE else "http"
    with served(behaviour) as (host, port):
        url = f"{scheme}://{host}:{port}"
        monkeypatch.setattr("sys.argv", ["sdstop", "fleet", "--once", "--prometheus", url])
        with pytest.raises(SystemExit) as ended:
            raise SystemExit(main())
    assert ended.value.code == 1
    assert capfd.readouterr().err == f"sdstop: {url}: no complete response within 0.5 s\n"
