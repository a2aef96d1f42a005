"""Lines of a data path's stages: figures, and a bar of the stage's own wait and the wait below it."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from sdstop.analysis.path import DataPath
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.core.finding import Severity
from sdstop.core.format import NONE, decimal_rate, flow, number, percent, wait
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.graph import bar, layers
from sdstop.tui.widgets.palette import FAINT, MARKS, OTHER, PLAIN, STRONG, Line, Palette, pairs, text

WIDE, NARROW = 110, 72
"""Widths with columns for capacity and used share, and below which queue and bytes are left out."""
MIB = 1 << 20
UNKNOWN = "?"
_NAMED = 8
"""Maximum number of things of a stage that are all named."""


class StageRow(Struct, frozen=True):
    """A stage of a path on the screen, with the worst severity of its findings and the fault that one of them names."""

    scene: Scene
    path: DataPath
    stage: Stage
    severity: Severity | None
    fault: str


def _columns(width: int) -> tuple[int, int]:
    """Return the widths of the name and of the bar."""
    name = 34 if width >= 150 else 26 if width >= WIDE else 22 if width >= NARROW else 16
    fixed = 2 + name + 1 + 7 + 8 + 8 + 2
    fixed += 15 if width >= NARROW else 0
    fixed += 13 + 19 if width >= WIDE else 0
    return name, max(width - fixed - 1, 0)


def heading(path: DataPath, width: int) -> Line:
    """Return the headings of the columns."""
    name, bar = _columns(width)
    shown = f"  {'STAGE':<{name}} {'io/s':>7}"
    shown += f" {'MiB/s':>7}" if width >= NARROW else ""
    shown += f" {'could carry':>12} {'used':<18}" if width >= WIDE else ""
    shown += f" {'queue':>6}" if width >= NARROW else ""
    shown += f" {'await':>7} {'own':>7}"
    known = wait(path.longest)
    forms = (f"where {known} ms go", f"of {known} ms", "wait") if path.longest else ("waits unknown", "no waits", "")
    return text((f"{shown}  {next((form for form in forms if len(form) <= bar), '')}", FAINT))


def stage_line(item: StageRow, width: int) -> Line:
    """Return the line of a stage."""
    stage, palette = item.stage, item.scene.palette
    name, bar = _columns(width)
    style = PLAIN if item.severity is None else palette.severity(item.severity)
    mark = MARKS.get(item.severity, " ") if item.severity is not None else "=" if stage.full else " "
    title = palette.fit(("  " if stage.branch else "") + palette.word(stage.name, 60), name)
    parts: list[str | tuple[str, Style]] = [(f"{mark} {title}", style)]
    parts.append(f" {_figure(stage.requests, number(stage.requests)):>7}")
    if width >= NARROW:
        known = stage.bytes
        about = "~" if stage.derived_use else ""
        parts.append(f" {_figure(known, about + _mib(known)):>7}")
    if width >= WIDE:
        parts.append((f" {_capacity(stage):>12} ", PLAIN if stage.carries is not None else FAINT))
        parts += _used(stage, style, palette)
    if width >= NARROW:
        parts.append(f" {_figure(stage.queue, number(stage.queue)):>6}")
    parts.append(f" {_waited(stage, stage.wait):>7}")
    parts.append((f" {_waited(stage, stage.own):>7}  ", STRONG if stage.own else PLAIN))
    return (*text(*parts), *_bar(item, bar, style, wide=width >= WIDE))


def _figure(value: float | None, shown: str) -> str:
    return UNKNOWN if value is None else shown


def _mib(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    shown = value / MIB
    return f"{shown:.0f}" if shown >= 9999.5 else f"{shown:.1f}"


def _capacity(stage: Stage) -> str:
    if stage.carries is None:
        return UNKNOWN
    if stage.unit == "per_second":
        return f"{number(stage.carries)}/s"
    return decimal_rate(stage.carries) if stage.kind is StageKind.MEMORY else flow(stage.carries)


def _used(stage: Stage, style: Style, palette: Palette) -> list[str | tuple[str, Style]]:
    if stage.used is None:
        return [(f"{UNKNOWN:<18}", FAINT)]
    about = "~" if stage.derived_use else ""
    share = f"{about}{percent(min(stage.used, 9.99))}%"
    return [*pairs(bar(stage.used, 10, palette, OTHER if style is PLAIN else style)), f" {share:>7}"]


def _waited(stage: Stage, seconds: float | None) -> str:
    """Return a wait in milliseconds: `>` marks a lower bound, `~` a derived one, `-` no requests, `?` unknown."""
    if seconds is None:
        return NONE if stage.requests == 0 and stage.load is not None and stage.load.exact else UNKNOWN
    mark = ">" if stage.least and seconds else "~" if stage.derived_wait else ""
    return f"{mark}{wait(seconds)}"


def _bar(item: StageRow, width: int, style: Style, *, wide: bool) -> Line:
    """Return the bar: the stage's own wait bright, the wait below it dark; words where a wait is unknown."""
    stage, palette = item.stage, item.scene.palette
    if width < 6:
        return ()
    longest = item.path.longest
    if stage.wait is None or not longest:
        return _wordy(item, width, style, wide=wide)
    glyphs = layers(ascii=palette.ascii)

    def cells(seconds: float | None) -> int:
        return min(max(round((seconds or 0.0) / longest * width), 1 if seconds else 0), width)

    if stage.own is None:
        return text((glyphs[2] * cells(stage.wait), FAINT))
    own = cells(stage.own)
    below = max(min(cells(stage.wait) - own, width - own), 0)
    bright = style if item.severity is not None else PLAIN
    drawn = text((glyphs[0] * own, bright), (glyphs[2] * below, FAINT))
    left = width - own - below - 1
    said = _reason(item, left)
    return (*drawn, *text((f" {said}", bright))) if said else drawn


