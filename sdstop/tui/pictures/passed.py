"""Passed: the checks without a finding, and the evidence, for a screen with room and nothing else to show."""

from __future__ import annotations

import textwrap

from sdstop.core.finding import Finding
from sdstop.core.format import plural
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.quoted import evidence_picture
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, text

_MOST = 20


def passed_picture(scene: Scene) -> Picture | None:
    """Return the checks that passed, None without any."""
    known = scene.look.judgement.ruled_out
    if not known:
        return None
    most = min(len(known), _MOST)
    return Picture(
        _title(scene), lambda width, height: _lines(scene, width, height),
        tuple(range(min(most, 2), most + 1)), "! shows all", whole=2,
    )  # fmt: skip


def remaining_picture(finding: Finding | None, first: Picture, scene: Scene) -> Picture | None:
    """Return the evidence of a finding, if the first picture is not that, and below it the checks that passed."""
    passed = passed_picture(scene)
    evidence = evidence_picture(finding, scene) if finding is not None else None
    if evidence is None or evidence.title == first.title:
        return passed
    if passed is None:
        return evidence
    quoted, good = evidence.steps[-1], passed.steps[-1]

    def draw(width: int, height: int) -> list[Line]:
        lines = evidence.draw(width, min(height, quoted))
        left = height - len(lines) - 1
        return [*lines, text((f" {_title(scene)}", STRONG)), *_lines(scene, width, left)] if left > 0 else lines

    return Picture(evidence.title, draw, tuple(range(2, quoted + 1 + good + 1)), "! shows all checks", whole=quoted)


def _title(scene: Scene) -> str:
    return f"Passed: {plural(sum(len(verdict.subjects) for verdict in scene.look.judgement.ruled_out), 'check')}"


def _lines(scene: Scene, width: int, height: int) -> list[Line]:
    palette = scene.palette
    lines = []
    for verdict in scene.look.judgement.ruled_out[:height]:
        subject = next(iter(verdict.subjects), "")
        others = f" +{len(verdict.others)}" if verdict.others else ""
        lead = palette.word(f"{subject}{others}: " if subject else "", 60)
        said = palette.word(verdict.summary, 300)
        room = max(width - len(lead) - 2, 10)
        lines.append(text(" ", lead, (textwrap.shorten(said, room, placeholder=palette.ellipsis), FAINT)))
    return lines
