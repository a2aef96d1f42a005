"""device-hung in recorded output of iostat and sar: standstills, near their thresholds, and idle devices."""

from __future__ import annotations

from typing import Any

import pytest

from sdstop.core.finding import Finding, Gap, Severity
from sdstop.readings.service import IOSTAT, SAR, ZPOOL, Service
from sdstop.rules.disks.device_hung import DEVICE_HUNG
from tests.nodes.cache_rows import judged
from tests.nodes.frames import Judged

HUNG: dict[str, Any] = {"reads_per_second": 0.0, "writes_per_second": 0.0, "queue": 32.0, "busy": 1.0, "seconds": 5.0}


def service(device: str = "sdb", **fields: Any) -> Service:
    return Service(
        **{"device": device, "tool": IOSTAT, "origin": "cmd:iostat -x 5", "needle": device, **HUNG, **fields}
    )


def said(*rows: Service) -> Judged:
    """Judge intervals, each with one row and a disk that works."""
    fine = service("sda", reads_per_second=3.0, queue=0.1, busy=0.02)
    return judged([DEVICE_HUNG], [[fine, row] for row in rows], (Service,))


def test_a_device_that_completes_nothing_in_three_intervals_is_hung() -> None:
    judgement = said(*[service()] * 3)
    finding = judgement.finding("sdb")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "DEVICE HUNG: 32 waiting")
    assert finding.cause == "32 outstanding, none completed in 15s."
    assert judgement.ruled_out("sda").summary == "all requests complete in the last interval"


def test_so_is_one_of_sar_which_does_not_separate_reads_and_writes() -> None:
    both: dict[str, Any] = {
        "reads_per_second": None,
        "writes_per_second": None,
        "requests_per_second": 0.0,
        "seconds": 600.0,
    }
    assert said(*[service(tool=SAR, **both)] * 2).finding("sdb").severity is Severity.CRITICAL


@pytest.mark.parametrize(
    "row",
    [
        service(reads_per_second=0.2),
        service(writes_per_second=0.2),
        service(queue=0.0, busy=0.0),
        service(queue=0.9),
        service(busy=0.98),
        service(tool=ZPOOL, kind="group"),
    ],
)
def test_one_that_completes_a_request_or_has_none_is_not(row: Service) -> None:
    assert not [each for each in said(row, row, row).all if isinstance(each, Finding)]


def test_one_that_completed_a_request_in_the_last_interval_is_not_hung_any_more() -> None:
    judgement = said(service(), service(), service(), service(writes_per_second=9.0))
    assert judgement.ruled_out("sda").subjects == ("sda", "sdb")


@pytest.mark.parametrize(("intervals", "seconds", "found"), [(2, 5.0, True), (2, 4.9, False), (1, 60.0, False)])
def test_it_must_stand_for_ten_seconds_and_two_intervals(intervals: int, seconds: float, found: bool) -> None:  # noqa: FBT001
    judgement = said(*[service(seconds=seconds)] * intervals)
    if found:
        assert judgement.finding("sdb").lasting == intervals * seconds
    else:
        assert judgement.unchecked("sdb").gap is Gap.FAULTY


def test_a_single_request_can_be_a_wrong_count() -> None:
    finding = said(*[service(queue=1.0)] * 3).finding("sdb")
    assert (finding.severity, finding.title) == (Severity.WARNING, "DEVICE MAY BE HUNG")
