"""Programs that do the I/O of a node: their processes counted together, those of one name as one."""

from __future__ import annotations

from msgspec import Struct

from sdstop.collectors.system.readings import ProcessActivity, ProcessIo
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.shell import phrase
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
        return self._words(human.safe(self.name, 24))

    @property
    def phrase(self) -> str:
        """Number and name, for use in a sentence of advice."""
        return self._words(phrase(human.safe(self.name, 24)))

    def _words(self, name: str) -> str:
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
    """Return a sentence that names the program with most of the I/O, "" if it is unknown."""
    found = programs(window)
    if not found:
        return ""
    rate = human.quantity(found[0].bytes_per_second, "bytes_per_second")
    return f"Busiest program on this node: {found[0].phrase}, {rate}."
