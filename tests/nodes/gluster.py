"""A trusted pool of GlusterFS made by hand: what the gluster command answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

INFO = "cmd:gluster --mode=script --xml volume info"
STATUS = "cmd:gluster --mode=script --xml volume status all"
PEERS = "cmd:gluster --mode=script --xml peer status"
HEAD = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<cliOutput>\n  <opRet>{}</opRet><opErrstr>{}</opErrstr>\n'
)


def count_key(volume: str) -> str:
    return f"cmd:gluster --mode=script volume heal {volume} statistics heal-count"


def split_key(volume: str) -> str:
    return f"cmd:gluster --mode=script --xml volume heal {volume} info split-brain"


def answer(body: str, code: int = 0, message: str = "") -> str:
    """Return an answer with a body, or a refusal with a message."""
    return f"{HEAD.format(code, message)}{body}</cliOutput>\n"


def volume(
    name: str, *bricks: str, copies: int = 0, arbiters: int = 0, dispersed: int = 0, redundancy: int = 0,
    state: str = "Started", options: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Return a volume as `volume info` lists it; the last brick of each set is an arbiter if there are some."""
    listed = "".join(
        f'<brick uuid="u">{each}<name>{each}</name><hostUuid>u-{each.partition(":")[0]}</hostUuid>'
        f"<isArbiter>{int(bool(arbiters) and (n + 1) % copies == 0)}</isArbiter></brick>\n"
        for n, each in enumerate(bricks)
    )
    chosen = "".join(f"<option><name>{k}</name><value>{v}</value></option>\n" for k, v in (options or {}).items())
    kind = "Disperse" if dispersed else "Replicate" if copies > 1 else "Distribute"
    return (
        f"<volume><name>{name}</name><status>1</status><statusStr>{state}</statusStr>"
        f"<replicaCount>{copies}</replicaCount><arbiterCount>{arbiters}</arbiterCount>"
        f"<disperseCount>{dispersed}</disperseCount><redundancyCount>{redundancy}</redundancyCount>"
        f"<typeStr>{kind}</typeStr>\n<bricks>{listed}</bricks>\n<options>{chosen}</options></volume>\n"
    )


def info(*volumes: str) -> str:
    return answer(f"<volInfo><volumes>{''.join(volumes)}</volumes></volInfo>")


def running(name: str, online: Mapping[str, bool], healers: Sequence[bool] = (True, True)) -> str:
    """Return the processes of a volume as `volume status all` lists them; a brick that is left out is unknown."""
    nodes = "".join(
        f"<node><hostname>{brick.partition(':')[0]}</hostname><path>{brick.partition(':')[2]}</path><peerid>u</peerid>"
        f"<status>{int(up)}</status></node>\n"
        for brick, up in online.items()
    )
    nodes += "".join(
        f"<node><hostname>Self-heal Daemon</hostname><path>s{n}</path><status>{int(up)}</status></node>\n"
        for n, up in enumerate(healers)
    )
    return f"<volume><volName>{name}</volName>{nodes}<tasks/></volume>\n"


def status(*volumes: str) -> str:
    return answer(f"<volStatus><volumes>{''.join(volumes)}</volumes></volStatus>")


def peers(states: Mapping[str, bool]) -> str:
    """Return the other servers and whether they are connected."""
    listed = "".join(
        f"<peer><uuid>u-{name}</uuid><hostname>{name}</hostname><connected>{int(up)}</connected><state>3</state>"
        "<stateStr>Peer in Cluster</stateStr></peer>\n"
        for name, up in states.items()
    )
    return answer(f"<peerStatus>{listed}</peerStatus>")


def counts(name: str, entries: Mapping[str, int | None]) -> str:
    """Return the entries to heal by brick, None for a brick that does not answer."""
    listed = "".join(
        f"\nBrick {brick}\n" + ("Status: Brick is not connected\n" if n is None else f"Number of entries: {n}\n")
        for brick, n in entries.items()
    )
    return f"Gathering count of entries to be healed on volume {name} has been successful \n{listed}"


def split(bricks: Mapping[str, Sequence[tuple[str, str]]], silent: Sequence[str] = ()) -> str:
    """Return the entries in split brain by brick, as pairs of gfid and path."""
    listed = "".join(
        f'<brick hostUuid="u"><name>{brick}</name>'
        + "".join(f'<file gfid="{gfid}">{path}</file>\n' for gfid, path in files)
        + f"<status>Connected</status><numberOfEntries>{len(files)}</numberOfEntries></brick>\n"
        for brick, files in bricks.items()
    )
    listed += "".join(
        f'<brick hostUuid="-"><name>{brick}</name><status>Transport endpoint is not connected</status></brick>\n'
        for brick in silent
    )
    return answer(f"<healInfo><bricks>{listed}</bricks></healInfo>")
