"""Files of GlusterFS in split brain: each copy blames the other, and a choice by hand is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.gluster.heal import MOST_PENDING
from sdstop.collectors.gluster.readings import GlusterHeal, GlusterSplitBrain
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(GlusterHeal).values():
        if row.split:
            yield _found(window, row, window.where(GlusterSplitBrain, "volume", row.volume))
        elif row.split is None and row.pending is not None and row.pending > MOST_PENDING:
            yield Unchecked(f"{row.pending} entries to heal: split brain not looked for", row.volume, gap=Gap.OPEN)
        elif row.split is None or row.silent:
            yield Unchecked("not all bricks answered", row.volume, gap=Gap.OPEN)
        else:
            yield RuledOut(row.volume, f"0 entries in split brain, {row.pending or 0} to heal")


def _found(window: Window, row: GlusterHeal, entries: Sequence[GlusterSplitBrain]) -> Finding:
    count = f"{row.split} {'entry' if row.split == 1 else 'entries'} in split brain"
    first = entries[0] if entries else None
    name = first.entry if first is not None else ""
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.volume,
        title="SPLIT BRAIN",
        cause=fitting(*([f"{count}: {name}."] if name else []), f"{count}."),
        impact="Their copies differ; reads fail with an I/O error until one is chosen.",
        values=(
            Value("split", "entries in split brain", row.split, "", above=0),
            Value("pending", "entries to heal", row.pending),
            *(Value(f"entry{number}", "in split brain", each.entry) for number, each in enumerate(entries[:10], 1)),
        ),
        evidence=cites(window.cite(row, "split"), *(window.cite(each) for each in entries[:1])),
        advice=_advice(row.volume, first),
        refuted_by="0 entries in gluster volume heal VOLUME info split-brain",
    )


def _advice(volume: str, entry: GlusterSplitBrain | None) -> tuple[Advice, ...]:
    heal = ("gluster", "volume", "heal", volume)
    steps: list[Advice] = [
        "Compare and save both copies first: the one not chosen is overwritten.",
        run(*heal, "info", "split-brain", note="all entries"),
    ]
    if entry is None:
        return tuple(steps)
    file, bricks = entry.entry, entry.bricks.split(" ")
    path = file if file.startswith("/") else f"/.glusterfs/{file[5:7]}/{file[7:9]}/{file[5:]}"
    for brick in bricks[:2]:
        host, _, folder = brick.partition(":")
        steps.append(run("getfattr", "-d", "-m", ".", "-e", "hex", f"{folder}{path}", note=f"on {host}"))
    steps += [
        "Then choose the copy to keep, one of these:",
        run(*heal, "split-brain", "latest-mtime", file, note="the newer one"),
        run(*heal, "split-brain", "bigger-file", file, note="the larger one"),
        run(*heal, "split-brain", "source-brick", bricks[0], file, note="the one of this brick"),
    ]
    return tuple(steps)


GLUSTER_SPLIT_BRAIN = Rule(
    "gluster-split-brain",
    "GlusterFS files in split brain",
    Severity.CRITICAL,
    _check,
    (GlusterHeal,),
    damage=Damage.DATA,
    view="cluster",
    advice="Compare and save both copies first: the one not chosen is overwritten.",
)
