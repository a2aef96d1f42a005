"""Text of findings, the same on screen, in reports and in the line of a check."""

from __future__ import annotations

from sdstop.core.finding import Finding, Value
from sdstop.core.format import listed, moment, quantity, width_of

TITLE, LINE = 40, 71
"""Cells of a title, and of a cause, an impact and a first piece of advice, which are shown whole on 80 columns."""


def fitting(*texts: str) -> str:
    """Return the first of the texts that fits on a line, or else the last, which has no names of things."""
    return next((text for text in texts if width_of(text) <= LINE), texts[-1])


def finding_text(finding: Finding) -> str:
    """Return a finding as one line without a full stop: rule, subject, title, cause and impact."""
    said = f"{finding.title}. {finding.summary}" if finding.title else finding.summary
    return f"{finding.rule} {subject_text(finding)}: {said.removesuffix('.')}"


def accepted_text(finding: Finding) -> str:
    """Return that a finding is accepted, until when, and why, without a full stop; empty if it is not."""
    by = finding.accepted
    if by is None:
        return ""
    until = "" if by.until is None else f" until {moment(by.until - 1):%Y-%m-%d}"
    return f"accepted{until}: {by.reason} (otherwise {by.severity.value})"


def subject_text(finding: Finding) -> str:
    """Return the subject of a finding, with its node among several, or all nodes that it lies between."""
    if finding.host and finding.subject.partition("/")[0] != finding.host:
        return f"{finding.subject} on {finding.host}"
    if finding.host:
        return finding.subject
    return f"{finding.subject} between {listed(finding.between, 3)}" if finding.between else finding.subject


def against(value: Value) -> str:
    """Return the number that a value was compared with: `of 4`, `> 5`, `< 2`; empty if there is none."""
    if value.of is not None:
        return f"of {quantity(value.of, value.unit)}"
    if value.above is not None:
        return f"> {quantity(value.above, value.unit)}"
    return f"< {quantity(value.below, value.unit)}" if value.below is not None else ""
