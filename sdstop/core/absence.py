"""Sources of technologies that a node does not have: their answer is known without importing them.

`read` of a source is a function of the answers of a host. An index of sources (sdstop.collectors.declared) has the
calls that each makes where all that it asks for is absent, and how it ends then. As long as the host answers so,
nothing else of the source is imported; with the first other answer the source itself is imported, and asks again.

There are two such courses, because the absence of evidence is either recorded, or the capture lacks the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Host, Unreadable
from sdstop.core.later import Later
from sdstop.core.model import Reading

_COSTLY = frozenset({"run", "answer", "request"})
"""Calls that a live node is not asked twice: its source is imported at once."""


class Call(Struct, frozen=True):
    """Call of a method of a host that has nothing: it raises Absent, or returns a false value."""

    method: str
    given: tuple[Any, ...]


class End(Struct, frozen=True):
    """End of a source that found nothing: the error of one of its calls, Absent of its own, or no rows.

    `call` is the number of the call. An error of its own has a `key`, and the `detail` of that call's error if there is
    one; without either, it is an empty list.
    """

    call: int = -1
    key: str = ""
    detail: str = ""
    recorded: bool = True

    def result(self, errors: dict[int, Absent]) -> tuple[Reading, ...]:
        """Return no rows, or raise Absent."""
        if self.call >= 0 and not self.key:
            raise errors[self.call]
        if self.key:
            detail = errors[self.call].detail if self.call >= 0 else self.detail
            raise Absent(self.key, detail, recorded=self.recorded)
        return ()


class NothingFound(Struct, frozen=True):
    """Calls of a source that finds nothing, and its end."""

    calls: tuple[Call, ...]
    end: End


class ReadIfPresent:
    """`read` of a source that is imported when the host has something for it."""

    __slots__ = ("_courses", "_imported", "_passes", "_read")

    def __init__(
        self, read: Later, courses: tuple[NothingFound, NothingFound], passes: tuple[type[Unreadable], ...]
    ) -> None:
        """Keep the courses where absence is recorded, and where nothing is recorded; both begin alike.

        `passes`: such errors of the first call that can fail end the source at once, and are its own.
        """
        self._read = read
        self._courses = courses
        self._passes = passes
        self._imported = False

    def __call__(self, host: Host) -> Iterable[Reading]:
        """Return the rows. Raises the errors of the source."""
        if not self._imported:
            found = self._absent(host)
            if found is not None:
                end, errors = found
                return end.result(errors)
            self._imported = True
        rows: Iterable[Reading] = self._read(host)
        return rows

    @property
    def is_imported(self) -> bool:
        """Whether the host had something for the source so far."""
        return self._imported

    def imported(self) -> Any:
        """Import the source and return its function."""
        return self._read.imported()

    def _absent(self, host: Host) -> tuple[End, dict[int, Absent]] | None:
        """Return how the source ends without being imported, and the errors so far; None if it must be imported.

        Raises the first error if it is that of the source.
        """
        told, untold = self._courses
        if not isinstance(host, EvidenceHost) and any(call.method in _COSTLY for call in (*told.calls, *untold.calls)):
            return None
        course, errors = told, dict[int, Absent]()
        place = 0
        while place < len(course.calls):
            call = course.calls[place]
            try:
                if getattr(host, call.method)(*call.given) or call.method not in QUIET:
                    return None
            except Absent as error:
                if not error.recorded and not errors:
                    course = untold
                elif error.recorded is (course is untold) and told != untold:
                    return None  # some of it is recorded
                errors[place] = error
            except Unreadable as error:
                if isinstance(error, self._passes) and not errors:
                    raise
                return None
            place += 1
        return course.end, errors


QUIET = frozenset({"recorded", "rests", "rest"})
"""Methods that return a false value where there is nothing; the others raise Absent."""
