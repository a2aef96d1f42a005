"""Parser for the text of `drbdadm status` and `drbdsetup status` (user/v9/drbdsetup.c of drbd-utils 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from sdstop.collectors.drbd.status import (
    KIB,
    MIB,
    NAMELESS,
    NO_END,
    PAUSED,
    SYNCING,
    VERIFYING,
    DrbdPeer,
    PeerVolume,
    Resource,
    Resync,
    Volume,
)
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_PAIR = expression(r"([a-z][a-z0-9_-]{0,40}):(\S*)")
_NAME = expression(r"[^\s:]{1,200}")
_DEVICE = frozenset({
    "al-suspended", "al-writes", "backing_dev", "blocked", "bm-writes", "client", "disk", "lower-pending", "minor",
    "open", "quorum", "read", "size", "upper-pending", "written",
})  # fmt: skip
"""Properties of a volume here."""
_PEER_DEVICE = frozenset({
    "dbdt0", "dbdt1", "dbdt2", "done", "eta", "out-of-sync", "peer-client", "peer-disk", "pending", "received",
    "replication", "resync-suspended", "sent", "unacked", "has-sync-details", "has-online-verify-details",
})  # fmt: skip
"""Properties of a volume at a peer."""
_NONE = "# No currently configured DRBD found."
_CALL = expression(r"\s*drbdsetup(?P<eight>-84)? status\b.*")
"""Line with the command that drbdadm runs for a resource of version 8.4."""


_NO_PEER = "no peer: none configured, or StandAlone before version 9"


class _Item(Struct):
    """A resource or a peer: its own properties, and those of its volumes by number."""

    name: str
    own: dict[str, str] = field(default_factory=dict)
    volumes: dict[int, dict[str, str]] = field(default_factory=dict)
    peers: list[_Item] = field(default_factory=list)
    last: int | None = None
    """Volume that the last line was about."""
    implicit: bool = False
    """Whether its only volume has no number."""


class PrintedResources(Struct, frozen=True):
    """Complete resources, and why others, or parts of the text, are not read, by name; "" for the text."""

    resources: list[Resource]
    defects: Mapping[str, str]


def parse(text: str, *, is_whole: bool = True) -> PrintedResources:
    """Parse the status of resources, with or without `--verbose` and `--statistics`; `is_whole` unless its end is lost.

        r0 node-id:0 role:Primary suspended:no
          volume:0 minor:0 disk:UpToDate quorum:yes
              size:20970204 read:702624 written:0 al-writes:8 bm-writes:0
          san2 node-id:1 connection:Connected role:Secondary congested:no
            volume:0 replication:SyncSource peer-disk:Inconsistent done:3.42 resync-suspended:no
                received:0 sent:0 out-of-sync:20267580 pending:0 unacked:0 dbdt1:93.05 eta:212

    Resources of version 8.4 are printed in the same way, their only peer as `peer`. Without `--verbose` the expected
    is left out: `connection:Connected`, `replication:Established`, `suspended:no`, and the number of a resource's only
    volume. The tool wraps long lines. Sizes are in KiB. Raises Malformed.
    """
    items: list[_Item] = []
    stray = ""
    astray = False
    eight = any((call := _CALL.fullmatch(line)) and call["eight"] for line in text.splitlines())
    margins = [len(line) - len(line.lstrip()) for line in text.splitlines() if line.strip()]
    for line in text.splitlines():
        words = line.split()
        if not words or line.strip() == _NONE or _CALL.fullmatch(line):
            continue
        if not line[:1].isspace() and items and len(words) > 1 and not any(map(_PAIR.fullmatch, words)):
            break  # prose
        indent = len(line) - len(line.lstrip()) - min(margins)
        astray = astray and bool(indent)
        if astray or not _read(items, words, indent):
            stray = stray or line.strip()
            astray = bool(indent)  # the first line of its resource is missing
    if not items and _NONE not in text:
        raise Malformed(f"drbdsetup status: no resource: {text.strip()[:60]!r}")
    if len(items) > 1 and not any(item.peers for item in items) and max(margins) == min(margins):
        raise Malformed("drbdsetup status: without its indentation, peers look like resources")
    for item in items if is_whole else items[:-1]:  # the peer of the last one can be in the part that is lost
        if eight and not item.peers:  # each of its resources has one peer, which is left out while StandAlone
            item.peers.append(_Item(NAMELESS, {"connection": "StandAlone"}))
    defects = {item.name: reason for item in items if (reason := _lacking(item))}
    whole = [item for item in items if item.name not in defects]
    defects |= {item.name: _NO_PEER for item in whole if not item.peers}
    whole = [item for item in whole if item.peers or {v["disk"] for v in item.volumes.values()} == {"UpToDate"}]
    if stray:
        defects[""] = f"line not understood: {stray[:60]!r}"
    return PrintedResources([_resource(item) for item in whole], defects)


def _read(items: list[_Item], words: Sequence[str], indent: int) -> bool:
    """Read a line; return whether it is understood."""
    named = ":" not in words[0]
    pairs = [_PAIR.fullmatch(word) for word in words[named:]]
    known = {pair[1]: pair[2] for pair in pairs if pair is not None}
    if len(known) < len(pairs) or (named and not _NAME.fullmatch(words[0])):
        return False
    if named and not indent:
        if "role" not in known:
            return False
        items.append(_Item(words[0]))
    elif named and items:
        items[-1].peers.append(_Item(words[0]))
    if not items:
        return False
    item = items[-1].peers[-1] if items[-1].peers else items[-1]
    if items[-1].peers and not named and not _DEVICE.isdisjoint(known):
        return False
    if named:
        item.own.update(known)
        return True
    _add(item, known, _PEER_DEVICE if items[-1].peers else _DEVICE)
    return True


_MIXED = -1
"""Number of a volume that makes a resource incomplete: lines of several resources in one."""


def _add(item: _Item, known: dict[str, str], of_volume: frozenset[str]) -> None:
    number = whole(known.pop("volume", None), 9)
    if number is not None:
        item.volumes.update({_MIXED: {}} if item.implicit else {})
        item.last = number
    elif item.last is None and not of_volume.isdisjoint(known):
        item.last, item.implicit = 0, True
    for name, value in known.items():
        if name in of_volume and item.last is not None:
            item.volumes.setdefault(item.last, {})[name] = value
        elif item.last is None:
            item.own[name] = value
    if item.last is not None:
        item.volumes.setdefault(item.last, {})


def _lacking(item: _Item) -> str:
    """Return which volumes of a resource are missing, "" if none is."""
    if not item.volumes or any("disk" not in volume for volume in item.volumes.values()):
        return "ends before the disks of this node"
    brief = not any("minor" in volume for volume in item.volumes.values())
    if brief and not item.implicit and len(item.volumes) == 1:
        return "lacks volumes: a single one has no number"
    names = [peer.name for peer in item.peers]
    if len(set(names)) < len(names):
        return "lists a peer twice"
    for peer in item.peers:
        if not _linked(peer):
            continue
        if any("peer-disk" not in volume for volume in peer.volumes.values()) or len(peer.volumes) < len(item.volumes):
            return f"ends before the disks of {peer.name}"
    return ""


def _linked(peer: _Item) -> bool:
    return peer.own.get("connection", "Connected") == "Connected"


def _resource(item: _Item) -> Resource:
    return Resource(
        item.name,
        item.own.get("role"),
        item.own.get("suspended", "no") != "no",
        tuple(_volume(number, known) for number, known in item.volumes.items()),
        tuple(_peer(peer, item) for peer in item.peers),
    )


def _volume(number: int, known: Mapping[str, str]) -> Volume:
    disk = known.get("disk", "unknown")
    size = whole(known.get("size"))
    return Volume(
        number,
        whole(known.get("minor"), 7),
        disk,
        disk == "Diskless" and known.get("client") == "yes",
        None if size is None else size * KIB,
        {"yes": True, "no": False}.get(known.get("quorum", "")),
    )


def _peer(peer: _Item, item: _Item) -> DrbdPeer:
    volumes = peer.volumes
    if not _linked(peer):  # without --verbose, volumes of a peer that is away are left out
        volumes = {number: {} for number in item.volumes} | volumes
    return DrbdPeer(
        peer.name,
        peer.own.get("connection", "Connected"),
        peer.own.get("role"),
        {"yes": True, "no": False}.get(peer.own.get("congested", "")),
        tuple(_peer_volume(number, known, linked=_linked(peer)) for number, known in volumes.items()),
    )


def _peer_volume(number: int, known: Mapping[str, str], *, linked: bool) -> PeerVolume:
    replication = known.get("replication", "Established" if linked else "Off")
    left = whole(known.get("out-of-sync"))
    left = None if left is None else left * KIB
    return PeerVolume(
        number,
        replication,
        known.get("peer-disk", "DUnknown"),
        left,
        known.get("resync-suspended"),
        known.get("peer-client") == "yes",
        _resync(known, replication, left),
    )


def _resync(known: Mapping[str, str], replication: str, left: int | None) -> Resync | None:
    """Return a resync in progress; its total follows from the bytes left and the share done."""
    if replication not in SYNCING | PAUSED | VERIFYING:
        return None
    share, speed = _decimal(known.get("done")), _decimal(known.get("dbdt1"))
    remaining = whole(known.get("eta"))
    left = None if replication in VERIFYING else left
    total = round(left / (1 - share / 100)) if left is not None and share is not None and share < _DONE else None
    return Resync(
        total,
        left if total is not None else None,
        None if speed is None else int(speed * MIB),
        None if remaining is None or remaining >= NO_END else remaining,
    )


_DONE = 99.995
"""Percentage above which the share, printed with two decimals, gives no total."""


def _decimal(word: str | None) -> float | None:
    return float(word) if word is not None and re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", word) else None


_FIRST = (
    r"(?:drbdsetup\S* status [^\n]*\n)?[^\s:]+ (?:node-id:\d+ )?role:(?:Primary|Secondary|Unknown)\b[^\n]*\n"
    r"\s+(?:write-ordering:|disk:|volume:\d+ (?:minor:\d+ )?disk:)"
)
_READS = "resources, their disks, peers, connections and resyncs"
_VERSIONS = "drbd-utils 9"
TEXT = Form(
    key="cmd:drbdsetup status",
    first=_FIRST,
    goes_on=r" +\S.*|[^\s:]+ (?:node-id:\d+ )?role:.*|drbdsetup\S* status .*",
    reads=_READS,
    versions=_VERSIONS,
)
ADM = Form(key="cmd:drbdadm status", first=_FIRST, goes_on=TEXT.goes_on, reads=_READS, versions=_VERSIONS)
