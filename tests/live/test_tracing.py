"""The one thing that sdstop changes on a node: made where it is asked for, and always taken back."""

import contextlib
import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sdstop.node import tracing
from sdstop.node.tracing import SizeCounting, remove_leftovers, trigger

pytestmark = pytest.mark.live

EVENTS = ("block_rq_issue", "block_bio_queue")
FORMAT = "\tfield:dev_t dev;\toffset:8;\n\tfield:unsigned int nr_sector;\toffset:24;\n"
make_folder, remove_folder, write = os.mkdir, os.rmdir, os.write


def open_somewhere(folder: Path) -> bool:
    """Whether a process of these tests has a file of a folder open, as the kernel knows of an instance.

    All are forks of this one. Of a busy machine's other processes no file is looked at: that takes seconds.
    """
    ours = Path("/proc/self/cmdline").read_bytes()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (process / "cmdline").read_bytes() != ours:
                continue
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if link.readlink().is_relative_to(folder):
                        return True
    return False


class Kernel:
    """What tracefs does beside a file system.

    An instance that is made has files, and is removed whole unless one is open; what is written to a trigger's file is
    a command.
    """

    def __init__(self, root: Path) -> None:
        self.instances = root / "instances"
        self.removed = root / "removed"

    def mkdir(self, path: str | Path, mode: int = 0o777, **more: int) -> None:
        make_folder(path, mode, **more)
        if Path(path).parent == self.instances:
            for name in ("tracing_on", "set_event", "buffer_size_kb"):
                (Path(path) / name).write_text("")
            (Path(path) / "current_tracer").write_text("nop\n")
            for event in EVENTS:
                (Path(path) / "events" / "block" / event).mkdir(parents=True)
                (Path(path) / "events" / "block" / event / "trigger").write_text("# Available triggers:\n")

    def rmdir(self, path: str | Path, **more: int) -> None:
        if Path(path).parent != self.instances:
            remove_folder(path, **more)
        elif not Path(path).is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder")
        elif open_somewhere(Path(path)):
            raise OSError(errno.EBUSY, "busy")
        else:
            for folder, folders, files in os.walk(path, topdown=False):
                for name in files:
                    Path(folder, name).unlink()
                for name in folders:
                    remove_folder(Path(folder, name))
            remove_folder(path)

    def write(self, descriptor: int, data: bytes) -> int:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.name != "trigger" or not path.is_relative_to(self.instances):
            return write(descriptor, data)
        line = data.decode().strip()
        known = [known for known in path.read_text().splitlines() if known.startswith("hist:")]
        if line.startswith("!"):
            known.remove(f"{line[1:]} [active]")
            with self.removed.open("a") as removed:
                removed.write(f"{line[1:]}\n")
        else:
            known.append(f"{line} [active]")
        path.write_text("".join(f"{each}\n" for each in known or ["# Available triggers:"]))
        return len(data)


