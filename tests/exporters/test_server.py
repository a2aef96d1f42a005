"""The exporter's server: what it answers, whom it does not wait for, and a real Prometheus that scrapes it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import Outcome
from sdstop.core.format import duration
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.web import http
from sdstop.exporters.web.http import (
    BadRequest,
    Connections,
    HttpConnection,
    PageResponse,
    Request,
    parse_request,
    preferences,
)
from sdstop.exporters.web.server import answer, wants_gzip, wants_openmetrics, write_textfile
from tests.exporters.meters import Meter, frame, refusal, session

OPENMETRICS = "application/openmetrics-text"
PROMETHEUS_2 = (
    f"{OPENMETRICS};version=1.0.0,{OPENMETRICS};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    f"{OPENMETRICS};version=1.0.0;escaping=allow-utf-8;q=0.6,{OPENMETRICS};version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


def exposition() -> Exposition:
    page = Exposition(session())
    page.feed(frame(1, [Meter("a", count=1)]))
    return page


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/html,text/plain;q=0.5", False),
        (PROMETHEUS_2, True),
        (PROMETHEUS_3, True),
        (f"{OPENMETRICS};version=2.0.0,text/plain", False),
        (f"{OPENMETRICS}", True),
        (f"{OPENMETRICS};q=0.2, text/plain;q=0.3", False),
        (f"{OPENMETRICS};q=0, */*;q=0", False),
        (f"{OPENMETRICS};q=nonsense", False),
        (f'{OPENMETRICS};version="1.0.0"', True),
    ],
)
def test_openmetrics_is_sent_to_who_wants_it(accept: str, *, wanted: bool) -> None:
    assert wants_openmetrics(accept) is wanted


@pytest.mark.parametrize(
    ("header", "wanted"),
    [("", False), ("gzip", True), ("deflate, gzip;q=0.5", True), ("gzip;q=0", False), ("*", True), ("*;q=0,br", False)],
)
def test_gzip_is_sent_to_who_takes_it(header: str, *, wanted: bool) -> None:
    assert wants_gzip(header) is wanted


def test_answers() -> None:
    page = exposition()
    plain = answer(page, Request("GET", "/metrics"))
    assert (plain.status, plain.type, plain.body) == (200, "text/plain; version=0.0.4; charset=utf-8", page.page())
    assert plain.headers == (("Vary", "Accept, Accept-Encoding"),)
    packed = answer(page, Request("GET", "/metrics", {"accept": PROMETHEUS_2, "accept-encoding": "gzip"}))
    assert packed.type == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert gzip.decompress(packed.body) == page.page(openmetrics=True)
    assert ("Content-Encoding", "gzip") in packed.headers
    assert answer(page, Request("GET", "/-/healthy")).status == 200
    assert answer(page, Request("GET", "/-/ready")).status == 200
    assert b'href="/metrics"' in answer(page, Request("GET", "/")).body
    assert answer(page, Request("GET", "/etc/passwd")).status == 404
    refused = answer(page, Request("POST", "/metrics"))
    assert (refused.status, refused.headers) == (405, (("Allow", "GET, HEAD"),))


def test_before_the_first_frame() -> None:
    page = Exposition(session())
    assert answer(page, Request("GET", "/metrics")).status == 503
    assert answer(page, Request("GET", "/-/ready")).status == 503
    assert answer(page, Request("GET", "/-/healthy")).status == 200


@pytest.mark.parametrize(("interval", "limit"), [(1.0, 15.0), (10.0, 30.0)])
def test_old_samples_are_not_shown(interval: float, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    page = Exposition(session(live=True), interval=interval)
    paths = "/metrics", "/-/ready"
    for path in paths:
        refused = answer(page, Request("GET", path))
        assert (refused.status, refused.body) == (503, b"no sample yet\n")
    page.feed(frame(1, [Meter("a", count=1)]))
    now[0] += limit
    assert [answer(page, Request("GET", path)).status for path in paths] == [200, 200]
    now[0] += 0.6
    for path in paths:
        refused = answer(page, Request("GET", path))
        assert refused.status == 503
        assert refused.headers == (("Retry-After", "1"),)
        assert (
            refused.body.decode()
            == f"the newest sample is {duration(now[0] - 1)} old, the limit is {duration(limit)}\n"
        )
    assert answer(page, Request("GET", "/-/healthy")).status == 200
    page.feed(frame(int(now[0]), refusal(Outcome.TIMEOUT)))  # a source that hangs is no old sample
    assert [answer(page, Request("GET", path)).status for path in paths] == [200, 200]


def test_a_capture_is_never_old(monkeypatch: pytest.MonkeyPatch) -> None:
    page = exposition()
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    assert answer(page, Request("GET", "/metrics")).status == 200
    assert answer(page, Request("GET", "/-/ready")).status == 200


@pytest.mark.parametrize(
    ("head", "path", "keep"),
    [
        (b"GET /metrics?collect[]=x HTTP/1.1\r\nHost: a", "/metrics", True),
        (b"GET / HTTP/1.1\r\nConnection: Close", "/", False),
        (b"GET / HTTP/1.0", "/", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive", "/", True),
        (b"GET / HTTP/1.1\r\nContent-Length: 5", "/", False),
        (b"GET / HTTP/1.1\r\nContent-Length: 0", "/", True),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked", "/", False),
    ],
)
def test_requests(head: bytes, path: str, *, keep: bool) -> None:
    request, kept = parse_request(head)
    assert (request.method, request.path, kept) == ("GET", path, keep)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"", 400),
        (b"GET /", 400),
        (b"GET  / HTTP/1.1", 400),
        (b"GET / HTTP/2.0", 505),
        (b"GET / FTP/1.1", 400),
        (b"GET / HTTP/1.1\r\nnonsense", 400),
        (b"GET / HTTP/1.1\r\n folded: x", 400),
        (b"GET / HTTP/1.1\r\nHost : x", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
    ],
)
def test_what_is_no_request(head: bytes, status: int) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_request(head)
    assert caught.value.answer.status == status


@given(st.binary() | st.builds(b"GET / HTTP/1.1\r\n".__add__, st.binary()))
def test_any_bytes_are_a_request_or_a_bad_one(head: bytes) -> None:
    try:
        request, _ = parse_request(head)
    except BadRequest:
        return
    preferences(request.headers.get("accept", ""))


@given(st.text())
def test_any_preference_can_be_read(header: str) -> None:
    assert all(0 <= weight <= 1 for _, _, weight in preferences(header))


class Service:
    """A listening server with a clock that only a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked: list[Request] = []
        self.body = b"hello\n"
        self.connections = Connections(self.answer, lambda: self.now)
        self.port = 0
        self._clients: list[asyncio.StreamWriter] = []

    def answer(self, request: Request) -> PageResponse:
        self.asked.append(request)
        return PageResponse(body=self.body)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._clients.append(writer)
        return reader, writer

    async def close(self) -> None:
        self.connections.drop_all()
        for writer in self._clients:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.connections.sweep()


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    made = Service()
    monkey = pytest.MonkeyPatch()
    monkey.setattr(http, "http_date", lambda _: DATE)
    server = await asyncio.get_running_loop().create_server(lambda: HttpConnection(made.connections), "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        monkey.undo()
        server.close()
        await made.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closed, with or without what it had not read."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.005)


GET = b"GET /x HTTP/1.1\r\nHost: y\r\n\r\n"
DATE = "Mon, 23 Nov 2026 20:28:26 GMT"
HELLO = (
    b"HTTP/1.1 200 OK\r\nDate: "
    + DATE.encode()
    + b"\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: keep-alive\r\n\r\nhello\n"
)


async def test_connection_is_kept_and_requests_are_answered_in_order() -> None:
    async with service() as made:
        reader, writer = await made.connect()
        writer.write(GET[:7])
        await writer.drain()
        writer.write(GET[7:] + GET + GET.replace(b"GET", b"HEAD"))
        assert await reader.readexactly(2 * len(HELLO) + len(HELLO) - 6) == HELLO + HELLO + HELLO[:-6]
        writer.write(GET.replace(b"Host: y", b"Connection: close"))
        assert (await reader.read()).endswith(b"Connection: close\r\n\r\nhello\n")
        assert [request.method for request in made.asked] == ["GET", "GET", "HEAD", "GET"]


async def test_garbage_is_answered_and_closed() -> None:
    async with service() as made:
        reader, writer = await made.connect()
        writer.write(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_a_request_without_end_is_cut() -> None:
    async with service() as made:
        reader, writer = await made.connect()
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * (20 << 10))
        assert (await reader.read()).startswith(b"HTTP/1.1 431 ")


async def test_silence_ends_a_connection() -> None:
    async with service() as made:
        silent, _ = await made.connect()
        slow, slow_writer = await made.connect()
        idle, idle_writer = await made.connect()
        slow_writer.write(GET[:9])
        idle_writer.write(GET)
        assert await idle.readexactly(len(HELLO)) == HELLO
        made.after(http.REQUEST_SECONDS - 1)
        slow_writer.write(b"y")  # a byte now and then is no excuse
        await slow_writer.drain()
        made.after(2)
        assert await ended(silent)
        assert await ended(slow)
        idle_writer.write(GET)
        assert await idle.readexactly(len(HELLO)) == HELLO
        made.after(http.IDLE_SECONDS + 1)
        assert await ended(idle)


async def test_silent_clients_do_not_keep_others_out() -> None:
    async with service() as made:
        silent = [await made.connect() for _ in range(http.MOST_CONNECTIONS + 5)]
        reader, writer = await made.connect()
        writer.write(GET)
        assert await reader.readexactly(len(HELLO)) == HELLO
        assert await ended(silent[0][0])


async def test_a_client_that_does_not_read_is_dropped() -> None:
    async with service() as made:
        made.body = b"x" * (8 << 20)
        reader, writer = await made.connect()
        writer.write(GET * 3)
        await until(lambda: len(made.asked) == 1)
        await asyncio.sleep(0)
        assert len(made.asked) == 1  # the next request waits for the first answer to be fetched
        made.after(http.REQUEST_SECONDS + 1)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(9 << 20)


def test_textfile_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "sdstop.prom"
    path.write_text("old")
    write_textfile(path, b"new\n")
    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["sdstop.prom"]


def test_textfile_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "sdstop.prom" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_textfile(tmp_path / "sdstop.prom", b"new\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["sdstop.prom"]
