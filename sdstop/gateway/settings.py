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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r"(https?)://([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.%a-z]{2,60}\])(?::([0-9]{1,5}))?/?")
_FINGERPRINT = re.compile(r"(?:sha256:)?((?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2})")
_SECRET = re.compile("pass|secret|token|key", re.IGNORECASE)
MOST = 8
"""Gateways at most."""
LOGINS = ("auto", "token", "bearer")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a gateway listens."""

    host: str
    port: int
    tls: bool = True

    @property
    def shown(self) -> str:
        """`host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the section says; `fingerprint` is 64 hex digits of the certificate's SHA-256. Holds no secret."""

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
        """How it is known that the gateway is the one that is meant."""
        if not all(address.tls for address in self.gateways):
            return "none: plain HTTP"
        if self.insecure:
            return "NOT VERIFIED"
        return "fingerprint" if self.fingerprint else "ca" if self.ca else "system"


def settings(section: Mapping[str, Any]) -> Settings:
    """Read the section. Raises ValueError with one line that names the key and goes on from its name."""
    for name in sorted(section.keys() - _READERS.keys()):
        known = f"; there are {', '.join(sorted(_READERS))}"
        never = ": a password is never written here; there is password_file"
        raise ValueError(f"{name}: there is no such setting{never if _SECRET.search(name) else known}")
    given = {name: _READERS[name](name, value) for name, value in section.items()}
    if "gateways" not in given:
        raise ValueError("gateways is missing: a list of https://HOST[:PORT]")
    if "user" not in given:
        raise ValueError("user is missing: one of the role Monitor is enough")
    if given.get("ca") and given.get("fingerprint"):
        raise ValueError("ca and fingerprint exclude each other")
    found = Settings(**given)
    if found.insecure and (found.ca or found.fingerprint):
        raise ValueError("insecure and ca or fingerprint exclude each other")
    if not found.insecure and not all(address.tls for address in found.gateways):
        raise ValueError("gateways: http:// sends the password in clear; where that is wanted: insecure = true")
    return found


def _gateways(name: str, value: Any) -> tuple[Address, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST:
        raise ValueError(f"{name} must be a list of 1 to {MOST} addresses, https://HOST[:PORT]")
    found = []
    for text in listed:
        match = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
        port = int(match[3]) if match and match[3] else 443 if match and match[1] == "https" else 80
        if match is None or not 0 < port < 65536:
            shown = "" if isinstance(text, str) and "@" in text else f" ({text!r:.80})"  # it may hold a password
            raise ValueError(f"{name} must be https://HOST[:PORT], without user, password and path{shown}")
        found.append(Address(match[2].strip("[]"), port, match[1] == "https"))
    return tuple(dict.fromkeys(found))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 1000:
        raise ValueError(f"{name} must be a text")
    return value


def _user(name: str, value: Any) -> str:
    if ":" in _text(name, value):
        raise ValueError(f"{name} must not have a colon")
    return str(value)


def _path(name: str, value: Any) -> str:
    return os.path.abspath(_text(name, value))  # noqa: PTH100  # the sampler's process has another working directory


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false")  # noqa: TRY004  # one kind of error for what is written wrongly
    return value


def _fingerprint(name: str, value: Any) -> str:
    match = _FINGERPRINT.fullmatch(_text(name, value))
    if match is None:
        raise ValueError(f"{name} must be sha256: and 64 hex digits")
    return match[1].replace(":", "").lower()


def _login(name: str, value: Any) -> str:
    if value not in LOGINS:
        raise ValueError(f"{name} must be one of {', '.join(LOGINS)}")
    return str(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "gateways": _gateways, "user": _user, "password_file": _path, "ca": _path, "fingerprint": _fingerprint,
    "insecure": _flag, "old_tls": _flag, "login": _login,
}  # fmt: skip
