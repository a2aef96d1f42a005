"""web-config.yml: TLS, passwords, headers and a rate limit, in the format that Prometheus and its exporters share.

    tls_server_config:
      cert_file: node.crt
      key_file: node.key
    basic_auth_users:
      prometheus: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG

The format is that of https://github.com/prometheus/exporter-toolkit (docs/web-configuration.md, web/tls_config.go);
`promtool check web-config` checks it. What is unknown is refused, as there; what cannot be honoured is refused too, or
told in one line where leaving it out lets nobody in.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdstop.core.format import safe


class WebConfigError(Exception):
    """The file cannot be used; one line that says what to mend."""


@dataclass(frozen=True, slots=True)
class Secret:
    """PEM text that stands in the file itself, or the path of a file."""

    path: Path | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """`tls_server_config`. `client`: whether clients are asked for a certificate: no, optional, required."""

    cert: Secret
    key: Secret
    client: str = "no"
    client_ca: Secret | None = None
    client_sans: frozenset[str] = frozenset()
    oldest: str = "TLS12"
    newest: str = "TLS13"
    ciphers: tuple[str, ...] = ()
    ours_first: bool = True
    curve: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files that it is made of."""
        return tuple(s.path for s in (self.cert, self.key, self.client_ca) if s is not None and s.path is not None)


@dataclass(frozen=True, slots=True)
class WebConfig:
    """The whole file. `users` are bcrypt hashes by name, `rate` requests per second (None: no limit), `burst` many.

    `notes` are lines for the operator.
    """

    tls: TlsConfig | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    rate: float | None = None
    burst: int = 0
    notes: tuple[str, ...] = ()


_HEADERS: Mapping[str, tuple[str, ...]] = {
    "Content-Security-Policy": (),
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
}
"""Headers that can be set, and the values they can have; none: any."""

_VERSIONS = ("TLS10", "TLS11", "TLS12", "TLS13")
_CURVES = {
    "CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519",
}  # fmt: skip
_CLIENT = {
    "": "no", "NoClientCert": "no", "RequestClientCert": "no", "VerifyClientCertIfGiven": "optional",
    "RequireAndVerifyClientCert": "required",
}  # fmt: skip
_UNVERIFIED = {"RequireAnyClientCert", "RequireClientCert"}
_CIPHERS = {
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}
"""Go's names, which the file has, and OpenSSL's."""
_CIPHERS_13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
"""TLS 1.3 has these three always, there as here."""

_BCRYPT = re.compile(r"\$2[aby]?\$(\d\d)\$[./A-Za-z0-9]{53}")
_SLOW_COST = 14
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _read(text: str) -> Any:
    """Return plain YAML, in which no key may stand twice: the second would do nothing, or undo the first."""
    import yaml  # noqa: PLC0415  # 3 MB that most exporters do without

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  # its signature
            keys = [key.value for key, _ in node.value]
            for key in keys:
                if keys.count(key) > 1:
                    raise WebConfigError(f"{safe(key, 100)} stands there twice")
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)  # noqa: S506  # a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f"line {where.line + 1}: " if where is not None else ""
        raise WebConfigError(f"{line}is no YAML: {safe(getattr(error, 'problem', None) or error, 200)}") from error


