"""What the dashboard says to somebody who is not root, and on screens on which little fits."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Origin, Outcome
from sdstop.core.session import Session
from sdstop.tui.commands import KEYS
from sdstop.tui.help import MARKS
from sdstop.tui.sheet import HelpSheet
from tests.nodes.block import Node, refused
from tests.tui.screens import LOW, SMALL, WIDE, FakeFeed, screen

SNMP = (
    "Tcp: ActiveOpens CurrEstab InSegs OutSegs RetransSegs InErrs InCsumErrors\n"
    "Tcp: 1 {established} {segments} {segments} 7 0 0\n"
)
NETSTAT = "TcpExt: TCPTimeouts\nTcpExt: 9417\n"


def processes(second: int, *, seen: bool) -> Evidence:
    """Return what the node says of its processes: one that writes, if it may be seen, and others' that may not."""
    rows = [{"pid": 7, "name": "fio", "started": 1.5, "user": "me", "read_bytes": 0, "write_bytes": second << 20}]
    hidden = {"name": "md0_raid10", "started": 1.5, "user": "root", "read_bytes": None, "write_bytes": None}
    said = [*(rows if seen else []), *({"pid": pid, **hidden} for pid in (1, 2, 3))]
    return Evidence("answer:psutil.processes", data=json.dumps(said).encode())


def session(*, privileged: bool | None, seen: bool = True) -> Session:
    later = {second: [processes(second, seen=seen)] for second in (1, 6)}
    made = Session(Origin("node-1", live=True, privileged=privileged), BUILTIN, (), remember=900)
    made.feed_all(Node(later=later).frames(6))
    return made


@pytest.mark.parametrize(("privileged", "said"), [(False, "3 hidden: root only"),
                                                  (True, "3 hidden: even from root")])  # fmt: skip
async def test_processes_that_hide_are_counted(privileged: bool, said: str) -> None:  # noqa: FBT001  # a table
    async with screen(session(privileged=privileged), WIDE) as shown:
        assert said in shown.line("Top I/O processes")
        assert "fio" in shown.text()
        await shown.press("6")
        assert said in shown.line("Top I/O processes")


async def test_processes_that_nobody_recorded_are_not_waited_for() -> None:
    async with screen(Node().session(3)) as shown:
        text = await shown.press("6")
        assert "not recorded: processes" in text
        assert "needs two samples" not in text
    later = {1: [processes(1, seen=True)]}
    async with screen(Node(later=later).session(3)) as shown:
        assert "needs two samples" in await shown.press("6")


async def test_processes_that_nobody_can_count_hide_too() -> None:
    said = json.dumps([{"pid": 1, "hidden": True}]).encode()
    later = {second: [Evidence("answer:psutil.processes", data=said + b" " * second)] for second in (1, 6)}
    async with screen(Node(later=later).session(6), WIDE) as shown:
        line = shown.line("top I/O processes")
        assert "others hidden: root only" in line
        assert "no visible process is doing I/O" in line


async def test_nobody_is_said_to_be_idle_who_is_not_seen() -> None:
    async with screen(session(privileged=False, seen=False), WIDE) as shown:
        assert "no visible process is doing I/O" in shown.text()


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_who_is_not_root_is_told_so_on_every_screen(size: tuple[int, int]) -> None:
    async with screen(session(privileged=False), size, frames=FakeFeed([])) as shown:
        for key in ("1", "2", "4", "6", "!", "?"):
            await shown.press(key)
            assert "not root" in shown.lines()[0]


@pytest.mark.parametrize("privileged", [True, None])
async def test_nobody_else_is(privileged: bool | None) -> None:  # noqa: FBT001  # a table
    async with screen(session(privileged=privileged)) as shown:
        assert "not root" not in shown.text()


# --- where little fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [LOW, SMALL, WIDE])
async def test_help_is_never_cut_off(size: tuple[int, int]) -> None:
    async with screen(Node().session(2), size) as shown:
        await shown.press("?")
        sheet = shown.app.screen
        assert isinstance(sheet, HelpSheet)
        text = " ".join(sheet.pane.text().split())
        for title, explained in (*KEYS, ("Marks", MARKS)):
            assert title in text
            for name, what in explained:
                assert f"{' '.join(name.split())} {what}" in text


def stack(segments: int, established: int) -> Mapping[str, str]:
    return {
        "/proc/net/snmp": SNMP.format(established=established, segments=segments),
        "/proc/net/netstat": NETSTAT,
        "/proc/net/softnet_stat": "00000001 00000002 00000013 0 0 0 0 0 0 0 0\n",
    }


async def test_a_line_that_is_cut_off_says_so() -> None:
    async with screen(Node().session(3), LOW) as shown:
        await shown.press("2", "enter", "enter")
        lines = [line for line in shown.lines() if "Share of reads" in line]
        assert lines
        assert all(line.endswith("…") for line in lines)
        await shown.press("a")
        lines = [line for line in shown.lines() if "Share of reads" in line]
        assert lines
        assert all(line.endswith("~") for line in lines)


async def test_totals_since_boot_are_not_taken_for_what_is_now() -> None:
    async with screen(Node(files=stack(2773, 61)).session(3)) as shown:
        await shown.press("4")
        assert shown.line("timeouts").endswith("61 connections, 9417 retransmission timeouts since boot")
        assert shown.line(" backlog").endswith("2 packets dropped, 19 budget overruns (time_squeeze) since boot")


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ((), "not recorded: processes"),
        ((refused("answer:psutil.processes", Outcome.DENIED, "ptrace"),), "processes: denied: answer:psutil.processes"),
        ((Evidence("answer:psutil.processes", data=b"[]"),), "needs two samples"),
    ],
)
async def test_why_nobody_is_named(evidence: tuple[Evidence, ...], said: str) -> None:
    async with screen(Node(later={1: list(evidence)}).session(3), WIDE) as shown:
        assert said in shown.text()
