"""Watcher: queries a server at each refresh and caches the answers of less frequent queries."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.comparison.outlier import MTU_MISMATCH, NODE_OUTLIER, Configured, Trait, outliers
from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.core.format import percent
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.rule import NodeRule
from sdstop.fleet import traits
from sdstop.fleet.answer import LabeledSeries, QueryAnswer
from sdstop.fleet.picture import HISTORY_SECONDS, HISTORY_STEP, finding_of_series, on_grid, picture
from sdstop.fleet.problem import ServerError
from sdstop.fleet.queries import QUERIES, RARE, SLOW, history, node_history, of_node
from sdstop.fleet.silences import SilencedAlert
from sdstop.fleet.state import FleetFinding, FleetState, Key

INTERVAL = 30.0
"""Default seconds between two refreshes."""
SPARKS = 60
"""Number of worst nodes whose history of the last hour is queried."""
LONGEST_PAUSE = 300.0
"""Maximum seconds between two attempts while the server does not answer."""
NODE_SECONDS = 6 * 3600.0
"""Seconds of history shown of one node."""
NODE_STEP = 360.0
"""Range and resolution of the history of one node's findings."""


class QueryClient(Protocol):
    """Interface of a client that answers queries."""

    def query(self, expression: str) -> QueryAnswer:
        """Evaluate now. Raises ServerError."""

    def query_range(self, expression: str, start: float, end: float, step: float) -> QueryAnswer:
        """Evaluate over a time range. Raises ServerError."""

    def server(self) -> str:
        """Return the server's name and version. Raises ServerError."""


class NodePicture(Struct, frozen=True):
    """Details of one node: findings, history by rule over NODE_SECONDS, failing sources and facts.

    `accepted` has the severity that accepted findings would have, by rule and subject. `courses` are by rule and
    severity, one value every NODE_STEP seconds. `facts` are (title, text) pairs.
    """

    key: Key
    asked: float
    claims: tuple[FleetFinding, ...] = ()
    courses: Mapping[tuple[str, str], tuple[float | None, ...]] | None = None
    failing: tuple[str, ...] = ()
    unchecked: Mapping[str, int] | None = None
    facts: tuple[tuple[str, str], ...] = ()
    troubles: tuple[str, ...] = ()
    accepted: Mapping[tuple[str, str], Severity] = MappingProxyType({})


