"""Collectors of the node as a whole: processors, memory, kernel, pressure and processes."""

from __future__ import annotations

from sdstop.collectors.system.node import NODE, PRESSURE
from sdstop.collectors.system.processes import PROCESSES

COLLECTORS = (NODE, PRESSURE, PROCESSES)
