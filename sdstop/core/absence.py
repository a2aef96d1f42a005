"""Sources of technologies that a node does not have: their result is known without importing them.

The result of a source depends only on its calls of a host. The index of sources (sdstop.core.index) has the calls
that each makes where everything that it reads is absent, and how it ends then. As long as all of these calls find
nothing, the source is not imported. With the first that finds something the source is imported, and reads everything.

There are two such courses, because the absence of evidence is either recorded, or the capture lacks the evidence. A
source that looks in the list of block devices for those of its technology has two more, for a list without any of them.
"""

# Annotations are not postponed: an index is decoded by them (sdstop.core.index), and their text would be evaluated.

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.guard import caught
from sdstop.core.host import Absent, Host, Unreadable, again
from sdstop.core.later import Later

_COSTLY = frozenset({"run", "answer", "request"})
"""Calls that a live node is not asked twice: the source is imported instead, unless the node lacks the program."""


class Call(Struct, frozen=True, array_like=True):
    """Call of a method of a host that has nothing: it raises Absent, or returns a false value."""

    method: str
    given: tuple[str | float | tuple[str, ...] | None, ...]

    @property
    def argv(self) -> tuple[str, ...]:
        """Command that the call runs, () for other calls."""
        return self.given[0] if isinstance(self.given[0], tuple) else ()


class End(Struct, frozen=True):
    """End of a source that found nothing: the error of one of its calls, Absent of its own, or no rows.

    `call` is the number of the call. An error of its own has a `key`, and the `detail` of that call's error if there is
    one. Without either, the function returns `value`: no rows, or the fingerprint of a node that has nothing.
    """

    call: int = -1
    key: str = ""
    detail: str = ""
    recorded: bool = True
    value: tuple[tuple[tuple[None, ...] | None, ...] | None, ...] = ()

    def result(self, errors: dict[int, Absent]) -> Any:
        """Return the value, or raise Absent."""
        if self.call >= 0 and not self.key:
            error = errors[self.call]
            raise Absent(error.key, error.detail, recorded=error.recorded)
        if self.key:
            detail = errors[self.call].detail if self.call >= 0 else self.detail
            raise Absent(self.key, detail, recorded=self.recorded)
        return self.value


class NothingFound(Struct, frozen=True, array_like=True):
    """Calls of a source that finds nothing, and its end."""

    calls: tuple[Call, ...]
    end: End


BLOCK = "/sys/block"
"""Folder with all block devices, in which sources look for those of their technology."""
KINDS = {
    "sd": ("sda",), "vd": ("vda",), "xvd": ("xvda",), "hd": ("hda",), "nvme": ("nvme0n1", "nvme0c0n1"), "md": ("md0",),
    "loop": ("loop0",), "ram": ("ram0",), "zram": ("zram0",), "sr": ("sr0",), "fd": ("fd0",), "mmcblk": ("mmcblk0",),
    "pmem": ("pmem0",), "dm-": ("dm-0",), "bcache": ("bcache0",), "zd": ("zd0",), "etherd!": ("etherd!e1.1",),
    "rbd": ("rbd0",), "nbd": ("nbd0",), "drbd": ("drbd0",),
}  # fmt: skip
"""Kinds of block devices by how their names begin, and names of each."""


class Elsewhere(Struct, frozen=True):
    """Courses where the list of block devices has none of a source's: recorded and not, one if both are alike.

    `takes` are the kinds of devices that the source does not ignore; it does not ignore those of unknown kinds either.
    """

    takes: tuple[str, ...]
    courses: tuple[NothingFound, ...]


