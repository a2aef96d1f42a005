"""Pools among the disks, and rebuilds of every kind in lines of one schema, there and in the overview."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.host import Host
from sdstop.core.session import Session
from sdstop.readings.rebuild import Rebuild
from sdstop.rules import RULES
from tests.fixtures import opened, story
from tests.stories.draid import EVERY, DraidPool
from tests.tui.screens import SMALL, WIDE, screen

DISKS = tuple(f"sd{a}{b}" for a in ("", "a", "b") for b in string.ascii_lowercase)[:60]
GIB = 1 << 30


def _key(path: str) -> str:
    return f"slug:{path.split('/')[1]}" if path.startswith("commands/") else path


def rebuilding(seconds: int = 60) -> Session:
    """Show a node whose sixty disks rebuild one."""
    pool = DraidPool(DISKS, partition="")
    session = Session(Origin("n"), BUILTIN, RULES)
    for number, second in enumerate(range(0, seconds + 1, EVERY), start=1):
        files = pool.files(second) | (pool.settings() if not second else {})
        done = f"{second * 30} 0 {second * 70_000} {second * 500} 0 0 0 0 0 {second * 500} 0"
        stat = "".join(f"8 {number} {disk} {done}\n" for number, disk in enumerate(DISKS))
        items = [Evidence(_key(path), data=text.encode()) for path, text in {**files, "/proc/diskstats": stat}.items()]
        session.feed(Frame(number, 1.7e9 + second, float(second), tuple(items)))
    return session


async def test_a_pool_with_its_vdevs_and_devices_in_the_disks_view() -> None:
    origin, frames = opened("vm-zfs-draid")
    session = Session(origin, BUILTIN, RULES)
    for frame in [*frames][:50]:
        session.feed(frame)
    async with screen(session, WIDE) as seen:
        text = await seen.press("2")
        assert "11 disks, 0 arrays, 1 pool" in text
        lines = text.splitlines()
        first = next(n for n, line in enumerate(lines) if "pool of 8 devices  DEGRADED" in line)
        heads = [line.strip("* ").split()[0] for line in lines[first + 1 : first + 14]]
        tree = "scrub draid1:4d:8c:1s-0 vda vdb vdc spare-3 vdd draid1-0-0 vde vdf vdg vdh spares"
        assert heads == tree.split()
        assert "offline" in seen.line("vdd ")
        assert "3" in seen.line("Disks outside arrays and pools")
        assert "tank" in (await seen.press("1")).split("Disks, folded")[1]


async def test_what_is_a_part_of_what_is_seen_at_every_width() -> None:
    session = story("vm-zfs-draid").session
    parts = ("draid1:4d", "vda ", "spare-3", "replacing-0", "vdd ", "draid1-0-0  ONLINE", "vde ")
    for size, insets in (((80, 44), (2, 4, 4, 6, 8, 6, 4)), (WIDE, (7, 9, 9, 11, 13, 11, 9))):
        async with screen(session, size) as seen:
            await seen.press("2")
            found = tuple(seen.line(part).index(part) for part in parts)
            assert found == insets
            assert "offline" in seen.line("vdd ")
    async with screen(session, (120, 40)) as seen:
        assert "vdd offline" in (await seen.press("1")).split("Disks, folded")[1]
    async with screen(session, (60, 44)) as seen:
        await seen.press("2")
        assert "vdd" in seen.line("vdd")  # a name goes before what it is a part of


async def test_a_rebuild_of_sixty_disks_at_both_sizes() -> None:
    session = rebuilding()
    async with screen(session, WIDE) as seen:
        line = seen.line("tank/draid2:8d:60c:2s-0 rebuild")
        for part in ("42.0%", "of 301T", "GiB/s", "ETA", " to ", "  slow"):
            assert part in line, line
        text = await seen.press("2")
        assert "DEGRADED  301T of 764T in use (39.4%)" in seen.line("pool of 60 devices")
        assert "spare-17" in text
        assert "faulted" in seen.line("sdr ")
    async with screen(session, SMALL) as seen:
        assert "rebuild 42.0%" in seen.lines()[2]


async def test_a_long_name_does_not_push_the_end_of_a_rebuild_off_the_screen() -> None:
    async with screen(story("draid-one-dimm").session, (100, 40)) as seen:
        line = seen.line(" ETA ")
        assert line.strip().startswith("N58-C3-D16-P3-S1/draid3:")
        assert "5.9 GiB/s  ETA 27h08" in line
        assert len(line) <= 100


def read(host: Host) -> Iterator[Rebuild]:
    yield Rebuild(**json.loads(host.text("/cluster")))


async def test_what_has_no_device_here_stands_above() -> None:
    session = Session(Origin("n"), [*BUILTIN, Collector("cluster", "C", read, (Rebuild,), ())], RULES)
    for number in range(13):
        told = {"array": "pool1", "operation": "rebalance", "state": "running", "kind": "powerflex",
                "where": "/cluster", "done": (100 + number) * GIB, "total": 1000 * GIB}  # fmt: skip
        items = (Evidence("/cluster", data=json.dumps(told).encode()),)
        session.feed(Frame(number + 1, 1.7e9 + number, float(number), items))
    async with screen(session, WIDE) as seen:
        assert "112G of 1000G  1.0 GiB/s  ETA" in seen.line("pool1 rebalance")
        text = await seen.press("2")
        assert "Rebuilds without a local device  1" in text
        assert "112G of 1000G  1.0 GiB/s  ETA" in seen.line("pool1 rebalance")


async def test_a_pool_that_does_not_answer_says_so() -> None:
    session = Session(Origin("n"), BUILTIN, RULES)
    session.feed(Frame(1, 1.7e9, 0.0, (Evidence("/proc/spl/kstat/zfs/tank/state", data=b"SUSPENDED\n"),)))
    async with screen(session, WIDE) as seen:
        text = await seen.press("2")
        assert "tank  pool  SUSPENDED  no data from zpool status" in text
