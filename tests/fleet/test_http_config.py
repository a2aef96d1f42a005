"""The file that says how to reach a server, and the address."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.config_error import ConfigError
from sdstop.fleet.http_config import HttpConfig, load, parse
from sdstop.fleet.promql import matchers, one_of, quoted, series
from sdstop.fleet.url import parse_url

HERE = Path("/etc/sdstop/http.yml")


def sent(text: str) -> list[tuple[str, str]]:
    return parse(text, HERE).sent()


def test_a_password_a_token_and_a_tenant() -> None:
    assert sent("basic_auth: {username: me, password: 'p:w'}") == [("Authorization", "Basic bWU6cDp3")]
    assert sent("authorization: {credentials: t0k}") == [("Authorization", "Bearer t0k")]
    assert sent("authorization: {type: Token, credentials: t0k}") == [("Authorization", "Token t0k")]
    assert sent("bearer_token: old") == [("Authorization", "Bearer old")]
    text = "http_headers:\n  X-Scope-OrgID: {values: [a, b]}\n  X-Key: {secrets: [s]}\n"
    assert sent(text) == [("X-Scope-OrgID", "a"), ("X-Scope-OrgID", "b"), ("X-Key", "s")]
    assert sent("") == sent("enable_http2: false\nfollow_redirects: true") == []
    assert load(None) == HttpConfig()


def test_files_stand_beside_the_file_and_are_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "http.yml"
    path.write_text("basic_auth: {username: me, password_file: secret}")
    (tmp_path / "secret").write_text("one\n")
    config = load(path)
    assert config.sent() == [("Authorization", "Basic bWU6b25l")]
    (tmp_path / "secret").write_text("two")
    assert config.sent() == [("Authorization", "Basic bWU6dHdv")]
    (tmp_path / "secret").unlink()
    with pytest.raises(ConfigError, match=r"secret: No such file"):
        config.sent()


def test_no_secret_is_shown(tmp_path: Path) -> None:
    config = parse("basic_auth: {username: me, password: hush}\nhttp_headers: {X-K: {secrets: [hush]}}", HERE)
    assert "hush" not in repr(config)
    with pytest.raises(ConfigError) as caught:
        parse("basic_auth: {username: me, password: [hush]}", HERE)
    assert "hush" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        parse("password: 'hush\n  other: {", HERE)
    assert "hush" not in str(caught.value)
    with pytest.raises(ConfigError, match="control"):
        sent('authorization: {credentials: "a\\r\\nX-Evil: 1"}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("basic_auth: {user: x}", "basic_auth.user: unknown setting; did you mean username?"),
        ("proxy_url: http://p", "proxy_url: not supported by sdstop fleet"),
        ("oauth2: {}", "oauth2: not supported by sdstop fleet"),
        ("basic_auth: {username: x}\nbearer_token: y", "http.yml: cannot combine basic_auth and bearer_token"),
        ("basic_auth: {password: x, password_file: y}", "basic_auth.password: cannot be combined with password_file"),
        ("authorization: {type: basic, credentials: x}", "authorization.type: expected a word such as Bearer"),
        ("authorization: {type: Bearer}", "authorization.credentials: missing"),
        ("tls_config: {cert_file: x}", "tls_config.key_file: missing"),
        ("tls_config: {key: x}", "tls_config.key: not supported; use key_file"),
        (
            "tls_config: {insecure_skip_verify: 'yes'}",
            "insecure_skip_verify: expected true or false, got text",
        ),
        ("tls_config: {min_version: TLS10}", "tls_config.min_version: expected one of TLS12, TLS13"),
        ("http_headers: {Authorization: {values: [x]}}", "http_headers.Authorization: sdstop sets this header itself"),
        ("http_headers: {'a b': {values: [x]}}", "http_headers.a b: not the name of a header"),
        (
            "http_headers: {X: {values: [1]}}",
            "http_headers.X.values[0]: expected text, got a whole number",
        ),
        (
            "http_headers: {Y: {values: [a]}, X: {value: [a]}}",
            "http_headers.X.value: unknown setting; did you mean",
        ),
        ("basic_auth: {username: a}\nbasic_auth: {username: b}", "line 2: duplicate key basic_auth"),
        ("bearer_token: a\noauth2:", "oauth2: not supported"),
        ("bearer_token: 3", "bearer_token: expected text, got a whole number; put it in quotes"),
        ("[1]", "http.yml: expected a table, got a list"),
        ("basic_auth: 3", "basic_auth: expected a table, got a whole number"),
        ("{", "line 1: not YAML"),
        ("!!python/object/apply:os.system ['true']", "not YAML"),
    ],
)
def test_what_cannot_be_honoured_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, HERE)
    assert str(caught.value).startswith("/etc/sdstop/http.yml:")
    assert said in str(caught.value)


@given(
    st.text(max_size=80)
    | st.from_regex(r"(basic_auth|tls_config|http_headers): \{[a-z_]{1,9}: .{0,9}\}", fullmatch=True)
)
def test_no_file_raises_anything_else(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse(text, HERE).sent()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://p:9090", "http://p:9090"),
        ("https://mimir.example/prometheus/", "https://mimir.example/prometheus"),
        ("http://vm:8481/select/0/prometheus/api/v1", "http://vm:8481/select/0/prometheus"),
        ("http://[::1]:9090/", "http://[::1]:9090"),
        ("HTTPS://Prom.Example:443", "https://prom.example"),
        ("http://[FE80::1%Eth0]/", "http://[fe80::1%Eth0]"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    assert str(parse_url(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "p:9090",
        "ftp://p",
        "http://",
        "http://p:x",
        "http://p/?a=b",
        "http://p/#f",
        "http://p/a b",
        "http://p:70000",
        "http://p:0",
        "http",
        "http://p/\ta",
        "http://a[::1]",
        "http://é\x1b/",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_url(text)


def test_credentials_in_an_address_are_refused_and_not_repeated() -> None:
    for text in ("http://me:hush@p:9090", "https://hush@p", "http://me:hush@[::1", "me:hush@p:9090", "ftp://hush@p"):
        with pytest.raises(ConfigError) as caught:
            parse_url(text)
        assert "hush" not in str(caught.value)


def test_texts_of_promql_end_nowhere_else() -> None:
    assert quoted('a"b\\c\n') == '"a\\"b\\\\c\\x0a"'
    assert one_of(["a.b", "c|d"]) == '"a\\\\.b|c\\\\|d"'
    assert series("up", "", 'a="b"') == 'up{a="b"}'
    assert series("up", "") == "up"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ('{job="sdstop"}', 'job="sdstop"'),
        ("cluster=~'a|b' , job != \"x\"", "cluster=~'a|b',job!=\"x\""),
        ('a="}\\"",b=`c`', 'a="}\\"",b=`c`'),
    ],
)
def test_matchers(text: str, found: str) -> None:
    assert matchers(text) == found


@pytest.mark.parametrize("text", ['job="a"} or up{', "job", '__name__="up"', 'a="b" c="d"', 'a="\x1b', "up{a='b'}"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        matchers(text)
    assert "\x1b" not in str(caught.value)
