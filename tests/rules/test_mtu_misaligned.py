"""mtu-misaligned: what AoE's frames carry, at the initiator and at the target, and caches behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from msgspec.structs import replace

from sdstop.analysis.aoe.jumbo import split_effect
from sdstop.collectors.aoe.readings import COMMAND, PACKET, payload
from sdstop.collectors.aoe.targets import AOE
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.block.readings import BlockLink
from sdstop.collectors.network.interfaces import INTERFACES
from sdstop.collectors.network.sessions import SESSIONS
from sdstop.core.collector import LIVE, Collector
from sdstop.core.finding import Finding, Severity
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes, cumulative
from sdstop.rules.caches.cache_bypassed import CACHE_BYPASSED
from sdstop.rules.caches.cache_sub_block_io import CACHE_SUB_BLOCK_IO
from sdstop.rules.network.mtu_misaligned import MTU_MISALIGNED
from tests.nodes.cache_rows import FLASHCACHE, KEY
from tests.nodes.frames import Judged, value
from tests.nodes.network import Nic, files

ALIGNED = [4132, 4643, 8228, 8700, 8739]
MISALIGNED = [1500, 4000, 4131, 4644, 8227, 8740, 9000]
SIZES_3584 = {512: 0.13, 1024: 0.12, 1536: 0.14, 2048: 0.15, 2560: 0.13, 3072: 0.11, 3584: 0.15, 4096: 0.07}


def disk(payload: int | str, name: str = "e0.0", **said: str) -> dict[str, str]:
    base = f"/sys/block/etherd!{name}"
    known = {"state": "up", "netif": "eth1", "payload": str(payload), "mac": "02005e107fa1"} | said
    return {f"{base}/{key}": f"{text}\n" for key, text in known.items()}


def links(**largest: int) -> dict[str, str]:
    rows = ", ".join(f'{{"ifname": "{name}", "max_mtu": {mtu}}}' for name, mtu in largest.items())
    return {f"cmd:{' '.join(COMMAND)}": f"[{rows}]"}


def stat(reads: int, size: int) -> str:
    return f" 152 0 etherd/e0.0 {reads} 0 {reads * size // 512} 9 0 0 0 0 0 9 9\n"


def reached(mtu: int, payload: int | str, *, size: int | None = None, **largest: int) -> Judged:
    """Judge an initiator; `size` of the reads that it makes."""
    shown = files(Nic("eth1", mtu), more=disk(payload) | (links(**largest) if largest else {}))
    frames = [(float(n), shown | {"/proc/diskstats": stat(n * 100, size or 0) if size else ""}) for n in range(3)]
    return Judged((INTERFACES, AOE, DISKSTATS), [MTU_MISALIGNED], frames)


@pytest.mark.parametrize("mtu", ALIGNED)
def test_whole_blocks_are_ruled_out(mtu: int) -> None:
    assert f"{payload(mtu)} bytes" in reached(mtu, payload(mtu)).ruled_out("eth1").summary


@pytest.mark.parametrize("mtu", MISALIGNED)
def test_pieces_of_blocks_are_found(mtu: int) -> None:
    finding = reached(mtu, payload(mtu)).finding("eth1")
    assert finding.severity is Severity.WARNING
    assert value(finding, "payload") == payload(mtu)
    assert finding.title == f"MTU {mtu} SPLITS 4 KiB BLOCKS"
    assert f"MTU {mtu} on eth1 carries {payload(mtu)} bytes" in finding.cause
    keys = {cite.key for cite in finding.evidence}
    assert {"/sys/block/etherd!e0.0/payload", "/sys/class/net/eth1/mtu"} <= keys


def test_what_was_measured_counts_and_not_the_mtu() -> None:
    finding = reached(9000, 3584).finding("eth1")
    assert finding.title == "FRAMES OF 3584 BYTES SPLIT BLOCKS"
    assert "other end MTU 3620-4131" in finding.cause
    reached(4000, 4096).ruled_out("eth1")
    assert "MTU 4000 on eth1 was lowered" in reached(4000, 8704).finding("eth1").cause


@pytest.mark.parametrize(
    ("mtu", "largest", "command"),
    [(9000, 9000, "ip link set dev eth1 mtu 8700 "), (9000, 9710, "ip link set dev eth1 mtu 8700 "),
     (4000, 9000, "ip link set dev eth1 mtu 8700 "), (4000, 4500, "ip link set dev eth1 mtu 4500 "),
     (1500, 4132, "ip link set dev eth1 mtu 4132 "), (1500, 4131, "Use a card that supports jumbo frames")],
)  # fmt: skip
def test_the_command_that_mends_it(mtu: int, largest: int, command: str) -> None:
    finding = reached(mtu, payload(mtu), eth1=largest).finding("eth1")
    assert finding.steps[0].startswith(command)
    assert not any("Check that the cards" in line for line in finding.steps)
    assert any("dev INTERFACE mtu" in line for line in finding.steps) is command.startswith("ip")


def test_without_the_cards_limit_the_advice_is_not_certain() -> None:
    finding = reached(1500, 1024).finding("eth1")
    assert finding.steps[0].endswith("# 8228-8739 fit")
    assert "Check that the cards and the switch support this MTU." in finding.steps
    assert "If they do not, use 4132-4643." in finding.steps
    seen = reached(9000, 8704).finding("eth1")  # that it takes 9000 is seen
    assert seen.steps[0].endswith("# 8228-8739 fit")
    assert not any("Check that" in line for line in seen.steps)


def test_without_the_interface_nobody_says_what_it_takes() -> None:
    shown = files(Nic("eth1", 4000), more=disk(3584, netif="none"))
    finding = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, shown)]).finding("etherd/e0.0")
    assert (value(finding, "mtu_from"), value(finding, "mtu_to")) == (8228, 8739)
    assert "Check that the cards and the switch support this MTU." in finding.steps
    assert not any("Use a card" in line for line in finding.steps)


@pytest.mark.parametrize("nonsense", ["-512", "8193", "130561", str(10**18)])
def test_what_no_frame_carries_is_not_reckoned_with(nonsense: str) -> None:
    reached(9000, nonsense, size=4096).unchecked("etherd/e0.0")


def test_requests_of_nonsensical_length_are_reckoned_with_in_time() -> None:
    assert value(reached(9000, 8704, size=1 << 52).finding("eth1"), "lost") == pytest.approx(0.41, abs=0.01)


def test_an_end_that_is_right_is_left_alone() -> None:
    finding = reached(8700, 3584).finding("eth1")
    assert not any("dev eth1" in line for line in finding.steps)
    assert any("dev INTERFACE mtu 8700" in line for line in finding.steps)


@pytest.mark.parametrize(
    ("size", "severity"), [(4096, Severity.INFO), (8192, Severity.INFO), (16384, Severity.WARNING)]
)
def test_mtu_9000_hurts_only_what_does_not_fit_into_a_frame(size: int, severity: Severity) -> None:
    finding = reached(9000, 8704, size=size).finding("eth1")
    assert finding.severity is severity
    assert "by mean size" in finding.impact
    assert value(finding, "split_131072") == pytest.approx(0.4375)
    assert value(finding, "split_8192") == 0


def test_requests_of_partitions_are_requests_of_the_disk() -> None:
    def read(host: Host) -> Iterable[Reading]:
        much = 1 + int(host.text(KEY))
        for device, size, count in (("etherd/e0.0", 4096, 2), ("etherd/e0.0p1", 131072, 1000)):
            yield RequestSizes(
                counter="queue", device=device, direction="read", sizes=cumulative({size: much * count}), where=KEY
            )
        yield BlockLink("etherd/e0.0p1", "etherd/e0.0", "partition")

    source = Collector("rows", "Rows", read, (RequestSizes, BlockLink), (), LIVE)
    shown = files(Nic("eth1", 9000), more=disk(8704))
    frames = [(float(n), shown | {KEY: f"{n}\n"}) for n in range(3)]
    finding = Judged((INTERFACES, AOE, source), [MTU_MISALIGNED], frames).finding("eth1")
    assert finding.severity is Severity.WARNING
    assert value(finding, "lost") == pytest.approx(0.4375, abs=0.001)


def test_requests_that_are_no_blocks_themselves_are_not_the_frames_fault() -> None:
    assert reached(9000, 8704, size=512).finding("eth1").severity is Severity.INFO
    assert reached(4000, 3584, size=4096).finding("eth1").severity is Severity.WARNING


def test_a_disk_that_is_down_or_was_not_found_is_unchecked() -> None:
    more = disk(3584, state="down,closewait") | disk(0, "e0.1")
    judged = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, files(Nic("eth1", 4000), more=more))])
    judged.unchecked("etherd/e0.0")
    judged.unchecked("etherd/e0.1")


def test_many_disks_behind_one_interface_are_one_finding() -> None:
    more: dict[str, str] = {}
    for slot in range(9):
        more |= disk(3584, f"e0.{slot}")
    more |= disk(4096, "e1.0")
    judged = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, files(Nic("eth1", 4000), more=more))])
    assert value(judged.finding("eth1"), "disks") == "etherd/e0.0, etherd/e0.1, etherd/e0.2 and 6 more"
    judged.ruled_out("eth1/etherd/e1.0")


def test_the_smallest_of_several_interfaces_counts() -> None:
    shown = files(Nic("eth1", 9000), Nic("eth2", 4000), more=disk(3584, netif="eth1,eth2"))
    finding = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, shown)]).finding("eth1,eth2")
    assert "MTU 4000 on eth2" in finding.cause


def test_streams_over_tcp_are_never_judged() -> None:
    nvme = {"/sys/class/nvme/nvme1/transport": "tcp\n", "/sys/class/nvme/nvme1/state": "live\n", PACKET: HEADING}
    judged = Judged((INTERFACES, AOE, SESSIONS), [MTU_MISALIGNED], [(0.0, files(Nic("eth1", 4000), more=nvme))])
    assert judged.silent()


HEADING = "sk RefCnt Type Proto Iface R Rmem User Inode\n"


def vblade(*options: str, path: str = "/dev/dm-5", interface: str = "eth1", pid: int = 70) -> dict[str, str]:
    words = ("vblade", *options, "0", str(pid), interface, path)
    return {f"/proc/{pid}/comm": "vblade\n", f"/proc/{pid}/cmdline": "".join(f"{word}\0" for word in words)}


class Target:
    """A node that serves by vblade, a second a frame: rows of caches and sizes are handed out as they are."""

    def __init__(self, mtu: int, *options: str, path: str = "/dev/dm-5", more: Mapping[str, str] | None = None) -> None:
        self.shown = files(Nic("eth1", mtu), more=vblade(*options, path=path) | dict(more or {}))
        self.rows: list[list[Reading]] = [[]]

    def read(self, host: Host) -> Iterable[Reading]:
        return [*self.rows[int(host.text(KEY).split()[0])], BlockLink("dm-5", "dm-0", "slave")]

    def judged(self, *rules: str) -> Judged:
        source = Collector("rows", "Rows", self.read, (Cache, RequestSizes, BlockLink), (), LIVE)
        frames = [(float(second), self.shown | {KEY: text(second, rows)}) for second, rows in enumerate(self.rows)]
        known = [rule for rule in (MTU_MISALIGNED, CACHE_BYPASSED, CACHE_SUB_BLOCK_IO) if rule.id in rules or not rules]
        return Judged((INTERFACES, AOE, source), known, frames)

    def cached(self, before: Mapping[int, float], now: Mapping[int, float], frames: int = 3) -> Target:
        """Let a cache count a million requests before the first frame, a thousand a second since; shares by size.

        What is no whole block goes past it.
        """
        self.rows = []
        for second in range(frames):
            counts = {
                size: round(1e6 * before.get(size, 0) + 1e3 * second * now.get(size, 0)) for size in {**before, **now}
            }
            past = sum(count for size, count in counts.items() if size % 4096)
            came = sum(counts.values())
            cache = replace(FLASHCACHE, writes=came, bypassed_writes=past, write_hits=came - past)
            self.rows.append(
                [
                    cache,
                    RequestSizes(counter="flashcache", device="", direction="", sizes=cumulative(counts), where=KEY),
                ]
            )
        return self

    def counted(self, counter: str, device: str, each: Mapping[int, int], frames: int = 3) -> Target:
        self.rows = [
            [
                RequestSizes(
                    counter=counter,
                    device=device,
                    direction="write",
                    sizes=cumulative({s: n * (1 + f) for s, n in each.items()}),
                    where=KEY,
                )
            ]
            for f in range(frames)
        ]
        return self


def text(second: int, rows: Iterable[Reading]) -> str:
    """Return what the rows are said to be read from: the frame's number, and what evidence marks."""
    return f"{second}\n" + "".join(f"uncached writes({r.bypassed_writes})\n" for r in rows if isinstance(r, Cache))


