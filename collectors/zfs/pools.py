"""ZFS pools, vdevs, resilvers, scrubs and rebuilds from `zpool status` (text or JSON) and `zpool list`.

On a failing pool these commands can block for a minute, so they have their own pace and deadline. Data that the
kernel exposes without accessing the pool is read by collectors/zfs/kstats.py.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping

from sdstop.collectors.zfs import zpool_json, zpool_list, zpool_status
from sdstop.collectors.zfs.readings import KSTATS, NO_POOLS, Pool, PoolState, Vdev, draid
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Denied, Failed, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole
from sdstop.readings.device_names import DevicePath
from sdstop.readings.rebuild import Rebuild

TEXT = ("zpool", "status", "-pP", "-s", "-t")
JSON = ("zpool", "status", "-j", "--json-int", "-pP", "-s")
LIST = ("zpool", "list", "-H", "-p", "-o", "name,size,allocated,free,fragmentation")
VERSION = "/sys/module/zfs/version"

_SECONDS = 10.0
"""Seconds between runs."""
_ANSWER = 8.0
"""Timeout of `zpool status` in seconds; it normally takes a tenth of a second, otherwise it hangs."""
_KERNEL_NAME = expression(r"(?:sd|vd|hd|xvd|nvme|dm-|md|loop|mmcblk|nbd|rbd|zd)[a-z0-9]+(?:p\d+)?")
_FOLDERS = ("/dev/disk/by-vdev", "/dev/disk/by-id", "/dev/mapper", "/dev/disk/by-path", "/dev/disk/by-partuuid")
_NUMBERED = expression(r"(mirror|raidz[123]?|spare|replacing|indirect)-\d{1,6}", re.ASCII)
_SPARE = expression(r"draid[123]-\d{1,6}-\d{1,6}", re.ASCII)
_STEPS = 10_000
"""Resolution of the progress in text output: hundredths of a percent."""


def read(host: Host) -> Iterator[Reading]:
    """Yield a Pool and its Vdevs for each imported pool, and a Rebuild for each running or paused scan.

    Raises Absent if no pool is imported; running the command would load the ZFS module. Of several recorded outputs
    that show a pool, the one with the most devices counts; a recorded `zpool list` adds pools that none shows.
    """
    listed = {row.pool: (row, output.key) for output in outputs(host, zpool_list.FORM)
              for row in zpool_list.parse(output.text)}  # fmt: skip
    known = _status(host, optional=bool(listed))
    sizes = _sizes(host)
    for name, (row, _) in listed.items():
        sizes.setdefault(name, dict(row.sizes))
    for key, pool in known:
        if pool.defect:
            host.defect(key, pool.defect, pool.name)
        if not pool.state:
            continue
        yield PoolState(pool.name, pool.state, key)
        yield _pool(pool, sizes.get(pool.name, {}), key)
        vdevs = [_vdev(host, pool.name, row, place, key) for place, row in enumerate(pool.vdevs)]
        yield from {vdev.vdev: vdev for vdev in vdevs}.values()
        yield from _names(vdevs)
        for scan in pool.scans:
            if scan.state in {"running", "paused"}:
                yield _rebuild(pool.name, scan, vdevs, key)
    shown = {pool.name for _, pool in known}
    for name, (row, key) in listed.items():
        if name not in shown and row.health:
            host.defect(key, "zpool list shows no errors and no tree of devices", name)
            yield PoolState(name, row.health, key)
            yield _pool(zpool_status.PoolStatus(name, row.health), row.sizes, key)


def _status(host: Host, *, optional: bool) -> list[tuple[str, zpool_status.PoolStatus]]:
    """Return the pools and the keys of their evidence; none if no status is recorded and it is optional."""
    try:
        zpool_status.imported(host)
        key, pools = _asked(host)
    except Absent as error:
        found = _recorded(host)
        if error.recorded or not (found or optional):
            raise
        return found
    return [(key, pool) for pool in pools]


def _recorded(host: Host) -> list[tuple[str, zpool_status.PoolStatus]]:
    """Return the pools of all recorded outputs; of one in several, that with the most devices, or the worse state."""
    found: dict[str, tuple[str, zpool_status.PoolStatus]] = {}
    for form, parse in ((zpool_json.FORM, zpool_json.parse), (zpool_status.FORM, zpool_status.parse)):
        for output in outputs(host, form):
            for pool in parse(output.text):
                known = found.get(pool.name)
                if known is not None and _differ(known[1], pool):
                    host.defect(output.key, f"other states in {known[0]}", pool.name)
                    if _troubled(known[1]) >= _troubled(pool):
                        continue
                elif known is not None and len(known[1].vdevs) >= len(pool.vdevs):
                    continue
                found[pool.name] = (output.key, pool)
    return list(found.values())


def _states(pool: zpool_status.PoolStatus) -> dict[str, str]:
    return {"": pool.state} | {vdev.name: vdev.state for vdev in pool.vdevs}


def _differ(one: zpool_status.PoolStatus, other: zpool_status.PoolStatus) -> bool:
    """Return whether two outputs show different states; options can change the names of devices."""
    mine, theirs = _states(one), _states(other)
    return any(mine[name] and theirs[name] and mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def _troubled(pool: zpool_status.PoolStatus) -> int:
    """Return the number of devices that are not in service, and of the pool itself."""
    return sum(state not in {"ONLINE", "AVAIL", "INUSE", ""} for state in _states(pool).values())


def _asked(host: Host) -> tuple[str, list[zpool_status.PoolStatus]]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", host.maybe(VERSION) or "", re.ASCII)
    if found and (int(found[1]), int(found[2])) >= (2, 3):
        output = host.run(JSON, _ANSWER)
        if not output.exit:  # tools older than the module do not support -j
            return command_key(JSON), zpool_json.parse(output.text)
    output = host.run(TEXT, _ANSWER)
    if output.exit:
        kind = Denied if "permission" in output.error.lower() else Failed
        raise kind(command_key(TEXT), output.failure)
    return command_key(TEXT), zpool_status.parse(output.text)


def _sizes(host: Host) -> dict[str, dict[str, int | None]]:
    """Return sizes in bytes and fragmentation in percent by pool; empty if `zpool list` fails."""
    try:
        output = host.run(LIST, _ANSWER)
    except (Absent, Denied, Failed):
        return {}
    return parse_list(output.text)


def parse_list(text: str) -> dict[str, dict[str, int | None]]:
    """Parse `zpool list -H -p -o name,size,allocated,free,fragmentation`; non-numeric values are None.

    tank	1476372480	262860800	1213511680	0
    """
    found = {}
    for line in text.split("\n"):
        name, *words = line.split("\t")
        if len(words) == 4:
            names = ("size", "allocated", "free", "fragmentation")
            found[name] = {key: _number(word) for key, word in zip(names, words, strict=True)}
    return found


def _number(word: str) -> int | None:
    return whole(word.removesuffix("%"))


def _pool(pool: zpool_status.PoolStatus, sizes: Mapping[str, int | None], key: str) -> Pool:
    fragmented = sizes.get("fragmentation")
    ended = [scan for scan in pool.scans if scan.state in {"finished", "canceled"}]
    last = next((scan for scan in pool.scans[::-1] if scan.operation != "rebuild"), None)
    return Pool(
        pool=pool.name,
        state=pool.state,
        size=sizes.get("size"),
        allocated=sizes.get("allocated"),
        free=sizes.get("free"),
        fragmentation=None if fragmented is None else fragmented / 100,
        data_errors=pool.data_errors,
        status=pool.status.partition(". ")[0].strip() or None if pool.status != "OK" else None,
        errors=pool.errors,
        last_scan=ended[-1].line[:200] if ended else None,
        scan_errors=ended[-1].errors if ended else None,
        scan=f"{last.operation} {last.state}" if last is not None else None,
        scrubbed_at=last.ended if last is not None and last.operation == "scrub" else None,
        where=key,
        checkpoint=pool.checkpoint,
        checkpointed=pool.checkpointed,
    )


def _vdev(host: Host, pool: str, row: zpool_status.StatusVdev, place: int, key: str) -> Vdev:
    kind = _kind(row)
    device = _device(host, row.path or row.name) if row.leaf and kind == "disk" else None
    return Vdev(
        pool=pool,
        vdev=_label(row),
        state=row.state,
        kind=kind,
        group=row.group or "data",
        parent=row.parents[-1] if row.parents else None,
        device=device,
        read_errors=row.read,
        write_errors=row.write,
        checksum_errors=row.checksum,
        slow_ios=row.slow,
        note=row.note or None,
        path=row.path or None,
        place=place,
        depth=len(row.parents),
        leaf=int(row.leaf),
        where=key,
        line=row.line,
    )


def _names(vdevs: Iterable[Vdev]) -> Iterator[DevicePath]:
    """Yield the paths a pool uses to find its disks; ZFS falls back to the disk labels for missing ones."""
    for row in vdevs:
        if row.leaf and row.kind == "disk" and row.path:
            yield DevicePath(
                holder=row.pool,
                place=row.vdev,
                path=row.path,
                kind="zfs",
                now=None,
                healthy=None,
                device=row.device,
                origin=row.where,
                needle=row.line,
            )


def _kind(row: zpool_status.StatusVdev) -> str:
    layout = draid(row.name)
    if layout:
        return f"draid{layout.parity}"
    if _SPARE.fullmatch(row.name):
        return "draid-spare"
    found = _NUMBERED.fullmatch(row.name)
    if found:
        return found[1]
    return "disk" if not row.path or row.path.startswith("/dev/") else "file"


def _label(row: zpool_status.StatusVdev) -> str:
    """Return a name that is unique in the pool; `spare-3`, for example, can occur in two of its top-level vdevs."""
    short = row.name.rpartition("/")[2] if row.name.startswith("/dev/") else row.name
    if row.group == "spares":
        return f"spares/{short}"
    if row.parents and (re.match(r"(?:spare|replacing)-", row.name) or _SPARE.fullmatch(row.name)):
        return "/".join((*row.parents, short))
    return short


def _device(host: Host, name: str) -> str | None:
    """Return the kernel name of a leaf's device, given as `/dev/sda1`, `/dev/disk/by-id/...-part1` or `0a-0`."""
    if name.startswith("/"):
        folder, short = posixpath.split(name)
        return host.target(name) or (short if folder == "/dev" and _KERNEL_NAME.fullmatch(short) else None)
    if _KERNEL_NAME.fullmatch(name):
        return name
    if "/" in name or name.isdecimal():  # a GUID: the device is gone
        return None
    return next((target for folder in _FOLDERS if (target := host.target(f"{folder}/{name}"))), None)


