"""Text out of a ticket is recognised by its prompts, or by what it looks like."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.reader import OpenError, open_capture, open_pasted
from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.core import dates
from sdstop.core.collector import texts_of
from sdstop.core.evidence import UNDATED, dated
from sdstop.core.format import clock, utc
from sdstop.core.interval import unrolled
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.core.snapshot import Run
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.report.document import document
from sdstop.exporters.report.html import page
from sdstop.exporters.report.postmortem import postmortem
from sdstop.exporters.report.series import ReportSeries
from sdstop.exporters.report.text import text_report
from sdstop.pasted import LONGEST, TextRefused
from sdstop.pasted.reader import read_nodes
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service
from sdstop.rules import RULES
from sdstop.tui.dump import capture_name

TEXTS = texts_of(BUILTIN)
MDSTAT = """Personalities : [raid1]
md0 : active raid1 sdb[1](F) sda[0]
      1047552 blocks super 1.2 [2/1] [U_]

unused devices: <none>
"""
FLASHCACHE = """0 2930294784 flashcache stats:
\treads(8548541), writes(37900654)
\tread hits(1269980), read hit percent(14)
\twrite hits(1180567) write hit percent(3)
\tuncached reads(6539297), uncached writes(36280772), uncached IO requeue(1338)
"""
IOSTAT = """Linux 6.1.0 (san1) 	11/21/26 	_x86_64_	(8 CPU)

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda             10.00     40.00     0.00   0.00    1.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.01   1.00
"""  # noqa: E501  # as it is printed
ZPOOL = """  pool: tank
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  sda       ONLINE       0     0     0

errors: No known data errors
"""
PHY = """Report phy error log response:
  Expander change count: 567
  phy identifier: {}
  invalid dword count: 168
  running disparity error count: 172
  loss of dword synchronization count: 5
  phy reset problem count: 0
"""
DMIDECODE = """# dmidecode 3.4
Getting SMBIOS data from sysfs.

