"""The kernel's NFS server: /proc/net/rpc/nfsd and its pools of threads."""

import pytest

from sdstop.collectors.filesystems.nfsd import NFS_EXPORTS, NFS_SERVER, of_paths, parse, parse_exports, parse_pools
from sdstop.collectors.filesystems.share_readings import (
    ETAB,
    NFSD,
    POOL_STATS,
    NfsExport,
    NfsServer,
    NfsServerPool,
    waited,
)
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed

TEXT = """rc 0 143 12031
fh 3 0 0 0 0
io 10485760 4096
th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000
ra 0 0 0 0 0 0 0 0 0 0 0 0
net 12210 0 12199 5
rpc 12174 2 1 1 0
proc3 22 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
proc4 2 1 12173
"""
POOLS = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 12174 12174 12002 0\n"


def test_a_server() -> None:
    rows = list(NFS_SERVER.read(EvidenceHost.of({NFSD: TEXT, POOL_STATS: POOLS})))
    assert rows == [
        NfsServer(
            threads=8, calls=12174, bad_format=1, bad_login=1, stale=3, read=10485760, written=4096, packets=12210,
            connections=5,
        ),
        NfsServerPool(pool=0, arrived=12174, queued=12174, woken=12002, timed_out=0),
    ]  # fmt: skip


def test_further_fields_and_lines_of_a_later_kernel_are_ignored() -> None:
    assert next(iter(parse_pools("# pool a b c d e\n3 1 2 3 0 9\n"))).pool == 3
    assert parse(TEXT + "wdeleg_getattr 4\n").calls == 12174


def test_a_module_without_a_server_is_absent_and_a_stopped_server_is_not() -> None:
    with pytest.raises(Absent):
        list(NFS_SERVER.read(EvidenceHost.of({NFSD: "rc 0 0 0\nth 0 0\nrpc 0 0 0 0 0\n"})))
    assert len(list(NFS_SERVER.read(EvidenceHost.of({NFSD: TEXT.replace("th 8", "th 0"), POOL_STATS: POOLS})))) == 1
    assert len(list(NFS_SERVER.read(EvidenceHost.of({NFSD: TEXT})))) == 1


@pytest.mark.parametrize("text", ["", "rpc", "rpc 1 2 3 x 0", "rpc 1 0 0 0 0\nfh", "rpc 1 0 0 0 0\nio 1 -2"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)


@pytest.mark.parametrize("text", ["0 1 2 3", "0 1 2 3 x", "a 1 2 3 4"])
def test_damaged_pools_are_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(parse_pools(text))


@pytest.mark.parametrize(
    ("arrived", "queued", "woken", "waiting"),
    [(100, 100, 100, 0), (100, 100, 40, 60), (100, 100, 0, 100), (100, 60, 40, 60), (100, 0, 100, 0), (95, 100, 99, 1)],
)
def test_requests_that_wait(arrived: int, queued: int, woken: int, waiting: int) -> None:
    """Both meanings of the counter: of Linux 4.15 and later in the first and the last, and before in the others."""
    assert waited(arrived, queued, woken) == waiting


EXPORTS = (
    b"/srv/home\t192.0.2.0/24(rw,sync,wdelay,sec=sys)\n/srv/home\tclient1.example.com(ro,async,anongid=65534)\n"
    b"# nothing\n\n/srv/two\\040words\\303\\244\t*(ro,sync)\n"
)


def test_exports_are_paths_with_the_number_of_their_clients() -> None:
    rows = list(NFS_EXPORTS.read(EvidenceHost.of({ETAB: EXPORTS.decode()})))
    assert rows == [NfsExport("/srv/home", 2), NfsExport("/srv/two words\u00e4", 1)]
    assert list(parse_exports(of_paths(EXPORTS))) == rows
    assert of_paths(of_paths(EXPORTS)) == of_paths(EXPORTS)
    assert b"client1" not in of_paths(EXPORTS)
    assert b"192" not in of_paths(EXPORTS)


def test_an_empty_table_of_exports_is_absent_and_a_damaged_one_malformed() -> None:
    with pytest.raises(Absent):
        list(NFS_EXPORTS.read(EvidenceHost.of({ETAB: "\n"})))
    with pytest.raises(Malformed):
        list(parse_exports(b"srv\t*(rw)\n"))
