"""Local socket of the exporter: checks and attached dashboards, and sockets that are hung or hostile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sdstop.cli.check import own_policy
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.exporters.local import client
from sdstop.exporters.local.attached import AttachedFrames
from sdstop.exporters.local.client import DEADLINE, LARGEST, LocalError
from sdstop.exporters.local.frames import frame_line, header_line
from sdstop.exporters.local.service import YOUNG, LocalService
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.rules import RULES
from sdstop.tui.settings import config_places
from tests.exporters.process import exporting, port_of
from tests.fixtures import opened, story

ASKED = {"rule": None, "subject": None, "strict": False}


@contextmanager
def served(
    session: Session, path: Path, let_rest: Callable[[bool], None] | None = None
) -> Iterator[tuple[LocalService, Callable[[Callable[[], object]], None]]]:
    """Serve a session at a path, in a thread; yield the service and what calls a function in its loop."""
    exposition = Exposition(session)
    if session.latest is not None:
        exposition.observe(session.head())
    service, loop = LocalService(exposition, path, let_rest=let_rest), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def rounds() -> None:
        for _ in range(10):  # a connection is accepted, made, aborted and closed in a round each
            await asyncio.sleep(0.005)

    def stop() -> None:
        asyncio.run_coroutine_threadsafe(rounds(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()

    try:
        asyncio.run_coroutine_threadsafe(service.open(), loop).result(10)
    except BaseException:
        stop()
        raise

    def call(function: Callable[[], object]) -> None:
        async def called() -> None:
            function()

        asyncio.run_coroutine_threadsafe(called(), loop).result(10)

    try:
        yield service, call
    finally:
        call(service.close)
        stop()


@contextmanager
def answering(path: Path, behave: Callable[[socket.socket], None]) -> Iterator[None]:
    """Listen at a path, and treat each client as `behave` does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()

        def run() -> None:
            try:
                while True:
                    line, _ = listening.accept()
                    with line:
                        behave(line)
            except OSError:
                pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def session_of(name: str, limit: int | None = None) -> Session:
    """Return a session with the first frames of a story."""
    session = Session(story(name).session.origin, BUILTIN, RULES, remember=None)
    session.feed_all(opened(name)[1][:limit])
    return session


def test_a_check_has_the_findings_of_the_exporter(tmp_path: Path) -> None:
    with served(story("hot-member").session, tmp_path / "s"):
        path = str(tmp_path / "s")
        code, text, age = unprivileged(path)
        assert (code, age) == (2, 0.0)
        assert text.startswith("SDSTOP CRITICAL - 1 finding: hot-stripe-member ")


def unprivileged(path: str) -> tuple[int, str, float]:
    """Return the answer as a user who is not root gets it."""
    with pytest.MonkeyPatch.context() as patch:
        user = os.geteuid()
        patch.setattr(client.os, "geteuid", lambda: user + 1)  # type: ignore[attr-defined]
        return client.check(path, ASKED)


def test_rules_and_subjects_limit_it(tmp_path: Path) -> None:
    with served(story("aoe-flashcache").session, tmp_path / "s"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(client.os, "geteuid", lambda: 1234)  # type: ignore[attr-defined]
        code, text, _ = client.check(str(tmp_path / "s"), {**ASKED, "rule": ["cache-*"]})
        assert (code, text.partition(" cachedev")[0]) == (2, "SDSTOP CRITICAL - 1 finding: cache-sub-block-io")
        code, text, _ = client.check(str(tmp_path / "s"), {**ASKED, "subject": ["md2"]})
        assert (code, text[:12]) == (0, "SDSTOP OK - ")


def test_root_does_not_take_the_answer_of_an_exporter_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.os, "geteuid", lambda: 0)  # type: ignore[attr-defined]
    with (
        served(story("hot-member").session, tmp_path / "s"),
        pytest.raises(LocalError, match="the exporter is not root"),
    ):
        client.check(str(tmp_path / "s"), ASKED)


def test_one_that_has_just_started_has_no_answer(tmp_path: Path) -> None:
    session = session_of("hot-member", 3)
    assert session.head().now.monotonic - session.began < YOUNG
    with served(session, tmp_path / "s"), pytest.raises(LocalError, match="the exporter has just started"):
        client.check(str(tmp_path / "s"), ASKED)


