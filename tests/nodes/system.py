"""The node around the disks: /proc files of a kernel 6.1, second by second."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

_BASE_TICKS = 310_000_000
"""Ticks (10 ms) each processor has behind it: about 36 days."""
_SET = 30
"""Second in which the clock is set."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node is and how busy it is: shares are 0..1 of its processors' time, `memory` KiB."""

    host: str
    kernel: str = "6.1.0-38-amd64"
    cpus: int = 8
    memory: int = 65_720_344
    user: float = 0.02
    system: float = 0.03
    iowait: float = 0.0
    steal: float = 0.0
    interrupts: float = 0.0  # share of the first processor's time in software interrupts, beside the others' shares
    load: float = 0.3
    stalled: float = 0.0  # share of time that some task waits for I/O; 0.8 of it all do
    dirty: int = 4200
    uptime: float = 3_120_447.0
    step: int = 0  # seconds by which the clock is set after half a minute


class Node:
    """Draws up the node's files; `files` is to be called once a second, in order."""

    def __init__(self, shape: Shape, taken: float) -> None:
        """Start at the first frame's Unix time."""
        self.shape = shape
        self._rng = random.Random(f"node {shape.host}")
        self._boot = int(taken - shape.uptime)
        self._ticks = [self._begin() for _ in range(shape.cpus)]
        self._load = [shape.load, shape.load * 0.97, shape.load * 0.9]
        self._some = [shape.stalled] * 3
        self._full = [shape.stalled * 0.8] * 3
        self._totals = [int(shape.uptime * 12_000), int(shape.uptime * 9_000)]
        self._switches = 9_127_443_201

    def _begin(self) -> list[int]:
        share = 1 + 0.1 * self._rng.random()
        return [int(_BASE_TICKS * part * share) for part in (0.03, 0.0001, 0.04, 0.9, 0.02, 0.0, 0.006, 0.0)]

    def files(self, elapsed: float) -> dict[str, str]:
        """Return the files `elapsed` seconds after the first frame; what nobody needs each second, less often."""
        shape = self.shape
        if elapsed:
            self._pass()
        if elapsed == _SET:
            self._boot += shape.step
        files = {"/proc/stat": self._stat()}
        if not int(elapsed) % 5:
            load = " ".join(f"{value:.2f}" for value in self._load)
            files["/proc/loadavg"] = f"{load} 2/412 {28110 + int(elapsed)}\n"
            files["/proc/pressure/io"] = self._pressure()
        if not int(elapsed) % 10:
            idle = sum(ticks[3] for ticks in self._ticks) / 100
            files["/proc/uptime"] = f"{shape.uptime + elapsed:.2f} {idle:.2f}\n"
            files["/proc/meminfo"] = self._meminfo()
        if not elapsed:
            files |= {
                "/proc/version": f"Linux version {shape.kernel} (builder@{shape.host}) (gcc-12 (Debian 12.2.0-14) "
                "12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.147-1 (2025-08-02)\n",
                "/proc/sys/kernel/hostname": f"{shape.host}\n",
                "/proc/sys/kernel/osrelease": f"{shape.kernel}\n",
                "/proc/pressure/cpu": _psi("some", [0.001, 0.001, 0.0], 1_802_113_904) + _psi("full", [0.0] * 3, 0),
                "/proc/pressure/memory": _psi("some", [0.0] * 3, 40_231) + _psi("full", [0.0] * 3, 38_802),
            }
        return files

    def _pass(self) -> None:
        """Let a second pass."""
        shape, rng = self.shape, self._rng
        for number, ticks in enumerate(self._ticks):
            shares = (shape.user, 0.0, shape.system, None, shape.iowait, 0.0, shape.system / 8, shape.steal)
            spent = [0 if part is None else round(100 * part * rng.uniform(0.7, 1.3)) for part in shares]
            if shape.interrupts and not number:
                spent = [0, 0, 0, 0, 0, 0, round(100 * shape.interrupts), 0]
            spent[3] = max(0, 100 - sum(spent))
            for index, more in enumerate(spent):
                ticks[index] += more
        now = shape.load * rng.uniform(0.8, 1.2)
        some = min(1.0, shape.stalled * rng.uniform(0.9, 1.1))
        for index, span in enumerate((60, 300, 900)):
            self._load[index] = _decay(self._load[index], now, span)
        for index, span in enumerate((10, 60, 300)):
            self._some[index] = _decay(self._some[index], some, span)
            self._full[index] = _decay(self._full[index], some * 0.8, span)
        self._totals[0] += int(some * 1e6)
        self._totals[1] += int(some * 0.8e6)
        self._switches += rng.randrange(9_000, 11_000)

    def _stat(self) -> str:
        rows = [("cpu ", [sum(column) for column in zip(*self._ticks, strict=True)])]
        rows += [(f"cpu{number}", ticks) for number, ticks in enumerate(self._ticks)]
        lines = [f"{name} {' '.join(map(str, ticks))} 0 0" for name, ticks in rows]
        blocked = round(self.shape.stalled * self.shape.load)
        lines += [f"ctxt {self._switches}", f"btime {self._boot}", "processes 1904417", "procs_running 1"]
        return "\n".join([*lines, f"procs_blocked {blocked}", ""])

    def _meminfo(self) -> str:
        total, rng = self.shape.memory, self._rng
        free = int(total * 0.11) + rng.randrange(4000)
        rows = {
            "MemTotal": total, "MemFree": free, "MemAvailable": free + int(total * 0.66), "Buffers": 91_204,
            "Cached": int(total * 0.66), "SwapCached": 0, "SwapTotal": 999_420, "SwapFree": 999_420,
            "Dirty": int(self.shape.dirty * rng.uniform(0.6, 1.4)), "Writeback": 0, "Slab": int(total * 0.04),
        }  # fmt: skip
        return "".join(f"{name + ':':<16}{value:8d} kB\n" for name, value in rows.items())

    def _pressure(self) -> str:
        return _psi("some", self._some, self._totals[0]) + _psi("full", self._full, self._totals[1])


def _decay(before: float, now: float, span: float) -> float:
    kept = math.exp(-1 / span)
    return before * kept + now * (1 - kept)


def _psi(kind: str, averages: list[float], total: int) -> str:
    ten, sixty, more = (100 * value for value in averages)
    return f"{kind} avg10={ten:.2f} avg60={sixty:.2f} avg300={more:.2f} total={total}\n"
