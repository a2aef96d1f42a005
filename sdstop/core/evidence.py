"""Evidence: raw results of reads on a node, with time and outcome.

A frame holds the evidence that changed since the previous frame.

Evidence is identified by the same key in captures, findings and screens:
a file by its absolute path (`/proc/diskstats`), a link target by `link:PATH`, a directory listing by `list:PATH`,
a command by `cmd:` and its argv joined by single spaces, a psutil or udev answer by `answer:QUESTION`, a gateway's
HTTP response by `http:METHOD PATH`, followed by `~` and 8 hex digits of a hash of the request body, if there was one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, field
from msgspec.structs import replace


class Outcome(enum.StrEnum):
    """Result of a read or of a collector run; only a run can be unread: its evidence is there and not understood."""

    OK = "ok"
    ABSENT = "absent"
    DENIED = "denied"
    FAILED = "failed"
    TIMEOUT = "timeout"
    UNREAD = "unread"


class Evidence(Struct, frozen=True, gc=False):
    """Result of one read: a file, command output, link, listing, answer or HTTP response.

    `data` is the file content, the command's stdout, the link target, the directory entries one per line, an answer as
    JSON, or an HTTP body; for HTTP, `exit` is the status and `stderr` the content type header. `taken` is Unix time,
    `monotonic` and `duration` are seconds; None if a hand-made capture does not record them. `fault` is why the data
    may not be what the node returned (changed, lost, cut), "" if it is whole.
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
    fault: str = ""

    def same(self, other: Evidence | None) -> bool:
        """Return whether both have equal content, ignoring timestamps."""
        return (
            other is not None
            and self.data == other.data
            and self.outcome is other.outcome
            and self.exit == other.exit
            and self.stderr == other.stderr
            and self.detail == other.detail
            and self.fault == other.fault
        )

    def holding(self, data: bytes, stderr: bytes = b"") -> Evidence:
        """Return a copy with different data."""
        return replace(self, data=data, stderr=stderr)


class Defect(Struct, frozen=True):
    """Reason why nothing good can be concluded from a piece of evidence, although it was read.

    It is incomplete or damaged, or it contradicts itself (`contradiction`): then `reason` quotes both statements, and
    nothing bad can be concluded either. `subject` is the thing concerned, as findings name it, "" if the whole piece
    is.
    """

    key: str
    reason: str
    subject: str = ""
    contradiction: bool = False

    @property
    def text(self) -> str:
        """The key and the reason."""
        return f"{self.key}: {self.reason}"


class RunMark(Struct, frozen=True):
    """Record of a collector run.

    `started` and `duration` are seconds, `started` of the monotonic clock; `duration` is None while the run hangs.
    """

    started: float
    duration: float | None = None


UNDATED = -1_000_000_000.0
"""Time assigned to the first frame if its date is unknown; no real clock reports this value."""


def dated(taken: float) -> bool:
    """Return whether a timestamp is a real date; for others only differences are meaningful."""
    return taken >= 0


class Frame(Struct, frozen=True):
    """Result of one sampling round: only the evidence that changed. Frames are numbered from 1.

    `taken` is Unix time if known (`dated`), otherwise seconds counted from UNDATED.
    `ran` is None if the collectors that ran were not recorded (a hand-made capture); all that can run are then assumed.
    """

    number: int
    taken: float
    monotonic: float
    evidence: tuple[Evidence, ...] = ()
    ran: Mapping[str, RunMark] | None = None


