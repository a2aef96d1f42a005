"""Limits of volumes: which one binds, whose wait it is, and whom they hold."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.core.finding import Finding, Severity
from sdstop.rules.limits.qos_multiplied import QOS_MULTIPLIED
from sdstop.rules.limits.qos_partial import QOS_PARTIAL
from sdstop.rules.limits.volume_below_promise import VOLUME_BELOW_PROMISE
from sdstop.rules.limits.volume_qos_saturated import VOLUME_QOS_SATURATED
from tests.nodes.frames import Judged, value
from tests.nodes.limits import judged, mapping

KIB = 1024
RATES = ("requests_rate", "bytes_rate")


def used(
    *course: float,
    size: int = 4 * KIB,
    wait: float | None = None,
    config: dict[str, float] | None = None,
    **fields: Any,
) -> Judged:
    """Judge a mapping by the requests a second that it makes, ten seconds apart as gateways tell them."""
    rows = [mapping(requests_rate=n, bytes_rate=n * size, wait=wait, **fields) for n in course]
    rules = [VOLUME_QOS_SATURATED, VOLUME_BELOW_PROMISE]
    asked = {"volume-qos-saturated": config} if config else None
    return judged(rules, [[row] for row in (rows[0], *rows)], 10.0, asked)


def saturated(said: Judged) -> Finding:
    return said.finding("vol:v@sdc1", "volume-qos-saturated")


@pytest.mark.parametrize(
    ("kib", "iops", "binding"), [(32, 500, "IOPS"), (64, 416, "bandwidth"), (128, 208, "bandwidth")]
)
def test_the_story_by_request_size(kib: int, iops: int, binding: str) -> None:
    finding = saturated(used(*[iops] * 5, size=kib * KIB, wait=16 / iops))
    assert finding.severity is Severity.WARNING
    assert finding.title == f"AT {binding.upper()} LIMIT"
    assert value(finding, "break_even") == pytest.approx(53.2 * KIB, rel=0.001)
    assert value(finding, "allowed") == pytest.approx(iops, rel=0.001)


def test_sixteen_outstanding_at_500_iops_wait_32_milliseconds_for_the_limit() -> None:
    finding = saturated(used(*[500] * 5, wait=0.032, disk_wait=0.002))
    assert value(finding, "queue") == pytest.approx(16)
    assert value(finding, "limit_wait") == pytest.approx(0.030)
    assert finding.impact == "A request takes 32.0 ms: 30.0 ms for the limit, 2.00 ms for the disks."
    assert value(finding, "break_even") == pytest.approx(53.2 * KIB, rel=0.001)
    assert finding.cost == pytest.approx(15)
    untold = saturated(used(*[500] * 5, wait=0.032))
    assert untold.impact == "16 outstanding requests take 32.0 ms each, with any disks."
    assert value(untold, "limit_wait") is None


def test_what_the_wait_was_while_the_limit_was_far_is_the_disks() -> None:
    calm = mapping(requests_rate=100, bytes_rate=409600, wait=0.0018)
    full = mapping(requests_rate=500, bytes_rate=2048000, wait=0.032)
    said = judged([VOLUME_QOS_SATURATED], [[calm]] * 3 + [[full]] * 5, 10.0)
    assert value(said.finding("vol:v@sdc1"), "limit_wait") == pytest.approx(0.0302)


@pytest.mark.parametrize(("iops", "fires"), [(470, False), (480, True), (500, True)])
def test_95_percent_with_requests_that_wait(iops: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = used(*[iops] * 5, wait=0.032)
    if fires:
        assert saturated(said).severity is Severity.WARNING
    else:
        assert "94.0% of 500 IOPS" in said.ruled_out("vol:v@sdc1", "volume-qos-saturated").summary


@pytest.mark.parametrize(("full", "fires"), [(2, False), (3, True)])
def test_three_readings_of_five(full: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = used(*[100] * (5 - full), *[500] * full, wait=0.032)
    if fires:
        assert "60.0% of the time" in saturated(said).cause
    else:
        said.ruled_out("vol:v@sdc1", "volume-qos-saturated")


def test_near_the_limit_is_not_waiting_for_it() -> None:
    near = saturated(used(485, 495, 480, 490, 470, wait=0.001))  # half a request outstanding
    assert near.severity is Severity.INFO
    assert near.impact == "No sign that requests wait for the limit."
    # Exactly at it for so long: nothing but the limit makes that.
    shaped = saturated(used(*[499] * 5, wait=0.001))
    assert (shaped.severity, shaped.confidence) == (Severity.WARNING, 0.8)


def test_too_few_readings_and_no_counters_are_said() -> None:
    assert "2 of 3 samples" in used(500, 500, wait=0.032).unchecked("vol:v@sdc1", "volume-qos-saturated").reason
    said = judged([VOLUME_QOS_SATURATED], [[mapping()]] * 5)
    assert "no counter for this limit" in said.unchecked("vol:v@sdc1").reason


def test_two_mappings_of_one_volume_give_an_interval() -> None:
    finding = saturated(used(*[600] * 5, wait=0.03, sharers=2))
    assert finding.severity is Severity.INFO
    assert finding.cause == "60.0-100% of 500 IOPS."
    both = saturated(used(*[1000] * 5, wait=0.03, sharers=2))
    assert both.severity is Severity.WARNING  # neither can have room
    said = used(*[300] * 5, wait=0.03, sharers=2)
    assert "30.0 to 60.0% of 500 IOPS" in said.ruled_out("vol:v@sdc1", "volume-qos-saturated").summary


def test_the_clients_own_device_collapses_the_interval() -> None:
    rows = [mapping(requests_rate=600, bytes_rate=600 * 4096, sharers=2, device="scinia") for _ in range(12)]
    # 500 reads of 4 KiB a second that take 32 ms each: 16 outstanding
    stat = [
        f" 252 0 scinia {500 * t} 0 {4000 * t} {16000 * t} 0 0 0 0 16 {1000 * t} {16000 * t} 0 0 0 0 0 0\n"
        for t in range(1, 13)
    ]
    finding = saturated(judged([VOLUME_QOS_SATURATED], [[row] for row in rows], 1.0, None, stat))
    assert finding.severity is Severity.WARNING
    assert value(finding, "low") == value(finding, "share") == pytest.approx(1.0)
    assert value(finding, "queue") == pytest.approx(16)


def drive(**fields: Any) -> dict[str, Any]:
    known = {"kind": "qemu", "owner": "web", "limited": "iops", "iops": 100, "bandwidth": None}
    return mapping(**{**known, **fields})


def test_a_burst_has_an_end() -> None:
    """QEMU's documentation: 100 a second, bursts of 2000 for 60 s, last 63 s."""
    row = drive(iops_burst=2000, iops_burst_length=60, requests_rate=2000, bytes_rate=2000 * 4096)
    finding = judged([VOLUME_QOS_SATURATED], [[row]] * 11).finding("vol:v@web")
    assert value(finding, "burst_left") == pytest.approx(53.2, abs=0.2)
    assert value(finding, "burst") == "bursting"
    over = drive(iops_burst=2000, iops_burst_length=60, requests_rate=100, bytes_rate=409600)
    assert value(judged([VOLUME_QOS_SATURATED], [[over]] * 12).finding("vol:v@web"), "burst") == "used up"


