"""Rules between nodes: one file each, with a pure function over a site."""

from __future__ import annotations

from importlib import import_module

from sdstop.analysis.comparison.peers import COMPARING
from sdstop.core.rule import NodeRule

ORDER: tuple[str, ...] = (
    "split_brain",
    "replication_stopped",
    "cluster_partitioned",
    "gluster_pool_split",
    "gluster_split_brain",
    "cause_on_node",
    "clock_skew",
    "quorum_lost",
    "session_down",
    "mtu_misaligned",
    "unstable_device_path",
    "scaling_poor",
)
"""Modules of this package in display order, one per line. `a_b` defines A_B."""


def _rule(module: str) -> NodeRule:
    rule: NodeRule = getattr(import_module(f"sdstop.rules.between.{module}"), module.upper())
    return rule


BETWEEN: tuple[NodeRule, ...] = (*map(_rule, ORDER), *COMPARING)
"""Every rule between nodes: those that join states, then those that compare properties."""
