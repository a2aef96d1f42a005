"""Devices that work longer on each request than any healthy one does: known without peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.disks.saturation import BUSY, STACKED_KINDS, full, row_of
from sdstop.analysis.members.inferred import is_whole_disk
from sdstop.analysis.members.peer_samples import recent
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.core.columns import values_of
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
SLOWEST_FLASH = 2e7
"""The same of a local NVMe drive or SSD."""
FEWEST = 2.0
"""Requests per second below which a drive that is not full is not judged."""
_FAR = ("/usb", "/rport-", "/session", "/virtio")
"""Parts of paths of disks that are not attached to this node by SAS, SATA or PCIe."""
_VIRTUAL = expression(r"(?i)qemu|amazon|google|microsoft|virtual|vmware|nutanix|oracle block")
"""Models of drives that a hypervisor provides, and limits."""
_NOT_DISKS = STACKED_KINDS | {"rom", "floppy"}


class Overlong(Struct, frozen=True):
    """A device that works for `seconds` on each request, all the time; `wait` is the mean wait, in seconds, too.

    `size` is bytes per request, `completed` requests per second, `queue` the mean number outstanding, `busy` the share
    of time with a request in flight; `lasting` is the seconds that were judged.
    """

    device: str
    seconds: float
    wait: float
    size: float
    completed: float
    queue: float
    busy: float
    lasting: float


def overlong(window: Window, longest: float, flash: float) -> tuple[Overlong, ...]:
    """Return the disks that worked at least `longest` seconds on each request in all parts of the last seconds.

    Of local NVMe drives and SSDs it is `flash` seconds, and WAITS times as long a wait, since they serve requests in
    parallel; these need not be full, because nothing but a fault makes them wait so long for few requests.
    The time to move a request's bytes at the SLOWEST rate is not counted.
    Both the busy time per request and the wait must be as long: newer kernels count an idle device as busy if they lost
    a request, and a queue alone lengthens the wait. Devices that discard are left out.
    """
    return window.once(("overlong", longest, flash), lambda: tuple(_found(window, longest, flash)))


def _found(window: Window, longest: float, flash: float) -> Iterator[Overlong]:
    moments = _samples(window)
    if not _are_enough(moments):
        return
    parts = [moments[len(moments) * n // PARTS : len(moments) * (n + 1) // PARTS] for n in range(PARTS)]
    yield from _in_parts(window, moments, parts, longest, flash)


def signs(window: Window, longest: float, flash: float) -> tuple[Overlong, ...]:
    """Return the disks that show it in each sample where these are too few to judge by.

    A disk that spins up completes nothing in most of them.
    """
    moments = recent(window, SECONDS, PARTS)
    if _are_enough([moment for moment in moments if moment.seconds]):
        return ()
    return tuple(_in_parts(window, moments, [[moment] for moment in moments], longest, flash))


def _samples(window: Window) -> list[Moment[DiskActivity]]:
    return [moment for moment in recent(window, SECONDS, PARTS) if moment.seconds]


def _are_enough(moments: Sequence[Moment[DiskActivity]]) -> bool:
    return len(moments) >= PARTS and added(moment.seconds or 0.0 for moment in moments) >= LEAST


def _in_parts(
    window: Window,
    moments: Sequence[Moment[DiskActivity]],
    parts: Sequence[Sequence[Moment[DiskActivity]]],
    longest: float,
    flash: float,
) -> Iterator[Overlong]:
    counts = Counter(name for moment in moments for name in (*full(moment, BUSY), *_waiting(moment, WAITS * flash)))
    for name in sorted(name for name, count in counts.items() if count >= min(PARTS, len(parts))):
        if not _is_disk(window, name):
            continue
        local = _is_local_flash(window, name)
        least = 0.0 if local else BUSY
        found = [_of_part(part, name, least) for part in parts]
        if all(each is not None and ((each.busy >= BUSY and _is_overlong(each, longest))
                                     or (local and _is_slow_flash(each, flash))) for each in found):  # fmt: skip
            whole = _of_part(moments, name, least)
            if whole is not None:
                yield whole


def _waiting(moment: Moment[DiskActivity], least: float) -> Sequence[str]:
    """Return the devices that are not full and whose requests wait so long, cached because thirty windows use it."""
    known: tuple[float, Sequence[str]] | None = moment.memo.get("waiting")
    if known is None or known[0] != least:
        figures = (values_of(moment.rows, name) for name in ("device", "wait", "completed_per_second", "busy"))
        rows = zip(*figures, strict=True)
        waiting = [
            name
            for name, wait, done, busy in rows
            if wait is not None and wait >= least and done >= FEWEST and busy is not None and busy < BUSY
        ]
        known = moment.memo["waiting"] = least, tuple(waiting)
    return known[1]


def _is_disk(window: Window, name: str) -> bool:
    device = window.get(BlockDevice, name)
    return is_whole_disk(name) if device is None else device.kind not in _NOT_DISKS


def _is_overlong(each: Overlong, longest: float) -> bool:
    return min(each.seconds, each.wait) - each.size / SLOWEST >= longest


WAITS = 5.0
"""Wait of a slow drive, as a multiple of its busy time per request: requests served at once have both longer."""


def _is_local_flash(window: Window, name: str) -> bool:
    """Return whether a device is known as an NVMe drive or SSD in this node that no hypervisor provides."""
    device = window.get(BlockDevice, name)
    if device is None or not device.model or _VIRTUAL.search(f"{device.vendor} {device.model}"):
        return False
    if device.kind != "nvme":
        place = device.path or ""
        is_ssd = device.kind == "disk" and device.rotational == 0
        return is_ssd and "/pci" in place and not any(part in place for part in _FAR)
    paths = (window.get(BlockDevice, link.below) for link in window.where(BlockLink, "device", name))
    return any("/pci" in (row.path or "") for row in (device, *paths) if row is not None)


def _is_slow_flash(each: Overlong, longest: float) -> bool:
    moved = each.size / SLOWEST_FLASH
    ahead = moved * max(each.queue, 1.0)
    return each.completed >= FEWEST and each.seconds - moved >= longest and each.wait - ahead >= WAITS * longest


_UNKNOWN = 1.0
"""Seconds of the only interval of a text, whose length is unknown: rates and waits count."""


def _of_part(moments: Sequence[Moment[DiskActivity]], name: str, least: float) -> Overlong | None:
    """Return the work of a device over some samples, None if it was busy for less of them, or if that is unknown."""
    done = worked = waited = moved = queued = span = 0.0
    for moment in moments:
        row, seconds = row_of(moment, name), moment.seconds or _UNKNOWN
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
    if done < 1 or worked < least * span:
        return None
    return Overlong(name, worked / done, waited / done, moved / done, done / span, queued / span, worked / span, span)
