"""File systems shared over the network: an NFS server that refuses calls, and a healthy one."""

from __future__ import annotations

from sdstop.collectors.filesystems.share_readings import NFSD, POOL_STATS
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


STORIES: Stories = {
    "nfs-server-refuses": lambda: _scene("nas11", 90),
    "nfs-server-healthy": lambda: _scene("nas12", 0),
}
