"""paths-unbalanced: one path of several carries everything, near each threshold."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.readings import TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.network.nvme_paths import NVME_PATHS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.rules.paths.paths_unbalanced import PATHS_UNBALANCED
from tests.nodes.frames import Judged

NAME = "paths-unbalanced"
MB = 1_000_000


def counted(number: str, device: str, rate: float, queue: float, second: int) -> str:
    reads, sectors = int(rate * second / 65_536), int(rate * second / 512)
    return f"{number} {device} {reads} 0 {sectors} {reads} 0 0 0 0 1 {1000 * second} {int(1000 * queue * second)}\n"


def nvme(*rates: float, queue: float = 8.0, access: tuple[str, ...] = (), seconds: int = 12) -> Judged:
    """Judge a namespace whose paths carry these bytes a second."""
    shown = []
    for second in range(seconds + 1):
        files = {
            "list:/sys/block": "\n".join(f"nvme0c{n}n1" for n in range(len(rates))),
            "/sys/class/nvme-subsystem/nvme-subsys0/iopolicy": "numa\n",
            "/proc/diskstats": "".join(
                counted(f"259 {n}", f"nvme0c{n}n1", rate, queue, second) for n, rate in enumerate(rates)
            ),
        }
        for n in range(len(rates)):
            files[f"/sys/class/nvme/nvme{n}/state"] = "live\n"
            if access:
                files[f"/sys/block/nvme0c{n}n1/ana_state"] = access[n]
        shown.append((float(second), files))
    return Judged((DISKSTATS, NVME_PATHS), [PATHS_UNBALANCED], shown)


def test_one_path_of_four_carries_all() -> None:
    finding = nvme(800 * MB, 0, 0, 0).finding("nvme0n1", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "ONE OF 4 PATHS CARRIES ALL")
    assert finding.cause == "nvme0c0n1 carries 100%; 8 requests queue on it."
    assert finding.impact == "3 of 4 usable paths carry almost nothing."


@pytest.mark.parametrize(("other", "found"), [(100, False), (80, True)])
def test_a_tenth_on_the_other_is_enough(other: int, found: bool) -> None:  # noqa: FBT001
    said = nvme(800 * MB, other * MB)
    assert isinstance(said.of("nvme0n1", NAME), Finding if found else RuledOut)


@pytest.mark.parametrize(("rate", "queue"), [(99, 8.0), (800, 1.9)])
def test_a_path_with_room_needs_no_other(rate: int, queue: float) -> None:
    assert nvme(rate * MB, 0, queue=queue).ruled_out("nvme0n1", NAME).summary.startswith("2 paths, ")


def test_paths_that_are_not_optimized_are_not_expected_to_carry_anything() -> None:
    said = nvme(800 * MB, 0, access=("optimized", "non-optimized")).ruled_out("nvme0n1", NAME)
    assert said.summary == "1 path in use, nothing to balance"
    nvme(800 * MB, 0, access=("non-optimized", "non-optimized")).finding("nvme0n1", NAME)


def test_a_few_seconds_decide_nothing() -> None:
    assert nvme(800 * MB, 0, seconds=8).unchecked("nvme0n1", NAME).reason == "collecting data: 8 of 10 s"


@pytest.mark.parametrize(("groups", "found"), [("1 1 A 0 2 2 8:0 A 0 0 1 8:16 A 0 0 1", True),
                                               ("2 1 A 0 1 2 8:0 A 0 0 1 E 0 1 2 8:16 A 0 0 1", False)])  # fmt: skip
def test_the_active_group_of_a_map(groups: str, found: bool) -> None:  # noqa: FBT001
    """A map of ALUA has the paths to the other controller in a group of their own, which is not used."""
    files = {
        "list:/sys/block": "dm-0\nsda\nsdb",
        "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
        "/sys/block/dm-0/dm/name": "mpatha",
        "/sys/block/sda/dev": "8:0",
        "/sys/block/sdb/dev": "8:16",
        command_key(STATUS): f"mpatha: 0 131072 multipath 2 0 1 0 {groups}\n",
        command_key(TABLE): "mpatha: 0 131072 multipath 0 0 1 1 service-time 0 0 2\n",
    }
    loads = [counted("8 0", "sda", 400 * MB, 4, n) + counted("8 16", "sdb", 0, 0, n) for n in range(13)]
    shown = [(float(n), files | {"/proc/diskstats": load}) for n, load in enumerate(loads)]
    said = Judged((DISKSTATS, DM_STATUS), [PATHS_UNBALANCED], shown)
    assert isinstance(said.of("mpatha", NAME), Finding if found else RuledOut)
