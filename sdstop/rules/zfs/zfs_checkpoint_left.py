"""A checkpoint of a ZFS pool that was forgotten: it holds all space freed since, and blocks changes of the pool."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.zfs.readings import Pool
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_DAY = 86_400.0


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for pool in window.rows(Pool).values():
        if pool.checkpoint is None:
            yield RuledOut(pool.pool, "0 checkpoints")
        else:
            yield _finding(window, pool, pool.checkpoint, limits)


def _finding(window: Window, pool: Pool, held: int, limits: Limits) -> Finding:
    age = None if pool.checkpointed is None else window.now.taken - pool.checkpointed
    share = held / pool.size if pool.size else None
    old = age is not None and age > limits["days"] * _DAY
    large = share is not None and share >= limits["share"]
    since = f" for {age / _DAY:.0f} days" if age is not None and age >= _DAY else ""
    return Finding(
        severity=Severity.WARNING if old or large else Severity.INFO,
        subject=pool.pool,
        title=f"CHECKPOINT HOLDS {human.quantity(held, 'bytes')}",
        cause=f"The pool has had a checkpoint{since}.",
        impact="Freed space stays in use; devices cannot be removed or attached.",
        values=(
            Value("held", "space held", held, "bytes", of=pool.size),
            Value("age", "age", age, "seconds", above=limits["days"] * _DAY if old else None),
        ),
        evidence=cites(window.cite(pool, "checkpoint")),
        advice=(
            "Discard the checkpoint if the pool need not be rewound.",
            run("zpool", "checkpoint", "-d", *operands(pool.pool), note="cannot be undone"),
        ),
        refuted_by="a zpool status without the line checkpoint:",
        harmless_if="a change of the pool is under way",
    )


ZFS_CHECKPOINT_LEFT = Rule(
    "zfs-checkpoint-left",
    "checkpoint of a ZFS pool that was not discarded",
    Severity.WARNING,
    _check,
    (Pool,),
    (
        Threshold("days", 3.0, "age above which it is forgotten"),
        Threshold("share", 0.05, "share of the pool that it holds", "ratio"),
    ),
    covers=(Covers(Pool),),
    damage=Damage.CAPACITY,
    standing=True,
    view="disks",
    advice="Discard the checkpoint if the pool need not be rewound.",
)
