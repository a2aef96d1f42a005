"""Stories of arrays under load: the convoy, a slow and a hot member, and nodes on which nothing is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from sdstop.collectors.limits.readings import SERVICES_QUESTION as SERVICES
from tests.arrays import SAS_15K, SATA_FLASH, ArraySpec, Bursts, Clones, Level, Random, simulate
from tests.arrays.spec import GIB, KIB
from tests.nodes.system import Shape
from tests.stories.disks import SAS, SATA, SSD, Shelf
from tests.stories.interfaces import serving
from tests.stories.processes import ANSWER, Process, answer
from tests.stories.rows import rows
from tests.stories.scene import Part, Scene, Stories

_STARTED = 1_794_990_182.0
_WRITE_SECTORS = 6


def _clone_convoy() -> Scene:
    seconds = 64
    spec = ArraySpec(
        disks=46, chunk=512 * KIB, member_size=1862 * GIB,
        random=Random(rate=200.0, writes=0.5), clones=Clones(count=10),
    )  # fmt: skip
    shelf = Shelf(spec, replace(SATA, name="ST2000NM0033-9ZM"), terse=True)
    frames = list(simulate(spec, 12, seconds))
    first = rows(frames[0])[spec.name][_WRITE_SECTORS]
    extra: dict[int, Mapping[str, str]] = {}
    for second in range(0, seconds + 1, 5):
        written = (rows(frames[second])[spec.name][_WRITE_SECTORS] - first) * 512
        copied = max(0, written - int(200 * 0.5 * 8 * KIB * second)) // 10
        who = [_clone(number, copied) for number in range(10)]
        who.append(Process(1204, "iscsi_trx", "", None, None))
        extra[second] = {ANSWER: answer(who, _STARTED - 611.5)}
    shape = Shape("vault3", iowait=0.36, system=0.05, load=31.0, stalled=0.87, dirty=38_000)
    return Scene(shape, _STARTED, seconds, [Part.of(shelf, frames)], serving(3.1e6, 4.4e6), extra)


def _clone(number: int, copied: int) -> Process:
    desk = 241 + number
    return Process(
        28_100 + 11 * number,
        "qemu-img",
        f"qemu-img convert -t none -T none -O raw /srv/golden/desk.raw /dev/desks/desk{desk}",
        196_608,  # the image that is cloned stands in the page cache
        1_940_000_000 + copied + number * 4_194_304,
    )


def _slow_member() -> Scene:
    spec = ArraySpec(
        disks=8, chunk=512 * KIB, member_size=3726 * GIB, random=Random(rate=80.0, writes=0.6), slow=((3, 4.0),)
    )
    shape = Shape("vault1", iowait=0.2, load=5.2, stalled=0.55)
    return Scene(shape, _STARTED + 86_400, 60, [Part.simulated(Shelf(spec), 5, 60)])


def _hot_member() -> Scene:
    seconds = 60
    spec = ArraySpec(
        level=Level.RAID0, disks=6, chunk=64 * KIB, member_size=558 * GIB, media=SAS_15K,
        random=Random(outstanding=24, writes=0.7, hot_share=0.55, hot_column=4),
    )  # fmt: skip
    frames = list(simulate(spec, 7, seconds))
    extra: dict[int, Mapping[str, str]] = {}
    for second in range(0, seconds + 1, 5):
        moved = rows(frames[second])[spec.name]
        read, written = int(moved[2] * 512 * 0.94), int(moved[6] * 512 * 0.94)
        who = [
            Process(912, "postgres", "postgres: 15/main: walwriter", read, written, "postgres"),
            Process(931, "postgres", "postgres: 15/main: checkpointer", read // 20, written // 20, "postgres"),
        ]
        extra[second] = {ANSWER: answer(who, _STARTED - 900_000.0)}
    shape = Shape("ledger", iowait=0.3, load=8.0, stalled=0.6, cpus=4)
    return Scene(shape, _STARTED + 170_000, seconds, [Part.of(Shelf(spec, SAS), frames)], extra=extra)


def _quiet() -> Scene:
    spec = ArraySpec(disks=8, member_size=3726 * GIB, random=Random(rate=2.0, writes=0.8))
    return Scene(Shape("attic", cpus=4), _STARTED + 260_000, 40, [Part.simulated(Shelf(spec), 3, 40)])


def _busy() -> Scene:
    seconds = 64
    files = ArraySpec(
        level=Level.RAID5, disks=8, chunk=512 * KIB, member_size=894 * GIB, media=SATA_FLASH, name="md1",
        random=Random(rate=4000.0, sizes=(4 * KIB, 16 * KIB, 64 * KIB), writes=0.3), bursts=Bursts(count=600),
    )  # fmt: skip
    guests = ArraySpec(
        disks=12, chunk=512 * KIB, member_size=3726 * GIB, random=Random(rate=560.0, writes=0.5),
        bursts=Bursts(period=7.0, count=260, run=4),
    )  # fmt: skip
    parts = [
        Part.simulated(Shelf(guests), 21, seconds),
        Part.simulated(Shelf(files, replace(SSD, name="SAMSUNG MZ7LH960"), first=12), 22, seconds),
    ]
    shape = Shape("vault2", user=0.11, system=0.09, iowait=0.22, load=14.0, stalled=0.7, dirty=900_000)
    return Scene(shape, _STARTED + 300_000, seconds, parts, serving(310e6, 420e6))


def _guest(share: float) -> Scene:
    """Let a guest want two thirds of its processors, and the hypervisor keep a share of the time."""
    spec = ArraySpec(level=Level.RAID0, disks=4, chunk=512 * KIB, member_size=931 * GIB, random=Random(rate=60.0))
    shape = Shape("gate2", cpus=4, user=0.3, system=0.12, steal=share, load=3.4, stalled=0.1)
    return Scene(shape, _STARTED + 172_800, 40, [Part.simulated(Shelf(spec), 31, 40)], serving(9.0e6, 12.0e6))


def _bound() -> Scene:
    """Let the only queue of a network card be served by the first processor."""
    spec = ArraySpec(level=Level.RAID0, disks=4, chunk=512 * KIB, member_size=931 * GIB, random=Random(rate=60.0))
    shape = Shape("gate3", cpus=8, user=0.05, system=0.04, interrupts=0.99, load=1.4)
    return Scene(shape, _STARTED + 259_200, 40, [Part.simulated(Shelf(spec), 32, 40)], serving(9.0e6, 12.0e6))


def _limited(share: float) -> Scene:
    """Let the unit of smbd have a CPU quota that it uses up in a share of the periods, 10 a second."""
    spec = ArraySpec(level=Level.RAID0, disks=4, chunk=512 * KIB, member_size=931 * GIB, random=Random(rate=60.0))
    shape = Shape("files7", cpus=8, user=0.06, system=0.04, load=1.9)
    extra: dict[int, Mapping[str, str]] = {}
    for second in range(0, 41, 5):
        used = {"periods": 81_200 + 10 * second, "throttled": 911 + int(10 * share * second)}
        group = {"group": "/system.slice/smb.service", "programs": ["smbd"], "quota": 0.5, **used}
        extra[second] = {f"answers/{SERVICES}.json": json.dumps([group])}
    return Scene(shape, _STARTED + 345_600, 40, [Part.simulated(Shelf(spec), 33, 40)], serving(9.0e6, 12.0e6), extra)


STORIES: Stories = {
    "service-throttled": lambda: _limited(0.8),
    "service-roomy": lambda: _limited(0.02),
    "interrupts-bound": _bound,
    "guest-starved": lambda: _guest(0.4),
    "guest-served": lambda: _guest(0.02),
    "clone-convoy": _clone_convoy,
    "slow-member": _slow_member,
    "hot-member": _hot_member,
    "quiet-node": _quiet,
    "busy-but-healthy": _busy,
}
