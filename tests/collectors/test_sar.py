"""What sar recorded of disks is read out of its text, of any version, and of nothing else in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.sar import SAR, DiskDay, parse
from sdstop.core.host import Absent, Malformed
from sdstop.core.replay import EvidenceHost

NEW = """Linux 6.1.0 (san1) \t11/21/26 \t_x86_64_\t(8 CPU)

12:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:10:01 AM     all      1.00      0.00      1.00      5.00      0.00     93.00

12:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
12:10:01 AM    dev8-0    100.00   1000.00    500.00      0.00     15.00      1.00     10.00     50.00
12:20:01 AM    dev8-0    300.00   3000.00    500.00      0.00     11.67      9.00     30.00     99.00
12:10:01 AM   dev8-16      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00
Average:       dev8-0    200.00   2000.00    500.00      0.00     12.50      5.00     25.00     74.50

12:30:01 AM  LINUX RESTART\t(8 CPU)
"""
OLD = """Linux 2.6.32 (old) 	21.11.2026 	_x86_64_	(4 CPU)

00:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
00:10:01          sda     10,00     80,00    160,00     24,00      0,01      1,00      0,50      0,50
"""


def rows(text: str) -> dict[str, DiskDay]:
    return {row.device: row for row in SAR.read(EvidenceHost.of({"cmd:sar -A": text})) if isinstance(row, DiskDay)}


def test_a_day_is_told_by_its_intervals() -> None:
    found = rows(NEW)
    assert found.keys() == {"dev8-0", "dev8-16"}
    disk = found["dev8-0"]
    assert (disk.intervals, disk.since, disk.to) == (2, "12:10:01 AM", "12:20:01 AM")
    assert disk.busy == pytest.approx(0.745)
    assert (disk.busy_most, disk.busy_at) == (0.99, "12:20:01 AM")
    assert disk.wait == pytest.approx((0.010 * 100 + 0.030 * 300) / 400)
    assert disk.wait_most == 0.030
    assert disk.requests == 200.0
    assert disk.bytes == 2500 * 1024
    assert (found["dev8-16"].wait, found["dev8-16"].wait_most) == (None, None)


def test_an_old_version_with_decimal_commas() -> None:
    disk = rows(OLD)["sda"]
    assert (disk.bytes, disk.busy, disk.requests) == (240 * 512, 0.005, 10.0)


def test_nothing_recorded_is_absent_and_no_disks_are_told() -> None:
    with pytest.raises(Absent):
        list(SAR.read(EvidenceHost.of({})))
    with pytest.raises(Malformed, match="no table of disks"):
        list(SAR.read(EvidenceHost.of({"cmd:sar -A": NEW.partition("12:00:01 AM       DEV")[0]})))


@given(st.lists(st.one_of(st.sampled_from((NEW + OLD).splitlines()), st.text(max_size=40)), max_size=40))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    text = "\n".join(lines)
    for intervals in parse(text).values():
        assert intervals
    try:
        list(SAR.read(EvidenceHost.of({"cmd:sar -A": text})))
    except Malformed:
        return
