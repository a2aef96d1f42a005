"""What ZFS counts and has set: states, intent log, datasets, settings, parameters, queues of vdevs."""

from __future__ import annotations

import contextlib
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.zfs import kstats as zfs_kstats
from sdstop.collectors.zfs import load as zpool_load
from sdstop.collectors.zfs import settings as zfs_settings
from sdstop.collectors.zfs.datasets import Dataset, DatasetSettings, IntentLog, Tuning, activity
from sdstop.collectors.zfs.kstats import ZFS_DATASETS, ZFS_STATE
from sdstop.collectors.zfs.load import ZPOOL_LOAD
from sdstop.collectors.zfs.readings import IOSTAT, KSTATS, PoolState, VdevLoad
from sdstop.collectors.zfs.settings import ZFS_SETTINGS, ZFS_TUNING
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Failed, Malformed
from sdstop.core.model import Reading, Source
from tests.nodes.zfs import SETTINGS, kstat, node, zil
from tests.stories.draid import DraidPool

R = TypeVar("R", bound=Reading)


def rows(collector: Collector, family: type[R], files: dict[str, str], links: dict[str, str] | None = None) -> list[R]:
    items = [Evidence(key, data=text.encode()) for key, text in files.items()]
    items += [Evidence(f"link:{path}", data=target.encode()) for path, target in (links or {}).items()]
    return [row for row in collector.read(EvidenceHost(items)) if isinstance(row, family)]


def test_the_state_is_told_when_the_pool_answers_nobody() -> None:
    assert rows(ZFS_STATE, PoolState, node(None, state="SUSPENDED")) == [PoolState("tank", "SUSPENDED")]


def test_the_intent_log() -> None:
    (log,) = rows(ZFS_STATE, IntentLog, {**node(None), **zil(1000, slog=400)})
    assert (log.commits, log.log_writes, log.slog_writes, log.slog_bytes) == (1000, 600, 400, 400 * 8192)
    assert log.source("slog_writes") == Source(f"{KSTATS}/zil", f"{'zil_itx_metaslab_slog_count':<31} 4    400")
    wrapped = kstat(zil_commit_count=5) + f"{'zil_itx_metaslab_normal_bytes':<31} 4    18446744073709537686000\n"
    (log,) = rows(ZFS_STATE, IntentLog, {**node(None), f"{KSTATS}/zil": wrapped})
    assert (log.commits, log.log_bytes, log.slog_writes) == (5, None, None)


def test_datasets_and_their_rates() -> None:
    files = {
        **node(None),
        f"{KSTATS}/tank/objset-0x36": kstat(name="tank/a file", writes=5, nwritten=1 << 20, reads=7, nread=9),
        f"{KSTATS}/tank/objset-0x9a": kstat(name="tank/v1", writes=1, nwritten=2, reads=3, nread=4, zil_commit_count=8,
                                            zil_itx_metaslab_slog_bytes=11),
    }  # fmt: skip
    first, second = rows(ZFS_DATASETS, Dataset, files)
    assert (first.pool, first.dataset, first.writes, first.commits) == ("tank", "tank/a file", 5, None)
    assert (second.dataset, second.commits, second.slog_bytes, second.log_bytes) == ("tank/v1", 8, 11, None)
    assert second.source("commits") == Source(f"{KSTATS}/tank/objset-0x9a", f"{'zil_commit_count':<31} 4    8")
    later = Dataset("tank", "tank/v1", 3, 21, 4, 1002, 28)
    rate = activity(second, later, 10.0)
    assert rate is not None
    assert (rate.writes, rate.written_bytes, rate.commits, rate.reads) == (2.0, 100.0, 2.0, 0.0)
    assert activity(later, second, 10.0) is None
    plain = activity(first, first, 5.0)
    assert plain is not None
    assert plain.commits is None


def test_before_0_8_no_dataset_is_counted() -> None:
    with pytest.raises(Absent, match="no dataset"):
        rows(ZFS_DATASETS, Dataset, node(None))


