"""`sdstop` alone: what the dashboard is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sdstop.tui
from sdstop.cli.command import execute
from sdstop.core.session import Session
from sdstop.core.timeline import RING_SECONDS
from sdstop.tui.terminal import Options


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have a terminal and a dashboard that only notes what it is given."""
    given: list[Any] = []

    def run(session: Session, frames: Any, options: Options, *_: Any, **__: Any) -> int:
        given.extend((session, frames, options, frames and frames.fileno()))
        return 0

    monkeypatch.setattr("sdstop.tui.terminal.usable_terminal", lambda: None)
    monkeypatch.setattr(sdstop.tui, "run", run)
    return given


def test_a_capture_is_seen_as_a_whole(capture: str, shown: list[Any]) -> None:
    assert execute(["--from", capture, "--ascii", "--theme", "light", "--no-color"]) == 0
    session, frames, options, _ = shown
    assert frames is None
    assert (session.frames_seen, len(session.timeline.frames)) == (2, 2)
    assert options == Options(ascii=True, mouse=True, theme="light", no_color=True, version=sdstop.__version__)


def test_a_live_node_is_remembered_for_a_while(node: Path, shown: list[Any]) -> None:
    assert execute(["--root", str(node), "--no-mouse"]) == 0
    session, frames, options, descriptor = shown
    assert session.timeline.seconds == RING_SECONDS
    assert session.origin.live
    assert descriptor >= 0
    assert not frames.alive  # it was closed when the dashboard ended
    assert options == Options(ascii=None, mouse=False, theme="auto", no_color=False, version=sdstop.__version__)
