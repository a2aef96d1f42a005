"""cache-bypassed and cache-sub-block-io: what goes past a cache, why, and when nothing is to be said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.collectors.aoe.readings import AoeExport
from sdstop.core.finding import Severity
from sdstop.core.lookback import Lookback
from sdstop.core.model import Reading
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes
from sdstop.rules.caches.cache_bypassed import CACHE_BYPASSED
from sdstop.rules.caches.cache_sub_block_io import CACHE_SUB_BLOCK_IO
from tests.nodes.cache_rows import BCACHE, DM_CACHE, FLASHCACHE, judged, run, sized
from tests.nodes.frames import value

BOTH = (CACHE_BYPASSED, CACHE_SUB_BLOCK_IO)


def load(bypass: float, rate: float = 1000.0, hits: float = 0.63) -> dict[str, float]:
    """Return what flashcache counts a second at a share of requests that go past; as many reads as writes."""
    way = rate / 2
    rest = way * (1 - bypass)
    both = {"s": way, "_hits": rest * hits, "_misses": rest * (1 - hits)}
    steps = {f"{name}{end}": step for name in ("read", "write") for end, step in both.items()}
    return steps | {"bypassed_reads": way * bypass, "bypassed_writes": way * bypass}


def pieces(share: float, rate: float = 1000.0) -> dict[int, float]:
    return {512: rate * share / 2, 3584: rate * share / 2, 4096: rate * (1 - share)}


def whole(step: dict[str, float], seconds: int) -> dict[str, int]:
    return {name: round(value * seconds) for name, value in step.items()}


def node(bypass: float, sub_block: float | None, seconds: int = 5, cache: Cache = FLASHCACHE) -> list[list[Reading]]:
    """Return frames of a cache whose past was like its present."""
    frames = run(cache, seconds, load(bypass), whole(load(bypass), 100_000))
    if sub_block is None:
        return frames
    past = {size: round(count * 123_400) for size, count in pieces(sub_block).items()}
    return sized(frames, pieces(sub_block), past)


def test_pieces_are_the_cause_of_the_bypass() -> None:
    said = judged(BOTH, node(0.92, 0.93))
    bypassed = said.finding("cachedev", "cache-bypassed")
    assert bypassed.severity is Severity.CRITICAL
    assert bypassed.title == "CACHE BYPASSED by 92.0% of requests"
    assert bypassed.cause == "93.0% are not whole 4 KiB blocks; only whole blocks are cached."
    assert bypassed.impact == "920 of 1000 requests/s go to md2 instead; the cache itself works."
    assert value(bypassed, "cacheable_read_hits") == pytest.approx(0.63, abs=0.01)
    assert value(bypassed, "read_hits") == pytest.approx(0.0504, abs=0.001)
    assert not bypassed.totals
    cause = said.finding("cachedev", "cache-sub-block-io")
    assert cause.severity is Severity.CRITICAL
    assert cause.explains == ("cache-bypassed:cachedev",)
    assert "512 B 46.5%" in cause.summary
    assert [f.rule for f in said.session.head().judgement.findings] == ["cache-sub-block-io", "cache-bypassed"]


@pytest.mark.parametrize(
    ("bypass", "severity"),
    [(0.19, None), (0.21, Severity.WARNING), (0.49, Severity.WARNING), (0.51, Severity.CRITICAL)],
)
def test_near_the_thresholds(bypass: float, severity: Severity | None) -> None:
    said = judged(BOTH, node(bypass, bypass))
    if severity is None:
        assert "19.0%" in said.ruled_out("cachedev", "cache-bypassed").summary
        said.ruled_out("cachedev", "cache-sub-block-io")
    else:
        finding = said.finding("cachedev", "cache-bypassed")
        assert finding.severity is severity
        assert ("the cache itself works" in finding.summary) is (bypass > 0.5)  # at half it would answer twice as many
        assert said.finding("cachedev", "cache-sub-block-io").severity is severity


@pytest.mark.parametrize(("sub_block", "cause"), [(0.71, True), (0.69, False), (0.89, True), (0.91, False)])
def test_shares_that_do_not_agree_are_of_another_cause(sub_block: float, cause: bool) -> None:  # noqa: FBT001
    said = judged(BOTH, node(0.8, sub_block))
    summary = said.finding("cachedev", "cache-bypassed").summary
    assert ("only whole blocks are cached" in summary) is cause
    if cause:
        said.finding("cachedev", "cache-sub-block-io")
    else:
        assert "Cause unknown" in summary
        said.ruled_out("cachedev", "cache-sub-block-io")


def test_the_window_decides_over_a_past_that_was_worse() -> None:
    past = whole(load(0.92), 400_000)
    frames = sized(run(FLASHCACHE, 5, load(0.02), past), pieces(0.02), {512: 500_000_000, 4096: 41_000_000})
    said = judged(BOTH, frames)
    assert "2.0% of" in said.ruled_out("cachedev", "cache-bypassed").summary
    said.ruled_out("cachedev", "cache-sub-block-io")
    assert said.session.episodes() == []  # the first frame alone could but tell of the past


def test_aoe_is_named_unless_it_is_known_that_there_is_none() -> None:
    """The rows made here come with an answer that nothing is served by AoE."""
    assert not any("MTU" in line for line in judged(BOTH, node(0.9, 0.9)).finding("cachedev", BOTH[1].id).steps)
    served = [[*frame, AoeExport(0, 1, "eth1", "/dev/vg/a", 1, 7)] for frame in node(0.9, 0.9)]
    advice = judged(BOTH, served).finding("cachedev", BOTH[1].id).steps
    assert advice[0] == "Set the MTU of both ends to 8228-8739 or 4132-4643."
    small = [replace(row, block_size=2048) if isinstance(row, Cache) else row for row in served[0]]
    advice = judged(BOTH, [small]).finding("cachedev", BOTH[1].id).steps
    assert advice[0] == "Set the MTU of both ends to 8228-8739 or 6180-6691."
    alone = judged(BOTH, node(0.9, 0.9), families=(Cache, RequestSizes)).finding("cachedev", BOTH[1].id).steps
    assert "(if they use AoE)" in alone[0]


def test_one_frame_tells_of_the_past_and_says_so() -> None:
    said = judged(BOTH, node(0.92, 0.93, seconds=0))
    for rule in BOTH:
        finding = said.finding("cachedev", rule.id)
        assert finding.severity is Severity.CRITICAL
        assert finding.totals
        assert finding.confidence == 0.6
        assert "since load" in finding.impact


def test_an_idle_cache_is_no_alarm_but_its_past_is_told() -> None:
    past = whole(load(0.92), 400_000)
    said = judged(BOTH, run(FLASHCACHE, 12, {"reads": 1.0, "bypassed_reads": 1.0}, past))
    finding = said.finding("cachedev", "cache-bypassed")
    assert finding.severity is Severity.INFO
    assert "too few now to judge" in finding.impact
    assert [e.finding.severity for e in said.session.episodes()] == [Severity.INFO]


def test_few_requests_are_not_judged() -> None:
    few = run(FLASHCACHE, 12, load(1.0, rate=41.0))  # 492
    assert "492" in judged(BOTH, few).unchecked("cachedev", "cache-bypassed").reason
    judged([CACHE_BYPASSED], few, requests=400.0).finding("cachedev")
    judged([CACHE_BYPASSED], run(FLASHCACHE, 12, load(1.0, rate=42.0))).finding("cachedev")


def test_what_is_sequential_goes_past_as_it_was_set_to() -> None:
    steps = load(0.9) | {"sequential_skipped": 800.0}
    frames = sized(run(replace(FLASHCACHE, skips_from=1 << 20), 5, steps), pieces(0.02), {})
    said = judged(BOTH, frames)
    finding = said.finding("cachedev", "cache-bypassed")
    assert finding.severity is Severity.INFO
    assert "sequential requests above 1 MiB" in finding.summary
    said.ruled_out("cachedev", "cache-sub-block-io")


def test_without_a_histogram_what_remains_is_named_as_such() -> None:
    said = judged(BOTH, node(0.9, None))
    assert "which leaves requests that are not whole blocks" in said.finding("cachedev", "cache-bypassed").summary
    assert "sizes" in said.unchecked("cachedev", "cache-sub-block-io").reason


def test_a_good_cache_beside_a_bad_one_of_the_same_driver() -> None:
    good = replace(FLASHCACHE, cache="mailcache", device="dm-9")
    frames = [
        [*bad, *mail]
        for bad, mail in zip(node(0.92, None), run(good, 5, load(0.0, rate=200.0)), strict=True)
    ]  # fmt: skip
    both = pieces(0.92)
    both[4096] += 200
    said = judged(BOTH, sized(frames, both, {512: 10}))
    assert value(said.finding("cachedev", "cache-sub-block-io"), "apart") == pytest.approx(0.0, abs=0.001)
    for rule in BOTH:
        said.ruled_out("mailcache", rule.id)


def test_errors_and_no_room_are_other_causes() -> None:
    errors = judged(BOTH, run(replace(FLASHCACHE, fast_errors=0), 5, load(0.9) | {"fast_errors": 3.0}))
    assert "I/O errors" in errors.finding("cachedev", "cache-bypassed").summary
    full = judged(BOTH, run(FLASHCACHE, 5, load(0.9) | {"no_room": 700.0}))
    assert "cache-full-of-dirty" in full.finding("cachedev", "cache-bypassed").summary


def test_write_around_passes_writes_by_and_is_judged_by_reads() -> None:
    steps = load(0.05) | {"bypassed_writes": 500.0}
    assert "5.0% of" in judged(BOTH, run(replace(FLASHCACHE, mode="writearound"), 5, steps)).ruled_out(
        "cachedev", "cache-bypassed"
    ).summary  # fmt: skip


def test_what_write_around_sends_past_is_no_matter_of_whole_blocks() -> None:
    """All of the writes go past it as they are to, and half of all requests are no whole block."""
    around = replace(FLASHCACHE, mode="writearound")
    for past, fires in ((0.5, True), (0.02, False)):
        steps = load(past) | {"bypassed_writes": 500.0}
        said = judged(BOTH, sized(run(around, 5, steps), pieces(0.5), {}))
        if fires:
            finding = said.finding("cachedev", "cache-sub-block-io")
            assert finding.severity is Severity.WARNING
            assert finding.impact.startswith("50.0% of reads bypassed the cache")
            assert value(finding, "apart") == pytest.approx(0.0)
        else:
            assert "2.0% of reads" in said.ruled_out("cachedev", "cache-sub-block-io").summary


def test_a_cache_for_writes_alone_passes_reads_by_and_is_judged_by_writes() -> None:
    reads = {"reads": 900.0, "bypassed_reads": 900.0}
    for past, fires in ((10.0, False), (150.0, True)):
        steps = reads | {"writes": 300.0, "bypassed_writes": past, "write_hits": 300.0 - past}
        said = judged(BOTH, run(replace(FLASHCACHE, mode="writecache"), 5, steps))
        if fires:
            assert "50.0% of writes" in said.finding("cachedev", "cache-bypassed").title
        else:
            assert "3.3% of" in said.ruled_out("cachedev", "cache-bypassed").summary


@pytest.mark.parametrize(
    ("cache", "words"),
    [
        (replace(BCACHE, state="no cache"), "No cache set is attached"),
        (replace(BCACHE, mode="none"), "mode none"),
        (replace(DM_CACHE, mode="passthrough"), "mode passthrough"),
    ],
)
def test_a_cache_out_of_use_is_said_even_while_nothing_comes(cache: Cache, words: str) -> None:
    finding = judged(BOTH, [[cache], [cache]]).finding(cache.cache)
    assert finding.severity is Severity.WARNING
    assert words in finding.summary
    assert finding.steps


@pytest.mark.parametrize("cache", [replace(DM_CACHE, policy="cleaner"), replace(DM_CACHE, mode="cleaner")])
def test_a_cache_that_is_emptied_is_no_alarm(cache: Cache) -> None:
    finding = judged(BOTH, [[cache], [cache]]).finding(cache.cache)
    assert finding.severity is Severity.INFO
    assert finding.title == "CACHE BEING EMPTIED: cleaner"


def test_what_is_counted_is_named() -> None:
    wc = replace(DM_CACHE, kind="dm-writecache", counts="blocks", bypassed_writes=0, writes=0)
    said = judged(BOTH, run(wc, 5, {"writes": 500.0, "bypassed_writes": 450.0})).finding("vg0/vol")
    assert (said.title, said.impact) == ("CACHE BYPASSED by 90.0% of blocks", "450 of 500 blocks/s go to dm-2 instead.")


def test_a_writecache_is_judged_by_writes_and_by_none_if_it_takes_metadata_alone() -> None:
    steps = {"reads": 9000.0, "writes": 500.0, "bypassed_writes": 450.0}
    wc = replace(DM_CACHE, kind="dm-writecache", reads=0, writes=0, bypassed_writes=0)
    assert judged(BOTH, run(wc, 5, steps)).finding("vg0/vol").impact == "450 of 500 writes/s go to dm-2 instead."
    assert judged(BOTH, run(replace(wc, mode="metadata only"), 5, steps)).silent()


def test_a_cache_that_counts_no_bypass_is_left_alone() -> None:
    assert judged(BOTH, run(DM_CACHE, 5, {"read_hits": 500.0, "read_misses": 900.0})).silent()


def test_bcache_does_not_tell_a_copy_from_a_slow_cache_device() -> None:
    passing = {"bypassed_reads": 900.0, "read_hits": 100.0}
    copy = judged(BOTH, run(BCACHE, 5, passing, {"read_hits": 900_000, "bypassed_reads": 90_000}))
    assert copy.finding("bcache0").severity is Severity.INFO
    always = judged(BOTH, run(BCACHE, 5, passing, {"read_hits": 90_000, "bypassed_reads": 900_000}))
    assert always.finding("bcache0").severity is Severity.WARNING
    never = judged(BOTH, run(replace(BCACHE, skips_from=0), 5, passing))
    assert never.finding("bcache0").severity is Severity.CRITICAL
    assert any("congested" in line for line in never.finding("bcache0").steps)


def test_counters_that_were_reset_begin_anew() -> None:
    frames = [*node(0.92, None), *run(FLASHCACHE, 5, load(0.05))]
    said = judged([CACHE_BYPASSED], frames)
    assert said.ruled_out("cachedev").summary == "5.0% of 5000 requests bypassed it in 5.0s"


def test_a_minute_is_looked_at_however_long_it_runs_and_whenever_it_is_asked() -> None:
    said = judged([CACHE_BYPASSED], [*node(0.0, None, seconds=40), *run(FLASHCACHE, 80, load(0.9))])
    assert "54000 requests" not in said.finding("cachedev").summary
    assert value(said.finding("cachedev"), "seconds") == 60
    assert "900 of 1000 requests/s" in said.finding("cachedev").impact
    assert value(said.finding("cachedev"), "requests") == 60_000
    lookback = Lookback(said.session)
    for place, came in ((30, 30_000), (40, 40_000), (71, 30_000), (120, 60_000)):
        judgement = lookback.at(place).judgement
        if place <= 40:
            assert judgement.ruled_out[0].summary.startswith(f"0% of {came} requests bypassed it in {came // 1000}s")
        else:
            assert value(judgement.findings[0], "requests") == came
