"""rebuild-throttled: md's own limits, and only they."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Severity
from sdstop.rules.rebuilds.rebuild_throttled import REBUILD_THROTTLED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.md import run

COLLECTORS = (MDRAID, MDMEMBERS, DISKSTATS, BLOCKDEV)
HUNDRED = "102400 (system)"


def judged(shown: list[tuple[float, dict[str, str]]], config: dict[str, float] | None = None) -> Judged:
    return Judged(COLLECTORS, [REBUILD_THROTTLED], shown, {"rebuild-throttled": config} if config else None)


@pytest.mark.parametrize(("rate", "fires"), [(89.0, False), (91.0, True), (100.0, True), (101.0, True)])
def test_near_the_upper_limit(rate: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, rate, most=HUNDRED, busy=0.3, speed=1000))
    if fires:
        finding = said.finding("md0")
        assert finding.severity is Severity.WARNING
        assert "sda is only 30.0% busy" in finding.impact
        assert finding.explains == ("rebuild-slow:md0",)
        assert any("sync_speed_max" in line for line in finding.steps)
        assert any(line.startswith("sysctl dev.raid.speed_limit_max=") for line in finding.steps)
    else:
        said.ruled_out("md0")


def test_the_kernels_own_figure_counts_for_its_own_limit() -> None:
    finding = judged(run(30, 80.0, most=HUNDRED, busy=0.3, speed=102400)).finding("md0")
    assert value(finding, "rate") == pytest.approx(80 * 1024 * 1024)


@pytest.mark.parametrize(("busy", "fires"), [(0.79, True), (0.81, False), (1.0, False)])
def test_busy_disks_are_the_limit_themselves(busy: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, 100.0, most=HUNDRED, busy=0.2, busier=busy))
    if fires:
        assert value(said.finding("md0"), "busy") == pytest.approx(busy, abs=0.01)
    else:
        said.ruled_out("md0")


def test_a_limit_of_the_array_alone() -> None:
    finding = judged(run(30, 100.0, most="102400 (local)", busy=0.2)).finding("md0")
    assert value(finding, "set_by") == "sync_speed_max of this array"


@pytest.mark.parametrize(
    ("rate", "foreground", "fires"),
    [
        (10.0, 50.0, True),
        (12.4, 50.0, True),
        (12.6, 50.0, False),
        (10.0, 0.0, False),
        (6.9, 50.0, False),
        (7.1, 50.0, True),
    ],
)
def test_yielding_to_others(rate: float, foreground: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(run(30, rate, least="10240 (system)", busy=0.9, foreground=foreground, speed=1000))
    if fires:
        finding = said.finding("md0")
        assert finding.cause.startswith("Yields to other I/O: ")
        assert "sync_speed_min" in finding.steps[1]
        assert value(finding, "foreground") == pytest.approx(foreground * 1024 * 1024)
    else:
        said.ruled_out("md0")


@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        ({"total": 1e6}, Severity.WARNING),
        ({"total": 60_000.0}, Severity.INFO),  # done within ten minutes
        ({"total": 1e6, "slots": "UUUU", "operation": "resync", "action": "resync"}, Severity.INFO),  # whole already
        ({"total": 1e6, "slots": "UUUU", "operation": "reshape", "action": "reshape"}, Severity.INFO),
    ],
)
def test_it_matters_where_redundancy_waits_for_it(settings: dict[str, object], severity: Severity) -> None:
    assert judged(run(30, 100.0, most=HUNDRED, busy=0.2, **settings)).finding("md0").severity is severity  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", ["check", "repair"])
def test_checks_are_meant_to_be_throttled(operation: str) -> None:
    shown = run(30, 100.0, most=HUNDRED, busy=0.2, operation="check", action=operation, slots="UUUU")
    assert judged(shown).silent()


def test_what_stands_is_not_throttled() -> None:
    assert judged(run(30, 0.0, most=HUNDRED, busy=0.2)).silent()


def test_too_little_seen_is_unchecked() -> None:
    assert "10 s" in judged(run(9, 100.0, most=HUNDRED, busy=0.2)).unchecked("md0").reason
    judged(run(10, 100.0, most=HUNDRED, busy=0.2)).finding("md0")


def test_without_the_load_of_its_members_it_is_unchecked() -> None:
    shown: list[tuple[float, Files]] = []
    for t, files in run(30, 100.0, most=HUNDRED):
        shown.append((t, {key: text for key, text in files.items() if key != "/proc/diskstats"}))
    assert "load" in Judged(COLLECTORS, [REBUILD_THROTTLED], shown).unchecked("md0").reason


def test_without_limits_it_is_unchecked() -> None:
    assert "limits" in judged(run(30, 100.0, sysfs=False)).unchecked("md0").reason


def test_a_partition_is_as_busy_as_its_disk() -> None:
    block = {
        "/sys/block/sda/dev": "8:0", "/sys/block/sda/size": "1000", "/sys/block/sda/sda1/partition": "1",
        "/sys/block/sda/sda1/dev": "8:1", "/sys/block/sda/sda1/size": "900",
    }  # fmt: skip
    shown = []
    for t, files in run(30, 100.0, most=HUNDRED, busy=0.2, busier=0.95):
        mdstat = files["/proc/mdstat"].replace("sda[0]", "sda1[0]")
        members = {key.replace("dev-sda/", "dev-sda1/"): text for key, text in files.items()}
        idle = "   8      77 sda1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        shown.append(
            (t, {**members, "/proc/mdstat": mdstat, "/proc/diskstats": files["/proc/diskstats"] + idle, **block})
        )
    judged(shown).ruled_out("md0")
