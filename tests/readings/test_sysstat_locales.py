"""Times, numbers and tables of sysstat in other locales, as sysstat 12.6.1 printed them in each."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.sar import SAR
from sdstop.collectors.network.path_readings import InterfaceDay
from sdstop.collectors.network.sar import SAR_NETWORK
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.readings.service import Service
from sdstop.readings.sysstat import second_of_day, stamped_rows

TIMES = {
    "08:02:32": 28_952,  # de_DE, fr_FR, ru_RU
    " 8:02:32": 28_952,  # bg_BG
    "08.02.32": 28_952,  # fi_FI
    "08時02分32秒": 28_952,  # ja_JP, zh_TW
    "08时02分32秒": 28_952,  # zh_CN
    "08시 02분 32초": 28_952,  # ko_KR
    "08:02:32 PM": 72_152,  # en_US
    "12:02:32 AM": 152,
    "08:02:32 PM UTC": 72_152,  # en_IN
    "08:02:32 μμ": 72_152,  # el_GR
    "08:02:32 πμ": 28_952,
    "UTC 08:02:32 ص": 28_952,  # ar_EG
}


@pytest.mark.parametrize("time", TIMES)
def test_times(time: str) -> None:
    assert second_of_day(time) == TIMES[time]


@pytest.mark.parametrize(
    "date", ["23.11.2026", "23.11.26", "2026年11月23日", "2026년 11월 23일", "23/11/2026", "23 نوف, 2026"]
)
def test_a_date_in_front_of_a_time_is_not_the_time(date: str) -> None:
    assert second_of_day(f"{date} 08:02:32") == 28_952


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("last", [False, True])
def test_tables_of_disks(time: str, last: bool) -> None:  # noqa: FBT001
    titles, values = "tps  rkB/s  wkB/s  areq-sz  aqu-sz  await  %util", "1,50  2,00  3,00  4,00  0,01  5,00  6,00"
    later = time.replace("32", "33")
    heading = f"{time}  {titles} DEV" if last else f"{time}  DEV  {titles}"
    row = f"{later}  {values} sda" if last else f"{later}  sda  {values}"
    average = f"Moyenne :  {values} sda" if last else f"Moyenne :  sda  {values}"
    text = f"Linux 6.1.0 (n)  23.11.2026  _x86_64_  (2 CPU)\n\n{heading}\n{row}\n\n{average}\n"
    (found,) = (each for each in SAR.read(EvidenceHost.of({"cmd:sar -d 1 1": text})) if isinstance(each, Service))
    assert (found.device, found.requests_per_second, found.wait, found.busy) == ("sda", 1.5, 0.005, 0.06)
    assert found.seconds == 1.0


NETWORK = """\
Linux 6.1.0 (n)  11/23/2026  _x86_64_  (2 CPU)

12:00:01 AM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
12:10:01 AM      eth0     10.00     20.00      1.00      4.00      0.00      0.00      0.00      1.00
12:20:01 AM      eth0     30.00     20.00      3.00      2.00      0.00      0.00      0.00      5.00
Average:         eth0     20.00     20.00      2.00      3.00      0.00      0.00      0.00      3.00

12:00:01 AM     IFACE   rxerr/s   txerr/s    coll/s  rxdrop/s  txdrop/s  txcarr/s  rxfram/s  rxfifo/s  txfifo/s
12:10:01 AM      eth0      0.00      0.00      0.00      0.50      0.00      0.00      0.00      0.00      0.00
12:20:01 AM      eth0      0.00      0.00      0.00      1.50      0.25      0.00      0.00      0.00      0.00
Average:         eth0      0.00      0.00      0.00      1.00      0.12      0.00      0.00      0.00      0.00
"""


def days(text: str) -> list[InterfaceDay]:
    return [row for row in SAR_NETWORK.read(EvidenceHost.of({"cmd:sar -A": text})) if isinstance(row, InterfaceDay)]


def test_interfaces_of_a_day() -> None:
    (row,) = days(NETWORK)
    assert (row.interface, row.intervals, row.since, row.to) == ("eth0", 2, "12:10:01 AM", "12:20:01 AM")
    assert (row.rx, row.rx_most, row.tx, row.tx_most) == (2048.0, 3072.0, 3072.0, 4096.0)
    assert (row.busy_most, row.rx_dropped, row.tx_dropped, row.rx_errors) == (0.05, 1.0, 0.125, 0.0)


def test_errors_are_unknown_where_only_traffic_was_recorded() -> None:
    (row,) = days(NETWORK.partition("12:00:01 AM     IFACE   rxerr/s")[0])
    assert (row.rx_errors, row.tx_errors, row.rx_dropped, row.tx_dropped) == (None, None, None, None)


def test_tables_of_disks_are_not_those_of_interfaces() -> None:
    assert list(stamped_rows(NETWORK, "DEV")) == []
    for source in (SAR, SAR_NETWORK):
        with pytest.raises(Absent):
            list(source.read(EvidenceHost.of({"cmd:sar -u": "12:00:01  CPU  %user\n12:10:01  all  1.00\n"})))
