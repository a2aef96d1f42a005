"""What stands before the pages: TLS, certificates of clients, passwords, headers, a rate; and that they are renewed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.config_error import ConfigError
from sdstop.exporters.web import guard as web
from sdstop.exporters.web import http, passwords
from sdstop.exporters.web.guard import RateLimit, RequestGuard
from sdstop.exporters.web.http import Connections, HttpConnection, PageResponse
from sdstop.exporters.web.passwords import Login, LoginCache, login_of
from tests.exporters.certificates import Authority
from tests.needs import fixture_needs

PASSWORD = "hot disk"  # noqa: S105
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
GET = "GET /metrics HTTP/1.1\r\nHost: n\r\n"
PAGE = b"x" * 300_000


@pytest.fixture(scope="module")
@fixture_needs("openssl")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> tuple[Path, Path]:
    return authority.issue("node", "IP:127.0.0.1")


class Service:
    """A server behind a web-config.yml, with a clock that only a test moves."""

    def __init__(self, path: Path) -> None:
        self.now = 1000.0
        self.said: list[str] = []
        self.web = RequestGuard(path, self.said.append, lambda: self.now)
        self.connections = Connections(
            lambda asked: self.web.guarded(asked, lambda _: PageResponse(body=PAGE)), lambda: self.now, self.web.tls
        )
        self.port = 0
        self._clients: list[asyncio.StreamWriter] = []

    async def connect(self, context: ssl.SSLContext | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        self._clients.append(writer)
        return reader, writer

    async def close(self) -> None:
        self.connections.drop_all()
        self.web.close()
        for writer in self._clients:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.connections.sweep()

    async def get(self, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, bytes]:
        """Return the whole answer's status and bytes."""
        reader, writer = await self.connect(context)
        said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"{GET}{said}Connection: close\r\n\r\n".encode())
        data = await reader.read()
        return int(data[9:12]), data


@asynccontextmanager
async def service(path: Path) -> AsyncIterator[Service]:
    made = Service(path)
    server = await asyncio.get_running_loop().create_server(lambda: HttpConnection(made.connections), "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.close()


def trusting(authority: Authority, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.cert)
    if client is not None:
        context.load_cert_chain(*client)
    return context


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "web-config.yml"
    path.write_text(text)
    path.chmod(0o600)
    return path


def tls(certificate: tuple[Path, Path], more: str = "") -> str:
    return f"tls_server_config: {{cert_file: {certificate[0]}, key_file: {certificate[1]}{more}}}\n"


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.005)


async def test_pages_over_tls(tmp_path: Path, authority: Authority, certificate: tuple[Path, Path]) -> None:
    headers = "http_server_config: {headers: {X-Frame-Options: deny, X-Content-Type-Options: nosniff}}"
    async with service(config(tmp_path, tls(certificate) + headers)) as made:
        status, data = await made.get(trusting(authority))
        head, _, body = data.partition(b"\r\n\r\n")
        assert (status, body) == (200, PAGE)
        assert b"X-Frame-Options: deny\r\n" in head
        assert head.count(b"X-Content-Type-Options: nosniff") == 1
        with pytest.raises(ssl.SSLCertVerificationError):
            await made.get(ssl.create_default_context())
        assert made.said == []


