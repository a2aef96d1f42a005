"""Passed: checks without findings, for a screen with room and nothing else to show."""

from __future__ import annotations

import textwrap

from sdstop.core.format import plural
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, Line, text

_MOST = 20


def passed_picture(scene: Scene) -> Picture | None:
    """Return the checks that passed, None without any or if the first pane names them already."""
    known = scene.look.judgement.ruled_out
    if not known:
        return None
    palette = scene.palette
    count = sum(len(verdict.subjects) for verdict in known)

    def draw(width: int, height: int) -> list[Line]:
        lines = []
        for verdict in known[:height]:
            subject = next(iter(verdict.subjects), "")
            others = f" +{len(verdict.others)}" if verdict.others else ""
            lead = palette.word(f"{subject}{others}: " if subject else "", 60)
            said = palette.word(verdict.summary, 300)
            room = max(width - len(lead) - 2, 10)
            shown = textwrap.shorten(said, room, placeholder=palette.ellipsis)
            lines.append(text(" ", lead, (shown, FAINT)))
        return lines

    most = min(len(known), _MOST)
    return Picture(
        f"Passed: {plural(count, 'check')}", draw, tuple(range(min(most, 2), most + 1)), "! shows all", whole=2
    )
