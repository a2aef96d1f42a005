"""Tables of the fleet dashboard: their columns, and their rows for a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from sdstop.core.finding import Finding, Severity
from sdstop.core.format import duration, number, rate
from sdstop.fleet.state import FleetArray, FleetFinding, FleetNode, FleetState, Key, RebuildRow, VolumeRow, advice
from sdstop.tui.views.cells import bar_cell, severity_name
from sdstop.tui.widgets.graph import samples
from sdstop.tui.widgets.palette import FAINT, STRONG, WORDS, Line, Palette, text
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.strip import spark
from sdstop.tui.widgets.table import PERCENT, Cell, TableColumn

_SPARK = 31
"""Cells: a point each two minutes of an hour."""


class FleetTable(Struct, frozen=True):
    """A table: the key that shows it, its contents in the help (`shows`) and its text when `empty`."""

    key: str
    title: str
    shows: str
    empty: str
    columns: tuple[TableColumn, ...]


class FleetRow:
    """Item of a row with the additional data that its cells need."""

    __slots__ = ("item", "key", "name", "palette", "severity")

    def __init__(self, item: Any, key: Key | None, name: str, palette: Palette) -> None:
        """Create the item; `key` is the node that Enter opens, or None if Enter opens the item itself."""
        self.item, self.key, self.name, self.palette = item, key, name, palette
        self.severity: Severity | None = getattr(item, "severity", None)


def _cell(paint: Callable[[Any, Palette, int], Cell]) -> Callable[[FleetRow, int], Cell]:
    return lambda painted, width: paint(painted.item, painted.palette, width)


def _word(get: Callable[[Any], object]) -> Callable[[FleetRow, int], Cell]:
    return lambda painted, _: painted.palette.word(get(painted.item), 200)


def _name(painted: FleetRow, _: int) -> Cell:
    unknown = isinstance(painted.item, FleetNode) and painted.item.silence
    if unknown and painted.severity is None:
        return text((painted.palette.word(painted.name, 64), painted.palette.severity(None)))
    return severity_name(painted.name, painted.severity, painted.palette)


def _count(get: Callable[[FleetNode], int]) -> Callable[[FleetRow, int], Cell]:
    return lambda painted, _: str(count) if (count := get(painted.item)) else painted.palette.dot


def _course(node: FleetNode, palette: Palette, width: int) -> Cell:
    values = node.history[-samples(width, palette) :]
    top = max((value for value in values if value is not None), default=0.0)
    return spark(values, width, max(top, 1.0), palette)


def _claims(claims: Sequence[FleetFinding], palette: Palette) -> str:
    return ", ".join(palette.word(f"{c.rule} {c.subject}".strip(), 120) for c in claims)


def _worst(node: FleetNode, palette: Palette, _: int) -> Cell:
    if node.worst is None and node.silence:
        return text((palette.word(node.silence), palette.severity(None)))
    return _claims([node.worst], palette) if node.worst is not None else ""


_NODE = TableColumn("node", "NODE", 12, _name, lambda p: p.name, widest=32, rising=True)

TABLES = (
    FleetTable(
        "1",
        "Nodes",
        "nodes, worst first",
        "no node found",
        (
            _NODE,
            TableColumn("crit", "CRIT", 5, _count(lambda n: n.critical), lambda p: p.item.critical, right=True),
            TableColumn("warn", "WARN", 5, _count(lambda n: n.warning), lambda p: p.item.warning, right=True),
            TableColumn("info", "INFO", 5, _count(lambda n: n.info), lambda p: p.item.info, right=True, keep=1),
            TableColumn("age", "AGE", 8, _word(lambda n: duration(n.age)), lambda p: p.item.age, right=True, keep=2),
            TableColumn("hour", "LAST HOUR", 15, _cell(_course), keep=4, widest=_SPARK),
            TableColumn("worst", "WORST", 20, _cell(_worst), widest=70, comfort=30),
        ),
    ),
    FleetTable(
        "2",
        "Arrays",
        "arrays with findings or uneven load",
        "no array with findings or uneven load",
        (
            _NODE,
            TableColumn("array", "ARRAY", 8, _word(lambda a: a.array), lambda p: p.item.array, widest=24, rising=True),
            TableColumn("skew", "SKEW", 6, _word(lambda a: number(a.skew)), lambda p: p.item.skew, right=True),
            TableColumn("members", "MEMBERS", 10, _word(lambda a: " ".join(a.members)), keep=1, widest=30),
            TableColumn("findings", "FINDINGS", 24, _cell(lambda a, p, _: _claims(a.claims, p)), widest=90),
        ),
    ),
    FleetTable(
        "3",
        "Rebuilds",
        "rebuilds",
        "no rebuild",
        (
            _NODE,
            TableColumn("array", "ARRAY", 8, _word(lambda r: r.array), lambda p: p.item.array, widest=24, rising=True),
            TableColumn("operation", "OPERATION", 10, _word(lambda r: r.operation), keep=2),
            TableColumn("state", "STATE", 8, _word(lambda r: r.state), keep=1, widest=16),
            TableColumn(
                "done",
                "DONE %",
                14,
                _cell(lambda r, p, w: bar_cell(r.done, w, p)),
                lambda p: p.item.done,
                widest=40,
                scale=PERCENT,
            ),
            TableColumn(
                "speed", "SPEED/s", 8, _word(lambda r: rate(r.speed)), lambda p: p.item.speed, right=True, keep=3
            ),
            TableColumn(
                "left", "LEFT", 8, _word(lambda r: duration(r.remaining)), lambda p: p.item.remaining, right=True
            ),
        ),
    ),
    FleetTable(
        "4",
        "Volumes",
        "volumes at their limit",
        "no volume at its limit",
        (
            _NODE,
            TableColumn(
                "volume", "VOLUME", 10, _word(lambda v: v.volume), lambda p: p.item.volume, widest=32, rising=True
            ),
            TableColumn(
                "owner", "OWNER", 8, _word(lambda v: v.owner), lambda p: p.item.owner, widest=24, keep=2, rising=True
            ),
            TableColumn(
                "used",
                "USED %",
                14,
                _cell(lambda v, p, w: bar_cell(v.used, w, p)),
                lambda p: p.item.used,
                widest=30,
                scale=PERCENT,
            ),
            TableColumn("binds", "LIMIT", 10, _word(lambda v: v.binds), keep=3, widest=18),
            TableColumn("findings", "FINDINGS", 16, _cell(lambda v, p, _: _claims(v.claims, p)), keep=1, widest=70),
        ),
    ),
    FleetTable(
        "5",
        "Silent",
        "nodes without data",
        "every node reports",
        (
            _NODE,
            TableColumn("for", "FOR", 9, _word(lambda n: duration(n.age)), lambda p: p.item.age, right=True),
            TableColumn("why", "WHY", 24, _word(lambda n: n.silence), widest=70),
            TableColumn("job", "JOB", 8, _word(lambda n: n.key[0]), keep=1, widest=24),
        ),
    ),
    FleetTable(
        "6",
        "Differ",
        "nodes that differ from their peers",
        "no node differs from its peers (or too few peers)",
        (
            TableColumn("what", "ASPECT", 16, _name, lambda p: p.name, widest=40, rising=True),
            TableColumn("rule", "RULE", 13, _word(lambda f: f.rule), lambda p: p.item.rule, keep=1, rising=True),
            TableColumn("differs", "DIFFERENCE", 30, _word(lambda f: f.summary), widest=110, comfort=45),
        ),
    ),
    FleetTable(
        "!",
        "Findings",
        "findings by rule",
        "no finding",
        (
            _NODE,
            TableColumn("rule", "RULE", 20, _word(lambda c: c.rule), lambda p: p.item.rule, widest=26, rising=True),
            TableColumn(
                "subject", "SUBJECT", 20, _word(lambda c: c.subject), lambda p: p.item.subject, widest=70, rising=True
            ),
        ),
    ),
)
"""All tables, in tab order."""


def rows_of(key: str, picture: FleetState, palette: Palette) -> list[Row]:
    """Return a table's rows."""
    match key:
        case "1":
            return [_row(n.key, n, n.key, picture, palette, worst=n.worst, why=n.silence) for n in picture.nodes]
        case "2":
            return [_row((a.node, a.array), a, a.node, picture, palette) for a in picture.arrays]
        case "3":
            return [_row((r.node, r.array, r.operation), r, r.node, picture, palette) for r in picture.rebuilds]
        case "4":
            return [_row((v.node, v.volume, v.owner), v, v.node, picture, palette) for v in picture.volumes]
        case "5":
            return [_row(n.key, n, n.key, picture, palette, why=n.silence) for n in picture.silent]
        case "6":
            return [_differs(finding, palette) for finding in picture.differing]
        case _:
            return list(_by_rule(picture, palette))


