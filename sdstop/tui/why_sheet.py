"""Why sheet: one finding in full, with its numbers and the picture that proves it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.choice import picture_of
from sdstop.tui.pictures.traffic import load_picture, wait_picture
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.sheet import BACK, Sheet
from sdstop.tui.views.cause import Cause, body_lines, title_line
from sdstop.tui.views.measured import measure_lines, measures
from sdstop.tui.why import entry_mark, why_rows
from sdstop.tui.widgets.palette import Line
from sdstop.tui.widgets.pane import Pane, Row, words

_WIDE, _VERY_WIDE = 150, 190
"""Minimum widths for numbers and picture beside the text, and for a wider text."""
_LEFT, _LEFT_VERY = 84, 100
"""Cells of the text on such screens."""
_MEASURED = 110
"""Maximum cells of a number with its bar."""


class WhySheet(Sheet):
    """Details of an entry, updated with each scene while the entry is active."""

    hints = (("Enter", "evidence"), *BACK)

    def __init__(self, entry: FindingEntry) -> None:
        """Create the sheet for an entry."""
        super().__init__("Why")
        self.entry = entry
        self.measured = Pane("Measured", cursor=False)
        self.picture = Pane("Picture", cursor=False)
        self.second = Pane("Latency", cursor=False)
        self.proof = Vertical(self.measured, self.picture, self.second)

    def compose(self) -> ComposeResult:
        """Lay out the parts; numbers and picture are beside the text if there is room."""
        yield self.status
        yield Horizontal(self.pane, self.proof)
        yield self.bar
        yield self.foot

    def text(self) -> str:
        """Return the whole text of the sheet, with the numbers."""
        panes = [self.pane, *([self.measured] if self.proof.display else [])]
        return "\n\n".join(pane.text() for pane in panes)

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the panes with rows."""
        note = ""
        if self.entry.until is None:
            current = {c.key: c for c in (*scene.findings(), *scene.unknown())}
            if self.entry.key in current:
                self.entry = current[self.entry.key]
            else:
                note = f"not active at {scene.mode.value.lower()} time; last known state"
        mark = "".join(s.text for s in entry_mark(self.entry, scene.palette)).strip()
        self.pane.title = f"Why {mark} {scene.palette.word(self.entry.subject, 60)}"
        cause = Cause(self.entry, scene, (), self.entry.severity)
        beside = self._show_proof(cause, scene, width)
        left = width if not beside else _LEFT_VERY if width >= _VERY_WIDE else _LEFT
        self.pane.styles.width = left if beside else "1fr"
        self.pane.put(_rows(cause, scene, left, numbered=not beside), scene.palette, note)

    def _show_proof(self, cause: Cause, scene: Scene, width: int) -> bool:
        """Show numbers and picture beside the text; return whether there is room and anything to show."""
        finding, height = cause.finding, self.size.height - 2 - self.bar.lines
        numbers = measures(finding) if finding is not None and self.entry.until is None else []
        self.proof.display = bool(numbers) and width >= _WIDE
        if not self.proof.display or finding is None:
            return False
        room = width - (_LEFT_VERY if width >= _VERY_WIDE else _LEFT) - 1
        left = height - len(numbers) - 1
        self.measured.put(
            _words(measure_lines(numbers, cause, scene.palette, room, height)), scene.palette, "value, against"
        )
        picture = picture_of(finding, scene)
        taken = self._draw(self.picture, picture, room, left, scene)
        second = wait_picture(scene, finding) or load_picture(finding, scene)
        if second is not None and (picture is None or second.title != picture.title):
            taken += self._draw(self.second, second, room, left - taken, scene)
        else:
            self.second.display = False
        self.measured.styles.height = len(numbers) + 1 if taken else "1fr"
        return True

    @staticmethod
    def _draw(pane: Pane, picture: Picture | None, width: int, room: int, scene: Scene) -> int:
        """Draw a picture in at most `room` lines; return how many it takes, 0 if it is not shown."""
        pane.display = picture is not None and room > picture.steps[0]
        if picture is None or not pane.display:
            return 0
        lines = picture.fit(room - 1)
        drawn = pane.guarded(lambda: picture.draw(width, lines), lambda said: [pane.failed_line(said)])
        pane.title = picture.title
        pane.styles.height = lines + 1
        pane.put(_words(drawn), scene.palette, picture.note)
        return lines + 1


def _rows(cause: Cause, scene: Scene, width: int, *, numbered: bool) -> list[Row]:
    """Return title, cause and impact as on the first screen, then the other facts of a finding."""
    if cause.finding is None:
        return why_rows(cause.entry, scene, width)
    numbers = measure_lines(measures(cause.finding), cause, scene.palette, min(width - 2, _MEASURED), 99)
    lines: list[Line] = [title_line(cause, width - 1), *body_lines(cause, min(width, _MEASURED), 0)]
    return [*_words(lines), *why_rows(cause.entry, scene, width, numbers if numbered else ())]


def _words(lines: list[Line]) -> list[Row]:
    return [words(line) for line in lines]
