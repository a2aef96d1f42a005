"""The counters of NFS mounts, as the kernel's client prints them."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.collectors.filesystems.nfs import NFS, of_nfs, parse
from sdstop.collectors.filesystems.readings import MOUNTSTATS, NfsMount, NfsRequests
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed

TEXT = """device /dev/vda1 mounted on / with fstype ext4
device nas:/home mounted on /srv/home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=131072,hard,proto=tcp,timeo=600,retrans=2,clientaddr=192.0.2.9,addr=192.0.2.1
\tage:\t1209
\timpl_id:\tname='',domain='example.com',date='0,0'
\tcaps:\tcaps=0xfffbc0bf,wtmult=512
\tevents:\t0 0 0 0 0 0 437 215
\tbytes:\t0 880640 0 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 2 0 0 671 671 0 719 7 2 14 42
\txprt:\ttcp 0 0 2 0 0 100 100 0 719 3 2 14 42
\tper-op statistics
\t        NULL: 1 1 0 44 24 9 3 13 0
\t        READ: 10 12 1 1000 40000 4 100 110 2
\t   READ_PLUS: 1 1 0 100 4000 0 10 10 0
\t       WRITE: 215 215 0 922780 39560 84 1049 1160 0
\t        COPY: 1 1 0 100 100 0 9000 9000 0
\t        OPEN: 11 11 0 2936 2080 10 53 68 7
\t     GETATTR: 5 5 0 64 60 1 7 9 0
device proc mounted on /proc with fstype proc
"""
V3 = """device 192.0.2.1:/old mounted on /mnt/old with fstype nfs statvers=1.1
\topts:\trw,vers=3,soft,proto=udp,timeo=11,retrans=3
\tage:\t20
\txprt:\tudp 0 1 50 49 0 60 4 2 1 1
\tper-op statistics
\t        READ: 3 4 1 300 9000 0 2400 2500
"""


def rows(text: str) -> dict[str, Any]:
    return {row.kind if isinstance(row, NfsRequests) else row.point: row for row in parse(text)}


def test_operations_are_summed_by_kind_and_connections_together() -> None:
    found = rows(TEXT)
    assert found["/srv/home"] == NfsMount(
        point="/srv/home", server="nas", export="/home", transport="tcp", gives_up="hard", timeout=60.0, age=1209,
        sends=771, backlog=10,
    )  # fmt: skip
    assert found["read"] == NfsRequests("/srv/home", "read", 11, 13, 1, 45100, 4, 110, 120, 2)
    assert found["name"] == NfsRequests("/srv/home", "name", 17, 17, 0, 5208, 20, 63, 90, 7)
    assert (found["write"].completed, found["long"].execution) == (215, 9000)
    assert set(found) == {"/srv/home", "read", "write", "name", "long"}


def test_kernels_before_5_3_count_no_errors_and_udp_has_other_columns() -> None:
    found = rows(V3)
    mount, read = found["/mnt/old"], found["read"]
    assert (mount.gives_up, mount.transport, mount.timeout, mount.sends, mount.backlog) == ("soft", "udp", 1.1, 50, 4)
    assert (read.sent - read.completed, read.timeouts, read.errors) == (1, 1, None)


def test_two_mounts_of_one_superblock_are_one() -> None:
    again = TEXT + TEXT.replace("/srv/home with", "/bound with")
    assert [row.point for row in parse(again) if isinstance(row, NfsMount)] == ["/srv/home"]
    other = TEXT + TEXT.replace("/srv/home with", "/else with").replace("WRITE: 215", "WRITE: 216")
    assert [row.point for row in parse(other) if isinstance(row, NfsMount)] == ["/srv/home", "/else"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("215 215 0 922780 39560 84 1049 1160 0", "215 215"),
        TEXT.replace("215 215", "215 -"),
        TEXT[: TEXT.index("\tper-op")],
        TEXT.replace("\tage:\t1209\n", ""),
    ],
)
def test_counters_that_are_cut_are_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(parse(text))


def test_only_what_is_read_is_kept() -> None:
    kept = of_nfs(TEXT.encode())
    assert of_nfs(kept) == kept
    assert list(parse(kept.decode())) == list(parse(TEXT))
    assert not any(word in kept for word in (b"192.0.2", b"example.com", b"ext4", b"/proc", b"rsize"))


def test_a_node_without_a_client_is_not_asked_for_its_mounts() -> None:
    without = Evidence("/proc/net/rpc/nfs", outcome=Outcome.ABSENT)
    with pytest.raises(Absent):
        list(NFS.read(EvidenceHost([without, Evidence(MOUNTSTATS, data=TEXT.encode())])))
    with pytest.raises(Absent, match="no NFS mount"):
        list(NFS.read(EvidenceHost.of({MOUNTSTATS: "device proc mounted on /proc with fstype proc\n"})))
    with pytest.raises(Absent, match="no NFS mount"):
        list(NFS.read(EvidenceHost.of({MOUNTSTATS: ""})))  # nothing is kept of other mounts
    with pytest.raises(Malformed, match="no mount"):
        list(NFS.read(EvidenceHost.of({MOUNTSTATS: "garbage\n"})))
    assert len(list(NFS.read(EvidenceHost.of({MOUNTSTATS: TEXT})))) == 5
