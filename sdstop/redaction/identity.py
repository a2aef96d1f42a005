"""Identity: where evidence says the names by which a stranger would know a node, its disks, and its volumes.

Addresses, WWNs and IQNs are known by what they look like, wherever they stand. Host names, serial numbers and names of
volumes look like anything: they are learnt where they are said, and then replaced everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.evidence import Evidence, Outcome
from sdstop.host import Malformed
from sdstop.parsers import smbios
from sdstop.redaction.pseudonym import Kind

IPV4 = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w.]*\.\d)(?!\d)"
)
IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,37}(?![\w:])")
"""What may be an address of IPv6: whether it is one has to be tried."""
MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])")
WWN = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:wwn-)?0x|naa\.|eui\.|(?=[0-9]{0,16}[a-f])[23]?)(?P<core>[2356][0-9a-f]{15}(?:[0-9a-f]{16})?)"
    r"(?![0-9A-Za-z])"
)
"""Without a prefix it must have a letter: a count of sixteen digits is none."""
IQN = re.compile(r"(?<![\w.])iqn\.\d{4}-\d{2}\.[a-z0-9][a-z0-9.:_-]{2,220}|(?<![\w.])nqn\.\d{4}-\d{2}\.[\w.:-]{3,220}")

_NO_HOST = frozenset({"", "localhost", "localhost.localdomain", "(none)", "debian", "ubuntu", "vm", "capture"})
_SERIAL_KEYS = re.compile(r".*/(?:serial|serial_number|product_serial|board_serial|chassis_serial|product_uuid)")
_UDEV = re.compile(
    r"(?:^E:|\")(?P<name>ID_SERIAL_SHORT|ID_SCSI_SERIAL|SCSI_IDENT_SERIAL|ID_SERIAL|DM_SERIAL)(?:\": \"|=)"
    r"(?P<value>[^\"\n]{4,120})",
    re.MULTILINE,
)
_BY_ID = re.compile(
    r"(?:ata|scsi|nvme|usb|mmc|virtio|google)-[\w.+-]{1,120}?_(?P<serial>[A-Za-z0-9-]{5,40})(?:-part\d+|_\d|-0:\d)?$"
)
_DMIDECODE = re.compile(r"^\s*(?:Serial Number|Asset Tag|UUID):\s*(?P<value>\S[^\n]{3,79}?)\s*$", re.MULTILINE)
_DMI_FIELDS = {1: (0x07, 0x19), 2: (0x07, 0x08), 3: (0x07, 0x08), 4: (0x20, 0x21), 17: (0x18, 0x19)}
"""Of a structure's type: where the numbers of its serial and of its asset tag stand (DSP0134 7.2-7.5, 7.18)."""
_NO_SERIAL = re.compile(
    r"(?:0+|x+|f+|none|n/?a|unknown|default string|to be filled.*|not (?:specified|provided|available).*|no asset.*"
    r"|.* asset ?tag.*|serial\w* ?number|0?123456789\d*|.*no dimm.*)",
    re.IGNORECASE,
)

_LVS = re.compile(r"\"(?:lv_name|vg_name|pool_lv|origin)\": ?\"\[?(?P<name>[\w.+-]{2,120})\]?\"")
_MAPPED = re.compile(r"(?:link:)?/dev/(?:mapper/(?P<mapper>[\w.+-]{2,200})|zvol/(?P<zvol>[\w.+/-]{2,200}))$")
_POOL = re.compile(r"^\s*pool: (?P<name>[\w.:-]{2,100})$", re.MULTILINE)
_DMSETUP = re.compile(r"^(?P<name>[\w.+-]{2,200}): \d+ \d+ \w", re.MULTILINE)

RESERVED = frozenset({
    "active", "alloc", "array", "auto", "backup", "boot", "btrfs", "bypass", "bytes", "cache", "cached",
    "cachedev", "capacity", "ceph", "clean", "config", "control", "core", "count", "crypt", "data", "default",
    "dev", "device", "devices", "dirty", "disk", "disks", "dm", "drbd", "error", "etc", "ext4", "failed", "fast",
    "flashcache", "free", "hba", "healthy", "hits", "home", "host", "idle", "info", "io", "linear", "log", "logs",
    "loop", "lvm", "mapper", "media", "meta", "metadata", "mirror", "misses", "mode", "mount", "name", "node",
    "none", "normal", "null", "online", "opt", "origin", "part", "path", "pool", "proc", "raid", "raid0", "raid1",
    "raid10", "raid5", "raid6", "read", "reads", "replica", "resync", "root", "rpool", "run", "scan", "scrub",
    "size", "slow", "snapshot", "spare", "spares", "special", "srv", "stats", "status", "storage", "striped",
    "swap", "sys", "system", "table", "tank", "target", "temp", "test", "thin", "thinpool", "tmp", "total", "usr",
    "value", "var", "volume", "volumes", "vg", "vg0", "vol", "write", "writes", "xfs", "zero", "zfs", "zpool",
})  # fmt: skip
"""Names that are words of the formats, or of everybody: they tell nobody who it is, and are kept."""
_PLAIN = re.compile(
    r"(?:sd|vd|xvd|hd)[a-z]{1,3}\d*|nvme\d+n\d+(?:p\d+)?|md\d+|dm-\d+|loop\d+|(?:eth|en\w|bond|vlan)\d+\S*"
    r"|\d+(?:\.\d+)*|[a-z]{1,2}\d?"
)
SHORTEST = 3
_DIGITS = 8
"""Digits alone that are taken for a serial number: fewer may be any count."""


