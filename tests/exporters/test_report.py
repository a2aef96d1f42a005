"""The report: the schema of its JSON, the text that people read, and tables that fit."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.collectors.system.readings import ProcessIo
from sdstop.core.evidence import Origin, Outcome, RunMark
from sdstop.core.format import safe, width_of
from sdstop.core.model import schema
from sdstop.core.session import Session
from sdstop.exporters.report import table
from sdstop.exporters.report.document import document, first_version, plain, to_json
from sdstop.exporters.report.text import colored, text_report
from tests.exporters.meters import IDLE, METERS, TOO_LOUD, Meter, Mood, frame, refusal, session
from tests.fixtures import story

LOUD = Meter("a", count=3, level=0.9, mood=Mood.LOUD)
CALM = Meter("a", count=5, level=0.1, mood=Mood.CALM)
BEE = Meter("b", count=3, level=0.9, mood=Mood.LOUD)


def test_json_has_the_documented_form_and_nothing_else() -> None:
    made = session(frame(1, [LOUD]), frame(2, [LOUD]), frame(3, [CALM, Meter("b", word="hm")]))
    report = json.loads(to_json(document(made)))
    excerpt = report["findings"][0]["evidence"][0].pop("excerpt")
    assert '"name": "a"' in excerpt
    rows = report["readings"].pop("meter")
    assert report == {
        "schema": "sdstop.report/2",
        "headline": {
            "code": 3,
            "result": "unknown",
            "text": "no usable data: idle; too-loud not checked (it speaks)",
        },
        "hosts": [
            {
                "name": "node",
                "kernel": None,
                "live": False,
                "complete": True,
                "note": "",
                "privileged": None,
                "facts": {},
                "texts": [],
                "started": 1_800_000_001.0,
                "ended": 1_800_000_003.0,
                "frames": 3,
            }
        ],
        "started": 1_800_000_001.0,
        "ended": 1_800_000_003.0,
        "frames": 3,
        "findings": [
            {
                "rule": "too-loud",
                "severity": "critical",
                "host": "node",
                "between": [],
                "subject": "a",
                "title": "LOUD METER",
                "cause": "a is loud.",
                "impact": "Neighbors can wake up.",
                "summary": "a is loud. Neighbors can wake up.",
                "damage": "availability",
                "standing": True,
                "values": {"level": 0.9},
                "against": {"level": {"above": 0.5}},
                "evidence": [{"key": "/meters", "host": "node", "frame": 2}],
                "advice": [
                    {"text": "Turn it down.", "command": "", "argv": [], "note": ""},
                    {
                        "text": "",
                        "command": "journalctl -k | grep -w a -",
                        "argv": [["journalctl", "-k"], ["grep", "-w", "a", "-"]],
                        "note": "its noise",
                    },
                ],
                "refuted_by": "silence",
                "harmless_if": "a concert is on",
                "view": {"id": "disks", "subject": "a"},
                "waiting_requests": 1.5,
                "since": 1_800_000_001.0,
                "until": 1_800_000_003.0,
                "confidence": 0.9,
                "accepted": None,
                "explains": ["other:thing"],
                "part_of": [],
                "affected": [],
                "affected_count": 0,
                "members": [],
            }
        ],
        "ruled_out": [
            {
                "rule": "too-loud",
                "host": "node",
                "subject": "a",
                "summary": "it is calm",
                "subjects": ["a"],
                "count": 1,
                "despite": [],
            }
        ],
        "unchecked": [
            {
                "rule": "too-loud",
                "host": "node",
                "reason": "b: it speaks",
                "subjects": ["b"],
                "count": 1,
                "gap": "open",
            }
        ],
        "collectors": [
            {"name": "meters", "host": "node", "outcome": "ok", "reason": "", "duration_seconds": 0.002},
            {
                "name": "idle",
                "host": "node",
                "outcome": None,
                "reason": "no data yet",
                "duration_seconds": None,
            },
        ],
        "readings": {"wire": [], "pace": [{"name": "a", "per_second": 2.0}]},
    }
    first = first_version(document(made))
    assert list(first) == [
        "schema", "headline", "host", "started", "ended", "frames", "findings", "ruled_out", "unchecked", "collectors",
        "readings",
    ]  # fmt: skip
    assert first["schema"] == "sdstop.report/1"
    assert list(first["host"]) == ["name", "kernel", "live", "complete", "note", "privileged", "facts"]
    assert first["collectors"][0] == {"name": "meters", "outcome": "ok", "reason": "", "duration_seconds": 0.002}
    assert list(first["ruled_out"][0]) == ["rule", "subject", "summary", "subjects", "count", "despite"]
    (old,) = first["findings"]
    assert list(old) == [
        "rule", "severity", "subject", "summary", "values", "evidence", "advice", "since", "until", "confidence",
        "explains", "part_of", "affected", "affected_count", "members",
    ]  # fmt: skip
    assert old["advice"] == ["Turn it down.", "journalctl -k | grep -w a -   # its noise"]
    assert list(report["ruled_out"][0]) == ["rule", "host", "subject", "summary", "subjects", "count", "despite"]
    assert rows[0] == {
        "name": "a", "room": "r", "count": 5, "time": None, "size": None, "level": 0.1, "secret": None,
        "mood": "calm", "word": None, "model": None, "serial": None, "sizes": None,
    }  # fmt: skip


def test_what_is_still_so_at_the_end_has_no_end() -> None:
    report = document(session(frame(1, [CALM]), frame(2, [LOUD])))
    (finding,) = report["findings"]
    assert (finding["since"], finding["until"]) == (1_800_000_002.0, None)


def test_a_source_that_failed_has_no_readings() -> None:
    report = document(session(frame(1, [LOUD]), frame(2, refusal(Outcome.FAILED, "broken"))))
    assert report["readings"] == {}
    assert report["collectors"][0] == {
        "name": "meters",
        "host": "node",
        "outcome": "failed",
        "reason": "/meters: broken",
        "duration_seconds": 0.002,
    }


text = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["\x1b[2J", "\u202e", "\udc80", "[bold]x[/]", "\n", "\r"]
)
level = st.none() | st.floats(0, 2)
meters = st.lists(
    st.builds(Meter, text, text, st.integers(), level=level, mood=st.none() | st.sampled_from(Mood), model=text)
)


@given(meters, st.integers(1, 200))
def test_no_text_of_a_node_does_harm(rows: list[Meter], width: int) -> None:
    made = session(frame(1, rows), frame(2, rows))
    whole = to_json(document(made))
    assert whole.isascii()
    assert whole.isprintable() or set(whole) - {"\n"} <= set(map(chr, range(0x20, 0x7F)))
    json.loads(whole, parse_constant=pytest.fail)
    assert whole == to_json(document(session(frame(1, rows), frame(2, rows))))
    shown = text_report(made, width)
    assert all(line == safe(line, 10_000) for line in shown.split("\n"))
    shown.encode()


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | text,
        lambda inner: st.lists(inner) | st.dictionaries(text | st.floats(), inner),
    )
)
def test_anything_can_be_said_in_json(value: Any) -> None:
    json.loads(json.dumps(plain(value), allow_nan=False).encode())


def test_text_of_a_finding() -> None:
    shown = text_report(
        session(frame(1, [LOUD]), frame(2, [LOUD, Meter("b", mood=Mood.CALM), Meter("c", word="x")])), 80
    )
    assert shown.startswith(
        "node: 1 finding: 1 critical\n"
        "2 frames over 1.0s, 2027-01-15 08:00:01Z to 2027-01-15 08:00:02Z, from a capture\n"
        "\n"
        "FINDINGS\n"
        "  CRITICAL  a  LOUD METER\n"
        "    too-loud, since 08:00:01Z or earlier (1.0s), confidence 90.0%\n"
        "    Why: a is loud.\n"
        "    Impact: Neighbors can wake up.\n"
        "      level  90.0%  > 50.0%\n"
        "    Evidence: /meters, frame 2\n"
    )
    assert (
        "    Action: 1. Turn it down.\n"
        "            2. journalctl -k | grep -w a -   # its noise\n"
        "    Would be disproved by: silence\n"
        "    Harmless if: a concert is on\n"
        "    Consequences: other:thing\n"
        "\n"
        "PASSED\n"
        "  too-loud  b  it is calm\n"
        "\n"
        "NOT CHECKED\n"
        "  too-loud  c: it speaks\n"
        "\n"
        "SOURCES\n"
        "  meters  ok       2.00 ms  Meters\n"
        "  idle    waiting           no data yet\n"
    ) in shown
    assert max(map(len, shown.split("\n"))) <= 80


def test_a_finding_that_ended_says_when() -> None:
    shown = text_report(session(frame(1, [LOUD]), frame(2, [CALM])))
    assert "    too-loud, over: 08:00:01Z or earlier to 08:00:02Z (1.0s), confidence 90.0%\n" in shown


def test_a_clock_that_ran_back_makes_no_time_negative() -> None:
    """Spans are of the monotonic clock, and the wall clock that ran back is worth a word."""
    back = [replace(f, taken=f.taken - 10) for f in (frame(3, [LOUD]), frame(4, [CALM]), frame(5, [LOUD, BEE]))]
    made = session(frame(1, [CALM]), frame(2, [LOUD]), *back)
    shown = text_report(made)
    assert "5 frames over 4.0s, 2027-01-15 08:00:01Z to 2027-01-15 07:59:55Z, from a" in shown
    note = "Note: the wall clock was set back by 9.0s; times are as it showed them, durations use the monotonic clock"
    assert note in " ".join(shown.split())
    assert "  a  LOUD METER\n    too-loud, since 08:00:02Z (3.0s)" in shown
    assert "  b  LOUD METER\n    too-loud, seen at 07:59:55Z" in shown
    assert not re.search(r"-\d[\d.]* ?[smhd]", shown)
    ended = session(frame(1, [CALM]), frame(2, [LOUD]), *back[:2])
    assert "over: 08:00:02Z to 07:59:54Z (2.0s)" in text_report(ended)
    assert document(made)["hosts"][0]["note"].startswith("the wall clock was set back by 9.0s; ")
    assert [f["since"] for f in document(made)["findings"]] == [1_800_000_002.0, 1_799_999_995.0]
    assert document(session(frame(1, [CALM]), frame(2, [CALM])))["hosts"][0]["note"] == ""


def test_nothing_wrong_and_nothing_judged_are_two_things() -> None:
    assert "NOTHING CHECKED" not in text_report(session(frame(1, [CALM])))
    shown = text_report(session(frame(1, refusal(Outcome.DENIED, "needs root"))))
    assert shown.startswith("node: unknown: no usable data: idle; too-loud not checked (meters: denied, ")
    assert "NOTHING CHECKED" in shown
    assert "  meters  denied   2.00 ms  /meters: needs root\n" in shown


def test_what_is_known_of_a_capture_is_said() -> None:
    origin = Origin("\x1b[2J", complete=False, note="it ends early", privileged=False)
    made = Session(origin, (METERS, IDLE), (TOO_LOUD,))
    made.feed(frame(1, [CALM]))
    shown = text_report(made)
    assert shown.startswith(
        "\\x1b[2J: unknown: no usable data: idle\n1 frame 2027-01-15 08:00:01Z, from a capture\nWithout root: "
    )
    assert "The capture is incomplete.\nNote: it ends early\n" in shown


def test_a_hang_says_since_when() -> None:
    hung = RunMark(2.0, None)
    shown = text_report(session(frame(1, [CALM]), frame(2, refusal(Outcome.TIMEOUT, "no answer"), meters=hung)))
    assert "  meters  timeout    /meters: no answer, since 08:00:02Z\n" in shown


def test_colour_is_for_severity_alone() -> None:
    made = session(frame(1, [LOUD]))
    painted = text_report(made, paint=colored)
    assert re.findall(r"\x1b\[[0-9;]*m", painted) == ["\x1b[1;31m", "\x1b[0m"]
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == text_report(made)


def test_counters_stand_in_the_text_only_where_there_is_no_rate() -> None:
    one, two = frame(1, [Meter("a", count=1)]), frame(2, [Meter("a", count=2)])
    assert "METERS (1)" in text_report(session(one))
    assert "PACES (1)" in text_report(session(one, two))


ROWS = [
    Meter(f"m{n}", f"room-{n}", n * 1000, None, 8, n / 10, None, Mood.CALM, "w", f"model {n % 2}") for n in range(4)
]


def test_table_says_once_what_is_the_same_and_what_is_unknown() -> None:
    assert table.readings(schema(Meter), ROWS, 100) == [
        "  Equal in all rows: Size B 4K, Mood calm, Word w",
        "  Name  Room    Count  Level %  Model",
        "  m0    room-0      0        0  model 0",
        "  m1    room-1   1000     10.0  model 1",
        "  m2    room-2   2000     20.0  model 0",
        "  m3    room-3   3000     30.0  model 1",
        "  No data: Time, Secret, Serial, Sizes",
    ]


def test_wide_table_goes_on_below_with_its_labels() -> None:
    assert table.readings(schema(Meter), ROWS[:2], 30)[3:9] == [
        "  Name  Room    Count  Level %",
        "  m0    room-0      0        0",
        "  m1    room-1   1000     10.0",
        "  Name  Room    Model",
        "  m0    room-0  model 0",
        "  m1    room-1  model 1",
    ]


def test_long_table_is_cut_and_says_so() -> None:
    rows = [Meter(f"m{n}", count=n) for n in range(table.MOST_ROWS + 5)]
    shown = table.readings(schema(Meter), rows, 100)
    assert shown[-1] == "  and 5 more; --format json lists them all"
    assert len([line for line in shown if line.startswith("  m")]) == table.MOST_ROWS


def test_of_a_crowd_the_largest_come_first_and_those_that_do_nothing_are_counted() -> None:
    rows = [ProcessIo(n, 1.7e9 + n, f"p{n}", "root", None, n % 3 * n, 0) for n in range(9)]
    assert table.readings(schema(ProcessIo), rows, 100) == [
        "  Equal in all rows: User root, Written B 0",
        "  PID  Started               Name  Read B",
        "  8    2023-11-14 22:13:28Z  p8        16",
        "  5    2023-11-14 22:13:25Z  p5        10",
        "  7    2023-11-14 22:13:27Z  p7         7",
        "  2    2023-11-14 22:13:22Z  p2         4",
        "  4    2023-11-14 22:13:24Z  p4         4",
        "  1    2023-11-14 22:13:21Z  p1         1",
        "  No data: Command",
        "  and 3 more with zeros only; --format json lists them all",
    ]
    assert table.readings(schema(ProcessIo), rows[:1], 100) == ["  1 with zeros only; --format json lists them all"]


def test_one_row_is_a_list() -> None:
    assert table.readings(schema(Meter), [Meter("a", count=7)], 60)[0] == "  Name a, Room r, Count 7"


@given(st.lists(st.tuples(text.map(safe), text.map(safe)), min_size=1, max_size=5), st.integers(1, 100))
def test_listing_loses_nothing(rows: list[tuple[str, str]], width: int) -> None:
    shown = "".join(table.listing(rows, width)).replace(" ", "")
    assert all(row[0].replace(" ", "") in shown for row in rows)
    assert sorted(shown) == sorted("".join(f"{a}{b}" for a, b in rows).replace(" ", ""))


def test_a_long_text_in_a_row_does_not_widen_the_column_of_the_others() -> None:
    rows = [("done", "5 %", "limit 9 %"), ("not the cause", "the disks, none of which is busy", ""), ("speed", "-", "")]
    assert table.listing(rows, 40) == [
        "done           5 %  limit 9 %",
        "not the cause  the disks, none of which",
        "               is busy",
        "speed          -",
    ]


def test_no_line_of_a_finding_is_wider_than_the_report() -> None:
    written = text_report(story("draid-one-dimm").session, 100).split("PASSED")[0]
    assert "ruled out" in written
    assert "> 24h00" in written
    named = re.compile(
        r" since \S+Z (?:or earlier )?\("
    )  # rule, subject and time are one line, however long the subject is
    assert max(len(line) for line in written.splitlines() if not named.search(line)) <= 100


def test_wide_characters_take_two_columns() -> None:
    assert width_of("a日本") == 5
    assert table.padded("日", 4) == "日  "
