"""Several nodes made by hand, seen together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from sdstop.analysis.node_names import node_names
from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Finding, RuledOut, Unchecked, Verdict
from sdstop.core.policy import NO_POLICY, Policy
from sdstop.core.session import Session
from sdstop.core.site_session import SiteMember, SiteSession
from sdstop.rules import RULES
from sdstop.rules.between import BETWEEN
from tests.nodes.frames import Files, frames
from tests.stories.texts import faults

HOSTNAME = "/proc/sys/kernel/hostname"
Shown = Sequence[tuple[float, Files]]


def site(
    nodes: Mapping[str, Shown],
    config: Mapping[str, Mapping[str, float]] | None = None,
    collectors: Sequence[Collector] = BUILTIN,
    policies: Mapping[str, Policy] | None = None,
) -> SiteSession:
    """Return nodes judged together: (second, files by key) of each frame, by name of the node."""
    made = {}
    for name, shown in nodes.items():
        first = shown[0][0] if shown else 0.0
        named = [(at - first, {HOSTNAME: f"{name}\n", **files}) for at, files in shown]
        made[name] = [replace(frame, taken=frame.taken + first) for frame in frames(named)]
    return together(made, config, collectors=collectors, policies=policies)


def together(
    nodes: Mapping[str, Sequence[Frame]],
    config: Mapping[str, Mapping[str, float]] | None = None,
    origins: Mapping[str, Origin] | None = None,
    collectors: Sequence[Collector] = BUILTIN,
    policies: Mapping[str, Policy] | None = None,
) -> SiteSession:
    """Return the frames of nodes judged together, by name of the node."""
    members, rest = [], []
    for name, own in nodes.items():
        policy = (policies or {}).get(name, NO_POLICY)
        session = Session((origins or {}).get(name, Origin(name)), collectors, RULES, config, policy=policy)
        session.feed(own[0])
        members.append(SiteMember(name, session))
        rest.append(own[1:])
    made = SiteSession(members, BETWEEN, node_names, config or {})
    made.feed(rest)
    return made


def found(made: SiteSession, rule: str) -> list[Finding]:
    """Return the active findings of a rule between nodes, whose texts have the right form."""
    chosen = [finding for finding in made.judgement.findings if finding.rule == rule]
    for finding in chosen:
        assert list(faults(finding)) == [], finding
        assert finding.between, finding
        assert {cite.host for cite in finding.evidence} <= set(finding.between), finding
    return chosen


def finding(made: SiteSession, rule: str) -> Finding:
    """Return the one finding of a rule between nodes."""
    (one,) = found(made, rule)
    return one


def verdict(made: SiteSession, rule: str, subject: str) -> Verdict:
    """Return the one verdict of a rule between nodes on a thing."""
    judged = made.judgement
    every: list[Verdict] = [*judged.findings, *judged.ruled_out, *judged.unchecked]
    (one,) = (each for each in every if each.rule == rule and subject in (each.subject, *each.others))
    return one


def ruled_out(made: SiteSession, rule: str, subject: str) -> str:
    """Return why a rule between nodes ruled a thing out."""
    said = verdict(made, rule, subject)
    assert isinstance(said, RuledOut), said
    return said.summary


def unchecked(made: SiteSession, rule: str, subject: str) -> str:
    """Return why a rule between nodes did not judge a thing."""
    said = verdict(made, rule, subject)
    assert isinstance(said, Unchecked), said
    return said.reason
