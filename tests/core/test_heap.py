"""Memory that is freed goes back to the system."""

import subprocess
import sys

import pytest

PROGRAM = """
from sdstop.core.heap import LARGE, return_large_blocks

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))

def churn():
    "Free a large block, which raises glibc's thresholds, then small ones among which few stay."
    bytes(30 << 20)
    blocks = [bytearray(b"x" * (2 * LARGE)) for _ in range(40)]
    kept = bytearray(b"x" * 2000)
    del blocks
    return kept

done = return_large_blocks() if CALLED else False
before = resident()
kept = churn()
print(done, resident() - before)
"""


def kept(*, called: bool) -> tuple[bool, int]:
    """Return whether the C library agreed, and the KiB that a process keeps after large blocks were freed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CALLED", str(called))], check=True, capture_output=True, text=True
    )
    agreed, kibibytes = done.stdout.split()
    return agreed == "True", int(kibibytes)


@pytest.mark.needs("mallopt")
def test_large_blocks_are_returned_when_they_are_freed() -> None:
    agreed, left = kept(called=True)
    assert agreed
    assert left < 2048
    assert kept(called=False)[1] > 10 * 1024  # glibc keeps them by default


SCATTERED = """
from sdstop.core.heap import return_free_blocks

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))

return_free_blocks()
before = resident()
blocks = [bytearray(b"x" * 20000) for _ in range(1000)]
del blocks[:-1]  # the last one is above all that is free
kept = resident() - before
return_free_blocks()
print(kept, resident() - before)
"""


@pytest.mark.needs("mallopt")
def test_free_blocks_below_one_in_use_are_returned() -> None:
    done = subprocess.run([sys.executable, "-c", SCATTERED], check=True, capture_output=True, text=True)
    kept_before, kept_after = map(int, done.stdout.split())
    assert kept_before > 10 * 1024
    assert kept_after < 2048


THREADS = """
import threading
from sdstop.core.heap import return_large_blocks

if CALLED:
    return_large_blocks()
kept = []
thread = threading.Thread(target=lambda: kept.append(bytearray(20_000)))
thread.start()
thread.join()
starts = [int(line.partition("-")[0], 16) for line in open("/proc/self/maps") if " rw-p " in line]
print(sum(start % (64 << 20) == 0 for start in starts))
"""
"""Arenas of glibc other than the first begin at multiples of 64 MiB."""


@pytest.mark.needs("mallopt")
def test_threads_share_an_arena() -> None:
    found = []
    for called in (False, True):
        argv = [sys.executable, "-c", THREADS.replace("CALLED", str(called))]
        found.append(int(subprocess.run(argv, check=True, capture_output=True, text=True).stdout))
    assert found == [1, 0]
