"""Picture of the fleet: its state, assembled from a server's answers. Pure functions, no I/O."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from sdstop.core.finding import Severity, Verdict
from sdstop.fleet.answer import LabeledSeries, QueryAnswer
from sdstop.fleet.queries import MOST_NODES, STALE_SECONDS
from sdstop.fleet.silences import SilencedAlert
from sdstop.fleet.state import (
    FleetArray,
    FleetFinding,
    FleetNode,
    FleetState,
    Key,
    RebuildRow,
    RuleRow,
    VolumeRow,
    short,
)

Answers = Mapping[str, QueryAnswer]
"""Answers to the queries of sdstop.fleet.queries, by name."""
Rows = Callable[[str], tuple[LabeledSeries, ...]]
"""Returns the series of an answer, none without one."""
HISTORY_SECONDS = 3600.0
"""Seconds of the curve in the table of nodes."""
HISTORY_STEP = 120.0
"""Seconds between two of its points."""
HISTORY_POINTS = int(HISTORY_SECONDS / HISTORY_STEP) + 1
"""Points of the curve."""
UNEVEN = 2.0
"""Minimum skew of an array listed without a finding."""


def key_of(row: LabeledSeries) -> Key:
    """Return the node of a series."""
    return row.label("job"), row.label("instance")


def names(keys: Sequence[Key]) -> dict[Key, str]:
    """Return unique names of nodes: without port, else with port, else with port and job."""
    chosen: dict[Key, str] = {}
    for style in (lambda k: short(k[1]), lambda k: k[1], lambda k: f"{k[1]} ({k[0]})"):
        by_name: dict[str, list[Key]] = {}
        for key in keys:
            if key not in chosen:
                by_name.setdefault(style(key), []).append(key)
        chosen |= {same[0]: name for name, same in by_name.items() if len(same) == 1}
    return {key: chosen.get(key, key[1]) for key in keys}


def _severity(row: LabeledSeries) -> Severity:
    """Return a series' severity, by its value if no label has it; unknown words count as info."""
    word = row.label("severity")
    if not word and 1 <= row.value < len(Severity) + 1:
        return list(Severity)[int(row.value) - 1]
    return Severity(word) if word in set(Severity) else Severity.INFO


def finding_of_series(row: LabeledSeries, node: Key | None = None) -> FleetFinding:
    """Convert a series of sdstop_finding_active to a finding."""
    return FleetFinding(node or key_of(row), row.label("rule"), _severity(row), row.label("subject"))


def picture(
    answers: Answers, *, outliers: Sequence[Verdict] = (), silenced: tuple[SilencedAlert, ...] | None = None
) -> FleetState:
    """Assemble the answers; parts without an answer stay empty."""

    def rows(name: str) -> tuple[LabeledSeries, ...]:
        answer = answers.get(name)
        return () if answer is None else answer.series

    total = rows("total")
    counts = {_severity(row): int(row.value) for row in rows("counts")}
    told = tuple(finding_of_series(row) for row in rows("findings"))
    rules, accepted = (
        (RuleRow(row.label("rule"), _severity(row), int(row.value)) for row in rows(name))
        for name in ("rules", "accepted")
    )
    nodes = _nodes(answers, rows)
    return FleetState(
        total=int(total[0].value) if total else 0 if "total" in answers else None,
        named={node.key: node.name for node in nodes},
        counts=counts,
        nodes=nodes,
        findings=tuple(sorted(told, key=lambda c: (-c.severity.rank, c.rule, c.node, c.subject))),
        rules=tuple(sorted(rules, key=_by_nodes)),
        accepted=tuple(sorted(accepted, key=_by_nodes)),
        arrays=_arrays(rows),
        rebuilds=_rebuilds(rows("rebuilds")),
        volumes=_volumes(rows),
        outliers=tuple(outliers),
        silenced=silenced,
    )


def _by_nodes(row: RuleRow) -> tuple[int, int, str]:
    return -row.severity.rank, -row.nodes, row.rule


