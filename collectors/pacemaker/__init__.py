"""Collectors of Pacemaker clusters: nodes, quorum and resources."""

from __future__ import annotations

from sdstop.collectors.pacemaker.cluster import PACEMAKER

COLLECTORS = (PACEMAKER,)
