"""Ceph daemons of this node by their data directories, and the processes that run.

Packages use /var/lib/ceph/osd/CLUSTER-3, mon/CLUSTER-a, mgr/CLUSTER-x, mds/CLUSTER-a and radosgw/CLUSTER-rgw.a;
cephadm uses /var/lib/ceph/FSID/osd.3. A directory that is empty belongs to a daemon that was removed, or to an OSD that
ceph-volume has not activated.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sdstop.collectors.ceph.readings import DAEMONS, KIND, CephDaemon
from sdstop.collectors.ceph.tool import CONFIG_FILE, LOCAL, configured, name_of, only_identity
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, TimedOut, Unreadable
from sdstop.core.retention import mount_table
from sdstop.core.text import json_text

HOSTNAME = "/proc/sys/kernel/hostname"
MOUNTS = "/proc/self/mounts"
PACE = 30.0
"""Seconds between samples; each lists the processes."""
_PROGRAMS = {"ceph-osd": "osd", "ceph-mon": "mon", "ceph-mgr": "mgr", "ceph-mds": "mds", "radosgw": "rgw"}
_FOLDERS = {"radosgw": "rgw"}
"""Kinds of daemons by the folders of packages that are called otherwise."""
_LONGEST = 4096
"""Bytes read of a command line."""
_ID = expression(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_PLACES = (
    *(f"{LOCAL}/{folder}/*-*" for folder in ("osd", "mon", "mgr", "mds", "radosgw")),
    *(f"{LOCAL}/*/{kind}.*" for kind in _PROGRAMS.values()),
)
_MARKS = ("block", "current", "keyring", "store.db", "unit.run", "whoami")
"""Files of which a data directory in use has at least one."""


def running(host: Host) -> list[dict[str, str]]:
    """Return the daemons whose processes run: [{"kind": "osd", "id": "3"}].

    Read from the command lines of processes, which are not recorded.
    """
    found = []
    for entry in host.entries("/proc"):
        if not entry.isdigit():
            continue
        kind = _PROGRAMS.get(host.maybe(f"/proc/{entry}/comm") or "")
        if kind is None:
            continue
        try:
            line = host.read(f"/proc/{entry}/cmdline")[:_LONGEST]
        except TimedOut:
            raise
        except Unreadable:
            continue
        name = daemon_id(kind, line.decode("utf-8", "replace").split("\0"))
        if name is not None:
            found.append({"kind": kind, "id": name})
    return sorted(found, key=lambda row: (row["kind"], row["id"]))


def daemon_id(kind: str, argv: Sequence[str]) -> str | None:
    """Return the id in a daemon's command line: `-i 3`, `--id 3`, `-n osd.3`, `--name=osd.3`; None without one.

    A gateway is a client: `-n client.rgw.a` has the id a.
    """
    for place, word in enumerate(argv):
        option, equals, value = word.partition("=")
        if option not in {"-i", "--id", "-n", "--name"}:
            continue
        if not equals:
            value = argv[place + 1] if place + 1 < len(argv) else ""
        value = value.removeprefix("client.").removeprefix(f"{kind}.") if option in {"-n", "--name"} else value
        return value if _ID.fullmatch(value) else None
    return None


def folders(host: Host) -> Iterator[tuple[str, str, str]]:
    """Yield kind, id and directory of each daemon with a data directory here."""
    for pattern in _PLACES:
        for folder in host.glob(pattern):
            base = posixpath.basename(folder)
            kind, dot, name = base.partition(".")
            if not dot or kind not in _PROGRAMS.values():
                kind, name = posixpath.basename(posixpath.dirname(folder)), base.partition("-")[2]
                kind = _FOLDERS.get(kind, kind)
                name = name.removeprefix("rgw.") if kind == "rgw" else name
            if kind in _PROGRAMS.values() and _ID.fullmatch(name) and (kind != "osd" or name.isdecimal()):
                yield kind, name, folder


def local_osds(host: Host) -> Iterator[tuple[tuple[str | None, int], str]]:
    """Yield the disk of each OSD of this node, by cluster id and OSD number."""
    for kind, name, folder in folders(host):
        if kind == "osd" and len(name) < 8:
            disk = _disk(host, folder)
            if disk:
                yield (host.maybe(f"{folder}/ceph_fsid"), int(name)), disk


def _disk(host: Host, folder: str) -> str | None:
    """Return the device that an OSD stores on.

    `block` is a link to an LVM volume (through a link in /dev to the device) or to a partition; a volume on a single
    disk is replaced by the disk. Without the link, data is in files: the device of the file system counts.
    """
    try:
        target = host.link(f"{folder}/block")
    except TimedOut:
        raise
    except Unreadable:
        return _mounted(host, folder)
    path = target if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
    return _whole(host, host.target(path) or posixpath.basename(path))


def _mounted(host: Host, folder: str) -> str | None:
    if {"block", "current"}.isdisjoint(host.names(folder)):
        return None
    best, found = "", ""
    for line in (host.maybe(MOUNTS) or "").splitlines():
        source, _, rest = line.partition(" ")
        point = rest.partition(" ")[0]
        if len(point) >= len(best) and f"{folder}/".startswith(f"{point.rstrip('/')}/"):
            best, found = point, source
    if not found.startswith("/dev/"):
        return None
    return _whole(host, host.target(found) or found.removeprefix("/dev/"))


def _whole(host: Host, name: str) -> str:
    below = host.names(f"/sys/block/{name}/slaves")
    return below[0] if len(below) == 1 else name


def read(host: Host) -> Iterable[CephDaemon]:
    """Return the daemons that this node should run. Raises Absent without any, Denied if directories are closed."""
    known = list(folders(host))
    if not known:
        try:
            host.entries(LOCAL)
        except Absent as error:
            raise Absent(LOCAL, "no Ceph daemon here", recorded=error.recorded) from error
        raise Absent(LOCAL, "no Ceph daemon has a data directory here")
    active = _active(host)
    node = host.maybe(HOSTNAME) or "this node"
    own = configured(host)[0]
    rows = []
    for kind, name, folder in known:
        try:
            inside = host.entries(folder)
        except (Absent, Failed):
            continue
        if set(inside).isdisjoint(_MARKS):
            continue
        fsid = host.maybe(f"{folder}/ceph_fsid") or _fsid_in(folder) or own
        rows.append(
            CephDaemon(
                cluster=name_of(fsid) if fsid else KIND,
                daemon=f"{kind}.{name}",
                kind=kind,
                number=int(name) if kind == "osd" and name.isdecimal() else None,
                ident="" if kind == "osd" and name.isdecimal() else name,
                node=node,
                running=None if active is None else int((kind, name) in active),
                folder=folder,
                local=_disk(host, folder) if kind == "osd" else None,
                origin=f"list:{posixpath.dirname(folder)}",
                needle=posixpath.basename(folder),
            )
        )
    if not rows:
        raise Absent(LOCAL, "no Ceph daemon has data here")
    return rows


def _fsid_in(folder: str) -> str | None:
    """Return the cluster's id in a path of cephadm."""
    found = re.fullmatch(rf"{LOCAL}/([0-9a-f]{{8}}-[0-9a-f-]{{27}})/[^/]+", folder)
    return found[1] if found else None


