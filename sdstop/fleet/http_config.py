"""HTTP client settings, in the format of promtool's `--http.config.file`.

    basic_auth: {username: sdstop, password_file: /etc/sdstop/password}
    authorization: {credentials_file: /etc/sdstop/token}         # or a bearer token
    tls_config: {ca_file: ca.pem, cert_file: me.pem, key_file: me.key}
    http_headers:
      X-Scope-OrgID: {values: [storage]}                         # a tenant of Mimir

Source of the format: HTTPClientConfig of github.com/prometheus/common (config/http_config.go); file names are
relative to the file, as there. Unknown and unsupported keys are rejected.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from sdstop.core.config_error import ConfigError, InvalidSetting
from sdstop.core.expression import expression
from sdstop.core.format import safe
from sdstop.core.settings import convert, in_file, read_text, read_yaml
from sdstop.node.http import tls_context

_HEADER = expression(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED = {
    "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type",
    "host", "proxy-authorization", "transfer-encoding", "user-agent",
}  # fmt: skip
_VERSIONS = {
    "TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3,
}  # fmt: skip


class SecretSource(msgspec.Struct, frozen=True):
    """Secret text, never shown, or the path of its file, which is read for each use so that it may change."""

    text: str = ""
    path: Path | None = None

    def __repr__(self) -> str:
        return f"Secret(path={self.path!r})"

    def read(self) -> str:
        """Return the secret; text from a file is stripped. Raises ConfigError."""
        said = self.text if self.path is None else read_text(self.path).strip()
        if re.search(r"[\x00-\x1f\x7f]", said):
            raise ConfigError(f"{safe(self.path or 'a secret of --http-config')}: has control characters")
        return said


class HttpConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Settings from a file. `headers` are (name, value) pairs; names may repeat."""

    username: SecretSource | None = None
    password: SecretSource | None = None
    scheme: str = "Bearer"
    credentials: SecretSource | None = None
    headers: Sequence[tuple[str, SecretSource]] = ()
    ca: SecretSource | None = None
    certificate: SecretSource | None = None
    key: SecretSource | None = None
    server_name: str = ""
    insecure: bool = False
    oldest: str = "TLS12"

    def sent(self) -> list[tuple[str, str]]:
        """Return the headers to send with a query. Raises ConfigError."""
        found = [(name, secret.read()) for name, secret in self.headers]
        if self.credentials is not None:
            found.append(("Authorization", f"{self.scheme} {self.credentials.read()}"))
        elif self.username is not None or self.password is not None:
            user, password = (part.read() if part is not None else "" for part in (self.username, self.password))
            packed = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            found.append(("Authorization", f"Basic {packed}"))
        return found

    def context(self) -> ssl.SSLContext:
        """Return the TLS context. Raises ConfigError."""
        ca = None if self.ca is None else self.ca.text if self.ca.path is None else read_text(self.ca.path)
        try:
            context = tls_context(ca_text=ca, verify=not self.insecure, oldest=_VERSIONS[self.oldest])
            if self.certificate is not None and self.certificate.path is not None:
                key = None if self.key is None else self.key.path
                context.load_cert_chain(self.certificate.path, key, password=_no_password)
        except (OSError, ValueError) as error:
            raise ConfigError(f"tls_config of --http-config: {_tls(error)}") from error
        return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")


