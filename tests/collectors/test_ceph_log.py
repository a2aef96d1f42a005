"""Health by Ceph's cluster log: checks that are active at its end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.ceph.cluster_log import parse
from sdstop.collectors.ceph.status_text import without_names

FAILED = "[WRN] Health check failed: 1 osds down (OSD_DOWN)"
UPDATED = "[WRN] Health check update: 2 osds down (OSD_DOWN)"
CLEARED = "[INF] Health check cleared: OSD_DOWN (was: 2 osds down)"
HEALTHY = "[INF] Cluster is now healthy"


def log(*said: str, minute: int = 0) -> str:
    """Lines of a log, ten seconds apart."""
    return "".join(
        f"2026-11-29T03:{minute + place // 6:02}:{place % 6}4.293172+0000 mon.store1 (mon.0) {place} : cluster {line}\n"
        for place, line in enumerate(said)
    )


def codes(text: str) -> Sequence[str]:
    return [check.code for check in parse(text).checks]


def test_the_last_state_of_each_check_counts() -> None:
    found = parse(log(FAILED, UPDATED))
    assert [(check.code, check.message, check.count) for check in found.checks] == [("OSD_DOWN", "2 osds down", 2)]
    assert (found.word, found.is_whole) == ("HEALTH_WARN", False)


def test_without_a_line_about_the_whole_health_a_cleared_check_says_nothing_of_others() -> None:
    assert parse(log(FAILED, CLEARED)).word == "unknown"
    assert parse(log(FAILED, CLEARED, HEALTHY)).word == "HEALTH_OK"
    assert parse(log(HEALTHY, FAILED)).word == "HEALTH_WARN"


def test_the_hourly_line_has_all_active_checks() -> None:
    found = parse(log(FAILED, "[WRN] overall HEALTH_WARN 1 nearfull osd(s); noout flag(s) set"))
    assert [check.code for check in found.checks] == ["OSD_NEARFULL", "OSDMAP_FLAGS"]
    assert found.is_whole
    assert parse(log(FAILED, "[INF] overall HEALTH_OK")).word == "HEALTH_OK"


def test_older_forms_of_a_line() -> None:
    for before in (
        "2026-11-29 03:00:14.293172 mon.a mon.0 192.0.2.1:6789/0 91 : cluster ",
        "2026-11-29 03:00:14 mon.a ",
    ):
        assert codes(before + FAILED) == ["OSD_DOWN"]


def test_slow_requests_count_for_a_minute() -> None:
    slow = "[WRN] 12 slow requests (by type [ 'delayed' : 12 ] most affected pool [ 'vm' : 12 ])"
    calm = ["[DBG] pgmap v12: 97 pgs: 97 active+clean"] * 7
    assert codes(log(HEALTHY, slow)) == ["REQUEST_SLOW"]
    assert codes(log(HEALTHY, slow, *calm[:6])) == ["REQUEST_SLOW"]
    assert codes(log(HEALTHY, slow, *calm)) == []


def test_errors_that_are_no_health_check_are_counted_and_the_last_is_quoted() -> None:
    error = "[ERR] 1.2f shard 4 soid 1:f4 : candidate had a read error"
    details = (
        "[ERR] Health detail: HEALTH_ERR 1 scrub errors",
        "[ERR] [ERR] OSD_SCRUB_ERRORS: 1 scrub errors",
        "[ERR]     x",
    )
    found = parse(log(HEALTHY, error, *details)).checks
    assert [(check.code, check.count) for check in found] == [("CLUSTER_LOG_ERROR", 1)]
    assert "candidate had a read error" in found[0].message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[ERR] Health check failed: Reduced data availability: 3 pgs inactive (PG_AVAILABILI", "PG_AVAILABILITY"),
        ("[WRN] Health check update: 1 osds down (OSD_DOW", "OSD_DOWN"),
        ("[WRN] Health check failed: 1 osds down", "OSD_DOWN"),
        ("[ERR] Health check failed: Reduced da", "UNKNOWN_CHECK"),
    ],
)
def test_a_health_check_whose_line_is_cut_is_still_that_check(line: str, expected: str) -> None:
    found = parse(log(HEALTHY, line))
    assert [check.code for check in found.checks] == [expected]
    assert found.word == ("HEALTH_ERR" if "ERR" in line else "HEALTH_WARN")


def test_the_osds_that_failed_and_did_not_boot_are_those_that_are_down() -> None:
    lost = [f"[INF] osd.{number} failed (root=default,host=store{number}) (2 reporters ...)" for number in (3, 9)]
    back = "[INF] osd.3 [v2:192.0.2.3:6800/1,v1:192.0.2.3:6801/1] boot"
    (check,) = parse(log(FAILED, *lost, UPDATED, back)).checks
    assert check.details == ("osd.9 (root=default,host=store9) is down",)
    (check,) = parse(log(FAILED, "[INF] osd.4 marked itself down and dead")).checks
    assert check.details == ("osd.4 (marked itself down) is down",)


def test_an_osd_that_failed_after_the_last_good_line_leaves_the_health_unknown() -> None:
    lost = "[INF] osd.9 failed (root=default,host=store9) (2 reporters ...)"
    assert parse(log(HEALTHY, lost)).word == "unknown"
    assert parse(log(lost, HEALTHY)).word == "HEALTH_OK"
    assert parse(log(HEALTHY, lost, "[INF] osd.9 v1:192.0.2.9:6801/1 boot")).word == "HEALTH_OK"


def test_redaction_keeps_the_health_and_no_name() -> None:
    text = log(FAILED, "[WRN] Health check failed: 1/3 mons down, quorum store1,store2 (MON_DOWN)")
    kept = without_names(text.encode()).decode()
    assert "store" not in kept
    assert codes(kept) == codes(text) == ["OSD_DOWN", "MON_DOWN"]


@given(st.text() | st.lists(st.sampled_from([FAILED, UPDATED, CLEARED, HEALTHY, "x"])).map(lambda said: log(*said)))
def test_any_text_is_parsed(text: str) -> None:
    found = parse(text)
    assert (found.word == "HEALTH_OK") <= found.is_whole


@pytest.mark.parametrize("line", ["[ERR] Hea", "[WRN] Health check faile", "[WRN] Health check update"])
def test_a_health_check_of_which_only_the_first_words_are_left_is_unknown(line: str) -> None:
    assert codes(log(HEALTHY, line)) == ["UNKNOWN_CHECK"]
    assert codes(log(HEALTHY, line.replace("ERR", "INF").replace("WRN", "INF"))) == []
