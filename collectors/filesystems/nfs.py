"""NFS mounts as the kernel's client counts them: time, repetitions and timeouts of requests.

Reading the counters asks no server: the kernel prints them from memory (fs/nfs/super.c: nfs_show_stats), under the lock
that /proc/self/mounts takes, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from sdstop.collectors.filesystems.readings import MOUNTSTATS, NfsMount, NfsRequests
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed

_CLIENT = "/proc/net/rpc/nfs"
"""Present where the kernel has an NFS client."""
_MOUNT = expression(r"device (?P<source>.+) mounted on (?P<point>.+) with fstype (?P<type>\S+)(?: statvers=[\d.]+)?")
_OPERATION = expression(r"\s*(?P<name>[A-Z][A-Z0-9_]{1,30}|\d{1,3}): (?P<counts>\d{1,20}(?: \d{1,20}){7,8})\s*")
_NFS = frozenset({"nfs", "nfs4"})
_OPTIONS = frozenset({"hard", "soft", "softerr", "softreval"})
_VALUES = ("proto=", "timeo=")
_KINDS = {"READ": "read", "READ_PLUS": "read", "WRITE": "write", "COMMIT": "commit"} | dict.fromkeys(
    ("COPY", "COPY_NOTIFY", "OFFLOAD_CANCEL", "CLONE", "ALLOCATE", "DEALLOCATE", "ZERO_RANGE", "LAYOUTGET"), "long"
)
"""Kinds of operations; the others are about names, attributes and locks."""
_SENDS_AND_BACKLOG = {"tcp": (6, 10), "rdma": (6, 10), "udp": (3, 7), "local": (5, 9)}
"""Places in the line of the connection (xprtsock.c: xs_tcp_print_stats and its siblings, xprtrdma/transport.c)."""


class _Mount(Struct):
    """A mount while its lines are read; `requests` are the sums of each kind."""

    source: str
    point: str
    options: list[str] = field(default_factory=list)
    age: int | None = None
    sends: int | None = None
    backlog: int | None = None
    requests: dict[str, list[int]] = field(default_factory=dict)

    def same(self) -> tuple[object, ...] | None:
        """Return a value that only mounts of one superblock share, None without a request."""
        sums = tuple((kind, *counts) for kind, counts in self.requests.items())
        return (self.age, *sums) if any(counts[0] for counts in self.requests.values()) else None


def parse(text: str) -> Iterator[NfsMount | NfsRequests]:
    """Yield NFS mounts and their requests of /proc/self/mountstats; mounts without counters are left out.

    Raises Malformed for a mount with counters that are cut off or garbled.

        device nas:/home mounted on /home with fstype nfs4 statvers=1.1
                opts:   rw,vers=4.2,hard,proto=tcp,timeo=600,retrans=2
                age:    1209
                xprt:   tcp 0 0 2 0 0 671 671 0 719 0 2 14 42
                per-op statistics
                        READ: 215 215 0 922780 39560 84 1049 1160 0

    An operation has requests, transmissions, major timeouts, bytes sent and received, three sums of milliseconds, and
    since Linux 5.3 errors.
    """
    known = set()
    for mount in _mounts(text):
        same = mount.same()
        if same is None or same not in known:
            known.add(same)
            yield from _rows(mount)


def _mounts(text: str) -> Iterator[_Mount]:
    mount: _Mount | None = None
    for line in text.splitlines():
        begun = _MOUNT.fullmatch(line.strip())
        if begun is not None:
            if mount is not None:
                yield _whole(mount)
            mount = _Mount(begun["source"], begun["point"]) if begun["type"] in _NFS else None
        elif mount is not None:
            _add(mount, line)
    if mount is not None:
        yield _whole(mount)


def _whole(mount: _Mount) -> _Mount:
    if mount.age is None or not mount.requests:
        raise Malformed(f"{MOUNTSTATS}: {mount.point[:60]!r} is cut off")
    return mount


def _add(mount: _Mount, line: str) -> None:
    """Add a line to a mount. Raises Malformed for an operation without its numbers."""
    head, _, rest = line.strip().partition(":")
    words = rest.split()
    if head == "opts" and words:
        mount.options = words[0].split(",")
    elif head == "age" and words and words[0].isdecimal():
        mount.age = int(words[0])
    elif head == "xprt" and words and (places := _SENDS_AND_BACKLOG.get(words[0])) is not None:
        numbers = [int(word) if word.isdecimal() else None for word in words]
        sends, backlog = (numbers[place] if place < len(numbers) else None for place in places)
        mount.sends = _sum(mount.sends, sends)
        mount.backlog = _sum(mount.backlog, backlog)
    elif head and head == head.upper() and words:
        found = _OPERATION.fullmatch(line)
        if found is None:
            raise Malformed(f"{MOUNTSTATS}: {line.strip()[:60]!r}")
        counts = [int(word) for word in found["counts"].split()]
        sums = mount.requests.setdefault(_KINDS.get(found["name"], "name"), [0] * len(counts))
        mount.requests[_KINDS.get(found["name"], "name")] = [a + b for a, b in zip(sums, counts, strict=False)]


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _rows(mount: _Mount) -> Iterator[NfsMount | NfsRequests]:
    server, colon, export = mount.source.partition(":/")
    given = dict(zip(_VALUES, (next((o[6:] for o in mount.options if o.startswith(v)), None) for v in _VALUES),
                     strict=True))  # fmt: skip
    tenths = given["timeo="]
    yield NfsMount(
        point=mount.point,
        server=server.strip("[]") if colon else None,
        export=f"/{export}" if colon else None,
        transport=given["proto="],
        gives_up=next((word for word in mount.options if word in _OPTIONS), None),
        timeout=int(tenths) / 10 if tenths is not None and tenths.isdecimal() else None,
        age=mount.age,
        sends=mount.sends,
        backlog=mount.backlog,
    )
    for kind, counts in mount.requests.items():
        completed, sent, timeouts, out, back, queue, answer, execution, *errors = counts
        yield NfsRequests(
            mount.point, kind, completed, sent, timeouts, out + back, queue, answer, execution, *errors[:1]
        )


def of_nfs(data: bytes) -> bytes:
    """Return the lines of NFS mounts that are read, without addresses and the server's description of itself."""
    kept: list[str] = []
    inside = False
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        begun = _MOUNT.fullmatch(line.strip())
        head, _, rest = line.strip().partition(":")
        if begun is not None:
            inside = begun["type"] in _NFS
            kept += [line] if inside else []
        elif inside and head == "opts":
            options = (word for word in rest.strip().split(",") if word in _OPTIONS or word.startswith(_VALUES))
            kept.append(f"\topts:\t{','.join(options)}")
        elif inside and (head in {"age", "xprt"} or (head and head == head.upper())):
            kept.append(line)
    return "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape")