Handle 0x0011, DMI type 17, 40 bytes
Memory Device
\tSize: 16 GB
"""


def keys(text: str) -> dict[str, str]:
    _, (frame,) = read_nodes(text.encode(), TEXTS)[0]
    return {item.key: item.data.decode() for item in frame.evidence}


def test_everything_is_known_by_what_it_looks_like() -> None:
    text = "Hello, see below.\n\n" + "\nand\n\n".join(
        [MDSTAT, FLASHCACHE, ZPOOL, DMIDECODE, PHY.format(52), PHY.format(53), IOSTAT]
    )
    found = keys(text)
    assert found.keys() == {
        "/proc/mdstat", "cmd:dmsetup status", "cmd:zpool status", "cmd:dmidecode", "cmd:smp_rep_phy_err_log",
        "cmd:iostat -x",
    }  # fmt: skip
    assert found["/proc/mdstat"] == MDSTAT
    assert found["cmd:smp_rep_phy_err_log"].count("phy identifier") == 2


@pytest.mark.parametrize(
    "prompt", ["[root@san1 ~]# ", "root@san1:~# ", "san1:/# ", "# ", "$ sudo ", "user@san1:/var/log$ sudo -n ", "> "]
)
def test_prompts_name_what_was_run(prompt: str) -> None:
    text = f"{prompt}cat /proc/mdstat\n{MDSTAT}{prompt}/sbin/dmsetup status cachedev\n{FLASHCACHE}"
    assert keys(text) == {"/proc/mdstat": MDSTAT, "cmd:dmsetup status cachedev": FLASHCACHE}


def test_what_another_command_printed_is_left_out() -> None:
    text = f"root@san1:~# cat /proc/mdstat\n{MDSTAT}root@san1:~# lsusb\n Bus 001\n"
    origin, (frame,) = read_nodes(text.encode(), TEXTS)[0]
    assert [item.data.decode() for item in frame.evidence] == [MDSTAT]
    assert "unrecognized lines, ignored: 1" in origin.note


@pytest.mark.parametrize(
    "line", ["`dmsetup status cachedev`:", "dmsetup status cachedev", "  sudo dmsetup status cachedev"]
)
def test_a_command_by_itself_names_what_follows(line: str) -> None:
    assert keys(f"{line}\n```\n{FLASHCACHE}```\n").keys() == {"cmd:dmsetup status cachedev"}


def test_several_outputs_of_one_command_are_frames() -> None:
    later = MDSTAT.replace("[U_]", "[UU]")
    origin, frames = read_nodes(f"$ cat /proc/mdstat\n{MDSTAT}$ cat /proc/mdstat\n{later}".encode(), TEXTS)[0]
    assert [frame.evidence[0].data.decode() for frame in frames] == [MDSTAT, later]
    assert [frame.monotonic for frame in frames] == [0.0, 0.0]  # no time between them is known, so there are no rates
    assert "the times between the outputs of one command are unknown" in origin.note
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    (episode,) = session.episodes()
    assert episode.ended is not None
    assert session.head().judgement.findings == ()


def test_the_times_of_outputs_are_those_of_watch_and_date() -> None:
    def watched(second: int) -> str:
        return f"Every 10.0s: cat /proc/mdstat        san1: Mon Nov 23 07:24:{second} 2026\n\n{MDSTAT}\n"

    _, frames = read_nodes((watched(10) + watched(20).replace("[U_]", "[UU]") + watched(30)).encode(), TEXTS)[0]
    assert [frame.monotonic for frame in frames] == [0.0, 10.0, 20.0]
    text = "".join(f"$ date\nMon Nov 23 07:24:{s} UTC 2026\n$ cat /proc/mdstat\n{MDSTAT}md{s}\n" for s in (10, 20, 40))
    _, frames = read_nodes(text.encode(), TEXTS)[0]
    assert [frame.monotonic for frame in frames] == [0.0, 10.0, 30.0]
    assert frames[-1].taken - frames[0].taken == 30.0


def test_dmidecode_keeps_its_first_lines() -> None:
    assert keys(DMIDECODE)["cmd:dmidecode"] == DMIDECODE
    assert keys(f"# dmidecode -t 17\n{DMIDECODE}")["cmd:dmidecode -t 17"] == DMIDECODE


def test_findings_come_of_it() -> None:
    origin, frames = open_pasted(io.BytesIO(f"$ cat /proc/mdstat\r\n{MDSTAT}".encode()), TEXTS)[0]
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    assert [(f.rule, f.subject) for f in session.head().judgement.findings] == [("array-degraded", "md0")]
    assert "without a date" in origin.note


def test_a_file_of_text_opens_as_well(tmp_path: Path) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(MDSTAT)
    origin, _ = open_capture(file, TEXTS)
    assert origin.name == "ticket.txt"
    file.write_text("nothing that anybody knows\n")
    with pytest.raises(OpenError, match="is text without a recognized output"):
        open_capture(file, TEXTS)


@pytest.mark.parametrize("text", [b"", b"hello\n", b"\0\xff" * 50, b"$ cat /proc/mdstat\n", b"a" * (LONGEST + 1)])
def test_what_is_not_known_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(OpenError) as refused:
        open_pasted(io.BytesIO(text), TEXTS)
    assert "\n" not in str(refused.value)


def test_it_is_read_from_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sdstop", "report", "--from", "-"],
        input=MDSTAT.encode(),
        capture_output=True,
        check=True,
    )
    assert b"array-degraded" in done.stdout


def test_the_dashboard_needs_its_keys() -> None:
    done = subprocess.run([sys.executable, "-m", "sdstop", "--from", "-"], input=b"", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"the dashboard needs stdin" in done.stderr


_LINES = st.one_of(
    st.sampled_from(f"{MDSTAT}\n{FLASHCACHE}\n{ZPOOL}\n{DMIDECODE}\n{PHY}\n{IOSTAT}\n# dmsetup table\n$ x".split("\n")),
    st.text(max_size=60),
)


@given(st.lists(_LINES, max_size=60))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    with contextlib.suppress(TextRefused):
        origin, frames = read_nodes("\n".join(lines).encode("utf-8", "surrogatepass"), TEXTS)[0]
        Session(origin, BUILTIN, RULES).feed_all(frames)


def taken(text: str) -> float:
    return read_nodes(text.encode(), TEXTS)[0][1][0].taken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"$ date\nSat Nov 21 16:32:30 UTC 2026\n$ cat /proc/mdstat\n{MDSTAT}", 1795278750.0),
        (f"{MDSTAT}root@san1:~# date -Is\n2026-11-21T17:32:30+01:00\n", 1795278750.0),
        (f"{MDSTAT}root@san1:~# sudo date -R\nSat, 21 Nov 2026 17:32:30 +0100\n", 1795278750.0),
        (f"{MDSTAT}$ date +%s\n1795278750\n", 1795278750.0),
        (f"Sat Nov 21 04:32:30 PM UTC 2026\n{ZPOOL}", 1795278750.0),  # zpool status -T d
        (IOSTAT.replace("\n\n", "\n\n2026-11-21T17:32:30+0100\n", 1), 1795278750.0),  # S_TIME_FORMAT=ISO iostat -t
        (f"$ date -u\nSat Nov 21 16:32:20 UTC 2026\n{MDSTAT}$ date -u\nSat Nov 21 16:32:30 UTC 2026\n", 1795278750.0),
        (f"{MDSTAT}1795278750\n", UNDATED),  # a number, whatever it is of
        (f"$ date\nSat Nov 21 17:32:30 CET 2026\n{MDSTAT}", UNDATED),
        (IOSTAT, UNDATED),
    ],
)
def test_only_a_clock_that_says_its_zone_dates_it(text: str, expected: float) -> None:
    assert taken(text) == expected


def test_what_bounds_its_time_is_said_and_is_no_time() -> None:
    scan = "  scan: scrub repaired 0B in 00:10:02 with 0 errors on Sun Nov  8 00:34:03 2026\n"
    origin, (frame,) = read_nodes(ZPOOL.replace("config:", f"{scan}config:").encode(), TEXTS)[0]
    assert not dated(frame.taken)
    assert "copied after 2026-11-08 00:34:03 by the node's clock" in origin.note
    origin, (frame,) = read_nodes(f"$ date\nSat Nov 21 17:32:30 CET 2026\n{MDSTAT}".encode(), TEXTS)[0]
    assert "copied at 2026-11-21 17:32:30 by the node's clock; time zone unknown" in origin.note


def test_no_view_shows_a_date_that_nobody_knows() -> None:
    origin, frames = read_nodes(MDSTAT.encode(), TEXTS)[0]
    session, series = Session(origin, BUILTIN, RULES, remember=None), ReportSeries()
    for frame in frames:
        series.add(session.feed(frame).now)
    told = document(session)
    (finding,) = told["findings"]
    assert (told["started"], told["ended"], finding["since"], finding["until"]) == (None, None, None, None)
    views = {"text": text_report(session), "html": page(session, series), "markdown": postmortem(session)}
    for name, shown in views.items():
        assert "time unknown" in shown, name
        assert not re.search(r"\b\d{4}-\d\d-\d\d\b|\d\d:\d\d:\d\d", shown), name
    assert "1 frame, time unknown: pasted text" in views["text"]
    assert "1 frame, time unknown: pasted text" in views["html"]


def test_it_is_kept_without_a_date(tmp_path: Path) -> None:
    origin, frames = read_nodes(MDSTAT.encode(), TEXTS)[0]
    with CaptureWriter(tmp_path / "c.tar.gz", origin.name) as writer:
        writer.add(frames[0])
        writer.finish()
    assert open_capture(tmp_path / "c.tar.gz")[1][0].taken == UNDATED


@given(
    st.lists(
        st.one_of(st.text(max_size=60), st.from_regex(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \S{8} UTC \d{4}")), max_size=3
    )
)
def test_no_line_is_more_than_a_date(lines: list[str]) -> None:
    for line in lines:
        found = dates.unix_time(line)
        assert found is None or found >= 0
        dates.local_time(line)
        dates.seconds_since_epoch(line)
        dates.since_boot(line.encode("utf-8", "surrogatepass"), line.encode("utf-8", "surrogatepass"))


def test_the_exporter_and_the_dashboard_have_no_date_of_it_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(MDSTAT)
    assert command.execute(["export", "--once", "--from", str(file)]) == 0
    told = capsys.readouterr().out
    assert "sdstop_array_degraded" in told
    dates_ = [line for line in told.splitlines() if "timestamp_seconds" in line and not line.startswith("#")]
    assert dates_ == []
    origin, frames = open_capture(file, TEXTS)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    assert capture_name(session) == "sdstop-ticket_txt.tar.gz"
    assert session.ran_back == 0.0
    assert (clock(UNDATED), utc(UNDATED), clock(UNDATED + 3)) == ("-", "time unknown", "+3.0s")


def samples(*rates: int) -> str:
    head, _, table = IOSTAT.partition("\n\n")
    return f"{head}\n\n" + "\n".join(table.replace("10.00", f"{rate:.2f}", 1) for rate in rates)


def fed(text: str) -> tuple[Session, list[float | None]]:
    """Open a pasted text as the command line does; return the reads a second of sda in each of its frames."""
    origin, frames = open_pasted(io.BytesIO(text.encode()), TEXTS)[0]
    origin, frames = unrolled(origin, Retention(BUILTIN).frames(frames), BUILTIN)
    session = Session(origin, BUILTIN, RULES)
    found = []
    for frame in frames:
        session.feed(frame)
        row = session.head().now.get(DiskActivity, "sda")
        found.append(None if row is None else row.reads_per_second)
    return session, found


PROMPT = "[root@san1 ~]# "


def test_each_interval_of_pasted_iostat_is_a_frame() -> None:
    session, rates = fed(f"{PROMPT}iostat -x 5 3\n{samples(1, 2, 3)}{PROMPT}")
    assert rates == [2.0, 3.0]
    assert session.head().window.seconds == 5.0
    assert session.origin.note == "the date of the text is unknown"
    session, rates = fed(samples(1, 2, 3))
    assert rates == [2.0, 3.0]
    assert session.head().window.seconds == 1.0
    assert session.origin.note.endswith("the interval of cmd:iostat -x is not shown: 1 s is assumed")


@pytest.mark.parametrize("cut", [0, 1, 3, 40, 100], ids="{} characters less".format)
def test_reports_of_the_same_disks_prove_the_end_of_iostat(cut: int) -> None:
    lines = [[line, line.replace("sda", "sdb")] if "sda" in line else [line] for line in samples(1, 2, 3).split("\n")]
    text = "\n".join(line for each in lines for line in each).rstrip("\n")
    assert iostat(text[: len(text) - cut]).partial is (cut > 0)


def test_a_disk_that_only_the_last_report_of_iostat_has_proves_nothing() -> None:
    text = samples(1, 2, 3).rstrip("\n")
    assert not iostat(text).partial
    assert iostat(f"{text}\n{text.rpartition(chr(10))[2].replace('sda', 'sdb')}").partial


def iostat(text: str) -> Run:
    """Return the run of iostat in the last frame of a pasted text."""
    run = fed(text)[0].head().now.runs["iostat"]
    assert run.ok
    return run


def test_several_reports_in_one_paste_without_the_means_since_boot() -> None:
    assert fed(f"Hi,\n\n{samples(1, 2, 3)}\nand later:\n\n{samples(4, 5)}")[1] == [2.0, 3.0, 5.0]
    twice = f"{PROMPT}iostat -x 1 3\n{samples(1, 2, 3)}{PROMPT}iostat -x 1 3\n{samples(4, 5, 6)}"
    assert fed(twice)[1] == [2.0, 3.0, 5.0, 6.0]


def test_the_array_is_known_in_every_interval() -> None:
    session, rates = fed(f"{PROMPT}cat /proc/mdstat\n{MDSTAT}{PROMPT}iostat -x 1 4\n{samples(1, 2, 3, 4)}")
    assert rates == [2.0, 3.0, 4.0]
    assert {(e.finding.rule, e.finding.subject) for e in session.episodes()} == {("array-degraded", "md0")}


SAR = """Linux 6.1.0 (san1) \t11/21/26 \t_x86_64_\t(8 CPU)

