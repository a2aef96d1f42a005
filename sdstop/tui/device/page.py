"""Device page: findings, graphs, stack, users and identity of one thing; all fields are one key further."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.analysis.thing_parts import Part, parts_of, thing_of, with_derived
from sdstop.core.thing import Thing
from sdstop.tui.device.graph_grid import LOWEST, GraphGrid
from sdstop.tui.device.graphs import Course, courses
from sdstop.tui.device.identity import identity, title_words
from sdstop.tui.device.stack import StackLayer, kind_word, layer_line, layers, load_words, peer_lines, siblings
from sdstop.tui.device.who import BY_PROCESS, DeviceUser, program_words, programs, who_rows
from sdstop.tui.facts import AllFields, FactLink, FactSubject, fact_rows
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.sheet import Sheet
from sdstop.tui.status import tabs_line
from sdstop.tui.views import FIRST, ViewEntry
from sdstop.tui.why import entry_mark
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, Line, Palette, text, width_of
from sdstop.tui.widgets.pane import Pane, Row, words

WIDE = 110
"""Width from which stack, users and identity are side by side."""
_NARROW_BELOW = 4
"""Lines of stack, users and identity together on a narrow screen."""


class DevicePage(Sheet):
    """Page of one thing. `[` and `]` change to the previous and the next member of its group, or thing of its kind."""

    hints = (
        ("Esc", "back"), ("[ ]", "other member"), ("Enter", "all fields"), ("p", "pin"), ("Tab", "next pane"),
        ("t T", "step"), ("e E", "event"), ("y", "copy"), ("q", "quit"),
    )  # fmt: skip

    def __init__(self, subject: FactSubject, entry: ViewEntry = FIRST) -> None:
        """Create the page of a thing; `entry` is the view that it was opened from."""
        super().__init__("")
        self.subject = subject
        self.entry = entry
        self.pane.id = "device-head"
        self.tabs = Pane(cursor=False, id="tabs")
        self.graphs = GraphGrid("device-graphs")
        self.stack = Pane("Stack", id="device-stack")
        self.who = Pane("Who does I/O", id="device-who")
        self.known = Pane("Identity", id="device-known")
        self.brief = Pane("Stack, who, identity", id="device-brief", cursor=False)
        self.fields = Pane("All fields", id="device-fields")
        self.below = Horizontal(id="device-below")
        self._thing: Thing | None = None

    def compose(self) -> ComposeResult:
        """Lay out the panes; the page shares out the lines itself."""
        yield self.status
        yield self.tabs
        yield self.pane
        yield self.graphs
        with self.below:
            yield self.stack
            yield self.who
            yield self.known
        yield self.brief
        yield self.fields
        yield self.bar
        yield self.foot

    def text(self) -> str:
        """Return the text of the page's panes that are shown."""
        frame = {self.status, self.tabs, self.bar}
        shown = (pane for pane in self.query(Pane) if pane not in frame and pane.rows and pane.size.height)
        return "\n\n".join(pane.text() for pane in shown)

    def _failed(self, said: str, scene: Scene) -> None:
        for pane in self.query(Pane):
            if pane not in {self.status, self.bar}:
                pane.fail(said if pane is self.pane else "", scene.palette)

    # -- painting ---------------------------------------------------------------------------------------------

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the panes."""
        thing = self._thing = thing_of(scene.window, self.subject.parts)
        parts = with_derived(self.subject.parts, scene.session.collectors)
        if thing is not None:
            parts = tuple(dict.fromkeys((*parts, *parts_of(scene.window, thing, scene.session.collectors))))
        self.tabs.put([Row(line=lambda size: tabs_line(self.entry, size))], scene.palette)
        room = max(self.size.height - 3 - self.bar.lines, 1)
        room -= self._head(scene, thing, parts, width, room)
        shown = courses(scene.window, parts, thing)
        known = layers(scene, thing) if thing is not None else []
        self.fields.display = not shown
        self.graphs.display = bool(shown)
        if shown:
            self._load(scene, thing, parts, shown, known, width, room)
        else:
            self._unloaded(scene, parts, known, width, room)

    def _head(self, scene: Scene, thing: Thing | None, parts: Sequence[Part], width: int, room: int) -> int:
        """Fill the pane of the title and the findings; return its height."""
        palette = scene.palette
        name = palette.word(self.subject.name, 60)
        facts = "  ".join(palette.word(fact, 60) for fact in title_words(thing, self.subject.name, scene))
        title = text((f" {name}", STRONG), (f"  {facts}", PLAIN))
        rows = [words(title, "title", AllFields(FactSubject(self.subject.name, tuple(parts))))]
        entries = findings_about(scene, thing, self.subject.name)
        most = max(room // 12, 1)
        rows += [words(finding_line(entry, scene, width), entry.key, entry) for entry in entries[:most]]
        more = len(entries) - most
        note = f"+{more} more finding{'s' * (more > 1)}" if more > 0 else ""
        if note:
            rows[0] = words((*title, *text((f"  {note}", FAINT))), "title", rows[0].item)
        self.pane.styles.height = len(rows)
        self.pane.put(rows, palette)
        return len(rows)

    def _load(
        self, scene: Scene, thing: Thing | None, parts: Sequence[Part], shown: Sequence[Course],
        known: Sequence[StackLayer], width: int, room: int,
    ) -> None:  # fmt: skip
        """Fill the graphs, then stack, users and identity."""
        listed = programs(scene) if _does_io(thing, scene) else []
        facts = identity(thing, parts, scene)
        wide = width >= WIDE
        stack = stack_rows(scene, thing, known, width // 3 - 1) if thing is not None else []
        wanted = max(len(stack), len(listed), len(facts)) + 1 if wide else _NARROW_BELOW
        lines = 2 if len(shown) > 2 else 1
        tall = max(room - min(wanted, max(room // 3, 1)), min(LOWEST * lines, room))
        rest = max(room - self.graphs.draw(shown, scene, width, tall), 0)
        self.below.display, self.brief.display = wide and rest > 1, not wide and rest > 1
        self.below.styles.height = self.brief.styles.height = rest
        if wide:
            self.stack.display, self.who.display = bool(stack), bool(listed)
            self.stack.put(stack, scene.palette)
            self.who.put(who_rows(listed, scene, width // 3 - 1), scene.palette, BY_PROCESS)
            self.known.put(fact_lines(facts, scene, width // 3), scene.palette)
        else:
            self.brief.put(brief_rows(scene, thing, known, listed, facts, width, rest - 1), scene.palette)

    def _unloaded(
        self, scene: Scene, parts: Sequence[Part], known: Sequence[StackLayer], width: int, room: int
    ) -> None:
        """Show all fields of a thing that no source samples, and its stack if that has more than the thing."""
        self.brief.display = False
        stack = stack_rows(scene, self._thing, known, width) if self._thing is not None and len(known) > 1 else []
        self.below.display, self.who.display, self.known.display = bool(stack), False, False
        self.below.styles.height = min(len(stack) + 1, max(room // 3, 2))
        self.stack.put(stack, scene.palette)
        subject = FactSubject(self.subject.name, tuple(parts))
        self.fields.put(fact_rows(subject, scene, width), scene.palette)
        if self.focused is self.pane and not self.pane.held:
            self.fields.focus()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the thing, the one on the page first."""
        thing = self._thing
        known = (thing.device, thing.label, thing.name) if thing is not None else ()
        return tuple(dict.fromkeys(name for name in (self.subject.name, *known) if name))

    # -- keys -------------------------------------------------------------------------------------------------

    def sibling(self, step: int) -> None:
        """Change to the next (1) or previous (-1) member of the thing's group, or thing of its kind."""
        thing, scene = self._thing, self.scene
        if thing is None or scene is None:
            self.foot.say("no other thing like this one")
            return
        others = siblings(scene, thing)
        if thing not in others or len(others) < 2:
            self.foot.say(f"no other {kind_word(thing, scene)}")
            return
        self.subject = subject_of(others[(others.index(thing) + step) % len(others)], scene)
        self.show(scene)


