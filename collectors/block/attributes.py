"""Attributes of block devices in sysfs: kind, queue settings, SCSI and NVMe hardware, place in the machine."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from sdstop.core.expression import expression
from sdstop.core.host import Host, TimedOut, Unreadable


def kind_of(entry: str, names: Container[str]) -> str:
    """Return the kind of a whole device from the entries of its /sys/block directory, else from its name.

    The kernel exposes no kind, but drivers use stable device names. A device with an unknown name is a disk if it has
    hardware behind it (`device`), otherwise virtual.
    """
    for folder in ("md", "dm", "loop", "bcache"):
        if folder in names and not (folder == "bcache" and "device" in names):
            return folder
    known = _KINDS.match(entry)
    if known is not None and known.lastgroup is not None:
        return known.lastgroup
    return "disk" if "device" in names else "virtual"


_KINDS = expression(
    r"(?P<nvme>nvme\d+n\d+$)|(?P<nvme_path>nvme\d+c\d+n\d+$)|(?P<disk>(sd|vd|xvd|hd|dasd|ub)[a-z]+$)"
    r"|(?P<md>md([_\d]|$))|(?P<dm>dm-\d)|(?P<loop>loop\d)|(?P<ram>ram\d)|(?P<zram>zram\d)|(?P<nbd>nbd\d)"
    r"|(?P<rbd>rbd\d)|(?P<aoe>etherd!)|(?P<drbd>drbd[_\d])|(?P<bcache>bcache\d)|(?P<zvol>zd\d)|(?P<pmem>pmem\d)"
    r"|(?P<scini>scini)|(?P<rom>sr\d)|(?P<floppy>fd\d)|(?P<mmc>mmcblk\d)"
)
_HCTL = expression(r"\d+:\d+:\d+:\d+")


def active(schedulers: str | None) -> str | None:
    """Return the bracketed word of `none [mq-deadline] kyber`, or the only word."""
    words = (schedulers or "").split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    return marked[0] if marked else words[0] if len(words) == 1 else None


def wide_name(wwid: str | None) -> str | None:
    """Return the kernel's wwid in udev's format: `naa.5000c500a1b2c3d4` -> `0x5000c500a1b2c3d4`, others unchanged."""
    if not wwid:
        return None
    return f"0x{wwid[4:]}" if wwid.startswith("naa.") else " ".join(wwid.split())


def attribute_bytes(host: Host, path: str, unit: int) -> int | None:
    """Return an attribute in bytes, None if it is missing or negative."""
    value = host.number(path)
    return value * unit if value is not None and value >= 0 else None


def queue_settings(host: Host, folder: str) -> dict[str, Any]:
    """Return the fields read from `queue/`."""
    queue = f"{folder}/queue"
    return {
        "scheduler": active(host.maybe(f"{queue}/scheduler")),
        "write_cache": host.maybe(f"{queue}/write_cache") or None,
        "rotational": host.number(f"{queue}/rotational"),
        "iostats_enabled": host.number(f"{queue}/iostats"),
        "logical_block_size": host.number(f"{queue}/logical_block_size"),
        "physical_block_size": host.number(f"{queue}/physical_block_size"),
        "minimum_io": host.number(f"{queue}/minimum_io_size"),
        "optimal_io": host.number(f"{queue}/optimal_io_size"),
        "max_request": attribute_bytes(host, f"{queue}/max_sectors_kb", 1024),
        "read_ahead": attribute_bytes(host, f"{queue}/read_ahead_kb", 1024),
        "nr_requests": host.number(f"{queue}/nr_requests"),
        "discard_granularity": host.number(f"{queue}/discard_granularity"),
    }


def hardware(host: Host, folder: str, kind: str, wwn: str | None) -> dict[str, Any]:
    """Return the fields that a disk's SCSI or NVMe device reports.

    A `wwn` known from udev is not read again; with a thousand disks every file counts.
    """
    device = f"{folder}/device"
    if kind in {"nvme", "nvme_path"}:
        return {
            "model": host.maybe(f"{device}/model") or None,
            "revision": host.maybe(f"{device}/firmware_rev") or None,
            "serial": host.maybe(f"{device}/serial") or None,
            "state": host.maybe(f"{device}/state") or None,
            "wwn": wwn or wide_name(host.maybe(f"{folder}/wwid")),
        }
    address = host.target(device) or ""
    if not _HCTL.fullmatch(address):
        # Captures may lack the link and have the file.
        state = host.maybe(f"{device}/state") if not address and kind == "disk" else None
        return {"driver": host.target(f"{device}/driver"), "state": state or None}
    return {
        "driver": "sr" if kind == "rom" else "sd",
        "hctl": address,
        "vendor": host.maybe(f"{device}/vendor") or None,
        "model": host.maybe(f"{device}/model") or None,
        "revision": host.maybe(f"{device}/rev") or None,
        "state": host.maybe(f"{device}/state") or None,
        "queue_depth": host.number(f"{device}/queue_depth"),
        "wwn": wwn or wide_name(host.maybe(f"{device}/wwid")),
    }


def place(host: Host, folder: str) -> str | None:
    """Return the device's directory below /sys/devices."""
    try:
        target = host.link(folder)
    except TimedOut:
        raise
    except Unreadable:
        return None
    return f"/sys/{target.replace('../', '')}" if target.startswith("../") else target
