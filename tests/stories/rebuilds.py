"""Stories of arrays that lost a member: rebuilding, held back, stalled, finished, and one that nobody rebuilds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.arrays import ArraySpec, Frame, Level, Random, Rebuild, simulate
from tests.arrays.spec import GIB, KIB
from tests.nodes.system import Shape
from tests.stories.disks import Shelf
from tests.stories.progress import Recovery, idle
from tests.stories.rows import continued, rows
from tests.stories.scene import Part, Scene, Stories

_STARTED = 1_795_100_400.0
_PROGRESS = re.compile(r"^ +\[=*>.*\n", re.MULTILINE)


def _followed(shelf: Shelf, frames: Sequence[Frame], done: Sequence[int], recovery: Recovery) -> Part:
    """Show a rebuild as md tells it; `done` are KiB at each second."""
    part = Part.of(shelf, frames)
    for second, now in enumerate(done):
        line, attributes = recovery.look(float(second), now)
        part.mdstat[second] = _PROGRESS.sub(line, part.mdstat[second])
        part.sysfs[second].update(_attributes(shelf, attributes))
        target = shelf.names[shelf.spec.rebuild.member or 0] if shelf.spec.rebuild else ""
        start = attributes["sync_completed"].split()[0]
        part.sysfs[second][f"/sys/block/{shelf.spec.name}/md/dev-{target}/recovery_start"] = f"{start}\n"
    return part


def _attributes(shelf: Shelf, attributes: Mapping[str, str]) -> dict[str, str]:
    return {f"/sys/block/{shelf.spec.name}/md/{name}": f"{value}\n" for name, value in attributes.items()}


def _done(frame: Frame) -> int:
    """Return the KiB of each member that a simulated rebuild has done."""
    found = re.search(r"\((\d+)/\d+\)", frame.mdstat)
    assert found
    return int(found[1])


def _rebuilding(shelf: Shelf, seed: int, seconds: int, maximum: str = "200000 (system)") -> Part:
    frames = list(simulate(shelf.spec, seed, seconds))
    recovery = Recovery(shelf.spec.member_size // KIB, maximum=maximum)
    return _followed(shelf, frames, [_done(frame) for frame in frames], recovery)


def _running() -> Scene:
    spec = ArraySpec(
        level=Level.RAID6, disks=8, chunk=512 * KIB, member_size=3726 * GIB, random=Random(rate=25.0, writes=0.3),
        rebuild=Rebuild(member=5, size=512 * KIB, window=8, limit=170e6, started=0.31),
    )  # fmt: skip
    shape = Shape("vault4", system=0.08, iowait=0.15, load=4.4, stalled=0.4)
    return Scene(shape, _STARTED, 80, [_rebuilding(Shelf(spec), 31, 80)])


def _throttled() -> Scene:
    spec = ArraySpec(
        disks=8, chunk=512 * KIB, member_size=931 * GIB, random=Random(rate=12.0, writes=0.5),
        rebuild=Rebuild(member=2, size=256 * KIB, window=4, limit=20_480 * KIB, started=0.62),
    )  # fmt: skip
    shape = Shape("vault5", load=1.1, stalled=0.05)
    return Scene(shape, _STARTED + 7_000, 80, [_rebuilding(Shelf(spec), 32, 80, "20480 (local)")])


def _stalled() -> Scene:
    """Let a rebuild run for 20 s, then go on without it, for no reason that the node tells."""
    spec = ArraySpec(
        level=Level.RAID5, disks=6, chunk=512 * KIB, member_size=3726 * GIB, random=Random(rate=40.0, writes=0.4),
        rebuild=Rebuild(member=1, size=512 * KIB, window=6, limit=120e6, started=0.44),
    )  # fmt: skip
    running, standing = 20, 80
    shelf = Shelf(spec)
    first = list(simulate(spec, 33, running))
    second = list(simulate(replace(spec, rebuild=None, missing=frozenset({1})), 34, standing))
    done = [_done(frame) for frame in first]
    recovery = Recovery(spec.member_size // KIB)
    part = _followed(shelf, [*first, *[first[-1]] * standing], done + done[-1:] * standing, recovery)
    part.rows = [shelf.rows(now) for now in continued([rows(f) for f in first], [rows(f) for f in second])]
    shape = Shape("vault6", load=1.9, stalled=0.2, iowait=0.06)
    return Scene(shape, _STARTED + 14_000, running + standing, [part])


def _finished() -> Scene:
    """Let a rebuild run for its last 24 s; what follows is the same load on a whole array."""
    spec = ArraySpec(
        disks=8, chunk=512 * KIB, member_size=1862 * GIB, random=Random(rate=60.0, writes=0.5),
        rebuild=Rebuild(member=6, size=512 * KIB, window=4, limit=90e6),
    )  # fmt: skip
    running, after = 24, 50
    shelf = Shelf(spec)
    first = list(simulate(spec, 35, running))
    second = list(simulate(replace(spec, rebuild=None), 36, after))
    total = spec.member_size // KIB
    done = [_done(frame) - _done(first[-1]) + total - 31_000 for frame in first]
    part = _followed(shelf, first, done, Recovery(total))
    whole = Part.of(shelf, second[1:])
    for files in whole.sysfs:
        files.update(_attributes(shelf, idle("recovery")))
        files[f"/sys/block/md0/md/dev-{shelf.names[6]}/recovery_start"] = "none\n"
    part.mdstat = [*part.mdstat, *whole.mdstat]
    part.sysfs = [*part.sysfs, *whole.sysfs]
    part.rows = [shelf.rows(now) for now in continued([rows(f) for f in first], [rows(f) for f in second])]
    return Scene(Shape("vault7", load=2.6, stalled=0.25, iowait=0.08), _STARTED + 21_000, running + after, [part])


def _degraded() -> Scene:
    spec = ArraySpec(
        disks=8, chunk=512 * KIB, member_size=1862 * GIB, random=Random(rate=60.0, writes=0.5), missing=frozenset({4})
    )
    shape = Shape("vault8", load=2.0, stalled=0.2, iowait=0.06)
    return Scene(shape, _STARTED + 28_000, 40, [Part.simulated(Shelf(spec), 37, 40)])


STORIES: Stories = {
    "md-rebuild-running": _running,
    "md-rebuild-throttled": _throttled,
    "md-rebuild-stalled": _stalled,
    "md-rebuild-finished": _finished,
    "md-degraded": _degraded,
}
