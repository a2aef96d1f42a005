"""A disk that gets far fewer requests at once than disks of its model: the kernel lowered its queue depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_FEWEST = 3
"""Disks of a model of which most agree."""
_STEP = "Raise it again; without NCQ, update the firmware or replace the disk."


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Compare each disk once for each reading: the depth is a setting, and disks are many."""
    yield from window.of_run(
        BlockDevice, ("queue-depth-reduced", *limits.values()), lambda: list(_judged(window, limits))
    )


def _judged(window: Window, limits: Limits) -> Iterator[Verdict]:
    models: dict[tuple[str | None, str], list[BlockDevice]] = {}
    every = [row for row in window.rows(BlockDevice).values() if _is_counted(row)]
    of_all = _usual(every)
    alone, good = [], []
    for row in every:
        if row.model and row.vendor:
            models.setdefault((row.vendor, row.model), []).append(row)
        elif of_all is not None and (row.queue_depth or 0) * limits["factor"] <= of_all:
            why = f"queue depth {row.queue_depth}, {of_all} on most disks; its vendor or model is unknown"
            yield Unchecked(why, row.device, gap=Gap.FAULTY)
        else:
            alone.append(row.device)
    for rows in models.values():
        usual = _usual(rows)
        if usual is None:
            alone += [row.device for row in rows]
            continue
        for row in rows:
            if (row.queue_depth or 0) * limits["factor"] <= usual:
                yield _finding(window, row, usual, len(rows), limits)
            else:
                good.append(row.device)
    yield from passed(good, f"{human.plural(len(good), 'disk')} with the queue depth of their model")
    yield from unchecked(alone, "fewer than 3 disks of its model, or no depth that most of them have", calm=True)


def _is_counted(row: BlockDevice) -> bool:
    return row.queue_depth is not None and row.kind == "disk"


def _usual(rows: Sequence[BlockDevice]) -> int | None:
    """Return the depth that more than half of the disks have; None if there is none."""
    depths = [row.queue_depth or 0 for row in rows]
    if len(depths) < _FEWEST:
        return None
    most = max(set(depths), key=lambda depth: (depths.count(depth), depth))
    return most if depths.count(most) * 2 > len(rows) else None


def _finding(window: Window, row: BlockDevice, usual: int, count: int, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title=f"QUEUE DEPTH {row.queue_depth}, {usual} on its peers",
        cause=f"The disk gets {human.plural(row.queue_depth or 0, 'request')} at once, most of {count} alike {usual}.",
        impact="Under load it is slower than its peers, and its array with it.",
        values=(
            Value("depth", "requests at once", row.queue_depth, "", below=usual / limits["factor"]),
            Value("usual", "on disks of its model", usual),
            Value("model", "model", row.model),
        ),
        evidence=cites(window.cite(row, "queue_depth")),
        advice=(
            _STEP,
            run("echo", str(usual), into=f"/sys/block/{row.device}/device/queue_depth"),
            run("journalctl", "-k").pipe("grep", "-i", "-E", "NCQ|queue depth|queue full"),
        ),
        refuted_by="the same number in queue_depth of all disks of the model",
        harmless_if="it was lowered for this disk on purpose",
    )


QUEUE_DEPTH_REDUCED = Rule(
    "queue-depth-reduced",
    "disk that gets far fewer requests at once than others of its model",
    Severity.WARNING,
    _check,
    (BlockDevice,),
    (Threshold("factor", 8.0, "how many times less than on most disks of its model"),),
    covers=(Covers(BlockDevice, where=_is_counted),),
    explains=("slow-device", "slow-stripe-member"),
    many="have a low queue depth",
    standing=True,
    view="disks",
    advice=_STEP,
)
