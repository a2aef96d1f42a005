"""sdstop in the hands of somebody who is not root: nothing fails, and what could not be read is said to be denied.

Who runs the tests as root sees an ordinary user's sdstop beside root's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures import FIXTURES
from tests.live.ordinary import PATIENCE, User, settled
from tests.needs import fixture_needs
from tests.tui.plug import Plug, listed, until
from tests.tui.screens import SMALL, WIDE
from tests.tui.tmux import Tmux

pytestmark = pytest.mark.live

HINT = "answer:psutil.processes requires root, for other users' processes (which processes do the I/O)"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[User]:
    """Settle the user once, for all processes that share the tests."""
    own = tmp_path_factory.getbasetemp()
    with settled((own if worker_id == "master" else own.parent) / "ordinary-user.json") as user:
        yield user


def done(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    return process.returncode, out, err


def one_space(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def reports(user: User) -> dict[str, str]:
    """What three reports of the same time said: as text, as JSON, and root's, where there is root."""
    watch = ("report", "--duration", "6s")  # all sources answer by then, on a busy machine too
    started = {"text": user.start(*watch), "json": user.start(*watch, "--format", "json")}
    if os.geteuid() == 0:
        started["root"] = User(0, user.home, user.copy, user.python).start(*watch, "--format", "json")
    said = {}
    for name, process in started.items():
        code, said[name], err = done(process)
        assert (code, err) == (0, "")
    return said


def test_doctor_says_what_root_would_add(user: User) -> None:
    code, out, err = done(user.start("doctor"))
    assert (code, err) == (0, "")
    assert re.match(r"\S+, live, not as root: \d+ of \d+ sources ok, \d+ of them partial", out)
    said = one_space(out)
    assert HINT in said
    assert re.search(
        r" processes partial \S+ ms Processes' I/O\. answer:psutil\.processes: denied for \d+ of \d+ ", said
    )
    assert not re.search(r"^\S+ +failed ", out, re.MULTILINE)


def test_the_report_says_so_at_its_top(reports: dict[str, str]) -> None:
    out = reports["text"]
    assert "Without root: some sources are missing; `sdstop doctor` lists them." in one_space(out)
    assert re.search(r"^  processes +partial .*answer:psutil.processes: denied for \d+ of \d+ ", out, re.MULTILINE)


def test_what_was_denied_is_no_row_and_no_zero(user: User, reports: dict[str, str]) -> None:
    report = json.loads(reports["json"])
    assert report["hosts"][0]["privileged"] is False
    readings = report["readings"]
    (summary,) = readings["process_summary"]
    assert 0 < summary["denied"] < summary["processes"]
    shown = {row["pid"] for row in readings["process_io"]}
    assert shown
    assert len(shown) == summary["processes"] - summary["denied"]
    assert not shown & set(user.others())
    (source,) = (row for row in report["collectors"] if row["name"] == "processes")
    assert source["outcome"] == "ok"
    assert re.fullmatch(r"answer:psutil\.processes: denied for \d+ of \d+ processes", source["reason"])


def is_closed(reason: str) -> bool:
    """Return whether the reason of a denial names what others may not read: a file, a directory, the kernel's log."""
    if reason.startswith("answer:kernel.log: requires root"):
        return Path("/proc/sys/kernel/dmesg_restrict").read_text(encoding="ascii") == "1\n"
    found = re.match(r"(?:list:)?(/[^:]+): requires root", reason)
    return found is not None and not Path(found[1]).stat().st_mode & stat.S_IROTH


