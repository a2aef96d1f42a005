"""Collectors of DRBD resources."""

from __future__ import annotations

from sdstop.collectors.drbd.resources import DRBD

COLLECTORS = (DRBD,)
