"""Worker and supervisor: the child processes that take frames. Neither reads the node in its main thread.

Both end with the parent, however it ends: they receive a signal, and find the socket closed.
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
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from msgspec import Struct

from sdstop.core.collector import Collector
from sdstop.core.host import Host
from sdstop.node.answers import hotplug
from sdstop.node.child import detach, end_with
from sdstop.node.descendants import adopt_orphans, end_orphans
from sdstop.node.live import LiveHost
from sdstop.sampler import wire
from sdstop.sampler.scheduler import Scheduler, Sent

FIRST_PAUSE = 0.5
"""Seconds between a crash and the next worker; doubled with every further crash."""
LONGEST_PAUSE = 30.0
SETTLED = 60.0
"""Run time in seconds after which a crash counts as the first one."""
PARTING = 0.2
"""Seconds that a worker has to end after SIGTERM."""


class WorkerConfig(Struct, frozen=True):
    """Configuration of a worker."""

    collectors: Sequence[Collector]
    host: Callable[[], Host]
    interval: float
    patience: float
    hotplug: bool
    rest: float = 0.0


def supervise(task: WorkerConfig, connection: socket.socket, parent: int) -> NoReturn:
    """Run as the supervisor, in a new process: keep a worker running until the parent ends or requests the end."""
    detach(connection)
    current: int | None = None
    crashes = 0

    def end(*_: object) -> NoReturn:
        if current is not None:
            _part(current)
        _end_orphans(current)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    tied = False
    while True:
        began = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the worker's process number is known
        me = os.getpid()
        current = os.fork()
        if current == 0:
            _be_worker(task, connection, me)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if not tied:  # after the first worker's start, so as not to delay it
            end_with(parent)
            adopt_orphans()
            tied = True
        status = os.waitstatus_to_exitcode(os.waitpid(current, 0)[1])
        current = None
        _end_orphans(None)
        if status == 0:
            os._exit(0)
        crashes = crashes + 1 if time.monotonic() - began < SETTLED else 1
        pause = min(FIRST_PAUSE * 2 ** min(crashes - 1, 9), LONGEST_PAUSE)
        how = f"was ended by {_name(-status)}" if status < 0 else "failed"
        try:
            connection.send(wire.text(b"X", f"the sampler {how} and starts again after {pause:g} s"))
        except OSError:
            os._exit(0)
        time.sleep(pause)


def _be_worker(task: WorkerConfig, connection: socket.socket, supervisor: int) -> NoReturn:
    status = 1
    try:
        host = task.host()

        def close() -> None:
            if isinstance(host, LiveHost):
                host.close()

        def end(*_: object) -> None:
            close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)  # so that the supervisor sees the signal

        signal.signal(signal.SIGTERM, end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        connection.send(wire.hello(os.getpid()))
        gc.freeze()  # skips the parent's objects, so that their pages stay shared
        if isinstance(host, LiveHost):
            host.adopt()
        run_worker(task, host, connection, lambda: end_with(supervisor))
        close()
        status = 0
    except ConnectionError:
        status = 0
    except BaseException as error:  # noqa: BLE001  # the supervisor handles any failure
        with contextlib.suppress(OSError):
            connection.send(wire.text(b"N", f"the sampler failed: {type(error).__name__}: {error}"))
    finally:
        os._exit(status)


def run_worker(task: WorkerConfig, host: Host, connection: socket.socket, at_leisure: Callable[[], None]) -> None:
    """Send frames until the other end is closed; `at_leisure` is called after the launch of the first round."""
    signs = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    hints: list[None] = []

    def wake() -> None:
        os.eventfd_write(signs, 1)

    def hint() -> None:
        hints.append(None)
        wake()

    def send(frame: Sent) -> None:
        for packet in wire.packets(frame):
            connection.send(packet)

    scheduler = Scheduler(task.collectors, host, send, wake, task.interval, task.patience)
    scheduler.rest.seconds = task.rest
    poll = select.poll()
    poll.register(signs, select.POLLIN)
    poll.register(connection, select.POLLIN)
    scheduler.step()
    at_leisure()
    if task.hotplug:
        threading.Thread(target=_watch, args=(hint, connection), name="hotplug-start", daemon=True).start()
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
            hints.clear()
            scheduler.look()
        scheduler.step()


def _obey(scheduler: Scheduler, request: bytes) -> None:
    if request == wire.RESCAN:
        scheduler.rescan()
    elif request[:1] == b"W":
        scheduler.rest.allowed = request[1:] != b"\0"
    else:
        scheduler.interval = wire.requested_interval(request)


def _watch(hint: Callable[[], None], connection: socket.socket) -> None:
    reason = hotplug(hint)
    if reason:
        with contextlib.suppress(OSError):
            connection.send(wire.text(b"N", reason))
    else:
        hint()  # finds devices that changed before the listener started


def _part(pid: int) -> None:
    """Send SIGTERM to a worker, and SIGKILL if it does not end; an unkillable worker is left behind."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + PARTING
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.002)


def _end_orphans(worker: int | None) -> None:
    """End the processes that the commands of a killed worker left behind."""
    end_orphans([] if worker is None else [worker], (), "", lambda _: True)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
