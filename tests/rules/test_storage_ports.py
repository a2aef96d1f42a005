"""storage-port-errors: Fibre Channel and RDMA ports, near their thresholds."""

from __future__ import annotations

import pytest

from sdstop.collectors.fabric.fc import FC
from sdstop.collectors.fabric.port_readings import FcPort, RdmaPort
from sdstop.collectors.fabric.rdma import RDMA
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.core.host import Absent
from sdstop.rules.fabric.storage_port_errors import STORAGE_PORT_ERRORS
from tests.nodes.frames import Judged

NAME = "storage-port-errors"
HOST = "/sys/class/fc_host/host7"
PORT = "/sys/class/infiniband/mlx5_0/ports/1"


def fc(state: str = "Online", /, **counts: int) -> dict[str, str]:
    names = ("link_failure_count", "loss_of_sync_count", "invalid_tx_word_count", "invalid_crc_count")
    return {
        "list:/sys/class/fc_host": "host7",
        f"{HOST}/port_state": f"{state}\n",
        f"{HOST}/speed": "16 Gbit\n",
        f"{HOST}/supported_speeds": "4 Gbit, 8 Gbit, 16 Gbit\n",
        f"{HOST}/port_name": "0x100000109b1c2d3e\n",
        f"{HOST}/statistics/loss_of_signal_count": "0xffffffffffffffff\n",
        **{f"{HOST}/statistics/{name}": f"{counts.get(name, 0):#x}\n" for name in names},
    }


def rdma(state: str = "4: ACTIVE", **counts: int) -> dict[str, str]:
    return {
        "list:/sys/class/infiniband": "mlx5_0",
        "list:/sys/class/infiniband/mlx5_0/ports": "1",
        "list:/sys/class/infiniband/mlx5_0/device/net": "ens1f0",
        f"{PORT}/state": f"{state}\n",
        f"{PORT}/rate": "100 Gb/sec (4X EDR)\n",
        f"{PORT}/link_layer": "Ethernet\n",
        f"{PORT}/counters/symbol_error": f"{counts.get('symbols', 0)}\n",
        f"{PORT}/counters/link_downed": f"{counts.get('downs', 0)}\n",
        f"{PORT}/hw_counters/local_ack_timeout_err": f"{counts.get('timeouts', 0)}\n",
        f"{PORT}/hw_counters/packet_seq_err": f"{counts.get('sequence', 0)}\n",
    }


def judged(*shown: dict[str, str], every: float = 60.0) -> Judged:
    return Judged((FC, RDMA), [STORAGE_PORT_ERRORS], [(every * n, files) for n, files in enumerate(shown)])


def test_a_port_has_its_speed_and_counters() -> None:
    row = judged(fc(invalid_crc_count=31)).window.rows(FcPort)["host7"]
    assert (row.state, row.speed, row.invalid_crc, row.lost_signal) == ("Online", 2_000_000_000, 31, None)
    port = judged(rdma(timeouts=5)).window.rows(RdmaPort)[("mlx5_0", "1")]
    assert (port.state, port.rate, port.timeouts, port.interface) == ("ACTIVE", 12_500_000_000, 5, "ens1f0")
    assert port.out_of_sequence is None


@pytest.mark.parametrize("collector", [FC, RDMA], ids=["fc", "rdma"])
def test_a_node_without_ports_has_none(collector: object) -> None:
    with pytest.raises(Absent):
        list(FC.read(EvidenceHost()) if collector is FC else RDMA.read(EvidenceHost()))


def test_old_errors_are_not_new_ones() -> None:
    old = {"invalid_crc_count": 4000, "link_failure_count": 12}
    said = judged(fc(**old), fc(**old, loss_of_sync_count=1)).ruled_out("host7", NAME)
    assert said.summary == "Online; new: 0 damaged, 1 link losses"
    assert judged(fc(**old)).unchecked("host7", NAME).calm


@pytest.mark.parametrize(("new", "found"), [(9, False), (10, True)])
def test_damaged_frames(new: int, found: bool) -> None:  # noqa: FBT001
    said = judged(fc(invalid_crc_count=5), fc(invalid_crc_count=5 + new))
    if not found:
        assert said.ruled_out("host7", NAME).summary == "Online; new: 9 damaged, 0 link losses"
        return
    finding = said.finding("host7", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "DAMAGED FRAMES ON THE PORT")
    assert finding.cause == "10 damaged frames or words received in 1m00."


@pytest.mark.parametrize(("new", "found"), [(1, False), (2, True)])
def test_losses_of_the_link(new: int, found: bool) -> None:  # noqa: FBT001
    said = judged(fc(), fc(loss_of_sync_count=new))
    assert (said.finding("host7", NAME).title == "LINK OF THE PORT LOST") if found else said.ruled_out("host7", NAME)


