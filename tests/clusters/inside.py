"""Run inside a guest of the lab: exporter and dashboard for minutes, and what they ask of its cluster.

    inside.py MINUTES DEVICES TOOL...       prints a line of JSON

Only the standard library: this is run by the guest's own Python. A guest has one emulated processor, so the exporter
takes a sample every INTERVAL, and the cluster is measured by the requests that its writers get done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import urllib.request
from collections import Counter
from pathlib import Path

INTERVAL = "5s"
COMPARED = 60.0
"""Seconds before and after for which the cluster is measured without sdstop."""
PORT = 10942
FINDING = re.compile(r'^sdstop_findings\{rule="([a-z-]+)",severity="(warning|critical)"\} [1-9]', re.MULTILINE)
UNDER = """
mkdir -p "$COUNT/real"; : >"$COUNT/asked"
for tool in $TOOLS; do
  at=$(command -v "$tool") || continue
  cp "$at" "$COUNT/real/$tool"
  printf '#!/bin/sh\\necho "%s $*" >>"%s/asked"\\nexec "%s/real/%s" "$@"\\n' \
    "$tool" "$COUNT" "$COUNT" "$tool" >"$COUNT/$tool"
  chmod 755 "$COUNT/$tool"; mount --bind "$COUNT/$tool" "$at"
done
exec "$@"
"""
"""Shell that counts TOOLS in a mount namespace of its own, and executes its arguments."""
PROGRAMS = {
    "exporter": ["python3", "-m", "sdstop", "export", "--listen", f"127.0.0.1:{PORT}", "--interval", INTERVAL],
    "dashboard": ["python3", "-m", "sdstop"],
}


class Program:
    """One of the programs, in a terminal of 120x40, whose commands are counted in a mount namespace of its own."""

    def __init__(self, name: str, tools: list[str]) -> None:
        self.name = name
        self.count = Path(f"/run/footprint-{name}")
        places = {"COUNT": str(self.count), "TOOLS": " ".join(tools), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        argv = ["unshare", "-m", "sh", "-c", UNDER, "under", *PROGRAMS[name]]
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execvpe(argv[0], argv, {**os.environ, **places})  # noqa: S606
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.last = b""

    def read(self, seconds: float) -> None:
        """Take what it prints. Exits if it ended."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return
        try:
            self.last = self.last[-4000:] + os.read(self.terminal, 65536)
        except OSError:
            sys.exit(f"{self.name} ended: {self.last.decode(errors='replace')!r}")

    def end(self) -> dict[str, object]:
        """End it, and return the seconds of CPU that it took with all commands, and the commands."""
        os.kill(self.pid, signal.SIGTERM)
        _, _, used = os.wait4(self.pid, 0)
        asked = Counter((self.count / "asked").read_text(encoding="utf-8").splitlines())
        return {"cpu": used.ru_utime + used.ru_stime, "asked": asked}


def writes(devices: list[str]) -> int:
    """Return the writes that devices have completed since boot, from /proc/diskstats."""
    rows = (line.split() for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines())
    return sum(int(row[7]) for row in rows if row[2] in devices)


def per_minute(devices: list[str], seconds: float, programs: list[Program], found: Counter[str]) -> float:
    """Return the writes per minute meanwhile; collect findings of the exporter if it runs."""
    first, started = writes(devices), time.monotonic()
    asked = started
    while (now := time.monotonic()) < started + seconds:
        for program in programs:
            program.read(0.2)
        if not programs:
            time.sleep(1.0)
        elif now > asked + 15:
            asked = now
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=20) as reply,
            ):
                page = reply.read().decode()
                found.update(f"{severity} {rule}" for rule, severity in FINDING.findall(page))
                found["pages"] += 1
    return (writes(devices) - first) / (time.monotonic() - started) * 60


def main() -> None:
    """Measure before, during and after, and print it."""
    minutes, devices, tools = float(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    found: Counter[str] = Counter()
    before = per_minute(devices, COMPARED, [], found)
    programs = [Program(name, tools) for name in PROGRAMS]
    during = per_minute(devices, minutes * 60, programs, found)
    parts = {program.name: program.end() for program in programs}
    after = per_minute(devices, COMPARED, [], found)
    print(json.dumps({"parts": parts, "found": found, "before": before, "during": during, "after": after}))  # noqa: T201


if __name__ == "__main__":
    main()
