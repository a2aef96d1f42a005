"""Footer bar: the bottom line of the screen, with key hints, a message or a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from sdstop.core.format import safe
from sdstop.tui.widgets.keys import Hint, pressed
from sdstop.tui.widgets.palette import BANNER, CURSOR, FAINT, STRONG, Line, Palette, clickable, text, width_of

LINGER = 8.0
"""Seconds for which a message is shown."""


class Prompt(Struct):
    """A prompt for one line of text.

    `done` receives the text, or None if the prompt was canceled; `typed`, if given, receives every intermediate text
    and returns the `note` shown behind it. Tab completes from `choices`, and Up brings back the `recalled` text.
    """

    label: str
    text: str
    done: Callable[[str | None], None]
    typed: Callable[[str], str | None] | None = None
    choices: Sequence[str] = ()
    at: int = 0
    note: str = ""
    recalled: str = ""


def _pressing(style: Style, name: str) -> Style:
    return clickable(style, f"app.simulate_key({pressed(name)!r})")


def _keys_line(names: str) -> Line:
    """Return the keys of a hint; each is pressed by a click on it."""
    parts: list[Segment] = []
    for name in names.split():
        parts += [Segment(" ")] if parts else []
        parts.append(Segment(name, _pressing(STRONG, name)))
    return tuple(parts)


class FooterBar(Widget):
    """Bottom line of a screen."""

    DEFAULT_CSS = "FooterBar { height: 1; width: 1fr; dock: bottom; }"

    def __init__(self, hints: Sequence[Hint]) -> None:
        """Create the line with key hints, the most important first."""
        super().__init__()
        self.hints = tuple(hints)
        self.palette = Palette()
        self.question: Prompt | None = None
        self._message: tuple[str, bool] | None = None

    def show(self, palette: Palette) -> None:
        """Set the palette and repaint if it changed."""
        if palette != self.palette:
            self.palette = palette
            self.refresh()

    def say(self, message: str, *, bad: bool = False) -> None:
        """Show a message for some seconds, or until the next key."""
        self._message = said = (message, bad)
        self.refresh()

        def forget() -> None:
            if self._message is said:
                self.hush()

        self.set_timer(LINGER, forget)

    def hush(self) -> None:
        """Show the hints again."""
        if self._message is not None:
            self._message = None
            self.refresh()

    def ask(self, question: Prompt) -> None:
        """Show a prompt."""
        question.at = len(question.text)
        self.question = question
        self._message = None
        self.refresh()

    def _finish(self, answer: str | None) -> None:
        question, self.question = self.question, None
        self.refresh()
        if question is not None:
            question.done(answer)

    def edit(self, key: str, character: str | None) -> None:
        """Apply a key to the prompt."""
        q = self.question
        if q is None:
            return
        before = q.text
        match key:
            case "enter":
                self._finish(q.text)
            case "escape":
                self._finish(None)
            case "backspace" | "ctrl+h":
                if not q.text:
                    self._finish(None)
                else:
                    q.text, q.at = q.text[: max(q.at - 1, 0)] + q.text[q.at :], max(q.at - 1, 0)
            case "delete":
                q.text = q.text[: q.at] + q.text[q.at + 1 :]
            case "ctrl+u" | "up":
                recalled = q.recalled or q.text
                q.text, q.at = (q.text[q.at :], 0) if key == "ctrl+u" else (recalled, len(recalled))
            case "left" | "right":
                q.at = max(0, min(q.at + (1 if key == "right" else -1), len(q.text)))
            case "home" | "ctrl+a" | "end" | "ctrl+e":
                q.at = 0 if key in {"home", "ctrl+a"} else len(q.text)
            case "tab":
                self._complete(q)
            case _ if character is not None and character.isprintable():
                q.text, q.at = q.text[: q.at] + character + q.text[q.at :], q.at + 1
        self._typed(q, before)

    def paste(self, pasted: str) -> None:
        """Insert the first line of pasted text into the prompt."""
        q = self.question
        if q is not None:
            before, first = q.text, "".join(pasted.splitlines()[:1])
            q.text, q.at = q.text[: q.at] + first + q.text[q.at :], q.at + len(first)
            self._typed(q, before)

    def _typed(self, question: Prompt, before: str) -> None:
        self.refresh()
        if self.question is question and question.text != before and question.typed is not None:
            question.note = question.typed(question.text) or ""

    @staticmethod
    def _complete(question: Prompt) -> None:
        fits = [choice for choice in question.choices if choice.startswith(question.text)]
        if fits:
            common = fits[0]
            for choice in fits[1:]:
                while not choice.startswith(common):
                    common = common[:-1]
            question.text = common
            question.at = len(common)

    def render_line(self, y: int) -> Strip:
        """Paint the line."""
        del y
        width = self.size.width
        style = self.palette.style
        strip = Strip([Segment(s.text, style(s.style)) for s in self._line(width)])
        return strip.adjust_cell_length(width, style(None))

    def _line(self, width: int) -> Line:
        q = self.question
        if q is not None:
            return self._question_line(q, width)
        if self._message is not None:
            message, bad = self._message
            style = self.palette.severity(None) if bad else STRONG
            return text((self.palette.fit(f" {self.palette.word(message, width)}", width), style))
        line: list[Segment] = [Segment(" ")]
        for key, what in self.hints:
            more = (*_keys_line(key), Segment(f" {what}", _pressing(FAINT, key.split()[0])), Segment("  "))
            if width_of(line) + width_of(more) > width + 2:
                break
            line.extend(more)
        return tuple(line)

    def _question_line(self, q: Prompt, width: int) -> Line:
        before, under, after = (
            safe(part, 4096) for part in (q.text[: q.at], q.text[q.at : q.at + 1], q.text[q.at + 1 :])
        )
        if self.palette.ascii:
            before, under, after = (self.palette.word(part, 4096) for part in (before, under, after))
        fits = [c for c in q.choices if c.startswith(q.text)][:12] if q.choices else []
        note = self.palette.word(q.note, 200) if q.note else " ".join(fits)
        hint = f"   {note}" if note else ""
        room = max(width - len(q.label) - 4, 1)
        shown = before[-room:]
        return text((f" {q.label} ", BANNER), " ", shown, (under or " ", CURSOR), after, (hint, FAINT))
