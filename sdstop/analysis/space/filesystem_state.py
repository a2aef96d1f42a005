"""File systems by device: mount points, access, and messages about them in the kernel's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.tasks.kernel_log import by_thing, in_force
from sdstop.collectors.block.mount_readings import FilesystemSpace, MountPoint
from sdstop.collectors.kernel.kinds import Subject
from sdstop.collectors.kernel.readings import KernelComplaint
from sdstop.core.history import Window

STOPPED = frozenset({"fs-readonly", "fs-shutdown", "journal-abort"})
"""Kinds of messages with which a file system stops writes."""
AFTER_ERROR = frozenset({"emergency_ro", "shutdown"})
"""Mount options that the kernel sets after an error."""


class FilesystemState(Struct, frozen=True):
    """File system on a device: its mount points, messages about it that are not over, and its flags if known."""

    device: str
    mounts: tuple[MountPoint, ...]
    messages: tuple[KernelComplaint, ...]
    flags: FilesystemSpace | None = None

    @property
    def forced(self) -> bool:
        """Whether the kernel refuses writes although it is mounted for writing."""
        return self.flags is not None and self.flags.state in {"forced read-only", "shut down"}

    @property
    def by_option(self) -> bool:
        """Whether its mount options are read-only, as an administrator sets them."""
        return self.flags is not None and self.flags.state == "read-only"

    @property
    def words(self) -> frozenset[str]:
        """Access of all mount points: ro, rw, shutdown, emergency_ro; empty if it was not recorded."""
        return frozenset(word for row in self.mounts for word in (row.access or "").split(",") if word)

    @property
    def stopped(self) -> tuple[KernelComplaint, ...]:
        """Messages with which the kernel stopped writes."""
        return tuple(row for row in self.messages if row.kind in STOPPED)

    @property
    def filesystem(self) -> str:
        """Type: ext4, xfs, btrfs; "" if it is not mounted."""
        return self.mounts[0].filesystem if self.mounts else ""

    @property
    def place(self) -> str:
        """First mount point, or the device."""
        return min((row.point for row in self.mounts), key=len, default=self.device)


def filesystem_states(window: Window) -> dict[str, FilesystemState]:
    """Return the file systems on block devices of this node by the kernel name of their device."""

    def made() -> dict[str, FilesystemState]:
        mounts: dict[str, list[MountPoint]] = {}
        for row in window.rows(MountPoint).values():
            if row.device is not None:
                mounts.setdefault(device_of(window, row), []).append(row)
        messages = _with_journals(window, by_thing(window, Subject.FILESYSTEM))
        spaces = {row.point: row for row in window.rows(FilesystemSpace).values() if row.state is not None}
        flags = {
            name: next((spaces[row.point] for row in rows if row.point in spaces), None)
            for name, rows in mounts.items()
        }
        return {
            name: FilesystemState(
                name, tuple(mounts.get(name, ())), tuple(_held(messages.get(name, ()))), flags.get(name)
            )
            for name in dict.fromkeys((*mounts, *messages))
        }

    log = window.now.run_of(KernelComplaint)
    return window.of_run(MountPoint, ("states", None if log is None else log.started), made)


def _with_journals(
    window: Window, messages: Mapping[str, Sequence[KernelComplaint]]
) -> Mapping[str, Sequence[KernelComplaint]]:
    """Return the messages by file system; those of a journal on a device of its own are of the file system above it."""
    owners = {
        name_of(window, row.log): device_of(window, row)
        for row in window.rows(MountPoint).values()
        if row.log is not None
    }
    if owners.keys().isdisjoint(messages):
        return messages
    found: dict[str, list[KernelComplaint]] = {}
    for name, rows in messages.items():
        found.setdefault(owners.get(name, name), []).extend(rows)
    return found


def _held(rows: Sequence[KernelComplaint]) -> list[KernelComplaint]:
    return in_force(rows)


def device_of(window: Window, row: MountPoint) -> str:
    """Return the kernel name of a mount point's device, or its path below /dev if it is unknown."""
    return name_of(window, row.device or "")


def name_of(window: Window, path: str) -> str:
    """Return the kernel name of a device by its path, or the path below /dev if it is unknown."""
    name = path.removeprefix("/dev/")
    thing = window.topology.find(name)
    return thing.device if thing is not None and thing.device is not None else name
