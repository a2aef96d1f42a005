"""A source that brought something and was denied the rest: no view calls it good without a word."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from sdstop.cli.doctor import examination
from sdstop.collectors import BUILTIN
from sdstop.collectors.system.processes import PROCESSES
from sdstop.collectors.system.readings import ProcessIo, ProcessSummary
from sdstop.core.collector import Collector, Need
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import RuledOut, Severity
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.replay import Replay
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.core.snapshot import Run
from sdstop.exporters.plugin import verdict
from sdstop.exporters.report.document import document
from sdstop.exporters.report.text import text_report
from sdstop.rules import RULES
from tests.exporters.meters import Meter, Mood

PROC = "answer:psutil.processes"


def read(host: Host) -> Iterable[Reading]:
    for name in ("a", "b", "c"):
        host.maybe(f"/sys/{name}")
    yield Meter("a", count=1, mood=Mood.CALM)


SOURCE = Collector("files", "Files", read, (Meter,), ())


def denied(key: str) -> Evidence:
    return Evidence(key, Outcome.DENIED, detail="needs root")


def frame(number: int, *evidence: Evidence) -> Frame:
    return Frame(number, 1000.0 + number, float(number), evidence)


def process(pid: int, moved: int | None) -> dict[str, object]:
    return {"pid": pid, "name": "x", "started": 1.0, "user": "u", "read_bytes": moved, "write_bytes": moved}


def processes(*moved: int | None) -> Evidence:
    return Evidence(PROC, data=json.dumps([process(pid, m) for pid, m in enumerate(moved, 1)]).encode())


def runs(collector: Collector, *frames: Frame) -> list[Run]:
    replay = Replay((collector,))
    return [replay.feed(each).runs[collector.name] for each in frames]


def test_files_that_were_denied_are_told_until_they_are_not() -> None:
    told = runs(
        SOURCE,
        frame(1, Evidence("/sys/a", data=b"1"), Evidence("/sys/b", data=b"1")),
        frame(2, denied("/sys/b")),
        frame(3, denied("/sys/a"), denied("/sys/other")),
        frame(4, Evidence("/sys/b", data=b"1"), Evidence("/sys/a", Outcome.ABSENT)),
    )
    assert [run.outcome for run in told] == [Outcome.OK] * 4
    assert [run.word for run in told] == ["ok", "partial", "partial", "ok"]
    assert [run.reason for run in told] == [
        "",
        "/sys/b: denied, needs root",
        "/sys/a: denied, needs root; and 1 more denied",
        "",
    ]


def test_processes_that_hide_make_their_source_partial() -> None:
    told = runs(PROCESSES, frame(1, processes(5, 6)), frame(2, processes(5, None, None)), frame(3, processes(None)))
    assert [run.reason for run in told] == [
        "",
        "answer:psutil.processes: denied for 2 of 3 processes",
        "answer:psutil.processes: denied for 1 of 1 processes",
    ]
    assert [run.partial for run in told] == [False, True, True]


def test_processes_that_nobody_can_count_are_not_counted_as_none() -> None:
    said = json.dumps([process(7, 5), {"pid": 1, "hidden": True, "read_bytes": None, "write_bytes": None}])
    (run,) = runs(PROCESSES, frame(1, Evidence(PROC, data=said.encode())))
    assert run.reason == "answer:psutil.processes: denied, /proc hides other users' processes"
    assert list(run.tables[ProcessSummary].values()) == [ProcessSummary(None, None)]
    assert len(run.tables[ProcessIo]) == 1


def test_a_source_that_is_not_good_is_called_what_it_is() -> None:
    (run,) = runs(PROCESSES, frame(1, denied(PROC)))
    assert (run.word, run.partial) == ("denied", False)


def session(*, privileged: bool) -> Session:
    made = Session(Origin("node", live=True, privileged=privileged), (PROCESSES, SOURCE), ())
    made.feed(frame(1, processes(5, None), Evidence("/sys/a", data=b"1")))
    return made


def test_the_views_do_not_call_it_ok() -> None:
    made = session(privileged=False)
    (line,) = (line.split(maxsplit=2) for line in text_report(made).splitlines() if line.startswith("  processes "))
    assert line[1:] == ["partial", "answer:psutil.processes: denied for 1 of 2 processes"]
    (row, files) = document(made)["collectors"]
    assert (row["outcome"], row["reason"]) == ("ok", "answer:psutil.processes: denied for 1 of 2 processes")
    assert (files["outcome"], files["reason"]) == ("ok", "")


def test_doctor_says_what_root_would_add_to_whom_is_not_root() -> None:
    said = examination(session(privileged=False), 300)
    assert said.startswith("node, live, not as root: 2 of 2 sources ok, 1 of them partial\n")
    (line,) = (line for line in said.splitlines() if line.startswith("processes"))
    assert line.split()[1] == "partial"
    assert "Processes' I/O. answer:psutil.processes: denied for 1 of 2 processes. " in line
    assert f"{PROC} requires root, for other users' processes (which processes do the I/O)" in line
    assert "requires root" not in examination(session(privileged=True), 300)


PASTED = Collector("pasted", "Pasted meters", lambda host: [Meter(host.run(["meter"]).text)], (Meter,),
                   (Need("cmd:meter", "all of it"),))  # fmt: skip


def test_sources_that_read_only_recorded_output_are_no_gap_of_a_live_node() -> None:
    """They are named in one line. Where a capture has the output, or lacks it, each has its line as every source."""
    live = Session(Origin("node", live=True), (SOURCE, PASTED), ())
    live.feed(frame(1, Evidence("/sys/a", data=b"1")))
    said = examination(live, 300)
    assert said.startswith("node, live: 1 of 1 source ok\n")
    assert not any(line.startswith("pasted") for line in said.splitlines())
    line = "Read recorded output, not a live node: pasted"
    assert line in said.splitlines()
    assert f"  {line}" in text_report(live).splitlines()
    capture = Session(Origin("node"), (SOURCE, PASTED), ())
    capture.feed(frame(1, Evidence("/sys/a", data=b"1"), Evidence("cmd:meter", data=b"1")))
    assert examination(capture, 300).startswith("node, from a capture: 2 of 2 sources ok\n")
    bare = Session(Origin("node"), (SOURCE, PASTED), ())
    bare.feed(frame(1, Evidence("/sys/a", data=b"1")))
    assert examination(bare, 300).startswith("node, from a capture: 1 of 2 sources ok, 1 absent\n")
    assert "  Not recorded in this capture: pasted" in text_report(bare).splitlines()


@pytest.mark.parametrize(("lacking", "strict", "code"), [(True, False, 0), (True, True, 3), (False, True, 0)])
def test_check_does_not_call_it_good_where_it_is_strict(*, lacking: bool, strict: bool, code: int) -> None:
    rule = Rule("any", "Anything", Severity.WARNING, lambda *_: [RuledOut("node", "all 2 good")], ())
    made = Session(Origin("node"), (PROCESSES,), (rule,))
    made.feed(frame(1, processes(5, None if lacking else 5)))
    answer = verdict(made, made.head().judgement, strict=strict)
    assert answer.code == code
    assert answer.said == ("incomplete data: processes" if code else "no findings")
    denied = "answer:psutil.processes: denied for 1 of 2 processes"
    why = f"NO USABLE DATA: processes (partial: {denied})" if strict else f"PARTIAL DATA: processes ({denied})"
    assert answer.details == ((why,) if lacking else ())


OPEN = Collector(
    "open", "Open files", lambda host: [Meter(host.maybe("/a") or "-")], (Meter,), (Need("/[ab]", "", everyone=True),)
)


def test_what_every_user_can_read_is_never_denied_but_has_failed() -> None:
    """No privilege opens it where it is refused, so that the rest of the source cannot be called good."""
    (run,) = runs(OPEN, frame(1, denied("/a")))
    assert (run.outcome, run.reason) == ("ok", "/a: denied, although every user can read it")
    assert [(each.key, each.contradiction) for each in run.defects] == [("/a", False)]
    (read,) = runs(OPEN, frame(1, Evidence("/a", data=b"fine\n")))
    assert (read.reason, read.defects) == ("", ())


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("diskstats", "/proc/diskstats"), ("mdraid", "/proc/mdstat"), ("mdmembers", "/proc/mdstat"),
        ("node", "/proc/stat"), ("node", "/proc/meminfo"), ("network", "/proc/net/dev"),
        ("mounts", "/proc/self/mounts"), ("blockdev", "list:/sys/block"), ("interfaces", "list:/sys/class/net"),
    ],
)  # fmt: skip
def test_a_check_is_unknown_where_a_file_of_everybody_is_denied(source: str, path: str) -> None:
    session = Session(Origin("node"), BUILTIN, RULES)
    session.feed(frame(1, Evidence("/proc/uptime", data=b"900.1 900.1\n"), denied(path)))
    seen = session.headline(session.diagnosis.now)
    assert (seen.code, seen.unseen[source].partition(":")[0]) == (3, "partial" if source == "node" else "failed")


def test_what_is_declared_to_be_for_everyone_is_so_on_this_machine() -> None:
    needs = [need for each in BUILTIN for need in each.needs if isinstance(need, Need) and need.everyone]
    paths = {Path(need.what.removeprefix("list:")) for need in needs}
    assert {Path("/proc/diskstats"), Path("/proc/self/mounts"), Path("/sys/block")} < paths
    assert [path for path in sorted(paths) if path.exists() and not path.stat().st_mode & stat.S_IROTH] == []
