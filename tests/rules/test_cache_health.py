"""cache-ineffective, cache-full-of-dirty and cache-errors: each where it fires, must not, and near its thresholds."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.collectors.system.readings import Node
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.format import duration
from sdstop.readings.cache import Cache
from sdstop.readings.disk import Disk
from sdstop.rules.caches.cache_errors import CACHE_ERRORS
from sdstop.rules.caches.cache_full_of_dirty import CACHE_FULL_OF_DIRTY
from sdstop.rules.caches.cache_ineffective import CACHE_INEFFECTIVE
from tests.nodes.cache_rows import BCACHE, DM_CACHE, FLASHCACHE, L2ARC, judged, run
from tests.nodes.frames import Judged, value

MIB = 1 << 20
GIB = 1 << 30


def hits(share: float, rate: float = 1000.0, way: str = "read") -> dict[str, float]:
    return {f"{way}_hits": rate * share, f"{way}_misses": rate * (1 - share)}


def past(share: float) -> dict[str, int]:
    return {name: round(step * 10_000) for name, step in hits(share).items()}


# --- cache-ineffective ------------------------------------------------------------------------------------


def effect(cache: Cache, share: float, ever: float | None = None, **gauges: list[int]) -> Judged:
    before = past(share if ever is None else ever)
    return judged([CACHE_INEFFECTIVE], run(cache, 5, hits(share), before, gauges))


@pytest.mark.parametrize(("share", "fires"), [(0.11, False), (0.09, True), (0.0, True), (0.9, False)])
def test_few_hits(share: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = effect(DM_CACHE, share)
    if fires:
        finding = said.finding("vg0/vol")
        assert finding.severity is Severity.WARNING
        assert value(finding, "hit_share") == pytest.approx(share)
        assert "working set exceeds the 1000 MiB cache" in finding.summary
    else:
        said.ruled_out("vg0/vol")


@pytest.mark.parametrize("off", [{"mode": "passthrough"}, {"policy": "cleaner"}])
def test_a_cache_that_was_told_to_take_nothing_is_not_blamed_for_misses(off: dict[str, str]) -> None:
    assert effect(replace(DM_CACHE, used=300 * MIB, **off), 0.02).silent()


def test_a_minute_of_misses_is_no_matter_while_it_was_good_before() -> None:
    assert "40.0% since" in effect(DM_CACHE, 0.01, ever=0.4).ruled_out("vg0/vol").summary


def test_a_past_of_misses_is_no_matter_while_it_is_good_now() -> None:
    effect(DM_CACHE, 0.5, ever=0.01).ruled_out("vg0/vol")


def test_a_cold_cache_warms_up() -> None:
    cold = replace(DM_CACHE, used=500 * MIB)
    filling = effect(cold, 0.02, used=[(500 + n) * MIB for n in range(6)])
    assert "50.5% full and growing" in filling.ruled_out("vg0/vol").summary
    promoting = judged([CACHE_INEFFECTIVE], run(cold, 5, hits(0.02) | {"promotions": 2.0}, past(0.02)))
    assert "warming up" in promoting.ruled_out("vg0/vol").summary
    still = effect(cold, 0.02).finding("vg0/vol")
    assert "takes nothing in" in still.summary
    assert "migration_threshold" in still.steps[0]
    effect(DM_CACHE, 0.02, used=[(894 + n) * MIB for n in range(6)]).ruled_out("vg0/vol")
    effect(DM_CACHE, 0.02, used=[(896 + n) * MIB for n in range(6)]).finding("vg0/vol")


@pytest.mark.parametrize(("misses", "fires"), [(229_000, False), (231_000, True)])
def test_a_cache_that_does_not_tell_what_it_holds_is_cold_until_enough_went_in(misses: int, fires: bool) -> None:  # noqa: FBT001
    said = judged(
        [CACHE_INEFFECTIVE], run(replace(BCACHE, used=None), 5, hits(0.02, 400), {"read_misses": misses - 1960})
    )
    if fires:
        said.finding("bcache0")
    else:
        assert "warming up" in said.ruled_out("bcache0").summary


def test_writes_that_a_write_back_cache_takes_are_no_misses() -> None:
    steps = hits(0.01, way="write") | hits(0.16) | {"reads": 1000.0, "writes": 1000.0}
    before = {name: round(step * 10_000) for name, step in steps.items()}
    assert "reads" in judged([CACHE_INEFFECTIVE], run(FLASHCACHE, 5, steps, before)).ruled_out("cachedev").summary
    through = replace(FLASHCACHE, mode="writethrough")
    assert "requests" in judged([CACHE_INEFFECTIVE], run(through, 5, steps, before)).finding("cachedev").summary


def test_what_goes_past_is_not_its_fault() -> None:
    steps = hits(0.63, 250) | {"bypassed_reads": 10_000.0, "reads": 10_250.0}
    judged([CACHE_INEFFECTIVE], run(FLASHCACHE, 5, steps)).ruled_out("cachedev")


def test_few_requests_are_not_judged() -> None:
    assert judged([CACHE_INEFFECTIVE], run(DM_CACHE, 5, hits(0.0, 199)), ever=1.0).silent()
    judged([CACHE_INEFFECTIVE], run(DM_CACHE, 5, hits(0.0, 201)), ever=1.0).finding("vg0/vol")


@pytest.mark.parametrize(("hours", "fires"), [(3.0, False), (23.9, False), (24.1, True), (None, True)])
def test_the_first_backup_after_a_boot_says_nothing_of_a_cache(hours: float | None, fires: bool) -> None:  # noqa: FBT001
    node = Node(uptime=None if hours is None else hours * 3600)
    frames = [[*rows, node] for rows in run(DM_CACHE, 5, hits(0.02), past(0.02))]
    said = judged([CACHE_INEFFECTIVE], frames, (Cache, Node))
    if fires:
        said.finding("vg0/vol")
    else:
        assert said.unchecked("vg0/vol").calm
        assert f"uptime {duration((hours or 0) * 3600)}" in said.unchecked("vg0/vol").reason


@pytest.mark.parametrize(("before", "fires"), [(94_000, False), (96_000, True)])
def test_a_few_requests_ever_say_nothing_of_a_cache(before: int, fires: bool) -> None:  # noqa: FBT001
    frames = run(DM_CACHE, 5, hits(0.02), {"read_misses": before, "read_hits": 0})
    said = judged([CACHE_INEFFECTIVE], frames)
    if fires:
        said.finding("vg0/vol")
    else:
        assert "99.0K cacheable" in said.unchecked("vg0/vol").reason or "99000" in said.unchecked("vg0/vol").reason


@pytest.mark.parametrize("cache", [replace(DM_CACHE, kind="dm-writecache"), replace(L2ARC, kind="arc"),
                                   replace(BCACHE, state="no cache")])  # fmt: skip
def test_others_are_left_alone(cache: Cache) -> None:
    assert effect(cache, 0.0).silent()


@pytest.mark.parametrize(
    ("ever", "now", "headers", "fires"),
    [
        (0.04, 0.04, 1.1, True), (0.06, 0.04, 1.1, False), (0.04, 0.06, 1.1, False), (0.04, 0.04, 0.9, False),
    ],
)  # fmt: skip
def test_an_l2arc_that_costs_more_memory_than_it_brings(ever: float, now: float, headers: float, fires: bool) -> None:  # noqa: FBT001
    cache = replace(L2ARC, metadata_used=round(headers * GIB))
    said = effect(cache, now, ever)
    if fires:
        assert "1.1 GiB of memory" in said.finding("l2arc").summary
    else:
        said.ruled_out("l2arc")


def test_a_young_l2arc_is_not_judged() -> None:
    assert judged([CACHE_INEFFECTIVE], run(L2ARC, 5, hits(0.0), {"read_misses": 900_000})).silent()


# --- cache-full-of-dirty ----------------------------------------------------------------------------------


def dirt(cache: Cache, *mib: int, no_room: float = 0.0, rate: float = 1000.0) -> Judged:
    seconds = len(mib) - 1
    steps = {"reads": rate, "writes": 0.0, "no_room": no_room}
    return judged([CACHE_FULL_OF_DIRTY], run(cache, seconds, steps, None, {"dirty": [m * MIB for m in mib]}))


@pytest.mark.parametrize(("mib", "fires"), [(899, False), (901, True), (1000, True), (0, False)])
def test_a_cache_that_is_all_dirty(mib: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = dirt(FLASHCACHE, *[mib] * 6)
    if fires:
        finding = said.finding("cachedev")
        assert finding.severity is Severity.WARNING
        assert "to md2" in finding.summary
        assert any("dirty_thresh_pct" in line for line in finding.steps)
    else:
        said.ruled_out("cachedev")


@pytest.mark.parametrize(
    ("mib", "no_room", "fires"), [(499, 11.0, False), (501, 11.0, True), (501, 9.0, False), (20, 500.0, False)]
)
def test_requests_that_find_no_room(mib: int, no_room: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = dirt(FLASHCACHE, *[mib] * 6, no_room=no_room)
    if fires:
        assert "55 requests found no room" in said.finding("cachedev").summary
    else:
        said.ruled_out("cachedev")


def test_a_few_refusals_are_no_matter_however_few_requests_there_are() -> None:
    dirt(FLASHCACHE, *[600] * 6, no_room=1.8, rate=10.0).ruled_out("cachedev")


@pytest.mark.parametrize(("pace", "fires"), [(0.7, False), (0.9, True), (-5.0, False)])
def test_a_cache_that_is_full_soon(pace: float, fires: bool) -> None:  # noqa: FBT001  # a table
    """At 501 MiB and 0.83 MiB a second, 1000 MiB are dirty after ten minutes."""
    frames = run(FLASHCACHE, 12, {}, None, {"dirty": [501 * MIB + round(n * pace * MIB) for n in range(13)]})
    said = judged([CACHE_FULL_OF_DIRTY], frames)
    if fires:
        finding = said.finding("cachedev")
        assert "all dirty in about 9m" in finding.summary
        assert 500 < float(value(finding, "eta") or 0) < 600
    else:
        said.ruled_out("cachedev")


@pytest.mark.parametrize(("mib", "fires"), [(640, False), (660, True)])
def test_bcache_takes_no_writes_long_before_all_is_dirty(mib: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged([CACHE_FULL_OF_DIRTY], run(replace(BCACHE, dirty=mib * MIB), 5, {}))
    assert isinstance(said.of("bcache0"), Finding if fires else RuledOut)


def drains(dirty: list[int], wait: float, writes: int = 50, rate: int | None = None, running: int | None = 1) -> Judged:
    """Let a bcache's dirty data be so many MiB by the second, and each of its writes take `wait` seconds."""
    cache = replace(BCACHE, write_back_rate=rate, writes_back=running)
    frames = run(cache, len(dirty) - 1, {}, None, {"dirty": [mib * MIB for mib in dirty]})
    for second, rows in enumerate(frames):
        for name, each in (("bcache0", wait), ("vda", wait / 2)):
            done = writes * second
            rows.append(Disk(name, 252, 0, 0, 0, 0, 0, done, 0, 8 * done, round(done * each * 1000), 1, 0, 0))
    return judged([CACHE_FULL_OF_DIRTY], frames, (Cache, Disk))