class FleetWatcher:
    """Watcher of the nodes on one server that `match` selects (matchers as written between braces)."""

    def __init__(
        self,
        asker: QueryClient,
        match: str = "",
        groups: Sequence[str] = ("job",),
        clock: Callable[[], float] = time.time,
        configured: Configured = MappingProxyType({}),
        alerts: Callable[[], tuple[SilencedAlert, ...]] | None = None,
        policy: Policy = NO_POLICY,
    ) -> None:
        """Prepare without querying; `groups` are the labels that define peer groups, `alerts` asks an Alertmanager.

        Nodes that differ are judged by the thresholds `configured` and the `policy`.
        """
        self._policy = policy
        self._alerts = alerts
        self._silenced: tuple[SilencedAlert, ...] | None = None
        self._asker = asker
        self._match = match
        self._groups = tuple(groups)
        self._clock = clock
        self._configured = configured
        self._round = 0
        self._failures = 0
        self._strikes = 0
        self._server = ""
        self._answers: dict[str, QueryAnswer] = {}
        self._troubles: dict[str, str] = {}
        self._outliers: tuple[Verdict, ...] = ()

    def pause(self, interval: float) -> float:
        """Return the seconds until the next refresh, with exponential backoff while the server does not answer."""
        return max(interval, min(interval * 2.0**self._failures, LONGEST_PAUSE))

    def refresh(self) -> FleetState:
        """Run the due queries and return the picture. Raises ConfigError; server failures are part of the picture.

        If the first query gets no answer, the others are skipped.
        """
        asked, begun = self._clock(), time.monotonic()
        self._strikes = 0
        try:
            if self._round % RARE == 0:
                self._server = self._asker.server()
            for query in QUERIES:
                if self._round % query.pace == 0 or query.name not in self._answers:
                    self._ask(query.name, query.text(self._match, self._recorded()))
        except ServerError as error:
            self._failures += 1
            self._round = 0
            self._answers.clear()  # old answers must not appear as current
            self._troubles.clear()
            return FleetState(asked, time.monotonic() - begun, self._server, troubles=(str(error),), failed=True)
        self._failures = 0
        if self._round % RARE == 0:
            self._compare(asked)
        if self._round % SLOW == 0:
            self._look_back(asked)
            self._ask_alerts()
        self._round += 1
        shown = picture(self._answers, outliers=self._outliers, silenced=self._silenced)
        told = tuple(self._answers.values())
        return replace(
            shown, asked=asked, took=time.monotonic() - begun, server=self._server,
            troubles=tuple(f"{name}: {line}" for name, line in self._troubles.items()),
            warnings=_unique(a.warnings for a in told), infos=_unique(a.infos for a in told),
        )  # fmt: skip

    def _recorded(self) -> frozenset[str]:
        known = self._answers.get("recorded")
        return frozenset() if known is None else frozenset(row.label("__name__") for row in known.series)

    def _ask(self, name: str, expression: str) -> None:
        """Run and store a query; record its failure. Raises ServerError if the server seems unusable."""
        self._keep(name, lambda: self._asker.query(expression))

    def _keep(self, name: str, ask: Callable[[], QueryAnswer]) -> None:
        try:
            self._answers[name] = ask()
        except ServerError as error:
            # A single query may overload a server that answers the others; stop after two failures in a row.
            self._strikes += error.status is None or error.status in OVERLOADED
            if error.lasting or not self._answers or self._strikes > 1:
                raise
            self._answers.pop(name, None)
            self._troubles[name] = str(error)
        else:
            self._strikes = 0
            self._troubles.pop(name, None)

    def _ask_alerts(self) -> None:
        """Ask the Alertmanager; if it does not answer, the silences are unknown."""
        if self._alerts is None:
            return
        self._silenced = None
        try:
            self._silenced = self._alerts()
        except ServerError as error:
            self._troubles[_ALERTS] = str(error)
        else:
            self._troubles.pop(_ALERTS, None)

    def _compare(self, asked: float) -> None:
        """Query the traits and compare them; failed queries are repeated another time."""
        for name, expression in traits.queries(self._match, self._groups).items():
            with contextlib.suppress(ServerError):
                self._ask(f"{_TRAITS}{name}", expression)
        told = {
            name.removeprefix(_TRAITS): answer.series
            for name, answer in self._answers.items()
            if name.startswith(_TRAITS)
        }
        known = tuple(traits.traits(told, self._groups))
        verdicts = [each for rule in (NODE_OUTLIER, MTU_MISMATCH) for each in self._differing(rule, known)]
        self._outliers = tuple(self._policy.of(v, asked) if isinstance(v, Finding) else v for v in verdicts)

    def _differing(self, rule: NodeRule, known: Sequence[Trait]) -> Iterable[Verdict]:
        """Return the verdicts of a rule on traits, by the thresholds of each group of subjects; none if it is off."""
        if self._policy.is_off(rule):
            return ()

        def judged(given: Mapping[str, float] | None) -> Iterable[Verdict]:
            return (each for each in outliers(known, {rule.id: given or {}}) if each.rule == rule.id)

        return self._policy.grouped(rule.id, self._configured.get(rule.id), judged)

    def _look_back(self, asked: float) -> None:
        """Query the history of the worst nodes."""
        worst = [node for node in picture(self._answers).nodes if node.severity or node.silence][:SPARKS]
        self._answers.pop(HISTORY, None)
        if worst:
            expression = history(self._match, sorted({node.key[1] for node in worst}))
            # Use a fixed grid, so that servers with a range cache have most of the points already.
            end = asked // HISTORY_STEP * HISTORY_STEP
            with contextlib.suppress(ServerError):
                self._keep(
                    HISTORY, lambda: self._asker.query_range(expression, end - HISTORY_SECONDS, end, HISTORY_STEP)
                )

    def node(self, key: Key) -> NodePicture:
        """Query the details of one node. Raises ConfigError; failed queries are part of the picture."""
        asked = self._clock()
        answers: dict[str, QueryAnswer] = {}
        troubles: list[str] = []
        for name, expression in of_node(self._match, *key).items():
            try:
                answers[name] = self._asker.query(expression)
            except ServerError as error:
                troubles.append(f"{name}: {error}")
                if error.status is None:
                    return NodePicture(key, asked, troubles=tuple(troubles))
        courses = None
        end = asked // NODE_STEP * NODE_STEP
        try:
            told = self._asker.query_range(node_history(self._match, *key), end - NODE_SECONDS, end, NODE_STEP)
        except ServerError as error:
            troubles.append(f"history: {error}")
        else:
            count = int(NODE_SECONDS / NODE_STEP) + 1
            courses = {
                (row.label("rule"), row.label("severity")): on_grid(row.points, end, NODE_STEP, count)
                for row in told.series
            }
        return node_picture(key, asked, answers, courses, troubles)


HISTORY = "history"
OVERLOADED = frozenset({429, 502, 503, 504})
"""Status codes of an overloaded server, which should not be queried further."""
_TRAITS = "traits: "
_ALERTS = "Alertmanager"


def node_picture(
    key: Key,
    asked: float,
    answers: Mapping[str, QueryAnswer],
    courses: Mapping[tuple[str, str], tuple[float | None, ...]] | None,
    troubles: Sequence[str],
) -> NodePicture:
    """Assemble the answers for one node."""

    def rows(name: str) -> tuple[LabeledSeries, ...]:
        return answers[name].series if name in answers else ()

    facts = [
        (title, said)
        for name, label, title in (("info", "hostname", "Host"), ("info", "kernel", "Kernel"),
                                   ("version", "version", "sdstop"))
        for row in rows(name)[:1]
        if (said := row.label(label))
    ]  # fmt: skip
    facts += [("I/O pressure", f"{percent(row.value)}% of a minute") for row in rows("stalled")[:1]]
    claims = sorted(
        (finding_of_series(row, key) for row in rows("findings")), key=lambda c: (-c.severity.rank, c.rule, c.subject)
    )
    return NodePicture(
        key, asked, tuple(claims), courses,
        tuple(sorted(row.label("collector") for row in rows("sources"))),
        {row.label("rule"): int(row.value) for row in rows("unchecked")}, tuple(facts), tuple(troubles),
        {(row.label("rule"), row.label("subject")): finding_of_series(row, key).severity for row in rows("accepted")},
    )  # fmt: skip


def _unique(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for lines in lists for line in lines))
