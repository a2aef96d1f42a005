"""Losses: the frames that an interface passed and lost in a window, by direction."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import attrgetter
from typing import Any

from msgspec import Struct

from sdstop.collectors.network.path_readings import Softnet
from sdstop.collectors.network.readings import STATISTICS, Interface, Traffic
from sdstop.core.columns import values_of
from sdstop.core.history import Window
from sdstop.core.model import Rows
from sdstop.core.rule import Limits


class Losses(Struct, frozen=True, kw_only=True):
    """Frames of one interface in one window: passed and lost, by direction.

    `detail` has each counter of Interface that grew, None if they were read only once. `unwanted` is the number of
    received good frames without a receiver here; None: unknown.
    """

    interface: str
    seconds: float
    rx: int
    tx: int
    rx_errors: int
    rx_dropped: int
    tx_lost: int
    detail: dict[str, int] | None
    unwanted: int | None

    @property
    def rx_lost(self) -> int:
        """Frames lost on receipt, without unwanted ones."""
        return self.rx_bad - (self.rx_dropped if self.unwanted is None else self.unwanted)

    @property
    def rx_bad(self) -> int:
        """Frames that were received with errors or dropped on receipt."""
        return self.rx_errors + self.rx_dropped

    @property
    def bad(self) -> int:
        """The same of both directions."""
        return self.rx_bad + self.tx_lost

    @property
    def frames(self) -> int:
        """All frames, passed or not."""
        return self.rx + self.tx + self.bad

    @property
    def share(self) -> float:
        """Share of bad frames in the worse direction, 0 to 1."""
        return max(ratio(self.rx_bad, self.rx), ratio(self.tx_lost, self.tx))


def losses_of(window: Window, first: Counts, last: Traffic, seconds: float, softnet: int) -> Losses | None:
    """Return the losses of an interface since the counters `first`, `seconds` ago; None if they were reset since.

    `softnet` is the number of packets that the CPUs' queues dropped in the window.
    """
    step = {name: after - before for name, before, after in zip(COUNTERS, first, counts_of(last), strict=True)}
    if min(step.values()) < 0:
        return None
    detail = _detail(window, last.interface)
    dropped = step["rx_dropped"]
    return Losses(
        interface=last.interface,
        seconds=seconds,
        rx=step["rx_packets"],
        tx=step["tx_packets"],
        rx_errors=step["rx_errors"] or (0 if dropped else _sum_of(detail, _RECEIVED_BADLY)),
        rx_dropped=dropped,
        tx_lost=step["tx_errors"] + step["tx_dropped"] or _sum_of(detail, _SENT_BADLY),
        detail=detail,
        unwanted=_unwanted(dropped, detail, softnet),
    )


_RECEIVED_BADLY = ("rx_crc", "rx_frame", "rx_length", "rx_over", "rx_fifo")
_SENT_BADLY = ("tx_carrier", "tx_fifo", "collisions")
"""Counters that some drivers do not add to the totals of errors and drops; collisions are in none."""


def _sum_of(detail: dict[str, int] | None, fields: tuple[str, ...]) -> int:
    """Return the growth of these counters."""
    return sum((detail or {}).get(field, 0) for field in fields)


COUNTERS = ("rx_packets", "tx_packets", "rx_errors", "rx_dropped", "tx_errors", "tx_dropped")
"""Counters of /proc/net/dev, in frames."""
counts_of = attrgetter(*COUNTERS)
"""Return these counters of a row."""
Counts = tuple[Any, ...]


def counts_by_interface(rows: Rows, names: Iterable[str]) -> dict[Hashable, Counts]:
    """Return counters of all rows; old samples are columns, of which single rows are expensive."""
    return dict(zip(rows, zip(*[values_of(rows, name) for name in names], strict=True), strict=True))


def _unwanted(dropped: int, detail: dict[str, int] | None, softnet: int) -> int | None:
    """Return how many of the drops in /proc/net/dev were good but unwanted frames.

    That counter adds frames missed by the card to frames dropped by the stack; the latter have unknown protocols or
    VLANs that are not configured, or (if the CPUs' queues also dropped some) exceeded the CPUs' capacity.
    """
    if softnet:
        return 0
    if not dropped:
        return 0
    if detail is None:
        return None
    missed, stack = detail.get("rx_missed", 0), detail.get("rx_dropped", 0)
    return dropped - round(dropped * missed / (missed + stack)) if missed + stack else None


def _detail(window: Window, interface: str) -> dict[str, int] | None:
    """Return the growth of each counter between the first and the last sysfs reading in the window."""
    moments = window.moments(Interface)
    last = next((moment for moment in reversed(moments) if interface in moment.rows), None)
    first = next((moment for moment in moments if interface in moment.rows), None)
    if first is None or last is None or first is last:
        return None
    known = window.once("statistics before", lambda: counts_by_interface(moments[0].rows, STATISTICS))
    before = known[interface] if first is moments[0] else _STATISTICS(first.rows[interface])
    return {
        field: new - old
        for field, old, new in zip(STATISTICS, before, _STATISTICS(last.rows[interface]), strict=True)
        if old is not None and new is not None and new > old
    }


_STATISTICS = attrgetter(*STATISTICS)


def softnet_dropped(window: Window) -> int:
    """Return the number of packets that the CPUs' queues dropped in the window."""
    moments = window.moments(Softnet)
    if len(moments) < 2:
        return 0
    first, last = moments[0].rows, moments[-1].rows
    return sum(max(row.dropped - first[cpu].dropped, 0) for cpu, row in last.items() if cpu in first)


def ratio(lost: int, passed: int) -> float:
    """Return the share of frames that were lost, 0 to 1."""
    return lost / (lost + passed) if lost else 0.0


def is_beyond(lost: int, passed: int, limits: Limits) -> bool:
    """Return whether losses exceed both thresholds of the rule, their number and their share."""
    return lost >= limits["count"] and lost > limits["ratio"] * (passed + lost)
