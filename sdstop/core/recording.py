"""Recording: a host that delegates to another one and keeps every result as evidence."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from sdstop.core.evidence import Evidence, Outcome, command_key, http_key, slug
from sdstop.core.host import Absent, Denied, Failed, Host, Output, Reply, TimedOut, Unreadable
from sdstop.core.parcel import TOGETHER, Parcel

T = TypeVar("T")
_SHORT = 0.001
"""Seconds within which short reads have the same time."""
_MICROSECONDS = tuple(number / 1e6 for number in range(1001))
Listed = dict[str, str]
"""Directory listings of one sampling round, by path: a name in each line. As lists, those of 1000 disks take 4 MB."""

_OUTCOMES: dict[type[Unreadable], Outcome] = {
    Absent: Outcome.ABSENT,
    Denied: Outcome.DENIED,
    Failed: Outcome.FAILED,
    TimedOut: Outcome.TIMEOUT,
}


class RecordingHost(Host):
    """Host that delegates every call, returns the same result or error, and keeps it in `evidence` by key.

    Evidence missing from a capture ("not recorded") is not kept. Only one thread may make calls; others may read
    `current`, `asked`, a copy of `evidence` and after it `packed` at any time.
    """

    def __init__(
        self,
        host: Host,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        listed: Listed | None = None,
        keep: Callable[[str, bytes], bytes] | None = None,
        known: Callable[[Evidence], bool] | None = None,
        *,
        packs: bool = False,
    ) -> None:
        """Start with no evidence; `clock` returns monotonic, `wall` Unix seconds.

        `listed` shares directory listings of one sampling round: they are reused, and new ones are added.
        `keep` returns the part of a file that is kept, and returned to the caller, so that a replay reads the same.
        Evidence that is `known` is not kept (None: all is). With `packs`, much of it moves to `packed` as it is read.
        """
        self._host = host
        self._listed = listed
        self._keep = keep
        self._known = known
        self._clock = clock
        self._wall = wall
        self._recent = (-math.inf, -math.inf)
        """Unix and monotonic start of a short read, which those that end within _SHORT seconds of it share."""
        self._packs = packs
        self.evidence: dict[str, Evidence] = {}
        self.packed: list[Parcel] = []
        """Older pieces; `evidence` can have newer versions of them."""
        self.asked: tuple[str, float, float] | None = None
        """Key of the read in progress and its start (Unix and monotonic seconds); None between reads."""

    @property
    def current(self) -> str | None:
        """Key of the read in progress."""
        asked = self.asked
        return None if asked is None else asked[0]

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._ask(path, lambda: self._read(path), lambda data: data)

    def entries(self, path: str) -> list[str]:
        """Return the names in a directory, except those with a line break, which a list of lines cannot represent."""
        return self._ask(
            f"list:{path}",
            lambda: self._entries(path),
            lambda names: "\n".join(names).encode("utf-8", "surrogateescape"),
        )

    def link(self, path: str) -> str:
        """Return the target of a link."""
        return self._ask(
            f"link:{path}", lambda: self._host.link(path), lambda target: target.encode("utf-8", "surrogateescape")
        )

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Return the output of a command."""
        return self._ask(command_key(argv), lambda: self._host.run(argv, deadline), lambda output: output.stdout)

    def answer(self, question: str) -> Any:
        """Return an answer of psutil or udev."""
        return self._ask(
            f"answer:{question}", lambda: self._host.answer(question), lambda answer: _lines(answer).encode()
        )

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        """Return the response of a gateway."""
        return self._ask(
            http_key(method, path, body),
            lambda: self._host.request(method, path, body, deadline),
            lambda reply: reply.body,
        )

    def promptly(self, path: str, seconds: float) -> str:
        """Return a file as text; a late result is recorded as a timeout."""
        return self._ask(
            path, lambda: self._host.promptly(path, seconds), lambda text: text.encode("utf-8", "surrogateescape")
        )

    def lacks(self, what: str) -> bool:
        """Return whether the node lacks a program or a gateway."""
        return self._host.lacks(what)

    def rests(self, what: str, of: Hashable = None) -> bool:
        """Return whether a source must not be queried for now."""
        return self._host.rests(what, of)

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        """Suspend queries of a source."""
        self._host.rest(what, seconds, of)

    def recorded(self, program: str) -> list[str]:
        """Return the commands of a program that the other host has recorded."""
        return self._host.recorded(program)

    def recorded_texts(self, program: str, shows: Callable[[str], bool]) -> list[str]:
        """Return the keys of recorded outputs of a program that `shows` accepts."""
        return self._host.recorded_texts(program, shows)

    def recorded_output(self, name: str) -> Output:
        """Return the output of a recorded command; a name that may be a slug is kept as one."""
        key = f"slug:{name}" if slug(name) == name else f"cmd:{name}"
        return self._ask(key, lambda: self._host.recorded_output(name), lambda output: output.stdout)

    def let_go(self) -> None:
        """Forget the evidence and the listings."""
        self.evidence, self.packed, self._listed = {}, [], None

    def _read(self, path: str) -> bytes:
        data = self._host.read(path)
        return data if self._keep is None else self._keep(path, data)

    def _entries(self, path: str) -> list[str]:
        listed = None if self._listed is None else self._listed.get(path)
        if listed is not None:
            return listed.split("\n") if listed else []
        names = [name for name in self._host.entries(path) if "\n" not in name]
        if self._listed is not None:
            self._listed[path] = "\n".join(names)
        return names

    def _ask(self, key: str, ask: Callable[[], T], pack: Callable[[T], bytes]) -> T:
        taken, began = self._wall(), self._clock()
        self.asked = (key, taken, began)
        try:
            answer = ask()
            data = pack(answer)
        except Unreadable as error:
            if not (isinstance(error, Absent) and not error.recorded):
                outcome = _OUTCOMES.get(type(error), Outcome.FAILED)
                self._note(Evidence(key, outcome, b"", error.detail, *self._times(taken, began)))
            raise
        except ImportError as error:  # of the function that returns the part to keep
            self._note(Evidence(key, Outcome.FAILED, b"", str(error), *self._times(taken, began)))
            raise Failed(key, str(error)) from error
        finally:
            self.asked = None
        stderr, status = b"", None
        if isinstance(answer, Output):
            stderr, status = answer.stderr, answer.exit
        elif isinstance(answer, Reply):
            stderr, status = _headers(answer), answer.status
        self._note(Evidence(key, Outcome.OK, data, "", *self._times(taken, began), stderr, status))
        return answer

    def _times(self, taken: float, began: float) -> tuple[float, float, float]:
        """Return the start of a read that just ended (Unix and monotonic seconds), and its duration.

        Short ones have the start of the first of them, and whole microseconds: of 40 000 small files, three numbers
        each take 4 MB. A read that may count as hung has its own.
        """
        ended = self._clock()
        duration = ended - began
        if not 0.0 <= duration < _SHORT:
            return taken, began, duration
        if not 0.0 <= ended - self._recent[1] < _SHORT:
            self._recent = taken, began
        return *self._recent, _MICROSECONDS[round(duration * 1e6)]

    def _note(self, item: Evidence) -> None:
        if self._known is None or not self._known(item):
            self.evidence[item.key] = item
            if self._packs and len(self.evidence) >= TOGETHER:
                self.packed.append(Parcel(tuple(self.evidence.values())))
                self.evidence = {}  # last: a reader of `evidence`, then `packed`, misses no piece


def _headers(reply: Reply) -> bytes:
    """Return the only header of a reply that is kept; others contain session data and login addresses."""
    return f"Content-Type: {reply.kind}\n".encode("utf-8", "replace") if reply.kind else b""


def _lines(answer: Any) -> str:
    """Return an answer as JSON with one list or object item per line, as it is quoted."""
    if isinstance(answer, list) and answer:
        return "[" + ",\n ".join(map(json.dumps, answer)) + "]"
    if isinstance(answer, dict) and answer:
        return "{" + ",\n ".join(f"{json.dumps(str(k))}: {json.dumps(v)}" for k, v in answer.items()) + "}"
    return json.dumps(answer)