def load(path: Path) -> WebConfig:
    """Read a file; paths in it begin at its folder. Raises WebConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise WebConfigError(f"{safe(path)}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WebConfigError(f"{safe(path)}: is no UTF-8") from error
    try:
        return parse(text, path.parent)
    except WebConfigError as error:
        raise WebConfigError(f"{safe(path)}: {error}") from error


def parse(text: str, folder: Path) -> WebConfig:
    """Return what the text of a web-config.yml says; an empty one says nothing. Raises WebConfigError."""
    said = _read(text)
    top = _table("the file", said, ("tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"))
    notes: list[str] = []
    tls = _tls(top.get("tls_server_config"), folder, notes)
    rate, burst = _rate(top.get("rate_limit"))
    users = _users(top.get("basic_auth_users"), notes)
    if users and tls is None:
        notes.append("basic_auth_users without tls_server_config: passwords cross the network readable")
    return WebConfig(tls, users, _headers(top.get("http_server_config")), rate, burst, tuple(notes))


def _table(name: str, value: object, known: tuple[str, ...] | None) -> dict[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WebConfigError(f"{name} must be a table of keys")
    for key in value:
        if known is not None and key not in known:
            raise WebConfigError(f"{safe(key, 100)}: {name} has no such key; it has {', '.join(known)}")
    return value


def _text(name: str, table: Mapping[Any, Any], key: str) -> str:
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WebConfigError(f"{name}.{key} must be text")
    return value


def _flag(name: str, table: Mapping[Any, Any], key: str) -> bool:
    value = table.get(key, True)
    if value is None:
        return True
    if not isinstance(value, bool):
        raise WebConfigError(f"{name}.{key} must be true or false")
    return value


def _list(name: str, table: Mapping[Any, Any], key: str) -> list[str]:
    value = table.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WebConfigError(f"{name}.{key} must be a list of texts")
    return value


_TLS = "tls_server_config"
_TLS_KEYS = (
    "cert", "key", "client_ca", "cert_file", "key_file", "client_auth_type", "client_ca_file", "client_allowed_sans",
    "min_version", "max_version", "cipher_suites", "prefer_server_cipher_suites", "curve_preferences",
)  # fmt: skip


def _tls(value: object, folder: Path, notes: list[str]) -> TlsConfig | None:
    table = _table(_TLS, value, _TLS_KEYS)
    if not any(table.get(key) for key in _TLS_KEYS):
        return None

    def secret(key: str) -> Secret | None:
        """Return a PEM, whether it is in the file or beside it; the file beside it decides, as in the toolkit."""
        path, text = _text(_TLS, table, f"{key}_file"), _text(_TLS, table, key)
        if "\0" in path:
            raise WebConfigError(f"{_TLS}.{key}_file is no path")
        return Secret(folder / path) if path else Secret(text=text) if text else None

    cert, key, client_ca = secret("cert"), secret("key"), secret("client_ca")
    for name, found in (("cert", cert), ("key", key)):
        if found is None:
            raise WebConfigError(f"{_TLS} needs one of {name} and {name}_file")
    assert cert is not None  # noqa: S101  # the lines before
    assert key is not None  # noqa: S101
    sans = frozenset(_list(_TLS, table, "client_allowed_sans"))
    client = _client(_text(_TLS, table, "client_auth_type"), client_ca, sans, notes)
    oldest, newest = _versions(table, notes)
    ours_first = _flag(_TLS, table, "prefer_server_cipher_suites")
    return TlsConfig(cert, key, client, client_ca, sans, oldest, newest, _ciphers(table), ours_first,
                     _curve(table, notes))  # fmt: skip


def _client(policy: str, client_ca: Secret | None, sans: frozenset[str], notes: list[str]) -> str:
    """Return whether clients are asked for a certificate."""
    if policy in _UNVERIFIED:
        raise WebConfigError(
            f"{_TLS}.client_auth_type: {policy} lets anybody in who has any certificate, and cannot be had here; "
            "RequireAndVerifyClientCert checks it"
        )
    if policy not in _CLIENT:
        raise WebConfigError(f"{_TLS}.client_auth_type: there is no {safe(policy, 100)}")
    asked = _CLIENT[policy]
    if client_ca is not None and policy in {"", "NoClientCert"}:
        raise WebConfigError(f"{_TLS} has a client_ca, and no client_auth_type that asks for a certificate")
    if asked != "no" and client_ca is None:
        raise WebConfigError(f"{_TLS}.client_auth_type: {policy} needs client_ca_file: whose certificates are good?")
    if sans and asked == "no":
        raise WebConfigError(f"{_TLS}.client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert")
    if policy == "RequestClientCert":
        notes.append(f"{_TLS}.client_auth_type: {policy} checks nothing, and no certificate is asked for")
    return asked


def _versions(table: Mapping[Any, Any], notes: list[str]) -> tuple[str, str]:
    found = []
    for key, default in (("min_version", "TLS12"), ("max_version", "TLS13")):
        version = _text(_TLS, table, key) or default
        if version not in _VERSIONS:
            raise WebConfigError(f"{_TLS}.{key}: there is no {safe(version, 100)}; there are {', '.join(_VERSIONS)}")
        found.append(version)
    oldest, newest = found
    if newest < "TLS12" or newest < oldest:
        raise WebConfigError(f"{_TLS}.max_version: {newest} leaves nothing; TLS12 and TLS13 are spoken here")
    if oldest < "TLS12":
        notes.append(f"{_TLS}.min_version: {oldest} is too old to be safe; TLS12 is the oldest spoken here")
        oldest = "TLS12"
    return oldest, newest


def _ciphers(table: Mapping[Any, Any]) -> tuple[str, ...]:
    names = _list(_TLS, table, "cipher_suites")
    for name in names:
        if name not in _CIPHERS and name not in _CIPHERS_13:
            raise WebConfigError(f"{_TLS}.cipher_suites: {safe(name, 100)} is not known, or not safe")
    return tuple(_CIPHERS[name] for name in names if name in _CIPHERS)


def _curve(table: Mapping[Any, Any], notes: list[str]) -> str:
    """Return the one curve to use; Python's TLS takes one or its own choice."""
    names = _list(_TLS, table, "curve_preferences")
    for name in names:
        if name not in _CURVES:
            raise WebConfigError(f"{_TLS}.curve_preferences: {safe(name, 100)} is not known")
    if len(names) > 1:
        notes.append(f"{_TLS}.curve_preferences: of several none is preferred here; OpenSSL's own order holds")
    return _CURVES[names[0]] if len(names) == 1 else ""


