"""Location of a device in the machine, from its path below /sys/devices."""

from __future__ import annotations

from sys import intern

from msgspec import Struct

from sdstop.core.expression import expression

_FUNCTION = expression(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HOST = expression(r"host\d+")
_PORT = expression(r"port-\d+(:\d+){1,2}")
_EXPANDER = expression(r"expander-\d+:\d+")
_ENCLOSURE = expression(r"0x[0-9a-f]{1,16}")
_END = expression(r"end_device-\d+(:\d+){1,2}")
_BEGINNINGS = (*"0123456789abcdef", "host", "port-", "expander-", "end_device-")
"""Beginnings of all of them, which most parts of a path do not have."""


class PciePath(Struct, frozen=True):
    """Path to a device, outermost first; parts that the path does not have are empty.

    `functions` are PCI function addresses: the last is the one the device is attached to (an HBA, an NVMe drive), the
    one before it the port of the bridge above. `ports` and `expanders` are names of the SAS transport class.
    """

    functions: tuple[str, ...] = ()
    host: str = ""
    ports: tuple[str, ...] = ()
    expanders: tuple[str, ...] = ()
    end_device: str = ""


def is_function(name: str) -> bool:
    """Return whether a name is a PCI function address: 0000:82:00.0."""
    return _FUNCTION.fullmatch(name) is not None


def parse_place(path: str) -> PciePath:
    """Parse a device's directory or a link to it (SAS names: kernel drivers/scsi/scsi_transport_sas.c).

    ../../devices/pci0000:80/0000:80:02.0/0000:82:00.0/host1/port-1:0/expander-1:0/port-1:0:5/end_device-1:0:5/...
    """
    parts = [intern(part) for part in path.split("/") if part.startswith(_BEGINNINGS)]  # disks of an HBA share them
    return PciePath(
        tuple(part for part in parts if _FUNCTION.fullmatch(part)),
        next((part for part in parts if _HOST.fullmatch(part)), ""),
        tuple(part for part in parts if _PORT.fullmatch(part)),
        tuple(dict.fromkeys(part for part in parts if _EXPANDER.fullmatch(part))),
        next((part for part in parts if _END.fullmatch(part)), ""),
    )


def enclosure_of(said: str | None) -> str | None:
    """Return an enclosure identifier, `0x500093d0016c0000`; None for zeros and for drivers' placeholders."""
    return said if said is not None and _ENCLOSURE.fullmatch(said) and int(said, 16) else None
