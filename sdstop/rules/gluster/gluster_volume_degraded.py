"""Volumes of GlusterFS with bricks that are offline: by effect, from fewer copies to data that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.clusters.gluster_pool import GLUSTER
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterVolume
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.readings.cluster import Cluster

_STARTED = "Started"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(GlusterVolume).values():
        every = window.where(GlusterBrick, "volume", row.volume)
        bricks = [brick for brick in every if brick.state == "offline"]
        if row.state != _STARTED:
            yield RuledOut(row.volume, f"{row.state}: its {row.bricks} bricks need not run")
        elif bricks:
            yield _found(window, row, bricks, _copies_left(row, every))
        elif row.bricks_unknown:
            yield Unchecked(_why_unknown(window, row), row.volume, gap=Gap.OPEN)
        else:
            yield RuledOut(row.volume, f"{row.bricks_up} of {row.bricks} bricks online")


def _why_unknown(window: Window, row: GlusterVolume) -> str:
    """Return why bricks are unknown: gluster refused an answer, or their servers are out of reach.

    From the status of all volumes, gluster silently omits one that another command holds the lock of.
    """
    pool = window.get(Cluster, GLUSTER)
    if pool is not None and row.bricks_unknown == row.bricks:
        if pool.says:
            return f"bricks unknown: {human.safe(pool.says, 60)}"
        if pool.nodes_up == pool.nodes:
            return "bricks unknown: omitted from the status, as while another command runs"
    return f"{row.bricks_unknown} of {row.bricks} bricks unknown from here"


def _copies_left(row: GlusterVolume, bricks: Sequence[GlusterBrick]) -> int | None:
    """Return the copies of the data that are left in the worst set that lost any; None if none did, or dispersed."""
    if row.copies is None:
        return None
    lost = {brick.set for brick in bricks if brick.state == "offline" and not brick.arbiter}
    left = [sum(b.set == place and not b.arbiter and b.state != "offline" for b in bricks) for place in lost]
    return min(left, default=None)


def _effect(row: GlusterVolume, left: int | None) -> tuple[Severity, Damage, str, str]:
    """Return severity, damage, title and impact of the loss of bricks; `left` are the copies of the worst set."""
    if row.out:
        return (
            Severity.CRITICAL, Damage.AVAILABILITY, "DATA UNREACHABLE",
            f"{row.out} of the sets of bricks have too few: their files cannot be read.",
        )  # fmt: skip
    if row.refusing:
        return (
            Severity.CRITICAL, Damage.AVAILABILITY, "WRITES REFUSED",
            "Too few bricks for the quorum of writes: clients get I/O errors.",
        )  # fmt: skip
    if left == 1:
        return (
            Severity.CRITICAL, Damage.REDUNDANCY, "ONE COPY LEFT", "Another failure makes files unavailable."
        )  # fmt: skip
    if row.copies is not None and left is None:
        return (
            Severity.WARNING, Damage.REDUNDANCY, "ARBITER OFFLINE",
            "All copies are there; another failure stops writes." if row.tolerates == 0
            else "All copies are there.",
        )  # fmt: skip
    if row.tolerates == 0:
        last = row.copies is None
        return (
            Severity.CRITICAL if last else Severity.WARNING, Damage.REDUNDANCY,
            "NO REDUNDANCY LEFT" if last else "BRICK OFFLINE",
            "Another failure makes files unavailable." if last else "Another failure stops writes.",
        )  # fmt: skip
    return Severity.WARNING, Damage.REDUNDANCY, "BRICK OFFLINE", "Writes miss this copy and must be healed later."


def _found(window: Window, row: GlusterVolume, bricks: Sequence[GlusterBrick], left: int | None) -> Finding:
    severity, damage, title, impact = _effect(row, left)
    count = f"{len(bricks)} of {row.bricks} bricks offline"
    first = bricks[0]
    return Finding(
        severity=severity,
        subject=row.volume,
        title=title,
        cause=fitting(f"{count}: {first.brick}.", f"{count}, one of them on {first.host}.", f"{count}."),
        impact=impact,
        values=(
            Value("bricks", "bricks online", row.bricks_up, "", of=row.bricks),
            *((Value("unknown", "bricks unknown", row.bricks_unknown),) if row.bricks_unknown else ()),
            Value("tolerates", "bricks that may still fail", row.tolerates, "", below=1),
            Value("type", "type", row.type),
            Value("quorum", "quorum of writes", row.quorum),
            *(Value(f"brick{number}", "offline", brick.brick) for number, brick in enumerate(bricks[:5], 1)),
        ),
        evidence=cites(*(window.cite(brick) for brick in bricks[:3]), window.cite(row)),
        advice=(
            "Check the disk and filesystem of the brick before it is started again.",
            run("gluster", "volume", "status", row.volume, "detail"),
            run("journalctl", "-k", note=f"on {first.host}").pipe("grep", "-i", "-E", "I/O error|EXT4|XFS"),
            run("gluster", "volume", "start", row.volume, "force", note="starts missing bricks"),
            run("gluster", "volume", "heal", row.volume, note="afterwards"),
        ),
        refuted_by="every brick online in gluster volume status",
        damage=damage,
        explains=(f"gluster-heal-pending:{row.volume}",),
    )


GLUSTER_VOLUME_DEGRADED = Rule(
    "gluster-volume-degraded",
    "GlusterFS volume with bricks offline",
    Severity.CRITICAL,
    _check,
    (GlusterVolume,),
    remembers=True,
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Check the disk and file system of the brick before you start it again.",
)
