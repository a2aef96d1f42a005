"""path-failed: a path of two, all of them, with and without queueing, and for how long."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.devicemapper.dmsetup import STATUS, TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.path_failed import PATH_FAILED
from tests.nodes.frames import Judged, check

NAME = "path-failed"


def judged(*states: str, queues: bool | None = True, every: float = 5.0, disk: str = "") -> Judged:
    """Judge a map of two paths; a state is a letter for each path, such as AF; `disk` is the state of their disks."""
    features = {True: "1 queue_if_no_path", False: "0", None: "9"}[queues]
    frames = []
    for number, state in enumerate(states):
        paths = " ".join(f"8:{16 * n} {letter} {number} 0 1" for n, letter in enumerate(state))
        frames.append(
            (
                every * number,
                {
                    "list:/sys/block": "dm-0\nsda\nsdb",
                    "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
                    "/sys/block/dm-0/dm/name": "mpatha",
                    "/sys/block/sda/dev": "8:0",
                    "/sys/block/sdb/dev": "8:16",
                    **({f"/sys/block/{name}/device/state": disk for name in ("sda", "sdb")} if disk else {}),
                    command_key(STATUS): f"mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 {len(state)} 2 {paths}\n",
                    command_key(TABLE): f"mpatha: 0 131072 multipath {features} 0 1 1 service-time 0 0 2\n",
                },
            )
        )
    return Judged((DM_STATUS, BLOCKDEV), [PATH_FAILED], frames)


def test_all_paths_active_is_good() -> None:
    assert judged("AA").ruled_out("mpatha").summary == "2 paths active"
    assert isinstance(judged("A").of("mpatha", NAME), RuledOut)


def test_half_of_the_paths_is_a_warning_that_names_the_failed_one() -> None:
    finding = judged("AF", "AF").finding("mpatha", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "PATH FAILED: 1 of 2 left")
    assert finding.cause == "The kernel does not use 1 path: sdb."
    assert finding.impact == "If the last path fails, the data is unreachable."


@pytest.mark.parametrize(
    ("queues", "title", "impact"),
    [
        (True, "NO PATH LEFT: requests wait", "Every request waits until a path works again."),
        (False, "NO PATH LEFT: requests fail", "Every request fails with an I/O error."),
        (None, "NO PATH LEFT", "Every request waits or fails."),
    ],
)
def test_no_path_is_critical_at_once(queues: bool | None, title: str, impact: str) -> None:  # noqa: FBT001
    finding = judged("AA", "FF", queues=queues).finding("mpatha", NAME)
    assert (finding.severity, finding.title, finding.impact) == (Severity.CRITICAL, title, impact)
    assert any(step.startswith("dmsetup message") for step in finding.steps) is (queues is True)


def test_a_failure_has_to_last() -> None:
    assert isinstance(judged("AA", "AF").of("mpatha", NAME), Unchecked)
    assert isinstance(judged("AA", "AF", "AF").of("mpatha", NAME), Finding)
    assert isinstance(judged("AF", "AA", "AF").of("mpatha", NAME), Unchecked)


@pytest.mark.parametrize(("disk", "first"), [("running", "systemctl status multipathd"), ("offline", "multipath -ll")])
def test_a_failed_path_with_a_disk_that_runs_leads_to_multipathd(disk: str, first: str) -> None:
    steps = judged("AF", disk=disk).finding("mpatha", NAME).steps
    assert steps[1].startswith(first)
    assert any("multipathd" in step for step in steps[:1])


def test_one_moment_shows_what_it_shows() -> None:
    assert isinstance(judged("AF").of("mpatha", NAME), Finding)


# --- capacity ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "is_found"), [(131072, False), (131073, True), (0, True)])
def test_paths_of_a_map_that_differ_in_size(size: int, is_found: bool) -> None:  # noqa: FBT001
    files = {
        "list:/sys/block": "dm-0\nsda\nsdb", "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
        "/sys/block/dm-0/dm/name": "mpatha", "/sys/block/dm-0/dev": "253:0", "/sys/block/sda/dev": "8:0",
        "/sys/block/sdb/dev": "8:16", "/sys/block/sda/size": "131072", "/sys/block/sdb/size": str(size),
        command_key(STATUS): "mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:16 A 0 0 1\n",
        command_key(TABLE): "mpatha: 0 131072 multipath 0 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n",
    }  # fmt: skip
    said = Judged((DM_STATUS, BLOCKDEV), [PATH_FAILED], [(0.0, files)])
    if is_found:
        assert said.finding("mpatha").title == "PATHS DIFFER IN SIZE"
        check(said.finding("mpatha"))
    else:
        assert said.ruled_out("mpatha").summary == "2 paths active"
