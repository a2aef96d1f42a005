r"""GlusterFS in recorded text of `gluster peer status`, `gluster volume info`, `volume status` and `heal ... info`.

    Status of volume: gv0
    Gluster process                             TCP Port  RDMA Port  Online  Pid
    ------------------------------------------------------------------------------
    Brick n1:/bricks/b1                         49152     0          Y       1201
    Brick n2:/bricks/b1                         N/A       N/A        N       N/A
    Self-heal Daemon on localhost               N/A       N/A        Y       1300

    Brick n1:/bricks/b1
    /vm1.img
    Status: Connected
    Number of entries in split-brain: 1

    Number of Peers: 1

    Hostname: n2.storage.example.net
    Uuid: 5a7a1f7e-5d0c-4d44-9b0e-0c7d8a7f3c11
    State: Peer in Cluster (Disconnected)

    Volume Name: gv0
    Type: Distributed-Replicate
    Status: Started
    Number of Bricks: 2 x (2 + 1) = 6
    Brick1: n1:/bricks/b1
    Brick3: n3:/bricks/b1 (arbiter)
    Options Reconfigured:
    cluster.quorum-type: auto

Formats: cli/src/cli-rpc-ops.c (gf_cli_status_cbk, gf_cli_output_peer_status, gf_cli_get_volume_cbk),
cli/src/cli-cmd-volume.c (cli_print_brick_status: names longer than 43 characters are broken) and heal/src/glfs-heal.c
(glfsh_print_hr_heal_op_status, _summary) of GlusterFS 3.7 to 11. Only `volume info` shows how a volume is laid out:
without it, how many bricks it may lose stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.gluster.answers import Brick, Peer, Process, VolumeInfo
from sdstop.collectors.gluster.heal import NOT_SHOWN
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterHeal, GlusterVolume
from sdstop.collectors.gluster.volumes import bricks_of, pool_of, servers_of, volume_row
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, FormOutput, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterNode

_XML = "--xml"
_VOLUME = expression(r"Status of volume: (?P<volume>\S{1,200})\s*")
_ROW = expression(
    r"(?P<name>.{1,2000}?)\s+(?:\d{1,5}|N/A)\s+(?:(?:\d{1,5}|N/A)\s+)?(?P<online>[YN])\s+(?:\d{1,8}|N/A)\s*"
)
_COUNT = expression(
    r"(?P<what>Number of entries|Total Number of entries|Number of entries in split-brain): (?P<count>\S+)"
)
_WIDTH = 43
"""Cells after which gluster breaks the path of a brick."""


class _Process(Struct, frozen=True):
    """A line of the status: a brick (HOST:PATH) or a daemon, and whether it runs."""

    name: str
    is_brick: bool
    is_online: bool


def parse_status(text: str) -> dict[str, list[_Process]]:
    """Return bricks and daemons by volume. Raises Malformed for a line about a brick that is not understood."""
    found: dict[str, list[_Process]] = {}
    volume, begun = "", ""
    for line in text.splitlines():
        if (head := _VOLUME.fullmatch(line)) is not None:
            volume, begun = head["volume"], ""
            found.setdefault(volume, [])
        elif line.startswith("Task Status of Volume") or not line.strip():
            if begun:
                raise Malformed(f"gluster volume status: {begun[:60]!r}")
            volume = "" if line.strip() else volume
        elif volume and not line.startswith(("Gluster process", "---")):
            row = _ROW.fullmatch(f"{begun}{line}")
            if row is not None:
                name, begun = row["name"], ""
                is_brick = name.startswith("Brick ")
                found[volume].append(_Process(name.removeprefix("Brick "), is_brick, row["online"] == "Y"))
            elif begun or line.startswith("Brick "):
                begun += line[:_WIDTH]
    if begun:
        raise Malformed(f"gluster volume status: {begun[:60]!r}")
    return found


_ENTRY = expression(r"\s*(?P<name>[A-Za-z][\w.-]*(?: [A-Za-z]+){0,3}): ?(?P<value>.*?)\s*")
_LAYOUT = expression(
    r"(?:(?P<sets>\d{1,6}) x (?:\((?P<data>\d{1,6}) \+ (?P<more>\d{1,6})\)|(?P<copies>\d{1,6})) = )?(?P<bricks>\d{1,6})"
)
_NAMED = expression(r"Brick\d{1,6}")
_ARBITER = " (arbiter)"


def parse_info(text: str) -> list[VolumeInfo]:
    """Return the volumes of `gluster volume info`. Raises Malformed for a layout that its bricks do not have."""
    found = []
    for part in re.split(r"(?m)^\s*Volume Name: ", text)[1:]:
        name, _, rest = part.partition("\n")
        body, _, options = rest.partition("Options Reconfigured:")
        said = [(each["name"], each["value"]) for line in body.splitlines() if (each := _ENTRY.fullmatch(line))]
        known = dict(said)
        layout = _LAYOUT.fullmatch(known.get("Number of Bricks", ""))
        listed = [value for key, value in said if _NAMED.fullmatch(key)]
        if layout is None or not known.get("Status") or len(listed) != int(layout["bricks"]):
            raise Malformed(f"gluster volume info: layout of {name.strip()[:60]} not understood, or bricks are missing")
        disperses = "Disperse" in known.get("Type", "")
        data, more = int(layout["data"] or layout["copies"] or 1), int(layout["more"] or 0)
        changed = [each for line in options.splitlines() if (each := _ENTRY.fullmatch(line)) is not None]
        found.append(
            VolumeInfo(
                name=name.strip(),
                state=known["Status"],
                type=known.get("Type") or "unknown",
                copies=1 if disperses else data + more,
                arbiters=0 if disperses else more,
                dispersed=data + more if disperses else 0,
                redundancy=more if disperses else 0,
                bricks=tuple(Brick(each.removesuffix(_ARBITER), "", each.endswith(_ARBITER)) for each in listed),
                options={each["name"]: each["value"] for each in changed},
            )
        )
    if not found:
        raise Malformed("gluster volume info: no volume")
    return found


class Healing(Struct, frozen=True):
    """Entries of the brick with most; None if not shown. `silent` bricks did not answer."""

    pending: int | None
    split: int | None
    silent: int


def parse_heal(text: str) -> Healing:
    """Return the entries of `heal VOLUME info`, `info summary` or `info split-brain`. Raises Malformed without any."""
    pending: list[int] = []
    split: list[int] = []
    silent = bricks = 0
    for part in re.split(r"(?m)^Brick ", text)[1:]:
        bricks += 1
        known = {each["what"]: each["count"] for each in _COUNT.finditer(part)}
        if not known:
            raise Malformed(f"gluster volume heal: no count for {part.split(chr(10), 1)[0][:60]!r}")
        silent += any(not count.isdecimal() for count in known.values())
        for what, count in known.items():
            if count.isdecimal():
                (split if what.endswith("split-brain") else pending).append(int(count[:18]))
        if "Number of entries in split-brain" not in known:
            split.append(part.count(" - Is in split-brain") + part.count("\nIs in split-brain"))
    if not bricks:
        raise Malformed("gluster volume heal: no brick")
    return Healing(max(pending, default=None), max(split, default=None), silent)


_PEERS = expression(r"Number of Peers: (\d{1,6})")
_PEER = expression(
    r"^Hostname: (?P<name>\S{1,255})\s*\n(?:Port: [^\n]*\n)?Uuid: (?P<uuid>[0-9a-f-]{36})\s*\n"
    r"State: (?P<state>[^\n(]{1,80}?) \((?P<link>Connected|Disconnected)\)\s*$",
    re.MULTILINE,
)


def parse_peer_status(text: str) -> list[Peer]:
    """Return the other servers. Raises Malformed if the text shows fewer than it counts."""
    expected = sum(int(match[1]) for match in _PEERS.finditer(text))
    found = [
        Peer(each["name"], each["uuid"], each["link"] == "Connected", each["state"]) for each in _PEER.finditer(text)
    ]
    if len(found) != expected:
        raise Malformed(f"gluster peer status: {len(found)} of {expected} peers")
    return found


PEERS_TEXT = Form(
    key="cmd:gluster peer status",
    first=r"Number of Peers: [1-9]\d*\s*\n(?:\s*\n)*Hostname: ",
    reads="other servers of GlusterFS, as this one sees them",
    versions="GlusterFS 3.4 and later",
    goes_on=r"(?:Hostname|Port|Uuid|State): .*|Other names:\s*|[\w.:-]{1,255}",
)
STATUS_TEXT = Form(
    key="cmd:gluster volume status",
    first=r"Status of volume: \S+\s*\nGluster process\s+(?:TCP )?Port\s",
    reads="bricks and self-heal daemons of GlusterFS",
    versions="GlusterFS 3.7 and later",
    goes_on=r"Brick .*|(?:Self-heal|NFS|Quota|Snapshot|Scrubber|Bitrot|Bitd).*|Gluster process.*|-{20,}"
    r"|Status of volume.*|Task Status of Volume.*|There are \w+ active volume tasks|Task +: .*|ID +: .*|Status +: .*"
    r"|.{1,43}\s+(?:\d+|N/A)\s+(?:\d+|N/A)\s+[YN]\s+(?:\d+|N/A)\s*|\S{43}",
)
INFO_TEXT = Form(
    key="cmd:gluster volume info",
    first=r"\s*Volume Name: \S+\s*\n\s*Type: [A-Z]",
    reads="volumes of GlusterFS, their layout and options",
    versions="GlusterFS 3.7 and later",
    goes_on=r"\s*(?:Volume Name|Type|Volume ID|Status|Snapshot Count|Number of Bricks|Transport-type|Bricks"
    r"|Options Reconfigured|Brick\d+|[a-z]+(?:[.-][a-z0-9]+)+|[a-z]+\.[\w.-]+):.*",
)
HEAL_TEXT = Form(
    key="cmd:gluster volume heal gv0 info",
    first=r"Brick \S+:/\S*\n(?:(?:/|<gfid:|Is in|Possibly)[^\n]*\n|\s*\n)*Status: [A-Z]",
    reads="entries to heal and in split brain of GlusterFS",
    versions="GlusterFS 3.7 and later",
    goes_on=r"(?:/|<gfid:).*|Brick .*|Status: .*|(?:Total )?Number of entries.*|Is in .*|Possibly undergoing.*",
)


def _of_status(processes: Mapping[str, list[_Process]], key: str) -> Iterator[Reading]:
    for volume, rows in processes.items():
        bricks = [row for row in rows if row.is_brick]
        healers = [row for row in rows if row.name.startswith("Self-heal Daemon")]
        yield GlusterVolume(
            volume=volume,
            state="Started",
            type="unknown",
            copies=None,
            arbiters=0,
            redundancy=None,
            bricks=len(bricks),
            bricks_up=sum(row.is_online for row in bricks),
            bricks_unknown=0,
            tolerates=None,
            refusing=0,
            out=0,
            quorum="unknown",
            healers=len(healers) or None,
            healers_up=sum(row.is_online for row in healers) if healers else None,
            healing=1,
            told=key,
        )
        for row in bricks:
            host, _, path = row.name.partition(":")
            state = "online" if row.is_online else "offline"
            yield GlusterBrick(volume=volume, host=host, path=path, set=0, arbiter=0, state=state, told=key)


def _of_info(
    volumes: Sequence[VolumeInfo], key: str, printed: dict[str, tuple[list[_Process], str]]
) -> Iterator[Reading]:
    """Yield volumes with their layout, and with their processes if a status of them was recorded, which is taken."""
    for volume in volumes:
        rows, told = printed.pop(volume.name, (None, key))
        processes = None
        if rows is not None:
            of_volume = [each for each in rows if each.is_brick or each.name.startswith("Self-heal Daemon")]
            processes = [Process(each.name if each.is_brick else "", "", each.is_online) for each in of_volume]
        bricks = [replace(brick, told=told) for brick in bricks_of(volume, processes)]
        yield replace(volume_row(volume, bricks, processes), told=told)
        yield from bricks


def _volume_of(output: FormOutput) -> str:
    """Return the name of the volume in the command line; without it, "volume"."""
    words = output.words
    place = words.index("heal") + 1 if "heal" in words else len(words)
    return words[place] if place < len(words) else "volume"


def read(host: Host) -> Iterable[Reading]:
    """Return what recorded texts show. Raises Absent without any, or where the same was recorded as XML; Malformed."""
    status, heal = list(outputs(host, STATUS_TEXT)), list(outputs(host, HEAL_TEXT))
    pools = list(outputs(host, PEERS_TEXT))[-1:]
    if any(_XML in name for name in host.recorded("gluster")):
        raise Absent(STATUS_TEXT.key, "recorded as XML, too", recorded=False)
    infos = list(outputs(host, INFO_TEXT))[-1:]
    if not status and not heal and not pools and not infos:
        raise Absent(STATUS_TEXT.key, "not recorded", recorded=False)
    rows: list[Reading] = []
    for each in pools:
        peers = parse_peer_status(each.text)
        rows.append(pool_of(peers, "", each.key))
        rows += [
            replace(row, origin=each.key, needle="Number of Peers" if row.local else f"Hostname: {row.node}")
            for row in servers_of(peers, "localhost", "")
        ]
    printed = {name: (rows_, each.key) for each in status for name, rows_ in parse_status(each.text).items()}
    for each in infos:
        rows += _of_info(parse_info(each.text), each.key, printed)
    for name, (rows_, key) in printed.items():
        rows += _of_status({name: rows_}, key)
        if not all(each.is_online for each in rows_ if each.is_brick):
            host.defect(key, "copies of the data are not shown without gluster volume info", name)
    for each in heal:
        found = parse_heal(each.text)
        rows.append(
            GlusterHeal(
                volume=_volume_of(each), pending=found.pending, split=found.split, silent=found.silent,
                why=NOT_SHOWN if found.pending is None else None, origin=each.key, needle="Number of entries",
                searched=each.key, mark="split-brain" if found.split else "Number of entries",
            )
        )  # fmt: skip
    return rows


GLUSTER_TEXT = Collector(
    "gluster-text",
    "GlusterFS in recorded output of gluster",
    read,
    (Cluster, ClusterNode, GlusterVolume, GlusterBrick, GlusterHeal),
    (
        Need(
            "cmd:gluster*",
            "text of gluster peer status, volume info, volume status and heal info, from captures only; never run",
        ),
    ),
    SLOW,
    forms=(PEERS_TEXT, INFO_TEXT, STATUS_TEXT, HEAL_TEXT),
)
