"""The thread that reads keys sleeps while there are none, and ends when it must."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from sdstop.tui import input_wait
from sdstop.tui.input_wait import InputEvent


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    yield reads, writes
    os.close(reads)
    os.close(writes)


class Asking:
    """A thread that asks an event until it is set, as Textual's does, and counts."""

    def __init__(self, event: InputEvent) -> None:
        self.asked = 0
        self._event = event
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self._event.wait_here()
        while not self._event.is_set():
            self.asked += 1
            time.sleep(0.01)


def test_without_keys_it_asks_nothing(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_wait, "SETTLES", 0.1)
    event = InputEvent(pipe[0])
    asking = Asking(event)
    time.sleep(0.3)
    before = asking.asked
    assert before > 0  # it began as Textual does
    time.sleep(0.3)
    assert asking.asked == before
    os.write(pipe[1], b"\x1b")
    deadline = time.monotonic() + 10
    while asking.asked < before + 3 and time.monotonic() < deadline:  # an escape alone is a key after a while
        time.sleep(0.01)
    assert asking.asked >= before + 3
    event.set()
    asking.thread.join(10)
    assert not asking.thread.is_alive()


def test_it_ends_while_it_sleeps_and_can_begin_again(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_wait, "SETTLES", 0.0)
    event = InputEvent(pipe[0])
    for _ in range(2):
        asking = Asking(event)
        time.sleep(0.05)
        began = time.monotonic()
        event.set()
        asking.thread.join(10)
        assert not asking.thread.is_alive()
        assert time.monotonic() - began < 1.0
        event.clear()


def test_other_threads_never_wait(pipe: tuple[int, int]) -> None:
    event = InputEvent(pipe[0])
    assert not event.is_set()
    event.set()
    event.set()
    assert event.is_set()
    event.clear()
    assert not event.is_set()
