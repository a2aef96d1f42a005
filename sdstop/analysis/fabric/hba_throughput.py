"""Combined throughput of the disks behind an HBA, compared to the capacity of the HBA's links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.port_readings import SasPhy
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

KINDS = frozenset({"sas", "raid", "scsi"})
"""HBA functions that many disks share. NVMe drives and SATA ports have links of their own."""


class HbaLoad(Struct, frozen=True):
    """An HBA with its attached disks; rates in bytes per second.

    `disks` counts a disk that several HBAs reach as a fraction. `carries` is the smaller of the PCI Express and SAS
    link capacities, None if neither is known; `wants` is the combined sequential throughput of its disks on the outer
    tracks.
    """

    hba: Hba
    disks: float
    rotating: float
    models: Mapping[str, float]
    wants: float
    carries: float | None
    moves: float
    unknown: bool

    @property
    def share(self) -> float | None:
        """Combined disk throughput relative to the link capacity."""
        return self.wants / self.carries if self.carries else None


def pcie_payload(speed: float, width: int, efficiency: float) -> float:
    """Return the payload bytes per second in one direction of a link.

    The line code is 8b/10b up to 5 GT/s and 128b/130b above; `efficiency` covers packet headers.
    """
    coding = 0.8 if speed <= 5e9 else 128 / 130
    return speed * width * coding / 8 * efficiency


def loads(window: Window, disk_rate: float, flash_rate: float, efficiency: float) -> list[HbaLoad]:
    """Return every HBA that can serve many disks, even without disks; virtual HBAs are excluded."""
    key = ("loads", disk_rate, flash_rate, efficiency)
    return window.once(key, lambda: _moving(window, (*key, *_runs(window)), disk_rate, flash_rate, efficiency))


def _runs(window: Window) -> tuple[float | None, ...]:
    """Return the start times of the runs that define the topology; results are reusable while these are unchanged."""
    runs = (window.now.run_of(family) for family in (DiskPath, BlockDevice, SasPhy))
    return tuple(None if run is None else run.started for run in runs)


def _moving(
    window: Window, key: tuple[object, ...], disk_rate: float, flash_rate: float, efficiency: float
) -> list[HbaLoad]:
    still = window.of_run(Hba, key, lambda: _loads(window, disk_rate, flash_rate, efficiency))
    return [replace(load, moves=_moves(window, disks_behind(window, load.hba.hba))) for load in still]


def disks_behind(window: Window, hba: str) -> tuple[str, ...]:
    """Return the disks attached to an HBA, directly or through expanders."""
    thing = window.topology.named(Naming.PCI, hba)
    return window.topology.attached(thing) if thing is not None else ()


def _loads(window: Window, disk_rate: float, flash_rate: float, efficiency: float) -> list[HbaLoad]:
    paths = list(window.rows(DiskPath).values())
    known = window.rows(BlockDevice)
    devices = {path.device: known.get(path.device) for path in paths}
    names = {device: (row.wwn if row is not None and row.wwn else device) for device, row in devices.items()}
    ways = Counter(names.values())
    found = []
    for hba in sorted(window.rows(Hba).values(), key=lambda row: row.hba):
        own = window.where(DiskPath, "hba", hba.hba)
        rows = [devices[path.device] for path in own]
        if hba.kind not in KINDS or (hba.device_id or "").startswith("1af4:"):
            continue
        if any(row is not None and row.hosted for row in rows):
            continue
        wants = disks = rotating = 0.0
        models: dict[str, float] = {}
        for path, row in zip(own, rows, strict=True):
            part = 1 / ways[names[path.device]]
            disks += part
            if row is not None and row.rotational is not None:
                wants += part * (disk_rate if row.rotational else flash_rate)
                rotating += part if row.rotational else 0
                model = " ".join(filter(None, (row.vendor, row.model))) or "unknown"
                models[model] = models.get(model, 0.0) + part
            elif path.model is not None:
                models[path.model] = models.get(path.model, 0.0) + part
        unknown = any(row is None or row.rotational is None for row in rows)
        hosts = {path.host for path in own}
        found.append(
            HbaLoad(hba, disks, rotating, models, wants, _carries(window, hba, hosts, efficiency), 0.0,
                 unknown)
        )  # fmt: skip
    return found


def _carries(window: Window, hba: Hba, hosts: set[str | None], efficiency: float) -> float | None:
    known = []
    if hba.speed is not None and hba.width is not None:
        known.append(pcie_payload(hba.speed, hba.width, efficiency))
    phys = (row for host in hosts if host is not None for row in window.where(SasPhy, "owner", host))
    sas = added(row.rate for row in phys if row.rate is not None)
    if sas:
        known.append(float(sas))
    return min(known, default=None)


def _moves(window: Window, names: tuple[str, ...]) -> float:
    """Return the current throughput: the mean of the last ten seconds."""
    if not names:
        return 0.0
    moments = window.last(10.0).moments(DiskActivity)
    total = 0.0
    for moment in moments:
        known: dict[tuple[str, ...], float] = moment.memo.setdefault("fabric.moves", {})
        if names not in known:
            rows = [row for name in names if (row := moment.rows.get(name)) is not None]
            known[names] = added(row.read_bytes_per_second + row.write_bytes_per_second for row in rows)
        total += known[names]
    return total / len(moments) if moments else 0.0
