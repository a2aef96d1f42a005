"""ATA over Ethernet: imported disks, and vblade processes that export disks."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

from sdstop.collectors.aoe.readings import (
    COMMAND,
    MOST_SECTORS,
    PACKET,
    SECTOR,
    AoeExport,
    AoePort,
    AoeSocket,
    AoeTarget,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.text import is_whole
from sdstop.readings.disk import device_name

BLOCK = "/sys/block"
DEBUG = "/sys/kernel/debug/aoe"
PACE = 10.0
"""Seconds between samples: payload and state change only on reconfiguration."""

_ETHERTYPE = "88a2"
_PREFIX = "etherd!"
_OPTIONS = "b:dsrm:o:l:"  # of vblade 25, which exits on unknown options
_MOST = 1 << 16
"""Maximum number of characters parsed from a command line or debugfs file."""


def read(host: Host) -> Iterable[Reading]:
    """Return the AoE disks, the exports, and the interfaces of both. Raises Absent if none of it was recorded."""
    entries = _entries(host)
    rows: list[Reading] = [_target(host, entry) for entry in entries]
    sockets = _sockets(host)
    # A node has thousands of processes; they are searched only if there is a socket, which every AoE target needs.
    pids = [] if sockets == [] else [name for name in host.names("/proc") if name.isdecimal()]
    if sockets is None and not entries and not pids:
        raise Absent(PACKET, "not recorded", recorded=False)
    rows += sockets or []
    for pid in pids:
        row = _export(host, pid)
        if row is not None:
            rows.append(row)
    rows += _ports(host, rows)
    return rows


def _entries(host: Host) -> list[str]:
    return [name for name in host.names(BLOCK) if name.startswith(_PREFIX)]


def _target(host: Host, entry: str) -> AoeTarget:
    base = f"{BLOCK}/{entry}"
    rtt, largest = parse_debug(host.maybe(f"{DEBUG}/{entry.removeprefix(_PREFIX)}") or "")
    return AoeTarget(
        device=device_name(entry),
        state=host.maybe(f"{base}/state") or None,
        payload=_carried(host.number(f"{base}/payload")),
        interfaces=_said(host.maybe(f"{base}/netif")),
        mac=_said(host.maybe(f"{base}/mac")),
        firmware=host.maybe(f"{base}/firmware-version") or None,
        rtt=rtt,
        largest=largest,
    )


def _carried(number: int | None) -> int | None:
    """Return a valid frame payload; None for impossible ones, with which later calculations would not terminate."""
    good = number is not None and 0 <= number <= MOST_SECTORS * SECTOR and number % SECTOR == 0
    return number if good else None


def _said(text: str | None) -> str | None:
    return text if text and text != "none" else None


_DEBUG = {name: expression(rf"^\s*{name}:\s*([0-9]{{1,10}})\b", re.MULTILINE) for name in ("rttavg", "maxbcnt")}


def parse_debug(text: str) -> tuple[float | None, int | None]:
    """Parse an AoE disk's debugfs file into round trip (seconds) and frame payload (bytes); None if missing.

    Kernel drivers/block/aoe/aoeblk.c: aoe_debugfs_show, 3.9 or later:

        rttavg: 412 rttdev: 180
        kicked: 0
        maxbcnt: 8192
    """
    rtt, largest = (_DEBUG[name].search(text[:_MOST]) for name in ("rttavg", "maxbcnt"))
    return (int(rtt[1]) / 1e6 if rtt else None), (int(largest[1]) if largest else None)


def _sockets(host: Host) -> list[AoeSocket] | None:
    """Return the AoE sockets; None if they were not recorded or cannot be read."""
    try:
        return parse_sockets(host.text(PACKET))
    except TimedOut:
        raise
    except Absent as absent:
        return [] if absent.recorded else None
    except Unreadable:
        return None


def parse_sockets(text: str) -> list[AoeSocket]:
    """Parse /proc/net/packet into AoE sockets.

        sk               RefCnt Type Proto  Iface R Rmem   User   Inode
        000000000a4e9cdf 3      3    88a2   2     1 0      0      471621

    Truncated lines are skipped. Raises Malformed for text without the heading.
    """
    lines = text.splitlines()
    heading = lines[0].split() if lines else []
    if not {"Proto", "Iface", "Inode"} <= set(heading):
        raise Malformed(f"{PACKET}: no heading in {text[:60]!r}")
    proto, iface, inode = (heading.index(name) for name in ("Proto", "Iface", "Inode"))
    found = []
    for line in lines[1:]:
        words = line.split()
        if len(words) < len(heading) or words[proto] != _ETHERTYPE:
            continue
        if all(is_whole(words[at]) for at in (iface, inode)):
            found.append(AoeSocket(int(words[inode]), int(words[iface])))
    return found


def _export(host: Host, pid: str) -> AoeExport | None:
    if host.maybe(f"/proc/{pid}/comm") != "vblade":
        return None
    where = f"/proc/{pid}/cmdline"
    said = host.maybe(where)  # None if the process has exited
    known = parse_cmdline(said) if said else None
    if known is None:
        return None
    options, shelf, slot, interface, path = known
    offset = options.get("-o", "0")
    return AoeExport(
        shelf=shelf,
        slot=slot,
        interface=interface,
        device=path,
        direct=int("-d" in options),
        pid=int(pid),
        where=where,
        kernel=_kernel_name(host, path),
        sync=int("-s" in options),
        read_only=int("-r" in options),
        buffers=int(options["-b"]) if is_whole(options.get("-b", ""), 18) else None,
        clients=options.get("-m"),
        offset=int(offset) * 512 if is_whole(offset, 18) else None,
    )


def parse_cmdline(text: str) -> tuple[Mapping[str, str], int, int, str, str] | None:
    r"""Parse a vblade (25) command line into options, shelf, slot, interface and path; None if it is invalid.

    /proc/PID/cmdline, arguments end with NUL:

        vblade\0-d\0-b\064\00\01\0eth1\0/dev/vg0/disks\0
    """
    import getopt  # noqa: PLC0415  # few nodes export anything by vblade

    argv = text[:_MOST].rstrip("\0").split("\0")
    try:
        options, words = getopt.gnu_getopt(argv[1:], _OPTIONS)
    except getopt.GetoptError:
        return None
    if len(words) != 4 or not all(is_whole(word, 5) for word in words[:2]):
        return None
    if not words[2] or not words[3]:
        return None
    return dict(options), int(words[0]), int(words[1]), words[2], words[3]


def kept_cmdline(data: bytes) -> bytes:
    """Return a vblade command line, b"" for any other, because other programs of that name may have secrets in it."""
    known = parse_cmdline(data.decode("utf-8", "surrogateescape"))
    return b"vblade\0" + data.partition(b"\0")[2] if known is not None and _is_plain(known[0]) else b""


def _is_plain(options: Mapping[str, str]) -> bool:
    return all(re.fullmatch(r"[\dA-Fa-f:,.xX-]*", value) for value in options.values())


def _kernel_name(host: Host, path: str) -> str | None:
    """Return a device's kernel name by its path, resolving udev links; None if it is not a device.

    `/dev/vg0/disks` is a link to `../dm-3`.
    """
    if not path.startswith("/dev/"):
        return None
    name = host.target(path) or path.removeprefix("/dev/")
    return name if "/" not in name or name.startswith(("etherd/", "cciss/")) else None


def _ports(host: Host, rows: Sequence[Reading]) -> list[AoePort]:
    names = {row.interface for row in rows if isinstance(row, AoeExport)}
    for row in rows:
        if isinstance(row, AoeTarget) and row.interfaces:
            names.update(row.interfaces.split(","))
    if not names:
        return []
    try:
        output = host.run(COMMAND)
    except TimedOut:
        raise
    except Unreadable:
        return []
    known = {} if output.exit else parse_max_mtus(output.text)
    return [AoePort(name, known[name]) for name in sorted(names) if name in known]


def parse_max_mtus(text: str) -> dict[str, int]:
    """Parse `ip -j -d link show` (iproute2 4.19 or later) into maximum MTUs by interface, without unlimited ones (0).

    [{"ifindex": 2, "ifname": "eth1", "mtu": 4000, "min_mtu": 68, "max_mtu": 9000, ...}, ...]
    """
    try:
        rows = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return {}
    found = {}
    for row in rows if isinstance(rows, list) else []:
        name, most = (row.get("ifname"), row.get("max_mtu")) if isinstance(row, dict) else (None, None)
        if isinstance(name, str) and isinstance(most, int) and not isinstance(most, bool) and 0 < most < 1 << 32:
            found[name] = most
    return found


def fingerprint(host: Host) -> Hashable:
    """Return the AoE disks with their payload, and the AoE sockets."""
    try:
        sockets = _sockets(host)
    except Malformed:
        sockets = None
    entries = [(entry, host.maybe(f"{BLOCK}/{entry}/payload")) for entry in _entries(host)]
    return tuple(entries), None if sockets is None else tuple(sorted(row.inode for row in sockets))


AOE = Collector(
    "aoe",
    "ATA over Ethernet",
    read,
    (AoeTarget, AoeExport, AoeSocket, AoePort),
    (
        Need(f"list:{BLOCK}", "which AoE disks there are"),
        Need(f"{BLOCK}/etherd!*/*", "state, payload, interfaces, target", filled=("state", "payload", "mac")),
        Need(f"{DEBUG}/*", "round trip and size of a frame", "root"),
        Need(PACKET, "whether a process has a socket for AoE", filled=True),
        Need("list:/proc", "looking for vblade, where there is such a socket"),
        Need("/proc/*/comm", "which processes are vblade's, where there is such a socket"),
        Need("/proc/*/cmdline", "exports of vblade and its options", keep=kept_cmdline),
        Need("link:/dev/*", "kernel name of the exported device"),
        Command(COMMAND, "maximum MTU of the AoE interfaces"),
    ),
    PACE,
    deadline=5.0,
    fingerprint=fingerprint,
    devices=r"etherd/e\d+\.\d+",
)
