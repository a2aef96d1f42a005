"""Caches of device mapper on nodes of every kind: names, sources, what is lacking."""

from collections.abc import Mapping, Sequence

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.devicemapper.dmcache import DMCACHE, MODULES
from sdstop.collectors.devicemapper.flashcache import FLASHCACHE
from sdstop.collectors.devicemapper.mapper import MAPPER
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.core.collector import commands_of
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Host, Output, TimedOut
from sdstop.core.model import Source
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.readings.iosize import RequestSizes
from tests.fixtures import opened

STATUS = (
    "vg0-home: 0 2048 linear \n"
    "vg--a-data: 0 1040384 cache 8 12/2048 128 35/1600 1 2 3 4 5 6 7 1 writeback 0 smq 0 rw - \n"
    "fast: 0 8192 flashcache stats: \n\treads(100), writes(50)\n\tread hits(40), read hit percent(40)\n"
    "\twrite hits(10) write hit percent(20)\n\tuncached reads(20), uncached writes(30)\n"
    "wc: 0 1024 writecache 0 1000 600 0 90 10 50 3 4 8 35 2 6 1\n"
)
FLASH = (
    "fast: 0 8192 flashcache conf:\n\tssd dev (/dev/sdb), disk dev (/dev/disk/by-id/md-x) cache mode(WRITE_BACK)\n"
    "\tcapacity(4M), data block size(4K)\n\ttotal blocks(1024), cached blocks(10)\nSize Hist: 512:7 4096:3 \n"
)
TABLE = (
    "vg0-home: 0 2048 linear 8:16 0\n"
    "vg--a-data: 0 1040384 cache 253:2 253:1 8:32 128 1 writeback smq 0\n"
    + FLASH
    + "wc: 0 1024 writecache s 8:0 259:1 512 0\n"
)
INFO = (
    "vg0-home:253:0:L--w:1:1:0:LVM-1\nvg--a-data:253:4:L--w:1:1:0:LVM-2\nfast:253:7:L--w:1:1:0:\nwc:253:8:L--w:1:1:0:\n"
)
PARTITIONS = "major minor  #blocks  name\n\n 8 0 9 sda\n 8 32 9 sdc\n 253 1 9 dm-1\n 253 2 9 dm-2\n 259 1 9 nvme0n1p1\n"
STATUS_KEY, TABLE_KEY = "cmd:dmsetup status --noflush", "cmd:dmsetup table"
FLASH_KEY, INFO_KEY = "cmd:dmsetup table --target flashcache", "cmd:dmsetup info -c --noheadings --separator :"
NODE = {
    STATUS_KEY: STATUS,
    TABLE_KEY: TABLE,
    FLASH_KEY: FLASH,
    INFO_KEY: INFO,
    "/proc/partitions": PARTITIONS,
    "link:/dev/disk/by-id/md-x": "../../md127",
}


def shot(files: Mapping[str, str], *evidence: Evidence) -> Snapshot:
    items = [Evidence(key, data=text.encode()) for key, text in files.items()]
    return Replay([MAPPER, DMCACHE, FLASHCACHE]).feed(Frame(1, 1000.0, 1.0, (*items, *evidence)))


def caches(files: Mapping[str, str], *evidence: Evidence) -> dict[str, Cache]:
    return {row.cache: row for row in shot(files, *evidence).rows(Cache).values()}


def test_caches_have_the_names_that_people_and_the_kernel_give_them() -> None:
    found = caches(NODE)
    assert [(row.cache, row.kind, row.device, row.fast, row.slow) for row in found.values()] == [
        ("vg-a/data", "dm-cache", "dm-4", "dm-1,dm-2", "sdc"),
        ("fast", "flashcache", "dm-7", "sdb", "md127"),
        ("wc", "dm-writecache", "dm-8", "nvme0n1p1", "sda"),
    ]
    assert (found["fast"].size, found["wc"].block_size, found["vg-a/data"].block_size) == (4 << 20, 512, 65536)


