"""The graph of a snapshot: identity, what is below and above, groups of peers, and when it is built again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import count
from typing import Annotated, Any, ClassVar

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.network.readings import Bond, BondSlave
from sdstop.collectors.zfs.readings import Pool, Vdev
from sdstop.core.collector import providers_of
from sdstop.core.history import History, Window
from sdstop.core.joins import (
    GroupKind,
    Identity,
    Join,
    Naming,
    Peers,
    Relation,
    Stated,
    ThingKind,
    ThingName,
    Traits,
    links,
    named,
)  # fmt: skip
from sdstop.core.model import Fact, Label, Reading
from sdstop.core.peer_group import PeerGroup
from sdstop.core.replay import Replay
from sdstop.core.session import Session
from sdstop.core.thing import Thing
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.disk import Disk
from tests.fixtures import every_story, opened, story
from tests.nodes.rows import row

_PLAIN: Any = Label("x", plain=True)


class Drive(Reading, frozen=True):
    """A disk with an alias, in a shelf."""

    family: ClassVar[str] = "drive"
    title: ClassVar[str] = "drives"
    things: ClassVar = {
        "disk": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("{wwn}", Naming.WWN),)),
        "shelf": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (Join("disk", "shelf", Relation.LOCATED),)

    disk: Annotated[str, _PLAIN]
    wwn: Annotated[str | None, Fact("w", "w", plain=True)] = None
    shelf: Annotated[str | None, Fact("s", "s", plain=True)] = None


class Built(Reading, frozen=True):
    """Something built on others, in a relation that it states."""

    family: ClassVar[str] = "built"
    title: ClassVar[str] = "built"
    things: ClassVar = {
        "thing": Identity(Stated("is_a", {"volume": ThingKind.VOLUME}, ThingKind.ARRAY), Naming.DEV),
        "below": Identity(None, Naming.DEV, many=True),
        "wwn": Identity(None, Naming.WWN),
    }
    joins = (Join("thing", "below|wwn", Stated("how", {"part": Relation.PART, "none": None}, Relation.STORED)),)
    peers = (Peers(kind=GroupKind.COLUMNS, upper="thing", member="below"),)

    thing: Annotated[str, _PLAIN]
    below: Annotated[str | None, Fact("b", "b", plain=True)] = None
    how: Annotated[str, Fact("h", "h", plain=True)] = "stored"
    is_a: Annotated[str, Fact("k", "k", plain=True)] = "array"
    wwn: Annotated[str | None, Fact("w", "w", plain=True)] = None


def tables(rows: Iterable[Reading]) -> dict[type[Reading], dict[Hashable, Reading]]:
    found: dict[type[Reading], dict[Hashable, Reading]] = {}
    for each in rows:
        table = found.setdefault(type(each), {})
        table[len(table)] = each
    return found


def graph(*rows: Reading) -> Topology:
    return Topologies().of(tables(rows))


def told(things: Iterable[Thing]) -> list[str]:
    return [thing.name for thing in things]


def known(topology: Topology, name: str) -> Thing:
    found = topology.find(name)
    assert found is not None
    return found


def window(fixture: str) -> Window:
    replay, history = Replay(BUILTIN), History(providers_of(BUILTIN))
    for frame in opened(fixture)[1]:
        history.add(replay.feed(frame))
    found = history.window(replay.host.evidence)
    assert found is not None
    return found


def test_a_thing_has_one_name_any_number_of_aliases_and_several_kinds() -> None:
    found = graph(
        Drive("sda", "0x5"), Built("md0", "sda", is_a="array"), Built("dm-0", "md0", is_a="volume"),
        Built("md0", None, is_a="volume"),
    )  # fmt: skip
    disk = known(found, "0x5")
    assert (disk.name, disk.kinds, disk.device) == ("sda", frozenset({ThingKind.DEVICE}), "sda")
    assert disk.names == ((Naming.DEV, "sda"), (Naming.WWN, "0x5"))
    assert disk is found.find("sda", (ThingKind.DEVICE, ThingKind.PATH))
    assert known(found, "md0").kinds == {ThingKind.ARRAY, ThingKind.VOLUME}
    assert found.find("sda", (ThingKind.ARRAY,)) is None
    assert found.find("sdb") is None
    assert told(found.of(ThingKind.VOLUME)) == ["md0", "dm-0"]


def test_an_alias_of_two_things_names_neither() -> None:
    user = Built("md0", wwn="0x5")
    assert told(graph(user, Drive("sda", "0x5")).below(known(graph(user), "md0"))) == ["sda"]
    found = graph(user, Drive("sda", "0x5"), Drive("sdb", "0x5"))
    assert told(found.below(known(found, "md0"))) == ["0x5"]


def test_what_is_below_and_above_is_nearest_first_and_may_follow_some_relations_only() -> None:
    found = graph(
        Drive("sda", shelf="box"), Drive("sdb", shelf="box"), Built("sda1", "sda", "part"),
        Built("md0", "sda1,sdb"), Built("dm-0", "md0", is_a="volume"),
    )  # fmt: skip
    volume, box = known(found, "dm-0"), known(found, "box")
    assert told(found.below(volume)) == ["md0", "sda1", "sdb", "sda", "box"]
    assert told(found.below(volume, (Relation.STORED,))) == ["md0", "sda1", "sdb"]
    assert told(found.above(box)) == ["sda", "sdb", "sda1", "md0", "dm-0"]
    assert told(found.disks(volume)) == ["sdb", "sda"]
    assert {thing.name: how for thing, how in found.lower(known(found, "sda1")).items()} == {"sda": Relation.PART}
    assert told(found.upper(known(found, "sda1"))) == ["md0"]
    assert [told(stage) for stage in found.path(known(found, "md0"))] == [
        ["dm-0"], ["md0"], ["sdb", "sda1"], ["sda"], ["box"]
    ]  # fmt: skip


def test_a_circle_of_needs_ends() -> None:
    found = graph(Built("md0", "md1"), Built("md1", "md0"), Drive("sda"), Built("md1", "sda"))
    assert told(found.below(known(found, "md0"))) == ["md1", "sda"]
    assert told(found.above(known(found, "sda"))) == ["md1", "md0"]
    assert [told(stage) for stage in found.path(known(found, "md0"))] == [["md1"], ["md0"], ["md1"], ["sda"]]


def test_devices_that_hold_data_partitions_and_the_first_wanted_above() -> None:
    found = graph(
        Drive("sda", shelf="box"), Drive("sdb"), Built("sda1", "sda", "part"), Built("sda2", "sda", "part"),
        Built("md0", "sda1,sdb"), Built("dm-0", "md0", is_a="volume"),
    )  # fmt: skip
    assert found.devices("dm-0") == ("dm-0", "md0", "sda1", "sdb", "sda")
    assert found.devices("sdz") == ("sdz",)
    assert found.partitions("sda") == ("sda1", "sda2")
    assert (found.partitions("md0"), found.partitions("sdz")) == ((), ())
    stacked = [thing.name for thing in found.things if found.is_stacked(thing)]
    assert sorted(stacked) == ["dm-0", "md0"]
    disk = known(found, "sda")
    assert told(found.nearest(disk, lambda thing: thing.name.startswith("md"))) == ["md0"]
    assert told(found.nearest(disk, lambda thing: thing.name[-1].isdigit())) == ["sda1", "sda2"]
    assert found.nearest(disk, lambda thing: thing.name == "md0", (Relation.PART,)) == ()


def test_disks_of_an_hba_are_those_attached_to_it_at_any_depth() -> None:
    found = window("draid-mended").topology
    hba, expander = known(found, "0000:02:00.0"), known(found, "expander-0:0")
    assert len(found.attached(hba)) == 15
    assert set(found.attached(expander)) == set(found.attached(hba))
    assert found.attached(known(found, "sda")) == ()


@pytest.mark.parametrize(
    ("subject", "name"),
    [("md0", "md0"), ("md0/sda", "sda"), ("vol:dm-0", "dm-0"), ("md0/changes", "md0"), ("md0/sdz", "md0"),
     ("md1/sda", "md1"), ("box/sda", "sda"), ("nothing/sda", None), ("sda/", "sda"), ("", None),
     ("vol:dm-0@10.0.0.1", "dm-0"), ("dm-9@x", None)],
)  # fmt: skip
def test_the_subject_of_a_finding_leads_to_its_thing(subject: str, name: str | None) -> None:
    found = graph(Drive("sda", shelf="box"), Built("md0", "sda"), Built("md1", "sdb"), Built("dm-0", "md0"))
    thing = found.find(subject)
    assert (thing.name if thing is not None else None) == name


def test_what_things_have_in_common_is_the_lowest_that_all_need() -> None:
    found = graph(
        Drive("sda", shelf="box"), Drive("sdb", shelf="box"), Drive("sdc", shelf="shelf"), Built("box", "rack"),
        Built("shelf", "rack"), Drive("sdz"),
    )  # fmt: skip
    # A shelf of one namespace is not a device of another: nothing leads from the boxes to the rack.
    disks = [known(found, name) for name in ("sda", "sdb", "sdc")]
    assert [thing.name for thing in found.shared(disks[:2])] == ["box"]
    assert found.common(disks) is None
    assert found.common([*disks[:2], known(found, "sdz")]) is None
    assert found.common([]) is None


def test_members_of_one_expander_share_it_before_its_hba() -> None:
    found = window("draid-mended").topology
    disks = [thing for thing in found.of(ThingKind.DEVICE) if "expander-0:0" in told(found.below(thing))]
    assert len(disks) == 30
    common = found.common(disks)
    assert common is not None
    assert common.name == "expander-0:0"
    below = told(found.shared(disks))
    assert below.index("expander-0:0") < below.index("host0") < below.index("0000:02:00.0") < below.index("node0")


def test_what_a_thing_is_part_of_and_who_is_affected() -> None:
    found = window("draid-mended").topology
    disk = known(found, "sdc")
    assert [thing.name for thing in found.part_of(disk) if ThingKind.GROUP in thing.kinds] == [
        "N58-C3-D16-P3-S1/draid3:16d:58c:1s-0"
    ]
    assert "N58-C3-D16-P3-S1" in told(found.part_of(disk))
    assert found.affected(disk) == ()  # it has no dataset but its root
    hba = known(found, "0000:02:00.0")
    assert found.part_of(hba) == ()
    assert set(found.affected(disk)) <= set(found.affected(hba))


def test_a_pool_is_not_a_part_of_its_datasets_nor_a_cluster_of_its_pools() -> None:
    found = window("scaleio-4node").topology
    assert found.part_of(known(found, "flash4")) == ()
    assert told(found.part_of(known(found, "flash4/nvme"))) == ["flash4"]


def test_where_no_volume_is_known_the_arrays_and_pools_on_top_are_affected() -> None:
    found = window("draid-one-hba").topology
    hba = known(found, "0000:02:00.0")
    assert (found.part_of(hba), told(found.affected(hba))) == ((), ["N58-C3-D16-P3-S1"])
    assert found.affected(known(found, "sda")) == ()  # it is part of the pool
    stacked = graph(Drive("sda", shelf="box"), Built("md0", "sda"), Built("md1", "md0"), Built("md2", "sdz"))
    assert told(stacked.affected(known(stacked, "box"))) == ["md1"]


def test_a_volume_is_called_by_its_shortest_name() -> None:
    found = window("drbd-resync").topology
    assert known(found, "drbd0").label == "r0/0"
    assert known(window("scaleio-4node").topology, "flash4/bench1").label == "bench1"


def test_the_parts_of_a_volume_are_not_affected_but_the_volume_is() -> None:
    found = graph(
        row(LogicalVolume, volume="vg0/home", type="raid1", devices="home_rimage_0,home_rimage_1", stripes=2),
        row(LogicalVolume, volume="vg0/[home_rimage_0]", type="linear", devices="sda"),
        row(LogicalVolume, volume="vg0/[home_rimage_1]", type="linear", devices="sdb"),
        row(MappedDevice, mapping="vg0-home", volume="vg0/home", device="dm-4", targets="raid"),
    )
    assert told(found.affected(known(found, "sda"))) == ["dm-4"]
    assert [thing.label for thing in found.affected(known(found, "sda"))] == ["vg0/home"]
    [group] = found.groups()
    assert (group.kind, group.name, told(group.members)) == (
        GroupKind.LEGS, "dm-4", ["vg0/home_rimage_0", "vg0/home_rimage_1"]
    )  # fmt: skip
    assert group.traits == Traits("raid1", slots=2, copies=2, parity=0, balanced=False)
    assert told(found.peers(known(found, "vg0/home_rimage_0"))) == ["vg0/home_rimage_1"]
    assert found.peers(known(found, "sda")) == ()


def member(array: str, device: str, slot: int | None, state: str = "in_sync") -> Reading:
    return row(Member, array=array, device=device, slot=slot, state=state, size=1000)  # type: ignore[no-any-return]


def group(topology: Topology, kind: GroupKind) -> PeerGroup:
    [found] = [each for each in topology.groups() if each.kind is kind]
    return found


def test_members_of_an_array_are_peers_without_spares_in_the_order_of_slots() -> None:
    found = graph(
        row(Array, array="md0", level="raid10", raid_disks=4, near_copies=2, far_copies=1),
        member("md0", "sdd", 0), member("md0", "sda", 3), member("md0", "sdb", 1), member("md0", "sdx", None, "spare"),
        member("md0", "sdf", 2, "faulty"),
    )  # fmt: skip
    columns = group(found, GroupKind.COLUMNS)
    assert (told(columns.members), columns.slots, columns.weights) == (["sdd", "sdb", "sda"], (0, 1, 3), (1000,) * 3)
    assert columns.traits == Traits("raid10", 4, 2, 1, 0, balanced=False, comparable=True)
    assert columns.upper is known(found, "md0")
    assert found.groups_of(known(found, "sdb")) == (columns,)
    assert found.groups_of(known(found, "sdx")) == ()


@pytest.mark.parametrize(
    ("level", "kind"),
    [("raid1", GroupKind.LEGS), ("raid0", GroupKind.COLUMNS), ("raid6", GroupKind.COLUMNS), ("linear", None),
     ("container", None), (None, GroupKind.COLUMNS)],
)  # fmt: skip
def test_the_level_says_what_kind_of_peers_members_are(level: str | None, kind: GroupKind | None) -> None:
    found = graph(row(Array, array="md0", level=level, raid_disks=2), member("md0", "sda", 0), member("md0", "sdb", 1))
    assert [each.kind for each in found.groups()] == ([kind] if kind is not None else [])


def test_leaves_of_one_layout_of_a_pool_are_peers() -> None:
    def leaf(name: str, parent: str | None, place: int, **fields: Any) -> Reading:
        said = {"state": "ONLINE", "kind": "disk", "group": "data", "leaf": 1} | fields
        return row(Vdev, pool="tank", vdev=name, parent=parent, place=place, device=name, **said)  # type: ignore[no-any-return]

    found = graph(
        row(Pool, pool="tank"),
        leaf("sdb1", "mirror-0", 1), leaf("sda1", "mirror-0", 2), leaf("sdc1", "mirror-1", 3),
        leaf("sdd1", "mirror-1", 4, state="FAULTED"), leaf("sde1", "mirror-1/replacing-1", 5),
        leaf("sdf1", "raidz2-2", 6), leaf("sdg1", "raidz2-2", 7), leaf("sdh1", None, 8, group="cache"),
        leaf("sdi1", None, 9, group="cache"), leaf("sdj1", None, 10, group="spares", state="AVAIL"),
    )  # fmt: skip
    assert [(each.name, told(each.members), each.traits.layout, each.traits.balanced) for each in found.groups()] == [
        ("tank/data/mirror", ["sdb1", "sda1", "sdc1"], "mirror", True),
        ("tank/data/raidz2", ["sdf1", "sdg1"], "raidz2", None),
        ("tank/cache/stripe", ["sdh1", "sdi1"], "stripe", None),
    ]
    assert [each.traits.parity for each in found.groups()] == [0, 2, 0]


def test_a_draid_states_how_many_children_it_has() -> None:
    leaves = group(window("draid-mended").topology, GroupKind.LEAVES)
    assert (leaves.name, len(leaves.members)) == ("N58-C3-D16-P3-S1/data/draid3", 58)
    assert leaves.traits == Traits("draid3", slots=58, parity=3)


def test_devices_of_one_medium_in_a_pool_are_peers_and_weighted_by_their_size() -> None:
    def device(name: str, media: str | None, **fields: Any) -> Reading:
        return row(ClusterDevice, cluster="c", node="n", device=name, pool="p", media=media, **fields)  # type: ignore[no-any-return]

    found = graph(
        device("osd.0", "HDD", capacity=1000), device("osd.1", "HDD", capacity=3000), device("osd.2", "SSD"),
        device("osd.3", "HDD", healthy=0), device("osd.4", "SSD", capacity=5), device("osd.5", None),
    )  # fmt: skip
    assert [(each.name, told(each.members), each.weights) for each in found.groups()] == [
        ("c/p/HDD", ["c/n/osd.0", "c/n/osd.1"], (1000, 3000)), ("c/p/SSD", ["c/n/osd.2", "c/n/osd.4"], ()),
    ]  # fmt: skip


def test_paths_slaves_and_stripes_are_peers() -> None:
    found = graph(
        row(MappedDevice, mapping="mpatha", volume="mpatha", device="dm-0", targets="multipath"),
        row(MappedDevice, mapping="fast", volume="fast", device="dm-1", targets="striped"),
        row(MappedDevice, mapping="mixed", volume="mixed", device="dm-2", targets="linear,striped"),
        *(BlockLink("dm-0", name, "slave") for name in ("sda", "sdb")),
        *(BlockLink("dm-1", name, "slave") for name in ("sdc", "sdd")),
        *(BlockLink("dm-2", name, "slave") for name in ("sde", "sdf")),
        *(BlockLink("nvme0n1", name, "path") for name in ("nvme0c0n1", "nvme0c1n1")),
        row(Bond, interface="bond0", mode="802.3ad"),
        *(row(BondSlave, bond="bond0", interface=name, link=link)
          for name, link in (("eth0", "up"), ("eth1", None), ("eth2", "down"))),
    )  # fmt: skip
    assert [(each.kind, each.name, told(each.members), each.traits.layout) for each in found.groups()] == [
        (GroupKind.COLUMNS, "dm-1", ["sdc", "sdd"], "striped"),
        (GroupKind.PATHS, "dm-0", ["sda", "sdb"], "multipath"),
        (GroupKind.PATHS, "nvme0n1", ["nvme0c0n1", "nvme0c1n1"], None),
        (GroupKind.SLAVES, "bond0", ["eth0", "eth1"], "802.3ad"),
    ]


def test_disks_of_one_model_are_peers_only_in_the_same_role() -> None:
    found = graph(
        *(row(BlockDevice, device=name, kind="disk", model=model) for name, model in
          (("sda", "A"), ("sdb", "A"), ("sdc", "A"), ("sdd", "A"), ("sde", "B"), ("sdf", None), ("sdg", None))),
        row(BlockDevice, device="dm-0", kind="dm"), row(BlockDevice, device="sda1", kind="partition", parent="sda"),
        row(Array, array="md0", level="raid1"), member("md0", "sda1", 0), member("md0", "sdb", 1),
    )  # fmt: skip
    groups = [each for each in found.groups() if each.kind is GroupKind.MODEL]
    assert [(each.name, told(each.members), each.upper) for each in groups] == [
        ("A", ["sdc", "sdd"], None), ("A/array", ["sda", "sdb"], None)
    ]  # fmt: skip


def test_the_graph_is_built_again_only_when_what_is_named_changes() -> None:
    every = Topologies()

    def of(*rows: Reading) -> Topology:
        return every.of(tables(rows))

    first = of(row(Disk, device="sda", major=8, minor=0), Drive("sda"))
    assert of(row(Disk, device="sda", major=8, minor=0, reads=5), Drive("sda")) is first
    assert of(row(Disk, device="sda", major=8, minor=0), Drive("sda", shelf="box")) is not first
    assert every.of({}).things == ()


def test_the_latest_result_for_a_thing_is_kept_while_its_basis_is_the_same() -> None:
    topology, numbers = graph(Drive("sda")), count(1)

    def result(key: str, name: str, basis: int) -> int:
        return topology.latest(key, name, basis, lambda: next(numbers))

    assert [result("advice", "a", 1), result("advice", "b", 1), result("advice", "a", 1)] == [1, 2, 1]
    assert [result("advice", "a", 2), result("advice", "a", 1), result("advice", "b", 1)] == [3, 4, 2]
    assert result("other", "a", 1) == 5


def test_windows_of_one_history_share_the_graph_and_that_of_a_source_that_fails_stays() -> None:
    found = window("clone-convoy")
    assert found.topology is found.last(1.0).topology
    assert "md0" in told(found.topology.of(ThingKind.ARRAY))


# The rules of sdstop.core.joins, written down once more without any regard for speed.
def needed(rows: Iterable[Reading]) -> tuple[dict[ThingName, ThingName], dict[ThingName, set[ThingName]]]:
    parent: dict[ThingName, ThingName] = {}

    def thing(name: ThingName) -> ThingName:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    every = list(rows)
    called = [one.names for each in every for ones in named(each).values() for one in ones]
    firsts: dict[ThingName, dict[Naming, set[str]]] = {}
    for first, *aliases in called:
        thing(first)
        for alias in aliases:
            firsts.setdefault(alias, {}).setdefault(first.naming, set()).add(first.name)
    for first, *aliases in called:
        for alias in aliases:
            if all(len(found) == 1 for found in firsts[alias].values()):
                parent[thing(alias)] = thing(first)
    below: dict[ThingName, set[ThingName]] = {}
    for link in (link for each in every for link in links(each)):
        upper, lower = thing(link.upper.names[0]), thing(link.lower.names[0])
        if upper != lower:
            below.setdefault(upper, set()).add(lower)
    return {name: thing(name) for name in parent}, below


@every_story()
def test_the_graph_of_every_fixture_follows_the_rules(name: str) -> None:
    shot = story(name).session.head().now
    found = {family: rows for family, run in shot.by_family.items() if (rows := run.tables[family])}
    topology = Topologies().of(found)
    skipped = {Naming.PROCESS}
    things, below = needed(each for rows in found.values() for each in rows.values())
    having = defaultdict[tuple[Naming, str], list[Thing]](list)
    for each in topology.things:
        for each_name in set(each.names):
            having[each_name].append(each)
    for called, thing in things.items():
        if called.naming in skipped:
            continue
        here = having[called.naming, called.name]
        assert len(here) == 1
        lower = {each.names[0] for each in topology.lower(here[0])}
        assert {tuple(things[each]) for each in below.get(thing, ())} == {
            tuple(things[ThingName(*each)]) for each in lower
        }
        assert here[0] not in topology.below(here[0])


@pytest.mark.parametrize(
    ("fixture", "upper", "below"),
    [
        # A pool, its vdev, a disk of it, the expander, the HBA, the port above that, and the NUMA node.
        ("draid-mended", "N58-C3-D16-P3-S1",
         {"N58-C3-D16-P3-S1/draid3:16d:58c:1s-0", "sda", "expander-0:0", "host0", "0000:02:00.0", "0000:00:01.0",
          "node0"}),
        # A volume of LVM on a cache on an array, and the disks of both.
        ("aoe-flashcache", "vmstore/vm01", {"dm-0", "cachedev", "md2", "sda"}),
        ("aoe-flashcache", "e0.1", {"dm-1", "eth1", "md2"}),
        ("aoe-initiator", "etherd/e0.1", {"e0.1", "eth1"}),
        ("aoe-flashcache", "mail/spool", {"dm-5", "dm-7", "mail/fast_cdata", "sdg"}),
        ("drbd-resync", "drbd0", {"r0", "sdb"}),
        ("scaleio-4node", "10.20.0.201", {"flash4/bench1", "flash4/nvme", "flash4", "flash4/sds01"}),
        ("mtu-mismatch", "bond0.120", {"bond0", "ens1f0", "ens1f1"}),
        ("draid-one-dimm", "P1-DIMMA1", {"0/A", "0"}),
    ],
)  # fmt: skip
def test_what_a_thing_needs_follows_from_all_rows_together(fixture: str, upper: str, below: set[str]) -> None:
    found = window(fixture).topology
    thing = known(found, upper)
    assert below <= {name for other in (thing, *found.below(thing)) for _, name in other.names}


def test_a_mapping_of_kinds_to_things_is_complete() -> None:
    topology = window("draid-mended").topology
    found: Mapping[ThingKind, int] = {kind: len(topology.of(kind)) for kind in ThingKind}
    assert found[ThingKind.POOL] == 1
    assert found[ThingKind.HBA] >= 1
    assert found[ThingKind.PATH] == 0


def at_end(fixture: str) -> Window:
    """Return the window at the end of a fixture that has cached rows of slow sources."""
    origin, frames = opened(fixture)
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    assert session.latest is not None
    return session.latest.window


def test_data_is_on_its_holders_and_not_on_devices_that_only_a_cache_uses() -> None:
    """LVM's cache: the pool of the cache is a volume below the cached one, but the data is not on its disk."""
    found = at_end("vm-dm-cache").topology
    cached = known(found, "dm-0")
    assert told(found.holders(cached)) == ["dm-3", "vda"]
    disks = {thing.device for thing in found.below(cached) if thing.device is not None and thing.device[0] == "v"}
    assert disks == {"vda", "vdb"}


def test_the_nearest_below_are_those_that_are_wanted_with_the_way_to_them() -> None:
    found = at_end("vm-dm-cache").topology
    cached = known(found, "dm-0")
    disks, ends = found.nearest_below(cached, lambda thing: thing.name.startswith("vd"))
    assert {(thing.name, way) for thing, way in disks} == {("vda", False), ("vdb", True)}
    assert ends == ()
    nothing, ends = found.nearest_below(cached, lambda _: False)
    assert nothing == ()
    assert {thing.name for thing in ends} == {"vda", "vdb"}
