"""Status line and tabs: host, time, counts of findings, and views."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment

from sdstop.core.evidence import dated
from sdstop.core.finding import Severity
from sdstop.core.format import duration, listed, percent, timestamp, utc
from sdstop.core.headline import UNKNOWN
from sdstop.tui.scene import Mode, Scene
from sdstop.tui.views import VIEWS, ViewEntry
from sdstop.tui.widgets.palette import BANNER, CHIP, FAINT, PLAIN, STRONG, Line, clickable, text, width_of

LOAD_EXPLAINED = "load explained"
"""Chip of a node whose load is high because of what findings report; unexplained load is a finding of its own."""
_CHIPS = {Severity.CRITICAL: "CRIT", Severity.WARNING: "WARN"}


def counts_line(scene: Scene, *, brief: bool = False, tight: bool = False) -> Line:
    """Return the number of findings per severity, worst first, then of checks: unknown, passed and not applicable.

    Critical findings and warnings are chips, and a high load that they account for. `brief` leaves out the load and
    checks that passed or do not apply; `tight` is for a screen of one line.
    """
    counts = scene.counts()
    pad = "" if tight else " "
    parts: list[Segment] = []
    for severity, word in _CHIPS.items():
        if counts[severity]:
            parts += text((f"{pad}{counts[severity]} {word}{pad}", scene.palette.chip(severity)), " ")
    if not parts:
        parts += text((f"{pad}{verdict(scene)}{pad}", CHIP), " ")
    elif scene.is_load_explained and not brief and not tight:
        parts += text((f"{pad}{LOAD_EXPLAINED}{pad}", CHIP), " ")
    if counts[Severity.INFO]:
        parts.append(Segment(f"{pad}{counts[Severity.INFO]} info ", PLAIN))
    parts.append(Segment(f"{pad}{counts[None]} ?", PLAIN if counts[None] else FAINT))
    if not brief and not tight:
        checks = scene.checks()
        parts.append(Segment(f"  {checks.passed} pass  {checks.not_applicable} n/a", FAINT))
    return tuple(parts)


def verdict(scene: Scene) -> str:
    """Return the chip of a screen without critical findings and warnings: unknown where a check is unknown.

    A node is not called good while something is open that more time alone does not settle.
    """
    if scene.headline.code != UNKNOWN:
        return LOAD_EXPLAINED if scene.is_load_explained else "no problem found" if scene.is_settled else "no findings"
    return "unknown" if scene.look.judgement.judged else "nothing checked"


def moment_line(scene: Scene, *, brief: bool = False) -> Line:
    """Return a chip with the mode and the time of the displayed moment, or how long data has been missing.

    `brief` leaves out that the time is unknown.
    """
    taken = scene.now.taken
    if scene.silent is not None:
        return text((f" no data for {duration(scene.silent)} ", BANNER))
    is_glance = scene.look.is_glance and scene.sought in {None, taken}
    if scene.sought is not None and not is_glance:
        return text((f" {scene.mode.value} loading {utc(scene.sought)} ", CHIP))
    behind = f" -{duration(scene.behind)}" if scene.behind >= 0.05 and scene.mode is not Mode.LIVE else ""
    unsure = " provisional" if scene.look.provisional and not scene.session.is_judged else ""
    unsure = " judging" if is_glance else unsure
    time = "" if brief and not dated(taken) else f" {utc(taken)}"
    return text((f" {scene.mode.value}{time}{behind}{unsure} ", CHIP))


def status_line(scene: Scene, width: int) -> Line:
    """Return the status line; on a narrow screen the notes and the counts of passed checks give way first."""
    name = scene.palette.word(scene.session.origin.name, 64)
    moment, right, notes = moment_line(scene), counts_line(scene), _notes(scene)
    room = width - width_of(moment) - width_of(right) - 5
    if room < min(cell_len(name), _HOST):
        right = counts_line(scene, brief=True)
        room = width - width_of(moment) - width_of(right) - 5
    if room < min(cell_len(name), _HOST):
        moment = moment_line(scene, brief=True)
        room = width - width_of(moment) - width_of(right) - 5
    host = scene.palette.fit(name, min(cell_len(name), max(room, 4)))
    left: list[Segment] = [Segment(" "), Segment(host, STRONG), Segment("  "), *moment]
    for note in notes:
        if width_of(left) + width_of(right) + cell_len(note) + 4 < width:
            left.append(Segment(f"  {note}", FAINT))
    gap = max(width - width_of(left) - width_of(right) - 1, 1)
    return (*left, Segment(" " * gap), *right)


_HOST = 12
"""Cells of a host's name that other parts give way to."""


def _notes(scene: Scene) -> list[str]:
    """Return further notes on the moment, the least important last; notes that do not fit are left out.

    Without root some data is hidden; the host view lists the sources concerned.
    """
    origin = scene.session.origin
    back = scene.session.ran_back
    return [
        note
        for note in (
            scene.palette.word(scene.trouble) if scene.silent is not None else "",
            _progress(scene),
            "not root" if origin.privileged is False else "",
            f"clock went back {duration(back)}" if back >= 0.05 else "",
            _other_nodes(scene),
            timestamp(scene.now.taken)[:10] if dated(scene.now.taken) else "",
            _note(scene),
        )
        if note
    ]


def _other_nodes(scene: Scene) -> str:
    """Return the other nodes that a text has outputs of."""
    names = dict.fromkeys(block.node for block in scene.session.origin.blocks if block.node)
    return f"not shown: {listed([*names])}" if names else ""


def _note(scene: Scene) -> str:
    origin = scene.session.origin
    if scene.mode is Mode.LIVE:
        late = f", {scene.late} frame{'s' * (scene.late != 1)} dropped" if scene.late else ""
        return "" if scene.silent is not None else f"every {scene.interval:g} s{late}"
    if origin.live:
        return "still recording"
    frames = scene.session.timeline.frames
    at = f"frame {scene.look.index + 1} of {len(frames)}"
    return at if scene.session.is_complete else f"{at}, capture incomplete"


def _progress(scene: Scene) -> str:
    """Return how much of a capture is judged, "" if all is."""
    session = scene.session
    if session.is_judged:
        return ""
    part = percent(session.frames_seen / len(session.timeline.frames))
    return f"judged {part}%"


def tabs_line(current: ViewEntry, width: int) -> Line:
    """Return the tabs of the views, each with its name; the visible view is a chip."""
    few = [entry for entry in VIEWS if not entry.spare or entry is current]
    for entries, short, gap in ((VIEWS, False, 2), (few, False, 2), (few, False, 1), (few, True, 1)):
        titles = [(short and entry.short) or entry.title for entry in entries]
        if sum(len(title) + 2 + gap for title in titles) + 2 - gap <= width:
            break
    else:
        entries, gap = few, 1
        titles = [entry.short or entry.title if entry is current else "" for entry in few]
    parts: list[Segment] = [Segment(" ")]
    for entry, title in zip(entries, titles, strict=True):
        action = f"app.view({entry.key!r})"
        if entry is current:  # the chip covers the blanks around it
            before = parts[-1]
            parts[-1:] = [before._replace(text=before.text[:-1])] if len(before.text) > 1 else []
            parts.append(Segment(f" {entry.key} {title} ", clickable(BANNER, action)))
            parts.append(Segment(" " * (gap - 1)))
        else:
            parts.append(Segment(entry.key, clickable(PLAIN, action)))
            parts.append(Segment(f" {title}" if title else "", clickable(FAINT, action)))
            parts.append(Segment(" " * gap))
    return tuple(part for part in parts if part.text)
