"""Sheets of the fleet dashboard: one node, one difference between nodes, key help."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_text import accepted_text
from sdstop.core.format import duration, quantity, timestamp
from sdstop.fleet.state import FleetState, advice, short
from sdstop.fleet.text import until
from sdstop.fleet.watcher import NODE_SECONDS, NodePicture
from sdstop.tui.fleet.tables import TABLES
from sdstop.tui.widgets.foot import FooterBar
from sdstop.tui.widgets.keys import Hint, Section, lines_of
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, WORDS, Line, Palette, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.strip import spark
from sdstop.tui.widgets.table import LineTable

_BACK: tuple[Hint, ...] = (("Esc", "back"), ("j k", "move"), ("r", "refresh"), ("q", "quit"))


def help_lines(bindings: Iterable[BindingType]) -> list[tuple[str, str]]:
    """Return (keys, description) pairs: the tables first, then the bindings of the dashboard and of a table."""
    tables = [(table.key, f"{table.title}: {table.shows}") for table in TABLES]
    lines = sorted(
        lines_of(bindings, Pane.BINDINGS, LineTable.BINDINGS).items(),
        key=lambda item: list(Section).index(item[0].section),
    )
    return tables + [(" ".join(names), line.description) for line, names in lines]


class FleetSheet(Screen[None]):
    """Sheet with one titled pane."""

    def __init__(self, title: str) -> None:
        """Start empty."""
        super().__init__()
        self.pane = Pane(title)
        self.foot = FooterBar(_BACK)
        self.palette = Palette()

    def compose(self) -> ComposeResult:
        """Lay out the widgets."""
        yield self.pane
        yield self.foot

    def on_mount(self) -> None:
        """Focus the pane."""
        self.pane.focus()

    def on_resize(self) -> None:
        """Rewrap the lines for the new width."""
        self.call_after_refresh(self.paint, self.palette)

    def paint(self, palette: Palette) -> None:
        """Fill the pane with rows."""
        self.palette = palette
        self.foot.show(palette)
        self.pane.put(list(self.fill(palette, max(self.size.width, 20))), palette)

    def fill(self, palette: Palette, width: int) -> Iterator[Row]:
        """Yield the rows."""
        raise NotImplementedError


class KeySheet(FleetSheet):
    """Key help."""

    def __init__(self, keys: Sequence[tuple[str, str]], version: str) -> None:
        """Create the sheet for these keys and this version."""
        super().__init__("Help")
        self.keys = keys
        self.version = version

    def fill(self, palette: Palette, width: int) -> Iterator[Row]:
        """Yield the keys and the meaning of the marks."""
        yield words(())
        for key, what in self.keys:
            yield from _wrapped(f"  {key:<15}", what, width)
        yield words(())
        yield from _wrapped("  LAST HOUR      ", "critical findings and warnings of a node, over the last hour", width)
        yield from _wrapped("  SKEW           ", "busiest member of an array relative to the mean; 1 = balanced", width)
        yield from _wrapped("  ?UNKN          ", "unknown: no data; not the same as OK", width)
        yield words(())
        yield words(text((f"  sdstop {palette.word(self.version)}: queries the server only, never the nodes.", FAINT)))


class DifferenceSheet(FleetSheet):
    """Difference between a node and its peers, with advice."""

    def __init__(self, finding: Finding) -> None:
        """Create the sheet for a finding."""
        super().__init__("Differs")
        self.finding = finding

    def fill(self, palette: Palette, width: int) -> Iterator[Row]:
        """Yield the summary, values, advice, source series and refutation."""
        found = self.finding
        self.pane.title = f"{WORDS[found.severity].strip()} {palette.word(found.subject, 60)}"
        yield words(())
        yield from _wrapped("  ", palette.word(found.summary, 600), width)
        if found.accepted is not None:
            yield from _wrapped("  ", palette.word(accepted_text(found), 300), width)
        yield words(())
        for value in found.values:
            shown = quantity(value.value, value.unit)
            yield words(text(f"  {palette.word(value.title, 40):<42}", (palette.word(shown), STRONG)))
        yield from _listed("Action", [palette.word(line, 300) for line in found.steps], width)
        yield from _listed("Series", [palette.word(f"{c.key} {c.excerpt}", 600) for c in found.evidence], width)
        yield from _listed("Disproved by", [palette.word(found.refuted_by, 300)], width)


class NodeSheet(FleetSheet):
    """One node: its findings, their recent history, failing sources and unchecked rules."""

    def __init__(self, key: tuple[str, str], name: str) -> None:
        """Create the sheet; it shows a placeholder until the response arrives."""
        super().__init__("Node")
        self.key = key
        self.label = name
        self.told: NodePicture | None = None
        self.fleet = FleetState()

    def fill(self, palette: Palette, width: int) -> Iterator[Row]:
        """Yield everything that the server knows about the node."""
        self.pane.title = f"Node {palette.word(self.label, 60)}"
        told = self.told
        yield words(())
        if told is None:
            yield words(text(("  loading ...", FAINT)))
            return
        facts = [("Job", self.key[0]), ("Instance", self.key[1]), *told.facts]
        said = "   ".join(f"{title} {palette.word(fact, 60)}" for title, fact in facts if fact)
        yield from _wrapped("  ", f"{said}   updated {timestamp(told.asked)}", width)
        for line in told.troubles:
            yield words(text((f"  query failed: {palette.word(line, 300)}", palette.severity(None))))
        node = next((n for n in self.fleet.nodes if n.key == self.key), None)
        if node is not None and node.silence:
            age = f" for {duration(node.age)}" if node.age is not None else ""
            yield words(text((f"  ?UNKN no data{age}: {palette.word(node.silence)}", palette.severity(None))))
        yield from self._findings(told, palette)
        yield from self._courses(told, palette, width)
        yield from _listed("Failing sources", [palette.word(name, 60) for name in told.failing], width)
        unchecked = [f"{palette.word(rule, 60)} ({count})" for rule, count in sorted((told.unchecked or {}).items())]
        yield from _listed("Unchecked rules", unchecked, width)
        yield from _listed("Differs from its peers", self._differs(palette), width)
        host = palette.word(short(self.key[1]), 100)
        yield from _listed("More", [f"ssh {host} sdstop   # the node itself, with the evidence"], width)

    def _findings(self, told: NodePicture, palette: Palette) -> Iterator[Row]:
        yield words(())
        yield words(text(("  Active findings", STRONG), (f"  {len(told.claims)}", FAINT)))
        if not told.claims:
            yield words(text(("    none reported by the server", FAINT)))
        for claim in told.claims:
            mark = (WORDS[claim.severity], palette.severity(claim.severity))
            line = text("    ", mark, f" {palette.word(claim.rule, 40):<26} ", palette.word(claim.subject, 120))
            yield words(line, (claim.rule, claim.subject))
            if (silence := self.fleet.silence(claim)) is not None:
                why = f"silenced {until(silence)} by {silence.by}: {silence.comment}"
                yield words(text((f"{'':36}{palette.word(why, 200)}", FAINT)))
            if (otherwise := told.accepted.get((claim.rule, claim.subject))) is not None:
                yield words(text((f"{'':36}accepted by the node; otherwise {otherwise.value}", FAINT)))
            if claim.severity is not Severity.INFO and (step := advice(claim.rule, palette.word(claim.subject, 60))):
                yield words(text((f"{'':36}{step}", FAINT)))

    def _courses(self, told: NodePicture, palette: Palette, width: int) -> Iterator[Row]:
        if told.courses is None:
            return
        yield words(())
        yield words(
            text(("  Findings over time", STRONG), (f"  the last {duration(NODE_SECONDS)}, now at the right", FAINT))
        )
        room = max(width - 42, 10)
        for (rule, severity), values in sorted(told.courses.items(), key=_worse):
            known = Severity(severity) if severity in set(Severity) else Severity.INFO
            style = palette.severity(known) if known is not Severity.INFO else PLAIN
            top = max((v for v in values if v is not None), default=1.0)
            line = text("    ", (WORDS[known], style), f" {palette.fit(palette.word(rule, 40), 28)} ")
            yield words((*line, *spark(values, room, top, palette, style)))
        if not told.courses:
            yield words(text(("    none", FAINT)))

    def _differs(self, palette: Palette) -> list[str]:
        name = self.fleet.name(self.key)
        found = (f for f in self.fleet.differing if f.subject == name or f.subject.startswith(f"{name}/"))
        return [palette.word(f"{f.rule}: {f.summary}", 300) for f in found]


def _worse(course: tuple[tuple[str, str], Sequence[float | None]]) -> tuple[int, str]:
    (rule, severity), _ = course
    return -(Severity(severity).rank if severity in set(Severity) else 0), rule


def _wrapped(lead: str, said: str, width: int) -> Iterator[Row]:
    lines = textwrap.wrap(said, max(width - len(lead) - 1, 10)) or [""]
    for place, line in enumerate(lines):
        yield words(_line(lead if not place else " " * len(lead), line))


def _line(lead: str, said: str) -> Line:
    return text((lead, STRONG if lead.strip() else PLAIN), said)


def _listed(title: str, lines: Sequence[str], width: int) -> Iterator[Row]:
    if lines:
        yield words(())
        yield words(text((f"  {title}", STRONG)))
        for line in lines:
            yield from _wrapped("    ", line, width)
