"""Sides of a comparison: the state of a node in a capture, or at one of its moments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property

from sdstop.analysis.comparison.load_totals import LoadTotals
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.system.readings import Node
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Outcome, dated
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.judgement import Judgement
from sdstop.core.model import Reading
from sdstop.core.session import Look, Session
from sdstop.core.snapshot import Run

_STABLE = (Naming.WWN, Naming.UUID)
"""Namings that stay when the kernel calls a device by another name."""


class ComparedSide:
    """One side: a session that was fed with all its frames, and the load that they show.

    `source` is how the user named it. At a `moment`, the findings are those active then; otherwise all of the capture.
    """

    def __init__(
        self, session: Session, loads: LoadTotals, source: str, *, moment: bool = False, look: Look | None = None
    ) -> None:
        """Keep a session of at least one frame; `look` is the state to compare, None: the newest one."""
        self.session = session
        self.loads = loads
        self.source = source
        self.moment = moment
        self.look: Look = session.head() if look is None else look

    @property
    def window(self) -> Window:
        """The last window."""
        return self.look.window

    @property
    def judgement(self) -> Judgement:
        """The verdicts at the end."""
        return self.look.judgement

    @cached_property
    def host(self) -> str:
        """The name of the node, that of the capture if the node's is unknown."""
        node = self.window.get(Node, ())
        return (node.hostname if node is not None else None) or self.session.origin.name

    @property
    def names_host(self) -> bool:
        """Whether the node's own name was recorded."""
        node = self.window.get(Node, ())
        return node is not None and bool(node.hostname)

    @property
    def started(self) -> float | None:
        """Unix time of the first frame, None if undated."""
        first = self.window.snapshots[0].taken if self.moment else self.session.started
        return first if first is not None and dated(first) else None

    @property
    def ended(self) -> float | None:
        """Unix time of the last frame, None if undated."""
        return self.look.now.taken if dated(self.look.now.taken) else None

    @property
    def seconds(self) -> float:
        """Time between the first and the last frame."""
        return self.window.seconds if self.moment else self.look.now.monotonic - self.session.began

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.window.snapshots) if self.moment else self.session.frames_seen

    @cached_property
    def episodes(self) -> Sequence[Episode]:
        """The findings to compare."""
        if self.moment:
            return [Episode(finding, self.look.now.taken) for finding in self.judgement.findings]
        return self.session.episodes()

    def run_of(self, family: type[Reading]) -> Run | None:
        """Return the newest run of the sources of a family: one that has it, otherwise any; None: none was run."""
        shot = self.look.now
        known = shot.run_of(family)
        if known is not None:
            return known
        names = self.window.providers.get(family, ())
        return next((shot.runs[name] for name in names if name in shot.runs), None)

    def lacking(self, family: type[Reading]) -> str:
        """Return why it is unknown which rows of a family there are, "" if it is known.

        A source that is not present on the node has none; one that was not recorded may have had any.
        """
        run = self.run_of(family)
        if run is None or (run.outcome is Outcome.ABSENT and not run.recorded):
            return "not recorded"
        if run.ok:
            return "incomplete" if run.defects or run.partial else ""
        return "" if run.outcome is Outcome.ABSENT else run.word

    def was_recorded(self, row: Reading) -> bool:
        """Return whether this side has output of the program that a row of another side is from.

        One source may read files and several programs: it works without the output of some of them.
        """
        place = row.source()
        if place is None or not place.key.startswith(("cmd:", "slug:")):
            return True
        program = re.split(r"[ _]", place.key.partition(":")[2], maxsplit=1)[0]
        return self._recorded(program)

    @cached_property
    def _recorded(self) -> Callable[[str], bool]:
        host = self.look.host
        return cache(lambda program: any(host.recorded(program)))

    @cached_property
    def stable_names(self) -> Mapping[tuple[Naming, str], str]:
        """Kernel names of block devices by names that stay, of devices of which each has its own."""
        found: dict[tuple[Naming, str], list[str]] = {}
        whole = {row.device for row in self.window.rows(BlockDevice).values() if not row.parent}
        for thing in self.window.topology.things:
            if thing.device in whole:
                for naming, name in thing.names:
                    if naming in _STABLE:
                        found.setdefault((naming, name), []).append(thing.device or "")
        return {key: names[0] for key, names in found.items() if len(names) == 1}


def renames(before: ComparedSide, after: ComparedSide) -> dict[str, str]:
    """Return the kernel names of block devices that have another one after, with that one; partitions follow."""
    found: dict[str, str] = {}
    for key, name in before.stable_names.items():
        other = after.stable_names.get(key)
        if other is not None and other != name:
            found[name] = other
    for row in before.window.rows(BlockDevice).values():
        other = found.get(row.parent or "")
        if other is not None and row.parent and row.device.startswith(row.parent):
            found[row.device] = other + row.device.removeprefix(row.parent)
    return found


def renamed(name: str, names: Mapping[str, str]) -> str:
    """Return a name, a list of names or a subject such as `md2/sdc`, with devices called as they are after."""
    if not names or name in names:
        return names.get(name, name)
    for mark in (",", "/"):
        if mark in name:
            return mark.join(names.get(part, part) for part in name.split(mark))
    return name


def moment_side(session: Session, look: Look, source: str) -> ComparedSide:
    """Return a moment of a session as a side, with the load of the window that ends there."""
    loads = LoadTotals()
    for shot in look.window.snapshots:
        loads.add(shot)
    return ComparedSide(session, loads, source, moment=True, look=look)
