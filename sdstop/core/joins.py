"""Joins: the things named by rows and the dependencies between them, declared on the class of a family.

    class Member(Reading):
        things: ClassVar = {
            "array": Identity(ThingKind.ARRAY, Naming.DEV),
            "device": Identity(ThingKind.DEVICE, Naming.DEV),
        }
        joins = (Join("array", "device", Relation.MEMBER),)

The first of `things` is the subject of the row. The graph of a snapshot is built from these declarations alone:

1. For each row and each of its things, `Identity.of` returns the names, each with its naming, and the kind.
2. Equal names within one naming identify the same thing. The names of a thing in all rows are its aliases, and its
   kinds in all rows are its roles: md0, an array in one family and a block device in another, is one thing. An alias
   (a name that is not the first of its row) is ignored if it belongs to things whose first names differ within one
   naming, such as a WWN with two paths. A thing without any kind was only referenced.
3. For each row, `links` yields pairs of things with their relation. The upper thing needs the lower one, so links
   point down, and a thing below several others is shared by them. If two families relate the same pair, any other
   relation takes precedence over STORED.
4. The graph depends only on the filled templates: it is unchanged as long as those of all rows are.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from sdstop.core.template import filled, needed_fields


class ThingKind(enum.StrEnum):
    """Kind of a thing."""

    VOLUME = "volume"
    FILESYSTEM = "filesystem"
    MOUNT = "mount"
    CACHE = "cache"
    ARRAY = "array"
    POOL = "pool"
    GROUP = "group"
    """Group of members: a vdev, the legs of a mirror."""
    DEVICE = "device"
    PATH = "path"
    MULTIPATH_MAP = "multipath map"
    HBA = "hba"
    CONTROLLER = "controller"
    """Disk controller (SCSI host), memory controller, or a card that is not an HBA."""
    PCIE_LINK = "pcie link"
    """Named after its upstream port."""
    EXPANDER = "expander"
    ENCLOSURE = "enclosure"
    SLOT = "slot"
    PHY = "phy"
    NUMA_NODE = "numa node"
    SOCKET = "socket"
    DIMM = "dimm"
    MEMORY_CHANNEL = "memory channel"
    NIC = "nic"
    BOND = "bond"
    SESSION = "session"
    TARGET = "target"
    PEER = "peer"
    CLUSTER = "cluster"
    NODE = "node"
    FAULT_SET = "fault set"
    OSD = "osd"
    BRICK = "brick"
    CLIENT = "client"


class Naming(enum.StrEnum):
    """Namespace of names: equal names in one namespace identify the same thing."""

    DEV = "dev"
    """Kernel names of block devices: sda, etherd/e0.1, dm-3."""
    LINK = "link"
    """Other names below /dev: sda, vg0/home, mapper/vg0-home, disk/by-id/wwn-0x5000c500d01993f0."""
    NUMBER = "number"
    """MAJOR:MINOR of block devices."""
    WWN = "wwn"
    UUID = "uuid"
    """UUIDs of device mapper devices, with the prefix of the subsystem that created them."""
    MOUNT = "mount"
    """Mount points."""
    ZFS = "zfs"
    """Pools and datasets."""
    VDEV = "vdev"
    """Pools, and POOL/VDEV."""
    PCI = "pci"
    SCSI = "scsi"
    """Names in the SCSI and SAS trees of the kernel: host0, port-0:0, expander-0:0, phy-0:0:3, end_device-0:0:3."""
    ENCLOSURE = "enclosure"
    """Enclosure identifiers, and ENCLOSURE/BAY."""
    NET = "net"
    """Network interfaces."""
    ADDRESS = "address"
    """Network addresses: IP, with or without a port."""
    NUMA = "numa"
    SOCKET = "socket"
    """Numbers of processor sockets, and SOCKET/CHANNEL of memory."""
    DIMM = "dimm"
    """Slots of memory modules, as named by the board."""
    EDAC = "edac"
    """mc0, mc0/dimm3."""
    SESSION = "session"
    TARGET = "target"
    """IQN, NQN; eSHELF.SLOT of AoE."""
    CLUSTER = "cluster"
    """Clusters, and CLUSTER/POOL."""
    NODE = "node"
    """CLUSTER/NODE."""
    FAULT_SET = "fault set"
    """CLUSTER/DOMAIN."""
    OSD = "osd"
    """CLUSTER/NODE/DEVICE."""
    VOLUME = "volume"
    """CLUSTER/VOLUME; only the volume if the source of its limit names no cluster."""
    CLIENT = "client"
    """Users of volumes: a control group, a virtual machine, a client of a cluster."""
    PROCESS = "process"


class Relation(enum.StrEnum):
    """Relation of an upper thing to the lower one that it needs."""

    MEMBER = "member"
    """The upper thing consists of several things like the lower one."""
    PART = "part"
    """The upper thing is a part of the lower one: a partition, a dataset of a pool, a phy of an HBA."""
    STORED = "stored"
    """The data of the upper thing is stored on the lower one."""
    CACHED = "cached"
    """The lower thing holds copies of the upper one's data, or data not yet written back."""
    PATH = "path"
    """The lower thing is one of several paths to the upper one."""
    ATTACHED = "attached"
    """The upper thing is connected to the lower one by a cable or bus."""
    LOCATED = "located"
    """The upper thing is in or near the lower one: a slot, an enclosure, a NUMA node, a rack."""
    CARRIED = "carried"
    """Frames of the upper thing pass through the lower one."""
    SERVED = "served"
    """The upper thing is provided by the lower one over a network."""
    USED = "used"
    """The upper thing, a client, does I/O to the lower one."""


