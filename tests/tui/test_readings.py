"""Families that no view shows, in one table by their declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, Need
from sdstop.core.evidence import Origin
from sdstop.core.host import Host
from sdstop.core.model import Fact, Kind, Label, Metric, Reading, Source
from sdstop.core.session import Session
from tests.nodes.block import Node, refused
from tests.tui.screens import SMALL, WIDE, Screen, screen

PUMPS = "/proc/pumps"


class Pump(Reading, frozen=True):
    """A pump, of which sdstop knows nothing but this."""

    family: ClassVar[str] = "pump"
    title: ClassVar[str] = "Aaa pumps"  # before all others

    pump: Annotated[str, Label("Pump", "Name of the pump")]
    moved: Annotated[int | None, Metric("Moved", "Bytes moved", "bytes", Kind.COUNTER)]
    wait: Annotated[float | None, Metric("Wait", "Mean wait", "seconds")]
    full: Annotated[float | None, Metric("Full", "Share of the pipe in use", "ratio")]
    serial: Annotated[int, Metric("Serial", "Number on the plate", exact=True)]
    never: Annotated[int | None, Metric("Never told", "What no pump tells")] = None
    maker: Annotated[str | None, Fact("Maker", "Who made it")] = None

    def source(self, field: str = "") -> Source | None:
        del field
        return Source(PUMPS, f"{self.pump} ")


class CrowdedPump(Pump, frozen=True):
    """The same, of which there may be very many."""

    family: ClassVar[str] = "crowded_pump"
    crowded: ClassVar[bool] = True


def pumps(family: type[Pump], name: str = "pumps") -> Collector:
    """Return a collector that reads a line for each pump."""

    def read(host: Host) -> Iterable[Pump]:
        for line in host.text(PUMPS).splitlines():
            pump, moved, wait, full, serial, maker = line.split()
            known = None if wait == "-" else float(wait)
            yield family(pump, int(moved), known, float(full), int(serial), None, maker)

    return Collector(name, "Pumps", read, (family,), (Need(PUMPS, "pumps"),))


def session(text: str, family: type[Pump] = Pump, later: dict[int, list[object]] | None = None) -> Session:
    found = Session(Origin("node-1"), (*BUILTIN, pumps(family)), ())
    found.feed_all(Node(files={PUMPS: text}, later=later or {}).frames(2))  # type: ignore[arg-type]
    return found


TWO = "left 1048576 0.002 0.5 10001 ACME\nright 2097152 - 0.25 10001 Pipes&Sons\n"


def cells(shown: Screen, name: str) -> list[str]:
    """Return the words of the row that begins with a name."""
    return next(line for line in shown.lines() if line[1:].startswith(f"{name} ")).lstrip("▸ ").split()


async def test_a_new_family_is_on_the_screen_with_units_and_alignment() -> None:
    async with screen(session(TWO), SMALL) as shown:
        text = await shown.press("0")
        assert cells(shown, "Aaa pumps")[:5] == ["Aaa", "pumps", "2", "ok", "pumps"]
        assert cells(shown, "left") == ["left", "1M", "2.00", "ms", "50.0", "10001", "ACME"]
        assert cells(shown, "right") == ["right", "2M", "-", "25.0", "10001", "Pipes&Sons"]
        heading = shown.line("Pump ")
        assert heading.split() == ["Pump", "Moved", "B", "Wait", "Full", "%", "Serial", "Maker"]
        left = shown.line("left ")
        for title, value in (("Moved B", "1M"), ("Full %", "50.0"), ("Serial", "10001")):
            assert heading.index(title) + len(title) == left.index(value) + len(value)
        assert heading.index("Maker") == left.index("ACME")
        assert "Never told" not in text


async def test_a_row_leads_to_every_field_and_its_evidence() -> None:
    async with screen(session(TWO), SMALL) as shown:
        text = await shown.press("0", "tab", "j", "enter")
        assert shown.lines()[1].startswith("─ right ")
        for title, value in (("Moved", "2 MiB"), ("Full", "25.0%"), ("Never told", "-"), ("Maker", "Pipes&Sons")):
            assert value in next(line for line in text.splitlines() if line.lstrip("▸ ").startswith(f"{title} "))
        text = await shown.press("enter")
        assert PUMPS in text
        assert "right 2097152" in text


async def test_the_family_under_the_cursor_is_shown_anew() -> None:
    async with screen(session(TWO), SMALL) as shown:
        await shown.press("0", "tab", "slash")
        await shown.type("left")
        assert "right " not in shown.text()
        assert "1 hit of left" in shown.line("─ Aaa pumps")
        await shown.press("colon")
        await shown.type("sort moved")
        assert "Moved" in shown.line("Pump ")
        await shown.press("escape", "1", "0", "j")
        assert "Aaa pumps ──" not in shown.text()
        text = await shown.press("k")
        assert "right " in text
        assert "filter" not in shown.line("─ Aaa pumps")


async def test_rows_are_sorted_by_what_they_are_worth() -> None:
    text = "".join(f"pump{n} {n} - 0.5 1 ACME\n" for n in (9, 100, 20))
    async with screen(session(text), SMALL) as shown:
        await shown.press("0", "tab", "colon")
        await shown.type("sort moved")
        names = [line[1:9].strip() for line in shown.lines() if line[1:].startswith("pump")]
        assert names == ["pump100", "pump20", "pump9"]


async def test_hundreds_of_rows_can_be_scrolled_through() -> None:
    text = "".join(f"pump{n:03} {n} - 0.5 1 ACME\n" for n in range(400))
    async with screen(session(text), SMALL) as shown:
        assert "pump399" not in await shown.press("0")
        text = await shown.press("tab", "G")
        assert "pump399" in text
        assert "of 400" in shown.line("─ Aaa pumps")


async def test_hundreds_of_families_can_be_scrolled_through() -> None:
    made = [type(f"Pump{n}", (Pump,), {"family": f"pump_{n}", "title": f"Pump {n:03}"}) for n in range(300)]
    found = Session(Origin("node-1"), [pumps(family, f"pumps{n}") for n, family in enumerate(made)], ())
    found.feed_all(Node(files={PUMPS: TWO}).frames(2))
    for size in (SMALL, WIDE):
        async with screen(found, size) as shown:
            assert "Pump 000" in await shown.press("0")
            text = await shown.press("G")
            assert "Pump 299" in text
            assert "300 of 300 with rows" in text
            assert "left" in text


async def test_of_a_crowded_family_the_largest_come_first() -> None:
    idle = "".join(f"idle{n} 0 - 0 0 ACME\n" for n in range(30))
    found = session(f"{idle}small 5 - 0.5 0 ACME\nlarge 500 - 0.5 0 ACME\n", CrowdedPump)
    async with screen(found, SMALL) as shown:
        text = await shown.press("0")
        lines = [line for line in shown.lines() if " ACME" in line]
        assert [line.lstrip("▸ ").split()[0] for line in lines] == ["large", "small"]
        assert "and 30 more with zeros only" in text


async def test_what_a_source_says_no_more_is_called_stale() -> None:
    async with screen(session(TWO, later={2: [refused(PUMPS)]}), SMALL) as shown:
        await shown.press("0")
        assert cells(shown, "Aaa pumps")[2:4] == ["2", "stale"]
        assert "left" in shown.text()


async def test_where_there_is_nothing_it_says_why() -> None:
    async with screen(session("", later={1: [refused(PUMPS)], 2: [refused(PUMPS)]}), SMALL) as shown:
        await shown.press("0", "slash")
        await shown.type("aaa")
        assert "no rows (denied)" in shown.text()
