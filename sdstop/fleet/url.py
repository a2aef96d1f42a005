"""URL of a server, with the path prefix of its API."""

from __future__ import annotations

import re

from msgspec import Struct

from sdstop.core.config_error import ConfigError
from sdstop.core.expression import expression
from sdstop.core.format import safe

_PORTS = {"http": 80, "https": 443}
_AUTHORITY = expression(r"(?:\[([0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)\]|([0-9A-Za-z._%-]+))(?::([0-9]{1,5})?)?")
_API = expression(r"(/api/v1(/query)?)?/*$")


class Url(Struct, frozen=True):
    """Scheme (http or https), host, port and path prefix (`/prometheus`, "" for none), without credentials."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return safe(f"{self.scheme}://{host}{'' if self.port == _PORTS[self.scheme] else f':{self.port}'}{self.prefix}")


def parse_url(text: str) -> Url:
    """Return the parts of `https://prometheus.example:9090/prefix`. Raises ConfigError, which quotes no credentials.

    A trailing `/api/v1`, `/api/v1/query` or slash is dropped.
    """
    scheme, separator, rest = text.partition("://")
    authority = re.split(r"[/?#]", rest if separator else text, maxsplit=1)[0]
    if "@" in authority:
        raise ConfigError(
            "credentials in a URL are visible in the process list; use basic_auth in a file and --http-config"
        )
    if not separator or scheme.lower() not in _PORTS or not authority:
        raise ConfigError(f'invalid URL "{safe(text, 80)}"; use http://HOST:PORT or https://HOST/PREFIX')
    if re.search(r"[?#]", rest):
        raise ConfigError("--prometheus has a ? or #; use the address alone, and labels as --match")
    if not re.fullmatch(r"[\x21-\x7e]*", rest):
        raise ConfigError("--prometheus has characters that are not allowed in a URL; write them as %XX")
    match = _AUTHORITY.fullmatch(authority)
    port = int(match[3]) if match is not None and match[3] else _PORTS[scheme.lower()]
    if match is None or not 0 < port < 65536:
        raise ConfigError("invalid host or port in --prometheus; use http://HOST:PORT")
    name, percent, zone = (match[1] or match[2]).partition("%")  # interface names are case-sensitive
    host = f"{name.lower()}{percent}{zone}"
    return Url(scheme.lower(), host, port, _API.sub("", rest.removeprefix(authority)))
