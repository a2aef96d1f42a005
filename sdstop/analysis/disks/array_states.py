"""Arrays with their members, joined across families, with the worst finding about each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.disks.drives import DriveState, drives, figures_by_drive
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.averages import median
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.format import natural
from sdstop.core.history import Window
from sdstop.readings.rebuild import Rebuild


class PeerMedians(Struct, frozen=True):
    """Medians over the members of an array: queue in requests, wait in seconds; None if unknown."""

    queue: float | None
    wait: float | None


class ArrayState(Struct, frozen=True):
    """An array with its members in slot order, their medians, and its rebuild."""

    array: Array
    drive: DriveState | None
    members: tuple[tuple[Member, DriveState], ...]
    peers: PeerMedians
    rebuilds: tuple[Rebuild, ...]
    severity: Severity | None
    convoy: Severity | None


def array_states(window: Window, findings: Sequence[Finding]) -> list[ArrayState]:
    """Return the arrays, by name; `findings` are those active at the window's end."""
    return window.once("array groups", lambda: _array_states(window, findings))


def _array_states(window: Window, findings: Sequence[Finding]) -> list[ArrayState]:
    known = drives(window, findings)
    arrays, _ = latest_rows(window, Array)
    members: dict[str, list[Member]] = {}
    for member in latest_rows(window, Member)[0].values():
        members.setdefault(member.array, []).append(member)
    rebuilds, _ = latest_rows(window, Rebuild)
    convoys = {f.subject: f.severity for f in findings if f.rule == "stripe-convoy"}
    worst = worst_by_subject(findings)
    found = []
    for array in sorted(arrays.values(), key=lambda a: natural(a.array)):
        listed = sorted(
            members.get(array.array, ()),
            key=lambda m: (m.slot is None, m.slot if m.slot is not None else 0, natural(m.device)),
        )
        own = tuple((m, known[m.device]) for m in listed)
        slotted = [d for m, d in own if m.slot is not None]
        peers = PeerMedians(*map(_middle, figures_by_drive(slotted, "queue", "wait")))
        found.append(
            ArrayState(
                array,
                known.get(array.array),
                own,
                peers,
                tuple(r for r in rebuilds.values() if r.kind == "md" and r.array == array.array),
                worst.get(array.array),
                convoys.get(array.array),
            )
        )
    return found


def _middle(figures: Sequence[float | None]) -> float | None:
    values = [figure for figure in figures if figure is not None]
    return median(values) if len(values) >= 2 else None
