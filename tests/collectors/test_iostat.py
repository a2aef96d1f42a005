"""Reports of iostat -x of every version, text and JSON, whole and cut."""
# ruff: noqa: E501  # lines as wide as iostat prints them

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from sdstop.collectors.block.iostat import IOSTAT, activity_of, intervals, newest, served
from sdstop.collectors.block.iostat_report import printed, printed_json, printed_text
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service
from sdstop.readings.sysstat import distance, interval_of, second_of_day

MIB = 1024 * 1024

# What one device did, as each version prints it: 100 reads of 4 kB a second, 50 writes of 8 kB.
BANNER = "Linux 6.1.0 (node) \t11/21/26 \t_x86_64_\t(8 CPU)\n\n"
CPU = (
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           1.00    0.00    2.00    3.00    0.00   94.00\n\n"
)
V9 = """\
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda              25.00     0.00  100.00   50.00   800.00   800.00    10.67     0.30    2.00    1.00    4.00   1.00  15.00
"""
V10K = """\
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda              25.00     0.00  100.00   50.00   400.00   400.00    10.67     0.30    2.00    1.00    4.00   1.00  15.00
"""
V12 = """\
Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sda            100.00   50.00    400.00    400.00    25.00     0.00  20.00   0.00    1.00    4.00   0.30     4.00     8.00   1.00  15.00
"""
V126 = """\
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
sda            100.00    400.00    25.00  20.00    1.00     4.00   50.00    400.00     0.00   0.00    4.00     8.00    0.00      0.00     0.00   0.00    0.00     0.00    2.00    3.00    0.30  15.00
"""
HUMAN = """\
     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device
  100.00    400.0k    25.00  20.0%    1.00     4.0k sda

     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device
   50.00    400.0k     0.00   0.0%    4.00     8.0k sda

     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz Device
    0.00      0.0k     0.00   0.0%    0.00     0.0k sda

     f/s f_await  aqu-sz  %util Device
    2.00    3.00    0.30  15.0% sda
"""
JSON = {
    "disk_device": "sda", "r/s": 100.0, "w/s": 50.0, "d/s": 0.0, "f/s": 2.0, "rkB/s": 400.0, "wkB/s": 400.0,
    "dkB/s": 0.0, "rrqm/s": 25.0, "wrqm/s": 0.0, "drqm/s": 0.0, "rrqm": 20.0, "wrqm": 0.0, "drqm": 0.0, "r_await": 1.0,
    "w_await": 4.0, "d_await": 0.0, "f_await": 3.0, "rareq-sz": 4.0, "wareq-sz": 8.0, "dareq-sz": 0.0, "aqu-sz": 0.3,
    "util": 15.0,
}  # fmt: skip
JSON115 = {
    "disk_device": "sda", "rrqm": 25.0, "wrqm": 0.0, "r": 100.0, "w": 50.0, "rkB": 400.0, "wkB": 400.0,
    "avgrq-sz": 10.67, "avgqu-sz": 0.3, "await": 2.0, "r_await": 1.0, "w_await": 4.0, "svctm": 1.0, "util": 15.0,
}  # fmt: skip

OLD_IDLE = (V10K.replace("100.00", "0.00").replace("50.00", "0.00").replace("25.00", "0.00")
    .replace("400.00", "0.00").replace("10.67", "0.00").replace("0.30", "0.00").replace("2.00", "0.00")
    .replace("1.00", "0.00").replace("4.00", "0.00").replace("15.00", "0.00"))  # fmt: skip


def alike(found: DiskActivity | None, row: DiskActivity) -> bool:
    """Whether two rows differ by no more than the last bits."""
    if found is None:
        return False
    pairs = zip(astuple(found), astuple(row), strict=True)
    return all(a == b or (isinstance(b, float) and a == pytest.approx(b, rel=1e-12)) for a, b in pairs)


