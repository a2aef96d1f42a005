"""Real terminals: a pty whose bytes are looked at, and tmux."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from sdstop.tui.driver import terminal_file, uncolored
from sdstop.tui.terminal import Depth, Options, color_depth, is_terminal_gone, needs_ascii, usable_terminal
from tests.needs import fixture_needs
from tests.tui.tmux import ENVIRONMENT, PATIENCE, Tmux

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parent.parent.parent
WATCH = [sys.executable, str(ROOT / "tests/tui/watch.py")]
FIRST = b"4 disks alike"
"""What the first screen says of the node's disks."""


class Terminal:
    """A program in a pty, and all the bytes it sent."""

    def __init__(self, argv: list[str], size: tuple[int, int], environment: Mapping[str, str]) -> None:
        self.pid, self.master = pty.fork()
        if not self.pid:
            os.execve(argv[0], argv, {**ENVIRONMENT, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})  # noqa: S606
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.sent = b""
        self.status: int | None = None

    def read(self, seconds: float) -> bool:
        """Take what comes within some seconds; False at the end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.master, 65536)
        except OSError:
            return False
        self.sent += more
        return bool(more)

    def until(self, done: Callable[[bytes], object]) -> None:
        """Read until what was sent satisfies."""
        deadline = time.monotonic() + PATIENCE
        while not done(self.sent):
            assert time.monotonic() < deadline, self.sent[-2000:]
            assert self.read(0.1), self.sent[-2000:]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self) -> int:
        """Return the exit code."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while self.read(0.05) and select.select([self.master], [], [], 0.05)[0]:
                    pass
                return self.status
        pytest.fail("it does not end")

    def close(self) -> None:
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.master)