@pytest.mark.needs("root")
def test_all_else_is_as_root_sees_it(reports: dict[str, str]) -> None:
    report, seen = json.loads(reports["json"]), json.loads(reports["root"])
    assert seen["hosts"][0]["privileged"] is True
    for row, roots_row in zip(report["collectors"], seen["collectors"], strict=True):
        if row["outcome"] == "denied" and is_closed(row["reason"]):
            assert roots_row["outcome"] != "denied"
            continue
        # whoever is slow on a busy machine is slow for one of them alone
        assert row["outcome"] == roots_row["outcome"] or "timeout" in {row["outcome"], roots_row["outcome"]}
    for family in ("block_device", "network_interface"):
        known, roots_own = ({json.dumps(row) for row in r["readings"].get(family, [])} for r in (report, seen))
        # what others plug and unplug meanwhile is of one of them alone
        assert len(known & roots_own) >= min(len(known), len(roots_own)) * 0.8
        assert {key for row in known for key in json.loads(row)} == {
            key for row in roots_own for key in json.loads(row)
        }
    hidden = seen["readings"]["process_summary"][0]["denied"]
    assert hidden < report["readings"]["process_summary"][0]["denied"]


@pytest.mark.needs("root", "mounts")
@pytest.mark.parametrize("level", ["1", "2"])
def test_a_proc_that_hides_processes_is_told_from_one_that_has_none(user: User, level: str) -> None:
    """In a mount namespace of its own; /proc itself stays as it is. Level 1 lists processes whose files are denied."""
    mount = f"mount --make-rprivate / && mount -t proc -o hidepid={level} proc /proc"
    argv = ["unshare", "--mount", "sh", "-c", f"{mount} && cd {user.home} && exec {user.line('doctor')}"]
    result = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "answer:psutil.processes: denied, /proc hides other users' processes." in one_space(result.stdout)


@pytest.mark.parametrize("name", ["made.tar.gz", "made"])
def test_captures_are_for_their_owner_alone(user: User, name: str) -> None:
    path = user.home / name
    code, out, err = done(user.start("capture", "--duration", "1s", "-o", path, umask=0))
    assert (code, out) == (0, "")
    assert re.fullmatch(rf"sdstop: {path}: wrote \d+ frames?\n", err)
    for each in (path, *path.rglob("*")):
        kept = each.stat()
        assert kept.st_uid == user.number
        assert stat.S_IMODE(kept.st_mode) == (0o700 if each.is_dir() else 0o600)
    code, out, err = done(user.start("report", "--from", path))
    assert (code, err) == (0, "")
    assert "Without root: some sources are missing" in out
    if name == "made.tar.gz":
        with tarfile.open(path) as archive:
            assert all(member.mode & 0o077 == 0 for member in archive)


@pytest.mark.parametrize(("command", "words"), [("capture", ["-o"]), ("report", ["--duration", "0s", "-o"]),
                                                ("export", ["--once", "--textfile"])])  # fmt: skip
def test_where_one_may_not_write_is_said_in_a_line(user: User, command: str, words: list[str]) -> None:
    if os.geteuid() == 0:
        (user.copy.parent / "roots").mkdir(exist_ok=True)
        (user.copy.parent / "roots").chmod(0o755)
    else:
        (user.copy.parent / "roots").mkdir(mode=0o500, exist_ok=True)
    path = user.copy.parent / "roots" / "made"
    code, out, err = done(user.start(command, *words, path))
    assert (code, out) == (1, "")
    said = f"{path} cannot be written" if command == "capture" else f"cannot write {path}"
    assert re.fullmatch(rf"sdstop: {said}: Permission denied\n", err)
    assert not path.exists()


def test_check_judges_what_may_be_seen(user: User) -> None:
    code, out, err = done(user.start("check"))
    assert err == ""
    first, *below = out.splitlines()
    word = re.fullmatch(r"SDSTOP (OK|WARNING|CRITICAL|UNKNOWN) - .* \| critical=\d+;;0 .*", first)
    assert word is not None, out
    assert all(re.match(r"(CRITICAL|WARNING|SAMPLED BY|PARTIAL DATA|NOT CHECKED): ", line) for line in below), out
    assert any(re.match(r"PARTIAL DATA: processes \(.*denied for \d+ of \d+ processes", line) for line in below), out
    assert word[1] == ("OK", "WARNING", "CRITICAL", "UNKNOWN")[code]
    refused = re.findall(r"\bdenied, ([^)]*)", first)
    assert first.count("denied") == len(refused)
    assert all(map(is_closed, refused)), first