def test_each_number_has_its_source() -> None:
    found = caches(NODE)
    assert found["fast"].source("bypassed_reads") == Source(STATUS_KEY, "uncached reads(20)")
    assert found["fast"].source() == Source(STATUS_KEY, "reads(100)")
    assert found["fast"].source("block_size") == Source(FLASH_KEY, "block size")
    assert found["vg-a/data"].source("read_hits") == Source(STATUS_KEY, "vg--a-data:")
    assert found["wc"].source("block_size") == Source(TABLE_KEY, "wc:")


def test_sizes_of_requests_are_the_modules() -> None:
    rows = list(shot(NODE).rows(RequestSizes).values())
    assert [(row.counter, row.device, row.direction, dict(row.sizes), row.larger) for row in rows] == [
        ("flashcache", "", "", {512: 7, 4096: 10}, None)
    ]
    assert rows[0].source() == Source(FLASH_KEY, "Size Hist")


def test_without_dmsetup_info_sysfs_has_the_names() -> None:
    sysfs = {
        "/sys/block/dm-4/dm/name": "vg--a-data\n",
        "/sys/block/dm-4/dm/uuid": "LVM-2\n",
        "/sys/block/dm-1/dev": "253:1\n",
        "/sys/block/cciss!c0d0/dev": "8:32\n",
    }
    row = caches({STATUS_KEY: STATUS, TABLE_KEY: TABLE} | sysfs)["vg-a/data"]
    assert (row.device, row.fast, row.slow) == ("dm-4", "dm-1", "cciss/c0d0")


def test_a_status_alone_is_enough_for_hits() -> None:
    found = caches({STATUS_KEY: STATUS})
    assert (found["vg--a-data"].read_hits, found["vg--a-data"].slow, found["vg--a-data"].settings) == (1, None, "")
    assert (found["fast"].bypassed_reads, found["fast"].block_size) == (20, None)


def test_what_somebody_recorded_of_one_device_is_taken() -> None:
    of_one = {
        "slug:dmsetup_status_fast": "0 8192 " + STATUS[STATUS.index("flashcache") : STATUS.index("wc:")],
        "slug:dmsetup_table_fast": FLASH.removeprefix("fast: "),
    }
    row = caches(of_one)["fast"]
    assert (row.reads, row.size, row.slow) == (100, 4 << 20, "disk/by-id/md-x")
    assert row.source("reads") == Source("slug:dmsetup_status_fast", "reads(100)")
    assert [r.where for r in shot(of_one).rows(RequestSizes).values()] == ["slug:dmsetup_table_fast"]
    assert caches({"cmd:dmsetup status fast": of_one["slug:dmsetup_status_fast"]})["fast"].reads == 100


def test_a_cut_line_costs_that_cache_alone() -> None:
    cut = shot({**NODE, STATUS_KEY: STATUS.replace("1 2 3 4 5 6 7 1 writeback 0 smq 0 rw -", "1 2")})
    run = cut.runs["dmcache"]
    assert (run.word, run.reason) == ("partial", "vg-a/data: its line is cut off")
    rows = {row.cache: row for row in cut.rows(Cache).values()}
    assert (rows["vg-a/data"].read_hits, rows["vg-a/data"].read_misses, rows["vg-a/data"].used) == (1, None, 35 * 65536)
    assert (rows["fast"].state, rows["wc"].state) == (None, "ok")


def test_a_flashcache_that_is_cut_within_a_value_says_so() -> None:
    found = shot({**NODE, STATUS_KEY: STATUS[: STATUS.index("uncached writes(3") + 17]})
    assert found.runs["dmcache"].reason == "fast: its line is cut off"
    row = found.get(Cache, ("fast", "flashcache"))
    assert row is not None
    assert (row.bypassed_reads, row.bypassed_writes) == (20, None)


