"""Nodes of a text: commands that show a single one show that with the worst finding, and name the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sdstop.core.evidence import ELSEWHERE, Origin, TextBlock
from sdstop.core.format import plural, safe

if TYPE_CHECKING:
    from sdstop.cli.watch import Watch
    from sdstop.core.judgement import Judgement

_MOST = 8
"""Maximum number of other nodes that are named."""


def worst(watch: Watch) -> Watch:
    """Return the watch of the node with the worst finding; of equal ones, that with most outputs.

    `watch` is that of a text of several nodes, whose origin lists all of its blocks. The result lists them as well, and
    its note names the other nodes with their findings.
    """
    judgements = [_judgement(each) for each in watch.nodes]
    ranks = [max((found.severity.rank for found in each.findings), default=0) for each in judgements]
    outputs = [sum(1 for block in each.origin.blocks if block.key) for each in watch.nodes]
    at = max(range(len(ranks)), key=lambda node: (ranks[node], outputs[node]))
    shown = watch.nodes[at]
    names = [f"{each.origin.name}{_counted(found)}" for each, found in zip(watch.nodes, judgements, strict=True)]
    others = [*names[:at], *names[at + 1 :]]
    note = f"one of {len(names)} nodes; `sdstop report` shows the others: {_listed(others)}"
    nodes = [each.origin for each in watch.nodes]
    blocks = _blocks(watch.origin, shown.origin, nodes)
    shown.origin = replace(shown.origin, note="; ".join(filter(None, (note, shown.origin.note))), blocks=blocks)
    shown.nodes = watch.nodes
    return shown


def _judgement(watch: Watch) -> Judgement:
    session = watch.session(0.0)
    for frame in watch.frames(0.0):
        session.feed(frame)
    return session.head().judgement


def _counted(judgement: Judgement) -> str:
    """Return the number of findings in parentheses, "" if there are none above info."""
    count = sum(1 for each in judgement.findings if each.severity.rank)
    return f" ({plural(count, 'finding')})" if count else ""


def _listed(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST} more"] if len(names) > _MOST else []
    return ", ".join([*(safe(name, 80) for name in names[:_MOST]), *more])


def _blocks(text: Origin, shown: Origin, nodes: Sequence[Origin]) -> tuple[TextBlock, ...]:
    """Return the blocks of a text: those of the node that is shown, and those of others as not used."""
    own = {block.line: block for block in shown.blocks}
    owners = {block.line: node.name for node in nodes for block in node.blocks if block.key}
    return tuple(
        own.get(block.line)
        or (replace(block, unused=ELSEWHERE, node=owners[block.line]) if block.line in owners else block)
        for block in text.blocks
    )
