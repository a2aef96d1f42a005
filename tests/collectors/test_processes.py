"""Who does the I/O, as psutil's answer says it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.system.processes import PROCESSES, parse, rate
from sdstop.collectors.system.readings import (
    ProcessActivity,
    ProcessIo,
    ProcessSummary,
    StorageThread,
    StorageThreadActivity,
)
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.replay import Replay

FIO: dict[str, Any] = {
    "pid": 71, "name": "fio", "started": 1000.5, "user": "root", "cmdline": "fio job", "read_bytes": 4096,
    "write_bytes": 0,
}  # fmt: skip
HIDDEN = {**FIO, "pid": 1, "name": "init", "read_bytes": None, "write_bytes": None}


def frame(number: int, *processes: dict[str, Any]) -> Frame:
    data = json.dumps(processes).encode()
    return Frame(number, 1000.0 + number, float(number), (Evidence("answer:psutil.processes", data=data),))


def test_rows_and_how_many_are_hidden() -> None:
    assert parse([FIO, HIDDEN]) == [
        ProcessIo(71, 1000.5, "fio", "root", "fio job", 4096, 0),
        ProcessSummary(2, 1),
    ]


def test_what_psutil_leaves_out_is_none() -> None:
    assert parse([{"pid": 3, "read_bytes": 1, "write_bytes": 2, "cmdline": ""}]) == [
        ProcessIo(3, None, "?", None, None, 1, 2),
        ProcessSummary(1, 0),
    ]


def test_rates_of_two_looks() -> None:
    replay = Replay([PROCESSES])
    replay.feed(frame(1, FIO))
    shot = replay.feed(frame(6, {**FIO, "read_bytes": 4096 + 5000, "write_bytes": 10}, {**FIO, "pid": 72}))
    assert shot.rows(ProcessActivity) == {
        (71, 1000.5): ProcessActivity(71, 1000.5, "fio", "root", "fio job", 1000.0, 2.0)
    }


def test_what_a_kernel_thread_computes_is_known_even_where_its_io_is_denied() -> None:
    thread = {**HIDDEN, "pid": 70, "name": "md0_raid6", "cpu_seconds": 5.25}
    assert StorageThread(70, 1000.5, "md0_raid6", 5.25) in parse([thread])
    replay = Replay([PROCESSES])
    replay.feed(frame(1, thread))
    shot = replay.feed(frame(6, {**thread, "cpu_seconds": 9.0}))
    assert shot.rows(StorageThreadActivity) == {(70, 1000.5): StorageThreadActivity(70, 1000.5, "md0_raid6", 0.75)}
    assert not replay.feed(frame(11, {**thread, "cpu_seconds": 1.0})).rows(StorageThreadActivity)  # it went back


@pytest.mark.parametrize("said", [None, -1, True, "5", float("nan"), 1e300, {}])
def test_no_time_is_no_row(said: Any) -> None:
    assert not any(isinstance(row, StorageThread) for row in parse([{**FIO, "cpu_seconds": said}]))


def test_a_number_that_was_used_again_is_another_process() -> None:
    replay = Replay([PROCESSES])
    replay.feed(frame(1, FIO))
    assert not replay.feed(frame(6, {**FIO, "started": 1003.0, "read_bytes": 9999})).rows(ProcessActivity)


def test_counters_that_went_back_have_no_rate() -> None:
    before, after = ProcessIo(1, 1.0, "a", None, None, 10, 10), ProcessIo(1, 1.0, "a", None, None, 9, 20)
    assert rate(before, after, 5.0) is None
    assert rate(before, before, 0.0) is None
    assert rate(before, before, 5.0) == ProcessActivity(1, 1.0, "a", None, None, 0.0, 0.0)


@pytest.mark.parametrize("said", [{}, None, "x", [1], [{"name": "x"}], [{"pid": -1}], [{"pid": True}]])
def test_something_else_is_malformed(said: Any) -> None:
    with pytest.raises(Malformed, match="psutil"):
        parse(said)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(sorted(FIO)), x),
)


@given(json_values)
def test_no_answer_breaks_it(said: Any) -> None:
    try:
        rows = parse(said)
    except Malformed:
        return
    summary = rows[-1]
    assert isinstance(summary, ProcessSummary)
    if summary.processes is None or summary.denied is None:
        assert summary == ProcessSummary(None, None)
        assert {"hidden": True}.items() <= max(said, key=lambda row: row.get("hidden") is True).items()
    else:
        assert summary.processes - summary.denied == len(rows) - 1


def test_absent_where_nobody_answered() -> None:
    with pytest.raises(Absent):
        PROCESSES.read(EvidenceHost())


def test_the_line_of_a_process_is_quoted() -> None:
    row = parse([FIO])[0]
    source = row.source("read_bytes")
    assert source is not None
    assert source.needle in json.dumps(FIO)
    assert source.needle not in json.dumps({**FIO, "pid": 711})
