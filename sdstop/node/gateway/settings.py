"""Settings: the section [powerflex] of the config file.

[powerflex]
gateways = ["https://gw1.example", "https://10.0.0.12:8443"]
user = "monitor"
password_file = "/etc/sdstop/powerflex.password"
ca = "/etc/sdstop/gateway-ca.pem"         # or: fingerprint = "sha256:ab:cd:..."
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from sdstop.core.config_error import ConfigError, InvalidSetting
from sdstop.core.expression import expression
from sdstop.core.settings import convert

_ADDRESS = expression(r"(https?)://([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.%a-z]{2,60}\])(?::([0-9]{1,5}))?/?")
_SECRET = expression("pass|secret|token|key", re.IGNORECASE)
_TEXTS = ("user", "password_file", "ca")
MOST = 8
"""Maximum number of gateways."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
_Fingerprint = Annotated[
    str,
    msgspec.Meta(pattern=r"^(sha256:)?([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}\Z", description="sha256: and 64 hex digits"),
]


class Address(msgspec.Struct, frozen=True):
    """Network address of a gateway."""

    host: str
    port: int
    tls: bool = True

    @property
    def shown(self) -> str:
        """`host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class PowerflexSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section `[powerflex]` as written in the config file."""

    gateways: Annotated[
        str | list[str], msgspec.Meta(description=f"a list of 1 to {MOST} addresses, https://HOST[:PORT]")
    ]
    user: Annotated[_Text, msgspec.Meta(description="the name of a user, without colon; the role Monitor suffices")]
    password_file: _Text | None = None
    ca: _Text | None = None
    fingerprint: _Fingerprint | None = None
    insecure: bool = False
    old_tls: bool = False
    login: Literal["auto", "token", "bearer"] = "auto"

    def __post_init__(self) -> None:
        """Check constraints that the types do not express. Raises InvalidSetting."""
        for name in _TEXTS:
            if not str(getattr(self, name) or "").isprintable():
                raise InvalidSetting(name, "must be printable text")
        if ":" in self.user:
            raise InvalidSetting("user", "must not have a colon")
        if self.ca is not None and self.fingerprint is not None:
            raise InvalidSetting("", "cannot combine ca and fingerprint")
        if self.insecure and (self.ca is not None or self.fingerprint is not None):
            raise InvalidSetting("", "cannot combine insecure with ca or fingerprint")


class Settings(msgspec.Struct, frozen=True):
    """Validated settings; `fingerprint` is 64 hex digits of the certificate's SHA-256. They contain no secret."""

    gateways: tuple[Address, ...]
    user: str
    password_file: str | None = None
    ca: str | None = None
    fingerprint: str | None = None
    insecure: bool = False
    old_tls: bool = False
    login: str = "auto"

    @property
    def verified(self) -> str:
        """Method by which the gateway's identity is verified."""
        if not all(address.tls for address in self.gateways):
            return "none: plain HTTP"
        if self.insecure:
            return "NOT VERIFIED"
        return "fingerprint" if self.fingerprint else "ca" if self.ca else "system"


def settings(section: Mapping[str, Any]) -> Settings:
    """Read the section `[powerflex]`. Raises ConfigError."""
    for name in section.keys() - set(PowerflexSection.__struct_fields__):
        if _SECRET.search(name):
            raise ConfigError(f"powerflex.{name}: passwords are not allowed in this file; use password_file")
    given = convert(section, PowerflexSection, "powerflex")
    gateways = _addresses([given.gateways] if isinstance(given.gateways, str) else given.gateways)
    if not given.insecure and not all(address.tls for address in gateways):
        raise ConfigError(
            "powerflex.gateways: http:// sends the password in clear text; set insecure = true to allow it"
        )
    return Settings(
        gateways, given.user, _absolute(given.password_file), _absolute(given.ca),
        given.fingerprint and given.fingerprint.lower().removeprefix("sha256:").replace(":", ""),
        given.insecure, given.old_tls, given.login,
    )  # fmt: skip


def _addresses(texts: list[str]) -> tuple[Address, ...]:
    """Return the addresses, each once. Raises ConfigError."""
    if not 0 < len(texts) <= MOST:
        raise ConfigError(f"powerflex.gateways: expected a list of 1 to {MOST} addresses, https://HOST[:PORT]")
    found = []
    for index, text in enumerate(texts):
        match = _ADDRESS.fullmatch(text)
        port = int(match[3]) if match and match[3] else 443 if match and match[1] == "https" else 80
        if match is None or not 0 < port < 65536:
            raise ConfigError(
                f"powerflex.gateways[{index}]: expected https://HOST[:PORT], without user, password and path"
            )
        found.append(Address(match[2].strip("[]"), port, match[1] == "https"))
    return tuple(dict.fromkeys(found))


def _absolute(path: str | None) -> str | None:
    """Return an absolute path, because the sampler's process has another working directory."""
    return None if path is None else os.path.abspath(path)  # noqa: PTH100
