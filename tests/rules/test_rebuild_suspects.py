"""rebuild-slow of sixty disks of a dRAID: what it could be limited by, and what was looked at and is not it."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.readings import TABLE
from sdstop.collectors.system.node import NODE
from sdstop.collectors.system.processes import PROCESSES
from sdstop.collectors.zfs.kstats import ZFS_DATASETS, ZFS_STATE
from sdstop.collectors.zfs.pools import ZFS
from sdstop.collectors.zfs.settings import ZFS_TUNING
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding
from sdstop.core.session import Session
from sdstop.rules.rebuilds.rebuild_slow import REBUILD_SLOW
from tests.nodes.firmware import board
from tests.nodes.frames import check, value
from tests.nodes.hba import Card, files
from tests.stories.draid import EVERY, DraidPool

COLLECTORS = (BLOCKDEV, DISKSTATS, HBA, DIMMS, NODE, PROCESSES, ZFS, ZFS_STATE, ZFS_DATASETS, ZFS_TUNING)
NAMES = tuple(f"sd{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60))
SUSPENDED = "/sys/module/zfs/parameters/zfs_scan_suspend_progress"


@cache
def slow(
    counts: tuple[int, ...] = (15, 15, 15, 15),
    modules: tuple[int, int] | None = (1, 1),
    *,
    each: float = 100e6,
    busy: float = 0.5,
    cpu: int = 20,
    more: tuple[tuple[str, str], ...] = (),
    running: tuple[str, float] | None = None,
) -> Finding:
    """Rebuild with HBAs of so many disks that move `each` bytes a second; `cpu` percent of one processor."""
    ends = [0]
    for count in counts:
        ends.append(ends[-1] + count)
    cards = [Card(0x81 + n, NAMES[slice(*span)]) for n, span in enumerate(pairwise(ends))]
    pool = DraidPool(NAMES, rate=0.9e9, partition="")
    session = Session(Origin("n"), COLLECTORS, [REBUILD_SLOW])
    for number, second in enumerate(range(0, 71, EVERY), start=1):
        given = pool.files(second)
        if not second:
            given |= pool.settings() | files(*cards) | dict(more)
        rows = "".join(
            f"   8 {n:7} {name} {second * 99} 0 {int(second * each / 512)} {second * 400} 0 0 0 0 0 "
            f"{int(second * 1000 * busy)} {second * 400} 0 0 0 0 0 0\n"
            for n, name in enumerate(NAMES)
        )
        first, rest = min(cpu, 100), max(cpu - 100, 0)
        one, other = (f"{second * spent} 0 0 {second * (100 - spent)}" for spent in (first, rest))
        both = f"{second * cpu} 0 0 {second * (200 - cpu)}"
        stat = f"cpu  {both} 0 0 0 0 0 0\ncpu0 {one} 0 0 0 0 0 0\ncpu1 {other} 0 0 0 0 0 0\nbtime 5\n"
        given |= {"/proc/diskstats": rows, "/proc/stat": stat}
        if running is not None:
            given["answer:psutil.processes"] = threads(*running)[second]
        items = [
            Evidence(f"slug:{path.split('/')[1]}" if path.startswith("commands/") else path, data=text.encode())
            for path, text in given.items()
        ]
        if modules and not second:
            items.append(Evidence(TABLE, data=board(modules).table()))
        session.feed(Frame(number, 1.7e9 + second, float(second), tuple(items)))
    (found,) = session.head().judgement.findings
    check(found)
    return found


def not_it(found: Finding) -> str:
    return str(value(found, "ruled_out"))


def test_one_module_for_each_socket() -> None:
    found = slow()
    assert found.cause == "Possible limit: memory, full speed takes 47.7 GB/s of 34.1 GB/s."
    assert "memory: 2 of 8 memory channels filled, 34.1 GB/s peak" in str(value(found, "possible"))
    assert found.steps[0] == "Fill the empty memory channels (see dimm-too-few-channels)."
    for part in ("HBAs", "CPUs", "disks (busiest 50.0%)"):
        assert part in not_it(found)
    assert any(cite.key == TABLE for cite in found.evidence)


@pytest.mark.parametrize(("each", "proven"), [(140e6, False), (144e6, True)])
def test_memory_that_is_taken_up_is_proven(each: float, proven: bool) -> None:  # noqa: FBT001  # a table
    """Three passes of 60 disks against three quarters of 34.1 GB/s: 142.2 MB/s each."""
    assert ("Limited by memory" in slow(each=each).summary) == proven


def test_all_modules_in_place() -> None:
    found = slow(modules=(4, 4))
    assert "memory (8 of 8 memory channels filled" in not_it(found)
    assert "memory" not in found.summary
    assert "zfs_rebuild_vdev_limit 64 MiB, zfs_vdev_rebuild_max_active 3" in str(value(found, "possible"))


@pytest.mark.parametrize(("each", "proven"), [(87e6, False), (92e6, True)])
def test_all_disks_behind_one_hba(each: float, proven: bool) -> None:  # noqa: FBT001  # a table
    """Its links carry 6.7 GB/s: four fifths of that are 89.3 MB/s for each of 60 disks."""
    found = slow((60,), (4, 4), each=each, busy=1.0)
    assert ("Limited by HBA 0000:81:00.0" in found.summary) == proven
    if proven:
        assert "hba-oversubscribed" in found.steps[0]
    else:
        assert "the disks are the limit" in found.summary


@pytest.mark.parametrize(("cpu", "word"), [(94, None), (96, "cpu0 96.0% busy")])
def test_a_processor_that_is_full(cpu: int, word: str | None) -> None:
    found = slow(modules=(4, 4), cpu=cpu)
    assert (word is None) == ("one CPU" not in found.summary)
    if word:
        assert word in found.summary


def test_a_parameter_that_stops_scans() -> None:
    found = slow(modules=(1, 1), more=((SUSPENDED, "1\n"),))
    assert "Limited by zfs_scan_suspend_progress" in found.summary
    assert any(cite.key == SUSPENDED for cite in found.evidence)


def test_what_could_not_be_looked_at_is_said() -> None:
    found = slow((), None)
    told = str(value(found, "unknown"))
    assert "HBAs: those of its disks unknown" in told
    assert "memory: channels unknown" in told


def test_memory_is_not_ruled_out_where_the_hbas_are_not_known() -> None:
    """Disks alone tell what they could take of it; without these nobody knows."""
    found = slow(())
    assert "memory: 2 of 8 memory channels filled" in str(value(found, "unknown"))
    assert "memory" not in not_it(found)
    block = {f"/sys/block/{name}/{what}": text for n, name in enumerate(NAMES)
             for what, text in (("dev", f"8:{n}\n"), ("queue/rotational", "1\n"))}  # fmt: skip
    found = slow((), more=tuple(block.items()))
    assert "memory: 2 of 8 memory channels filled" in str(value(found, "possible"))
    assert "full speed takes 47.7 GB/s" in found.cause


def test_full_disks_need_no_other_cause() -> None:
    found = slow(modules=(4, 4), busy=0.97)
    assert "the disks are the limit" in found.summary
    assert "HBAs" in not_it(found)


def threads(name: str, share: float) -> dict[int, str]:
    """Return psutil's answers in which two threads of a name take a share of a processor each, by second."""
    return {
        second: json.dumps(
            [
                {"pid": 70 + n, "name": name, "started": 9.5, "user": "root", "cmdline": "", "read_bytes": 0,
                 "write_bytes": 0, "cpu_seconds": round(5 + second * share, 2)}
                for n in range(2)
            ]
        )
        for second in range(0, 71, EVERY)
    }  # fmt: skip


def test_the_threads_of_the_pool_are_named() -> None:
    found = slow(modules=(4, 4), running=("z_wr_iss", 0.15))
    assert "its busiest thread z_wr_iss 15.0%" in not_it(found)


@pytest.mark.parametrize("name", ["kworker/0:1", "md0_raid6"])
def test_threads_of_others_are_not_its_own(name: str) -> None:
    assert "busiest thread" not in not_it(slow(modules=(4, 4), running=(name, 0.99)))


def test_full_processors_and_how_much_of_it_is_its_own() -> None:
    found = slow(modules=(4, 4), cpu=172, running=("z_rd_int", 0.8))
    assert "CPUs: 86.0% busy, 80.0% by its own threads" in str(value(found, "possible"))
