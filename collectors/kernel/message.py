"""Message of the kernel that is understood, and patterns by which it is."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from functools import cache

from msgspec import Struct


class LogPlace(enum.StrEnum):
    """How a message names its device."""

    DISK = "disk"
    """Kernel name of a block device: sdc, nvme1n1, md0, dm-3."""
    MAPPED = "mapped"
    """Name of a device-mapper device: mpatha, vg-pool."""
    NUMBER = "number"
    """MAJOR:MINOR of a block device."""
    SCSI = "scsi"
    """H:C:T:L of a SCSI device."""
    ATA = "ata"
    """ATA port or device: ata7, ata7.00."""
    NVME = "nvme"
    """NVMe controller: nvme1."""
    PCI = "pci"
    CONTROLLER = "controller"
    """Driver and number of an HBA: mpt3sas_cm0."""
    SESSION = "session"
    """iSCSI session or connection."""
    SERVER = "server"
    POOL = "pool"
    """ZFS pool or device of one."""
    AOE = "aoe"
    """Shelf and slot of an AoE disk: e1.1, 1.1."""
    USB = "usb"
    NODE = "node"


class Message(Struct, frozen=True):
    """A message: its kind, device, and the text to keep. `also` is another name in the message."""

    kind: str
    place: LogPlace
    device: str
    text: str
    also: str = ""


Found = re.Match[str]
Chooser = Callable[[Found], str]

DEVICE = r"(?P<dev>[a-zA-Z][\w!/.-]{0,60})"
"""Kernel name of a block device."""


class Pattern(Struct, frozen=True):
    """Pattern of messages from their beginning, with a group for the device (`dev`); each of them has the word.

    A group `hidden` (behind it: `hidden_peer`) is a name that the owner chose and that no field of a reading has; a
    hyphen replaces it.
    `kind` returns "" for matches that are normal.
    """

    word: str
    regex: str
    kind: str | Chooser
    place: LogPlace

    @property
    def form(self) -> re.Pattern[str]:
        """The compiled pattern; compiling all of them would take a seventh of the start of every command."""
        return _compiled(self.regex)


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.ASCII)


def pattern(word: str, form: str, kind: str | Chooser, place: LogPlace) -> Pattern:
    """Return the pattern of messages of one form."""
    return Pattern(word, form, kind, place)
