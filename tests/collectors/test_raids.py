"""Raid volumes of LVM by the names of their parts, and the peer groups that they form."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdstop.collectors.devicemapper.raids import MAPPED_RAIDS
from sdstop.collectors.devicemapper.readings import MappedRaid
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume
from sdstop.core.evidence import Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.joins import GroupKind
from sdstop.core.session import Session
from sdstop.core.topologies import Topologies
from sdstop.rules.arrays.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.disks.slow_device import SLOW_DEVICE
from tests.nodes import peers
from tests.nodes.rows import row
from tests.rules.stripes import Files, Load, frames

GROUP, OTHER = "LVM-" + "a" * 32, "LVM-" + "b" * 32


def node(*names: str, uuid: str = GROUP, others: Sequence[tuple[str, str]] = ()) -> Files:
    """Return sysfs of mappings dm-0, dm-1 ... with these names."""
    found: Files = {}
    for at, (name, each) in enumerate([*((name, uuid) for name in names), *others]):
        base = f"/sys/block/dm-{at}"
        found |= {f"{base}/dev": f"253:{at}\n", f"{base}/dm/name": f"{name}\n",
                  f"{base}/dm/uuid": f"{each}{at:032}\n", f"{base}/dm/suspended": "0\n"}  # fmt: skip
    return found


def parts(count: int, what: str = "rimage", volume: str = "vg0-home", *, metadata: bool = True) -> list[str]:
    images = [f"{volume}_{what}_{n}" for n in range(count)]
    return [volume, *images, *(f"{volume}_rmeta_{n}" for n in range(count) if metadata)]


def read(files: Files) -> list[MappedRaid]:
    host = EvidenceHost.of(files)
    return [each for each in MAPPED_RAIDS.read(host) if isinstance(each, MappedRaid)]


@pytest.mark.parametrize(
    ("names", "images", "sort", "copies"),
    [
        (parts(2), "dm-1,dm-2", "mirror", 2),
        (parts(3), "dm-1,dm-2,dm-3", "unknown", None),
        (parts(4, metadata=False), "dm-1,dm-2,dm-3,dm-4", "stripe", 1),
        (parts(2, metadata=False), "dm-1,dm-2", "stripe", 1),
        (parts(2, "mimage", metadata=False), "dm-1,dm-2", "mirror", 2),
        (parts(3, "mimage", metadata=False), "dm-1,dm-2,dm-3", "mirror", 3),
        (parts(3, volume="vg0-pool_tdata"), "dm-1,dm-2,dm-3", "unknown", None),
        (parts(2, volume="my--vg-my--vol"), "dm-1,dm-2", "mirror", 2),
    ],
)
def test_a_raid_volume_has_its_images(names: list[str], images: str, sort: str, copies: int | None) -> None:
    [found] = read(node(*names))
    assert (found.device, found.mapping, found.images, found.sort, found.copies) == (
        "dm-0", names[0], images, sort, copies
    )  # fmt: skip


def test_images_are_in_the_order_of_their_numbers() -> None:
    names = ["vg0-home", *(f"vg0-home_rimage_{n}" for n in (10, 9, 2))]
    assert read(node(*names))[0].images == "dm-3,dm-2,dm-1"


@pytest.mark.parametrize(
    "files",
    [
        {},
        node("vg0-home"),
        node("vg0-home", "vg0-home_rimage_0"),  # one image
        node("vg0-home_rimage_0", "vg0-home_rimage_1"),  # without the whole
        node("vg0-home", "vg0-home_cdata", "vg0-home_cmeta"),
        node(*parts(2), uuid="CRYPT-"),  # another subsystem's names
        node("vg0-home", others=[("vg0-home_rimage_0", OTHER), ("vg0-home_rimage_1", OTHER)]),
        node("vg0-home", "vg0-home_rimage_x", "vg0-home_rimage_"),
    ],
)
def test_anything_else_is_no_raid_volume(files: Files) -> None:
    assert read(files) == []


def judged(count: int, slow: str, times: float, *, metadata: bool = True) -> set[tuple[str, str]]:
    """Return rules and subjects; the image `slow` waits longer by a factor."""
    names = parts(count, metadata=metadata)
    images = [f"dm-{n}" for n in range(1, count + 1)]

    def load(device: str, _: int) -> Load:
        factor = times if device == slow else 1.0
        return Load(20.0, 20.0, 10.0 * factor, busy=min(1.0, 0.2 * factor))

    session = Session(Origin("n"), (*peers.COLLECTORS, MAPPED_RAIDS), (SLOW_DEVICE, SLOW_STRIPE_MEMBER))
    session.feed_all(frames(peers.shown(node(*names), images, load)))
    assert session.head().judgement.judged
    return {(f.rule, f.subject) for f in session.head().judgement.findings}


@pytest.mark.parametrize(
    ("count", "metadata", "rule"),
    [
        (2, True, "slow-device"),
        (3, True, "slow-device"),
        (6, True, "slow-device"),
        (4, False, "slow-stripe-member"),
    ],
)
def test_a_slow_image_is_found_without_lvs(count: int, metadata: bool, rule: str) -> None:  # noqa: FBT001  # a table
    [(said, subject)] = judged(count, "dm-2", 10.0, metadata=metadata)
    assert (said, subject.rpartition("/")[2]) == (rule, "dm-2")
    assert judged(count, "dm-2", 1.3, metadata=metadata) == set()


@pytest.mark.parametrize(
    ("count", "times", "is_found"), [(3, 2.9, False), (3, 4.2, True), (2, 3.8, False), (2, 4.2, True)]
)
def test_near_the_threshold(count: int, times: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert bool(judged(count, "dm-1", times)) is is_found


def test_where_lvs_is_known_its_group_counts_and_there_is_one() -> None:
    own = row(
        MappedRaid, device="dm-0", mapping="vg0-home", images="dm-1,dm-2,dm-3", members=3, metadata=3, mirrored=False
    )
    parts_of = [row(LogicalVolume, volume=f"vg0/[home_rimage_{n}]", type="linear", devices=f"sd{n}") for n in range(3)]
    whole = row(LogicalVolume, volume="vg0/home", type="raid5", stripes=3,
                devices="home_rimage_0,home_rimage_1,home_rimage_2")  # fmt: skip
    known = [row(MappedRaid, device=f"dm-{n + 1}", mapping=f"vg0-home_rimage_{n}", images="", members=0, metadata=0,
                 mirrored=False) for n in range(3)]  # fmt: skip
    alone = Topologies().of({MappedRaid: {0: own}}).groups()
    assert [(group.kind, len(group.members)) for group in alone] == [(GroupKind.IMAGES, 3)]
    both = Topologies().of(
        {MappedRaid: dict(enumerate([own, *known])), LogicalVolume: dict(enumerate([whole, *parts_of]))}
    )
    [group] = both.groups()
    assert (group.kind, group.traits.layout, group.traits.parity, len(group.members)) == (
        GroupKind.COLUMNS, "raid5", 1, 3
    )  # fmt: skip
