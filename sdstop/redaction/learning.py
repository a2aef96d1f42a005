"""Learning: where evidence says the names of hosts, users, disks and volumes, which look like any other word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from sdstop.core.evidence import Evidence, Outcome
from sdstop.redaction import firmware
from sdstop.redaction.identity import IPV4, usable
from sdstop.redaction.pseudonym import Kind

Said = Iterator[tuple[Kind, str]]

_HOSTNAMES = re.compile(
    r"(?:/proc/sys/kernel/(?:hostname|domainname)|/etc/(?:hostname|mailname|nodename)|cmd:hostname(?: -\S+)*)"
)
_SERIAL_FILES = re.compile(
    r".*/(?:serial|serial_number|product_serial|board_serial|chassis_serial|board_tracer\w*|\w+_asset_tag)"
)
_LABEL_FILES = re.compile(
    r"/sys/.*/bcache/label|/sys/.*/dm/name|/sys/.*/ifalias|/sys/bus/rbd/devices/\d+/(?:name|pool|pool_ns|image|current_snap)|/sys/block/nbd\d+/backend"
)
_UDEV = re.compile(
    r"(?:^E:|\")(?P<name>ID_SERIAL_SHORT|ID_SCSI_SERIAL|SCSI_IDENT_SERIAL|ID_SERIAL|DM_SERIAL|ID_FS_LABEL(?:_ENC)?"
    r"|ID_PART_ENTRY_NAME|DM_NAME|DM_VG_NAME|DM_LV_NAME|MD_NAME|MD_DEVNAME|ID_BCACHE_LABEL)(?:\": ?\"|=)"
    r"(?P<value>[^\"\n]{3,120})",
    re.MULTILINE,
)
_BY_ID = re.compile(
    r"(?:ata|scsi|nvme|usb|mmc|virtio|google)-[\w.+-]{1,120}?_(?P<serial>[A-Za-z0-9-]{5,40})(?:-part\d+|_\d|-0:\d)?$"
)
_LINKS = re.compile(r"/dev/disk/(?P<by>by-[a-z]+)/(?P<name>[^\n\s\"',;]{3,200})")
_DEVICES = re.compile(r"(?<![\w.])/dev/(?P<path>[A-Za-z0-9_.+@:/-]{3,200})")
_NO_GROUP = frozenset({
    "block", "bsg", "bus", "bulk", "cciss", "ceph", "char", "cpu", "disk", "dri", "drm", "etherd", "fd", "hugepages",
    "ida", "input", "loop", "mqueue", "net", "pts", "raw", "sg", "shm", "snd", "ublk", "usb", "vfio", "vhost",
})  # fmt: skip
"""Folders of /dev that are no volume group."""
_DMIDECODE = re.compile(
    r"^[ \t]*(?:Serial Number|Asset Tag|Service Tag):\s*(?P<value>\S[^\n]{3,79}?)\s*$", re.MULTILINE
)
_TEXT_SERIAL = re.compile(
    r"(?:serial(?: ?(?:number|no\.?))?|unit serial number|S/N|SN)\"?\s*[:=]\s*\"?(?P<value>[A-Za-z0-9][\w-]{5,40})\b",
    re.IGNORECASE,
)
_POOL = re.compile(r"^[ \t]*pool: (?P<name>\S[^\n]{1,99}?)\s*$", re.MULTILINE)
_DMSETUP = re.compile(r"^(?P<name>[\w.+-]{2,200}): ?(?:\d+ \d+ \w|\d+:\d+:|\d+ dependencies)", re.MULTILINE)
_COLUMN = re.compile(r"^(?P<name>[^\s/@][^\t\n]{1,250})\t", re.MULTILINE)
_OBJSET = re.compile(r"^dataset_name\s+\d+\s+(?P<name>\S[^\n]*)$", re.MULTILINE)
_KSTAT = re.compile(r"(?:link:|list:)?/proc/spl/kstat/zfs/(?P<name>[^/\n]+)/")
_FLASHCACHE = re.compile(r"(?:link:|list:)?/proc/flashcache/(?P<name>[^/\n]+)/")
_DRBD = re.compile(
    r"^[ \t]*(?:resource\s+\"?(?P<resource>[\w.-]+)|(?:on|_name|host)\s+\"?(?P<host>[A-Za-z][\w.-]*))", re.MULTILINE
)
_PROMPT = re.compile(
    r"^[ \t]{0,8}\[?(?P<user>[a-z_][\w.-]{0,31})@(?P<host>[A-Za-z0-9][\w.-]{1,63})[:\s][^\n]{0,200}?[#$%>]",
    re.MULTILINE,
)
_UNAME = re.compile(r"^Linux (?P<host>[A-Za-z0-9][\w.-]*) \d+\.\d+|^Linux \d\S* \((?P<stat>[^()\s]+)\)", re.MULTILINE)
_KERNEL = re.compile(r"\brd\.lvm\.(?:lv|vg)=(?P<names>[\w.+/-]{3,200})")
_HOMES = re.compile(r"(?<![\w.-])/(?:home|Users|export/home)/(?P<user>[A-Za-z_][\w.-]{1,63})")
_SLICES = re.compile(r"user-(?P<user>[A-Za-z_][\w.]{1,63})\.slice|user@(?P<other>[A-Za-z_][\w.]{1,63})\.service")
_MACHINES = re.compile(
    r"machine-(?:qemu|lxc)(?:\\x2d|-)\d+(?:\\x2d|-)(?P<name>[^/\n\"]{2,200}?)\.scope|/libvirt/qemu/(?P<file>[^/\n]+)\.xml"
)
_GUEST = re.compile(r"-name[\s\0]+(?:guest=)?(?P<name>[A-Za-z0-9][^,\s\0\"]{1,100})|<name>(?P<tag>[^<]{2,100})</name>")
_CONNECTED = re.compile(r"host=(?P<host>[A-Za-z][\w.-]{2,80})|--host[= \0]+(?P<option>[A-Za-z][\w.-]{2,80})")
_HOSTS = re.compile(r"^[ \t]*[0-9a-fA-F.:]+\s+(?P<names>[^#\n]+)", re.MULTILINE)
_LABELS = frozenset(
    {"com", "corp", "edu", "example", "gov", "int", "internal", "intra", "intranet", "lan", "local", "org", "prod"}
)
"""Parts of domains that are nobody's; the others may well be the name of who owns the node."""
_NAMES = {
    "http": {"name": Kind.VOLUME, "sdcName": Kind.HOST, "hostName": Kind.HOST, "volumeName": Kind.VOLUME,
             "serialNumber": Kind.SERIAL, "snapshotName": Kind.VOLUME, "fqdn": Kind.HOST},
    "ceph": {"fsid": Kind.UUID, "name": Kind.HOST, "pool_name": Kind.VOLUME, "hostname": Kind.HOST, "host": Kind.HOST,
             "active_name": Kind.HOST, "quorum_leader_name": Kind.HOST, "image": Kind.VOLUME, "namespace": Kind.VOLUME},
    "drbd": {"name": Kind.HOST},
    "lvs": {"lv_name": Kind.VOLUME, "vg_name": Kind.VOLUME, "pool_lv": Kind.VOLUME, "origin": Kind.VOLUME,
            "data_lv": Kind.VOLUME, "metadata_lv": Kind.VOLUME, "lv_tags": Kind.VOLUME},
    "psutil": {"user": Kind.USER},
    "qemu": {"machine": Kind.VOLUME, "group": Kind.VOLUME},
    "lsblk": {"label": Kind.VOLUME, "partlabel": Kind.VOLUME, "serial": Kind.SERIAL},
    "nvme": {"SerialNumber": Kind.SERIAL, "serial": Kind.SERIAL},
    "smartctl": {"serial_number": Kind.SERIAL},
    "rbd": {"image": Kind.VOLUME, "pool": Kind.VOLUME, "namespace": Kind.VOLUME, "name": Kind.VOLUME,
    "snap": Kind.VOLUME},
}  # fmt: skip
"""Which fields of the JSON documents of a source are names."""
_LISTS = {"quorum_names": Kind.HOST, "hosts": Kind.HOST}
_DEEPEST = 40