def said(judged: Judged) -> Finding:
    return judged.finding("eth1", "mtu-misaligned")


@pytest.mark.parametrize("mtu", ALIGNED)
def test_a_target_of_whole_blocks_is_ruled_out(mtu: int) -> None:
    assert f"MTU {mtu}" in Target(mtu, "-d").judged().ruled_out("eth1").summary


@pytest.mark.parametrize("mtu", MISALIGNED)
def test_a_target_is_judged_by_its_mtu_where_nobody_counts_sizes(mtu: int) -> None:
    finding = said(Target(mtu, "-d").judged())
    assert finding.severity is Severity.WARNING
    assert value(finding, "payload") == payload(mtu)
    assert {cite.key for cite in finding.evidence} == {"/sys/class/net/eth1/mtu", "/proc/70/cmdline"}
    assert finding.explains == ()


def test_a_cache_that_is_bypassed_for_it_is_one_story() -> None:
    judged = Target(4000, "-d").cached(SIZES_3584, SIZES_3584).judged()
    finding = said(judged)
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "MTU 4000 SPLITS 4 KiB BLOCKS"
    assert finding.cause == "Frames carry 3584 bytes, not a multiple of 4096; 93.0% arrive split."
    assert finding.impact == "93.0% bypass cache cachedev: 930 of 1000 requests/s."
    assert finding.steps[0] == "ip link set dev eth1 mtu 8700   # 8228-8739 fit"
    assert (finding.view, finding.view_subject) == ("caches", "cachedev")
    assert finding.explains == ("cache-bypassed:cachedev", "cache-sub-block-io:cachedev")
    order = [v.rule for v in judged.all if isinstance(v, Finding)]
    assert order[0] == "mtu-misaligned"
    assert set(order[1:]) == {"cache-bypassed", "cache-sub-block-io"}


