"""Captures and trees of files to run commands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdstop import rules
from sdstop.cli import choices, opening
from sdstop.core.evidence import Frame
from sdstop.exporters.capture import CaptureWriter
from tests.cli.run import CALM, CRITICAL, DISKSTATS, Make
from tests.exporters.meters import IDLE, METERS, TOO_LOUD, frame


@pytest.fixture
def meters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """Have the made-up source and rule alone, and return what writes a capture of them."""
    for room in (choices, opening):
        monkeypatch.setattr(room, "BUILTIN", (METERS, IDLE))
    monkeypatch.setattr(rules, "RULES", (TOO_LOUD,))
    monkeypatch.setattr(rules, "EVERY", (TOO_LOUD,))

    def make(*frames: Frame, name: str = "node") -> str:
        path = tmp_path / name
        with CaptureWriter(path, "node", collectors=["meters", "idle"]) as writer:
            for each in frames:
                writer.add(each)
            writer.finish()
        return str(path)

    return make


@pytest.fixture
def capture(meters: Make) -> str:
    """A capture with a critical finding."""
    return meters(frame(1, [CALM, CRITICAL]), frame(2, [CALM, CRITICAL]))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A tree of a node's files."""
    root = tmp_path / "root"
    for name, text in {
        "proc/diskstats": DISKSTATS.format(100),
        "proc/mdstat": "Personalities : \nunused devices: <none>\n",
        "proc/sys/kernel/hostname": "fake\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
