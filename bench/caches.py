"""What caches and volumes add to a frame: CPU milliseconds as JSON.

    python bench/caches.py --caches 32 --volumes 200 --frames 40

A quarter of the caches are flashcaches, the others LVM's, and every counter moves. `parsed` and `judged` are what it
takes to make rows and rates of it and to judge these, more than for the same node without; `asked` is a start of
dmsetup for each of the two commands a second, without the kernel's part, None where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import time
from statistics import mean

from sdstop.collectors import BUILTIN
from sdstop.collectors.devicemapper.dmcache import DMCACHE
from sdstop.collectors.devicemapper.dmsetup import FLASHCACHES, PARTITIONS, STATUS
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.core.collector import providers_of
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Frame, command_key
from sdstop.core.history import History
from sdstop.core.replay import Replay
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.rules import RULES

SETTLED = 70
"""Frames that are not counted: the windows of rules fill."""
_LVM = "LVM-x"


def flashcache(index: int, second: int) -> tuple[str, str]:
    """Return the status and table of a flashcache."""
    hits, writes = 400 * second, 2000 * second
    status = (
        f"fast{index}: 0 2097152 flashcache stats: \n\treads({1000 * second}), writes({writes})\n"
        f"\tread hits({hits}), read hit percent(40)\n\twrite hits({hits}) write hit percent(20)\n"
        "\tdirty write hits(9) dirty write hit percent(1)\n\treplacement(7), write replacement(8)\n"
        "\twrite invalidates(5), read invalidates(6)\n\tpending enqueues(26), pending inval(13)\n"
        "\tmetadata dirties(11), metadata cleans(12)\n\tmetadata batch(3) metadata ssd writes(19)\n"
        "\tcleanings(11) fallow cleanings(62)\n\tno room(0) front merge(19) back merge(10)\n"
        "\tdisk reads(72), disk writes(37) ssd reads(23) ssd writes(42)\n"
        f"\tuncached reads({second}), uncached writes({second}), uncached IO requeue(1)\n"
        "\tuncached sequential reads(0), uncached sequential writes(0)\n"
        "\tpid_adds(0), pid_dels(0), pid_drops(0) pid_expiry(0)\n"
    )
    table = (
        f"fast{index}: 0 2097152 flashcache conf:\n\tssd dev (/dev/sdb), disk dev (/dev/sdc) cache mode(WRITE_BACK)\n"
        "\tcapacity(512M), associativity(512), data block size(4K) metadata block size(4096b)\n"
        f"\tskip sequential thresh(0K)\n\ttotal blocks(131072), cached blocks({3000 + second}), cache percent(2)\n"
        f"\tdirty blocks(36), dirty percent(0)\n\tnr_queued(0)\nSize Hist: 512:{second} 1024:75 4096:{hits} \n"
    )
    return status, table


def lvm(index: int, second: int) -> tuple[str, str]:
    """Return the status and table of a volume that LVM caches."""
    counts = f"{900 * second} {72 * second} {20 * second} {25 * second} 3 {38 * second} {second % 50}"
    status = f"8 4123/65536 128 350000/1600000 {counts} 2 metadata2 writeback 2 migration_threshold 2048 smq 0 rw - "
    name = f"vg-cached{index}: 0 104038400 cache"
    return f"{name} {status}\n", f"{name} 253:{index} 253:{index + 1} 253:{index + 2} 128 1 writeback smq 0\n"


def evidence(second: int, caches: int, volumes: int) -> list[Evidence]:
    """Return what the node's device mapper says in a second."""
    fast = [flashcache(index, second) for index in range(caches // 4)]
    slow = [lvm(index, second) for index in range(caches - len(fast))]
    linear = [f"vg-lv{index}: 0 2097152 linear" for index in range(volumes)]
    said = {
        STATUS: "".join([*(f"{line} \n" for line in linear), *(status for status, _ in (*fast, *slow))]),
        FLASHCACHES: "".join(table for _, table in fast),
    }
    if second == 1:
        names = [line.partition(":")[0] for line in (*linear, *(status for status, _ in (*fast, *slow)))]
        said[TABLE] = "".join([*(f"{line} 8:16 0\n" for line in linear), *(table for _, table in (*fast, *slow))])
        said[INFO] = "".join(f"{name}:253:{minor}:L--w:1:1:0:{_LVM}\n" for minor, name in enumerate(names))
    items = [Evidence(command_key(argv), data=text.encode(), exit=0) for argv, text in said.items()]
    numbers = "".join(f" 253 {minor} 1048576 dm-{minor}\n" for minor in range(caches + volumes))
    return [*items, *([Evidence(PARTITIONS, data=numbers.encode())] if second == 1 else [])]


class Node:
    """Frames of a node are replayed and judged, each step timed."""

    def __init__(self) -> None:
        """Start before the first frame."""
        self.parsed: list[float] = []
        self.judged: list[float] = []
        self._replay = Replay(BUILTIN)
        self._history = History(providers_of(BUILTIN))
        self._diagnosis = Diagnosis(RULES)

    def second(self, number: int, items: list[Evidence]) -> None:
        """Let one second pass."""
        began = time.process_time()
        shot = self._replay.feed(Frame(number, 1e9 + number, float(number), tuple(items)))
        rows = len(shot.rows(Cache)), len(shot.rows(CacheActivity))
        assert rows[0] == rows[1] or number == 1
        then = time.process_time()
        self._history.add(shot)
        window = self._history.window(self._replay.host.evidence)
        assert window is not None
        self._diagnosis.add(window)
        self.parsed.append((then - began) * 1000)
        self.judged.append((time.process_time() - then) * 1000)


def asked(times: int = 50) -> float | None:
    """Return what two starts of dmsetup take of each second, None if there is none."""
    program = shutil.which("dmsetup", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        subprocess.run([program, "version"], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 2000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / times / DMCACHE.pace


def main() -> None:
    """Print what a frame takes on average: caches are read in every second or so of them."""
    parser = argparse.ArgumentParser(description="What caches and volumes add to a frame.")
    parser.add_argument("--caches", type=int, default=32)
    parser.add_argument("--volumes", type=int, default=200)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--settled", type=int, default=SETTLED)
    options = parser.parse_args()
    full, bare = Node(), Node()
    for number in range(1, options.frames + options.settled + 1):
        read = number % round(DMCACHE.pace) == 1 or number == 2
        full.second(number, evidence(number, options.caches, options.volumes) if read else [])
        bare.second(number, [])
    added = {
        name: mean(getattr(full, name)[options.settled :]) - mean(getattr(bare, name)[options.settled :])
        for name in ("parsed", "judged")
    }
    print(json.dumps({**added, "asked": asked()}))


if __name__ == "__main__":
    main()