def _reason(item: StageRow, room: int) -> str:
    """Return why a stage is marked, in words that fit; "" if it is not, or if none fits."""
    if item.stage.full:
        return "at its limit" if room >= 12 else "full" if room >= 4 else ""
    if item.severity not in {Severity.CRITICAL, Severity.WARNING}:
        return ""
    fault = item.scene.palette.word(item.fault, 60)
    return fault if cell_len(fault) <= room else "accused" if room >= 7 else ""


def _wordy(item: StageRow, width: int, style: Style, *, wide: bool) -> Line:
    stage, palette = item.stage, item.scene.palette
    if said := _reason(item, width):
        return text((said, style))
    if stage.requests == 0 and stage.load is not None and stage.load.exact:
        return ()
    if stage.used is not None and not wide:
        about = "~" if stage.derived_use else ""
        share = f"{about}{percent(stage.used)}%"
        of = f"{share} of {_capacity(stage)}" if stage.carries is not None else ""
        return text((of if of and cell_len(of) <= width else f"{share} used"[:width], FAINT))
    dots = f" {palette.dot if not palette.ascii else '.'}" * max((width - 9) // 2, 0)
    return text((f"{palette.dot if not palette.ascii else '.'} unknown{dots}"[:width], FAINT))


def note_line(item: StageRow) -> Line | None:
    """Return the note below a stage, None if there is nothing to add."""
    stage, palette = item.stage, item.scene.palette
    facts = [stage.note or stage.reason]
    if stage.shared:
        others = ", ".join(stage.shared[:3])
        more = f" and {len(stage.shared) - 3} more" if len(stage.shared) > 3 else ""
        facts.append(f"shared with {others}{more}")
    if stage.derived_wait:
        facts.append("wait derived from outstanding requests and rate")
    if len(stage.things) > 1 and stage.kind in {StageKind.DISKS, StageKind.ARRAY, StageKind.VOLUME}:
        names = [thing.label for thing in stage.things]
        facts.append(" ".join(names) if len(names) <= _NAMED else f"{names[0]} to {names[-1]}")
    said = f" {palette.dot} ".join(palette.word(fact, 120) for fact in facts if fact)
    return text((f"    {said}", FAINT)) if said else None
