"""Device paths in fstab(5) and mdadm.conf(5)."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host, TimedOut, Unreadable, again
from sdstop.core.model import Reading
from sdstop.core.retention import fstab_table, fstab_without_names
from sdstop.readings.device_names import FSTAB, DevicePath, unstable

MDADM = ("/etc/mdadm/mdadm.conf", "/etc/mdadm.conf")


def parse_fstab(text: str) -> Iterator[DevicePath]:
    r"""Yield the devices that /etc/fstab specifies by path; spaces are encoded as `\040`.

    /dev/sdb1  /data  xfs  defaults  0 2
    """
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) >= 2 and words[0].startswith("/dev/"):
            use = "swap" if words[1] == "none" or (len(words) > 2 and words[2] == "swap") else words[1]
            yield _row(FSTAB, use.replace("\\040", " "), words[0])


def parse_mdadm(text: str, file: str) -> Iterator[DevicePath]:
    """Yield the device paths in mdadm.conf: devices to scan (DEVICE) and array members (devices=).

    DEVICE /dev/sda1 /dev/sdb1
    ARRAY /dev/md0 devices=/dev/sda1,/dev/sdb1
    """
    keyword, array = "", ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if not line[:1].isspace():
            keyword = words.pop(0).lower()
            array = words[0] if keyword.startswith("arr") and words else ""
        for word in words:
            if keyword.startswith("dev"):
                names, use = [word], "DEVICE"
            elif array and word.startswith("devices="):
                names, use = word.removeprefix("devices=").split(","), array
            else:
                continue
            for name in names:
                if name.startswith("/dev/") and not set("*?[") & set(name):
                    yield _row(file, use, name)


def kept_mdadm(data: bytes) -> bytes:
    """Return only the DEVICE and ARRAY lines of mdadm.conf(5), without comments, mail addresses and programs."""
    kept, ours = [], False
    for line in data.splitlines():
        text = line.partition(b"#")[0].rstrip()
        ours = ours if text[:1].isspace() else text[:3].lower() in {b"dev", b"arr"}
        kept += [text + b"\n"] if ours and text else []
    return b"".join(kept)


def _row(file: str, use: str, path: str) -> DevicePath:
    device = path.removeprefix("/dev/") if unstable(path) else None
    return DevicePath(holder=file, place=use, path=path, kind="file", device=device, origin=file, needle=path)


def read(host: Host) -> Iterator[Reading]:
    """Yield the devices in fstab and mdadm.conf. Raises Absent if the node has neither."""
    found = 0
    absent: Absent | None = None
    for file in (FSTAB, *MDADM):
        try:
            text = host.text(file)
        except TimedOut:
            raise
        except Unreadable as error:
            if not isinstance(error, Absent):
                raise
            absent = absent or again(error)
            continue
        found += 1
        yield from parse_fstab(text) if file == FSTAB else parse_mdadm(text, file)
    if not found and absent is not None:
        raise again(absent)


DEVICE_NAMES = Collector(
    "device-names",
    "Devices in configuration files",
    read,
    (DevicePath,),
    (
        Need(
            FSTAB,
            "device names of file systems; most options are not kept",
            keep=fstab_table,
            redact=fstab_without_names,
        ),
        Need(MDADM[0], "device names that mdadm scans for members", keep=kept_mdadm),
        Need(MDADM[1], "device names that mdadm scans for members, on other distributions", keep=kept_mdadm),
    ),
    SLOW,
)
