"""What sar recorded of disks is read out of its text, of any version, and of nothing else in it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.readings import DiskDay
from sdstop.collectors.block.sar import SAR, intervals, parse, printed, printed_json
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.readings.service import Service

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
    assert (served(OLD)["sda"].size, served(OLD)["sda"].read_share) == (24 * 512, 80 / 240)


def test_nothing_recorded_is_absent_and_no_disks_are_told() -> None:
    with pytest.raises(Absent):
        list(SAR.read(EvidenceHost.of({})))
    with pytest.raises(Absent):  # other tables of sar are those of other sources
        list(SAR.read(EvidenceHost.of({"cmd:sar -A": NEW.partition("12:00:01 AM       DEV")[0]})))


@given(st.lists(st.one_of(st.sampled_from((NEW + OLD).splitlines()), st.text(max_size=40)), max_size=40))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    text = "\n".join(lines)
    for found in parse(text).values():
        assert found
    try:
        list(SAR.read(EvidenceHost.of({"cmd:sar -A": text})))
    except (Absent, Malformed):
        return


def served(text: str, key: str = "cmd:sar -d 1 3") -> dict[str, Service]:
    return {row.device: row for row in SAR.read(EvidenceHost.of({key: text})) if isinstance(row, Service)}


def test_the_service_times_of_the_last_interval() -> None:
    disk = served(NEW)["dev8-0"]
    assert (disk.requests_per_second, disk.wait, disk.queue, disk.busy) == (300.0, 0.03, 9.0, 0.99)
    assert (disk.reads_per_second, disk.write_wait, disk.seconds) == (None, None, 600.0)
    assert (disk.naming, disk.name) == ("number", "8:0")
    assert served(OLD)["sda"].naming == "dev"
    assert served(OLD)["sda"].queue == 0.01


def test_a_device_without_times_has_none() -> None:
    text = OLD.replace("0,01", "0,00").replace("1,00      0,50      0,50", "0,00      0,00      0,00")
    disk = served(text)["sda"]
    assert (disk.requests_per_second, disk.wait, disk.queue, disk.busy) == (10.0, None, None, None)


def test_a_day_is_one_frame_and_seconds_are_many() -> None:
    assert intervals("sar -A", NEW.encode()) == []
    text = NEW.replace("12:10:01", "12:00:06").replace("12:20:01", "12:00:11")
    text = text.replace("12:00:06 AM   dev8-16", "12:00:11 AM   dev8-16")
    found = [(each.seconds, served(each.data.decode())) for each in intervals("sar -d 5 2", text.encode())]
    assert [(seconds, rows["dev8-0"].wait, rows["dev8-0"].seconds) for seconds, rows in found] == [
        (5.0, 0.01, 5.0), (5.0, 0.03, 5.0),
    ]  # fmt: skip
    assert [sorted(rows) for _, rows in found] == [["dev8-0"], ["dev8-0", "dev8-16"]]
    assert "dev8-0" not in rows_of_day(text)


def rows_of_day(text: str) -> set[str]:
    return {row.device for row in SAR.read(EvidenceHost.of({"cmd:sar -d": text})) if isinstance(row, DiskDay)}


PRETTY = """Linux 6.1.0 (san1) \t11/21/26 \t_x86_64_\t(8 CPU)

18:41:42          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
18:41:43        26.00    232.00      0.00     44.00     10.62      0.01      0.19      0.80 sda
"""


def test_the_pretty_report_has_the_device_at_the_end() -> None:
    disk = served(PRETTY)["sda"]
    assert (disk.requests_per_second, disk.wait, disk.seconds) == (26.0, 0.00019, 1.0)
    assert (disk.size, disk.read_share) == (10.62 * 1024, 1.0)


SADF = {
    "sysstat": {"hosts": [{"nodename": "n", "statistics": [
        {"timestamp": {"date": "2026-11-21", "time": "18:41:43", "utc": 1, "interval": 2},
         "disk": [{"disk-device": "sda", "tps": 26.0, "rd_sec": 464.0, "rkB": 232.0, "wkB": 8.0, "areq-sz": 10.62,
                   "aqu-sz": 0.01, "await": 0.19, "util-percent": 0.8}]},
        {"timestamp": {"date": "2026-11-21", "time": "18:41:45", "utc": 1, "interval": 2},
         "disk": [{"disk-device": "sda", "tps": 0, "await": 0, "util-percent": 0, "aqu-sz": 0}, {"disk-device": 3}]},
    ]}]}
}  # fmt: skip


def test_json_of_sadf() -> None:
    text = json.dumps(SADF)
    parts = intervals("sadf -j -- -d", text.encode())
    first, second = (served(each.data.decode(), "cmd:sadf -j -- -d")["sda"] for each in parts)
    assert (first.requests_per_second, first.wait, first.queue, first.busy, first.seconds) == (
        26.0, 0.00019, 0.01, 0.008, 2.0,
    )  # fmt: skip
    assert (first.size, first.read_share) == (10.62 * 1024, 232 / 240)
    assert (second.requests_per_second, second.wait, second.busy) == (0.0, None, 0.0)
    assert (second.size, second.read_share) == (None, None)
    for cut in range(len(text)):
        assert len(printed_json(text[:cut])) <= 2


@given(
    st.lists(st.one_of(st.sampled_from((NEW + OLD + PRETTY).splitlines()), st.text(max_size=40)), max_size=40).map(
        "\n".join
    )
    | st.text()
    | st.tuples(st.just(json.dumps(SADF)), st.integers(0, 600)).map(lambda both: both[0][: both[1]])
)
def test_no_text_breaks_its_intervals(text: str) -> None:
    for each in intervals("sar -d 1", text.encode("utf-8", "replace")):
        assert each.seconds is not None
        assert 0 < each.seconds <= 60
        assert printed(each.data.decode())


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(
        st.sampled_from(["disk", "timestamp", "interval", "disk-device", "tps", "await", "util-percent"]), x, max_size=5
    ),
    max_leaves=15,
)  # fmt: skip


@given(values)
def test_no_json_breaks_it(value: object) -> None:
    text = json.dumps({"sysstat": {"hosts": [{"statistics": [value, {"timestamp": value, "disk": [value]}]}]}})
    with contextlib.suppress(Malformed):
        list(SAR.read(EvidenceHost.of({"cmd:sadf -j": text})))