CONTAINS = frozenset({Relation.MEMBER, Relation.PART, Relation.STORED, Relation.CACHED, Relation.PATH})
"""Relations by which the lower thing is a part of the upper one, or holds its data."""

T = TypeVar("T")


class Stated(Struct, Generic[T], frozen=True):
    """Mapping from the words of a row's field to values; `otherwise` is the value of any other word."""

    field: str
    words: Mapping[str, T | None]
    otherwise: T | None = None

    def of(self, row: Any) -> T | None:
        """Return the value for a row."""
        return self.words.get(str(getattr(row, self.field)), self.otherwise)


class GroupKind(enum.StrEnum):
    """Kind of a peer group: why its members should behave alike."""

    COLUMNS = "stripe columns"
    """Members over which an array, a volume or a mapping spreads its data."""
    LEGS = "mirror legs"
    """The same where all members carry the same writes: columns whose traits are mirrored."""
    IMAGES = "raid images"
    """Parts of a raid volume whose level is unknown: mirrored, or spread over with parity."""
    LEAVES = "vdev leaves"
    """Devices of the vdevs of one layout in a ZFS pool."""
    DEVICES = "pool devices"
    """Devices of one medium in a pool of a cluster: SDS devices of a storage pool, OSDs of one device class."""
    PATHS = "paths"
    """Paths of a multipath device."""
    SLAVES = "bond slaves"
    MODEL = "same model"
    """Disks of one model in one role."""


class Peers(Struct, frozen=True, kw_only=True):
    """Peer group whose members are named by the rows of a family.

    `upper` and `member` are keys of the family's `things`, or several separated by `|`, as in a Join; without `member`
    the members are the things directly below `upper`. Members with equal `upper`, kind and `by` fields form a group;
    a row with a `by` or `order` field of None, or with a kind of None, has no part in one. `only` states by a word of
    the row whether it has. `alike` separates members that are used by things of different kinds. `order` is the field
    that sorts the members, `weight` the one with each member's share of the load.
    """

    kind: GroupKind | Stated[GroupKind]
    upper: str = ""
    member: str = ""
    by: tuple[str, ...] = ()
    only: Stated[bool] | None = None
    alike: bool = False
    order: str = ""
    weight: str = ""

    def fields(self) -> frozenset[str]:
        """Return the names of the fields (or properties) used, other than those of the things."""
        stated = {part.field for part in (self.kind, self.only) if isinstance(part, Stated)}
        return frozenset({*self.by, self.order, self.weight, *stated} - {""})


class Traits(Struct, frozen=True):
    """Properties of a peer group that follow from its technology; None for unknown ones.

    `layout` is its own word (raid10, raidz2, striped, 802.3ad). A whole group has `slots` members. `copies`
    neighboring members carry the same writes, and `far` ones do at different offsets. Each write also uses `parity`
    further members. `balanced`: reads are spread evenly over the copies. Not `comparable`: the members do different
    work after all, as in a linear array.
    """

    layout: str | None = None
    slots: int | None = None
    copies: int | None = None
    far: int | None = None
    parity: int | None = None
    balanced: bool | None = None
    comparable: bool | None = None

    @property
    def mirrored(self) -> bool:
        """Whether all members carry the same writes."""
        return self.copies is not None and self.copies > 1 and self.copies == self.slots


class ThingName(NamedTuple):
    """A name and its namespace."""

    naming: Naming
    name: str


