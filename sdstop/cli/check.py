"""`sdstop check`: one line and an exit code, as expected from a monitoring plugin.

The line has the number of findings and the worst one; details follow on separate lines, which monitoring systems
show on request.

    SDSTOP CRITICAL - 1 finding: stripe-convoy md2: ...; 2 rules not checked | critical=1 warning=0 info=0 unchecked=2
    PARTIAL DATA: processes (denied for 3 of 90 processes)
    NOT CHECKED: device-hung, rebuild-slow (needs 10 s of frames, has 2 s)

With several captures the line is that of all nodes and between them; findings and sources have the name of their node.
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
from sdstop.core.headline import LONGEST, WORDS, Headline, SeenNode, by_reason
from sdstop.core.placement import place_lines
from sdstop.core.session import Session
from sdstop.core.site_session import SiteSession

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
    if len(options.sources) > 1:
        from sdstop.cli.several import together

        site = together(options)
        judgement = site.whole()
        return _written(site_verdict(site, judgement, strict=options.strict), judgement)
    with begin(options) as watch:
        from sdstop.rules import RULES  # imported after forking the sampler, which samples in parallel

        # Rules that remember what vanished judge every frame; the others only the last window.
        remembering = tuple(rule for rule in RULES if rule.remembers)
        session = seen(watch, watch.session(whole(watch), rules=remembering), SECONDS)
        judgement = watch.judge(session.head().window, SECONDS - MARGIN)
    return _written(verdict(session, judgement, strict=options.strict), judgement)


def _written(answer: CheckLine, judgement: Judgement) -> int:
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
    look = session.head()
    seen = SeenNode("", look.now.runs, session.collectors, session.origin)
    return _verdict(session.headline(judgement, strict=strict), judgement, (seen,))


def site_verdict(site: SiteSession, judgement: Judgement, *, strict: bool) -> CheckLine:
    """Return the check result of several nodes: findings on and between them."""
    seen = [member.seen() for member in site.members]
    return _verdict(site.headline(judgement, strict=strict), judgement, seen)


def _verdict(said: Headline, judgement: Judgement, nodes: Sequence[SeenNode]) -> CheckLine:
    bad = [finding for finding in judgement.findings if finding.severity is not Severity.INFO]
    lines = [f"{finding.severity.upper()}: {_placed(finding)}" for finding in bad]
    whole = len(bad) <= 1 and all(
        _placed(finding) == finding_text(finding) and len(finding_text(finding)) <= LONGEST for finding in bad
    )
    details = [] if whole else lines
    details += [
        f"NO USABLE DATA: {name} ({why})" if why else f"NO USABLE DATA: {name}" for name, why in said.unseen.items()
    ]
    for node in nodes:
        partly = {node.called(name): run.reason for name, run in node.runs.items() if run.partial}
        details += [f"PARTIAL DATA: {name} ({why})" for name, why in partly.items() if name not in said.unseen]
    reasons = by_reason(judgement.unchecked).items()
    details += [f"NOT CHECKED: {', '.join(rules)} ({reason})" for reason, rules in reasons]
    details += [f"NOT RECORDED: {', '.join(said.lacking)}"] if said.lacking else []
    return CheckLine(said.code, said.text, tuple(details))


def _placed(finding: Finding) -> str:
    """Return the finding with the owner of its thing and those affected."""
    return "; ".join([finding_text(finding), *(f"{title.lower()} {names}" for title, names in place_lines(finding))])
