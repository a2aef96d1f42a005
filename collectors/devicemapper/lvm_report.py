"""Parser for the text reports of lvs, vgs and pvs (lvm2, libdm/libdm-report.c), whatever columns were asked for.

      LV      VG  Attr       LSize  Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert Devices
      plain   vg0 owi-a-s--- 32.00m                                                     /dev/vda(0)
      striped vg0 -wi-a----- 48.00m                                                     /dev/vdb(0),/dev/vdc(0)

The forms are columns, `--separator`, `--nameprefixes` (LVM2_LV_NAME='plain' ...), `--rows` and JSON; `--noheadings`
only where the columns are known: those of `-o`, or the program's own ones behind a separator. Sizes are rounded to two
decimals, with a unit (`32.00m`, `<9.31g`) unless `--nosuffix`. A unit in upper case means powers of 1000, or in old
versions (before 2.02.54) of 1024; such a size is unknown unless the units were given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.recorded import RecordedOutput
from sdstop.core.table import Row, aligned, separated

_HEADINGS = {
    "LV": "lv_name", "VG": "vg_name", "PV": "pv_name", "Attr": "attr", "LSize": "lv_size", "Pool": "pool_lv",
    "Origin": "origin", "Type": "segtype", "#Str": "stripes", "Stripe": "stripe_size", "Chunk": "chunk_size",
    "Devices": "devices", "VSize": "vg_size", "VFree": "vg_free", "#PV": "pv_count", "#LV": "lv_count",
    "#SN": "snap_count", "PSize": "pv_size", "PFree": "pv_free", "Fmt": "pv_fmt", "Data%": "data_percent",
    "Meta%": "metadata_percent", "Cpy%Sync": "copy_percent", "Missing": "pv_missing", "SSize": "seg_size",
    "Start": "seg_start", "Health": "lv_health_status", "Snap%": "snap_percent", "Copy%": "copy_percent",
    "IntegMismatches": "integritymismatches",
}  # fmt: skip
"""Field of each heading (lib/report/columns.h)."""
_SAME = {
    "seg_type": "segtype", "sync_percent": "copy_percent", "vg_attr": "attr", "lv_attr": "attr", "pv_attr": "attr",
    "stripesize": "stripe_size", "chunksize": "chunk_size", "seg_count": "segments", "size": "lv_size",
    "snap_percent": "data_percent",
}  # fmt: skip
"""Other names of fields in `-o`, `--nameprefixes` and JSON."""
_WORDS = expression(
    r"(?<!\S)(?:(?:LV|VG|PV|Origin|Move|Convert|Log|Data|Meta|Pool|Seg) (?:UUID|Tags|Profile)|1st PE|BA (?:Start|Size)"
    r"|SYS ID|System ID|#PV Missing|Metadata LE Ranges|[PL]E Ranges|Metadata Devs|Active Local)(?!\S)"
)
"""Headings of several words."""
_LV_FIELDS = "lv_name,vg_name,attr,lv_size,pool_lv,origin,data_percent,metadata_percent,move_pv,mirror_log,copy_percent"
_OWN = {
    "lvs": f"{_LV_FIELDS},convert_lv",
    "vgs": "vg_name,pv_count,lv_count,snap_count,attr,vg_size,vg_free",
    "pvs": "pv_name,vg_name,pv_fmt,attr,pv_size,pv_free",
}
"""The columns without `-o`."""
_PREFIXED = expression(r"LVM2_(\w+?)=(?:'([^']*)'|(\S*))")
_SIZE = expression(r"<?\s*(\d{1,18}(?:[.,]\d{1,6})?)\s*([bsBSkmgtpeKMGTPE]?)(?:i?[Bb])?")
_POWERS = "kmgtpe"
_HEADING = expression(r"\s*(?:LV|VG|PV)\b")
_ATTRIBUTES = expression(r"[-a-zA-Z]{8,10}")
_DEVICES = expression(r"[^\s(),]+\(\d+\)(?:,[^\s(),]+\(\d+\))*")
_NOTICE = expression(
    r"\s*(?:WARNING|File descriptor|Configuration setting|Reloading config|[Cc]ache flushing|Wiping|Cluster locking)"
    r"|\s*(?:Couldn't find device|/dev/\S+: (?:read|open) failed|Error reading device)"
    r"|\s*(?:Found|Using) duplicate PV"
    r"|\S{0,80}[#$%>]\s*$|\[[^\]]{1,80}\][#$%>]\s*$"
    r"|\s*No (?:matching )?(?:physical volumes?|volume groups?|logical volumes?) found"
    r"|\s*(?:There are \d+ physical volumes missing|Volume group \"[^\"]+\" is missing)"
)
"""Lines on standard error, which terminals and sosreports show between the rows, and a prompt after the last one."""


LOST = "lost"
"""Key of rows without some of their cells, which could not be assigned to headings."""


def rows(output: RecordedOutput) -> list[Row]:
    """Return the rows by field name, `lv_name` as in lvmreport(7). Raises Malformed for a text without a table."""
    text, options = output.text, output.options
    if text.lstrip().startswith("{"):
        return _of_json(text)
    found = _PREFIXED.search(text)
    if found is not None:
        return [_named({name.lower(): a or b for name, a, b in _PREFIXED.findall(line)}) for line in _lines(text)]
    lines = _lines(text)
    if not lines:
        return []
    separator = output.option("--separator")
    start = next((place for place, line in enumerate(lines) if _HEADING.match(line)), None)
    if "--rows" in options or start is None:
        fields = _fields(output)
        if fields is None:
            raise Malformed(f"no heading of {output.words[0]}: {text.strip()[:60]!r}")
        if "--rows" in options:
            raise Malformed("columns printed as rows")
        lines = [f"{separator or ' '}".join(fields), *(line.strip() for line in lines)]
        table = separated(lines, separator) if separator else aligned(lines)
        return [_named(row) for row in table]
    table = []
    part: list[str] = []
    for line in lines[start:]:  # a heading begins a table, as where outputs were joined
        if _is_heading(line) and part:
            table += _table(part, separator)
            part = []
        part.append(line)
    table += _table(part, separator)
    return [_named({_HEADINGS.get(name, name): cell for name, cell in row.items()}) for row in table]


def _table(lines: Sequence[str], separator: str | None) -> list[Row]:
    heading = _distinct(_WORDS.sub(lambda found: found[0].replace(" ", "_"), lines[0]))
    lines = [heading, *lines[1:]]
    between = separator if separator is not None else _separator(heading)
    if between:
        return separated([line.strip() for line in lines], between)
    try:
        return aligned(lines)
    except Malformed:
        return [_shaped(heading.split(), line) for line in lines[1:]]


def _distinct(heading: str) -> str:
    """Return a heading in which a column that is there again (`-o +lv_size`) has another name of the same width."""
    known: set[str] = set()

    def renamed(found: re.Match[str]) -> str:
        word = found[0]
        is_known = word in known
        known.add(word)
        return f"={word[1:]}" if is_known else word

    return re.sub(r"[^\s;:,|]+", renamed, heading)


def _shaped(names: Sequence[str], line: str) -> Row:
    """Return the certain cells of a row whose blanks were lost: those before the first one that may be missing.

    Devices are last, and of a form of their own. Raises Malformed.
    """
    words = line.split()
    if len(words) == len(names):
        return dict(zip(names, words, strict=True))
    if list(names[:4]) == ["LV", "VG", "Attr", "LSize"] and len(words) >= 4 and _ATTRIBUTES.fullmatch(words[2]):
        row = dict(zip(names[:4], words, strict=False)) | {LOST: ""}
        return row | {"Devices": words[-1]} if names[-1] == "Devices" and _DEVICES.fullmatch(words[-1]) else row
    if list(names[:6]) == ["PV", "VG", "Fmt", "Attr", "PSize", "PFree"] and len(words) == len(names) - 2:
        return dict(zip(["PV", *names[3:]], words, strict=True)) | {"VG": "", "Fmt": ""}
    raise Malformed(f"{len(words)} cells below {len(names)} headings: {line.strip()[:60]!r}")


def _separator(heading: str) -> str | None:
    """Return the separator of a heading without blanks between its words (`LV;VG;Attr`), None for columns."""
    found = re.match(r"\s*(?:LV|VG|PV|#?\w+)([^\w\s#%])(?:\S*)$", heading.rstrip())
    return found[1] if found is not None else None


def _is_heading(line: str) -> bool:
    words = re.split(r"[\s;:,|]+", line.strip())
    return len(words) > 1 and sum(word in _HEADINGS for word in words) >= 2


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not _NOTICE.match(line)]


def _fields(output: RecordedOutput) -> list[str] | None:
    """Return the columns that were asked for; None if unknown."""
    said = output.option("-o", "--options")
    own = _OWN.get(output.words[0], "")
    if "--separator" not in " ".join(output.options) and said is None:
        return None
    given = said or own
    if given.startswith("+"):
        given = f"{own},{given[1:]}"
    return [_SAME.get(name, name) for name in given.split(",") if name]


def _named(row: Mapping[str, str]) -> Row:
    """Return a row with one name for each field; `lv_full_name` gives the group and the volume."""
    named = {_SAME.get(name, name): cell.strip() for name, cell in row.items()}
    full = named.get("lv_full_name") or named.get("lv_name", "")
    if "/" in full and "vg_name" not in named:
        group, _, volume = full.partition("/")
        named |= {"vg_name": group.strip("["), "lv_name": f"[{volume}" if group.startswith("[") else volume}
    return named


def _of_json(text: str) -> list[Row]:
    try:
        reports = json.loads(text)["report"]
        found = [row for report in reports for rows in report.values() if isinstance(rows, list) for row in rows]
        return [_named({str(name): _json_cell(value) for name, value in row.items()}) for row in found]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"not a report of LVM: {text[:60]!r}") from error


def _json_cell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def size(cell: str, output: RecordedOutput) -> int | None:
    """Return a size in bytes; None if there is none, or its unit is ambiguous."""
    found = _SIZE.fullmatch(cell.strip())
    if found is None:
        return None
    number, unit = float(found[1].replace(",", ".")), str(found[2])
    units = output.option("--units") or ""
    if not unit:
        unit = units[-1:] if "--nosuffix" in output.options else ""
        if not unit:
            return 0 if not number else None
    if unit in "bB":
        return round(number)
    if unit in "sS":
        return round(number * 512)
    if unit.islower():
        return round(number * float(1024 ** (_POWERS.index(unit) + 1)))
    is_si = units[-1:].isupper()
    return round(number * float(1000 ** (_POWERS.index(unit.lower()) + 1))) if is_si else None


_BETWEEN = r"[ \t;:,|]"
_MORE = rf"{_BETWEEN}(?:[^\n]*?{_BETWEEN})?"
"""Other columns of the heading: one line, and one way to match it, since names of fields can follow any separator."""
_ROWS = (
    r"\s*\[?[\w.+-]+\]?(?:[\s;:,|].*)?[\s;:,|](?:[-a-zA-Z]{6}|[-a-zA-Z]{9,10}|<?\d[\d.,]*[bBsSkKmMgGtTpPeE]?|/dev/\S+"
    r"|linear|striped|raid\w+|mirror|thin(?:-pool)?|cache(?:-pool)?|snapshot|writecache|vdo(?:-pool)?)(?:[\s;:,|].*)?"
    r"|\s*(?:/dev/|\[unknown\]|unknown device)\S*.*|  (?:WARNING|Couldn't find|Reloading config|/dev/\S+:).*"
)
_OF_LVS = rf"\s*LV{_MORE}(?:VG|Attr|LSize|Type|Devices|Pool)\b|[^\n]*LVM2_LV_NAME='"
_OF_VGS = rf"\s*VG{_MORE}(?:#PV|VSize|VFree)\b"
_OF_PVS = rf"\s*PV{_MORE}(?:VG|Fmt|PSize|PFree)\b"
FORMS = (
    Form(
        key="cmd:lvs",
        first=rf"{_OF_LVS}|\s*VG{_BETWEEN}+LV{_BETWEEN}|\s*\{{\s*\"report\":\s*\[\s*\{{\s*\"(?:lv|seg)\":",
        reads="logical volumes: types, sizes, underlying devices",
        versions="lvm2 2.02 and later, any columns",
        goes_on=_ROWS,
    ),
    Form(
        key="cmd:vgs",
        first=rf"{_OF_VGS}|\s*\{{\s*\"report\":\s*\[\s*\{{\s*\"vg\":",
        reads="volume groups: sizes, missing physical volumes",
        versions="lvm2 2.02 and later, any columns",
        goes_on=_ROWS,
    ),
    Form(
        key="cmd:pvs",
        first=rf"{_OF_PVS}|\s*\{{\s*\"report\":\s*\[\s*\{{\s*\"pv\":",
        reads="physical volumes and their volume groups",
        versions="lvm2 2.02 and later, any columns",
        goes_on=_ROWS,
    ),
)
