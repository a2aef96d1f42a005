"""Collectors of limits on volumes that this node enforces: control groups and QEMU's drives."""

from __future__ import annotations

from sdstop.collectors.limits.cgroups import CGROUPS
from sdstop.collectors.limits.qemu import QEMU

COLLECTORS = (CGROUPS, QEMU)
