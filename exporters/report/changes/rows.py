"""Words and rows of a comparison, the same in text, pages and on screen. All texts are sanitized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.comparison.comparison import Comparison
from sdstop.analysis.comparison.findings import BAD, ChangedFinding, FindingChange
from sdstop.analysis.comparison.loads import LoadFigure
from sdstop.analysis.comparison.settings import ChangedSetting, ThingChange
from sdstop.analysis.comparison.sides import ComparedSide
from sdstop.core.finding import Severity
from sdstop.core.finding_text import subject_text
from sdstop.core.format import NOT_DATED, duration, listed, natural, number, plural, quantity, safe, timestamp
from sdstop.core.model import Metric, schema
from sdstop.exporters.report.table import shown

MOST = 40
"""Maximum rows of rates in text; data formats have all of them."""
_NAMED = 2
"""Maximum names in a row."""


_ONLY = {ThingChange.REMOVED: "only in A", ThingChange.ADDED: "only in B", ThingChange.RENAMED: "renamed"}
"""Words for things of two nodes, of which none was added or removed."""
_DIFFERS = {
    FindingChange.NEW: "only B", FindingChange.UNSEEN: "only B", FindingChange.WORSE: "worse in B",
    FindingChange.GONE: "only A", FindingChange.LEFT: "only A", FindingChange.OVER: "only A",
    FindingChange.BETTER: "less in B", FindingChange.CHANGED: "differs",
}  # fmt: skip
"""Words for findings of two nodes, of which none is new or repaired."""


class ChangeRow(Struct, frozen=True):
    """A changed finding: its word, severity, heading, and lines below it."""

    change: str
    severity: Severity
    heading: str
    lines: tuple[str, ...]
    bad: bool


def title(found: Comparison) -> str:
    """Return the summary: `node7, A to B: 2 findings gone, 1 new; 3 settings, 1 thing, 12 rates changed`."""
    a, b = safe(found.a.host, 64), safe(found.b.host, 64)
    name = f"{a}, A to B" if found.same_host else f"A ({a}) to B ({b})"
    if not found.changed:
        partly = " in the data that both have" if found.gaps or found.loads.missing else ""
        return f"{name}: nothing changed{partly}"
    counts: dict[str, int] = {}
    for change, count in found.counts().items():
        counts[_word(found, change)] = counts.get(_word(found, change), 0) + count
    heads = (
        [f"findings: {', '.join(f'{count} {word}' for word, count in counts.items())}"]
        if counts
        else ["no finding changed"]
    )
    properties = found.properties
    parts = {"thing": properties.things, "setting": properties.settings, "rate": found.loads.changed}
    rest = [plural(len(each), word) for word, each in parts.items() if each]
    return f"{name}: {'; '.join([*heads, *([f'{listed_all(rest)} changed'] if rest else [])])}"


def listed_all(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def span(side: ComparedSide) -> str:
    """Return the name of a side, its time, frames and source."""
    frames = plural(side.frames, "frame")
    if side.ended is None:
        when = f"{frames}, {NOT_DATED}"
    elif side.moment:
        when = f"at {timestamp(side.ended)}"
    elif side.frames > 1:
        when = f"{timestamp(side.started or side.ended)}, {frames} over {duration(side.seconds)}"
    else:
        when = f"{timestamp(side.ended)}, {frames}"
    return ", ".join(filter(None, (safe(side.host, 64), when, safe(side.source, 200))))


def same(found: Comparison) -> str:
    """Return how much was compared and did not change."""
    properties = found.properties
    parts = (
        plural(len(found.same_findings), "finding"), plural(properties.same_things, "thing"),
        plural(properties.same_settings, "setting"), plural(found.loads.same, "rate"),
    )  # fmt: skip
    return f"Unchanged: {listed_all(parts)}."


def _word(found: Comparison, change: FindingChange) -> str:
    return change.value if found.same_host else _DIFFERS.get(change, change.value)


def findings(found: Comparison) -> Iterator[ChangeRow]:
    """Yield the changed findings, the most important first."""
    for each in found.findings:
        finding = each.finding
        heading = f"{safe(subject_text(finding), 80)}: {finding.title or finding.rule}"
        yield ChangeRow(
            _word(found, each.change), finding.severity, heading, tuple(_finding_lines(each)), each.change in BAD
        )


def _finding_lines(each: ChangedFinding) -> Iterator[str]:
    gone = each.after is None
    lead = "A: " if gone else ""
    yield f"{lead}{safe(each.finding.cause, 400)}"
    if each.why:
        why = safe(each.why, 400)
        yield why[0].upper() + why[1:]
    for value in each.values:
        yield f"{safe(value.title, 80)}: {quantity(value.before, value.unit)} -> {quantity(value.after, value.unit)}"
    if each.finding.rule and each.finding.title:
        yield f"rule {each.finding.rule}"


def things(found: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield (change, kind, names) of things, those with one change and kind together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found.properties.things:
        name = f"{safe(each.name, 80)} -> {safe(each.other, 80)}" if each.other else each.name
        change = each.change.value if found.same_host else _ONLY[each.change]
        groups.setdefault((change, each.kind), []).append(name)
    for (change, kind), names in groups.items():
        yield change, kind, named(names)


def named(names: Sequence[str]) -> str:
    """Return a few names, and the number of all if there are more."""
    count = f"{len(names)}: " if len(names) > _NAMED else ""
    return count + listed(sorted(names, key=natural), _NAMED, 80)


def settings(found: Comparison) -> Iterator[tuple[str, str, str, str]]:
    """Yield (family and field, rows, value in A, value in B)."""
    for each in found.properties.settings:
        what = f"{schema(each.family).title}: {each.column.title}"
        items = named(each.items) if any(each.items) else ""
        yield what, items, setting(each, each.before), setting(each, each.after)


def setting(each: ChangedSetting, value: object) -> str:
    """Return the value of a setting for display."""
    mark = each.column.mark
    if isinstance(mark, Metric) and isinstance(value, int | float) and not mark.exact:
        if mark.help.startswith("Unix time"):
            return timestamp(float(value))
        return quantity(value, each.column.unit)
    if isinstance(mark, Metric):
        return f"{value:.0f}" if isinstance(value, int | float) else safe(value)
    return shown(each.column, value) or '""'


def loads(found: Comparison) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (groups, what, in A, in B, change) of figures, groups with equal ones together."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for each in found.loads.changed:
        key = (each.title, quantity(each.before, each.unit), quantity(each.after, each.unit), _step(each))
        rows.setdefault(key, []).append(each.group)
    for (what, before, after, step), groups in rows.items():
        yield named(groups), what, before, after, step


def _step(each: LoadFigure) -> str:
    """Return how much a figure changed: `x3.1`, `/3.1`, `+42 points` of a share."""
    before, after = each.before or 0.0, each.after or 0.0
    if each.unit == "ratio":
        return f"{(after - before) * 100:+.0f} points"
    if not before or not after:
        return "from 0" if after else "to 0"
    return f"x{number(after / before)}" if after > before else f"/{number(before / after)}"


def gaps(found: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what could not be compared, with the reason."""
    if found.loads.missing:
        yield "rates", f"{found.loads.missing}: no two samples, so no rates"
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found.gaps:
        groups.setdefault((each.before, each.after), []).append(each.collector.title)
    for (before, after), names in groups.items():
        side, why = ("A", before) if before != "ok" else ("B", after)
        yield f"{why} in {side}", ", ".join(safe(name, 60) for name in names)
