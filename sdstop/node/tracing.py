"""Tracing: the kernel's counting of requests by size for `--io-sizes`. The one thing that sdstop changes on a node.

In tracefs an instance is made, `sdstop`, two hist triggers are written there, and nobody else's are touched; then all
of it is removed. A process of its own does that, the keeper: when who asked for it is gone, however that ended (the
socket between them is closed then), or after its time. While it lives it holds a file of the instance open, and the
kernel removes no instance of which a file is open. So one that can be removed has lost its keeper, and `sweep`
removes it: at every start, by root.
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
"""Seconds that are counted where nothing else ends it: in a dashboard that is left open."""

_ENTRIES = 8192
"""Devices times sizes times directions that a histogram has room for; the kernel takes some 2 MB for so many."""
_FIELDS = {"block_rq_issue": ("bytes", "nr_sector"), "block_bio_queue": ("nr_sector",)}
"""What the events call a request's size; the former has it in bytes since Linux 4.11."""
_HELD = "tracing_on"
_ANSWER = 5.0
"""Seconds that are waited for the first count."""
_PARTING = 3.0
"""Seconds that closing waits for the removal."""
_BUSY = 0.05
"""Seconds between attempts to remove what is being read at the moment."""


class TracingRefused(Exception):  # noqa: N818
    """The kernel does not count. Says why in one line."""


class Counting:
    """Requests are counted by size, for so many seconds at most, until this is closed or its process ends."""

    def __init__(self, seconds: float = LONGEST, tracefs: Path = TRACEFS) -> None:
        """Begin. It forks: before there are threads. `said` is why nothing is counted, "" if all is well."""
        self._socket, theirs = socket.socketpair()
        self._pid: int | None = os.fork()
        if self._pid == 0:
            _be_keeper(theirs, seconds, tracefs)
        theirs.close()
        self.said = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and wait until it is removed, three seconds at most: what takes longer is done without anybody."""
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
            return f"tracefs did not answer within {_ANSWER:g} s"
        answer = self._socket.recv(4096)
        return answer[1:].decode("utf-8", "replace") if answer else "the process that was to do it ended"


def sweep(tracefs: Path = TRACEFS) -> bool:
    """Remove the instance of a keeper that was killed; return whether there was one. Others are left alone."""
    instance = tracefs / "instances" / NAME
    try:
        if not _is_ours(instance):
            return False
        instance.rmdir()
    except OSError:  # there is none, as nearly always; or somebody has it open: it is counting
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
    """Count until the other end is closed or the time is over."""
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
    """Make the instance; return it, and the descriptor that keeps it. Raises Refused and OSError."""
    events = tracefs / "events" / "block"
    if not events.is_dir():
        raise TracingRefused(f"there are no events of block devices; mount -t tracefs tracefs {tracefs}")
    if not (events / "block_rq_issue" / "hist").exists():
        raise TracingRefused("this kernel has no hist triggers (CONFIG_HIST_TRIGGERS)")
    sweep(tracefs)
    instance = tracefs / "instances" / NAME
    try:
        instance.mkdir(0o700)
    except FileExistsError:
        raise TracingRefused(_whose(instance)) from None
    held = None
    try:
        held = os.open(instance / _HELD, os.O_RDONLY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # nothing is traced, so no processor needs a buffer of a megabyte
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
    """Return the trigger that counts by a field, as the kernel prints it too."""
    return f"hist:keys=dev,{field},rwbs:vals=hitcount:sort=dev,{field}:size={_ENTRIES}"


def _field(event: Path) -> str:
    """Return the field of an event that has the size."""
    declared = (event / "format").read_text("ascii", "replace")
    return next((name for name in _FIELDS[event.name] if f" {name};" in declared), _FIELDS[event.name][-1])


def _remove(instance: Path) -> None:
    """Remove our triggers, then the instance; who reads it just now delays that. What stays is swept later.

    An instance in which somebody else began to trace meanwhile stays.
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
    """Whether there is nothing in an instance but what sdstop writes, perhaps not even that yet. Raises OSError."""
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
    """Write in one piece, without making or emptying a file: tracefs takes what is written for a command."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)


def _whose(instance: Path) -> str:
    with contextlib.suppress(OSError):
        if not _is_ours(instance):
            return f"{instance} is there, and not as sdstop makes it: it is read, and left alone"
    return "another sdstop is counting already: its counts are shown, as long as it does"


def _why(error: OSError) -> str:
    if error.errno in {errno.EPERM, errno.EACCES}:
        return "refused even to root: a container, kernel lockdown or a security module keeps it"
    if error.errno == errno.EINVAL:
        return "this kernel has no hist triggers that count by size"
    return f"{error.filename or 'tracefs'}: {error.strerror}"
