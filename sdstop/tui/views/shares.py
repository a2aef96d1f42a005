"""Shares: a row for the NFS server of the node, for each NFS mount, and for each mounted SMB share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from sdstop.collectors.filesystems.readings import NfsMount, NfsRequests
from sdstop.collectors.filesystems.share_readings import NfsServer, NfsServerPool, SmbShare, waited
from sdstop.core.finding import Severity
from sdstop.core.format import NONE, number, percent, plural, quantity
from sdstop.core.model import Reading
from sdstop.core.text import added
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import severity_name
from sdstop.tui.widgets.palette import FAINT, text
from sdstop.tui.widgets.pane import Row, words

FAMILIES: tuple[type[Reading], ...] = (NfsServer, NfsServerPool, NfsMount, NfsRequests, SmbShare)
"""Families that are shown."""
_NAME = 40
"""Most cells of a name."""

R = TypeVar("R", bound=Reading)


def share_rows(scene: Scene) -> list[Row]:
    """Return the rows; none of a node without shares."""
    worst = scene.worst()
    return [*_servers(scene, worst), *_nfs(scene, worst), *_smb(scene, worst)]


_Worst = Mapping[str, Severity]
"""The worst severity by subject."""


def _servers(scene: Scene, worst: _Worst) -> Iterator[Row]:
    for key, row in scene.rows(NfsServer)[0].items():
        pools = _grown(scene, NfsServerPool, "arrived", "queued", "woken")
        calls = _grown(scene, NfsServer, "calls", "refused")
        parts = [plural(row.threads, "thread") if row.threads is not None else "threads unknown"]
        if calls is not None:
            seconds, ((all_, refused),) = calls
            parts += [f"{number(all_ / seconds)} calls/s", f"{number(refused / seconds)} refused/s"]
        if pools is not None:
            arrived = added(max(each[0], each[1]) for each in pools[1])
            lacking = added(waited(*each) for each in pools[1])
            parts.append(f"{percent(lacking / arrived) if arrived else '0'}% of requests found no idle thread")
        yield _row(scene, worst, "nfs server", row.server, ", ".join(parts), NfsServer, key)


def _nfs(scene: Scene, worst: _Worst) -> Iterator[Row]:
    kinds: dict[str, list[Hashable]] = {}
    for key, asked in scene.rows(NfsRequests)[0].items():
        kinds.setdefault(asked.point, []).append(key)
    for key, row in scene.rows(NfsMount)[0].items():
        grown = _grown(scene, NfsRequests, "completed", "execution", keys=kinds.get(row.point, ()))
        said = NONE
        if grown is not None:
            seconds, each = grown
            count, took = added(pair[0] for pair in each), added(pair[1] for pair in each)
            said = f"{number(count / seconds)} requests/s"
            said += f", {quantity(took / 1000 / count, 'seconds')} each" if count else ""
        source = f"{row.server or NONE}:{row.export or NONE}"
        yield _row(scene, worst, "nfs mount", row.point, f"{said}  {scene.palette.word(source, _NAME)}", NfsMount, key)


def _smb(scene: Scene, worst: _Worst) -> Iterator[Row]:
    for key, row in scene.rows(SmbShare)[0].items():
        parts = [f"connection {row.connection}"]
        if row.disconnected:
            parts.append("share disconnected")
        if row.in_flight is not None:
            parts.append(f"{plural(row.in_flight, 'request')} in flight")
        if row.reconnects is not None:
            parts.append(plural(row.reconnects, "reconnect"))
        yield _row(scene, worst, "smb share", row.subject, ", ".join(parts), SmbShare, key)


def _row(scene: Scene, worst: _Worst, kind: str, name: str, said: str, family: type[Reading], key: Hashable) -> Row:
    stale = scene.rows(family)[1]
    line = (
        *text((f" {kind:<10} ", FAINT)),
        *severity_name(scene.palette.word(name, _NAME), worst.get(name), scene.palette, stale=stale),
        *text((f"  {said}", FAINT) if stale else f"  {said}"),
    )
    return words(line, (kind, name), FactLink(FactSubject(name, ((family, key),))), f"{kind} {name}")


def _grown(
    scene: Scene, family: type[R], *fields: str, keys: Sequence[Hashable] | None = None
) -> tuple[float, list[tuple[int, ...]]] | None:
    """Return by how much counters grew between the newest two samples, in how many seconds, for each row.

    None without two samples, and if a counter was reset.
    """
    moments = scene.window.moments(family)
    if len(moments) < 2:
        return None
    old: Mapping[Hashable, R] = moments[-2].rows
    new: Mapping[Hashable, R] = moments[-1].rows
    seconds = moments[-1].started - moments[-2].started
    shown = [key for key in (new if keys is None else keys) if key in old and key in new]
    grown = [tuple([getattr(new[key], each) - getattr(old[key], each) for each in fields]) for key in shown]
    return (seconds, grown) if grown and seconds > 0 and all(min(each) >= 0 for each in grown) else None
