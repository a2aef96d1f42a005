"""Corosync: whether this node takes part in its cluster, and its links to the other nodes.

Formats: corosync.conf(5), `corosync-quorumtool -s`, `corosync-cfgtool -s` of versions 2 and 3, and the listening
sockets of the daemons in /proc/net/unix (libqb's names: `cfg` of Corosync, `pacemakerd` and others of Pacemaker).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.pacemaker.readings import COROSYNC, LINKS, SOCKETS, ClusterMembership, CorosyncLink
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.retention import lines_of
from sdstop.core.text import whole

KIND = "pacemaker"
CONFIGURED = lines_of(r"\s*(?:cluster_name\s*:|node\s*\{|nodeid\s*:|name\s*:|two_node\s*:)")
"""Keeps the lines of corosync.conf that are read: it may hold a key."""
QUORUM = ("corosync-quorumtool", "-s")
CIB = "/var/lib/pacemaker/cib"
"""Directory of Pacemaker's configuration; it has a cib.xml where Pacemaker has run."""
UNITS = "/etc/systemd/system/multi-user.target.wants"
_DAEMONS = {
    "cib_rw": "pacemaker-based", "crmd": "pacemaker-controld", "lrmd": "pacemaker-execd",
    "stonith-ng": "pacemaker-fenced", "attrd": "pacemaker-attrd", "pengine": "pacemaker-schedulerd",
}  # fmt: skip
"""Daemons that pacemakerd starts, by their sockets."""
_MASTER = "pacemakerd"
_OF_COROSYNC = frozenset({"cfg", "cmap", "cpg", "quorum", "votequorum"})
_SOCKET = expression(
    rf"\s*\S+: \S+ \S+ 0*10000 \S+ \S+ +\d+ \S*?[@/]({'|'.join([_MASTER, *_DAEMONS, *sorted(_OF_COROSYNC)])})@*\s*"
)
"""A socket that listens (flag 10000): `0000000000000000: 00000002 00000000 00010000 0001 01 71 @crmd@@@@`."""


def _listening(data: bytes) -> bytes:
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    names = sorted({found[0].strip() for line in lines if (found := _SOCKET.fullmatch(line))})
    return "".join(f"{line}\n" for line in names).encode("utf-8", "surrogateescape")


class Quorum(Struct, frozen=True, kw_only=True):
    """Votes and members as corosync-quorumtool reports them; `members` are names, or IDs, by node ID."""

    quorate: bool | None
    votes: int | None
    expected: int | None
    quorum: int | None
    two_node: bool
    members: dict[str, str]


class RingLink(Struct, frozen=True):
    """State of a link to a node; `node` is its ID, or "" if version 2 of corosync reports only the whole ring."""

    link: str
    node: str
    state: str
    line: str


