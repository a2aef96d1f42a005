"""Parsers for DRBD status (`drbdsetup status --json --statistics` in version 9, /proc/drbd in 8) and resync rates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import json_text, json_whole

STATUS = ("drbdsetup", "status", "--json", "--statistics")
SHOW = ("drbdsetup", "show", "--show-defaults")
KEPT = r"\s*(resource\b|volume\b|connection\b|\}|(_name|c-max-rate|c-min-rate|c-plan-ahead|resync-rate)\b)"
"""Lines of `drbdsetup show` that are kept; others contain the shared secret of the nodes."""

NO_END = 987654321
"""Value that drbdsetup reports for "never" (estimated-seconds-to-finish)."""
KIB, SECTOR, MIB = 1024, 512, 1 << 20

NAMELESS = "peer"
"""Name of the peer in version 8, whose status has none."""
GOOD_DISKS = frozenset({"UpToDate"})
UNKNOWN_DISKS = frozenset({"DUnknown", "unknown", "UpToDate"})
"""States of a peer's disk that say nothing of it while the peer is not connected."""
SYNCING = frozenset({"SyncSource", "SyncTarget"})
PAUSED = frozenset({"PausedSyncS", "PausedSyncT"})
VERIFYING = frozenset({"VerifyS", "VerifyT"})


class Resync(Struct, frozen=True):
    """A resync or online verify: total and remaining bytes, DRBD's own speed (bytes per second), remaining seconds."""

    total: int | None
    left: int | None
    speed: int | None
    remaining: int | None


class PeerVolume(Struct, frozen=True):
    """A volume on a peer: out-of-sync bytes, and the resync in progress."""

    number: int
    replication: str
    disk: str
    out_of_sync: int | None
    suspended: str | None
    diskless: bool
    resync: Resync | None


class DrbdPeer(Struct, frozen=True):
    """A peer of a resource: its connection and its volumes."""

    name: str
    state: str
    role: str | None
    congested: bool | None
    volumes: tuple[PeerVolume, ...]


class Volume(Struct, frozen=True):
    """A volume of this node: minor number (None if not reported), disk state, size in bytes."""

    number: int
    minor: int | None
    disk: str
    diskless: bool
    size: int | None
    quorum: bool | None


class Resource(Struct, frozen=True):
    """A resource; `version` is 8 for a device of /proc/drbd, which has no resource name.

    `why` is the reason for which its I/O is suspended, "" if not reported. `failing`: its requests fail, because it was
    made Secondary by force while in use.
    """

    name: str
    role: str | None
    suspended: bool | None
    volumes: tuple[Volume, ...]
    peers: tuple[DrbdPeer, ...]
    version: int = 9
    why: str = ""
    failing: bool = False


