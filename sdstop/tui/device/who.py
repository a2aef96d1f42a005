"""Who uses a device: processes that do I/O, which the kernel counts by process and not by disk."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.collectors.system.readings import ProcessActivity, ProcessIo
from sdstop.core.format import rate
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.detail import busy_processes
from sdstop.tui.widgets.palette import FAINT, READ, WRITE, text, width_of
from sdstop.tui.widgets.pane import Row, words

BY_PROCESS = "by process, not disk"


class DeviceUser(Struct, frozen=True):
    """Processes of one name that do I/O."""

    name: str
    processes: tuple[ProcessActivity, ...]

    @property
    def read(self) -> float:
        """Bytes read per second."""
        return sum(process.read_bytes_per_second for process in self.processes)

    @property
    def write(self) -> float:
        """Bytes written per second."""
        return sum(process.write_bytes_per_second for process in self.processes)


def programs(scene: Scene) -> list[DeviceUser]:
    """Return the programs of the whole node that do I/O, the busiest first."""
    found: dict[str, list[ProcessActivity]] = {}
    for process in busy_processes(scene):
        found.setdefault(process.name, []).append(process)
    listed = [DeviceUser(name, tuple(processes)) for name, processes in found.items()]
    return sorted(listed, key=lambda program: -(program.read + program.write))


def program_words(program: DeviceUser, scene: Scene) -> str:
    """Return a program in short: `10 x qemu-img w 27.0M`."""
    count = len(program.processes)
    flows = [f"{side} {rate(value)}" for side, value in (("r", program.read), ("w", program.write)) if value]
    return f"{f'{count} x ' if count > 1 else ''}{scene.palette.word(program.name, 40)} {' '.join(flows)}"


def who_rows(listed: Sequence[DeviceUser], scene: Scene, width: int) -> list[Row]:
    """Return a row for each program, which opens the busiest of its processes."""
    found = []
    for program in listed:
        count = len(program.processes)
        name = f" {f'{count} x ' if count > 1 else ''}{scene.palette.word(program.name, 40)}"
        flows = text(
            *([("  r ", FAINT), (rate(program.read), READ)] if program.read else []),
            *([("  w ", FAINT), (rate(program.write), WRITE)] if program.write else []),
        )
        room = max(width - width_of(flows) - 1, 4)
        first = program.processes[0]
        key = (first.pid, first.started)
        link = FactLink(FactSubject(first.name, ((ProcessActivity, key), (ProcessIo, key))))
        found.append(words((*text(scene.palette.fit(name, room)), *flows), ("program", program.name), link))
    return found