def expected(*, discards: bool, mean_size: float = 800 * 1024 / 150) -> DiskActivity:
    trims: list[Any] = [0.0, 0.0, 0.0, None, None, None, 2.0, 0.003] if discards else [None] * 8
    values = [
        "sda", 100.0, 409_600.0, 25.0, 0.2, 0.001, 4096.0, 50.0, 409_600.0, 0.0, 0.0, 0.004, 8192.0, *trims,
        0.3, 0.15, 150.0, 0.002, mean_size, None, "cmd:x",
    ]  # fmt: skip
    return DiskActivity(*values)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (V9, expected(discards=False, mean_size=10.67 * 512)),
        (V10K, expected(discards=False, mean_size=10.67 * 512)),
        (V10K.replace(".", ","), expected(discards=False, mean_size=10.67 * 512)),
        (V12, expected(discards=False)),
        (V126, expected(discards=True)),
        (V126.replace(".", ","), expected(discards=True)),
        (HUMAN, expected(discards=True)),
        (f"{BANNER}{CPU}{V126}\n", expected(discards=True)),
    ],
    ids=["9.1", "10-k", "comma", "12.0", "12.6", "12.6-comma", "human", "with-cpu"],
)
def test_text_of_every_version(text: str, row: DiskActivity) -> None:
    (report,) = printed_text(text)
    assert alike(activity_of("sda", report.rows["sda"], "cmd:x"), row)


@pytest.mark.parametrize(("unit", "factor"), [("sec", 2.0), ("kB", 1.0), ("MB", 1 / 1024), ("GB", 1 / MIB)])
def test_throughput_in_any_unit(unit: str, factor: float) -> None:
    head, row = V12.replace("kB/s", f"{unit}/s").splitlines()
    (report,) = printed_text(f"{head}\n{row.replace(' 400.00', f' {400 * factor:.10f}')}\n")
    found = activity_of("sda", report.rows["sda"], "cmd:x")
    assert found is not None
    assert found.read_bytes_per_second == pytest.approx(409_600, rel=1e-6)


@pytest.mark.parametrize(
    ("figure", "size"), [("1.5M", 1.5 * MIB), ("512.0B", 512), ("3.0s", 1536), ("2.0G", 2048 * MIB)]
)
def test_figures_with_their_own_unit(figure: str, size: float) -> None:
    (report,) = printed_text(HUMAN.replace("400.0k", figure))
    found = activity_of("sda", report.rows["sda"], "cmd:x")
    assert found is not None
    assert found.read_bytes_per_second == size


@pytest.mark.parametrize(
    ("disk", "row"),
    [(JSON, expected(discards=True)), (JSON115, expected(discards=False, mean_size=10.67 * 512))],
    ids=["12.6", "11.5"],
)
def test_json(disk: dict[str, Any], row: DiskActivity) -> None:
    text = json.dumps({"sysstat": {"hosts": [{"nodename": "n", "statistics": [{"disk": [disk]}]}]}})
    (report,) = printed_json(text)
    assert alike(activity_of("sda", report.rows["sda"], "cmd:x"), row)


def statistics(*rates: float) -> str:
    reports = [{"avg-cpu": {"user": 1.0}, "disk": [{**JSON, "r/s": rate}]} for rate in rates]
    return json.dumps({"sysstat": {"hosts": [{"date": "x", "statistics": reports}]}}, indent=1)


def test_json_that_was_cut_counts_as_far_as_reports_are_whole() -> None:
    text = statistics(1.0, 2.0, 3.0)
    for cut in range(len(text)):
        found = [report.rows["sda"]["r/s"] for report in printed_json(text[:cut])]
        assert found == [1.0, 2.0, 3.0][: len(found)]
    assert len(printed_json(text[:-8])) == 3
    third = text.index('"r/s": 3.0')
    assert len(printed_json(text[:third])) == 2


def test_an_idle_device_has_no_wait() -> None:
    (report,) = printed_text(OLD_IDLE)
    found = activity_of("sda", report.rows["sda"], "cmd:x")
    assert found is not None
    assert (found.read_wait, found.write_wait, found.wait, found.size, found.reads_merged_ratio) == (None,) * 5
    assert (found.queue, found.busy, found.completed_per_second) == (0.0, 0.0, 0.0)


def test_a_device_without_times_has_none() -> None:
    text = V10K.replace("0.30", "0.00").replace(" 2.00", " 0.00").replace(" 1.00", " 0.00")
    text = text.replace(" 4.00", " 0.00").replace(" 15.00", " 0.00")
    (report,) = printed_text(text)
    found = activity_of("sda", report.rows["sda"], "cmd:x")
    assert found is not None
    assert (found.read_wait, found.write_wait, found.wait, found.queue, found.busy) == (None,) * 5
    assert found.reads_per_second == 100.0


