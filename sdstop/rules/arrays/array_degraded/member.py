"""Members of md arrays that still serve and have errors, marks or bad blocks."""

from __future__ import annotations

from sdstop.collectors.md.readings import Member
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

_MARKS = {"write_error": "a write failed", "want_replacement": "its replacement is requested"}
"""Flags of a member that still serves, and their meaning."""


def marks(member: Member) -> str:
    """Return the marks on a member by its flags and bad blocks, "" for none."""
    flags = (member.flags or "").split(",")
    said = [words for flag, words in _MARKS.items() if flag in flags]
    if member.bad_blocks:
        said.append(f"{human.plural(member.bad_blocks, 'bad block range')} listed")
    return ", ".join(said)


def suspect(window: Window, member: Member, marked: str) -> Finding:
    """Return the finding of a suspect member; `marked` lists its marks."""
    return Finding(
        severity=Severity.WARNING,
        subject=f"{member.array}/{member.device}",
        title="MEMBER SUSPECT, still in service",
        cause=f"{marked[0].upper()}{marked[1:]}.",
        impact=(
            "Data in the listed ranges lacks a copy."
            if member.bad_blocks
            else "The array can lose this member, and its redundancy with it."
        ),
        values=(
            Value("bad_blocks", "bad block ranges", member.bad_blocks, "", above=0),
            Value("flags", "state", member.flags),
        ),
        evidence=cites(window.cite(member, "state"), window.cite(member, "bad_blocks")),
        advice=(
            "Check the disk and its cable, then replace the member.",
            smart(member.device),
            _replaced(member, "needs a spare"),
        ),
        refuted_by="the state in_sync alone, and an empty list of bad blocks",
        view_subject=member.device,
    )


def smart(device: str) -> Advice:
    """Return the command that shows the health of a disk."""
    return run("smartctl", "-x", f"/dev/{device}", note="pending, reallocated sectors; CRC errors: the cable")


def _replaced(member: Member, note: str) -> Advice:
    return run("mdadm", f"/dev/{member.array}", "--replace", f"/dev/{member.device}", note=note)


def sync_action(array: str) -> str:
    """Return the file that starts and stops the checks of an array."""
    return f"/sys/block/{array.replace('/', '!')}/md/sync_action"


def corrected(window: Window, member: Member, errors: int, limits: Limits) -> Finding:
    """Return the finding of a member whose unreadable sectors the array restored from the other members."""
    known = [row for _, row in window.series(Member, (member.array, member.device)) if row and row.errors is not None]
    moments = window.moments(Member)
    seconds = moments[-1].started - moments[0].started
    grown = max(errors - (known[0].errors or 0), 0) if len(known) > 1 else None
    bad = bool(grown) or errors >= limits["corrected"]
    new = "" if grown is None else f", {grown or 'none'} of them in {human.duration(seconds)}"
    return Finding(
        severity=Severity.WARNING if bad else Severity.INFO,
        subject=f"{member.array}/{member.device}",
        title=f"READ ERRORS CORRECTED: {human.number(errors)}",
        cause=f"{human.plural(errors, 'read error')} corrected from other members{new}.",
        impact=(
            "The disk is losing sectors and can be dropped by the array."
            if grown
            else "No data is lost; a member with many read errors can be dropped."
        ),
        values=(
            Value("errors", "read errors corrected", errors, "", above=limits["corrected"]),
            Value("grown", "new read errors", grown, "", above=0),
            Value("bad_blocks", "bad block ranges", member.bad_blocks),
        ),
        evidence=cites(window.cite(member, "errors")),
        advice=(
            "Check the disk; replace it if the errors grow.",
            smart(member.device),
            run("echo", "check", into=sync_action(member.array), note="reads all sectors"),
            _replaced(member, "if the errors grow; needs a spare"),
        ),
        refuted_by="a count that does not grow during a complete check",
        totals=not grown,
        view_subject=member.device,
    )
