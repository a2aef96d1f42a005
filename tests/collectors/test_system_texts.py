"""Recorded output of uptime, free, vmstat, top and ps."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.readings import BlockedTask, BlockedTasks, Node
from sdstop.collectors.system.reports import REPORTS, kept_listing
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.core.model import Reading
from tests.pasted.corpus import judged, ruled_out

GIB = 1 << 30
HEAD = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
STUCK = "root        1203  0.3  0.0      0     0 ?        D    Oct26  81:22 [md12_raid6]\n"
NONE = BlockedTasks(0, listed="cmd:ps aux", threads=False)
SHELL = "anna       31000  0.0  0.0  10072  3410 pts/1    S+   14:02   0:00 mysql -u root -phunter2\n"


def rows(files: dict[str, str]) -> list[Reading]:
    return list(REPORTS.read(EvidenceHost.of(files)))


OLD = """             total       used       free     shared    buffers     cached
Mem:       8388608    1048576    7340032          0          0          0
-/+ buffers/cache:    1048576    7340032
Swap:      1048576          0    1048576
"""
WHOLE = """               total        used        free      shared  buff/cache   available
Mem:               8           1           7           0           0           7
Swap:              1           0           1
"""
HUMAN = (
    WHOLE.replace(" 8 ", " 8,0Gi ").replace(" 1 ", " 1,0Gi ").replace(" 1\n", " 1,0Gi\n").replace(" 7\n", " 7,0Gi\n")
)


@pytest.mark.parametrize(("command", "text"), [("free", OLD), ("free -g", WHOLE), ("free -h", HUMAN)])
def test_memory_in_each_unit(command: str, text: str) -> None:
    (node,) = rows({f"cmd:{command}": text})
    assert isinstance(node, Node)
    assert (node.memory_total, node.swap_total, node.swap_free) == (8 * GIB, GIB, GIB)
    assert node.memory_available == (7 * GIB if "available" in text else None)


def test_the_last_interval_of_vmstat_counts() -> None:
    heading = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    line = " {} {}      0 812344 123132 54312344    0    0   120  8212  412  812  3  2 30 65  0\n"
    (node,) = rows({"cmd:vmstat 1": f"{heading}{line.format(3, 1)}{line.format(2, 40)}"})
    assert (node.tasks_running, node.tasks_blocked) == (2, 40)  # type: ignore[attr-defined]


def test_tasks_in_d_state_without_arguments_of_programs() -> None:
    assert b"hunter2" not in kept_listing(f"{HEAD}{STUCK}{SHELL}".encode())
    assert b"hunter2" not in kept_listing(f"{STUCK}{SHELL}mysql -phunter2\n".encode())
    assert b"hunter2" not in kept_listing(f"{HEAD}{SHELL.replace(' pts/1', '')}".encode())  # one column to the left
    assert b"hunter2" not in kept_listing(f"{HEAD}{SHELL.replace('mysql', 'MYSQL_PWD=hunter2')}".encode())
    a_column_less = "root 4711 0.0 0.1 1 1 ? S 0:00 mysql hunter2\n"
    assert kept_listing(f"{HEAD}{a_column_less}".encode()).splitlines() == [HEAD.strip().encode(), b"..."]
    as_a_heading = "root 4712 0.0 0.1 1 1 ? S 10:00 0:00 sh -c echo PID STAT hunter2\n"
    assert b"hunter2" not in kept_listing(f"{HEAD}{as_a_heading}".encode())
    pam = SHELL.replace("mysql -u root -phunter2", "(sd-pam)")
    odd = SHELL.replace("mysql -u root", "A=hunter2 B")
    assert rows({"cmd:ps aux": kept_listing(f"{HEAD}{pam}{odd}".encode()).decode()}) == [NONE]
    found = rows({"cmd:ps aux": kept_listing(f"{HEAD}{STUCK}{SHELL}".encode()).decode()})
    known = BlockedTask(1203, 0.0, 1203, "md12_raid6", kernel=True, wait=None, switches=None, listed="cmd:ps aux")
    assert found == [BlockedTasks(1, listed="cmd:ps aux", threads=False), known]


@pytest.mark.parametrize("shifted", [SHELL.replace(" pts/1", ""), "root 5\n", "USER=x y\n"])
def test_a_list_with_a_row_that_is_not_understood_is_not_whole(shifted: str) -> None:
    text = f"{HEAD}{SHELL}"
    assert rows({"cmd:ps aux": text}) == [NONE]
    for made in (f"{text}{shifted}", kept_listing(f"{text}{shifted}".encode()).decode()):
        with pytest.raises(Absent):
            rows({"cmd:ps aux": made})


@pytest.mark.parametrize(
    "text",
    [
        "COMMAND                  PID STAT\nmysql -phunter2 x 12 D\n",
        "  PID STAT COMMAND WCHAN\n 12 D mysql -phunter2\n",
        "  PID STAT CMD\n 12 D FOO=hunter2 mysql\n",
        "  PID STAT TTY CMD\n 12 D mysql -phunter2\n",
        "  PID STAT CMD\n 12 D -phunter2\n",
    ],
)
def test_no_argument_is_kept_in_the_place_of_a_column(text: str) -> None:
    assert b"hunter2" not in kept_listing(text.encode())


def test_functions_in_which_tasks_wait() -> None:
    text = "    PID STAT WCHAN            COMMAND\n"
    text += "   1203 D    md_flush_request md12_raid6\n     77 Ds   -                sync\n"
    found = [row for row in rows({"cmd:ps -eo pid,stat,wchan:32,comm": text}) if isinstance(row, BlockedTask)]
    assert [(row.name, row.wait) for row in found] == [("md12_raid6", "md_flush_request"), ("sync", None)]


def test_a_list_that_is_only_a_part_shows_no_absence_of_blocked_tasks() -> None:
    screen = "top - 14:02:11 up 33 days,  2:01,  3 users,  load average: 1.00, 1.00, 1.00\nTasks: 312 total\n\n"
    screen += "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    screen += "   2211 root      20   0   10212   3212   1212 S   0,0   0,0   0:00.11 bash\n"
    assert not any(isinstance(row, BlockedTasks) for row in rows({"cmd:top": screen}))
    assert NONE in rows({"cmd:ps aux": f"{HEAD}{SHELL}"})
    assert "tasks-stuck tasks" in ruled_out(judged(f"[root@a ~]# ps auxH\n{HEAD}{SHELL}[root@a ~]# ".encode()))
    for text in (f"{HEAD}{SHELL}", f"[root@a ~]# ps aux | grep -v root\n{HEAD}{SHELL}[root@a ~]# "):
        assert "tasks-stuck tasks" not in ruled_out(judged(text.encode()))


def test_none_of_these_outputs_is_missed() -> None:
    with pytest.raises(Absent):
        rows({})


WCHAN_ROW = "   2044 Dl   blk_mq_get_tag                   smbd --foreground\n"
EL_ROW = "1 D     0     411       2  0  80   0 -     0 xlog_g ?        00:03:12 xfsaild/dm-3\n"
ELF_ROW = "1 D root      411       2  0  80   0 -     0 xlog_g Oct26 ?        00:03:12 [xfsaild/dm-3]\n"


@pytest.mark.parametrize("row", [STUCK, WCHAN_ROW, EL_ROW, ELF_ROW])
def test_rows_without_their_heading(row: str) -> None:
    for text in (row, kept_listing(f"{row}mysql -phunter2\n".encode()).decode()):
        assert len([each for each in rows({"cmd:ps": text}) if isinstance(each, BlockedTask)]) == 1
    with pytest.raises(Absent):  # other rows can be missing: no task in D state is unknown
        rows({"cmd:ps aux": row.replace(" Dl ", " Sl ").replace(" D ", " S ")})


@pytest.mark.parametrize(
    "line",
    [
        "   12 D    my_user      mysql\n",
        "   12 D    mysql_wait hunter2\n",
        "   12 D    mysql -phunter2\n",
        "12 D hunter2\n",
        "UID          PID    PPID  C STIME TTY          TIME CMD\nroot 1 0 0 Oct26 ? 00:00:33 D hunter2\n",
    ],
)
def test_nothing_is_read_from_rows_of_unknown_columns(line: str) -> None:
    assert b"hunter2" not in kept_listing(line.encode())
    with pytest.raises(Absent):
        rows({"cmd:ps": line})


def test_threads_of_one_process_are_counted() -> None:
    text = "    PID     TID STAT WCHAN            COMMAND\n"
    text += "   1203    1203 Ssl  -                qemu-kvm\n"
    text += "".join(f"   1203    {tid} Dl   blk_mq_get_tag   qemu-kvm\n" for tid in (1210, 1211))
    found = [row for row in rows({"cmd:ps axHo pid,tid,stat,wchan,comm": text}) if isinstance(row, BlockedTask)]
    assert [(row.task, row.process) for row in found] == [(1210, 1203), (1211, 1203)]
