"""Status line and tabs: host, time, counts of findings, and views."""

from __future__ import annotations

from rich.segment import Segment

from sdstop.core.finding import Severity
from sdstop.core.format import duration, timestamp, utc
from sdstop.core.headline import UNKNOWN
from sdstop.tui.scene import Mode, Scene
from sdstop.tui.views import VIEWS, ViewEntry
from sdstop.tui.widgets.palette import BANNER, CHIP, FAINT, PLAIN, STRONG, Line, text, width_of

_TITLES = {Severity.CRITICAL: "CRIT", Severity.WARNING: "WARN", Severity.INFO: "INFO", None: "?UNKN"}


def counts_line(scene: Scene, *, brief: bool = False) -> Line:
    """Return the number of findings per severity, worst first; unknowns are last."""
    parts: list[Segment] = []
    for severity, count in scene.counts().items():
        if not count:
            continue
        style = scene.palette.severity(severity)
        badge = severity is Severity.CRITICAL
        if parts:
            parts.append(Segment(" " if brief else "  "))
        title = f"{_TITLES[severity]} {count}" if brief else f"{count} {_TITLES[severity]}"
        if badge and not brief:
            parts.append(Segment(f" {title} ", style + BANNER))
        else:
            parts.append(Segment(title, style))
    if not parts and scene.headline.code == UNKNOWN:
        word = "unknown" if scene.look.judgement.judged else "nothing judged"
        parts.append(Segment(word, scene.palette.severity(None)))
    elif not parts:
        parts.append(Segment("no findings", PLAIN))
    return tuple(parts)


def moment_line(scene: Scene, *, brief: bool = False) -> Line:
    """Return the mode and time of the displayed moment, or how long data has been missing."""
    taken = scene.now.taken
    if scene.silent is not None:
        return text((f"no data for {duration(scene.silent)}", scene.palette.severity(None)))
    if scene.mode is Mode.LIVE:
        return text(("LIVE", STRONG), f" {utc(taken)}")
    when = utc(taken) if brief else timestamp(taken)
    behind = f" -{duration(scene.behind)}" if scene.behind >= 0.05 else ""
    return text((f" {scene.mode.value} {when}{behind} ", CHIP))


def status_line(scene: Scene, width: int) -> Line:
    """Return the status line, shortened to the width."""
    host = scene.session.origin.name
    right = counts_line(scene)
    brief = width < 78
    left: list[Segment] = [Segment(" "), *(() if brief else text(("sdstop ", FAINT)))]
    room = max(width - width_of(left) - width_of(right) - width_of(moment_line(scene, brief=brief)) - 5, 8)
    name = scene.palette.word(host, 64)
    left.append(Segment(scene.palette.fit(name, min(len(name), room)), STRONG))
    left.append(Segment("  "))
    left.extend(moment_line(scene, brief=brief))
    for note in _notes(scene):
        if width_of(left) + width_of(right) + len(note) + 6 < width:
            left.append(Segment(f"  {note}", FAINT))
    gap = width - width_of(left) - width_of(right) - 1
    if gap < 1:
        right = counts_line(scene, brief=True)
        gap = max(width - width_of(left) - width_of(right) - 1, 1)
    return (*left, Segment(" " * gap), *right)


def _notes(scene: Scene) -> list[str]:
    """Return further notes on the moment, the least important last; notes that do not fit are left out.

    Without root some data is hidden; the host view lists the sources concerned.
    """
    unprivileged = scene.session.origin.privileged is False
    back = scene.session.ran_back
    return [
        note
        for note in (
            _note(scene),
            "not root" if unprivileged else "",
            f"clock ran back {duration(back)}" if back >= 0.05 else "",
        )
        if note
    ]


def _note(scene: Scene) -> str:
    origin = scene.session.origin
    if scene.mode is Mode.LIVE:
        late = f", {scene.late} frame{'s' * (scene.late != 1)} not judged" if scene.late else ""
        return scene.palette.word(scene.trouble) if scene.silent is not None else f"every {scene.interval:g} s{late}"
    if origin.live:
        return "recording goes on"
    frames = scene.session.timeline.frames
    at = f"frame {scene.look.index + 1} of {len(frames)}"
    return at if origin.complete else f"{at}, capture incomplete"


def tabs_line(current: ViewEntry, width: int) -> Line:
    """Return the tabs of the views; the visible view is in reverse video."""
    few = [entry for entry in VIEWS if not entry.spare or entry is current]
    forms = ((VIEWS, False, " "), (few, False, " "), (few, True, " "), (few, True, ""))
    for entries, short, gap, pad in (*((*form, " ") for form in forms), (few, True, " ", "")):
        titles = [f"{pad}{entry.key} {(short and entry.short) or entry.title}{pad}" for entry in entries]
        if sum(map(len, titles)) + len(titles) * len(gap) < width:
            break
    else:
        entries, gap = few, " "
        titles = [f" {e.key} {e.title} " if e is current else f" {e.key} " for e in few]
    parts: list[Segment] = [Segment(" ")]
    for entry, title in zip(entries, titles, strict=True):
        parts.append(Segment(title, BANNER if entry is current else PLAIN))
        parts.append(Segment(gap))
    return tuple(parts)
