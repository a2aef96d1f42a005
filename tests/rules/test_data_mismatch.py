"""data-mismatch, no-spare-left, and read errors that md corrected: what is read, and judged."""

from __future__ import annotations

import pytest

from sdstop.collectors.drbd.resources import DRBD
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.arrays.array_degraded import ARRAY_DEGRADED
from sdstop.rules.arrays.data_mismatch import DATA_MISMATCH
from sdstop.rules.arrays.no_spare_left import NO_SPARE_LEFT
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from tests.nodes.drbd import STATUS, resource, status
from tests.nodes.frames import Judged, value
from tests.nodes.md import Node

COLLECTORS = (MDRAID, MDMEMBERS)
SIZE = 3906764800 * 1024
"""Bytes of the array of tests.nodes.md."""


def checked(sectors: str | None, *, level: str = "raid6", action: str = "idle", last: str | None = "check") -> Judged:
    layout = "" if level == "raid1" else "level 6, 512k chunk, algorithm 2"
    node = Node(level=level, slots="UUUU", action=action, layout=layout)
    files = node.files()
    if sectors is not None:
        files["/sys/block/md0/md/mismatch_cnt"] = f"{sectors}\n"
    if last is not None:
        files["/sys/block/md0/md/last_sync_action"] = f"{last}\n"
    return Judged(COLLECTORS, [DATA_MISMATCH], [(0.0, files)])


# --- mismatches of md ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sectors", "fires"), [("0", False), ("8", True), ("8192", True)])
def test_parity_that_differs_has_no_harmless_cause(sectors: str, fires: bool) -> None:  # noqa: FBT001  # a table
    said = checked(sectors).of("md0")
    assert isinstance(said, Finding if fires else RuledOut)
    if isinstance(said, Finding):
        assert said.severity is Severity.WARNING
        assert value(said, "mismatch") == int(sectors) * 512
        assert "from their parity" in said.summary


@pytest.mark.parametrize(
    ("share", "severity"), [(0.0009, Severity.INFO), (0.00101, Severity.WARNING), (0.5, Severity.WARNING)]
)
def test_a_mirror_may_differ_a_little(share: float, severity: Severity) -> None:
    """md(4): on RAID1 and RAID10 software, such as swap, can cause mismatches that harm nothing."""
    finding = checked(str(round(share * SIZE / 512)), level="raid1").finding("md0")
    assert finding.severity is severity
    assert "swap" in finding.summary


def test_a_repair_rewrote_them() -> None:
    finding = checked("128", last="repair").finding("md0")
    assert finding.severity is Severity.INFO
    assert "and rewrote them" in finding.summary


def test_a_running_check_counts_too() -> None:
    assert "The running check" in checked("128", action="check", last="idle").finding("md0").summary


@pytest.mark.parametrize(
    ("sectors", "action", "last"),
    [("128", "resync", "check"), ("128", "idle", "resync"), ("128", "idle", None), ("0", "idle", "resync")],
)
def test_counts_of_other_actions_are_no_mismatches(sectors: str, action: str, last: str | None) -> None:
    assert isinstance(checked(sectors, action=action, last=last).of("md0"), Unchecked)


def test_without_the_count_nothing_is_said() -> None:
    assert checked(None).silent()


# --- DRBD ---------------------------------------------------------------------------------------------------


def replicated(**changes: object) -> Judged:
    files = {"/proc/drbd": "version: 9.2.4 (api:2)\n", STATUS: status(resource(**changes))}  # type: ignore[arg-type]
    return Judged((DRBD,), [DATA_MISMATCH, CLUSTER_DEGRADED], [(0.0, files)])


def test_blocks_that_a_verify_found() -> None:
    finding = replicated(out_of_sync=256).finding("r0/store2")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "256 KiB differ from store2; both sides are UpToDate."
    assert finding.explains == ("cluster-degraded:r0",)


