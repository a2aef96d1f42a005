"""Devices that are there while the source that judges them was not recorded: each is named, and none is good."""

from __future__ import annotations

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.zfs.pools import TEXT
from sdstop.core.evidence import Origin, command_key
from sdstop.core.finding import Gap
from sdstop.core.headline import OK
from sdstop.core.session import Session
from sdstop.exporters.report.text import outlook
from sdstop.rules import RULES
from tests.nodes.frames import Files, frames

LINE = " 8 0 800 8 8 0 800 8 0 16 16 0 0 0 0 0 0"
SDA = {"/sys/block/sda/dev": "8:0"}
CACHED = {"/sys/block/dm-3/dev": "253:3", "/sys/block/dm-3/dm/name": "vg0-home_corig",
          "/sys/block/dm-3/dm/uuid": "LVM-abc-real", "/sys/block/dm-3/dm/suspended": "0"}  # fmt: skip
MDSTAT = "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      1000 blocks super 1.2 [2/2] [UU]\n\n"
MDSTAT += "unused devices: <none>\n"


def session(*devices: str, **files: str) -> Session:
    return judged(
        {"/proc/diskstats": "".join(f"   8       0 {name}{LINE}\n" for name in ("sda", *devices)), **SDA}, files
    )


def judged(files: Files, more: Files) -> Session:
    made = Session(Origin("n"), BUILTIN, RULES)
    made.feed_all(frames([(float(second), {**files, **more}) for second in range(12)]))
    return made


def unjudged(made: Session) -> set[tuple[str, str]]:
    """Return rules and things without a verdict because of a source that was not recorded."""
    return {
        (verdict.rule, subject) for verdict in made.head().judgement.unchecked
        if verdict.gap is Gap.UNRECORDED for subject in verdict.subjects
    }  # fmt: skip


@pytest.mark.parametrize(
    ("device", "source", "rule"),
    [
        ("md0", "mdraid", "array-degraded"),
        ("md127", "mdraid", "rebuild-stalled"),
        ("md_home", "mdraid", "stripe-convoy"),
        ("zd16", "zfs-state", "zfs-pool-degraded"),
        ("dm-0", "suspended", "volume-suspended"),
        ("drbd1", "drbd", "cluster-degraded"),
        ("drbd1", "drbd", "split-brain"),
        ("bcache0", "bcache", "cache-errors"),
        ("etherd/e0.1", "aoe", "mtu-misaligned"),
    ],
)
def test_what_is_there_and_cannot_be_judged_is_named(device: str, source: str, rule: str) -> None:
    made = session(device)
    said = made.headline()
    assert f"state not recorded: {device} ({source})" in said.text
    assert said.code == OK
    assert (rule, device) in unjudged(made)
    assert f"state not recorded: {device}" in outlook(made)
    good = {
        subject for verdict in made.head().judgement.ruled_out if verdict.rule == rule for subject in verdict.subjects
    }
    assert device not in good


def test_all_of_them_are_named_by_source() -> None:
    said = session("md0", "md1", *(f"dm-{n}" for n in range(8))).headline().text
    assert "state not recorded: md0, md1 (mdraid), dm-0, dm-1, dm-2, dm-3, dm-4 and 3 more (suspended);" in said


@pytest.mark.parametrize("device", ["sda1", "nvme0n1", "md0p1", "zd0p2", "drbd", "loop0", "mdx"])
def test_other_devices_are_not(device: str) -> None:
    made = session(device)
    assert "state not recorded" not in made.headline().text
    assert device not in {subject for _, subject in unjudged(made)}


def test_a_source_that_was_recorded_judges_by_itself() -> None:
    made = session("md0", **{"/proc/mdstat": MDSTAT})
    assert "state not recorded" not in made.headline().text
    assert "md0" not in {subject for _, subject in unjudged(made)}


def test_one_of_two_sources_is_enough() -> None:
    """`zpool status` judges the pools, also without the kernel's own states."""
    text = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME  STATE READ WRITE CKSUM\n\ttank  ONLINE 0 0 0\n"
    text += "\t  sda ONLINE 0 0 0\n\nerrors: No known data errors\n"
    made = session("zd0", **{command_key(TEXT): text})
    assert ("zfs-pool-degraded", "zd0") not in unjudged(made)


def test_another_source_of_the_same_family_does_not_hide_it() -> None:
    """The AoE story's flashcache is judged; a bcache beside it, whose files were not recorded, is not."""
    files = {"/proc/flashcache/sdc+sda/flashcache_stats": "reads=1 writes=1\n"}
    assert ("cache-errors", "bcache0") in unjudged(session("bcache0", **files))


def test_a_cache_is_known_by_the_name_of_its_origin() -> None:
    made = session("dm-3", **CACHED)
    assert {rule for rule, subject in unjudged(made) if subject == "dm-3"} >= {"cache-errors", "cache-bypassed"}
    plain = session("dm-3", **{**CACHED, "/sys/block/dm-3/dm/name": "vg0-home"})
    assert {rule for rule, subject in unjudged(plain) if subject == "dm-3"} == set()


def test_it_stays_beside_a_finding() -> None:
    """A hung disk does not make md0 judged."""
    hung = "   8       0 {} 8 0 800 8 8 0 800 8 {} {} 16 0 0 0 0 0 0\n"
    text = [hung.format("sda", 5, 1000 * n) + hung.format("md0", 0, 0) for n in range(40)]
    made = Session(Origin("n"), BUILTIN, RULES)
    made.feed_all(frames([(float(n), {**SDA, "/proc/diskstats": text[n]}) for n in range(40)]))
    assert [f.rule for f in made.head().judgement.findings] == ["device-hung"]
    assert made.headline().unjudged == "md0 (mdraid)"  # in the list of what was not checked, and on the screen
    assert "md0" not in made.headline().text
    assert ("array-degraded", "md0") in unjudged(made)
