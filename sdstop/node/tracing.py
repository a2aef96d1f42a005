"""Tracing: request counts by size from the kernel, for `--io-sizes`. The only change that sdstop makes to a node.

sdstop creates the tracefs instance `sdstop`, writes two hist triggers there, never touches those of others, and
removes the instance afterwards. A separate process, the keeper, does this: the instance is removed when the requesting
process has ended for any reason (its socket is then closed), or when the time is over. The keeper holds a file of the
instance open, and the kernel does not remove an instance that has open files. An instance that can be removed has
therefore lost its keeper; `remove_leftovers` removes it at every start as root.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from sdstop.node.child import detach

TRACEFS = Path("/sys/kernel/tracing")
NAME = "sdstop"
LONGEST = 600.0
"""Maximum duration of counting in seconds, for a dashboard that is left open."""

_ENTRIES = 8192
"""Capacity of a histogram: devices times sizes times directions; takes about 2 MB of kernel memory."""
_FIELDS = {"block_rq_issue": ("bytes", "nr_sector"), "block_bio_queue": ("nr_sector",)}
"""Possible fields with a request's size, by event; block_rq_issue has `bytes` since Linux 4.11."""
_HELD = "tracing_on"
_ANSWER = 5.0
"""Seconds to wait for the start of counting."""
_PARTING = 3.0
"""Seconds to wait for the removal on closing."""
_BUSY = 0.05
"""Seconds between attempts to remove an instance that is being read."""


class TracingRefused(Exception):  # noqa: N818
    """Raised if tracefs counting is unavailable; one line with the reason."""


class SizeCounting:
    """Counting of requests by size for at most `seconds`, until it is closed or its process ends."""

    def __init__(self, seconds: float = LONGEST, tracefs: Path = TRACEFS) -> None:
        """Start counting. Forks, so call it before starting threads. `failure` is a reason, "" if it works."""
        self._socket, theirs = socket.socketpair()
        self._pid: int | None = os.fork()
        if self._pid == 0:
            _be_keeper(theirs, seconds, tracefs)
        theirs.close()
        self.failure = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop counting, and wait at most three seconds for the removal, which the keeper completes in any case."""
        self._socket.close()
        pid, self._pid = self._pid, None
        end = time.monotonic() + _PARTING
        with contextlib.suppress(OSError):
            while pid is not None and os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < end:
                time.sleep(0.002)

    def _answer(self) -> str:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(_ANSWER * 1000):
            return f"no response from tracefs within {_ANSWER:g} s"
        answer = self._socket.recv(4096)
        return answer[1:].decode("utf-8", "replace") if answer else "the helper process ended"


def remove_leftovers(tracefs: Path = TRACEFS) -> bool:
    """Remove the instance of a killed keeper, and return whether there was one. Other instances are not touched."""
    instance = tracefs / "instances" / NAME
    try:
        if not _is_ours(instance):
            return False
        instance.rmdir()
    except OSError:  # usually it does not exist; or it is open, because its keeper is counting
        return False
    return True


def _be_keeper(connection: socket.socket, seconds: float, tracefs: Path) -> NoReturn:
    try:
        detach(connection)
        signal.signal(signal.SIGTERM, _end)
        with contextlib.suppress(SystemExit, OSError):
            _keep(connection, seconds, tracefs)
    finally:
        os._exit(0)


def _end(*_: object) -> NoReturn:
    raise SystemExit


def _keep(connection: socket.socket, seconds: float, tracefs: Path) -> None:
    """Count until the other end of the connection is closed or the time is over."""
    try:
        instance, held = _begin(tracefs)
    except (TracingRefused, OSError) as error:
        connection.send(b"-" + (_why(error) if isinstance(error, OSError) else str(error)).encode())
        return
    try:
        connection.send(b"+")
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(held)
        _remove(instance)


def _begin(tracefs: Path) -> tuple[Path, int]:
    """Create the instance; return it and the descriptor that keeps it open. Raises TracingRefused and OSError."""
    events = tracefs / "events" / "block"
    if not events.is_dir():
        raise TracingRefused(f"tracefs has no events of block devices; run mount -t tracefs tracefs {tracefs}")
    if not (events / "block_rq_issue" / "hist").exists():
        raise TracingRefused("kernel lacks CONFIG_HIST_TRIGGERS")
    remove_leftovers(tracefs)
    instance = tracefs / "instances" / NAME
    try:
        instance.mkdir(0o700)
    except FileExistsError:
        raise TracingRefused(_whose(instance)) from None
    held = None
    try:
        held = os.open(instance / _HELD, os.O_RDONLY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # nothing is traced, so a buffer of 1 MB per CPU is not needed
            _write(instance / "buffer_size_kb", "4")
        for event in _FIELDS:
            _write(instance / "events" / "block" / event / "trigger", trigger(_field(events / event)))
    except BaseException:
        if held is not None:
            os.close(held)
        _remove(instance)
        raise
    return instance, held


def trigger(field: str) -> str:
    """Return the trigger that counts by a field, in the form that the kernel also prints."""
    return f"hist:keys=dev,{field},rwbs:vals=hitcount:sort=dev,{field}:size={_ENTRIES}"


def _field(event: Path) -> str:
    """Return the name of an event's size field."""
    declared = (event / "format").read_text("ascii", "replace")
    return next((name for name in _FIELDS[event.name] if f" {name};" in declared), _FIELDS[event.name][-1])


def _remove(instance: Path) -> None:
    """Remove sdstop's triggers, then the instance; a concurrent reader delays that. `remove_leftovers` completes it.

    An instance in which another tool has started to trace is not removed.
    """
    for event, fields in _FIELDS.items():
        path = instance / "events" / "block" / event / "trigger"
        with contextlib.suppress(OSError):
            for line in {trigger(field) for field in fields}.intersection(_lines(path)):
                _write(path, f"!{line}")
    end = time.monotonic() + _PARTING
    while True:
        try:
            if not _is_ours(instance):
                return
            instance.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                return
            time.sleep(_BUSY)
        else:
            return


def _is_ours(instance: Path) -> bool:
    """Return whether an instance has no triggers, events or tracers but those of sdstop, if any. Raises OSError."""
    if not {f"block:{event}" for event in _FIELDS}.issuperset(_lines(instance / "set_event")):
        return False
    if _lines(instance / "current_tracer") != ["nop"]:
        return False
    return all(
        {trigger(field) for field in fields}.issuperset(_lines(instance / "events" / "block" / event / "trigger"))
        for event, fields in _FIELDS.items()
    )


def _lines(path: Path) -> list[str]:
    lines = path.read_text("utf-8", "replace").splitlines()
    return [line.strip().removesuffix(" [active]") for line in lines if line.strip() and not line.startswith("#")]


def _write(path: Path, text: str) -> None:
    """Write with one call, without O_CREAT or O_TRUNC: tracefs treats each write as a command."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)


def _whose(instance: Path) -> str:
    with contextlib.suppress(OSError):
        if not _is_ours(instance):
            return f"{instance} was not made by sdstop; it is read but not changed"
    return "another sdstop is already counting; its counts are shown"


def _why(error: OSError) -> str:
    if error.errno in {errno.EPERM, errno.EACCES}:
        return "denied even to root (container, kernel lockdown or security module)"
    if error.errno == errno.EINVAL:
        return "kernel lacks hist triggers that count by size"
    return f"{error.filename or 'tracefs'}: {error.strerror}"
