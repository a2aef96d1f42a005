"""Vocabulary: words that tell nobody who it is, and that must stay: without them evidence could not be read any more.

A host may be called `node`, a pool `online`. What sdstop itself looks for in evidence, and says in its reports, is
taken out of its own code, so that a new parser or rule needs no list to be kept.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from inspect import CO_NEWLOCALS
from types import CodeType

RESERVED = frozenset({
    "active", "alloc", "array", "auto", "backup", "bond", "boot", "bridge", "btrfs", "bypass", "bytes", "cache",
    "cached", "cachedev", "capacity", "ceph", "clean", "config", "control", "core", "count", "crypt", "data", "default",
    "debian", "dev", "device", "devices", "dirty", "disk", "disks", "docker", "drbd", "efi", "error", "errors", "etc",
    "ext4", "failed", "false", "fast", "fault", "flashcache", "free", "guest", "hba", "healthy", "hits", "home", "host",
    "idle", "info", "init", "invalid", "kernel", "lib", "libvirt", "linear", "local", "localhost", "log",
    "logs", "loop", "lost",
    "lvm", "machine", "main", "mapper", "master", "media", "meta", "metadata", "mirror", "misses", "mnt", "mode",
    "mount", "name", "net", "node", "none", "normal", "null", "offline", "online", "opt", "origin", "part", "path",
    "pool", "primary", "proc", "qemu", "raid", "raid0", "raid1", "raid10", "raid4", "raid5", "raid6", "read", "reads",
    "replica", "resync", "root", "rpool", "run", "sbin", "scan", "scrub", "secondary", "server", "service", "session",
    "size", "slave", "slice", "slow", "snapshot", "sos", "spare", "spares", "special", "srv", "stats", "status",
    "storage", "striped", "swap", "sys", "system", "table", "tank", "target", "temp", "test", "thin", "thinpool", "tmp",
    "total", "true", "ubuntu", "unknown", "user", "users", "usr", "value", "var", "vg", "vg0", "virtio", "vm", "vol",
    "volume", "volumes", "write", "writes", "xfs", "yes", "zero", "zfs", "zpool",
})  # fmt: skip
"""Words of the formats, or of everybody."""
ACCOUNTS = frozenset({
    "adm", "admin", "avahi", "backup", "bin", "chrony", "ceph", "daemon", "dbus", "debian", "dnsmasq", "ftp", "games",
    "gdm", "gluster", "haproxy", "irc", "libvirt", "libvirt-qemu", "list", "lp", "lxd", "mail", "man", "messagebus",
    "mysql", "news", "nginx", "nobody", "ntp", "node_exporter", "oxidized", "polkitd", "postfix", "postgres",
    "prometheus",
    "proxy", "qemu", "redis", "root", "rpc", "rpcuser", "rtkit", "saned", "sdc", "shutdown", "sshd", "statd", "sync",
    "sys", "syslog", "systemd", "tcpdump", "tss", "ubuntu", "unbound", "uucp", "uuidd", "vagrant", "vdsm", "www-data",
})  # fmt: skip
"""Users that every distribution makes."""
_PLAIN = re.compile(
    r"(?:sd|vd|xvd|hd)[a-z]{1,2}(?:[1-9]\d?)?|nvme\d+(?:c\d+)?(?:n\d+)?(?:p\d+)?|(?:md|dm-|loop|drbd|nbd|rbd|zd|bcache|sr|st|sg"
    r"|mmcblk|ram|zram|cpu|node|host|card|fd|tty\w{0,3}|ttyS|mon|osd\.?|slot|disk|rack|port)\d+(?:p\d+)?"
    r"|(?:eth|en[opsx]|en\w|wlan|wl\w|ib\w{0,2}|bond|br|vlan|veth|virbr|tap|tun|dummy|team)\d+\S*|lo|phy-\S+|expander-\S+"
    r"|\d+(?:[.:x-]\d+)*|(?:draid|raidz)\d?(?::\d+\w)*|\d+(?:\.\d+)?[kmgtp]i?b?|0x[0-9a-f]{1,8}|[a-z]{1,2}\d?"
)
"""Names that the kernel gives, and numbers."""
_SOURCES = ("parsers", "collectors", "readings", "analysis", "rules", "exporters", "redaction")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*")
_PARTS = re.compile(r"[A-Za-z0-9]+")


def ordinary(word: str) -> bool:
    """Whether a word is one of everybody, of a format, or of the kernel, whatever the case of its letters."""
    lower = word.lower()
    return lower in RESERVED or _PLAIN.fullmatch(lower) is not None or lower in _read()


@cache
def _read() -> frozenset[str]:
    """Return the words that the code looks for."""
    found: set[str] = set()
    for name in _SOURCES:
        package = importlib.util.find_spec(f"sdstop.{name}")
        for module in pkgutil.iter_modules(package.submodule_search_locations if package is not None else ()):
            spec = importlib.util.find_spec(f"sdstop.{name}.{module.name}")
            code = getattr(spec.loader, "get_code", lambda _: None)(spec.name) if spec is not None else None
            for text in _texts(code) if code is not None else ():
                for word in _WORDS.findall(text):
                    found.add(word.lower())
                    found.update(_PARTS.findall(word.lower()))
    return frozenset(word for word in found if len(word) > 2)


def _texts(code: CodeType) -> Iterator[str]:
    """Yield the texts of a piece of code, but for its docstring, in whose example may be a name."""
    for constant in _without_docstring(code):
        if isinstance(constant, CodeType):
            yield from _texts(constant)
            continue
        several = constant if isinstance(constant, tuple | frozenset) else (constant,)
        yield from (text for text in several if isinstance(text, str))


def _without_docstring(code: CodeType) -> tuple[object, ...]:
    """Return the constants: a function's first one is its docstring or None, that of others is told by its name."""
    if code.co_flags & CO_NEWLOCALS:
        return code.co_consts[1:]
    at = next((at for at, c in enumerate(code.co_consts) if isinstance(c, str) and " " in c), None)
    documented = "__doc__" in code.co_names and at is not None
    return code.co_consts[:at] + code.co_consts[at + 1 :] if documented and at is not None else code.co_consts