def _tls(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no certificate or key that can be used ({safe(error.reason or 'PEM')})"
    return safe(error.strerror if isinstance(error, OSError) and error.strerror else error)


class BasicAuthSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`basic_auth` as written in the file."""

    username: str | None = None
    username_file: str | None = None
    password: str | None = None
    password_file: str | None = None


class AuthorizationSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`authorization` as written in the file."""

    type: str | None = None
    credentials: str | None = None
    credentials_file: str | None = None

    def __post_init__(self) -> None:
        """Check the scheme. Raises InvalidSetting."""
        if self.type and (self.type.lower() == "basic" or not _HEADER.fullmatch(self.type)):
            raise InvalidSetting("type", "expected a word such as Bearer; for a password use basic_auth")


class TlsClientSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tls_config` as written in the file."""

    ca: str | None = None
    ca_file: str | None = None
    cert: Any = None
    cert_file: str | None = None
    key: Any = None
    key_file: str | None = None
    server_name: str | None = None
    insecure_skip_verify: bool | None = None
    min_version: Literal["", "TLS12", "TLS13"] | None = None

    def __post_init__(self) -> None:
        """Check certificate and key, which ssl accepts from files only. Raises InvalidSetting."""
        for name, text in (("cert", self.cert), ("key", self.key)):
            if text is not None:
                raise InvalidSetting(name, f"not supported; use {name}_file")
        if bool(self.cert_file) is not bool(self.key_file):
            raise InvalidSetting("key_file" if self.cert_file else "cert_file", "missing")


class HeaderSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `http_headers` as written in the file."""

    values: list[str] | None = None
    secrets: list[str] | None = None
    files: list[str] | None = None


class HttpConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file as written; an empty section is null."""

    basic_auth: BasicAuthSection | None = None
    authorization: AuthorizationSection | None = None
    bearer_token: str | None = None
    bearer_token_file: str | None = None
    tls_config: TlsClientSection | None = None
    http_headers: dict[str, HeaderSection | None] | None = None
    follow_redirects: bool | None = None
    enable_http2: bool | None = None
    oauth2: Any = msgspec.UNSET
    proxy_url: Any = msgspec.UNSET
    no_proxy: Any = msgspec.UNSET
    proxy_from_environment: Any = msgspec.UNSET
    proxy_connect_header: Any = msgspec.UNSET

    def __post_init__(self) -> None:
        """Check for conflicting and unsupported settings. Raises InvalidSetting."""
        for name in ("oauth2", "proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header"):
            if getattr(self, name) is not msgspec.UNSET:
                raise InvalidSetting(name, "not supported by sdstop fleet")
        given = [name for name in ("basic_auth", "authorization") if getattr(self, name) is not None]
        given += ["bearer_token"] if self.bearer_token is not None or self.bearer_token_file else []
        if len(given) > 1:
            raise InvalidSetting("", f"cannot combine {given[0]} and {given[1]}")


def load(path: Path | None) -> HttpConfig:
    """Read a file, or return the defaults for None. Raises ConfigError, which quotes no value of the file."""
    if path is None:
        return HttpConfig()
    return parse(read_text(path), path)


def parse(text: str, path: Path) -> HttpConfig:
    """Parse the text of a file. Raises ConfigError."""
    with in_file(path):
        told = read_yaml(text)
        return _config(convert({} if told is None else told, HttpConfigFile), path.parent)


def _config(file: HttpConfigFile, folder: Path) -> HttpConfig:
    basic, tls = file.basic_auth or BasicAuthSection(), file.tls_config or TlsClientSection()
    bearer = _secret("bearer_token", file.bearer_token, file.bearer_token_file, folder)
    scheme, credentials = "Bearer", bearer
    if (authorization := file.authorization) is not None:
        scheme = authorization.type or scheme
        credentials = _secret(
            "authorization.credentials", authorization.credentials, authorization.credentials_file, folder
        )
        if credentials is None:
            raise ConfigError("authorization.credentials: missing")
    return HttpConfig(
        username=_secret("basic_auth.username", basic.username, basic.username_file, folder),
        password=_secret("basic_auth.password", basic.password, basic.password_file, folder),
        scheme=scheme, credentials=credentials, headers=_headers(file.http_headers or {}, folder),
        ca=_secret("tls_config.ca", tls.ca, tls.ca_file, folder),
        certificate=SecretSource(path=folder / tls.cert_file) if tls.cert_file else None,
        key=SecretSource(path=folder / tls.key_file) if tls.key_file else None,
        server_name=tls.server_name or "", insecure=bool(tls.insecure_skip_verify), oldest=tls.min_version or "TLS12",
    )  # fmt: skip


def _secret(place: str, text: str | None, file: str | None, folder: Path) -> SecretSource | None:
    """Return an inline secret or the path of its file. Raises ConfigError if both are given."""
    if text is not None and file:
        raise ConfigError(f"{place}: cannot be combined with {place.rpartition('.')[2]}_file")
    if file:
        return SecretSource(path=folder / file)
    return None if text is None else SecretSource(text)


def _headers(sections: Mapping[str, HeaderSection | None], folder: Path) -> list[tuple[str, SecretSource]]:
    found: list[tuple[str, SecretSource]] = []
    for name, header in sections.items():
        if not _HEADER.fullmatch(name):
            raise ConfigError(f"http_headers.{safe(name, 40)}: not the name of a header")
        if name.lower() in _RESERVED:
            raise ConfigError(f"http_headers.{name}: sdstop sets this header itself")
        if header is not None:
            found += [(name, SecretSource(text)) for text in (*(header.values or ()), *(header.secrets or ()))]
            found += [(name, SecretSource(path=folder / file)) for file in header.files or ()]
    return found
