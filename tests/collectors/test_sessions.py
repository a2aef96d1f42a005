"""iSCSI, NVMe and NBD sessions as sysfs shows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.network.peer_readings import StorageSession
from sdstop.collectors.network.sessions import SESSIONS, fingerprint, parse_address
from sdstop.collectors.network.sessions_text import SESSIONS_TEXT
from sdstop.core.evidence import Evidence
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Severity
from sdstop.core.model import Reading
from sdstop.rules.paths.path_failed import PATH_FAILED
from tests.nodes.frames import Judged

ISCSI = {
    "/sys/class/iscsi_session/session3/targetname": "iqn.2026-11.example:pool\n",
    "/sys/class/iscsi_session/session3/state": "LOGGED_IN\n",
    "/sys/class/iscsi_session/session3/first_burst_len": "262144\n",
    "/sys/class/iscsi_session/session3/max_burst_len": "16776192\n",
    "/sys/class/iscsi_session/session3/device/target8:0:0/8:0:0:1/block/sdc/size": "2048\n",
    "/sys/class/iscsi_session/session3/device/target8:0:0/8:0:0:0/block/sdb/size": "2048\n",
    "/sys/class/iscsi_connection/connection3:0/address": "192.0.2.7\n",
    "/sys/class/iscsi_connection/connection3:0/port": "3260\n",
    "/sys/class/iscsi_connection/connection3:0/max_recv_dlength": "262144\n",
    "/sys/class/iscsi_connection/connection3:0/max_xmit_dlength": "65536\n",
    "/sys/class/iscsi_connection/connection31:0/address": "192.0.2.9\n",
    "/sys/block/sdb/queue/max_sectors_kb": "1280\n",
    "/sys/block/sdc/queue/max_sectors_kb": "512\n",
}
NVME = {
    "/sys/class/nvme/nvme0/transport": "pcie\n",
    "/sys/class/nvme/nvme1/transport": "tcp\n",
    "/sys/class/nvme/nvme1/address": "traddr=2001:db8::7,trsvcid=4420,src_addr=2001:db8::1\n",
    "/sys/class/nvme/nvme1/state": "live\n",
    "/sys/class/nvme/nvme1/subsysnqn": "nqn.2026-11.example:fast\n",
    "/sys/class/nvme/nvme1/nvme1c4n2/size": "2048\n",
    "/sys/class/nvme/nvme1/hwmon3/name": "nvme\n",
    "/sys/block/nvme1n2/queue/max_sectors_kb": "128\n",
}
NBD = {
    "/sys/block/nbd0/pid": "4711\n",
    "/sys/block/nbd0/queue/max_sectors_kb": "128\n",
    "/sys/block/nbd1/queue/max_sectors_kb": "128\n",
}


def rows(files: dict[str, str]) -> list[Reading]:
    return list(SESSIONS.read(EvidenceHost.of(files)))


def test_iscsi() -> None:
    assert rows(ISCSI) == [
        StorageSession(
            "session3",
            "iscsi",
            "sdb,sdc",
            "192.0.2.7:3260",
            "iqn.2026-11.example:pool",
            "LOGGED_IN",
            512 * 1024,
            max_receive=262144,
            max_send=65536,
            first_burst=262144,
            max_burst=16776192,
        )
    ]


def test_an_iscsi_session_without_a_connection() -> None:
    (row,) = rows({"/sys/class/iscsi_session/session3/state": "FAILED\n"})
    assert row == StorageSession("session3", "iscsi", None, None, None, "FAILED", None)


def test_nvme_over_tcp_and_not_over_pci() -> None:
    assert rows(NVME) == [
        StorageSession(
            "nvme1",
            "nvme-tcp",
            "nvme1n2",
            "[2001:db8::7]:4420",
            "nqn.2026-11.example:fast",
            "live",
            128 * 1024,
            paths="nvme1c4n2",
        )
    ]


def test_an_nbd_that_somebody_serves() -> None:
    assert rows(NBD) == [StorageSession("nbd0", "nbd", "nbd0", None, None, "connected", 128 * 1024)]


def test_each_row_says_where_it_stands() -> None:
    for files in (ISCSI, NVME, NBD):
        (row,) = rows(files)
        for field in ("state", "target") if files is not NBD else ("state",):
            source = row.source(field)
            assert source is not None
            assert source.key in files


def test_no_session_is_no_row() -> None:
    assert rows({}) == []


def test_a_new_session_is_seen_at_once() -> None:
    assert fingerprint(EvidenceHost.of(ISCSI)) != fingerprint(EvidenceHost.of(NVME))


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert all(name and value for name, value in parse_address(text).items())
    for files in (ISCSI, NVME, NBD):
        host = EvidenceHost(Evidence(key, data=text.encode("utf-8", "surrogatepass")) for key in files)
        assert len(list(SESSIONS.read(host))) <= 2


# --- access states in text of nvme list-subsys -----------------------------------------------------------------


def listed(*access: str) -> Judged:
    paths = "".join(f" +- nvme{n} tcp traddr=192.0.2.{n},trsvcid=4420 live {each}\n" for n, each in enumerate(access))
    text = f"nvme-subsys0 - NQN=nqn.2026-11.example:fast\n\\\n{paths}"
    return Judged((SESSIONS_TEXT,), [PATH_FAILED], [(0.0, {"cmd:nvme list-subsys /dev/nvme0n1": text})])


@pytest.mark.parametrize(
    ("access", "severity"),
    [
        (("optimized", "non-optimized"), None),
        (("optimized", "inaccessible"), None),  # the passive controller of an array
        (("optimized", "persistent-loss"), Severity.WARNING),
        (("inaccessible", "inaccessible"), Severity.CRITICAL),
        (("inaccessible", "change"), Severity.CRITICAL),
    ],
)
def test_paths_that_an_array_does_not_grant(access: tuple[str, ...], severity: Severity | None) -> None:
    verdict = listed(*access).of("nvme0n1")
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
