"""Client of the local socket. Imports little: `sdstop check` must answer in a few hundredths of a second.

The socket may belong to a program that is hung or hostile: an exchange ends at its deadline, an answer has a maximum
size, and nothing in it is executed or printed unseen.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Mapping

SOCKET = "/run/sdstop/exporter.sock"
"""Default path of the socket."""
VERSION = 1
"""Version of the protocol."""
DEADLINE = 1.0
"""Maximum seconds of a check."""
LARGEST = 1 << 20
"""Maximum bytes of an answer to a check."""

_CREDENTIALS = struct.Struct("3i")
_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


class LocalError(Exception):
    """Raised if the exporter does not answer as expected; one line with the reason."""


def check(
    path: str, asked: Mapping[str, object], seconds: float = DEADLINE, config: str = ""
) -> tuple[int, str, float]:
    """Return the exit code, the output and the age in seconds of the sample that the exporter judged.

    `asked` are the rules, the subjects and whether it is strict; `config` is a file whose settings must be in effect.
    Raises LocalError, within `seconds`.
    """
    end = time.monotonic() + seconds
    try:
        with connected(path, seconds) as line:
            line.sendall(request("check", asked))
            answer = _object(_line(line, end))
    except TimeoutError:
        raise LocalError(f"no answer within {seconds:g} s") from None
    except OSError as error:
        raise LocalError(reason(error)) from None
    code, text, age = answer.get("code"), answer.get("text"), answer.get("age")
    if (
        not isinstance(code, int)
        or code not in range(4)
        or not isinstance(text, str)
        or not isinstance(age, int | float)
    ):
        raise LocalError("not an answer to a check")
    if not text.startswith(f"SDSTOP {_WORDS[code]} - ") or not all(c.isprintable() or c == "\n" for c in text):
        raise LocalError("not the output of a check")
    if os.geteuid() == 0 and answer.get("privileged") is not True:
        raise LocalError("the exporter is not root")
    read = answer.get("config")
    if config and not (isinstance(read, list) and config in read):
        raise LocalError(f"the exporter does not use {''.join(c for c in config if c.isprintable())}")
    return code, text, float(age)


def request(ask: str, asked: Mapping[str, object] | None = None) -> bytes:
    """Return a request as a line."""
    return json.dumps({"sdstop": VERSION, "ask": ask, **(asked or {})}).encode() + b"\n"


def connected(path: str, seconds: float) -> socket.socket:
    """Return a connection to the exporter. Raises OSError, and LocalError if a stranger has the socket.

    Trusted are root, the caller, and the owner of the socket's directory, which is the exporter's.
    """
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        line.settimeout(seconds)
        line.connect(path)
        _, user, _ = _CREDENTIALS.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        _trust(user, path)
    except BaseException:
        line.close()
        raise
    return line


def _trust(user: int, path: str) -> None:
    if user not in {0, os.geteuid(), os.stat(os.path.dirname(path) or ".").st_uid}:  # noqa: PTH116, PTH120  # cheap
        raise LocalError(f"the socket belongs to user {user}")


def reason(error: OSError) -> str:
    """Return why the connection failed."""
    if isinstance(error, FileNotFoundError):
        return "no exporter"
    if isinstance(error, ConnectionRefusedError):
        return "the exporter has ended"
    return (error.strerror or str(error)).lower()


def _line(line: socket.socket, end: float) -> bytes:
    """Return the first line received. Raises LocalError, TimeoutError and OSError."""
    held = b""
    while b"\n" not in held:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        line.settimeout(left)
        part = line.recv(1 << 16)
        if not part:
            raise LocalError("the exporter closed the connection")
        held += part
        if len(held) > LARGEST:
            raise LocalError("the answer is too large")
    return held.partition(b"\n")[0]


def _object(data: bytes) -> dict[str, object]:
    """Return an answer of this version. Raises LocalError."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise LocalError("not an answer of sdstop") from None
    if not isinstance(answer, dict) or answer.get("sdstop") != VERSION:
        raise LocalError("another version of sdstop")
    said = answer.get("error")
    if said is not None:
        raise LocalError("".join(c for c in str(said)[:200] if c.isprintable()))
    return answer