def _nodes(answers: Answers, rows: Rows) -> tuple[FleetNode, ...]:
    ages = {key_of(row): max(row.value, 0.0) for row in rows("nodes")}
    quiet = {key_of(row): row.value for row in rows("silent")}
    down = {key_of(row) for row in rows("down")}
    counted: dict[Key, dict[Severity, int]] = {}
    for row in rows("severities"):
        counted.setdefault(key_of(row), {})[_severity(row)] = int(row.value)
    worst = {key_of(row): finding_of_series(row) for row in rows("worst")}
    past = rows("history")
    end = max((row.points[-1][0] for row in past), default=0.0)
    courses = {key_of(row): on_grid(row.points, end, HISTORY_STEP, HISTORY_POINTS) for row in past}
    keys = sorted({*ages, *quiet, *down, *counted, *worst})
    named = names(keys)
    found = []
    for key in keys:
        by = counted.get(key, {})
        silence = ""
        if key in down:
            silence = "target down"
        elif "nodes" in answers and key in quiet and key not in ages:
            silence = "no longer scraped"
        elif ages.get(key, 0.0) > STALE_SECONDS:
            silence = "scraped, but no new samples (or its clock is slow)"
        found.append(
            FleetNode(
                key=key,
                name=named[key],
                critical=by.get(Severity.CRITICAL, 0),
                warning=by.get(Severity.WARNING, 0),
                info=by.get(Severity.INFO, 0),
                age=ages.get(key, quiet.get(key)),
                worst=worst.get(key),
                silence=silence,
                history=courses.get(key, ()),
            )
        )
    found.sort(key=lambda node: node.name)
    found.sort(key=lambda node: node.rank, reverse=True)
    return tuple(found[:MOST_NODES])


def on_grid(points: Sequence[tuple[float, float]], end: float, step: float, count: int) -> tuple[float | None, ...]:
    """Return `count` values, one every `step` seconds, the last at `end`; None without a point."""
    grid: list[float | None] = [None] * count
    for taken, value in points:
        place = count - 1 - round((end - taken) / step)
        if 0 <= place < count and math.isfinite(value):
            grid[place] = value
    return tuple(grid)


def _arrays(rows: Rows) -> tuple[FleetArray, ...]:
    claims: dict[tuple[Key, str], list[FleetFinding]] = {}
    for row in rows("arrays"):
        told = finding_of_series(row)
        claims.setdefault((told.node, told.subject.partition("/")[0]), []).append(told)
    skews = {(key_of(row), row.label("array")): row.value for row in rows("skew") if math.isfinite(row.value)}
    uneven = {place for place, skew in skews.items() if skew >= UNEVEN}
    found = [
        FleetArray(key, array, tuple(claims.get((key, array), ())), skews.get((key, array)))
        for key, array in sorted({*claims, *uneven})
    ]
    found.sort(key=lambda row: (-(row.severity.rank if row.severity else -1), -(row.skew or 0.0)))
    return tuple(found)


def _rebuilds(series: Sequence[LabeledSeries]) -> tuple[RebuildRow, ...]:
    figures: dict[tuple[Key, str, str], dict[str, float]] = {}
    states: dict[tuple[Key, str, str], str] = {}
    for row in series:
        place = (key_of(row), row.label("array"), row.label("operation"))
        known = figures.setdefault(place, {})
        if row.label("what") == "state":
            states[place] = row.label("state")
        elif math.isfinite(row.value):
            known[row.label("what")] = row.value
    found = [
        RebuildRow(*place, states.get(place, ""), known.get("done"), known.get("remaining"), known.get("speed"))
        for place, known in sorted(figures.items())
    ]
    found.sort(key=lambda row: -(row.remaining if row.remaining is not None else math.inf))
    return tuple(found)


def _volumes(rows: Rows) -> tuple[VolumeRow, ...]:
    claims: dict[tuple[Key, str, str], list[FleetFinding]] = {}
    for row in rows("saturated"):
        told = finding_of_series(row)
        volume, _, owner = told.subject.removeprefix("vol:").partition("@")
        claims.setdefault((told.node, volume, owner), []).append(told)
    used: dict[tuple[Key, str, str], tuple[float, str]] = {}
    for row in rows("volumes"):
        place = (key_of(row), row.label("volume"), row.label("owner"))
        share = (row.value, " ".join(part for part in (row.label("direction"), row.label("binds")) if part))
        if math.isfinite(row.value):
            used[place] = max(used.get(place, share), share)
    found = [
        VolumeRow(*place, used.get(place, (None, ""))[1], used.get(place, (None, ""))[0], tuple(claims.get(place, ())))
        for place in sorted({*claims, *used})
    ]
    found.sort(key=lambda row: (-(row.severity.rank if row.severity else -1), -(row.used or 0.0)))
    return tuple(found)
