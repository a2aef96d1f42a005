"""Declared names: names of hosts, users, volumes and paths in fields of readings that are declared as names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.core.expression import expression
from sdstop.core.model import Name
from sdstop.redaction.identity import IPV4
from sdstop.redaction.ordinary import is_ordinary
from sdstop.redaction.pseudonym import NameKind

Names = Iterator[tuple[NameKind, str]]

_LABELS = frozenset(
    {"com", "corp", "edu", "example", "gov", "int", "internal", "intra", "intranet", "lan", "local", "org", "prod"}
)
"""Domain labels that are not identifying; any other may be the name of the node's owner."""
_PORT = expression(r":\d{1,5}\Z")
_PARTS = expression(r"[/@:,~\[\]()]+")
_LINKED = expression(
    r"(?:ata|scsi|nvme|usb|mmc|virtio|google)-[\w.+-]{1,120}?_(?P<serial>[A-Za-z0-9-]{5,40})(?:-part\d+|_\d|-0:\d)?\Z"
)
_PREFIXED = expression(r"(?:ata|scsi|nvme|usb|mmc|virtio|google|wwn|lvm-pv|md-uuid|dm-uuid)-")
_MACHINE = expression(r"machine-(?:qemu|lxc)-\d+-(?P<name>.+)\.scope\Z|user-(?P<user>.+)\.slice\Z")
_CLUSTER = expression(r"ceph-([0-9a-f]{8})")
"""Name of a Ceph cluster: the first group of its UUID, which has its own pseudonym."""
_KERNEL = expression(r"(?:etherd/e\d+\.\d+|cciss/c\d+d\d+|rd/c\d+d\d+|ida/c\d+d\d+)(?:p\d+)?")
"""Kernel device names that contain a directory."""
_LVM = expression(
    r"(?:_(?:[rm]image|rmeta)_\d+|_(?:mlog|[tcv]data|[tc]meta|imeta|pmspare|cvol|[cwi]?orig|wcorig|vorigin)"
    r"|(?<!-)-(?:missing_\d+_\d+|[tcv]pool|cow|real))+\Z"
)
"""Suffixes that LVM appends to a volume's name for its parts (lib/misc/lvm-string.c, lib/activate/dev_manager.c)."""
_ESCAPE = expression(r"\\x([0-9a-f]{2})")
_FOLDERS = frozenset({
    "block", "bsg", "bus", "bulk", "cciss", "ceph", "char", "cpu", "disk", "dri", "drm", "etherd", "fd", "hugepages",
    "ida", "input", "loop", "mqueue", "net", "pts", "raw", "sg", "shm", "snd", "ublk", "usb", "vfio", "vhost",
})  # fmt: skip
"""Directories of /dev that are not volume groups."""
_SYSTEM = frozenset({"bin", "boot", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"})
"""Directories whose files exist on every node."""
_EVERYWHERE = frozenset({
    "app", "apps", "archive", "archives", "backups", "bin", "buffer", "cgroup", "clones", "databases", "db", "disk",
    "export", "exports",
    "files", "fs", "golden", "images", "iso", "isos", "lost+found", "mysql", "nfs", "postgresql", "public", "samba",
    "scratch", "scripts", "share", "shared", "shares", "snapshots", "system.slice", "user.slice", "machine.slice",
    "template", "templates", "tftpboot", "vault", "vms", "work", "www",
})  # fmt: skip
"""Common directory names."""
_SUFFIX = expression(r"(?:\.[A-Za-z0-9]{1,8})+\Z")
_IN_TEXT = expression(r"(?:^|(?<=[\s=,:\"'(]))/[^\s,\"'()]+")
_ASSIGNED = expression(r"(?:-name |guest=)(?!guest=)(?P<name>[^\s,]+)")


def names_in(kind: Name, text: str) -> Names:
    """Yield the names in a field of a kind, including some that are not identifying."""
    match kind:
        case Name.HOST:
            yield from _owner(text) if text.startswith("/") else host(_PORT.sub("", text))
        case Name.USER:
            yield NameKind.USER, text
        case Name.SERIAL:
            yield NameKind.SERIAL, text
        case Name.MAPPING:
            yield from mapping(text)
        case Name.VOLUME:
            yield from path(text) if text.startswith("/") else _volume(text)
        case Name.DEVICE:
            yield from _devices(text)
        case Name.INTERFACE:
            yield from (
                (NameKind.INTERFACE, part) for name in text.split(",") for part in (name, name.partition(".")[0])
            )
        case Name.PATH:
            yield from path(text) if text.startswith("/") else _volume(text)
        case Name.PATHS:
            yield from (name for found in _IN_TEXT.finditer(text) for name in path(found[0]))
            yield from ((NameKind.VOLUME, found["name"]) for found in _ASSIGNED.finditer(text))


def in_key(key: str) -> Names:
    """Yield names in a path of evidence that readings may lack: of devices, machines, users' control groups."""
    if key.startswith("/dev/"):
        yield from device(key.split("/")[2:])
    elif "/libvirt/" in key and key.endswith(".xml"):
        yield NameKind.VOLUME, key.rpartition("/")[2].removesuffix(".xml")
    elif key.startswith("/sys/fs/cgroup/"):
        yield from _owner(key)


def host(name: str) -> Names:
    """Yield a host's name, in full and short, and its domain."""
    name = name.strip().rstrip(".")
    if not name or IPV4.fullmatch(name) or ":" in name:
        return
    yield NameKind.HOST, name
    short, dot, domain = name.partition(".")
    if dot and " " not in name:
        yield NameKind.HOST, short
        yield NameKind.HOST, domain
        yield from ((NameKind.HOST, label) for label in domain.split(".")[:-1] if label.lower() not in _LABELS)


def mapping(name: str) -> Names:
    """Yield the volume group and the volume of a mapping's name, or the name; `--` is an escaped hyphen.

    Of a part of a volume, such as `vg0-home_rimage_0`, it is the volume: parsers need the suffix.
    """
    for part in re.split(r"(?<!-)-(?!-)", _LVM.sub("", name)):
        yield NameKind.VOLUME, part.replace("--", "-")


def path(text: str) -> Names:
    """Yield the names in a path: group and volume of a device, else directories that are not common."""
    parts = [part for part in text.split("/") if part]
    if not parts or parts[0] in _SYSTEM:
        return
    if parts[0] == "dev":
        yield from device(parts[1:])
        return
    for part in parts:
        plain = _SUFFIX.sub("", part)
        if plain.lower() not in _EVERYWHERE and part not in _EVERYWHERE:
            yield NameKind.PATH, plain


def device(parts: list[str]) -> Names:
    """Yield the names in a path below /dev, given as its parts."""
    if _KERNEL.fullmatch("/".join(parts)):
        return
    match parts:
        case ["disk", by, name, *_]:
            yield from link(by, name)
        case ["mapper", name, *_]:
            yield from mapping(name)
        case ["zvol" | "rbd", *names]:
            yield from (found for name in names for found in _volume(name))
        case ["md", name]:
            yield from _volume(name)
        case ["drbd", "by-res", name, *_]:
            yield NameKind.VOLUME, name
        case [group, volume] if group not in _FOLDERS and not group.startswith(("nvme", "drbd")):
            yield NameKind.VOLUME, group
            yield NameKind.VOLUME, volume
        case [name]:
            yield from _devices(name)


def link(by: str, name: str) -> Names:
    """Yield the names in a link of /dev/disk/by-*."""
    name = re.sub(r"-part\d+\Z", "", name)
    if by in {"by-label", "by-partlabel"}:
        yield NameKind.VOLUME, unescaped(name)
    elif by == "by-id" and name.startswith("md-name-"):
        where, colon, volume = name.removeprefix("md-name-").partition(":")
        yield from host(where) if colon else ()
        yield NameKind.VOLUME, volume if colon else where
    elif by == "by-id" and name.startswith("dm-name-"):
        yield from mapping(name.removeprefix("dm-name-"))
    elif by == "by-id" and (named := _LINKED.search(name)) is not None:
        yield NameKind.SERIAL, named["serial"]


def unescaped(text: str) -> str:
    """Return a text of udev or systemd with its hexadecimal character escapes decoded."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _volume(text: str) -> Names:
    """Yield the parts of `pool/folder/volume@snapshot`, `domain/pool`, `[lv_meta]`, `rbd:pool/image`, `a,b`.

    Of a part of an LVM volume, such as `vg0/home_rimage_0`, it is the volume: parsers need the suffix.
    A Ceph cluster is named by a part of its UUID, alone or in front of a node and an OSD.
    """
    for word in text.split("/"):
        if (named := _CLUSTER.fullmatch(word)) is not None:
            yield NameKind.UUID, named[1]
        elif not is_ordinary(word):
            yield from ((NameKind.VOLUME, _LVM.sub("", part.strip())) for part in _PARTS.split(word))


def _devices(text: str) -> Names:
    """Yield names of devices: paths, also relative to /dev, links or aliases, in a list with commas or a sentence."""
    if " " in text:
        yield from (name for found in _IN_TEXT.finditer(text) for name in path(found[0]))
        return
    for word in text.split(","):
        if is_ordinary(word) or _KERNEL.fullmatch(word):
            continue
        if word.startswith("/"):
            yield from path(word)
        elif word.startswith(("disk/by-", "mapper/")):
            yield from device(word.split("/"))
        elif _PREFIXED.match(word) or word.startswith(("md-name-", "dm-name-")):
            yield from link("by-id", word)
        else:
            yield from _volume(re.sub(r"-part\d+\Z", "", word))


def _owner(group: str) -> Names:
    """Yield the machine or the user in a control group's name, in systemd's notation."""
    for part in unescaped(group).split("/"):
        if (found := _MACHINE.match(part)) is not None:
            yield (NameKind.VOLUME, found["name"]) if found["name"] else (NameKind.USER, found["user"])