def parse_name(text: str) -> str | None:
    """Return the cluster's name from corosync.conf(5): `cluster_name: san`."""
    found = re.search(r"^\s*cluster_name\s*:\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else None


def parse_nodes(text: str) -> dict[str, str]:
    """Return the nodes of corosync.conf(5): name by ID; a node without either gets its place in the list."""
    found: dict[str, str] = {}
    for place, block in enumerate(re.split(r"^\s*node\s*\{", text, flags=re.MULTILINE)[1:], start=1):
        ident = re.search(r"^\s*nodeid\s*:\s*(\S+)", block, re.MULTILINE)
        name = re.search(r"^\s*name\s*:\s*(\S+)", block, re.MULTILINE)
        key = ident[1] if ident else str(place)
        found[key] = name[1] if name else key
    return found


_FIELD = expression(r"^([A-Z][A-Za-z ]+):[ \t]*(\S.*?)?[ \t]*$", re.MULTILINE)
_MEMBER = expression(
    r"^\s*(0x[0-9a-f]+|\d+)\s+\d+\s+(?:(?:[A-Z]+(?:,[A-Z]+)*)\s+)?(\S+)(?:\s+\(local\))?\s*$", re.MULTILINE
)
"""ID, votes, flags of a quorum device (A,V,NMW), name."""


def parse_quorum(text: str) -> Quorum | None:
    """Return what `corosync-quorumtool -s` reports, or None for something else.

    Quorate:          Yes
    Expected votes:   3
    Total votes:      3
    Quorum:           2 Activity blocked
    Flags:            2Node Quorate WaitForAll
        Nodeid      Votes Name
             1          1 node1 (local)
    """
    if "Quorum information" not in text:
        return None
    head, _, listed = text.partition("Membership information")
    known = {name: (value or "") for name, value in _FIELD.findall(head)}
    return Quorum(
        quorate={"Yes": True, "No": False}.get(known.get("Quorate", "")),
        votes=_first_number(known.get("Total votes")),
        expected=_first_number(known.get("Expected votes")),
        quorum=_first_number(known.get("Quorum")),
        two_node="2Node" in known.get("Flags", "").split(),
        members={str(int(ident, 0)): name for ident, name in _MEMBER.findall(listed)},
    )


def _first_number(text: str | None) -> int | None:
    return whole(text.split()[0]) if text and text.split() else None


_LINK = expression(r"^(?:LINK|RING) ID (\d+)\b")
_NODE = expression(r"^\s*(?:nodeid|node)\s*:?\s*(\d+):\s*(\S.*?)\s*$")
_RING = expression(r"^\s*status\s*=\s*(\S.*?)\s*$")


def parse_links(text: str) -> Iterator[RingLink]:
    """Yield the links of `corosync-cfgtool -s`, except those of the node to itself.

        LINK ID 0 udp
            addr    = 10.77.0.1
            status:
                nodeid:          1:     localhost
                nodeid:          2:     disconnected

    Version 3.0 writes `nodeid  2:  link enabled:1  link connected:0`, version 2 one line for each ring:
    `status  = ring 0 active with no faults`, or `Marking ringid 0 interface 10.0.0.1 FAULTY`.
    """
    link = ""
    for line in text.splitlines():
        found = _LINK.match(line)
        if found:
            link = found[1]
            continue
        node, ring = _NODE.match(line), _RING.match(line)
        if link and node and node[2] != "localhost":
            yield RingLink(link, node[1], _link_state(node[2]), line.strip())
        elif link and ring:
            if re.fullmatch(r"[0-9n?]*", ring[1]):  # Corosync 3 without details: a digit for each node
                continue
            state = "faulty" if "FAULTY" in ring[1] else "connected" if "no faults" in ring[1] else ring[1]
            yield RingLink(link, "", state, line.strip())


def _link_state(words: str) -> str:
    enabled, connected = re.search(r"enabled:(\d)", words), re.search(r"connected:(\d)", words)
    if enabled and connected:
        return "disabled" if enabled[1] == "0" else "connected" if connected[1] == "1" else "disconnected"
    return words if words in {"connected", "disconnected", "disabled"} else "unknown"


def read(host: Host) -> Iterable[Reading]:
    """Return this node's membership and links. Raise Absent if no cluster of several nodes is configured here."""
    conf = host.text(COROSYNC)
    nodes = parse_nodes(conf)
    sockets = _sockets(host)
    up = None if sockets is None else bool(_OF_COROSYNC & sockets)
    output = None if up is False else _output(host, QUORUM)
    votes = parse_quorum(output) if output is not None else None
    if votes is not None:
        up = True
    if len(nodes) < _SEVERAL and not up:  # Debian installs the configuration of a cluster of one node
        raise Absent(COROSYNC, "no cluster of several nodes is configured")
    name = parse_name(conf) or KIND
    linked = [] if up is False else list(parse_links(_output(host, LINKS) or ""))
    names = nodes | (votes.members if votes is not None else {})
    return [
        _membership(host, conf, name, nodes, sockets, votes, up=up),
        *(_link(each, name, names, votes) for each in linked),
    ]


_SEVERAL = 2
"""Nodes that make a cluster."""
_KNOWN = 3
"""Number of daemons found by their names above which the others are missing."""


def _sockets(host: Host) -> set[str] | None:
    """Return the names of the daemons' listening sockets, or None if unavailable."""
    text = host.maybe(SOCKETS)
    if text is None:
        return None
    return {found[1] for line in text.splitlines() if (found := _SOCKET.fullmatch(line))}


def _output(host: Host, argv: tuple[str, ...]) -> str | None:
    """Return the output of a tool, whatever its exit status: quorumtool fails without quorum."""
    try:
        return host.run(argv, 3.0).text
    except TimedOut:
        raise
    except Unreadable:
        return None


def _membership(
    host: Host, conf: str, name: str, nodes: dict[str, str], sockets: set[str] | None, votes: Quorum | None,
    *, up: bool | None,
) -> ClusterMembership:  # fmt: skip
    gone: list[str] = []
    wanted = [daemon for socket, daemon in _DAEMONS.items() if sockets is not None and socket not in sockets]
    units = [host.target(f"{UNITS}/{unit}.service") for unit in ("corosync", "pacemaker")]
    used = "cib.xml" in host.names(CIB) or units[1] is not None
    if sockets is None:
        pacemaker = "unknown"
    elif len(wanted) == len(_DAEMONS) and _MASTER not in sockets:
        pacemaker = "stopped" if used else "not used"
    else:
        known = len(_DAEMONS) - len(wanted) >= _KNOWN  # another version may name them otherwise
        gone = (wanted if known else []) if _MASTER in sockets else [_MASTER, *wanted]
        pacemaker = "partial" if gone else "running"
    two_node = re.search(r"^\s*two_node\s*:\s*([01])\b", conf, re.MULTILINE)
    return ClusterMembership(
        cluster=name,
        corosync="unknown" if up is None else "running" if up else "stopped",
        pacemaker=pacemaker,
        gone=", ".join(gone),
        enabled=int(None not in units) if used or units[0] else None,
        configured=len(nodes) or None,
        two_node=int(votes.two_node) if votes is not None else int(two_node[1]) if two_node else None,
        quorate=None if votes is None or votes.quorate is None else int(votes.quorate),
        members=len(votes.members) if votes is not None else None,
        votes=votes.votes if votes is not None else None,
        expected=votes.expected if votes is not None else None,
        quorum=votes.quorum if votes is not None else None,
        origin=COROSYNC if votes is None else command_key(QUORUM),
        needle="cluster_name" if votes is None else "Quorate",
        witness=next((f"@{word}@" for word in ("crmd", "cfg", "quorum") if word in (sockets or ())), ""),
    )


def _link(each: RingLink, cluster: str, names: dict[str, str], votes: Quorum | None) -> CorosyncLink:
    known = each.node and votes is not None
    return CorosyncLink(
        cluster=cluster,
        link=each.link,
        node=names.get(each.node, each.node) or "all nodes",
        state=each.state,
        member=int(each.node in votes.members) if known and votes is not None else None,
        needle=each.line,
    )


COROSYNC_MEMBERSHIP = Collector(
    "corosync",
    "Corosync's membership and links",
    read,
    (ClusterMembership, CorosyncLink),
    (
        Need(COROSYNC, "name and nodes of the cluster", keep=CONFIGURED),
        Need(SOCKETS, "running daemons of Corosync and Pacemaker", keep=_listening),
        Command(QUORUM, "votes and members", "root"),
        Command(LINKS, "links to the other nodes", "root"),
        Need(f"list:{CIB}", "earlier use of Pacemaker on this node", "root"),
        Need(f"link:{UNITS}/*.service", "start of the cluster by systemd"),
    ),
    SLOW,
    deadline=8.0,
)
