"""Clocks of nodes that differ, as the monitors of Ceph measure it between themselves."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.ceph.readings import CephCheck, CephDaemon
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import Site, SiteNode
from sdstop.readings.cluster import Cluster

_CODE = "MON_CLOCK_SKEW"
_SKEW = expression(
    r"\bmon\.(\S{1,100}) (?:addr \S+ )?clock skew (-?\d{1,9}(?:\.\d{1,9})?)s > max (\d{1,6}(?:\.\d{1,9})?)s"
)
"""A line of the check: mon.b clock skew 0.502213s > max 0.05s (src/mon/HealthMonitor.cc); `addr` up to version 14."""


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    del limits
    places = _places(site)
    skewed: set[str] = set()
    reporting: dict[str, list[tuple[SiteNode, CephCheck]]] = {}
    for node in site.nodes:
        for check in node.window.rows(CephCheck).values():
            if check.code == _CODE:
                reporting.setdefault(check.cluster, []).append((node, check))
    for cluster, seen in sorted(reporting.items()):
        found = {match[1]: match for _, check in seen for line in check.lines if (match := _SKEW.search(line))}
        for monitor, match in sorted(found.items()):
            skewed.add(f"{cluster}/{monitor}")
            place = places.get((cluster, monitor))
            if place is None:
                reason = f"mon.{monitor} differs by {match[2]} s: no capture of its node"
                yield Unchecked(reason, f"{cluster}/mon.{monitor}", gap=Gap.UNRECORDED)
            else:
                yield _found(place, monitor, float(match[2]), float(match[3]), seen)
    for (cluster, monitor), node in sorted(places.items(), key=lambda item: item[0]):
        reported = any(
            row.kind == "ceph" and row.healthy is not None and row.managers_up for row in _clusters(site, cluster)
        )
        if reported and f"{cluster}/{monitor}" not in skewed and cluster not in reporting:
            yield RuledOut(node.name, f"mon.{monitor}: no clock skew reported by its cluster")


def _clusters(site: Site, name: str) -> Iterator[Cluster]:
    for node in site.nodes:
        row = node.window.get(Cluster, name)
        if row is not None:
            yield row


def _places(site: Site) -> dict[tuple[str, str], SiteNode]:
    """Return the nodes of monitors, by cluster and id; a monitor of several nodes is of none."""
    found: dict[tuple[str, str], list[SiteNode]] = {}
    for node in site.nodes:
        for row in node.window.rows(CephDaemon).values():
            if row.kind == "mon":
                found.setdefault((row.cluster, row.ident), []).append(node)
    return {key: nodes[0] for key, nodes in found.items() if len(nodes) == 1}


def _found(node: SiteNode, monitor: str, skew: float, most: float, seen: list[tuple[SiteNode, CephCheck]]) -> Finding:
    name, amount = human.safe(node.name, 30), human.duration(abs(skew))
    others = tuple(dict.fromkeys(other.name for other, _ in seen if other is not node))
    return Finding(
        severity=Severity.WARNING,
        subject=node.name,
        title=f"CLOCK DIFFERS by {amount}",
        cause=fitting(
            f"The clock of {name} (mon.{monitor}) is {amount} off the leading monitor's.",
            f"The clock of {name} is {amount} off the leading monitor's.",
            f"The clock is {amount} off the leading monitor's.",
        ),
        impact="Times of its events do not match; the monitors can lose the quorum.",
        values=(
            Value("skew", "difference of the clocks", skew, "seconds"),
            Value("most", "tolerated by the monitors", most, "seconds"),
            Value("monitor", "monitor", f"mon.{monitor}"),
        ),
        evidence=cites(*(other.cite(check) for other, check in seen[:2])),
        advice=(
            f"Synchronize the clock of {phrase(name)}.",
            run("chronyc", "tracking", note=f"on {name}"),
            run("timedatectl", "status", note=f"on {name}"),
            run("ceph", "time-sync-status"),
        ),
        refuted_by=f"no {_CODE} in ceph health detail",
        explains=tuple(f"{other.name}:ceph-health:{check.name}" for other, check in seen),
        host=node.name,
        between=(node.name, *others),
        damage=Damage.AVAILABILITY,
    )


CLOCK_SKEW = NodeRule(
    "clock-skew",
    "clock of a monitor's node that differs from the leading monitor's",
    Severity.WARNING,
    (),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="cluster",
    check=_check,
    needs=(CephDaemon,),
)
