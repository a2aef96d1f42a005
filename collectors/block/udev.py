"""Stable device names from udev."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sdstop.collectors.block.readings import UDEV
from sdstop.core.host import Host, TimedOut, Unreadable
from sdstop.readings.disk import device_name

QUESTION = "udev.block"
"""Recorded query, used where the database is out of sight."""
PROPERTIES = ("ID_WWN", "ID_WWN_WITH_EXTENSION", "ID_SERIAL_SHORT", "ID_SCSI_SERIAL", "ID_PATH", "DEVLINKS")
"""The udev properties that are read; others contain file system labels and names."""
_LINKS = ("disk/by-path/", "disk/by-id/")
_RANKS = ("wwn-", "nvme-eui.", "nvme-uuid.", "dm-name-", "md-name-", "md-uuid-", "ata-", "nvme-", "scsi-", "virtio-")


class UdevNames(Struct, frozen=True):
    """A device's udev data: properties (`ID_WWN`...) and links below /dev (`disk/by-path/...`)."""

    properties: Mapping[str, str]
    links: tuple[str, ...]

    @property
    def wwn(self) -> str | None:
        """World wide name: `0x5000c500a1b2c3d4`, `eui.0025385b71b0d1b2`."""
        return self.properties.get("ID_WWN_WITH_EXTENSION") or self.properties.get("ID_WWN") or None

    @property
    def serial(self) -> str | None:
        """Serial number."""
        return self.properties.get("ID_SERIAL_SHORT") or self.properties.get("ID_SCSI_SERIAL") or None

    @property
    def by_path(self) -> str | None:
        """Name in /dev/disk/by-path: identifies the slot, not the device in it."""
        return min(self._links("disk/by-path/"), default=None) or self.properties.get("ID_PATH") or None

    @property
    def by_id(self) -> str | None:
        """Name in /dev/disk/by-id; of several, the one most specific to the device and least to its driver."""
        names = sorted(self._links("disk/by-id/"))
        return min(names, key=lambda name: [not name.startswith(rank) for rank in _RANKS], default=None)

    def _links(self, folder: str) -> list[str]:
        return [link.removeprefix(folder) for link in self.links if link.startswith(folder)]


NO_NAMES = UdevNames({}, ())


def parse_names(text: str) -> UdevNames:
    """Parse a file of udev's database (`/run/udev/data/b8:0`; systemd, src/libsystemd/sd-device).

    A line is a letter, a colon and a value; only these two kinds are used:

        S:disk/by-path/pci-0000:3b:00.0-sas-phy7-lun-0
        E:ID_WWN=0x5000c500a1b2c3d4
    """
    links, properties = [], {}
    for line in text.splitlines():
        if line.startswith("S:"):
            links.append(line[2:])
        elif line.startswith("E:"):
            name, _, value = line[2:].partition("=")
            properties[name] = value
    return UdevNames(properties, tuple(links))


def kept_names(data: bytes) -> bytes:
    """Return only the lines of a udev database file that are parsed."""
    starts = (*(f"S:{link}" for link in _LINKS), *(f"E:{name}=" for name in PROPERTIES))
    known = tuple(start.encode() for start in starts)
    return b"".join(line for line in data.splitlines(keepends=True) if line.startswith(known))


def kept_answer(data: bytes) -> bytes:
    """Return udev query output with only the properties that are read; b"" if it is invalid."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(said, dict):
        return b""
    kept = {
        device: {name: _links_of(value) if name == "DEVLINKS" else value for name, value in known.items()
                 if name in PROPERTIES}
        for device, known in said.items() if isinstance(known, dict)
    }  # fmt: skip
    return data if kept == said else json.dumps(kept).encode()


def _links_of(value: object) -> str:
    links = str(value).split()
    return " ".join(link for link in links if link.removeprefix("/dev/").startswith(_LINKS))


def answered_names(said: Any) -> dict[str, UdevNames]:
    """Return names by device from udev query output.

    The output is `{"sda": {"ID_WWN": "0x5...", "DEVLINKS": "/dev/disk/..."}}`.
    """
    found = {}
    for device, properties in said.items() if isinstance(said, dict) else ():
        if isinstance(properties, dict):
            texts = {str(name): value for name, value in properties.items() if isinstance(value, str)}
            links = (link.removeprefix("/dev/") for link in texts.get("DEVLINKS", "").split())
            found[device_name(str(device))] = UdevNames(texts, tuple(links))
    return found


class UdevDatabase:
    """Names from udev's database, or from a recorded udev query if udev is not running."""

    def __init__(self, host: Host) -> None:
        """Check whether udev runs; if not, ask for the recorded query. Raises TimedOut."""
        self._host = host
        self._runs = "data" in host.names("/run/udev")
        self._said: dict[str, UdevNames] = {}
        if not self._runs:
            try:
                self._said = answered_names(host.answer(QUESTION))
            except TimedOut:
                raise
            except Unreadable:
                pass

    def names(self, device: str, number: str | None) -> UdevNames:
        """Return the names of a device; `number` is its major:minor."""
        if not self._runs:
            return self._said.get(device, NO_NAMES)
        text = self._host.maybe(f"{UDEV}/b{number}") if number is not None else None
        return parse_names(text) if text is not None else NO_NAMES
