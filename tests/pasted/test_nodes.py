"""Texts of several nodes: each of them is judged, and nothing of one ends a finding of another."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from sdstop.cli import command as cli
from sdstop.cli.opening import begin
from sdstop.core.headline import CRITICAL, OK
from sdstop.pasted.nodes import heading, headings, marked
from sdstop.pasted.reader import read_nodes
from sdstop.tui.scene import Scene
from sdstop.tui.status import status_line
from sdstop.tui.widgets.palette import Palette
from tests.pasted.corpus import FORMS

ASK = "cat /proc/mdstat"
GOOD = """Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      976630336 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
BAD = GOOD.replace("sdb1[1] sda1[0]", "sda1[0]").replace("[2/2] [UU]", "[2/1] [U_]")
UPTIME = " 10:00:00 up 3 days,  1:00,  1 user,  load average: 0.10, 0.10, 0.10\n"
TEXTS = {"san1": GOOD, "san2": BAD, "san3": GOOD}


SEVERAL = {
    "ansible": "".join(f"{node} | CHANGED | rc=0 >>\n{text}" for node, text in TEXTS.items()),
    "ansible, a node that is down": "".join(f"{node} | SUCCESS | rc=0 >>\n{text}\n" for node, text in TEXTS.items())
    + 'san4 | UNREACHABLE! => {\n    "changed": false,\n    "msg": "Failed to connect"\n}\n',
    "pdsh": "".join(f"{node}: {line}\n" for node, text in TEXTS.items() for line in text.splitlines()),
    "pdsh, lines alternate": "".join(
        f"{node}: {line}\n"
        for rows in zip(*(text.splitlines() for text in TEXTS.values()), strict=True)
        for node, line in zip(TEXTS, rows, strict=True)
    ),
    "clush": "".join(f"---------------\n{node}\n---------------\n{text}" for node, text in TEXTS.items()),
    "headings": "".join(f"## {node}:\n```\n{text}```\n" for node, text in TEXTS.items()),
    "salt": "".join(
        f"{node}:\n" + "".join(f"    {line}\n" for line in text.split("\n")) for node, text in TEXTS.items()
    ),
    "prompts": "".join(f"[root@{node} ~]# {ASK}\n{text}[root@{node} ~]#\n" for node, text in TEXTS.items()),
    "ssh": "".join(f"anna@jump:~$ ssh {node} {ASK}\n{text}" for node, text in TEXTS.items()) + "anna@jump:~$ ",
}


@pytest.mark.parametrize("text", SEVERAL.values(), ids=SEVERAL)
def test_each_node_of_a_text_is_judged(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(text)
    assert cli.execute(["check", "--from", str(file)]) == CRITICAL
    assert "array-degraded md0 on san2: NO REDUNDANCY" in capsys.readouterr().out
    cli.execute(["report", "--format", "json", "--from", str(file)])
    said = json.loads(capsys.readouterr().out)
    assert [host["name"] for host in said["hosts"]] == list(TEXTS)
    assert [(each["rule"], each["host"]) for each in said["findings"]] == [("array-degraded", "san2")]
    assert all([each["use"] for each in host["texts"] if each["key"]] == ["read"] for host in said["hosts"])


def test_a_healthy_node_beside_another_is_good_where_its_end_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(SEVERAL["ansible"].replace(BAD, GOOD))
    assert cli.execute(["check", "--from", str(file)]) == OK


def test_the_text_report_lists_the_blocks_of_each_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"Hello,\n\n{SEVERAL['prompts']}\n[root@san2 ~]# megaraidsas-status\nFirmware state: Failed\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert cli.execute(["report", "--from", "-"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 nodes: 1 finding: 1 critical")
    for node in TEXTS:
        assert f"TEXT OF {node}" in said
    assert '"Hello,"' in said
    assert '"megaraidsas-status: Firmware state: Failed"' in said


