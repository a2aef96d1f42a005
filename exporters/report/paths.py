"""Data paths of a report: the most urgent ones, a row a stage from client to disk, and two sentences each."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.path import data_path
from sdstop.analysis.path.load import mean_seconds
from sdstop.analysis.path.ranking import ranked_paths
from sdstop.analysis.path.sentences import accusation, limit_sentence, second_sentence, serious
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.core.finding import Severity, worst_by_subject
from sdstop.core.format import NONE, decimal_rate, duration, flow, number, percent, safe, wait
from sdstop.core.session import Look
from sdstop.exporters.report.table import listing, wrapped

MOST = 3
"""Maximum number of paths in a report."""
HEADINGS = ("", "stage", "requests/s", "rate", "could carry", "used", "queue", "await ms", "own ms", "note")
_SHORT = ("", "stage", "io/s", "rate", "could carry", "used", "queue", "await", "own")
_NAME = 24
"""Headings of the text report, which has notes below the stages, and cells of a stage's name in it."""
UNKNOWN = "?"


class ReportPath(Struct, frozen=True):
    """A path in a report: its name, the cells of its stages under HEADINGS, and its sentences."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    sentences: tuple[str, ...]


def report_paths(look: Look) -> list[ReportPath]:
    """Return the paths that findings accuse, those with a limit or a rebuild, or else the busiest one."""
    findings = look.judgement.every
    ranked = ranked_paths(look.window, findings)
    chosen = [each for each in ranked if each.severity in _SERIOUS or each.subject.limits or each.subject.rebuild]
    accused = worst_by_subject(findings)
    found = []
    for each in (chosen or ranked[:1])[:MOST]:
        path = data_path(look.window, each.subject, serious(accused))
        if not any(stage.known for stage in path.stages):
            continue
        said = (limit_sentence(path.stages, accused), second_sentence(path.stages, path.mismatches, accused))
        rows = tuple(_cells(stage, accusation(stage, accused)) for stage in path.stages)
        found.append(ReportPath(safe(each.subject.name, 80), rows, tuple(f"{words}." for words in said if words)))
    return found


_SERIOUS = (Severity.CRITICAL, Severity.WARNING)


def _cells(stage: Stage, severity: Severity | None) -> tuple[str, ...]:
    mark = "!" if severity is Severity.CRITICAL else "*" if severity is Severity.WARNING else "=" if stage.full else ""
    about = "~" if stage.derived_use else ""
    return (
        mark,
        ("  " if stage.branch else "") + safe(stage.name, 40),
        UNKNOWN if stage.requests is None else number(stage.requests),
        UNKNOWN if stage.bytes is None else about + _rate(stage, stage.bytes),
        _capacity(stage),
        UNKNOWN if stage.used is None else f"{about}{percent(stage.used)}%",
        UNKNOWN if stage.queue is None else number(stage.queue),
        _waited(stage, stage.wait),
        _waited(stage, stage.own),
        ", ".join(_notes(stage)),
    )


def _capacity(stage: Stage) -> str:
    if stage.carries is None:
        return UNKNOWN
    if stage.unit == "per_second":
        return f"{number(stage.carries)}/s"
    return _rate(stage, stage.carries)


def _rate(stage: Stage, value: float) -> str:
    """Return bytes per second in binary units, of memory in decimal ones."""
    return decimal_rate(value) if stage.kind is StageKind.MEMORY else flow(value)


def _waited(stage: Stage, seconds: float | None) -> str:
    """Return milliseconds: `>` marks a lower bound, `~` a derived wait, `-` no requests, `?` unknown."""
    if seconds is None:
        return NONE if stage.requests == 0 and stage.load is not None and stage.load.exact else UNKNOWN
    return f"{'>' if stage.least and seconds else '~' if stage.derived_wait else ''}{wait(seconds)}"


def _notes(stage: Stage) -> Iterator[str]:
    if stage.full:
        yield "at its limit"
    if stage.note or stage.reason:
        yield stage.note or stage.reason
    if stage.shared:
        yield f"shared with {', '.join(stage.shared[:3])}"


def path_lines(look: Look, width: int) -> list[str]:
    """Return the section of the text report, [] if no path is measured."""
    lines: list[str] = []
    seconds = mean_seconds(look.window)
    means = f"means of {duration(seconds)}; " if seconds else ""
    for path in report_paths(look):
        head = f"{path.name}: client to medium; {means}own = await minus the stage below, in ms"
        lines += ["", *wrapped(head, width, "  ")]
        table = listing([(row[0], row[1][:_NAME], *row[2:-1]) for row in path.rows], width, _SHORT, "  ")
        for line, note in zip(table, ("", *(row[-1] for row in path.rows)), strict=True):
            lines += [line, *(wrapped(note, width, " " * 9) if note else ())]
        for words in path.sentences:
            lines += wrapped(words, width, "  ", "    ")
    return ["DATA PATHS", *lines[1:]] if lines else []