@pytest.mark.parametrize(
    "changes",
    [
        {"out_of_sync": 256, "replication": "SyncSource", "peer_disk": "Inconsistent"},
        {"out_of_sync": 256, "state": "Connecting", "peer_disk": "DUnknown"},
        {"out_of_sync": 256, "disk": "Inconsistent"},
    ],
)
def test_what_a_resync_has_left_to_do_is_no_mismatch(changes: dict[str, object]) -> None:
    assert replicated(**changes).silent("data-mismatch")


def test_nothing_out_of_sync() -> None:
    assert "0 B out of sync" in replicated().ruled_out("r0/store2").summary


# --- no spare left ------------------------------------------------------------------------------------------


def spared(**settings: object) -> Judged:
    node = Node(level="raid6", action="idle", layout="level 6, 512k chunk, algorithm 2", **settings)  # type: ignore[arg-type]
    files = node.files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace("sda[0]", "sda[0] sdz[7](F)")
    return Judged(COLLECTORS, [NO_SPARE_LEFT], [(0.0, files)])


def test_a_spare_took_over_and_none_is_left() -> None:
    finding = spared(slots="UUUU").finding("md0")
    assert finding.severity is Severity.WARNING
    assert finding.title == "NO SPARE LEFT"
    assert "sdz" in finding.cause
    assert "mdadm /dev/md0 --remove /dev/sdz" in finding.steps


def test_another_spare_is_there() -> None:
    finding = spared(slots="UUUU", spares=("sdx",)).finding("md0")
    assert finding.severity is Severity.INFO
    assert finding.impact.startswith("1 spare left")


def test_a_degraded_array_is_another_matter() -> None:
    assert "see array-degraded" in spared(slots="UUU_", flags={"sdd": ""}).ruled_out("md0").summary


def test_no_failed_member_needs_no_spare() -> None:
    node = Node(level="raid6", slots="UUUU", action="idle", layout="level 6, 512k chunk, algorithm 2")
    assert Judged(COLLECTORS, [NO_SPARE_LEFT], [(0.0, node.files())]).ruled_out("md0").summary == (
        "failed members listed: 0, spares: 0"
    )


# --- corrected read errors ----------------------------------------------------------------------------------


def corrected(*counts: int | None, flag: str = "") -> Judged:
    shown = []
    for number, count in enumerate(counts):
        flags = {"sdb": flag} if flag else {}
        files = Node(level="raid6", slots="UUUU", action="idle", flags=flags).files()
        if count is not None:
            files["/sys/block/md0/md/dev-sdb/errors"] = f"{count}\n"
        shown.append((30.0 * number, files))
    return Judged(COLLECTORS, [ARRAY_DEGRADED], shown)


@pytest.mark.parametrize(
    ("counts", "severity"),
    [
        ((1,), Severity.INFO),
        ((19,), Severity.INFO),
        ((20,), Severity.WARNING),
        ((184,), Severity.WARNING),
        ((3, 3, 3), Severity.INFO),
        ((3, 3, 4), Severity.WARNING),
    ],
)
def test_corrected_read_errors(counts: tuple[int, ...], severity: Severity) -> None:
    finding = corrected(*counts).finding("md0/sdb")
    assert finding.severity is severity
    assert finding.totals is (len(set(counts)) == 1)
    errors = "1 read error" if counts[-1] == 1 else f"{counts[-1]} read errors"
    assert finding.cause.startswith(f"{errors} corrected")


def test_growing_ones_say_how_many() -> None:
    assert "1 of them in 1m00. The disk is losing sectors" in corrected(3, 3, 4).finding("md0/sdb").summary


@pytest.mark.parametrize("counts", [(0,), (None,), (0, 0)])
def test_none_are_none(counts: tuple[int | None, ...]) -> None:
    said = corrected(*counts)
    assert not [v for v in said.all if v.subject == "md0/sdb"]
    said.ruled_out("md0")


def test_those_of_a_member_that_failed_are_over() -> None:
    assert not [v for v in corrected(30, flag="(F)").all if v.subject == "md0/sdb"]
