"""Stage: one step of a data path, between client and medium."""

from __future__ import annotations

import enum

from msgspec import Struct

from sdstop.analysis.path.load import Load
from sdstop.core.thing import Thing

FULL = 0.9
"""Used share of a measured capacity at which a stage is at its limit."""


class StageKind(enum.StrEnum):
    """Kind of a stage, in the order from client to medium."""

    CLIENT = "client"
    NETWORK = "network"
    LIMIT = "limit"
    REBUILD = "rebuild"
    VOLUME = "volume"
    CACHE = "cache"
    ARRAY = "array"
    DISKS = "disks"
    HOST = "host below"
    HBA = "HBA"
    PCIE = "PCIe"
    MEMORY = "memory"
    CPU = "CPU"


class Stage(Struct, frozen=True, kw_only=True):
    """A step of a data path; `things` are alike and shown together.

    `carries` is the capacity in `unit` (bytes_per_second, per_second), None if it is unknown; `used` the share of it in
    use, or the share of time that devices were busy. `derived_use`: computed, not measured. `wait` is the mean latency
    of a request in seconds, `own` the part that this stage adds by itself, `below` the part of the stages below it.
    `least`: `wait` and `own` are lower bounds. `shared` are other users of the stage. `peers` is the wait
    of the others if a disk is shown alone because it answers far slower. `branch`: not every request uses
    it, such as a cache device.
    """

    kind: StageKind
    name: str
    things: tuple[Thing, ...] = ()
    load: Load | None = None
    carries: float | None = None
    unit: str = "bytes_per_second"
    used: float | None = None
    derived_use: bool = False
    wait: float | None = None
    own: float | None = None
    below: float | None = None
    least: bool = False
    full: bool = False
    branch: bool = False
    shared: tuple[str, ...] = ()
    peers: float | None = None
    subject: str = ""
    """Subject of findings about the stage, if it is not a thing."""
    note: str = ""
    reason: str = ""
    """Why nothing is known of it, "" if something is."""

    @property
    def known(self) -> bool:
        """Whether anything of the stage is measured or derived."""
        return any(
            value is not None for value in (self.requests, self.bytes, self.queue, self.wait, self.used, self.carries)
        )

    @property
    def requests(self) -> float | None:
        """Requests per second."""
        return self.load.requests if self.load is not None else None

    @property
    def bytes(self) -> float | None:
        """Bytes per second."""
        return self.load.bytes if self.load is not None else None

    @property
    def queue(self) -> float | None:
        """Requests outstanding."""
        return self.load.queue if self.load is not None else None

    @property
    def derived_wait(self) -> bool:
        """Whether the wait follows from outstanding requests and rate."""
        return self.load is not None and self.load.derived
