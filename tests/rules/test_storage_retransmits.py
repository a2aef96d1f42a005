"""storage-retransmits: segments sent again to iSCSI, NVMe/TCP and cluster peers, and to nobody else."""

from __future__ import annotations

import pytest

from sdstop.cli.check import MARGIN, SECONDS
from sdstop.collectors.network.connections import established
from sdstop.collectors.network.peer_readings import ASK_SERVERS, StoragePeer
from sdstop.collectors.network.storage_peers import STORAGE_PEERS, connected, parse, service_of
from sdstop.core.evidence import command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Failed
from sdstop.rules.network.storage_retransmits import STORAGE_RETRANSMITS
from tests.nodes.frames import Judged

NAME = "storage-retransmits"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TO_ISCSI = HEAD + "   0: 1F0200C0:9C40 010200C0:0CBC 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
TO_WEB = HEAD + "   0: 1F0200C0:9C40 010200C0:01BB 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
TO_ITSELF = HEAD + "   0: 0100007F:9C40 0100007F:1A90 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
LISTENING = HEAD + "   0: 00000000:1E6C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 0 1\n"


def line(peer: str, segments: int, again: int, local: str = "192.0.2.31:40000") -> str:
    retrans = f"retrans:0/{again} " if again else ""
    return f"0 0 {local} {peer} cubic rto:204 rtt:0.31/0.12 segs_out:{segments} {retrans}segs_in:90 lastsnd:4\n"


def judged(*shown: str, every: float = 30.0) -> Judged:
    frames = [(every * n, {"/proc/net/tcp": TO_ISCSI, command_key(ASK_SERVERS): text}) for n, text in enumerate(shown)]
    return Judged((STORAGE_PEERS,), [STORAGE_RETRANSMITS], frames)


def test_connections_are_counted_by_peer_and_service() -> None:
    rows = judged(
        line("192.0.2.1:3260", 812, 3) + line("192.0.2.1:3260", 100, 0) + line("192.0.2.9:443", 9, 9)
        + line("[2001:db8::7]:6804", 50, 1) + line("127.0.0.1:3260", 5, 5)
    ).window.rows(StoragePeer)  # fmt: skip
    assert rows[("192.0.2.1", "iscsi")] == StoragePeer("192.0.2.1", "iscsi", 3260, 2, 912, 3, 0.00031)
    assert rows[("2001:db8::7", "ceph")].port is None
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("local", "remote", "service"),
    [
        (40000, 4420, ("nvme-tcp", 4420)),
        (40000, 7788, ("drbd", None)),
        (7799, 40000, ("drbd", None)),
        (6800, 51000, ("ceph", None)),
        (3260, 40000, None),  # a client of this node
        (40000, 443, None),
    ],
)
def test_services_are_known_by_their_ports(local: int, remote: int, service: tuple[str, int | None] | None) -> None:
    assert service_of(local, remote) == service


@pytest.mark.parametrize(
    ("text", "found"), [(TO_ISCSI, True), (TO_WEB, False), (TO_ITSELF, False), (LISTENING, False), ("", False)]
)
def test_ss_runs_only_where_storage_is_connected(text: str, found: bool) -> None:  # noqa: FBT001
    assert any(map(connected, established(text))) is found
    if not found and text:
        with pytest.raises(Absent):
            list(STORAGE_PEERS.read(EvidenceHost.of({"/proc/net/tcp": text})))


def test_a_new_loss_is_not_hidden_by_minutes_without_one() -> None:
    """Five minutes of 2000 segments each 15 s, and 3% sent again in the last 45 s only."""
    again = [0] * 17 + [60, 120, 180]
    said = judged(*(line("192.0.2.1:3260", 2000 * n, each) for n, each in enumerate(again)), every=15.0)
    assert said.finding("192.0.2.1/iscsi", NAME).title == "RETRANSMITS: 2.2% of segments"


def test_a_check_of_eight_seconds_sees_two_samples() -> None:
    assert STORAGE_PEERS.second + MARGIN < SECONDS


def test_lines_of_another_form_are_skipped() -> None:
    assert parse("Recv-Q Send-Q Local Peer\nnonsense\n0 0 a:1 b:3260 x\n") == []


def test_a_failure_of_ss_is_one() -> None:
    host = EvidenceHost.of({"/proc/net/tcp": TO_ISCSI})
    with pytest.raises((Failed, Absent)):
        list(STORAGE_PEERS.read(host))


@pytest.mark.parametrize(("again", "found"), [(49, False), (50, True)])
def test_half_a_percent_is_the_threshold(again: int, found: bool) -> None:  # noqa: FBT001
    said = judged(line("192.0.2.1:3260", 5000, 400), line("192.0.2.1:3260", 15_000, 400 + again))
    if not found:
        assert said.ruled_out("192.0.2.1/iscsi", NAME).summary == "0.5% of segments sent again"
        return
    finding = said.finding("192.0.2.1/iscsi", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "RETRANSMITS: 0.5% of segments")
    assert finding.cause == "50 of 10000 TCP segments to this iscsi peer sent again in 30s."


def test_a_few_segments_decide_nothing() -> None:
    said = judged(line("192.0.2.1:3260", 100, 0), line("192.0.2.1:3260", 900, 90))
    assert said.ruled_out("192.0.2.1/iscsi", NAME).summary == "800 segments in 30s, 90 sent again"


def test_a_reconnect_begins_again() -> None:
    said = judged(line("192.0.2.1:3260", 15_000, 400), line("192.0.2.1:3260", 2000, 40))
    assert "two samples" in said.unchecked("192.0.2.1/iscsi", NAME).reason
