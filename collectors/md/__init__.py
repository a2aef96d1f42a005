"""Collectors of md arrays, their members and rebuilds."""

from __future__ import annotations

from sdstop.collectors.md.arrays import MDMEMBERS, MDRAID

COLLECTORS = (MDRAID, MDMEMBERS)