def test_it_says_that_it_drains_and_what_writes_wait_for() -> None:
    """It grew over the minute and drains now: no time until it is full."""
    finding = drains([*range(600, 760, 4), *range(760, 700, -3)], 2.0).finding("bcache0")
    assert "drains to vda at 3.0 MiB/s" in finding.summary
    assert finding.impact == "A write takes 2.0s (1.0s on vda)."
    assert "all dirty in" not in finding.summary
    assert value(finding, "eta") is None


@pytest.mark.parametrize(
    ("mib", "wait", "fires"), [(500, 2.0, True), (500, 0.51, True), (500, 0.49, False), (390, 2.0, False)]
)
def test_it_stays_found_while_writes_wait(mib: int, wait: float, fires: bool) -> None:  # noqa: FBT001  # a table
    """Above 40 % dirty bcache sends writes to its disk (bch_cutoff_writeback), at the speed of that disk."""
    said = drains(list(range(mib + 60, mib, -3)), wait).of("bcache0")
    assert isinstance(said, Finding if fires else RuledOut)


STEP = 102


def steps(*mib: int, each: int = 12) -> list[int]:
    """Return dirty data by the second that is printed in steps: a value for `each` seconds."""
    return [value for value in mib for _ in range(each)]


@pytest.mark.parametrize(
    ("dirty", "drains", "clean"),
    [
        (steps(1800, 1800 - STEP, 1800 - 2 * STEP, 1800 - 3 * STEP), "drains to vda at 8.5 MiB/s", 176),
        (steps(1800, 1800 - STEP, 1800 - 2 * STEP, each=20), "drains to vda at 5.1 MiB/s", 313),
        (
            steps(1600, 1600 + STEP, 1600, 1600 - STEP, 1600 - 2 * STEP),
            "drains to vda at 8.5 MiB/s",
            164,
        ),  # first it grew
    ],
)
def test_a_number_printed_in_steps_is_measured_between_them(dirty: list[int], drains: str, clean: int) -> None:
    finding = drains_large(dirty).finding("bcache0")
    assert drains in finding.cause
    assert value(finding, "clean") == pytest.approx(clean, abs=0.5)
    assert "not shrinking" not in finding.summary


