"""Entries of GlusterFS that wait to be healed: how many, whether they become fewer, and what keeps them waiting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sdstop.collectors.gluster.heal import NOT_SHOWN, UNCOUNTED
from sdstop.collectors.gluster.readings import GlusterHeal, GlusterVolume
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_SEVERAL = 3
"""Counts in a row without a decrease after which healing is stuck."""
_HOUR = 3600.0


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(GlusterHeal).values():
        volume = window.get(GlusterVolume, row.volume)
        if volume is not None and not volume.healing:
            yield _found(window, row, volume, "off")
        elif volume is not None and volume.healers and volume.healers_up == 0:
            yield _found(window, row, volume, "dead")
        elif row.pending is None:
            calm = row.why in {UNCOUNTED, NOT_SHOWN}
            why = row.why or "no brick answered"
            yield Unchecked(f"entries to heal unknown: {why}", row.volume, calm=calm, gap=Gap.OPEN)
        elif row.pending == 0 and row.silent:
            yield Unchecked(f"{row.silent} bricks did not answer", row.volume, gap=Gap.OPEN)
        elif row.pending == 0:
            yield RuledOut(row.volume, "0 entries to heal")
        else:
            stuck = row.pending >= limits["entries"] and _is_stuck(window, row, volume)
            yield _found(window, row, volume, "stuck" if stuck else "")


def _is_stuck(window: Window, row: GlusterHeal, volume: GlusterVolume | None) -> bool:
    """Return whether all bricks are online and the entries did not become fewer at the last counts."""
    if row.silent or volume is None or volume.bricks_up < volume.bricks:
        return False
    for course in window.courses(GlusterHeal, _HOUR):
        known = [moment.rows.get(row.volume) for moment in course]
        counts = [each.pending for each in known if each is not None and each.pending is not None][-_SEVERAL:]
        if len(counts) == _SEVERAL and all(later >= earlier for earlier, later in pairwise(counts)):
            return True
    return False


def _found(window: Window, row: GlusterHeal, volume: GlusterVolume | None, why: str) -> Finding:
    count = "Entries" if row.pending is None else f"{row.pending} {'entry' if row.pending == 1 else 'entries'}"
    verb = "waits" if row.pending == 1 else "wait"
    wait = f"{count} {verb} to be healed"
    severity, title, cause = Severity.INFO, "HEAL PENDING", f"{wait}."
    standing = False
    if why == "off":
        severity = Severity.WARNING if row.pending != 0 else Severity.INFO
        title, cause, standing = "SELF-HEAL DISABLED", "The self-heal daemon of this volume is disabled.", True
    elif why == "dead":
        severity, title, cause = Severity.WARNING, "SELF-HEAL DAEMONS DOWN", "All self-heal daemons are offline."
    elif why == "stuck":
        severity, title = Severity.WARNING, "HEAL DOES NOT PROGRESS"
        cause = f"{wait}, and the last {_SEVERAL} counts did not fall."
    return Finding(
        severity=severity,
        subject=row.volume,
        title=title,
        cause=cause,
        impact="Their copies differ: a brick that fails now can take the only good one.",
        values=(
            Value("pending", "entries to heal", row.pending, "", above=0),
            *((Value("silent", "bricks that did not answer", row.silent),) if row.silent else ()),
            Value("split", "entries in split brain", row.split),
            *(
                (Value("healers", "self-heal daemons online", volume.healers_up, "", of=volume.healers),)
                if volume is not None else ()
            ),
        ),
        evidence=cites(window.cite(row), window.cite(volume) if volume is not None and not volume.healers_up else None),
        advice=(
            "Let healing end before another brick or server is taken down.",
            run("gluster", "volume", "heal", row.volume, "info", "summary", note="reads every entry"),
            *(
                (run("gluster", "volume", "set", row.volume, "cluster.self-heal-daemon", "on"),) if why == "off" else ()
            ),
            run("gluster", "volume", "heal", row.volume, note="starts healing"),
            run("tail", "-n", "40", "/var/log/glusterfs/glustershd.log"),
        ),
        standing=standing,
        refuted_by="0 entries in gluster volume heal VOLUME statistics heal-count",
    )  # fmt: skip


GLUSTER_HEAL_PENDING = Rule(
    "gluster-heal-pending",
    "GlusterFS entries to heal, and self-heal daemons that do not heal",
    Severity.WARNING,
    _check,
    (GlusterHeal,),
    (Threshold("entries", 100, "entries to heal above which a lack of progress is a warning"),),
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Let healing end before another brick or server is taken down.",
)
