"""Joins: the things that rows name, and which of them need which, declared on a family's class.

    class Member(Reading):
        things: ClassVar = {
            "array": Identity(ThingKind.ARRAY, Naming.DEV),
            "device": Identity(ThingKind.DEVICE, Naming.DEV),
        }
        joins = (Join("array", "device", Relation.MEMBER),)

The first of `things` is what the row is about. The graph of a snapshot follows from these declarations alone:

1. For each row and each of its things, `Identity.of` gives the names, each with its naming, and the kind.
2. Names of one naming that are equal name one thing. So the names of a thing from all rows together are its aliases,
   and its kinds from all rows are its roles: md0 is an array to one family and a block device to another, and one
   thing. An alias (a name that is not the first of its row) of things whose first names differ within one naming, as
   a WWN to which two paths lead, names none of them. A thing without any kind was only referred to.
3. For each row, `links` gives pairs of things and their relation. In each the upper thing needs the lower one, so
   links point down, and what several things have below them is what they have in common. Where two families say how
   one pair is related, any relation says more than STORED.
4. Only the filled templates matter: as long as those of all rows are the same, the graph is.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from sdstop.core.template import filled, needed_fields


class ThingKind(enum.StrEnum):
    """What a thing is."""

    VOLUME = "volume"
    FILESYSTEM = "filesystem"
    MOUNT = "mount"
    CACHE = "cache"
    ARRAY = "array"
    POOL = "pool"
    GROUP = "group"
    """Of members: a vdev, the legs of a mirror."""
    DEVICE = "device"
    PATH = "path"
    MULTIPATH_MAP = "multipath map"
    HBA = "hba"
    CONTROLLER = "controller"
    """Of disks (a SCSI host), of memory, or a card that is not an HBA."""
    PCIE_LINK = "pcie link"
    """Named by the port above it."""
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
    """What names are told apart by: equal names of one naming are one thing."""

    DEV = "dev"
    """Kernel names of block devices: sda, etherd/e0.1, dm-3."""
    LINK = "link"
    """Other names below /dev: sda, vg0/home, mapper/vg0-home, disk/by-id/wwn-0x5000c500d01993f0."""
    NUMBER = "number"
    """Of block devices, MAJOR:MINOR."""
    WWN = "wwn"
    UUID = "uuid"
    """Of device mapper's devices, with the prefix of who made them."""
    ZFS = "zfs"
    """Pools and datasets."""
    VDEV = "vdev"
    """Pools, and POOL/VDEV."""
    PCI = "pci"
    SCSI = "scsi"
    """Names in the kernel's SCSI and SAS trees: host0, port-0:0, expander-0:0, phy-0:0:3, end_device-0:0:3."""
    ENCLOSURE = "enclosure"
    """Identifiers of enclosures, and ENCLOSURE/BAY."""
    NET = "net"
    """Network interfaces."""
    ADDRESS = "address"
    """Of the network: IP, with or without a port."""
    NUMA = "numa"
    SOCKET = "socket"
    """Numbers of processor sockets, and SOCKET/CHANNEL of memory."""
    DIMM = "dimm"
    """Slots of memory modules, as the board names them."""
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
    """CLUSTER/VOLUME; the volume alone where whoever limits it names no cluster."""
    CLIENT = "client"
    """Who uses volumes: a control group, a virtual machine, a client of a cluster."""
    PROCESS = "process"


class Relation(enum.StrEnum):
    """What the lower thing is to the upper one, which needs it."""

    MEMBER = "member"
    """The upper thing is made of several of its kind."""
    PART = "part"
    """The upper thing is a part of the lower one: a partition, a dataset of a pool, a phy of an HBA."""
    STORED = "stored"
    """The data of the upper thing lies on the lower one."""
    CACHED = "cached"
    """The lower one holds copies of the data of the upper one, or what is yet to be written."""
    PATH = "path"
    """The lower one is one of several ways to the upper one."""
    ATTACHED = "attached"
    """By a cable or a bus."""
    LOCATED = "located"
    """The upper one is in the lower one, or near to it: a slot, an enclosure, a NUMA node, a rack."""
    CARRIED = "carried"
    """Frames of the upper one go through the lower one."""
    SERVED = "served"
    """The upper one comes from the lower one, over a network."""
    USED = "used"
    """The upper one, a client, does I/O to the lower one."""


