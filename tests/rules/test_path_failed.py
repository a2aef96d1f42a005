"""path-failed: a path of two, all of them, with and without queueing, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.multipath_text import MULTIPATH_TEXT
from sdstop.collectors.devicemapper.readings import TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.core import format as human
from sdstop.core.evidence import command_key
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.paths.path_failed import PATH_FAILED
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


@pytest.mark.parametrize(
    ("refuse", "is_found"),
    [(("sdb",), True), ((), False), (("sda", "sdb"), False), (("sdb", "dm-0"), False)],
)
def test_a_path_that_refuses_writes(refuse: tuple[str, ...], is_found: bool) -> None:  # noqa: FBT001
    """A map that is read-only itself takes no writes, and if all paths are, the map is."""
    files = {
        "list:/sys/block": "dm-0\nsda\nsdb", "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
        "/sys/block/dm-0/dm/name": "mpatha", "/sys/block/dm-0/dev": "253:0", "/sys/block/sda/dev": "8:0",
        "/sys/block/sdb/dev": "8:16",
        **{f"/sys/block/{name}/ro": str(int(name in refuse)) for name in ("dm-0", "sda", "sdb")},
        command_key(STATUS): "mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 2 2 8:0 A 0 0 1 8:16 A 0 0 1\n",
        command_key(TABLE): "mpatha: 0 131072 multipath 0 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1\n",
    }  # fmt: skip
    said = Judged((DM_STATUS, BLOCKDEV), [PATH_FAILED], [(0.0, files)])
    if is_found:
        assert said.finding("mpatha").cause == "Read-only: sdb; the other paths of the map are not."
    else:
        said.ruled_out("mpatha")


# --- a path that the map lacks ----------------------------------------------------------------------------------


def beside(
    *, wwid: str = "naa.600a0980", size: int = 131072, state: str = "running", counted: bool = True,
    late: int = 0, frames: int = 1, every: float = 60.0,
) -> Judged:  # fmt: skip
    """Judge a map with the path sda, and a disk sdb beside it that is found in frame `late`."""

    def disk(name: str, minor: int, wwid: str, size: int, state: str) -> dict[str, str]:
        base = f"/sys/block/{name}"
        return {
            f"list:{base}": "device\nsize\nqueue", f"{base}/dev": f"8:{minor}", f"{base}/size": f"{size}",
            f"link:{base}/device": f"../../../{minor}:0:0:0", f"{base}/device/wwid": wwid,
            f"{base}/device/model": "LUN", f"{base}/device/state": state,
        }  # fmt: skip

    shown = []
    for number in range(frames):
        found = number >= late
        counters = "0 0 0 0 0 0 0 0 0 0 0"
        shown.append((every * number, {
            "list:/sys/block": "dm-0\nsda" + ("\nsdb" if found else ""),
            "/sys/block/dm-0/dm/uuid": "mpath-3600a0980", "/sys/block/dm-0/dm/name": "mpatha",
            "/sys/block/dm-0/dev": "253:0",
            **disk("sda", 0, "naa.600a0980", 131072, "running"),
            **(disk("sdb", 16, wwid, size, state) if found else {}),
            "/proc/diskstats": f" 8 0 sda {counters}\n" + (f" 8 16 sdb {counters}\n" if counted and found else ""),
            command_key(STATUS): "mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 1 2 8:0 A 0 0 1\n",
            command_key(TABLE): "mpatha: 0 131072 multipath 0 0 1 1 service-time 0 1 2 8:0 1 1\n",
        }))  # fmt: skip
    return Judged((DM_STATUS, BLOCKDEV, DISKSTATS), [PATH_FAILED], shown)


def test_a_disk_with_the_data_of_a_map_that_does_not_use_it_is_a_lost_path() -> None:
    """Seen for real: a blacklist left one of two paths out, and all paths of the map were active."""
    finding = beside().finding("mpatha", NAME)
    assert (finding.severity, finding.title) == (Severity.WARNING, "PATH NOT IN THE MAP: 1 of 2 used")
    assert finding.cause == "sdb leads to the same data but is not in the map."
    assert finding.impact == "If the last path fails, the data is unreachable."
    check(finding)


@pytest.mark.parametrize(
    "other", [{"wwid": "naa.600a0981"}, {"size": 131080}, {"state": "offline"}, {"counted": False}],
    ids=["other-data", "other-size", "offline", "gone"],
)  # fmt: skip
def test_a_disk_that_is_another_one_or_gone_is_not_missing_in_the_map(other: dict[str, Any]) -> None:
    assert beside(**other).ruled_out("mpatha", NAME).summary == "1 path active"


@pytest.mark.parametrize(("every", "is_found"), [(14.0, False), (15.0, True)])
def test_a_disk_that_was_just_found_is_not_missing_yet(every: float, *, is_found: bool) -> None:
    said = beside(late=1, frames=4, every=every)
    assert isinstance(said.of("mpatha", NAME), Finding if is_found else RuledOut)


# --- preferred paths --------------------------------------------------------------------------------------


def detour(
    *active: int, access: tuple[str, str] = ("active/optimized", "active/non-optimized"), every: float = 5.0
) -> Judged:
    """Judge a map of two groups with a path each; `active` is the group in use in each sample, counted from 1."""
    frames = []
    for number, group in enumerate(active):
        states = ["A" if group == n else "E" for n in (1, 2)]
        groups = " ".join(f"{state} 0 1 2 8:{16 * n} A {number} 0 1" for n, state in enumerate(states))
        files = {
            "list:/sys/block": "dm-0\nsda\nsdb", "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
            "/sys/block/dm-0/dm/name": "mpatha", "/sys/block/sda/dev": "8:0", "/sys/block/sdb/dev": "8:16",
            command_key(STATUS): f"mpatha: 0 131072 multipath 2 0 1 0 2 {group} {groups}\n",
            **{f"/sys/block/{name}/device/access_state": f"{word}\n"
               for name, word in zip(("sda", "sdb"), access, strict=True) if word},
        }  # fmt: skip
        frames.append((every * number, files))
    return Judged((DM_STATUS, BLOCKDEV), [PATH_FAILED], frames)


def test_a_map_that_does_not_go_back_to_its_preferred_paths() -> None:
    said = detour(*[2] * 7).finding("mpatha", NAME)
    assert (said.severity, said.title) == (Severity.WARNING, "PREFERRED PATHS NOT USED")
    assert said.cause == "sdb in use, sda preferred by the array and active."


@pytest.mark.parametrize(("samples", "seconds"), [((2,), 0), ((2,) * 6, 25), ((1, 2, 2, 2), 10), ((1, 2, 1, 2, 2), 5)])
def test_failback_has_half_a_minute(samples: tuple[int, ...], seconds: int) -> None:
    reason = detour(*samples).unchecked("mpatha", NAME).reason
    assert reason == f"preferred paths not used for {human.duration(seconds)}: warning after 30 s"


@pytest.mark.parametrize("access", [
    ("active/optimized", "active/optimized"), ("active/non-optimized", "active/non-optimized"), ("", ""),
    ("active/non-optimized", "active/optimized"), ("", "active/non-optimized"),
])  # fmt: skip
def test_paths_that_the_array_does_not_prefer_may_idle(access: tuple[str, str]) -> None:
    detour(*[2] * 7, access=access).ruled_out("mpatha", NAME)


def test_the_preferred_group_in_use_is_good() -> None:
    detour(*[1] * 7).ruled_out("mpatha", NAME)


PRINTED = """mpatha (360014051234) dm-0 LIO-ORG,disk
size=64M features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
|-+- policy='service-time 0' prio={} status={}
| `- 2:0:0:0 sda 8:0  active ready running
`-+- policy='service-time 0' prio={} status={}
  `- 3:0:0:0 sdb 8:16 active ready running
"""


@pytest.mark.parametrize(("first", "second", "found"), [
    ((50, "enabled"), (10, "active"), True), ((50, "active"), (10, "enabled"), False),
    ((1, "enabled"), (1, "active"), False), ((50, "enabled"), (10, "enabled"), False),
    ((50, "disabled"), (10, "active"), False), (("undef", "enabled"), (10, "active"), False),
])  # fmt: skip
def test_priorities_in_the_output_of_multipath(
    first: tuple[object, str],
    second: tuple[object, str],
    found: bool,  # noqa: FBT001
) -> None:
    said = Judged((MULTIPATH_TEXT,), [PATH_FAILED], [(0.0, {"cmd:multipath -ll": PRINTED.format(*first, *second)})])
    assert isinstance(said.of("mpatha", NAME), Finding) is found


@pytest.mark.parametrize(("others", "is_found"), [(("A", "A"), True), (("A",), False)])
def test_a_map_with_one_path_beside_maps_with_more(others: tuple[str, ...], is_found: bool) -> None:  # noqa: FBT001
    def line(name: str, *numbers: str) -> tuple[str, str]:
        paths = " ".join(f"{number} A 0 0 1" for number in numbers)
        named = " ".join(f"{number} 1 1" for number in numbers)
        return (
            f"{name}: 0 131072 multipath 2 0 1 0 1 1 A 0 {len(numbers)} 2 {paths}\n",
            f"{name}: 0 131072 multipath 0 0 1 1 service-time 0 {len(numbers)} 2 {named}\n",
        )

    one, other = line("mpatha", "8:0"), line("mpathb", *(f"8:{16 * (n + 1)}" for n, _ in enumerate(others)))
    files = {command_key(STATUS): one[0] + other[0], command_key(TABLE): one[1] + other[1]}
    said = Judged((DM_STATUS,), [PATH_FAILED], [(0.0, files)])
    if is_found:
        assert said.finding("mpatha").title == "ONE PATH, other maps have more"
    else:
        said.ruled_out("mpatha")


@pytest.mark.parametrize(
    ("protection", "access", "found"),
    [("ro", "rw", True), ("ro", "ro", False), ("rw", "rw", False), ("undef", "rw", False)],
)
def test_a_map_that_refuses_writes_under_a_writable_mount(protection: str, access: str, found: bool) -> None:  # noqa: FBT001
    text = (
        "mpatha (36001405a) dm-0 LIO-ORG,IBLOCK\n"
        f"size=64M features='0' hwhandler='1 alua' wp={protection}\n"
        "`-+- policy='service-time 0' prio=50 status=active\n"
        "  |- 7:0:0:0 sdb 8:16 active ready running\n"
        "  `- 6:0:0:0 sda 8:0  active ready running\n"
    )
    files = {"cmd:multipath -ll": text, "/proc/self/mounts": f"/dev/mapper/mpatha /srv xfs {access},relatime 0 0\n"}
    said = Judged((MULTIPATH_TEXT, MOUNTED), [PATH_FAILED], [(0.0, files)]).of("mpatha")
    assert isinstance(said, Finding) is found
    if isinstance(said, Finding):
        assert said.title == "MAP READ-ONLY, mount writable"