def test_what_it_costs_is_said_by_the_second() -> None:
    """A thousand writes a second; of those that may be cached all hit."""
    finding = said(Target(4000, "-d").cached(SIZES_3584, SIZES_3584).judged("mtu-misaligned"))
    assert value(finding, "pieces") == pytest.approx(930)
    assert value(finding, "spared_writes_cachedev") == pytest.approx(930)
    once = said(Target(4000, "-d").cached(SIZES_3584, SIZES_3584, frames=1).judged("mtu-misaligned"))
    assert once.impact == "93.0% bypass cache cachedev."


def test_an_initiator_says_what_it_costs() -> None:
    assert "25.0% of the bytes, 400 KiB/s" in reached(9000, 8704, size=16384).finding("eth1").impact


@pytest.mark.parametrize("sectors", [0, 8, 2048, 8000])
def test_an_export_that_begins_at_a_block_is_nothing_to_speak_of(sectors: int) -> None:
    Target(8700, "-d", "-o", str(sectors)).judged("mtu-misaligned").ruled_out("eth1")


@pytest.mark.parametrize("sectors", [1, 7, 63, 2049])
def test_an_export_that_begins_within_a_block_shifts_all_that_it_serves(sectors: int) -> None:
    judged = Target(8700, "-d", "-o", str(sectors)).judged("mtu-misaligned")
    judged.ruled_out("eth1")
    finding = judged.finding("e0.70", "mtu-misaligned")
    assert finding.severity is Severity.WARNING
    assert finding.title == "EXPORT OFFSET SPLITS BLOCKS"
    assert f"-o {sectors} starts {sectors % 8 * 512} bytes into a block" in finding.cause
    assert value(finding, "offset") == sectors * 512
    assert finding.evidence[0].key == "/proc/70/cmdline"
    assert f"-o {-(-sectors // 8) * 8}:" in finding.steps[0]
    assert f"begin {8 - sectors % 8} sectors after" in finding.steps[1]
    quiet = Target(8700, "-o", str(sectors)).judged("mtu-misaligned").finding("e0.70", "mtu-misaligned")
    assert quiet.severity is Severity.INFO


