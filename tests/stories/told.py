"""A story whose node is told by evidence, as tests/nodes draws it up: keys instead of members of a capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sdstop.core.evidence import slug
from tests.nodes.system import Node, Shape
from tests.stories.archive import Archive
from tests.stories.disks import SYSTEM, SystemDisk
from tests.stories.interfaces import STILL, Interfaces, Nic
from tests.stories.rows import Rows, text
from tests.stories.scene import NO_PATHS

_NO_MD = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'

Evidence = Mapping[str, str | bytes]
"""Evidence by key: `/proc/stat`, `cmd:zpool status`, `link:/sys/block/sda`."""


@dataclass(frozen=True, slots=True)
class Told:
    """A node that is looked at every `step` seconds, `looks` times.

    `more` gives what is told besides; `disks` are devices with major and minor, `counted` their rows, which `more`
    may not hold.
    """

    shape: Shape
    taken: float
    step: int
    looks: int
    more: Callable[[int], Evidence]
    disks: Mapping[str, tuple[int, int]]
    counted: Callable[[int], Rows]
    nics: Sequence[Nic] = STILL

    def write(self, path: Path) -> None:
        """Write the capture."""
        node, interfaces = Node(self.shape, self.taken), Interfaces(self.shape.host, self.nics)
        system = SystemDisk(self.shape.host)
        archive = Archive(path, self.shape.host, taken=self.taken, monotonic=self.shape.uptime)
        for second in range(self.step * (self.looks - 1) + 1):
            files: dict[str, str | bytes] = {**node.files(second), **interfaces.files(second)}
            files["/proc/diskstats"] = text(SYSTEM, system.rows()) + text(self.disks, self.counted(second))
            files["outcomes.json"] = _NO_MD
            if not second:
                files |= system.sysfs() | NO_PATHS
            if second % self.step == 0:
                told = self.more(second)
                links = {key[5:]: str(value) for key, value in told.items() if key.startswith("link:")}
                if links and not second:
                    archive.links(links)
                files |= {_member(key): value for key, value in told.items() if not key.startswith("link:")}
                archive.add(files, second)
        archive.finish()


def _member(key: str) -> str:
    """Return the name below a frame that holds a piece of evidence."""
    return f"commands/{slug(key[4:])}/stdout" if key.startswith("cmd:") else key


def moved(
    second: float, *, reads: float = 0.0, read: float = 0.0, read_wait: float = 0.0, writes: float = 0.0,
    written: float = 0.0, write_wait: float = 0.0, busy: float = 0.0, before: float = 600_000.0,
) -> list[int]:  # fmt: skip
    """Return the counters of a device after so many seconds, and `before` them at the same rates.

    Requests and bytes a second, mean waits and shares of time in seconds. Times are taken modulo 2^32 ms.
    """
    passed = before + second
    numbers = [
        reads * passed, 0, read * passed / 512, reads * read_wait * 1000 * passed,
        writes * passed, 0, written * passed / 512, writes * write_wait * 1000 * passed,
        0, busy * passed * 1000, (reads * read_wait + writes * write_wait) * 1000 * passed, 0, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    return [int(number) % _WRAP if place in _TIMES else int(number) for place, number in enumerate(numbers)]


_WRAP = 1 << 32
_TIMES = (3, 7, 9, 10)
