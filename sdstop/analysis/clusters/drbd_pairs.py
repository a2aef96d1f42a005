"""DRBD connections seen from both of their nodes.

Each node reports its own state and its knowledge of its peer. Version 8 calls every peer `peer`: its two sides are the
only two nodes that have the resource.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.core.finding import Gap, Unchecked
from sdstop.core.site import Site, SiteNode, apart

ALONE = "StandAlone"
CONNECTED = "Connected"
GOOD = frozenset({"UpToDate", "Consistent"})
_UNNAMED = "peer"


class DrbdSide(Struct, frozen=True):
    """One side of a connection: its node, and the state of that node."""

    node: SiteNode
    row: DrbdConnection

    @property
    def connected(self) -> bool:
        """Whether this side has a connection."""
        return self.row.connection == CONNECTED

    @property
    def wrote(self) -> bool:
        """Whether it was Primary without its peer while it was watched, and has good data that the peer may lack."""
        return self.row.out_of_sync != 0 and self.row.disk in GOOD and self._primary()

    def _primary(self) -> bool:
        key = (self.row.resource, self.row.peer, self.row.volume)
        rows = (row for _, row in self.node.window.series(DrbdConnection, key) if row is not None)
        return any(row.role == "Primary" and row.connection != CONNECTED for row in rows)


class DrbdPair(Struct, frozen=True):
    """Both sides of a connection."""

    subject: str
    one: DrbdSide
    other: DrbdSide

    @property
    def sides(self) -> tuple[DrbdSide, DrbdSide]:
        """Both sides."""
        return self.one, self.other

    @property
    def nodes(self) -> tuple[str, str]:
        """Names of both nodes."""
        return self.one.node.name, self.other.node.name

    @property
    def both_primary(self) -> bool:
        """Whether both sides accept writes now, without each other."""
        return all(not side.connected and side.row.role == "Primary" and side.row.disk in GOOD for side in self.sides)

    @property
    def diverged(self) -> bool:
        """Whether both sides accept writes, or were written to, without each other."""
        apart = not any(side.connected for side in self.sides)
        return self.both_primary or (apart and all(side.wrote for side in self.sides))

    @property
    def apart(self) -> float:
        """Seconds between the newest frames of both nodes."""
        return apart(self.one.node, self.other.node)


class DrbdOrphan(Struct, frozen=True):
    """Side of a connection whose other node is there, and has no such resource."""

    subject: str
    side: DrbdSide
    peer: SiteNode


Connections = Iterator[DrbdPair | DrbdOrphan | Unchecked]


def drbd_connections(site: Site, limit: float) -> Connections:
    """Yield each connection with both sides, or why that is impossible; captures are at most `limit` seconds apart."""
    seen: set[tuple[str, frozenset[str]]] = set()
    for node in site.nodes:
        for row in node.window.rows(DrbdConnection).values():
            subject = _subject(node, row)
            peer = _peer(site, node, row)
            if isinstance(peer, str):
                yield Unchecked(peer, subject, gap=Gap.UNRECORDED)
                continue
            key = (subject, frozenset((node.name, peer.name)))
            if key in seen:
                continue
            seen.add(key)
            yield _connection(site, DrbdSide(node, row), peer, subject, limit)


def _connection(
    site: Site, side: DrbdSide, peer: SiteNode, subject: str, limit: float
) -> DrbdPair | DrbdOrphan | Unchecked:
    why = site.distant(limit, side.node, peer)
    if why:
        return Unchecked(why, subject, gap=Gap.UNRECORDED)
    row = next((r for r in _rows(peer, side.row) if site.called(r.peer) is side.node or r.peer == _UNNAMED), None)
    if row is not None:
        return DrbdPair(subject, side, DrbdSide(peer, row))
    why = peer.lacks(DrbdConnection)
    return Unchecked(f"{peer.name}: {why}", subject) if why else DrbdOrphan(subject, side, peer)


def _subject(node: SiteNode, row: DrbdConnection) -> str:
    """Return the resource, with the volume and peer where it has several."""
    whole = row.resource if row.volume == 0 else f"{row.resource}/{row.volume}"
    several = sum(1 for _ in _rows(node, row)) > 1
    return f"{whole}/{'+'.join(sorted((node.name, row.peer)))}" if several else whole


def _rows(node: SiteNode, like: DrbdConnection) -> Sequence[DrbdConnection]:
    """Return the connections of a node of the same volume of the same resource."""
    rows = node.window.rows(DrbdConnection).values()
    return [row for row in rows if (row.resource, row.volume) == (like.resource, like.volume)]


def _peer(site: Site, node: SiteNode, row: DrbdConnection) -> SiteNode | str:
    """Return the node at the other end, or why it is unknown."""
    if row.peer != _UNNAMED:
        found = site.called(row.peer)
        return found if found is not None and found is not node else f"no capture of {row.peer}"
    others = [other for other in site.nodes if other is not node and _rows(other, row)]
    if len(others) > 1:
        return f"peer unnamed, and {len(others)} other nodes have this resource"
    if others:
        return others[0]
    return "peer unnamed, and no other capture has this resource"
