"""A device of a pool: the note on it and the steps that inspect it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.collectors.zfs.readings import Vdev
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run


def device_note(vdev: Vdev) -> str:
    """Return the note of zpool status on a device, without trim and scan status."""
    note = re.sub(r" ?\([^)]*\)", "", vdev.note or "")
    return f", {human.safe(note, 20)}" if note else ""


def device_steps(vdev: Vdev) -> Iterator[Advice]:
    """Yield the commands that inspect a device: kernel log, and SMART data if its kernel name is known."""
    if vdev.device:
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(vdev.device))
        yield run("smartctl", "-x", f"/dev/{vdev.device}")
    else:
        yield run("journalctl", "-k")
