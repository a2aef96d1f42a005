"""What a deep look adds to the page: requests by size over the time, and errors of links over the time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from sdstop.cli import command
from sdstop.cli.live_source import with_smp_policy
from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.port_readings import PORTS
from sdstop.collectors.fabric.sas import OFTEN, SAS
from sdstop.core.evidence import Frame, Origin
from sdstop.core.session import Session
from sdstop.exporters.report.html import page
from sdstop.exporters.report.html.drawing import LABEL, WIDTH, DiagramAxis
from sdstop.exporters.report.html.phys import phy_errors
from sdstop.exporters.report.html.sizes import COLUMNS, MARKED, MOST_OVER_TIME, sizes_over_time
from sdstop.exporters.report.series import MOST, ReportSeries
from sdstop.rules import RULES
from tests.fixtures import opened
from tests.nodes.frames import frames
from tests.nodes.sas import Phy, files


def watched(origin: Origin, shown: Iterable[Frame]) -> tuple[Session, ReportSeries]:
    session, series = Session(origin, BUILTIN, RULES), ReportSeries()
    for frame in shown:
        series.add(session.feed(frame).now)
    return session, series


def linked(*readings: tuple[Phy, ...]) -> tuple[Session, ReportSeries]:
    """Readings 20 s apart, a frame each 5 s."""
    shown = []
    for number, phys in enumerate(readings):
        shown += [
            (20.0 * number + 5 * step, files(*phys) | {f"{PORTS}/port-1:9/num_phys": f"{number}\n"})
            for step in range(4)
        ]
    return watched(Origin("n"), frames(shown))


def axis(series: ReportSeries) -> DiagramAxis:
    return DiagramAxis.of(series.times, ["", ""])


def drawn(content: str, title: str) -> str:
    start = content.index(f"<strong>{title}</strong>")
    return content[start : content.index("</figure>", start)]


def test_sizes_over_time_have_the_marks_of_block_and_frames() -> None:
    content = page(*watched(*opened("aoe-flashcache")))
    figure = drawn(content, "Request sizes, flashcache, over time")
    assert re.findall(r'text-anchor="end">([^<]+)</text>', figure)[:8] == [
        f"{MARKED}{size}" for size in range(4096, 0, -512)
    ]
    assert f"{MARKED}4096: block of cachedev" in figure
    assert f"{MARKED}512, 1024, 1536, 2048, 2560, 3072, 3584: split by frames of 3584 (eth1, MTU 4000)" in figure
    assert "requests per second of each size; darkest is " in figure
    assert "512: mean" in figure


def test_sizes_of_real_requests_are_where_they_came() -> None:
    session, series = watched(*opened("vm-aoe-8700"))
    values = series.of("size")["issue etherd/e0.0"]
    assert values.keys() == {"4096", "8192", "40960", "65536"}
    assert all(len(column) == len(series.times) for column in values.values())
    assert values["8192"][0] is None  # two readings make one number
    assert max(v for v in values["8192"] if v is not None) == pytest.approx(13.87, abs=0.01)
    assert 0.0 in values["40960"]  # of a size that came before none came: that is known
    told = list(sizes_over_time(series, session.head().window, axis(series)))
    assert told[0][0] == "Request sizes, issue of etherd/e0.0, over time"


def test_what_is_drawn_stands_at_its_time() -> None:
    """A value is of the time since the moment before it, however far these are apart; a clock set back is no axis."""
    uneven = DiagramAxis.of([10.0, 10.5, 14.0, 20.0], [])
    assert uneven.cell(0, 1) == (LABEL, 0.0)
    assert uneven.cell(1, 3) == (LABEL, 0.4 * WIDTH)
    assert uneven.cell(3, 4) == (LABEL + 0.4 * WIDTH, 0.6 * WIDTH)
    back = DiagramAxis.of([10.0, 12.0, 11.0], [])
    assert back.cell(1, 2) == (LABEL, WIDTH / 2)
    assert DiagramAxis.of([], []).at == []


def test_a_reading_of_sizes_is_of_the_time_since_the_one_before() -> None:
    session, series = watched(*opened("aoe-flashcache"))
    series.times = [float(n) for n in range(7)]
    none = None
    series.values = {
        ("size", "issue sda", "4096"): [none, none, 8.0, none, 4.0, none, none],
        ("size", "issue sda", "512"): [none, none, none, none, 2.0, none, none],
    }
    ((_, _, shown),) = sizes_over_time(series, session.head().window, axis(series))
    strips = re.findall(r"<g>.*?</g>", str(shown))
    assert ["4096: mean 5.33/s" in strips[0], "512: mean 1.33/s" in strips[1]] == [True, True]  # of the first reading 0
    sixth = WIDTH / 6
    expected = [(LABEL + sixth, sixth), (LABEL + 2 * sixth, 2 * sixth)]
    rects = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', strips[0])]
    assert [each for pair in rects for each in pair] == pytest.approx([n for pair in expected for n in pair], abs=0.5)


def test_one_reading_of_sizes_draws_nothing_over_time() -> None:
    origin, shown = opened("aoe-flashcache")
    session, series = watched(origin, list(shown[:1]))
    assert not list(sizes_over_time(series, session.head().window, axis(series)))


def test_of_many_counters_the_busiest_are_drawn() -> None:
    session, series = watched(*opened("aoe-flashcache"))
    series.times = [0.0, 1.0]
    series.values = {("size", f"issue sd{n}", "4096"): [None, float(n)] for n in range(40)}
    told = [title for title, _, _ in sizes_over_time(series, session.head().window, axis(series))]
    assert len(told) == MOST_OVER_TIME
    assert "Request sizes, issue of sd39, over time" in told
    assert "Request sizes, issue of sd27, over time" not in told


def test_many_moments_of_many_sizes_stay_small() -> None:
    session, series = watched(*opened("aoe-flashcache"))
    count = 2 * MOST - 1
    series.times = [float(n) for n in range(count)]
    series.values = {
        ("size", f"issue sd{disk}", str(512 * size)): [float((disk + 7 * at * size) % 97) for at in range(count)]
        for disk in range(30)
        for size in range(1, 30)
    }
    told = list(sizes_over_time(series, session.head().window, axis(series)))
    assert sum(len(drawn) for _, _, drawn in told) < 1 << 20
    assert all(drawn.count("<rect") <= COLUMNS * MOST_OVER_TIME for _, _, drawn in told)


def test_new_errors_of_links_are_drawn_between_the_readings_that_told_them() -> None:
    old = (Phy(1, 500, 500), Phy(2, 3), Phy(3))
    later = (Phy(1, 700, 690), Phy(2, 3), Phy(3, lost=1))
    session, series = linked(old, later, later)
    told = {title: (said, shown) for title, said, shown in phy_errors(series, axis(series))}
    assert told.keys() == {
        "SAS links: invalid dwords",
        "SAS links: running disparity errors",
        "SAS links: losses of dword sync",
    }
    said, shown = told["SAS links: invalid dwords"]
    assert "darkest is 36000/h; 2 phys without errors" in said
    assert "phy-1:0:1 36000/h" in shown
    assert "phy-1:0:3 180/h" in told["SAS links: losses of dword sync"][1]
    assert "SAS links: losses of dword sync" in page(session, series)
    values = series.of("invalid_dwords")[""]["phy-1:0:1"]
    assert [value for value in values if value is not None] == [10.0, 0.0]


@pytest.mark.parametrize("readings", [1, 3])
def test_links_that_count_no_more_are_not_drawn(readings: int) -> None:
    _, series = linked(*[(Phy(1, 500, 500), Phy(2))] * readings)
    assert not list(phy_errors(series, axis(series)))


def test_a_long_course_keeps_rates() -> None:
    series = ReportSeries(times=[float(n) for n in range(2 * MOST - 1)])
    series.values["invalid_dwords", "", "phy-1:0:1"] = [None, 2.0, 4.0, *[None] * (2 * MOST - 4)]
    session, _ = linked((Phy(1),))
    series.add(session.head().now)
    assert series.values["invalid_dwords", "", "phy-1:0:1"][:2] == [2.0, 4.0]


def test_a_deep_look_asks_links_more_than_once() -> None:
    paces = {deep: next(c.pace for c in with_smp_policy([SAS], smp=True, deep=deep)) for deep in (False, True)}
    assert paces == {False: SAS.pace, True: OFTEN}
    assert OFTEN * 3 <= 60.0 < SAS.pace
    (silent,) = with_smp_policy([SAS], smp=False, deep=True)
    assert silent.pace == SAS.pace


def test_a_deep_look_that_cannot_count_sizes_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/diskstats").write_text("8 0 sda 100 0 800 4 0 0 0 0 0 4 4 0 0 0 0 0 0\n")
    out = tmp_path / "c.tar.gz"
    words = ["capture", "--profile", "deep", "--duration", "0.2s", "--interval", "0.1s", "--root", str(tmp_path)]
    assert command.execute([*words, "--collectors", "diskstats", "-o", str(out)]) == 0
    assert "--profile deep: request sizes unavailable: excluded by --collectors" in capsys.readouterr().err


def test_a_device_that_is_idle_again_is_known_to_be() -> None:
    line = "   8       0 sda {} 0 8 4 0 0 0 0 0 {} 4 0 0 0 0 0 0\n"
    counted = [(0, 0), (0, 0), (9, 500), (9, 500), (18, 1000)]
    shown = [(float(at), {"/proc/diskstats": line.format(*pair)}) for at, pair in enumerate(counted)]
    _, series = watched(Origin("n"), frames(shown))
    assert series.of("busy")[""]["sda"] == [None, None, pytest.approx(0.5), 0.0, pytest.approx(0.5)]