def learnt(items: Iterable[Evidence]) -> Said:
    """Yield the names that evidence says."""
    for item in items:
        yield from ((kind, value) for kind, value in _said(item) if usable(kind, value))


def host(name: str) -> Said:
    """Yield a host's name, in full and short, and its domain."""
    name = name.strip().rstrip(".")
    if IPV4.fullmatch(name):
        return
    yield Kind.HOST, name
    short, dot, domain = name.partition(".")
    if dot:
        yield Kind.HOST, short
        yield Kind.HOST, domain
        yield from ((Kind.HOST, label) for label in domain.split(".")[:-1] if label.lower() not in _LABELS)


def mapping(name: str) -> Said:
    """Yield the volume group and the volume of a mapping's name, or the name; `--` is a hyphen of theirs."""
    for part in re.split(r"(?<!-)-(?!-)", name):
        yield Kind.VOLUME, part.replace("--", "-")


def _said(item: Evidence) -> Said:
    key = item.key
    yield from _in_text(key, key)
    if key.endswith("/dmi/tables/DMI"):
        yield from firmware.said(item.data)
        return
    for data in (item.data, item.stderr, item.detail.encode("utf-8", "surrogateescape")):
        if len(data) > 2:
            text = data.decode("utf-8", "surrogateescape")
            yield from _in_text(key, text)
    if item.data:
        yield from _of_source(key, item.data.decode("utf-8", "surrogateescape"), item.outcome)


