"""Parser for the output of lsblk (util-linux 2.19 to 2.41, misc-utils/lsblk.c): tree, list, pairs, raw, JSON.

    NAME               MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
    sda                  8:0    0 447.1G  0 disk
    |-sda1               8:1    0     1G  0 part  /boot
    `-sda2               8:2    0 446.1G  0 part
      |-vg0-root       253:0    0    70G  0 lvm   /
      `-vg0-home       253:1    0   376G  0 lvm   /home

A device with several parents is printed below each of them. With `-s` the tree is upside down: a device's parents are
below it. Sizes are rounded to one decimal of a unit of 1024 unless `-b` is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.recorded import RecordedOutput
from sdstop.core.table import aligned

DM_TYPES = frozenset({"lvm", "crypt", "mpath", "dm", "raid", "multipath", "linear", "striped", "thin", "snapshot",
                      "integrity", "vdo", "cache", "writecache", "verity", "dmraid"})  # fmt: skip
"""Types of device mapper devices."""
_BRANCH = expression(r"(?:[|`│├└ ][ \-─])*")
_LAST = ("`-", "└─")
"""Branch of the last device on a device."""
_GLYPHS = frozenset("|`│├└┌╞╘")
_PAIR = expression(r'([A-Z][A-Z0-9_:%-]*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = expression(r"\\x([0-9a-fA-F]{2})")
_HEADING = expression(r"\s*(?:[KP]?NAME|PATH)(?:\s|$)|\s*[A-Z][A-Z:_-]+(?:\s+[A-Z][A-Z0-9:%_-]*)*\s+NAME(?:\s|$)")
_SIZE = expression(r"(\d{1,19}(?:[.,]\d{1,3})?)([BKMGTPE]?)")
_ROOTS = frozenset({"disk", "loop", "rom", "tape"})


class LsblkRow(Struct, frozen=True):
    """A line: cells by heading in upper case (`MAJ:MIN`), the name without branches, and the name of the line above.

    `above` is the device that contains this one's data, or is its disk; None for a root and in lists.
    """

    name: str
    cells: Mapping[str, str]
    above: str | None = None


def parse(output: RecordedOutput) -> list[LsblkRow]:
    """Return the lines of the output. Raises Malformed for another text, and for a tree whose branches are unclear."""
    text = output.text
    if text.lstrip().startswith("{"):
        return list(_of_json(text))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("lsblk: ")]
    if any(_PAIR.match(line) for line in lines):
        return [_of_pairs(line) for line in lines]
    start = next((place for place, line in enumerate(lines) if _HEADING.match(line)), None)
    if start is None:
        raise Malformed(f"lsblk: no heading: {text.strip()[:60]!r}")
    flags = "".join(word[1:] for word in output.options if re.fullmatch(r"-[A-Za-z]+", word))
    if "r" in flags or "--raw" in output.options:
        return list(_of_raw(lines[start:]))
    rows = list(_of_table(lines[start:]))
    turned = "s" in flags or "--inverse" in output.options or _is_inverse(rows)
    return _inverted(rows) if turned else rows


def _of_json(text: str) -> Iterator[LsblkRow]:
    try:
        found = json.loads(text)["blockdevices"]
        yield from _of_objects(found, None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"not JSON of lsblk: {text[:60]!r}") from error


def _of_objects(objects: Sequence[Mapping[str, Any]], above: str | None) -> Iterator[LsblkRow]:
    for each in objects:
        cells = {str(name).upper(): _cell(value) for name, value in each.items() if name != "children"}
        name = cells.get("NAME") or cells.get("KNAME") or cells.get("PATH") or ""
        yield LsblkRow(_bare(name), cells, above)
        yield from _of_objects(each.get("children", ()), _bare(name))


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(each) for each in value if each is not None)
    return "" if value is None else "1" if value is True else "0" if value is False else str(value)


def _of_pairs(line: str) -> LsblkRow:
    cells = {name.replace("MAJ_MIN", "MAJ:MIN").replace("_", "-").replace("FSUSE-PCT", "FSUSE%"): _plain(value)
             for name, value in _PAIR.findall(line)}  # fmt: skip
    name = cells.get("NAME") or cells.get("KNAME") or cells.get("PATH")
    if not name:
        raise Malformed(f"lsblk: no name in {line[:60]!r}")
    return LsblkRow(_bare(name), cells)


def _of_raw(lines: Sequence[str]) -> Iterator[LsblkRow]:
    names = lines[0].split(" ")
    for line in lines[1:]:
        words = line.split(" ")
        if len(words) > len(names):
            raise Malformed(f"lsblk: {len(words)} cells below {len(names)} headings: {line[:60]!r}")
        cells = dict(zip(names, (_plain(word) for word in words), strict=False))
        yield LsblkRow(_bare(cells.get("NAME") or cells.get("KNAME") or words[0]), cells)


def _plain(word: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), word)


def _of_table(lines: Sequence[str]) -> Iterator[LsblkRow]:
    """Yield the lines of a table; lines with a mount point alone continue the line above."""
    rows: list[LsblkRow] = []
    stack: list[str] = []
    closed: list[bool] = []
    is_tree = lines[0].split()[0] == "NAME"
    for cells in aligned(lines, ("MOUNTPOINT", "MOUNTPOINTS")):
        label = cells.get("NAME") or cells.get("KNAME") or cells.get("PATH") or ""
        label = label if label.strip(" |`│├└─-") else ""
        branch = _BRANCH.match(label)
        depth = len(branch[0]) // 2 if branch is not None else 0
        name = _bare(label[depth * 2 :].strip())
        if not name:
            more = [heading for heading, cell in cells.items() if cell and not heading.startswith("NAME")]
            if not rows or any(not heading.startswith("MOUNTPOINT") for heading in more):
                raise Malformed(f"lsblk: no name in {dict(cells)!r}"[:120])
            last = rows.pop()
            joined = {h: "\n".join(filter(None, (last.cells.get(h, ""), cells[h]))) for h in more}
            rows.append(LsblkRow(last.name, {**last.cells, **joined}, last.above))
            continue
        is_last = branch is not None and branch[0].endswith(_LAST)
        if depth > len(stack) or name[0] in _GLYPHS or (depth < len(closed) and closed[depth]):
            raise Malformed(f"lsblk: the branch above {name[:60]!r} is missing")
        closed = [*closed[:depth], *[False] * (depth - len(closed)), is_last and depth > 0]
        rows.append(LsblkRow(name, {**cells, "NAME": name}, stack[depth - 1] if depth and is_tree else None))
        stack = [*stack[:depth], name]
    yield from rows


def _is_inverse(rows: Sequence[LsblkRow]) -> bool:
    """Return whether a tree is upside down: disks are below other devices."""
    roots = [row for row in rows if row.above is None]
    below = [row for row in rows if row.above is not None]
    return (
        bool(below)
        and any(row.cells.get("TYPE") in _ROOTS for row in below)
        and not any(
            row.cells.get("TYPE") in _ROOTS and any(other.above == row.name for other in below) for row in roots
        )
    )


def _inverted(rows: Sequence[LsblkRow]) -> list[LsblkRow]:
    """Return the lines of a tree that is upside down, each with the device that it is on."""
    first = [LsblkRow(row.name, row.cells) for row in rows]
    kinds = {row.name: row.cells for row in rows}
    return first + [LsblkRow(row.above, kinds[row.above], row.name) for row in rows if row.above is not None]


def _bare(name: str) -> str:
    return name.removeprefix("/dev/mapper/").removeprefix("/dev/")


def size(cell: str | None) -> int | None:
    """Return a size in bytes: `447.1G`, `447,1G`, or the number of `-b`."""
    found = _SIZE.fullmatch((cell or "").strip())
    if found is None:
        return None
    return round(float(found[1].replace(",", ".")) * float(1024 ** "BKMGTPE".index(found[2] or "B")))


_NAMES = (
    r"(?:sd[a-z]|vd[a-z]|xvd|hd[a-z]|nvme\d|md\d|md_|dm-\d|loop\d|sr\d|mmcblk|rbd\d|nbd\d|zram|zd\d|drbd|ram\d|dasd"
    r"|bcache|pmem|etherd|fd\d|cciss|mapper/|/dev/)"
)
FORM = Form(
    key="cmd:lsblk",
    first=r"(?!NAME +SIZE +ALLOC +FREE)(?:[KP]?NAME|PATH)(?: +[A-Z][A-Z0-9:%_-]*)*"
    r" +(?:MAJ:MIN|FSTYPE|ALIGNMENT|HCTL|TYPE|SIZE|ROTA|MODEL|MOUNTPOINTS?|[KP]NAME|DISC-ALN|SERIAL|WWN|UUID)"
    r"(?: +[A-Z][A-Z0-9:%_-]*)*\s*$"
    r'|\s*\{\s*"blockdevices":|NAME="[^"\n]+" [A-Z]+[^"\n]*="',
    reads="block devices, sizes, links between them, mount points",
    versions="util-linux 2.19 and later, any columns",
    goes_on=rf"(?:[|`│├└ ][ \-─]?)+\S.*|{_NAMES}.*|NAME=\".*",
)
