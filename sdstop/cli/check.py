"""`sdstop check`: one line and an exit code, as expected from a monitoring plugin.

The line has the number of findings and the worst one; details follow on separate lines, which monitoring systems
show on request.

    SDSTOP CRITICAL - 1 finding: stripe-convoy md2: ...; 2 rules not checked | critical=1 warning=0 info=0 unchecked=2
    PARTLY SEEN: processes (denied for 3 of 90 processes)
    NOT CHECKED: device-hung, rebuild-slow (needs 10 s of frames, has 2 s)
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from sdstop.cli import output
from sdstop.cli.report import seen, whole
from sdstop.cli.watch import begin
from sdstop.core.diagnosis import Judgement
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Finding, Severity, Unchecked, by_cause
from sdstop.core.format import safe
from sdstop.core.session import Session
from sdstop.exporters.report.document import NOT_YET, by_reason
from sdstop.exporters.report.text import plural

SECONDS = 12.0
"""Duration of a live check in seconds: covers the windows of the rules and the sample before them."""

MARGIN = 2.0
"""Seconds of it that a source may start late: the span between its first and last sample is at least the rest."""

OK, WARNING, CRITICAL, UNKNOWN = range(4)
_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_CODES = {Severity.CRITICAL: CRITICAL, Severity.WARNING: WARNING}
_MOST = 5
"""Maximum names in the first line; the lines below have all of them."""
_LONGEST = 240
"""Maximum characters of the worst finding in the first line."""
_LINES = 50
"""Maximum detail lines, because monitoring systems often limit the output."""


class CheckLine(Struct, frozen=True):
    """Check result: exit code, text of the first line, and detail lines."""

    code: int
    said: str
    details: tuple[str, ...] = ()


def run(options: argparse.Namespace) -> int:
    """Print the first line and the details. Raises Problem."""
    with begin(options) as watch:
        session = seen(watch, watch.session(whole(watch), rules=()), SECONDS)
        judgement = watch.judge(session.head().window, SECONDS - MARGIN)
    answer = verdict(session, judgement, strict=options.strict)
    output.write(line(answer.code, answer.said, numbers(judgement)) + below(answer.details))
    return answer.code


def line(code: int, said: str, counts: str = "") -> str:
    """Return the first line; bars in the text are replaced, because a bar starts the performance data."""
    bar = f" | {counts}" if counts else ""
    return f"SDSTOP {_WORDS[code]} - {safe(said, 1000).replace('|', '/')}{bar}\n"


def below(details: Sequence[str]) -> str:
    """Return the detail lines; bars are replaced, because a bar starts the performance data."""
    shown = list(details[:_LINES])
    if len(details) > _LINES:
        shown.append(f"and {len(details) - _LINES} more; sdstop report has them all")
    return "".join(f"{safe(detail, 1000).replace('|', '/')}\n" for detail in shown)


def numbers(judgement: Judgement) -> str:
    """Return the number of findings by severity as performance data."""
    count = Counter(finding.severity for finding in judgement.findings)
    parts = [f"{severity}={count[severity]}" for severity in reversed(Severity)]
    return " ".join([*parts, f"unchecked={len(judgement.unchecked)}"])


def verdict(session: Session, judgement: Judgement, *, strict: bool) -> CheckLine:
    """Return the check result: findings, worst first, and sources without data."""
    bad = [finding for finding in judgement.findings if finding.severity in _CODES]
    unseen = _unseen(session, strict=strict)
    denied = any(run.outcome is Outcome.DENIED for run in session.head().now.runs.values())
    blind = bool(judgement.unchecked) and not judgement.ran and not denied
    code = max((_CODES[f.severity] for f in bad), default=UNKNOWN if unseen or blind else OK)
    parts, details = [], []
    if bad:
        causes = [bad[led.place] for led in by_cause(bad) if not led.follows]
        more = f"; {len(bad) - len(causes)} more by the same cause" if len(bad) > len(causes) else ""
        parts.append(f"{plural(len(causes), 'finding')}: {_worst(causes)}{more}")
        told = [f"{finding.severity.upper()}: {_told(finding)}" for finding in bad]
        details += told if len(bad) > 1 or len(_told(bad[0])) > _LONGEST else []
    elif not unseen:
        parts.append("nothing found wrong" if judgement.ran else _idle(judgement))
    if unseen:
        parts.append(f"not seen: {_named(list(unseen))}")
        details += [f"NOT SEEN: {name} ({why})" if why else f"NOT SEEN: {name}" for name, why in unseen.items()]
    runs = session.head().now.runs
    partly = {name: run.reason for name, run in runs.items() if run.partial and name not in unseen}
    details += [f"PARTLY SEEN: {name} ({why})" for name, why in partly.items()]
    loud = [verdict for verdict in judgement.unchecked if not verdict.calm or not judgement.ran]
    if loud:
        parts.append(_unchecked(loud))
    reasons = by_reason(judgement.unchecked).items()
    details += [f"NOT CHECKED: {', '.join(rules)} ({reason})" for reason, rules in reasons]
    return CheckLine(code, "; ".join(parts), tuple(details))


def _told(finding: Finding) -> str:
    return f"{finding.rule} {finding.subject}: {finding.summary}"


def _worst(bad: Sequence[Finding]) -> str:
    """Return the worst finding and the names of the following ones."""
    others = [f"{finding.rule} {finding.subject}" for finding in bad[1:]]
    return "; ".join([safe(_told(bad[0]), _LONGEST), *([_named(others)] if others else [])])


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(safe(name, 60) for name in names[:_MOST]) + more


def _idle(judgement: Judgement) -> str:
    return "nothing could be judged" if judgement.unchecked else "no rule concerns what was seen"


def _unchecked(verdicts: Sequence[Unchecked]) -> str:
    """Return the number of unchecked rules and the most common reason."""
    reasons = by_reason(verdicts)
    rules = {verdict.rule for verdict in verdicts}
    commonest = max(reasons, key=lambda reason: len(reasons[reason]))
    said = f"{next(iter(rules)) if len(rules) == 1 else f'{len(rules)} rules'} not checked"
    return f"{said} ({'mostly: ' if len(reasons) > 1 else ''}{safe(commonest, _LONGEST // 2)})"


def _unseen(session: Session, *, strict: bool) -> dict[str, str]:
    """Return the sources without data, each with the reason; `strict`: also denied or partial ones."""
    runs = session.head().now.runs
    bad = {Outcome.FAILED, Outcome.TIMEOUT} | ({Outcome.DENIED} if strict else set())
    found = {c.name: NOT_YET for c in session.collectors if c.name not in runs}
    found |= {
        name: f"{run.word}: {run.reason}"
        for name, run in runs.items()
        if run.outcome in bad or (strict and run.partial)
    }
    if not found and not any(run.ok for run in runs.values()):
        found["anything: no source brought data"] = ""
    return found
