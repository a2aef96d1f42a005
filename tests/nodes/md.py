"""A node with one md array, as files, at one moment: what rules about arrays and rebuilds are shown."""

from __future__ import annotations

from dataclasses import dataclass, field

KIB = 1024
MIB = 1024 * KIB


@dataclass
class Disk:
    """What a disk has done so far: requests, sectors, busy milliseconds, and what it has in flight."""

    name: str
    requests: int = 0
    sectors: int = 0
    busy: int = 0
    in_flight: int = 0

    def row(self, minor: int) -> str:
        return (
            f"   8 {minor:7} {self.name} {self.requests} 0 {self.sectors} {self.busy} 0 0 0 0 {self.in_flight} "
            f"{self.busy} {self.busy} 0 0 0 0 0 0\n"
        )


@dataclass
class Node:
    """An array of `disks` on sda1, sdb1 ... unless told otherwise. `done` and `total` in KiB; None: no progress."""

    level: str = "raid5"
    slots: str = "UUU_"
    state: str = "clean"
    activity: str = "active"
    flags: dict[str, str] = field(default_factory=dict)
    spares: tuple[str, ...] = ()
    layout: str = "level 5, 512k chunk, algorithm 2"
    operation: str = "recovery"
    action: str = "recover"
    done: int | None = None
    total: int = 1000 * MIB // KIB
    speed: int = 100 * KIB
    waiting: str = ""
    least: str = "1000 (system)"
    most: str = "200000 (system)"
    stop: str = "max"
    stripe_cache: int = 256
    sysfs: bool = True
    disks: list[Disk] = field(default_factory=list)
    own: Disk | None = None

    @property
    def names(self) -> list[str]:
        return [f"sd{chr(ord('a') + slot)}" for slot in range(len(self.slots))]

    def files(self) -> dict[str, str]:
        names = [name for name in self.names if name not in self.flags or self.flags[name]]
        devices = [f"{name}[{slot}]{self.flags.get(name, '')}" for slot, name in enumerate(self.names) if name in names]
        devices += [f"{name}[{9 + n}](S)" for n, name in enumerate(self.spares)]
        working = self.slots.count("U")
        lines = [
            "Personalities : [raid1] [raid10] [raid6] [raid5] [raid4] ",
            f"md0 : {self.activity} {self.level if self.activity != 'inactive' else ''} {' '.join(devices)}",
            f"      3906764800 blocks super 1.2 {self.layout}"
            + (f" [{len(self.slots)}/{working}] [{self.slots}]" if self.slots.strip("-") else ""),
        ]
        if self.done is not None:
            share = 100 * self.done / self.total
            lines.append(
                f"      [=>...................]  {self.operation} ={share:5.1f}% ({self.done}/{self.total}) "
                f"finish=1.0min speed={self.speed}K/sec"
            )
        if self.waiting:
            lines.append(f"      \tresync={self.waiting}")
        files = {"/proc/mdstat": "\n".join([*lines, "", "unused devices: <none>", ""])}
        if self.sysfs:
            files |= {f"/sys/block/md0/md/{name}": f"{said}\n" for name, said in self._attributes(working).items()}
            for slot, name in enumerate(self.names):
                if name in names:
                    up = self.slots[slot] == "U"
                    faulty = "F" in self.flags.get(name, "")
                    state = "faulty" if faulty else "in_sync" if up else "spare"
                    files[f"/sys/block/md0/md/dev-{name}/state"] = f"{state}\n"
                    files[f"/sys/block/md0/md/dev-{name}/slot"] = "none\n" if faulty else f"{slot}\n"
        if self.disks:
            disks = [*self.disks, *([self.own] if self.own is not None else [])]
            files["/proc/diskstats"] = "".join(disk.row(minor) for minor, disk in enumerate(disks))
        return files

    def _attributes(self, working: int) -> dict[str, str]:
        redundant = self.level not in {"raid0", "linear"}
        if not redundant:
            return {"level": self.level, "array_state": self.state}
        return {
            "level": self.level,
            "raid_disks": str(len(self.slots)),
            "array_state": self.state,
            "degraded": str(len(self.slots) - working),
            "sync_action": self.action,
            "sync_speed_min": self.least,
            "sync_speed_max": self.most,
            "sync_completed": f"{(self.done or 0) * 2} / {self.total * 2}",
            "sync_max": self.stop,
            "stripe_cache_size": str(self.stripe_cache),
        }


def run(
    seconds: int,
    rate: float,
    *,
    busy: float = 0.5,
    foreground: float = 0.0,
    done: float = 1000.0,
    total: float = 1e6,
    busier: float | None = None,
    step: int = 1,
    **settings: object,
) -> list[tuple[float, dict[str, str]]]:
    """Return a rebuild at `rate` MiB/s for `seconds`, a frame each `step`: done, total in MiB, members' busy time 0..1.

    `foreground` MiB/s of others' I/O on the array itself; `busier` is the busy time of the first member alone.
    """
    shown = []
    for t in range(0, seconds + 1, step):
        node = Node(done=int((done + rate * t) * KIB), total=int(total * KIB), **settings)  # type: ignore[arg-type]
        node.disks = [
            Disk(
                name, 100 * t, int(rate * t * 2048), int(1000 * t * (busier if n == 0 and busier is not None else busy))
            )
            for n, name in enumerate(node.names)
        ]
        node.own = Disk("md0", int(foreground * 16 * t), int(foreground * t * 2048), int(100 * t))
        shown.append((float(t), node.files()))
    return shown
