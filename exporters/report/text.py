"""Text report: findings with their evidence first, then all readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.core.account import account_rows
from sdstop.core.collector import TEXTS_ONLY
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Outcome, dated
from sdstop.core.families import in_use
from sdstop.core.finding import Finding, Severity, Value
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import accepted_text, against, subject_text
from sdstop.core.format import (
    NOT_DATED,
    duration,
    lasting,
    percent,
    plural,
    quantity,
    safe,
    safe_block,
    timestamp,
    utc,
    wait,
)  # fmt: skip
from sdstop.core.guard import Part
from sdstop.core.headline import NOT_YET, UNKNOWN, by_reason
from sdstop.core.model import Column, Kind, Metric, Reading, State, schema
from sdstop.core.placement import place_lines
from sdstop.core.session import Session
from sdstop.core.snapshot import Snapshot
from sdstop.exporters.report import table
from sdstop.exporters.report.document import families_of, host_of, subject_of
from sdstop.exporters.report.paths import path_lines

WIDTH = 100
"""Default width in columns without a terminal."""

Paint = Callable[[str, Severity], str]
"""Function that colors a text by severity."""


def plain(text: str, severity: Severity) -> str:
    """Return the text unchanged."""
    del severity
    return text


_SGR = {Severity.CRITICAL: "1;31", Severity.WARNING: "33", Severity.INFO: "36"}


def colored(text: str, severity: Severity) -> str:
    """Color a text by severity, using the terminal's 16 colors."""
    return f"\x1b[{_SGR[severity]}m{text}\x1b[0m"


def text_report(session: Session, width: int = WIDTH, paint: Paint = plain) -> str:
    """Return the whole report, `width` cells wide and at least 40. Raises LookupError before the first frame.

    `paint` colors a text by its severity.
    """
    width = max(width, 40)
    shot = session.head().now
    sections: dict[str, Callable[[], Iterable[list[str]]]] = {
        "head": lambda: [_head(session, shot, width)],
        "findings": lambda: [_findings(session, width, paint)],
        "data paths": lambda: [path_lines(session.head(), width)],
        "checks": lambda: _judged(session, width),
        "sources": lambda: [["SOURCES", *_sources(session, shot, width)]],
        "text": lambda: [_blocks(session, shot, width)],
        "readings": lambda: _readings(session, shot, width),
    }
    lines = [each for name, make in sections.items() for each in _guarded(session, name, make, width)]
    return "\n".join("\n".join([*section, ""]) for section in lines if section)


def _guarded(session: Session, name: str, make: Callable[[], Iterable[list[str]]], width: int) -> Sequence[list[str]]:
    """Return the lines of a part of the report; an exception costs that part."""

    def failed(said: str) -> list[list[str]]:
        return [table.wrapped(f"{name.upper()}: cannot be shown, internal error: {said}", width)]

    return session.guard.call(Part.REPORT, name, lambda: list(make()), failed)


def counted(findings: list[Finding]) -> str:
    """Return the number of findings by severity: `2 findings: 1 critical, 1 info`.

    Findings explained by another one are counted separately: `1 finding: 1 critical; 2 consequences`.
    """
    told = by_cause(findings)
    count = Counter(led.severity for led in told if not led.follows)
    parts = [f"{count[severity]} {severity}" for severity in reversed(Severity) if count[severity]]
    causes = sum(count.values())
    more = len(told) - causes
    rest = f"; {plural(more, 'consequence')}" if more else ""
    return f"{plural(causes, 'finding')}: {', '.join(parts)}{rest}" if findings else "no findings"


def outlook(session: Session) -> str:
    """Summarize the findings of a session; without any, return the headline of a check."""
    findings = [episode.finding for episode in session.episodes()]
    if findings:
        return counted(findings)
    said = session.headline()
    return f"unknown: {said.text}" if said.code == UNKNOWN else said.text


