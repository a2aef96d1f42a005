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

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.expression import expression


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
    may differ from that of the node (changed, lost, cut), "" if it is complete.
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


RAN = "ran:"
"""Prefix of the key of a collector's runs where keys of evidence and of runs are in one list."""

UNDATED = -1_000_000_000.0
"""Time assigned to the first frame if its date is unknown; no real clock reports this value."""


def dated(taken: float) -> bool:
    """Return whether a timestamp is a real date; for others only differences are meaningful."""
    return taken >= 0


class Frame(Struct, frozen=True):
    """Result of one sampling round: only the evidence that changed. Frames are numbered from 1.

    `taken` is Unix time if known (`dated`), otherwise seconds counted from UNDATED.
    `ran` is None if the collectors that ran were not recorded (a hand-made capture); all that can run are then assumed.
    `fresh` is set for the first frame of a further run of a recorder: it holds all that is known, and nothing of the
    frames before it does. `quiet` is set for a sample of a node at rest (see sdstop.sampler.rest): it is kept, and the
    next frame without the mark, which arrives with it, is judged. `unordered`: it may be older than the frames before
    it, or show another node; their findings stay.
    """

    number: int
    taken: float
    monotonic: float
    evidence: Sequence[Evidence] = ()
    ran: Mapping[str, RunMark] | None = None
    fresh: bool = False
    quiet: bool = False
    unordered: bool = False


NO_OUTPUT = "no output"
"""Reason for a block that has only a command line."""
ELSEWHERE = "from another node"
"""Reason for a block with the prompt of another host."""


class TextBlock(Struct, frozen=True):
    """Block of a pasted text: the output of a command, or lines between outputs.

    `line` is the number of its first line (from 1), `lines` how many it has, `first` the first one with text. `key` is
    its evidence, "" if its command is unknown or not supported; `unused` is why it did not become evidence. `node` is
    the host in its prompt, if most outputs are from another host. `program` is the one that was typed for an output
    that is not supported.
    """

    line: int
    lines: int
    first: str
    key: str = ""
    unused: str = ""
    node: str = ""
    program: str = ""


class Origin(Struct, frozen=True):
    """Source of frames: the displayed node name, and whether they are live or from a capture.

    `made` describes the container of the frames for display. `late` is why the newest frame does not show the moment
    that was asked for, "" if it does.
    `collectors` are the ones that read the node; None if not recorded. `blocks` are those of a pasted text, in order.
    """

    name: str
    live: bool = False
    complete: bool = True
    note: str = ""
    privileged: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    collectors: frozenset[str] | None = None
    made: str = "a capture"
    blocks: tuple[TextBlock, ...] = ()
    late: str = ""


class Cite(Struct, frozen=True, gc=False):
    """Quotation from raw evidence.

    `key` and `frame` identify the evidence; `excerpt` is the quoted text, `mark` the relevant part of it. `host` is the
    node that it is from, "" for that of the finding.
    """

    key: str
    frame: int
    excerpt: str
    mark: str = ""
    host: str = ""


_BINARY = expression(rb"[\x01-\x08\x0e-\x1a]")
_PRINTABLE = expression(rb"[\x20-\x7e]{3,}")


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


_NOT_KEPT = expression(r"[^A-Za-z0-9._=:+-]")


def slug(text: str, taken: Mapping[str, str] | None = None) -> str:
    """Return the file name of a command or an answer in a capture.

    Characters outside `[A-Za-z0-9._=:+-]` become `_`. A slug longer than 150 characters, or one that `taken` (slug to
    text) maps to a different text, is cut at 150 and followed by `~` and 8 hex digits of the text's SHA-256.
    """
    name = _NOT_KEPT.sub("_", text)
    if len(name) > 150 or (taken is not None and taken.get(name, text) != text):
        import hashlib  # noqa: PLC0415  # keys of a live node are files and rarely long

        name = f"{name[:150]}~{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    return name


_BODY = expression(r"(.*)(~[0-9a-f]{8})", re.DOTALL)


def http_slug(key: str) -> str:
    """Return the name of the file that holds an HTTP exchange: `http:GET /api/x` -> `GET__api_x`.

    A checksum of the request body is preserved: `http:POST /api/x~01ab23cd` -> `POST__api_x~01ab23cd`.
    """
    kind, _, text = key.partition(":")
    if kind == "http-slug":  # hand-made captures have only the slug
        return text
    asked = _BODY.fullmatch(text)
    return slug(asked[1]) + asked[2] if asked else slug(text)


def stored_keys(key: str) -> list[str]:
    """Return the keys under which a capture can have a piece of evidence, best match first."""
    kind, _, command = key.partition(":")
    if kind == "cmd":
        return [key, f"slug:{slug(command)}"]
    return http_keys(key) if kind == "http" else [key]


def http_keys(key: str) -> list[str]:
    """Return the keys under which an HTTP exchange may be recorded, best match first."""
    plain = key.partition("~")[0]
    keys = [key, plain, *(f"http-slug:{http_slug(name)}" for name in (key, plain))]
    return list(dict.fromkeys(keys))
