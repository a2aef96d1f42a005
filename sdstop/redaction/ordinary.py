"""Ordinary names: names that are not identifying, because the kernel, distributions or common practice assign them.

A pool `tank` or a user `postgres` reveals nothing about the node's owner, and keeping them keeps reports readable. A
name that is missing here and that a parser needs, because it is also a word of its format, is found by trial
(redactor.py).
"""

from __future__ import annotations

from sdstop.core.expression import expression

RESERVED = frozenset({
    "active", "alloc", "array", "auto", "backup", "bond", "boot", "bridge", "btrfs", "bypass", "bytes", "cache",
    "cached", "cachedev", "capacity", "ceph", "clean", "config", "control", "core", "count", "crypt", "data", "default",
    "debian", "dev", "device", "devices", "dirty", "disk", "disks", "docker", "drbd", "efi", "error", "errors", "etc",
    "ext4", "failed", "false", "fast", "fault", "flashcache", "free", "guest", "hba", "healthy", "hits", "home", "host",
    "idle", "info", "init", "invalid", "kernel", "lib", "libvirt", "linear", "local", "localhost", "log",
    "logs", "loop", "lost", "lvm", "machine", "main", "mapper", "master", "mds", "media", "meta", "metadata", "mgr",
    "mirror", "misses", "mnt", "mode", "mon", "mount", "name", "net", "node", "none", "normal", "null", "offline",
    "online", "opt", "origin", "osd", "other", "part", "path", "peer", "pool", "primary", "proc", "qemu", "raid",
    "raid0", "raid1", "raid10", "raid4", "raid5", "raid6", "read",
    "reads",
    "replica", "resync", "root", "rpool", "run", "sbin", "scan", "scrub", "secondary", "server", "service", "session",
    "size", "slave", "slice", "slow", "snapshot", "sos", "spare", "spares", "special", "srv", "stats", "status",
    "storage", "striped", "swap", "sys", "system", "table", "tank", "target", "temp", "test", "thin", "thinpool", "tmp",
    "total", "true", "ubuntu", "unknown", "user", "users", "usr", "value", "var", "vg", "vg0", "virtio", "vm", "vol",
    "gluster", "volume", "volumes", "write", "writes", "xfs", "yes", "zero", "zfs", "zpool",
    "devtmpfs", "efivarfs", "overlay", "ramfs", "shm", "squashfs", "tmpfs", "udev", "vfat",
})  # fmt: skip
"""Words that occur on every node."""
ACCOUNTS = frozenset({
    "adm", "admin", "avahi", "backup", "bin", "chrony", "ceph", "daemon", "dbus", "debian", "dnsmasq", "ftp", "games",
    "gdm", "gluster", "haproxy", "irc", "libvirt", "libvirt-qemu", "list", "lp", "lxd", "mail", "man", "messagebus",
    "mysql", "news", "nginx", "nobody", "ntp", "node_exporter", "oxidized", "polkitd", "postfix", "postgres",
    "prometheus",
    "proxy", "qemu", "redis", "root", "rpc", "rpcuser", "rtkit", "saned", "sdc", "shutdown", "sshd", "statd", "sync",
    "sys", "syslog", "systemd", "tcpdump", "tss", "ubuntu", "unbound", "uucp", "uuidd", "vagrant", "vdsm", "www-data",
})  # fmt: skip
"""Users that distributions create."""
_PLAIN = expression(
    r"(?:sd|vd|xvd|hd)[a-z]{1,2}(?:[1-9]\d?)?|nvme\d+(?:c\d+)?(?:n\d+)?(?:p\d+)?|(?:md|dm-|loop|drbd|nbd|rbd|zd|bcache|sr|st|sg"
    r"|mmcblk|ram|zram|cpu|node|host|card|fd|tty\w{0,3}|ttyS|mon|osd\.?|slot|disk|rack|port)\d+(?:p\d+)?"
    r"|(?:eth|en[opsx]|en\w|wlan|wl\w|ib\w{0,2}|bond|br|vlan|veth|virbr|tap|tun|dummy|team)\d+\S*|lo|phy-\S+|expander-\S+"
    r"|\d+(?:[.:x-]\d+)*|(?:draid|raidz)\d?(?::\d+\w)*|\d+(?:\.\d+)?[kmgtp]i?b?|0x[0-9a-f]{1,8}|[a-z]{1,2}\d?"
    r"|(?:mirror|raidz\d?|draid\d?(?::\w+)*|spare|replacing|logs|cache|special|dedup|indirect|hole|missing)-[\d-]+"
    r"|ceph-\d{1,6}|zil|arc|l2arc|[hs]dd|(?:docker|usb|wwan|sit|gre|ppp|vnet)\d+"
)
"""Names that the kernel and ZFS assign, and numbers."""


def is_ordinary(word: str) -> bool:
    """Return whether a word is not identifying, regardless of case."""
    lower = word.lower()
    return lower in RESERVED or _PLAIN.fullmatch(lower) is not None
