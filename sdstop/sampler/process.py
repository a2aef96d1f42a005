"""Parent's side of the sampler."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame
from sdstop.core.host import Host
from sdstop.node.live import LiveHost
from sdstop.sampler import wire
from sdstop.sampler.scheduler import PATIENCE
from sdstop.sampler.worker import Beginning, WorkerConfig, be_worker

GRACE = 2.0
"""Seconds that a frame may be late before the sampler counts as silent."""
PARTING = 0.3
"""Seconds that closing waits for the child."""
FIRST_PAUSE = 0.5
"""Seconds between a crash and the next worker; doubled with every further crash."""
LONGEST_PAUSE = 30.0
"""Seconds until the child is started again after a crash."""
SETTLED = 60.0
"""Run time in seconds after which a crash counts as the first one."""


class Sampler:
    """Frames of the live node, taken in a child process that ends with this one. A context manager.

    It forks, so create it first, in the main thread, before threads and large imports. No method waits for the node:
    `receive` returns the frames available, and `close` leaves an unkillable process behind. A crashed worker is
    restarted by `receive`, after a growing pause; frame numbers and times continue, and `trouble` has the reason for
    the gap. The new one is forked beside threads: it uses none of their locks, as it reads with objects of its own.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        root: str = "/",
        *,
        host: Callable[[], Host] | None = None,
        interval: float = 1.0,
        patience: float = PATIENCE,
        hotplug: bool = False,
        rest: float = 0.0,
    ) -> None:
        """Start sampling every `interval` seconds.

        `host` creates the host in the child, by default the live one at `root` for these collectors. A frame waits at
        most `patience` seconds for slow collectors. With `hotplug`, hot-plugged block devices are noticed at once.
        `rest` is the number of seconds between rounds of all sources on a node at rest, 0: it never rests.
        """
        self._interval = interval
        self._asked = interval
        self._rests = True
        self._assembly = wire.FrameAssembly()
        self._gone = False
        self._task = WorkerConfig(
            tuple(collectors), host or (lambda: LiveHost(root, collectors)), interval, patience, hotplug, rest
        )
        self._ready = select.epoll()
        self._mark = ""
        self._crashes = 0
        self._start(0.0)

    def _start(self, pause: float) -> None:
        """Fork a worker that begins after `pause` seconds. Raises OSError."""
        killed, self._mark = self._mark, f"{os.getpid()}-{os.urandom(8).hex()}-"
        self._socket, theirs = wire.connected()
        self._began = time.monotonic() + pause
        parent = os.getpid()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until the child has no handlers
        try:
            self._pid: int | None = os.fork()
            if self._pid == 0:
                be_worker(self._task, Beginning(self._mark, pause, killed), theirs, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            theirs.close()
        self._ready.register(self._socket, select.EPOLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def interval(self) -> float:
        """Seconds between frames."""
        return self._interval

    @property
    def alive(self) -> bool:
        """Whether more frames are possible: False after `close`, or if no worker can be started."""
        return not self._gone

    @property
    def trouble(self) -> str:
        """Known reason for missing frames, else ""."""
        return self._assembly.trouble

    @property
    def note(self) -> str:
        """Message of the child about its own work: hot-plug events unavailable, error that ended a worker."""
        return self._assembly.note

    @property
    def worker(self) -> int | None:
        """Process number of the worker, None while there is none."""
        return self._assembly.worker

    def fileno(self) -> int:
        """Return the descriptor that is readable if `receive` has data, for event loops; it never changes.

        It is never readable again once the sampler is not `alive`, and -1 after `close`.
        """
        return -1 if self._ready.closed else self._ready.fileno()

    def receive(self) -> list[Frame]:
        """Return the frames received since the last call, possibly none. Never waits."""
        frames: list[Frame] = []
        while not self._gone:
            try:
                packet = self._socket.recv(wire.PACKET, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                packet = b""
            if not packet:
                self._lose()
                break
            frames += self._assembly.add(packet)
            if self._assembly.began:
                self._assembly.began = False
                if self._interval != self._asked:
                    self._request(wire.interval(self._interval))
                if not self._rests:
                    self._request(wire.rest(allowed=False))
        return frames

    def frames(self, seconds: float | None = None) -> Iterator[Frame]:
        """Yield frames as they arrive until the first and the last are `seconds` apart.

        A tolerance of half an interval applies, because frames are an interval apart. Ends early if the same time
        has passed and the sampler is silent, or if it has ended.
        """
        first: float | None = None
        end = math.inf if seconds is None else time.monotonic() + seconds + self._interval + GRACE
        while self.alive:
            for frame in self.receive():
                first = frame.monotonic if first is None else first
                yield frame
                if seconds is not None and frame.monotonic - first >= seconds - min(self._interval, seconds) / 2:
                    return
            left = end - time.monotonic()
            if left <= 0:
                return
            self._wait(left)

    def rescan(self) -> None:
        """Request a run of every collector now; a frame follows."""
        self._request(wire.RESCAN)

    def set_interval(self, seconds: float) -> None:
        """Change the interval, starting with the next round."""
        self._interval = seconds
        self._request(wire.interval(seconds))

    def let_rest(self, allowed: bool) -> None:  # noqa: FBT001  # the only argument
        """Let the node rest, or have every source read at each interval."""
        self._rests = allowed
        self._request(wire.rest(allowed=allowed))

    def close(self) -> None:
        """End the sampler within PARTING seconds. Hanging processes are left behind, without resources of this one."""
        self._gone = True
        self._socket.close()
        self._ready.close()
        pid, self._pid = self._pid, None
        if pid is not None:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            _reaped(pid)

    def _wait(self, seconds: float) -> None:
        if self.alive:
            poll = select.poll()
            poll.register(self._ready, select.POLLIN)
            poll.poll(None if math.isinf(seconds) else math.ceil(seconds * 1000))

    def _lose(self) -> None:
        """Start another worker instead of the one that has ended.

        The kernel closes the other end of the socket with the last thread, so that none hangs any more.
        """
        self._ready.unregister(self._socket)
        self._socket.close()
        pid, self._pid = self._pid, None
        status = None if pid is None else _reaped(pid)
        self._assembly.worker = None
        self._crashes = self._crashes + 1 if time.monotonic() - self._began < SETTLED else 1
        pause = min(FIRST_PAUSE * 2 ** min(self._crashes - 1, 9), LONGEST_PAUSE)
        how = f"was ended by {_name(-status)}" if status is not None and status < 0 else "failed"
        self._assembly.trouble = f"the sampler {how} and starts again after {pause:g} s"
        try:
            self._start(pause)
        except OSError as error:
            self._gone = True
            self._assembly.trouble = f"the sampler {how} and cannot start again: {error.strerror}"

    def _request(self, packet: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.send(packet, socket.MSG_DONTWAIT)


def _reaped(pid: int) -> int | None:
    """Return the exit status of a child that ends; one that does not within PARTING seconds is killed: None."""
    with contextlib.suppress(ChildProcessError):
        end = time.monotonic() + PARTING
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                break
            time.sleep(0.002)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
    return None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
