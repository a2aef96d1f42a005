"""The sampler's processes: what hangs, crashes or is killed costs itself alone."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.core.collector import ONCE, SLOW, Collector, Command
from sdstop.core.evidence import Frame, Outcome
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.node import descendants
from sdstop.node.commands import CommandRunner
from sdstop.node.descendants import MARK
from sdstop.node.live import LiveHost
from sdstop.sampler import Sampler, process, worker
from tests.sampler.meters import METERS, OTHERS, Meter, Other, Speed, keys, meters

pytestmark = pytest.mark.live

LONG = 600.0
"""Seconds that nothing here takes: whoever waited for them would not end."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A node: two meters, and a FIFO, at which a read hangs, in the place of `second`."""
    root = tmp_path / "root"
    (root / "meters").mkdir(parents=True)
    (root / "meters" / "a").write_text("1")
    (root / "meters" / "b").write_text("2")
    (root / "first").write_text("10")
    os.mkfifo(root / "second")
    return root


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def until(true: Callable[[], bool]) -> None:
    """Wait for what does happen; a test that waits for ever is one that failed."""
    while not true():
        time.sleep(0.005)


def first(frames: Iterator[Frame], true: Callable[[Frame], bool]) -> Frame:
    return next(frame for frame in frames if true(frame))


def seen(replay: Replay, frames: Iterator[Frame], true: Callable[[Snapshot], bool]) -> Snapshot:
    return next(shot for frame in frames if true(shot := replay.feed(frame)))


def ran(frame: Frame) -> dict[str, bool]:
    """Who ran, and whether it finished."""
    return {name: mark.duration is not None for name, mark in (frame.ran or {}).items()}


