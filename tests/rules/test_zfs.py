"""zfs-pool-degraded, zfs-no-slog and zvol-slow-path on pools made by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.zfs.kstats import ZFS_DATASETS, ZFS_STATE
from sdstop.collectors.zfs.load import ZPOOL_LOAD
from sdstop.collectors.zfs.pools import LIST, ZFS
from sdstop.collectors.zfs.readings import KSTATS
from sdstop.collectors.zfs.settings import ZFS_SETTINGS
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark, command_key
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.session import Session
from sdstop.rules.paths.unstable_device_path import UNSTABLE_DEVICE_PATH
from sdstop.rules.zfs.zfs_no_slog import ZFS_NO_SLOG
from sdstop.rules.zfs.zfs_pool_degraded import ZFS_POOL_DEGRADED
from sdstop.rules.zfs.zfs_small_blocks import ZFS_SMALL_BLOCKS
from sdstop.rules.zfs.zvol_slow_path import ZVOL_SLOW_PATH, BlockLayout
from tests.fixtures import story
from tests.nodes.frames import Judged, check, value
from tests.nodes.zfs import MIRROR, SETTINGS, SIZES, STATUS, kstat, node, status, tree, zil

COLLECTORS = (ZFS_STATE, ZFS, ZFS_DATASETS, ZFS_SETTINGS, ZPOOL_LOAD, BLOCKDEV, DISKSTATS)
DRAID = "draid2:8d:60c:2s-0"
ONE = (-1, "spares", ""), (1, "/dev/sdz1", "AVAIL")


RUNS = "resilver in progress since X\n\t5G scanned at 1G/s, 4G issued at 1G/s, 10G total\n\t1G resilvered, 40.00% done"


def judged(*texts: str, state: str = "DEGRADED") -> Judged:
    """Show what zpool status printed, ten seconds apart."""
    shown = [(10.0 * number, node(text, state=state)) for number, text in enumerate(texts)]
    return Judged(COLLECTORS, [ZFS_POOL_DEGRADED], shown)


def raidz(*states: str, kind: str = "raidz2-0", scan: str = "", spares: bool = False) -> str:
    rows = [(1, kind, "DEGRADED"), *((2, f"/dev/sd{chr(97 + n)}1", state) for n, state in enumerate(states))]
    return status(tree(*rows, *(ONE if spares else ())), state="DEGRADED", scan=scan)


def test_a_whole_pool_is_good() -> None:
    said = judged(MIRROR, state="ONLINE").ruled_out("tank")
    assert "6 devices without errors, 1 more can fail" in said.summary


@pytest.mark.parametrize(
    ("kind", "bad", "severity", "word"),
    [
        ("raidz2-0", 1, Severity.WARNING, "1 more can fail in raidz2-0"),
        ("raidz2-0", 2, Severity.CRITICAL, "The next failure in raidz2-0 loses data."),
        ("raidz2-0", 3, Severity.CRITICAL, "raidz2-0 has lost more devices than it tolerates."),
        ("raidz3-1", 2, Severity.WARNING, "1 more can fail in"),
        ("mirror-0", 3, Severity.WARNING, "1 more can fail in"),
        ("mirror-0", 4, Severity.CRITICAL, "loses data."),
        ("draid1:3d:5c:1s-0", 1, Severity.CRITICAL, "loses data."),
    ],
)
def test_what_is_left(kind: str, bad: int, severity: Severity, word: str) -> None:
    finding = judged(raidz(*["UNAVAIL"] * bad, *["ONLINE"] * (5 - bad), kind=kind)).finding("tank")
    assert finding.severity is severity
    assert word in finding.impact
    assert finding.cause.startswith("sda1 UNAVAIL")
    assert "no resilver" in finding.cause
    assert value(finding, "missing") == bad
    assert any("zpool replace tank /dev/sda1" in line for line in finding.steps)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (("mirror-0  ONLINE 0 0 0", "  sda  ONLINE 0 0 0", "  sdb  ONLINE 0 0 0", "sdc  ONLINE 0 0 0"), {"tank/sdc"}),
        (("sda  ONLINE 0 0 0", "sdb  ONLINE 0 0 0"), set()),  # nobody wanted redundancy
        (("mirror-0  ONLINE 0 0 0", "  sda  ONLINE 0 0 0", "  sdb  ONLINE 0 0 0"), set()),
    ],
)
def test_a_single_device_beside_redundant_vdevs(rows: tuple[str, ...], found: set[str]) -> None:
    config = "".join(f"\t  {row}\n" for row in rows)
    text = f"  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttank ONLINE 0 0 0\n{config}"
    said = judged(f"{text}\nerrors: No known data errors\n", state="ONLINE")
    assert {each.subject for each in said.all if isinstance(each, Finding)} == found


def beside(state: str = "ONLINE", errors: int = 0, cache: str = "ONLINE", cached: int = 0) -> str:
    """A mirror whose sdb has checksum errors, a cache device, and a spare that is gone."""
    return (
        f"  pool: tank\n state: {state}\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttank {state} 0 0 0\n"
        f"\t  mirror-0 ONLINE 0 0 0\n\t    sda ONLINE 0 0 0\n\t    sdb ONLINE 0 0 {errors}\n"
        f"\tcache\n\t  nvme1n1 {cache} {cached} 0 0\n\tspares\n\t  sdx UNAVAIL cannot open\n\n"
        "errors: No known data errors\n"
    )


@pytest.mark.parametrize("errors", [0, 15])
def test_a_lost_spare_does_not_hide_behind_errors_of_a_device(errors: int) -> None:
    said = judged(beside(errors=errors), state="ONLINE")
    assert said.finding("tank/spares/sdx").title == "SPARE UNAVAIL"
    found = [each.subject for each in said.all if isinstance(each, Finding)]
    assert sorted(found) == sorted({*found})
    assert ("tank/sdb" in found) is bool(errors)


@pytest.mark.parametrize(("cache", "title"), [("ONLINE", "DEVICE ERRORS: 9 new"), ("FAULTED", "CACHE DEVICE FAULTED")])
def test_a_failing_cache_device_takes_no_redundancy_with_it(cache: str, title: str) -> None:
    said = judged(beside(), beside(cache=cache, cached=9), state="ONLINE")
    (finding,) = (each for each in said.all if isinstance(each, Finding) and each.subject == "tank/nvme1n1")
    assert (finding.title, finding.impact) == (title, "Reads that it would serve go to the data disks.")


def test_metadata_on_a_single_device() -> None:
    text = (
        "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttank ONLINE 0 0 0\n"
        "\t  mirror-0 ONLINE 0 0 0\n\t    sda ONLINE 0 0 0\n\t    sdb ONLINE 0 0 0\n"
        "\tspecial\n\t  nvme0n1 ONLINE 0 0 0\n\tlogs\n\t  nvme1n1 ONLINE 0 0 0\n\nerrors: No known data errors\n"
    )
    finding = judged(text, state="ONLINE").finding("tank/nvme0n1")
    assert finding.cause == "nvme0n1 has metadata of the pool without a second copy."


def test_a_free_spare_is_offered_and_a_resilver_waited_for() -> None:
    finding = judged(raidz("FAULTED", "ONLINE", "ONLINE", "ONLINE", spares=True)).finding("tank")
    assert "1 spare free" in finding.cause
    assert any("zpool replace tank /dev/sda1 /dev/sdz1" in line for line in finding.steps)
    running = raidz("FAULTED", "ONLINE", "ONLINE", "ONLINE", scan=RUNS)
    finding = judged(running).finding("tank")
    assert "resilver running, 40.0%" in finding.summary
    assert finding.steps[0].startswith("Let the rebuild finish")


def spared(scan: str = "", *, replacing: bool = False, old: str = "FAULTED") -> str:
    inner = [(3, "/dev/sda1", old), (3, "draid2-0-0", "ONLINE")]
    if replacing:
        inner = [
            (3, "replacing-0", "DEGRADED"),
            (4, "/dev/sda1", old),
            (4, "/dev/sdx1", "ONLINE"),
            (3, "draid2-0-0", "ONLINE"),
        ]
    rows = [(1, DRAID, "DEGRADED"), (2, "spare-0", "DEGRADED"), *inner,
            (2, "/dev/sdb1", "ONLINE"), (2, "/dev/sdc1", "ONLINE"),
            (-1, "spares", ""), (1, "draid2-0-0", "INUSE")]  # fmt: skip
    return status(tree(*rows), state="DEGRADED", scan=scan)


@pytest.mark.parametrize(
    ("text", "missing", "spares"),
    [
        (spared(), 0, 1),  # the spare is filled
        (spared(RUNS), 1, 0),  # it is just being filled
        (spared(RUNS, replacing=True), 0, 1),  # it was filled before the disk was replaced
        (spared(RUNS, old="ONLINE"), 0, 1),  # what it stands in for is still there
    ],
)
def test_a_spare_that_stands_in(text: str, missing: int, spares: int) -> None:
    finding = judged(text).finding("tank" if missing else f"tank/{DRAID}/spare-0")
    assert (value(finding, "missing"), value(finding, "spares_in_use")) == (missing, spares)
    assert value(finding, "tolerates") == 2 - missing
    assert finding.severity is Severity.WARNING


def test_suspended_is_said_although_zpool_hangs() -> None:
    session = Session(Origin("n"), COLLECTORS, [ZFS_POOL_DEGRADED, ZFS_NO_SLOG])
    items = [Evidence(key, data=text.encode()) for key, text in node(None, state="SUSPENDED").items()]
    items.append(Evidence(STATUS, Outcome.TIMEOUT, detail="timed out after 8 s (D, waiting in txg_wait_synced)"))
    session.feed(Frame(1, 1.7e9, 0.0, tuple(items)))
    judgement = session.head().judgement
    (finding,) = judgement.findings
    check(finding)
    assert finding.severity is Severity.CRITICAL
    assert "All I/O to the pool waits" in finding.summary
    assert finding.evidence[0].key == f"{KSTATS}/tank/state"


def test_a_pool_that_does_not_answer_is_not_called_good() -> None:
    items = [Evidence(key, data=text.encode()) for key, text in node(None).items()]
    items.append(Evidence(STATUS, Outcome.TIMEOUT, detail="timed out after 8 s"))
    session = Session(Origin("n"), COLLECTORS, [ZFS_POOL_DEGRADED])
    session.feed(Frame(1, 1.7e9, 0.0, tuple(items), {"zfs-state": RunMark(0.0, 0.1), "zfs": RunMark(0.0, 8.0)}))
    (said,) = session.head().judgement.unchecked
    assert (said.subject, "timed out after 8 s" in said.reason) == ("tank", True)


@pytest.mark.parametrize("state", ["FAULTED", "UNAVAIL"])
def test_a_pool_out_of_reach(state: str) -> None:
    finding = judged(status(tree((1, "/dev/sda1", "UNAVAIL")), state=state), state=state).finding("tank")
    assert finding.severity is Severity.CRITICAL
    assert "inaccessible" in finding.summary


def test_lost_data() -> None:
    said = judged(status(tree((1, "/dev/sda1", "ONLINE")), errors="4 data errors, use '-v' for a list"), state="ONLINE")
    finding = said.finding("tank/data")
    assert finding.severity is Severity.CRITICAL
    assert "4 blocks or files" in finding.summary


def counting(*totals: int) -> list[str]:
    rows = ((1, "mirror-0", "ONLINE"), (2, "/dev/sda1", "ONLINE"), (2, "/dev/sdb1", "ONLINE"))
    return [status(tree(*rows, errors={"/dev/sdb1": (0, 0, total)})) for total in totals]


@pytest.mark.parametrize(
    ("totals", "severity"),
    [
        ((3, 3), Severity.INFO),
        ((3, 4), Severity.WARNING),
        ((9, 9), Severity.INFO),
        ((10, 10), Severity.WARNING),  # as many as make zed retire a device
        ((1,), Severity.INFO),
        ((9,), Severity.INFO),
        ((10,), Severity.WARNING),
        ((7, 0, 0), None),  # cleared meanwhile
        ((7, 0, 2), Severity.WARNING),  # all since then are new
    ],
)
def test_errors_of_a_device(totals: tuple[int, ...], severity: Severity | None) -> None:
    if severity is None:
        assert "devices without errors" in judged(*counting(*totals), state="ONLINE").ruled_out("tank").summary
        return
    finding = judged(*counting(*totals), state="ONLINE").finding("tank/sdb1")
    assert finding.severity is severity
    assert value(finding, "errors") == totals[-1]
    assert any("cable" in line for line in finding.steps)


def test_no_errors_is_good() -> None:
    judged(*counting(0, 0), state="ONLINE").ruled_out("tank")


def test_a_faulted_device_is_named_once_with_its_reason() -> None:
    rows = (
        (1, "raidz2-0", "DEGRADED"),
        (2, "/dev/sda1", "FAULTED"),
        (2, "/dev/sdb1", "ONLINE"),
        (2, "/dev/sdc1", "ONLINE"),
    )
    text = status(
        tree(*rows, errors={"/dev/sda1": (3, 900, 0)}, notes={"/dev/sda1": "too many errors"}), state="DEGRADED"
    )
    said = judged(text, text)
    assert said.finding("tank").cause.startswith("sda1 FAULTED;")
    assert value(said.finding("tank"), "devices") == "sda1 (FAULTED, too many errors)"
    assert len(said.all) == 1


def block(name: str, minor: int, rotational: int, physical: int = 512) -> dict[str, str]:
    base = f"/sys/block/{name}"
    return {f"{base}/dev": f"8:{minor}", f"{base}/size": "1000000", f"{base}/queue/rotational": str(rotational),
            f"{base}/queue/physical_block_size": str(physical), f"{base}/{name}1/partition": "1",
            f"{base}/{name}1/dev": f"8:{minor + 1}", f"{base}/{name}1/size": "999"}  # fmt: skip


def committing(rate: float, *, rotational: int = 1, logs: str = "", seconds: int = 20, slog: float = 0.0) -> Judged:
    rows = [(1, "mirror-0", "ONLINE"), (2, "/dev/sda1", "ONLINE"), (2, "/dev/sdb1", "ONLINE")]
    rows += [(-1, "logs", ""), (1, "/dev/sdl1", logs)] if logs else []
    files = {**node(status(tree(*rows))), **block("sda", 0, rotational), **block("sdb", 16, rotational)}
    shown = [(float(t), {**files, **zil(1000 + int(rate * t), 500 + int(slog * t))}) for t in range(0, seconds + 1, 5)]
    return Judged(COLLECTORS, [ZFS_NO_SLOG], shown)


@pytest.mark.parametrize(("rate", "fires"), [(19.0, False), (21.0, True)])
def test_waits_for_the_intent_log_on_rotating_disks(rate: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = committing(rate)
    if not fires:
        said.ruled_out("tank")
        return
    finding = said.finding("tank")
    assert finding.severity is Severity.WARNING
    assert value(finding, "commits") == pytest.approx(21.0)
    assert any(line.startswith("zpool add tank log mirror") for line in finding.steps)
    assert {cite.key for cite in finding.evidence} >= {f"{KSTATS}/zil", STATUS, "/sys/block/sda/queue/rotational"}


def test_no_alarm_with_a_log_device_on_flash_or_before_it_was_watched() -> None:
    assert "on sdl1" in committing(100.0, logs="ONLINE", slog=100.0).ruled_out("tank").summary
    assert "none of 2 disks rotates" in committing(100.0, rotational=0).ruled_out("tank").summary
    committing(100.0, seconds=5).unchecked("tank")


def test_a_log_device_that_failed_is_none() -> None:
    assert "log device sdl1 is FAULTED" in committing(100.0, logs="FAULTED").finding("tank").summary


def test_whether_disks_rotate_may_not_be_known() -> None:
    files = node(status(tree((1, "/dev/sda1", "ONLINE"))))
    said = Judged(COLLECTORS, [ZFS_NO_SLOG], [(t, {**files, **zil(int(100 * t))}) for t in (0.0, 10.0)])
    assert "rotating or flash" in said.unchecked("tank").reason


def test_since_2_2_the_dataset_is_named() -> None:
    rows = ((1, "/dev/sda1", "ONLINE"),)
    files = {**node(status(tree(*rows))), **block("sda", 0, 1), SETTINGS: "tank/v\ttype\tvolume\n"}
    shown = []
    for t in (0.0, 10.0):
        own = {f"{KSTATS}/tank/objset-0x9a": kstat(name="tank/v", writes=int(t), zil_commit_count=int(t * 50)),
               f"{KSTATS}/tank/objset-0x9b": kstat(name="tank/w", writes=int(t), zil_commit_count=int(t))}  # fmt: skip
        shown.append((t, {**files, **own, **zil(0)}))
    finding = Judged(COLLECTORS, [ZFS_NO_SLOG], shown).finding("tank")
    assert finding.cause.startswith("51 intent-log commits/s")
    assert value(finding, "dataset") == "tank/v"
    assert finding.explains == ("zvol-slow-path:tank/v",)


@pytest.mark.parametrize(
    ("layout", "block_", "takes"),
    [
        (BlockLayout("d", 8, 2, 4096, fixed=True), 8192, 40960),
        (BlockLayout("d", 8, 2, 4096, fixed=True), 32768, 40960),
        (BlockLayout("d", 8, 2, 4096, fixed=True), 131072, 163840),
        (BlockLayout("z", 4, 2, 4096, fixed=False), 8192, 24576),  # 2 data, 2 parity, padded to 6 sectors
        (BlockLayout("z", 4, 2, 4096, fixed=False), 131072, 196608),
        (BlockLayout("z", 3, 1, 512, fixed=False), 8192, 11264),
    ],
)
def test_what_a_block_takes(layout: BlockLayout, block_: int, takes: int) -> None:
    assert layout.takes(block_) == takes


def volume(
    block_: int,
    rate: float,
    *,
    request: int | None = None,
    top: str = DRAID,
    children: int = 5,
    more: Mapping[str, str] | None = None,
) -> Judged:
    """Show a volume on zd0 written at `rate` bytes a second, in requests of `request` bytes."""
    rows = [(1, top, "ONLINE"), *((2, f"/dev/sd{chr(97 + n)}1", "ONLINE") for n in range(children))]
    said = {"type": "volume", "volblocksize": block_}
    files = {**node(status(tree(*rows))), **block("sda", 0, 1, 4096),
             SETTINGS: "".join(f"tank/v\t{k}\t{v}\n" for k, v in said.items()),
             **(more or {})}  # fmt: skip
    shown = []
    for t in (0, 5, 10):
        written = int(rate * t)
        counts = kstat(name="tank/v", writes=t, nwritten=written, reads=0, nread=0)
        stat = ""
        if request:
            stat = f" 230       0 zd0 0 0 0 0 {written // request} 0 {written // 512} 5 0 5 5 0 0 0 0 0 0\n"
        shown.append(
            (float(t), {**files, f"{KSTATS}/tank/objset-0x9a": counts, **({"/proc/diskstats": stat} if stat else {})})
        )
    return Judged(COLLECTORS, [ZVOL_SLOW_PATH], shown)


MUCH = 70e6


@pytest.mark.parametrize(("block_", "fires"), [(8192, True), (16384, True), (32768, False), (131072, False)])
def test_blocks_below_a_row_of_the_draid(block_: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = volume(block_, MUCH)
    if not fires:
        said.ruled_out("tank/v")
        return
    finding = said.finding("tank/v")
    assert finding.severity is Severity.WARNING
    assert "takes 40K" in finding.summary
    assert "volblocksize=32768" in finding.steps[1]
    assert value(finding, "share") == pytest.approx(block_ / 40960)


def test_without_load_it_does_not_matter() -> None:
    volume(8192, 0.9 * 2**20).ruled_out("tank/v")
    volume(8192, 1.1 * 2**20).finding("tank/v")


@pytest.mark.parametrize(("block_", "fires"), [(8192, True), (65536, False)])
def test_padding_of_raidz(block_: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = volume(block_, MUCH, top="raidz2-0", children=8)
    if fires:
        assert "each 8K block takes 24K" in said.finding("tank/v").summary
    else:
        said.ruled_out("tank/v")


def test_a_mirror_has_no_rows() -> None:
    assert "fit" in volume(8192, MUCH, top="mirror-0", children=2).ruled_out("tank/v").summary


@pytest.mark.parametrize(("request_", "fires"), [(4096, True), (7680, True), (9216, False), (65536, False)])
def test_writes_of_parts_of_blocks(request_: int, fires: bool) -> None:  # noqa: FBT001  # a table
    links = {"link:/dev/zvol/tank/v": "../zd0"}
    said = volume(16384, MUCH, request=request_, top="mirror-0", children=2, more=links)
    if fires:
        finding = said.finding("tank/v")
        assert "reads, changes and rewrites a whole block" in finding.summary
        assert value(finding, "request") == pytest.approx(request_, rel=0.01)
    else:
        said.ruled_out("tank/v")


def test_what_it_does_may_not_be_known_yet() -> None:
    files = {
        **node(status(tree((1, "/dev/sda1", "ONLINE")))),
        SETTINGS: "tank/v\ttype\tvolume\ntank/v\tvolblocksize\t8192\n",
    }
    Judged(COLLECTORS, [ZVOL_SLOW_PATH], [(0.0, files)]).unchecked("tank/v")


def test_disks_by_names_that_may_change_are_told_quietly_as_zfs_finds_them_by_labels() -> None:
    said = Judged(COLLECTORS, [UNSTABLE_DEVICE_PATH], [(0.0, node(status(tree((1, "/dev/sda1", "ONLINE")))))])
    finding = said.finding("tank")
    assert finding.severity is Severity.INFO
    assert value(finding, "named") == "/dev/sda1"
    assert finding.steps[0].startswith("zpool export tank ")
    assert finding.steps[1].startswith("zpool import -d /dev/disk/by-path tank ")
    path = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part1"
    Judged(COLLECTORS, [UNSTABLE_DEVICE_PATH], [(0.0, node(status(tree((1, path, "ONLINE")))))]).ruled_out("tank")


RECORDING = "vm-zfs-draid"


def test_a_real_draid_that_loses_a_disk_is_followed_to_its_end() -> None:
    said: list[Finding] = []
    operations = set()
    for look in story(RECORDING).looks:
        for finding in look.judgement.findings:
            check(finding)
            if finding.rule == "zfs-pool-degraded":
                said.append(finding)
            elif finding.rule == "rebuild-running":
                operations.add(finding.title.split(" ")[0].lower())
                assert not any("md" in line.split() or "sysfs" in line for line in finding.steps)
            elif finding.rule == "device-saturated":
                assert finding.severity is Severity.INFO  # scrub and resilver keep the disks busy
            else:
                assert (finding.rule, finding.severity) == ("unstable-device-path", Severity.INFO)  # vdb1, vdc1, ...
                assert finding.title == "UNSTABLE DEVICE NAMES"
                assert str(value(finding, "named")).startswith("/dev/vd")
                assert "(" not in str(value(finding, "named"))  # a name says where it is
    assert operations == {"sequential", "scrub", "resilver"}
    worst = [f.severity for f in said if value(f, "missing") is not None]
    first = worst.index(Severity.CRITICAL)
    filled = worst.index(Severity.WARNING, first)
    assert set(worst[first:filled]) == {Severity.CRITICAL}  # a disk of dRAID1 is out, its spare is being filled
    assert set(worst[filled:]) == {Severity.WARNING}  # it is filled: the new disk changes nothing of that
    assert "A spare has all its data" in said[-1].summary


# --- what a pool that calls itself ONLINE hides ------------------------------------------------------------


def online(text: str) -> Judged:
    return judged(text, state="ONLINE")


@pytest.mark.parametrize(
    ("name", "state"), [("/dev/sdb1", "DEGRADED"), ("mirror-0", "DEGRADED"), ("mirror-0", "FAULTED")]
)
def test_a_vdev_that_contradicts_its_pool_leaves_it_unchecked(name: str, state: str) -> None:
    line = next(row for row in MIRROR.splitlines() if f"{name} " in row)
    said = online(MIRROR.replace(line, line.replace("ONLINE  ", f"{state:<8}"))).unchecked("tank")
    assert f"{state}, but the pool ONLINE" in said.reason


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("Some supported features are not enabled on the pool.", True),
        ("The pool is formatted using an older on-disk format.", True),
        ("One or more devices has experienced an unrecoverable error.", False),
        ("Something that no version said before.", False),
    ],
)
def test_problems_that_are_not_known_as_harmless_are_quoted(said: str, known: bool) -> None:  # noqa: FBT001  # a table
    found = online(status(tree((1, "/dev/sda1", "ONLINE")), said=said))
    if known:
        assert found.ruled_out("tank").summary
    else:
        assert said.rstrip(".")[:40] in found.unchecked("tank").reason


def test_errors_that_a_scrub_could_not_repair_are_a_warning() -> None:
    text = MIRROR.replace("with 0 errors", "with 7 errors")
    finding = online(text).finding("tank/scan")
    assert finding.severity is Severity.WARNING
    assert "The last scan left 7 errors unrepaired" in finding.summary
    assert not [said for said in online(text).all if said.subject == "tank"]


@pytest.mark.parametrize(
    ("late", "severity"),
    [
        ((0,), None),
        ((1,), Severity.INFO),
        ((99,), Severity.INFO),
        ((100,), Severity.WARNING),
        ((1, 2), Severity.WARNING),
    ],
)
def test_slow_ios_of_a_device(late: tuple[int, ...], severity: Severity | None) -> None:
    line = next(row for row in MIRROR.splitlines() if "/dev/sdb1" in row)
    texts = [MIRROR.replace(line, f"{line[:-1]}{number}") for number in late]
    said = judged(*texts, state="ONLINE")
    if severity is None:
        assert said.ruled_out("tank").summary
    else:
        assert said.finding("tank/sdb1").severity is severity


def test_checksum_errors_of_a_vdev_that_no_device_explains() -> None:
    line = next(row for row in MIRROR.splitlines() if "mirror-0" in row)
    text = MIRROR.replace(line, line.replace("    0     0     0     0", "    0     0   777     0"))
    assert online(text).finding("tank/mirror-0").cause == "777 errors (777 checksum) since the last clear."


@pytest.mark.parametrize(
    ("counts", "title", "cause", "severity"),
    [
        ((9,), "DEVICE ERRORS: 9", "9 errors (9 checksum) since the last clear.", Severity.INFO),
        ((10,), "DEVICE ERRORS: 10", "10 errors (10 checksum) since the last clear.", Severity.WARNING),
        ((9, 9), "OLD DEVICE ERRORS: 9", "9 errors (9 checksum), none new.", Severity.INFO),
        ((9, 10), "DEVICE ERRORS: 1 new", "10 errors (10 checksum), 1 new.", Severity.WARNING),
    ],
)
def test_one_sample_does_not_tell_whether_errors_are_old(
    counts: tuple[int, ...], title: str, cause: str, severity: Severity
) -> None:
    line = next(row for row in MIRROR.splitlines() if "/dev/sdb1" in row)
    texts = [
        MIRROR.replace(line, line.replace("    0     0     0     0", f"    0     0 {count:5}     0")).replace(
            "10:29:22", f"10:29:{22 + number}"
        )
        for number, count in enumerate(counts)
    ]
    finding = judged(*texts, state="ONLINE").finding("tank/sdb1")
    assert (finding.title, finding.cause, finding.severity) == (title, cause, severity)
    assert ("Another sample" in finding.impact) is (len(counts) == 1)


@pytest.mark.parametrize(
    ("share", "severity"), [(0.89, None), (0.9, Severity.WARNING), (0.949, Severity.WARNING), (0.95, Severity.CRITICAL)]
)
def test_a_pool_that_fills(share: float, severity: Severity | None) -> None:
    files = node(MIRROR) | {
        command_key(LIST): f"tank\t100000\t{round(100_000 * share)}\t{round(100_000 * (1 - share))}\t4\n"
    }
    said = Judged(COLLECTORS, [ZFS_POOL_DEGRADED], [(0.0, files)])
    if severity is None:
        assert said.ruled_out("tank").summary
    else:
        assert said.finding("tank/space").severity is severity


def test_a_spare_that_failed_is_named_in_a_degraded_pool_too() -> None:
    text = raidz("ONLINE", "FAULTED", "ONLINE", "ONLINE", spares=True).replace("AVAIL", "UNAVAIL")
    assert judged(text).finding("tank/spares/sdz1").severity is Severity.WARNING


def test_blocks_below_the_sector_size() -> None:
    rows = (1, "mirror-0", "ONLINE"), (2, "/dev/sda1", "ONLINE"), (2, "/dev/sdb1", "ONLINE")
    note = {"/dev/sdb1": "block size: 512B configured, 4096B native"}
    finding = Judged((ZFS,), [ZFS_SMALL_BLOCKS], [(0.0, node(status(tree(*rows, notes=note))))]).finding("tank")
    assert finding.cause == "sdb1 uses blocks of 512 B on sectors of 4096 B."
    good = Judged((ZFS,), [ZFS_SMALL_BLOCKS], [(0.0, node(status(tree(*rows))))])
    assert isinstance(good.of("tank"), RuledOut)


def test_the_time_until_a_pool_is_full() -> None:
    text = status(tree((1, "/dev/sdb1", "ONLINE")))
    sizes = [f"tank\t1000000\t{920_000 + 1000 * n}\t{80_000 - 1000 * n}\t3\n" for n in range(4)]
    frames = [(10.0 * n, {**node(text), SIZES: said}) for n, said in enumerate(sizes)]
    finding = Judged((ZFS,), [ZFS_POOL_DEGRADED], frames).finding("tank/space")
    assert finding.cause.endswith("full in 12m50 at this rate.")
