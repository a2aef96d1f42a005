"""File systems shared over the network: NFS servers and clients of SMB, with faults and healthy."""

from __future__ import annotations

from sdstop.collectors.filesystems.share_readings import DEBUG_DATA, NFSD, POOL_STATS
from sdstop.collectors.filesystems.smb import of_connections
from tests.nodes.system import Shape
from tests.stories.interfaces import LOOPBACK, OFFICE
from tests.stories.scene import Scene, Stories

_STARTED = 1_796_040_000.0
_SECONDS = 75
_CALLS = 400
"""Calls in a second."""


def _server(second: int, refused: int) -> dict[str, str]:
    """Return the counters of a server of Linux 6.1, on which nearly each request wakes an idle thread."""
    calls = 81_000_000 + _CALLS * second
    bad = 17 + refused * second
    return {
        NFSD: f"rc 12 803 {calls - 815}\nfh {41 + second // 20} 0 0 0 0\nio {calls * 9000} {calls * 2100}\n"
        f"th 16 0{' 0.000' * 10}\nra{' 0' * 12}\nnet {calls + 90} 0 {calls + 90} 31\n"
        f"rpc {calls} {bad} 0 {bad} 0\nproc4 2 3 {calls - 3}\n",
        POOL_STATS: "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n"
        f"0 {calls + 90} {calls + 90} {int(calls * 0.996)} 0\n",
    }


def _scene(name: str, refused: int) -> Scene:
    extra = {second: _server(second, refused) for second in range(0, _SECONDS + 1, 5)}
    return Scene(Shape(name, uptime=260_000.0), _STARTED, _SECONDS, nics=(LOOPBACK, OFFICE), extra=extra)


def _shares(second: int, lost_at: int, every: int) -> dict[str, str]:
    """Return the connections of a client of Linux 6.1: of `filer1` lost at a second, of `filer2` made again."""
    status = 3 if second >= lost_at else 1
    made = 4 + (second // every if every else 0)
    servers = "".join(
        f"\n{number}) ConnectionId: 0x{number} Hostname: {server} \nNumber of credits: 389 Dialect 0x311\n"
        f"TCP status: {state} Instance: {instance}\nLocal Users To Server: 1 SecMode: 0x1 Req On Wire: {flight}\n"
        f"In Send: 0 In MaxReq Wait: 0\n\n\tSessions: \n\tShares: \n"
        f"\t1) \\\\{server}\\{share} Mounts: 1 DevInfo: 0x20\n"
        "\tPathComponentMax: 255 Status: 1 type: DISK Serial Number: 0x0\n\n\tMIDs: \n--\n"
        for number, server, share, state, instance, flight in (
            (1, "filer1", "invoices", status, 1, 7 if status == 3 else 0),
            (2, "filer2", "scans", 1, made, second // 5 % 2),
        )
    )
    text = f"CIFS Version 2.40\nActive VFS Requests: {second % 3}\n\nServers: {servers}\n"
    return {DEBUG_DATA: of_connections(text.encode()).decode()}


def _mounted(name: str, lost_at: int, every: int) -> Scene:
    extra = {second: _shares(second, lost_at, every) for second in range(0, _SECONDS + 1, 5)}
    return Scene(Shape(name, uptime=260_000.0), _STARTED, _SECONDS, nics=(LOOPBACK, OFFICE), extra=extra)


STORIES: Stories = {
    "smb-unreachable": lambda: _mounted("app21", 40, 15),
    "smb-healthy": lambda: _mounted("app22", 1000, 0),
    "nfs-server-refuses": lambda: _scene("nas11", 90),
    "nfs-server-healthy": lambda: _scene("nas12", 0),
}
