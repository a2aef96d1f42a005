"""frames-dropped: which losses matter, and what each kind means."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.collectors.network.cards_text import CARDS_TEXT
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.paths import TCP
from sdstop.core.finding import Finding, Gap, Severity, Unchecked
from sdstop.rules.network.frames_dropped import FRAMES_DROPPED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.network import Nic, files

SNMP = {"/proc/net/snmp": "Tcp: InSegs\nTcp: 1\n"}


def judged(
    lost: Mapping[str, int],
    *,
    packets: int = 1_000_000,
    seconds: int = 60,
    kind: str = "physical",
    softnet: int = 0,
    sysfs: bool = True,
    config: dict[str, float] | None = None,
) -> Judged:
    """Judge `seconds` in which `packets` passed each way and these counters grew to what is said."""
    shown: list[tuple[float, Files]] = []
    for t in range(0, seconds + 1, 10):
        share = t / seconds
        counters = {name: int(count * share) for name, count in lost.items()}
        nic = Nic(
            "eth0",
            1500,
            kind,
            rx_packets=int(packets * share),
            tx_packets=int(packets * share),
            counters=counters,
        )
        more = {**SNMP, "/proc/net/softnet_stat": f"00000001 {int(softnet * share):08x} 00000000\n"}
        frame = files(nic, more=more)
        shown.append((float(t), frame if sysfs else {"/proc/net/dev": frame["/proc/net/dev"]}))
    rules = {"frames-dropped": config} if config else None
    return Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], shown, rules)


@pytest.mark.parametrize(
    ("counters", "words", "advice"),
    [
        ({"rx_errors": 500, "rx_length_errors": 500}, "larger than 1500", "Compare the MTU"),
        ({"rx_errors": 500, "rx_over_errors": 500}, "500 overruns", "ethtool -g eth0"),
        ({"rx_errors": 500, "rx_crc_errors": 400, "rx_frame_errors": 100}, "500 CRC errors", "cable"),
        ({"rx_missed_errors": 500}, "RX ring full", "ethtool -G eth0"),
        ({"rx_errors": 500, "rx_fifo_errors": 500}, "RX ring full", "ethtool -G eth0"),
        ({"tx_errors": 500, "tx_carrier_errors": 500}, "500 carrier losses", "journalctl -k"),
        ({"tx_errors": 500, "collisions": 500}, "half duplex", "ethtool eth0"),
        ({"tx_dropped": 500}, "TX queue full", "tc -s qdisc"),
        ({"tx_errors": 500}, "No counter gives the reason (tx)", "ethtool -S eth0"),
        ({"rx_errors": 500}, "No counter gives the reason (rx)", "ethtool -S eth0"),
    ],
)
def test_what_each_kind_means(counters: dict[str, int], words: str, advice: str) -> None:
    finding = judged(counters).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert words in finding.cause
    assert finding.impact == "500 of 2.0M frames lost in 1m00."
    assert advice in "\n".join(finding.steps)
    assert any(cite.key == "/proc/net/dev" for cite in finding.evidence)


@pytest.mark.parametrize(("lost", "fires"), [(99, False), (101, True)])
def test_one_in_ten_thousand(lost: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged({"rx_errors": lost, "rx_crc_errors": lost})
    if fires:
        assert value(said.finding("eth0"), "share") == pytest.approx(1.01e-4, rel=1e-3)
    else:
        assert f"{lost} of 2.0M frames" in said.ruled_out("eth0").summary


@pytest.mark.parametrize(("lost", "fires"), [(9, False), (10, True)])
def test_and_ten_at_least(lost: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged({"rx_errors": lost, "rx_crc_errors": lost}, packets=100)
    if fires:
        said.finding("eth0")
    else:
        said.ruled_out("eth0")


def test_the_thresholds_are_of_config() -> None:
    judged({"rx_errors": 500, "rx_crc_errors": 500}, config={"ratio": 0.01}).ruled_out("eth0")
    judged({"rx_errors": 20, "rx_crc_errors": 20}, config={"ratio": 1e-6}).finding("eth0")


def test_frames_that_nobody_wanted_are_info() -> None:
    finding = judged({"rx_dropped": 50_000}).finding("eth0")
    assert finding.severity is Severity.INFO
    assert finding.title == "UNHANDLED FRAMES"
    assert "unknown protocol" in finding.cause
    assert "50000 of 2.0M frames ignored" in finding.impact


def test_dropped_by_full_queues_of_the_cpus_is_a_warning() -> None:
    finding = judged({"rx_dropped": 50_000}, softnet=50_000).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert "50000 drops in the CPUs' receive queues" in finding.cause
    assert value(finding, "softnet") == 50_000


def test_missed_frames_among_unwanted_ones() -> None:
    judged({"rx_dropped": 50_000, "rx_missed_errors": 50}).finding("eth0")
    assert judged({"rx_dropped": 50_000, "rx_missed_errors": 50}).finding("eth0").severity is Severity.INFO
    finding = judged({"rx_dropped": 50_000, "rx_missed_errors": 500}).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert finding.cause.startswith("500 missed")
    assert finding.impact.startswith("500 of ")


def test_without_sysfs_dropped_frames_may_be_harmless() -> None:
    finding = judged({"rx_dropped": 5000, "rx_missed_errors": 5000}, sysfs=False).finding("eth0")
    assert finding.severity is Severity.INFO
    assert "needs a second sample" in finding.cause


def test_without_sysfs_errors_are_errors() -> None:
    assert judged({"rx_errors": 5000}, sysfs=False).finding("eth0").severity is Severity.WARNING


def test_a_tap_that_a_guest_does_not_empty_is_info() -> None:
    assert judged({"tx_dropped": 5000}, kind="tun").finding("eth0").severity is Severity.INFO


def test_loopback_is_left_alone() -> None:
    assert judged({"rx_dropped": 5000}, kind="loopback").silent()


def test_a_bond_is_its_slaves() -> None:
    shown: list[tuple[float, Files]] = []
    for t in (0, 10):
        counters = {"rx_errors": 500 * t, "rx_crc_errors": 500 * t}
        slave = Nic("eth0", master="bond0", rx_packets=10_000 * t, counters=counters)
        shown.append(
            (
                float(t),
                files(slave, Nic("bond0", kind="bond", lower=("eth0",), rx_packets=10_000 * t, counters=counters)),
            )
        )
    said = Judged((NETWORK, INTERFACES), [FRAMES_DROPPED], shown)
    assert [v.subject for v in said.all if isinstance(v, Finding)] == ["eth0"]
    assert said.unchecked("bond0").calm


def test_what_was_lost_long_ago_is_past() -> None:
    shown: list[tuple[float, Files]] = [
        (float(t), files(Nic("eth0", rx_packets=1000 * t, counters={"rx_errors": 10**6, "rx_crc_errors": 10**6})))
        for t in range(5)
    ]
    Judged((NETWORK, INTERFACES), [FRAMES_DROPPED], shown).ruled_out("eth0")


def test_an_interface_that_came_anew_has_no_history() -> None:
    shown: list[tuple[float, Files]] = [
        (0.0, files(Nic("eth0", rx_packets=10**6))),
        (1.0, files(Nic("eth0", rx_packets=10, counters={"rx_errors": 99}))),
    ]
    Judged((NETWORK, INTERFACES), [FRAMES_DROPPED], shown).unchecked("eth0")


def test_an_interface_that_came_in_the_window_is_judged_from_then_on() -> None:
    shown: list[tuple[float, Files]] = []
    for t in range(0, 61, 10):
        counted = {"rx_errors": 5 * t, "rx_crc_errors": 5 * t}
        nics = [Nic("eth0", rx_packets=1000 * t)]
        nics += [Nic("eth1", rx_packets=1000 * t, counters=counted)] if t >= 30 else []
        shown.append((float(t), files(*nics, more=SNMP)))
    finding = Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], shown).finding("eth1")
    assert "150 CRC errors" in finding.cause
    assert finding.impact.endswith("in 30s.")


def test_the_advice_follows_the_causes() -> None:
    shown: list[tuple[float, Files]] = []
    for t in range(0, 131, 10):
        counted = {"rx_errors": 50 * t, "rx_crc_errors": 50 * t, "tx_dropped": 99 * max(t - 70, 0)}
        shown.append((float(t), files(Nic("eth0", rx_packets=1000 * t, counters=counted), more=SNMP)))
    said = [Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], shown[:last]) for last in (7, len(shown))]
    first, then = ("\n".join(each.finding("eth0").steps) for each in said)
    assert "cable" in first
    assert "qdisc" not in first
    assert "cable" in then
    assert "qdisc" in then


def test_one_frame_is_not_called_good() -> None:
    assert Judged((NETWORK, INTERFACES), [FRAMES_DROPPED], [(0.0, files(Nic("eth0")))]).unchecked("").reason


def test_an_idle_interface_is_not_worth_a_word() -> None:
    assert judged({}, packets=0).silent()


@pytest.mark.parametrize(
    "name",
    ["collisions", "rx_crc_errors", "rx_fifo_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors"],
)
@pytest.mark.parametrize(("lost", "fires"), [(99, False), (101, True)])
def test_a_counter_that_the_driver_does_not_add_to_its_total(name: str, lost: int, fires: bool) -> None:  # noqa: FBT001
    said = judged({name: lost})
    if fires:
        assert said.finding("eth0").severity is Severity.WARNING
    else:
        assert f"{lost} of 2.0M frames" in said.ruled_out("eth0").summary


@pytest.mark.parametrize(("master", "severity"), [("bond0", Severity.WARNING), ("", Severity.INFO)])
def test_losses_of_a_slave_of_a_bond_are_those_of_a_wire(master: str, severity: Severity) -> None:
    """A tap drops what a paused guest does not receive; below a bond it is a link."""
    base = "/sys/class/net/bond0/bonding"
    more = {**SNMP, f"{base}/mode": "802.3ad 4\n", f"{base}/slaves": "eth0\n"} if master else SNMP
    shown = []
    for t in range(0, 61, 10):
        counters = {"tx_dropped": 10 * t}
        nic = Nic("eth0", kind="tun", master=master, rx_packets=t * 1000, tx_packets=t * 1000, counters=counters)
        bond = [Nic("bond0", kind="bond", lower=("eth0",))] if master else []
        state = {"/sys/class/net/eth0/bonding_slave/state": "active\n"} if master else {}
        shown.append((float(t), files(nic, *bond, more={**more, **state})))
    said = Judged((NETWORK, INTERFACES, TCP, LINKS), [FRAMES_DROPPED], shown)
    assert said.finding("eth0").severity is severity


@pytest.mark.parametrize(("errors", "doubted"), [(412_345, True), (3, False)])
def test_damaged_frames_since_boot_are_no_good_sign_in_one_sample(errors: int, doubted: bool) -> None:  # noqa: FBT001
    nic = Nic("eth0", rx_packets=8_000_000, counters={"rx_errors": errors})
    said = Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], [(0.0, files(nic, more=SNMP))])
    assert any(isinstance(each, Unchecked) and each.gap is Gap.FAULTY for each in said.all) is doubted


# --- counters of drivers alone -------------------------------------------------------------------------------


def counted(*counts: int, name: str = "rx_crc_errors") -> Judged:
    text = "NIC statistics:\n     rx_packets: 901233122\n     {}: {}\n"
    key = "cmd:ethtool -S eth2"
    shown: list[tuple[float, Files]] = [(60.0 * n, {key: text.format(name, count)}) for n, count in enumerate(counts)]
    return Judged((CARDS_TEXT,), [FRAMES_DROPPED], shown)


@pytest.mark.parametrize("counts", [(4_123_311,), (4_123_311, 4_123_311), (4_123_311, 4_123_320)])
def test_damaged_frames_of_unknown_age_are_not_good(counts: tuple[int, ...]) -> None:
    verdict = counted(*counts).of("eth2")
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is Gap.FAULTY


@pytest.mark.parametrize("name", ["rx_crc_errors", "rx_crc_errors_phy", "port.rx_crc_errors", "rx_symbol_err_phy"])
def test_damaged_frames_that_grow_are_a_finding(name: str) -> None:
    finding = counted(100, 110, name=name).finding("eth2")
    assert (finding.severity, finding.title) == (Severity.WARNING, "FRAMES DAMAGED")


@pytest.mark.parametrize("name", ["rx_discards_phy", "tx_pause", "rx_missed_errors", "rx_crc_errors_total_of_queue"])
def test_other_counters_of_drivers_are_not_judged(name: str) -> None:
    assert not [each for each in counted(100, 500, name=name).all if isinstance(each, Finding)]


@pytest.mark.parametrize(("bad", "fires"), [(0, False), (9, False), (99, False), (101, True)])
def test_segments_that_arrive_damaged_in_whole_frames(bad: int, fires: bool) -> None:  # noqa: FBT001  # a table
    """A switch with bad memory: no frame has a wrong CRC, as each port writes a new one."""
    shown: list[tuple[float, Files]] = []
    for t in range(0, 61, 10):
        counts = f"Tcp: InSegs InCsumErrors\nTcp: {1_000_000 * t // 60} {7 + bad * t // 60}\n"
        nic = Nic("eth0", 1500, "physical", rx_packets=t * 20_000, tx_packets=t * 20_000, counters={})
        shown.append((float(t), files(nic, more={"/proc/net/snmp": counts})))
    said = Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], shown)
    found = [each for each in said.all if isinstance(each, Finding)]
    assert [(each.subject, each.title) for each in found] == ([("tcp", "TCP SEGMENTS DAMAGED")] if fires else [])
    if fires:
        assert value(said.finding("tcp"), "bad") == bad


def test_old_checksum_errors_are_past() -> None:
    shown: list[tuple[float, Files]] = [
        (float(t), files(Nic("eth0", 1500, "physical", rx_packets=t, tx_packets=t, counters={}),
                         more={"/proc/net/snmp": f"Tcp: InSegs InCsumErrors\nTcp: {t * 900} 4711\n"}))
        for t in range(0, 61, 10)
    ]  # fmt: skip
    said = Judged((NETWORK, INTERFACES, TCP), [FRAMES_DROPPED], shown)
    assert not any(isinstance(each, Finding) for each in said.all)