@pytest.mark.parametrize(
    "dirty", [steps(1800, each=40), steps(1800, 1800 - STEP, each=30), steps(1800, 1700, 1800, 1700, each=9)]
)
def test_steps_that_decide_nothing_are_no_rate(dirty: list[int]) -> None:
    summary = drains_large(dirty).finding("bcache0").summary
    assert not any(words in summary for words in ("drains", "not shrinking", "all dirty in"))


def drains_large(dirty: list[int]) -> Judged:
    """Let the dirty data of a bcache of 2.5 GiB be so many MiB by the second."""
    frames = run(replace(BCACHE, size=2560 * MIB), len(dirty) - 1, {}, None, {"dirty": [mib * MIB for mib in dirty]})
    for second, rows in enumerate(frames):
        done = 50 * second
        rows.append(Disk("bcache0", 252, 0, 0, 0, 0, 0, done, 0, 8 * done, done * 900, 1, 0, 0))
    return judged([CACHE_FULL_OF_DIRTY], frames, (Cache, Disk))


@pytest.mark.parametrize(("rate", "held"), [(4 * MIB, True), (3 * MIB, True), (2 * MIB, False), (None, False)])
def test_a_limit_that_holds_it_is_named(rate: int | None, held: bool) -> None:  # noqa: FBT001  # a table
    said = drains(list(range(560, 500, -3)), 2.0, rate=rate).finding("bcache0")
    assert ("limited by writeback_rate" in said.summary) is held
    assert any("writeback_percent" in line and "without a limit" in line for line in said.steps) is held


