"""Evidence: what a node answered, raw, with when and how it came.

A frame is what changed since the one before.

Keys name evidence everywhere (captures, findings, screens):
a file by its absolute path (`/proc/diskstats`), a link's target by `link:PATH`, a folder's entries by
`list:PATH`, a command by `cmd:` and its argv joined by one space, a psutil or udev answer by
`answer:QUESTION`, what a gateway said over HTTP by `http:METHOD PATH`, with `~` and 8 hex digits of the request's body
where it had one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, field
from msgspec.structs import replace


class Outcome(enum.StrEnum):
    """How a read, or a collector's run, ended."""

    OK = "ok"
    ABSENT = "absent"
    DENIED = "denied"
    FAILED = "failed"
    TIMEOUT = "timeout"


class Evidence(Struct, frozen=True, gc=False):
    """One answer of the node.

    `data` is the file's content, the command's stdout, a link's target, a folder's entries one a line, an answer as
    JSON, or an HTTP body, of which `exit` is the status and `stderr` the type. `taken` is Unix time, `monotonic` and
    `duration` are seconds; None where a hand-made capture does not say.
    """

    key: str
    outcome: Outcome = Outcome.OK
    data: bytes = b""
    detail: str = ""
    taken: float | None = None
    monotonic: float | None = None
    duration: float | None = None
    stderr: bytes = b""
    exit: int | None = None

    def same(self, other: Evidence | None) -> bool:
        """Whether the other one says the same, whenever it was taken."""
        return (
            other is not None
            and self.data == other.data
            and self.outcome is other.outcome
            and self.exit == other.exit
            and self.stderr == other.stderr
            and self.detail == other.detail
        )

    def holding(self, data: bytes, stderr: bytes = b"") -> Evidence:
        """Return the same evidence with other data."""
        return replace(self, data=data, stderr=stderr)


class RunMark(Struct, frozen=True):
    """That a collector ran: when it began (monotonic seconds), how long it took (None.

    It is still hanging).
    """

    started: float
    duration: float | None = None


UNDATED = -1_000_000_000.0
"""When the first frame was taken, where nobody knows its date: no clock has ever shown such a time."""


def dated(taken: float) -> bool:
    """Whether it is known when something was taken; of what is not, only the differences count."""
    return taken >= 0


class Frame(Struct, frozen=True):
    """What a sampling round learnt: only evidence that changed. Numbers count from 1.

    `taken` is Unix time where that is known (`dated`), else it counts from UNDATED.
    `ran` is None where nobody noted which collectors ran (a hand-made capture): then all that could, did.
    """

    number: int
    taken: float
    monotonic: float
    evidence: tuple[Evidence, ...] = ()
    ran: Mapping[str, RunMark] | None = None


class Origin(Struct, frozen=True):
    """Where frames come from: the node's name as shown, and whether they are live or of a capture.

    `made` is what holds them, in a person's words.
    `collectors` are those that read the node; None where nobody noted it.
    """

    name: str
    live: bool = False
    complete: bool = True
    note: str = ""
    privileged: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    collectors: frozenset[str] | None = None
    made: str = "a capture"


class Cite(Struct, frozen=True):
    """A piece of raw evidence.

    Its key, the frame's number, the quoted text, and the part of it that matters.
    """

    key: str
    frame: int
    excerpt: str
    mark: str = ""


_BINARY = re.compile(rb"[\x01-\x08\x0e-\x1a]")
_PRINTABLE = re.compile(rb"[\x20-\x7e]{3,}")


def readable(data: bytes, errors: str = "surrogateescape") -> str:
    """Return what a person can read of evidence: text as it is, of a binary table its strings, one a line."""
    if b"\0" in data and _BINARY.search(data):
        return "\n".join(found.decode("ascii") for found in _PRINTABLE.findall(data))
    return data.decode("utf-8", errors)


GATEWAY = "powerflex.gateway"
"""The question whose answer is the state of the gateway's client: which gateway answered, and how old that is."""


def command_key(argv: Sequence[str]) -> str:
    """Return the key of a command's evidence."""
    return "cmd:" + " ".join(argv)


def http_key(method: str, path: str, body: object = None) -> str:
    """Return the key of an HTTP exchange; of a request's body (JSON data) it has a checksum of the canonical form."""
    if body is None:
        return f"http:{method} {path}"
    import hashlib  # noqa: PLC0415  # most nodes ask no gateway
    import json  # noqa: PLC0415

    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return f"http:{method} {path}~{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=:+-")


