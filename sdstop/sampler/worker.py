"""Worker: the child process that takes frames. It does not read the node in its main thread.

It ends with the parent, however that ends: it receives a signal, and finds the socket closed.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import NoReturn

from msgspec import Struct

from sdstop.core.collector import Collector
from sdstop.core.heap import return_free_blocks, return_large_blocks
from sdstop.core.host import Host
from sdstop.core.parcel import TOGETHER
from sdstop.node.answers import hotplug
from sdstop.node.child import detach, end_with
from sdstop.node.descendants import end_marked
from sdstop.node.early_events import EarlyEvents
from sdstop.node.live import LiveHost
from sdstop.sampler import wire
from sdstop.sampler.scheduler import Scheduler, Sent

GARBAGE = 5_000
"""New objects after which the worker collects garbage; each error of a read that a source keeps leaves fifty."""
RETURNED = 60
"""Frames after which the worker returns free memory: a round of 25 000 files leaves 3 MB."""
STARTS = 30.0
"""Seconds after which a worker that has not begun to read is ended, and started again."""


class WorkerConfig(Struct, frozen=True):
    """Configuration of a worker."""

    collectors: Sequence[Collector]
    host: Callable[[], Host]
    interval: float
    patience: float
    hotplug: bool
    rest: float = 0.0


class Beginning(Struct, frozen=True):
    """Start of a worker, after `pause` seconds. The marks of its commands begin with `mark`.

    It ends processes with marks that begin with `killed`: those left behind by commands of the worker before it.
    """

    mark: str
    pause: float = 0.0
    killed: str = ""


def be_worker(task: WorkerConfig, begins: Beginning, connection: socket.socket, parent: int) -> NoReturn:
    """Run as the worker, in a new process: send frames until the parent ends."""
    status = 1
    try:
        detach(connection)
        if begins.killed:  # in a thread: the environment of a hanging process cannot be read
            threading.Thread(target=end_marked, args=(begins.killed,), name="leftovers", daemon=True).start()
        poll = select.poll()
        poll.register(connection, select.POLLHUP)
        if begins.pause and poll.poll(math.ceil(begins.pause * 1000)):  # the parent has ended
            os._exit(0)
        signal.alarm(math.ceil(STARTS))  # beside threads of the parent, a lock may have been forked while it was held
        host = task.host()

        def close() -> None:
            if isinstance(host, LiveHost):
                host.close()

        def end(*_: object) -> None:
            close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)  # so that the parent sees the signal

        signal.signal(signal.SIGTERM, end)
        signal.alarm(0)
        connection.send(wire.hello(os.getpid()))
        gc.freeze()  # skips the parent's objects, so that their pages stay shared
        gc.set_threshold(GARBAGE, 10, 10)
        return_large_blocks()  # before the first thread, which would get an arena
        if isinstance(host, LiveHost):
            host.adopt(begins.mark)
        run_worker(task, host, connection, lambda: end_with(parent))
        close()
        status = 0
    except ConnectionError:
        status = 0
    except BaseException as error:  # noqa: BLE001  # the parent handles any failure
        with contextlib.suppress(OSError):
            connection.send(wire.note(f"the sampler failed: {type(error).__name__}: {error}"))
    finally:
        os._exit(status)


def run_worker(task: WorkerConfig, host: Host, connection: socket.socket, at_leisure: Callable[[], None]) -> None:
    """Send frames until the other end is closed; `at_leisure` is called after the launch of the first round."""
    signs = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    hints: list[float] = []
    """Times since which events of block devices are received without any (monotonic); infinite after an event."""

    def wake() -> None:
        os.eventfd_write(signs, 1)

    def hint(since: float = math.inf) -> None:
        hints.append(since)
        wake()

    scheduler = Scheduler(task.collectors, host, _sender(connection), wake, task.interval, task.patience)
    scheduler.rest.seconds = task.rest
    poll = select.poll()
    poll.register(signs, select.POLLIN)
    poll.register(connection, select.POLLIN)
    early = EarlyEvents.begun() if task.hotplug else None
    scheduler.step()
    at_leisure()
    if task.hotplug:
        threading.Thread(target=_watch, args=(hint, connection, early), name="hotplug-start", daemon=True).start()
    while True:
        ready = dict(poll.poll(math.ceil(scheduler.pause() * 1000)))
        if signs in ready:
            os.eventfd_read(signs)
        if connection.fileno() in ready:
            request = connection.recv(wire.PACKET)
            if not request:
                return
            _obey(scheduler, request)
        if hints:
            since = max(hints)
            hints.clear()
            if math.isinf(since):
                scheduler.look()
            else:
                scheduler.hears(since)
        scheduler.step()


def _sender(connection: socket.socket) -> Callable[[Sent], None]:
    """Return what sends frames; those of watches wait for the judged one behind them, in one packet with it."""
    frames, held = count(1), list[Sent]()

    def send(frame: Sent) -> None:
        held.append(frame)
        if frame[4]:
            return
        for packet in wire.packets(*held):
            connection.send(packet)
        held.clear()
        is_large = len(frame[2]) >= TOGETHER
        if is_large:
            gc.collect()  # garbage of a round of many files holds what else is freed; the parent's objects are frozen
        if next(frames) % RETURNED == 0 or is_large:  # files that are as they were are in no frame
            return_free_blocks()

    return send


def _obey(scheduler: Scheduler, request: bytes) -> None:
    if request == wire.RESCAN:
        scheduler.rescan()
    elif request[:1] == b"W":
        scheduler.rest.allowed = request[1:] != b"\0"
    else:
        scheduler.interval = wire.requested_interval(request)


def _watch(hint: Callable[[float], None], connection: socket.socket, early: EarlyEvents | None) -> None:
    reason = hotplug(lambda: hint(math.inf))
    if reason:
        with contextlib.suppress(OSError):
            connection.send(wire.note(reason))
    elif early is None or early.any():
        hint(math.inf)  # finds devices that changed before the listener started
    else:
        hint(early.since)