def test_rare_requests_keep_their_wait() -> None:
    (report,) = printed_text(
        V126.replace(" 50.00 ", "  0.00 ", 1).replace(" 400.00     0.00   0.00", "   0.00     0.00   0.00")
    )
    found = activity_of("sda", report.rows["sda"], "cmd:x")
    assert found is not None
    assert (found.writes_per_second, found.write_wait) == (0.0, 0.004)


# --- which report ---------------------------------------------------------------------------------------------


def test_the_last_report_is_what_counts() -> None:
    text = BANNER + "\n".join(CPU + V126.replace("100.00", f"{rate}.00") for rate in (1, 2, 3))
    assert [report.rows["sda"]["r/s"] for report in printed_text(text)] == [1.0, 2.0, 3.0]
    pretty = "\n".join(HUMAN.replace("100.00", f"{rate}.00") for rate in (1, 2))
    assert [report.rows["sda"]["r/s"] for report in printed_text(pretty)] == [1.0, 2.0]


@pytest.mark.parametrize("command", ["iostat -x", "iostat -xt 1 1", "iostat_-x", "iostat -x sday"])
def test_a_lone_first_report_is_the_mean_since_boot(command: str) -> None:
    with pytest.raises(Absent, match="since boot"):
        newest(printed(V126), command)


@pytest.mark.parametrize("command", ["iostat -xy 1 1", "iostat -y -x 1 1", "iostat_-xdy_1_1"])
def test_a_lone_report_without_the_first_counts(command: str) -> None:
    report, _ = newest(printed(V126), command)
    assert "sda" in report


def test_the_last_line_that_was_cut_is_left_out() -> None:
    text = V126 + V126.splitlines()[1].replace("sda", "sdb")
    assert set(printed_text(text)[0].rows) == {"sda", "sdb"}
    for cut in range(1, 160):
        assert set(printed_text(text[:-cut])[0].rows) == {"sda"}


@pytest.mark.parametrize("line", ["sdb 1.00 2.00", "sdb " + "x " * 22, "sdb " + "-1.00 " * 22, "sdb " + "nan " * 22])
def test_lines_that_do_not_fit_are_left_out(line: str) -> None:
    assert set(printed_text(f"{V126}{line}\n")[0].rows) == {"sda"}


# --- intervals ------------------------------------------------------------------------------------------------

AT = "11/21/26 18:41:{:02d}\n"


def reports(*rates: int, stamped: bool = False, version: str = V126) -> str:
    return "\n".join(
        (AT.format(40 + 5 * place) if stamped else "") + CPU + version.replace("100.00", f"{rate:.2f}")
        for place, rate in enumerate(rates)
    )


def split(command: str, text: str) -> list[tuple[float, float | None]]:
    """Return the reads a second and the length of each interval, read again from its own output."""
    found = []
    for interval in intervals(command, text.encode()):
        report, seconds = newest(printed(interval.data.decode()), command)
        assert seconds == interval.seconds
        assert report.keys() == {"sda"}
        found.append((report["sda"]["r/s"], seconds))
    return found


@pytest.mark.parametrize("version", [V9, V10K, V12, V126, HUMAN])
def test_each_interval_is_an_output_of_its_own(version: str) -> None:
    text = BANNER + reports(1, 2, 3, version=version)
    assert split("iostat -x 1 3", text) == [(2.0, 1.0), (3.0, 1.0)]
    assert split("iostat -xy 2 3", text) == [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]


def test_of_each_run_in_one_text_the_first_report_is_the_mean_since_boot() -> None:
    text = BANNER + reports(1, 2, 3) + "\n" + BANNER + reports(4, 5)
    assert [rate for rate, _ in split("iostat -x 1", text)] == [2.0, 3.0, 5.0]
    assert split("iostat -x", BANNER + reports(1) + "\n" + BANNER + reports(4)) == []
    with pytest.raises(Absent, match="since boot"):
        newest(printed(BANNER + reports(1) + "\n" + BANNER + reports(4)), "iostat -x")


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("iostat -x", 5.0),  # shown by the times alone
        ("iostat -x 5", 5.0),
        ("iostat -x 6 9", 6.0),  # times are printed in whole seconds
        ("iostat -x 60", 5.0),  # the times are right, whatever the command says
        ("iostat_-xt_5_3", 5.0),
    ],
)
def test_the_length_of_an_interval_is_that_of_its_times(command: str, seconds: float) -> None:
    assert split(command, BANNER + reports(1, 2, 3, stamped=True)) == [(2.0, seconds), (3.0, seconds)]


