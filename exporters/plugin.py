"""Output of a monitoring plugin: one line with performance data, and detail lines.

    SDSTOP CRITICAL - 1 finding: stripe-convoy md2: ...; 2 rules not checked | critical=1 warning=0 info=0 unchecked=2
    INFO: rebuild-running md2: RECOVERY RUNNING: 31.2%. ...
    PARTIAL DATA: processes (denied for 3 of 90 processes)
    NOT CHECKED: device-hung, rebuild-slow (needs 10 s of frames, has 2 s)

With several captures the line is that of all nodes and between them; findings and sources have the name of their node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from sdstop.core.account import not_understood, unknown_lines
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_text import accepted_text, finding_text, subject_text
from sdstop.core.format import safe
from sdstop.core.headline import LONGEST, WORDS, Headline, SeenNode, by_reason
from sdstop.core.judgement import Judgement
from sdstop.core.placement import place_lines
from sdstop.core.policy import Names, alone, matches
from sdstop.core.session import Session
from sdstop.core.site_session import SiteSession

_LONGEST_LINE = 1000
"""Characters of the first line: old versions of NRPE cut the output at 1024 bytes."""
_LINES = 50
"""Maximum detail lines, because monitoring systems often limit the output."""


class CheckLine(Struct, frozen=True):
    """Check result: exit code, text of the first line, and detail lines."""

    code: int
    said: str
    details: tuple[str, ...] = ()


def line(code: int, said: str, counts: Iterable[str] = ()) -> str:
    """Return the first line; bars in the text are replaced, because a bar starts the performance data.

    Performance data end before the first that would make the line too long.
    """
    text = f"SDSTOP {WORDS[code]} - {safe(said, 1000).replace('|', '/')}"
    mark = " | "
    for count in counts:
        if len(text) + len(mark) + len(count) >= _LONGEST_LINE:
            break
        text += mark + count
        mark = " "
    return f"{text}\n"


def below(details: Sequence[str]) -> str:
    """Return the detail lines; bars are replaced, because a bar starts the performance data."""
    shown = list(details[:_LINES])
    if len(details) > _LINES:
        shown.append(f"{len(details) - _LINES} more; see 'sdstop report'")
    return "".join(f"{safe(detail, 1000).replace('|', '/')}\n" for detail in shown)


def narrowed(
    judgement: Judgement, rules: Sequence[str] | None, subjects: Sequence[str] | None, names: Names = alone
) -> Judgement:
    """Return the part of a judgement by rules and about subjects that match the patterns; None: all.

    `names` returns all names of a subject: `wwn-0x5000c500f140395c` is sda. A folded finding counts if the pattern
    matches its subject or a member. An omission of the whole node counts for every subject.
    """
    if not rules and not subjects:
        return judgement

    def chosen(rule: str, about: Sequence[str]) -> bool:
        by_rule = not rules or any(fnmatchcase(rule, pattern) for pattern in rules)
        return by_rule and (not subjects or any(matches(each, names(one)) for one in about for each in subjects))

    return Judgement(
        tuple(finding for finding in judgement.findings if chosen(finding.rule, finding.subjects)),
        tuple(verdict for verdict in judgement.ruled_out if chosen(verdict.rule, verdict.subjects)),
        tuple(
            verdict
            for verdict in judgement.unchecked
            if chosen(verdict.rule, verdict.subjects)
            or (not verdict.subjects and not verdict.calm and chosen(verdict.rule, ("",)))
        ),
        tuple(rule for rule in judgement.ran if not rules or any(fnmatchcase(rule, pattern) for pattern in rules)),
    )


_LIMITS = {Severity.CRITICAL: ";;0", Severity.WARNING: ";0", Severity.INFO: ""}
"""Thresholds of the counts: a critical finding is critical, a warning is a warning."""
_UNITS = {"seconds": "s", "bytes": "B", "": "", "ratio": "", "bytes_per_second": "", "per_second": ""}
"""Units of values as performance data; those without one there have none."""


def numbers(judgement: Judgement) -> Iterator[str]:
    """Yield performance data: the findings by severity, the things not checked, and values with their thresholds."""
    count = Counter(finding.severity for finding in judgement.findings)
    yield from (f"{severity}={count[severity]}{_LIMITS[severity]}" for severity in reversed(Severity))
    yield f"unchecked={sum(max(len(verdict.subjects), 1) for verdict in judgement.unchecked)}"
    yield from _values(judgement)


def _values(judgement: Judgement) -> Iterator[str]:
    """Yield the numbers that warnings and critical findings compared: 'RULE SUBJECT VALUE'=3.2s;2 or ;;2, ;@0:2."""
    for finding in judgement.findings:
        if finding.severity is Severity.INFO:
            continue
        for value in finding.values:
            limit = value.above if value.above is not None else value.below
            if limit is None or value.value is None or isinstance(value.value, str):
                continue
            name = safe(f"{finding.rule} {finding.subject} {value.name}", 100).replace("'", "").replace("=", " ")
            shown = f"{limit:.6g}" if value.above is not None else f"{limit:.6g}:"
            place = f";;{shown}" if finding.severity is Severity.CRITICAL else f";{shown}"
            yield f"'{name.replace('|', '/')}'={value.value:.6g}{_UNITS.get(value.unit, '')}{place}"


def verdict(session: Session, judgement: Judgement, *, strict: bool) -> CheckLine:
    """Return the check result: findings, worst first, and sources without data."""
    look = session.head()
    seen = SeenNode("", look.now.runs, session.collectors, session.origin, not_understood(session.origin, look.now))
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
        f"INFO: {_placed(finding)}"
        for finding in judgement.findings
        if finding.severity is Severity.INFO and finding.accepted is None
    ]
    details += [
        f"ACCEPTED: {finding.rule} {subject_text(finding)}: {accepted_text(finding)}"
        for finding in judgement.findings
        if finding.accepted is not None
    ]
    details += [
        f"NO USABLE DATA: {name} ({why})" if why else f"NO USABLE DATA: {name}" for name, why in said.unseen.items()
    ]
    for node in nodes:
        partly = {node.called(name): run.reason for name, run in node.runs.items() if run.partial}
        details += [f"PARTIAL DATA: {name} ({why})" for name, why in partly.items() if name not in said.unseen]
        if unknown := unknown_lines(node.origin):
            details.append(f"TEXT NOT UNDERSTOOD: {node.called(unknown)}")
    reasons = by_reason(judgement.unchecked).items()
    details += [f"NOT CHECKED: {', '.join(rules)} ({reason})" for reason, rules in reasons]
    details += [f"NOT RECORDED: {', '.join(said.lacking)}"] if said.lacking else []
    return CheckLine(said.code, said.text, tuple(details))


def _placed(finding: Finding) -> str:
    """Return the finding with the owner of its thing and those affected."""
    return "; ".join([finding_text(finding), *(f"{title.lower()} {names}" for title, names in place_lines(finding))])
