"""Why: details of one entry of the list of findings, including its evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.core.advice import advice_lines
from sdstop.core.evidence import UNDATED, Cite
from sdstop.core.finding import Finding, Value
from sdstop.core.finding_text import accepted_text, against
from sdstop.core.format import NOT_DATED, duration, percent, quantity, utc
from sdstop.core.placement import place_lines
from sdstop.core.snapshot import Run
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, UNKNOWN_WORD, WORDS, Line, Palette, text
from sdstop.tui.widgets.pane import Row, words

WIDEST = 100
"""Maximum cells per line of prose; longer lines are hard to read."""


class Quote(Struct, frozen=True):
    """Reference to evidence: its key, the frame number, the text to highlight and the excerpt quoted by a finding."""

    key: str
    frame: int
    mark: str = ""
    excerpt: str = ""


def quote(cite: Cite) -> Quote:
    """Return the quote for a citation of a finding."""
    return Quote(cite.key, cite.frame, cite.mark, cite.excerpt)


def entry_mark(entry: FindingEntry, palette: Palette) -> Line:
    """Return an entry's severity as a styled word; empty for a calm entry."""
    word = UNKNOWN_WORD if entry.severity is None else WORDS[entry.severity]
    if entry.calm:
        return ()
    if entry.until is not None:
        return text((word.lower(), FAINT))
    return text((word, palette.severity(entry.severity)))


def figures(finding: Finding, palette: Palette, count: int = 2) -> str:
    """Return the first `count` values that a finding compared, in short form."""
    shown = [f"{palette.word(v.title, 24)} {_shown(v, palette)}" for v in finding.shown[:count]]
    return f" {palette.dot} ".join(shown)


def _shown(value: Value, palette: Palette) -> str:
    return palette.word(quantity(value.value, value.unit), 60)


def why_rows(entry: FindingEntry, scene: Scene, width: int, numbers: Sequence[Line] | None = None) -> list[Row]:
    """Return the rows of an entry for a pane of this width.

    With `numbers`, lines for those that a finding compared, title, cause and impact are above these rows.
    """
    page = _Page(scene.palette, min(width - 4, WIDEST))
    if numbers is None:
        page.prose(entry.summary, STRONG)
        page.blank()
        page.line(_when(entry, scene))
    else:
        page.labeled("when", _when(entry, scene))
    if entry.finding is not None:
        _finding(page, entry.finding, scene, numbers)
    elif entry.run is not None:
        _run(page, entry.run, scene)
    else:
        page.blank()
        page.prose("Not checked: the state is unknown.")
    return page.rows


def _when(entry: FindingEntry, scene: Scene) -> str:
    lasted = entry.lasted(scene.now.monotonic)
    if entry.since is None or lasted is None:
        return "time unknown"
    if entry.until is None:
        if entry.since <= UNDATED:
            return f"since the first frame, at least {duration(lasted)}" if lasted else NOT_DATED
        # A finding active at the first frame may have begun earlier; the sources were not sampled before.
        before = " or earlier" if entry.finding is not None and (entry.began or 0.0) <= scene.session.began else ""
        return f"since {utc(entry.since)}{before}, for {duration(lasted)}"
    return f"from {utc(entry.since)} to {utc(entry.until)}, for {duration(lasted)}"


def _finding(page: _Page, finding: Finding, scene: Scene, numbers: Sequence[Line] | None) -> None:
    sure = "" if finding.confidence is None else f", confidence {percent(finding.confidence)}%"
    rule = f"{page.palette.word(finding.rule)}{sure}"
    if numbers is None:
        page.line(f"rule {rule}", FAINT)
    else:
        page.labeled("rule", rule)
    if finding.accepted is not None and numbers is None:
        page.prose(accepted_text(finding))
    for title, names in place_lines(finding):
        page.prose(f"{title}: {names}")
    if finding.advice:
        page.title("Action")
        for advice in finding.advice:
            page.prose(str(advice), bullet="  ", pasted=True)
    if numbers is None and finding.shown:
        page.title("Compared")
        page.values(finding.shown)
    elif numbers:
        page.title("Compared")
        page.rows += [words((*text("  "), *line)) for line in numbers]
    if finding.refuted_by:
        page.title("Would be disproved by")
        page.prose(finding.refuted_by, bullet="  ")
    page.title("Evidence")
    for index, cite in enumerate(finding.evidence):
        page.cite(cite, index)
    others = {entry.key: entry for entry in scene.findings()}
    if finding.explains:
        page.title("Consequences")
        for key in finding.explains:
            other = others.get(key)
            page.choice(f"explains:{key}", _consequence(other) if other else key, other)