class TestProcess:
    def test_frames_replay_to_what_the_node_says(self, root: Path) -> None:
        replay = Replay([METERS])
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            shot = seen(replay, frames, lambda shot: "meters" in shot.runs)
            assert list(shot.rows(Meter).values()) == list(meters(LiveHost(str(root))))
            assert list(shot.rows(Speed)) == []
            (root / "meters" / "c").write_text("3")
            shot = seen(replay, frames, lambda shot: shot.get(Meter, "c") is not None)
            assert list(shot.rows(Meter).values()) == list(meters(LiveHost(str(root))))
            assert shot.get(Speed, "a") == Speed("a", 0.0)

    def test_the_worker_collects_garbage_more_often_than_its_parent(self, root: Path) -> None:
        def read(host: Host) -> Iterator[Reading]:
            host.text(f"/threshold/{gc.get_threshold()[0]}")
            yield from ()

        before = gc.get_threshold()
        gc.set_threshold(100_000, 10, 10)  # as an exporter does
        try:
            with Sampler([replace(METERS, read=read)], str(root), interval=0.05) as sampler:
                frame = first(sampler.frames(), lambda frame: bool(frame.evidence))
        finally:
            gc.set_threshold(*before)
        assert [item.key for item in frame.evidence] == [f"/threshold/{worker.GARBAGE}"]

    def test_unchanged_evidence_is_sent_once(self, root: Path) -> None:
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            finished = [first(frames, lambda frame: ran(frame) == {"meters": True}) for _ in range(4)]
        assert [keys(frame) for frame in finished] == [{"list:/meters", "/meters/a", "/meters/b"}, set(), set(), set()]

    def test_frames_are_numbered_and_timed(self, root: Path) -> None:
        before = time.time(), time.monotonic()
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            frames = list(sampler.frames(0.2))
        after = time.time(), time.monotonic()
        assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
        assert frames[-1].monotonic - frames[0].monotonic >= 0.175
        moments = [before, *((frame.taken, frame.monotonic) for frame in frames), after]
        assert moments == sorted(moments)
        for frame in frames:
            for mark in (frame.ran or {}).values():
                assert mark.duration is not None
                assert mark.started + mark.duration <= frame.monotonic

    @pytest.mark.parametrize(("seconds", "fewest"), [(0.0, 1), (0.01, 2), (0.1, 2)])
    def test_frames_span_the_seconds_that_were_asked_for(self, root: Path, seconds: float, fewest: int) -> None:
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            frames = list(sampler.frames(seconds))
        assert len(frames) >= fewest
        assert frames[-1].monotonic - frames[0].monotonic >= seconds - min(seconds, 0.05) / 2

    def test_a_source_that_hangs_delays_nobody_and_is_shown(self, root: Path) -> None:
        replay = Replay([METERS, OTHERS])
        with Sampler([METERS, OTHERS], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            shown: list[Frame] = []
            for frame in frames:
                replay.feed(frame)
                shown += [frame] if "others" in ran(frame) else []
                if sum("meters" in ran(frame) for frame in shown) == 5:  # they go on while it hangs
                    break
            run = replay._runs["others"]
            assert run.outcome is Outcome.TIMEOUT
            assert run.reason == "/second: timed out after 0.2 s"
            assert keys(shown[0]) >= {"/first", "/second"}
            assert [keys(frame) for frame in shown[1:]] == [set()] * (len(shown) - 1)
            assert len({frame.ran["others"] for frame in shown if frame.ran}) == 1
            assert replay._runs["meters"].outcome is Outcome.OK

            with (root / "second").open("w") as fifo:  # it answers at last
                fifo.write("20")
            replay.feed(first(frames, lambda frame: ran(frame).get("others", False)))
            again = first(frames, lambda frame: "others" in ran(frame))
            shot = replay.feed(again)
            assert shot.runs["others"].outcome is Outcome.TIMEOUT  # the FIFO hangs again
            last = shot.runs["others"].last
            assert last is not None
            assert [row.count for row in last.tables[Other].values() if isinstance(row, Other)] == [10, 20]

    def test_closing_with_a_hung_source_takes_no_time_and_leaves_nobody(self, root: Path) -> None:
        sampler = Sampler([METERS, OTHERS], str(root), interval=0.05)
        first(sampler.frames(), lambda frame: "others" in ran(frame))
        pid = sampler.worker
        assert pid is not None
        sampler.close()
        until(lambda: gone(pid))
        assert sampler.receive() == []
        assert list(sampler.frames()) == []
        assert not sampler.alive
        sampler.close()

    @pytest.mark.parametrize("end", ["close", "nothing", "kill"])
    def test_a_program_with_a_hung_source_ends_and_so_does_its_sampler(self, root: Path, end: str) -> None:
        code = f"""
import sys, os
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.sampler.meters import METERS, OTHERS
from sdstop.sampler import Sampler
sampler = Sampler([METERS, OTHERS], {str(root)!r}, interval=0.05)
for frame in sampler.frames():
    if "others" in frame.ran:
        break
print(sampler.worker, flush=True)
if {end!r} == "close":
    sampler.close()
if {end!r} == "kill":
    os.kill(os.getpid(), 9)
"""
        # Its output is a pipe: whoever is left behind and holds it open keeps this from returning.
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (result.stderr, result.returncode) == ("", -9 if end == "kill" else 0)
        until(lambda: gone(int(result.stdout)))

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_a_killed_worker_is_started_again_and_frames_go_on(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
    ) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", 0.05)
        replay = Replay([METERS])
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            before = seen(replay, frames, lambda shot: "meters" in shot.runs)
            killed = sampler.worker
            assert killed is not None
            os.kill(killed, number)
            troubles = set()
            poll = select.poll()
            poll.register(sampler, select.POLLIN)
            after = None
            while after is None:
                poll.poll()
                for frame in sampler.receive():
                    shot = replay.feed(frame)
                    after = shot if sampler.worker not in {killed, None} else None
                troubles.add(sampler.trouble)
            assert troubles - {""} == {f"the sampler was ended by {number.name} and starts again after 0.05 s"}
            assert sampler.trouble == ""
            assert sampler.alive
            assert after.number > before.number
            assert after.monotonic > before.monotonic
            assert after.rows(Meter) == before.rows(Meter)
            assert sampler.worker != killed

    def test_a_worker_that_fails_says_why_and_is_started_later_and_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", 0.01)

        def no_host() -> Host:
            raise RuntimeError("no host today")

        pauses: list[str] = []
        with Sampler([METERS], host=no_host) as sampler:
            while len(pauses) < 3:
                select.select([sampler], [], [])
                assert sampler.receive() == []
                if sampler.trouble and sampler.trouble not in pauses:
                    pauses.append(sampler.trouble)
            assert sampler.note == "the sampler failed: RuntimeError: no host today"
        assert pauses == [f"the sampler failed and starts again after {pause} s" for pause in ("0.01", "0.02", "0.04")]

    def test_when_no_worker_can_be_started_it_says_so_and_stays_silent(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "GRACE", LONG)
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            next(sampler.frames())
            assert sampler.worker is not None

            def no_fork() -> int:
                raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

            monkeypatch.setattr(os, "fork", no_fork)
            os.kill(sampler.worker, signal.SIGKILL)
            list(sampler.frames())  # what had come, and the end
            assert not sampler.alive
            said = "the sampler was ended by SIGKILL and cannot start again: Resource temporarily unavailable"
            assert sampler.trouble == said
            assert select.select([sampler], [], [], 0) == ([], [], [])
            assert sampler.receive() == []

    def test_a_worker_is_restarted_beside_threads_that_hold_locks(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", 0.0)
        ended, lock = threading.Event(), threading.Lock()

        def work() -> None:
            while not ended.is_set():
                with lock:
                    json.dumps([{"a": str(number)} for number in range(100)])

        threads = [threading.Thread(target=work) for _ in range(4)]
        with Sampler([METERS], str(root), interval=0.02) as sampler:
            for thread in threads:
                thread.start()
            try:
                seen: set[int] = set()
                while len(seen) < 10:
                    if sampler.receive() and sampler.worker is not None and sampler.worker not in seen:
                        os.kill(sampler.worker, signal.SIGKILL)
                        seen.add(sampler.worker)
                    time.sleep(0.005)
            finally:
                ended.set()
                for thread in threads:
                    thread.join()

    def test_a_worker_that_does_not_begin_is_ended_and_started_again(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", 0.01)
        monkeypatch.setattr(worker, "STARTS", 0.5)
        lock = threading.Lock()

        def host() -> Host:
            with lock:
                return LiveHost(str(root))

        with lock:  # as a thread of this process may hold it at the fork
            sampler = Sampler([METERS], host=host, interval=0.05)
        with sampler:
            until(lambda: not sampler.receive() and bool(sampler.trouble))
            assert sampler.trouble == "the sampler was ended by SIGALRM and starts again after 0.01 s"
            until(lambda: bool(sampler.receive()))

    def test_a_worker_that_ends_before_its_pause_is_over_leaves_nobody(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", LONG)
        sampler = Sampler([METERS], str(root), interval=0.05)
        next(sampler.frames())
        assert sampler.worker is not None
        os.kill(sampler.worker, signal.SIGKILL)
        until(lambda: not sampler.receive() and sampler.worker is None)
        pid = sampler._pid
        assert pid is not None
        assert not gone(pid)
        sampler.close()
        until(lambda: gone(pid))

    def test_a_worker_that_was_stopped_goes_on(self, root: Path) -> None:
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            next(sampler.frames())
            assert sampler.worker is not None
            os.kill(sampler.worker, signal.SIGSTOP)
            until(lambda: not sampler.receive())
            os.kill(sampler.worker, signal.SIGCONT)
            until(lambda: bool(sampler.receive()))

    def test_waiting_for_frames_ends_in_silence(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "GRACE", 0.1)
        with Sampler([METERS], str(root), interval=0.05) as sampler:
            next(sampler.frames())
            assert sampler.worker is not None
            os.kill(sampler.worker, signal.SIGSTOP)
            list(sampler.frames(0.1))
            os.kill(sampler.worker, signal.SIGKILL)

    async def test_an_event_loop_can_watch_it(self, root: Path) -> None:
        loop = asyncio.get_running_loop()
        frames: asyncio.Queue[Frame] = asyncio.Queue()
        with Sampler([METERS], str(root), interval=0.05) as sampler:

            def take() -> None:
                for frame in sampler.receive():
                    frames.put_nowait(frame)

            loop.add_reader(sampler.fileno(), take)
            assert [(await frames.get()).number for _ in range(3)] == [1, 2, 3]
            loop.remove_reader(sampler.fileno())

    def test_rescan_reads_what_is_slow(self, root: Path) -> None:
        slow = Collector("slow", "Slow", meters, (Meter,), (), ONCE)
        with Sampler([slow], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            first(frames, lambda frame: ran(frame) == {"slow": True})
            assert [ran(next(frames)) for _ in range(3)] == [{}] * 3
            (root / "meters" / "a").write_text("9")
            assert ran(next(frames)) == {}
            sampler.rescan()
            assert keys(first(frames, lambda frame: "slow" in ran(frame))) == {"/meters/a"}

    def test_a_changed_fingerprint_runs_what_is_slow(self, root: Path) -> None:
        slow = Collector("slow", "Slow", meters, (Meter,), (), ONCE, fingerprint=lambda h: tuple(h.entries("/meters")))
        with Sampler([slow], str(root), interval=0.05) as sampler:
            frames = sampler.frames()
            first(frames, lambda frame: ran(frame) == {"slow": True})
            (root / "meters" / "a").write_text("9")
            assert [ran(next(frames)) for _ in range(3)] == [{}] * 3
            (root / "meters" / "c").write_text("3")
            assert keys(first(frames, lambda frame: "slow" in ran(frame))) == {"/meters/a", "/meters/c", "list:/meters"}
            assert [ran(next(frames)) for _ in range(3)] == [{}] * 3

    def test_the_interval_can_be_changed_and_outlives_the_worker(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "FIRST_PAUSE", 0.01)
        with Sampler([METERS], str(root), interval=3600) as sampler:
            frames = sampler.frames()
            next(frames)
            sampler.set_interval(0.05)
            assert sampler.interval == 0.05
            next(frames)
            next(frames)
            killed = sampler.worker
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            first(frames, lambda _: sampler.worker not in {killed, None})
            next(frames)  # at 3600 s there would be none

    def test_a_collector_with_a_bug_costs_itself_alone(self, root: Path) -> None:
        def broken(host: Host) -> Iterator[Reading]:
            host.read("/first")
            raise ZeroDivisionError("a bug")
            yield

        collectors = [METERS, Collector("broken", "Broken", broken, (Other,), ())]
        replay = Replay(collectors)
        with Sampler(collectors, str(root), interval=0.05) as sampler:
            shot = seen(replay, sampler.frames(), lambda shot: len(shot.runs) == 2)
        assert shot.runs["broken"].outcome is Outcome.FAILED
        assert shot.runs["broken"].reason.startswith("ZeroDivisionError: a bug (test_process.py:")
        assert shot.runs["meters"].outcome is Outcome.OK

    def test_who_is_slow_at_first_has_a_frame_of_its_own(self, root: Path) -> None:
        def slowly(host: Host) -> Iterator[Reading]:
            until((root / "go").exists)
            yield from meters(host)

        late = Collector("late", "Late", slowly, (Other,), (), SLOW, deadline=LONG)
        with Sampler([METERS, late], str(root), interval=3600, patience=0.05) as sampler:
            frames = sampler.frames()
            first(frames, lambda frame: ran(frame) == {"meters": True})
            (root / "go").touch()
            first(frames, lambda frame: ran(frame) == {"late": True})

    def test_a_collector_gets_the_commands_that_it_declares_and_no_other(self) -> None:
        def ask(host: Host) -> Iterator[Reading]:
            yield Meter("a", int(host.run(("echo", "7"), LONG).text))
            host.run(("echo", "8"), LONG)

        probe = Collector("probe", "Probe", ask, (Meter,), (Command(("echo", "7"), "a number"),))
        with Sampler([probe], interval=0.05) as sampler:
            found: dict[str, tuple[Outcome, bytes]] = {}
            for frame in islice(sampler.frames(), 200):  # a command may take longer than the first frame waits
                found |= {item.key: (item.outcome, item.data) for item in frame.evidence}
                if "cmd:echo 8" in found:
                    break
        assert found["cmd:echo 7"] == (Outcome.OK, b"7\n")
        assert found["cmd:echo 8"] == (Outcome.FAILED, b"")

    def test_commands_end_with_the_worker(self, tmp_path: Path) -> None:
        (tmp_path / "probe").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nexec sleep {LONG}\n")
        (tmp_path / "probe").chmod(0o755)

        def ask(host: Host) -> Iterator[Reading]:
            host.run(["probe"], LONG)
            yield from ()

        def make() -> Host:
            return LiveHost(runner=CommandRunner([Command(("probe",), "test")], [str(tmp_path)]))

        with Sampler([Collector("probe", "Probe", ask, (Other,), ())], host=make, interval=0.05) as sampler:
            next(sampler.frames())
            until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text().strip()))
            assert not gone(int((tmp_path / "pid").read_text()))
        until(lambda: gone(int((tmp_path / "pid").read_text())))

    @pytest.mark.parametrize("end", ["close", "kill the worker"])
    def test_what_left_the_session_of_a_command_ends_with_the_worker(self, end: str, tmp_path: Path) -> None:
        said = tmp_path / "pid"
        probe = tmp_path / "probe"
        probe.write_text(f"#!/bin/sh\n(setsid sh -c 'sleep 600 & echo $! >{said}; wait' &)\nsleep 600\n")
        probe.chmod(0o755)
        command = Command(("probe",), "test")
        runner = CommandRunner([command], [str(tmp_path)])

        def run(host: Host) -> Iterator[Reading]:
            host.run(["probe"], 60)
            yield from ()

        probing = Collector("probing", "Probing", run, (Other,), (command,), pace=SLOW)
        host = LiveHost(collectors=[probing], runner=runner)
        with Sampler([probing], host=lambda: host, interval=0.1) as sampler:
            until(lambda: said.exists() and said.read_text().strip() != "")
            sampler.receive()
            pid = int(said.read_text())
            assert not gone(pid)
            if end == "kill the worker":
                until(lambda: sampler.receive() == [] and sampler.worker is not None)
                assert sampler.worker is not None
                os.kill(sampler.worker, signal.SIGKILL)
                until(lambda: sampler.receive() == [] and gone(pid))
        until(lambda: gone(pid))

    def test_what_is_between_two_programs_is_ended_once_it_has_an_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The kernel shows no environment of a process until its new program is loaded."""
        process = subprocess.Popen(["sleep", str(LONG)], env={**os.environ, MARK: "4711-a-1"})
        real, asked = descendants.mark_of, Counter[int]()

        def mark_of(pid: int) -> str:
            asked[pid] += 1
            return "" if asked[process.pid] == 1 else real(pid)

        monkeypatch.setattr(descendants, "mark_of", mark_of)
        descendants.end_marked("4711-a-")
        assert process.wait() == -signal.SIGKILL

    def test_what_is_being_forked_is_ended_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The kernel lists a child only when its fork is complete, and its parent may be killed by then."""
        first = subprocess.Popen(["sleep", str(LONG)])
        second = subprocess.Popen(["sleep", str(LONG)])
        real, asked = descendants.descendants, Counter[int]()

        def listed(pid: int) -> dict[int, int]:
            asked[pid] += 1
            return {first.pid: pid} if asked[pid] <= 2 else dict.fromkeys((first.pid, second.pid), pid)

        monkeypatch.setattr(descendants, "descendants", listed)
        descendants.end_descendants(os.getpid())
        assert (first.wait(), second.wait()) == (-signal.SIGKILL, -signal.SIGKILL)
        assert real(os.getpid()).keys().isdisjoint({first.pid, second.pid})

    def test_hot_plug_that_cannot_be_noticed_is_noted(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyudev", None)
        with Sampler([METERS], str(root), interval=0.05, hotplug=True) as sampler:
            first(sampler.frames(), lambda _: bool(sampler.note))
            assert sampler.note.startswith("hot-plug events unavailable, changes appear later")

    def test_hot_plug_asks_the_fingerprints_at_once(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def plug(callback: Callable[[], None]) -> str:
            (root / "meters" / "c").write_text("3")
            callback()
            return ""

        monkeypatch.setattr(worker, "hotplug", plug)
        slow = Collector("slow", "Slow", meters, (Meter,), (), ONCE, fingerprint=lambda h: tuple(h.entries("/meters")))
        with Sampler([slow], str(root), interval=3600, hotplug=True) as sampler:
            seen: set[str] = set()
            for frame in sampler.frames():
                seen |= keys(frame)
                if "/meters/c" in seen:
                    break

    def test_the_processes_hold_none_of_our_files(self, root: Path, tmp_path: Path) -> None:
        with (tmp_path / "ours").open("w") as ours, Sampler([METERS], str(root), interval=0.05) as sampler:
            next(sampler.frames())
            held = set()
            for fd in Path(f"/proc/{sampler.worker}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):
                    held.add(str(fd.readlink()))
            assert str(tmp_path / "ours") not in held
            assert {name.partition(":")[0] for name in held} <= {"/dev/null", "socket", "anon_inode"} | {
                str(path) for path in (root, root / "meters", *(root / "meters").iterdir())
            }
            assert not ours.closed
