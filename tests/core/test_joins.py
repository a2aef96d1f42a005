"""What rows join: names, kinds and links from the declarations."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sdstop.collectors.devicemapper.volume_readings import LogicalVolume
from sdstop.core.joins import (
    GroupKind,
    Identity,
    Join,
    Link,
    NamedThing,
    Naming,
    Peers,
    Relation,
    Stated,
    ThingKind,
    ThingName,
    faults,
    links,
)


def row(things: Mapping[str, Identity], *joins: Join, **fields: Any) -> Any:
    return SimpleNamespace(things=things, joins=joins, **fields)


ARRAY = Identity(ThingKind.ARRAY, Naming.DEV)
DISK = Identity(ThingKind.DEVICE, Naming.DEV)
MEMBER = Join("array", "device", Relation.MEMBER)


def dev(name: str, kind: ThingKind | None = ThingKind.DEVICE) -> NamedThing:
    return NamedThing(kind, (ThingName(Naming.DEV, name),))


def test_a_row_joins_the_things_that_it_names() -> None:
    found = row({"array": ARRAY, "device": DISK}, MEMBER, array="md0", device="sda")
    assert list(links(found)) == [Link(dev("md0", ThingKind.ARRAY), dev("sda"), Relation.MEMBER)]


@pytest.mark.parametrize(("array", "device"), [(None, "sda"), ("md0", ""), ("sda", "sda")])
def test_what_a_row_does_not_name_is_not_joined(array: str | None, device: str) -> None:
    assert list(links(row({"array": ARRAY, "device": DISK}, MEMBER, array=array, device=device))) == []


def test_of_several_ends_the_first_counts_that_is_named() -> None:
    things = {"expander": DISK, "host": DISK, "device": DISK}
    join = Join("device", "expander|host", Relation.ATTACHED)
    assert [link.lower for link in links(row(things, join, expander="e", host="h", device="d"))] == [dev("e")]
    assert [link.lower for link in links(row(things, join, expander=None, host="h", device="d"))] == [dev("h")]


def test_kind_naming_and_relation_may_be_what_the_row_states() -> None:
    kind = Stated("kind", {"md": ThingKind.ARRAY}, ThingKind.POOL)
    things = {"array": Identity(kind, Stated("kind", {"md": Naming.DEV, "zfs": Naming.ZFS})), "device": DISK}
    join = Join("array", "device", Stated("kind", {"md": Relation.MEMBER, "zfs": None}, Relation.STORED))
    md = row(things, join, array="md0", device="sda", kind="md")
    assert list(links(md)) == [Link(dev("md0", ThingKind.ARRAY), dev("sda"), Relation.MEMBER)]
    zfs = row(things, join, array="tank", device="sda", kind="zfs")
    assert things["array"].of(zfs, "array") == (NamedThing(ThingKind.POOL, (ThingName(Naming.ZFS, "tank"),)),)
    assert list(links(zfs)) == []
    assert things["array"].of(row(things, array="x", kind="other"), "array") == ()


def test_names_are_filled_templates_and_aliases_may_stand_alone() -> None:
    bay = Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{bay}", (("{bay}", Naming.DIMM),))
    assert bay.of(row({}, enclosure="0x5", bay=0), "bay")[0].names == (
        ThingName(Naming.ENCLOSURE, "0x5/0"), ThingName(Naming.DIMM, "0")
    )  # fmt: skip
    assert bay.of(row({}, enclosure=None, bay=3), "bay")[0].names == (ThingName(Naming.DIMM, "3"),)
    assert bay.of(row({}, enclosure=None, bay=None), "bay") == ()


def test_a_field_may_name_many() -> None:
    disks = Identity(ThingKind.DEVICE, Naming.DEV, many=True)
    found = row(
        {"array": ARRAY, "disks": disks}, Join("array", "disks", Relation.MEMBER), array="md0", disks="sda,sdb,sda"
    )
    assert [link.lower for link in links(found)] == [dev("sda"), dev("sdb")]
    assert disks.of(row({}, disks=None), "disks") == ()


def test_wrong_declarations_are_seen() -> None:
    things = {"array": ARRAY, "device": DISK, "other": DISK, "node": Identity(None, Naming.NUMA, "node{nod}")}
    join = Join("arr|array", "device", Stated("how", {}, Relation.MEMBER))
    assert list(faults(things, (join,), frozenset({"array", "device", "other"}))) == [
        "node: no field nod", "no thing arr", "relation: no field how", "other is joined with nothing",
        "node is joined with nothing",
    ]  # fmt: skip
    groups = (Peers(kind=GroupKind.COLUMNS, upper="pool", member="array|device", order="slot"),)
    assert list(faults(things, (), frozenset(things), groups, {"layout": "level", "size": "other"})) == [
        "node: no field nod", "peers: no thing pool", "peers: no field slot", "traits: no field level",
        "no trait size",
    ]  # fmt: skip
    many = {"disks": Identity(None, Naming.DEV, many=True, aliases=(("{disks}", Naming.LINK),))}
    assert list(faults(many, (), frozenset({"disks"}))) == ["disks: several names cannot have aliases"]


def test_parts_of_a_logical_volume_are_volumes_of_its_group() -> None:
    made = LogicalVolume(
        volume="vg0/[home_cdata]",
        type="raid1",
        devices="home_cdata_rimage_0,sdb",
        pool="pool",
        origin=None,
        segments=1,
        size=None,
        stripes=None,
        stripe_size=None,
        chunk_size=None,
    )
    assert [(link.lower.names[0].name, link.relation) for link in links(made)] == [
        ("vg0/pool", Relation.STORED),
        ("vg0/home_cdata_rimage_0", Relation.MEMBER),
        ("sdb", Relation.MEMBER),
    ]
    assert next(links(made)).upper.names == (
        ThingName(Naming.LINK, "vg0/home_cdata"), ThingName(Naming.LINK, "mapper/vg0-home_cdata")
    )  # fmt: skip
