"""Serial executor: tasks take turns, and one that hangs or computes for long stops no other."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sdstop.node.threads import blocked
from sdstop.sampler.executor import BLINK, GREEDY, STALLED, SerialExecutor, _Orders

LONG = 10.0


class Node:
    """Runs that say in which thread they ran, hang when told to, and a clock that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sleeping: set[int] = set()
        self.executor = SerialExecutor(lambda: self.now, self.sleeping.__contains__)
        self.ran: list[tuple[str, int]] = []
        self.released = threading.Event()

    def put(self, name: str, *, hangs: bool = False, urgent: bool = False) -> threading.Event:
        """Put a run; the event is set when it is over, or when it hangs."""
        reached = threading.Event()

        def run() -> None:
            self.ran.append((name, threading.get_ident()))
            if hangs:
                self.sleeping.add(threading.get_native_id())
            reached.set()
            if hangs:
                assert self.released.wait(LONG)

        self.executor.put(run, urgent=urgent)
        return reached

    def put_computing(self) -> Callable[[], Callable[[], float]]:
        """Put a run that computes until released; return a function that waits for it and returns its CPU clock."""
        reached, numbers = threading.Event(), list[int]()

        def run() -> None:
            self.ran.append(("computing", threading.get_ident()))
            numbers.append(time.pthread_getcpuclockid(threading.get_ident()))
            before = time.thread_time()
            numbers.append(int(before * 1e9))
            reached.set()
            while not self.released.is_set():
                pass

        def started() -> Callable[[], float]:
            assert reached.wait(LONG)
            return lambda: time.clock_gettime(numbers[0]) - numbers[1] / 1e9

        self.executor.put(run)
        return started

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


def test_urgent_tasks_wait_for_one_other_task_at_most(node: Node) -> None:
    others = [node.put(name) for name in "abcd"]
    urgent = [node.put(name, urgent=True) for name in "UVWXYZ"]
    node.executor.step()
    assert all(each.wait(LONG) for each in (*others, *urgent))
    node.rest()
    assert "".join(node.names) == "UVaWXbYZcd"


def test_no_task_is_lost_between_two_threads() -> None:
    orders, taken, lock = _Orders(), list[int](), threading.Lock()

    def take() -> None:
        for _ in range(500):
            number = orders.get()
            with lock:
                number()

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(2000):
        orders.put(functools.partial(taken.append, number), urgent=number % 3 == 0)
    for thread in threads:
        thread.join(LONG)
    assert sorted(taken) == list(range(2000))
    assert orders.empty()


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
    (thread,) = node.alive()
    behind = node.put("behind")
    node.now += 2 * BLINK
    node.executor.step()
    assert behind.wait(LONG)
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


def test_a_task_that_computes_keeps_its_turn_for_a_while(node: Node) -> None:
    """Several that compute at once contend for Python's lock; one that computes for long delays the others."""
    clock = node.put_computing()
    behind = node.put("behind")
    node.executor.step()
    used = clock()
    for _ in range(3):
        node.now += BLINK
        node.executor.step()
    assert used() < GREEDY
    assert node.names == ["computing"]
    deadline = time.monotonic() + LONG
    while used() < GREEDY and time.monotonic() < deadline:
        time.sleep(0.01)
    node.now += BLINK
    node.executor.step()
    assert behind.wait(LONG)
    assert node.threads[0] != node.threads[1]


def test_a_task_without_cpu_time_gives_way_wherever_it_waits(node: Node) -> None:
    hung, behind = node.put("hung", hangs=True), node.put("behind")
    node.executor.step()
    assert hung.wait(LONG)
    node.sleeping.clear()  # a kernel without names of functions, or a lock
    for _ in range(2):
        node.now += BLINK
        node.executor.step()
    assert node.names == ["hung"]
    deadline = time.monotonic() + LONG
    while not behind.wait(0.01) and time.monotonic() < deadline:  # what it took to begin to wait was CPU time
        node.now += STALLED
        node.executor.step()
    assert node.names == ["hung", "behind"]


def test_a_thread_that_reads_is_blocked_and_one_that_waits_for_a_lock_or_computes_is_not() -> None:
    reader, writer = os.pipe()
    released, stop = threading.Event(), threading.Event()

    def compute() -> None:
        while not stop.is_set():
            pass

    work: dict[str, Callable[[], object]] = {
        "read": lambda: os.read(reader, 1), "lock": lambda: released.wait(LONG), "compute": compute,
    }  # fmt: skip
    threads = {name: threading.Thread(target=run, daemon=True) for name, run in work.items()}
    try:
        for thread in threads.values():
            thread.start()
        number = threads["read"].native_id
        assert number is not None
        deadline = time.monotonic() + LONG
        while not blocked(number) and time.monotonic() < deadline:
            time.sleep(0.01)
        found = {name: blocked(thread.native_id or 0) for name, thread in threads.items()}
        assert found == {"read": True, "lock": False, "compute": False}
        assert not blocked(2**22 + 1)  # no such thread
    finally:
        stop.set()
        released.set()
        os.write(writer, b"x")
        for thread in threads.values():
            thread.join(LONG)
        os.close(reader)
        os.close(writer)
