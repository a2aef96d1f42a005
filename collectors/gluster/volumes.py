"""GlusterFS: servers, volumes and bricks, as this server's glusterd knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.collectors.gluster.answers import (
    Peer,
    Process,
    Refused,
    VolumeInfo,
    parse_peers,
    parse_processes,
    parse_volumes,
    without_names,
)
from sdstop.collectors.gluster.readings import INFO, KIND, GlusterBrick, GlusterVolume
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Denied, Failed, Host, Output
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterNode

STATUS = ("gluster", "--mode=script", "--xml", "volume", "status", "all")
PEERS = ("gluster", "--mode=script", "--xml", "peer", "status")
VOLUMES = "/var/lib/glusterd/vols"
UNUSED = 300.0
"""Seconds between questions where GlusterFS is installed and not used: each start of gluster takes 60 ms of CPU."""
"""Directory with a directory for each volume, on every server of the pool."""
_DEAD = "gluster daemon is operational"
_MEMBER = "Peer in Cluster"


class GlusterStopped(Failed):
    """Raised if glusterd does not run although volumes are configured; `volumes` is their number."""

    def __init__(self, volumes: int) -> None:
        """Name the number of volumes in the reason."""
        super().__init__(command_key(INFO), f"glusterd does not run; volumes configured here: {volumes}")
        self.volumes = volumes


def read(host: Host) -> Iterable[Reading]:
    """Return the pool, its servers, volumes and bricks. Raises Absent where GlusterFS has no volumes and no peers."""
    try:
        volumes = read_volumes(host)
    except GlusterStopped as error:
        return [_cluster("glusterd stopped", 0, None, None, error.detail)]
    peers = parse_peers(answer(PEERS, host.run(PEERS, 5.0)))
    if not volumes and not peers:
        raise _unused(host, "no volumes and no peers")
    started = any(volume.state == "Started" for volume in volumes)
    processes, silent = _processes(host) if started else ({}, "")
    here = host.maybe("/proc/sys/kernel/hostname") or "this server"
    rows: list[Reading] = [pool_of(peers, silent), *servers_of(peers, here, _own_hosts(volumes, peers))]
    for volume in volumes:
        bricks = list(bricks_of(volume, processes.get(volume.name)))
        rows += [volume_row(volume, bricks, processes.get(volume.name)), *bricks]
    return rows


def read_volumes(host: Host) -> list[VolumeInfo]:
    """Return the configured volumes, as gluster lists them.

    Raises Absent where GlusterFS is installed but not used, which also an ordinary user can see: glusterd creates the
    directory of its volumes when it first starts. There a live node is asked again after UNUSED seconds only. Raises
    GlusterStopped if glusterd should run and does not, Denied, Failed.
    """
    if host.rests(command_key(INFO)):
        raise Absent(command_key(INFO), "not in use when asked last")
    output = host.run(INFO, 5.0)
    if output.exit != 0 and _DEAD in f"{output.text}{output.stderr.decode('utf-8', 'replace')}":
        if configured := _directories(host):
            raise GlusterStopped(len(configured))
        raise _unused(host, "glusterd does not run here, and has no volumes")
    try:
        return parse_volumes(answer(INFO, output))
    except Denied as error:
        if _has_never_run(host):
            raise _unused(host, "glusterd has never run here") from error
        raise


def _unused(host: Host, reason: str) -> Absent:
    """Return the error of a node that does not use GlusterFS."""
    host.rest(command_key(INFO), UNUSED)
    return Absent(command_key(INFO), reason)


def _directories(host: Host) -> list[str]:
    """Return the names of the volumes that have a directory. Raises Absent if that was not recorded, and Denied."""
    try:
        return host.entries(VOLUMES)
    except Absent as error:
        if not error.recorded:
            raise
        return []


def _has_never_run(host: Host) -> bool:
    try:
        host.entries(VOLUMES)
    except Absent as error:
        return error.recorded
    except (Denied, Failed):
        return False
    return False


def answer(argv: Sequence[str], output: Output) -> str:
    """Return the output of a successful run. Raises Denied or Failed."""
    said = f"{output.stderr.decode('utf-8', 'replace')}\n{output.text}".strip().partition("\n")[0][:200]
    if output.exit == 0 or output.text.lstrip().startswith("<?xml"):
        return output.text
    if "ermission denied" in said or "not permitted" in said:
        raise Denied(command_key(argv), "gluster answers root alone: start sdstop with sudo")
    raise Failed(command_key(argv), f"exit {output.exit}: {said}")


def _processes(host: Host) -> tuple[dict[str, list[Process]], str]:
    """Return the processes by volume, and why there are none: another transaction holds the lock of the pool."""
    try:
        return parse_processes(answer(STATUS, host.run(STATUS, 10.0))), ""
    except Refused as error:
        return {}, str(error)


def pool_of(peers: Sequence[Peer], silent: str, key: str | None = None) -> Cluster:
    """Return the pool of this server and its peers; `key` is that of a text that has them."""
    up = sum(peer.connected for peer in peers)
    well = up == len(peers) and all(peer.state in {_MEMBER, ""} for peer in peers)
    state = "connected" if well else "servers missing"
    row = _cluster(state, int(well), 1 + len(peers), 1 + up, silent or None)
    return row if key is None else replace(row, origin=key, needle="Number of Peers")


def _cluster(state: str, healthy: int, servers: int | None, up: int | None, says: str | None) -> Cluster:
    return Cluster(
        cluster=KIND,
        kind=KIND,
        ident=None,
        version=None,
        state=state,
        healthy=healthy,
        leader=None,
        managers=None,
        managers_up=None,
        replicas=None,
        replicas_up=None,
        tolerates=None,
        nodes=servers,
        nodes_up=up,
        capacity=None,
        used=None,
        spare=None,
        degraded=None,
        failed=None,
        says=says,
        origin=command_key(PEERS if servers is not None else INFO),
        needle="<peerStatus" if servers is not None else "gluster daemon",
    )


def _own_hosts(volumes: Sequence[VolumeInfo], peers: Sequence[Peer]) -> str:
    """Return the names that this server has in the pool: those of bricks of none of the others."""
    others = {peer.uuid for peer in peers}
    own = (brick for volume in volumes for brick in volume.bricks if brick.peer and brick.peer not in others)
    return " ".join(dict.fromkeys(brick.name.partition(":/")[0] for brick in own))


def servers_of(peers: Sequence[Peer], here: str, own: str) -> Iterator[ClusterNode]:
    """Yield this server and its peers."""
    yield _server(here, "connected", 1, "", own, local=True)
    for peer in peers:
        state = "disconnected" if not peer.connected else "connected" if peer.state in {_MEMBER, ""} else peer.state
        yield _server(peer.name, state, int(state == "connected"), f"<hostname>{peer.name}<", "", local=False)


def _server(name: str, state: str, healthy: int, needle: str, address: str, *, local: bool) -> ClusterNode:
    return ClusterNode(
        cluster=KIND,
        role="peer",
        node=name,
        ident=None,
        address=address or None,
        area=None,
        domain=name,
        state=state,
        healthy=healthy,
        maintenance=None,
        leads=False,
        devices=None,
        capacity=None,
        used=None,
        version=None,
        local=local,
        origin=command_key(PEERS),
        needle=needle or "<peerStatus",
    )


def bricks_of(volume: VolumeInfo, processes: Sequence[Process] | None) -> Iterator[GlusterBrick]:
    """Yield the bricks of a volume; `processes` is None if its status is unknown."""
    online = {process.name: process.online for process in processes or () if process.name}
    for place, brick in enumerate(volume.bricks):
        host, _, path = brick.name.partition(":/")
        known = online.get(brick.name)
        yield GlusterBrick(
            volume=volume.name,
            host=host,
            path=f"/{path}",
            set=place // volume.together + 1,
            arbiter=int(brick.arbiter),
            state="unknown" if known is None else "online" if known else "offline",
            origin=command_key(INFO if known is None else STATUS),
        )


def volume_row(
    volume: VolumeInfo, bricks: Sequence[GlusterBrick], processes: Sequence[Process] | None
) -> GlusterVolume:
    """Return the row of a volume with these bricks; `processes` is None if its status is unknown."""
    sets: dict[int, list[GlusterBrick]] = {}
    for brick in bricks:
        sets.setdefault(brick.set, []).append(brick)
    margins = [_margins(volume, members) for members in sets.values()]
    healers = [process for process in processes or () if not process.name]
    unknown = sum(brick.state == "unknown" for brick in bricks)
    return GlusterVolume(
        volume=volume.name,
        state=volume.state,
        type=volume.type,
        copies=None if volume.dispersed else max(volume.copies, 1),
        arbiters=volume.arbiters,
        redundancy=volume.redundancy if volume.dispersed else None,
        bricks=len(bricks),
        bricks_up=sum(brick.state == "online" for brick in bricks),
        bricks_unknown=unknown,
        tolerates=None if unknown or not margins else max(min(write for write, _ in margins), 0),
        refusing=sum(write < 0 for write, _ in margins),
        out=sum(read < 0 for _, read in margins),
        quorum=_quorum(volume),
        healers=len(healers) or None,
        healers_up=sum(healer.online for healer in healers) if healers else None,
        healing=int(volume.options.get("cluster.self-heal-daemon", "on") not in _OFF),
    )


_OFF = frozenset({"off", "no", "disable", "false", "0"})


def _quorum(volume: VolumeInfo) -> str:
    """Return the quorum type; without the option it is auto for three copies and more, and for arbiters."""
    usual = "auto" if volume.copies > _PAIR or volume.arbiters else "none"
    return volume.options.get("cluster.quorum-type", usual)


_PAIR = 2
"""Copies of a volume without a majority."""


def _margins(volume: VolumeInfo, members: Sequence[GlusterBrick]) -> tuple[int, int]:
    """Return how many more bricks of a set may fail before it refuses writes, and before it cannot be read.

    Below 0: it does by now. Bricks of unknown state count as online: nothing is stated of them.
    """
    up = [member for member in members if member.state != "offline"]
    if volume.dispersed:
        margin = len(up) - (volume.dispersed - volume.redundancy)
        return margin, margin
    data = [member for member in up if not member.arbiter]
    readable = len(data) - 1
    quorum = _quorum(volume)
    if quorum == "auto":
        needed = len(members) // 2 + 1
        first = members[0] in up
        if len(members) % 2 == 0 and first and len(up) >= len(members) // 2:
            needed = len(members) // 2  # half of the bricks suffice if the first one is among them
        return min(len(up) - needed, readable), readable
    if quorum == "fixed":
        wanted = volume.options.get("cluster.quorum-count", "1")
        return min(len(up) - (int(wanted) if wanted.isdecimal() else 1), readable), readable
    return readable, readable


GLUSTER = Collector(
    "gluster",
    "GlusterFS servers, volumes and bricks",
    read,
    (Cluster, ClusterNode, GlusterVolume, GlusterBrick),
    (
        Command(INFO, "volumes and bricks, from this server's files", "root", filled=True),
        Command(PEERS, "other servers, from this server's state", "root", filled=True),
        Command(STATUS, "running bricks and self-heal daemons; queries all servers", "root", filled=True),
        Need("cmd:gluster*", "answers recorded by other tools, also as text", redact=without_names),
        Need(f"list:{VOLUMES}", "configured volumes, if glusterd does not answer"),
        Need("/proc/sys/kernel/hostname", "host name"),
    ),
    SLOW,
    deadline=20.0,
)