def _of_source(key: str, text: str, outcome: Outcome) -> Said:
    """Yield what the place where a text stands tells of it."""
    if key.startswith("/") and outcome is Outcome.OK:
        yield from _of_file(key, text)
    elif key.startswith("answer:"):
        yield from _udev(text)
        for source in ("psutil", "qemu"):
            if source in key:
                yield from _of_json(_NAMES[source], text)
    elif key.startswith(("cmd:", "slug:", "http")):
        yield from _of_program(key, text)
    elif key.startswith("list:") and key.endswith(("/zfs", "/flashcache")):
        yield from ((Kind.VOLUME, name) for name in text.split("\n"))


def _of_file(key: str, text: str) -> Said:
    if _HOSTNAMES.fullmatch(key):
        yield from host(text)
    elif key == "/etc/hosts":
        yield from (name for found in _HOSTS.finditer(text) for word in found["names"].split() for name in host(word))
    elif _SERIAL_FILES.fullmatch(key):
        yield Kind.SERIAL, text.strip()
    elif _LABEL_FILES.fullmatch(key):
        yield from mapping(text.strip()) if key.endswith("/dm/name") else iter([(Kind.VOLUME, text.strip())])
    elif key.startswith("/run/udev/"):
        yield from _udev(text)
    elif key == "/etc/fstab" or key.endswith("/mounts"):
        yield from _mounts(text)
    elif "/drbd" in key:
        yield from _drbd(text)


def _of_program(key: str, text: str) -> Said:
    words = key.partition(":")[2]
    program = re.split(r"[ _]", words, maxsplit=1)[0]
    if key.startswith("http"):
        yield from _of_json(_NAMES["http"], text)
    elif program in {"hostname", "hostnamectl"}:
        yield from (
            name
            for line in text.splitlines()
            for name in host(line.rpartition(": ")[2].strip())
            if " " not in line.strip()
        )
    elif program == "dmidecode":
        yield from ((Kind.SERIAL, found["value"]) for found in _DMIDECODE.finditer(text))
    elif program == "dmsetup":
        yield from (name for found in _DMSETUP.finditer(text) for name in mapping(found["name"]))
    elif program in {"zpool", "zfs"}:
        yield from _zfs(text, columns="iostat" not in words and "-v" not in words)
    elif program.startswith("drbd"):
        yield from _drbd(text)
        yield from _of_json(_NAMES["drbd"], text)
    elif program in _NAMES:
        yield from _of_json(_NAMES[program], text)
    elif program == "ceph-volume":
        yield from _of_json({"vg_name": Kind.VOLUME, "lv_name": Kind.VOLUME, "ceph.cluster_name": Kind.VOLUME}, text)
    elif program == "scli":
        yield from ((Kind.VOLUME, name) for name in re.findall(r"(?i)\bname:? +['\"]?([\w.-]{3,60})", text))
    yield from ((Kind.SERIAL, found["value"]) for found in _TEXT_SERIAL.finditer(text))


