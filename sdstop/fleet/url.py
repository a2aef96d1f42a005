"""The address of a server, with the prefix under which its API stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from sdstop.core.format import safe
from sdstop.fleet.problem import SettingsError

_API = re.compile(r"(/api/v1(/query)?)?/*$")


@dataclass(frozen=True, slots=True)
class Url:
    """Scheme (http or https), host, port and path prefix (`/prometheus`, "" for none). It holds no credentials."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return safe(f"{self.scheme}://{host}{'' if self.port == usual else f':{self.port}'}{self.prefix}")


def parse_url(text: str) -> Url:
    """Return the parts of `https://prometheus.example:9090/prefix`. Raises SettingsError, which quotes no credentials.

    What people copy along (`/api/v1`, a slash at the end) is dropped.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise SettingsError("--prometheus is no URL; write http://HOST:PORT") from None
    if "@" in parts.netloc or parts.username is not None or parts.password is not None:
        raise SettingsError(
            "--prometheus holds a user or a password, which everybody sees who lists processes: write basic_auth into "
            "a file and name it with --http-config"
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"{safe(text, 80)!r} is no URL of a server; write http://HOST:PORT or https://HOST/PREFIX")
    if parts.query or parts.fragment:
        raise SettingsError("--prometheus has a ? or a #; write the address alone, and labels as --match")
    if not re.fullmatch(r"[\x21-\x7e]*", parts.path) or not re.fullmatch(r"[0-9A-Za-z._:%-]+", parts.hostname):
        raise SettingsError("--prometheus has characters that no URL has; write them as %XX")
    prefix = _API.sub("", parts.path)
    return Url(parts.scheme, parts.hostname, port or {"http": 80, "https": 443}[parts.scheme], prefix)