@contextlib.contextmanager
def terminal(
    *options: str, size: tuple[int, int] = (80, 24), environment: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run the dashboard in a pty until it shows its devices."""
    shown = Terminal([*WATCH, *options], size, environment or {})
    try:
        shown.until(lambda sent: FIRST in sent)
        yield shown
    finally:
        shown.close()


def restored(sent: bytes) -> bool:
    """Whether the last word on the screen, the cursor and the mouse is that of a shell's terminal."""
    modes = dict(re.findall(rb"\x1b\[\?(1049|25|1000|1003|1006|2004)([hl])", sent))
    wanted = {b"1049": b"l", b"25": b"h", b"1000": b"l", b"1003": b"l", b"1006": b"l", b"2004": b"l"}
    return all(modes.get(mode, wanted[mode]) == wanted[mode] for mode in wanted) and modes.get(b"1049") == b"l"


def colors(sent: bytes) -> set[bytes]:
    """Return the SGR parameters that set a colour (39 and 49, the terminal's own, are none)."""
    found = set()
    for run in re.findall(rb"\x1b\[([0-9;]*)m", sent):
        for part in run.split(b";"):
            if part and (30 <= int(part) <= 38 or 40 <= int(part) <= 48 or 90 <= int(part) <= 107):
                found.add(run)
    return found


@pytest.mark.parametrize("keys", ["q", "\x03"])
def test_quitting_restores_the_terminal(keys: str) -> None:
    with terminal("--mouse") as shown:
        shown.press(keys)
        assert shown.wait() == 0
        assert restored(shown.sent)
        assert b"Traceback" not in shown.sent


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_signals_restore_the_terminal(number: signal.Signals, code: int) -> None:
    with terminal("--mouse") as shown:
        os.kill(shown.pid, number)
        assert shown.wait() == code
        assert restored(shown.sent)


BUSY = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
import time
from sdstop.tui.commands import Commands
from tests.tui import watch

def stuck(self, by):
    os.write(1, b"stuck")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        sorted(str(n) for n in range(1000))

Commands.action_step = stuck
sys.exit(watch.main())
"""
"""The dashboard, which is stuck for a minute when it is told to step."""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGHUP, 129), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_signals_are_obeyed_while_it_is_busy(number: signal.Signals, code: int) -> None:
    shown = Terminal([sys.executable, "-c", BUSY, "--mouse"], (80, 24), {})
    try:
        shown.until(lambda sent: FIRST in sent)
        shown.press("t")
        shown.until(lambda sent: b"stuck" in sent)
        began = time.monotonic()
        os.kill(shown.pid, number)
        assert shown.wait() == code
        assert time.monotonic() - began <= 2.2  # of which 0.2 s are for reading what it says last
        assert restored(shown.sent)
    finally:
        shown.close()


def test_a_lost_terminal_ends_it_even_where_hangups_are_ignored(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    ignoring = (
        "import signal, os, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        f"os.dup2(os.open({str(errors)!r}, os.O_CREAT | os.O_WRONLY), 2); os.execv(sys.argv[1], sys.argv[1:])"
    )
    shown = Terminal([sys.executable, "-c", ignoring, *WATCH], (80, 24), {})
    try:
        shown.until(lambda sent: FIRST in sent)
        os.close(shown.master)
        deadline = time.monotonic() + PATIENCE
        while not (done := os.waitpid(shown.pid, os.WNOHANG))[0]:
            assert time.monotonic() < deadline, "it outlives its terminal"
            time.sleep(0.05)
        shown.status = os.waitstatus_to_exitcode(done[1])
        assert shown.status == 129
        assert errors.read_text() == ""
    finally:
        shown.close()


def test_output_to_a_lost_terminal_never_ends_the_thread_that_writes() -> None:
    """Otherwise its queue fills, and the dashboard waits for room in it forever."""
    primary, secondary = pty.openpty()
    os.close(primary)
    try:
        written = WriterThread(terminal_file(secondary))
        written.start()
        for _ in range(2 * MAX_QUEUED_WRITES):
            written._queue.put("text" * 5000, timeout=PATIENCE)
        written.stop()
        assert not written.is_alive()
    finally:
        os.close(secondary)


def test_a_terminal_that_another_program_left_non_blocking_gets_everything() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    written = WriterThread(terminal_file(writer))
    written.start()
    try:
        for _ in range(20):
            written.write("text" * 5000)
        got = 0
        while got < 20 * 20000:
            assert select.select([reader], [], [], PATIENCE)[0]
            got += len(os.read(reader, 65536))
        written.stop()
    finally:
        os.close(reader)
        os.close(writer)


def test_no_color_sends_no_colour_at_all() -> None:
    with terminal(environment={"NO_COLOR": "1"}) as shown:
        shown.press("2")
        shown.until(lambda sent: b"Arrays and disks" in sent)
        assert colors(shown.sent) == set()
        assert re.search(rb"\x1b\[(\d+;)*7[;m]", shown.sent)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("\x1b[97;40m x", " x"),
        ("\x1b[1;31;44mx\x1b[0m", "\x1b[1mx\x1b[0m"),
        ("\x1b[38;5;31;7mx\x1b[m", "\x1b[7mx\x1b[m"),
        ("\x1b[38;2;1;31;40;4mx", "\x1b[4mx"),
        ("\x1b[39;49m\x1b[22m\x1b[31H", "\x1b[39;49m\x1b[22m\x1b[31H"),
    ],
)
def test_without_colours_the_other_attributes_are_sent(sent: str, kept: str) -> None:
    assert uncolored(sent) == kept


@pytest.mark.parametrize(
    ("options", "environment", "kinds"),
    [
        (["--theme=terminal"], {"COLORTERM": "truecolor"}, set()),
        ([], {"TERM": "xterm"}, set()),
        ([], {"TERM": "linux"}, set()),
        ([], {}, {b"5"}),
        ([], {"COLORTERM": "truecolor"}, {b"2"}),
    ],
    ids=str,
)
def test_colours_are_those_that_the_terminal_has(
    options: list[str], environment: dict[str, str], kinds: set[bytes]
) -> None:
    """No kind is the terminal's own sixteen, 5 one of 256, and 2 any."""
    with terminal(*options, environment=environment) as shown:
        found = colors(shown.sent)
        assert found
        assert {kind for run in found for kind in re.findall(rb"\b[34]8;(\d)", run)} == kinds


def test_ascii_sends_no_byte_above_127() -> None:
    with terminal("--ascii", size=(200, 60)) as shown:
        shown.press("2")
        shown.until(lambda sent: b"Arrays and disks" in sent)
        shown.press("?")
        shown.until(lambda sent: b"Help" in sent)
        shown.press("G")
        shown.until(lambda sent: b"Marks" in sent)
        assert shown.sent.isascii()


def test_an_encoding_without_glyphs_is_ascii_by_itself() -> None:
    with terminal(environment={"PYTHONIOENCODING": "latin-1"}) as shown:
        assert shown.sent.isascii()


def test_the_mouse_is_on_unless_it_is_not_wanted() -> None:
    with terminal() as shown:
        assert b"\x1b[?1000h" in shown.sent
        assert b"\x1b[?1003h" not in shown.sent  # each movement
        shown.press("m")
        shown.until(lambda sent: b"mouse off" in sent)
        assert b"\x1b[?1000l" in shown.sent
    with terminal("--no-mouse") as shown:
        assert not re.search(rb"\x1b\[\?(1000|1002|1003|1006)h", shown.sent)
        shown.press("m")
        shown.until(lambda sent: b"\x1b[?1000h" in sent)
        shown.press("m")
        shown.until(lambda sent: b"mouse off" in sent)
        shown.press("q")
        shown.wait()
        assert restored(shown.sent)


def test_a_quiet_second_costs_few_bytes() -> None:
    with terminal(size=(200, 60)) as shown:
        shown.press("6")
        shown.until(lambda sent: b"Data sources" in sent)
        painted = len(shown.sent)
        shown.until(lambda sent: sent.count(b"LIVE", painted) >= 5)
        before = len(shown.sent)
        shown.until(lambda sent: sent.count(b"LIVE", before) >= 5)
        # The clock's line and what changes in the time bar, which is below line 47, and nothing else.
        lines = {int(line) for line in re.findall(rb"\x1b\[(\d+);\d+H", shown.sent[before:])}
        assert lines <= {1, *range(48, 60)}
        assert len(shown.sent) - before < 15000


def test_a_glyph_that_the_encoding_lacks_ends_nothing() -> None:
    with terminal(environment={"PYTHONIOENCODING": "latin-1"}, size=(200, 60)) as shown:
        shown.press("2a")
        shown.until(lambda sent: b"\\u2500" in sent)
        shown.press("q")
        assert shown.wait() == 0
        assert restored(shown.sent)


# --- where there is no terminal ---------------------------------------------------------------------------


def without(**streams: int) -> str:
    """Run it without a terminal and return what it says."""
    done = subprocess.run(  # noqa: PLW1510
        WATCH, stdin=streams.get("stdin"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
        env={**ENVIRONMENT, "TERM": "xterm"},
    )  # fmt: skip
    assert done.returncode == 3
    return done.stdout.decode()


def test_redirected_output_is_no_terminal() -> None:
    said = without(stdin=subprocess.DEVNULL)
    assert said.startswith("no dashboard: standard ")
    assert "\x1b" not in said


def test_dumb_terminals_and_terminals_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    primary, secondary = pty.openpty()
    try:
        with open(secondary, "r+b", buffering=0, closefd=False) as stream:
            for name in ("stdin", "stdout"):
                monkeypatch.setattr(sys, name, stream)
            monkeypatch.setattr(sys, "stderr", None)
            for kind in ("dumb", "", "unknown"):
                monkeypatch.setenv("TERM", kind)
                assert "does not support cursor movement" in str(usable_terminal())
            monkeypatch.delenv("TERM")
            assert "not set" in str(usable_terminal())
            monkeypatch.setenv("TERM", "screen")
            assert usable_terminal() is None
            monkeypatch.setattr(sys, "stdout", None)
            assert usable_terminal() == "standard output is not a terminal"
    finally:
        os.close(primary)
        os.close(secondary)


def test_a_closed_terminal_is_hung_up() -> None:
    primary, secondary = pty.openpty()
    assert not is_terminal_gone(secondary)
    os.close(primary)
    assert is_terminal_gone(secondary)
    os.close(secondary)
    assert is_terminal_gone(secondary)


def test_colour_and_glyphs_follow_options_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert color_depth(Options(no_color=True)) is Depth.NONE
    assert color_depth(Options()) is not Depth.NONE
    monkeypatch.setenv("NO_COLOR", "")
    assert color_depth(Options()) is not Depth.NONE
    monkeypatch.setenv("NO_COLOR", "1")
    assert color_depth(Options()) is Depth.NONE
    monkeypatch.setattr(sys, "__stdout__", None)
    assert needs_ascii()


# --- tmux -------------------------------------------------------------------------------------------------


@pytest.fixture
@fixture_needs("tmux")
def tmux(tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    """Start tmux with the dashboard; end that server afterwards."""
    started: list[Tmux] = []

    def start(size: tuple[int, int] = (80, 24), prefix: str = "", suffix: str = "") -> Tmux:
        started.append(Tmux(tmp_path, size, f"{prefix}{' '.join(WATCH)}{suffix}"))
        return started[-1]

    yield start
    for server in started:
        server.run("kill-server")


def test_it_runs_in_tmux_and_leaves_the_screen_as_it_was(tmux: Callable[..., Tmux]) -> None:
    window = tmux(prefix="echo before; ")
    shown = window.until("test-node", "LIVE", "Disks, folded", "4 disks alike")
    assert len(shown.splitlines()) == 24
    assert shown.splitlines()[-1].startswith(" ? help  / find")
    window.press("2")
    window.until("Arrays and disks", "raid10 near=2")
    window.press("/", "s", "d", "c", "Enter")
    shown = window.until("1 hit of sdc")
    assert " sdb " not in shown
    window.press("Escape")
    window.press("Space")
    window.until("PAUSED")
    window.press("q")
    shown = window.until("left with 0")
    assert "before" in shown
    assert "Disks, folded" not in shown
    window.press("typed")
    window.until("typed")


@pytest.mark.parametrize("where", ["{}", "/dev/full", "&-"])
def test_errors_that_go_elsewhere_leave_the_screen_where_it_is(
    where: str, tmux: Callable[..., Tmux], tmp_path: Path
) -> None:
    errors = tmp_path / "errors"
    errors.touch()
    window = tmux(prefix="echo before; ", suffix=f" 2>{where.format(errors)}")
    window.until("test-node", "LIVE", "Disks, folded", "4 disks alike")
    window.press("2")
    window.until("Arrays and disks")
    window.press("q")
    assert "before" in window.until("left with 0")
    assert errors.read_bytes() == b""
    window.press("typed")
    window.until("typed")


@pytest.mark.parametrize("where", [" | cat", " > {0}; cat {0}"])
def test_output_that_goes_elsewhere_is_no_dashboard(where: str, tmux: Callable[..., Tmux], tmp_path: Path) -> None:
    window = tmux(suffix=where.format(tmp_path / "out"))
    assert "no dashboard: standard output is not a terminal" in window.until("left with")


def test_it_follows_the_windows_size(tmux: Callable[..., Tmux]) -> None:
    window = tmux((200, 60))
    window.until("Disks, folded", "top I/O processes")
    window.run("resize-window", "-x", "60", "-y", "15")
    window.until("Disks, folded")
    window.run("resize-window", "-x", "39", "-y", "7")
    deadline = time.monotonic() + PATIENCE
    while window.screen().strip() != "nothing checked 0 ?":  # the node is watched without rules
        assert time.monotonic() < deadline, window.screen()
        time.sleep(0.1)
    window.run("resize-window", "-x", "80", "-y", "24")
    window.until("Disks, folded", "? help")


def test_termination_gives_tmux_its_screen_back(tmux: Callable[..., Tmux]) -> None:
    window = tmux(prefix="echo before; ")
    window.until("Disks, folded")
    pid = int(window.run("display-message", "-p", "#{pane_pid}"))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    shown = window.until("left with 143")
    assert "before" in shown
