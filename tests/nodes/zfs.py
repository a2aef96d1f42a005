"""A node with a ZFS pool, as evidence: what `zpool status` prints, kstats, settings."""

from __future__ import annotations

from collections.abc import Mapping

from sdstop.collectors.zfs.pools import LIST, TEXT
from sdstop.collectors.zfs.readings import KSTATS, PARAMETERS
from sdstop.collectors.zfs.settings import GET
from sdstop.core.evidence import command_key

STATUS = command_key(TEXT)
SIZES = command_key(LIST)
SETTINGS = command_key(GET)


def tree(
    *rows: tuple[int, str, str],
    errors: Mapping[str, tuple[int, int, int]] | None = None,
    notes: Mapping[str, str] | None = None,
) -> str:
    """Return lines of the tree: (depth from 0, name, state); a row of depth -1 heads a group."""
    lines = []
    for depth, name, state in rows:
        if depth < 0:
            lines.append(f"\t{name}")
            continue
        counts = " ".join(f"{n:5}" for n in (errors or {}).get(name, (0, 0, 0)))
        row = f"\t{'  ' * depth}{name:<{30 - 2 * depth}}  {state:<8}"
        lines.append(row if state in {"AVAIL", "INUSE"} else f"{row} {counts} {0:5}")
        if name in (notes or {}):
            lines[-1] += f"  {(notes or {})[name]}"
    return "\n".join(lines)


def status(
    vdevs: str,
    *,
    state: str = "ONLINE",
    scan: str = "",
    errors: str = "No known data errors",
    pool: str = "tank",
    said: str = "",
) -> str:
    """Return what `zpool status` prints of a pool; `scan` is the text after `scan: `."""
    lines = [f"  pool: {pool}", f" state: {state}"]
    lines += [f"status: {said}"] if said else []
    lines += [f"  scan: {scan}"] if scan else []
    lines += ["config:", "", f"\t{'NAME':<30}  STATE     READ WRITE CKSUM  SLOW"]
    lines += [f"\t{pool:<30}  {state:<8}     0     0     0     0", vdevs, "", f"errors: {errors}", ""]
    return "\n".join(lines)


MIRROR = status(
    tree(
        (1, "mirror-0", "ONLINE"),
        (2, "/dev/disk/by-id/ata-A-part1", "ONLINE"),
        (2, "/dev/sdb1", "ONLINE"),
        (-1, "special", ""),
        (1, "mirror-2", "ONLINE"),
        (2, "/dev/nvme0n1p1", "ONLINE"),
        (2, "/dev/nvme1n1p1", "ONLINE"),
        (-1, "logs", ""),
        (1, "/dev/nvme0n1p2", "ONLINE"),
        (-1, "cache", ""),
        (1, "/dev/nvme1n1p2", "ONLINE"),
        (-1, "spares", ""),
        (1, "/dev/sdz1", "AVAIL"),
    ),
    scan="scrub repaired 0B in 2 days 10:05:20 with 0 errors on Tue Jul 11 10:29:22 2023",
)


def kstat(*, name: str = "", **numbers: int) -> str:
    """Return a kstat as /proc/spl/kstat/zfs has it."""
    head = f"22 1 0x01 7 2160 96394609890 163258348824\n{'name':<31} type data\n"
    head += f"{'dataset_name':<31} 7    {name}\n" if name else ""
    return head + "".join(f"{key:<31} 4    {number}\n" for key, number in numbers.items())


def zil(commits: int, slog: int = 0) -> dict[str, str]:
    """Return the intent log's kstat, `slog` of the commits to log devices."""
    return {
        f"{KSTATS}/zil": kstat(
            zil_commit_count=commits, zil_itx_metaslab_normal_count=commits - slog,
            zil_itx_metaslab_normal_bytes=(commits - slog) * 8192, zil_itx_metaslab_slog_count=slog,
            zil_itx_metaslab_slog_bytes=slog * 8192,
        )
    }  # fmt: skip


def node(text: str | None, *, state: str = "ONLINE", pool: str = "tank") -> dict[str, str]:
    """Return a node's evidence: the state by the kernel and, unless None, what zpool status printed."""
    files = {f"{KSTATS}/{pool}/state": f"{state}\n", "/sys/module/zfs/version": "2.1.11-1\n",
             f"{PARAMETERS}/zfs_resilver_min_time_ms": "3000\n"}  # fmt: skip
    return files if text is None else {**files, STATUS: text}
