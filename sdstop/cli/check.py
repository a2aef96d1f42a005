"""`sdstop check`: one line and an exit code, as monitoring systems want them from a plugin.

SDSTOP CRITICAL - 1 finding: stripe-convoy md2: ... | critical=1 warning=0 info=0 unchecked=0
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from sdstop.cli import output
from sdstop.cli.report import seen, whole
from sdstop.cli.watch import begin
from sdstop.diagnosis import Judgement
from sdstop.evidence import Outcome
from sdstop.exporters.report import reason_of
from sdstop.finding import Severity, Unchecked
from sdstop.format import safe
from sdstop.session import Session

SECONDS = 12.0
"""How long a live node is watched: the windows of the rules, and a frame before them."""

OK, WARNING, CRITICAL, UNKNOWN = range(4)
_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_CODES = {Severity.CRITICAL: CRITICAL, Severity.WARNING: WARNING}
_MOST = 5


def run(options: argparse.Namespace) -> int:
    """Print the line. Raises Problem."""
    with begin(options) as watch:
        session = seen(watch, watch.session(whole(watch), rules=()), SECONDS)
        judgement = watch.judge(session.head().window)
    code, said = verdict(session, judgement, strict=options.strict)
    output.write(line(code, said, numbers(judgement)))
    return code


def line(code: int, said: str, counts: str = "") -> str:
    """Return the line; a bar is where a plugin's numbers begin, so what is said has none."""
    bar = f" | {counts}" if counts else ""
    return f"SDSTOP {_WORDS[code]} - {safe(said, 2000).replace('|', '/')}{bar}\n"


def numbers(judgement: Judgement) -> str:
    """Return how many findings there are by severity, as a plugin's numbers."""
    count = Counter(finding.severity for finding in judgement.findings)
    parts = [f"{severity}={count[severity]}" for severity in reversed(Severity)]
    return " ".join([*parts, f"unchecked={len(judgement.unchecked)}"])


def verdict(session: Session, judgement: Judgement, *, strict: bool) -> tuple[int, str]:
    """Return the exit code and what is said: what is wrong, the worst of it first, and what was not seen."""
    bad = [finding for finding in judgement.findings if finding.severity in _CODES]
    unseen = _unseen(session, strict=strict)
    denied = any(run.outcome is Outcome.DENIED for run in session.head().now.runs.values())
    blind = bool(judgement.unchecked) and not judgement.ran and not denied
    code = _CODES[bad[0].severity] if bad else UNKNOWN if unseen or blind else OK
    parts = []
    if bad:
        told = [f"{f.rule} {f.subject}: {f.summary}" for f in bad[:_MOST]]
        more = f"; and {len(bad) - _MOST} more" if len(bad) > _MOST else ""
        parts.append(f"{len(bad)} finding{'s' * (len(bad) != 1)}: {'; '.join(told)}{more}")
    elif not unseen:
        parts.append("nothing found wrong" if judgement.ran else _idle(judgement))
    if unseen:
        parts.append(f"not seen: {', '.join(unseen)}")
    if judgement.unchecked:
        parts.append(f"not checked: {_unchecked(judgement.unchecked)}")
    return code, "; ".join(parts)


def _idle(judgement: Judgement) -> str:
    return "nothing could be judged" if judgement.unchecked else "no rule concerns what was seen"


def _unchecked(verdicts: Sequence[Unchecked]) -> str:
    """Return the rules that could not look, by the reason they share."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(reason_of(verdict), []).append(verdict.rule)
    told = [f"{', '.join(dict.fromkeys(rules))} ({reason})" for reason, rules in reasons.items()]
    return ", ".join(told[:_MOST]) + (f" and {len(told) - _MOST} more" if len(told) > _MOST else "")


def _unseen(session: Session, *, strict: bool) -> list[str]:
    """Return the sources that should have answered and did not, each with why."""
    runs = session.head().now.runs
    bad = {Outcome.FAILED, Outcome.TIMEOUT} | ({Outcome.DENIED} if strict else set())
    found = [f"{c.name} (no answer yet)" for c in session.collectors if c.name not in runs]
    found += [f"{name} ({run.outcome}: {run.reason})" for name, run in runs.items() if run.outcome in bad]
    if not found and not any(run.ok for run in runs.values()):
        found.append("anything: no source brought data")
    return found
