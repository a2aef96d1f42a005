"""Rebuilds of all kinds, one line each: object, progress, speed, ETA and findings."""

from __future__ import annotations

from rich.style import Style

from sdstop.analysis.rebuilds.advice import advice
from sdstop.analysis.rebuilds.rebuilding import RebuildAnalysis, rebuild_analyses
from sdstop.core.finding import Finding
from sdstop.core.format import bytes_, done, duration, quantity
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import OTHER, PLAIN, Line, text, width_of
from sdstop.tui.widgets.pane import Row

_BAR, _SHORT = 24, 10
"""Cells of the bar, and of the bar on a narrow screen."""
_NAME, _FEWEST = 30, 12
"""Cells of the name at most, and at least."""
_SURE = 0.5
"""Minimum confidence for an ETA without `about`."""


def all_rebuilds(scene: Scene) -> list[Rebuild]:
    """Return all rebuilds, sorted by array and operation."""
    return sorted(scene.rows(Rebuild)[0].values(), key=lambda row: (row.array, row.operation))


def rebuild_row(rebuild: Rebuild, scene: Scene, *, named: bool) -> Row:
    """Return the row of a rebuild; `named` includes the name of the array. Enter opens the facts."""
    known = next((k for k in rebuild_analyses(scene.window) if k.rebuild == rebuild), None)
    thing = FactLink(FactSubject(rebuild.array, ((Rebuild, (rebuild.array, rebuild.operation)),)))
    key = ("rebuild", rebuild.array, rebuild.operation)
    search = f"{rebuild.array} {rebuild.operation} rebuild"
    return Row(key, thing, lambda width: _line(rebuild, known, scene, width, named=named), search)


def _line(rebuild: Rebuild, known: RebuildAnalysis | None, scene: Scene, width: int, *, named: bool) -> Line:
    """Paint a rebuild; if narrow, shorten the bar, then omit amounts and range, the rule, and letters of the name.

    The ETA is last and matters most.
    """
    palette = scene.palette
    said = [f for f in scene.in_force if _about(f, rebuild)]
    worst = max((f.severity for f in said), key=lambda s: s.rank, default=None)
    style = palette.severity(worst) if worst is not None else PLAIN
    filled = OTHER if style is PLAIN else style
    flag = next((f.rule.removeprefix("rebuild-") for f in said if f.rule != "rebuild-running"), "")
    operation = f"{palette.word(rebuild.operation, 20):<9} "

    def painted(cells: int, flagged: str, letters: int, *, full: bool) -> Line:
        name = f"{palette.word(rebuild.array, letters)} " if named else ""
        told = "  ".join(_words(rebuild, known, scene, full=full, ranged=cells == _BAR))
        head = text((f"  {name}{operation}", style))
        return (
            *head,
            *bar(rebuild.progress, cells, palette, filled),
            *text(f" {told}", _flag(flagged, style)),
        )

    fitted: Line = ()
    for cells, full, flagged in ((_BAR, True, flag), (_SHORT, True, flag), (_SHORT, False, flag), (_SHORT, False, "")):
        fitted = painted(cells, flagged, _NAME, full=full)
        if width_of(fitted) <= width:
            return fitted
    letters = min(len(rebuild.array), _NAME) - (width_of(fitted) - width)
    return painted(_SHORT, "", max(letters, _FEWEST), full=False)


def _flag(flag: str, style: Style) -> tuple[str, Style]:
    return (f"  {flag}" if flag else "", style)


def _about(finding: Finding, rebuild: Rebuild) -> bool:
    return finding.rule.startswith("rebuild-") and finding.subject == rebuild.array


def _words(rebuild: Rebuild, known: RebuildAnalysis | None, scene: Scene, *, full: bool, ranged: bool) -> list[str]:
    found: list[str] = []
    if rebuild.done is not None and rebuild.total:
        found.append(f"{done(rebuild.progress):>5}%")
        if full:
            found.append(f"{bytes_(rebuild.done)} of {bytes_(rebuild.total)}")
    if rebuild.state != "running":
        found.append(scene.palette.word(rebuild.state, 20))
    return found + _pace(rebuild, known, ranged=ranged)


def _pace(rebuild: Rebuild, known: RebuildAnalysis | None, *, ranged: bool) -> list[str]:
    """Return speed and ETA from observed progress, or as reported by the source if too little was observed.

    The source's figures are misleading after a start and without progress.
    """
    seen = known.pace if known is not None else None
    if known is not None and known.stands and known.motion is not None:
        still = known.motion
        return [f"no progress for {'' if still.moved else 'at least '}{duration(still.unchanged)}"]
    if known is not None and known.at_end:
        return ["all issued, not all written yet"]
    rate = seen.rate if seen is not None and seen.rate is not None else rebuild.speed
    told = [] if rate is None else [quantity(rate, "bytes_per_second")]
    if seen is not None and seen.eta is not None and seen.latest is not None:
        eta = f"ETA {'' if (seen.confidence or 0.0) >= _SURE else 'about '}{duration(seen.eta)}"
        told.append(eta + (f" ({duration(seen.soonest)} to {duration(seen.latest)})" if ranged else ""))
    elif seen is not None and seen.eta is not None and rebuild.kind != "md":
        told.append(f"ETA about {duration(seen.eta)}")  # the source's ETA is a mean since the start
    elif rebuild.remaining is not None:
        told.append(f"{advice(rebuild).teller}: {duration(rebuild.remaining)} left")
    return told
