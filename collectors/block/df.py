"""Space and inodes of file systems, and mount points, from recorded output of df, mount and findmnt.

    Filesystem            Size  Used Avail Use% Mounted on          df -h (coreutils 5 to 9, in all languages)
    /dev/mapper/vg0-home  376G  350G  7,0G  99% /home
    Filesystem      Type   Inodes   IUsed   IFree IUse% Mounted on  df -iT
    /dev/sda1       ext4    65536     351   65185    1% /boot
    /dev/sda1 on /boot type ext4 (rw,relatime)                      mount

Sizes with a unit are rounded up, to 1024 (-h) or 1000 (-H). A long name of a device has a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.block.mount_readings import FilesystemSpace, MountPoint
from sdstop.collectors.block.mounts import ACCESS, UNFLUSHED
from sdstop.collectors.block.mounts import parse as parse_mounts
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, FormOutput, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

_COUNT = r"\d{1,20}(?:[.,]\d{1,3})?[KMGTPEkB]?i?|-"
_ROW = expression(
    rf"(?P<device>\S.*?)(?:\s+(?P<type>[a-z][a-z0-9._-]{{1,20}}))??\s+(?P<all>{_COUNT})\s+(?P<used>{_COUNT})\s+"
    rf"(?P<free>{_COUNT}|-\d{{1,20}}[KMGTPEk]?)\s+(?P<share>\d{{1,3}}%|-)\s+(?P<point>/.*)"
)
_UNIT = expression(r"\s(\d{1,7})([BKMGT]?)i?B?-\S")
_INODES = expression(
    r"\b[Ii]-?n[oó]d|[Nn]od[eo]s-i|Inœuds|Iノード|I-(?:възли|uzl|kirjeid|solmut|nodoj)|iwęz|И-чвор|Iнод|І-вуз|Inóid|Inós"  # noqa: RUF001
)
_SIZE = expression(r"(\d{1,20}(?:[.,]\d{1,3})?)([BKMGTPEk]?)i?")
_POWERS = "BKMGTPE"
_MOUNT = expression(r"(?P<source>\S.*?) on (?P<point>/.*?) type (?P<type>\S+)(?: \((?P<options>.*?)\))?(?: \[.*\])?")


class DfRow(Struct, frozen=True):
    """A line of df: numbers in bytes or inodes, and the share of 0 to 1; None for `-`."""

    device: str
    type: str | None
    point: str
    inodes: bool
    all: int | None
    used: int | None
    free: int | None
    share: float | None


def parse(text: str, *, si: bool = False) -> list[DfRow]:
    """Parse the output of df with any of -h, -H, -i, -k, -m, -B, -T, -P, -a. `si`: units are powers of 1000.

    Raises Malformed if a line below the heading is not understood, and for `df --output`.
    """
    found: list[DfRow] = []
    heading, before = "", ""
    for line in (each.rstrip() for each in text.splitlines() if each.strip()):
        row = _ROW.fullmatch(f"{before}{line}")
        if row is not None and heading:
            found.append(_row(row, heading, si=si))
            before = ""
        elif "%" in line or not heading:
            if line.startswith("df: "):
                continue
            heading, before = f" {line}", ""
        elif re.fullmatch(r"\S+", line) and not before:
            before = f"{line} "
        else:
            raise Malformed(f"df: {line[:60]!r}")
    if before:
        raise Malformed(f"df: {before.strip()[:60]!r}")
    if not found:
        raise Malformed(f"no file system of df: {text.strip()[:60]!r}")
    return found


def _row(row: re.Match[str], heading: str, *, si: bool) -> DfRow:
    inodes = _INODES.search(heading) is not None
    unit = _UNIT.search(heading)
    scale = int(unit[1]) * 1024 ** _POWERS.index(unit[2] or "B") if unit is not None else 1
    base = 1000 if si else 1024
    total, used, free = (_number(row[name], 1 if inodes else scale, base) for name in ("all", "used", "free"))
    if not inodes and unit is None and not any(row[name][-1:].isalpha() for name in ("all", "used", "free")):
        total = used = free = None  # in blocks of unknown size
    share = whole(row["share"].rstrip("%"))
    return DfRow(
        row["device"], row["type"], row["point"], inodes, total, used, free, None if share is None else share / 100
    )


def _number(word: str, scale: int, base: int) -> int | None:
    """Return a count; less than nothing is left where the reserve is in use: 0."""
    if word.startswith("-") and len(word) > 1:
        return 0
    found = _SIZE.fullmatch(word)
    if found is None:
        return None
    power = _POWERS.index(found[2].upper() or "B")
    unit = float(base**power if power else scale)
    return round(float(found[1].replace(",", ".")) * unit)


def space(rows: Iterable[tuple[DfRow, str]]) -> Iterator[FilesystemSpace]:
    """Yield the file systems of lines with their keys; `df` and `df -i` of one mount point are one row.

    Of several outputs, the one that shows more in use counts.
    """
    found: dict[str, list[tuple[DfRow, str]]] = {}
    for row, key in rows:
        found.setdefault(row.point, []).append((row, key))
    for point, lines in found.items():
        sizes = max((row for row, _ in lines if not row.inodes), key=_fullness, default=None)
        inodes = max((row for row, _ in lines if row.inodes), key=_fullness, default=None)
        first = sizes or inodes
        if first is None:
            continue
        yield FilesystemSpace(
            point=point,
            source_name=first.device,
            type=next((row.type for row, _ in lines if row.type), None),
            size=sizes.all if sizes else None,
            used=sizes.used if sizes else None,
            available=sizes.free if sizes else None,
            share=sizes.share if sizes else None,
            inodes=inodes.all if inodes else None,
            inodes_used=inodes.used if inodes else None,
            inodes_share=inodes.share if inodes else None,
            told=next(key for row, key in lines if row is first),
            needle=f" {point}",
        )


def _fullness(row: DfRow) -> float:
    return -1.0 if row.share is None else row.share


def mounts_of(output: FormOutput) -> Iterator[MountPoint]:
    """Yield the mount points in the output of mount: each has a line with device, directory and type."""
    lines = []
    for line in output.text.splitlines():
        found = _MOUNT.fullmatch(line.rstrip())
        if found is not None:
            source, point = (found[name].replace("\\", "\\134").replace(" ", "\\040") for name in ("source", "point"))
            lines.append(f"{source} {point} {found['type']} {found['options'] or ''}".rstrip() + "\n")
    return parse_mounts("".join(lines), output.key)


def without_options(data: bytes) -> bytes:
    """Return the output of mount without options, which may contain passwords; `ro` and the like are kept."""
    return re.sub(rb" \(([^\n]*)\)", _access, data)


def _access(found: re.Match[bytes]) -> bytes:
    words = [word for word in found[1].split(b",") if word.decode("ascii", "replace") in ACCESS | UNFLUSHED]
    return b" (" + b",".join(words) + b")" if words else b""


DF = Form(
    key="cmd:df",
    first=r"[^\s\d/][^\n]* (?:\S*%|Capacity|Kapazität|Capacité|Capacidad) +\S[^\n]*\n"
    r"(?:/\S+\n)?\s*\S[^\n]*\s(?:\d{1,3}%|-) +/",
    reads="space and inodes of file systems",
    versions="coreutils 5 and later, in all languages; -h, -i, -T, -P, -B",
    goes_on=r"\S.*\s(?:\d{1,3}%|-)\s+/.*|/dev/\S+|\S+:/\S*|\s+[\d.,]+\S*\s.*\s/\S*",
)
MOUNT = Form(
    key="cmd:mount",
    first=r"\S+ on /\S* type [a-z][\w.]+ \(",
    reads="mounted file systems and their devices",
    versions="util-linux 2.20 and later",
    goes_on=r"\S.* on /.* type \S+(?: \(.*)?",
)


def read(host: Host) -> Iterable[Reading]:
    """Return the space of file systems, and the mount points that mount, else df shows. Raises Absent, Malformed."""
    rows: list[tuple[DfRow, str]] = []
    faults: list[tuple[str, Malformed]] = []
    points: list[MountPoint] = []
    for output in outputs(host, DF):
        try:
            rows += [(row, output.key) for row in parse(output.text, si=bool({"-H", "--si"} & {*output.words}))]
        except Malformed as error:
            faults.append((output.key, error))
    for output in outputs(host, MOUNT):
        points += mounts_of(output)
    if not rows and not points:
        if faults:
            raise faults[0][1]
        raise Absent("cmd:df", "not recorded", recorded=False)
    for key, why in faults:
        host.defect(key, f"not understood: {why}")
    points = points or [
        MountPoint(point=row.point, filesystem=row.type or "", device=row.device, origin=key)
        for row, key in rows
        if row.device.startswith("/dev/")
    ]
    return [*space(rows), *points]


DF_TEXT = Collector(
    "df",
    "Space of file systems in recorded output of df and mount",
    read,
    (FilesystemSpace, MountPoint),
    (
        Need("cmd:df*", "space and inodes of file systems, from captures only; never run"),
        Need("cmd:mount*", "mounted file systems; options are not kept", keep=without_options),
    ),
    SLOW,
    forms=(DF, MOUNT),
)
