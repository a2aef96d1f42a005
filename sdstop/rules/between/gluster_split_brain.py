"""Files of GlusterFS in split brain, with the nodes whose copies blame each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.gluster.readings import GlusterHeal, GlusterSplitBrain
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart

_ID = "gluster-split-brain"
_SHOWN = 10
"""Files listed."""


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    reporting: dict[str, list[SiteNode]] = {}
    for node in site.nodes:
        for row in node.window.rows(GlusterHeal).values():
            if row.split:
                reporting.setdefault(row.volume, []).append(node)
    for volume, nodes in sorted(reporting.items()):
        entries = nodes[0].window.where(GlusterSplitBrain, "volume", volume)
        sides = _sides(site, entries)
        if len(sides) < 2:  # the copies of one node, or of nodes without a capture
            continue
        distant = site.distant(limits["apart"], *sides)
        yield Unchecked(distant, volume, gap=Gap.UNRECORDED) if distant else _found(site, volume, nodes, sides, entries)


def _sides(site: Site, entries: Sequence[GlusterSplitBrain]) -> list[SiteNode]:
    """Return the nodes that hold copies of the entries, in the order of their bricks."""
    hosts = dict.fromkeys(brick.partition(":")[0] for entry in entries for brick in entry.bricks.split())
    found = [site.called(host) for host in hosts]
    return list({node.name: node for node in found if node is not None}.values())


def _found(
    site: Site, volume: str, nodes: Sequence[SiteNode], sides: Sequence[SiteNode], entries: Sequence[GlusterSplitBrain]
) -> Finding:
    rows = [row for node in nodes if (row := node.window.get(GlusterHeal, volume)) is not None]
    split = max(row.split or 0 for row in rows)
    names = [side.name for side in sides]
    count = human.plural(split, "entry") if split == 1 else f"{split} entries"
    between = tuple(dict.fromkeys((*names, *(node.name for node in nodes))))
    seconds = apart(*sides, *nodes)
    file = entries[0].entry
    heal = ("gluster", "volume", "heal", volume)
    return Finding(
        severity=Severity.CRITICAL,
        subject=volume,
        title=f"SPLIT BRAIN BETWEEN {len(names)} SERVERS",
        cause=fitting(
            f"{count}: the copies of {human.listed(names)} blame each other.",
            f"{count}: the copies of {len(names)} servers blame each other.",
        ),
        impact="Reads of these files fail with an I/O error until a copy is chosen.",
        values=(
            Value("split", "entries in split brain", split, "", above=0),
            *(Value(f"pending_{node.name}", f"entries to heal, by {node.name}", row.pending)
              for node, row in zip(nodes, rows, strict=True)),
            *(Value(f"entry{number}", f"in split brain on {_held(site, each)}", each.entry)
              for number, each in enumerate(entries[:_SHOWN], 1)),
        ),
        evidence=cites(*(node.cite(row, "split") for node, row in zip(nodes, rows, strict=True))),
        advice=(
            "Compare and save the copies first: one not chosen is overwritten.",
            run(*heal, "info", "split-brain", note="all entries"),
            "Then choose the copy to keep, one of these:",
            run(*heal, "split-brain", "latest-mtime", file, note="the newer one"),
            *(run(*heal, "split-brain", "source-brick", brick, file, note=f"the one of {_named(site, brick)}")
              for brick in entries[0].bricks.split()[:2]),
        ),
        refuted_by="0 entries in gluster volume heal VOLUME info split-brain",
        confidence=None if seconds <= AT_ONCE else 0.9,
        explains=tuple(f"{node.name}:{_ID}:{volume}" for node in nodes),
        between=between,
        damage=Damage.DATA,
    )  # fmt: skip


def _named(site: Site, brick: str) -> str:
    host = brick.partition(":")[0]
    node = site.called(host)
    return human.safe(node.name if node is not None else host, 30)


def _held(site: Site, entry: GlusterSplitBrain) -> str:
    return ", ".join(_named(site, brick) for brick in entry.bricks.split()[:3])


GLUSTER_SPLIT_BRAIN = NodeRule(
    _ID,
    "GlusterFS files in split brain, and the servers whose copies differ",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.DATA,
    standing=False,
    view="cluster",
    check=_check,
    needs=(GlusterHeal,),
)
