"""The exporter as a process."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0
"""Seconds after which something that must come is given up."""


@contextmanager
def exporting(node: Path, *arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run `sdstop export` below `node`, with the config that lies there, and see that it ends."""
    options = ("--root", node, "--config", node / "config.toml", "--interval", "200ms", *arguments)
    argv = [sys.executable, "-m", "sdstop", "export", *map(str, options)]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


def port_of(process: subprocess.Popen[str]) -> int:
    """Return the port that the exporter says it listens on."""
    assert process.stderr is not None
    line = b""
    while not line.endswith(b"\n"):  # no byte more: communicate() does not return what a buffer has
        assert select.select([process.stderr], [], [], PATIENCE)[0], "the exporter says nothing"
        read = os.read(process.stderr.fileno(), 1)
        assert read, line
        line += read
    found = re.fullmatch(r"sdstop: serving https?://127\.0\.0\.1:(\d+)/metrics\n", line.decode())
    assert found is not None
    return int(found[1])
