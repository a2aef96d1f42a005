"""Pool: the vdevs of a ZFS pool with state, errors and notes; like leaves without a fault are one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len

from sdstop.analysis.disks.drives import USABLE
from sdstop.analysis.space.pool_tree import PoolTree, VdevNode, pool_trees
from sdstop.core.finding import Finding, Severity
from sdstop.core.format import plural
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.palette import FAINT, MARKS, Line, text
from sdstop.tui.widgets.roles import role

_FOLDED = 3
"""Number of like leaves from which they are one line."""
_MOST, _NAME = 14, 32
"""Lines, and cells."""


class _Line(Struct, frozen=True):
    depth: int
    name: str
    state: str
    errors: str
    note: str
    severity: Severity | None


def pool_picture(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the tree of the pool that a finding is about, without one of the first pool; None without vdevs."""
    trees = [tree for tree in pool_trees(scene.window, scene.in_force) if tree.lines]
    names = {name.partition("/")[0] for name in finding.subjects} if finding is not None else set()
    tree = next((each for each in trees if finding is None or each.name in names), None)
    if tree is None:
        return None
    lines = list(_lines(tree, finding))
    name = scene.palette.word(tree.name, 40)
    most = min(len(lines) + 1, _MOST)
    return Picture(
        f"Pool {name}: errors of reads, writes, checksums",
        lambda width, height: _drawn(lines, scene, width, height),
        tuple(range(min(3, most), most + 1)), whole=min(most, 6),
    )  # fmt: skip


def _lines(tree: PoolTree, finding: Finding | None) -> Iterator[_Line]:
    told = finding.severity if finding is not None else None
    calm: list[VdevNode] = []
    for node in tree.lines:
        vdev = node.vdev
        if vdev.leaf and node.severity is None and not vdev.errors and not vdev.note and vdev.state in USABLE:
            if calm and (calm[0].vdev.parent, calm[0].vdev.state) != (vdev.parent, vdev.state):
                yield from _folded(calm)
                calm = []
            calm.append(node)
            continue
        yield from _folded(calm)
        calm = []
        yield _line(node, node.severity or (told if vdev.note else None))
    yield from _folded(calm)


def _folded(nodes: Sequence[VdevNode]) -> Iterator[_Line]:
    if len(nodes) < _FOLDED:
        yield from (_line(node, None) for node in nodes)
        return
    first = nodes[0].vdev
    yield _Line(first.depth, plural(len(nodes), "disk"), first.state, "0 0 0", "", None)


def _line(node: VdevNode, severity: Severity | None) -> _Line:
    vdev = node.vdev
    counts = (vdev.read_errors, vdev.write_errors, vdev.checksum_errors)
    errors = " ".join("-" if count is None else str(count) for count in counts)
    return _Line(vdev.depth, vdev.vdev, vdev.state, errors, (vdev.note or "").removeprefix("block size: "), severity)


def _drawn(lines: Sequence[_Line], scene: Scene, width: int, height: int) -> list[Line]:
    palette = scene.palette
    places = sorted(range(len(lines)), key=lambda at: (lines[at].severity is None, at))[: max(height - 1, 1)]
    kept = [lines[at] for at in sorted(places)]
    name = min(max(cell_len(palette.word(each.name, 80)) + 2 * each.depth for each in kept), _NAME)
    state = max(len(each.state) for each in kept)
    errors = max([len(each.errors) for each in kept] + [5])
    head = f"  {'VDEV':<{name}} {'STATE':<{state}} {'R W C':<{errors}}"
    found = [text((head, role("dim")))]
    for each in kept:
        color = ROLES.get(each.severity, "text") if each.severity is not None else "text"
        mark = MARKS.get(each.severity, " ") if each.severity is not None else " "
        label = palette.fit("  " * each.depth + palette.word(each.name, 80), name)
        note = palette.fit(palette.word(each.note, 80), max(width - name - state - errors - 8, 0)).rstrip()
        found.append(
            text((f" {mark}{label} ", role(color)), (f"{each.state:<{state}} ", role(color)),
                 (f"{each.errors:<{errors}}", role(color if each.severity else "dim")),
                 (f"  {note}", role(color) if each.severity else FAINT))
        )  # fmt: skip
    return found[:height]
