"""path-failed of NVMe namespaces: controllers that are down, and access that a target refuses."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.nvme_paths import NVME_PATHS
from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Damage, Severity
from sdstop.core.host import Absent
from sdstop.rules.paths.path_failed import PATH_FAILED
from tests.nodes.frames import Judged

NAME = "path-failed"
OPTIMIZED, PASSIVE, LOST = "live optimized", "live inaccessible", "live persistent-loss"


def judged(*states: tuple[str, ...], every: float = 5.0) -> Judged:
    """Judge a namespace; each state has a word for each controller, and one for the access behind it, if any."""
    shown = []
    for number, paths in enumerate(states):
        files = {
            "list:/sys/block": "\n".join(["nvme3n1", *(f"nvme3c{n}n1" for n in range(len(paths))), f"loop{number}"]),
            "/sys/class/nvme-subsystem/nvme-subsys3/iopolicy": "round-robin\n",
        }
        for n, words in enumerate(paths):
            state, _, access = words.partition(" ")
            files[f"/sys/class/nvme/nvme{n}/state"] = f"{state}\n"
            if access:
                files[f"/sys/block/nvme3c{n}n1/ana_state"] = f"{access}\n"
        shown.append((every * number, files))
    return Judged((NVME_PATHS,), [PATH_FAILED], shown)


def test_a_path_has_its_controller_and_the_access_that_it_reports() -> None:
    rows = judged((OPTIMIZED, "live")).window.rows(NvmePath)
    assert rows["nvme3c0n1"] == NvmePath(
        "nvme3c0n1", "nvme3n1", "nvme0", "nvme-subsys3", "live", "optimized", "round-robin"
    )
    assert (rows["nvme3c1n1"].controller, rows["nvme3c1n1"].access) == ("nvme1", None)


def test_a_node_without_paths_is_not_asked_for_more() -> None:
    with pytest.raises(Absent):
        list(NVME_PATHS.read(EvidenceHost.of({"list:/sys/block": "nvme0n1\nsda"})))


def test_all_controllers_live_is_good() -> None:
    assert judged(("live", "live")).ruled_out("nvme3n1", NAME).summary == "2 paths active"


def test_a_passive_controller_is_not_a_failed_path() -> None:
    """Some targets serve a namespace by one controller of a pair, and the other takes over."""
    said = judged((OPTIMIZED, PASSIVE)).ruled_out("nvme3n1", NAME)
    assert said.summary == "1 path active, 1 inaccessible (ANA)"


def test_one_controller_of_two_down_is_a_warning() -> None:
    finding = judged(("live", "connecting"), ("live", "connecting")).finding("nvme3n1", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "PATH FAILED: 1 of 2 left")
    assert finding.cause == "Controllers without access: nvme1 connecting."
    assert finding.damage is Damage.REDUNDANCY


@pytest.mark.parametrize(
    ("paths", "cause"),
    [
        (("connecting", "dead"), "No controller gives access: nvme0 connecting, nvme1 dead."),
        ((PASSIVE, PASSIVE), "No controller gives access: nvme0 inaccessible, nvme1 inaccessible."),
        ((PASSIVE, "connecting"), "No controller gives access: nvme0 inaccessible, nvme1 connecting."),
        ((LOST,), "No controller gives access: nvme0 persistent-loss."),
    ],
)
def test_without_a_path_requests_wait_or_fail(paths: tuple[str, ...], cause: str) -> None:
    finding = judged(paths, paths).finding("nvme3n1", NAME)
    assert (finding.severity, finding.title, finding.cause) == (Severity.CRITICAL, "NO PATH LEFT", cause)
    assert finding.damage is Damage.AVAILABILITY


def test_a_change_of_access_has_to_last() -> None:
    """A target that moves a namespace to its other controller reports `change` for a moment."""
    good, moving = (OPTIMIZED, PASSIVE), ("live change", "live change")
    assert judged(good, moving).unchecked("nvme3n1", NAME).reason == "2 failed for 0.0s: warning after 5 s"
    assert judged(good, moving, moving).finding("nvme3n1", NAME).title == "NO PATH LEFT"
    judged(good, moving, good).ruled_out("nvme3n1", NAME)


def test_an_unreadable_state_decides_nothing() -> None:
    shown = {"list:/sys/block": "nvme3n1\nnvme3c0n1\nnvme3c1n1", "/sys/class/nvme/nvme0/state": "live\n"}
    said = Judged((NVME_PATHS,), [PATH_FAILED], [(0.0, shown)]).unchecked("nvme3n1", NAME)
    assert said.reason == "state of a controller not readable"
