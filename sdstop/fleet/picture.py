"""State of the fleet at one time, assembled from a server's answers. Pure functions, no I/O."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.fleet.answer import LabelledSeries, QueryAnswer
from sdstop.fleet.queries import MOST_NODES, STALE_SECONDS
from sdstop.fleet.silences import SilencedAlert

Key = tuple[str, str]
"""Key of a node: the server's job and instance labels."""

_PORT = expression(r"^(.+):\d{1,5}$")


class FleetFinding(Struct, frozen=True):
    """An active finding on a node."""

    node: Key
    rule: str
    severity: Severity
    subject: str


class FleetNode(Struct, frozen=True, kw_only=True):
    """A node: number of findings by severity, age of its last sample in seconds, and one of its worst findings.

    `silence` is why the node is silent, "" if it is not. `history` is its number of critical and warning findings,
    oldest first, None where unknown.
    """

    key: Key
    name: str
    critical: int = 0
    warning: int = 0
    info: int = 0
    age: float | None = None
    worst: FleetFinding | None = None
    silence: str = ""
    history: tuple[float | None, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """Worst severity, None for info or no findings."""
        return Severity.CRITICAL if self.critical else Severity.WARNING if self.warning else None

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Sort key of nodes, the worst highest; silent nodes rank below critical ones."""
        return (self.critical, int(bool(self.silence)), self.warning, self.info)


class FleetArray(Struct, frozen=True):
    """An array that has findings or uneven load.

    `skew` is the busy time of the busiest member relative to the mean of all; 1 is even.
    """

    node: Key
    array: str
    claims: tuple[FleetFinding, ...] = ()
    skew: float | None = None

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the findings, None if there are none."""
        return max((c.severity for c in self.claims), key=lambda s: s.rank, default=None)

    @property
    def members(self) -> tuple[str, ...]:
        """Members that have findings."""
        return tuple(dict.fromkeys(c.subject.partition("/")[2] for c in self.claims if "/" in c.subject))


class RebuildRow(Struct, frozen=True):
    """A rebuild: share done, seconds remaining, bytes per second; None if not reported."""

    node: Key
    array: str
    operation: str
    state: str = ""
    done: float | None = None
    remaining: float | None = None
    speed: float | None = None


class VolumeRow(Struct, frozen=True):
    """A volume at or near a limit, by its use or by a finding. `used` is the share of the limit."""

    node: Key
    volume: str
    owner: str = ""
    binds: str = ""
    used: float | None = None
    claims: tuple[FleetFinding, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the findings, None if there are none."""
        return max((c.severity for c in self.claims), key=lambda s: s.rank, default=None)


class RuleRow(Struct, frozen=True):
    """A rule and the number of nodes with its findings of a severity."""

    rule: str
    severity: Severity
    nodes: int

    @property
    def advice(self) -> str:
        """The first thing to do about them, "" for a rule that this version does not have."""
        return advice(self.rule)


def advice(rule: str, subject: str = "") -> str:
    """Return the first thing to do about findings of a rule, or about one of them."""
    return _advice().get(rule, "").replace("{subject}", subject or "it")


@functools.cache
def _advice() -> dict[str, str]:
    from sdstop.rules import RULES  # noqa: PLC0415  # the rules load all families

    return {rule.id: rule.advice for rule in RULES}


class FleetState(Struct, frozen=True):
    """State of the fleet. `total` is the number of nodes with samples, `nodes` the worst MOST_NODES at most.

    `troubles` are failed queries, `warnings` and `infos` the server's remarks, each in one line; `failed` is set if
    the server did not answer at all. `silenced` are the alerts that an Alertmanager holds back, None if none was asked
    or it did not answer. `asked` is in Unix seconds, `took` the seconds until the last answer.
    """

    asked: float = 0.0
    took: float = 0.0
    server: str = ""
    total: int | None = None
    named: Mapping[Key, str] = field(default_factory=dict)
    counts: Mapping[Severity, int] = field(default_factory=dict)
    nodes: tuple[FleetNode, ...] = ()
    findings: tuple[FleetFinding, ...] = ()
    rules: tuple[RuleRow, ...] = ()
    accepted: tuple[RuleRow, ...] = ()
    """Rules with accepted findings, and the severity that these would have."""
    arrays: tuple[FleetArray, ...] = ()
    rebuilds: tuple[RebuildRow, ...] = ()
    volumes: tuple[VolumeRow, ...] = ()
    outliers: tuple[Verdict, ...] = ()
    silenced: tuple[SilencedAlert, ...] | None = None
    troubles: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    failed: bool = False

    @property
    def silent(self) -> tuple[FleetNode, ...]:
        """Silent nodes, longest silent first."""
        quiet = [node for node in self.nodes if node.silence]
        return tuple(sorted(quiet, key=lambda node: (-(node.age if node.age is not None else math.inf), node.name)))

    @property
    def differing(self) -> tuple[Finding, ...]:
        """Findings on differences between nodes, worst first."""
        found = [verdict for verdict in self.outliers if isinstance(verdict, Finding)]
        return tuple(sorted(found, key=lambda finding: (-finding.severity.rank, finding.subject)))

    def silence(self, claim: FleetFinding) -> SilencedAlert | None:
        """Return the alert about a finding that a silence holds back."""
        about = (claim.node, claim.rule, claim.subject)
        return next((each for each in self.silenced or () if (each.node, each.rule, each.subject) == about), None)

    def name(self, key: Key) -> str:
        """Return a node's name."""
        return self.named.get(key, short(key[1]))


Answers = Mapping[str, QueryAnswer]


def key_of(row: LabelledSeries) -> Key:
    """Return the node of a series."""
    return row.label("job"), row.label("instance")


def short(instance: str) -> str:
    """Return an instance without its port: `n1` for `n1:10042`."""
    found = _PORT.match(instance)
    return found[1] if found else instance


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


def _severity(row: LabelledSeries) -> Severity:
    """Return a series' severity, by its value if no label has it; unknown words count as info."""
    word = row.label("severity")
    if not word and 1 <= row.value < len(Severity) + 1:
        return list(Severity)[int(row.value) - 1]
    return Severity(word) if word in set(Severity) else Severity.INFO


def finding_of_series(row: LabelledSeries, node: Key | None = None) -> FleetFinding:
    """Convert a series of sdstop_finding_active to a finding."""
    return FleetFinding(node or key_of(row), row.label("rule"), _severity(row), row.label("subject"))


def picture(
    answers: Answers, *, outliers: Sequence[Verdict] = (), silenced: tuple[SilencedAlert, ...] | None = None
) -> FleetState:
    """Assemble the answers; parts without an answer stay empty."""

    def rows(name: str) -> tuple[LabelledSeries, ...]:
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


Rows = Callable[[str], tuple[LabelledSeries, ...]]


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


HISTORY_SECONDS = 3600.0
"""Seconds of the curve in the table of nodes."""
HISTORY_STEP = 120.0
"""Seconds between two of its points."""
HISTORY_POINTS = int(HISTORY_SECONDS / HISTORY_STEP) + 1
"""Range and resolution of the sparklines beside nodes."""


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


UNEVEN = 2.0
"""Minimum skew of an array listed without a finding."""


def _rebuilds(series: Sequence[LabelledSeries]) -> tuple[RebuildRow, ...]:
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
