"""The client against servers that answer as Prometheus, Thanos, Mimir, VictoriaMetrics and gateways do."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.fleet.answer import PARTIAL, BuildInfo, QueryAnswer, parse_answer
from sdstop.fleet.client import PrometheusClient, named
from sdstop.fleet.http_config import HttpConfig, SecretSource, load
from sdstop.fleet.problem import ServerError
from sdstop.fleet.url import parse_url
from tests.fleet.server import Asked, Reply, serving, vector

ONE = vector(({"instance": "n1"}, 3))


def client(url: str, config: HttpConfig | None = None, seconds: float = 20.0) -> PrometheusClient:
    return PrometheusClient(parse_url(url), config or HttpConfig(), seconds)


def always(*arguments: object, **keywords: object) -> Callable[[Asked], Reply]:
    return lambda _: Reply(*arguments, **keywords)  # type: ignore[arg-type]


def refused(reply: Callable[[Asked], Reply], seconds: float = 20.0) -> ServerError:
    with serving(reply) as (url, _), client(url, seconds=seconds) as asker, pytest.raises(ServerError) as caught:
        asker.query("up")
    return caught.value


def test_it_posts_below_the_prefix_and_keeps_the_connection() -> None:
    with serving(always(ONE, packed=True)) as (url, asked), client(f"{url}/select/0/prometheus/") as asker:
        answer = asker.query('up{a="b"}', 1000.5)
        asker.query_range("up", 0, 60, 15)
    assert answer.series[0].label("instance") == "n1"
    assert answer.series[0].value == 3
    assert [(a.method, a.path) for a in asked] == [
        ("POST", "/select/0/prometheus/api/v1/query"), ("POST", "/select/0/prometheus/api/v1/query_range"),
    ]  # fmt: skip
    assert asked[0].fields == {"query": 'up{a="b"}', "timeout": "20s", "time": "1000.500"}
    assert asked[1].fields["step"] == "15"


@pytest.mark.parametrize("status", [405, 404, 501])
def test_where_post_is_not_taken_it_asks_by_get_from_then_on(status: int) -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(ONE) if asked.method == "GET" else Reply(b"405 method not allowed", status)

    with serving(reply) as (url, asked), client(url) as asker:
        assert asker.query("up").series
        assert asker.query("up").series
    assert [a.method for a in asked] == ["POST", "GET", "GET"]
    assert asked[1].fields["query"] == "up"


def test_partial_answers_are_told() -> None:
    """Thanos warns, VictoriaMetrics' cluster has a flag, Prometheus remarks."""
    told = vector(warnings=["No StoreAPIs matched\x1b[2J", "No StoreAPIs matched\x1b[2J"], infos=["PromQL info: x"])
    answer = parse_answer(json.dumps({**told, "isPartial": True}).encode())
    assert answer.warnings == ("No StoreAPIs matched\\x1b[2J", PARTIAL)
    assert answer.infos == ("PromQL info: x",)
    assert parse_answer(json.dumps({**vector(), "isPartial": False}).encode()) == QueryAnswer()


def test_who_the_server_is() -> None:
    assert named(BuildInfo("Grafana Mimir", "2.10.0", "x")) == "Grafana Mimir 2.10.0"
    assert named(BuildInfo(version="2.42.0", revision="x")) == "Prometheus 2.42.0"
    assert named(BuildInfo(version="2.24.0")) == ""  # VictoriaMetrics, to please Grafana
    for reply, name in ((always({"status": "success", "data": {}}), ""), (always(b"404 page not found", 404), "")):
        with serving(reply) as (url, _), client(url) as asker:
            assert asker.server() == name


def test_errors_are_told_in_one_line() -> None:
    bad = {"status": "error", "errorType": "bad_data", "error": "1:1: parse error"}
    assert str(refused(always(bad, 400))) == "HTTP 400: bad_data: 1:1: parse error"
    assert str(refused(always(bad))) == "bad_data: 1:1: parse error"
    mimir = refused(always(b"no org id\n", 401))
    assert str(mimir) == "authentication failed (401: no org id); set credentials with --http-config"
    assert mimir.lasting
    assert str(refused(always(b"<html>\x1b[2J</html>", 502))) == "server unavailable (502)"
    assert "is this a Prometheus server?" in str(refused(always(b"<html></html>")))
    assert "API not found (404" in str(refused(always(b"404 page not found", 404)))
    assert "\x1b" not in str(refused(always(b"a\x1b[2Jb", 500)))


def test_it_follows_no_redirect_and_takes_its_secrets_nowhere() -> None:
    error = refused(always(b"", 302, {"Location": "https://elsewhere/?token=hush"}))
    assert str(error) == "redirects to https://elsewhere/; use that URL"


