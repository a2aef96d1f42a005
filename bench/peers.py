"""Peers: other programs that read the same node, as far as they are installed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: the names it may have, and how it tells its version."""

    names: tuple[str, ...]
    version: tuple[str, ...]

    @property
    def path(self) -> str | None:
        """Where it is, None if it is not installed."""
        return next((path for name in self.names if (path := shutil.which(name)) is not None), None)

    def __str__(self) -> str:
        """Return name and version."""
        path = self.path
        if path is None:
            return f"no {self.names[0]}"
        said = subprocess.run([path, *self.version], check=False, capture_output=True, text=True)
        found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
        return f"{self.names[0]} {found[0] if found else '(version unknown)'}"


IOSTAT = Peer(("iostat",), ("-V",))
ATOP = Peer(("atop",), ("-V",))
BTOP = Peer(("btop",), ("--version",))
NODE_EXPORTER = Peer(("node_exporter", "prometheus-node-exporter"), ("--version",))
SADC = Peer(("sadc", "/usr/lib/sysstat/sadc"), ("-V",))
SOS = Peer(("sos",), ("--help",))
ALL = (IOSTAT, ATOP, SADC, BTOP, NODE_EXPORTER, SOS)


def node_exporter(path: str, tree: Path, port: int) -> list[str]:
    """Return what runs it with the one collector that reads /proc/diskstats, over a tree: of every device."""
    return [
        path, f"--web.listen-address=127.0.0.1:{port}", "--web.disable-exporter-metrics",
        f"--path.procfs={tree / 'proc'}", f"--path.sysfs={tree / 'sys'}",
        f"--path.udev.data={tree / 'run/udev/data'}", "--collector.disable-defaults", "--collector.diskstats",
        "--collector.diskstats.device-exclude=^$",
    ]  # fmt: skip


def whole_node_exporter(path: str, port: int) -> list[str]:
    """Return what runs it over this machine, with the collectors that it has by default."""
    return [path, f"--web.listen-address=127.0.0.1:{port}"]


@contextlib.contextmanager
def loops(count: int) -> Iterator[None]:
    """Have so many loop devices more, without a file behind them, and remove them. Wants root."""
    control = os.open(LOOPS, os.O_RDWR | os.O_CLOEXEC)
    made: list[int] = []
    try:
        for number in range(_FIRST_LOOP, _FIRST_LOOP + count):
            made.append(fcntl.ioctl(control, _LOOP_ADD, number))  # noqa: PERF401  # what was made is removed
        yield
    finally:
        for number in made:
            with contextlib.suppress(OSError):  # somebody took it into use
                fcntl.ioctl(control, _LOOP_REMOVE, number)
        os.close(control)


LOOPS = Path("/dev/loop-control")
_FIRST_LOOP = 1000
_LOOP_ADD, _LOOP_REMOVE = 0x4C80, 0x4C81  # include/uapi/linux/loop.h


def btop(path: str, config: Path) -> list[str]:
    """Return what runs it once a second: it has no option for that, only a file."""
    folder = config / "btop"
    folder.mkdir(exist_ok=True)
    (folder / "btop.conf").write_text("update_ms = 1000\n")
    return ["env", f"XDG_CONFIG_HOME={config}", path, "--utf-force"]
