"""Setup of a child process that reads the node: it keeps none of its parent's resources and ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket


def detach(connection: socket.socket) -> None:
    """Release the terminal, the parent's signal handlers and every file but `connection`.

    A process that hangs in a read is left behind, so it must not keep anything open.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        with contextlib.suppress(OSError, ValueError):  # some are reserved by the C library
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
            with contextlib.suppress(OSError):  # the listing's own descriptor is already closed
                os.close(fd)


def end_with(process: int) -> None:
    """Request SIGTERM from the kernel for the end of the parent, `process`; else the closed socket reveals it."""
    try:
        import ctypes  # noqa: PLC0415  # takes milliseconds, and must not delay the first frame

        ctypes.CDLL(None).prctl(1, signal.SIGTERM.value, 0, 0, 0)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != process:
        os.kill(os.getpid(), signal.SIGTERM)