def subject_of(thing: Thing, scene: Scene) -> FactSubject:
    """Return a thing as the subject of a page."""
    return FactSubject(thing.label, parts_of(scene.window, thing, scene.session.collectors))


def findings_about(scene: Scene, thing: Thing | None, name: str) -> list[FindingEntry]:
    """Return entries of the findings about a thing, then about its containers, then about things that it needs."""
    topology = scene.window.topology
    wholes = set(topology.part_of(thing)) if thing is not None else set()
    needed = set(topology.below(thing)) if thing is not None else set()
    found: list[tuple[int, FindingEntry]] = []
    for entry in scene.findings():
        ranks = []
        for subject in entry.subjects:
            about = topology.find(subject)
            if subject == name or (thing is not None and about is thing):
                ranks.append(0)
            elif about is not None and (about in wholes or about in needed):
                ranks.append(1 if about in wholes else 2)
        if ranks:
            found.append((min(ranks), entry))
    return [entry for _, entry in sorted(found, key=lambda each: each[0])]


def finding_line(entry: FindingEntry, scene: Scene, width: int) -> Line:
    """Return the line of a finding: severity, title and subject, then its cause if there is room."""
    palette = scene.palette
    finding = entry.finding
    style = palette.severity(entry.severity)
    title = palette.word((finding.title if finding is not None else "") or (finding.rule if finding else ""), 60)
    head = text(
        " ", (entry_mark_text(entry, palette), palette.chip(entry.severity)), (f" {title}", style),
        (f"  {palette.word(entry.subject, 60)}", style),
    )  # fmt: skip
    room = width - width_of(head) - 3
    cause = palette.word(finding.cause if finding is not None else entry.summary, 200)
    return (*head, *text((f"  {palette.fit(cause, room)}", PLAIN))) if room > 12 else head


