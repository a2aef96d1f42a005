"""Site session: the sessions of several nodes, fed in the order of time, and judged together.

Each frame goes to the session of its node. As soon as every node that is being watched has brought another frame, the
rules between nodes judge that moment. A node's time is that of its own clock at its first frame, and the monotonic
clock from there. At the end all nodes are judged once more, each by its newest frame: captures of different times are
compared where time does not matter, and otherwise the rules say how far apart they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.account import not_understood
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Frame, dated
from sdstop.core.finding import Finding, RuledOut, Unchecked, Verdict
from sdstop.core.guard import Guard
from sdstop.core.headline import Headline, SeenNode, headline_of
from sdstop.core.history import Window
from sdstop.core.judgement import Judgement
from sdstop.core.rule import NodeRule
from sdstop.core.session import Look, Session
from sdstop.core.site import Site, SiteNode, judge_site, judgement_of, ordered

STALE = 5.0
"""Seconds after which a node without another frame is no longer being watched, or three of its intervals."""


class SiteMember(Struct):
    """A node of a site: its unique name, and its session, which has its first frame.

    `at` is the Unix time of its newest frame, `interval` the seconds between that and the one before.
    """

    name: str
    session: Session
    at: float = 0.0
    interval: float = 0.0

    def __post_init__(self) -> None:
        """Start at the first frame."""
        self.at = self.started

    @property
    def started(self) -> float:
        """Unix time of its first frame."""
        return self.session.started if self.session.started is not None else 0.0

    def seen(self) -> SeenNode:
        """Return the part of a headline about this node."""
        session = self.session
        now, origin = session.head().now, session.origin
        return SeenNode(self.name, now.runs, session.collectors, origin, not_understood(origin, now), session.doubt())


class SiteSession(Struct):
    """Sessions of nodes with different names; `names_of` returns the names and addresses of a node, by its window.

    `episodes` are the findings between nodes, those that ended included; `judgement` has the latest verdict on each
    thing.
    """

    members: Sequence[SiteMember]
    rules: Sequence[NodeRule]
    names_of: Callable[[Window], frozenset[str]]
    configured: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    judgement: Judgement = field(default_factory=Judgement)
    guard: Guard = field(default_factory=Guard)
    moments: int = 0
    """Number of moments at which nodes were judged together."""
    _episodes: dict[str, Episode] = field(default_factory=dict)
    _verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    _judged: set[tuple[str, str]] = field(default_factory=set)

    def feed(self, frames: Sequence[Iterable[Frame]], noted: Callable[[SiteMember, Look], None] | None = None) -> None:
        """Add the further frames of each member, in their order, then judge all nodes; `noted` gets each state."""
        fresh: set[int] = set()
        streams = [_timed(index, self.members[index], each) for index, each in enumerate(frames)]
        for at, index, frame in heapq.merge(*streams, key=lambda each: each[:2]):
            member = self.members[index]
            member.interval = at - member.at
            look = member.session.feed(frame)
            member.at = at
            if noted is not None:
                noted(member, look)
            fresh.add(index)
            watched = {number for number, other in enumerate(self.members) if _is_watched(other, at)}
            if len(watched) > 1 and watched <= fresh:
                self._judge([self.members[number] for number in sorted(watched)], at)
                fresh.clear()
        self._end()

    def _site(self, members: Iterable[SiteMember]) -> Site:
        nodes = []
        for member in members:
            look = member.session.head()
            names = self.names_of(look.window) | {member.session.origin.name}
            policy = member.session.diagnosis.policy
            nodes.append(SiteNode(member.name, look.window, names, look.judgement, policy))
        return Site(tuple(nodes))

    def _judge(self, members: Sequence[SiteMember], at: float) -> None:
        """Judge one moment by all rules to which time matters."""
        self.moments += 1
        rules = [rule for rule in self.rules if not rule.timeless]
        judged = judge_site(self._site(members), rules, self.configured, self.guard)
        for verdict in _every(judged):
            self._verdicts[_key(verdict)] = verdict
            self._judged.add((verdict.rule, verdict.subject))
        self._continue(judged.findings, at)

    def _end(self) -> None:
        """Judge all nodes by their newest frames; verdicts on earlier moments are kept."""
        judged = judge_site(self._site(self.members), self.rules, self.configured, self.guard)
        late = [verdict for verdict in _every(judged) if (verdict.rule, verdict.subject) not in self._judged]
        self._verdicts.update((_key(verdict), verdict) for verdict in late)
        for finding in late:
            if isinstance(finding, Finding):
                at = max(member.at for member in self.members if member.name in finding.between)
                self._episodes[finding.id] = Episode(finding, at, None, at, None, at, 0, at)
        current = {e.finding.id for e in self._episodes.values() if e.until is None}
        verdicts = [v for v in self._verdicts.values() if not isinstance(v, Finding) or v.id in current]
        self.judgement = judgement_of(_apart_from_findings(verdicts), judged.ran)

    def _continue(self, findings: Iterable[Finding], at: float) -> None:
        """Continue the episodes of findings at a Unix time, and end those of others."""
        active = {finding.id: finding for finding in findings}
        for key, finding in active.items():
            known = self._episodes.get(key)
            if known is None:
                self._episodes[key] = Episode(finding, at, None, at, None, at, 0, at)
            else:
                worse = finding.severity.rank >= known.finding.severity.rank
                kept = finding if worse else known.finding
                self._episodes[key] = replace(known, finding=kept, until=None, ended=None, seen=at)
        for key, episode in self._episodes.items():
            if key not in active and episode.until is None:
                self._episodes[key] = replace(episode, until=at, ended=at)

    def episodes(self) -> list[Episode]:
        """Return the findings between nodes and those of each node, active ones first, causes before consequences."""
        every = {episode.finding.id: episode for episode in self._episodes.values()}
        for member in self.members:
            for episode in member.session.episodes():
                finding = episode.finding.on(member.name)
                every.setdefault(finding.id, replace(episode, finding=finding))
        found: list[Episode] = []
        for active in (True, False):
            part = {key: episode for key, episode in every.items() if (episode.until is None) is active}
            every_one = ordered(episode.finding for episode in part.values())
            found += [replace(part[finding.id], finding=finding) for finding in every_one]
        return found

    def whole(self) -> Judgement:
        """Return the latest judgement of all nodes and between them."""
        verdicts = list(_every(self.judgement))
        ran = [*self.judgement.ran]
        for member in self.members:
            judged = member.session.head().judgement
            verdicts += hosted(judged, member.name)
            ran += judged.ran
        return judgement_of(verdicts, ran)

    def headline(self, judgement: Judgement | None = None, *, strict: bool = False) -> Headline:
        """Return the headline of a judgement, by default of the latest one."""
        seen = [member.seen() for member in self.members]
        return headline_of(self.whole() if judgement is None else judgement, seen, strict=strict)


def hosted(judgement: Judgement, host: str) -> Iterator[Verdict]:
    """Yield the verdicts on one node as those on a node among several."""
    yield from (finding.on(host) for finding in judgement.findings)
    yield from (replace(verdict, host=host) for verdict in judgement.ruled_out)
    yield from (replace(verdict, host=host) for verdict in judgement.unchecked)


def _every(judgement: Judgement) -> Iterator[Verdict]:
    yield from judgement.findings
    yield from judgement.ruled_out
    yield from judgement.unchecked


def _timed(index: int, member: SiteMember, frames: Iterable[Frame]) -> Iterator[tuple[float, int, Frame]]:
    """Yield further frames of a member with their time, which never runs back."""
    for frame in frames:
        yield member.started + frame.monotonic - member.session.began, index, frame


def _is_watched(member: SiteMember, at: float) -> bool:
    return dated(member.started) and 0 <= at - member.at <= max(STALE, 3 * member.interval)


def _key(verdict: Verdict) -> tuple[str, str]:
    return verdict.rule, verdict.id if isinstance(verdict, Finding) else verdict.subject


def _apart_from_findings(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Yield verdicts without those on things that have a finding of the same rule."""
    accused = {(v.rule, subject) for v in verdicts if isinstance(v, Finding) for subject in (*v.subjects, *v.others)}
    for verdict in verdicts:
        if isinstance(verdict, RuledOut | Unchecked) and (verdict.rule, verdict.subject) in accused:
            continue
        yield verdict