def _head(session: Session, shot: Snapshot, width: int) -> list[str]:
    host = host_of(session, shot)
    name = safe(host["name"], 64)
    frames = plural(session.frames_seen, "frame")
    when = timestamp(shot.taken)
    if session.frames_seen > 1:
        started = session.started if session.started is not None else shot.taken
        span = f"over {duration(shot.monotonic - session.began)}"
        when = f"{span}, {timestamp(started)} to {when}" if dated(started) else span
    facts = [f"kernel {safe(host['kernel'], 64)}"] if host["kernel"] else []
    if dated(shot.taken):
        facts.append("live" if session.origin.live else f"from {session.origin.made}")
    lines = [f"{name}: {outlook(session)}"]
    undated = [] if dated(shot.taken) else [f"{NOT_DATED}: {session.origin.made}"]
    told = [frames if undated and session.frames_seen == 1 else f"{frames} {when}", *undated, *facts]
    lines += table.wrapped(", ".join(told), width, "", "  ")
    if session.origin.privileged is False:
        lines += table.wrapped("Without root: some sources are missing; `sdstop doctor` lists them.", width)
    if not session.is_complete:
        lines += table.wrapped("The capture is incomplete.", width)
    if host["note"]:
        lines += table.wrapped(f"Note: {safe(host['note'], 1000)}", width)
    return lines


def _findings(session: Session, width: int, paint: Paint) -> list[str]:
    episodes = session.episodes()
    if not episodes:
        return []
    lines = ["FINDINGS"]
    for led in by_cause([episode.finding for episode in episodes]):
        indent = _BELOW if led.follows else ""
        episode, room = episodes[led.place], width - len(indent)
        (shown,) = _guarded(
            session,
            f"finding {safe(episode.finding.rule)} {safe(episode.finding.subject)}",
            lambda episode=episode, room=room: [  # type: ignore[misc]
                list(finding_lines(episode, _when(episode, session), room, paint))
            ],
            room,
        )
        lines += [*(f"{indent}{line}" for line in shown), ""]
    return lines[:-1]


_BELOW = "    "
"""Indent of findings that another finding explains."""


def finding_lines(episode: Episode, when: str, width: int, paint: Paint = plain) -> Iterator[str]:
    """Yield the lines of a finding; `when` is the text of its time."""
    finding = episode.finding
    word = paint(f"{finding.severity.upper():<8}", finding.severity)
    yield f"  {word}  {safe(subject_text(finding))}  {safe(finding.title)}"
    yield f"    {safe(finding.rule)}, {safe(when)}"
    if finding.accepted is not None:
        said = safe(accepted_text(finding), 400)
        yield from table.wrapped(f"{said[:1].upper()}{said[1:]}", width, "    ", "      ")
    yield from table.wrapped(f"Why: {safe(finding.cause, 1000)}", width, "    ", "      ")
    if finding.impact:
        yield from table.wrapped(f"Impact: {safe(finding.impact, 1000)}", width, "    ", "      ")
    for title, names in place_lines(finding):
        yield from table.wrapped(f"{title}: {safe(names, 1000)}", width, "    ", "      ")
    rows = [_compared(value) for value in finding.shown]
    yield from table.listing(rows, width, indent="      ")
    for cite in finding.evidence:
        of = f" of {safe(cite.host or finding.host)}" if cite.host or finding.host else ""
        yield f"    Evidence: {safe(cite.key)}, frame {cite.frame}{of}"
        for line in safe_block(cite.excerpt).split("\n"):
            yield from _quoted(line, width)
    for count, advice in enumerate(finding.advice, 1):
        start = f"    {'Action:' if count == 1 else '       '} {count}. "
        yield from table.wrapped(safe(str(advice), 1000), width, start, " " * 15, pasted=True)
    if finding.refuted_by:
        yield from table.wrapped(f"Would be disproved by: {safe(finding.refuted_by, 1000)}", width, "    ", "      ")
    if finding.harmless_if:
        yield from table.wrapped(f"Harmless if: {safe(finding.harmless_if, 1000)}", width, "    ", "      ")
    if finding.explains:
        yield from table.wrapped(f"Consequences: {', '.join(map(safe, finding.explains))}", width, "    ", "      ")


