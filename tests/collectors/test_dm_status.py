"""One `dmsetup status` for all targets: its lines as kernels print them, damaged ones, and when it is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors import BUILTIN
from sdstop.collectors.devicemapper import checksums, raid_volumes, snapshots
from sdstop.collectors.devicemapper.dmcache import DMCACHE
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.dmtable import Segment
from sdstop.collectors.devicemapper.mapper import TableMark
from sdstop.collectors.devicemapper.raid_volumes import parse, parse_table
from sdstop.collectors.devicemapper.readings import INFO, TABLE, ChecksummedDevice, MappedTarget
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.collectors.devicemapper.thin_pools import UNREAD
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState, ThinPool, ThinVolume, VolumeSnapshot
from sdstop.core.collector import texts_of
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Host, Malformed, Output
from sdstop.core.model import Reading
from sdstop.core.session import Session
from sdstop.node.live import LiveHost
from sdstop.pasted.reader import read_nodes
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild
from sdstop.rules.arrays.volume_degraded import VOLUME_DEGRADED
from sdstop.rules.space.snapshot_filling import SNAPSHOT_FILLING
from sdstop.rules.space.thin_pool_filling import THIN_POOL_FILLING

STATUS_KEY, TABLE_KEY, INFO_KEY = command_key(STATUS), command_key(TABLE), command_key(INFO)
LVM = "LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO"


def rows(status: str, **more: str) -> list[Reading]:
    """Return the rows of a status; more evidence by the name of its command."""
    keys = {"table": TABLE_KEY, "info": INFO_KEY}
    return list(DM_STATUS.read(EvidenceHost.of({STATUS_KEY: status, **{keys[k]: v for k, v in more.items()}})))


def one(status: str, **more: str) -> Reading:
    return rows(status, **more)[0]


# --- raid ---------------------------------------------------------------------------------------------------


def test_a_mirror_of_lvm_that_lost_a_member() -> None:
    row, mismatch = rows(
        "vg0-mir: 0 65536 raid raid1 2 AD 65536/65536 idle 0 0 -\n",
        table="vg0-mir: 0 65536 raid raid1 3 0 region_size 4096 2 254:0 254:1 254:2 254:3\n",
        info=f"vg0-mir:254:4:L--w:0:1:0:{LVM}\nvg0-mir_rimage_0:254:1:L--w:1:1:0:{LVM}\n",
    )
    assert isinstance(row, MappedRaidState)
    assert (row.volume, row.device, row.level, row.health) == ("vg0/mir", "dm-4", "raid1", "AD")
    assert (row.members, row.failed, row.stale, row.action) == (2, 1, 0, "idle")
    assert isinstance(mismatch, Mismatch)
    assert (mismatch.found_by, mismatch.differ) == (None, 0)


@pytest.mark.parametrize(
    ("line", "operation", "done", "state"),
    [
        ("raid5_ls 3 AaA 1024/16384 recover 0 0 -", "recovery", 1024 * 512, "running"),
        ("raid1 2 aa 0/65536 resync 0 0 -", "resync", 0, "running"),
        ("raid1 2 AA 512/65536 check 8 0 -", "check", 512 * 512, "running"),
        ("raid1 2 Aa 512/65536 frozen 0 0 -", "recovery", 512 * 512, "frozen"),
        ("raid1 2 AA 65536/65536 frozen 0 0 -", None, 0, ""),
        ("raid1 2 AD 65536/65536 idle 0 0 -", None, 0, ""),
    ],
)
def test_a_synchronization_is_a_rebuild(line: str, operation: str | None, done: int, state: str) -> None:
    found = [row for row in rows(f"v: 0 65536 raid {line}\n") if isinstance(row, Rebuild)]
    assert [(row.operation, row.done, row.state, row.kind) for row in found] == (
        [(operation, done, state, "lvm")] if operation else []
    )


def test_a_move_of_data_restores_no_redundancy() -> None:
    found = [
        row for row in rows("vg0-pvmove0: 0 800 mirror 2 254:3 254:4 10/100 1 AA 1 core\n") if isinstance(row, Rebuild)
    ]
    assert [(row.operation, row.done, row.total) for row in found] == [("rebalance", 40960, 409600)]


def test_the_letters_of_a_mirror_and_of_stripes() -> None:
    assert parse("mirror", "2 254:3 254:4 60/64 1 AD 3 disk 254:2 A\n").action == "resync"
    assert parse("mirror", "2 254:3 254:4 64/64 1 AF 3 clustered-disk 254:2 A\n").health == "AF"
    row = one("v: 0 65536 striped 3 254:3 254:4 254:5 1 ADA\n")
    assert isinstance(row, MappedRaidState)
    assert (row.level, row.failed, row.action, row.total) == ("striped", 1, None, None)


def test_devices_and_copies_of_a_table() -> None:
    table = parse_table(
        "raid", "raid10 5 128 raid10_copies 2 raid10_format far 4 254:0 254:1 - - 254:4 254:5 254:6 254:7"
    )
    assert (table.images, table.copies, table.far) == (("254:1", "-", "254:5", "254:7"), 2, True)
    assert parse_table("mirror", "disk 2 254:2 1024 2 254:3 0 254:4 0 1 handle_errors").images == ("254:3", "254:4")
    assert parse_table("striped", "2 128 254:3 2048 254:4 2048").images == ("254:3", "254:4")
    assert parse_table("raid", "").images == ()


@pytest.mark.parametrize(
    "line",
    [
        "raid1 2 AD 65536/65536 idle 0 0 -",  # no end
        "raid1 2 A 65536/65536 idle 0 0 -\n",
        "raid1 2 AX 65536/65536 idle 0 0 -\n",
        "raid1 2 AA 65537/65536 idle 0 0 -\n",
        "raid1 2 AA 65536 idle 0 0 -\n",
        "raid1 2\n",
        "\n",
    ],
)
def test_a_damaged_line_has_no_health(line: str) -> None:
    with pytest.raises(Malformed):
        parse("raid", line)
    row = raid_volumes.volume(_segment("raid", line), "v", None, parse_table("raid", ""), (), STATUS_KEY)
    assert row.health is None
    assert list(raid_volumes.beside(row)) == []


# --- pools, snapshots, checksums ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "state", "filled", "check", "no_space"),
    [
        ("1 143/1024 412/512 - rw discard_passdown queue_if_no_space - 1024", "ok", 412 / 512, 0, "wait"),
        ("1 12/1024 512/512 - out_of_data_space discard_passdown queue_if_no_space - 1024", "out of data space", 1, 0,
         "wait"),
        ("1 12/1024 5/512 - ro no_discard_passdown error_if_no_space needs_check 1024", "read-only", 5 / 512, 1,
         "fail"),
        ("0 12/1024 5/512 - rw no_discard_passdown", "ok", 5 / 512, None, None),
        ("Fail", "failed", None, None, None),
        ("Error", "error", None, None, None),
        ("1 12/1024 5/512 - xx discard_passdown queue_if_no_space - 1024", UNREAD, 5 / 512, 0, "wait"),
        ("1 12/1024 513/512 - rw discard_passdown queue_if_no_space - 1024", UNREAD, None, None, None),
        ("1 12/1024", UNREAD, None, None, None),
        ("", UNREAD, None, None, None),
    ],
)  # fmt: skip
def test_pools(line: str, state: str, filled: float | None, check: int | None, no_space: str | None) -> None:
    row = one(f"vg0-pool-tpool: 0 65536 thin-pool {line}\n")
    assert isinstance(row, ThinPool)
    assert (row.pool, row.state, row.filled, row.needs_check, row.no_space) == (
        "vg0-pool", state, filled, check, no_space,
    )  # fmt: skip


def test_a_pool_has_the_name_that_lvm_shows_and_the_block_size_of_its_table() -> None:
    status = "vg0-pool-tpool: 0 65600 thin-pool 1 12/1024 5/512 - rw discard_passdown queue_if_no_space - 1024\n"
    info = f"vg0-pool-tpool:254:2:L--w:1:1:0:{LVM}-tpool\nvg0-web:254:4:L--w:1:1:0:{LVM}\n"
    table = "vg0-pool-tpool: 0 65600 thin-pool 254:0 254:1 128 0 0\nvg0-web: 0 204800 thin 254:2 1\n"
    pool, volume = rows(f"{status}vg0-web: 0 204800 thin 640 1023\n", info=info, table=table)
    assert isinstance(pool, ThinPool)
    assert (pool.pool, pool.device, pool.size, pool.used) == ("vg0/pool", "dm-2", 512 << 16, 5 << 16)
    assert isinstance(volume, ThinVolume)
    assert (volume.volume, volume.pool_device, volume.mapped, volume.size) == (
        "vg0/web",
        "dm-2",
        640 * 512,
        204800 * 512,
    )


@pytest.mark.parametrize(("line", "state"), [("0 -", "ok"), ("Fail", "failed"), ("Error", "error"), ("-", UNREAD)])
def test_thin_volumes(line: str, state: str) -> None:
    row = one(f"v: 0 204800 thin {line}\n")
    assert isinstance(row, ThinVolume)
    assert row.state == state


def test_a_pool_of_vdo() -> None:
    row = one("vg0-vpool0-vpool: 0 20971520 vdo /dev/dm-3 normal - online online 1068812 2621440\n")
    assert isinstance(row, ThinPool)
    assert (row.kind, row.state, row.used, row.size) == ("vdo", "ok", 1068812 << 12, 2621440 << 12)
    named = one(
        "vg0-vpool0-vpool: 0 20971520 vdo /dev/dm-3 normal - online online 1068812 2621440\n",
        info=f"vg0-vpool0-vpool:254:4:L--w:1:1:0:{LVM}-vpool\n",
    )
    assert isinstance(named, ThinPool)
    assert named.pool == "vg0/vpool0"  # as lvextend takes it
    bad = one("v: 0 20971520 vdo /dev/dm-3 read-only - offline offline 1068812 2621440\n")
    assert isinstance(bad, ThinPool)
    assert bad.state == "read-only"


@pytest.mark.parametrize(
    ("line", "state", "used"),
    [
        ("2056/16384 16", "ok", 2056 * 512),
        ("Invalid", "invalid", None),
        ("Overflow", "overflow", None),
        ("Merge failed", "merge failed", None),
        ("Unknown", "unknown", None),
        ("16385/16384 16", snapshots.UNREAD, None),
        ("2056/", snapshots.UNREAD, None),
        ("", snapshots.UNREAD, None),
    ],
)
def test_snapshots(line: str, state: str, used: int | None) -> None:
    row = one(f"vg0-snap: 0 65536 snapshot {line}\n")
    assert isinstance(row, VolumeSnapshot)
    assert (row.state, row.used) == (state, used)


def test_a_device_without_a_table_does_not_spoil_the_line_before() -> None:
    found = rows("v: 0 204800 thin 8 7\nempty: \nw: 0 204800 thin 0 -\n")
    assert [(row.mapping, row.state) for row in found if isinstance(row, ThinVolume)] == [("v", "ok"), ("w", "ok")]


def test_an_origin_has_no_state() -> None:
    assert rows("vg0-vol: 0 65536 snapshot-origin \nvg0-a: 0 8 linear \n") == []


@pytest.mark.parametrize(
    ("target", "line", "state", "mismatches"),
    [
        ("integrity", "3 516096 -", "ok", 3),
        ("integrity", "0 516096 2048", "ok", 0),
        ("integrity", "12", "ok", 12),
        ("integrity", "x", checksums.UNREAD, None),
        ("verity", "V", "ok", None),
        ("verity", "C", "corrupted", None),
        ("verity", "", checksums.UNREAD, None),
    ],
)
def test_checksums(target: str, line: str, state: str, mismatches: int | None) -> None:
    row = one(f"v: 0 65536 {target} {line}\n")
    assert isinstance(row, ChecksummedDevice)
    assert (row.state, row.mismatches) == (state, mismatches)


@given(st.text(alphabet="0129/ AaDF-\nrwo", max_size=60), st.sampled_from(sorted(("raid", "thin-pool", "thin", "vdo",
       "snapshot", "integrity", "verity", "striped", "mirror", "multipath"))))  # fmt: skip
def test_no_line_does_more_than_not_be_understood(text: str, target: str) -> None:
    list(DM_STATUS.read(EvidenceHost.of({STATUS_KEY: f"v: 0 65536 {target} {text}\nw: 0 8 linear \n"})))


# --- when it is run -----------------------------------------------------------------------------------------


class Node(LiveHost):
    """A live node whose files and commands are given, and which notes the commands."""

    def __init__(self, files: dict[str, str], said: Output | Exception) -> None:
        super().__init__("/", BUILTIN)
        self.files = EvidenceHost.of(files)
        self.said = said
        self.ran: list[str] = []

    def read(self, path: str) -> bytes:
        return self.files.read(path)

    def entries(self, path: str) -> list[str]:
        return self.files.entries(path)

    def run(self, argv: tuple[str, ...], deadline: float = 10.0) -> Output:  # type: ignore[override]
        del deadline
        self.ran.append(" ".join(argv))
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


DM0 = {"list:/sys/block": "dm-0\nsda"}


def test_nothing_is_run_without_a_device() -> None:
    node = Node({"list:/sys/block": "sda"}, Output(b""))
    assert list(DM_STATUS.read(node)) == []
    assert node.ran == []


def test_one_command_for_all_targets_and_one_a_minute_where_none_has_a_state() -> None:
    node = Node(DM0, Output(b"vg0-home: 0 2048 linear \n"))
    DM_STATUS.read(node)
    DM_STATUS.read(node)
    assert node.ran == ["dmsetup status --noflush"]
    node.files = EvidenceHost.of({"list:/sys/block": "dm-0\ndm-1\nsda"})
    node.said = Output(b"vg0-home: 0 2048 raid raid1 2 AA 1/1 idle 0 0 -\n")
    DM_STATUS.read(node)
    DM_STATUS.read(node)
    # New devices: their names and pools, at the same time as their state. Without paths a run serves for 9 s.
    assert node.ran == ["dmsetup status --noflush"] * 2 + ["dmsetup table"]


def test_the_command_of_the_caches_is_not_run_twice() -> None:
    node = Node(DM0 | {"/sys/module/dm_cache/refcnt": "0"}, Output(b"vg0-home: 0 2048 linear \n"))
    DMCACHE.read(node)
    DM_STATUS.read(node)
    assert node.ran == ["dmsetup status --noflush"]


def test_whether_requests_wait_is_asked_again_where_a_path_failed() -> None:
    line = "mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 2 2 8:16 A 0 0 1 8:0 {} 1 0 1\n"
    node = Node(DM0, Output(line.format("A").encode()))
    DM_STATUS.read(node)
    node.said = Output(line.format("F").encode())
    DM_STATUS.read(node)
    assert node.ran[2:] == ["dmsetup status --noflush", "dmsetup table --target multipath"]


DENIED = Output(b"", b"/dev/mapper/control: open failed: Permission denied\nCommand failed.\n", 1)


@pytest.mark.parametrize(
    ("uuid", "name", "denied"),
    [
        (LVM, "vg0-home", False),
        ("CRYPT-LUKS2-7f3e-luks", "luks", False),
        ("part1-mpath-3600", "mpatha-part1", False),
        (LVM, "vg0-home_rimage_0", True),
        (f"{LVM}-tpool", "vg0-pool-tpool", True),
        (f"{LVM}-cow", "vg0-snap-cow", True),
        ("mpath-36001405a", "mpatha", True),
        ("CRYPT-INTEGRITY-7f3e", "i", True),
        ("", "own", True),
    ],
)
def test_who_may_not_ask_is_told_so_where_there_is_something_to_ask_for(uuid: str, name: str, denied: bool) -> None:  # noqa: FBT001
    node = Node(DM0 | {"/sys/block/dm-0/dm/uuid": uuid, "/sys/block/dm-0/dm/name": name}, DENIED)
    if denied:
        with pytest.raises(Denied):
            DM_STATUS.read(node)
    else:
        assert list(DM_STATUS.read(node)) == []


def test_other_errors_are_passed_on() -> None:
    with pytest.raises(Absent):
        DM_STATUS.read(Node(DM0, Absent("cmd:x", "not installed")))
    failed: Host = EvidenceHost([Evidence(STATUS_KEY, Outcome.DENIED, detail="needs root")])
    with pytest.raises(Denied):
        list(DM_STATUS.read(failed))


def _segment(target: str, text: str) -> Segment:
    return Segment("v", 0, 65536 * 512, target, text)


PRINTED = (
    "p0: 0 524288 linear \n"
    "vg0-mir: 0 65536 raid raid1 2 AD 65536/65536 idle 0 0 -\n"
    "vg0-mir_rimage_0: 0 65536 linear \n"
    "vg0-pool-tpool: 0 65536 thin-pool 1 115/1024 512/512 - out_of_data_space "
    "discard_passdown queue_if_no_space - 256 \n"
    "vg0-snap: 0 65536 snapshot Invalid\n"
)
"""Lines that Linux 6.1 printed for these faults."""


@pytest.mark.parametrize("before", ["", "# dmsetup status\n", "The mirror is slow since yesterday:\n\n"])
def test_pasted_output_is_recognized(before: str) -> None:
    origin, frames = read_nodes(f"{before}{PRINTED}".encode(), texts_of(BUILTIN))[0]
    session = Session(origin, BUILTIN, (VOLUME_DEGRADED, THIN_POOL_FILLING, SNAPSHOT_FILLING))
    session.feed_all(frames)
    found = {finding.subject: finding.title for finding in session.head().judgement.findings}
    assert found == {
        "vg0-mir": "NO REDUNDANCY: 1 member failed",
        "vg0-pool": "POOL OUT OF SPACE: writes stop",
        "vg0-snap": "SNAPSHOT LOST: invalid",
    }


# --- targets that no other source reads ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "line", "state"),
    [
        ("era", "8 2074/8192 12 -", "working"),
        ("era", "8 2074/8192 12 77", "working"),
        ("era", "Fail", "failed"),
        ("era", "8 2074/8192", "unknown"),
        ("clone", "8 12/2048 8 100/100 0 0 2 hydration_threshold 1 rw", "working"),
        ("clone", "8 12/2048 8 40/100 3 1 no_hydration 2 hydration_threshold 1 ro", "read-only"),
        ("clone", "Fail", "failed"),
        ("clone", "8 12/2048", "unknown"),
        ("frobnicate", "Error", "failed"),
        ("frobnicate", "D 3 fatal", "unknown"),
    ],
)
def test_other_targets(target: str, line: str, state: str) -> None:
    row = one(f"v: 0 65536 {target} {line}\n")
    assert isinstance(row, MappedTarget)
    assert (row.target, row.state) == (target, state)


@pytest.mark.parametrize("line", ["linear ", "crypt ", "delay 0 0", "snapshot-origin ", "frobnicate ",
                                  "zoned 1000 zones 0/10 cache 3/500 random 4/490 sequential"])  # fmt: skip
def test_targets_without_a_state_have_no_row(line: str) -> None:
    found = list(DM_STATUS.read(EvidenceHost.of({STATUS_KEY: f"v: 0 65536 {line}\nw: 0 8 era Fail\n"})))
    assert [row.mapping for row in found if isinstance(row, MappedTarget)] == ["w"]


# --- tables that are loaded without a new name or size --------------------------------------------------------


def test_a_table_is_read_again_after_an_event_but_not_at_each_of_many() -> None:
    now, numbers = [100.0], iter(range(1000, 2000))
    mark = TableMark(lambda: now[0])
    block = {"/sys/block/dm-0/size": "8\n", "/sys/block/sda/size": "8\n"}

    def at(seconds: float, number: int) -> object:
        now[0] = 100.0 + seconds
        return mark(EvidenceHost.of({**block, "/sys/kernel/uevent_seqnum": f"{number}\n"}))

    first = next(numbers)
    assert at(0.0, first) == at(1.0, first) == at(60.0, first) == ("1000", "dm-0")
    changed = at(61.0, next(numbers))
    assert changed == ("1001", "dm-0")  # at once
    assert [at(62.0 + n, next(numbers)) for n in range(4)] == [changed] * 4
    assert at(66.0, next(numbers)) == ("1006", "dm-0")


def test_an_event_within_the_pause_is_not_lost() -> None:
    now = [0.0]
    mark = TableMark(lambda: now[0])
    host = {"/sys/block/dm-0/size": "8\n", "/sys/kernel/uevent_seqnum": "7\n"}
    mark(EvidenceHost.of(host))
    now[0] = 1.0
    later = {**host, "/sys/kernel/uevent_seqnum": "8\n"}
    assert mark(EvidenceHost.of(later)) == ("7", "dm-0")
    now[0] = 5.0
    assert mark(EvidenceHost.of(later)) == ("8", "dm-0")


def test_events_of_a_node_without_mappings_start_nothing() -> None:
    marks = [TableMark()(EvidenceHost.of({"/sys/block/sda/size": "8\n", "/sys/kernel/uevent_seqnum": n})) for n in "12"]
    assert marks == [(), ()]
