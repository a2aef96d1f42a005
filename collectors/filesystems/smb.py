r"""Mounted shares of SMB servers, as the kernel's client (cifs) sees their connections.

Format: cifs_debug_data_proc_show in fs/cifs/cifs_debug.c, since Linux 6.4 in fs/smb/client. The connection is printed
once for each server since Linux 5.11, and for each session before; in both, its lines are before those of the shares.

Reading takes spin locks only, under which the client neither sends nor waits, and asks no server. DebugData has user
numbers, addresses, domains and the server's description of itself: only the connection and the names of shares are
recorded. /proc/fs/cifs/Stats adds counters of SMB commands, of which no rule needs one, and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.filesystems.share_readings import DEBUG_DATA, SmbShare
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed

PACE = 5.0
"""Seconds between two runs."""
_STATES = {0: "new", 1: "up", 2: "exiting", 3: "lost", 4: "negotiating", 5: "negotiating"}
"""Values of enum statusEnum (cifsglob.h); the last one since Linux 5.16."""
_CONNECTION = expression(r"TCP status: (\d{1,3}) Instance: (\d{1,10})")
_FLIGHT = expression(r"Req On Wire: (\d{1,10})")
_WAIT = expression(r"In MaxReq Wait: (\d{1,10})")
_SHARE = expression(r"\d{1,5}\) \\\\([^\\\s]+)\\(.+?) Mounts: \d+")
_BEGUN = expression(r"(?:\d{1,5}\) (?:ConnectionId|Name|entry|Address)|Number of credits)\b")
_KEPT = (_CONNECTION, _FLIGHT, _WAIT)


class _Connection(Struct):
    """The connection whose lines were read last; `extra` while the lines are those of its further channels."""

    state: str | None = None
    reconnects: int = 0
    in_flight: int | None = None
    waiting: int | None = None
    extra: bool = False

    def add(self, line: str) -> None:
        """Add a line."""
        if line.startswith(("Extra Channels:", "Shares:")):
            self.extra = line.startswith("Extra")
        if self.extra:
            return
        if (status := _CONNECTION.search(line)) is not None:
            self.state, self.reconnects = _STATES.get(int(status[1]), "unknown"), int(status[2])
            self.in_flight = self.waiting = None
        if (number := _FLIGHT.search(line)) is not None:
            self.in_flight = int(number[1])
        if (number := _WAIT.search(line)) is not None:
            self.waiting = int(number[1])

    def share(self, server: str, name: str, disconnected: bool) -> SmbShare:  # noqa: FBT001
        """Return a share on this connection. Raises Malformed without one."""
        if self.state is None:
            raise Malformed(f"{DEBUG_DATA}: share without connection")
        return SmbShare(
            server=server, share=name, connection=self.state, reconnects=self.reconnects, in_flight=self.in_flight,
            waiting=self.waiting, disconnected=int(disconnected),
        )  # fmt: skip


def parse(text: str) -> Iterator[SmbShare]:
    r"""Yield the shares. Raises Malformed for a share before a connection.

    1) ConnectionId: 0x1 Hostname: nas
    Number of credits: 389 Dialect 0x311
    TCP status: 1 Instance: 1
    Local Users To Server: 1 SecMode: 0x1 Req On Wire: 0
    In Send: 0 In MaxReq Wait: 0
        Shares:
        0) IPC: \\nas\IPC$ Mounts: 1 DevInfo: 0x0 Attributes: 0x0
        1) \\nas\home Mounts: 1 DevInfo: 0x20 Attributes: 0x1006f
        PathComponentMax: 255 Status: 1 type: DISK Serial Number: 0x0   DISCONNECTED
    """
    connection = _Connection()
    share: SmbShare | None = None
    for raw in text.splitlines():
        line = raw.strip()
        found = _SHARE.match(line)
        ends = found is not None or _BEGUN.match(line) or line.startswith(("0) IPC", "MIDs:", "--"))
        if ends and share is not None:
            yield share
            share = None
        if found is not None:
            share = connection.share(found[1], found[2], "DISCONNECTED" in line)
        elif share is None:
            connection.add(line)
        elif "DISCONNECTED" in line:
            share = replace(share, disconnected=1)
    if share is not None:
        yield share


def of_connections(data: bytes) -> bytes:
    """Return the lines that are read, without users, addresses, domains and serial numbers."""
    kept = []
    for raw in data.decode("utf-8", "surrogateescape").splitlines():
        line = raw.strip()
        if (found := _SHARE.match(line)) is not None:
            kept.append(found[0] + (" DISCONNECTED" if "DISCONNECTED" in line else ""))
        elif line.startswith(("Extra Channels:", "Shares:")):
            kept.append(line.partition(":")[0] + ":")
        elif parts := [part[0] for each in _KEPT if (part := each.search(line)) is not None]:
            kept.append(" ".join(parts))
        elif line.endswith("DISCONNECTED") and not line.startswith("Primary channel:"):
            kept.append("DISCONNECTED")
        elif line.startswith(("Servers:", "MIDs:", "--", "0) IPC")):
            kept.append(line.partition(":")[0] + (":" if ":" in line else ""))
    return "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape")


def read(host: Host) -> Iterator[SmbShare]:
    """Yield the shares, each once. Raises Absent without a mounted one, Malformed."""
    text = host.text(DEBUG_DATA)
    rows = {(row.server, row.share): row for row in parse(text)}
    if not rows:
        if "Servers:" not in text:
            raise Malformed(f"{DEBUG_DATA}: {text[:40]!r}")
        raise Absent(DEBUG_DATA, "no mounted share")
    yield from rows.values()


SMB_SHARES = Collector(
    "smb-shares",
    "Mounted SMB shares",
    read,
    (SmbShare,),
    (Need(DEBUG_DATA, "connections of mounted SMB shares", keep=of_connections),),
    PACE,
)
