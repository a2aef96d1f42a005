"""Output of several intervals becomes one frame each, and nothing else is taken for idle."""

from __future__ import annotations

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.collector import SLOW, Collector, Interval, Need
from sdstop.core.evidence import UNDATED, Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.host import Host
from sdstop.core.interval import MOST, unrolled
from sdstop.core.replay import Replay
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.service import Service

ORIGIN = Origin("x")


def lines(command: str, data: bytes) -> list[Interval]:
    """Split output into lines, each of as many seconds as the command says last, if it says any."""
    seconds = float(command.rpartition(" ")[2]) if command[-1].isdecimal() else None
    return [Interval(line + b"\n", seconds) for line in data.splitlines()]


def nothing(host: Host) -> list[Service]:
    return [Service(device="sda", tool="vmstat", requests_per_second=float(len(host.recorded_output("vmstat 2").text)))]


VMSTAT = Collector("vmstat", "vmstat", nothing, (Service,), (Need("cmd:vmstat *", "a test", split=lines),), SLOW)


def item(key: str, text: str) -> Evidence:
    return Evidence(key, data=text.encode())


def test_each_interval_is_a_frame_and_the_last_has_the_time_of_the_capture() -> None:
    only = Frame(1, 1.0e9, 50.0, (item("cmd:vmstat 2", "a\nbb\nccc\n"), item("/proc/mdstat", "x")))
    origin, frames = unrolled(ORIGIN, [only], (VMSTAT,))
    assert origin == ORIGIN
    assert [(f.number, f.taken, f.monotonic) for f in frames] == [
        (1, 1.0e9 - 4, 50.0), (2, 1.0e9 - 2, 52.0), (3, 1.0e9, 54.0),
    ]  # fmt: skip
    assert [{e.key: e.data for e in f.evidence} for f in frames] == [
        {"/proc/mdstat": b"x", "cmd:vmstat 2": b"a\n"}, {"cmd:vmstat 2": b"bb\n"}, {"cmd:vmstat 2": b"ccc\n"},
    ]  # fmt: skip
    assert [f.ran for f in frames] == [None, {"vmstat": RunMark(52.0, 0.0)}, {"vmstat": RunMark(54.0, 0.0)}]
    replay = Replay((VMSTAT,))
    rates = [row.requests_per_second for f in frames for row in replay.feed(f).rows(Service).values()]
    assert rates == [2.0, 3.0, 4.0]


def test_the_runs_of_the_first_frame_are_kept() -> None:
    ran = {"mdraid": RunMark(50.0, 0.1)}
    only = Frame(1, 1.0e9, 50.0, (item("cmd:vmstat 2", "a\nb\n"),), ran)
    _, frames = unrolled(ORIGIN, [only], (VMSTAT,))
    assert frames[0].ran == {**ran, "vmstat": RunMark(50.0, 0.0)}


def test_an_undated_text_stays_undated_and_an_assumed_distance_is_said() -> None:
    only = Frame(1, UNDATED, 0.0, (item("slug:vmstat", "a\nb\n"),))
    origin, frames = unrolled(Origin("x", note="torn"), [only], (VMSTAT,))
    assert [f.taken for f in frames] == [UNDATED, UNDATED + 1]
    assert origin.note == "torn; the interval of slug:vmstat is not shown: 1 s is assumed"


def test_series_of_different_length_end_together() -> None:
    _, frames = unrolled(
        ORIGIN,
        [Frame(1, 1.0e9, 0.0, (item("cmd:vmstat 2", "a\nb\nc\n"), item("cmd:vmstat -d 3", "x\ny\n")))],
        (VMSTAT,),
    )
    assert [sorted(e.data for e in f.evidence) for f in frames] == [[b"a\n"], [b"b\n", b"x\n"], [b"c\n", b"y\n"]]
    assert [f.monotonic for f in frames] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "evidence",
    [
        (item("cmd:vmstat 2", "a\n"),),  # one interval
        (item("cmd:vmstats 2", "a\nb\n"),),  # another program
        (item("/proc/mdstat", "a\nb\n"),),
        (Evidence("cmd:vmstat 2", Outcome.FAILED, data=b"a\nb\n"),),
        (item("cmd:vmstat 600", "a\nb\n"), item("/proc/mdstat", "")),  # an hour beside a moment
        (),
    ],
)
def test_anything_else_stays_one_frame(evidence: tuple[Evidence, ...]) -> None:
    only = [Frame(1, 1.0e9, 0.0, evidence)]
    assert unrolled(ORIGIN, only, (VMSTAT,)) == (ORIGIN, only)


def test_long_intervals_alone_are_frames() -> None:
    _, frames = unrolled(ORIGIN, [Frame(1, 1.0e9, 0.0, (item("cmd:vmstat 600", "a\nb\n"),))], (VMSTAT,))
    assert [f.taken for f in frames] == [1.0e9 - 600, 1.0e9]


def test_a_capture_of_several_frames_is_as_it_was_recorded() -> None:
    frames = [Frame(n, 1.0e9 + n, float(n), (item("cmd:vmstat 2", "a\nb\n"),)) for n in (1, 2)]
    assert unrolled(ORIGIN, frames, (VMSTAT,)) == (ORIGIN, frames)


def test_the_newest_of_too_many_intervals() -> None:
    text = "".join(f"{n}\n" for n in range(MOST + 2))
    origin, frames = unrolled(ORIGIN, [Frame(1, 1.0e9, 0.0, (item("cmd:vmstat 2", text),))], (VMSTAT,))
    assert len(frames) == MOST
    assert [e.data for e in frames[0].evidence] == [b"2\n"]
    assert origin.note == f"of cmd:vmstat 2 only the last {MOST} intervals"


DISKSTATS = "   8       0 sda 100 0 800 100 100 0 800 100 0 200 200 0 0 0 0 0 0\n"
HEAD = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s r_await w_await aqu-sz %util\n"


def test_counters_that_were_read_once_are_not_idle_beside_recorded_intervals() -> None:
    text = "".join(f"{HEAD}sda {n}.00 0.00 4.00 0.00 0.00 0.00 1.00 0.00 0.01 1.00\n\n" for n in range(5))
    evidence = (item("/proc/diskstats", DISKSTATS), item("cmd:iostat -x 1 5", text))
    _, frames = unrolled(ORIGIN, [Frame(1, 1.0e9, 0.0, evidence)], BUILTIN)
    replay = Replay(BUILTIN)
    shots = [replay.feed(frame) for frame in frames]
    assert [shot.rows(DiskActivity)["sda"].reads_per_second for shot in shots] == [1.0, 2.0, 3.0, 4.0]
    assert all(shot.get(Disk, "sda") is not None for shot in shots)


def test_counters_that_were_read_twice_win_over_recorded_intervals() -> None:
    text = "".join(f"{HEAD}sda {n}.00 0.00 4.00 0.00 0.00 0.00 1.00 0.00 0.01 1.00\n\n" for n in range(5))
    later = DISKSTATS.replace("100 0 800 100", "107 0 856 107", 1)
    frames = [
        Frame(1, 1.0e9, 0.0, (item("/proc/diskstats", DISKSTATS), item("cmd:iostat -x 1 5", text))),
        Frame(2, 1.0e9 + 1, 1.0, (item("/proc/diskstats", later),)),
    ]
    assert unrolled(ORIGIN, frames, BUILTIN)[1] is frames
    replay = Replay(BUILTIN)
    shots = [replay.feed(frame) for frame in frames]
    rows = shots[-1].rows(DiskActivity)
    assert list(rows) == ["sda"]
    assert rows["sda"].reads_per_second == 7.0
