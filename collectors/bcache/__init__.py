"""Collectors of bcache devices."""

from __future__ import annotations

from sdstop.collectors.bcache.devices import BCACHE

COLLECTORS = (BCACHE,)
