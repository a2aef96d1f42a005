"""Parser for `sg_map -i -x` (sg3_utils, src/sg_map.c): SCSI devices by host, for recordings without sysfs."""

from __future__ import annotations

import re

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.form import Form

_LINE = expression(
    r"/dev/sg\d{1,5}  (?P<host>\d{1,5}) \d{1,5} \d{1,6} \d{1,10}  (?P<type>\d{1,2})"
    r"(?:  (?P<device>/dev/\S{1,40}))?(?:  (?P<vendor>.{1,8}?)  (?P<model>.{1,16}?)  (?P<revision>.{1,4}))?",
    re.ASCII,
)
DISK, ENCLOSURE = 0, 13
"""SCSI device types (SPC-4, peripheral device type)."""


class ScsiDevice(Struct, frozen=True):
    """A SCSI device: host number, peripheral type (0 disk, 13 enclosure), kernel name of a disk, vendor, model."""

    host: int
    type: int
    device: str | None
    vendor: str | None
    model: str | None


def parse(text: str) -> list[ScsiDevice]:
    """Return the devices that responded; lines of busy or removed devices (`-1 -1 -1 -1`) are skipped.

    /dev/sg0  0 0 0 0  0  /dev/sda  TOSHIBA   MG07SCA14TA       0101
    /dev/sg30  0 0 30 0  13  NEWISYS   NDS-4602-CS       0112

    With -x the four numbers are host, channel, id and lun. Vendor and model have fixed widths and may be missing.
    """
    found = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        words = [(match[name] or "").strip() or None for name in ("device", "vendor", "model")]
        device = words[0].removeprefix("/dev/") if words[0] is not None else None
        found.append(ScsiDevice(int(match["host"]), int(match["type"]), device, words[1], words[2]))
    return found


FORM = Form(
    key="cmd:sg_map -i -x",
    first=r"/dev/sg\d+  ",
    reads="host of each disk, model",
    versions="sg3_utils 1.20 and later; hosts with -x",
    goes_on=r"/dev/sg\d+ .*",
)
