"""Data without an intact copy, and errors that the last scan left."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window


def data_lost(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Yield the finding of a pool with blocks or files that no copy can restore."""
    pool = whole.pool
    if pool is None or not (pool.data_errors or (pool.errors and pool.data_errors is None)):
        return
    count = f"{human.number(pool.data_errors)} blocks or files" if pool.data_errors else "Some files"
    name = operands(whole.name)
    yield Finding(
        severity=Severity.CRITICAL,
        subject=f"{whole.name}/data",
        title=f"DATA LOST: {count[0].lower()}{count[1:]}",
        cause=f"{count} have no intact copy.",
        impact="Reading them fails until they are restored from a backup.",
        values=(Value("data_errors", "blocks or files lost", pool.data_errors, "", above=0),),
        evidence=cites(window.cite(pool, "errors")),
        advice=(
            "Restore the damaged files from the backup.",
            run("zpool", "status", "-v", *name, note="damaged files"),
            "Then clear and scrub: the list is emptied after two clean scrubs.",
            run("zpool", "clear", *name),
            run("zpool", "scrub", *name),
        ),
        refuted_by='"No known data errors" after a scrub',
        disproof="errors: No known data errors",
        damage=Damage.DATA,
        view_subject=whole.name,
    )


def scan_errors(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Yield the finding of a pool whose last scan left errors of which none is listed now."""
    pool = whole.pool
    if pool is not None and pool.scan_errors and not pool.data_errors:
        yield Finding(
            severity=Severity.WARNING,
            subject=f"{whole.name}/scan",
            title=f"SCAN ERRORS: {human.number(pool.scan_errors)} not repaired",
            cause=f"The last scan left {human.plural(pool.scan_errors, 'error')} unrepaired; none is listed now.",
            impact="Files can be damaged without being listed.",
            values=(Value("scan_errors", "errors not repaired", pool.scan_errors, "", above=0),),
            evidence=cites(window.cite(pool, "last_scan")),
            advice=(
                "Scrub the pool again; restore files that it lists from the backup.",
                run("zpool", "scrub", *operands(whole.name)),
                run("zpool", "status", "-v", *operands(whole.name), note="damaged files"),
            ),
            refuted_by="a later scrub without errors",
            damage=Damage.DATA,
            view_subject=whole.name,
        )