def test_a_cache_that_drains_and_holds_nobody_up_says_when_it_is_clean() -> None:
    assert (
        "32.3% dirty, drains at 3.0 MiB/s, clean in about 1m48"
        in drains(list(range(440, 320, -3)), 0.02).ruled_out("bcache0").summary
    )
    assert "clean" not in drains(list(range(80, 40, -3)), 0.02).ruled_out("bcache0").summary  # next to nothing


@pytest.mark.parametrize(
    ("dirty", "severity"),
    [(list(range(200, 220)), Severity.WARNING), ([200] * 20, Severity.INFO), ([420] * 20, Severity.WARNING)],
)
def test_writing_back_that_is_switched_off(dirty: list[int], severity: Severity) -> None:
    finding = drains(dirty, 0.01, running=0).finding("bcache0")
    assert finding.severity is severity
    assert finding.title.startswith("WRITE-BACK OFF: ")
    assert finding.steps[1:] == ("echo 1 > /sys/block/bcache0/bcache/writeback_running",)
    drains(dirty, 0.01, running=1).ruled_out("bcache0")


def test_writing_back_that_is_switched_off_without_dirty_data_is_good() -> None:
    drains([0] * 20, 0.01, running=0).ruled_out("bcache0")


def test_a_writecache_fills_to_half_before_it_writes_back() -> None:
    level = [(480 + n) * MIB for n in range(32)]
    writes = replace(FLASHCACHE, kind="dm-writecache")
    judged([CACHE_FULL_OF_DIRTY], run(writes, 31, {}, None, {"dirty": level})).ruled_out("cachedev")
    judged([CACHE_FULL_OF_DIRTY], run(FLASHCACHE, 31, {}, None, {"dirty": level})).finding("cachedev")


