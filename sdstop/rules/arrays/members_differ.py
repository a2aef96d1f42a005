"""Members of one array, mirror or pool with different settings: write cache, scheduler, queue, firmware, kind of disk.

A setting that was changed on one member only, or a replacement of another kind, is easily overlooked: nothing fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import TITLE, fitting
from sdstop.core.history import Window
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.rule import Limits, Rule, Threshold

_KINDS = frozenset({GroupKind.COLUMNS, GroupKind.LEGS, GroupKind.IMAGES, GroupKind.LEAVES})
_STEP = "If the difference is not on purpose, set it as on the others."


class _Setting(Struct, frozen=True):
    """A setting of a disk: its name, the effect of a difference, its file, and the disks that are comparable in it."""

    field: str
    title: str
    impact: str
    file: str
    alike: Callable[[BlockDevice], Hashable] = lambda _: ()


def _model(row: BlockDevice) -> Hashable:
    return (row.vendor, row.model) if row.model else row.device


def _driver(row: BlockDevice) -> Hashable:
    return row.driver


_SETTINGS = (
    _Setting("rotational", "kind of disk", "An array can be as slow as its slowest member.", "queue/rotational"),
    _Setting("write_cache", "write cache", "Such a member can be slower, or its cache is not flushed.",
             "queue/write_cache", _driver),
    _Setting("nr_requests", "queue size", "A member can hold back requests, and the array waits.",
             "queue/nr_requests", _driver),
    _Setting("scheduler", "scheduler", "A member can order and delay requests unlike the others.",
             "queue/scheduler", _driver),
    _Setting("revision", "firmware", "A member can be slower, or have a fault that the others no longer have.",
             "device/rev", _model),
)  # fmt: skip


class _Difference(Struct, frozen=True):
    """A setting in which members differ: the odd ones with their value, and the usual value; "" if there is none."""

    setting: _Setting
    odd: tuple[BlockDevice, ...]
    value: str
    usual: str


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Compare each group once for each reading: settings change seldom, and disks are many."""
    yield from window.of_run(BlockDevice, ("members-differ", *limits.values()), lambda: list(_judged(window, limits)))


def _judged(window: Window, limits: Limits) -> Iterator[Verdict]:
    good: dict[str, str] = {}
    bad: set[str] = set()
    for group in window.topology.groups():
        if group.kind not in _KINDS or group.upper is None:
            continue
        name, rows = group.upper.name, _disks(window, group)
        differences = [found for setting in _SETTINGS if (found := _difference(setting, rows, limits)) is not None]
        if name in bad:
            continue
        if len(rows) < len(group.members):
            missing = len(group.members) - len(rows)
            yield Unchecked(f"settings of {human.plural(missing, 'member')} unknown", name, calm=True)
            bad.add(name)
        elif differences:
            yield _finding(window, name, differences)
            bad.add(name)
        else:
            good[name] = f"{len(rows)} members with the same settings"
    yield from (RuledOut(name, said) for name, said in good.items() if name not in bad)


def _disks(window: Window, group: PeerGroup) -> list[BlockDevice]:
    """Return the disks of the members that are disks or partitions of one, and whose queue is known."""
    found = []
    for member in group.members:
        row = window.get(BlockDevice, member.device) if member.device is not None else None
        if row is not None and row.parent is not None:
            row = window.get(BlockDevice, row.parent)
        if row is not None and row.nr_requests is not None:
            found.append(row)
    return found


def _difference(setting: _Setting, rows: Sequence[BlockDevice], limits: Limits) -> _Difference | None:
    """Return in what members differ that are comparable, None if they do not, or if a value is unknown."""
    groups: dict[Hashable, list[BlockDevice]] = {}
    for row in rows:
        groups.setdefault(setting.alike(row), []).append(row)
    for alike in groups.values():
        values = [getattr(row, setting.field) for row in alike]
        if None in values or len(set(values)) < 2:
            continue
        if setting.field == "nr_requests" and max(values) < limits["factor"] * min(values):
            continue
        most, count = Counter(values).most_common(1)[0]
        is_usual = count * 2 > len(values)
        odd = [row for row, value in zip(alike, values, strict=True) if value != most or not is_usual]
        return _Difference(setting, tuple(odd), _word(setting, odd[0]), _word(setting, most) if is_usual else "")
    return None


def _word(setting: _Setting, of: object) -> str:
    value = getattr(of, setting.field) if isinstance(of, BlockDevice) else of
    if setting.field == "rotational":
        return "rotating" if value else "flash"
    return human.safe(str(value), 20)


def _finding(window: Window, name: str, differences: Sequence[_Difference]) -> Finding:
    first, what = differences[0], ", ".join(each.setting.title for each in differences)
    one, others = first.odd[0], len(first.odd) - 1
    who = human.safe(one.device, 16) + (f" and {others} more" if others else "")
    cause = f"{who}: {first.setting.title} {first.value}, {first.usual} on the other members."
    if not first.usual:
        other = next(row for row in first.odd if _word(first.setting, row) != first.value)
        known = f"{first.value} on {human.safe(one.device, 16)}, {_word(first.setting, other)} on"
        cause = f"Its {first.setting.title} differs: {known} {human.safe(other.device, 16)}."
    return Finding(
        severity=Severity.INFO,
        subject=name,
        title=_title(what, len(differences)),
        cause=fitting(cause, f"Members differ in their {first.setting.title}."),
        impact=first.setting.impact,
        values=tuple(
            Value(each.setting.field, f"{each.setting.title} on {human.listed([row.device for row in each.odd], 4)}",
                  f"{each.value}{f', {each.usual} on the others' if each.usual else ', and another one'}")
            for each in differences
        ),
        evidence=cites(*(window.cite(row, each.setting.field) for each in differences for row in each.odd[:2])),
        advice=(_STEP, run("grep", "", *(f"/sys/block/{row.device}/{first.setting.file}" for row in first.odd[:2]))),
        refuted_by="the same values for all members in /sys/block",
        harmless_if="the member was chosen or set so on purpose",
        disks=tuple(row.device for row in first.odd),
    )  # fmt: skip


def _title(what: str, count: int) -> str:
    """Return the title with the settings that differ, or with their number if they are many."""
    title = f"MEMBERS DIFFER: {what}"
    return title if human.width_of(title) <= TITLE else f"MEMBERS DIFFER in {count} settings"


MEMBERS_DIFFER = Rule(
    "members-differ",
    "members of one array with another cache, scheduler, queue, firmware or kind of disk",
    Severity.INFO,
    _check,
    (BlockDevice,),
    (Threshold("factor", 4.0, "how many times smaller the queue of a member is"),),
    covers=(),
    many="have members that differ",
    standing=True,
    view="disks",
    advice=_STEP,
)