def slug(text: str, taken: Mapping[str, str] | None = None) -> str:
    """Return the file name of a command or an answer in a capture.

    Characters outside `[A-Za-z0-9._=:+-]` become `_`; over 150 characters, or where `taken` (slug to text)
    has it for another text, it is cut at 150 and followed by `~` and 8 hex digits of the text's sha256.
    """
    name = "".join(c if c in _KEPT else "_" for c in text)
    if len(name) > 150 or (taken is not None and taken.get(name, text) != text):
        import hashlib  # noqa: PLC0415  # the live node's keys are files, and hardly ever long

        name = f"{name[:150]}~{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    return name


_BODY = re.compile(r"(.*)(~[0-9a-f]{8})", re.DOTALL)


def http_slug(key: str) -> str:
    """Return the name of the file that holds an HTTP exchange: `http:GET /api/x` -> `GET__api_x`.

    A checksum of the request's body stays as it is: `http:POST /api/x~01ab23cd` -> `POST__api_x~01ab23cd`.
    """
    kind, _, text = key.partition(":")
    if kind == "http-slug":  # of a capture that was made by hand: that is all that is known of it
        return text
    asked = _BODY.fullmatch(text)
    return slug(asked[1]) + asked[2] if asked else slug(text)


def http_keys(key: str) -> list[str]:
    """Return the keys under which an HTTP exchange may be recorded, the best first."""
    plain = key.partition("~")[0]
    keys = [key, plain, *(f"http-slug:{http_slug(name)}" for name in (key, plain))]
    return list(dict.fromkeys(keys))


def json_excerpt(data: bytes, needle: str) -> tuple[str, str]:
    """Return the part of a JSON document that matters, and the text that marks it, as the document is shown.

    `IDENT>NAME,NAME`: of the object with this id, or under this key, its name and those fields; a name alone: the first
    field of that name. A document is shown one field a line: `"NAME": value`. Both are "" if it is not there.
    """
    return _document(data).excerpt(needle)


class _Document:
    """A JSON document, and what was quoted of it: rules quote the same every second, and it may be large."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8", "replace")
        self._known: dict[str, tuple[str, str]] = {}

    @cached_property
    def _ids(self) -> dict[str, re.Match[str]]:
        """Where each id stands that an object gives as its own, the first of equal ones."""
        return {match[1]: match for match in reversed([*_ID.finditer(self._text)])}

    @cached_property
    def _keys(self) -> dict[str, re.Match[str]]:
        return {match[1]: match for match in reversed([*_KEY.finditer(self._text)])}

    def excerpt(self, needle: str) -> tuple[str, str]:
        """Return what `json_excerpt` does, worked out once."""
        if needle not in self._known:
            self._known[needle] = self._find(needle)
        return self._known[needle]

    def _find(self, needle: str) -> tuple[str, str]:
        text = self._text
        ident, _, names = needle.partition(">")
        if not names:
            found = re.search(rf'"{re.escape(ident)}"\s*:\s*("[^"]*"|[^\s,}}\]]+)', text) if ident else None
            return (found[0], f'"{ident}": {found[1]}') if found else ("", "")
        if match := self._ids.get(ident):
            start, mark, lines = _object_around(text, match), f'"id": "{ident}"', []
        elif match := self._keys.get(ident):
            start, mark, lines = match.end(), f'"{ident}": {{', [match[0]]
        else:
            return "", ""
        fields = _fields(text, start)
        kept = [fields[name] for name in ("name", "id", *names.split(",")) if name in fields]
        return "\n".join([*lines, *kept]), mark


_ID = re.compile(r'"id"\s*:\s*"([^"]{1,200})"')
_NAME = re.compile(r'[\s,]*"([^"\\]{1,200})"\s*:\s*')
_KEY = re.compile(r'"([^"]{1,200})"\s*:\s*(?=\{)')


@lru_cache(maxsize=4)
def _document(data: bytes) -> _Document:
    return _Document(data)


def _fields(text: str, start: int) -> dict[str, str]:
    """Return the fields of the object that begins at `start`, each as it stands there with its name."""
    found: dict[str, str] = {}
    at = start + 1
    while match := _NAME.match(text, at):
        end = _end(text, match.end())
        if end == match.end():
            break
        found.setdefault(match[1], text[match.start(1) - 1 : end])
        at = end
    return found


def _end(text: str, start: int) -> int:
    """Return where a JSON value ends that begins at `start`; `start` if none does."""
    import json  # noqa: PLC0415

    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start


def _object_around(text: str, match: re.Match[str]) -> int:
    """Return where the innermost object begins that a field belongs to, found by trying braces before it."""
    start = match.start()
    for _ in range(200):
        start = text.rfind("{", 0, start)
        if start < 0:
            break
        if _end(text, start) > match.end():
            return start
    return match.start()