def _row(
    row: object, item: FleetNode | FleetArray | RebuildRow | VolumeRow | FleetFinding, key: Key, picture: FleetState,
    palette: Palette,
    worst: FleetFinding | None = None, why: str = "",
) -> Row:  # fmt: skip
    name = picture.name(key)
    claims = (item,) if isinstance(item, FleetFinding) else getattr(item, "claims", (worst,) if worst else ())
    found = " ".join(f"{c.rule} {c.subject}" for c in claims)
    more = " ".join(str(getattr(item, field, "")) for field in ("array", "operation", "volume", "owner", "state"))
    return Row(row, FleetRow(item, key, name, palette), None, f"{name} {key[0]} {key[1]} {found} {more} {why}")


def _differs(finding: Finding, palette: Palette) -> Row:
    painted = FleetRow(finding, None, finding.subject, palette)
    return Row((finding.id, finding.summary), painted, None, f"{finding.subject} {finding.rule} {finding.summary}")


def _by_rule(picture: FleetState, palette: Palette) -> Iterator[Row]:
    """Yield a heading with the number of nodes for each rule, followed by its individually known findings."""
    nodes = {(rule.rule, rule.severity): rule.nodes for rule in picture.rules}
    for claim in picture.findings:  # without a reported number, count the known nodes
        key = (claim.rule, claim.severity)
        nodes.setdefault(key, len({c.node for c in picture.findings if (c.rule, c.severity) == key}))
    for (rule, severity), count in sorted(nodes.items(), key=lambda item: (-item[0][1].rank, -item[1], item[0][0])):
        yield Row(line=_heading(rule, severity, count, palette), search=rule)
        for claim in picture.findings:
            if (claim.rule, claim.severity) == (rule, severity):
                yield _row((claim.node, claim.rule, claim.subject), claim, claim.node, picture, palette)
    for row in picture.accepted:
        said = f"accepted; otherwise {row.severity.value}"
        yield Row(line=_heading(row.rule, Severity.INFO, row.nodes, palette, said), search=row.rule)


def _heading(rule: str, severity: Severity, nodes: int, palette: Palette, said: str = "") -> Callable[[int], Line]:
    count = f"{nodes} node{'' if nodes == 1 else 's'}"
    line = text(
        (WORDS[severity].strip(), palette.severity(severity)), " ", (palette.word(rule, 60), STRONG), "  ",
        (count, FAINT), "  ", (said or advice(rule), FAINT),
    )  # fmt: skip
    return lambda _: line
