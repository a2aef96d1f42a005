"""The panes of the first screen, and what must hold of it at every size."""

from __future__ import annotations

from sdstop.tui.views.cause import Cause, causes
from sdstop.tui.views.overview import Overview
from tests.tui.screens import Screen

SIZES = ((60, 15), (80, 24), (120, 40), (160, 48), (200, 60), (300, 80))


def view(shown: Screen) -> Overview:
    """Return the first view of a dashboard."""
    found = shown.app.main.shown
    assert isinstance(found, Overview)
    return found


def panes(shown: Screen) -> dict[str, tuple[int, int, int, list[str]]]:
    """Return left edge, first line, width and lines of each visible pane of the view, by its id."""
    found, painted = {}, cells(shown)
    for pane in view(shown).query("Pane"):
        region = pane.region
        if region.width and region.height and all(each.display for each in (pane, *pane.ancestors[:1])):
            lines = [line[region.x : region.right] for line in painted[region.y : region.bottom]]
            found[str(pane.id)] = (region.x, region.y, region.width, lines)
    return found


def cells(shown: Screen) -> list[str]:
    """Return every line with its blanks, so that columns can be cut out."""
    return ["".join(segment.text for segment in line) for line in shown.segments()]


def joined(lines: list[str]) -> str:
    """Return lines as one text with single blanks."""
    return " ".join(" ".join(lines).split())


def check_first_screen(shown: Screen) -> None:
    """Assert what holds of every first screen: nothing essential is cut, nothing is empty, all is within the screen."""
    assert "cannot be shown" not in shown.text()
    found = panes(shown)
    scene = shown.app.scene
    assert scene is not None
    first = next(iter(causes(scene)), None)
    if first is not None:
        _check_cause(first, joined(found["cause"][3]), shown)
    for name, (_, _, _, lines) in found.items():
        heads = 1 if lines[0].startswith(("─ ", "- ")) else 0
        assert any(line.strip() for line in lines[heads:]), (name, shown.text())


def _check_cause(first: Cause, text: str, shown: Screen) -> None:
    assert first.entry.title in text
    finding = first.finding
    said = (finding.cause, finding.impact) if finding is not None else (first.entry.summary,)
    for sentence in said:
        assert " ".join(shown.app.palette.word(sentence, 600).split()) in text, shown.text()
    if finding is not None and finding.advice and shown.app.size.height >= 24:
        assert " ".join(shown.app.palette.word(finding.steps[0], 600).split()) in text, shown.text()
