"""Whatever a cache says or leaves out, the rules about caches have an answer, and quote evidence for what they find."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.finding import Finding, Unchecked
from sdstop.core.model import Reading
from sdstop.readings.cache import COUNTERS, Cache
from sdstop.rules.caches.cache_bypassed import CACHE_BYPASSED
from sdstop.rules.caches.cache_errors import CACHE_ERRORS
from sdstop.rules.caches.cache_full_of_dirty import CACHE_FULL_OF_DIRTY
from sdstop.rules.caches.cache_ineffective import CACHE_INEFFECTIVE
from sdstop.rules.caches.cache_sub_block_io import CACHE_SUB_BLOCK_IO
from tests.nodes.cache_rows import KEY, judged, sizes
from tests.nodes.frames import check

RULES = (CACHE_BYPASSED, CACHE_ERRORS, CACHE_FULL_OF_DIRTY, CACHE_INEFFECTIVE, CACHE_SUB_BLOCK_IO)

COUNT = st.none() | st.integers(0, 3000) | st.integers(0, 1 << 64)
SIZE = st.none() | st.sampled_from([0, 1, 512, 4096, 1 << 30]) | st.integers(0, 1 << 62)
GAUGES = ("size", "used", "dirty", "block_size", "metadata_size", "metadata_used", "skips_from")
WORDS = {
    "kind": st.sampled_from(["flashcache", "dm-cache", "dm-writecache", "bcache", "arc", "l2arc", "another"]),
    "mode": st.sampled_from([None, "writeback", "writearound", "none", "passthrough", "cleaner", "another"]),
    "state": st.sampled_from([None, "ok", "dirty", "no cache", "failed", "inconsistent", "another"]),
    "needs_whole_blocks": st.sampled_from([None, 1]),
    "fast": st.sampled_from([None, "sda", "sda,sdb"]),
    "slow": st.sampled_from([None, "md2"]),
}
FIELDS = {**WORDS, **dict.fromkeys(GAUGES, SIZE), **dict.fromkeys(COUNTERS, COUNT)}


@st.composite
def caches(draw: st.DrawFn) -> Cache:
    """Draw a cache; the evidence of bcache is a file of its own."""
    said: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=FIELDS))
    kind = said.pop("kind", "dm-cache")
    where = "/sys/block/bcache0/bcache/state" if kind == "bcache" else KEY
    return replace(Cache("c", kind, where=where), **said)


@st.composite
def courses(draw: st.DrawFn) -> list[list[Reading]]:
    """Draw frames in which a cache counts on, stands still, or is another one."""
    row = draw(caches())
    frames: list[list[Reading]] = [[row]]
    for _ in range(draw(st.integers(0, 3))):
        steps = {n: v + draw(st.integers(0, 2000)) for n in COUNTERS if (v := getattr(row, n)) is not None}
        row = replace(row, **steps) if draw(st.booleans()) else draw(caches())
        frames.append([row])
    for number, frame in enumerate(frames):
        if draw(st.booleans()):
            frame.append(sizes({512: 1000 * number, 4096: draw(st.integers(0, 5000))}))
    return frames


@given(courses())
def test_the_rules_always_have_an_answer(frames: list[list[Reading]]) -> None:
    for said in judged(RULES, frames).all:
        if isinstance(said, Unchecked):
            assert "bug" not in said.reason
        elif isinstance(said, Finding):
            check(said)
            assert said.summary.isascii()
