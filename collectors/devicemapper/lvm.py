"""LVM logical volumes: segment types, layout and underlying devices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from sdstop.collectors.devicemapper.volume_readings import LVS, LogicalVolume
from sdstop.core.collector import ONCE, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, Output
from sdstop.core.model import Reading
from sdstop.core.text import whole

BLOCK = "/sys/block"


def parse(text: str) -> Iterator[LogicalVolume]:
    """Yield the volumes from `lvs --reportformat json`, which has one row per segment.

        {"report": [{"lv": [
            {"vg_name":"vg0", "lv_name":"vol", "segtype":"cache", "lv_size":"532676608", "stripes":"1",
             "stripe_size":"0", "chunk_size":"65536", "pool_lv":"[pool]", "origin":"[vol_corig]",
             "devices":"vol_corig(0)"}]}]}

    Since 2.03.17, `json_std` has numbers and lists; both formats are supported. An empty string means not applicable.
    Raises Malformed if the text is not such JSON.
    """
    try:
        rows = [row for report in json.loads(text)["report"] for row in report["lv"]]
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(f"{row['vg_name']}/{row['lv_name']}", []).append(row)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Malformed(f"no JSON of lvs: {text[:80]!r}") from error
    for volume, parts in found.items():
        first = parts[0]
        yield LogicalVolume(
            volume=volume,
            type=",".join(dict.fromkeys(str(part["segtype"]) for part in parts if part.get("segtype"))) or None,
            devices=",".join(dict.fromkeys(name for part in parts for name in _devices(part.get("devices")))) or None,
            pool=_word(first.get("pool_lv")),
            origin=_word(first.get("origin")),
            segments=len(parts),
            size=_number(first.get("lv_size")),
            stripes=_number(first.get("stripes")),
            stripe_size=_number(first.get("stripe_size")) or None,
            chunk_size=_number(first.get("chunk_size")) or None,
        )


def _devices(said: Any) -> list[str]:
    """Return the names in `/dev/sdb(4),lv_rimage_0(0)`; the number in parentheses is the start extent."""
    words = said if isinstance(said, list) else str(said or "").split(",")
    return [name for word in words if (name := re.sub(r"\(\d+\)$", "", str(word)).removeprefix("/dev/"))]


def _word(said: Any) -> str | None:
    return str(said).strip("[]") or None if said else None


def _number(said: Any) -> int | None:
    word = str(said)
    return whole(word)


def read(host: Host) -> Iterable[Reading]:
    """Yield the logical volumes; lvs is not run if device mapper has no LVM devices.

    Raises Absent without the LVM programs, Denied without root, Failed if lvs fails, and Malformed for invalid output.
    """
    if not any((host.maybe(f"{BLOCK}/{name}/dm/uuid") or "").startswith("LVM-") for name in fingerprint(host)):
        return
    output = _output(host)
    if output.exit:
        said = output.stderr.decode("utf-8", "replace").strip()
        if "ermission denied" in said or "You need to be root" in said:
            raise Denied(command_key(LVS), f"needs {_ROOT}")
        raise Failed(command_key(LVS), said.splitlines()[0] if said else f"exit status {output.exit}")
    yield from parse(output.text)


def _output(host: Host) -> Output:
    """Return the output of lvs; else what others recorded as JSON, with the columns that they asked for."""
    try:
        return host.run(LVS, DEADLINE)
    except Absent as error:
        recorded = [name for name in host.recorded("lvs") if "json" in name and "devices" in name]
        if error.recorded or not recorded:
            raise
        return host.recorded_output(recorded[0])


def fingerprint(host: Host) -> tuple[str, ...]:
    """Return the kernel names of all device mapper devices."""
    return tuple(name for name in host.names(BLOCK) if name.startswith("dm-"))


DEADLINE = 20.0
"""Seconds that lvs may take; it reads the metadata of all physical volumes."""
_ROOT = "root: it reads the disks' metadata"

LVM = Collector(
    "lvm",
    "LVM volumes",
    read,
    (LogicalVolume,),
    (
        Need(f"list:{BLOCK}", "whether there are device mapper devices"),
        Need(f"{BLOCK}/dm-*/dm/uuid", "whether device mapper devices belong to LVM"),
        Command(LVS, "types, stripes, and what volumes lie on; nothing is locked for it", _ROOT),
        Need("cmd:lvs *", "logical volumes, from captures only; never run in this form"),
    ),
    ONCE,  # lvs reads the metadata of every disk, waking sleeping ones; new devices trigger another run
    deadline=DEADLINE,
    fingerprint=fingerprint,
)
