"""Remarks: each finding about a disk has the facts that other sources report about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.collector import Collector, Need
from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Label, Name, Reading, Source
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.rules.arrays.array_degraded import ARRAY_DEGRADED
from tests.nodes.frames import Judged

TAGS = "/proc/tags"
LINKS = {"link:/sys/block/sda": "../devices/x/sda", "link:/sys/block/sdb": "../devices/x/sdb"}
FILES = {
    "/proc/mdstat": "Personalities : [raid1]\nmd0 : active raid1 sdb1[1](F) sda1[0]\n      8 blocks [2/1] [U_]\n\n"
    "unused devices: <none>\n",
    "/sys/block/sda/dev": "8:0\n", "/sys/block/sda/sda1/dev": "8:1\n", "/sys/block/sda/sda1/size": "16\n",
    "/sys/block/sdb/dev": "8:16\n", "/sys/block/sdb/sdb1/dev": "8:17\n", "/sys/block/sdb/sdb1/size": "16\n",
    TAGS: "sda fine\nsdb bad bearings\n",
}  # fmt: skip


class Tag(Reading, frozen=True):
    """A fact about a disk from a source of its own."""

    family: ClassVar[str] = "tag"
    title: ClassVar[str] = "Tags"
    rows_of = Source(TAGS, "{device} ")
    things: ClassVar = {"device": Identity(None, Naming.DEV)}
    remarked: ClassVar[str] = "tag"

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    text: Annotated[str, Fact("Text", "Text", plain=True)]

    def remark(self) -> str:
        """Return the text unless all is fine."""
        return "" if self.text == "fine" else self.text


def read(host: Host) -> Iterable[Reading]:
    return [Tag(*line.split(" ", 1)) for line in host.text(TAGS).splitlines()]


COLLECTOR = Collector("tags", "Tags", read, (Tag,), (Need(TAGS, "tags"),))


def check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for subject in ("sda", "sdb1", "md0"):
        yield Finding(severity=Severity.INFO, subject=subject, cause="c")


RULE = Rule("slow", "slow", Severity.INFO, check, (Tag,), covers=())


def judged(*rules: Rule) -> Judged:
    return Judged((BLOCKDEV, MDRAID, MDMEMBERS, COLLECTOR), rules, [(0.0, FILES | LINKS)])


def facts(finding: Finding) -> dict[str, Any]:
    return {value.title: value.value for value in finding.values}


def test_a_finding_about_a_disk_has_the_remarks_about_it_and_their_evidence() -> None:
    found = {each.subject: each for each in judged(RULE).all if isinstance(each, Finding)}
    assert facts(found["sdb1"]) == {"tag": "bad bearings"}
    assert [cite.excerpt for cite in found["sdb1"].evidence] == ["sdb bad bearings"]
    assert facts(found["sda"]) == {}
    assert found["sda"].evidence == ()


def test_an_array_has_those_of_its_failed_members_alone() -> None:
    about = {(each.rule, each.subject): each for each in judged(RULE, ARRAY_DEGRADED).all if isinstance(each, Finding)}
    assert facts(about["slow", "md0"]) == {}
    degraded = next(each for each in judged(ARRAY_DEGRADED).all if isinstance(each, Finding))
    assert facts(degraded)["tag of sdb"] == "bad bearings"
    assert "tag of sda" not in facts(degraded)
    assert any(cite.excerpt == "sdb bad bearings" for cite in degraded.evidence)


def test_a_rule_about_these_rows_does_not_repeat_them() -> None:
    own = replace(RULE, covers=(Covers(Tag),))
    found = {each.subject: each for each in judged(own).all if isinstance(each, Finding)}
    assert facts(found["sdb1"]) == {}