def _rebuild(pool: str, scan: zpool_status.Scan, vdevs: list[Vdev], key: str) -> Rebuild:
    """Return a scan as a Rebuild; progress is bytes scanned for sequential rebuilds, bytes issued for other scans."""
    total, done = scan.total, scan.scanned if scan.operation == "rebuild" else scan.issued
    if not scan.exact and scan.share is not None and total:
        done = round(scan.share * total)
    if done is not None and total is not None:
        total = max(total, done)  # data written during the scan is scanned as well
    return Rebuild(
        f"{pool}/{scan.vdev}" if scan.vdev else pool,
        scan.operation,
        scan.state,
        done,
        total,
        scan.speed,
        scan.remaining,
        kind="zfs",
        scanned=scan.scanned,
        repaired=scan.repaired,
        step=0 if scan.exact or not total else total // _STEPS,
        errors=scan.errors,
        devices=",".join(dict.fromkeys(v.device for v in vdevs if v.device and v.group in _SCANNED)) or None,
        where=key,
        needle=scan.line[:80],
    )


def fingerprint(host: Host) -> Hashable:
    """Return the pool states, which the kernel exposes without delay; a change triggers a new run."""
    return tuple((name, host.maybe(f"{KSTATS}/{name}/state")) for name in host.names(KSTATS) if name not in NO_POOLS)


_SCANNED = frozenset({"data", "special", "dedup"})

ZFS = Collector(
    "zfs",
    "ZFS pools, their vdevs, resilvers and scrubs",
    read,
    (PoolState, Pool, Vdev, Rebuild, DevicePath),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Need(f"{KSTATS}/*/state", "whether a pool's state changed: then it is asked at once"),
        Need(VERSION, "whether the tools support JSON"),
        Command(TEXT, "pools, vdevs, errors and scans; up to OpenZFS 2.2", filled=True),
        Command(JSON, "pools, vdevs, errors and scans; OpenZFS 2.3 and later", filled=True),
        Command(LIST, "sizes of the pools"),
        Need(
            "cmd:zpool status*",
            "pools, from captures only; never run in this form",
            redact=zpool_status.without_files,
        ),
        Need(
            "cmd:zpool list*",
            "sizes and health of pools, from captures only; never run in this form",
            redact=zpool_list.without_vdevs,
        ),
        Need("link:/dev/disk/*/*", "which devices the leaves are"),
    ),
    _SECONDS,
    deadline=2 * _ANSWER + 4,
    fingerprint=fingerprint,
    devices=r"zd\d+",
    forms=(zpool_status.FORM, zpool_json.FORM, zpool_list.FORM),
)