@pytest.mark.parametrize(
    ("line", "second"),
    [
        ("11/21/26 18:41:43", 67303),
        ("11/21/2026 06:41:43 PM", 67303),
        ("11/21/2026 12:00:01 AM", 1),
        ("2026-11-21T18:41:43+0100", 67303),
        ("Time: 18:41:43", 67303),
        ("21.11.2026 18.41.43", 67303),
        ("avg-cpu:  %user   %nice", None),
        ("           1.00    0.00", None),
        ("99:99:99", None),
    ],
)
def test_times_of_every_locale(line: str, second: int | None) -> None:
    assert second_of_day(line) == second


def test_an_interval_over_midnight() -> None:
    assert distance(86_395, 5, None) == 10.0
    assert distance(86_395, 5, 11.0) == 11.0
    assert distance(None, 5, None) is None


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("iostat -x", None),
        ("iostat -xdk 2", 2.0),
        ("iostat -x sda sdb 5 10", 5.0),
        ("iostat -x -p sda 3", 3.0),
        ("iostat -x -p 3", 3.0),
        ("iostat -x -o JSON 7 2", 7.0),
        ("iostat -x -g 9 sda 4", 4.0),
        ("iostat --dec=1 -x 1", 1.0),
        ("sar_-d_10_6", 10.0),
        ("sar -d -f /var/log/sa/sa21", None),
        ("iostat -x 0", None),
    ],
)
def test_the_interval_of_a_command(command: str, seconds: float | None) -> None:
    assert interval_of(command) == seconds


def test_each_interval_of_json() -> None:
    assert split("iostat -x -o JSON 1 3", statistics(1.0, 2.0, 3.0)) == [(2.0, 1.0), (3.0, 1.0)]
    assert split("iostat -x -y -o JSON 1 2", statistics(1.0, 2.0)) == [(1.0, 1.0), (2.0, 1.0)]
    two = statistics(1.0, 2.0, 3.0) + "\n" + statistics(4.0, 5.0)
    assert [rate for rate, _ in split("iostat -x -o JSON 1", two)] == [2.0, 3.0, 5.0]


SHORT = """\
Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util
vda              37.00    704.00    30.00    0.22    19.03    0.01   0.80
vdb               0.00      0.00     0.00    0.00     0.00    0.00   0.00
vdc              10.00    704.00     0.00    0.00    19.03    0.00   0.00
"""


def test_the_short_report_has_service_times_and_no_activity() -> None:
    host = EvidenceHost.of({"cmd:iostat -xsy 1 1": SHORT})
    rows = {row.device: row for row in IOSTAT.read(host) if isinstance(row, Service)}
    found = rows["vda"]
    assert (found.requests_per_second, found.wait, found.queue, found.busy) == (37.0, 0.00022, 0.01, 0.008)
    assert (found.reads_per_second, found.read_wait, found.seconds) == (None, None, 1.0)
    assert (rows["vdb"].wait, rows["vdb"].busy) == (None, 0.0)
    assert (rows["vdc"].wait, rows["vdc"].queue, rows["vdc"].busy) == (None, None, None)  # not timed
    assert not any(isinstance(row, DiskActivity) for row in IOSTAT.read(host))


def test_service_times_are_those_of_the_activity() -> None:
    found = served("sda", printed_text(V126)[0].rows["sda"], "cmd:x", 5.0)
    assert found is not None
    assert (found.reads_per_second, found.read_wait, found.writes_per_second, found.write_wait) == (
        100.0, 0.001, 50.0, 0.004,
    )  # fmt: skip
    assert (found.queue, found.busy, found.seconds, found.tool) == (0.3, 0.15, 5.0, "iostat")


# --- the collector --------------------------------------------------------------------------------------------


def read(files: dict[str, str]) -> dict[str, DiskActivity]:
    rows = IOSTAT.read(EvidenceHost.of(files))
    return {row.device: row for row in rows if isinstance(row, DiskActivity)}


def test_a_recorded_command_and_where_it_is_quoted_from() -> None:
    two = V126.replace("100.00", "7.00") + "\n" + V126
    found = read({"cmd:iostat -x 1 2": two})
    assert found["sda"].reads_per_second == 100.0
    source = found["sda"].source()
    assert source is not None
    assert (source.key, source.needle) == ("cmd:iostat -x 1 2", "sda")
    found = read({"slug:iostat_-xy_1_1": V126})
    source = found["sda"].source()
    assert source is not None
    assert source.key == "slug:iostat_-xy_1_1"


