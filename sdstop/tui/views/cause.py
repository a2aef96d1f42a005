"""Cause: the findings of the first screen, one in full with why, hurt and do, the others in one line each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len

from sdstop.core.advice import advice_lines
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import accepted_text
from sdstop.core.format import duration, plural
from sdstop.core.headline import UNKNOWN
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.views.finding_rows import entry_row
from sdstop.tui.widgets.palette import MARKS, UNKNOWN_WORD, Line, Palette, text, width_of
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.roles import role

_TEXT = 8
"""Column at which texts begin, below the title."""
_ROOMY = 110
"""Minimum width for the word "standing" beside a time."""
_LONGEST = 71
"""Maximum cells of title, why, hurt and the first action, so that they fit on 80 columns."""
CHIPS = {Severity.CRITICAL: "!CRIT", Severity.WARNING: "*WARN", Severity.INFO: " info", None: UNKNOWN_WORD}
ROLES = {Severity.CRITICAL: "crit", Severity.WARNING: "warn"}


class Cause(Struct, frozen=True):
    """A finding, or something unknown, with the entries that follow from it; `severity` is the worst of all."""

    entry: FindingEntry
    scene: Scene
    follows: tuple[FindingEntry, ...] = ()
    severity: Severity | None = None

    @property
    def finding(self) -> Finding | None:
        """The finding, None for something unknown."""
        return self.entry.finding

    @property
    def opens(self) -> FindingEntry:
        """Target that Enter opens."""
        return self.entry

    @property
    def role(self) -> str:
        """Role of its color: of the severity, text for info, dim for something unknown."""
        return "dim" if self.severity is None else ROLES.get(self.severity, "text")


def causes(scene: Scene) -> list[Cause]:
    """Return the active findings, the worst first, each with those that it explains, then unexpected unknowns.

    Without findings, the list is empty unless the result of a check is unknown.
    """
    entries = scene.findings()
    by_key = {entry.key: entry for entry in entries}
    found: list[Cause] = []
    findings = [entry.finding for entry in entries if entry.finding is not None]
    for led in by_cause(findings):
        entry = by_key[findings[led.place].id]
        if led.follows and found:
            found[-1] = Cause(found[-1].entry, scene, (*found[-1].follows, entry), found[-1].severity)
        else:
            found.append(Cause(entry, scene, (), led.severity))
    if not found and scene.headline.code != UNKNOWN:
        return []
    return found + [Cause(entry, scene) for entry in scene.unknown() if not entry.calm]


# --- texts ------------------------------------------------------------------------------------------------


def _texts(cause: Cause) -> tuple[tuple[str, str], ...]:
    """Return the labeled sentences: why and hurt."""
    finding, entry = cause.finding, cause.entry
    if finding is None:
        good = sum(len(verdict.subjects) for verdict in cause.scene.look.judgement.ruled_out)
        passed = f"No findings; {plural(good, 'thing')} checked and found good."
        return (("why", entry.summary), *((("pass", passed),) if good and not cause.scene.in_force else ()))
    texts = (("acc", accepted_text(finding)), ("why", finding.cause), ("hurt", finding.impact))
    return tuple((label, said) for label, said in texts if said)


def _actions(cause: Cause) -> tuple[str, ...]:
    return tuple(str(each) for each in cause.finding.advice) if cause.finding is not None else ()


@lru_cache(maxsize=512)
def _wrapped(said: str, width: int) -> tuple[str, ...]:
    return tuple(textwrap.wrap(said, max(width, 16), break_on_hyphens=False)) or ("",)


# --- lines ------------------------------------------------------------------------------------------------


def chip(severity: Severity | None) -> tuple[str, str, str]:
    """Return the word of a severity with its mark, and the roles of its text and of its ground."""
    word = CHIPS[severity]
    match severity:
        case Severity.CRITICAL:
            return word, "critfg", "critbg"
        case Severity.WARNING:
            return word, "warnfg", "warnbg"
        case _:
            return word, "playfg", "playbg"


def title_line(cause: Cause, width: int) -> Line:
    """Return the title with its subject and, if there is room, how long it has lasted."""
    palette = cause.scene.palette
    word, fore, ground = chip(cause.severity)
    title = palette.word(cause.entry.title, 60)
    head = text((word, role(fore, ground, bold=True)), " ", (title, role(cause.role, bold=True)))
    since = _since(cause)
    room = width - width_of(head) - 2
    subject = _subject(cause, room, palette)
    line = (*head, *text((f"  {subject}", role(cause.role))))
    gap = width - width_of(line) - len(since) - 1
    return (*line, *text(" " * gap, (since, role("dim")))) if since and gap >= 1 else line


def _subject(cause: Cause, room: int, palette: Palette) -> str:
    """Return the subject within `room` cells, with the volume of a kernel name; the end of its name if it is longer."""
    subject = cause.entry.subject
    drive = cause.scene.drives().get(subject) if subject.startswith("dm-") else None
    shown = palette.word(subject, 100)
    if drive is not None and drive.volume:
        known = f"{shown} ({palette.word(drive.volume, 60)})"
        shown = known if cell_len(known) <= room else shown
    if cell_len(shown) > room:
        shown = shown.rpartition("/")[2]
    if cell_len(shown) > room:
        shown = palette.ellipsis + shown[-max(room - 1, 0) :] if room > 3 else ""
    return shown


def _since(cause: Cause) -> str:
    lasted = cause.entry.lasted(cause.scene.now.monotonic)
    said = duration(lasted) if lasted else ""  # nothing has lasted in one frame
    finding = cause.finding
    if finding is not None and finding.accepted is not None:
        return f"{said}, accepted" if said else "accepted"
    return f"{said}, standing" if finding is not None and finding.standing and said else said


def body_lines(cause: Cause, width: int, actions: int) -> list[Line]:
    """Return why, hurt and up to `actions` steps; long sentences are wrapped, never cut."""
    said = _said_lines(cause, width)
    return [*said, *(line for step in _step_lines(cause, width, actions)[: _whole(cause, actions)] for line in step)]


def body_heights(cause: Cause, width: int, most: int) -> list[int]:
    """Return how many lines `body_lines` has with 1 to `most` steps."""
    said = len(_said_lines(cause, width))
    steps = [*map(len, _step_lines(cause, width, most))]
    return [said + sum(steps[: _whole(cause, actions)]) for actions in range(1, most + 1)]


def _said_lines(cause: Cause, width: int) -> list[Line]:
    lines: list[Line] = []
    word = cause.scene.palette.word
    for label, said in _texts(cause):
        style = role("strong") if label == "why" else role("text")
        for at, part in enumerate(_wrapped(word(said, 600), width - _TEXT - 1)):
            lines.append(text((f"   {label if not at else '':<5}", role("dim")), (part, style)))
    return lines


def _step_lines(cause: Cause, width: int, actions: int) -> list[list[Line]]:
    """Return the lines of each of the first steps."""
    word = cause.scene.palette.word
    return [
        [
            text((f"   {'do' if not at and not row else '':<5}", role("dim")), part)
            for row, part in enumerate(advice_lines(word(action, 600), max(width - _TEXT - 1, 16)))
        ]
        for at, action in enumerate(_actions(cause)[:actions])
    ]


def _whole(cause: Cause, actions: int) -> int:
    """Return how many of the first steps are shown: not the last one if it introduces a step that has no line."""
    steps = _actions(cause)[:actions]
    return len(steps) - bool(steps and steps[-1].endswith(":"))


def follows_line(cause: Cause, width: int) -> Line:
    """Return the findings that follow from one, each title once; those beyond the width are left out."""
    palette = cause.scene.palette
    lead = f" {'`' if palette.ascii else chr(0x2514)} +{len(cause.follows)} follow: "
    room = width - len(lead) - 1
    names: list[str] = []
    titles: set[str] = set()
    for entry in cause.follows:
        title, subject = entry.title, entry.subject.rpartition("/")[2]
        if title.partition(":")[0] in titles:
            continue
        titles.add(title.partition(":")[0])
        is_code = "_" in subject and subject.isupper()  # a code of Ceph's health repeats its title
        said = palette.word(title if is_code else f"{title} {subject}", 80)
        if sum(map(len, names)) + 2 * len(names) + len(said) > room:
            break
        names.append(said)
    if not names:
        return text((lead.removesuffix(": "), role("dim")))
    return text((lead, role("dim")), (", ".join(names), role(cause.role)))


def brief_line(cause: Cause, width: int) -> Line:
    """Return a finding in one line: severity, title, subject, the beginning of its cause, and for how long."""
    palette = cause.scene.palette
    word, _, _ = chip(cause.severity)
    title = palette.word(cause.entry.title, 60)
    head = text((f"{word} {title}", role(cause.role, bold=cause.severity in MARKS)))
    since = _since(cause)
    since = since if width >= _ROOMY else since.partition(",")[0]
    room = width - width_of(head) - len(since) - 3
    subject = _subject(cause, room, palette)
    line = (*head, *text((f" {subject}", role(cause.role)))) if subject else head
    if cause.follows:
        line = (*line, *text((f" +{len(cause.follows)} follow", role("dim"))))
    room = width - width_of(line) - len(since) - 4
    said = _beginning(palette.word(next((s for _, s in _texts(cause)), ""), 300), room, palette)
    line = (*line, *text((f"  {said}", role("dim")))) if said else line
    gap = width - width_of(line) - len(since) - 1
    return (*line, *text(" " * gap, (since, role("dim")))) if gap >= 1 else line


def _beginning(said: str, room: int, palette: Palette) -> str:
    """Return the words of a text that fit, "" if they would be too few."""
    if cell_len(said) <= room:
        return said
    if room < 24:
        return ""
    kept = textwrap.shorten(said, room - 1, placeholder="").rstrip(",;: ")
    return f"{kept}{palette.ellipsis}" if kept else ""


# --- pane -------------------------------------------------------------------------------------------------


class CausePane(Pane):
    """Findings with a cursor: the one under it is shown in full, the others in a line each."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Create an empty pane."""
        super().__init__(id=id)
        self.causes: Sequence[Cause] = ()
        self.other: Callable[[int], list[Line]] | None = None
        self.actions = 1
        self.lines = 4
        self.breadth = 80

    def show(self, known: Sequence[Cause], lines: int, width: int, actions: int, note: str = "") -> None:
        """Show these findings in `lines` lines; the cursor stays on its finding, at first it is on the first."""
        self.causes, self.lines, self.breadth, self.actions = known, lines, width, actions
        palette = known[0].scene.palette if known else self.palette
        if not self.held or all(each.entry.key != self.cursor for each in known):
            self.cursor = known[0].entry.key if known else None
        self.put(self._rows(), palette, note)

    @property
    def selected(self) -> Cause | None:
        """The finding under the cursor."""
        return self.causes[self.place] if self.causes else None

    @property
    def place(self) -> int:
        """Index of the finding under the cursor."""
        return next((at for at, each in enumerate(self.causes) if each.entry.key == self.cursor), 0)

    def _rows(self) -> list[Row]:
        if not self.causes:
            return []
        at, width = self.place, self.breadth
        body = body_lines(self.causes[at], width, self.actions)
        room = max(self.lines - 1 - len(body), 0)
        if self.causes[at].follows and room > 0:
            body.append(follows_line(self.causes[at], width))
            room -= 1
        others = len(self.causes) - 1
        shown = others if others <= room else max(room - 1, 0)
        first = max(0, min(at, at - shown))
        last = first + shown
        rows: list[Row] = []
        for index in range(first, min(last + 1, len(self.causes))):
            each = self.causes[index]
            if index == at:
                rows.append(_row(each, title_line(each, width)))
                rows += [Row(line=_fixed(line)) for line in body]
            else:
                rows.append(_row(each, brief_line(each, width)))
        if others > shown and len(rows) < self.lines:
            hidden = [each for index, each in enumerate(self.causes) if not first <= index <= last]
            line = text((f" {_count(hidden)}   ! shows all", role("dim")))
            rows.append(Row(line=_fixed(line)))
        return rows

    def _pointed(self, line: Line) -> Line:
        return line  # the selected finding is the one that is shown in full

    def _go(self, place: int) -> None:
        if not self.causes:
            return
        place = max(0, min(place, len(self.causes) - 1))
        key = self.causes[place].entry.key
        self.held = True
        if key != self.cursor:
            self.cursor = key
            self.put(self._rows(), self.palette, self._note)
            self.post_message(self.Moved(self))

    def action_move(self, step: int) -> None:
        """Select the next or the previous finding."""
        self._go(self.place + step)

    def action_page(self, step: int) -> None:
        """Select a finding a page away."""
        self._go(self.place + step * max(self.lines - 1, 1))

    def action_edge(self, step: int) -> None:
        """Select the first (-1) or the last (1) finding."""
        self._go(0 if step < 0 else len(self.causes) - 1)

    def point(self, key: object) -> bool:
        """Select the finding with a key; return False if there is none."""
        for at, each in enumerate(self.causes):
            if each.entry.key == key:
                self._go(at)
                return True
        return False


def _count(hidden: Sequence[Cause]) -> str:
    """Return `+2 more findings, 1 not checked`."""
    findings = sum(each.finding is not None for each in hidden)
    unknown = len(hidden) - findings
    facts = [f"+{findings} more finding{'s' * (findings != 1)}"] if findings else []
    return ", ".join([*facts, *([f"{'' if facts else '+'}{unknown} not checked"] if unknown else [])])


def _row(cause: Cause, line: Line) -> Row:
    return Row(cause.entry.key, cause, _fixed(line), entry_row(cause.entry, cause.scene).search)


def _fixed(line: Line) -> Callable[[int], Line]:
    return lambda _: line
