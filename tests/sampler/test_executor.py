"""Serial executor: tasks take turns, and one that is slow or hangs stops no other."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sdstop.sampler.executor import BLINK, SerialExecutor

LONG = 10.0


class Node:
    """Runs that say in which thread they ran, hang when told to, and a clock that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.executor = SerialExecutor(lambda: self.now)
        self.ran: list[tuple[str, int]] = []
        self.released = threading.Event()

    def put(self, name: str, *, hangs: bool = False) -> threading.Event:
        """Put a run; the event is set when it is over, or when it hangs."""
        reached = threading.Event()

        def run() -> None:
            self.ran.append((name, threading.get_ident()))
            reached.set()
            if hangs:
                assert self.released.wait(LONG)

        self.executor.put(run)
        return reached

    def rest(self) -> None:
        """Wait until the worker has seen the end of what it ran."""
        done = threading.Event()
        self.executor.put(done.set)
        assert done.wait(LONG)

    def alive(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.ident in self.threads]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.ran]

    @property
    def threads(self) -> list[int]:
        return [thread for _, thread in self.ran]


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node()
    yield made
    made.released.set()


def test_who_is_quick_shares_one_thread_in_the_order_of_putting(node: Node) -> None:
    last = [node.put(name) for name in "abcdef"][-1]
    assert node.executor.pause() == 0
    node.executor.step()
    assert last.wait(LONG)
    node.rest()
    assert node.names == list("abcdef")
    assert len(set(node.threads)) == 1
    again = node.put("a")
    assert again.wait(LONG)  # the worker is there: it waits for no step
    assert len(set(node.threads)) == 1


def test_nobody_behind_a_hung_run_waits_longer_than_a_blink(node: Node) -> None:
    hung, last = node.put("hung", hangs=True), [node.put(name) for name in "ab"][-1]
    node.executor.step()
    assert hung.wait(LONG)
    assert node.executor.pause() == pytest.approx(BLINK)
    node.now += BLINK / 2
    node.executor.step()
    assert node.names == ["hung"]
    assert node.executor.pause() == pytest.approx(BLINK / 2)
    node.now += BLINK
    assert node.executor.pause() == 0
    node.executor.step()
    assert last.wait(LONG)
    assert node.names == ["hung", "a", "b"]
    assert node.threads[0] not in node.threads[1:]


def test_many_that_hang_keep_one_thread_each_and_no_more(node: Node) -> None:
    for number in range(5):
        hung = node.put(f"hung{number}", hangs=True)
        node.executor.step()
        assert hung.wait(LONG)
        node.now += 2 * BLINK
        node.executor.step()
    assert len(node.alive()) == 5
    assert node.executor.pause() == float("inf")  # nobody waits, and nobody is left to be looked after
    assert node.put("quick").wait(0.05) is False
    node.executor.step()
    node.rest()
    assert node.names[-1] == "quick"


def test_a_thread_that_was_left_ends_with_its_run(node: Node) -> None:
    hung = node.put("hung", hangs=True)
    node.executor.step()
    assert hung.wait(LONG)
    node.now += 2 * BLINK
    node.executor.step()
    (thread,) = node.alive()
    node.released.set()
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_run_that_fails_does_not_end_its_lane(node: Node) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    node.executor.put(fail)
    behind = node.put("behind")
    node.executor.step()
    assert behind.wait(LONG)
