"""Parser for lvdisplay, vgdisplay and pvdisplay (lvm2, lib/display/display.c): a block of lines for each thing.

      --- Logical volume ---
      LV Path                /dev/vg0/vms
      LV Name                vms
      VG Name                vg0
      LV Pool metadata       vms_tmeta
      LV Pool data           vms_tdata
      LV Status              available
      LV Size                20.00 GiB
      Allocated pool data    99.87%
      Allocated metadata     48.30%

The health of a volume is not printed, so that none of them counts as healthy. A snapshot that has run full is INACTIVE.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core.expression import expression
from sdstop.core.form import Form, Several
from sdstop.core.host import Malformed
from sdstop.core.table import Row

PROGRAMS = {"lvdisplay": "lvs", "vgdisplay": "vgs", "pvdisplay": "pvs"}
"""Program by the one whose table has the same rows."""
_START = expression(r'\s*(?:--- (?P<what>[\w ]{1,60}) ---|"/dev/[^"]{1,200}" is a new physical volume of .*)\s*')
_LINE = expression(r"\s*(?P<name>[A-Z#][\w#/ -]{0,20}?)(?: {2,}|\t+| (?=/dev/|\d))(?P<value>\S.*?)\s*")
_NAMES = {
    "LV Name": "lv_name", "VG Name": "vg_name", "LV Size": "lv_size", "Allocated pool data": "data_percent",
    "Allocated metadata": "metadata_percent", "Allocated to snapshot": "data_percent", "Mapped size": "data_percent",
    "LV Pool name": "pool_lv", "LV Thin origin name": "origin", "VG Size": "vg_size", "Cur PV": "pv_count",
    "Cur LV": "lv_count", "PV Name": "pv_name", "PV Size": "pv_size",
}  # fmt: skip
"""Field of each line, by its name in the tables of lvs, vgs and pvs."""
_BINARY = expression(r"(<?[\d.,]+) ([KMGTPE])iB\b.*")
_FREE = expression(r"(?P<extents>\d{1,18})(?: / (?P<size>\S.*))?")
_SNAPSHOT = expression(r"(?P<state>active|INACTIVE) destination for (?P<origin>\S+)")


def rows(text: str) -> list[Row]:
    """Return a row for each thing. Raises Malformed for a text without one."""
    found = [row for row in map(_row, _blocks(text)) if row]
    if not found:
        raise Malformed(f"no block of LVM: {text.strip()[:60]!r}")
    return found


def _blocks(text: str) -> Iterator[dict[str, str]]:
    """Yield the values of each block by their names; the segments of a volume (-m) are not read."""
    block: dict[str, str] | None = None
    for line in text.splitlines():
        if start := _START.fullmatch(line):
            if block is not None:
                yield block
            what = start["what"] or ""
            block = {} if what.endswith(("ogical volume", "olume group", "hysical volume")) else None
        elif block is not None and (found := _LINE.fullmatch(line.replace("Free  PE", "Free PE"))):
            block.setdefault(found["name"], found["value"])
    if block is not None:
        yield block


def _row(block: dict[str, str]) -> Row:
    row = {name: block[said] for said, name in _NAMES.items() if said in block}
    for name in ("lv_size", "vg_size", "pv_size"):
        if name in row:
            row[name] = _size(row[name])
    for name in ("data_percent", "metadata_percent"):
        if name in row:
            row[name] = row[name].rstrip("%")
    if "lv_name" in row:
        row["lv_name"] = row["lv_name"].rpartition("/")[2]  # up to 2.02.88 the path
    if free := _FREE.fullmatch(block.get("Free PE / Size", "")):
        row["vg_free"] = _size(free["size"] or "") if free["extents"] != "0" else "0"
    return row | _kind(block)


def _kind(block: dict[str, str]) -> dict[str, str]:
    """Return the type of a volume, and its fault if one is printed."""
    row: dict[str, str] = {}
    if "LV Pool data" in block:
        row["segtype"] = "thin-pool"
    elif "LV Pool name" in block:
        row["segtype"] = "thin"
    if snapshot := _SNAPSHOT.match(block.get("LV snapshot status", "")):
        row |= {"segtype": "snapshot", "origin": snapshot["origin"].rpartition("/")[2]}
        if "COW-table size" in block:
            row["lv_size"] = _size(block["COW-table size"])
        if snapshot["state"] == "INACTIVE" and block.get("LV Status") != "NOT available":
            row["lv_health_status"] = "invalid snapshot"
    if block.get("LV Status") == "suspended":
        row["lv_health_status"] = "suspended"
    return row


def _size(said: str) -> str:
    """Return a size as lvs prints it: `<20.00 GiB` is `<20.00g`; other units are ambiguous between versions."""
    found = _BINARY.match(said)
    return f"{found[1]}{found[2].lower()}" if found else ""


_GOES_ON = r"\s*--- [\w ]{1,60} ---\s*|\s+[A-Z#\"-].*|\s+/dev/.*"
FORMS = (
    Form(
        key="cmd:lvdisplay",
        first=r" *--- Logical volume ---\s*\n *LV (?:Path|Name) ",
        goes_on=_GOES_ON,
        reads="logical volumes: sizes, fill levels of thin pools and snapshots, suspended volumes",
        versions="lvm2 2.02 and later",
        several=Several.JOINED,
    ),
    Form(
        key="cmd:vgdisplay",
        first=r" *--- Volume group ---\s*\n *VG Name ",
        goes_on=_GOES_ON,
        reads="volume groups: sizes",
        versions="lvm2 2.02 and later",
        several=Several.JOINED,
    ),
    Form(
        key="cmd:pvdisplay",
        first=r" *--- (?:NEW )?Physical volume ---\s*\n *PV Name ",
        goes_on=_GOES_ON,
        reads="physical volumes and their volume groups",
        versions="lvm2 2.02 and later",
        several=Several.JOINED,
    ),
)