def entry_mark_text(entry: FindingEntry, palette: Palette) -> str:
    """Return the severity of an entry as a word."""
    return "".join(segment.text for segment in entry_mark(entry, palette))


def _does_io(thing: Thing | None, scene: Scene) -> bool:
    """Return whether a block device has I/O now; processes that do I/O elsewhere are then irrelevant to it."""
    drive = scene.drives().get(thing.device or "") if thing is not None else None
    row = drive.activity if drive is not None else None
    return row is not None and bool(row.completed_per_second or row.in_flight or row.queue)


def stack_rows(scene: Scene, thing: Thing, known: Sequence[StackLayer], width: int) -> list[Row]:
    """Return a row for each layer, which opens the page of its things, then the peers."""
    rows: list[Row] = []
    before = ""
    for depth, layer in enumerate(known):
        line = layer_line(layer, min(depth, 8), layer.place != before, width, scene)
        before = layer.place
        opens = None if layer.place == "this" or not layer.things else FactLink(subject_of(layer.things[0], scene))
        key = ("layer", layer.things[0].name) if opens is not None else None
        rows.append(words(line, key, opens))
    for title, said in peer_lines(scene, thing):
        rows.append(words(text((f" {title:<9}", FAINT), said)))
    return rows


def fact_lines(facts: Sequence[tuple[str, str]], scene: Scene, width: int) -> list[Row]:
    """Return a line for each fact."""
    room = max(width - 18, 8)
    fit, word = scene.palette.fit, scene.palette.word
    return [words(text((f" {fit(title, 14)} ", FAINT), fit(word(value), room))) for title, value in facts]


def brief_rows(
    scene: Scene, thing: Thing | None, known: Sequence[StackLayer], listed: Sequence[DeviceUser],
    facts: Sequence[tuple[str, str]], width: int, most: int,
) -> list[Row]:  # fmt: skip
    """Return at most `most` lines: the stack from top to bottom, its ratio to peers, who does I/O, and identity."""
    word, arrow = scene.palette.word, " > "
    found = []
    if len(known) > 1:
        named = [_brief_layer(layer, scene) for layer in known]
        at = next(place for place, layer in enumerate(known) if layer.place == "this")
        first = 0
        while first < at and len(arrow.join(named[first : at + 1])) > width - 2:
            first += 1
        found.append(arrow.join(named[first:]))
    peers = [f"{title}: {said}" for title, said in (peer_lines(scene, thing) if thing is not None else [])]
    doers = [f"{program_words(program, scene)}" for program in listed[:2]]
    who = f"I/O of the node: {', '.join(doers)}" if doers else ""
    known_words = "  ".join(f"{title.lower()} {word(value, 60)}" for title, value in facts)
    rest = "   ".join(filter(None, (*peers[::-1], who)))
    wrapped = [line for part in (rest, known_words) if part for line in textwrap.wrap(part, max(width - 2, 20))]
    return [words(text(f" {scene.palette.fit(line, width - 1)}")) for line in (*found, *wrapped)[:most]]


def _brief_layer(layer: StackLayer, scene: Scene) -> str:
    figures = load_words(layer)
    known = f"{layer.name} {figures}" if figures != "?" or not layer.things else layer.name
    return scene.palette.word(known, 60)
