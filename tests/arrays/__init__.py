"""The project's own simulator of md arrays: load in, `/proc/diskstats` out.

    frames = simulate(ArraySpec(disks=46, clones=Clones()), seed=1, seconds=20)

It is a discrete-event model with one queue a disk. What it knows and the kernel does not (how many clones stand on
the fullest stripe column) is the truth against which the detector in `sdstop.analysis.members.stripe` is measured.
"""

from tests.arrays.capture import write_capture
from tests.arrays.evidence import member_name
from tests.arrays.load import Truth
from tests.arrays.simulation import Frame, simulate
from tests.arrays.spec import (
    LIMITED_FLASH,
    NVME_FLASH,
    SAS_15K,
    SATA_7200,
    SATA_FLASH,
    ArraySpec,
    Bursts,
    Clones,
    Direction,
    Level,
    Media,
    Random,
    Rebuild,
    Ticks,
)

__all__ = [
    "LIMITED_FLASH",
    "NVME_FLASH",
    "SAS_15K",
    "SATA_7200",
    "SATA_FLASH",
    "ArraySpec",
    "Bursts",
    "Clones",
    "Direction",
    "Frame",
    "Level",
    "Media",
    "Random",
    "Rebuild",
    "Ticks",
    "Truth",
    "member_name",
    "simulate",
    "write_capture",
]
