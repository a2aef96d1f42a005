"""A made-up source with every kind of field, whose evidence is JSON, so that a test can make it say anything."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar

from msgspec.structs import asdict

from sdstop.core.advice import run
from sdstop.core.collector import Collector, Need
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.host import Absent, Host
from sdstop.core.model import Buckets, Derivation, Fact, Kind, Label, Metric, Reading, Source, State
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.session import Session

KEY = "/meters"
TAKEN = 1_800_000_000.0


class Mood(enum.StrEnum):
    """Words that are declared."""

    CALM = "calm"
    LOUD = "loud"


class Meter(Reading, frozen=True):
    """One of everything."""

    family: ClassVar[str] = "meter"
    title: ClassVar[str] = "Meters"

    name: Annotated[str, Label("Name")]
    room: Annotated[str, Label("Room")] = "r"
    count: Annotated[int | None, Metric("Count", "Things counted", kind=Kind.COUNTER)] = None
    time: Annotated[int | None, Metric("Time", "Time spent", "seconds", Kind.COUNTER, 0.001)] = None
    size: Annotated[int | None, Metric("Size", "How large", "bytes", scale=512)] = None
    level: Annotated[float | None, Metric("Level", 'A "level" \\ a share', "ratio")] = None
    secret: Annotated[int | None, Metric("Secret", "Not for Prometheus", export=False)] = None
    mood: Annotated[Mood | None, State("Mood", "How it feels")] = None
    word: Annotated[str | None, State("Word", "What it says")] = None
    model: Annotated[str | None, Fact("Model", "Who made it")] = None
    serial: Annotated[str | None, Fact("Serial", "Its number", export=False)] = None
    sizes: Annotated[dict[float, int] | None, Buckets("Sizes", "Sizes seen", "bytes")] = None

    def source(self, field: str = "") -> Source | None:
        return Source(f"/meters/{self.name}/{field}")


class Pace(Reading, frozen=True):
    """A rate, which is not exported."""

    family: ClassVar[str] = "pace"
    title: ClassVar[str] = "Paces"
    exported: ClassVar[bool] = False

    name: Annotated[str, Label("Name")]
    per_second: Annotated[float, Metric("Rate", "Things a second", "per_second")]


class Wire(Reading, frozen=True):
    """Nothing but labels: that it is there is all it says."""

    family: ClassVar[str] = "wire"
    title: ClassVar[str] = "Wires"

    name: Annotated[str, Label("Name")]
    end: Annotated[str, Label("End")]


def read(host: Host) -> Iterable[Reading]:
    for row in json.loads(host.read(KEY)):
        kind = Wire if "end" in row else Meter
        if row.get("sizes"):
            row["sizes"] = {float(bound): count for bound, count in row["sizes"].items()}
        if row.get("mood"):
            row["mood"] = Mood(row["mood"])
        yield kind(**row)


def pace(before: Meter, after: Meter, seconds: float) -> Pace | None:
    if before.count is None or after.count is None or after.count < before.count:
        return None
    return Pace(after.name, (after.count - before.count) / seconds)


METERS = Collector(
    "meters", "Meters", read, (Meter, Wire), (Need(KEY, "all of it", "root"),), derives=(Derivation(Meter, Pace, pace),)
)


def read_nothing(host: Host) -> Iterable[Reading]:
    """Bring nothing; a refusal that somebody recorded is one."""
    try:
        host.read(SIDE)
    except Absent as absent:
        if absent.recorded:
            raise
    return ()


SIDE = "/idle"
IDLE = Collector("idle", "Never there", read_nothing, (), (Need(SIDE, "nothing"),))


def loud(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Each loud meter is a finding, critical above the limit; a word is unchecked, and a calm one ruled out."""
    for row in window.rows(Meter).values():
        if row.word is not None:
            yield Unchecked("it speaks", row.name)
        elif row.mood is Mood.LOUD:
            high = (row.level or 0.0) > limits["level"]
            yield Finding(
                severity=Severity.CRITICAL if high else Severity.WARNING,
                subject=row.name,
                title="LOUD METER",
                cause=f"{row.name} is loud.",
                impact="Neighbors can wake up.",
                values=(Value("level", "level", row.level, "ratio", above=limits["level"]),),
                evidence=cites(window.quote(KEY)),
                advice=("Turn it down.", run("journalctl", "-k").pipe("grep", "-w", row.name, "-").noted("its noise")),
                refuted_by="silence",
                harmless_if="a concert is on",
                cost=1.5,
                confidence=0.9,
                explains=("other:thing",),
            )
        elif row.mood is Mood.CALM:
            yield RuledOut(row.name, "it is calm")


LEVEL = Threshold("level", 0.5, "level above which it is critical", "ratio")
TOO_LOUD = Rule(
    "too-loud",
    "a meter is loud",
    Severity.CRITICAL,
    loud,
    (Meter,),
    (LEVEL,),
    damage=Damage.AVAILABILITY,
    standing=True,
    view="disks",
)


def frame(number: int, rows: Sequence[Meter | Wire | dict[str, Any]] | Evidence, **marks: RunMark) -> Frame:
    """Return the frame that brings these rows, one second after the one before."""
    if isinstance(rows, Evidence):
        evidence = rows
    else:
        data = [row if isinstance(row, dict) else asdict(row) for row in rows]
        evidence = Evidence(KEY, data=json.dumps(data).encode())
    ran = {"meters": RunMark(float(number), 0.002), **marks}
    return Frame(number, TAKEN + number, float(number), (evidence,), ran)


def refusal(outcome: Outcome, detail: str = "it is so") -> Evidence:
    """Return the evidence of a source that gives nothing."""
    return Evidence(KEY, outcome, detail=detail)


def session(*frames: Frame, live: bool = False) -> Session:
    """Return a session over the made-up source."""
    made = Session(Origin("node", live=live), (METERS, IDLE), (TOO_LOUD,), remember=None)
    made.feed_all(frames)
    return made
