"""Collectors: one file per source of evidence, each a function from a host to readings."""

from __future__ import annotations

from sdstop.collector import Collector
from sdstop.collectors.blockdev import BLOCKDEV
from sdstop.collectors.diskstats import DISKSTATS
from sdstop.collectors.iostat import IOSTAT
from sdstop.collectors.node import NODE, PRESSURE
from sdstop.collectors.processes import PROCESSES

BUILTIN: tuple[Collector, ...] = (NODE, PRESSURE, DISKSTATS, IOSTAT, BLOCKDEV, PROCESSES)
"""Every source, in the order in which tables and lists show them; of two that bring a family the first counts."""