class IfPresent:
    """Function of a source, `read` or `fingerprint`, that is imported when the host has something for it."""

    __slots__ = ("_courses", "_elsewhere", "_function", "_ignored", "_imported", "_own", "_passes")

    def __init__(
        self,
        function: Later,
        courses: tuple[NothingFound, NothingFound],
        passes: tuple[type[Unreadable], ...],
        own: tuple[str, ...] = (),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Keep the courses where absence is recorded, and where nothing is recorded; both begin alike.

        `passes`: such errors of the first call that can fail end the source at once, and are its own. `own`: recorded
        commands that change nothing by being known, because the source runs them itself.
        """
        self._function = function
        self._courses = courses
        self._passes = passes
        self._own = frozenset(own)
        self._elsewhere = elsewhere
        self._ignored = () if elsewhere is None else tuple(kind for kind in KINDS if kind not in elsewhere.takes)
        self._imported = False

    def __call__(self, host: Host) -> Any:
        """Return the result of the function. Raises its errors."""
        if not self._imported:
            found = self._absent(host)
            if found is not None:
                end, errors = found
                return end.result(errors)
            self._imported = True
        return self._function(host)

    @property
    def first(self) -> Call | None:
        """First call that can fail."""
        return next((call for call in self._courses[0].calls if call.method not in QUIET), None)

    @property
    def is_imported(self) -> bool:
        """Whether the module of the function is imported."""
        return self._imported or self._function.is_imported

    def imported(self) -> Any:
        """Import the source and return its function."""
        return self._function.imported()

    def _is_answered(self, host: Host, call: Call) -> bool:
        """Return whether a call finds something. Raises the errors of hosts."""
        if call.method == "recorded":
            return not self._own.issuperset(host.recorded(str(call.given[0])))
        if call.method == "recorded_texts":
            return bool(host.recorded_texts(str(call.given[0]), _any))
        if self._elsewhere and _lists_devices(call):
            return not all(name.startswith(self._ignored) for name in host.entries(BLOCK))
        return bool(getattr(host, call.method)(*call.given)) or call.method not in QUIET

    def _absent(self, host: Host) -> tuple[End, dict[int, Absent]] | None:
        """Return how the source ends without being imported, and the errors so far; None if it must be imported.

        Raises the first error if it is that of the source.
        """
        told, untold = self._courses
        live = not isinstance(host, EvidenceHost)
        course, errors, is_elsewhere = told, dict[int, Absent](), False
        place = 0
        while place < len(course.calls):
            call = course.calls[place]
            if live and call.method in _COSTLY and not _is_lacking(host, call):
                return None
            try:
                if self._is_answered(host, call):
                    return None
                if self._elsewhere and not is_elsewhere and _lists_devices(call):
                    is_elsewhere, made, is_untold = True, course.calls[: place + 1], bool(errors) and course is untold
                    told, untold = self._elsewhere.courses[0], self._elsewhere.courses[-1]
                    course = untold if is_untold else told
                    if course.calls[: place + 1] != made:
                        return None
            except Absent as error:
                if is_elsewhere and _lists_devices(call):
                    return None
                if not error.recorded and not errors:
                    course = untold
                elif error.recorded is (course is untold) and told != untold:
                    return None  # some of it is recorded
                errors[place] = again(error)
            except Unreadable as error:
                if isinstance(error, self._passes) and not errors:
                    raise
                return None
            place += 1
        return course.end, errors


def _lists_devices(call: Call) -> bool:
    return call.method == "entries" and call.given[0] == BLOCK


def _any(_: str) -> bool:
    return True


def _is_lacking(host: Host, call: Call) -> bool:
    return call.method != "answer" and host.lacks(call.argv[0] if call.method == "run" else "http")


QUIET = frozenset({"recorded", "recorded_texts", "rests", "rest"})
"""Methods that return a false value where there is nothing; the others raise Absent."""


_EVERYWHERE = frozenset({
    "/etc/fstab", "/proc/diskstats", "/proc/net/dev", "/proc/net/snmp", "/proc/net/tcp", "/proc/pressure/io",
    "/proc/self/mounts", "/proc/stat", "/sys/block", "/sys/class/net", "/sys/devices/system/node",
})  # fmt: skip
"""Files and folders that every node has."""


def import_common(functions: Iterable[Callable[[Host], Any]]) -> None:
    """Import sources that ask first for something that every node has: once for both processes of a fork."""
    for function in functions:
        first = function.first if isinstance(function, IfPresent) else None
        if isinstance(function, IfPresent) and first is not None and _is_everywhere(first):
            caught(function.imported)  # one that cannot be imported is a failed run of its source


def _is_everywhere(call: Call) -> bool:
    return call.method == "answer" or call.given[0] in _EVERYWHERE
