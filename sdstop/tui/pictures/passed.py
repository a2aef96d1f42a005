"""Passed: the checks without a finding, and the evidence, for a screen with room and nothing else to show."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from msgspec.structs import replace

from sdstop.core.finding import Finding
from sdstop.core.format import plural
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.inventory import inventory_lines, reading_lines
from sdstop.tui.pictures.quoted import evidence_picture, quoted_lines
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, text

_MOST, _MANY = 20, 1000
"""Lines: of the picture, and more than any picture has."""


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


def remaining_picture(finding: Finding | None, first: Picture, scene: Scene, *, passed: bool = True) -> Picture | None:
    """Return other parts, one below the other: evidence and disproof of a finding, passed checks, things and sources.

    The part that the first picture shows is left out. Checks are shown if `passed`.
    """
    evidence = evidence_picture(finding, scene) if finding is not None else None
    parts: list[tuple[str, Callable[[int, int], list[Line]]]] = []
    if finding is not None and evidence is not None:
        parts.append((evidence.title, lambda width, height: quoted_lines(finding, scene, width, height)))
    if finding is not None and (finding.refuted_by or finding.harmless_if):
        parts.append(("Would be disproved by", lambda width, height: _doubts(finding, scene, width)[:height]))
    if passed and scene.look.judgement.ruled_out:
        parts.append((_title(scene), lambda width, height: _lines(scene, width, min(height, _MOST))))
    parts.append(
        (
            "Recorded" if not scene.session.origin.live else "Seen",
            lambda width, height: inventory_lines(scene, width)[:height],
        )
    )
    parts.append(("Readings", lambda width, height: reading_lines(scene, width, height)))
    parts = [(title, lines) for title, lines in parts if title != first.title and lines(80, _MANY)]
    if not parts:
        return None
    whole = len(parts[0][1](80, _MANY))
    most = sum(len(lines(80, _MANY)) + 1 for _, lines in parts) - 1

    def draw(width: int, height: int) -> list[Line]:
        drawn: list[Line] = []
        for title, lines in parts:
            if drawn and height - len(drawn) < _HEADED:
                break
            found = lines(width, height - len(drawn) - bool(drawn))
            drawn += [text((f" {title}", STRONG))] if drawn and found else []
            drawn += found
        return drawn

    return Picture(parts[0][0], draw, tuple(range(min(whole, 2), most + 1)), "! shows all checks", whole=whole)


def stacked(first: Picture, rest: Picture) -> Picture:
    """Return a picture of two, the second below the first, which has all the lines that it can use."""
    most = first.steps[-1]

    def draw(width: int, height: int) -> list[Line]:
        if height < most + 1 + rest.steps[0]:
            return first.draw(width, height)
        return [*first.draw(width, most), text((f" {rest.title}", STRONG)), *rest.draw(width, height - most - 1)]

    return replace(first, draw=draw, steps=(*first.steps, *(most + 1 + step for step in rest.steps)))


_HEADED = 2
"""Minimum lines for a further part, with its heading."""


def _doubts(finding: Finding, scene: Scene, width: int) -> list[Line]:
    """Return the observation that would disprove a finding, and the circumstance under which it does no harm."""
    said = [finding.refuted_by, *([f"Harmless if {finding.harmless_if}"] if finding.harmless_if else [])]
    word = scene.palette.word
    return [text(f" {part}") for each in said if each for part in textwrap.wrap(word(each, 600), max(width - 3, 20))]


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