class Origin(Struct, frozen=True):
    """Source of frames: the displayed node name, and whether they are live or from a capture.

    `made` describes the container of the frames for display.
    `collectors` are the ones that read the node; None if not recorded.
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
    """Quotation from raw evidence.

    `key` and `frame` identify the evidence; `excerpt` is the quoted text, `mark` the relevant part of it.
    """

    key: str
    frame: int
    excerpt: str
    mark: str = ""


_BINARY = re.compile(rb"[\x01-\x08\x0e-\x1a]")
_PRINTABLE = re.compile(rb"[\x20-\x7e]{3,}")


def readable(data: bytes, errors: str = "surrogateescape") -> str:
    """Return evidence in readable form: text unchanged, binary data as its printable strings, one per line."""
    if b"\0" in data and _BINARY.search(data):
        return "\n".join(found.decode("ascii") for found in _PRINTABLE.findall(data))
    return data.decode("utf-8", errors)


GATEWAY = "powerflex.gateway"
"""Question for the state of the gateway client: which gateway responded, and the age of the response."""


def command_key(argv: Sequence[str]) -> str:
    """Return the evidence key of a command."""
    return "cmd:" + " ".join(argv)


def http_key(method: str, path: str, body: object = None) -> str:
    """Return the key of an HTTP exchange, with a checksum of the canonical JSON form of the request body, if any."""
    if body is None:
        return f"http:{method} {path}"
    import hashlib  # noqa: PLC0415  # most nodes query no gateway
    import json  # noqa: PLC0415

    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return f"http:{method} {path}~{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=:+-")


def slug(text: str, taken: Mapping[str, str] | None = None) -> str:
    """Return the file name of a command or an answer in a capture.

    Characters outside `[A-Za-z0-9._=:+-]` become `_`. A slug longer than 150 characters, or one that `taken` (slug to
    text) maps to a different text, is cut at 150 and followed by `~` and 8 hex digits of the text's SHA-256.
    """
    name = "".join(c if c in _KEPT else "_" for c in text)
    if len(name) > 150 or (taken is not None and taken.get(name, text) != text):
        import hashlib  # noqa: PLC0415  # keys of a live node are files and rarely long

        name = f"{name[:150]}~{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    return name


_BODY = re.compile(r"(.*)(~[0-9a-f]{8})", re.DOTALL)


def http_slug(key: str) -> str:
    """Return the name of the file that holds an HTTP exchange: `http:GET /api/x` -> `GET__api_x`.

    A checksum of the request body is preserved: `http:POST /api/x~01ab23cd` -> `POST__api_x~01ab23cd`.
    """
    kind, _, text = key.partition(":")
    if kind == "http-slug":  # hand-made captures have only the slug
        return text
    asked = _BODY.fullmatch(text)
    return slug(asked[1]) + asked[2] if asked else slug(text)


def http_keys(key: str) -> list[str]:
    """Return the keys under which an HTTP exchange may be recorded, best match first."""
    plain = key.partition("~")[0]
    keys = [key, plain, *(f"http-slug:{http_slug(name)}" for name in (key, plain))]
    return list(dict.fromkeys(keys))


def json_excerpt(data: bytes, needle: str) -> tuple[str, str]:
    """Return the relevant part of a JSON document, and the text that marks it in the displayed document.

    `IDENT>NAME,NAME` selects the name and the given fields of the object with this ID or under this key; a name alone
    selects the first field with that name. Documents are displayed one field per line: `"NAME": value`. Both results
    are "" if nothing matches.
    """
    return _document(data).excerpt(needle)


class _Document:
    """JSON document with cached excerpts: rules quote the same ones every second, and documents may be large."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8", "replace")
        self._known: dict[str, tuple[str, str]] = {}

    @cached_property
    def _ids(self) -> dict[str, re.Match[str]]:
        """Position of each object's ID; the first one if several are equal."""
        return {match[1]: match for match in reversed([*_ID.finditer(self._text)])}

    @cached_property
    def _keys(self) -> dict[str, re.Match[str]]:
        return {match[1]: match for match in reversed([*_KEY.finditer(self._text)])}

    def excerpt(self, needle: str) -> tuple[str, str]:
        """Return the result of `json_excerpt`, cached."""
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
    """Return the fields of the object that begins at `start`, each as its original text including the name."""
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
    """Return the end of the JSON value that begins at `start`, or `start` if there is none."""
    import json  # noqa: PLC0415

    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start


def _object_around(text: str, match: re.Match[str]) -> int:
    """Return the start of the innermost object that contains a field, found by trying the preceding braces."""
    start = match.start()
    for _ in range(200):
        start = text.rfind("{", 0, start)
        if start < 0:
            break
        if _end(text, start) > match.end():
            return start
    return match.start()
