"""Programs that do the I/O of a node: their processes counted together, those of one name as one."""

from __future__ import annotations

from msgspec import Struct

from sdstop.collectors.system.processes import ProcessActivity, ProcessIo
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.core.text import added

LEAST = 0.05
"""Share of the rate of a program's busiest process, below which another of its processes does not count."""
MATTERS = 0.1
"""Share of all processes' I/O below which a program is not named."""


class Program(Struct, frozen=True):
    """Processes of one name that do I/O: how many, the busiest, and their bytes per second; `share` of all I/O.

    `row` are the counters of the busiest, for evidence.
    """

    name: str
    processes: int
    pid: int
    bytes_per_second: float
    share: float
    row: ProcessIo | None

    @property
    def words(self) -> str:
        """Number and name, for display."""
        name = human.safe(self.name, 40)
        return f"{name} (pid {self.pid})" if self.processes == 1 else f"{self.processes} x {name}"


def programs(window: Window) -> list[Program]:
    """Return the programs that do at least a tenth of the I/O now, the busiest first."""
    by_name: dict[str, list[tuple[float, ProcessActivity]]] = {}
    for row in window.rows(ProcessActivity).values():
        moved = row.read_bytes_per_second + row.write_bytes_per_second
        if moved:
            by_name.setdefault(row.name, []).append((moved, row))
    every = added(moved for rows in by_name.values() for moved, _ in rows)
    found = []
    for name, rows in by_name.items():
        most, busiest = max(rows, key=lambda known: known[0])
        counted = [moved for moved, _ in rows if moved >= LEAST * most]
        moved = added(counted)
        counters = window.get(ProcessIo, (busiest.pid, busiest.started))
        if moved >= MATTERS * every:
            found.append(Program(name, len(counted), busiest.pid, moved, moved / every, counters))
    return sorted(found, key=lambda program: (-program.bytes_per_second, program.name))


def advice(window: Window) -> str:
    """Return a line that names the program behind most of the I/O, "" if it is not known."""
    found = programs(window)
    if not found:
        return ""
    first = found[0]
    rate = human.quantity(first.bytes_per_second, "bytes_per_second")
    name = quoted(human.safe(first.name, 40))
    if first.processes == 1:
        return f"the process that does most I/O on this node now is {name} (pid {first.pid}), {rate}"
    return f"{first.processes} processes {name} do most of the I/O on this node now, {rate}"