def _in_text(key: str, text: str) -> Said:
    """Yield what is said in forms that any text may have: paths of devices, homes, prompts, machines."""
    if "/dev/" in text:
        yield from (name for found in _DEVICES.finditer(text) for name in _device(found["path"]))
        yield from (name for found in _LINKS.finditer(text) for name in _link(found["by"], found["name"]))
    if "rd.lvm." in text:
        yield from ((Kind.VOLUME, name) for found in _KERNEL.finditer(text) for name in found["names"].split("/"))
    if "/home/" in text or "/Users/" in text:
        yield from ((Kind.USER, found["user"]) for found in _HOMES.finditer(text))
    if ".slice" in text or "user@" in text:
        yield from ((Kind.USER, found["user"] or found["other"]) for found in _SLICES.finditer(text))
    if "machine-" in text or "/libvirt/" in text:
        for found in _MACHINES.finditer(text):
            yield Kind.VOLUME, re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), found["name"] or found["file"])
    for sign, pattern in (("/zfs/", _KSTAT), ("/flashcache/", _FLASHCACHE)):
        named = pattern.match(text) if sign in text and text is key else None
        yield from ((Kind.VOLUME, part) for part in (named["name"].split("+") if named is not None else ()))
    if not key.startswith(("/sys/", "/proc/", "link:", "list:")) or key.endswith(("/cmdline", "/version")):
        yield from _loose(text)
    if "dataset_name" in text:
        yield from (name for found in _OBJSET.finditer(text) for name in _dataset(found["name"]))


def _loose(text: str) -> Said:
    if "@" in text:
        for found in _PROMPT.finditer(text):
            yield from host(found["host"])
            yield Kind.USER, found["user"]
    if "Linux " in text:
        yield from (name for found in _UNAME.finditer(text) for name in host(found["host"] or found["stat"]))
    if "-name" in text or "<name>" in text:
        yield from ((Kind.VOLUME, found["name"] or found["tag"]) for found in _GUEST.finditer(text))
    if "host" in text:
        yield from (name for found in _CONNECTED.finditer(text) for name in host(found["host"] or found["option"]))


def _device(path: str) -> Said:
    parts = [part for part in path.rstrip(".,:").split("/") if part]
    match parts:
        case ["mapper", name, *_]:
            yield from mapping(name)
        case ["zvol", *names] | ["rbd", *names]:
            yield from (said for name in names for said in _dataset(name))
        case ["md", name]:
            yield Kind.VOLUME, name
        case ["drbd", "by-res", name, *_]:
            yield Kind.VOLUME, name
        case [group, volume] if group not in _NO_GROUP and not group.startswith(("by-", "nvme", "drbd", "disk")):
            yield Kind.VOLUME, group
            yield Kind.VOLUME, volume


def _link(by: str, name: str) -> Said:
    if by in {"by-label", "by-partlabel"}:
        yield Kind.VOLUME, re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), name)
    elif by == "by-id" and name.startswith("md-name-"):
        yield from _md(name.removeprefix("md-name-"))
    elif by == "by-id" and name.startswith("dm-name-"):
        yield from mapping(name.removeprefix("dm-name-"))
    elif by == "by-id" and (named := _BY_ID.search(name)) is not None:
        yield Kind.SERIAL, named["serial"]