@pytest.mark.parametrize(("new", "found"), [(59, False), (60, True)])
def test_repeated_requests(new: int, found: bool) -> None:  # noqa: FBT001
    said = judged(rdma(timeouts=100, sequence=100), rdma(timeouts=100 + new // 2, sequence=100 + new - new // 2))
    if found:
        assert said.finding("mlx5_0/1", NAME).title == "RDMA REQUESTS REPEATED"
    else:
        assert said.ruled_out("mlx5_0/1", NAME).summary == "ACTIVE; new: 0 damaged, 0 link losses, 59 repeats"


def test_a_port_that_lost_its_link_is_found_and_one_that_never_had_one_is_not() -> None:
    assert judged(fc("Linkdown", link_failure_count=1)).finding("host7", NAME).title == "STORAGE PORT WITHOUT LINK"
    assert judged(fc("Linkdown")).unchecked("host7", NAME).calm
    judged(rdma("1: DOWN", downs=3)).finding("mlx5_0/1", NAME)


def test_a_reset_of_the_counters_is_not_growth() -> None:
    assert judged(fc(invalid_crc_count=500), fc(invalid_crc_count=2)).ruled_out("host7", NAME).summary == (
        "Online; new: 0 link losses"
    )


def slow(speed: str, other: str = "", supported: str = "4 Gbit, 8 Gbit, 16 Gbit") -> Judged:
    """Judge host7 at a speed, and host8 beside it."""
    files = fc() | {f"{HOST}/speed": f"{speed}\n"}
    if other:
        second = {key.replace("host7", "host8"): value for key, value in fc().items()}
        second |= {"/sys/class/fc_host/host8/speed": f"{other}\n"}
        second |= {"/sys/class/fc_host/host8/supported_speeds": f"{supported}\n"}
        files = second | files | {"list:/sys/class/fc_host": "host7\nhost8"}
    return judged(files, files | {f"{HOST}/statistics/loss_of_sync_count": "1\n"})


@pytest.mark.parametrize(("said", "severity"), [
    (slow("8 Gbit"), Severity.INFO),
    (slow("8 Gbit", "8 Gbit"), Severity.INFO),
    (slow("8 Gbit", "16 Gbit"), Severity.WARNING),
    (slow("8 Gbit", "16 Gbit", "8 Gbit, 16 Gbit, 32 Gbit"), Severity.INFO),
], ids=["alone", "as its peer", "below its peer", "another kind of port"])  # fmt: skip
def test_a_port_below_its_speed(said: Judged, severity: Severity) -> None:
    """An older switch is no fault; beside an equal port, it is not the switch."""
    assert said.finding("host7", NAME).severity is severity


@pytest.mark.parametrize("said", [slow("16 Gbit"), slow("unknown"), slow("16 Gbit", "8 Gbit")])
def test_a_port_at_its_speed(said: Judged) -> None:
    assert said.ruled_out("host7", NAME).summary.startswith("Online; new: 0 damaged")


def test_a_port_in_a_state_of_no_known_kernel_is_unchecked() -> None:
    assert judged(fc("Frozen")).unchecked("host7", NAME).gap is Gap.FAULTY
    assert judged(fc("Offline")).unchecked("host7", NAME).calm
    assert judged(fc("Blocked", link_failure_count=3)).finding("host7", NAME).severity is Severity.WARNING


def infiniband(rate: str = "100 Gb/sec (4X EDR)", state: str = "4: ACTIVE") -> dict[str, str]:
    return rdma(state) | {f"{PORT}/link_layer": "InfiniBand\n", f"{PORT}/rate": f"{rate}\n"}


@pytest.mark.parametrize("state", ["2: INIT", "3: ARMED"])
def test_a_port_that_no_subnet_manager_activates(state: str) -> None:
    finding = judged(infiniband(state=state)).finding("mlx5_0/1", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "STORAGE PORT NOT ACTIVE")


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (infiniband("25 Gb/sec (1X EDR)"), True),
        (infiniband("50 Gb/sec (2X EDR)"), False),
        (infiniband(), False),
        (rdma() | {f"{PORT}/rate": "25 Gb/sec (1X EDR)\n"}, False),
        (infiniband("100 Gb/sec"), False),
    ],
)
def test_one_lane_is_too_few_for_infiniband_alone(shown: dict[str, str], found: bool) -> None:  # noqa: FBT001
    said = judged(shown, shown)
    if found:
        finding = said.finding("mlx5_0/1", NAME)
        assert (finding.severity, finding.title) == (Severity.WARNING, "PORT ON ONE LANE")
    else:
        assert not [each for each in said.all if isinstance(each, Finding)]


@pytest.mark.parametrize(("losses", "found"), [(1, True), (0, False)])
def test_an_offline_port_is_a_fault_if_it_had_a_link(losses: int, found: bool) -> None:  # noqa: FBT001
    said = judged(fc("Offline", link_failure_count=losses))
    if found:
        assert said.finding("host7", NAME).title == "STORAGE PORT WITHOUT LINK"
    else:
        assert said.unchecked("host7", NAME).calm
