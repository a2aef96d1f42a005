"""Collectors: one package per technology, each with its parsers, readings, collectors and commands."""

from __future__ import annotations

from itertools import chain

from sdstop.collectors import (
    aoe,
    bcache,
    block,
    ceph,
    devicemapper,
    drbd,
    fabric,
    limits,
    md,
    memory,
    network,
    pacemaker,
    powerflex,
    system,
    zfs,
)
from sdstop.core.collector import Collector

PACKAGES = (
    system, block, md, network, limits, devicemapper, bcache, zfs, ceph, drbd, pacemaker, aoe, fabric, memory, powerflex
)  # fmt: skip

BUILTIN: tuple[Collector, ...] = tuple(chain.from_iterable(package.COLLECTORS for package in PACKAGES))
"""Every source, in the order in which lists show them.

Of two that bring a family, the first that has rows counts, unless rows of this family are joined.
"""
