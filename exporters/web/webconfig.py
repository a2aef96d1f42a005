"""web-config.yml: TLS, passwords, headers and rate limit, in the format shared by Prometheus and its exporters.

    tls_server_config:
      cert_file: node.crt
      key_file: node.key
    basic_auth_users:
      prometheus: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG

The format is that of https://github.com/prometheus/exporter-toolkit (docs/web-configuration.md, web/tls_config.go);
`promtool check web-config` checks it. Unknown settings are rejected, as there. Unsupported settings are rejected
too, or reported in one line where ignoring them does not weaken access control.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.format import safe
from sdstop.core.settings import convert, in_file, read_text, read_yaml


class PemSource(msgspec.Struct, frozen=True):
    """Inline PEM text, or the path of a PEM file."""

    path: Path | None = None
    text: str = ""

    def __repr__(self) -> str:
        return f"Secret(path={self.path!r})"


class TlsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`tls_server_config`. `client`: whether a client certificate is requested: no, optional, required."""

    cert: PemSource
    key: PemSource
    client: str = "no"
    client_ca: PemSource | None = None
    client_sans: frozenset[str] = frozenset()
    oldest: str = "TLS12"
    newest: str = "TLS13"
    ciphers: tuple[str, ...] = ()
    ours_first: bool = True
    curve: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Paths of the certificate and key files."""
        return tuple(s.path for s in (self.cert, self.key, self.client_ca) if s is not None and s.path is not None)


class WebConfig(msgspec.Struct, frozen=True):
    """The whole file. `users` are bcrypt hashes by name, `rate` requests per second (None: no limit), `burst` many.

    `notes` are lines for the operator.
    """

    tls: TlsConfig | None = None
    users: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    rate: float | None = None
    burst: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"WebConfig(tls={self.tls!r}, users={sorted(self.users)}, headers={self.headers!r}, rate={self.rate!r})"


_HEADERS: Mapping[str, tuple[str, ...]] = {
    "Content-Security-Policy": (),
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
}
"""Supported headers and their allowed values; an empty tuple allows any."""

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
"""Go's cipher suite names, as used in the file, and OpenSSL's names."""
_CIPHERS_13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
"""TLS 1.3 cipher suites, which are always enabled in Go and OpenSSL."""

_SLOW_COST = 14
"""Cost of bcrypt above which each password takes seconds."""
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

_Version = Literal["", "TLS10", "TLS11", "TLS12", "TLS13"]
_Hash = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^\$2[aby]?\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}\Z",
        description="a bcrypt hash, as `htpasswd -nBC 10` prints",
    ),
]
_Line = Annotated[str, msgspec.Meta(pattern=r"^[\t\x20-\x7e]*\Z", description="one line of ASCII text")]
_Duration = Annotated[
    Annotated[str, msgspec.Meta(pattern=r"^(0|([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|µs|ms|s|m|h))+)\Z")] | Literal[0],
    msgspec.Meta(description="a duration such as 1s or 100ms"),
]


class TlsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tls_server_config` as written in the file."""

    cert: str | None = None
    key: str | None = None
    client_ca: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    client_auth_type: str | None = None
    client_ca_file: str | None = None
    client_allowed_sans: list[str] | None = None
    min_version: _Version | None = None
    max_version: _Version | None = None
    cipher_suites: list[str] | None = None
    prefer_server_cipher_suites: bool | None = None
    curve_preferences: list[Literal["CurveP256", "CurveP384", "CurveP521", "X25519"]] | None = None


class HttpSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`http_server_config`; `http2` has no effect: the server supports HTTP/1.1 only, as every client does."""

    http2: bool | None = None
    headers: dict[str, _Line] | None = None


class RateSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`rate_limit`: one request per `interval` (a duration of Go; 0: no limit), and `burst` more at once."""

    interval: Annotated[_Duration | Literal[0] | None, msgspec.Meta(description="a duration such as 1s or 100ms")] = (
        None
    )
    burst: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] | None = None


class WebConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file as written; an empty section is null."""

    tls_server_config: TlsSection | None = None
    http_server_config: HttpSection | None = None
    basic_auth_users: dict[str | int, _Hash] | None = None
    rate_limit: RateSection | None = None


def load(path: Path) -> WebConfig:
    """Read a file; paths in it are relative to its directory. Raises ConfigError."""
    text = read_text(path)
    with in_file(path):
        return parse(text, path.parent)


def parse(text: str, folder: Path) -> WebConfig:
    """Parse the text of a web-config.yml; an empty text is valid. Raises ConfigError."""
    said = read_yaml(text)
    file = convert({} if said is None else said, WebConfigFile)
    notes: list[str] = []
    tls = _tls(file.tls_server_config, folder, notes)
    rate, burst = _rate(file.rate_limit)
    users = _users(file.basic_auth_users or {}, notes)
    if users and tls is None:
        notes.append("basic_auth_users without tls_server_config: passwords are sent in clear text")
    headers = file.http_server_config.headers if file.http_server_config is not None else None
    return WebConfig(tls, users, _headers(headers or {}), rate, burst, tuple(notes))


_TLS = "tls_server_config"


def _tls(section: TlsSection | None, folder: Path, notes: list[str]) -> TlsConfig | None:
    if section is None or not any(msgspec.structs.astuple(section)):
        return None
    cert = _secret("cert", section.cert, section.cert_file, folder)
    key = _secret("key", section.key, section.key_file, folder)
    client_ca = _secret("client_ca", section.client_ca, section.client_ca_file, folder)
    if cert is None or key is None:
        name = "cert" if cert is None else "key"
        raise ConfigError(f"{_TLS}: {name} or {name}_file is missing")
    sans = frozenset(section.client_allowed_sans or ())
    client = _client(section.client_auth_type or "", client_ca, sans, notes)
    oldest, newest = _versions(section.min_version or "TLS12", section.max_version or "TLS13", notes)
    curves = section.curve_preferences or []
    if len(curves) > 1:
        notes.append(f"{_TLS}.curve_preferences: no order of preference is supported; OpenSSL's order applies")
    return TlsConfig(
        cert=cert,
        key=key,
        client=client,
        client_ca=client_ca,
        client_sans=sans,
        oldest=oldest,
        newest=newest,
        ciphers=_ciphers(section.cipher_suites or []),
        ours_first=section.prefer_server_cipher_suites is not False,
        curve=_CURVES[curves[0]] if len(curves) == 1 else "",
    )


def _secret(key: str, text: str | None, path: str | None, folder: Path) -> PemSource | None:
    """Return an inline PEM or the path of its file; the file takes precedence, as in exporter-toolkit."""
    if path and "\0" in path:
        raise ConfigError(f"{_TLS}.{key}_file: not a path")
    return PemSource(folder / path) if path else PemSource(text=text) if text else None


def _client(policy: str, client_ca: PemSource | None, sans: frozenset[str], notes: list[str]) -> str:
    """Return whether a client certificate is requested: no, optional, required. Raises ConfigError."""
    if policy in _UNVERIFIED:
        raise ConfigError(
            f"{_TLS}.client_auth_type: {policy} is not supported (accepts any certificate); "
            "use RequireAndVerifyClientCert"
        )
    if policy not in _CLIENT:
        raise ConfigError(f"{_TLS}.client_auth_type: {unknown('policy', policy, [name for name in _CLIENT if name])}")
    asked = _CLIENT[policy]
    if client_ca is not None and policy in {"", "NoClientCert"}:
        raise ConfigError(f"{_TLS}: client_ca needs a client_auth_type that requests a certificate")
    if asked != "no" and client_ca is None:
        raise ConfigError(f"{_TLS}.client_auth_type: {policy} needs client_ca_file")
    if sans and asked == "no":
        raise ConfigError(f"{_TLS}.client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert")
    if policy == "RequestClientCert":
        notes.append(f"{_TLS}.client_auth_type: {policy} verifies nothing; no certificate is requested")
    return asked


def _versions(oldest: str, newest: str, notes: list[str]) -> tuple[str, str]:
    if newest < "TLS12" or newest < oldest:
        raise ConfigError(f"{_TLS}.max_version: {newest} leaves no version; TLS12 and TLS13 are supported")
    if oldest < "TLS12":
        notes.append(f"{_TLS}.min_version {oldest} is not supported; minimum is TLS12")
        oldest = "TLS12"
    return oldest, newest


def _ciphers(names: list[str]) -> tuple[str, ...]:
    for index, name in enumerate(names):
        if name not in _CIPHERS and name not in _CIPHERS_13:
            raise ConfigError(f"{_TLS}.cipher_suites[{index}]: unknown or unsafe cipher suite {safe(name, 60)}")
    return tuple(_CIPHERS[name] for name in names if name in _CIPHERS)


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are not empty. Raises ConfigError for unsupported headers or values."""
    name = "http_server_config.headers"
    for key, said in headers.items():
        if key not in _HEADERS:
            raise ConfigError(f"{name}.{safe(key, 40)}: {unknown('header', key, _HEADERS)}")
        if _HEADERS[key] and said not in _HEADERS[key]:
            raise ConfigError(f"{name}.{key}: expected {' or '.join(_HEADERS[key])}")
    return {key: said for key, said in headers.items() if said}


def _users(users: Mapping[str | int, str], notes: list[str]) -> dict[str, str]:
    for name, said in users.items():
        cost = int(said.split("$")[2])
        if cost > _SLOW_COST:
            notes.append(f"basic_auth_users.{safe(name, 100)}: a cost of {cost} takes seconds for each password")
    return {str(name): said for name, said in users.items()}


def _rate(section: RateSection | None) -> tuple[float | None, int]:
    if section is None or not section.interval or section.interval == "0":
        return None, 0
    seconds = sum(
        float(count) * _UNITS[unit] for count, unit in re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", section.interval)
    )
    if not seconds:
        return None, 0
    if not section.burst:
        raise ConfigError("rate_limit.burst: must be at least 1")
    return 1 / seconds, section.burst


def readable_by_all(path: Path) -> bool:
    """Return whether every user of the machine may read a file; False if unknown."""
    try:
        return bool(path.stat().st_mode & 0o004)
    except OSError:
        return False


def exposed(path: Path, config: WebConfig) -> list[str]:
    """Return a warning line for each file with secrets that every user of the machine may read."""
    held = [path] if config.users or (config.tls is not None and config.tls.key.text) else []
    if config.tls is not None and config.tls.key.path is not None:
        held.append(config.tls.key.path)
    return [f"{safe(each)} is world-readable; run chmod o= {safe(each)}" for each in held if readable_by_all(each)]
