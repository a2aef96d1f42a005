"""Paths of NVMe namespaces, and what the rule says of them."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.nvme_paths import NVME_PATHS, NvmePath
from sdstop.collectors.network.session_states import SESSION_STATES
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import RuledOut, Severity, Unchecked
from sdstop.core.host import Absent
from sdstop.rules.nvme_no_path import NVME_NO_PATH
from tests.nodes.frames import Files, Judged

NVME = "/sys/class/nvme"


def node(*paths: str, states: tuple[str, str] = ("live", "live")) -> dict[str, str]:
    """Return the files of a namespace with a path by each controller, and their states."""
    files = {f"{NVME}/nvme{number}/state": f"{state}\n" for number, state in enumerate(states)}
    return files | {f"{NVME}/nvme{n}/nvme0c{n}n1/ana_state": f"{state}\n" for n, state in enumerate(paths)}


def judged(*shown: tuple[float, Files]) -> Judged:
    return Judged([NVME_PATHS, SESSION_STATES], [NVME_NO_PATH], shown)


def test_the_paths_of_a_namespace() -> None:
    local = {f"{NVME}/nvme7/nvme7n1/size": "8\n", f"{NVME}/nvme7/state": "live\n"}
    rows = list(NVME_PATHS.read(EvidenceHost.of(node("optimized", "change") | local)))
    assert rows == [
        NvmePath("nvme0c0n1", "nvme0", "nvme0n1", "optimized"),
        NvmePath("nvme0c1n1", "nvme1", "nvme0n1", "change"),
    ]


@pytest.mark.parametrize("files", [{}, {f"{NVME}/nvme0/state": "live\n", f"{NVME}/nvme0/nvme0c0n1/size": "8\n"}])
def test_without_ana_there_are_no_paths(files: dict[str, str]) -> None:
    with pytest.raises(Absent):
        list(NVME_PATHS.read(EvidenceHost.of(files)))


@pytest.mark.parametrize("states", [("optimized", "inaccessible"), ("change", "non-optimized")])
def test_a_standby_path_is_no_fault(states: tuple[str, str]) -> None:
    said = judged((0.0, node("optimized", "optimized")), (60.0, node(*states)))
    assert said.ruled_out("nvme0n1").summary == "1 of 2 paths served"


@pytest.mark.parametrize(("seconds", "fires"), [(0.0, False), (9.0, False), (10.0, True), (60.0, True)])
def test_no_path_for_longer_than_a_move_takes(seconds: float, fires: bool) -> None:  # noqa: FBT001  # a table
    shown = [(0.0, node("optimized", "inaccessible")), (5.0, node("inaccessible", "inaccessible"))]
    if seconds:
        shown.append((5.0 + seconds, node("inaccessible", "change")))
    said = judged(*shown)
    if not fires:
        assert "critical after 10 s" in said.unchecked("nvme0n1").reason
        return
    finding = said.finding("nvme0n1")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "NO PATH SERVED: I/O is held")


def test_one_sample_without_a_path_counts() -> None:
    finding = judged((0.0, node("inaccessible", "persistent-loss"))).finding("nvme0n1")
    assert finding.cause == "Controllers are live, but the target serves no path."


def test_the_path_that_is_served_needs_its_controller() -> None:
    lost = node("optimized", "inaccessible", states=("connecting", "live"))
    finding = judged((0.0, lost)).finding("nvme0n1")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "1 of 2 controllers down; paths by the others are inaccessible."


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (node("optimized", "optimized", states=("connecting", "connecting")), "all controllers are down"),
        (node("inaccessible", "of-next-year"), 'unknown ANA state "of-next-year"'),
    ],
)
def test_what_is_not_known_or_anothers_finding(files: dict[str, str], reason: str) -> None:
    said = judged((0.0, files)).of("nvme0n1")
    assert isinstance(said, Unchecked)
    assert not isinstance(said, RuledOut)
    assert reason in said.reason