def _headers(value: object) -> dict[str, str]:
    """Return the headers; `http2` is only looked at: HTTP/1.1 is spoken here, which every client speaks too."""
    name = "http_server_config"
    table = _table(name, value, ("http2", "headers"))
    _flag(name, table, "http2")
    headers = {}
    for key, said in _table(f"{name}.headers", table.get("headers"), None).items():
        if key not in _HEADERS:
            raise WebConfigError(f"{name}.headers: {safe(key, 100)} cannot be set")
        if not isinstance(said, str) or not re.fullmatch(r"[\t\x20-\x7e]*", said):
            raise WebConfigError(f"{name}.headers.{key} must be one line of ASCII text")
        if _HEADERS[key] and said not in _HEADERS[key]:
            raise WebConfigError(f"{name}.headers.{key} must be {' or '.join(_HEADERS[key])}")
        if said:
            headers[key] = said
    return headers


def _users(value: object, notes: list[str]) -> dict[str, str]:
    users = {}
    for name, said in _table("basic_auth_users", value, None).items():
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise WebConfigError("basic_auth_users: a name must be text")
        found = _BCRYPT.fullmatch(said) if isinstance(said, str) else None
        if found is None or not 4 <= int(found[1]) <= 31:
            raise WebConfigError(
                f"basic_auth_users.{safe(name, 100)} must be a bcrypt hash, as `htpasswd -nBC 10` prints"
            )
        if int(found[1]) > _SLOW_COST:
            notes.append(
                f"basic_auth_users.{safe(name, 100)}: a cost of {int(found[1])} takes seconds for each password"
            )
        users[str(name)] = str(said)
    return users


def _rate(value: object) -> tuple[float | None, int]:
    table = _table("rate_limit", value, ("interval", "burst"))
    burst, seconds = table.get("burst") or 0, _seconds(table.get("interval"))
    if isinstance(burst, bool) or not isinstance(burst, int) or not 0 <= burst <= 1_000_000_000:
        raise WebConfigError("rate_limit.burst must be a whole number")
    if seconds and not burst:
        raise WebConfigError("rate_limit.burst: without it no request at all would be answered")
    return (1 / seconds, burst) if seconds else (None, 0)


def _seconds(value: object) -> float:
    """Return the seconds of a Go duration, `1m30s`; 0 switches off."""
    if value is None or value in (0, "0"):
        return 0.0
    parts = re.findall(r"(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m|h)", value) if isinstance(value, str) else []
    if not parts or "".join(a + b for a, b in parts) != value:
        raise WebConfigError("rate_limit.interval must be a duration such as 1s or 100ms")
    return sum(float(count) * _UNITS[unit] for count, unit in parts)


def readable_by_all(path: Path) -> bool:
    """Whether every user of the machine may read a file; False also if it cannot be told."""
    try:
        return bool(path.stat().st_mode & 0o004)
    except OSError:
        return False


def exposed(path: Path, config: WebConfig) -> list[str]:
    """Return a line for each file with secrets that every user of the machine may read."""
    held = [path] if config.users or (config.tls is not None and config.tls.key.text) else []
    if config.tls is not None and config.tls.key.path is not None:
        held.append(config.tls.key.path)
    return [
        f"{safe(each)} can be read by every user of this machine: chmod o= it" for each in held if readable_by_all(each)
    ]
