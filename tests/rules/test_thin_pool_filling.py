"""thin-pool-filling and snapshot-filling: fill levels, states, trends, and what is not known."""

from __future__ import annotations

import pytest

from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.lvm import LVM as LVS_SOURCE
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.devicemapper.volume_readings import LVS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked
from sdstop.rules.space.snapshot_filling import SNAPSHOT_FILLING
from sdstop.rules.space.thin_pool_filling import THIN_POOL_FILLING
from tests.nodes.frames import Judged

UUID = "LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO"
NAME = "vg0/pool"
BLOCK = 1 << 16


def status(used: int, *, metadata: int = 100, words: str = "rw discard_passdown queue_if_no_space -") -> str:
    return f"vg0-pool-tpool: 0 131072 thin-pool 1 {metadata}/1024 {used}/1024 - {words} 1024\n"


def node(*lines: str) -> dict[str, str]:
    info = f"vg0-pool-tpool:254:2:L--w:1:1:0:{UUID}-tpool\nvg0-web:254:4:L--w:1:1:0:{UUID}\n"
    table = "vg0-pool-tpool: 0 131072 thin-pool 254:0 254:1 128 0 0\nvg0-web: 0 131072 thin 254:2 1\n"
    return {command_key(STATUS): "".join(lines), command_key(INFO): info, command_key(TABLE): table}


def judged(*lines: str, every: float = 5.0, config: dict[str, dict[str, float]] | None = None) -> Judged:
    frames = [(every * n, node(line)) for n, line in enumerate(lines)]
    return Judged((DM_STATUS,), [THIN_POOL_FILLING], frames, config)


@pytest.mark.parametrize(
    ("line", "severity", "title", "damage"),
    [
        (status(850), "warning", "POOL NEARLY FULL: 83.0%", Damage.CAPACITY),
        (status(1000), "critical", "POOL NEARLY FULL: 97.7%", Damage.CAPACITY),
        (status(1024), "critical", "POOL FULL: 100%", Damage.CAPACITY),
        (status(10, metadata=900), "warning", "METADATA NEARLY FULL: 87.9%", Damage.CAPACITY),
        (status(10, metadata=1023), "critical", "METADATA NEARLY FULL: 99.9%", Damage.AVAILABILITY),
        (status(1024, words="out_of_data_space discard_passdown queue_if_no_space -"), "critical",
         "POOL OUT OF SPACE: writes stop", Damage.AVAILABILITY),
        (status(10, words="ro discard_passdown queue_if_no_space needs_check"), "critical",
         "POOL READ-ONLY: writes fail", Damage.AVAILABILITY),
        (status(10, words="rw discard_passdown queue_if_no_space needs_check"), "critical",
         "POOL METADATA NEEDS CHECK", Damage.AVAILABILITY),
        ("vg0-pool-tpool: 0 131072 thin-pool Fail\n", "critical", "POOL FAILED: no I/O", Damage.AVAILABILITY),
        ("vg0-pool-tpool: 0 131072 thin-pool Error\n", "critical", "POOL FAILED: no I/O", Damage.AVAILABILITY),
    ],
)  # fmt: skip
def test_faults(line: str, severity: str, title: str, damage: Damage) -> None:
    finding = judged(line).finding(NAME)
    assert (finding.severity, finding.title, finding.damage) == (severity, title, damage)


def test_all_faults_of_a_pool_are_one_finding() -> None:
    words = "out_of_data_space discard_passdown queue_if_no_space -"
    finding = judged(status(1024, metadata=1000, words=words)).finding(NAME)
    assert finding.title == "POOL OUT OF SPACE: writes stop"
    assert str(next(v.value for v in finding.values if v.name == "also")).startswith("METADATA NEARLY FULL")


def test_a_pool_whose_metadata_is_used_up_says_so_and_is_told_to_grow_it() -> None:
    line = status(480, metadata=1024, words="ro discard_passdown queue_if_no_space -")
    found = judged(*[status(480, metadata=1000 + 4 * n) for n in range(6)], line).finding(NAME)
    assert found.cause == "The pool is read-only: its metadata space is used up."
    also = next(v.value for v in found.values if v.name == "also")
    assert also == "METADATA FULL: 100%: 100% of 4 MiB metadata is used."
    steps = list(found.steps)
    assert any("--poolmetadatasize" in step for step in steps)
    assert not any("lvextend -L" in step or "fstrim" in step for step in steps)


def test_the_time_until_it_is_full_is_that_of_the_trend() -> None:
    growing = [status(820 + 8 * n) for n in range(7)]  # 8 blocks every 5 s
    finding = judged(*growing).finding(NAME)
    assert finding.severity is Severity.CRITICAL  # within the hour
    assert finding.cause == "84.8% of 64 MiB is allocated, full in 1m38 at this rate."
    assert next(v.value for v in finding.values if v.name == "rate") == pytest.approx(8 * BLOCK / 5)
    later = judged(*growing, config={"thin-pool-filling": {"soon": 30}}).finding(NAME)
    assert later.severity is Severity.WARNING


def test_freed_space_is_not_a_trend() -> None:
    lines = [status(900), status(400), status(400), status(400), status(400)]
    assert judged(*lines).ruled_out(NAME).summary == "39.1% of the data space used, metadata 9.8%"


def test_below_the_threshold_the_trend_is_shown_and_nothing_is_wrong() -> None:
    assert judged(*[status(400 + n) for n in range(5)]).ruled_out(NAME).summary == (
        "39.5% of the data space used, full in 51m40 at this rate, metadata 9.8%"
    )


