"""Tables of OSDs that Ceph's tool prints: `ceph osd df tree`, `ceph osd tree` and `ceph osd df`.

Formats: src/osd/OSDMap.cc (OSDUtilizationPlainDumper, OSDTreePlainDumper) of Ceph 12 to 19. The JSON form is read, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.answers import Osd
from sdstop.collectors.ceph.health_text import is_json
from sdstop.collectors.ceph.status_text import size_of
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import added, total

_TITLES = expression(r"RAW USE|TYPE NAME|STATUS|\S+")
_CELL = expression(r"\d[\d.]*(?:e[+-]?\d+)? ?[KMGTPE]?i?B(?=\s|$)|\S+")
_RANKS = ("osd", "host", "chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region", "root")
_STEP = 4
"""Columns by which a level of the tree is indented."""
_NUMERIC = expression(r"-?\d[\d.]*(?:e[+-]?\d+)?")


class Tree(Struct, frozen=True):
    """The OSDs of a table; `placed` is whether it has the buckets above them, `used` whether it has their usage."""

    osds: list[Osd]
    placed: bool
    used: bool
    defect: str = ""


def tree_of(text: str) -> Tree:
    """Return the OSDs of `ceph osd df tree`, `ceph osd tree` or `ceph osd df`.

        ID  CLASS  WEIGHT   REWEIGHT  SIZE    RAW USE  ...  AVAIL    %USE   VAR   PGS  STATUS  TYPE NAME
        -1         3.00000         -  12 GiB  5.0 GiB  ...  7.0 GiB  41.67  1.00    -          root default
        -7         1.00000         -   4 GiB  1.3 GiB  ...  2.7 GiB  32.79  0.79    -              host node2
         2    hdd  1.00000   1.00000   4 GiB  1.3 GiB  ...  2.7 GiB  32.79  0.79    0    down          osd.2
                               TOTAL  12 GiB  5.0 GiB  ...  7.0 GiB  41.67
        MIN/MAX VAR: 0.79/1.11  STDDEV: 6.28

    `ceph osd df` has no buckets, `ceph osd tree` no usage. CLASS and STATUS can be empty; STATUS is missing up to
    Ceph 13. Shadow trees of device classes (`default~hdd`) are skipped. Raises Malformed.
    """
    if is_json(text):
        said = answers.list_of(answers.as_object(text, "ceph osd tree"), "nodes")
        osds = answers.parse_tree(text)
        return Tree(osds, any(node.get("type") != "osd" for node in said), any(osd.size is not None for osd in osds))
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if line.split()[:1] == ["ID"]), None)
    titles = _TITLES.findall(lines[start]) if start is not None else []
    if start is None or "WEIGHT" not in titles:
        raise Malformed(f"no heading of a table of OSDs: {text.strip()[:60]!r}")
    rows: list[_Row] = []
    ended, stray = False, ""
    size: int | None = None
    for line in lines[start + 1 :]:
        if line.split()[0] in {"TOTAL", "MIN/MAX"}:
            ended = True
            size = next((size_of(cell) for cell in _CELL.findall(line)[1:2]), None) if size is None else size
            continue
        row = _row(line, titles)
        if row is not None:
            rows.append(row)
        elif not ended:
            stray = stray or line.strip()
    if not rows:
        raise Malformed("a table of OSDs without rows")
    placed, used = "TYPE NAME" in titles, "%USE" in titles
    if placed:
        _check_weights(rows)
    osds = list(_osds(rows))
    defect = f"line not understood: {stray[:60]!r}" if stray else "end not shown" if used and not ended else ""
    if "SIZE" in titles and "PGS" not in titles:  # a column of all versions
        defect = f"columns behind {titles[-1]} are cut off"
    return Tree(osds, placed, used, defect or _compared(osds, size))


_ROUNDED = 0.05
"""Share by which the sum of rounded sizes can differ from their rounded total."""


def _check_weights(rows: Sequence[_Row]) -> None:
    """Compare the weight of each bucket with that of its OSDs: a missing line would give them to another one.

    Raises Malformed.
    """
    below: dict[int, list[float]] = {}
    kinds: dict[str, set[str]] = {}
    for row, above in _placed(rows):
        if row.kind != "osd":
            continue
        weight = _number(row.cells.get("WEIGHT", "")) or 0.0
        if weight:
            kinds[row.name] = {rows[place].kind for place in above}
        for place in above:
            below.setdefault(place, []).append(weight)
    for place, row in enumerate(rows):
        known, own = _number(row.cells.get("WEIGHT", "")), added(below.get(place, []))
        if row.kind != "osd" and known is not None and abs(known - own) > _WEIGHED * max(known, own, 1.0):
            raise Malformed(f"weights of {row.name} and of its OSDs do not agree: {known:.5f}, {own:.5f}")
    expected = {"root"} | ({"host"} if any("host" in own for own in kinds.values()) else set())
    lost = next((name for name, own in kinds.items() if expected - own), None)
    if lost is not None:
        raise Malformed(f"no {' or '.join(sorted(expected - kinds[lost]))} above {lost}")


_WEIGHED = 0.01
"""Share by which a weight can differ from the sum of its parts, which are rounded."""


def _compared(osds: Sequence[Osd], size: int | None) -> str:
    """Return a difference between the sizes of OSDs and their total, "" if they agree: rows may be missing."""
    listed = total(osd.size for osd in {osd.number: osd for osd in osds}.values())
    if size is None or listed is None or abs(listed - size) <= _ROUNDED * max(size, listed):
        return ""
    return f"sizes of {len(osds)} OSDs and TOTAL do not agree"


class _Row(Struct, frozen=True):
    """A line of a table of OSDs: cells by heading, and where its name begins."""

    cells: Mapping[str, str]
    kind: str
    name: str
    indent: int


def _row(line: str, titles: Sequence[str]) -> _Row | None:
    """Return a line of a table; None for another one, or if cells are missing."""
    cells = [(found[0], found.start()) for found in _CELL.finditer(line)]
    words = [cell for cell, _ in cells]
    if not words or not re.fullmatch(r"-?\d{1,9}", words[0]):
        return None
    known = dict.fromkeys(titles, "")
    known["ID"] = words.pop(0)
    at = cells[1:]
    if "CLASS" in known and words and not _NUMERIC.fullmatch(words[0]):
        known["CLASS"] = words.pop(0)
        at = at[1:]
    middle = [title for title in titles if title not in {"ID", "CLASS", "TYPE NAME", "STATUS"}]
    after = [title for title in middle if "TYPE NAME" in titles and titles.index(title) > titles.index("TYPE NAME")]
    before = [title for title in middle if title not in after]
    if len(words) < len(before):
        return None
    known.update(zip(before, words[: len(before)], strict=True))
    rest, at = words[len(before) :], at[len(before) :]
    if rest and rest[0] in _STATUSES and "STATUS" in titles and "TYPE NAME" not in titles[: titles.index("STATUS")]:
        known["STATUS"] = rest.pop(0)
        at = at[1:]
    if "TYPE NAME" not in titles:
        return None if rest else _Row(known, "osd", f"osd.{known['ID']}", 0)
    return _named(known, rest, at, after)


_STATUSES = frozenset({"up", "down", "destroyed", "new", "dne"})


def _named(known: dict[str, str], rest: list[str], at: Sequence[tuple[str, int]], after: Sequence[str]) -> _Row | None:
    """Return a row with the cells that follow its type and name: `osd tree` has STATUS, REWEIGHT and PRI-AFF there."""
    if not rest:
        return None
    indent = at[0][1]
    kind = "osd" if rest[0].startswith("osd.") else rest[0]
    taken = 1 if kind == "osd" else 2
    if len(rest) < taken:
        return None
    name, more = rest[taken - 1], rest[taken:]
    if more and more[0] in _STATUSES:
        known["STATUS"] = more.pop(0)
    if more and len(more) != len(after):
        return None
    known.update(zip(after, more, strict=False))
    return _Row(known, kind, name, indent)


def _placed(rows: Sequence[_Row]) -> Iterator[tuple[_Row, list[int]]]:
    """Yield each row with the places of the buckets above it, the root first.

    They are known by the indent of names, or where it was lost, by their kinds.
    """
    margin = min(row.indent for row in rows)
    flat = any((row.indent - margin) % _STEP for row in rows) or len({row.indent for row in rows}) == 1
    above: list[tuple[int, int]] = []
    for place, row in enumerate(rows):
        depth = -_rank(row.kind) if flat else row.indent
        above = [(own, each) for own, each in above if own < depth]
        yield row, [each for _, each in above]
        if row.kind != "osd":
            above.append((depth, place))


def _osds(rows: Sequence[_Row]) -> Iterator[Osd]:
    """Yield the OSDs with the buckets above them."""
    for row, places in _placed(rows):
        above = [rows[place] for place in places]
        if row.kind == "osd" and not any("~" in each.name for each in above):
            yield _osd(row, {each.kind: each.name for each in above})


def _rank(kind: str) -> int:
    return _RANKS.index(kind) if kind in _RANKS else len(_RANKS) - 2


def _osd(row: _Row, above: Mapping[str, str]) -> Osd:
    status, share = row.cells.get("STATUS"), _number(row.cells.get("%USE", ""))
    return Osd(
        number=int(row.cells["ID"]) if row.cells["ID"].isdecimal() else 0,
        root=above.get("root", "none"),
        host=above.get("host", "none"),
        rack=above.get("rack"),
        media=row.cells.get("CLASS") or None,
        weight=_number(row.cells.get("WEIGHT", "")),
        reweight=_number(row.cells.get("REWEIGHT", "")),
        size=size_of(row.cells.get("SIZE", "")),
        used=size_of(row.cells.get("RAW USE", row.cells.get("USE", ""))),
        utilization=None if share is None else share / 100,
        up=status == "up" if status else None,
        buckets=above,
    )


def _number(word: str) -> float | None:
    return float(word) if _NUMERIC.fullmatch(word) and not word.startswith("-") else None


def joined(places: Tree, usage: Tree) -> Tree:
    """Return the OSDs of a tree without usage with the usage of a table without buckets."""
    own = {osd.number: osd for osd in usage.osds}
    osds = [
        replace(osd, size=more.size, used=more.used, utilization=more.utilization)
        if (more := own.get(osd.number)) is not None
        else osd
        for osd in places.osds
    ]
    return Tree(osds, placed=True, used=True, defect=places.defect or usage.defect)


def tree_fault(text: str) -> str:
    """Return why a table of OSDs is not complete; "" if it is."""
    try:
        return tree_of(text).defect
    except Malformed as error:
        return str(error)


_TABLE = r" *-?\d+ .*| *TOTAL .*|MIN/MAX VAR.*"
_VERSIONS = "Ceph 12 and later"
TREE = Form(
    key="cmd:ceph osd df tree",
    first=r" *ID +CLASS +WEIGHT +REWEIGHT +SIZE .*TYPE NAME",
    goes_on=_TABLE,
    reads="OSDs, hosts, and how full they are",
    versions=_VERSIONS,
    fault=tree_fault,
)
FILL = Form(
    key="cmd:ceph osd df",
    first=r" *ID +CLASS +WEIGHT +REWEIGHT +SIZE (?!.*TYPE NAME)",
    goes_on=_TABLE,
    reads="OSDs, and how full they are",
    versions=_VERSIONS,
    fault=tree_fault,
)
PLACES = Form(
    key="cmd:ceph osd tree",
    first=r" *ID +CLASS +WEIGHT +TYPE NAME",
    goes_on=_TABLE,
    reads="OSDs and hosts, and which are down",
    versions=_VERSIONS,
)
_NODE = r'\{\s*"nodes":\s*\[\s*\{\s*"id":\s*-?\d+,\s*(?:"device_class"[^}]*)?"name":'
TREE_JSON = Form(
    key="cmd:ceph osd df tree -f json",
    first=rf'{_NODE}(?=[\s\S]{{0,20000}}?"kb_used":)(?=[\s\S]{{0,20000}}?"type":\s*"root")',
    reads=TREE.reads,
    versions=_VERSIONS,
)
PLACES_JSON = Form(
    key="cmd:ceph osd tree -f json",
    first=rf'{_NODE}(?![\s\S]{{0,20000}}?"kb_used":)',
    reads=PLACES.reads,
    versions=_VERSIONS,
)
