"""Rounds on a table: who runs when, what is sent and what is not, with a clock that passes when told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.collector import LIVE, ONCE, RESTING, SLOW, Collector, Need
from sdstop.core.evidence import Evidence, Outcome, RunMark
from sdstop.core.host import Absent, Host, TimedOut
from sdstop.core.model import Reading
from sdstop.core.parcel import TOGETHER
from sdstop.sampler.executor import SerialExecutor
from sdstop.sampler.rest import WATCH
from sdstop.sampler.runner import CollectorRunner
from sdstop.sampler.scheduler import ChangeFilter, Scheduler, Sent
from tests.sampler.meters import Other, others


class Hanging(Host):
    """Files by path; a callable is called when it is read."""

    def __init__(self, files: dict[str, Any]) -> None:
        self.files = files

    def read(self, path: str) -> bytes:
        content = self.files.get(path, Absent(path))
        content = content() if callable(content) else content
        if isinstance(content, Exception):
            raise content
        return str(content).encode()

    def entries(self, path: str) -> list[str]:
        raise Absent(path)

    def link(self, path: str) -> str:
        raise Absent(path)

    def run(self, argv: object, deadline: float = 10.0) -> Any:
        del deadline
        raise Absent(str(argv))

    def answer(self, question: str) -> Any:
        raise Absent(question)


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Held(SerialExecutor):
    """No threads: what is put there is carried out when told, at the time of a clock."""

    def put(self, order: Callable[[], None], *, urgent: bool = False) -> None:
        self.orders = [*getattr(self, "orders", []), order]
        self.urgent = {*getattr(self, "urgent", set()), *([order] if urgent else [])}

    def take(self, runner: CollectorRunner) -> None:
        self.orders.remove(runner.execute)
        runner.execute()

    def begin(self, runner: CollectorRunner) -> None:
        """Let a run begin and not end."""
        runner.began = self._clock()


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Table]:
    monkeypatch.setattr("sdstop.sampler.scheduler.SerialExecutor", Held)
    return Table


class Table:
    """Rounds on a table: a clock, collectors that are carried out when told, and the frames that came."""

    def __init__(
        self, collectors: list[Collector], host: Host | None = None, interval: float = 1.0, rest: float = 0.0
    ) -> None:
        self.clock = Clock()
        self.frames: list[Sent] = []
        self.rounds = Scheduler(
            collectors, host or Hanging({}), self.frames.append, lambda: None, interval, 0.25, self.clock, self.clock
        )
        self.rounds.rest.seconds = rest

    def runner(self, name: str) -> CollectorRunner:
        return next(runner for runner in self.rounds.runners if runner.collector.name == name)

    @property
    def executor(self) -> Held:
        executor = self.rounds._executor
        assert isinstance(executor, Held)
        return executor

    def launched(self) -> set[str]:
        return {runner.collector.name for runner in self.rounds.runners if runner.busy}

    def step(self, *names: str, after: float = 0.0) -> list[Sent]:
        """Let time pass and runs end, and return the frames that follow."""
        self.clock.now += after
        for name in names:
            self.executor.take(self.runner(name))
        before = len(self.frames)
        self.rounds.step()
        return self.frames[before:]


def collector(name: str, pace: float = LIVE, path: str = "/x", **more: Any) -> Collector:
    def read(host: Host) -> Iterator[Reading]:
        yield Other(name, int(host.text(path)))

    return Collector(name, name, read, (Other,), (), pace, **more)


class TestRounds:
    def test_the_first_round_is_due_at_once_and_its_frame_when_all_landed(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b", SLOW), collector("c", ONCE)])
        assert table.rounds.pause() == 0
        assert table.step() == []
        assert table.launched() == {"a", "b", "c"}
        assert table.step("a", "b") == []
        (frame,) = table.step("c")
        assert set(frame[3]) == {"a", "b", "c"}

    def test_a_frame_waits_no_longer_than_its_patience(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b")])
        table.step()
        table.step("a", after=0.1)
        assert table.rounds.pause() == pytest.approx(0.15)
        assert table.step(after=0.1) == []
        (frame,) = table.step(after=0.1)
        assert set(frame[3]) == {"a"}
        (frame,) = table.step("b", after=0.1)  # its first run: nobody waits for the next round
        assert set(frame[3]) == {"b"}

    def test_first_landings_that_are_close_go_together(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b"), collector("c")])
        table.step()
        table.step("a", after=0.3)
        assert table.step("b", after=0.1) == []
        (frame,) = table.step("c", after=0.01)
        assert set(frame[3]) == {"b", "c"}

    def test_later_landings_wait_for_the_next_round(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b")])
        table.step()
        table.step("a", "b")
        assert table.step(after=1.0) == []
        table.step("a")
        (frame,) = table.step(after=0.3)
        assert set(frame[3]) == {"a"}
        assert table.step("b", after=0.1) == []
        table.step(after=0.61)
        assert table.launched() == {"a", "b"}
        (frame,) = table.step(after=0.3)
        assert set(frame[3]) == {"b"}

    def test_rounds_stay_on_their_grid_and_missed_ones_are_skipped(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a")])
        table.step()
        table.step("a", after=0.02)
        assert table.rounds.pause() == pytest.approx(0.98)
        table.step(after=1.03)
        table.step("a")
        assert table.rounds.pause() == pytest.approx(0.95)
        table.step(after=5.45)
        table.step("a")
        assert table.rounds.pause() == pytest.approx(0.5)
        assert len(table.frames) == 3

    def test_who_is_busy_is_not_launched_again(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b")])
        table.step()
        for _ in range(3):
            table.step("a")
            table.step(after=0.25)
            table.step(after=0.75)
        assert table.executor.orders.count(table.runner("b").execute) == 1

    def test_what_runs_too_long_is_marked_in_every_frame(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b", deadline=2.0)])
        table.step()
        table.executor.begin(table.runner("b"))
        marks = []
        for _ in range(5):
            table.step("a")
            table.step(after=0.25)
            marks.append(table.frames[-1][3].get("b"))
            table.step(after=0.75)
        assert marks == [None, None, None, RunMark(100.0), RunMark(100.0)]  # the frame of 102.0 is just in time
        table.step("b")
        table.step(after=0.25)
        assert table.frames[-1][3]["b"].duration is not None

    def test_a_run_that_waits_for_its_turn_does_not_hang(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b", deadline=2.0)])
        table.step()
        for _ in range(9):
            table.step("a")
            table.step(after=0.25)
            assert "b" not in table.frames[-1][3]
            table.step(after=0.75)

    def test_a_run_that_reads_on_is_slow_until_it_takes_several_deadlines(self, rounds: Callable[..., Table]) -> None:
        """Without CPU time every read takes long; a hung one takes longer than the deadline alone."""
        table = rounds([collector("a"), collector("b", deadline=2.0)])
        table.step()
        runner = table.runner("b")
        table.executor.begin(runner)
        marked = []
        for second in range(12):
            runner.recording.asked = f"/{second}", 0.0, table.clock.now
            table.step("a")
            table.step(after=0.25)
            marked.append("b" in table.frames[-1][3])
            table.step(after=0.75)
        assert marked == [False] * 11 + [True]

    def test_the_second_run_may_come_sooner_than_the_others(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("slow", 15.0, second=5.0)], Hanging({"/x": 1}))
        began = [0]
        table.step()
        table.step(*table.launched())
        for second in range(1, 40):
            table.step(after=1.0)
            began += [second] if "slow" in table.launched() else []
            table.step(*table.launched())
        assert began == [0, 5, 20, 35]

    def test_paces(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("five", 5.0), collector("once", ONCE)])
        runs: dict[str, list[int]] = {"a": [], "five": [], "once": []}
        for second in range(12):
            table.step()
            for name in table.launched():
                runs[name].append(second)
            table.step(*table.launched())
            table.step(after=1.0 - 0.004 * (second % 2))  # the grid is met a little late or early
            table.clock.now = 100.0 + second + 1
        assert runs == {"a": list(range(12)), "five": [0, 5, 10], "once": [0]}

    def test_what_is_quiet_rests_after_the_first_run_without_events(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("five", 5.0), collector("quiet", 5.0, quiet=20.0)])
        runs: dict[str, list[int]] = {"five": [], "quiet": []}
        for second in range(60):
            if second in {1, 33}:
                table.rounds.look()
            table.step()
            for name in table.launched():
                runs[name].append(second)
            table.step(*table.launched())
            table.clock.now = 100.0 + second + 1
        assert runs["five"] == list(range(0, 60, 5))
        assert runs["quiet"] == [0, 5, 25, 33, 38, 58]

    @pytest.mark.parametrize(("since", "expected"), [(99.5, [0, 20, 40]), (100.5, [0, 5, 25, 45])])
    def test_what_is_quiet_rests_at_once_if_events_were_received_before_its_first_run(
        self, rounds: Callable[..., Table], since: float, expected: list[int]
    ) -> None:
        table = rounds([collector("quiet", 5.0, quiet=20.0)])
        runs = []
        for second in range(50):
            if second == 1:
                table.rounds.hears(since)
            table.step()
            runs += [second for _ in table.launched()]
            table.step(*table.launched())
            table.clock.now = 100.0 + second + 1
        assert runs == expected

    def test_what_is_quiet_runs_soon_after_an_event_while_nothing_was_heard(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("quiet", 5.0, quiet=20.0)])
        runs = []
        for second in range(40):
            if second == 1:
                table.rounds.look()
                table.rounds.hears(99.5)  # an event counts, whatever is said about the time before
            table.step()
            runs += [second for _ in table.launched()]
            table.step(*table.launched())
            table.clock.now = 100.0 + second + 1
        assert runs == [0, 5, 25]

    @pytest.mark.parametrize("interval", [0.25, 10.0])
    def test_what_is_live_runs_in_every_round_whatever_the_interval(
        self, rounds: Callable[..., Table], interval: float
    ) -> None:
        table = rounds([collector("a"), collector("five", 5.0)], interval=interval)
        runs = []
        for _ in range(6):
            table.step()
            runs.append(sorted(table.launched()))
            table.step(*table.launched())
            table.step(after=interval)
        assert runs == [["a", "five"], *([["a"]] * 5 if interval < 1 else [["a", "five"]] * 5)]

    def test_a_fingerprint_is_asked_in_every_round_and_before_the_run(self, rounds: Callable[..., Table]) -> None:
        host = Hanging({"/mark": "1", "/x": "1"})
        marked = collector("a", ONCE, fingerprint=lambda h: h.text("/mark"))
        table = rounds([marked], host)
        table.step()
        assert set(table.step("a")[0][3]) == {"a"}
        for mark, seen in (("1", set()), ("2", {"a"}), ("2", set())):
            host.files["/mark"] = mark
            table.step(after=1.0)
            (frame,) = table.step("a")
            assert set(frame[3]) == seen
            assert "/mark" not in {item.key for item in frame[2]}

    @pytest.mark.parametrize("error", [Absent("/mark"), TimedOut("/mark", "hangs"), ValueError("a bug")])
    def test_a_fingerprint_that_fails_is_one_too(self, rounds: Callable[..., Table], error: Exception) -> None:
        host = Hanging({"/mark": error, "/x": "1"})
        table = rounds([collector("a", ONCE, fingerprint=lambda h: h.text("/mark"))], host)
        table.step()
        assert set(table.step("a")[0][3]) == {"a"}
        table.step(after=1.0)
        assert set(table.step("a")[0][3]) == set()
        host.files["/mark"] = "there"
        table.step(after=1.0)
        assert set(table.step("a")[0][3]) == {"a"}

    def test_a_fingerprint_that_hung_is_followed_by_a_run(self, rounds: Callable[..., Table]) -> None:
        def slowly() -> str:
            table.clock.now += 5
            return "1"

        host = Hanging({"/mark": "1", "/x": "1"})
        table = rounds([collector("a", ONCE, fingerprint=lambda h: h.text("/mark"), deadline=2.0)], host)
        table.step()
        table.step("a")
        host.files["/mark"] = slowly
        table.step(after=1.0)
        (frame,) = table.step("a")
        assert set(frame[3]) == {"a"}

    def test_a_hanging_run_brings_what_it_read_and_where_it_hangs(self, rounds: Callable[..., Table]) -> None:
        frames: list[Sent] = []

        def hang() -> str:
            table.clock.now += 3.0
            table.rounds.step()  # as if another thread had looked at this moment
            table.rounds.step()
            table.clock.now += 0.25
            table.rounds.step()
            frames.extend(table.frames)
            return "2"

        host = Hanging({"/first": "1", "/second": hang})
        table = rounds([Collector("others", "Others", others, (Other,), (), deadline=2.0)], host)
        table.step()
        table.step("others")
        sent = {item.key: (item.outcome, item.detail, item.monotonic) for frame in frames for item in frame[2]}
        assert sent == {
            "/first": (Outcome.OK, "", 100.0),
            "/second": (Outcome.TIMEOUT, "timed out after 2 s", 100.0),
        }
        assert [len(frame[2]) for frame in frames] == [2, 0]  # said once
        table.step(after=1.0)
        table.step(after=0.25)
        (news,) = [frame[2] for frame in table.frames if "others" in frame[3] and frame[3]["others"].duration]
        assert [(item.key, item.outcome, item.data) for item in news] == [("/second", Outcome.OK, b"2")]

    def test_a_run_that_reads_much_brings_each_piece_once_with_its_newest_content(
        self, rounds: Callable[..., Table]
    ) -> None:
        """Also when it hangs where some of it is packed; then the next of its frames has the rest."""
        files = [f"/{number}" for number in range(2 * TOGETHER + 20)]
        brought: list[dict[str, tuple[Outcome, bytes]]] = []

        def read(host: Host) -> Iterator[Reading]:
            assert host.text("/0") == "first"
            host.text("/0")
            for path in files[1:]:
                host.text(path)
            yield Other("a", 1)

        def hang() -> str:
            table.clock.now += 3.0
            table.rounds.step()
            table.rounds.step()
            table.clock.now += 0.25
            table.rounds.step()
            brought.extend({e.key: (e.outcome, e.data) for e in frame[2]} for frame in table.frames)
            return "late"

        first = iter(("first", "newest"))
        texts: dict[str, Any] = {**dict.fromkeys(files, "same"), files[0]: lambda: next(first), files[-5]: hang}
        table = rounds([Collector("a", "a", read, (Other,), (), deadline=2.0)], Hanging(texts))
        table.step()
        table.step("a")
        so_far = {**dict.fromkeys(files[:-5], (Outcome.OK, b"same")), files[0]: (Outcome.OK, b"newest")}
        assert brought == [{**so_far, files[-5]: (Outcome.TIMEOUT, b"")}, {}]
        table.step(after=1.0)
        table.step(after=0.25)
        (news,) = [frame[2] for frame in table.frames[len(brought) :] if frame[2]]
        assert {e.key: e.data for e in news} == {files[-5]: b"late", **dict.fromkeys(files[-4:], b"same")}

    @pytest.mark.parametrize("order", ["look", "rescan"])
    def test_who_is_busy_when_wanted_goes_again_as_soon_as_it_landed(
        self, rounds: Callable[..., Table], order: str
    ) -> None:
        """A disk that comes while the disks are being read is seen now, and not in a round an hour later."""
        host = Hanging({"/mark": "1", "/x": "1"})
        table = rounds([collector("a", ONCE, fingerprint=lambda h: h.text("/mark"))], host, interval=3600.0)
        table.step()
        getattr(table.rounds, order)()
        getattr(table.rounds, order)()  # twice is once
        assert [set(frame[3]) for frame in table.step("a", after=0.1)] == [{"a"}]
        host.files["/mark"] = "2"  # for the kernel's word came before what it is about
        host.files["/x"] = "2"
        assert table.launched() == {"a"}
        table.step("a", after=0.1)
        assert table.launched() == set()
        table.step(after=0.1)
        assert {item.key: item.data for frame in table.frames for item in frame[2]}["/x"] == b"2"

    def test_sources_that_notice_work_go_first(self, rounds: Callable[..., Table]) -> None:
        disks = replace(collector("disks", LIVE), stirs=lambda *_: True)
        table = rounds([collector("live", LIVE), disks, collector("slow", SLOW)])
        table.step()
        executor = table.rounds._executor
        assert isinstance(executor, Held)
        urgent = {runner.collector.name for runner in table.rounds.runners if runner.execute in executor.urgent}
        assert urgent == {"disks"}
        assert len(executor.orders) == 3

    def test_a_rescan_queries_what_rests(self, rounds: Callable[..., Table]) -> None:
        class Roused(Hanging):
            roused = 0

            def rouse(self) -> None:
                self.roused += 1

        host = Roused({"/mark": "1"})
        table = rounds([collector("a", ONCE)], host)
        table.rounds.look()
        assert host.roused == 0
        table.rounds.rescan()
        assert host.roused == 1

    def test_fingerprints_of_one_round_list_a_folder_once(self, rounds: Callable[..., Table]) -> None:
        """Seven sources look for new disks in /sys/block: with a thousand of them that is seven times two thousand."""
        asked: list[str] = []

        class Listing(Hanging):
            def entries(self, path: str) -> list[str]:
                asked.append(path)
                return ["sda", "sdb"][: len(asked)]

        def mark(host: Host) -> tuple[str, ...]:
            return tuple(host.names("/sys/block"))

        table = rounds([collector(name, ONCE, fingerprint=mark) for name in "ab"], Listing({"/x": "1"}))
        table.step()
        table.step("a", "b")
        assert asked == ["/sys/block"]
        table.step(after=1.0)
        (frame,) = table.step("a", "b")
        assert asked == ["/sys/block"] * 2
        assert set(frame[3]) == {"a", "b"}  # what came is seen by both
        table.rounds.look()
        table.step("a", "b")
        assert asked == ["/sys/block"] * 3

    def test_runs_of_one_round_list_a_folder_once_and_each_keeps_the_list(self, rounds: Callable[..., Table]) -> None:
        asked: list[str] = []

        class Listing(Hanging):
            def entries(self, path: str) -> list[str]:
                asked.append(path)
                return [f"sd{len(asked)}"]

        def read(host: Host) -> Iterator[Reading]:
            yield Other(host.entries("/sys/block")[0], 1)

        table = rounds([Collector(name, name, read, (Other,), (), LIVE) for name in "ab"], Listing({}))
        table.step()
        (first,) = table.step("a", "b")
        table.step(after=1.0)
        (second,) = table.step("a", "b")
        assert asked == ["/sys/block"] * 2
        assert (set(first[3]), {item.data for item in first[2]}) == ({"a", "b"}, {b"sd1"})
        assert (set(second[3]), {item.data for item in second[2]}) == ({"a", "b"}, {b"sd2"})
        table.step(after=1.0)
        table.step("a")
        table.step("b", after=0.5)  # too late for a list of the round's begin
        assert asked == ["/sys/block"] * 4

    def test_who_was_asked_for_its_fingerprint_goes_again_too(self, rounds: Callable[..., Table]) -> None:
        marks = ["1"]
        table = rounds([collector("a", ONCE, fingerprint=lambda _: (*marks,)), collector("b")], Hanging({"/x": "1"}))
        table.step()
        table.step("a", "b")
        table.step(after=1.0)
        assert table.launched() == {"a", "b"}
        table.rounds.look()
        table.step("a")  # nothing had changed: nothing is sent for it
        assert table.launched() == {"a", "b"}
        marks.append("2")
        table.step("a")
        assert table.launched() == {"b"}


class TestChanges:
    def test_of_two_runs_that_read_a_file_the_newer_read_counts(self, rounds: Callable[..., Table]) -> None:
        def first(host: Host) -> Iterator[Reading]:
            host.text("/wait")  # meanwhile "second" runs, from beginning to end
            yield Other("first", int(host.text("/x")))

        def second_runs() -> str:
            table.clock.now += 0.01
            table.executor.take(table.runner("second"))
            table.clock.now += 0.01
            return ""

        values = iter(("1", "2", "2", "1"))
        host = Hanging({"/wait": second_runs, "/x": lambda: next(values)})
        table = rounds([Collector("first", "first", first, (Other,), ()), collector("second")], host)
        table.step()
        (frame,) = table.step("first")
        assert [item.data for item in frame[2] if item.key == "/x"] == [b"2"]
        table.step(after=1.0)
        (frame,) = table.step("first")  # the newer read is as before, and counts as well
        assert [item.data for item in frame[2] if item.key == "/x"] == [b"1"]

    def test_a_change_is_sent_with_the_first_run_that_ends_with_it(self, rounds: Callable[..., Table]) -> None:
        def slow(host: Host) -> Iterator[Reading]:
            yield Other("slow", int(host.text("/x")))
            host.text("/wait")

        def quick_runs() -> str:
            table.clock.now += 0.3
            table.executor.take(table.runner("quick"))
            table.rounds.step()  # its frame does not wait for the slow run
            return ""

        files: dict[str, Any] = {"/wait": "", "/x": 1}
        table = rounds([Collector("slow", "slow", slow, (Other,), ()), collector("quick")], Hanging(files))
        table.step()
        table.step("slow", "quick")
        table.step(after=1.0)
        files.update({"/x": 2, "/wait": quick_runs})
        before = len(table.frames)
        table.step("slow")
        frame = table.frames[before]
        assert set(frame[3]) == {"quick"}
        assert [item.data for item in frame[2]] == [b"2"]

    def test_a_timeout_does_not_replace_the_result_of_its_read(self) -> None:
        delta = ChangeFilter()
        delta.news([Evidence("/a", data=b"1", monotonic=1.0)])
        assert delta.is_known(Evidence("/a", data=b"1", monotonic=2.0))
        assert delta.news([Evidence("/a", Outcome.TIMEOUT, monotonic=2.0)]) == []
        assert delta.news([Evidence("/a", Outcome.TIMEOUT, monotonic=3.0)])
        assert delta.news([Evidence("/a", data=b"1", monotonic=3.0)])

    def test_a_run_that_waits_for_its_frame_keeps_only_what_changed(self, rounds: Callable[..., Table]) -> None:
        table = rounds([collector("a"), collector("b")], Hanging({"/x": 1}))
        table.step()
        table.step("a", "b")
        table.step(after=1.0)
        table.step("a")
        (waiting,) = table.rounds._finished
        assert not waiting.evidence
        (frame,) = table.step("b")
        assert frame[2] == []
        assert set(frame[3]) == {"a", "b"}


class TestDelta:
    def test_what_says_the_same_is_no_news(self) -> None:
        delta = ChangeFilter()
        item = Evidence("/a", data=b"1", monotonic=1.0)
        assert delta.news([item]) == [item]
        assert delta.news([Evidence("/a", data=b"1", monotonic=2.0, taken=9.0, duration=3.0)]) == []
        changed = [
            Evidence("/a", data=b"2", monotonic=3.0),
            Evidence("/a", Outcome.FAILED, b"2", monotonic=3.0),
            Evidence("/a", Outcome.FAILED, b"2", "why", monotonic=3.0),
            Evidence("/a", Outcome.FAILED, b"2", "why", monotonic=3.0, stderr=b"x"),
            Evidence("/a", Outcome.FAILED, b"2", "why", monotonic=3.0, stderr=b"x", exit=1),
        ]
        for item in changed:
            assert delta.news([item]) == [item]

    def test_what_is_older_is_no_news(self) -> None:
        delta = ChangeFilter()
        delta.news([Evidence("/a", data=b"1", monotonic=1.0), Evidence("/a", data=b"1", monotonic=5.0)])
        assert delta.news([Evidence("/a", Outcome.TIMEOUT, monotonic=4.0)]) == []
        assert delta.news([Evidence("/a", data=b"1", monotonic=6.0)]) == []

    @given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 2)), max_size=60), st.integers(0, 3000))
    def test_it_is_as_a_dict_of_what_was_said(self, later: list[tuple[int, int]], known: int) -> None:
        """Also when thousands of pieces have grown its table, and many keys belong to one slot."""
        delta, said = ChangeFilter(), dict.fromkeys(range(known), 0)
        first = [Evidence(f"/{number}", data=b"0", monotonic=0.0) for number in said]
        assert delta.news(first) == first
        for at, (number, content) in enumerate(later, 1):
            item = Evidence(f"/{number}", data=b"%d" % content, monotonic=float(at))
            is_same = said.get(number) == content
            assert delta.is_known(item) is is_same
            assert delta.news([item]) == ([] if is_same else [item])
            said[number] = content


def watcher(**more: Any) -> Collector:
    """Return a source that notices work: `/work` above 10 more than before."""
    made = collector("watcher", path="/work", stirs=lambda before, now, _: int(now) - int(before) > 10, **more)
    return replace(made, needs=(Need("/work", "work"),))


class TestRest:
    """A node at rest, with a source that notices work."""

    @pytest.fixture
    def table(self, rounds: Callable[..., Table]) -> Table:
        slow = collector("slow", 5.0, resting=30.0)
        return rounds([watcher(), collector("a"), slow], Hanging({"/work": 0, "/x": 1}), rest=RESTING)

    @staticmethod
    def second(table: Table, after: float = 1.0) -> tuple[set[str], list[Sent]]:
        """Let a second pass; return the runs that began with it, and the frames."""
        before = len(table.frames)
        table.step(after=after)
        began = table.launched()
        while table.launched():
            table.step(*table.launched())
        return began, table.frames[before:]

    def look(self, table: Table) -> tuple[set[str], list[Sent]]:
        """The same at the next look for work."""
        return self.second(table, WATCH)

    def rested(self, table: Table) -> Table:
        table.clock.now -= 1.0
        while not table.rounds._watching:
            self.second(table)
        return table

    def test_after_a_while_without_work_most_rounds_run_only_what_notices_work(self, table: Table) -> None:
        assert self.rested(table).clock.now == 110.0  # the first sample, at 100, counts as work
        seconds = {111 + place: self.second(table)[0] for place in range(33)}
        assert [second for second, began in seconds.items() if "watcher" in began] == [*range(112, 144, 2)]
        assert [second for second, began in seconds.items() if "a" in began] == [120, 130, 140]
        assert [second for second, began in seconds.items() if "slow" in began] == [140]  # its last run was at 105

    def test_each_sample_is_sent_with_the_next_round_and_marked(self, table: Table) -> None:
        self.rested(table)
        for _ in range(4):
            assert self.look(table)[1] == []
        frames = self.look(table)[1]
        assert [(frame[1], set(frame[3]), frame[4]) for frame in frames] == [
            *((at, {"watcher"}, True) for at in (110.0, 112.0, 114.0, 116.0, 118.0)),
            (120.0, {"watcher", "a"}, False),
        ]

    def test_work_is_followed_at_once_by_all_that_is_due_and_the_samples_before_it(self, table: Table) -> None:
        self.rested(table)
        self.look(table)
        host = table.runner("a")._host
        assert isinstance(host, Hanging)
        host.files["/work"] = 11
        began, frames = self.look(table)
        assert began == {"watcher"}
        assert [(frame[1], set(frame[3]), frame[4]) for frame in frames] == [
            (110.0, {"watcher"}, True),
            (112.0, {"watcher"}, True),
            (114.0, {"watcher", "a", "slow"}, False),
        ]
        assert self.second(table)[0] == {"watcher", "a"}

    def test_a_little_is_no_work(self, table: Table) -> None:
        self.rested(table)
        host = table.runner("a")._host
        assert isinstance(host, Hanging)
        for step in range(3):
            host.files["/work"] = 10 * step
            assert self.look(table)[1] == []

    @pytest.mark.parametrize("content", [Absent("/work"), TimedOut("/work", "late")], ids=["absent", "timeout"])
    def test_an_unreadable_sample_counts_as_work(self, table: Table, content: object) -> None:
        self.rested(table)
        host = table.runner("a")._host
        assert isinstance(host, Hanging)
        host.files["/work"] = content
        self.look(table)
        assert self.second(table)[0] == {"watcher", "a"}

    def test_a_source_that_found_nothing_waits_longer_until_a_device_has_an_event(
        self, rounds: Callable[..., Table]
    ) -> None:
        """Most nodes have no Ceph, no ZFS and no sessions: a look each minute is enough at rest."""

        def nothing(host: Host) -> Iterator[Reading]:
            if host.text("/none") == "absent":
                raise Absent("/none")
            yield from ()

        host = Hanging({"/work": 0, "/x": 1, "/none": "absent"})
        empty = Collector("empty", "Empty", nothing, (Other,), ())
        table = self.rested(rounds([watcher(), collector("a"), empty], host, rest=RESTING))
        table.rounds.look()
        runs: dict[str, list[int]] = {"a": [], "empty": []}
        for second in range(100):
            host.files["/none"] = "absent" if second < 50 else "0"
            if second == 80:
                table.rounds.look()
            table.step(after=1.0)
            for name in table.launched():
                runs.setdefault(name, []).append(second)
            table.step(*table.launched())
        assert len(runs["a"]) == 10
        before, after = [at for at in runs["empty"] if at < 80], [at for at in runs["empty"] if at >= 80]
        assert len(before) <= 2
        assert after[0] < 90

    def test_a_watch_that_hangs_ends_the_rest(self, rounds: Callable[..., Table]) -> None:
        host = Hanging({"/work": 0, "/x": 1})
        table = self.rested(rounds([watcher(deadline=0.5), collector("a")], host, rest=RESTING))
        table.step(after=WATCH)
        table.executor.begin(table.runner("watcher"))
        table.step(after=0.3)
        assert table.launched() == {"watcher"}
        table.step(after=WATCH - 0.3)
        assert table.launched() == {"watcher", "a"}

    def test_an_event_sends_what_was_held(self, rounds: Callable[..., Table]) -> None:
        marked = collector("marked", ONCE, fingerprint=lambda host: host.text("/mark"))
        host = Hanging({"/work": 0, "/x": 1, "/mark": "1"})
        table = self.rested(rounds([watcher(), marked], host, rest=RESTING))
        host.files["/mark"] = "2"
        before = len(table.frames)
        table.rounds.look()
        table.step("marked", after=0.1)
        table.step(after=0.1)
        assert [(set(frame[3]), frame[4]) for frame in table.frames[before:]] == [
            ({"watcher"}, True),
            ({"marked"}, False),
        ]

    def test_who_wants_every_sample_gets_it(self, table: Table) -> None:
        self.rested(table)
        table.rounds.rest.allowed = False
        assert self.look(table)[0] == {"watcher", "a", "slow"}
        assert self.second(table)[0] == {"watcher", "a"}
        table.rounds.rest.allowed = True
        assert self.second(table)[0] == {"watcher"}

    @pytest.mark.parametrize("others", [(), (watcher(),)], ids=["nothing-notices-work", "no-rest-wanted"])
    def test_otherwise_every_round_runs_all(self, rounds: Callable[..., Table], others: tuple[Collector, ...]) -> None:
        table = rounds([collector("a"), *others], Hanging({"/work": 0, "/x": 1}), rest=0.0 if others else RESTING)
        table.clock.now -= 1.0
        assert all("a" in self.second(table)[0] and not table.frames[-1][4] for _ in range(30))
