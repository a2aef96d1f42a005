"""A child process that reads the node: it holds nothing of its parent and ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket


def detach(connection: socket.socket) -> None:
    """Let go of the terminal, the parent's signals and every file but `connection`.

    A process that hangs in a read is left behind; it must hold nothing open.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        with contextlib.suppress(OSError, ValueError):  # some belong to the C library
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    os.chdir("/")
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  # names are all that is wanted
        fd = int(name)
        if fd > 2 and fd != connection.fileno():
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(fd)


def end_with(process: int) -> None:
    """Ask the kernel for SIGTERM when the parent, `process`, ends. Where it refuses, the closed socket is the sign."""
    try:
        import ctypes  # noqa: PLC0415  # takes milliseconds that the first frame need not wait for

        ctypes.CDLL(None).prctl(1, signal.SIGTERM.value, 0, 0, 0)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != process:
        os.kill(os.getpid(), signal.SIGTERM)
