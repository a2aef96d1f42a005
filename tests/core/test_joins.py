"""What rows join: from the declarations alone follows what stands below what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.devicemapper.lvm import LogicalVolume
from sdstop.core.joins import Identity, Join, Link, Named, Naming, Relation, Stated, ThingKind, ThingName, faults, links
from sdstop.core.model import Reading
from sdstop.core.replay import Replay
from tests.fixtures import names, opened


def row(things: Mapping[str, Identity], *joins: Join, **fields: Any) -> Any:
    return SimpleNamespace(things=things, joins=joins, **fields)


ARRAY = Identity(ThingKind.ARRAY, Naming.DEV)
DISK = Identity(ThingKind.DEVICE, Naming.DEV)
MEMBER = Join("array", "device", Relation.MEMBER)


def dev(name: str, kind: ThingKind | None = ThingKind.DEVICE) -> Named:
    return Named(kind, (ThingName(Naming.DEV, name),))


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
    assert things["array"].of(zfs, "array") == (Named(ThingKind.POOL, (ThingName(Naming.ZFS, "tank"),)),)
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


@dataclass
class Graph:
    """What the module's docstring says: things by their names, and what is below each."""

    things: dict[ThingName, ThingName] = field(default_factory=dict)
    below: dict[ThingName, set[ThingName]] = field(default_factory=dict)

    def thing(self, name: ThingName) -> ThingName:
        while self.things.setdefault(name, name) != name:
            name = self.things[name]
        return name

    def under(self, name: ThingName) -> set[ThingName]:
        """Return all names of what is below a thing."""
        todo, seen = [self.thing(name)], set[ThingName]()
        while todo:
            for lower in self.below.get(todo.pop(), set()) - seen:
                seen.add(lower)
                todo.append(lower)
        return {other for other in self.things if self.thing(other) in seen}


def graph(rows: Iterable[Reading]) -> Graph:
    found = Graph()
    every = list(rows)
    named = [thing for each in every for role, identity in each.things.items() for thing in identity.of(each, role)]
    firsts: dict[ThingName, dict[Naming, set[str]]] = {}
    for first, *aliases in (thing.names for thing in named):
        for alias in aliases:
            firsts.setdefault(alias, {}).setdefault(first.naming, set()).add(first.name)
    for first, *aliases in (thing.names for thing in named):
        for alias in aliases:
            if all(len(names) == 1 for names in firsts[alias].values()):
                found.things[found.thing(alias)] = found.thing(first)
    for link in (link for each in every for link in links(each)):
        upper, lower = found.thing(link.upper.names[0]), found.thing(link.lower.names[0])
        if upper != lower:
            found.below.setdefault(upper, set()).add(lower)
    return found


def last(fixture: str) -> list[Reading]:
    replay = Replay(BUILTIN)
    shot = [replay.feed(frame) for frame in opened(fixture)[1]][-1]
    families = {family for collector in BUILTIN for family in collector.families}
    return [reading for family in families for reading in shot.rows(family).values()]


@pytest.mark.parametrize(
    ("fixture", "upper", "below"),
    [
        # A pool, its vdev, a disk of it, the expander, the HBA, the port above that, and the NUMA node.
        ("draid-mended", ThingName(Naming.ZFS, "N58-C3-D16-P3-S1"),
         {"N58-C3-D16-P3-S1/draid3:16d:58c:1s-0", "sda", "expander-0:0", "host0", "0000:02:00.0", "0000:00:01.0",
          "node0"}),
        # A volume of LVM on a cache on an array, and the disks of both.
        ("aoe-flashcache", ThingName(Naming.LINK, "vmstore/vm01"), {"dm-0", "cachedev", "md2", "sda"}),
        ("aoe-flashcache", ThingName(Naming.TARGET, "e0.1"), {"dm-1", "eth1", "md2"}),
        ("aoe-initiator", ThingName(Naming.DEV, "etherd/e0.1"), {"e0.1", "eth1"}),
        ("aoe-flashcache", ThingName(Naming.LINK, "mail/spool"), {"dm-5", "dm-7", "mail/fast_cdata", "sdg"}),
        ("drbd-resync", ThingName(Naming.DEV, "drbd0"), {"r0", "sdb"}),
        ("scaleio-4node", ThingName(Naming.CLIENT, "10.20.0.201"),
         {"flash4/bench1", "flash4/nvme", "flash4", "flash4/sds01"}),
        ("mtu-mismatch", ThingName(Naming.NET, "bond0.120"), {"bond0", "ens1f0", "ens1f1"}),
        ("draid-one-dimm", ThingName(Naming.DIMM, "P1-DIMMA1"), {"0/A", "0"}),
    ],
)  # fmt: skip
def test_what_a_thing_needs_follows_from_all_rows_together(fixture: str, upper: ThingName, below: set[str]) -> None:
    assert below <= {name.name for name in graph(last(fixture)).under(upper)}


def test_an_alias_of_two_things_names_neither() -> None:
    disk = Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("{wwn}", Naming.WWN),))
    user = {"user": Identity(None, Naming.CLIENT), "wwn": Identity(None, Naming.WWN)}
    used = row(user, Join("user", "wwn", Relation.USED), user="a", wwn="0x5")
    one, other = (row({"device": disk}, device=name, wwn="0x5") for name in ("sda", "sdb"))
    below = {name.name for name in graph([used, one]).under(ThingName(Naming.CLIENT, "a"))}
    assert below == {"sda", "0x5"}
    below = {name.name for name in graph([used, one, other]).under(ThingName(Naming.CLIENT, "a"))}
    assert below == {"0x5"}


@pytest.mark.parametrize("fixture", names())
def test_no_thing_needs_itself(fixture: str) -> None:
    found = graph(last(fixture))
    assert [thing for thing in found.below if thing in found.under(thing)] == []
