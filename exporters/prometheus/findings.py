"""Metrics of the rules and of each active finding: severity, cause, beginning, and the numbers that were compared.

    sdstop_finding_active{rule="cache-bypassed",subject="cachedev",cause_rule="mtu-misaligned",...} 3
    sdstop_finding_value_ratio{rule="cache-bypassed",subject="cachedev",value="bypassed"} 0.92
    sdstop_finding_limit_ratio{rule="cache-bypassed",subject="cachedev",value="bypassed",compared="above"} 0.5

Labels have no free text: the names of values are those of the JSON report, and as stable as the IDs of the rules; where
the report's name ends with that of a thing, that is the label `thing`. The series of values and times do not depend on
the severity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sdstop.core.finding import Damage, Finding, Severity, Value
from sdstop.core.finding_order import by_cause
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.judgement import Judgement
from sdstop.core.rule import Rule
from sdstop.exporters.prometheus.exposition import Heading, Sample, Told, label
from sdstop.exporters.prometheus.health import Health, looked

MOST_FINDINGS = 100
"""Maximum findings exported individually, worst first."""
MOST_VALUES = 8
"""Maximum values of one finding that are exported."""

_THIS = ("rule", "subject")
_BY_ID = "disk/by-id/"
_SYSTEM = ("disk/", "mapper/")
"""Beginnings of names below /dev that the system gives."""
FINDINGS = Heading("sdstop_findings", "gauge", "Active findings of the rule.", ("rule", "severity"))
ACTIVE = Heading(
    "sdstop_finding_active",
    "gauge",
    f"Severity of each active finding (the {MOST_FINDINGS} most severe): 1 info, 2 warning, 3 critical.",
    ("cause_rule", "cause_subject", "damage", "rule", "severity", "standing", "subject"),
)
ACCEPTED = Heading(
    "sdstop_finding_accepted",
    "gauge",
    "Severity without its acceptance of each accepted finding: 2 warning, 3 critical.",
    _THIS,
)
ACCEPTED_UNTIL = Heading(
    "sdstop_finding_acceptance_end_timestamp_seconds",
    "gauge",
    "Unix timestamp at which the acceptance of the finding ends; absent if it does not end.",
    _THIS,
    "seconds",
)
SINCE = Heading(
    "sdstop_finding_start_timestamp_seconds",
    "gauge",
    "Unix timestamp of the first sample that showed the finding.",
    _THIS,
    "seconds",
)
THING = Heading(
    "sdstop_finding_thing_info",
    "info",
    "Name that survives a boot, for a subject that is a kernel name; the value is always 1.",
    ("name", *_THIS),
)
HIDDEN = Heading("sdstop_findings_dropped", "gauge", "Active findings omitted from sdstop_finding_active.")
LASTED = Heading(
    "sdstop_finding_seconds_total", "counter",
    "Time for which the finding was active at this severity, accumulated independently of scrapes.",
    ("rule", "severity", "subject"), "seconds",
)  # fmt: skip
EVALUATED = Heading(
    "sdstop_rule_evaluated_timestamp_seconds", "gauge", "Unix timestamp of the last evaluation of the rule.", ("rule",)
)
UNCHECKED = Heading(
    "sdstop_rule_unchecked", "gauge", "Number of applicable subjects that the rule could not check.", ("rule",)
)

_UNITS = {
    "": "", "bytes": "bytes", "bytes_per_second": "bytes_per_second", "decimal_bytes_per_second": "bytes_per_second",
    "per_second": "per_second", "transfers_per_second": "per_second", "seconds": "seconds", "ratio": "ratio",
    "progress": "ratio",
    "celsius": "celsius",
}  # fmt: skip
"""Base unit of each unit of a value."""


_IN = {
    "": "",
    "ratio": ", as a share (0 to 1)",
    "per_second": ", as a rate per second",
    "celsius": ", in degrees Celsius",
}
"""Units in the help of a metric, where the name of the unit does not read well."""


def _headings(name: str, what: str, labels: tuple[str, ...]) -> dict[str, Heading]:
    """Return a heading for each base unit."""
    found = {}
    for unit in dict.fromkeys(_UNITS.values()):
        said = _IN.get(unit, f", in {unit.replace('_', ' ')}")
        found[unit] = Heading(f"{name}_{unit}".rstrip("_"), "gauge", f"{what}{said}.", labels, unit)
    return found


VALUES = _headings("sdstop_finding_value", "Number that a finding is based on", (*_THIS, "thing", "value"))
LIMITS = _headings(
    "sdstop_finding_limit", "Number that a value of a finding was compared with", ("compared", *_THIS, "thing", "value")
)
OF_RULES = (
    FINDINGS,
    ACTIVE,
    ACCEPTED,
    ACCEPTED_UNTIL,
    SINCE,
    *VALUES.values(),
    *LIMITS.values(),
    HIDDEN,
    LASTED,
    EVALUATED,
    UNCHECKED,
)


def of_rules(
    health: Health, judgement: Judgement, rules: Sequence[Rule], window: Window, *, full: bool
) -> Iterator[Told]:
    """Yield the finding metrics; if `full`, with 0 for each rule that found nothing, and with its last evaluation."""
    judged = looked(judgement)
    count = Counter((finding.rule, finding.severity) for finding in judgement.findings)
    kinds = [(r, s) for r in rules if r.id in judged for s in Severity if s.rank <= r.worst.rank or count[r.id, s]]
    yield FINDINGS, [({"rule": r.id, "severity": s.value}, count[r.id, s]) for r, s in kinds if full or count[r.id, s]]
    shown = _shown(judgement.findings)
    causes = causes_of(judgement.findings)
    yield ACTIVE, [(_labels(finding, causes, this), finding.severity.rank + 1) for this, finding in shown]
    accepted = [(_by(this), finding.accepted) for this, finding in shown]
    yield ACCEPTED, [(labels, by.severity.rank + 1) for labels, by in accepted if by is not None]
    yield ACCEPTED_UNTIL, [(labels, by.until) for labels, by in accepted if by is not None and by.until is not None]
    begun = [(_by(this), health.since.get(finding.id)) for this, finding in shown]
    yield SINCE, [(labels, since) for labels, since in begun if since is not None]
    yield THING, list(_things(shown, window)) if shown else []
    yield from _values(shown)
    yield HIDDEN, [({}, len(judgement.findings) - len(shown))]
    lasted = sorted(health.lasted.items())
    yield LASTED, [({**_by((rule, name)), "severity": s.value}, seconds) for (rule, name, s), seconds in lasted]
    yield EVALUATED, [({"rule": rule}, taken) for rule, taken in sorted(health.evaluated.items()) if full]
    helpless = Counter[str]()
    for verdict in judgement.unchecked:
        if not verdict.calm:
            helpless[verdict.rule] += max(len(verdict.subjects), 1)
    concerned = sorted(judged | set(helpless))
    yield UNCHECKED, [({"rule": rule}, helpless[rule]) for rule in concerned if full or helpless[rule]]


_Named = tuple[str, str]
"""Rule and subject, as in labels."""


def _shown(findings: Sequence[Finding]) -> list[tuple[_Named, Finding]]:
    """Return the findings with series of their own; of two whose labels are the same, the more severe one."""
    found: dict[_Named, Finding] = {}
    for finding in findings:
        known = found.setdefault((finding.rule, label(finding.subject)), finding)
        if known.severity.rank < finding.severity.rank:
            found[finding.rule, label(finding.subject)] = finding
    return list(found.items())[:MOST_FINDINGS]


def causes_of(findings: Sequence[Finding]) -> dict[str, Finding]:
    """Return the first cause of each finding that follows from another, by the ID of the one that follows."""
    found: dict[str, Finding] = {}
    cause: Finding | None = None
    for ordered in by_cause(findings):
        finding = findings[ordered.place]
        if ordered.follows and cause is not None:
            found[finding.id] = cause
        else:
            cause = finding
    return found


def _by(this: _Named) -> dict[str, str]:
    rule, subject = this
    return {"rule": rule, "subject": subject}


def _labels(finding: Finding, causes: Mapping[str, Finding], this: _Named) -> dict[str, str]:
    cause = causes.get(finding.id)
    return {
        **_by(this),
        "cause_rule": cause.rule if cause is not None else "",
        "cause_subject": label(cause.subject) if cause is not None else "",
        "damage": (finding.damage or Damage.HYGIENE).value,
        "severity": finding.severity.value,
        "standing": "true" if finding.standing else "false",
    }


def _things(shown: Sequence[tuple[_Named, Finding]], window: Window) -> Iterator[Sample]:
    """Yield names that survive a boot of subjects that do not: dm-13 is vg2/db, sda is wwn-0x5000c500f140395c."""
    for this, finding in shown:
        named = window.topology.subject(finding.subject)
        before, thing = named or ("", None)
        if thing is None or thing.device is None or f"{before}{thing.device}" != finding.subject:
            continue
        links = [name for naming, name in thing.names if naming is Naming.LINK]
        by_owner = [thing.label, *(name for name in links if not name.startswith(_SYSTEM))]
        by_id = [*(name.removeprefix(_BY_ID) for name in links if name.startswith(_BY_ID)), thing.named(Naming.WWN)]
        name = next((name for name in (*by_owner, *by_id) if name not in {thing.device, None}), None)
        if name is not None:
            yield {**_by(this), "name": label(name)}, 1


def _values(shown: Sequence[tuple[_Named, Finding]]) -> Iterator[Told]:
    """Yield the numbers of the findings, and those that they were compared with, by unit."""
    values: defaultdict[str, list[Sample]] = defaultdict(list)
    limits: defaultdict[str, list[Sample]] = defaultdict(list)
    for this, finding in shown:
        numbers = {value.name: value for value in finding.values if _number(value.value) is not None}
        for value in list(numbers.values())[:MOST_VALUES]:
            by = {**_by(this), "value": value.stable, **({"thing": label(value.thing)} if value.thing else {})}
            unit = _UNITS.get(value.unit, "")
            values[unit].append((by, _number(value.value) or 0))
            limits[unit] += [({**by, "compared": how}, number) for how, number in _compared(value)]
    yield from ((heading, values[unit]) for unit, heading in VALUES.items())
    yield from ((heading, limits[unit]) for unit, heading in LIMITS.items())


def _number(value: float | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else value + 0


def _compared(value: Value) -> Iterator[tuple[str, float]]:
    for how in ("of", "above", "below"):
        number = getattr(value, how)
        if number is not None:
            yield how, number
