"""Quoted: the evidence that a finding cites, as it was recorded."""

from __future__ import annotations

import textwrap

from sdstop.core.expression import expression
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, Line, text

_PADDING = expression(r"([^\s\w])\1{15,}")
"""Padding of fixed-length names, such as those of abstract sockets."""
_QUOTED = 12
"""Maximum lines of one citation."""


def quoted_lines(finding: Finding, scene: Scene, width: int, height: int = 1000) -> list[Line]:
    """Return at most `height` lines of the citations, below their keys; no key is the last."""
    lines: list[Line] = []
    above = None
    for cite in finding.evidence:
        if len(lines) + 1 + (cite.key != above) > height:
            break
        if cite.key != above:
            lines.append(text((f" {scene.palette.word(cite.key, 200)}", FAINT)))
        above = cite.key
        for row in cite.excerpt.splitlines()[:_QUOTED]:
            said = _PADDING.sub(lambda run: run[0][:3] + scene.palette.ellipsis, row.strip().expandtabs())
            parts = textwrap.wrap(scene.palette.word(said, 300), max(width - 5, 20)) or [""]
            lines += [text(f"   {part}") for part in parts]
    return lines[:height]


def evidence_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the cited evidence, None without any."""
    if not finding.evidence:
        return None
    most = len(quoted_lines(finding, scene, 80))
    return Picture(
        "Evidence",
        lambda width, height: quoted_lines(finding, scene, width, height),
        tuple(range(min(most, 2), most + 1)),
    )