@pytest.mark.parametrize("name", ["ansible", "pdsh", "clush", "salt", "prompts", "ssh"])
def test_commands_that_show_one_node_show_the_worst_and_name_the_others(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node with most outputs is another one."""
    file = tmp_path / "ticket.txt"
    more = f"[root@san3 ~]# cat /proc/mdstat\n{GOOD.replace('md0', 'md1')}[root@san3 ~]# uptime\n{UPTIME}"
    file.write_text(f"{SEVERAL[name]}\n{more}[root@san3 ~]#\n")
    source = ["--from", str(file)]
    assert cli.execute(["doctor", *source]) == 0
    said = capsys.readouterr().out
    assert said.startswith("san2, from a capture")
    rows = [line for line in said.splitlines() if "/proc/mdstat" in line and line[:1].isdigit()]
    assert [line.rpartition("  ")[2] for line in rows] == [
        "recorded, not usable: from another node: san1", "read: mdraid, mdmembers",
        "recorded, not usable: from another node: san3", "recorded, not usable: from another node: san3",
    ][:len(rows)]  # fmt: skip
    assert len(rows) >= 3
    assert cli.execute(source) == 0  # the dashboard, without a terminal
    said = capsys.readouterr().out
    assert said.startswith("san2: 1 finding: 1 critical")
    assert "one of 3 nodes; `sdstop report` shows the others: san1, san3" in " ".join(said.split())
    assert cli.execute(["capture", *source, "-o", str(tmp_path / "capture")]) == 0
    capsys.readouterr()
    assert cli.execute(["check", "--from", str(tmp_path / "capture")]) == CRITICAL
    assert cli.execute(["diff", str(file), str(file), "--exit-code"]) == 0
    assert "san2" in capsys.readouterr().out


def test_the_screen_names_the_nodes_that_it_does_not_show(tmp_path: Path) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(SEVERAL["prompts"])
    with begin(argparse.Namespace(source=str(file), collectors=None, config=None)) as watch:
        session = watch.session(None)
        session.feed_all(watch.frames(0.0))
    scene = Scene(session.head(), session, Palette())
    shown = "".join(each.text for each in status_line(scene, 120))
    assert shown.startswith(" san2 ")
    assert "not shown: san1, san3" in shown


def test_of_nodes_with_equal_findings_the_one_with_most_outputs_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ticket.txt"
    more = f"[root@san3 ~]# uptime\n{UPTIME}[root@san3 ~]#\n"
    for text, node in ((GOOD, "san3"), (BAD, "san2")):
        file.write_text(SEVERAL["prompts"].replace(BAD, text) + more)
        cli.execute(["doctor", "--from", str(file)])
        assert capsys.readouterr().out.startswith(f"{node}, from a capture")
    file.write_text(SEVERAL["prompts"].replace(GOOD, BAD) + more)
    cli.execute(["report", "--format", "json1", "--from", str(file)])
    said = json.loads(capsys.readouterr().out)
    assert said["host"]["name"] == "san3"
    assert said["host"]["note"].startswith(
        "one of 3 nodes; `sdstop report` shows the others: san1 (1 finding), san2 (1 finding)"
    )


def test_a_capture_has_one_of_the_nodes_and_redaction_names_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ticket").write_text(SEVERAL["prompts"].replace("san", "vault"))
    source = ["--from", str(tmp_path / "ticket")]
    assert cli.execute(["capture", *source, "-o", str(tmp_path / "capture")]) == 0
    assert "wrote 1 frame of one of 3 nodes" in capsys.readouterr().err
    (tmp_path / "key").write_text("k" * 64)
    (tmp_path / "key").chmod(0o600)
    for form in ("text", "json", "json1", "html", "markdown"):
        assert cli.execute(["report", "--redact", str(tmp_path / "key"), "--format", form, *source]) == 0
        said = capsys.readouterr().out
        assert form != "json1" or "one of 3 nodes" in said
        assert "md0" in said
        assert "vault" not in said


@pytest.mark.parametrize(
    "text",
    [
        f"[root@san1 ~]# {ASK}\n{GOOD}[root@san1 ~]# ",
        f"san1 | CHANGED | rc=0 >>\n{GOOD}",
        f"md0:\n{GOOD}\nmd1:\n{GOOD}",
        f"step1:\n{GOOD}\nstep2:\n{BAD}",
    ],
)
def test_one_node_is_not_divided(text: str) -> None:
    assert len(read_nodes(text.encode(), FORMS)) == 1


@pytest.mark.parametrize("name", ["sda1", "md127", "disk12", "osd.3", "eth0", "slot4", "nvme0n1", "bond0"])
def test_things_with_numbers_are_no_nodes(name: str) -> None:
    other = name.replace(name[-1], "9")
    assert headings([f"{name}:", "text", f"{other}:"]) == {}


def test_a_heading_of_a_tool_shows_the_end_of_the_output_above_it() -> None:
    tool = heading(marked("san1 | CHANGED | rc=0 >>"))
    assert tool is not None
    assert (tool.host, tool.ends) == ("san1", True)
    people = headings(["on san1:", "", "and then", "**san2**"])
    assert {line: (found.host, found.ends) for line, found in people.items()} == {
        "on san1:": ("san1", False), "**san2**": ("san2", False),
    }  # fmt: skip
    assert headings(["san1:", "san1:", "db1:"]) == {}


def test_a_line_of_an_output_is_no_heading() -> None:
    lines = "Node List:\n  * Online: [ node1 node2 ]\n\nMigration Summary:\n  * Node: node1:\n  * Node: node2:\n"
    assert headings(lines.split("\n"))
    assert len(read_nodes(f"# crm_mon -1\nCluster Summary:\n  * Stack: corosync\n{lines}# ".encode(), FORMS)) == 1
