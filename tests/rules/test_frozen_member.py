"""One disk of a recorded node frozen: what it is part of and who is affected is named, what follows explained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.fixtures import opened


def frozen(fixture: str, disk: str) -> Iterator[Frame]:
    """Yield the frames of a capture with one disk at the counters of the first, and three requests in flight."""
    kept: list[str] | None = None
    for frame in opened(fixture)[1]:
        evidence = []
        for item in frame.evidence:
            if item.key == "/proc/diskstats" and item.data:
                lines = item.data.decode().splitlines()
                for at, line in enumerate(lines):
                    words = line.split()
                    if words[2] == disk:
                        kept = kept or words
                        lines[at] = " ".join([*kept[:11], "3", *kept[12:]])
                evidence.append(replace(item, data=("\n".join(lines) + "\n").encode()))
            else:
                evidence.append(item)
        yield replace(frame, evidence=tuple(evidence))


def hung(fixture: str, disk: str) -> tuple[Finding, tuple[Finding, ...]]:
    """Return the finding about the disk, and all findings at the end."""
    session = Session(Origin("node"), BUILTIN, RULES)
    session.feed_all(frozen(fixture, disk))
    findings = session.head().judgement.findings
    [finding] = [each for each in findings if (each.rule, each.subject) == ("device-hung", disk)]
    return finding, findings


def above(finding: Finding) -> str:
    return next(str(value.value) for value in finding.values if value.name == "above")


def test_a_disk_of_a_pool_names_its_vdev_and_its_pool() -> None:
    finding, _ = hung("draid-mended", "sdc")
    assert finding.severity is Severity.CRITICAL
    vdev, pool = "N58-C3-D16-P3-S1/draid3:16d:58c:1s-0", "N58-C3-D16-P3-S1"
    assert finding.part_of == (vdev, pool)
    assert above(finding) == f"{vdev}, {pool}"


def test_a_disk_of_an_array_names_the_array_and_explains_what_it_does_to_it() -> None:
    finding, findings = hung("clone-convoy", "sdc")
    assert finding.part_of == ("md0",)
    assert "md0" in above(finding)
    about_md0 = {each.id for each in findings if each.subject.startswith("md0") and each.rule != "array-degraded"}
    assert set(finding.explains) <= about_md0
    assert {key for key in about_md0 if key.startswith(("stripe-", "slow-", "hot-"))} <= set(finding.explains)


@pytest.mark.parametrize(
    ("fixture", "disk", "part_of", "affected"),
    [
        ("aoe-flashcache", "sdc", {"md2", "cachedev"}, {"vmstore/vm01", "e0.1"}),
        ("drbd-resync", "sdb", {"r0"}, set()),
    ],
)
def test_caches_volumes_and_targets_above_a_disk_are_named(
    fixture: str, disk: str, part_of: set[str], affected: set[str]
) -> None:
    finding, _ = hung(fixture, disk)
    assert part_of <= set(finding.part_of)
    assert affected <= set(finding.affected)
    assert finding.affected_count == len(finding.affected)
