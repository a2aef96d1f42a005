"""The lab itself, with a cluster of nothing: each step runs lab.sh, and what fails says why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.clusters import lab, scenario
from tests.clusters.lab import Failed, Lab, judge
from tests.expectation import Expect

SHELL = """
up() { mkdir -p node1/proc; echo "8 0 sda 1 0 8 1 1 0 8 1 0 1 2" >node1/proc/diskstats; echo well >state; }
down() { rm -f state; }
record() { local directory=$2; shift 2; "$SDSTOP" capture -o "$directory" --root "$LAB/node1" "$@"; }
"""


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    (tmp_path / "systems/nothing").mkdir(parents=True)
    (tmp_path / "systems/nothing/lab.sh").write_text(SHELL)
    monkeypatch.setattr(lab, "FOLDER", tmp_path / "systems")
    monkeypatch.setenv("SDSTOP_CLUSTERS", str(tmp_path / "clusters"))
    return Lab("nothing")


def test_a_state_is_entered_recorded_under_load_and_left(nothing: Lab, tmp_path: Path) -> None:
    one = scenario.Scenario(
        "nothing", "ill", "a", "echo ill >state", "echo well >state", "while :; do date >>load; sleep 0.1; done",
        seconds=1, interval=0.5, options="--collectors diskstats",
        expect=(scenario.NodeExpect(1, Expect()),),
    )  # fmt: skip
    nothing.up()
    nothing.enter(one)
    assert (nothing.folder / "state").read_text() == "ill\n"
    captures = nothing.record(one, tmp_path)
    assert len((nothing.folder / "load").read_text().splitlines()) > 3
    assert judge(one, captures) == []
    nothing.leave(one)
    assert (nothing.folder / "state").read_text() == "well\n"
    assert nothing.is_up
    nothing.down()
    assert not nothing.folder.exists()


def test_what_fails_says_what_it_printed(nothing: Lab) -> None:
    nothing.up()
    with pytest.raises(Failed, match=r"false_start: exit 127: .*false_start: command not found"):
        nothing.run("false_start")
    with pytest.raises(Failed, match="exists"):
        nothing.up()


def test_what_takes_too_long_is_ended(nothing: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "PATIENCE", 0.3)
    nothing.folder.mkdir(parents=True)
    with pytest.raises(Failed, match="took longer than"):
        nothing.run("sleep 60 & echo $! >child; wait")
    child = int((nothing.folder / "child").read_text())
    deadline = time.monotonic() + 10
    while lives(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("leave", ["echo well >state", "echo well >state; broken_mend"])
def test_a_state_that_is_not_reached_is_left_too(nothing: Lab, tmp_path: Path, leave: str) -> None:
    nothing.up()
    one = scenario.Scenario("nothing", "ill", "a", "echo ill >state; false", leave)
    with pytest.raises(Failed, match=r"echo ill >state; false: exit 1.*(broken_mend)?") as failed:
        nothing.state(one, tmp_path)
    assert ("broken_mend" in str(failed.value)) == ("broken_mend" in leave)
    assert (nothing.folder / "state").read_text() == "well\n"
