"""Readings of file systems shared over the network: the kernel's NFS server, and its client of SMB."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.model import Kind, Label, Metric, Name, Reading, Source, State

NFSD, POOL_STATS, ETAB = "/proc/net/rpc/nfsd", "/proc/fs/nfsd/pool_stats", "/var/lib/nfs/etab"

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


class NfsExport(Reading, frozen=True):
    """A directory that the kernel's NFS server exports, from /var/lib/nfs/etab (nfs-utils, support/export/xtab.c)."""

    family: ClassVar[str] = "nfs_export"
    title: ClassVar[str] = "NFS exports"
    exported: ClassVar[bool] = False
    rows_of = Source(ETAB, "{path}")

    path: Annotated[str, Label("Path", "Exported directory", names=Name.PATH)]
    clients: Annotated[int, Metric("Clients", "Hosts, networks and patterns to which it is exported", setting=True)]


def waited(arrived: int, queued: int, woken: int) -> int:
    """Return the requests for which no idle thread was found, from the growth of a pool's counters.

    Up to Linux 4.14 a request is either queued or wakes a thread, and both add up to those that arrived. Since 4.15
    each is queued first, and then wakes a thread if one is idle.
    """
    return queued if queued + woken <= arrived else max(queued - woken, 0)


DEBUG_DATA = "/proc/fs/cifs/DebugData"


class SmbShare(Reading, frozen=True, kw_only=True):
    """A mounted share of an SMB server, from /proc/fs/cifs/DebugData (fs/smb/client/cifs_debug.c).

    `connection`: new, up, exiting, lost (being connected again), negotiating, unknown. It and the counters are of the
    TCP connection, which shares of one server have in common. `reconnects` counts those that succeeded. A share that is
    disconnected on a connection that is up reconnects when it is used.
    """

    family: ClassVar[str] = "smb_share"
    title: ClassVar[str] = "Mounted SMB shares"
    remembered: ClassVar[int] = 64
    rows_of = Source(DEBUG_DATA, "\\{share} Mounts:")

    server: Annotated[str, Label("Server", "Host that serves it", names=Name.HOST)]
    share: Annotated[str, Label("Share", "Name of the share", names=Name.VOLUME)]
    connection: Annotated[str, State("Connection", "TCP: new, up, exiting, lost, negotiating, unknown")]
    disconnected: Annotated[int, Metric("Disconnected", "Whether the share has to connect again: 1 or 0")] = 0
    reconnects: Annotated[int | None, Metric("Reconnects", "TCP connections made again", kind=_COUNTER)] = None
    in_flight: Annotated[int | None, Metric("In flight", "Requests without an answer")] = None
    waiting: Annotated[int | None, Metric("Waiting", "Requests waiting for a credit", detail=True)] = None

    @property
    def subject(self) -> str:
        """Name as mount(8) takes it."""
        return f"//{self.server}/{self.share}"
