"""dimm-too-few-channels beside what a rebuild of all disks takes of memory, and the HBA that is full before that."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.readings import TABLE
from sdstop.core.collector import Collector, Need
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.host import Host
from sdstop.core.judgement import Judgement
from sdstop.core.model import Reading
from sdstop.core.session import Session
from sdstop.readings.rebuild import Rebuild
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.rules.fabric.hba_unbalanced import HBA_UNBALANCED
from sdstop.rules.memory.dimm_too_few_channels import DIMM_TOO_FEW_CHANNELS
from sdstop.rules.rebuilds.rebuild_slow import REBUILD_SLOW
from tests.nodes.firmware import board
from tests.nodes.frames import check, value
from tests.nodes.hba import Card, files

RULES = (DIMM_TOO_FEW_CHANNELS, HBA_OVERSUBSCRIBED, HBA_UNBALANCED, REBUILD_SLOW)
NAMES = tuple(f"sd{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60))
SLOW = "rebuild-slow:tank"


def rebuilds(operation: str, state: str, devices: str) -> Collector:
    """Return a source that tells of one rebuild."""

    def read(host: Host) -> Iterable[Reading]:
        host.text("/proc/diskstats")
        return [Rebuild("tank", operation, state, 1 << 40, 1 << 49, kind="zfs", devices=devices)]

    return Collector("pools", "pools", read, (Rebuild,), (Need("/proc/diskstats", "a test"),))


def judged(
    *counts: int, modules: tuple[int, int] = (1, 1), operation: str = "rebuild", state: str = "running",
    devices: str = "sdaa,sdab", sectors: int = 0,
) -> Judgement:  # fmt: skip
    """Judge HBAs 81, 82 ... with so many disks each, of which each is read so many sectors a second."""
    ends = [0]
    for count in counts:
        ends.append(ends[-1] + count)
    cards = [Card(0x81 + n, NAMES[slice(*span)]) for n, span in enumerate(pairwise(ends))]
    session = Session(
        Origin("n"), (BLOCKDEV, DISKSTATS, HBA, DIMMS, rebuilds(operation, state, devices)), RULES
    )  # fmt: skip
    evidence = [Evidence(key, data=text.encode()) for key, text in files(*cards).items()]
    evidence += [Evidence(TABLE, data=board(modules).table())]
    for frame, second in enumerate((0, 5, 10), start=1):
        rows = "".join(
            f"   8 {n:7} {name} {second * 9} 0 {second * sectors} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
            for n, name in enumerate(NAMES[: ends[-1]])
        )
        evidence.append(Evidence("/proc/diskstats", data=rows.encode()))
        session.feed(Frame(frame, 1_700_000_000.0 + second, float(second), tuple(evidence)))
        evidence = []
    return session.head().judgement


def memory(said: Judgement) -> Finding:
    (found,) = (finding for finding in said.findings if finding.rule == "dimm-too-few-channels")
    check(found)
    return found


def test_sixty_disks_on_four_hbas_need_more_than_two_modules_give() -> None:
    found = memory(judged(15, 15, 15, 15))
    assert (found.severity, found.explains) == (Severity.CRITICAL, (SLOW,))
    assert found.cause == "1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s."
    assert found.impact.startswith("A full-speed rebuild needs 47.7 GB/s of memory")
    assert value(found, "disks") == 60
    assert value(found, "needs") == pytest.approx(60 * 265e6 * 3)


def test_twice_the_modules_are_enough() -> None:
    found = memory(judged(15, 15, 15, 15, modules=(2, 2)))
    assert (found.severity, found.explains) == (Severity.INFO, ())
    assert "needs" not in found.summary


def test_behind_one_hba_its_link_is_the_limit_and_memory_is_not() -> None:
    found = memory(judged(60))
    assert (found.severity, found.explains) == (Severity.WARNING, ())
    assert value(found, "needs") == pytest.approx(8e9 * 8 * 128 / 130 / 8 * 0.85 * 3)


@pytest.mark.parametrize(
    "other", [{"operation": "scrub"}, {"state": "paused"}, {"devices": "nvme0n1"}, {"devices": ""}], ids=str
)
def test_without_a_rebuild_of_these_disks_it_is_a_warning(other: dict[str, str]) -> None:
    found = memory(judged(15, 15, 15, 15, **other))  # type: ignore[arg-type]
    assert (found.severity, found.explains) == (Severity.WARNING, ())
    assert found.impact == "A full-speed rebuild needs 47.7 GB/s of memory."


def test_seven_disks_are_no_need_to_speak_of() -> None:
    found = memory(judged(7))
    assert found.severity is Severity.WARNING
    assert all(known.name != "needs" for known in found.values)


def test_disks_that_are_read_at_their_rate_are_not_short_of_memory() -> None:
    assert memory(judged(15, 15, 15, 15, sectors=500_000)).severity is Severity.WARNING
    assert memory(judged(15, 15, 15, 15, sectors=300_000)).severity is Severity.CRITICAL


def test_a_full_hba_explains_the_rebuild_behind_it() -> None:
    said = judged(60, 0, 0, 0, sectors=200_000)
    over, uneven = (
        next(finding for finding in said.findings if finding.rule == rule)
        for rule in ("hba-oversubscribed", "hba-unbalanced")
    )
    assert over.explains == (SLOW,)
    assert uneven.explains == (over.id,)
    assert [finding.rule for finding in said.findings[:2]] == ["hba-unbalanced", "hba-oversubscribed"]
    idle = judged(60, 0, 0, 0)
    assert next(finding for finding in idle.findings if finding.rule == "hba-oversubscribed").explains == ()
    other = judged(60, 0, 0, 0, sectors=200_000, devices="nvme0n1")
    assert next(finding for finding in other.findings if finding.rule == "hba-oversubscribed").explains == ()