def test_what_is_answered_too_slowly_too_large_or_not_at_all() -> None:
    begun = time.monotonic()
    assert str(refused(always(b"x" * 100, drip=True), 0.5)) == "no complete response within 0.5 s"
    assert time.monotonic() - begun < 15  # each byte that drips in would start a socket's own clock anew
    assert "response exceeds 32 MiB; narrow it with --match" in str(
        refused(always(b"[" + b" " * (33 << 20) + b"]", packed=True))
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with client(url, seconds=0.3) as asker, pytest.raises(ServerError, match=r"no complete response within 0\.3 s"):
            asker.query("up")
    with client(url) as asker, pytest.raises(ServerError, match="connection refused"):
        asker.query("up")


def test_a_connection_that_was_closed_meanwhile_is_opened_anew() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    body = json.dumps(ONE).encode()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(2):  # one question a connection, and no word that it ends
                connection, _ = listening.accept()
                with connection:
                    while b"query=up" not in connection.recv(65536):
                        pass
                    connection.sendall(head % len(body) + body)

        thread = threading.Thread(target=serve)
        thread.start()
        with client(f"http://127.0.0.1:{listening.getsockname()[1]}") as asker:
            assert asker.query("up").series
            assert asker.query("up").series
        thread.join()


@pytest.mark.needs("openssl")
def test_tls_both_ways_with_a_tenant_and_a_password(tmp_path: Path) -> None:
    def certified(name: str) -> Path:
        path = tmp_path / f"{name}.pem"
        argv = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ]
        argv += ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        argv += ["-keyout", str(tmp_path / f"{name}.key"), "-out", str(path)]
        subprocess.run(argv, check=True, capture_output=True)
        return path

    theirs, ours = certified("prom.example"), certified("us")
    both = tmp_path / "both.pem"
    both.write_text(theirs.read_text() + (tmp_path / "prom.example.key").read_text())
    (tmp_path / "http.yml").write_text(
        "basic_auth: {username: me, password: pw}\n"
        "http_headers: {X-Scope-OrgID: {values: [storage]}}\n"
        "tls_config: {ca_file: prom.example.pem, cert_file: us.pem, key_file: us.key, server_name: prom.example}\n"
    )
    config = load(tmp_path / "http.yml")
    with serving(always(ONE), both, ours) as (url, asked):
        with client(url, config) as asker:
            assert asker.query("up").series
        for other, why in (
            (HttpConfig(), "certificate not trusted"),
            (HttpConfig(ca=SecretSource(path=theirs)), "certificate not trusted: IP address mismatch"),
        ):
            with client(url, other) as asker, pytest.raises(ServerError, match=why) as caught:
                asker.query("up")
            assert caught.value.lasting
    assert asked[0].headers["Authorization"] == "Basic bWU6cHc="
    assert asked[0].headers["X-Scope-OrgID"] == "storage"
    assert len(asked) == 1


@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.sampled_from(["success", "vector", "NaN"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["status", "data", "result", "resultType", "metric", "value", "values", "warnings"]),
                inner,
            )
        ),
        max_leaves=12,
    ).map(lambda told: json.dumps({"status": "success", "data": told}).encode())
    | st.lists(st.tuples(st.floats(), st.text(max_size=4)) | st.none() | st.text(max_size=2), max_size=3).map(
        lambda points: json.dumps(
            {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"a": 1}, "values": points}]}}
        ).encode()
    )
)
def test_no_answer_raises_anything_else(body: bytes) -> None:
    with contextlib.suppress(ServerError):
        assert all(series.points for series in parse_answer(body).series)


def test_depth_is_no_way_in() -> None:
    for body in (b"[" * 200_000, b'{"x":' + b"[" * 200_000, b'{"status":"success","data":' + b'{"data":' * 200_000):
        with pytest.raises(ServerError, match="is this a Prometheus server"):
            parse_answer(body)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"resultType": "vector", "result": 3}, r"Expected `array`, got `int` - at `\$\.result`"),
        ({"resultType": "vector", "result": [{"value": [1, "2"]}]}, r"missing required field `metric`"),
        (
            {"resultType": "matrix", "result": [{"metric": {}, "values": []}]},
            r"length >= 1 - at .*\[0\]\.values",
        ),
        ({"resultType": "vector", "result": [{"metric": {}, "value": [1, "many"]}]}, "a value is not a number"),
        ({"resultType": "string", "result": [1, "2"]}, "Invalid value 'string'"),
        ({}, "missing required field `resultType`"),
    ],
)
def test_an_answer_of_another_form_is_refused_with_its_path(data: object, why: str) -> None:
    with pytest.raises(ServerError, match=f"unexpected response .*{why}"):
        parse_answer(json.dumps({"status": "success", "data": data}).encode())