def learnt(items: Iterable[Evidence]) -> Iterator[tuple[Kind, str]]:
    """Yield the host names, serial numbers and names of volumes that evidence says."""
    for item in items:
        yield from ((kind, value) for kind, value in _said(item) if usable(kind, value))


def usable(kind: Kind, value: str) -> bool:
    """Whether a value tells anything of anybody, and can be told from other text."""
    if len(value) < SHORTEST or not value.isprintable() or value.lower() in RESERVED:
        return False
    if kind is Kind.HOST:
        return value.lower() not in _NO_HOST and not value.isdecimal()
    if kind is Kind.VOLUME:
        return _PLAIN.fullmatch(value) is None
    if value.isdecimal():
        return len(value) >= _DIGITS and _NO_SERIAL.fullmatch(value) is None
    return len(value) > SHORTEST and _NO_SERIAL.fullmatch(value) is None and _PLAIN.fullmatch(value.lower()) is None


def _said(item: Evidence) -> Iterator[tuple[Kind, str]]:
    key = item.key
    yield from _in_key(key)
    if item.outcome is not Outcome.OK or not item.data:
        return
    if key.endswith("/dmi/tables/DMI"):
        yield from _firmware(item.data)
        return
    text = item.data.decode("utf-8", "surrogateescape")
    if key in {"/proc/sys/kernel/hostname", "/etc/hostname"} or key == "cmd:hostname":
        name = text.strip()
        yield from ((Kind.HOST, part) for part in {name, name.partition(".")[0]})
    elif _SERIAL_KEYS.fullmatch(key):
        yield Kind.SERIAL, text.strip()
    elif key.endswith("/dm/name"):
        yield from mapping(text.strip())
    elif key.startswith(("answer:udev", "/run/udev/")):
        yield from _udev(text)
    elif "dmidecode" in key:
        yield from ((Kind.SERIAL, found["value"]) for found in _DMIDECODE.finditer(text))
    elif key.startswith(("cmd:", "slug:")):
        yield from ((Kind.VOLUME, found["name"]) for found in (*_LVS.finditer(text), *_POOL.finditer(text)))
        if "dmsetup" in key:
            for found in _DMSETUP.finditer(text):
                yield from mapping(found["name"])


def _in_key(key: str) -> Iterator[tuple[Kind, str]]:
    found = _MAPPED.fullmatch(key)
    if found is not None and found["mapper"]:
        yield from mapping(found["mapper"])
    elif found is not None:
        yield from ((Kind.VOLUME, part) for part in found["zvol"].split("/"))
    if "/by-id/" in key and (named := _BY_ID.search(key.rpartition("/")[2])) is not None:
        yield Kind.SERIAL, named["serial"]


def mapping(name: str) -> Iterator[tuple[Kind, str]]:
    """Yield the volume group and the volume of a mapping's name, or the name; `--` is a hyphen of theirs."""
    parts = re.split(r"(?<!-)-(?!-)", name)
    for part in parts:
        yield Kind.VOLUME, part.replace("--", "-")


def _udev(text: str) -> Iterator[tuple[Kind, str]]:
    for found in _UDEV.finditer(text):
        value = found["value"]
        if found["name"] != "ID_SERIAL":
            yield Kind.SERIAL, value
        elif "_" in value:  # the model and the serial
            yield Kind.SERIAL, value.rpartition("_")[2]
    for word in re.findall(r"by-id/([\w.+:-]{6,200})", text):
        if (named := _BY_ID.search(word)) is not None:
            yield Kind.SERIAL, named["serial"]


def _firmware(data: bytes) -> Iterator[tuple[Kind, str]]:
    """Yield the serial numbers and asset tags of the firmware's table."""
    try:
        found = list(smbios.structures(data))
    except Malformed:
        return
    for structure in found:
        for offset in _DMI_FIELDS.get(structure.type, ()):
            value = structure.string(offset)
            if value is not None:
                yield Kind.SERIAL, value
