"""Site: several nodes seen together at one moment, and the judgement of the rules between them.

Moments are aligned by the nodes' own clocks, which can differ: a rule that joins states of several nodes asks `apart`
first, and does not judge captures of different times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.evidence import Cite, Defect, Outcome, dated
from sdstop.core.families import in_use, names_of
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict
from sdstop.core.finding_order import by_cause, urgency
from sdstop.core.format import duration, listed
from sdstop.core.guard import Guard, Part
from sdstop.core.history import Window
from sdstop.core.judgement import Judgement
from sdstop.core.model import Reading
from sdstop.core.policy import NO_POLICY, OFF, Policy, agreed, with_consequences
from sdstop.core.rule import NodeRule, Threshold, of_rule

APART = Threshold("apart", 600.0, "maximum time between the captures of two nodes", "seconds")
"""Threshold of rules that join states, which outlast the time that it takes to go from one node to the next."""
AT_ONCE = 15.0
"""Seconds within which two nodes are seen at the same time: a contradiction of their states is real."""


class SiteNode(Struct, frozen=True, eq=False):
    """A node among several: its unique name, all names that others may know it by, and its window.

    `judgement` is that of its own rules in the newest frame of the window, `policy` the one that it is judged by.
    """

    name: str
    window: Window
    names: frozenset[str] = frozenset()
    judgement: Judgement = Judgement()
    policy: Policy = NO_POLICY

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of its own rules, none folded."""
        return self.judgement.singles

    @property
    def taken(self) -> float:
        """Unix time of its newest frame, by its own clock."""
        return self.window.now.taken

    def cite(self, row: Reading, field: str = "") -> Cite | None:
        """Quote the raw evidence of a row, as that of this node."""
        found = self.window.cite(row, field)
        return None if found is None else replace(found, host=self.name)

    def lacks(self, family: type[Reading]) -> str:
        """Return why a family of this node is unknown: `drbd: denied, ...`; "" if it is known, or not there."""
        for name in self.window.providers.get(family, ()):
            run = self.window.now.runs.get(name)
            if run is not None and not run.ok and (run.outcome is not Outcome.ABSENT or not run.recorded):
                return f"{name}: {run.reason}" if run.outcome is Outcome.ABSENT else f"{name}: {run.word}, {run.reason}"
        return ""

    def defect(self, families: Sequence[type[Reading]]) -> Defect | None:
        """Return a reason why nothing good can be concluded from families of this node."""
        runs = (self.window.now.runs.get(name) for name in self.window.providers.of(names_of(families)))
        return next((defect for run in runs if run is not None and run.ok for defect in run.defects), None)


class Site(Struct, frozen=True, eq=False):
    """Nodes with different names."""

    nodes: tuple[SiteNode, ...]

    def called(self, name: str | None) -> SiteNode | None:
        """Return the node with a name or address: `store2`, `store2.example.org`, `10.0.0.2`; None if not here.

        A name of several nodes is that of none.
        """
        if not name:
            return None
        found = [node for node in self.nodes if name == node.name or name in node.names]
        short = name.partition(".")[0]
        if not found and not short.isdecimal():
            found = [node for node in self.nodes if short in {known.partition(".")[0] for known in node.names}]
        return found[0] if len(found) == 1 else None

    def distant(self, limit: float, *nodes: SiteNode) -> str:
        """Return why these nodes cannot be seen together, "" if they can; `limit` is in seconds."""
        undated = [node.name for node in nodes if not dated(node.taken)]
        if undated:
            return f"time of the capture of {listed(undated)} unknown"
        seconds = apart(*nodes)
        if seconds <= limit:
            return ""
        return f"captures of {listed([node.name for node in nodes])} are {duration(seconds)} apart by their clocks"


def apart(*nodes: SiteNode) -> float:
    """Return the seconds between the newest frames of nodes, by their own clocks."""
    times = [node.taken for node in nodes]
    return max(times) - min(times)


def judge_site(
    site: Site, rules: Sequence[NodeRule], configured: Mapping[str, Mapping[str, float]], guard: Guard
) -> Judgement:
    """Evaluate rules between nodes; findings are in no order. A rule that raises an exception is unchecked.

    Settings of rules hold if all nodes have the same; severities and acceptances if all nodes of the finding do.
    """
    verdicts: list[Verdict] = []
    ran: list[str] = []
    for rule in rules:
        found = [_by_policy(site, verdict) for verdict in _guarded(site, rule, configured, guard)]
        verdicts += found
        ran += [rule.id] if any(not isinstance(verdict, Unchecked) for verdict in found) else []
    return judgement_of(verdicts, ran)


def _by_policy(site: Site, verdict: Verdict) -> Verdict:
    """Return a finding with its severity by the policy that its nodes have in common, accepted if that accepts it."""
    if not isinstance(verdict, Finding):
        return verdict
    nodes = [node for node in site.nodes if node.name in verdict.between] or site.nodes
    return agreed([node.policy for node in nodes]).of(verdict, max(node.taken for node in nodes))


def _guarded(
    site: Site, rule: NodeRule, configured: Mapping[str, Mapping[str, float]], guard: Guard
) -> Sequence[Verdict]:
    def checked() -> list[Verdict]:
        return list(_checked(site, rule, configured))

    def helpless(said: str) -> list[Verdict]:
        return [Unchecked(f"error in this rule: {said}", rule=rule.id, gap=Gap.FAULTY)]

    return guard.call(Part.RULE, rule.id, checked, helpless)


def _checked(site: Site, rule: NodeRule, configured: Mapping[str, Mapping[str, float]]) -> Iterator[Verdict]:
    concerned = [node for node in site.nodes if any(map(node.window.rows, in_use(rule.needs)))]
    if rule.check is None or (rule.needs and not concerned):
        return
    policy = agreed([node.policy for node in site.nodes])
    if policy.is_off(rule):
        yield Unchecked(OFF, rule=rule.id, calm=True)
        return
    check = rule.check
    doubtful = {node.name: defect for node in concerned if (defect := node.defect(rule.needs)) is not None}
    for verdict in policy.grouped(rule.id, configured.get(rule.id), lambda given: check(site, rule.limits(given))):
        if doubtful and isinstance(verdict, RuledOut):
            name, defect = next(iter(doubtful.items()))
            reason = f"{name}: {defect.text}"
            yield Unchecked(reason, verdict.subject, rule=rule.id, gap=Gap.FAULTY, others=verdict.others)
        else:
            yield of_rule(verdict, rule)


def judgement_of(verdicts: Iterable[Verdict], ran: Iterable[str]) -> Judgement:
    """Return verdicts as a judgement, findings worst first and below their causes."""
    every = list(verdicts)
    findings = ordered([verdict for verdict in every if isinstance(verdict, Finding)])
    return Judgement(
        tuple(findings),
        tuple(verdict for verdict in every if isinstance(verdict, RuledOut)),
        tuple(verdict for verdict in every if isinstance(verdict, Unchecked)),
        tuple(dict.fromkeys(ran)),
    )


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings of several nodes worst first, each cause followed by those that it explains.

    Those that follow from an accepted one are accepted, unless the harm is worse.
    """
    known = with_consequences(list(findings))
    ids = {finding.id for finding in known}
    known.sort(key=lambda finding: (*urgency(finding, ids), finding.host))
    return [known[led.place] for led in by_cause(known)]
