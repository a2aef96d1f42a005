"""The kernel's log, read from /dev/kmsg without waiting (Documentation/ABI/testing/dev-kmsg).

    6,339,5140900,-;NET: Registered protocol family 10         level and facility, number, microseconds, flags; text
     SUBSYSTEM=acpi                                            properties of the device, which are not read

Each record is returned by one read. The file stays open, because a new one begins with the oldest record.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

from sdstop.core.expression import expression
from sdstop.core.host import Denied, LogPart, LogRecord

KMSG = "/dev/kmsg"
DEVICE = os.makedev(1, 11)
"""Number of the device; containers often have another file there, such as a terminal that would block."""
_RECORD = 8192
"""Bytes of the largest record (CONSOLE_EXT_LOG_MAX)."""
_MOST = 16384
"""Maximum number of records that are read at a time, 40 ms."""
_HEAD = expression(rb"(\d{1,6}),(\d{1,19}),(\d{1,19}),[^;\n]{0,60};([^\n]*)")
_ESCAPED = expression(r"\\x([0-9a-f]{2})")
_LEVEL = 7
"""Bits of the level; 7 is the least severe."""
_OUTSIDE = "run on the host"
_FACILITY = 3
"""Bit of the level and facility at which the facility begins; that of the kernel is 0."""


class KmsgReader:
    """Reader of one open /dev/kmsg. `path` is the file below the root of the host."""

    def __init__(self, path: str = KMSG) -> None:
        """Open the file. Raises OSError, and Denied for any other device or file, and for none, as in a container."""
        try:
            found = Path(path).stat()
        except FileNotFoundError as error:
            raise Denied(KMSG, f"missing, as in a container; {_OUTSIDE}") from error
        if not stat.S_ISCHR(found.st_mode) or found.st_rdev != DEVICE:
            raise Denied(KMSG, f"another file in its place, as in a container; {_OUTSIDE}")
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def take(self) -> LogPart:
        """Return the records since the last call, at most _MOST. Raises OSError."""
        records: list[LogRecord] = []
        more = True
        for _ in range(_MOST):
            try:
                data = os.read(self._fd, _RECORD)
            except BlockingIOError:
                more = False
                break
            except OSError as error:
                if error.errno == errno.EPIPE:  # records were overwritten; the next number shows how many
                    continue
                raise
            record = _parsed(data)
            if record is not None:
                records.append(record)
        up, running = time.clock_gettime(time.CLOCK_BOOTTIME), time.monotonic()
        return LogPart(tuple(records), more, time.time() - up, round(up - running, 1))


def _parsed(data: bytes) -> LogRecord | None:
    """Return a record, None for data in any other form."""
    head = _HEAD.match(data)
    if head is None:
        return None
    level, text = int(head[1]), head[4].decode("utf-8", "replace")
    if level >> _FACILITY:  # written by a program
        return LogRecord(int(head[2]), int(head[3]) / 1e6, "", _LEVEL)
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "\\x" in text else text
    return LogRecord(int(head[2]), int(head[3]) / 1e6, text, level & _LEVEL)
