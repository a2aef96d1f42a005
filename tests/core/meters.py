"""A collector of counters in one file, their rates, and sessions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Kind, Label, Metric, Reading
from sdstop.core.rule import Rule
from sdstop.core.session import Session


class Meter(Reading, frozen=True):
    """A counter."""

    family: ClassVar[str] = "meter"
    title: ClassVar[str] = "Meters"

    name: Annotated[str, Label("Name")]
    count: Annotated[int, Metric("Count", "h", kind=Kind.COUNTER)]


class Speed(Reading, frozen=True):
    """A counter's rate."""

    family: ClassVar[str] = "speed"
    title: ClassVar[str] = "Speeds"

    name: Annotated[str, Label("Name")]
    per_second: Annotated[float, Metric("Rate", "h", "per_second")]


def speed(before: Meter, after: Meter, seconds: float) -> Speed | None:
    return None if after.count < before.count else Speed(after.name, (after.count - before.count) / seconds)


class Reader:
    """Reads `name count` lines of /m, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, host: Host) -> Iterable[Reading]:
        self.asked += 1
        for line in host.text("/m").splitlines():
            name, count = line.split()
            yield Meter(name, int(count))


def collector(read: Callable[[Host], Iterable[Reading]], pace: float = 1.0) -> Collector:
    return Collector("meter", "Meters", read, (Meter,), (), pace, derives=(Derivation(Meter, Speed, speed),))


def session(rules: tuple[Rule, ...] = (), remember: float | None = None) -> Session:
    return Session(Origin("n"), [collector(Reader())], rules, remember=remember)


def frame(n: int, count: int, *, outcome: Outcome = Outcome.OK, at: float | None = None) -> Frame:
    when = float(n) if at is None else at
    return Frame(n, 1000 + when, when, (Evidence("/m", outcome, f"a {count}".encode()),))
