"""Devices that work longer on each request than any healthy one does: known without peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.disks.saturation import BUSY, STACKED_KINDS, full
from sdstop.analysis.members.inferred import is_whole_disk
from sdstop.analysis.members.peer_samples import recent
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.core.expression import expression
from sdstop.core.history import Moment, Window
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

SECONDS = 30.0
"""Time to judge, or less in a short recording: a disk that spins up is not slow in all parts of it."""
LEAST = 8.0
"""Seconds that samples must cover."""
PARTS = 3
"""Parts of that time, in each of which the device must be slow."""
SLOWEST = 1e6
"""Bytes per second that any disk moves, and nearly any limit allows: the time for a request's size does not count."""
SLOWEST_NVME = 2e7
"""The same of a local NVMe drive."""
_VIRTUAL = expression(r"(?i)qemu|amazon|google|microsoft|virtual|vmware|nutanix|oracle block")
"""Models of drives that a hypervisor provides, and limits."""
_NOT_DISKS = STACKED_KINDS | {"rom", "floppy"}


class Overlong(Struct, frozen=True):
    """A device that works for `seconds` on each request, all the time; `wait` is the mean wait, in seconds, too.

    `size` is bytes per request, `completed` requests per second, `queue` the mean number outstanding; `lasting` is the
    seconds that were judged.
    """

    device: str
    seconds: float
    wait: float
    size: float
    completed: float
    queue: float
    lasting: float


def overlong(window: Window, longest: float, nvme: float) -> tuple[Overlong, ...]:
    """Return the disks that worked at least `longest` seconds on each request in all parts of the last seconds.

    Of local NVMe drives it is `nvme` seconds, and WAITS times as long a wait, since they serve requests in parallel.
    The time to move a request's bytes at the SLOWEST rate is not counted.
    Both the busy time per request and the wait must be as long: newer kernels count an idle device as busy if they lost
    a request, and a queue alone lengthens the wait. Devices that discard are left out.
    """
    return window.once(("overlong", longest, nvme), lambda: tuple(_found(window, longest, nvme)))


def _found(window: Window, longest: float, nvme: float) -> Iterator[Overlong]:
    moments = _samples(window)
    if not _are_enough(moments):
        return
    parts = [moments[len(moments) * n // PARTS : len(moments) * (n + 1) // PARTS] for n in range(PARTS)]
    yield from _in_parts(window, moments, parts, longest, nvme)


def signs(window: Window, longest: float, nvme: float) -> tuple[Overlong, ...]:
    """Return the disks that show it in each sample where these are too few to judge by.

    A disk that spins up completes nothing in most of them.
    """
    moments = recent(window, SECONDS, PARTS)
    if _are_enough([moment for moment in moments if moment.seconds]):
        return ()
    return tuple(_in_parts(window, moments, [[moment] for moment in moments], longest, nvme))


def _samples(window: Window) -> list[Moment[DiskActivity]]:
    return [moment for moment in recent(window, SECONDS, PARTS) if moment.seconds]


def _are_enough(moments: Sequence[Moment[DiskActivity]]) -> bool:
    return len(moments) >= PARTS and added(moment.seconds or 0.0 for moment in moments) >= LEAST


def _in_parts(
    window: Window,
    moments: Sequence[Moment[DiskActivity]],
    parts: Sequence[Sequence[Moment[DiskActivity]]],
    longest: float,
    nvme: float,
) -> Iterator[Overlong]:
    counts = Counter(name for moment in moments for name in full(moment, BUSY))
    for name in sorted(name for name, count in counts.items() if count >= min(PARTS, len(parts))):
        if not _is_disk(window, name):
            continue
        local = _is_local_nvme(window, name)
        found = [_of_part(part, name) for part in parts]
        if all(each is not None and (_is_overlong(each, longest) or (local and _is_slow_nvme(each, nvme)))
               for each in found):  # fmt: skip
            whole = _of_part(moments, name)
            if whole is not None:
                yield whole


def _is_disk(window: Window, name: str) -> bool:
    device = window.get(BlockDevice, name)
    return is_whole_disk(name) if device is None else device.kind not in _NOT_DISKS


def _is_overlong(each: Overlong, longest: float) -> bool:
    return min(each.seconds, each.wait) - each.size / SLOWEST >= longest


WAITS = 5.0
"""Wait of a slow NVMe drive, as a multiple of its busy time per request: requests served at once have both longer."""


def _is_local_nvme(window: Window, name: str) -> bool:
    """Return whether a device is known as an NVMe drive in this node that no hypervisor provides."""
    device = window.get(BlockDevice, name)
    if device is None or device.kind != "nvme" or not device.model or _VIRTUAL.search(device.model):
        return False
    paths = (window.get(BlockDevice, link.below) for link in window.where(BlockLink, "device", name))
    return any("/pci" in (row.path or "") for row in (device, *paths) if row is not None)


def _is_slow_nvme(each: Overlong, longest: float) -> bool:
    moved = each.size / SLOWEST_NVME
    return each.seconds - moved >= longest and each.wait - moved >= WAITS * longest


_UNKNOWN = 1.0
"""Seconds of the only interval of a text, whose length is unknown: rates and waits count."""


def _of_part(moments: Sequence[Moment[DiskActivity]], name: str) -> Overlong | None:
    """Return the work of a device over some samples, None if it was idle at times, or if that is unknown."""
    done = worked = waited = moved = queued = span = 0.0
    for moment in moments:
        row, seconds = moment.rows.get(name), moment.seconds or _UNKNOWN
        if row is None or row.busy is None or row.discards_per_second:
            return None
        count = row.completed_per_second * seconds
        if count and (row.wait is None or row.size is None):
            return None
        done += count
        worked += row.busy * seconds
        waited += count * (row.wait or 0.0)
        moved += count * (row.size or 0.0)
        queued += (row.queue or 0.0) * seconds
        span += seconds
    if done < 1 or worked < BUSY * span:
        return None
    return Overlong(name, worked / done, waited / done, moved / done, done / span, queued / span, span)
