r"""Text of `drbd-overview`, as the text of `drbdadm status` that states the same.

Format: scripts/drbd-overview.pl of drbd-utils 8.4 to 9 (and of DRBD 8.3), a line for each volume:

     0:r0/0  Connected  Primary/Secondary UpToDate/UpToDate C r----- /srv ext4 100G 40G 60G 40%
        [=====>..............] sync'ed: 31.4% (70312/102400)M
     1:??not-found??  Connected Secondary/Secondary UpToDate/UpToDate

With DRBD 9 equal states of both hosts have a count; others are shortened, this host first (shorten_list, abbreviate):

     0:r0/0  Connected(2*)  Primar/Second UpToDate(2*)
     1:r1/0  Connec/'ing    Secondary(2*) UpToDa/DUnkno

`/etc/init.d/drbd status` and `service drbd status` print such lines below a heading (m:res cs ro ds p).

With more than one peer the states do not show whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed

_LINE = expression(
    r"\s{0,4}(?P<minor>\d{1,7}):(?P<name>[^\s/]{1,200})(?:/(?P<volume>\d{1,5}))?\s+(?P<connection>[A-Z]\w{2,20})\s+"
    r"(?P<role>Primary|Secondary|Unknown)/(?P<peer_role>Primary|Secondary|Unknown)\s+"
    r"(?P<disk>[A-Z]\w{2,20})/(?P<peer_disk>[A-Z]\w{2,20})(?:\s.*)?"
)
_PAIR = expression(
    r"\s{0,4}(?P<minor>\d{1,7}):(?P<name>[^\s/]{1,200})(?:/(?P<volume>\d{1,5}))?\s+(?P<connection>\S{3,40})\s+"
    r"(?P<role>\S{3,40})\s+(?P<disk>\S{3,40})(?:\s.*)?"
)
"""Line of DRBD 9."""
_BOTH = expression(r"(?P<state>[A-Z]\w{2,20})\(2\*\)")
_CONNECTING = "'ing"
_BAR = expression(r"\s*\[[=>.]{3,60}\]\s*(?:sync'ed|verified):\s*(?P<done>\d{1,3}(?:\.\d{1,3})?)%.*")
_REST = expression(r"NOTE: .*|m:res +cs .*|\s*mounted +fstype\s*|\s*\[[=>.]{3,60}\].*|\s*")
_UNCONNECTED = {
    **{name: name for name in ("StandAlone", "Disconnecting", "Unconnected", "Timeout", "BrokenPipe")},
    **{name: name for name in ("NetworkFailure", "ProtocolError", "TearDown")},
    "WFConnection": "Connecting",
    "WFReportParams": "Connecting",
    "Connecting": "Connecting",
}
"""States of a connection that is not established, and how version 9 calls them."""

FORM = Form(
    key="cmd:drbd-overview",
    first=r"(?:NOTE: [^\n]*\n|m:res +cs +ro +ds +p(?:\s+mounted\s+fstype)?\s*\n)*\s{0,4}"
    r"\d{1,7}:\S{1,200}\s+[A-Z]\w+(?:\(\S+\)|/\S+)?\s+"
    r"(?:(?:Primary|Secondary|Unknown)\S*/|(?:Primary|Secondary)\(\d\*\)|(?:Primar|Second|Unknow)/)",
    goes_on=r"(?:m:res .*|\s*mounted\s+fstype\s*)|\s{0,4}\d{1,7}:\S+\s.*|\s*\[[=>.]{3,60}\].*|NOTE: .*",
    reads="resources, their disks, peers and connections",
    versions="drbd-utils 8.4 to 9, with one peer",
)


def _short(word: str) -> str:
    """Return a state as the script shortens it: StandAlone becomes StaAlo."""
    while len(word) > _LONGEST and (less := re.sub(r"([a-z]+)[a-z]", r"\1", word)) != word:
        word = less
    return word[:_LONGEST]


_LONGEST = 6
"""Letters that drbd-overview leaves of a word."""
_CONNECTIONS = ("Connected", *_UNCONNECTED)
_ROLES = ("Primary", "Secondary", "Unknown")
_DISKS = (
    "UpToDate", "Diskless", "Attaching", "Detaching", "Failed", "Negotiating", "Inconsistent", "Outdated", "DUnknown",
    "Consistent",
)  # fmt: skip


def _states(text: str, known: Sequence[str]) -> tuple[str, str] | None:
    """Return the states of this host and its only peer; None for unknown states."""
    both = _BOTH.fullmatch(text)
    if both is not None:
        return (both["state"], both["state"]) if both["state"] in known else None
    words = {_short(word): word for word in known} | {_CONNECTING: "WFConnection"}
    parts = [words.get(part) for part in text.split("/")]
    return (parts[0], parts[1]) if len(parts) == 2 and parts[0] and parts[1] else None


def _plain(line: str) -> str:
    """Return a line of DRBD 9 about a pair of hosts in the form of DRBD 8, any other line as it is."""
    found = _PAIR.fullmatch(line)
    if found is None or _LINE.fullmatch(line) is not None:
        return line
    connection = _states(found["connection"], _CONNECTIONS)
    roles, disks = _states(found["role"], _ROLES), _states(found["disk"], _DISKS)
    if connection is None or roles is None or disks is None:
        return line
    volume = f"/{found['volume']}" if found["volume"] else ""
    return f"{found['minor']}:{found['name']}{volume} {connection[1]} {'/'.join(roles)} {'/'.join(disks)}"


def as_status(text: str) -> str:
    """Return the output as text of `drbdadm status`. Raises Malformed for a line that is not understood."""
    found: dict[str, list[re.Match[str]]] = {}
    done: dict[str, str] = {}
    last = ""
    for line in map(_plain, text.splitlines()):
        each = _LINE.fullmatch(line)
        if each is not None:
            last = each["minor"]
            name = each["name"] if "??" not in each["name"] else f"drbd{each['minor']}"  # not in the configuration
            found.setdefault(name, []).append(each)
        elif (bar := _BAR.fullmatch(line)) is not None and last:
            done[last] = bar["done"]
        elif not _REST.fullmatch(line):
            raise Malformed(f"drbd-overview: {line.strip()[:60]!r}")
    if not found:
        raise Malformed(f"drbd-overview: no resource: {text.strip()[:60]!r}")
    return "\n".join(line for name, volumes in found.items() for line in _resource(name, volumes, done))


def _resource(name: str, volumes: list[re.Match[str]], done: dict[str, str]) -> list[str]:
    first = volumes[0]
    state = _UNCONNECTED.get(first["connection"], "Connected")
    return [
        f"{name} role:{first['role']}",
        *(f"  volume:{each['volume'] or 0} minor:{each['minor']} disk:{each['disk']}" for each in volumes),
        f"  peer connection:{state} role:{first['peer_role']}",
        *(
            f"    volume:{each['volume'] or 0} replication:{_replication(each['connection'])} "
            f"peer-disk:{each['peer_disk']}" + (f" done:{done[each['minor']]}" if each["minor"] in done else "")
            for each in volumes
        ),
    ]


def _replication(connection: str) -> str:
    if connection in _UNCONNECTED:
        return "Off"
    return "Established" if connection == "Connected" else connection
