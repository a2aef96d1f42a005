"""The node around hung devices: stacked devices, and tasks that wait for I/O."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from sdstop.collectors.system.readings import STAT, Node
from sdstop.core.expression import expression
from sdstop.core.history import Window
from sdstop.core.snapshot import Snapshot
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk
from sdstop.rules.disks.device_hung.stall import Stall, is_exempt

STACKED = expression(r"(md_?|dm-)\w+")
"""Names of stacked devices, for use if sysfs does not list the lower devices."""
_ONE_SUM = (6, 10)
"""First kernel that derives the in-flight count and the busy time from one sum over the processors.

From this kernel on, a lost completion leaves a permanent in-flight count of 1, and the idle device counts as busy.
"""
_RELEASE = expression(r"(\d{1,6})\.(\d{1,6})")


def keeps_stale_counts(kernel: str | None) -> bool:
    """Return whether a kernel may keep a stale in-flight count, as may one of unknown release."""
    found = _RELEASE.match(kernel or "")
    return found is None or (int(found[1]), int(found[2])) >= _ONE_SUM


class WaitingTasks(Struct, frozen=True):
    """Tasks that wait for I/O while a device is silent.

    `tasks` waited in every sample, None if the node does not report it; `for_it`: in at least one sample they can only
    have waited for this device, because no responding device had a request.
    """

    tasks: int | None
    for_it: bool


class Surroundings:
    """Facts that all hung devices share: the node, its stacked devices, and its tasks in each snapshot."""

    def __init__(self, window: Window, silent: Collection[str]) -> None:
        """Read the node's tasks; `silent` are the devices that complete nothing."""
        self.stacked = window.topology.once("stacked devices", lambda: _stacked(window.topology))
        self.kernel = next((node.kernel for node in window.rows(Node).values()), None)
        self._window = window
        self._silent = silent
        self._tasks: list[tuple[Snapshot, int]] = []
        for shot in reversed(window.snapshots):
            tasks = [node.tasks_blocked for node in shot.rows(Node).values() if node.tasks_blocked is not None]
            self._tasks += [(shot, tasks[0])] if tasks else []
        self.blocked = window.quote(STAT, "procs_blocked") if self._tasks and silent else None
        self._quiet: dict[int, bool] = {}
        self._waiting: dict[float, WaitingTasks] = {}

    def waiting(self, silence: Stall) -> WaitingTasks:
        """Return which tasks wait while a device is silent."""
        known = self._waiting.get(silence.since)
        if known is None:
            shots = [each for each in self._tasks if each[0].monotonic >= silence.since]
            fewest = min((tasks for _, tasks in shots), default=None)
            known = WaitingTasks(fewest, bool(fewest) and any(self._is_quiet(shot) for shot, _ in shots))
            self._waiting[silence.since] = known
        return known

    def _is_quiet(self, shot: Snapshot) -> bool:
        """Return whether no responding device had a request, leaving out those that cannot hang by themselves."""
        if shot.number not in self._quiet:
            self._quiet[shot.number] = all(
                name in self._silent or name in self.stacked or STACKED.fullmatch(name) or is_exempt(self._window, name)
                for name, row in ((str(key), row) for key, row in shot.rows(Disk).items())
                if row.in_flight
            )
        return self._quiet[shot.number]


def _stacked(topology: Topology) -> frozenset[str]:
    return frozenset(thing.device for thing in topology.things if thing.device and topology.is_stacked(thing))