def test_a_line_that_makes_no_sense_costs_that_cache_alone() -> None:
    found = shot({**NODE, STATUS_KEY: STATUS.replace("8 12/2048", "8 twelve")})
    assert found.runs["dmcache"].reason == "vg-a/data: its line is not understood"
    assert len(found.rows(Cache)) == 3


def test_two_caches_of_one_mapping_are_two() -> None:
    twice = "a: 0 8 cache Fail\na: 8 8 cache Fail\n"
    assert list(caches({STATUS_KEY: twice})) == ["a", "a@4096"]


def test_activity_follows() -> None:
    replay = Replay([DMCACHE])
    replay.feed(Frame(1, 1000.0, 1.0, tuple(Evidence(key, data=text.encode()) for key, text in NODE.items())))
    later = STATUS.replace("reads(100)", "reads(160)").replace("uncached reads(20)", "uncached reads(70)")
    row = replay.feed(Frame(2, 1002.0, 3.0, (Evidence(STATUS_KEY, data=later.encode()),))).get(
        CacheActivity, ("fast", "flashcache")
    )
    assert row is not None
    assert (row.reads, row.bypassed, row.misses, row.bypass_share) == (30.0, 25.0, 5.0, 50 / 60)


def test_device_mapper_s_devices_are_listed() -> None:
    rows = list(shot(NODE).rows(MappedDevice).values())
    assert rows[0] == MappedDevice("vg0-home", "vg0/home", "dm-0", "linear", 1, 1 << 20)
    assert [(row.volume, row.targets) for row in rows[1:]] == [
        ("vg-a/data", "cache"), ("fast", "flashcache"), ("wc", "writecache"),
    ]  # fmt: skip
    assert rows[0].source("size") == Source(TABLE_KEY, "vg0-home:")


def test_the_mapping_with_a_thin_pool_s_name_is_a_placeholder() -> None:
    uuid = "LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO"
    tables = (
        "vg0-pool: 0 8 linear 253:2 0\nvg0-pool-tpool: 0 8 thin-pool 253:0 253:1 128 0 0\na-pool: 0 8 linear 8:0 0\n"
    )
    names = (
        f"vg0-pool:253:3:L--r:0:1:0:{uuid}-pool\nvg0-pool-tpool:253:2:L--w:2:1:0:{uuid}-tpool\n"
        "a-pool:253:4:L--w:0:1:0:a-pool\n"
    )
    found = shot({TABLE_KEY: tables, INFO_KEY: names})
    rows = found.rows(MappedDevice).values()
    assert [row.purpose for row in rows] == ["placeholder", "thin-pool", "linear"]


# --- who may ask, and whom ----------------------------------------------------------------------------------


class Node(Host):
    """A live node: files, and what dmsetup does."""

    def __init__(self, files: Mapping[str, str], output: Output | Exception) -> None:
        self._files = EvidenceHost.of(files)
        self._output = output
        self.ran: list[str] = []

    def read(self, path: str) -> bytes:
        return self._files.read(path)

    def entries(self, path: str) -> list[str]:
        return self._files.entries(path)

    def link(self, path: str) -> str:
        return self._files.link(path)

    def answer(self, question: str) -> object:
        raise Absent(question)

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        del deadline
        self.ran.append(" ".join(argv))
        if isinstance(self._output, Exception):
            raise self._output
        return self._output


def test_nobody_is_asked_where_no_cache_can_be() -> None:
    node = Node({"/sys/block/dm-0/dev": "253:0"}, Output(b""))
    assert list(DMCACHE.read(node)) == []
    assert node.ran == []
    assert list(MAPPER.read(Node({"/sys/block/sda/dev": "8:0"}, Absent("x")))) == []


@pytest.mark.parametrize("module", MODULES)
def test_one_command_a_second_where_one_can_be(module: str) -> None:
    node = Node({f"/sys/module/{module}/refcnt": "0"}, Output(b"vg0-home: 0 2048 linear \n"))
    DMCACHE.read(node)
    assert node.ran == ["dmsetup status --noflush"]


