"""The Prometheus exporter: a page over the last snapshot, its sources and its findings.

Only what is true now is on the page: the rows of a source that failed, hangs or has not answered for long are left
out, so that Prometheus marks their series stale, while the metrics of the collectors say why.
"""

from __future__ import annotations

import io
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sdstop.collector import Collector
from sdstop.config import ConfigError
from sdstop.diagnosis import Judgement
from sdstop.evidence import Frame
from sdstop.exporters.exposition import Heading, lines
from sdstop.exporters.headings import headings
from sdstop.exporters.health import OF_PROCESS, OF_RULES, OF_SOURCES, Health, Told, of_process, of_rules, of_sources
from sdstop.exporters.series import MOST_ROWS, Series
from sdstop.model import Reading
from sdstop.session import Look, Session
from sdstop.snapshot import Run

if TYPE_CHECKING:
    from prometheus_client.core import Metric

STALE = 60.0
"""Seconds after which data are left out, for sources read more often than every 20 s; for slower ones 3 intervals."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What config's `[export]` says: rows a family may have, and by family a pattern of first labels to leave out."""

    limit: int = MOST_ROWS
    exclude: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


def choice(table: Mapping[str, Any], collectors: Sequence[Collector]) -> Choice:
    """Read `[export]`; raises ConfigError.

    limit = 5000
    exclude = {disk = "loop[0-9]+|ram[0-9]+"}
    """
    unknown = sorted(table.keys() - {"limit", "exclude"})
    if unknown:
        raise ConfigError(f"export.{unknown[0]}: there is no such setting; there are limit and exclude")
    limit, patterns = table.get("limit", MOST_ROWS), table.get("exclude", {})
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ConfigError("export.limit must be a whole number from 1")
    if not isinstance(patterns, Mapping):
        raise ConfigError("export.exclude must be a table of family = pattern")
    known = {family.family for family in families_of(collectors)}
    exclude = {}
    for name, pattern in patterns.items():
        if name not in known:
            raise ConfigError(f"export.exclude.{name}: no such family; there are {', '.join(sorted(known))}")
        try:
            exclude[name] = re.compile(pattern)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise ConfigError(f"export.exclude.{name} must be a regular expression: {error}") from error
    return Choice(limit, exclude)


def families_of(collectors: Sequence[Collector]) -> dict[type[Reading], Collector]:
    """Return every exported family and the first collector that brings it, in their order."""
    found: dict[type[Reading], Collector] = {}
    for collector in collectors:
        for family in (*collector.families, *(derivation.target for derivation in collector.derives)):
            if family.exported:
                found.setdefault(family, collector)
    return found


def catalogue(collectors: Sequence[Collector]) -> list[Heading]:
    """Return every metric that the page can have, in its order."""
    of_families = (heading for found in families_of(collectors).items() for heading in headings(*found).values())
    return [*OF_SOURCES, *OF_RULES, *OF_PROCESS, *of_families]