def _active(host: Host) -> set[tuple[str, str]] | None:
    """Return kind and id of the daemons that run; None if that was not recorded."""
    try:
        said: Any = host.answer(DAEMONS)
    except (Absent, Denied):
        return None
    if not isinstance(said, list):
        raise Malformed(f"{DAEMONS}: not a list")
    rows = [row for row in said if isinstance(row, dict)]
    return {(json_text(row.get("kind")) or "", json_text(row.get("id")) or "") for row in rows}


CEPH_DAEMONS = Collector(
    "ceph-daemons",
    "Ceph daemons of this node",
    read,
    (CephDaemon,),
    (
        Need(f"list:{LOCAL}*", "data directories of daemons", "root, or group ceph"),
        Need(f"{LOCAL}/*/ceph_fsid", "cluster ID of a daemon"),
        Need(f"link:{LOCAL}/*", "devices of OSDs"),
        Need("link:/dev/*", "kernel name of an OSD's device"),
        Need("list:/sys/block/*/slaves", "disk below an OSD's device"),
        Need(MOUNTS, "file system of an OSD that stores in files", keep=mount_table),
        Need(HOSTNAME, "host name"),
        Need(CONFIG_FILE, "cluster ID", keep=only_identity),
        Question(DAEMONS, "running daemons of Ceph", answer=running),
    ),
    PACE,
)
