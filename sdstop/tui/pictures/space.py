"""Space: bars of the file systems, pools and snapshots of the node, those of a finding first."""

from __future__ import annotations

from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.space import is_of, space_lines, space_of

_MOST = 12
"""Lines."""


def space_picture(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the stores of the node; None without any, or if a finding is about none of them."""
    names = _names(finding) if finding is not None else frozenset()
    known = [store for store in space_of(scene, names) if finding is None or store.is_worth_a_line]
    if not known or (finding is not None and not is_of(known[0], names)):
        return None
    most = max(min(len(known) + 1, _MOST), 2)
    return Picture(
        "Space in use",
        lambda width, height: space_lines(known, scene, width, height),
        tuple(range(2, most + 1)),
        whole=min(most, 5),
    )


def _names(finding: Finding) -> frozenset[str]:
    return frozenset((*finding.subjects, finding.view_subject))