class Exposition:
    """The page over a session. It is made when it is asked for, and once for each frame and format."""

    def __init__(
        self, session: Session, known: Sequence[Collector] = (), chosen: Choice | None = None, interval: float = 1.0
    ) -> None:
        """Start before the first frame; `known` are all collectors there are, also those switched off."""
        chosen = chosen or Choice()
        self.session = session
        self._known = known or session.collectors
        self._interval = interval
        self._paces = {collector.name: collector.pace for collector in session.collectors}
        self._health = Health()
        self._series = {
            family: (collector.name, Series(family, collector, chosen.limit, chosen.exclude.get(family.family)))
            for family, collector in families_of(session.collectors).items()
        }
        self._look: Look | None = None
        self._pages: dict[tuple[bool, bool, bool], bytes] = {}
        self._process: list[Told] = []
        self._shown: frozenset[str] = frozenset()

    def feed(self, frame: Frame) -> None:
        """Take over the next frame."""
        self.observe(self.session.feed(frame))

    def observe(self, look: Look) -> None:
        """Show this moment from now on."""
        self._look = look
        self._health.observe(look)
        self._forget()

    @property
    def ready(self) -> bool:
        """Whether there is something recent to show."""
        return self._look is not None and self._recent(self._look, self._time(self._look))

    def page(self, *, openmetrics: bool = False, packed: bool = False, process: bool = True) -> bytes:
        """Return the page; LookupError before the first frame.

        `packed`: as gzip. `process`: with the metrics of this process.
        """
        look = self._require()
        now = self._time(look)
        shown = frozenset(name for name, run in look.now.runs.items() if self._fresh(look, run, now))
        if shown != self._shown:
            self._forget()
            self._shown = shown
        form = (openmetrics, packed, process)
        if form not in self._pages:
            pieces = self._pieces(look, now, openmetrics=openmetrics, process=process)
            self._pages[form] = _gzip(pieces) if packed else _whole(pieces)
        return self._pages[form]

    def collect(self) -> Iterator[Metric]:
        """Yield the same as families of prometheus_client, for custom registries, which know their own process."""
        look = self._require()
        now = self._time(look)
        tables = self._tables(look, now)
        of_families = [told for family, rows in tables for told in self._series[family][1].samples(rows)]
        for heading, samples in (*self._own(look, now), *of_families):
            if samples:
                yield _metric(heading, samples)

    def _forget(self) -> None:
        self._pages.clear()
        self._process = []

    def _require(self) -> Look:
        if self._look is None:
            raise LookupError("no frame yet")
        return self._look

    def _time(self, look: Look) -> float:
        return time.monotonic() if self.session.origin.live else look.now.monotonic

    def _recent(self, look: Look, now: float) -> bool:
        return not self.session.origin.live or now - look.now.monotonic <= max(STALE, 3 * self._interval)

    def _fresh(self, look: Look, run: Run, now: float) -> bool:
        """A capture's last frame is the moment it shows, and a hand-made one does not say who ran when."""
        if not run.ok or not self.session.origin.live:
            return run.ok
        limit = max(STALE, 3 * max(self._paces[run.collector], self._interval))
        return self._recent(look, now) and now - run.started <= limit

    def _tables(self, look: Look, now: float) -> list[tuple[type[Reading], Mapping[Any, Reading]]]:
        found = []
        for family in self._series:
            run = look.now.run_of(family)
            if run is not None and self._fresh(look, run, now):
                found.append((family, run.tables[family]))
        return found

    def _own(self, look: Look, now: float) -> list[Told]:
        """Return what is told of the sources and of the findings."""
        dropped: Counter[str] = Counter()
        for name, series in self._series.values():
            dropped[name] += series.dropped
        session = self.session
        sources = of_sources(
            self._health, look.now, session.collectors, self._known, self._interval, now, dropped
        )  # fmt: skip
        judgement = look.judgement if self._recent(look, now) else Judgement()
        return [*sources, *of_rules(self._health, judgement, session.rules)]

    def _pieces(self, look: Look, now: float, *, openmetrics: bool, process: bool) -> Iterator[str]:
        heading_of = Heading.openmetrics if openmetrics else Heading.text
        tables = [(self._series[family][1], rows) for family, rows in self._tables(look, now)]
        told = [series.texts(rows) for series, rows in tables]  # first: what is dropped is known after it
        if not self._process:
            self._process = list(of_process())
        for heading, samples in (*self._own(look, now), *(self._process if process else ())):
            if samples:
                yield heading_of(heading) + lines(heading.name, samples)
        for texts in told:
            for heading, text in texts:
                yield heading_of(heading)
                yield text
        if openmetrics:
            yield "# EOF\n"


def render(session: Session, *, openmetrics: bool = False) -> bytes:
    """Return the page over a session that was fed all it has; its counters begin with the last frame."""
    exposition = Exposition(session)
    exposition.observe(session.head())
    return exposition.page(openmetrics=openmetrics)


def _whole(pieces: Iterable[str]) -> bytes:
    """Put a page together without a second copy of it, which would be megabytes."""
    page = io.BytesIO()
    for piece in pieces:
        page.write(piece.encode())
    return page.getvalue()


def _gzip(pieces: Iterable[str]) -> bytes:
    """Level 1: larger ones cost five times as much for a third less."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([packer.compress(piece.encode()) for piece in pieces]) + packer.flush()


def _metric(heading: Heading, samples: Sequence[Any]) -> Metric:
    from prometheus_client import core  # noqa: PLC0415  # the page itself does without

    name = f"{heading.name}_bucket" if heading.type == "histogram" else heading.name
    metric = core.Metric(heading.bare, heading.help, heading.type)
    for labels, value in samples:
        metric.add_sample(name, dict(labels), value)
    return metric
