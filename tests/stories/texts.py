"""Form of the texts of findings: lengths, beginnings, and what each finding must state."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

from sdstop.core.advice import ShellCommand
from sdstop.core.finding import Finding, Severity
from sdstop.core.rule import NodeRule, Rule

TITLE, LINE = 40, 71
"""Cells of a title, and of a cause, an impact and the first piece of advice, which are shown whole on 80 columns."""
VIEWS = frozenset({"disks", "caches", "network", "fabric", "host", "cluster", "volumes", "path"})
"""Views that show the things that findings are about."""
_TITLE = re.compile(r"[A-Z0-9][A-Z0-9 /,-]{2,}")
_SENTENCE = re.compile(r"[^\n]*\.")
_NO_ANTECEDENT = re.compile(r"(?:it|its|they|there|the same)\b", re.IGNORECASE)
_TWO_SENTENCES = re.compile(r"[^.]\. [A-Z]")


def faults(finding: Finding) -> Iterator[str]:
    """Yield each way in which the texts of a finding differ from their form."""
    title = finding.title
    if not _TITLE.match(title) or cell_len(title) > TITLE or title.endswith("."):
        yield f"title of {cell_len(title)} cells: {title!r}"
    if finding.subject in title:
        yield f"title names the subject {finding.subject}: {title!r}"
    for name, text in (("cause", finding.cause), ("impact", finding.impact)):
        if not _SENTENCE.fullmatch(text) or cell_len(text) > LINE or _TWO_SENTENCES.search(text):
            yield f"{name} of {cell_len(text)} cells: {text!r}"
        if _NO_ANTECEDENT.match(text):
            yield f"{name} begins without a noun: {text!r}"
    yield from _faults_of_advice(finding)
    if not finding.refuted_by or finding.refuted_by.endswith("."):
        yield f"not a noun phrase: {finding.refuted_by!r}"
    if "harmless" in finding.refuted_by.lower():
        yield f"a circumstance, not an observation: {finding.refuted_by!r}"
    if finding.damage is None or finding.standing is None or finding.view not in VIEWS or not finding.view_subject:
        yield f"damage {finding.damage}, standing {finding.standing}, view {finding.view!r} {finding.view_subject!r}"


def _faults_of_advice(finding: Finding) -> Iterator[str]:
    if not finding.advice and finding.severity is not Severity.INFO:
        yield "no advice"
    for piece in finding.advice[:1]:
        if cell_len(str(piece)) > LINE:
            yield f"first advice of {cell_len(str(piece))} cells: {piece}"
    for piece in finding.advice:
        if isinstance(piece, ShellCommand):
            if piece.note.endswith(("?", ".")):
                yield f"note is not a noun phrase: {piece.note!r}"
        elif not piece[:1].isupper():
            yield f"advice is not a sentence: {piece!r}"


def declared_faults(rule: Rule | NodeRule) -> Iterator[str]:
    """Yield each way in which the texts that a rule declares differ from their form."""
    if rule.view not in VIEWS:
        yield f"{rule.id}: view {rule.view!r}"
    if len(rule.says) > _SAYS or rule.says.endswith(".") or _NO_NOUN.match(rule.says):
        yield f"{rule.id}: not a noun phrase of at most {_SAYS} characters: {rule.says!r}"
    for threshold in rule.thresholds:
        if len(threshold.help) > _HELP or threshold.help.endswith(".") or _NOT_ALONE.match(threshold.help):
            yield f"{rule.id}.{threshold.name}: {threshold.help!r}"


_SAYS, _HELP = 95, 110
_NO_NOUN = re.compile(r"(?:a|an|the|it)\b", re.IGNORECASE)
_NOT_ALONE = re.compile(r"(?:and|the same|so)\b", re.IGNORECASE)
