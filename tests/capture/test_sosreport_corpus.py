"""Every text of the corpus as a file of a sosreport: sos 3 names files by command lines, sos 4 has a manifest, too.

The ordinary suite tries one of both in turn, and `-m slow` the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.cli import command as cli
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.session import Session
from sdstop.pasted.reader import read_nodes
from sdstop.rules import RULES
from tests.pasted.corpus import FORMS, findings, texts

TECHNOLOGIES = sorted({text.path.parent.name for text in texts()})


def mangled(line: str) -> str:
    """Return the name that sos gives to the output of a command (sos/report/plugins, _mangle_command)."""
    return re.sub(r"[^\w\-./]+", "_", line).replace("/", ".").strip(" ._-")[:200]


def unpack(top: Path, evidence: Iterable[Evidence], *, manifest: bool) -> Path:
    """Write evidence as a sosreport does: sos 3 without a manifest, sos 4 with one."""
    commands = []
    files = {"sos_commands/host/uptime": b" 10:00 up 3 days\n", "version.txt": b"sosreport: 3.9\n"}
    for item in evidence:
        if item.outcome is not Outcome.OK:
            continue
        line = item.key.partition(":")[2]
        path = f"sos_commands/plugin/{mangled(line)}" if line else item.key[1:]
        files[path] = item.data
        if line:
            commands.append({"command": line.split()[0], "exec": line, "filepath": path, "return_code": 0})
    if manifest:
        document = {"components": {"report": {"plugins": {"plugin": {"commands": commands}}}}}
        files |= {"version.txt": b"sosreport: 4.5.6\n", "sos_reports/manifest.json": json.dumps(document).encode()}
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
    return top


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 2, 3))])
@pytest.mark.parametrize("technology", TECHNOLOGIES)
def test_a_text_says_the_same_in_a_sosreport(technology: str, turn: int, tmp_path: Path) -> None:
    """Every text that is of one moment, which a sosreport is: every second one as by sos 3 or 4, in four turns all."""
    wrong: dict[str, tuple[set[str], set[str]]] = {}
    known = [text for text in texts() if text.path.parent.name == technology and not text.declared.refused]
    frames_of = {text.name: read_nodes(text.data, FORMS)[0][1] for text in known}
    of_one_moment = [text for text in known if len(frames_of[text.name]) == 1]
    assert of_one_moment
    for number, text in enumerate(of_one_moment[turn % 2 :: 2]):
        expected = set(text.declared.found)  # as tests/pasted reads it from the text itself
        manifest = (number + turn // 2) % 2 == 1
        top = tmp_path / text.path.stem / "sosreport-san1"
        found = of_sosreport(unpack(top, frames_of[text.name][0].evidence, manifest=manifest))
        wrong |= {f"{text.name}, manifest: {manifest}": (found, expected)} if found != expected else {}
    assert wrong == {}


def of_sosreport(path: Path) -> set[str]:
    """Return the findings of a sosreport."""
    origin, frames = open_capture(path)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return findings(session)


ADDRESS = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0 minmtu 0 maxmtu 0
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc mq state UP group default qlen 1000
    link/ether 3c:fd:fe:a1:b2:c{host} brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9702 numtxqueues 64
    inet 192.0.2.{host}/24 brd 192.0.2.255 scope global eno1
       valid_lft forever preferred_lft forever
"""


@pytest.mark.parametrize("version", ["sos 3", "sos 4"])
def test_sosreports_of_several_hosts_are_compared(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for host, mtu in ((1, 9000), (2, 9000), (3, 1500)):
        shown = ADDRESS.format(host=host, mtu=mtu).encode()
        evidence = [Evidence("cmd:ip -d address", data=shown), Evidence("/etc/hostname", data=f"san{host}\n".encode())]
        paths += ["--from", str(unpack(tmp_path / f"sosreport-san{host}", evidence, manifest=version == "sos 4"))]
    cli.execute(["report", *paths])
    said = capsys.readouterr().out
    assert "mtu-mismatch" in said.partition("PASSED")[0]
    assert "san3" in said.partition("PASSED")[0]
