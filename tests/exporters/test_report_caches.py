"""What the report in words has of caches."""

from __future__ import annotations

from sdstop.exporters.report.text import text_report
from tests.nodes.block import Node
from tests.nodes.caches import story


def test_a_cache_is_told_with_its_state_and_its_counters_as_rates() -> None:
    report = text_report(story(before=9000).session(20), 200)
    caches = report[report.index("CACHES (2)") : report.index("CACHE ACTIVITY")]
    line = next(line for line in caches.splitlines() if line.startswith("  cachedev"))
    assert line.split()[:6] == ["cachedev", "flashcache", "dm-0", "sda", "md2", "writeback"]
    assert "bypass" not in caches.lower()
    activity = report[report.index("CACHE ACTIVITY (2)") :]
    assert "Hit of cacheable %" in activity
    assert "65.8" in activity


def test_one_frame_has_all_that_was_counted() -> None:
    report = text_report(story().session(0), 200)
    assert "Bypassed reads" in report
    assert "CACHE ACTIVITY" not in report


def test_counters_that_have_no_state_stand_in_data_formats_only() -> None:
    assert "\nDISKS (" not in text_report(Node().session(3))
