"""A scene puts a node together: what is on all of them, and the arrays and loads of one story."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from sdstop.core.evidence import slug
from tests.arrays import Frame, simulate
from tests.nodes.system import Node, Shape
from tests.stories.archive import Archive
from tests.stories.disks import SYSTEM, Shelf, SystemDisk, mdstat
from tests.stories.interfaces import STILL, Interfaces, Nic
from tests.stories.rows import Rows, added, past, rows, text

V = TypeVar("V")

NO_PATHS = {f"commands/{slug(f'ip -j -s {six}route show cache')}/stdout": "[ ]\n" for six in ("", "-6 ")}

_NO_MD = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'


class Writable(Protocol):
    """Something that can be written as a capture."""

    def write(self, path: Path) -> None:
        """Write the capture into the folder `path`."""


Stories = dict[str, Callable[[], Writable]]
"""Folder below fixtures/ to what makes it; what it is about stands in the README.md there, written by hand."""


@dataclass(slots=True)
class Part:
    """An array in a scene: its disks, and what the kernel shows of it second by second.

    `mdstat` and `sysfs` have one entry for each second, or one for all.
    """

    shelf: Shelf
    rows: list[Rows]
    mdstat: list[str]
    sysfs: list[dict[str, str]]

    @classmethod
    def of(cls, shelf: Shelf, frames: Sequence[Frame]) -> Part:
        """Show what was simulated."""
        return cls(
            shelf,
            [shelf.rows(rows(frame)) for frame in frames],
            [shelf.mdstat(frame.mdstat) for frame in frames],
            [shelf.sysfs(frame.files) for frame in frames],
        )

    @classmethod
    def simulated(cls, shelf: Shelf, seed: int, seconds: int) -> Part:
        """Run the simulator on the shelf's array."""
        return cls.of(shelf, list(simulate(shelf.spec, seed, seconds)))


@dataclass(slots=True)
class Scene:
    """A node with its arrays, `seconds` long; `extra` are further files, by the second in which they change."""

    shape: Shape
    taken: float
    seconds: int
    parts: Sequence[Part] = ()
    nics: Sequence[Nic] = STILL
    extra: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the capture."""
        node, interfaces = Node(self.shape, self.taken), Interfaces(self.shape.host, self.nics)
        system = SystemDisk(self.shape.host)
        archive = Archive(path, self.shape.host, taken=self.taken, monotonic=self.shape.uptime)
        links = dict(self.links)
        for part in self.parts:
            links |= part.shelf.links()
        if links:
            archive.links(links)
        for second in range(self.seconds + 1):
            files = node.files(second) | interfaces.files(second)
            files["/proc/diskstats"] = text(SYSTEM, system.rows()) + "".join(
                text(part.shelf.devices, self._counted(part, second)) for part in self.parts
            )
            if self.parts:
                levels = sorted({part.shelf.spec.level for part in self.parts})
                files["/proc/mdstat"] = mdstat(levels, *(_at(part.mdstat, second) for part in self.parts))
            else:
                files["outcomes.json"] = _NO_MD
            for part in self.parts:
                files |= _at(part.sysfs, second)
            if not second:
                files |= system.sysfs() | NO_PATHS
                for part in self.parts:
                    files |= part.shelf.udev(self.shape.host)
            archive.add(files | dict(self.extra.get(second, {})), second)
        archive.finish()

    def _counted(self, part: Part, second: int) -> Rows:
        shelf = part.shelf
        mirrors = shelf.spec.disks // shelf.spec.columns
        return added(part.rows[second], past(list(shelf.devices), f"{self.shape.host} {shelf.spec.name}", mirrors))


def _at(values: Sequence[V], second: int) -> V:
    return values[second] if len(values) > 1 else values[0]
