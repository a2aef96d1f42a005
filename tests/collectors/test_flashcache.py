"""flashcache in /proc, beside and instead of dmsetup."""

import pytest

from sdstop.collectors.devicemapper.dmcache import DMCACHE
from sdstop.collectors.devicemapper.flashcache import FLASHCACHE
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.model import Source
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes

FOLDER = "/proc/flashcache/sda+md2"
PROC = {
    "/proc/flashcache/flashcache_version": "Flashcache Version : flashcache-3.1.1\n",
    f"{FOLDER}/flashcache_stats": "reads=100 writes=50\nread_hits=40 write_hits=1 uncached_reads=20 uncached_writes=30",
    f"{FOLDER}/flashcache_errors": "disk_read_errors=1 disk_write_errors=0 ssd_read_errors=2 ssd_write_errors=3 \n",
    f"{FOLDER}/flashcache_iosize_hist": "512:7 1024:0 4096:3 \n",
}
SYSFS = {
    "/sys/block/sda/holders/dm-1": "",
    "/sys/block/sda/holders/dm-4": "",
    "/sys/block/md2/holders/dm-4": "",
    "/sys/block/dm-4/dm/name": "cachedev\n",
    "/sys/block/dm-4/dm/uuid": "\n",
}
STATUS = "cmd:dmsetup status --noflush"
TOLD = "cachedev: 0 8 flashcache stats: \n\treads(100), writes(50)\n"


def shot(files: dict[str, str], *evidence: Evidence) -> Snapshot:
    items = [Evidence(key, data=text.encode()) for key, text in files.items()]
    return Replay([DMCACHE, FLASHCACHE]).feed(Frame(1, 1000.0, 1.0, (*items, *evidence)))


def test_a_cache_without_root() -> None:
    found = shot(PROC | SYSFS, Evidence(STATUS, Outcome.DENIED, b"", "needs root"))
    (row,) = found.rows(Cache).values()
    assert (row.cache, row.kind, row.device, row.fast, row.slow) == ("cachedev", "flashcache", "dm-4", "sda", "md2")
    assert (row.reads, row.bypassed_reads, row.read_misses, row.fast_errors, row.slow_errors) == (100, 20, 40, 5, 1)
    assert (row.block_size, row.dirty, row.mode) == (None, None, None)
    assert row.source("bypassed_reads") == Source(f"{FOLDER}/flashcache_stats", "uncached_reads=20")
    (sizes,) = found.rows(RequestSizes).values()
    assert (dict(sizes.sizes), sizes.where) == ({512: 7, 4096: 10}, f"{FOLDER}/flashcache_iosize_hist")


def test_without_sysfs_it_has_the_folder_s_name() -> None:
    (row,) = shot(PROC).rows(Cache).values()
    assert (row.cache, row.device) == ("sda+md2", None)
    both = SYSFS | {"/sys/block/md2/holders/dm-1": ""}
    assert [row.cache for row in shot(PROC | both).rows(Cache).values()] == ["sda+md2"]


def test_holders_of_a_partition_are_in_its_own_folder() -> None:
    files = {key.replace("sda+", "sda1+").replace("/sys/block/sda/", "/sys/devices/sda/sda1/"): text
             for key, text in (PROC | SYSFS).items()}  # fmt: skip
    files["link:/sys/class/block/sda1"] = "../../devices/sda/sda1"
    (row,) = shot(files).rows(Cache).values()
    assert (row.cache, row.fast) == ("cachedev", "sda1")


def test_one_cache_is_one_row_whoever_tells_it() -> None:
    found = shot(PROC | {STATUS: TOLD})  # without sysfs nobody knows that they are the same
    assert [(row.cache, row.where) for row in found.rows(Cache).values()] == [("cachedev", STATUS)]


@pytest.mark.parametrize("outcome", [Outcome.DENIED, Outcome.FAILED, Outcome.TIMEOUT, Outcome.ABSENT])
def test_proc_takes_over_where_dmsetup_does_not_answer(outcome: Outcome) -> None:
    found = shot(PROC, Evidence(STATUS, outcome, b"", "why"))
    assert [row.cache for row in found.rows(Cache).values()] == ["sda+md2"]


def test_device_mapper_without_flashcaches_has_not_told_them() -> None:
    found = shot(PROC | {STATUS: "vg-lv: 0 8 linear \n"})
    assert [row.cache for row in found.rows(Cache).values()] == ["sda+md2"]


def test_no_module_no_cache_and_no_sense() -> None:
    for files in ({}, {"/proc/flashcache/x/y": ""}):
        with pytest.raises(Absent):
            list(FLASHCACHE.read(EvidenceHost.of(files)))
    assert list(FLASHCACHE.read(EvidenceHost.of({"/proc/flashcache/flashcache_version": "x"}))) == []
    with pytest.raises(Malformed):
        list(FLASHCACHE.read(EvidenceHost.of(PROC | {f"{FOLDER}/flashcache_stats": "oops"})))
