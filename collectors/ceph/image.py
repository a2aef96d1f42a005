"""Limits of RBD images from `rbd config image list`, including those that are not enforced.

Only librbd (QEMU, iSCSI gateways, rbd-nbd) enforces the limits of an image; the kernel client ignores them.
"""

from __future__ import annotations

import json

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole
from sdstop.readings.limit import RBD, READ, TOTAL, WRITE, Limit, limited

_WAYS = {TOTAL: "", READ: "read_", WRITE: "write_"}
_NAME = expression(r"rbd config image (?:list|ls) (?P<image>\S+) (?:-f|--format)[ =]?json(?:-pretty)?")
_SLUG = expression(r"rbd_config_image_(?:list|ls)_(?P<image>\S+?)_(?:-f|--format)[_=]?json(?:-pretty)?")


def image_of(command: str) -> str | None:
    """Return the image of a recorded command (argv, or its slug, in which `/` is `_`)."""
    found = _NAME.fullmatch(command) or _SLUG.fullmatch(command)
    return found["image"] if found else None


def parse_config(text: str) -> dict[str, int]:
    """Parse the rbd_qos_* values of `rbd config image list IMAGE --format json`, by name without that prefix.

    [{"name": "rbd_qos_iops_limit", "value": "500", "source": "image"},
     {"name": "rbd_qos_iops_burst", "value": "2000", "source": "pool"}]

    0 means unlimited. Raises Malformed.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("rbd config: not JSON") from error
    if not isinstance(said, list):
        raise Malformed("rbd config: no list of options")
    found = {}
    for row in said:
        name, value = (row.get("name"), row.get("value")) if isinstance(row, dict) else (None, None)
        if isinstance(name, str) and name.startswith("rbd_qos_"):
            word = str(value)
            if is_whole(word, 18):
                found[name.removeprefix("rbd_qos_")] = int(word)
    return found


def limits_of(image: str, said: dict[str, int], mapped: str | None, origin: str) -> list[Limit]:
    """Return a row for each direction with a limit; `mapped` is the image's kernel device, if it is mapped."""
    rows = []
    for direction, way in _WAYS.items():
        iops, moved = said.get(f"{way}iops_limit") or None, said.get(f"{way}bps_limit") or None
        if iops is None and moved is None:
            continue
        burst, burst_bytes = said.get(f"{way}iops_burst") or None, said.get(f"{way}bps_burst") or None
        rows.append(
            Limit(
                image, "", RBD, direction, limited(iops, moved), iops, moved,
                iops_burst=burst if iops else None,
                iops_burst_length=(said.get(f"{way}iops_burst_seconds") or 1) if iops and burst else None,
                bandwidth_burst=burst_bytes if moved else None,
                bandwidth_burst_length=(said.get(f"{way}bps_burst_seconds") or 1) if moved and burst_bytes else None,
                unheld=f"the kernel RBD client ({mapped}) ignores rbd_qos_*; librbd honors them" if mapped else None,
                device=mapped, origin=origin, needle=f"rbd_qos_{way}{'iops' if iops else 'bps'}_limit",
            )
        )  # fmt: skip
    return rows