TEXT = Form(
    key=MOUNTSTATS,
    first=r"device \S.* mounted on /.* with fstype \S+",
    goes_on=r"device .* mounted on .*|\s+(?:[a-z_]+[\d]*:|per-op|RPC iostats|[A-Z][A-Z0-9_]+:|\d+:).*",
    reads="requests of NFS mounts",
    versions="Linux 2.6.17 and later",
)


def read(host: Host) -> Iterator[NfsMount | NfsRequests]:
    """Yield NFS mounts and their requests. Raises Absent without a client or a mount, Malformed."""
    try:
        host.text(_CLIENT)
    except Absent as error:
        if error.recorded:  # pasted text has the counters alone
            raise
    text = host.text(MOUNTSTATS)
    found = list(parse(text))
    if not found:
        if text.strip() and not any(_MOUNT.fullmatch(line.strip()) for line in text.splitlines()):
            raise Malformed(f"{MOUNTSTATS}: no mount in {text[:40]!r}")
        raise Absent(MOUNTSTATS, "no NFS mount")
    yield from found


NFS = Collector(
    "nfs",
    "NFS mounts and their requests",
    read,
    (NfsMount, NfsRequests),
    (
        Need(_CLIENT, "whether the kernel has an NFS client", everyone=True),
        Need(MOUNTSTATS, "time, repetitions and timeouts of the requests of NFS mounts", keep=of_nfs),
    ),
    LIVE,
    forms=(TEXT,),
)