def test_settings() -> None:
    text = "".join(
        f"{name}\t{key}\t{value}\n"
        for name, said in {
            "tank": {"type": "filesystem", "sync": "standard", "recordsize": "1048576", "volblocksize": "-"},
            "tank/v1": {
                "type": "volume",
                "sync": "always",
                "volblocksize": "8192",
                "volsize": "1000",
                "recordsize": "-",
            },
        }.items()
        for key, value in said.items()
    )
    first, second = rows(
        ZFS_SETTINGS, DatasetSettings, {**node(None), SETTINGS: text}, {"/dev/zvol/tank/v1": "../zd16"}
    )
    assert (first.kind, first.recordsize, first.volblocksize, first.device) == ("filesystem", 1 << 20, None, None)
    assert (second.kind, second.volblocksize, second.sync, second.device) == ("volume", 8192, "always", "zd16")
    assert second.source("volblocksize") == Source(SETTINGS, "tank/v1\tvolblocksize")


def test_settings_that_somebody_else_recorded() -> None:
    text = "tank\trecordsize\t131072\tlocal\ntank@s\trecordsize\t131072\tlocal\ntank/v\tvolblocksize\t8192\t-\n"
    found = rows(ZFS_SETTINGS, DatasetSettings, {"cmd:zfs get -H -p all": text})
    assert [(row.dataset, row.kind) for row in found] == [("tank", "filesystem"), ("tank/v", "volume")]
    assert found[0].where == "cmd:zfs get -H -p all"


def test_parameters() -> None:
    (tuning,) = rows(ZFS_TUNING, Tuning, node(None))
    assert (tuning.version, tuning.resilver_min_time, tuning.scan_suspended) == ("2.1.11-1", 3000, None)
    assert tuning.source("resilver_min_time") == Source("/sys/module/zfs/parameters/zfs_resilver_min_time_ms")


def loads(text: str) -> list[VdevLoad]:
    return rows(ZPOOL_LOAD, VdevLoad, {**node(None), command_key(IOSTAT): text})


def test_queues_and_waits_of_2_1() -> None:
    found = loads(DraidPool(("sda", "sdb"), data=1, parity=1, spares=0).iostat())
    assert [row.vdev for row in found] == ["tank", "draid1:1d:2c:0s-0", "sda", "sdb"]
    assert (found[2].read_wait, found[2].disk_write_wait, found[2].sync_writes) == (24_113_000, 9_101_000, 0)
    assert (found[2].async_writes, found[2].scrubs, found[2].rebuilds) == (1, 0, None)


@pytest.mark.parametrize(("waits", "queues", "rebuilds"), [(9, 10, None), (10, 12, None), (11, 14, 25)])
def test_columns_of_each_version(waits: int, queues: int, rebuilds: int | None) -> None:
    line = "\t".join(["tank", "1", "2", "3", "4", "5", "6", *["-"] * waits, *map(str, range(queues))])
    (row,) = loads(f"{line}\n")
    assert (row.read_wait, row.sync_reads, row.sync_writes, row.scrubs) == (None, 1, 5, 17)
    assert row.rebuilds == (None if rebuilds is None else 25)


def test_a_pools_lines_follow_its_name() -> None:
    line = "\t".join(["0"] * 28)
    text = "".join(f"{name}\t{line}\n" for name in ("a", "mirror-0", "b", "mirror-0"))
    assert [(row.pool, row.vdev) for row in zpool_load.parse(text, ["a", "b"])] == [
        ("a", "a"), ("a", "mirror-0"), ("b", "b"), ("b", "mirror-0")
    ]  # fmt: skip


def test_what_fails_says_so() -> None:
    with pytest.raises(Malformed):
        loads("tank\t1\t2\n")
    for collector, key in ((ZPOOL_LOAD, command_key(IOSTAT)), (ZFS_SETTINGS, SETTINGS)):
        items = [Evidence(name, data=text.encode()) for name, text in node(None).items()]
        with pytest.raises(Failed, match="exit 1: no"):
            list(collector.read(EvidenceHost([*items, Evidence(key, stderr=b"no\n", exit=1)])))
    with pytest.raises(Malformed):
        rows(ZFS_SETTINGS, DatasetSettings, {**node(None), SETTINGS: "tank recordsize 5\n"})


table = st.text(st.sampled_from("tank-0159\t\n .M"), max_size=80)


@given(table, st.text(max_size=20))
def test_no_text_breaks_the_parsers(text: str, other: str) -> None:
    for said in (text, other, f"{text}\n{other}", kstat(a=5) + text):
        with contextlib.suppress(Malformed):
            zfs_settings.parse(said)
        with contextlib.suppress(Malformed):
            list(zpool_load.parse(said, ["tank"]))
        with contextlib.suppress(Malformed):
            assert all(isinstance(name, str) for name in zfs_kstats.parse(said))