def test_what_finds_no_room_explains_what_goes_past() -> None:
    steps = {"reads": 1000.0, "bypassed_reads": 900.0, "no_room": 800.0}
    frames = run(replace(FLASHCACHE, dirty=950 * MIB), 5, steps)
    assert judged([CACHE_FULL_OF_DIRTY], frames).finding("cachedev").explains == ("cache-bypassed:cachedev",)


def test_what_is_not_known_is_not_judged() -> None:
    assert judged([CACHE_FULL_OF_DIRTY], [[replace(DM_CACHE, dirty=None)]]).silent()


# --- cache-errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["failed", "needs check", "read-only", "inconsistent"])
def test_a_cache_that_does_not_work(state: str) -> None:
    finding = judged([CACHE_ERRORS], [[replace(DM_CACHE, state=state)]]).finding("vg0/vol")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == f"The cache reports the state {state}."


@pytest.mark.parametrize("state", ["ok", "clean", "dirty", "no cache"])
def test_states_in_which_it_works(state: str) -> None:
    judged([CACHE_ERRORS], [[replace(DM_CACHE, state=state)]]).ruled_out("vg0/vol")


@pytest.mark.parametrize("state", ["cut off", "not understood"])
def test_a_line_that_says_too_little_is_not_called_good(state: str) -> None:
    said = judged([CACHE_ERRORS], [[replace(DM_CACHE, state=state)]]).unchecked("vg0/vol")
    assert state in said.reason


@pytest.mark.parametrize("step", [0.2, 5.0])
def test_errors_that_grow(step: float) -> None:
    finding = judged([CACHE_ERRORS], run(BCACHE, 5, {"fast_errors": step}, {"fast_errors": 7})).finding("bcache0")
    assert finding.severity is Severity.CRITICAL
    assert f"{round(step * 5)} I/O errors on the cache device in 5.0s, {7 + round(step * 5)} in total." == finding.cause
    assert finding.steps[1].startswith("smartctl -x /dev/vdc")


def test_a_cache_for_reads_that_fails_loses_nothing() -> None:
    finding = judged([CACHE_ERRORS], run(L2ARC, 5, {"fast_errors": 1.0})).finding("l2arc")
    assert finding.severity is Severity.WARNING


def test_old_errors_are_told_quietly() -> None:
    old = judged([CACHE_ERRORS], run(BCACHE, 5, {"fast_errors": 0.0}, {"fast_errors": 7})).finding("bcache0")
    assert old.severity is Severity.INFO
    assert "No error is new" in old.summary
    once = judged([CACHE_ERRORS], [[replace(BCACHE, fast_errors=7)]]).finding("bcache0")
    assert once.severity is Severity.INFO
    assert "A second sample" in once.summary


@pytest.mark.parametrize(("used", "fires"), [(7.1, False), (7.3, True), (8.0, True)])
def test_metadata_that_run_full(used: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged([CACHE_ERRORS], [[replace(DM_CACHE, metadata_used=round(used * MIB))]])
    if fires:
        assert said.finding("vg0/vol").severity is Severity.WARNING
    else:
        said.ruled_out("vg0/vol")


def test_all_that_is_wrong_with_a_cache_is_one_finding() -> None:
    finding = judged([CACHE_ERRORS], [[replace(DM_CACHE, state="read-only", metadata_used=8 * MIB)]]).finding("vg0/vol")
    assert finding.severity is Severity.CRITICAL
    assert "CACHE METADATA 100% FULL" in str(value(finding, "also"))


def test_a_cache_of_which_nothing_is_known_is_not_called_good() -> None:
    assert judged([CACHE_ERRORS], [[L2ARC]]).silent()
    assert (
        "neither state nor I/O errors"
        in judged([CACHE_ERRORS], [[replace(FLASHCACHE, state=None)]]).unchecked("cachedev").reason
    )