def test_an_offset_explains_what_goes_past_and_the_path_is_not_suspected() -> None:
    judged = Target(8700, "-d", "-o", "63").cached(SIZES_3584, SIZES_3584).judged()
    finding = judged.finding("e0.70", "mtu-misaligned")
    assert finding.severity is Severity.CRITICAL
    assert finding.explains == ("cache-bypassed:cachedev", "cache-sub-block-io:cachedev")
    assert "7.0% of requests arrive as whole blocks" in judged.ruled_out("eth1", "mtu-misaligned").summary


def test_write_around_is_judged_by_what_may_be_cached() -> None:
    """Writes go past it as it was told to: frames are not to blame."""
    target = Target(4000, "-d").cached({4096: 1.0}, {3584: 0.1, 4096: 0.9})
    for rows in target.rows:
        cache = next(row for row in rows if isinstance(row, Cache))
        way = replace(cache, mode="writearound", reads=cache.writes, bypassed_reads=0, bypassed_writes=cache.writes)
        rows[rows.index(cache)] = way
    finding = said(target.judged("mtu-misaligned"))
    assert (finding.severity, finding.explains) == (Severity.WARNING, ())


@pytest.mark.parametrize(("bypass", "severity"), [(0.51, Severity.CRITICAL), (0.49, Severity.WARNING)])
def test_how_much_goes_past_decides_how_bad_it_is(bypass: float, severity: Severity) -> None:
    mixed = {3584: bypass, 4096: 1 - bypass}
    finding = said(Target(4000, "-d").cached(mixed, mixed).judged("mtu-misaligned"))
    assert finding.severity is severity
    assert finding.explains