def _md(name: str) -> Said:
    where, colon, volume = name.partition(":")
    if colon:
        yield from host(where)
    yield Kind.VOLUME, re.sub(r"-part\d+$", "", volume if colon else name)


def _dataset(name: str) -> Said:
    """Yield the parts of a dataset's name: `pool/folder/volume@snapshot`."""
    for part in re.split(r"[/@]", name):
        yield Kind.VOLUME, part


def _zfs(text: str, *, columns: bool) -> Said:
    """Yield pools and datasets; `columns`: the first one names those, and not vdevs."""
    yield from (name for found in _POOL.finditer(text) for name in _dataset(found["name"]))
    for found in _COLUMN.finditer(text) if columns else ():
        yield from _dataset(found["name"])
    with_pools = _parsed(text)
    pools = with_pools.get("pools") if isinstance(with_pools, dict) else None
    yield from ((Kind.VOLUME, str(name)) for name in pools or ())


def _mounts(text: str) -> Said:
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        what = words[0].replace("\\040", " ")
        server, colon, _ = what.partition(":")
        if colon and "/" not in server and "=" not in server:
            yield from host(server)
        elif what.startswith("//"):
            yield from host(what[2:].partition("/")[0])
        elif what.startswith(("LABEL=", "PARTLABEL=")):
            yield Kind.VOLUME, what.partition("=")[2].strip('"')
        elif not what.startswith("/") and "=" not in what and len(words) > 2 and words[2] == "zfs":
            yield from _dataset(what)
        for option in words[3].split(",") if len(words) > 3 else ():
            name, _, value = option.partition("=")
            if name in {"user", "username", "domain"} and value:
                yield Kind.USER, value


def _drbd(text: str) -> Said:
    for found in _DRBD.finditer(text):
        if found["resource"]:
            yield Kind.VOLUME, found["resource"]
        else:
            yield from host(found["host"])


def _udev(text: str) -> Said:
    for found in _UDEV.finditer(text):
        name, value = found["name"], found["value"]
        if name == "ID_SERIAL":  # the model and the serial, of some nothing but the serial
            yield Kind.SERIAL, value.rpartition("_")[2]
        elif "SERIAL" in name:
            yield Kind.SERIAL, value
        elif name == "MD_NAME" or (name.startswith("ID_FS_LABEL") and ":" in value):  # md labels its members so
            yield from _md(value)
        elif name == "DM_NAME":
            yield from mapping(value)
        else:
            yield Kind.VOLUME, re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), value)
    for found in re.finditer(r"disk/(by-[a-z]+)/([^\s\"']{3,200})", text):
        yield from _link(found[1], found[2])


def _of_json(fields: dict[str, Kind], text: str) -> Said:
    """Yield the values of some fields of a JSON document; of one that is cut off, what stands there."""
    found = _parsed(text)
    if found is not None:
        yield from _walked(fields, found, 0)
        return
    for name, kind in fields.items():
        for value in re.findall(rf'"{re.escape(name)}"\s*:\s*"((?:[^"\\]|\\.)*)"', text):
            yield from _valued(kind, value)


def _parsed(text: str) -> Any:
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _walked(fields: dict[str, Kind], found: Any, depth: int) -> Said:
    if depth > _DEEPEST:
        return
    if isinstance(found, dict):
        for name, value in found.items():
            if isinstance(value, str) and name in fields:
                yield from _valued(fields[name], value)
            elif name in _LISTS and isinstance(value, list):
                yield from (said for word in value if isinstance(word, str) for said in _valued(_LISTS[name], word))
            else:
                yield from _walked(fields, value, depth + 1)
    elif isinstance(found, list):
        for value in found:
            yield from _walked(fields, value, depth + 1)


def _valued(kind: Kind, value: str) -> Said:
    if kind is Kind.HOST:
        yield from host(value)
    elif kind is Kind.VOLUME:
        yield kind, value.strip("[]")
    elif kind is Kind.UUID:  # a cluster is called by the first group of its own
        yield kind, value.partition("-")[0]
    else:
        yield kind, value
