"""Verdict: the first pane of a node without findings, with the checks that passed and those that were not made."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sdstop.analysis.tasks.stalled import LOAD_RULE
from sdstop.core.format import duration, plural, utc
from sdstop.core.headline import OK, UNKNOWN
from sdstop.tui.scene import Scene
from sdstop.tui.views.vitals import node, stalled
from sdstop.tui.widgets.palette import CHIP, FAINT, STRONG, Line, text, width_of
from sdstop.tui.widgets.pane import Row, words

_PASSED, _PASSED_NARROW = 4, 2
"""Number of passed checks that are named while other panes need the lines."""
_NARROW = 90
"""Cells of the screen below which columns are left out."""
_MUCH = 0.5
"""Minimum share of time with waiting tasks for the check of the load to go first."""
_MARGIN = 18
"""Cells of a label and of the key that lists all checks."""


def verdict_rows(scene: Scene, width: int, more: int = 0) -> list[Row]:
    """Return the headline, the first passed checks and `more` of them, and the numbers of the others."""
    return [words(line) for line in _lines(scene, width, more)]


def unnamed_checks(scene: Scene, width: int) -> int:
    """Return the number of passed checks that `verdict_rows` has no line for."""
    return max(len(scene.look.judgement.ruled_out) - _named(width), 0)


def _looks_loaded(scene: Scene) -> bool:
    """Return whether the load per processor or the tasks waiting for I/O would worry a reader."""
    known, stall = node(scene), stalled(scene, "io")
    load = known.load1 / known.cpus if known is not None and known.load1 is not None and known.cpus else 0.0
    return load > 1 or (stall or 0.0) >= _MUCH


def _named(width: int) -> int:
    return _PASSED if width >= _NARROW else _PASSED_NARROW


def _lines(scene: Scene, width: int, more: int) -> Iterator[Line]:
    said, palette = scene.headline, scene.palette
    judgement = scene.look.judgement
    watched = duration(scene.now.monotonic - scene.session.began)
    head = palette.word(said.found or said.rest[0], 200)
    chip = "  ok " if said.code == OK and scene.is_settled else "    ?"
    unknown = "unknown: " if said.code == UNKNOWN else ""
    line = text((chip, CHIP), " ", (f"{unknown}{head}", STRONG))
    tail = f"{watched} watched"
    gap = width - width_of(line) - len(tail) - 1
    yield (*line, *text(" " * gap, (tail, FAINT))) if gap >= 2 else line
    open_ = [f"{entry.subject}: {entry.summary}" for entry in scene.unknown() if not entry.calm]
    open_ += [f"state not recorded: {said.unjudged}"] if said.unjudged else []
    shown = open_[: _named(width) // 2 + 1]
    for at, reason in enumerate(shown, 1):
        more_of = f" (+{len(open_) - at} more)" if at == len(shown) < len(open_) else ""
        room = max(width - 10 - len(more_of), 10)
        fact = textwrap.shorten(palette.word(reason, 300), room, placeholder=palette.ellipsis)
        yield text((f"   {'?' if at == 1 else '':<5}", FAINT), fact, (more_of, FAINT))
    for at, entry in enumerate(scene.ended()[: _named(width) // 2]):
        lasted = f"{duration(entry.lasted(scene.now.monotonic) or 0.0)}, until {utc(entry.until or 0.0)}"
        past = palette.word(f"{entry.title}  {entry.subject}: {lasted}", 300)
        shown_past = textwrap.shorten(past, max(width - 10, 10), placeholder=palette.ellipsis)
        yield text((f"   {'' if at else 'over':<5}", FAINT), shown_past)
    passed = [(subject, verdict) for verdict in judgement.ruled_out for subject in verdict.subjects[:1]]
    if _looks_loaded(scene):
        passed.sort(key=lambda each: each[1].rule != LOAD_RULE)
    for at, (subject, verdict) in enumerate(passed[: _named(width) + more]):
        label = "pass" if not at else ""
        others = f" +{len(verdict.others)}" if verdict.others else ""
        fact = palette.word(f"{subject}{others}: {verdict.summary}" if subject else verdict.summary, 300)
        yield text((f"   {label:<5}", FAINT), textwrap.shorten(fact, max(width - 10, 10), placeholder=palette.ellipsis))
    good = sum(len(verdict.subjects) for verdict in judgement.ruled_out)
    rules = scene.checks()
    facts = [f"{plural(good, 'check')} passed"] if good else []
    if rules.not_applicable and not scene.session.origin.live:
        lacking = f"{plural(rules.not_applicable, 'rule')} not applicable or not recorded"
        facts += [lacking] if len(", ".join([*facts, lacking])) + _MARGIN <= width else []
    if facts:
        yield text((f"   {'all':<5}", FAINT), (f"{', '.join(facts)}; press !", FAINT))
