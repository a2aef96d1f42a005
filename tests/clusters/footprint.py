"""Footprint: what the exporter and the dashboard ask of a live cluster, and what that costs it.

Both run for minutes on node 1 of a healthy cluster under its load. Each command of the cluster's tools is counted where
it is started: in a mount namespace in which the tool is a script that writes a line and executes the real one. The CPU
time of the cluster's daemons is compared with that of a minute before and a minute after. A system in guests has a
function `measured`, which runs inside.py there.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shlex
import signal
import struct
import termios
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sdstop.rules import RULES
from tests.clusters import scenario
from tests.clusters.inside import COMPARED, FINDING, PORT, UNDER
from tests.clusters.lab import Failed, Lab

_TICKS = os.sysconf("SC_CLK_TCK")
_OURS = frozenset(rule.id for rule in RULES if rule.view == "cluster")
"""Rules that judge clusters: what others find is of this machine."""
_GET = "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1], timeout=20).read())"


@dataclass(frozen=True, slots=True)
class Part:
    """One of the programs: seconds of CPU with all commands that it ran, and the commands."""

    name: str
    cpu: float
    asked: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a run cost: `before`, `during` and `after` are amounts of `what` per minute."""

    minutes: float
    parts: tuple[Part, ...]
    before: float
    during: float
    after: float
    found: tuple[str, ...]
    what: str = "CPU seconds of the daemons of the cluster"

    @property
    def text(self) -> str:
        """Lines for a reader."""
        lines = [f"{self.minutes:.1f} minutes; findings above info: {', '.join(self.found) or 'none'}"]
        for part in self.parts:
            number, percent = sum(part.asked.values()), part.cpu / self.minutes / 60
            lines.append(f"{part.name}: {number / self.minutes:.1f} commands per minute, {percent:.1%} of one CPU")
            lines += [f"  {count:4} {command}" for command, count in sorted(part.asked.items())]
        told = f"{self.before:.2f} before, {self.during:.2f} during, {self.after:.2f} after"
        return "\n".join([*lines, f"{self.what}, per minute: {told}", ""])


def measure(lab: Lab, minutes: float) -> Footprint:
    """Run both for so many minutes and return what it took. Raises Failed if one of them ends before."""
    if lab.run("type -t measured || true").strip():
        return _measured_inside(lab, minutes)
    healthy = scenario.load(lab.system, scenario.HEALTHY)
    with lab.under_load(healthy):
        before = _daemons(lab, COMPARED)
        started = [
            _Program(lab, "exporter", f"export --listen 127.0.0.1:{PORT}"), _Program(lab, "dashboard", ""),
        ]  # fmt: skip
        found: Counter[str] = Counter()
        try:
            during = _daemons(lab, minutes * 60, started, found)
        finally:
            parts = tuple(program.end() for program in started)
        after = _daemons(lab, COMPARED)
    return Footprint(minutes, parts, before, during, after, tuple(sorted(found)))


def _measured_inside(lab: Lab, minutes: float) -> Footprint:
    """Return what inside.py found in a guest, under the load of the healthy cluster."""
    healthy = scenario.load(lab.system, scenario.HEALTHY)
    lab.enter(healthy)
    try:
        with lab.under_load(healthy):
            printed = lab.run(f"measured {minutes:g}", minutes * 60 + 900)
    finally:
        lab.leave(healthy)
    told = json.loads(printed.strip().splitlines()[-1])
    parts = tuple(Part(name, each["cpu"], each["asked"]) for name, each in told["parts"].items())
    if not told["found"].pop("pages", 0):
        raise Failed("the exporter answered no scrape")
    found = tuple(sorted(told["found"]))
    return Footprint(
        minutes, parts, told["before"], told["during"], told["after"], found, "writes that the cluster completed"
    )


class _Program:
    """sdstop in a terminal of 120x40 on node 1, its commands counted."""

    def __init__(self, lab: Lab, name: str, arguments: str) -> None:
        self.name = name
        self.count = lab.folder / f"footprint-{name}"
        tools = lab.run("tools").split()
        places = {"COUNT": str(self.count), "TOOLS": " ".join(tools), "UNDER": UNDER, "TERM": "xterm-256color"}
        shell = f'EXEC=exec; on 1 env LC_ALL=C.UTF-8 unshare -m bash -c "$UNDER" under "$SDSTOP" {arguments}'
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            lab.become(shell, places)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.last = b""

    def read(self, seconds: float) -> None:
        """Take what it prints. Raises Failed if it ended."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return
        try:
            self.last = os.read(self.terminal, 65536) or self.last
        except OSError as error:
            said = self.last[-400:].decode(errors="replace")
            raise Failed(f"{self.name} ended: {shlex.quote(said)}") from error

    def end(self) -> Part:
        """End it, and return what it took."""
        os.kill(self.pid, signal.SIGTERM)
        _, _, used = os.wait4(self.pid, 0)
        os.close(self.terminal)
        asked = Counter((self.count / "asked").read_text(encoding="utf-8").splitlines())
        return Part(self.name, used.ru_utime + used.ru_stime, asked)


def _daemons(
    lab: Lab, seconds: float, programs: list[_Program] | None = None, found: Counter[str] | None = None
) -> float:
    """Return the CPU seconds per minute of the cluster's daemons; collect findings of the exporter meanwhile."""
    first, started = _cpu(lab), time.monotonic()
    asked = started
    while (now := time.monotonic()) < started + seconds:
        for program in programs or ():
            program.read(0.2)
        if not programs:
            time.sleep(1.0)
        elif found is not None and now > asked + 15:
            asked = now
            found.update(f"{severity} {rule}" for rule, severity in FINDING.findall(_page(lab)) if rule in _OURS)
    last = _cpu(lab)
    if set(first) - set(last):
        raise Failed(f"daemons of the cluster ended: {sorted(set(first) - set(last))}")
    return sum(used - first.get(pid, 0.0) for pid, used in last.items()) / (time.monotonic() - started) * 60


def _page(lab: Lab) -> str:
    """Return the exporter's page, read on the node: it may have a network of its own."""
    return lab.run(f'on 1 "$PYTHON" -c "{_GET}" http://127.0.0.1:{PORT}/metrics')


def _cpu(lab: Lab) -> dict[int, float]:
    found = {}
    for pid in map(int, lab.run("processes").split()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        found[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found
