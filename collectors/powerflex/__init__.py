"""Collectors of PowerFlex (ScaleIO) clusters."""

from __future__ import annotations

from sdstop.collectors.powerflex.cluster import SCALEIO

COLLECTORS = (SCALEIO,)
