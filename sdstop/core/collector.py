"""Collector: one source of readings, and what reading it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from sdstop.core.host import Host
from sdstop.core.model import Derivation, Reading, Rows

LIVE = 1.0
"""Seconds between runs of what the kernel answers from memory."""
SLOW = 60.0
"""Seconds between runs of what costs something or hardly changes."""
ONCE = math.inf
"""Read at the start, and again when its fingerprint changes."""


@dataclass(frozen=True, slots=True)
class Need:
    """One kind of evidence that a collector reads.

    A path pattern, `cmd:ARGV` or `answer:QUESTION`, and why.
    """

    what: str
    why: str
    privilege: str = ""


@dataclass(frozen=True, slots=True)
class Collector:
    """One source. `read` is plain synchronous code over a host; it may raise what hosts raise, and Malformed.

    `pace` is seconds between runs (at least: the sampler's interval may be longer), `deadline` the seconds
    after which a run counts as hung. `fingerprint`, where given, is asked every interval, cheaply; when its
    answer changes the collector runs at once (this is how hot-plug reaches slow collectors). `derives` are
    families that follow from two successive runs. `lacks` says of a good run's tables what of them was denied, "" if
    nothing was; files that were denied need no words of it. `eager`: all reading is done when `read` returns, so that
    who only wants the evidence need not have it parsed; its rows may ask for what other collectors bring. `option` is
    the one without which there is nothing to read.
    """

    name: str
    title: str
    read: Callable[[Host], Iterable[Reading]]
    families: tuple[type[Reading], ...]
    needs: tuple[Need, ...]
    pace: float = LIVE
    deadline: float = 2.0
    fingerprint: Callable[[Host], Hashable] | None = None
    derives: tuple[Derivation, ...] = ()
    lacks: Callable[[Mapping[type[Reading], Rows]], str] | None = None
    eager: bool = False
    option: str = ""
