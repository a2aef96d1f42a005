"""Judged peer groups: what each group suffers from, and which of its members are slow."""

from __future__ import annotations

from msgspec import Struct

from sdstop.analysis.disks.standstill import Standstill
from sdstop.analysis.members.column import Second
from sdstop.analysis.members.lag import Lag
from sdstop.analysis.members.laggard import Wait
from sdstop.analysis.members.neighbor import Neighbor
from sdstop.analysis.members.peer_samples import Columns, GroupColumns
from sdstop.analysis.members.relapse import Relapse
from sdstop.analysis.members.stripe import Verdict
from sdstop.collectors.md.readings import Array
from sdstop.core.joins import GroupKind
from sdstop.core.model import Reading
from sdstop.core.peer_group import PeerGroup
from sdstop.core.thing import Thing

_STRIPED = frozenset({"raid0", "raid10", "raid5", "raid6"})


class Laggard(Struct, frozen=True):
    """A slow member: far longer waits than its peers, or standstills or relapses that they do not have.

    `neighbor` is set if another load on its disk is the cause. `critical` has hysteresis. `base` is the device below a
    member that is a mapping (an image of LVM's raid) of one device, "" for others.
    """

    member: str
    thing: Thing | None
    wait: Wait | None = None
    still: Standstill | None = None
    neighbor: Neighbor | None = None
    critical: bool = False
    base: str = ""
    relapse: Relapse | None = None

    @property
    def device(self) -> str:
        """The device whose own health matters: the one below a mapping, or the member."""
        return self.base or self.member


class JudgedGroup(Struct, frozen=True):
    """A peer group over the last seconds, with its slow members and the pattern of its queue, or why they are unknown.

    `seconds` are the judged ones, oldest first; of an even group without a pattern the newest alone. `verdict` is about
    the pattern of the whole group, None if `unchecked` has a reason. `slow` are the slow members, the worst first;
    `slow_unchecked` is why there may be more.
    An inferred group (pasted rates, no topology) has no `group`; `array` is that of md.
    """

    group: PeerGroup | None
    name: str
    layout: GroupColumns
    rotational: bool | None
    array: Array | None = None
    seconds: tuple[Second, ...] = ()
    verdict: Verdict | None = None
    unchecked: str = ""
    slow: tuple[Laggard, ...] = ()
    slow_unchecked: str = ""
    sign: str = ""
    """Member that waits far longer than its peers in each of the last samples, which are too few to judge by."""
    lag: Lag | None = None
    """Member that takes somewhat longer than its peers over a minute, if none is slow."""

    @property
    def rows(self) -> tuple[Reading, ...]:
        """Rows that state the group, for evidence."""
        return (self.array,) if self.array is not None else ()

    @property
    def chunk(self) -> int | None:
        """Bytes of consecutive data on one member, None if unknown."""
        return self.array.chunk if self.array is not None else None

    @property
    def columns(self) -> Columns:
        """Devices of each stripe column in order."""
        return self.layout.columns

    @property
    def kind(self) -> GroupKind | None:
        """Kind of the group, None if it is inferred."""
        return self.group.kind if self.group is not None else None

    @property
    def striped(self) -> bool:
        """Whether the members are stripe columns, of which the rules on stripe members speak."""
        return self.kind is GroupKind.COLUMNS

    @property
    def parity(self) -> int:
        """Further members that each write uses."""
        return (self.group.traits.parity or 0) if self.group is not None else 0

    @property
    def mirrored(self) -> bool:
        """Whether all members carry the same writes, or those of one device in turn: one of two can be called slow."""
        if self.group is None:
            return False
        if self.kind is GroupKind.PATHS:
            return len(self.group.members) == 2
        pair = self.kind is GroupKind.LEAVES and self.group.traits.layout == "mirror" and len(self.group.members) == 2
        return self.kind is GroupKind.LEGS or pair

    def subject(self, member: str) -> str:
        """Return the subject of a finding on one of the members.

        The devices of a cluster are called as its other findings call them.
        """
        if self.group is None or self.group.upper is None or self.kind is GroupKind.DEVICES:
            return member
        return f"{self.name}/{member}"


def is_striped(array: Array) -> bool:
    """Return whether an array spreads its data over columns; a RAID10 of two members is a mirror."""
    return array.level in _STRIPED and array.copies != array.raid_disks


def is_mirror(array: Array) -> bool:
    """Return whether all members of an array carry the same writes."""
    return array.redundant and (array.copies or 1) > 1 and array.copies == array.raid_disks