18:41:42          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
18:41:43          sda     26.00    232.00      0.00     44.00     10.62      0.01      0.19      0.80

18:41:43          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
18:41:44          sda     99.00    380.00      0.00    256.00      6.42      0.02      0.17      1.20
"""
VDEVS = """              capacity     operations     bandwidth    total_wait
pool        alloc   free   read  write   read  write   read  write
----------  -----  -----  -----  -----  -----  -----  -----  -----
"""
VDEV = "tank         251M  1.13G      0     48  2.35K  2.98M  290us    2ms\n"
OSDS = "osd  commit_latency(ms)  apply_latency(ms)\n  2                   7                  7\n"


@pytest.mark.parametrize(
    ("text", "key", "frames"),
    [
        (SAR, "cmd:sar -d", 2),
        (SAR.partition("\n\n")[2], "cmd:sar -d", 2),
        (VDEVS + 4 * VDEV, "cmd:zpool iostat -v", 3),
        (OSDS, "cmd:ceph osd perf", 1),
    ],
)
def test_what_other_tools_print_is_known_by_its_heading(text: str, key: str, frames: int) -> None:
    assert keys(text).keys() == {key}
    session, _ = fed(f"Look:\n\n{text}")
    assert len(session.head().window.moments(Service)) == frames


def test_json_of_iostat_and_sadf_are_told_apart() -> None:
    here = Path(__file__).parents[1] / "collectors/sysstat"
    assert keys((here / "iostat-xt.json").read_text()).keys() == {"cmd:iostat -x -o JSON"}
    assert keys((here / "sadf.json").read_text()).keys() == {"cmd:sadf -j -- -d"}