async def test_who_speaks_no_tls_is_told(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    async with service(config(tmp_path, tls(certificate))) as made:
        status, data = await made.get()
        assert status == 400
        assert data.endswith(b"this is a HTTPS server\n")
        reader, writer = await made.connect()
        writer.write(b"\0\1\2" * 100)
        assert b"HTTP" not in await reader.read()


async def test_old_tls_is_refused(tmp_path: Path, authority: Authority, certificate: tuple[Path, Path]) -> None:
    async with service(config(tmp_path, tls(certificate, ", min_version: TLS13"))) as made:
        context = trusting(authority)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await made.get(context)
        assert (await made.get(trusting(authority)))[0] == 200


async def test_a_handshake_that_does_not_end_is_a_silent_connection(
    tmp_path: Path, authority: Authority, certificate: tuple[Path, Path]
) -> None:
    async with service(config(tmp_path, tls(certificate))) as made:
        silent, _ = await made.connect()
        slow, slow_writer = await made.connect()
        slow_writer.write(b"\x16\x03\x01")
        await until(lambda: len(made.connections) == 2)
        assert (await made.get(trusting(authority)))[0] == 200
        made.after(http.REQUEST_SECONDS - 1)
        slow_writer.write(b"\x01")  # a byte now and then is no excuse
        await slow_writer.drain()
        await asyncio.sleep(0.05)
        made.after(2)
        assert len(made.connections) == 0
        for reader in (silent, slow):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""


async def test_clients_show_certificates(tmp_path: Path, authority: Authority, certificate: tuple[Path, Path]) -> None:
    right = authority.issue("scraper", "DNS:prometheus.example,IP:10.0.0.9")
    wrong = authority.issue("other", "DNS:other.example")
    stranger = Authority(tmp_path, "elsewhere").issue("stranger", "DNS:prometheus.example")
    asked = f", client_auth_type: RequireAndVerifyClientCert, client_ca_file: {authority.cert}"
    names = ", client_allowed_sans: [prometheus.example, 10.0.0.1]"
    async with service(config(tmp_path, tls(certificate, asked + names))) as made:
        assert (await made.get(trusting(authority, right)))[0] == 200
        for client in (None, wrong, stranger):
            with pytest.raises((ssl.SSLError, ConnectionError, ValueError)):  # an answer of nothing has no status
                await made.get(trusting(authority, client))
    path = config(tmp_path, tls(certificate, asked.replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven")))
    async with service(path) as made:
        assert (await made.get(trusting(authority)))[0] == 200
        with pytest.raises((ssl.SSLError, ConnectionError, ValueError)):
            await made.get(trusting(authority, stranger))


async def test_certificates_are_renewed_while_it_runs(tmp_path: Path, authority: Authority) -> None:
    old, key = authority.issue("old", "IP:127.0.0.1")
    new, new_key = authority.issue("new", "IP:127.0.0.1")
    cert = tmp_path / "node.crt"
    cert.write_bytes(old.read_bytes())
    (tmp_path / "node.key").write_bytes(key.read_bytes())
    (tmp_path / "node.key").chmod(0o600)

    async def shown(made: Service) -> object:
        _, writer = await made.connect(trusting(authority))
        found = writer.get_extra_info("peercert")["subject"]
        return found[0][0][1]

    async with service(config(tmp_path, "tls_server_config: {cert_file: node.crt, key_file: node.key}")) as made:
        assert await shown(made) == "old"
        new.replace(cert)  # its key does not come before the next line
        assert await shown(made) == "old"
        assert await shown(made) == "old"
        assert (len(made.said), made.web.good) == (1, False)
        assert made.said[0].endswith("key values mismatch; keeping the previous configuration")
        new_key.replace(tmp_path / "node.key")
        assert await shown(made) == "new"
        assert (len(made.said), made.web.good) == (1, True)


def test_certificates_inside_the_file(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    lines = [f"  {name}: |\n" + "".join(f"    {line}\n" for line in path.read_text().splitlines())
             for name, path in zip(("cert", "key"), certificate, strict=True)]  # fmt: skip
    said: list[str] = []
    path = config(tmp_path, "tls_server_config:\n" + "".join(lines))
    assert RequestGuard(path, said.append, time.monotonic).secure
    path.chmod(0o644)
    RequestGuard(path, said.append, time.monotonic)
    assert said == [f"sdstop: {path} is world-readable; run chmod o= {path}"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tls_server_config: {cert_file: no.crt, key_file: no.key}", r"no\.crt and .*no\.key: No such file"),
        ("tls_server_config: {cert: x, key: y}", "cert and key: cannot be used"),
        ("nonsense", "expected a table, got text"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        RequestGuard(config(tmp_path, text), lambda _: None, time.monotonic)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Login]:
    """Every password that bcrypt is asked about."""
    asked: list[Login] = []
    right = passwords.right

    def counted(users: dict[str, str], login: Login) -> bool:
        asked.append(login)
        return right(users, login)

    monkeypatch.setattr(passwords, "right", counted)
    return asked


async def test_passwords_are_judged_once(tmp_path: Path, judged: list[Login]) -> None:
    path = config(tmp_path, f"basic_auth_users: {{scraper: {HASH}}}")
    async with service(path) as made:
        assert "passwords are sent in clear text" in made.said[0]
        status, data = await made.get()
        assert (status, b'\r\nWWW-Authenticate: Basic realm="sdstop"\r\n' in data) == (401, True)
        assert judged == []
        wanted = basic("scraper", PASSWORD)
        found = await asyncio.gather(*(made.get(Authorization=wanted) for _ in range(20)))
        assert {(status, len(data) > len(PAGE)) for status, data in found} == {(200, True)}
        for _ in range(3):
            assert (await made.get(Authorization=basic("scraper", "cold disk")))[0] == 401
            assert (await made.get(Authorization=basic("nobody", PASSWORD)))[0] == 401
        assert len(judged) == 3
        path.write_text(f"basic_auth_users: {{other: {HASH}}}")
        assert (await made.get(Authorization=wanted))[0] == 401
        assert (await made.get(Authorization=basic("other", PASSWORD)))[0] == 200


async def test_passwords_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_WAITING", 2)
    async with service(config(tmp_path, f"basic_auth_users: {{scraper: {HASH.replace('$04$', '$08$')}}}")) as made:
        found = await asyncio.gather(*(made.get(Authorization=basic("scraper", f"{n}")) for n in range(5)))
        assert sorted(status for status, _ in found) == [401, 401, 503, 503, 503]


async def test_a_client_that_leaves_while_its_password_is_judged(tmp_path: Path) -> None:
    async with service(config(tmp_path, f"basic_auth_users: {{scraper: {HASH}}}")) as made:
        _, writer = await made.connect()
        writer.write(f"{GET}Authorization: {basic('scraper', 'x')}\r\n\r\n".encode())
        await until(lambda: len(made.connections) == 1)
        writer.transport.abort()
        await until(lambda: len(made.connections) == 0)
        assert (await made.get(Authorization=basic("scraper", PASSWORD)))[0] == 200


async def test_a_rate_that_is_limited(tmp_path: Path) -> None:
    async with service(config(tmp_path, "rate_limit: {interval: 2s, burst: 2}")) as made:
        assert [(await made.get())[0] for _ in range(3)] == [200, 200, 429]
        made.after(2)
        assert [(await made.get())[0] for _ in range(2)] == [200, 429]


def test_a_bucket_is_never_more_than_full() -> None:
    bucket = RateLimit(1.0, 3, 0.0)
    assert [bucket.take(1000.0) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("header", ["", "Basic", "Basic !", "Bearer abc", "Basic YWJj", "Basic YWJj:"])
def test_what_is_no_login(header: str) -> None:
    assert login_of(header) is None


@given(st.text())
def test_any_header_is_a_login_or_none(header: str) -> None:
    login_of(f"Basic {header}")


def test_passwords_that_bcrypt_refuses_are_wrong() -> None:
    for password in (b"\0", b"x" * 5000, b""):
        assert not passwords.right({"a": HASH}, Login("a", password))
    assert passwords.right({"a": HASH.replace("$2b$", "$2y$")}, Login("a", PASSWORD.encode()))


def test_wrong_passwords_do_not_drive_out_right_ones() -> None:
    verdicts = LoginCache()
    right = verdicts.key({"a": HASH}, Login("a", b"x"))
    verdicts.keep(right, right=True)
    for number in range(3 * passwords.MOST_WRONG):
        verdicts.keep(verdicts.key({"a": HASH}, Login("a", b"%d" % number)), right=False)
    assert verdicts.known(right) is True
    assert verdicts.known(verdicts.key({"a": HASH}, Login("a", b"0"))) is None
