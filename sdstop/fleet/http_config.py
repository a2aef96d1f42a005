"""How to reach a server: the file that promtool takes as `--http.config.file`.

    basic_auth: {username: sdstop, password_file: /etc/sdstop/password}
    authorization: {credentials_file: /etc/sdstop/token}         # or a bearer token
    tls_config: {ca_file: ca.pem, cert_file: me.pem, key_file: me.key}
    http_headers:
      X-Scope-OrgID: {values: [storage]}                         # a tenant of Mimir

Source of the format: HTTPClientConfig of github.com/prometheus/common (config/http_config.go); file names are
relative to the file, as there. Keys that nobody knows are refused, and so are those that sdstop cannot honour.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sdstop.core.format import safe
from sdstop.fleet.problem import SettingsError

_LARGEST = 1 << 20
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNHONOURED = {
    "oauth2", "proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header",
}  # fmt: skip
_RESERVED = {
    "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type",
    "host", "proxy-authorization", "transfer-encoding", "user-agent",
}  # fmt: skip
_VERSIONS = {
    "TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is never shown, or the file that holds it, read each time so that it may be changed."""

    text: str = field(default="", repr=False)
    path: Path | None = None

    def read(self) -> str:
        """Return it without the line's end. Raises SettingsError."""
        said = self.text if self.path is None else _read(self.path).strip()
        if re.search(r"[\x00-\x1f\x7f]", said):
            raise SettingsError(f"{safe(self.path or 'a secret of --http-config')} holds control characters")
        return said


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """What a file says. `headers` are names and values, a repeated name stands several times."""

    username: Secret | None = None
    password: Secret | None = None
    scheme: str = "Bearer"
    credentials: Secret | None = None
    headers: Sequence[tuple[str, Secret]] = ()
    ca: Secret | None = None
    certificate: Secret | None = None
    key: Secret | None = None
    server_name: str = ""
    insecure: bool = False
    oldest: str = "TLS12"

    def sent(self) -> list[tuple[str, str]]:
        """Return the headers that are sent with a question. Raises SettingsError."""
        found = [(name, secret.read()) for name, secret in self.headers]
        if self.credentials is not None:
            found.append(("Authorization", f"{self.scheme} {self.credentials.read()}"))
        elif self.username is not None or self.password is not None:
            user, password = (part.read() if part is not None else "" for part in (self.username, self.password))
            packed = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            found.append(("Authorization", f"Basic {packed}"))
        return found

    def context(self) -> ssl.SSLContext:
        """Return what TLS is spoken by. Raises SettingsError."""
        context = ssl.create_default_context()
        context.minimum_version = _VERSIONS[self.oldest]
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            if self.ca is not None:
                context = _trusting(context, self.ca)
            if self.certificate is not None and self.certificate.path is not None:
                key = None if self.key is None else self.key.path
                context.load_cert_chain(self.certificate.path, key, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise SettingsError(f"tls_config of --http-config: {_tls(error)}") from error
        return context


def _trusting(context: ssl.SSLContext, ca: Secret) -> ssl.SSLContext:
    """Return a context that trusts this authority alone, as Prometheus does."""
    alone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    alone.minimum_version = context.minimum_version
    alone.check_hostname, alone.verify_mode = context.check_hostname, context.verify_mode
    alone.load_verify_locations(cadata=ca.text if ca.path is None else _read(ca.path))
    return alone


def _no_password() -> str:
    raise ValueError("the key is encrypted, and nobody is there to be asked for its password")


def _tls(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no certificate or key that can be used ({safe(error.reason or 'PEM')})"
    return safe(error.strerror if isinstance(error, OSError) and error.strerror else error)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise SettingsError(f"{safe(path)}: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise SettingsError(f"{safe(path)}: is too large")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SettingsError(f"{safe(path)}: is no text") from None


def load(path: Path | None) -> HttpConfig:
    """Read a file, or return the defaults for None. Raises SettingsError, which quotes no value of the file."""
    if path is None:
        return HttpConfig()
    return parse(_read(path), path)


def parse(text: str, path: Path) -> HttpConfig:
    """Return what a file's text says. Raises SettingsError."""
    try:
        told = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark is not None else ""
        raise SettingsError(f"{safe(path)}:{line} is no YAML") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SettingsError(f"{safe(path)}: is no YAML") from None
    return _Table(safe(path), path.parent, "", told).http()


class _Table:
    """A mapping of the file, and where it stands, for what is said of it."""

    def __init__(self, file: str, folder: Path, place: str, told: Any) -> None:
        if told is None:
            told = {}
        if not isinstance(told, dict):
            raise SettingsError(f"{file}: {place.rstrip('.') or 'the file'} must be a mapping")
        self.file, self.folder, self.place = file, folder, place
        self.told: Mapping[Any, Any] = told

    def wrong(self, key: str, what: str) -> SettingsError:
        return SettingsError(f"{self.file}: {self.place}{key}: {what}")

    def only(self, *known: str) -> None:
        for key in self.told:
            if key in _UNHONOURED:
                raise self.wrong(safe(key, 40), "is not supported by sdstop fleet")
            if key not in known:
                raise self.wrong(safe(key, 40), f"there is no such setting; there are {', '.join(known)}")

    def table(self, key: str) -> _Table:
        return _Table(self.file, self.folder, f"{self.place}{key}.", self.told.get(key))

    def text(self, key: str) -> str | None:
        value = self.told.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(key, "must be a text; put it into quotes")
        return value

    def flag(self, key: str) -> bool:
        value = self.told.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false")
        return value

    def secret(self, key: str) -> Secret | None:
        """Return `key`, or what the file under `key_file` holds; both are a mistake."""
        text, file = self.text(key), self.text(f"{key}_file")
        if text is not None and file:
            raise self.wrong(key, f"stands beside {key}_file; one of them is enough")
        if file:
            return Secret(path=self.folder / file)
        return None if text is None else Secret(text)

    def http(self) -> HttpConfig:
        self.only(
            "basic_auth", "authorization", "bearer_token", "bearer_token_file", "tls_config", "http_headers",
            "follow_redirects", "enable_http2",
        )  # fmt: skip
        self.flag("follow_redirects")
        self.flag("enable_http2")
        given = [k for k in ("basic_auth", "authorization") if self.told.get(k) is not None]
        bearer = self.secret("bearer_token")
        if bearer is not None:
            given.append("bearer_token")
        if len(given) > 1:
            raise self.wrong(given[1], f"stands beside {given[0]}; one of them is enough")
        basic, authorization, tls = self.table("basic_auth"), self.table("authorization"), self.table("tls_config")
        basic.only("username", "username_file", "password", "password_file")
        authorization.only("type", "credentials", "credentials_file")
        scheme = authorization.text("type") or "Bearer"
        if scheme.lower() == "basic" or not _HEADER.fullmatch(scheme):
            raise authorization.wrong("type", "must be a word such as Bearer; for a password there is basic_auth")
        credentials = authorization.secret("credentials")
        if "authorization" in given and credentials is None:
            raise authorization.wrong("credentials", "is missing")
        return tls.tls(
            HttpConfig(
                basic.secret("username"), basic.secret("password"), scheme, credentials or bearer,
                self.table("http_headers").headers(),
            )
        )  # fmt: skip

    def headers(self) -> list[tuple[str, Secret]]:
        found: list[tuple[str, Secret]] = []
        for name in self.told:
            if not isinstance(name, str) or not _HEADER.fullmatch(name):
                raise self.wrong(safe(name, 40), "is no name of a header")
            if name.lower() in _RESERVED:
                raise self.wrong(name, "is a header that sdstop sets itself")
            header = self.table(name)
            header.only("values", "secrets", "files")
            for key in ("values", "secrets", "files"):
                listed = header.told.get(key) or []
                if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
                    raise header.wrong(key, "must be a list of texts; put numbers into quotes")
                found += [(name, Secret(path=self.folder / v) if key == "files" else Secret(v)) for v in listed]
        return found

    def tls(self, config: HttpConfig) -> HttpConfig:
        self.only(
            "ca", "ca_file", "cert", "cert_file", "key", "key_file", "server_name", "insecure_skip_verify",
            "min_version",
        )  # fmt: skip
        for key in ("cert", "key"):
            if self.told.get(key) is not None:
                raise self.wrong(key, f"must stand in a file of its own, named by {key}_file")
        certificate, key_ = self.secret("cert"), self.secret("key")
        if (certificate is None) is not (key_ is None):
            raise self.wrong("cert_file" if certificate is None else "key_file", "is missing beside the other")
        oldest = self.text("min_version") or "TLS12"
        if oldest not in _VERSIONS:
            raise self.wrong("min_version", f"must be one of {', '.join(_VERSIONS)}")
        return HttpConfig(
            config.username, config.password, config.scheme, config.credentials, config.headers,
            self.secret("ca"), certificate, key_, self.text("server_name") or "", self.flag("insecure_skip_verify"),
            oldest,
        )  # fmt: skip