T = TypeVar("T")


class Stated(Struct, Generic[T], frozen=True):
    """What a field of the row states, in its own words; `otherwise` for any other word."""

    field: str
    words: Mapping[str, T | None]
    otherwise: T | None = None

    def of(self, row: Any) -> T | None:
        """Return what a row states."""
        return self.words.get(str(getattr(row, self.field)), self.otherwise)


class ThingName(NamedTuple):
    """A name, and among which it is unique."""

    naming: Naming
    name: str


class Named(NamedTuple):
    """A thing as one row names it: its kind (None: it only refers to it), and its names, the first one first."""

    kind: ThingKind | None
    names: tuple[ThingName, ...]


class Link(NamedTuple):
    """That `upper` needs `lower`, and what that is to it."""

    upper: Named
    lower: Named
    relation: Relation


class Identity(Struct, frozen=True):
    """How rows of a family name a thing: a template of its name, by default the field that is called as the thing.

    `aliases` are templates of further names. A kind of None refers to a thing whose kind others know. Of `many`, the
    field holds several names with commas between them. A template that a row cannot fill gives no name, and no name
    at all no thing.
    """

    kind: ThingKind | Stated[ThingKind] | None
    naming: Naming | Stated[Naming]
    name: str = ""
    aliases: tuple[tuple[str, Naming], ...] = ()
    many: bool = False

    def of(self, row: Any, role: str) -> tuple[Named, ...]:
        """Return the things of this kind that a row names."""
        naming = self.naming.of(row) if isinstance(self.naming, Stated) else self.naming
        kind = self.kind.of(row) if isinstance(self.kind, Stated) else self.kind
        name = filled(self.name or f"{{{role}}}", row)
        if self.many:
            words = dict.fromkeys(word for word in (name or "").split(",") if word)
            return tuple(Named(kind, (ThingName(naming, word),)) for word in words) if naming is not None else ()
        names = [ThingName(naming, name)] if name and naming is not None else []
        names += (ThingName(other, alias) for text, other in self.aliases if (alias := filled(text, row)))
        return (Named(kind, tuple(dict.fromkeys(names))),) if names else ()

    def fields(self, role: str) -> frozenset[str]:
        """Return the names of the fields (or properties) that it needs."""
        stated = {part.field for part in (self.kind, self.naming) if isinstance(part, Stated)}
        return needed_fields(self.name or f"{{{role}}}").union(
            stated, *(needed_fields(text) for text, _ in self.aliases)
        )


class Join(Struct, frozen=True):
    """That of two things which a row names the upper one needs the lower one.

    Each is a key of the family's `things`, or several with `|`: the first that the row names. A relation that the row
    states may be none.
    """

    upper: str
    lower: str
    relation: Relation | Stated[Relation]


def named(row: Any) -> dict[str, tuple[Named, ...]]:
    """Return the things that a row names, by role; () for one that it does not name."""
    return {role: identity.of(row, role) for role, identity in row.things.items()}


def links(row: Any) -> Iterator[Link]:
    """Yield how the things of a row need each other."""
    things = named(row) if row.joins else {}
    for join in row.joins:
        relation = join.relation.of(row) if isinstance(join.relation, Stated) else join.relation
        if relation is None:
            continue
        for upper in _first(things, join.upper):
            for lower in _first(things, join.lower):
                if upper.names[0] != lower.names[0]:
                    yield Link(upper, lower, relation)


def _first(things: Mapping[str, tuple[Named, ...]], roles: str) -> tuple[Named, ...]:
    return next((things[role] for role in roles.split("|") if things[role]), ())


def faults(things: Mapping[str, Identity], joins: tuple[Join, ...], known: frozenset[str]) -> Iterator[str]:
    """Yield what is wrong with a family's declarations; `known` are the names of its fields and properties."""
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
    if joins:  # what no join needs, and the row is not about, says nothing
        yield from (f"{role} is joined with nothing" for role in things if role not in joined and role != about)