def test_samples_that_wait_for_their_judgement_do_not_count(tmp_path: Path) -> None:
    origin, frames = opened("hot-member")
    session = Session(origin, BUILTIN, RULES, remember=None)
    session.judge_every(4.0)
    session.feed_all(frames[:9])
    look = session.head()
    assert look.judged - session.began < YOUNG <= look.now.monotonic - session.began
    with served(session, tmp_path / "s"), pytest.raises(LocalError, match="the exporter has just started"):
        client.check(str(tmp_path / "s"), ASKED)


def test_one_without_recent_samples_has_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exposition, "age", 100.0)
    session = Session(Origin("old", live=True), BUILTIN, RULES, remember=None)
    session.feed_all(opened("hot-member")[1])
    with served(session, tmp_path / "s"), pytest.raises(LocalError, match="no recent sample"):
        client.check(str(tmp_path / "s"), ASKED)


def test_the_socket_is_for_its_group_and_goes_with_the_exporter(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # left behind by a killed one
    with served(story("quiet-node").session, path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with pytest.raises(OSError, match="another exporter"), served(story("quiet-node").session, path):
            pass
        assert path.exists()
    assert not path.exists()
    path.write_text("precious")
    with pytest.raises(OSError, match="not a socket"), served(story("quiet-node").session, path):
        pass
    assert path.read_text() == "precious"


def trickle(line: socket.socket) -> None:
    while True:
        line.sendall(b" ")
        time.sleep(0.05)


def endless(line: socket.socket) -> None:
    while True:
        line.sendall(b"x" * 65536)


def silent(line: socket.socket) -> None:
    while line.recv(1000):
        pass


def says(answer: object) -> Callable[[socket.socket], None]:
    def behave(line: socket.socket) -> None:
        line.recv(1000)
        line.sendall(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")

    return behave


GOOD = {"sdstop": 1, "code": 0, "text": "SDSTOP OK - no findings\n", "age": 0.1, "privileged": True}
HOSTILE: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "silent": (silent, "no answer within"),
    "trickle": (trickle, "no answer within"),
    "endless": (endless, "too large"),
    "closes": (lambda _: None, "closed the connection|reset|broken pipe"),
    "not-json": (says(b"HTTP/1.1 400 Bad Request\r\n\n"), "not an answer of sdstop"),
    "deep": (says(b"[" * 100_000 + b"\n"), "not an answer of sdstop"),
    "list": (says([1]), "another version"),
    "version": (says({**GOOD, "sdstop": 2}), "another version"),
    "code": (says({**GOOD, "code": 7}), "not an answer to a check"),
    "code-of-another-word": (says({**GOOD, "code": 2}), "not the output of a check"),
    "escapes": (says({**GOOD, "text": "SDSTOP OK - \x1b]0;gone\x07\n"}), "not the output of a check"),
    "error": (says({"sdstop": 1, "error": "\x1b[2Jbad"}), r"^\[2Jbad$"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_socket_costs_the_deadline_at_most(name: str, tmp_path: Path) -> None:
    behave, said = HOSTILE[name]
    with answering(tmp_path / "s", behave):
        start = time.monotonic()
        with pytest.raises(LocalError, match=said):
            client.check(str(tmp_path / "s"), ASKED, 0.5)
        assert time.monotonic() - start < 0.5 + 0.5  # this machine may be busy
    assert DEADLINE <= 1.0
    assert LARGEST <= 1 << 20


def test_a_good_answer_is_taken(tmp_path: Path) -> None:
    with answering(tmp_path / "s", says(GOOD)):
        assert client.check(str(tmp_path / "s"), ASKED) == (0, "SDSTOP OK - no findings\n", 0.1)


def test_the_socket_of_a_stranger_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_CREDENTIALS", Strange())
    with answering(tmp_path / "s", says(GOOD)), pytest.raises(LocalError, match="belongs to user 4711"):
        client.check(str(tmp_path / "s"), ASKED)


class Strange:
    """Credentials of a user who is neither root nor the owner."""

    size = 12

    def unpack(self, _: bytes) -> tuple[int, int, int]:
        return 1, 4711, 4711


def test_without_an_exporter_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="no exporter"):
        client.check(str(tmp_path / "s"), ASKED)


@pytest.mark.parametrize("data", [b"{}\n", b'{"sdstop": 1, "ask": "delete"}\n', b"\xff\n", b"x" * 100_000])
def test_a_hostile_client_gets_nothing(data: bytes, tmp_path: Path) -> None:
    with served(story("quiet-node").session, tmp_path / "s"), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(str(tmp_path / "s"))
        line.sendall(data)
        got = b""
        try:
            while part := line.recv(1000):
                got += part
        except ConnectionResetError:
            pass
        assert got == b"" or json.loads(got)["error"]


def fed(session: Session, feed: AttachedFrames) -> int:
    """Feed what has arrived; return the number of frames so far."""
    session.feed_all(feed.receive())
    return session.frames_seen


def test_an_attached_session_judges_the_same(tmp_path: Path) -> None:
    exporter = session_of("hot-member", 20)
    rest = opened("hot-member")[1][20:]
    with served(exporter, tmp_path / "s") as (service, call):
        feed = AttachedFrames(str(tmp_path / "s"))
        assert feed.header.origin.name == exporter.origin.name
        attached = Session(Origin("attached", live=True), BUILTIN, RULES, remember=None)
        until(lambda: fed(attached, feed) == 20)
        for frame in rest:
            exporter.feed(frame)
            call(service.judged)
        until(lambda: fed(attached, feed) == 20 + len(rest))
        ours, theirs = (session.head().judgement.findings for session in (attached, exporter))
        assert [(f.rule, f.subject, f.severity) for f in ours] == [(f.rule, f.subject, f.severity) for f in theirs]
        assert ours
        assert [f.number for f in attached.timeline.frames] == list(range(1, 21 + len(rest)))
        call(service.close)
        until(lambda: feed.receive() or not feed.alive)
        assert feed.trouble == "the exporter has ended"
        feed.close()


def test_the_node_does_not_rest_while_a_dashboard_shows_every_sample(tmp_path: Path) -> None:
    asked: list[bool] = []
    with served(session_of("hot-member", 5), tmp_path / "s", asked.append):
        feeds = [AttachedFrames(str(tmp_path / "s")) for _ in range(2)]
        until(lambda: asked == [False])
        feeds.pop().close()
        with pytest.raises(LocalError, match="just started"):
            client.check(str(tmp_path / "s"), ASKED)
        assert asked == [False]
        feeds.pop().close()
        until(lambda: asked == [False, True])


def test_one_that_does_not_read_gets_the_state_when_it_does(tmp_path: Path) -> None:
    exporter = Session(story("hot-member").session.origin, BUILTIN, RULES, remember=0.0)  # keeps two frames
    frames = opened("hot-member")[1]
    exporter.feed_all(frames[:10])
    with served(exporter, tmp_path / "s") as (service, call):
        feed = AttachedFrames(str(tmp_path / "s"))
        exporter.feed_all(frames[10:])  # the service hears of the last one only
        call(service.judged)
        attached = Session(Origin("attached", live=True), BUILTIN, RULES, remember=None)
        until(lambda: fed(attached, feed) == 4)
        ours, theirs = (session.head().now.by_family for session in (attached, exporter))
        assert {f.__name__: run.outcome for f, run in ours.items()} == {
            f.__name__: run.outcome for f, run in theirs.items()
        }
        feed.close()


@pytest.mark.parametrize(
    "sent",
    [b"{}\n", b'{"sdstop": 9, "origin": {"name": "x"}, "interval": 1}\n', b"\x80\n", b""],
    ids=["empty", "version", "bytes", "nothing"],
)
def test_attaching_to_something_else_fails_in_one_line(sent: bytes, tmp_path: Path) -> None:
    with answering(tmp_path / "s", says(sent)), pytest.raises(LocalError):
        AttachedFrames(str(tmp_path / "s"))


def test_a_frame_that_is_none_ends_the_feed(tmp_path: Path) -> None:
    header = header_line(Origin("x"), 1.0)
    with answering(tmp_path / "s", says(header + frame_line(opened("quiet-node")[1][0]) + b'{"number": "x"}\n')):
        feed = AttachedFrames(str(tmp_path / "s"))
        assert until(lambda: [frame.number for frame in feed.receive()]) == [1]
        until(lambda: feed.receive() or not feed.alive)
        assert feed.trouble == "not a frame of sdstop"
        feed.close()


def until(condition: Callable[[], object]) -> object:
    end = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def sdstop(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "sdstop", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_as_processes(tmp_path: Path) -> None:
    root, path = tmp_path / "root", tmp_path / "s"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "diskstats").write_text("   8       0 sda 100 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n")
    (root / "config.toml").write_text("")
    with exporting(root, "--listen", "127.0.0.1:0", "--socket", path) as process:
        port_of(process)
        until(path.exists)
        said = until(lambda: (done := sdstop("check", "--socket", str(path))).stdout.count("exporter, ") and done)
        assert isinstance(said, subprocess.CompletedProcess)
        first, second, *_ = said.stdout.splitlines()
        assert first.startswith("SDSTOP ")
        assert second.startswith("SAMPLED BY: exporter, ")
        report = sdstop("--attach", "--socket", str(path))
        assert "sda" in report.stdout
        assert (report.returncode, report.stderr.count("printing the text report")) == (0, 1)
    gone = sdstop("--attach", "--socket", str(path))
    assert (gone.returncode, gone.stderr) == (1, f"sdstop: cannot attach to {path}: no exporter\n")
    both = sdstop("--attach", "--root", str(root))
    assert (both.returncode, both.stderr) == (2, "sdstop: cannot use --root with --attach\n")


def test_settings_that_changed_are_named_until_they_are_in_effect(tmp_path: Path) -> None:
    """A file that somebody edited without a reload makes `sdstop config` and the exporter differ."""
    root, path = tmp_path / "root", tmp_path / "s"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "diskstats").write_text("   8       0 sda 100 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n")
    file = root / "config.toml"
    file.write_text("")

    def details() -> str:
        return sdstop("check", "--socket", str(path)).stdout

    def attached_policy() -> str:
        with closing(AttachedFrames(str(path))) as frames:
            return frames.header.origin.facts.get("policy", "")

    with exporting(root, "--listen", "127.0.0.1:0", "--socket", path) as process:
        port_of(process)
        until(lambda: "exporter, " in details())
        assert "CONFIGURATION" not in details()
        assert attached_policy() == ""
        file.write_text("[rules.tasks-stuck]\nenabled = false\n")
        assert f"CONFIGURATION: {file} has changed; reload the exporter\n" in details()
        process.send_signal(signal.SIGHUP)
        until(lambda: "CONFIGURATION" not in details())
        assert attached_policy() == '{"rules":{"tasks-stuck":{"enabled":false}}}'
        file.write_text("[rules.tasks-stuk]\nenabled = true\n")
        process.send_signal(signal.SIGHUP)  # refused: the old settings stay in effect
        assert process.stderr is not None
        assert "unknown rule" in process.stderr.readline()
        assert "CONFIGURATION" in details()


@pytest.mark.parametrize(
    ("text", "counts"),
    [('[ui]\ntime = "utc"\n', False), ("[rules.tasks-stuck]\nenabled = false\n", True), ("[[[", True)],
)
def test_a_policy_of_the_caller_is_not_that_of_the_exporter(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, counts: bool
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "sdstop").mkdir()
    own = tmp_path / "sdstop" / "config.toml"
    own.write_text(text)
    assert (Path(own_policy()) in config_places()) is counts
    monkeypatch.setattr(client.os, "geteuid", lambda: 1234)  # type: ignore[attr-defined]
    with served(story("quiet-node").session, tmp_path / "s") as (service, call):
        path = str(tmp_path / "s")
        if counts:
            with pytest.raises(client.LocalError, match=r"does not use .*/sdstop/config\.toml"):
                client.check(path, ASKED, config=own_policy())
        call(lambda: setattr(service, "config", [str(own)]))  # an exporter of the same user
        assert client.check(path, ASKED, config=own_policy())[0] == 0


@pytest.mark.bench
def test_an_answer_takes_at_most_five_times_the_start_of_python(tmp_path: Path) -> None:
    with answering(tmp_path / "s", says(GOOD)):
        least = [
            min(
                _seconds([sys.executable, *argv])
                for _ in range(20)
            )
            for argv in (["-c", "pass"], ["-m", "sdstop", "check", "--socket", str(tmp_path / "s")])
        ]  # fmt: skip
    assert least[1] <= 5 * least[0], least


def _seconds(argv: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start