def test_a_flashcache_takes_a_second_command_and_its_links() -> None:
    files = {"/sys/module/flashcache/x": "", "link:/dev/disk/by-id/md-x": "../../md127"}
    recording = RecordingHost(Node(files, Output((STATUS + FLASH).encode())))
    DMCACHE.read(recording)  # the sampler asks for no rows
    assert {STATUS_KEY, FLASH_KEY, "link:/dev/disk/by-id/md-x"} <= recording.evidence.keys()
    assert INFO_KEY not in recording.evidence


@pytest.mark.parametrize(
    ("stderr", "error", "words"),
    [
        (b"/dev/mapper/control: open failed: Permission denied\nCommand failed.\n", Denied, "needs root"),
        (b"/dev/mapper/control: mknod failed: Operation not permitted\nCommand failed.\n", Denied, "needs root"),
        (b"/dev/mapper/control: open failed: No such device\nCommand failed.\n", Absent, "device mapper"),
        (b"device-mapper: oops\nCommand failed.\n", Failed, "device-mapper: oops"),
        (b"", Failed, "status 1"),
    ],
)
def test_why_dmsetup_fails_is_told(stderr: bytes, error: type[Exception], words: str) -> None:
    files = {"/sys/module/dm_cache/x": "", "/sys/block/dm-0/dev": "253:0"}
    for collector in (DMCACHE, MAPPER):
        with pytest.raises(error, match=words):
            list(collector.read(Node(files, Output(b"", stderr, 1))))


@pytest.mark.parametrize("error", [Absent("cmd:x", "dmsetup is not installed"), TimedOut("cmd:x", "no answer")])
def test_other_reasons_are_passed_on(error: Exception) -> None:
    with pytest.raises(type(error)):
        list(DMCACHE.read(Node({"/sys/module/dm_cache/x": ""}, error)))


def test_that_the_slow_commands_hang_costs_names_only() -> None:
    hung = [Evidence(key, Outcome.TIMEOUT, b"", "no answer") for key in (TABLE_KEY, INFO_KEY)]
    found = caches({STATUS_KEY: STATUS}, *hung)
    assert (found["vg--a-data"].read_hits, found["vg--a-data"].device) == (1, None)


def test_keys_of_encryption_are_never_asked_for() -> None:
    ours = [command.argv for command in commands_of(BUILTIN) if command.argv[0] == "dmsetup"]
    assert len(ours) == 5
    assert not any("--showkeys" in argv or "*" in argv for argv in ours)
    assert [argv for argv in ours if argv[1] == "status"] == [
        ("dmsetup", "status", "--noflush"),
    ]


# --- real kernels -------------------------------------------------------------------------------------------


def last(fixture: str) -> Snapshot:
    origin, frames = opened(fixture)
    replay = Replay([MAPPER, DMCACHE], known=origin.collectors)
    return [replay.feed(frame) for frame in frames][-1]


def test_lvm_s_cache_of_a_real_kernel() -> None:
    row = last("vm-dm-cache").get(Cache, ("vg0/vol", "dm-cache"))
    assert row is not None
    assert (row.device, row.fast, row.slow, row.mode, row.policy) == ("dm-0", "dm-1,dm-2", "dm-3", "writeback", "smq")
    assert (row.block_size, row.size, row.read_hits, row.promotions) == (65536, 1600 * 65536, 187, 58)
    activity = last("vm-dm-cache").get(CacheActivity, ("vg0/vol", "dm-cache"))
    assert activity is not None
    assert activity.reads is not None


def test_a_writecache_of_a_real_kernel() -> None:
    row = last("vm-dm-writecache").get(Cache, ("wc", "dm-writecache"))
    assert row is not None
    assert (row.device, row.fast, row.slow, row.block_size, row.counts) == ("dm-0", "vdb", "vda", 512, "blocks")
    assert (row.size, row.used, row.promotions) == (254200 * 512, (254200 - 252599) * 512, 1601)
