"""memory-saturated: traffic that resctrl measures, against the peak that follows from the modules."""

from __future__ import annotations

import pytest

from sdstop.collectors.memory.bandwidth import BANDWIDTH, groups
from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.readings import TOP, MemoryTraffic
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Failed
from sdstop.rules.memory.memory_saturated import MEMORY_SATURATED
from tests.nodes.firmware import Board, Module
from tests.nodes.frames import Judged

NAME = "memory-saturated"
GB = 1_000_000_000
PEAK = 4 * 2133e6 * 8
"""Of a socket with four modules of 2133 MT/s."""


def resctrl(total: float | str, local: float | str | None = None, group: str = "", domains: int = 2) -> dict[str, str]:
    """Return the counters of one group, the same for each cache."""
    files = {}
    for domain in range(domains):
        base = f"{TOP}{group}/mon_data/mon_L3_{domain:02d}"
        for name, value in (("mbm_total_bytes", total), ("mbm_local_bytes", total if local is None else local)):
            files[f"{base}/{name}"] = f"{value if isinstance(value, str) else int(value)}\n"
    return files


def judged(share: float, remote: float = 0.0, *, seconds: int = 10, modules: bool = True, domains: int = 2) -> Judged:
    """Judge two sockets of which each moves this share of its peak."""
    slots = [Module(f"P{cpu}-DIMM{channel}1", 16384) for cpu in (1, 2) for channel in "ABCD"]
    board = Board(slots).table()
    shown: list[tuple[float, dict[str, str | bytes]]] = []
    for second in range(0, seconds + 1, 5):
        moved = share * PEAK * second * (2 / domains)
        files: dict[str, str | bytes] = {**resctrl(moved, moved * (1 - remote), domains=domains)}
        if modules:
            files["/sys/firmware/dmi/tables/DMI"] = board
        shown.append((float(second), files))
    return Judged((BANDWIDTH, DIMMS), [MEMORY_SATURATED], shown)


def test_the_sum_of_all_groups_is_that_of_the_cache() -> None:
    files = resctrl(100) | resctrl(20, group="/database") | resctrl(3, group="/mon_groups/backup")
    host = EvidenceHost.of(files)
    assert groups(host) == ["", "/mon_groups/backup", "/database"]
    assert list(BANDWIDTH.read(host)) == [
        MemoryTraffic("0", "mon_L3_00", 123, 123),
        MemoryTraffic("1", "mon_L3_01", 123, 123),
    ]


def test_a_group_that_is_not_measured_leaves_the_sum_unknown() -> None:
    host = EvidenceHost.of(resctrl(100, domains=1) | resctrl("Unavailable", group="/mon_groups/backup", domains=1))
    assert list(BANDWIDTH.read(host)) == [MemoryTraffic("0", "mon_L3_00", None, None)]


@pytest.mark.parametrize("files", [{}, {f"{TOP}/info/last_cmd_status": "ok"},
                                   {f"{TOP}/mon_data/mon_L3_00/llc_occupancy": "1"}])  # fmt: skip
def test_without_counters_there_is_nothing_measured(files: dict[str, str]) -> None:
    with pytest.raises(Absent):
        list(BANDWIDTH.read(EvidenceHost.of(files)))


def test_hundreds_of_groups_are_not_read() -> None:
    files = resctrl(1, domains=1)
    for number in range(70):
        files |= resctrl(1, group=f"/mon_groups/g{number}", domains=1)
    with pytest.raises(Failed):
        list(BANDWIDTH.read(EvidenceHost.of(files)))


@pytest.mark.parametrize(("share", "found"), [(0.69, False), (0.71, True)])
def test_near_the_peak(share: float, found: bool) -> None:  # noqa: FBT001
    said = judged(share)
    if not found:
        assert said.ruled_out("memory/0", NAME).summary.startswith("measured 47.1 GB/s of 68.3 GB/s")
        return
    finding = said.finding("memory/1", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "MEMORY AT ITS LIMIT: 71.0% of peak")
    assert finding.cause.startswith("Measured: 48.5")
    assert finding.cause.endswith(", the computed peak of the modules.")


@pytest.mark.parametrize(("share", "remote", "found"), [(0.3, 0.6, True), (0.3, 0.4, False), (0.1, 0.9, False)])
def test_traffic_across_sockets(share: float, remote: float, found: bool) -> None:  # noqa: FBT001
    said = judged(share, remote)
    if found:
        assert said.finding("memory/0", NAME).title == "MEMORY TRAFFIC CROSSES: 60.0%"
    else:
        said.ruled_out("memory/0", NAME)


def test_caches_that_are_not_sockets_are_judged_together() -> None:
    judged(0.8, domains=8).finding("memory", NAME)


def test_without_modules_the_measurement_is_stated_and_not_judged() -> None:
    assert "peak of the modules unknown" in judged(0.9, modules=False).unchecked("memory", NAME).reason


def test_a_few_seconds_decide_nothing() -> None:
    assert judged(0.9, seconds=5).unchecked("memory/0", NAME).reason == "measured for 5 of 10 s"