def scraped(address: str) -> str:
    """Return the page, "" as long as there is none."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310  # our own
            page: str = answer.read().decode()
            return page
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        return ""


def test_the_exporter_counts_who_hides(user: User) -> None:
    process = user.start("export", "--listen", "127.0.0.1:0")
    try:
        assert process.stderr is not None
        found = re.fullmatch(r"sdstop: serving (http://127\.0\.0\.1:\d+/metrics)\n", process.stderr.readline())
        assert found is not None
        page, deadline = "", time.monotonic() + PATIENCE
        while "sdstop_processes_hidden " not in page:
            assert time.monotonic() < deadline, page
            page = scraped(found[1])
            time.sleep(0.1)
    finally:
        process.terminate()
        code, _, err = done(process)
    assert (code, err) == (0, "")
    hidden = re.search(r"^sdstop_processes_hidden (\S+)$", page, re.MULTILINE)
    assert hidden is not None
    assert float(hidden[1]) > 0
    assert 'sdstop_collector_outcome{collector="diskstats",outcome="ok"} 1\n' in page
    assert 'sdstop_collector_outcome{collector="processes",outcome="partial"} 1\n' in page


@pytest.fixture
@fixture_needs("tmux")
def window(user: User, tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    started: list[Tmux] = []

    def start(size: tuple[int, int], *arguments: str | Path) -> Tmux:
        started.append(Tmux(tmp_path, size, f"cd {user.home}; {user.line(*arguments)}"))
        return started[-1]

    yield start
    for server in started:
        server.run("kill-server")


@pytest.mark.parametrize("size", [SMALL, WIDE])
def test_the_dashboard_says_it_on_every_screen(window: Callable[..., Tmux], size: tuple[int, int]) -> None:
    shown = window(size)
    shown.until("LIVE", "not root", "Disks, folded")
    for key, title in (
        ("2", "Arrays and disks"),
        ("4", "Interfaces"),
        ("!", "Passed"),
        ("?", "Help"),
    ):
        shown.press(key)
        assert "not root" in shown.until(title).splitlines()[0]
    shown.press("6")
    shown.until("Top I/O processes", "hidden: root only")
    if size == SMALL:
        shown.press("66")  # its third page
    text = shown.until("Data sources", "partial")
    assert re.search(r"^.*[ ▸]processes +partial ", text, re.MULTILINE)  # what is not good comes first
    assert "Traceback" not in text
    shown.press("q")
    shown.until("left with 0")


def test_a_story_opens(window: Callable[..., Tmux], user: User) -> None:
    shutil.copytree(FIXTURES / "clone-convoy", user.home / "clone-convoy")
    for path in (user.home / "clone-convoy", *(user.home / "clone-convoy").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shown = window(SMALL, "--from", "clone-convoy")
    shown.until("REPLAY", "!CRIT CONVOY", "md0")
    shown.press("q")
    shown.until("left with 0")


@pytest.mark.needs("loop devices")
async def test_uevents_reach_who_is_not_root(window: Callable[..., Tmux], user: User, tmp_path: Path) -> None:
    (user.home / "slow.toml").write_text("[sampler]\ninterval = 3600.0\n")
    behind = tmp_path / "behind"
    behind.write_bytes(bytes(1 << 20))
    plug = Plug(behind)
    shown = window((120, 24), "--config", "slow.toml")  # where its interval has room
    shown.until("every 3600 s")
    shown.press("2")
    shown.until("Arrays and disks")
    shown.press("/", *plug.name, "Enter")
    shown.until(f"no hit of {plug.name}")
    try:
        plug.insert()
        await until(lambda: listed(shown.screen().splitlines()), shown.screen)
    finally:
        plug.pull()
        os.close(plug.control)
    await until(lambda: not listed(shown.screen().splitlines()), shown.screen)