def test_json_and_text_together() -> None:
    other = V126.replace("sda", "cciss!c0d0").replace("100.00", "5.00")
    found = read({"cmd:iostat -x -o JSON 1 2": statistics(1.0, 2.0), "cmd:iostat -xy 1 1": V126 + other})
    assert found["sda"].reads_per_second == 2.0
    assert found["cciss/c0d0"].reads_per_second == 5.0


def test_nothing_recorded_is_said_so() -> None:
    with pytest.raises(Absent) as error:
        read({})
    assert not error.value.recorded
    with pytest.raises(Absent, match="since boot"):
        read({"cmd:iostat -x": V126})
    with pytest.raises(Malformed, match="no report"):
        read({"cmd:iostat -x 1 2": "bash: iostat: command not found\n"})


@pytest.mark.parametrize(
    "heading", ["Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn", "Device: tps Blk_read/s Blk_wrtn/s Blk_read Blk_wrtn"]
)
def test_reports_without_x_have_requests_and_nothing_of_waits(heading: str) -> None:
    basic = f"{heading}\nsda 1,50 2,00 3,00 5 6\n\n"
    (row,) = IOSTAT.read(EvidenceHost.of({"cmd:iostat -d 1 2": basic * 2}))
    assert isinstance(row, Service)
    assert (row.device, row.requests_per_second) == ("sda", 1.5)
    assert (row.wait, row.queue, row.busy, row.reads_per_second) == (None, None, None, None)


def test_a_report_without_known_columns_is_malformed() -> None:
    with pytest.raises(Malformed, match="iostat -x"):
        read({"cmd:iostat 1 2": "Device a b\nsda 1.00 2.00\n\n" * 2})


def test_a_device_on_a_line_of_its_own_belongs_to_the_values_below() -> None:
    heading = (
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util"
    )
    one = f"{heading}\na-long-name-of-a-volume\n                  0.00     0.00    2.00    1.00     8.00     4.00     8.00     0.01    3.00   1.00   0.30\n\n"
    rows = IOSTAT.read(EvidenceHost.of({"cmd:iostat -xh 1 2": one * 2}))
    assert {row.device for row in rows if isinstance(row, DiskActivity)} == {"a-long-name-of-a-volume"}


# --- for all texts --------------------------------------------------------------------------------------------

words = st.sampled_from([*V126.split(), *V9.split(), "Device", "Device:", "12,5k", "9" * 400, "1e5", "\n", "\n\n", "%"])


@given(st.lists(words).map(" ".join) | st.text())
def test_no_text_breaks_it(text: str) -> None:
    for report in printed_text(text):
        for device, row in report.rows.items():
            activity_of(device, row, "cmd:x")


commands = st.sampled_from(["iostat -x 1", "iostat -xy", "iostat_-x", "", "iostat -x 5 3"])


@given(st.lists(words | st.just(BANNER) | st.just(AT.format(1))).map(" ".join) | st.text(), commands)
def test_no_text_breaks_its_intervals(text: str, command: str) -> None:
    for interval in intervals(command, text.encode("utf-8", "replace")):
        report, seconds = newest(printed(interval.data.decode()), command)
        assert seconds is None or seconds > 0
        for device, row in report.items():
            served(device, row, "cmd:x", seconds)


@given(st.text() | st.lists(words).map(" ".join))
def test_the_collector_raises_what_it_declares(text: str) -> None:
    with contextlib.suppress(Absent, Malformed):
        IOSTAT.read(EvidenceHost.of({"cmd:iostat -x 1": text.encode("utf-8", "replace")}))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.sampled_from(["disk", *JSON, *JSON115]), x, max_size=8),
    max_leaves=20,
)


@given(json_values, st.integers(0, 400))
def test_no_json_breaks_it(value: Any, cut: int) -> None:
    text = json.dumps({"statistics": [{"disk": [value]}, value]})
    for shown in (text, text[:cut]):
        for report in printed_json(shown):
            for device, row in report.rows.items():
                activity_of(device, row, "cmd:x")


def test_deep_and_long_json_end() -> None:
    assert printed_json('{"statistics": [' + "[" * 100_000) == []
    assert printed_json('{"statistics": [' + "9" * 10_000) == []
