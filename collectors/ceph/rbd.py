"""Recorded limits of RBD images, and the images mapped by the kernel client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.ceph.image import image_of, limits_of, parse_config
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.readings.limit import USE, Limit

MAPPED = "/sys/bus/rbd/devices"


def read(host: Host) -> Iterable[Reading]:
    """Return the limits of each image, from recorded output. Raises Absent without any.

    A live node is not queried: each image would need a command to the monitors.
    """
    recorded = [(name, image) for name in host.recorded("rbd") if (image := image_of(name))]
    mapped = dict(_mapped(host))
    if not recorded and not host.entries(MAPPED):
        raise Absent(f"list:{MAPPED}", "no RBD image is mapped here")
    if not recorded:
        images = sorted(mapped) or ["images without names"]
        named = images[0] + (f" and {len(images) - 1} more" if len(images) > 1 else "")
        why = f"limits of {named} are not asked for: each would be a command to the monitors"
        raise Absent("cmd:rbd config image list", why, recorded=False)
    rows: list[Limit] = []
    for name, image in recorded:
        output = host.recorded_output(name)
        if output.exit == 0:
            known = next((pair for pair in mapped if image in {pair, pair.replace("/", "_")}), image)
            origin = f"cmd:{name}" if " " in name else f"slug:{name}"
            rows += limits_of(known, parse_config(output.text), mapped.get(known), origin)
    return rows


def _mapped(host: Host) -> Iterator[tuple[str, str]]:
    """Yield the images mapped by the kernel client, with device (kernel Documentation/ABI/testing/sysfs-bus-rbd)."""
    for number in host.names(MAPPED):
        pool, space, name = (host.maybe(f"{MAPPED}/{number}/{part}") for part in ("pool", "pool_ns", "name"))
        if pool and name:
            yield "/".join(filter(None, (pool, space, name))), f"rbd{number}"


RBD = Collector(
    "rbd",
    "Limits of RBD images",
    read,
    (Limit,),
    (
        Need("cmd:rbd config image *", "limits of an image, from captures only"),
        Need(f"list:{MAPPED}", "images mapped by the kernel"),
        Need(f"{MAPPED}/*", "names of mapped images"),
    ),
    SLOW,
    derives=(USE,),
)