@pytest.fixture
def tracefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of plain files, and a kernel that treats it as it does tracefs."""
    root = tmp_path / "tracing"
    for event in EVENTS:
        folder = root / "events" / "block" / event
        folder.mkdir(parents=True)
        more = "\tfield:unsigned int bytes;\toffset:28;\n" if event == "block_rq_issue" else ""
        (folder / "format").write_text(FORMAT + more)
        (folder / "hist").write_text("")
    kernel = Kernel(root)
    kernel.instances.mkdir()
    monkeypatch.setattr(os, "mkdir", kernel.mkdir)
    monkeypatch.setattr(os, "rmdir", kernel.rmdir)
    monkeypatch.setattr(os, "write", kernel.write)
    monkeypatch.setattr(tracing, "_ANSWER", 60.0)  # who tests what comes of a count has time, however busy the machine
    monkeypatch.setattr(tracing, "_PARTING", 60.0)
    return root


def until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.005)


def instance(tracefs: Path) -> Path:
    return tracefs / "instances" / "sdstop"


def triggers(tracefs: Path) -> list[str]:
    texts = [(instance(tracefs) / "events/block" / event / "trigger").read_text() for event in EVENTS]
    return [line.removesuffix(" [active]") for text in texts for line in text.splitlines() if not line.startswith("#")]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


class TestCounting:
    def test_triggers_are_there_while_it_counts_and_gone_when_it_is_closed(self, tracefs: Path) -> None:
        with SizeCounting(60.0, tracefs) as counting:
            assert counting.failure == ""
            assert triggers(tracefs) == [trigger("bytes"), trigger("nr_sector")]
        assert not instance(tracefs).exists()
        assert (tracefs / "removed").read_text().split() == [trigger("bytes"), trigger("nr_sector")]

    def test_an_old_kernel_counts_sectors(self, tracefs: Path) -> None:
        (tracefs / "events/block/block_rq_issue/format").write_text(FORMAT)
        with SizeCounting(60.0, tracefs):
            assert triggers(tracefs) == [trigger("nr_sector")] * 2

    def test_it_ends_by_itself(self, tracefs: Path) -> None:
        with SizeCounting(0.01, tracefs) as counting:
            assert counting.failure == ""
            until(lambda: not instance(tracefs).exists())

    def test_what_is_read_just_then_is_removed_a_little_later(self, tracefs: Path) -> None:
        counting = SizeCounting(60.0, tracefs)
        reader = (instance(tracefs) / "set_event").open()
        counting._socket.close()
        until(lambda: triggers(tracefs) == [])
        assert instance(tracefs).exists()
        reader.close()
        until(lambda: not instance(tracefs).exists())
        counting.close()

    def test_what_somebody_else_began_there_meanwhile_is_left_alone(self, tracefs: Path) -> None:
        with SizeCounting(60.0, tracefs):
            path = instance(tracefs) / "events/block/block_rq_issue/trigger"
            path.write_text(f"{path.read_text()}hist:keys=dev:vals=hitcount:sort=hitcount:size=2048 [active]\n")
        assert triggers(tracefs) == ["hist:keys=dev:vals=hitcount:sort=hitcount:size=2048"]
        assert not remove_leftovers(tracefs)

    def test_a_second_one_says_that_there_is_one_and_takes_nothing_from_it(self, tracefs: Path) -> None:
        with SizeCounting(60.0, tracefs):
            with SizeCounting(60.0, tracefs) as second:
                assert "another sdstop is already counting" in second.failure
            assert triggers(tracefs) == [trigger("bytes"), trigger("nr_sector")]


class TestRefusal:
    def test_a_kernel_without_hist_triggers(self, tracefs: Path) -> None:
        for event in EVENTS:
            (tracefs / "events/block" / event / "hist").unlink()
        with SizeCounting(60.0, tracefs) as counting:
            assert counting.failure == "kernel lacks CONFIG_HIST_TRIGGERS"
        assert not instance(tracefs).exists()

    def test_no_tracefs(self, tmp_path: Path) -> None:
        with SizeCounting(60.0, tmp_path) as counting:
            assert "mount -t tracefs" in counting.failure

    @pytest.mark.parametrize(
        ("number", "said"),
        [
            (errno.EPERM, "denied even to root"), (errno.EACCES, "denied even to root"),
            (errno.EINVAL, "kernel lacks hist triggers"), (errno.ENOMEM, "Cannot allocate memory"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("what", ["open", "write", "mkdir"])
    def test_a_kernel_that_refuses(
        self, tracefs: Path, monkeypatch: pytest.MonkeyPatch, what: str, number: int, said: str
    ) -> None:
        known = getattr(os, what)
        refused = {"open": "trigger", "mkdir": "sdstop", "write": "hist:"}[what]

        def refuse(thing: object, *more: object, **named: object) -> object:
            if refused in str(more[0] if what == "write" else thing) and "!" not in str(more[:1]):
                raise OSError(number, os.strerror(number))
            return known(thing, *more, **named)

        monkeypatch.setattr(os, what, refuse)
        with SizeCounting(60.0, tracefs) as counting:
            assert said in counting.failure
        assert not instance(tracefs).exists()

    def test_a_keeper_that_dies_before_it_answers(self, tracefs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tracing, "_begin", lambda _: os.kill(os.getpid(), signal.SIGKILL))
        with SizeCounting(60.0, tracefs) as counting:
            assert counting.failure == "the helper process ended"


class TestCrash:
    def test_the_keeper_removes_it_when_the_one_that_asked_was_killed(self, tracefs: Path) -> None:
        told, tell = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            told.close()
            counting = SizeCounting(60.0, tracefs)
            tell.send(b"!" if counting.failure else b"+")
            signal.pause()
        tell.close()
        assert told.recv(1) == b"+"
        told.close()
        assert instance(tracefs).exists()
        kill(pid)
        until(lambda: not instance(tracefs).exists())
        assert (tracefs / "removed").read_text().split() == [trigger("bytes"), trigger("nr_sector")]

    def test_the_keeper_removes_it_when_it_is_told_to_end(self, tracefs: Path) -> None:
        with SizeCounting(60.0, tracefs) as counting:
            assert counting._pid is not None
            os.kill(counting._pid, signal.SIGTERM)
            until(lambda: not instance(tracefs).exists())

    def test_the_next_start_removes_it_when_all_were_killed(self, tracefs: Path) -> None:
        counting = SizeCounting(60.0, tracefs)
        assert not remove_leftovers(tracefs)  # it counts
        assert counting._pid is not None
        kill(counting._pid)
        assert instance(tracefs).exists()
        assert remove_leftovers(tracefs)
        assert not instance(tracefs).exists()
        assert not remove_leftovers(tracefs)
        counting.close()

    def test_the_next_counting_takes_the_place_of_one_that_was_killed(self, tracefs: Path) -> None:
        killed = SizeCounting(60.0, tracefs)
        assert killed._pid is not None
        kill(killed._pid)
        with SizeCounting(60.0, tracefs) as counting:
            assert counting.failure == ""
        assert not instance(tracefs).exists()
        killed.close()

    def test_one_that_has_no_triggers_yet_was_ours_too(self, tracefs: Path) -> None:
        os.mkdir(instance(tracefs))  # noqa: PTH102  # as the keeper does
        assert remove_leftovers(tracefs)

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("events/block/block_rq_issue/trigger", "hist:keys=dev,bytes:vals=hitcount:sort=dev:size=2048 [active]\n"),
            ("events/block/block_bio_queue/trigger", f"{trigger('bytes')}\n"),
            ("events/block/block_rq_issue/trigger", f"{trigger('bytes')} [active]\nstacktrace:unlimited\n"),
            ("set_event", "sched:sched_switch\n"),
            ("current_tracer", "function\n"),
        ],
    )
    def test_what_somebody_else_made_is_left_alone(self, tracefs: Path, file: str, text: str) -> None:
        os.mkdir(instance(tracefs))  # noqa: PTH102
        (instance(tracefs) / file).write_text(text)
        assert not remove_leftovers(tracefs)
        with SizeCounting(60.0, tracefs) as counting:
            assert counting.failure == f"{instance(tracefs)} was not made by sdstop; it is read but not changed"
        assert (instance(tracefs) / file).read_text() == text

    def test_as_the_kernel_prints_them_they_are_ours(self, tracefs: Path) -> None:
        os.mkdir(instance(tracefs))  # noqa: PTH102
        for event, field in zip(EVENTS, ("bytes", "nr_sector"), strict=True):
            path = instance(tracefs) / "events/block" / event / "trigger"
            path.write_text(f"{trigger(field)} [active]\n")
        (instance(tracefs) / "set_event").write_text("block:block_bio_queue\nblock:block_rq_issue\n")
        assert remove_leftovers(tracefs)


def test_closing_waits_for_nobody_who_cannot_end(tracefs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_PARTING", 0.05)
    counting = SizeCounting(60.0, tracefs)
    pid = counting._pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    counting.close()
    assert instance(tracefs).exists()
    os.kill(pid, signal.SIGCONT)
    os.waitpid(pid, 0)
    assert not instance(tracefs).exists()


def test_the_keeper_holds_no_file_of_the_one_that_asked(tracefs: Path) -> None:
    ours, theirs = os.pipe()
    with SizeCounting(60.0, tracefs):
        os.close(theirs)
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        assert poll.poll() == [(ours, select.POLLHUP)]
    os.close(ours)
