"""Tasks in D state in a list of ps: counted and named, never for how long."""

from __future__ import annotations

import pytest

from sdstop.core.finding import Severity
from tests.pasted.corpus import findings, judged, ruled_out

HEAD = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND"
FOUND = {"warning tasks-stuck tasks"}


def _row(pid: int, state: str, program: str) -> str:
    size = 0 if program.startswith("[") else 1234
    return f"root     {pid:7}  0.0  0.0 {size:6} {size:5} ?        {state:4} Oct26   0:00 {program}"


def _listed(*lists: list[str], command: str = "ps aux") -> bytes:
    parts = [f"[root@a ~]# {command}\n{HEAD}\n" + "".join(f"{row}\n" for row in rows) for rows in lists]
    return ("".join(parts) + "[root@a ~]# \n").encode()


def _users(count: int, state: str = "D") -> list[str]:
    return [_row(100 + at, state, f"smbd{at}") for at in range(count)]


def test_four_tasks_are_a_finding_and_three_are_unchecked() -> None:
    assert findings(judged(_listed(_users(4)))) == FOUND
    session = judged(_listed(_users(3)))
    assert findings(session) == set()
    assert "tasks-stuck tasks" not in ruled_out(session)
    (said,) = [each.reason for each in session.head().judgement.unchecked if each.rule == "tasks-stuck"]
    assert said == "3 tasks in D state (smbd0, smbd1 and 1 more); the list does not show for how long"


@pytest.mark.parametrize("state", ["S", "R", "Z", "T", "I"])
def test_other_states_are_no_finding(state: str) -> None:
    session = judged(_listed(_users(9, state), command="ps auxH"))
    assert findings(session) == set()
    assert "tasks-stuck tasks" in ruled_out(session)


@pytest.mark.parametrize("command", ["ps aux", "ps -ef", "ps axo user,pid,stat,cmd", "ps aux --sort=-rss"])
def test_a_list_of_processes_rules_nothing_out(command: str) -> None:
    """The state of a process is that of its first thread: a database whose other threads hang is "S"."""
    session = judged(_listed(_users(9, "Sl"), command=command))
    assert "tasks-stuck tasks" not in ruled_out(session)
    (said,) = [each.reason for each in session.head().judgement.unchecked if each.rule == "tasks-stuck"]
    assert said == "no process of the list in D state; its other threads are not listed"


@pytest.mark.parametrize("command", ["ps auxH", "ps axHo user,pid,stat,cmd", "ps aux -L", "ps -eLF", "ps auxm"])
def test_a_list_of_threads_without_one_in_d_state_is_good(command: str) -> None:
    assert "tasks-stuck tasks" in ruled_out(judged(_listed(_users(9, "Sl"), command=command)))


def test_threads_of_the_kernel_alone_are_no_finding() -> None:
    threads = [_row(100 + at, "D", f"[kworker/{at}:1]") for at in range(9)]
    session = judged(_listed(threads))
    assert findings(session) == set()
    assert "tasks-stuck tasks" not in ruled_out(session)
    assert findings(judged(_listed([*threads, *_users(1)]))) == set()
    assert findings(judged(_listed([*threads, *_users(2)]))) == FOUND


def test_a_filtered_list_finds_and_rules_nothing_out() -> None:
    command = "ps aux | grep smbd"
    assert findings(judged(_listed(_users(5), command=command))) == FOUND
    assert "tasks-stuck tasks" not in ruled_out(judged(_listed(_users(5, "S"), command=command)))


def test_the_finding_names_programs_and_those_of_the_list_before() -> None:
    session = judged(_listed(_users(4), [*_users(3), _row(300, "D", "sync"), _row(301, "D", "sync")]))
    (found,) = [each for each in session.head().judgement.findings if each.rule == "tasks-stuck"]
    values = {value.name: value.value for value in found.values}
    assert (values["listed"], values["again"]) == (5, 3)
    assert found.severity is Severity.WARNING
    assert found.cause == "The list has 5 tasks in D state: sync, smbd0, smbd1, smbd2."
    assert [cite.key for cite in found.evidence] == ["cmd:ps aux"] * 3


def test_what_the_kernel_says_explains_them() -> None:
    log = b"[root@a ~]# dmesg\n[1234.000000] nfs: server 10.0.0.5 not responding, still trying\n"
    session = judged(log + _listed(_users(4)))
    (found,) = [each for each in session.head().judgement.findings if each.rule == "tasks-stuck"]
    assert found.severity is Severity.INFO
    assert found.explained_by
