"""A node of two meters and a FIFO, and tiny collectors that read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Kind, Label, Metric, Reading


class Meter(Reading, frozen=True):
    """A number in a file."""

    family: ClassVar[str] = "meter"
    title: ClassVar[str] = "Meters"

    name: Annotated[str, Label("Name")]
    count: Annotated[int, Metric("Count", "h", kind=Kind.COUNTER)]


class Other(Reading, frozen=True):
    """Another number."""

    family: ClassVar[str] = "other"
    title: ClassVar[str] = "Others"

    name: Annotated[str, Label("Name")]
    count: Annotated[int, Metric("Count", "h")]


class Speed(Reading, frozen=True):
    """A meter's rate."""

    family: ClassVar[str] = "speed"
    title: ClassVar[str] = "Speeds"

    name: Annotated[str, Label("Name")]
    rate: Annotated[float, Metric("Rate", "h", "per_second")]


def meters(host: Host) -> Iterator[Reading]:
    for name in host.entries("/meters"):
        yield Meter(name, int(host.text(f"/meters/{name}")))


def others(host: Host) -> Iterator[Reading]:
    yield Other("first", int(host.text("/first")))
    yield Other("second", int(host.text("/second")))


def speed(before: Meter, after: Meter, seconds: float) -> Speed:
    return Speed(after.name, (after.count - before.count) / seconds)


METERS = Collector("meters", "Meters", meters, (Meter,), (), derives=(Derivation(Meter, Speed, speed),))
OTHERS = Collector("others", "Others", others, (Other,), (), deadline=0.2)


def keys(frame: Frame) -> set[str]:
    """Return the keys of a frame's evidence."""
    return {item.key for item in frame.evidence}
