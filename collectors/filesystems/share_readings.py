"""Readings of file systems shared over the network: the kernel's NFS server, and its client of SMB."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.model import Kind, Label, Metric, Reading, Source

NFSD, POOL_STATS = "/proc/net/rpc/nfsd", "/proc/fs/nfsd/pool_stats"

_COUNTER = Kind.COUNTER


class NfsServer(Reading, frozen=True, kw_only=True):
    """The NFS server of the kernel, one row, from /proc/net/rpc/nfsd (fs/nfsd/stats.c, net/sunrpc/stats.c).

    `bad_format` includes programs and versions that the server does not have, `bad_login` clients without an export.
    """

    family: ClassVar[str] = "nfs_server"
    title: ClassVar[str] = "NFS server"
    remembered: ClassVar[int] = 16
    rows_of = Source(NFSD, "rpc ")
    fields_of: ClassVar = {
        "threads": Source(NFSD, "th "),
        "stale": Source(NFSD, "fh "),
        "read": Source(NFSD, "io "),
        "written": Source(NFSD, "io "),
        "packets": Source(NFSD, "net "),
        "connections": Source(NFSD, "net "),
    }

    server: Annotated[str, Label("Server", "nfsd, the server of the kernel", plain=True)] = "nfsd"
    threads: Annotated[int | None, Metric("Threads", "Threads of the server")] = None
    calls: Annotated[int, Metric("Calls", "Calls of clients", kind=_COUNTER)]
    bad_format: Annotated[
        int, Metric("Bad format", "Calls refused: damaged, or of an unknown program or version", kind=_COUNTER)
    ]
    bad_login: Annotated[int, Metric("Bad login", "Calls refused for their credentials or client", kind=_COUNTER)]
    stale: Annotated[int | None, Metric("Stale", "Calls for a file that is gone or unexported", kind=_COUNTER)] = None
    read: Annotated[int | None, Metric("Read", "Bytes read by clients", "bytes", _COUNTER)] = None
    written: Annotated[int | None, Metric("Written", "Bytes written by clients", "bytes", _COUNTER)] = None
    packets: Annotated[int | None, Metric("Packets", "Packets received", kind=_COUNTER, detail=True)] = None
    connections: Annotated[int | None, Metric("Connects", "Connections accepted", kind=_COUNTER, detail=True)] = None

    @property
    def refused(self) -> int:
        """Calls refused."""
        return self.bad_format + self.bad_login


class NfsServerPool(Reading, frozen=True, kw_only=True):
    """A pool of threads of the NFS server, from /proc/fs/nfsd/pool_stats (net/sunrpc/svc_xprt.c).

    `queued` has two meanings. Up to Linux 4.14 it counts connections with a request for which no idle thread was found;
    since 4.15 all of them, so that on an idle server it is as large as `woken`. See `waited`.
    """

    family: ClassVar[str] = "nfs_server_pool"
    title: ClassVar[str] = "Threads of the NFS server"
    rows_of = Source(POOL_STATS, "{pool} ")

    pool: Annotated[int, Label("Pool", "Number of the pool; one for all CPUs, or one per CPU or NUMA node")]
    arrived: Annotated[int, Metric("Arrived", "Requests that arrived", kind=_COUNTER)]
    queued: Annotated[int, Metric("Queued", "Connections queued for a thread", kind=_COUNTER)]
    woken: Annotated[int, Metric("Woken", "Idle threads woken for a request", kind=_COUNTER)]
    timed_out: Annotated[
        int | None, Metric("Timed out", "Threads idle for a long time; 0 since Linux 6.4", kind=_COUNTER, detail=True)
    ] = None


def waited(arrived: int, queued: int, woken: int) -> int:
    """Return the requests for which no idle thread was found, from the growth of a pool's counters.

    Up to Linux 4.14 a request is either queued or wakes a thread, and both add up to those that arrived. Since 4.15
    each is queued first, and then wakes a thread if one is idle.
    """
    return queued if queued + woken <= arrived else max(queued - woken, 0)
