"""Limits of the kernel that all programs of a node share: open files, AIO requests, threads, connections, neighbors.

/proc/sys/fs/file-nr                   1824 0 9223372036854775807       in use, free, most (fs/file_table.c)
/proc/sys/fs/aio-nr, aio-max-nr        14336, 65536                     events of all io_setup (fs/aio.c)
/proc/loadavg                          0.28 0.20 0.11 2/345 9104        threads of the node, after the slash
/proc/sys/kernel/threads-max, pid_max  62923, 4194304                   (kernel/fork.c)
nf_conntrack_count, nf_conntrack_max   312, 262144                      with connection tracking
/proc/net/stat/arp_cache               entries  allocs ...              hexadecimal, a line for each processor
gc_thresh3                             1024                             most neighbors (net/core/neighbour.c)
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.system.readings import LOADAVG, KernelLimit
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Host
from sdstop.core.text import whole

_FILES = "/proc/sys/fs/file-nr"
_AIO = "/proc/sys/fs/aio-nr", "/proc/sys/fs/aio-max-nr"
_THREADS = "/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"
_TRACKED = "/proc/sys/net/netfilter/nf_conntrack_count", "/proc/sys/net/netfilter/nf_conntrack_max"
_NEIGHBORS = "/proc/net/stat/arp_cache", "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
_PACE = 10.0
"""Seconds between runs."""


def read(host: Host) -> Iterator[KernelLimit]:
    """Yield the limits that are known with their use. Raises Absent without the number of open files."""
    words = host.text(_FILES).split()
    used, most = (whole(words[place]) if len(words) == 3 else None for place in (0, 2))
    if used is not None and most is not None:
        yield KernelLimit("files", used, most, _FILES)
    for name, (count, limit) in (("aio", _AIO), ("connections", _TRACKED)):
        used, most = host.number(count), host.number(limit)
        if used is not None and most:
            yield KernelLimit(name, used, most, count)
    yield from _threads(host)
    yield from _neighbors(host)


def _threads(host: Host) -> Iterator[KernelLimit]:
    words = (host.maybe(LOADAVG) or "").split()
    used = whole(words[3].partition("/")[2]) if len(words) > 3 else None
    known = [(limit, path) for path in _THREADS if (limit := host.number(path))]
    if used is not None and known:
        most, path = min(known)
        yield KernelLimit("threads", used, most, path)


def _neighbors(host: Host) -> Iterator[KernelLimit]:
    heading, *rows = (host.maybe(_NEIGHBORS[0]) or "").splitlines() or [""]
    most = host.number(_NEIGHBORS[1])
    words = rows[0].split() if rows else []
    try:
        used = int(words[0], 16) if heading.split()[:1] == ["entries"] and words else None
    except ValueError:
        used = None
    if used is not None and most:
        yield KernelLimit("neighbors", used, most, _NEIGHBORS[0])


KERNEL_LIMITS = Collector(
    "kernel-limits",
    "Limits of the kernel that all programs share",
    read,
    (KernelLimit,),
    (
        Need(_FILES, "open files of all programs, and how many there can be"),
        Need(LOADAVG, "number of threads"),
        *(Need(path, "a limit of the node, and its use") for path in (*_AIO, *_THREADS, *_TRACKED, *_NEIGHBORS)),
    ),
    _PACE,
)
