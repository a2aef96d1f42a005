"""Secrets: the password of a gateway and its tokens. They are read only when needed, and never shown."""

from __future__ import annotations

import base64
import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

VARIABLE = "SDSTOP_POWERFLEX_PASSWORD"
CREDENTIAL = "powerflex"
"""Name of the systemd credential."""
HIDDEN = "***"
_LONGEST = 4096
"""Bytes of a password."""
_SHORTEST = 6
"""Minimum number of characters of a secret that is removed from responses; shorter ones match by chance."""


class SecretError(Exception):
    """Raised if no usable password is available; one line with the reason and the fix."""


class Secret:
    """Text that is always displayed as `***`. `reveal` returns it for sending."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Store the text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(("secret", self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


Finder = Callable[[], Secret]
"""Function that returns the current password, because files may change. Raises SecretError."""


def finder(file: str | None, environment: Mapping[str, str], given: Secret | None = None) -> Finder | None:
    """Return the source of the password: systemd's credential, else the file, else `given`; None if there is none."""
    folder = environment.get("CREDENTIALS_DIRECTORY")
    credential = os.path.join(folder, CREDENTIAL) if folder else None  # noqa: PTH118
    if credential is not None and os.path.exists(credential):  # noqa: PTH110
        return lambda: _content(credential, guarded=True)
    if file is not None:
        return lambda: _content(file, guarded=False)
    return None if given is None else lambda: given


def of_environment() -> Secret | None:
    """Remove the password from this process's environment and return it, None if it is not set.

    The original memory is overwritten, so that /proc/PID/environ of this process and of its later children no longer
    contains the password.
    """
    text = os.environ.pop(VARIABLE, None)
    prefix = f"{VARIABLE}=".encode()
    if text is None:
        return None
    _overwrite(prefix, os.fsencode(text))
    return Secret(text) if text else None


def _overwrite(prefix: bytes, value: bytes) -> None:
    """Overwrite a variable in the initial environment block of the process (proc(5): /proc/PID/stat, env_start)."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            words = file.read().rpartition(b")")[2].split()
        start, end = int(words[47]), int(words[48])
        if not 0 < end - start < 1 << 21:
            return
        block = ctypes.string_at(start, end - start)
    except (OSError, ValueError, IndexError):
        return
    at = 0
    for entry in block.split(b"\0"):
        if entry == prefix + value:
            ctypes.memset(start + at + len(prefix), ord("*"), len(value))
        at += len(entry) + 1


def _content(path: str, *, guarded: bool) -> Secret:
    """Return the first line of a file that only its owner may read; `guarded`: systemd protects the directory."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        hint = "" if error.errno != errno.ENOENT else f": umask 077; put the password into {path}"
        raise SecretError(f"{path}: {error.strerror}{hint}") from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise SecretError(f"{path} is not a regular file")
        if not guarded and about.st_mode & 0o077:
            mode = stat.S_IMODE(about.st_mode)
            raise SecretError(f"password file {path} has mode {mode:04o}; run chmod 600 {path}")
        if not guarded and about.st_uid not in {os.geteuid(), 0}:
            raise SecretError(f"password file {path} is owned by uid {about.st_uid}; run chown {os.geteuid()} {path}")
        data = os.read(descriptor, _LONGEST + 1)
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from None
    finally:
        os.close(descriptor)
    line = data.partition(b"\n")[0].rstrip(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or len(data) > _LONGEST:
        raise SecretError(f"{path} holds no password in its first line")
    return Secret(text)


def cleaned(data: bytes, secrets: Iterable[Secret]) -> bytes:
    """Return foreign data with all secrets removed: in plain text, Base64, URL encoding and JSON escapes."""
    for secret in secrets:
        text = secret.reveal()
        if len(text) < _SHORTEST:
            continue
        for form in _forms(text.encode("utf-8", "surrogatepass")):
            if form in data:
                data = data.replace(form, HIDDEN.encode())
    return data


def _forms(text: bytes) -> set[bytes]:
    quoted = b"".join(bytes([c]) if (chr(c).isalnum() and c < 128) or c in b"-._~" else b"%%%02X" % c for c in text)
    escaped = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    coded = base64.b64encode(text).rstrip(b"=")
    return {text, quoted, quoted.lower(), escaped, escaped.replace(b"/", b"\\/"), coded, coded.translate(_URL_SAFE)}


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
