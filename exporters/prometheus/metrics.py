"""Prometheus exporter: metrics page for the last snapshot, its sources and its findings.

The page has current data only: rows of a source that failed, hangs or is stale are left out, so that Prometheus
marks their series stale; the collector metrics report the reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from sdstop.core.collector import Collector, providers_of
from sdstop.core.evidence import Frame
from sdstop.core.guard import Part
from sdstop.core.judgement import Judgement
from sdstop.core.model import Reading
from sdstop.core.rule import Limits
from sdstop.core.session import Look, Session
from sdstop.exporters.prometheus import tallies
from sdstop.exporters.prometheus.choice import FULL, Choice
from sdstop.exporters.prometheus.demand import Demand
from sdstop.exporters.prometheus.exposition import Heading, Told, lines
from sdstop.exporters.prometheus.families import ExportedFamilies, families_of, with_tallied
from sdstop.exporters.prometheus.findings import OF_RULES, of_rules
from sdstop.exporters.prometheus.headings import headings
from sdstop.exporters.prometheus.health import (
    ERRED,
    LATE,
    OF_PROCESS,
    OF_SOURCES,
    RELOADED,
    TOOK,
    Health,
    of_otlp,
    of_process,
    of_recorder,
    of_runs,
    of_sources,
)
from sdstop.exporters.prometheus.page import FINDINGS, PROCESS, WHOLE, PageSelection, gzip, plain
from sdstop.exporters.prometheus.series import Text
from sdstop.exporters.prometheus.tallies import EventCounters
from sdstop.readings.disk import Disk

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from sdstop.exporters.otlp.pusher import OtlpState
    from sdstop.exporters.recorder import RecorderState

STALE = 60.0
"""Seconds after which data are left out; three intervals for sources read less often than every 20 s."""
OLD = 15.0
"""Age in seconds above which the newest sample is too old to be shown; three intervals if that is longer."""
_MOST_PARTS = 16
"""Maximum cached page variants, for scrapers that request parts of the page."""
_STRIPED = "stripe-convoy"
"""Rule whose thresholds define a hot second of an array."""


def subjects_of(judgement: Judgement) -> frozenset[str]:
    """Return the names in the subjects of the findings and their members: `md0/sdc` has both."""
    return frozenset(
        name
        for finding in judgement.findings
        for subject in finding.subjects
        for name in (subject, *subject.split("/"))
    )


def catalogue(collectors: Sequence[Collector]) -> list[Heading]:
    """Return every metric that the page can have, in page order."""
    families = with_tallied(families_of(collectors))
    of_families = (heading for found in families.items() for heading in headings(*found).values())
    return [*OF_SOURCES, *OF_RULES, *OF_PROCESS, *of_families]


class Exposition:
    """Metrics page of a session, rendered on request and cached per frame and format.

    One thread feeds it while another one asks for pages.
    """

    def __init__(
        self, session: Session, known: Sequence[Collector] = (), chosen: Choice | None = None, interval: float = 1.0
    ) -> None:
        """Start before the first frame; `known` are all collectors, including disabled ones."""
        self.session = session
        self.reloaded: bool | None = None
        """Whether the last configuration reload succeeded; None without a reloadable configuration."""
        self.late: int | None = None
        """Samples that were not judged so far; None if all are."""
        self.recorder: Callable[[], RecorderState] | None = None
        """Returns the state of the recorder beside this exporter; None without one."""
        self.otlp: Callable[[], OtlpState] | None = None
        """Returns the state of pushes by OTLP; None without an endpoint."""
        self.interval = interval
        self._known = known or session.collectors
        self._lock = RLock()
        self._paces = {collector.name: collector.longest_at_rest for collector in session.collectors}
        self._providers = providers_of(session.collectors)
        self._health = Health()
        self._demand = Demand()
        self._tallies = EventCounters(session.guard, self._demand)
        self._families = ExportedFamilies(session.collectors, session.guard)
        self.clock: Callable[[], float] | None = None
        """Returns the time of the node in monotonic seconds; None: of this one, or of the newest frame of a capture."""
        self._look: Look | None = None
        self._pages: dict[tuple[bool, bool, bool, PageSelection], bytes] = {}
        self._process: list[Told] = []
        self._shown: frozenset[str] = frozenset()
        self.choose(chosen or Choice())

    def choose(self, chosen: Choice) -> None:
        """Apply a new selection; counters continue."""
        with self._lock:
            self._families.choose(chosen)
            if self._look is not None:
                window = self._look.window
                self._families.restrict(window, self._families.disks(window))
            self._forget()

    def feed(self, frame: Frame) -> None:
        """Feed the next frame to the session and show it."""
        look = self.session.feed(frame)
        if look is not self._look:
            self.observe(look)

    def observe(self, look: Look) -> None:
        """Make this sample the one shown."""
        guard = self.session.guard
        disks = self._families.disks(look.window)
        guard.call(
            Part.TALLY,
            "all",
            lambda: self._tallies.observe(
                look.window, self._limits(), disks, look.judgement, held=look.held is not None
            ),
            lambda _: None,
        )
        episodes = self.session.diagnosis.episodes
        with self._lock:
            self._look = look
            self._families.restrict(look.window, disks)
            self._families.prefer(subjects_of(look.judgement))
            guard.call(Part.TALLY, "health", lambda: self._health.observe(look, episodes), lambda _: None)
            self._forget()

    def _limits(self) -> Limits:
        """Return the thresholds for a hot second; the same object as the rule's, so that results are shared."""
        rules = [rule for rule in self.session.rules if rule.id == _STRIPED]
        return rules[0].limits(self.session.diagnosis.configured.get(_STRIPED)) if rules else {}

    @property
    def ready(self) -> bool:
        """Whether there is a recent sample."""
        return self.age <= self.oldest

    @property
    def age(self) -> float:
        """Seconds since the sample judged last was taken; infinite before the first, 0 for a capture.

        A source that hangs does not make it older; a pause of the recorder does, in a capture that is played.
        """
        look = self._look
        return math.inf if look is None else max(self._time(look) - look.judged, 0.0)

    @property
    def oldest(self) -> float:
        """Age in seconds above which the newest sample is not shown any more."""
        return max(OLD, 3 * self.interval)

    @property
    def parts(self) -> frozenset[str]:
        """Names of the parts of the page."""
        return frozenset((*self._paces, FINDINGS, PROCESS))

    def page(
        self, *, openmetrics: bool = False, packed: bool = False, process: bool = True, part: PageSelection = WHOLE
    ) -> bytes:
        """Return the page. Raises LookupError before the first frame.

        `packed`: gzip-compressed. `process`: include the metrics of this process.
        """
        with self._lock:
            self._note(part)
            return self._page(self._require(), openmetrics, packed, process, part)

    def _note(self, part: PageSelection) -> None:
        """Note that a page with the stages of data paths is asked for."""
        if part.names is None or any(name in part for name in self._providers.get(Disk, ())):
            self._demand.note(self._time(self._require()))

    def _page(self, look: Look, openmetrics: bool, packed: bool, process: bool, part: PageSelection) -> bytes:  # noqa: FBT001
        now = self._time(look)
        shown = self._fresh(look, now)
        if shown != self._shown:
            self._forget()
            self._shown = shown
        form = (openmetrics, packed, process, part)
        if form not in self._pages:
            while len(self._pages) >= _MOST_PARTS:
                del self._pages[next(iter(self._pages))]
            pieces = self._pieces(look, now, part, shown, openmetrics=openmetrics, process=process)
            make = gzip if packed else plain
            self._pages[form] = make(pieces, openmetrics=openmetrics)
        return self._pages[form]

    def shown(self) -> Iterator[Told]:
        """Yield every metric that has samples, without process metrics. Raises LookupError before the first frame."""
        look = self._require()
        now = self._time(look)
        fresh = self._fresh(look, now)
        tables = self._tables(look, fresh, WHOLE)
        of_families = [told for family, rows in tables for told in self._families[family].samples(rows)]
        yield from (told for told in (*self._own(look, now, WHOLE, fresh), *of_families) if told[1])

    def sampled(self) -> tuple[float, list[Told]] | None:
        """Return the Unix time of the newest sample and its metrics, from any thread; None if it is too old."""
        with self._lock:
            self._note(WHOLE)
            return (self._require().now.taken, list(self.shown())) if self.ready else None

    def collect(self) -> Iterator[Metric]:
        """Yield the page as prometheus_client families, without process metrics, for custom registries."""
        yield from (_metric(heading, samples) for heading, samples in self.shown())

    def _forget(self) -> None:
        self._pages.clear()
        self._process = []

    def _require(self) -> Look:
        if self._look is None:
            raise LookupError("no frame yet")
        return self._look

    def _time(self, look: Look) -> float:
        if self.clock is not None:
            return self.clock()
        return time.monotonic() if self.session.origin.live else look.now.monotonic

    def _recent(self, look: Look, now: float) -> bool:
        return not self.session.origin.live or now - look.judged <= self.oldest

    def _fresh(self, look: Look, now: float) -> frozenset[str]:
        """Return the collectors with recent data; all successful ones of a capture, as run times may be unrecorded."""
        runs = look.now.runs.items()
        if not self.session.origin.live:
            return frozenset(name for name, run in runs if run.ok)
        if not self._recent(look, now):
            return frozenset()
        return frozenset(name for name, run in runs if run.ok and now - run.started <= self._longest(name))

    def _longest(self, name: str) -> float:
        """Return the age in seconds above which the data of a collector are left out."""
        return max(STALE, 3 * max(self._paces[name], self.interval))

    def _tables(
        self, look: Look, fresh: Container[str], part: PageSelection
    ) -> list[tuple[type[Reading], Mapping[Any, Reading]]]:
        """Return the rows of each family of the requested sources with fresh data, without families that have none."""
        runs = look.now.by_family
        found: list[tuple[type[Reading], Mapping[Any, Reading]]] = []
        for family in self._families:
            of = tallies.OF.get(family, family)
            run = runs.get(of)
            if run is None or run.collector not in fresh:
                continue
            if part.names is not None and not any(name in part for name in self._providers[of]):
                continue
            rows = run.tables[family] if of is family else self._tallies.rows[family]
            if rows or self._families[family].dropped:  # else there is nothing to write, and nothing to forget
                found.append((family, rows))
        return found

    def _own(self, look: Look, now: float, part: PageSelection, fresh: frozenset[str]) -> Iterator[Told]:
        """Yield the metrics about sources and findings."""
        session, full, dropped = self.session, self._families.chosen.profile == FULL, self._families.dropped()
        enabled = [collector for collector in session.collectors if collector.name in part]
        yield from of_sources(look.now, enabled, now, dropped, fresh, full=full)
        if full:
            known = self._known if part.names is None else enabled
            yield from of_runs(self._health, look.now, enabled, known, self.interval, fresh)
        yield TOOK, [({}, session.took)] if session.origin.live else []
        yield LATE, [({}, self.late)] if self.late is not None else []
        yield ERRED, [({"name": n, "part": part.value}, c) for (part, n), c in sorted(session.guard.counts.items())]
        if self.reloaded is not None:
            yield RELOADED, [({}, int(self.reloaded))]
        if self.recorder is not None:
            yield from of_recorder(self.recorder())
        if self.otlp is not None:
            yield from of_otlp(self.otlp())
        if FINDINGS in part:
            judgement = look.judgement if self._recent(look, now) else Judgement()
            yield from of_rules(self._health, judgement, session.rules, look.window, full=full)

    def _pieces(
        self,
        look: Look,
        now: float,
        part: PageSelection,
        fresh: frozenset[str],
        *,
        openmetrics: bool,
        process: bool,
    ) -> Iterator[bytes | Text]:
        """Yield the page in order; family texts cache their compressed form."""
        tables = self._tables(look, fresh, part)
        told = [self._families.text(*table) for table in tables]  # first: determines dropped series
        if not self._process:
            self._process = list(of_process())
        own = (*self._own(look, now, part, fresh), *(self._process if process and PROCESS in part else ()))
        yield b"".join(
            heading.head(openmetrics=openmetrics) + lines(heading.name, samples).encode()
            for heading, samples in own
            if samples
        )
        yield from told
        if openmetrics:
            yield b"# EOF\n"


def render(session: Session, *, openmetrics: bool = False) -> bytes:
    """Return the page of a fully fed session; its counters start with the last frame."""
    exposition = Exposition(session)
    exposition.observe(session.head())
    return exposition.page(openmetrics=openmetrics)


def _metric(heading: Heading, samples: Sequence[Any]) -> Metric:
    from prometheus_client import core  # noqa: PLC0415  # not needed for the page itself

    name = f"{heading.name}_bucket" if heading.type == "histogram" else heading.name
    metric = core.Metric(heading.bare, heading.help, heading.type, heading.suffix)
    for labels, value in samples:
        metric.add_sample(name, dict(labels), value)
    return metric