def _consequence(entry: FindingEntry) -> str:
    """Return title, subject and cause of a finding that another explains."""
    cause = entry.finding.cause if entry.finding is not None else entry.summary
    return f"{entry.title}  {entry.subject}: {cause}"


def _run(page: _Page, run: Run, scene: Scene) -> None:
    collector = next((c for c in scene.session.collectors if c.name == run.collector), None)
    page.line(f"collector {page.palette.word(run.collector)}", FAINT)
    if run.last is not None:
        page.line(f"last good data at {utc(run.last.taken)}", FAINT)
    if collector is not None:
        page.title("Needs")
        for need in collector.needs:
            page.prose(f"{need.what}: {need.why}" + (f" ({need.privilege})" if need.privilege else ""), bullet="  ")
    page.title("Evidence")
    keys = sorted(k for k in run.keys if k.startswith(("/", "cmd:", "answer:", "link:", "list:")))
    for key in keys[:200]:
        page.choice(f"raw:{key}", key, Quote(key, scene.now.number))


class _Page:
    """Builder of wrapped rows."""

    def __init__(self, palette: Palette, width: int) -> None:
        self.palette = palette
        self.width = max(width, 16)
        self.rows: list[Row] = []

    def blank(self) -> None:
        self.rows.append(words(()))

    def line(self, shown: str, style: object = PLAIN) -> None:
        self.rows.append(words(text((f" {shown}", FAINT if style is FAINT else PLAIN))))

    def labeled(self, label: str, shown: str) -> None:
        """Add a line whose text begins where those of why and hurt do on the first screen."""
        self.rows.append(words(text((f"   {label:<5}", FAINT), shown)))

    def title(self, title: str) -> None:
        self.blank()
        self.rows.append(words(text((f" {title}", STRONG))))

    def prose(self, foreign: str, style: object = PLAIN, bullet: str = "", *, pasted: bool = False) -> None:
        """Add wrapped text; that of a `pasted` advice can be pasted into a shell."""
        safe = self.palette.word(foreign, 4000)
        width = self.width - len(bullet)
        lines = advice_lines(safe, width) if pasted else textwrap.wrap(safe, width, break_on_hyphens=False)
        for line in lines or [""]:
            self.rows.append(words(text((f" {bullet}{line}", STRONG if style is STRONG else PLAIN))))

    def values(self, values: tuple[Value, ...]) -> None:
        names = [self.palette.word(v.title, 60) for v in values]
        shown = [_shown(v, self.palette) for v in values]
        limits = [f"   {against(v)}".rstrip() for v in values]
        second = max(map(len, shown))
        # Cut long names rather than numbers.
        first = min(max(map(len, names)), max(self.width - 4 - second - max(map(len, limits)), 12))
        for name, value, limit in zip(names, shown, limits, strict=True):
            fitted = self.palette.fit(name, first)
            self.rows.append(words(text(f"   {fitted}   ", (f"{value:>{second}}", STRONG), (limit, FAINT))))

    def choice(self, key: str, foreign: str, item: object) -> None:
        shown = self.palette.word(foreign, self.width)
        self.rows.append(words(text(f"   {shown}"), key if item is not None else None, item))

    def cite(self, cite: Cite, index: int) -> None:
        key = f"cite:{index}:{cite.key}"
        shown = self.palette.word(cite.key, self.width - 18)
        self.rows.append(words(text(f"   {shown}", (f"  frame {cite.frame}", FAINT)), key, quote(cite)))
        for line in self._excerpt(cite):
            self.rows.append(words(line))

    def _excerpt(self, cite: Cite) -> Iterator[Line]:
        for line in cite.excerpt.splitlines()[:4]:
            yield text((f"     {self.palette.word(line.strip(), self.width - 4)}", FAINT))
