"""Collectors of ATA over Ethernet targets, imported and exported."""

from __future__ import annotations

from sdstop.collectors.aoe.targets import AOE

COLLECTORS = (AOE,)