def _quoted(line: str, width: int) -> Iterator[str]:
    """Yield a line of raw evidence, folded to the width but otherwise unchanged."""
    room = width - 10
    yield f"      | {line[:room]}".rstrip()
    for start in range(room, len(line), room):
        yield f"      |   {line[start : start + room]}"


def _when(episode: Episode, session: Session) -> str:
    sure = f", confidence {percent(episode.finding.confidence)}%" if episode.finding.confidence is not None else ""
    before = episode.began <= session.began
    return lasting(episode.since, episode.until, episode.lasted(session.head().now.monotonic), before=before) + sure


def _compared(value: Value) -> tuple[str, str, str]:
    return safe(value.title), quantity(value.value, value.unit), against(value)


def _judged(session: Session, width: int) -> Iterator[list[str]]:
    judgement = session.head().judgement
    good = [(safe(v.rule), safe(subject_of(v)), safe(v.summary, 1000)) for v in judgement.ruled_out]
    if good:
        yield ["PASSED", *table.listing(good, width, indent="  ")]
    helpless = [
        (safe(rules[0]) if len(rules) == 1 else f"{len(rules)} rules",
         safe(reason if len(rules) == 1 else f"{reason}: {', '.join(rules)}", 1000))
        for reason, rules in by_reason(judgement.unchecked).items()
    ]  # fmt: skip
    if helpless:
        yield ["NOT CHECKED", *table.listing(helpless, width, indent="  ")]
    if not judgement.judged:
        why = "no rule could be checked" if helpless else "no applicable rule"
        yield [f"NOTHING CHECKED: {why}."]


def _sources(session: Session, shot: Snapshot, width: int) -> list[str]:
    rows, unrecorded = [], []
    live = session.origin.live
    for collector in session.collectors:
        run = shot.runs.get(collector.name)
        took = f"{wait(run.duration)} ms" if run is not None and run.duration is not None else ""
        outcome = run.word if run is not None else "waiting"
        reason = NOT_YET if run is None else safe(run.reason, 500)
        if run is not None and run.outcome is Outcome.TIMEOUT:
            reason += f", since {utc(run.since)}"
        if run is not None and not run.ok and not (collector.is_live if live else run.recorded):
            unrecorded.append(collector.name)
        else:
            rows.append((collector.name, outcome, took, reason or collector.title))
    lines = table.listing(rows, width, indent="  ")
    if unrecorded:
        kind = TEXTS_ONLY if live else "Not recorded in this capture"
        lines += table.wrapped(f"{kind}: {', '.join(unrecorded)}", width, "  ", "    ")
    return lines


def _blocks(session: Session, shot: Snapshot, width: int) -> list[str]:
    """Return the use of each block of a pasted text, or the outputs of a capture that no source understands."""
    rows = account_rows(session.origin, shot)
    if not rows:
        return []
    if session.origin.blocks:
        return ["TEXT", *table.listing(rows, width, ("LINES", "OUTPUT", "USE"), indent="  ")]
    return ["NOT UNDERSTOOD", *table.listing([row[1:] for row in rows], width, indent="  ")]


def _readings(session: Session, shot: Snapshot, width: int) -> Iterator[list[str]]:
    """Yield the tables of the last frame; counters that have rates are left to the data formats.

    Families that are mostly such counters are omitted unless they have a state, such as that of a cache.
    """
    rated = {d.source for c in session.collectors for d in in_use(c.derives) if shot.rows(d.target)}
    for family in families_of(session):
        rows = list(shot.rows(family).values())
        declared = schema(family)
        if rows and family in rated and _mere_counters(family):
            declared = replace(declared, columns=tuple(c for c in declared.columns if not _counts(c)))
            if not any(isinstance(c.mark, State) for c in declared.columns):
                continue
        if rows:
            yield [f"{declared.title.upper()} ({len(rows)})", *table.readings(declared, rows, width)]


def _mere_counters(family: type[Reading]) -> bool:
    numbers = [c for c in schema(family).columns if isinstance(c.mark, Metric) and c.exported]
    return sum(map(_counts, numbers)) * 2 > len(numbers)


def _counts(column: Column) -> bool:
    return isinstance(column.mark, Metric) and column.mark.kind is Kind.COUNTER
