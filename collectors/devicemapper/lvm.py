"""LVM logical volumes: segment types, layout and underlying devices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, ClassVar

from sdstop.collectors.devicemapper.dmtable import mapped
from sdstop.core.collector import ONCE, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, Output
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.core.text import whole

BLOCK = "/sys/block"
LVS = (
    "lvs", "-a", "--readonly", "--reportformat", "json", "--units", "b", "--nosuffix",
    "-o", "vg_name,lv_name,segtype,lv_size,stripes,stripe_size,chunk_size,pool_lv,origin,devices",
)  # fmt: skip


_OF_MEMBERS = dict.fromkeys(
    ("striped", "mirror", "raid0", "raid1", "raid4", "raid10", "raid5", "raid5_ls", "raid5_la", "raid5_rs", "raid5_ra",
     "raid5_n", "raid6", "raid6_zr", "raid6_nr", "raid6_nc", "raid6_n_6"), Relation.MEMBER,
)  # fmt: skip
"""Segment types with several equivalent devices."""
_HIDDEN = expression(r"_(?:[rm]image_\d+|rmeta_\d+|mlog|[tcv]data|[tc]meta|corig|cvol|wcorig|vorigin|imeta|iorig)$")
"""Name suffixes of sub-volumes; LVM reserves them for this purpose (lib/misc/lvm-string.c)."""


class LogicalVolume(Reading, frozen=True, kw_only=True):
    """A logical volume, from the LVM metadata on disk."""

    family: ClassVar[str] = "logical_volume"
    title: ClassVar[str] = "Logical volumes"
    things: ClassVar = {
        "volume": Identity(ThingKind.VOLUME, Naming.LINK, "{path}", aliases=(("mapper/{mapping}", Naming.LINK),)),
        "pool": Identity(None, Naming.LINK, "{group}/{pool}"),
        "origin": Identity(None, Naming.LINK, "{group}/{origin}"),
        "parts": Identity(None, Naming.LINK, many=True),
    }
    joins = (
        Join(
            "volume", "pool", Stated("type", {"cache": Relation.CACHED, "writecache": Relation.CACHED}, Relation.STORED)
        ),
        Join("volume", "origin", Relation.STORED),
        Join("volume", "parts", Stated("type", _OF_MEMBERS, Relation.STORED)),
    )
    peers = (
        Peers(
            kind=Stated("type", dict.fromkeys(_OF_MEMBERS, GroupKind.COLUMNS)),
            upper="volume",
            member="parts",
        ),
    )
    traits: ClassVar = {
        "layout": "type",
        "slots": "stripes",
        "copies": "copies",
        "parity": "parity",
        "balanced": "balanced",
    }

    volume: Annotated[str, Label("Volume", "GROUP/VOLUME; brackets mark a part of another volume", names=Name.VOLUME)]
    type: Annotated[
        str | None,
        Fact("Type", "Type of its segments: linear, striped, raid10, cache, writecache, thin ...", plain=True),
    ]
    devices: Annotated[
        str | None,
        Fact("Devices", "Underlying devices or volumes, separated by commas", names=Name.VOLUME),
    ]
    pool: Annotated[str | None, Fact("Pool", "Pool; for a cached volume the cache", names=Name.VOLUME)]
    origin: Annotated[str | None, Fact("Origin", "Cached volume, or origin of a snapshot", names=Name.VOLUME)]
    segments: Annotated[int | None, Metric("Segments", "Number of segments", detail=True)]
    size: Annotated[int | None, Metric("Size", "Size of the volume", "bytes", setting=True)]
    stripes: Annotated[
        int | None, Metric("Stripes", "Number of stripes of the first segment", setting=True, detail=True)
    ]
    stripe_size: Annotated[int | None, Metric("Stripe", "Stripe size", "bytes", setting=True, detail=True)]
    chunk_size: Annotated[
        int | None, Metric("Chunk", "Chunk size of a cache or thin pool", "bytes", setting=True, detail=True)
    ]
    filled: Annotated[
        float | None,
        Metric(
            "Filled", "Share of the space of a pool, thin volume, snapshot or cache in use; from text only", "ratio"
        ),
    ] = None
    metadata_filled: Annotated[
        float | None, Metric("Metadata filled", "Share of the metadata of a pool in use; from text only", "ratio")
    ] = None
    synced: Annotated[
        float | None, Metric("In sync", "Share of a mirror or raid that is synchronized; from text only", "ratio")
    ] = None
    health: Annotated[
        str | None,
        State("Health", "Health of the volume: ok, partial, refresh needed, mismatches, failed, out of data or other"),
    ] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not JSON", export=False, names=Name.EVIDENCE)] = None

    @property
    def group(self) -> str:
        """The volume group."""
        return self.volume.partition("/")[0]

    @property
    def path(self) -> str:
        """The name below /dev without brackets; a sub-volume has no such node, but would be named so."""
        return self.volume.replace("[", "").replace("]", "")

    @property
    def copies(self) -> int | None:
        """Neighbouring parts that carry the same writes; None if unknown."""
        if self.type in {"raid1", "mirror"}:
            return self.stripes
        return None if self.type == "raid10" else 1

    @property
    def parity(self) -> int:
        """Further parts that each write uses."""
        kind = self.type or ""
        return 2 if kind.startswith("raid6") else 1 if kind.startswith(("raid4", "raid5")) else 0

    @property
    def balanced(self) -> bool | None:
        """False for mirrors: md below it reads a stream from one leg."""
        return False if self.type in {"raid1", "raid10", "mirror"} else None

    @property
    def mapping(self) -> str:
        """The name below /dev/mapper."""
        return mapped(self.group, self.path.partition("/")[2])

    @property
    def parts(self) -> str:
        """The devices; sub-volumes are prefixed with the group."""
        if "_" not in (self.devices or ""):  # a node has a thousand volumes on plain devices
            return self.devices or ""
        names = (self.devices or "").split(",")
        return ",".join(f"{self.group}/{name}" if _HIDDEN.search(name) else name for name in names)

    def source(self, field: str = "") -> Source | None:
        """Return the lvs command and the volume's entry in its output."""
        del field
        if self.told is not None:
            return Source(self.told, self.volume.partition("/")[2])
        return Source(command_key(LVS), f'"lv_name":"{self.volume.partition("/")[2]}"')


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
