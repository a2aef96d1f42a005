"""Memory traffic of the node as measured, beside the peak of its modules, which is computed."""

from __future__ import annotations

from msgspec import Struct

from sdstop.collectors.memory.readings import MemoryBandwidth, MemorySocket
from sdstop.core.averages import fmean
from sdstop.core.history import Window
from sdstop.core.text import added


class MeasuredTraffic(Struct, frozen=True):
    """Mean bytes per second of a socket, or of the node (`socket` None), over `seconds`.

    `peak` is computed from the modules, None if they are unknown. `remote` is the share that crosses NUMA nodes.
    """

    socket: str | None
    rate: float
    remote: float | None
    seconds: float
    peak: float | None


def measured_traffic(window: Window) -> list[MeasuredTraffic]:
    """Return the traffic of each socket; of the node where caches and sockets do not correspond; () without samples."""
    rates: dict[str, list[tuple[float, float | None]]] = {}
    seconds = 0.0
    for moment in window.moments(MemoryBandwidth):
        seconds += moment.seconds or 0.0
        for row in moment.rows.values():
            rates.setdefault(row.domain, []).append((row.rate, row.remote))
    if not rates:
        return []
    sockets = sorted(window.rows(MemorySocket).values(), key=lambda row: int(row.socket))
    means = {domain: _mean(known) for domain, known in rates.items()}
    if len(sockets) == len(means):
        order = sorted(means, key=int)
        return [
            MeasuredTraffic(socket.socket, *means[domain], seconds, socket.peak)
            for socket, domain in zip(sockets, order, strict=True)
        ]
    peaks = [socket.peak for socket in sockets]
    known = [peak for peak in peaks if peak is not None]
    total = added(rate for rate, _ in means.values())
    crossing = [rate * remote for rate, remote in means.values() if remote is not None]
    remote = added(crossing) / total if total and len(crossing) == len(means) else None
    return [MeasuredTraffic(None, total, remote, seconds, added(known) if known and len(known) == len(peaks) else None)]


def _mean(known: list[tuple[float, float | None]]) -> tuple[float, float | None]:
    rate = fmean(rate for rate, _ in known)
    remotes = [(rate, remote) for rate, remote in known if remote is not None and rate]
    total = added(rate for rate, _ in remotes)
    return rate, added(rate * (remote or 0.0) for rate, remote in remotes) / total if total else None
