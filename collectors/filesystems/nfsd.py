"""The NFS server of the kernel: its threads, calls, exports, and the requests that wait for a thread.

Format of /proc/net/rpc/nfsd: fs/nfsd/stats.c and net/sunrpc/stats.c (svc_seq_show). The lines rc, fh, io, th, net, rpc
and those of procedures are in all versions from 2.6 to 6; `ra` is all zeros since 5.4, the histogram of `th` since
2.6.29, `fh` but for its first number since 2.6, and `wdeleg_getattr` was added in 6.6. Reading it takes no lock.

Opening /proc/fs/nfsd/pool_stats takes the mutex under which threads are started and stopped (fs/nfsd/nfssvc.c:
nfsd_pool_stats_open). While `rpc.nfsd 0` waits for a thread that hangs in a file system, the read waits, too, and times
out. The number of threads is therefore read from `th`, and not from /proc/fs/nfsd/threads, which takes the same mutex;
without a thread pool_stats is not opened.

Exports are those of exportfs(8), not those of /proc/fs/nfsd/exports: the kernel asks rpc.mountd about old entries when
they are read there, and it may ask a name server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sdstop.collectors.filesystems.share_readings import ETAB, NFSD, POOL_STATS, NfsExport, NfsServer, NfsServerPool
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed

PACE = 5.0
"""Seconds between two runs."""


def parse(text: str) -> NfsServer:
    """Return the server of /proc/net/rpc/nfsd. Raises Malformed without its calls, and for a garbled number.

        rc 0 143 12031
        fh 3 0 0 0 0
        io 10485760 4096
        th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000
        net 12210 0 12199 5
        rpc 12174 2 1 1 0

    `net` has packets, those of UDP and TCP, and connections; `rpc` has calls, bad ones, and of these: format, login and
    clients, always 0.
    """
    lines = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    rpc = _numbers(lines, "rpc", 4)
    if rpc is None:
        raise Malformed(f"{NFSD}: no line of calls")
    stale, io, net = _numbers(lines, "fh", 1), _numbers(lines, "io", 2), _numbers(lines, "net", 4)
    threads = _numbers(lines, "th", 1)
    return NfsServer(
        threads=threads[0] if threads else None,
        calls=rpc[0],
        bad_format=rpc[2],
        bad_login=rpc[3],
        stale=stale[0] if stale else None,
        read=io[0] if io else None,
        written=io[1] if io else None,
        packets=net[0] if net else None,
        connections=net[3] if net else None,
    )


def _numbers(lines: dict[str, list[str]], name: str, count: int) -> list[int] | None:
    words = lines.get(name)
    if words is None:
        return None
    if len(words) < count or not all(word.isdecimal() and word.isascii() for word in words[:count]):
        raise Malformed(f"{NFSD}: {name} {' '.join(words)[:60]!r}")
    return [int(word) for word in words[:count]]


def parse_pools(text: str) -> Iterator[NfsServerPool]:
    """Yield the pools of /proc/fs/nfsd/pool_stats; Raises Malformed.

    # pool packets-arrived sockets-enqueued threads-woken threads-timedout
    0 12174 12174 12002 0
    """
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 5 or not all(word.isdecimal() and word.isascii() for word in words[:5]):
            raise Malformed(f"{POOL_STATS}: {line[:60]!r}")
        pool, arrived, queued, woken, timed_out = map(int, words[:5])
        yield NfsServerPool(pool=pool, arrived=arrived, queued=queued, woken=woken, timed_out=timed_out)


def read(host: Host) -> Iterator[NfsServer | NfsServerPool]:
    """Yield the server and its pools. Raises Absent without a server that ever ran, Malformed."""
    server = parse(host.text(NFSD))
    if not server.threads and not server.calls:
        raise Absent(NFSD, "no NFS server")
    yield server
    if server.threads:
        try:
            yield from parse_pools(host.text(POOL_STATS))
        except (Absent, Denied, Failed):
            return


NFS_SERVER = Collector(
    "nfs-server",
    "NFS server of the kernel",
    read,
    (NfsServer, NfsServerPool),
    (
        Need(NFSD, "threads and calls of the NFS server", everyone=True),
        Need(POOL_STATS, "requests of NFS clients that wait for a thread of the server"),
    ),
    PACE,
)


# --- exports ----------------------------------------------------------------------------------------------

_OCTAL = expression(rb"\\([0-3][0-7]{2})")


def parse_exports(data: bytes) -> Iterator[NfsExport]:
    r"""Yield the exports of /var/lib/nfs/etab, each path once. Raises Malformed for a line without an absolute path.

    /srv/home	192.0.2.0/24(rw,sync,wdelay,hide,nocrossmnt,secure,root_squash,no_all_squash,sec=sys)
    /srv/two\040words	*(ro,sync,wdelay,hide,nocrossmnt,secure,root_squash,no_all_squash,sec=sys)
    """
    for word, clients in Counter(_paths(data)).items():
        path = _OCTAL.sub(lambda found: bytes([int(found[1], 8)]), word)
        if not path.startswith(b"/"):
            raise Malformed(f"{ETAB}: {path[:40].decode('utf-8', 'replace')!r}")
        yield NfsExport(path.decode("utf-8", "surrogateescape"), clients)


def of_paths(data: bytes) -> bytes:
    """Return the paths, without the names of clients and the options."""
    return b"".join(word + b"\t-\n" for word in _paths(data))


def _paths(data: bytes) -> list[bytes]:
    return [line.split()[0] for line in data.splitlines() if line.strip() and not line.startswith(b"#")]


def read_exports(host: Host) -> Iterator[NfsExport]:
    """Yield the exports. Raises Absent without one, Malformed."""
    rows = list(parse_exports(host.read(ETAB)))
    if not rows:
        raise Absent(ETAB, "nothing is exported")
    yield from rows


NFS_EXPORTS = Collector(
    "nfs-exports",
    "Directories exported by the NFS server",
    read_exports,
    (NfsExport,),
    (Need(ETAB, "directories that the NFS server exports", keep=of_paths),),
    SLOW,
)