def parse_status(text: str) -> list[Resource]:
    """Parse `drbdsetup status --json --statistics` (drbd-utils 9, user/v9/drbdsetup.c).

        [{"name": "r0", "role": "Primary", "suspended": false,
          "devices": [{"volume": 0, "minor": 0, "disk-state": "UpToDate", "size": 20970204, "quorum": true}],
          "connections": [{"name": "b", "connection-state": "Connected", "peer-role": "Secondary",
            "peer_devices": [{"volume": 0, "replication-state": "SyncSource", "peer-disk-state": "Inconsistent",
              "out-of-sync": 20267580, "rs-total": 41940408, "db1/dt1 [MiB/s]": 93.05}]}]}]

    Sizes are in KiB; fields that begin with `rs-` are in sectors. Raises Malformed.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"drbdsetup status: not JSON: {error}") from error
    if not isinstance(said, list):
        raise Malformed("drbdsetup status: no list of resources")
    return [_resource(item) for item in said]


def _resource(item: Any) -> Resource:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise Malformed("drbdsetup status: a resource without a name")
    return Resource(
        item["name"],
        json_text(item.get("role")),
        _flag(item, "suspended"),
        tuple(_volume(row) for row in _rows(item, "devices")),
        tuple(_peer(row) for row in _rows(item, "connections")),
        why=next((words for key, words in _REASONS.items() if _flag(item, key)), ""),
        failing=_flag(item, "force-io-failures") is True,
    )


_REASONS = {
    "suspended-quorum": "no quorum", "suspended-no-data": "no data is accessible",
    "suspended-fencing": "the peer is being fenced", "suspended-user": "by an administrator",
}  # fmt: skip
"""Fields of newer drbd-utils that say why I/O is suspended."""


def _volume(row: Mapping[str, Any]) -> Volume:
    disk = json_text(row.get("disk-state")) or "unknown"
    minor = json_whole(row.get("minor"))
    if minor is None:
        raise Malformed("drbdsetup status: a device without a minor number")
    return Volume(
        json_whole(row.get("volume")) or 0,
        minor,
        disk,
        disk == "Diskless" and _flag(row, "client") is not False,
        _scaled(row, "size", KIB),
        _flag(row, "quorum"),
    )


def _peer(row: Mapping[str, Any]) -> DrbdPeer:
    return DrbdPeer(
        json_text(row.get("name")) or f"node {json_whole(row.get('peer-node-id'))}",
        json_text(row.get("connection-state")) or "unknown",
        json_text(row.get("peer-role")),
        _flag(row, "congested"),
        tuple(_peer_volume(volume) for volume in _rows(row, "peer_devices")),
    )


def _peer_volume(row: Mapping[str, Any]) -> PeerVolume:
    replication = json_text(row.get("replication-state")) or "unknown"
    left = _scaled(row, "out-of-sync", KIB)
    return PeerVolume(
        json_whole(row.get("volume")) or 0,
        replication,
        json_text(row.get("peer-disk-state")) or "unknown",
        left,
        json_text(row.get("resync-suspended")),
        _flag(row, "peer-client") is True,
        _resync(row, replication, left),
    )


def _resync(row: Mapping[str, Any], replication: str, left: int | None) -> Resync | None:
    if replication not in SYNCING | PAUSED | VERIFYING:
        return None
    if replication in VERIFYING:  # out-of-sync counts the differences found so far, not the remaining bytes
        left = _scaled(row, "ov-left", SECTOR)
        return Resync(_scaled(row, "ov-start-sector", 0) or None, left, _speed(row), _remaining(row))
    return Resync(_scaled(row, "rs-total", SECTOR), left, _speed(row), _remaining(row))


def _speed(row: Mapping[str, Any]) -> int | None:
    """Return the recent speed; sectors and milliseconds are more exact than MiB with two decimals."""
    sectors, took = json_whole(row.get("rs-db1-sectors")), json_whole(row.get("rs-dt1-ms"))
    if sectors is not None and took:
        return sectors * SECTOR * 1000 // took
    told = row.get("db1/dt1 [MiB/s]")
    return int(told * MIB) if isinstance(told, int | float) and 0 <= told < 1e9 else None


def _remaining(row: Mapping[str, Any]) -> int | None:
    told = json_whole(row.get("estimated-seconds-to-finish"))
    return None if told is None or told >= NO_END else told


def _rows(item: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = item.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Malformed(f"drbdsetup status: {key} is not a list of objects")
    return rows


def _scaled(row: Mapping[str, Any], key: str, scale: int) -> int | None:
    value = json_whole(row.get(key))
    return None if value is None else value * scale


def _flag(row: Mapping[str, Any], key: str) -> bool | None:
    value = row.get(key)
    return value if isinstance(value, bool) else None


_DEVICE = expression(
    r"\s*(?P<minor>\d{1,7}): cs:(?P<state>\w+)(?: (?:ro|st):(?P<role>\w+)/(?P<far>\w+) ds:(?P<own>\w+)/(?P<peer>\w+)"
    r"(?: [ABC ] (?P<io>\w)(?P<flags>[\w-]*))?)?"
)
_OUT = expression(r"\boos:(\d{1,19})\b")
_SYNCED = expression(
    r"(?:sync'ed|verified):\s*(?P<share>\d+(?:\.\d+)?)%\s*\((?P<left>\d{1,15})/(?P<total>\d{1,15})\)(?P<unit>[KM])?"
)
_FINISH = expression(r"finish:\s*(\d{1,6}):(\d\d):(\d\d)")
_SPEED = expression(r"speed:\s*([\d,]{1,18})")


def parse_proc(text: str) -> list[Resource]:
    """Parse /proc/drbd of version 8.3 and 8.4 (kernel drivers/block/drbd/drbd_proc.c); in version 9 it has no devices.

        version: 8.4.11 (api:1/proto:86-101)
         0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----
            ns:702624 nr:0 dw:0 dr:702624 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:20267580
            [>....................] sync'ed:  3.4% (19792/20478)M
            finish: 0:03:32 speed: 95,284 (88,960) K/sec

    The letter after the protocol is s while I/O is suspended; the next three are a, p and u while a resync waits for
    another resource, for the peer and for an administrator of this node. Each device becomes a resource named drbdN.
    Raises Malformed.
    """
    if not text.startswith("version:"):
        raise Malformed("/proc/drbd does not begin with its version")
    found: list[Resource] = []
    for line in text.splitlines():
        device = _DEVICE.match(line)
        if device:
            found.append(_of_proc(device))
        elif found:
            found[-1] = _more(found[-1], line)
    return found


PROC_FORM = Form(
    key="/proc/drbd",
    first=r"version: 8\.\d+\.\d+.*\(api:",
    goes_on=r" *\d+: ?cs:.*|\s+\S.*|(?:GIT-hash|srcversion): .*",
    reads="resources, their connections, disks and resyncs",
    versions="DRBD 8.0 to 8.4",
)
JSON_FORM = Form(
    key="cmd:drbdsetup status --json",
    first=r'\[\s*\{\s*"name":[\s\S]{1,2000}?"(?:node-id|role)":',
    reads="resources, their disks, peers, connections and resyncs",
    versions="drbd-utils 9",
)


def _of_proc(device: re.Match[str]) -> Resource:
    minor, state = int(device["minor"]), device["state"]
    name = f"drbd{minor}"
    if device["io"] not in _SUSPENDED:
        raise Malformed(f"/proc/drbd: unknown I/O state of minor {minor}: {device['io']}")
    if state == "Unconfigured":
        return Resource(name, None, None, (), (), 8)
    linked = state not in _UNLINKED
    replication = state if linked and state != "Connected" else "Established" if linked else "Off"
    peer = PeerVolume(
        0, replication, device["peer"] or "unknown", None, _paused_by(device["flags"]),
        False,  # noqa: FBT003  # version 8 has no clients
        Resync(None, None, None, None) if replication in SYNCING | PAUSED | VERIFYING else None,
    )  # fmt: skip
    return Resource(
        name,
        device["role"],
        _SUSPENDED[device["io"]],
        (Volume(0, minor, device["own"] or "unknown", diskless=False, size=None, quorum=None),),
        (DrbdPeer(NAMELESS, "Connected" if linked else state, device["far"], None, (peer,)),),
        8,
    )


def _paused_by(flags: str | None) -> str | None:
    """Return why a resync is paused, as version 9 reports it: "no", "user", "dependency,peer"; None if not reported."""
    if flags is None or len(flags) < len(_PAUSES):
        return None
    return ",".join(words for flag, (letter, words) in zip(flags, _PAUSES, strict=False) if flag == letter) or "no"


_PAUSES = (("a", "dependency"), ("p", "peer"), ("u", "user"))
"""I/O flags behind the first (drivers/block/drbd/drbd_proc.c), in their order; version 8.3 has fewer."""
_SUSPENDED = {"r": False, "s": True, None: None}
"""Whether I/O is suspended, by the first I/O flag (drivers/block/drbd/drbd_proc.c); None: version 8.3 has none."""
_UNLINKED = frozenset(
    {
        "StandAlone", "Disconnecting", "Unconnected", "Timeout", "BrokenPipe", "NetworkFailure", "ProtocolError",
        "TearDown", "WFConnection", "WFReportParams",
    }
)  # fmt: skip


def _more(resource: Resource, line: str) -> Resource:
    """Add the values of a continuation line to the last device."""
    if not resource.peers:
        return resource
    peer = resource.peers[0]
    volume = peer.volumes[0]
    out, synced, finish, speed = (pattern.search(line) for pattern in (_OUT, _SYNCED, _FINISH, _SPEED))
    if out:
        volume = replace(volume, out_of_sync=int(out[1]) * KIB)
    resync = volume.resync
    if resync is not None:
        if synced:
            unit = MIB if synced["unit"] == "M" else KIB
            exact = volume.out_of_sync if volume.replication not in VERIFYING else None
            left = int(synced["left"]) * unit if exact is None else exact
            resync = replace(resync, total=int(synced["total"]) * unit, left=left)
        if finish:
            resync = replace(resync, remaining=int(finish[1]) * 3600 + int(finish[2]) * 60 + int(finish[3]))
        if speed and speed[1].replace(",", ""):
            resync = replace(resync, speed=int(speed[1].replace(",", "")) * KIB)
        volume = replace(volume, resync=resync)
    return replace(resource, peers=(replace(peer, volumes=(volume,)),))


class Rates(Struct, frozen=True):
    """Resync rates in bytes per second: maximum, and minimum during other I/O; None if unknown or unlimited."""

    most: int | None
    most_by: str
    least: int | None


_OPTION = expression(r"\s*(c-max-rate|c-min-rate|c-plan-ahead|resync-rate)\s+(\d{1,15})([kKmMgG]?);?")
_RESOURCE = expression(r'\s*resource\s+"?([^"\s{]+)')
_UNITS = {"": KIB, "k": KIB, "m": MIB, "g": 1 << 30}


def parse_rates(text: str) -> dict[str, Rates]:
    """Parse `drbdsetup show --show-defaults` into rates by resource; the lowest of several peers.

        resource "r0" {
            connection {
                volume 0 {
                    disk {
                        resync-rate             250k; # bytes/second, default
                        c-plan-ahead            20; # 1/10 seconds, default
                        c-max-rate              102400k; # bytes/second, default
                        c-min-rate              250k; # bytes/second, default

    c-max-rate limits the speed; if c-plan-ahead is 0, resync-rate applies as a fixed rate instead.
    """
    found: dict[str, dict[str, int]] = {}
    current: dict[str, int] | None = None
    for line in text.splitlines():
        name = _RESOURCE.match(line)
        if name:
            current = found.setdefault(name[1], {})
            continue
        option = _OPTION.match(line)
        if option and current is not None:
            scale = 1 if option[1] == "c-plan-ahead" else _UNITS[option[3].lower()]
            value = int(option[2]) * scale
            current[option[1]] = min(value, current.get(option[1], value))
    return {name: _rates(options) for name, options in found.items()}


def _rates(options: Mapping[str, int]) -> Rates:
    least = options.get("c-min-rate") or None
    if options.get("c-plan-ahead") == 0:
        return Rates(options.get("resync-rate"), "resync-rate", least)
    return Rates(options.get("c-max-rate"), "c-max-rate", least)


def resyncs(resource: Resource) -> Iterator[tuple[DrbdPeer, PeerVolume, Resync]]:
    """Yield the resyncs in progress, with peer and volume."""
    for peer in resource.peers:
        for volume in peer.volumes:
            if volume.resync is not None:
                yield peer, volume, volume.resync