def test_large_requests_count_several_times() -> None:
    row = drive(iops_size=4096, requests_rate=25, bytes_rate=25 * 16384)
    finding = judged([VOLUME_QOS_SATURATED], [[row]] * 12).finding("vol:v@web")
    assert value(finding, "share") == pytest.approx(1.0)
    small = drive(iops_size=16384, requests_rate=25, bytes_rate=25 * 4096)
    judged([VOLUME_QOS_SATURATED], [[small]] * 12).ruled_out("vol:v@web")


def test_what_has_no_limit_is_not_spoken_of() -> None:
    free = mapping(limited="none", iops=None, bandwidth=None, requests_rate=9e4, bytes_rate=9e4 * 4096)
    rules = [VOLUME_QOS_SATURATED, VOLUME_BELOW_PROMISE, QOS_MULTIPLIED, QOS_PARTIAL]
    assert judged(rules, [[free]] * 5).silent()
    unheld = mapping(kind="rbd", owner="", unheld="krbd does not know limits", requests_rate=500, bytes_rate=1)
    assert judged(rules[:2], [[unheld]] * 5).silent()


# --- volume-below-promise


@pytest.mark.parametrize(("iops", "fires"), [(390, True), (410, False)])
def test_four_fifths_of_the_promise(iops: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = used(*[iops] * 5, wait=16 / iops)
    if fires:
        finding = said.finding("vol:v@sdc1", "volume-below-promise")
        assert finding.severity is Severity.WARNING
        assert value(finding, "outstanding") == pytest.approx(16)
        assert finding.cause == "390 of 500 IOPS with 16 or more outstanding."
        assert "32.0 ms would meet the promise" in finding.impact
    else:
        assert "82" in said.ruled_out("vol:v@sdc1", "volume-below-promise").summary


@pytest.mark.parametrize(("outstanding", "fires"), [(3.9, False), (4.1, True)])
def test_who_asks_for_no_more_gets_no_less(outstanding: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = used(*[200] * 5, wait=outstanding / 200)
    if fires:
        said.finding("vol:v@sdc1", "volume-below-promise")
    else:
        assert "no unmet demand" in said.ruled_out("vol:v@sdc1", "volume-below-promise").summary


def test_a_promise_can_be_configured() -> None:
    row = mapping(requests_rate=450, bytes_rate=450 * 4096, wait=0.02, iops=2000)
    below = {"volume-below-promise": {"iops": 500.0}}
    judged([VOLUME_BELOW_PROMISE], [[row]] * 5, 10.0, below).ruled_out("vol:v@sdc1")
    judged([VOLUME_BELOW_PROMISE], [[row]] * 5, 10.0).finding("vol:v@sdc1")


def test_without_times_nobody_knows_whether_more_was_wanted() -> None:
    assert "demand unknown" in used(*[100] * 5).unchecked("vol:v@sdc1", "volume-below-promise").reason
    assert "as one sum" in used(*[100] * 5, sharers=3).unchecked("vol:v@sdc1", "volume-below-promise").reason
    used(*[0] * 5).ruled_out("vol:v@sdc1", "volume-below-promise")


def test_a_lid_is_no_promise() -> None:
    row = mapping(kind="cgroup", direction="read", requests_rate=10, bytes_rate=40960, wait=1.0)
    assert judged([VOLUME_BELOW_PROMISE], [[row]] * 5).silent()


# --- qos-multiplied, qos-partial


def test_three_mappings_do_three_times_the_limit() -> None:
    rows = [mapping(owner=f"sdc{n}") for n in range(3)]
    finding = judged([QOS_MULTIPLIED], [rows]).finding("vol:v")
    assert finding.severity is Severity.INFO
    assert value(finding, "iops") == 1500
    assert "3 mappings" in finding.summary
    assert "1500 IOPS and 78.0 MiB/s" in finding.cause


@pytest.mark.parametrize(("total", "severity"), [(520, Severity.INFO), (530, Severity.WARNING)])
def test_more_than_one_limit_in_use_is_a_warning(total: int, severity: Severity) -> None:
    rows = [mapping(owner=f"sdc{n}", requests_rate=total, bytes_rate=total * 4096, sharers=2) for n in range(2)]
    assert judged([QOS_MULTIPLIED], [rows] * 4).finding("vol:v").severity is severity
    each = [mapping(owner=f"sdc{n}", requests_rate=total / 2, bytes_rate=total * 2048) for n in range(2)]
    assert judged([QOS_MULTIPLIED], [each] * 4).finding("vol:v").severity is severity


def test_one_mapping_is_the_limit_of_the_volume() -> None:
    assert "1 of 1 mappings" in judged([QOS_MULTIPLIED], [[mapping()]]).ruled_out("vol:v").summary
    free = mapping(owner="b", limited="none", iops=None, bandwidth=None)
    assert "1 of 2 mappings" in judged([QOS_MULTIPLIED], [[mapping(), free]]).ruled_out("vol:v").summary
    groups = [mapping(kind="cgroup", owner=name, direction="read") for name in "ab"]
    assert judged([QOS_MULTIPLIED, QOS_PARTIAL], [groups]).silent()


def test_a_mapping_without_a_limit_may_take_all() -> None:
    free = mapping(owner="sdc9", limited="none", iops=None, bandwidth=None)
    finding = judged([QOS_PARTIAL], [[mapping(), mapping(owner="sdc2"), free]]).finding("vol:v")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "2 of 3 mappings are limited; sdc9 is not."
    assert "all 2 mappings" in judged([QOS_PARTIAL], [[mapping(), mapping(owner="b")]]).ruled_out("vol:v").summary
    assert judged([QOS_PARTIAL], [[mapping()]]).silent()
    untold = mapping(owner="b", limited=None, iops=None, bandwidth=None)
    assert "limit unknown" in judged([QOS_PARTIAL], [[mapping(), untold]]).unchecked("vol:v").reason


def test_a_limit_that_nobody_enforces() -> None:
    row = mapping(kind="rbd", owner="", limited="iops", bandwidth=None, unheld="the kernel's rbd knows no limits")
    finding = judged([QOS_PARTIAL], [[row]]).finding("vol:v")
    assert finding.title == "LIMIT NOT ENFORCED"
    assert "The kernel's rbd knows no limits" in finding.cause
