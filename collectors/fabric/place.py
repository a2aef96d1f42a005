"""Where in the machine a device sits, as its folder below /sys/devices says."""

from __future__ import annotations

import re

from msgspec import Struct

_FUNCTION = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HOST = re.compile(r"host\d+")
_PORT = re.compile(r"port-\d+(:\d+){1,2}")
_EXPANDER = re.compile(r"expander-\d+:\d+")
_ENCLOSURE = re.compile(r"0x[0-9a-f]{1,16}")
_END = re.compile(r"end_device-\d+(:\d+){1,2}")


class PciePath(Struct, frozen=True):
    """The way to a device, outermost first; what is not on it is empty.

    `functions` are addresses of PCI functions: the last is what the device hangs on (an HBA, an NVMe drive), the one
    before it the port of the bridge above. `ports` and `expanders` are the SAS transport's names.
    """

    functions: tuple[str, ...] = ()
    host: str = ""
    ports: tuple[str, ...] = ()
    expanders: tuple[str, ...] = ()
    end_device: str = ""


def is_function(name: str) -> bool:
    """Whether a name is the address of a PCI function: 0000:82:00.0."""
    return _FUNCTION.fullmatch(name) is not None


def parse_place(path: str) -> PciePath:
    """Read a device's folder, or a link to it (kernel drivers/scsi/scsi_transport_sas.c names what is SAS).

    ../../devices/pci0000:80/0000:80:02.0/0000:82:00.0/host1/port-1:0/expander-1:0/port-1:0:5/end_device-1:0:5/...
    """
    parts = path.split("/")
    return PciePath(
        tuple(part for part in parts if _FUNCTION.fullmatch(part)),
        next((part for part in parts if _HOST.fullmatch(part)), ""),
        tuple(part for part in parts if _PORT.fullmatch(part)),
        tuple(dict.fromkeys(part for part in parts if _EXPANDER.fullmatch(part))),
        next((part for part in parts if _END.fullmatch(part)), ""),
    )


def enclosure_of(said: str | None) -> str | None:
    """Return an enclosure's identifier, `0x500093d0016c0000`; None of zeros and of what drivers say that know none."""
    return said if said is not None and _ENCLOSURE.fullmatch(said) and int(said, 16) else None
