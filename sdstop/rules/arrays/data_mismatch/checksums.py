"""Blocks whose content does not match their checksum: dm-integrity, dm-verity."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.devicemapper.checksums import UNREAD
from sdstop.collectors.devicemapper.readings import ChecksummedDevice, MappedRaid
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window


def checksum_errors(window: Window) -> Iterator[Verdict]:
    """Yield a verdict for each device that checks its data."""
    members = {image for raid in window.rows(MappedRaid).values() for image in raid.images.split(",")}
    for row in window.rows(ChecksummedDevice).values():
        if row.state == UNREAD:
            yield Unchecked("line of dmsetup status not understood", row.volume, gap=Gap.FAULTY)
        elif row.state == "corrupted":
            yield _corrupted(window, row)
        elif row.mismatches:
            yield _mismatches(window, row, row.mismatches, member=row.device in members)
        else:
            yield RuledOut(row.volume, "no checksum error since activation")


def _mismatches(window: Window, row: ChecksummedDevice, count: int, *, member: bool) -> Finding:
    known = [then for _, then in window.series(ChecksummedDevice, row.volume) if then and then.mismatches is not None]
    grown = max(count - (known[0].mismatches or 0), 0) if len(known) > 1 else None
    new = "" if grown is None else f", {grown or 'none'} of them new"
    return Finding(
        severity=Severity.WARNING if member else Severity.CRITICAL,
        subject=row.volume,
        title=f"CHECKSUM ERRORS: {human.number(count)}",
        cause=f"{human.plural(count, 'read')} did not match the checksum since activation{new}.",
        impact=(
            "The volume reads these sectors from its other members."
            if member
            else "Reads of these sectors fail with an I/O error."
        ),
        values=(
            Value("mismatches", "checksum errors", count, "", above=0),
            Value("grown", "new checksum errors", grown, "", above=0),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the disk, cable, controller or memory that corrupts data.",
            run("journalctl", "-k").pipe("grep", "-i", "-e", "integrity").pipe("tail", "-40"),
            run("lvs", "-a", "-o", "name,integritymismatches,devices", note="by member, where LVM made it"),
        ),
        refuted_by="0 as the first number of its line in dmsetup status",
        harmless_if="it was activated over data without checksums and is not initialized",
        totals=not grown,
    )


def _corrupted(window: Window, row: ChecksummedDevice) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.volume,
        title="CORRUPTED: a block fails its hash",
        cause="dm-verity read a block that does not match the hash tree (C).",
        impact="Reads of such blocks fail, unless the device ignores corruption.",
        values=(Value("state", "state", row.state),),
        evidence=cites(window.cite(row)),
        advice=(
            "Replace the image: its content was changed or damaged.",
            run("journalctl", "-k").pipe("grep", "-i", "-e", "verity").pipe("tail", "-40"),
        ),
        refuted_by="V in dmsetup status after another activation",
    )
