"""The live node and trees of its files: what is read, what is refused, and where links may lead."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

import psutil
import pytest
import pyudev  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, Question, questions_of
from sdstop.core.commandline import kept
from sdstop.core.evidence import GATEWAY
from sdstop.core.host import LARGEST, Absent, Denied, Failed, Unreadable
from sdstop.core.recording import RecordingHost
from sdstop.node import answers
from sdstop.node.answers import Processes, hotplug
from sdstop.node.live import LiveHost, unreadable

pytestmark = pytest.mark.live

NODE = LiveHost(collectors=BUILTIN)


def tree(folder: Path, files: dict[str, str], links: dict[str, str] | None = None) -> LiveHost:
    root = folder / "root"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, target in (links or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    return LiveHost(str(root))


def test_a_file_that_comes_in_pieces_is_read_to_its_end() -> None:
    whole = Path("/proc/kallsyms").read_bytes()
    assert len(whole) > 1 << 17
    assert NODE.read("/proc/kallsyms") == whole[:LARGEST]


def test_no_more_is_kept_than_anybody_wants(tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(bytes(LARGEST + 1))
    assert len(NODE.read(f"{tmp_path}/zeros")) == LARGEST
    assert len(LiveHost(str(tmp_path)).read("/zeros")) == LARGEST


def test_an_empty_file_is_no_error(tmp_path: Path) -> None:
    assert tree(tmp_path, {"empty": ""}).read("/empty") == b""


def test_listings_are_sorted_and_names_keep_their_bytes(tmp_path: Path) -> None:
    for name in (b"b", b"a\xff"):
        (tmp_path / os.fsdecode(name)).touch()
    for host, path in ((NODE, str(tmp_path)), (LiveHost(str(tmp_path)), "/")):
        assert host.entries(path) == ["a\udcff", "b"]
    assert LiveHost(str(tmp_path)).read("/a\udcff") == b""


@pytest.mark.parametrize(
    ("path", "kind", "detail"),
    [
        ("/proc/none", Absent, "no such file"),
        ("/proc/version/none", Absent, "no such file"),
        ("/proc/" + 300 * "x", Absent, "no such file"),
        ("/proc", Failed, "Is a directory"),
        ("proc/version", Failed, "invalid path"),
        ("/proc/\0", Failed, "invalid path"),
        ("/proc/\ud800", Failed, "invalid path"),
    ],
)
@pytest.mark.parametrize("host", [NODE, LiveHost("/proc/..")])
def test_errors_of_reading(host: LiveHost, path: str, kind: type[Unreadable], detail: str) -> None:
    with pytest.raises(kind) as caught:
        host.read(path)
    assert (caught.value.key, caught.value.detail) == (path, detail)


@pytest.mark.parametrize("host", [NODE, LiveHost("/proc/..")])
def test_errors_of_folders_and_links(host: LiveHost) -> None:
    with pytest.raises(Absent, match="list:/proc/none: no such file"):
        host.entries("/proc/none")
    with pytest.raises(Absent, match="list:/proc/version: no such file"):
        host.entries("/proc/version")
    with pytest.raises(Failed, match="link:/proc/version: not a symbolic link"):
        host.link("/proc/version")
    with pytest.raises(Absent, match="link:/proc/none: no such file"):
        host.link("/proc/none")
    with pytest.raises(Failed, match="invalid path"):
        host.entries("proc")
    with pytest.raises(Failed, match="invalid path"):
        host.link("proc")


@pytest.mark.parametrize(
    ("number", "kind"),
    [("ENODEV", Absent), ("ENXIO", Absent), ("ESRCH", Absent), ("EIO", Failed), ("EINVAL", Failed), ("EPERM", Denied)],
)
def test_errors_of_the_kernel(number: str, kind: type[Unreadable]) -> None:
    code = getattr(errno, number)
    error = unreadable("/k", OSError(code, os.strerror(code)))
    assert type(error) is kind
    assert error.detail


def test_what_needs_root_is_denied_and_says_so(tmp_path: Path) -> None:
    """In a process of its own, which gives its privileges away."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "folder").mkdir(0)
    code = """
import os
from sdstop.node.live import LiveHost
from sdstop.core.host import Denied
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
for host, where in (LiveHost(), "/proc/self/cwd"), (LiveHost("/proc/self/cwd"), ""):
    for ask in host.read, host.entries:
        try:
            print(ask(where + ("/secret" if ask == host.read else "/folder")))
        except Denied as error:
            print(error.detail)
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    wanted = "requires root, or the capability CAP_DAC_READ_SEARCH; run with sudo\n"
    assert (result.stderr, result.stdout) == ("", 4 * wanted)


class TestRoot:
    def test_links_inside_are_followed(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"sys/devices/x/size": "8"}, {"sys/block/sda": "../devices/x"})
        assert host.read("/sys/block/sda/size") == b"8"
        assert host.entries("/sys/block/sda") == ["size"]
        assert host.link("/sys/block/sda") == "../devices/x"

    def test_absolute_links_mean_the_root(self, tmp_path: Path) -> None:
        links = {"a": "/sys/there", "b": "/a/size", "proc/self": "/proc/1", "up": "../../../../etc/hostname"}
        host = tree(tmp_path, {"sys/there/size": "8", "etc/hostname": "inside", "proc/1/comm": "init"}, links)
        assert host.read("/a/size") == b"8"
        assert host.read("/b") == b"8"
        assert host.entries("/a") == ["size"]
        assert host.read("/up") == b"inside"
        assert host.read("/proc/self/comm") == b"init"
        assert host.link("/a") == "/sys/there"

    def test_a_link_below_an_absolute_one_is_read(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"sys/there/x": "8"}, {"a": "/sys/there", "sys/there/link": "x"})
        assert host.link("/a/link") == "x"
        assert host.read("/a/link") == b"8"

    @pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../../../../../etc/passwd"])
    def test_no_link_leads_out(self, tmp_path: Path, target: str) -> None:
        host = tree(tmp_path, {"x": ""}, {"out": target, "etc2": "/etc"})
        with pytest.raises(Absent):
            host.read("/out")
        with pytest.raises(Absent):
            host.read("/etc2/passwd")
        with pytest.raises(Absent):
            host.entries("/etc2")

    def test_no_dots_lead_out(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"x": "inside"})
        (tmp_path / "x").write_text("outside")
        assert host.read("/../x") == b"inside"
        assert host.read("/./../../x") == b"inside"

    def test_a_neighbour_with_a_longer_name_is_outside(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"x": "inside"}, {"out": "../root2/secret"})
        (tmp_path / "root2").mkdir()
        (tmp_path / "root2" / "secret").write_text("outside")
        with pytest.raises(Absent):
            host.read("/out")

    def test_what_lies_outside_is_not_even_opened(self, tmp_path: Path) -> None:
        """Opening a FIFO would hang."""
        os.mkfifo(tmp_path / "fifo")
        with pytest.raises(Absent):
            tree(tmp_path, {"x": ""}, {"out": "../fifo"}).read("/out")

    def test_circles_fail(self, tmp_path: Path) -> None:
        with pytest.raises(Failed, match="symbolic links"):
            tree(tmp_path, {}, {"a": "b", "b": "a"}).read("/a")

    def test_circles_that_only_the_root_makes_fail(self, tmp_path: Path) -> None:
        with pytest.raises(Failed, match="too many links"):
            tree(tmp_path, {"x": ""}, {"a": "/b", "b": "/a"}).read("/a")

    def test_the_root_may_be_behind_a_link(self, tmp_path: Path) -> None:
        tree(tmp_path, {"x": "inside"}, {"y": "x"})
        (tmp_path / "alias").symlink_to("root")
        host = LiveHost(str(tmp_path / "alias"))
        assert host.read("/y") == b"inside"
        assert host.entries("/") == ["x", "y"]

    def test_a_root_that_is_not_there_has_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(Absent):
            LiveHost(str(tmp_path / "none")).read("/x")

    def test_commands_and_answers_are_denied(self, tmp_path: Path) -> None:
        host = LiveHost(str(tmp_path), BUILTIN)
        with pytest.raises(Denied, match="commands are not run with --root"):
            host.run(["ip", "-j", "-d", "link", "show"])
        for question in questions_of(BUILTIN).keys() - {GATEWAY}:
            with pytest.raises(Denied, match="not available with --root"):
                host.answer(question)

    @given(st.lists(st.sampled_from(["a", "b", "..", ".", "/a", "/", "../..", "c/d"]), min_size=4, max_size=4))
    def test_wherever_links_lead_only_the_inside_is_read(
        self, tmp_path_factory: pytest.TempPathFactory, targets: list[str]
    ) -> None:
        folder = tmp_path_factory.mktemp("links")
        for outside in ("a", "b", "d"):
            (folder / outside).write_text("outside")
        host = tree(folder, {"c/d": "inside"}, dict(zip(("a", "b", "e", "c/f"), targets, strict=True)))
        for path in ("/a", "/b", "/e", "/c/f", "/a/d", "/b/a", "/e/b", "/c/f/d", "/a/b/../d"):
            try:
                assert host.read(path) == b"inside"
            except Unreadable:
                continue


def test_a_question_nobody_wrote_down_fails() -> None:
    with pytest.raises(Failed, match="no active collector declares this query"):
        NODE.answer("psutil.kill")


def test_a_command_of_the_node_is_run_by_the_list() -> None:
    with pytest.raises(Failed, match="no active collector declares this command"):
        NODE.run(["reboot"])


@pytest.mark.parametrize("question", sorted(questions_of(BUILTIN).keys() - {GATEWAY}))
def test_answers_are_json(question: str) -> None:
    with suppress(Absent) if question not in answers.answers() else nullcontext():  # no virtual machine may run here
        answer = NODE.answer(question)
        assert json.loads(json.dumps(answer)) == answer


def test_what_an_answer_follows_from_is_not_recorded() -> None:
    question = Question("name", "a test", answer=lambda host: {"letters": len(host.text("/proc/self/comm"))})
    collector = Collector("c", "Title", lambda host: host.answer("name"), (), (question,))
    recorder = RecordingHost(LiveHost(collectors=[collector]))
    collector.read(recorder)
    assert recorder.evidence.keys() == {"answer:name"}


@pytest.mark.parametrize(("error", "path"), [(Absent, "/none"), (Failed, "/proc/self")])
def test_an_answer_that_fails_is_told_under_its_own_key(error: type[Unreadable], path: str) -> None:
    collector = Collector(
        "c", "Title", lambda _: (), (), (Question("q", "a test", answer=lambda host: host.text(path)),)
    )
    with pytest.raises(error) as said:
        LiveHost(collectors=[collector]).answer("q")
    assert said.value.key == "answer:q"


def test_two_that_answer_one_question_in_different_ways_are_refused() -> None:
    needs = (Question("q", "a test", answer=lambda _: 0), Question("q", "a test", answer=lambda _: 1))
    with pytest.raises(ValueError, match="answer:q: declared twice"):
        LiveHost(collectors=[Collector("c", "Title", lambda _: (), (), needs)])


def test_a_missing_library_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyudev", None)
    with pytest.raises(Absent, match="library not usable"):
        NODE.answer("udev.block")
    assert "hot-plug events unavailable, changes appear later" in hotplug(lambda: None)


def test_processes_tell_what_they_moved(tmp_path: Path) -> None:
    host = LiveHost()
    before = {row["pid"]: row for row in host.answer("psutil.processes")}[os.getpid()]
    with (tmp_path / "file").open("wb") as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    after = {row["pid"]: row for row in host.answer("psutil.processes")}[os.getpid()]
    counters = psutil.Process().io_counters()
    assert before["write_bytes"] <= after["write_bytes"] <= counters.write_bytes
    assert before["read_bytes"] <= after["read_bytes"] <= counters.read_bytes
    me = psutil.Process()
    with me.oneshot():
        assert {**after, "write_bytes": 0, "read_bytes": 0} == {
            "pid": os.getpid(),
            "name": me.name(),
            "started": before["started"],
            "user": me.username(),
            "cmdline": kept(me.cmdline()),
            "read_bytes": 0,
            "write_bytes": 0,
        }


def test_counters_that_may_not_be_read_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "io_counters", denied)
    rows = NODE.answer("psutil.processes")
    assert os.getpid() in {row["pid"] for row in rows}
    assert {(row["read_bytes"], row["write_bytes"]) for row in rows} == {(None, None)}


def test_a_kernel_that_does_not_count_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil.Process, "io_counters")
    with pytest.raises(Absent, match="does not count"):
        NODE.answer("psutil.processes")


def test_a_number_that_is_used_again_is_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Processes()
    first = {row["pid"]: row for row in look.look()}[os.getpid()]
    look.known[os.getpid()].process = psutil.Process(1)  # as if another one had had our number
    look.known[os.getpid()].started = 1.0
    look.known[os.getpid()].inode -= 1
    again = {row["pid"]: row for row in look.look()}[os.getpid()]
    assert again["started"] == pytest.approx(first["started"], abs=2)


def test_processes_that_follow_each_other_have_inodes_of_their_own() -> None:
    """The kernel gives a number again only after all others; its inode tells the two processes apart."""
    inodes = set()
    for _ in range(20):
        with subprocess.Popen(["sleep", "60"]) as child:
            inodes.add(Path(f"/proc/{child.pid}").stat().st_ino)
            assert Path(f"/proc/{child.pid}").stat().st_ino in inodes
            child.kill()
    assert len(inodes) == 20


def test_a_process_that_ends_in_between_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "pids", lambda: [1, os.getpid(), 1 << 22])
    assert [row["pid"] for row in Processes().look()] == [1, os.getpid()]


@pytest.mark.parametrize(
    ("name", "argv", "told"),
    [
        ("md127_raid6", [], True), ("md_d0_resync", [], True), ("z_wr_iss", [], True), ("drbd_r_data", [], True),
        ("bcache_gc", [], True), ("dmcrypt_write", [], True), ("kworker/0:1", [], False), ("zsh", [], False),
        ("z_tool", ["z_tool", "-x"], False),
    ],
)  # fmt: skip
def test_threads_of_storage_tell_their_processor_time(
    monkeypatch: pytest.MonkeyPatch, name: str, argv: list[str], told: bool,  # noqa: FBT001  # a table
) -> None:  # fmt: skip
    monkeypatch.setattr(psutil, "pids", lambda: [1, os.getpid()])
    monkeypatch.setattr(psutil.Process, "name", lambda _: name)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: argv)
    rows = Processes().look()
    assert [("cpu_seconds" in row) for row in rows] == [told, told]
    assert all(row["cpu_seconds"] >= 0 for row in rows if told)


def test_where_the_first_process_is_not_seen_others_hide_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "pids", lambda: [os.getpid()])
    own, hidden = Processes().look()
    assert "hidden" not in own
    assert {name: value for name, value in hidden.items() if value is not None} == {"pid": 1, "hidden": True}
    assert own.keys() | {"hidden"} == hidden.keys()


class Monitor:
    """A monitor of pyudev that gives what it is told and then stays silent."""

    def __init__(self, events: list[object]) -> None:
        self.events = events
        self.waits: list[float | None] = []
        self.silent = threading.Event()

    def filter_by(self, subsystem: str) -> None:
        assert subsystem == "block"

    def start(self) -> None:
        pass

    def poll(self, timeout: float | None) -> object | None:
        self.waits.append(timeout)
        if not self.events:
            if timeout is None:
                self.silent.set()
                threading.Event().wait()
            return None
        event = self.events.pop(0)
        if isinstance(event, OSError):
            raise event
        return event


@pytest.mark.parametrize(
    ("events", "told"),
    [([], 0), (["add"], 1), (["add", "change", "remove"], 1), ([OSError("overrun")], 1), (["add", None, "add"], 2)],
)
def test_events_that_come_together_are_told_once(
    monkeypatch: pytest.MonkeyPatch, events: list[object], told: int
) -> None:
    monitor = Monitor(events)
    monkeypatch.setattr(pyudev.Monitor, "from_netlink", lambda *_, **__: monitor)
    calls: list[None] = []
    assert hotplug(lambda: calls.append(None)) == ""
    assert monitor.silent.wait(60)
    assert len(calls) == told
    assert set(monitor.waits) <= {None, answers.SETTLE}


def test_a_storm_is_told_before_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    monitor = Monitor([])
    monkeypatch.setattr(monitor, "poll", lambda _: threading.Event().wait(None if told.is_set() else 0.01) or "change")
    monkeypatch.setattr(answers, "LONGEST_STORM", 0.1)
    monkeypatch.setattr(pyudev.Monitor, "from_netlink", lambda *_, **__: monitor)
    assert hotplug(told.set) == ""
    assert told.wait(60)
