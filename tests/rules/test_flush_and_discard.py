"""flush-slow and discard-unaligned: counters of /proc/diskstats, near each threshold."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.core.finding import Finding, Gap, RuledOut, Severity
from sdstop.rules.disks.discard_unaligned import DISCARD_UNALIGNED
from sdstop.rules.disks.flush_slow import FLUSH_SLOW
from tests.nodes.frames import Judged, value

MIB = 1 << 20


def judged(
    *, flushes: float = 0.0, each: float = 0.0, rotational: int = 0, cache: str = "write back", seconds: int = 12,
    discards: int = 0, size: int = MIB, unit: int = MIB, device: str = "sda",
) -> Judged:  # fmt: skip
    """Judge a disk with so many flushes a second, `each` in seconds, and discards in all."""
    shown = []
    for second in range(seconds + 1):
        done, trimmed = int(flushes * second), discards * second // seconds
        row = (
            f"8 0 {device} 0 0 0 0 {100 * second} 0 {800 * second} {100 * second} 0 {500 * second} {100 * second} "
            f"{trimmed} 0 {trimmed * size // 512} {trimmed} {done} {int(done * each * 1000)}\n"
        )
        shown.append((float(second), {
            "/proc/diskstats": row,
            "list:/sys/block": device,
            f"list:/sys/block/{device}": "queue\ndevice\ndev",
            f"/sys/block/{device}/dev": "8:0",
            f"/sys/block/{device}/queue/rotational": str(rotational),
            f"/sys/block/{device}/queue/write_cache": cache,
            f"/sys/block/{device}/queue/discard_granularity": str(unit),
        }))  # fmt: skip
    return Judged((DISKSTATS, BLOCKDEV), [FLUSH_SLOW, DISCARD_UNALIGNED], shown)


@pytest.mark.parametrize(
    ("flushes", "each", "rotational", "found"),
    [
        (100, 0.0029, 0, False),  # below 3 ms
        (100, 0.0031, 0, True),
        (90, 0.0032, 0, False),  # 0.29 in flight
        (100, 0.02, 1, False),  # a rotating disk needs that
        (20, 0.031, 1, True),
        (0, 0.0, 0, None),
    ],
)
def test_slow_flushes(flushes: float, each: float, rotational: int, found: bool | None) -> None:  # noqa: FBT001
    said = judged(flushes=flushes, each=each, rotational=rotational)
    if found is None:
        assert said.silent("flush-slow")
    else:
        assert isinstance(said.of("sda", "flush-slow"), Finding if found else RuledOut)


def test_a_finding_states_what_was_measured() -> None:
    finding = judged(flushes=50, each=0.012).finding("sda", "flush-slow")
    assert (finding.severity, finding.title) == (Severity.WARNING, "SLOW FLUSHES: 12.0 ms each")
    assert finding.cause == "50 flushes/s of its volatile write cache take 12.0 ms each."
    assert finding.impact == "Synchronous writes wait for flushes 60.0% of the time."
    assert value(finding, "write_cache") == "write back"


def test_a_few_seconds_of_flushes_decide_nothing() -> None:
    said = judged(flushes=50, each=0.012, seconds=8).unchecked("sda", "flush-slow")
    assert (said.gap, said.reason) == (Gap.SIGNS, "50 flushes/s of 12.0 ms; collecting data: 8 of 10 s")
    brief = judged(flushes=50, each=0.012, seconds=4).unchecked("sda", "flush-slow")
    fast = judged(flushes=50, each=0.001, seconds=8).unchecked("sda", "flush-slow")
    assert [each.gap for each in (brief, fast)] == [Gap.EARLY, Gap.EARLY]


@pytest.mark.parametrize(
    ("discards", "size", "severity"),
    [
        (100, 64 << 10, Severity.WARNING),
        (99, 64 << 10, None),  # too few
        (120, MIB, Severity.INFO),
        (120, 4 * MIB + 4096, Severity.INFO),
    ],
)
def test_discards(discards: int, size: int, severity: Severity | None) -> None:
    said = judged(discards=discards, size=size)
    if severity is None:
        assert said.silent("discard-unaligned")
    elif size == MIB:
        assert said.ruled_out("sda", "discard-unaligned").summary == "120 discards, sum is a multiple of 1 MiB"
    else:
        assert said.finding("sda", "discard-unaligned").severity is severity


def test_a_device_without_discards_is_not_judged() -> None:
    assert judged(discards=200, unit=0).silent("discard-unaligned")
