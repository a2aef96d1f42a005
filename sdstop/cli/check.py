"""`sdstop check`: one line and an exit code, as expected from a monitoring plugin.

The line has the number of findings and the worst one; details follow on separate lines, which monitoring systems
show on request.

    SDSTOP CRITICAL - 1 finding: stripe-convoy md2: ...; 2 rules not checked | critical=1 warning=0 info=0 unchecked=2
    PARTIAL DATA: processes (denied for 3 of 90 processes)
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
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_text import finding_text
from sdstop.core.format import safe
from sdstop.core.headline import LONGEST, WORDS, by_reason
from sdstop.core.placement import place_lines
from sdstop.core.session import Session

SECONDS = 12.0
"""Duration of a live check in seconds: covers the windows of the rules and the sample before them."""

MARGIN = 2.0
"""Seconds of it that a source may start late: the span between its first and last sample is at least the rest."""
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
        from sdstop.rules import RULES  # imported after forking the sampler, which samples in parallel

        # Rules that remember what vanished judge every frame; the others only the last window.
        remembering = tuple(rule for rule in RULES if rule.remembers)
        session = seen(watch, watch.session(whole(watch), rules=remembering), SECONDS)
        judgement = watch.judge(session.head().window, SECONDS - MARGIN)
    answer = verdict(session, judgement, strict=options.strict)
    output.write(line(answer.code, answer.said, numbers(judgement)) + below(answer.details))
    return answer.code


def line(code: int, said: str, counts: str = "") -> str:
    """Return the first line; bars in the text are replaced, because a bar starts the performance data."""
    bar = f" | {counts}" if counts else ""
    return f"SDSTOP {WORDS[code]} - {safe(said, 1000).replace('|', '/')}{bar}\n"


def below(details: Sequence[str]) -> str:
    """Return the detail lines; bars are replaced, because a bar starts the performance data."""
    shown = list(details[:_LINES])
    if len(details) > _LINES:
        shown.append(f"{len(details) - _LINES} more; see 'sdstop report'")
    return "".join(f"{safe(detail, 1000).replace('|', '/')}\n" for detail in shown)


def numbers(judgement: Judgement) -> str:
    """Return the number of findings by severity, and of things not checked, as performance data."""
    count = Counter(finding.severity for finding in judgement.findings)
    parts = [f"{severity}={count[severity]}" for severity in reversed(Severity)]
    unable = sum(max(len(verdict.subjects), 1) for verdict in judgement.unchecked)
    return " ".join([*parts, f"unchecked={unable}"])


def verdict(session: Session, judgement: Judgement, *, strict: bool) -> CheckLine:
    """Return the check result: findings, worst first, and sources without data."""
    said = session.headline(judgement, strict=strict)
    bad = [finding for finding in judgement.findings if finding.severity is not Severity.INFO]
    lines = [f"{finding.severity.upper()}: {_placed(finding)}" for finding in bad]
    whole = len(bad) <= 1 and all(
        _placed(finding) == finding_text(finding) and len(finding_text(finding)) <= LONGEST for finding in bad
    )
    details = [] if whole else lines
    details += [
        f"NO USABLE DATA: {name} ({why})" if why else f"NO USABLE DATA: {name}" for name, why in said.unseen.items()
    ]
    runs = session.head().now.runs
    partly = {name: run.reason for name, run in runs.items() if run.partial and name not in said.unseen}
    details += [f"PARTIAL DATA: {name} ({why})" for name, why in partly.items()]
    reasons = by_reason(judgement.unchecked).items()
    details += [f"NOT CHECKED: {', '.join(rules)} ({reason})" for reason, rules in reasons]
    details += [f"NOT RECORDED: {', '.join(said.lacking)}"] if said.lacking else []
    return CheckLine(said.code, said.text, tuple(details))


def _placed(finding: Finding) -> str:
    """Return the finding with the owner of its thing and those affected."""
    return "; ".join([finding_text(finding), *(f"{title.lower()} {names}" for title, names in place_lines(finding))])
