"""Verdicts that are alike, as one: those of a thousand good disks cost no more per frame than that of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from sdstop.core.finding import RuledOut, Unchecked, Verdict


def alike(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts; those that pass with one summary, or are unchecked for one reason, are one."""
    found: dict[Any, Verdict] = {}
    subjects: dict[Any, list[str]] = {}
    for place, verdict in enumerate(verdicts):
        key: Any = place
        if isinstance(verdict, RuledOut):
            key = verdict.summary
        elif isinstance(verdict, Unchecked):
            key = (verdict.reason, verdict.calm, verdict.gap)
        if key in found:
            subjects[key].append(verdict.subject)
        else:
            found[key] = verdict
            subjects[key] = []
    return [
        replace(verdict, others=(*verdict.others, *subjects[key])) if subjects[key] else verdict
        for key, verdict in found.items()
    ]
