"""Backing devices of bcache that are registered and not started, and what cache-errors says of them."""

from __future__ import annotations

import pytest

from sdstop.collectors.bcache.backing import BCACHE_BACKING
from sdstop.collectors.bcache.devices import BCACHE
from sdstop.collectors.bcache.readings import BcacheWaiting
from sdstop.collectors.system.node import NODE
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Damage, Gap, Severity
from sdstop.core.model import Source
from sdstop.rules.caches.cache_errors import CACHE_ERRORS
from tests.nodes.frames import Judged, check

SETS = {"list:/sys/fs/bcache": "register\nregister_quiet", "list:/sys/block": "nvme0n1\nsdb"}
PART = "/sys/block/sdb/sdb1/bcache"


def files(running: int = 0, state: str = "dirty", uptime: float = 9000.0) -> dict[str, str]:
    return {**SETS, f"{PART}/running": f"{running}\n", f"{PART}/state": f"{state}\n", "/proc/uptime": f"{uptime} 1.0\n",
            "/sys/block/nvme0n1/bcache/io_errors": "0\n"}  # fmt: skip


def judged(known: dict[str, str]) -> Judged:
    return Judged((BCACHE, BCACHE_BACKING, NODE), [CACHE_ERRORS], [(0.0, known)])


def test_a_partition_that_waits_for_its_cache() -> None:
    (row,) = BCACHE_BACKING.read(EvidenceHost.of(files()))
    assert row == BcacheWaiting("sdb1", "sdb", "dirty")
    assert (row.source(), row.source("state")) == (Source(f"{PART}/running"), Source(f"{PART}/state"))


def test_a_whole_disk_that_waits_for_its_cache() -> None:
    known = {**SETS, "/sys/block/sdb/bcache/running": "0\n"}
    assert list(BCACHE_BACKING.read(EvidenceHost.of(known))) == [BcacheWaiting("sdb", "sdb")]


def test_without_the_module_no_disk_is_looked_at() -> None:
    assert list(BCACHE_BACKING.read(EvidenceHost.of({f"{PART}/running": "0\n"}))) == []


@pytest.mark.parametrize(
    ("state", "damage"), [("dirty", Damage.DATA), ("clean", Damage.AVAILABILITY), ("no cache", Damage.AVAILABILITY)]
)
def test_what_is_missing_depends_on_the_data_in_the_cache(state: str, damage: Damage) -> None:
    finding = judged(files(state=state)).finding("sdb1")
    assert (finding.severity, finding.damage) == (Severity.CRITICAL, damage)
    check(finding)


@pytest.mark.parametrize(("uptime", "early"), [(119.0, True), (120.0, False)])
def test_caches_appear_after_the_start_of_the_node(uptime: float, early: bool) -> None:  # noqa: FBT001
    said = judged(files(uptime=uptime))
    if early:
        assert said.unchecked("sdb1").gap is Gap.EARLY
    else:
        said.finding("sdb1")


def test_a_device_that_runs_is_that_of_bcache() -> None:
    assert judged(files(running=1)).silent()