def test_a_pool_whose_volumes_fit_in_whole_cannot_overflow() -> None:
    full = status(1024)
    fits = judged(f"{full}vg0-web: 0 131072 thin 131072 131071\n")
    assert fits.ruled_out(NAME).summary.endswith("volumes fit in whole")
    promised = judged(f"{full}vg0-web: 0 131073 thin 131072 131071\n")
    assert promised.finding(NAME).title == "POOL FULL: 100%"
    inactive = judged(f"{full}vg0-web: 0 1024 thin 1024 1023\n")  # others have the rest
    assert inactive.finding(NAME).title == "POOL FULL: 100%"


@pytest.mark.parametrize(
    "line",
    [
        "vg0-pool-tpool: 0 131072 thin-pool 1 100/1024 10/1024 - xx discard_passdown queue_if_no_space - 1024\n",
        "vg0-pool-tpool: 0 131072 thin-pool 1 100/1024\n",
        "vg0-pool-tpool: 0 131072 thin-pool \n",
        "vg0-pool-tpool: 0 131072 thin-pool 1 100/1024 10/1024 - rw discard_passdown queue_if_no_sp",
    ],
)
def test_a_damaged_line_is_never_good(line: str) -> None:
    assert isinstance(judged(line).of(NAME), Unchecked)


def test_a_volume_that_fails_while_its_pool_works() -> None:
    said = judged(f"{status(10)}vg0-web: 0 131072 thin Fail\n")
    assert said.of("vg0/web", "thin-pool-filling").severity is Severity.CRITICAL  # type: ignore[union-attr]
    assert isinstance(said.of(NAME), RuledOut)
    failed = judged("vg0-pool-tpool: 0 131072 thin-pool Fail\nvg0-web: 0 131072 thin Fail\n")
    assert [one.subject for one in failed.all if isinstance(one, Finding)] == [NAME]


def test_a_pool_that_only_lvm_knows_is_not_good() -> None:
    report = (
        '{"report": [{"lv": [{"vg_name":"vg0", "lv_name":"pool", "segtype":"thin-pool", "devices":"pool_tdata(0)"}]}]}'
    )
    files = {
        "list:/sys/block": "dm-0",
        "/sys/block/dm-0/dm/uuid": UUID,
        command_key(LVS): report,
        command_key(STATUS): "vg0-a: 0 8 linear \n",
    }
    said = Judged((DM_STATUS, LVS_SOURCE), [THIN_POOL_FILLING], [(0.0, files)])
    assert said.unchecked(NAME).reason == "no line in dmsetup status: not active"
    del files[command_key(STATUS)]
    said = Judged((DM_STATUS, LVS_SOURCE), [THIN_POOL_FILLING], [(0.0, files)])
    assert "not recorded" in next(one.reason for one in said.all if isinstance(one, Unchecked))


def test_vdo() -> None:
    line = "vpool: 0 20971520 vdo /dev/dm-3 {} - online online {} 1000\n"
    assert judged(line.format("normal", 10)).ruled_out("vpool").summary == "1.0% of the data space used"
    assert judged(line.format("normal", 990)).finding("vpool").title == "POOL NEARLY FULL: 99.0%"
    assert judged(line.format("read-only", 10)).finding("vpool").title == "POOL READ-ONLY: writes fail"
    assert isinstance(judged(line.format("recovering", 10)).of("vpool"), Unchecked)
    assert isinstance(judged(line.format("odd", 10)).of("vpool"), Unchecked)


# --- snapshots ----------------------------------------------------------------------------------------------


def snapshot(*lines: str, target: str = "snapshot", every: float = 5.0) -> Judged:
    frames = [(every * n, {command_key(STATUS): f"snap: 0 65536 {target} {line}\n"}) for n, line in enumerate(lines)]
    return Judged((DM_STATUS,), [SNAPSHOT_FILLING], frames)


@pytest.mark.parametrize(
    ("line", "severity", "title"),
    [
        ("14000/16384 16", "warning", "SNAPSHOT NEARLY FULL: 85.4%"),
        ("16000/16384 16", "critical", "SNAPSHOT NEARLY FULL: 97.7%"),
        ("Invalid", "critical", "SNAPSHOT LOST: invalid"),
        ("Overflow", "critical", "SNAPSHOT LOST: out of space"),
        ("Merge failed", "critical", "SNAPSHOT MERGE FAILED"),
    ],
)
def test_snapshots(line: str, severity: str, title: str) -> None:
    finding = snapshot(line).finding("snap")
    assert (finding.severity, finding.title) == (severity, title)


def test_a_snapshot_that_holds_a_change_of_each_block_cannot_overflow() -> None:
    assert isinstance(snapshot("66000/66592 16").of("snap"), RuledOut)


def test_a_merge_empties_it() -> None:
    assert isinstance(snapshot("16000/16384 16", target="snapshot-merge").of("snap"), RuledOut)


def test_a_snapshot_that_fills_soon_is_critical() -> None:
    finding = snapshot(*(f"{13500 + 100 * n}/16384 16" for n in range(5))).finding("snap")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "84.8% of its 8 MiB is used, full in 2m04 at this rate."


@pytest.mark.parametrize("line", ["Unknown", "", "12/", "x"])
def test_an_unknown_state_is_never_good(line: str) -> None:
    assert isinstance(snapshot(line).of("snap"), Unchecked)