def test_a_cache_that_is_bypassed_for_another_reason_is_not_explained() -> None:
    finding = said(Target(9000, "-d").cached({4096: 0.9, 512: 0.1}, {4096: 1.0}).judged("mtu-misaligned"))
    assert finding.severity is Severity.INFO  # all requests fit into frames
    assert finding.explains == ()


def test_a_cache_that_is_not_on_the_path_is_not_explained() -> None:
    target = Target(4000, "-d", path="/dev/sdz").cached(SIZES_3584, SIZES_3584)
    finding = said(target.judged("mtu-misaligned"))
    assert (finding.severity, finding.explains) == (Severity.WARNING, ())


def test_without_udevs_links_the_name_tells_which_mapping_it_is() -> None:
    target = Target(4000, "-d", path="/dev/mapper/cachedev").cached(SIZES_3584, SIZES_3584)
    assert said(target.judged("mtu-misaligned")).explains


def test_sizes_are_believed_more_than_an_mtu_that_would_be_right() -> None:
    judged = Target(4200, "-d").cached(SIZES_3584, SIZES_3584).judged()
    finding = said(judged)
    assert finding.severity is Severity.WARNING
    assert finding.title.startswith("REQUESTS ARRIVE SPLIT")
    assert finding.cause == "Requests arrive in pieces of 3584 bytes; MTU 4200 allows 4096."
    assert finding.steps[0].startswith("aoe-stat ")
    assert "3620-4131" in finding.steps[1]
    assert any("partitions begin at multiples of 8 sectors" in line for line in finding.steps)
    assert not any(line.startswith("ip link") for line in finding.steps)
    assert finding.confidence == 0.5
    assert finding.explains == ()
    assert judged.finding("cachedev", "cache-sub-block-io").severity is Severity.CRITICAL  # that is certain


def test_file_systems_of_small_blocks_may_look_like_small_frames() -> None:
    """The driver counts requests of all its caches together, before anybody knows what cut them."""
    small = {1024: 0.7, 2048: 0.1, 4096: 0.2}
    finding = said(Target(8700, "-d").cached(small, small).judged("mtu-misaligned"))
    assert finding.severity is Severity.WARNING
    assert any("2084-2595" in line for line in finding.steps)
    assert any("getbsz" in line for line in finding.steps)
    wrong = said(Target(9000, "-d").cached(small, small).judged("mtu-misaligned"))
    assert wrong.severity is Severity.WARNING
    assert wrong.title == "MTU 9000 SPLITS 4 KiB BLOCKS"
    assert wrong.cause == "Requests arrive in pieces of 2048 bytes; MTU 9000 allows 8704."
    assert (value(wrong, "payload"), value(wrong, "mtu_from"), value(wrong, "mtu_to")) == (8704, 8228, 8739)
    assert wrong.steps[0].startswith("ip link set dev eth1 mtu 8700")


def test_sizes_are_believed_more_than_an_mtu_that_would_be_less_bad() -> None:
    finding = said(Target(9000, "-d").cached(SIZES_3584, SIZES_3584).judged("mtu-misaligned"))
    assert "in pieces of 3584 bytes" in finding.cause
    at_9000 = {512: 0.2, 1024: 0.1, 3584: 0.31, 4096: 0.39}
    finding = said(Target(9000, "-d").cached(at_9000, at_9000).judged("mtu-misaligned"))
    assert "carry 8704 bytes" in finding.cause