class NamedThing(NamedTuple):
    """A thing as named by one row: its kind (None: only referenced) and its names, the primary one first."""

    kind: ThingKind | None
    names: tuple[ThingName, ...]


class Link(NamedTuple):
    """Dependency of `upper` on `lower`, with its relation."""

    upper: NamedThing
    lower: NamedThing
    relation: Relation


class Identity(Struct, frozen=True):
    """Naming of a thing in rows of a family: a template of its name, by default the field with the thing's role name.

    `aliases` are templates of additional names. A kind of None references a thing whose kind is declared elsewhere.
    With `many`, the field holds several comma-separated names. A template that cannot be filled yields no name; a thing
    without names is omitted.
    """

    kind: ThingKind | Stated[ThingKind] | None
    naming: Naming | Stated[Naming]
    name: str = ""
    aliases: tuple[tuple[str, Naming], ...] = ()
    many: bool = False

    def of(self, row: Any, role: str) -> tuple[NamedThing, ...]:
        """Return the things with this role that a row names."""
        naming = self.naming.of(row) if isinstance(self.naming, Stated) else self.naming
        kind = self.kind.of(row) if isinstance(self.kind, Stated) else self.kind
        name = filled(self.name or f"{{{role}}}", row)
        if self.many:
            words = dict.fromkeys(word for word in (name or "").split(",") if word)
            return tuple(NamedThing(kind, (ThingName(naming, word),)) for word in words) if naming is not None else ()
        names = [ThingName(naming, name)] if name and naming is not None else []
        names += (ThingName(other, alias) for text, other in self.aliases if (alias := filled(text, row)))
        return (NamedThing(kind, tuple(dict.fromkeys(names))),) if names else ()

    def fields(self, role: str) -> frozenset[str]:
        """Return the names of the fields (or properties) used."""
        stated = {part.field for part in (self.kind, self.naming) if isinstance(part, Stated)}
        return needed_fields(self.name or f"{{{role}}}").union(
            stated, *(needed_fields(text) for text, _ in self.aliases)
        )


class Join(Struct, frozen=True):
    """Dependency between two things named by a row: the upper one needs the lower one.

    Each is a key of the family's `things`, or several separated by `|`, of which the first one present in the row is
    used. A relation read from the row may be None: no link.
    """

    upper: str
    lower: str
    relation: Relation | Stated[Relation]


def named(row: Any) -> dict[str, tuple[NamedThing, ...]]:
    """Return the things named by a row, by role; () for roles that are not named."""
    return {role: identity.of(row, role) for role, identity in row.things.items()}


def links(row: Any) -> Iterator[Link]:
    """Yield the dependencies between the things of a row."""
    things = named(row) if row.joins else {}
    for join in row.joins:
        relation = join.relation.of(row) if isinstance(join.relation, Stated) else join.relation
        if relation is None:
            continue
        for upper in _first(things, join.upper):
            for lower in _first(things, join.lower):
                if upper.names[0] != lower.names[0]:
                    yield Link(upper, lower, relation)


def _first(things: Mapping[str, tuple[NamedThing, ...]], roles: str) -> tuple[NamedThing, ...]:
    return next((things[role] for role in roles.split("|") if things[role]), ())


def faults(
    things: Mapping[str, Identity],
    joins: tuple[Join, ...],
    known: frozenset[str],
    peers: tuple[Peers, ...] = (),
    traits: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield the errors in a family's declarations; `known` are the names of its fields and properties."""
    for role, identity in things.items():
        yield from (f"{role}: no field {name}" for name in sorted(identity.fields(role) - known))
        if identity.many and identity.aliases:
            yield f"{role}: several names cannot have aliases"
    joined = set[str]()
    for join in joins:
        ends = {*join.upper.split("|"), *join.lower.split("|")}
        joined |= ends
        yield from (f"no thing {name}" for name in sorted(ends - things.keys()))
        if isinstance(join.relation, Stated) and join.relation.field not in known:
            yield f"relation: no field {join.relation.field}"
    about = next(iter(things), None)
    for group in peers:
        ends = {role for role in (*group.upper.split("|"), *group.member.split("|")) if role}
        joined |= ends
        yield from (f"peers: no thing {name}" for name in sorted(ends - things.keys()))
        yield from (f"peers: no field {name}" for name in sorted(group.fields() - known))
    for trait, name in traits.items():
        if trait not in Traits.__struct_fields__:
            yield f"no trait {trait}"
        if name not in known:
            yield f"traits: no field {name}"
    if joins:  # things other than the subject are useless without a join
        yield from (f"{role} is joined with nothing" for role in things if role not in joined and role != about)
