"""Limits of the nodes of a cluster whose throughput for several clients is little higher than for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_order import urgency
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import AT_ONCE, Site, SiteNode
from sdstop.readings.cluster import Cluster, ClusterClient, ClusterNode
from sdstop.rules.clusters.scaling_poor import SUSPECTS

_ID = "scaling-poor"
_WORDS = {
    **SUSPECTS,
    "frames-dropped": "dropped frames",
    "path-mtu-shrunk": "a small path MTU",
    "link-degraded": "a degraded link",
    "pcie-degraded": "a degraded PCIe link",
    "device-hung": "a hung device",
    "slow-device": "a slow device",
    "dimm-too-few-channels": "few memory channels",
    "numa-imbalance": "uneven NUMA nodes",
    "memory-short": "a lack of memory",
}
"""Rules whose findings limit the throughput of a node, likeliest first, and their words."""


class _Suspect(Struct, frozen=True):
    """A finding that limits a node of the cluster."""

    node: SiteNode
    finding: Finding


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    del limits
    for node in site.nodes:
        poor = {finding.subject: finding for finding in node.findings if finding.rule == _ID}
        for cluster in node.window.rows(Cluster).values():
            finding = poor.get(cluster.cluster)
            if finding is not None:
                yield _judged(site, node, finding, _members(site, node, cluster.cluster))


def _members(site: Site, node: SiteNode, cluster: str) -> list[SiteNode]:
    """Return the nodes of the site that hold data of a cluster or use it, as one of them lists these."""
    nodes = [row for row in node.window.rows(ClusterNode).values() if row.cluster == cluster]
    clients = [row for row in node.window.rows(ClusterClient).values() if row.cluster == cluster]
    names = [name for row in nodes for name in (row.node, *(row.address or "").split())]
    names += [name for row in clients for name in (row.client, row.address or "")]
    found = (site.called(name) for name in names)
    return list({each.name: each for each in found if each is not None}.values())


def _judged(site: Site, node: SiteNode, finding: Finding, members: Sequence[SiteNode]) -> Verdict:
    subject = finding.subject
    if not members:
        return Unchecked("no capture of its nodes and clients", subject, gap=Gap.UNRECORDED)
    why = site.distant(AT_ONCE, node, *members)
    if why:
        return Unchecked(why, subject, gap=Gap.UNRECORDED)
    suspects = sorted(
        (_Suspect(each, found) for each in {node.name: node, **{m.name: m for m in members}}.values()
         for found in each.findings if found.rule in _WORDS and found.severity is not Severity.INFO),
        key=lambda suspect: (list(_WORDS).index(suspect.finding.rule), *urgency(suspect.finding), suspect.node.name),
    )  # fmt: skip
    if not suspects:
        return _unlimited(subject, members)
    return _found(node, finding, members, suspects)


def _unlimited(subject: str, members: Sequence[SiteNode]) -> Verdict:
    """Return the verdict on nodes of which none is at a limit."""
    good: dict[str, set[str]] = {}
    for member in members:
        for verdict in member.judgement.ruled_out:
            if verdict.rule in _WORDS:
                good.setdefault(verdict.rule, set()).add(member.name)
    checked = [_WORDS[rule] for rule in _WORDS if len(good.get(rule, ())) == len(members)]
    if not checked:
        return Unchecked("links, devices and HBAs of its nodes not judged", subject)
    names = human.listed([member.name for member in members], 4)
    return RuledOut(subject, f"{', '.join(checked)}: none on all {len(members)} nodes seen ({names})")


def _found(node: SiteNode, finding: Finding, members: Sequence[SiteNode], suspects: Sequence[_Suspect]) -> Finding:
    first = suspects[0].finding.rule
    where = sorted({suspect.node.name for suspect in suspects if suspect.finding.rule == first})
    seen = sorted({member.name for member in members})
    word = _WORDS[first]
    share = finding.title.partition(": ")[2]
    named = human.listed(where)
    on = f" on {sum(name in seen for name in where)} of {len(seen)} nodes seen"
    if not set(where) & set(seen):  # a property of the cluster itself
        on = "; no node seen is at a limit" if isinstance(_unlimited("", members), RuledOut) else ""
    between = tuple(dict.fromkeys([node.name, *seen]))
    return Finding(
        severity=finding.severity,
        subject=finding.subject,
        title=finding.title,
        cause=fitting(
            f"{share}: because of {word}{on} ({named}).",
            f"{share}: because of {word}{on}.",
            f"Because of {word}{on}.",
        ),
        impact=finding.impact,
        values=(
            *(value for value in finding.values if not value.name.startswith("suspect")),
            *(Value(f"suspect{number}", f"on {suspect.node.name}",
                    f"{_WORDS[suspect.finding.rule]}: {suspect.finding.subject}, {suspect.finding.cause}")
              for number, suspect in enumerate(suspects[:6], 1)),
            Value("nodes", "nodes with it", sum(name in seen for name in where), of=len(seen)),
        ),
        evidence=cites(*_cites(node, finding, suspects)),
        advice=(
            f"Fix {word} on {phrase(human.listed(where, 4))} first; then measure again.",
            *(step for step in suspects[0].finding.advice[:4]),
            "Then measure with one client and with all, under the same load.",
        ),
        refuted_by="the same efficiency after that is fixed",
        confidence=0.7,
        cost=finding.cost,
        explains=tuple(
            dict.fromkeys(
                [f"{node.name}:{finding.id}", *(f"{each.node.name}:{each.finding.id}" for each in suspects)]
            )
        ),
        host=where[0] if len(where) == 1 else "",
        between=between,
        view="cluster",
    )  # fmt: skip


def _cites(node: SiteNode, finding: Finding, suspects: Sequence[_Suspect]) -> Iterator[Cite]:
    yield from (replace(cite, host=node.name) for cite in finding.evidence[:2])
    for suspect in suspects[:4]:
        yield from (replace(cite, host=suspect.node.name) for cite in suspect.finding.evidence[:1])


SCALING_POOR = NodeRule(
    _ID,
    "cluster that gives several clients little more than one, with the nodes that limit it",
    Severity.WARNING,
    (),
    standing=False,
    view="cluster",
    check=_check,
    needs=(Cluster,),
)