def test_sectors_that_are_asked_for_one_by_one_are_no_frames() -> None:
    Target(4200, "-d").cached({512: 0.9, 4096: 0.1}, {512: 0.9, 4096: 0.1}).judged("mtu-misaligned").ruled_out("eth1")


def test_after_the_mtu_was_mended_old_totals_say_nothing() -> None:
    whole = {512: 0.02, 4096: 0.98}
    judged = Target(8700, "-d").cached(SIZES_3584, whole).judged()
    assert "98.0% of requests arrive as whole blocks" in judged.ruled_out("eth1", "mtu-misaligned").summary
    assert not [v for v in judged.all if isinstance(v, Finding)]
    once = Target(8700, "-d").cached(SIZES_3584, whole, frames=1).judged("mtu-misaligned")
    assert "second sample" in once.unchecked("eth1").reason


@pytest.mark.parametrize(("small", "severity"), [(4, Severity.INFO), (6, Severity.WARNING)])
def test_sizes_at_the_device_that_is_served(small: int, severity: Severity) -> None:
    counts = {4096: 100 - small, 4608: small}
    for counter, device in (("queue", "dm-5"), ("issue", "dm-0")):
        finding = said(Target(9000, "-d").counted(counter, device, counts).judged())
        assert finding.severity is severity
        assert value(finding, "small") == pytest.approx(small / 100)
    other = said(Target(9000, "-d").counted("queue", "sdz", counts).judged())
    assert other.severity is Severity.WARNING


def test_the_page_cache_puts_pieces_together() -> None:
    finding = said(Target(4000).cached(SIZES_3584, SIZES_3584).judged("mtu-misaligned"))
    assert finding.severity is Severity.INFO  # what goes past the page cache, nobody counted
    assert "page cache (vblade no -d)" in finding.impact
    assert finding.explains == ()


def test_what_is_only_read_through_the_page_cache_suffers_nothing() -> None:
    finding = said(Target(4000, "-r").judged("mtu-misaligned"))
    assert finding.severity is Severity.INFO
    assert "artial writes" not in finding.summary
    assert said(Target(4000, "-r", "-d").judged("mtu-misaligned")).severity is Severity.WARNING


def test_an_interface_of_another_namespace_is_unchecked() -> None:
    shown = files(Nic("eth0", 1500), more=vblade("-d", interface="vb"))
    judged = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, shown)])
    assert "namespace" in judged.unchecked("vb").reason
    with_socket = {PACKET: HEADING + "1 3 3 88a2 9 1 0 0 99\n"} | vblade("-d", interface="vb")
    shown = files(Nic("eth0", 1500), more=with_socket)
    assert [v.subject for v in Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, shown)]).all] == ["vb"]


def test_a_socket_without_a_vblade_is_unchecked() -> None:
    shown = files(Nic("eth1", 4000), more={PACKET: HEADING + "1 3 3 88a2 2 1 0 0 99\n"})
    judged = Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, shown)])
    assert "without a visible vblade" in judged.unchecked("").reason
    with_it = files(Nic("eth1", 4200), more={PACKET: HEADING + "1 3 3 88a2 2 1 0 0 99\n"} | vblade("-d"))
    assert [v.subject for v in Judged((INTERFACES, AOE), [MTU_MISALIGNED], [(0.0, with_it)]).all] == ["eth1"]


def test_an_interface_that_is_both_is_one_finding() -> None:
    target = Target(4000, "-d", more=disk(3584)).cached(SIZES_3584, SIZES_3584)
    finding = said(target.judged("mtu-misaligned"))
    assert finding.severity is Severity.CRITICAL
    assert "carries 3584 bytes" in str(value(finding, "also"))
    assert value(finding, "disks") == "etherd/e0.0"
    assert {"/sys/block/etherd!e0.0/payload", "/proc/70/cmdline"} <= {cite.key for cite in finding.evidence}


@pytest.mark.parametrize(("carried", "block", "words"), [(3584, 4096, "No request"), (4096, 8192, "No request")])
def test_frames_smaller_than_a_block_carry_none(carried: int, block: int, words: str) -> None:
    assert split_effect(carried, block).startswith(words)


def test_harm_by_size() -> None:
    assert split_effect(8704) == "Requests above 8704 bytes arrive split: 43.8% of one of 128 KiB."
