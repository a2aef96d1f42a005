"""The page for Prometheus, against what prometheus_client prints and reads, and against promtool."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import core, exposition
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.utils import floatToGoString

from sdstop.collectors import BUILTIN
from sdstop.core.config_error import ConfigError
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Outcome, RunMark
from sdstop.core.model import Metric, schema
from sdstop.core.session import Session
from sdstop.exporters.prometheus.choice import Choice, choice
from sdstop.exporters.prometheus.exposition import Heading, all_thousandths, bound, label, lines, number, thousandths
from sdstop.exporters.prometheus.findings import MOST_FINDINGS
from sdstop.exporters.prometheus.health import MOST_LASTED
from sdstop.exporters.prometheus.metrics import OLD, Exposition, catalogue, render
from sdstop.rules import RULES
from tests.exporters.meters import IDLE, KEY, METERS, Meter, Mood, Wire, frame, refusal, session
from tests.exporters.page import samples

# The library leaves these without types.
go_number: Callable[[float], str] = floatToGoString
generate_openmetrics: Callable[[Any], bytes] = openmetrics.generate_latest
generate_text: Callable[[Any], bytes] = exposition.generate_latest
parse_openmetrics: Callable[[str], Iterator[core.Metric]] = openmetrics_parser.text_string_to_metric_families


def exposed(*frames: Any, live: bool = False, **keywords: Any) -> Exposition:
    page = Exposition(session(live=live), **keywords)
    for each in frames:
        page.feed(each)
    return page


ALL = Meter("a", "r1", 5, 1500, 3, 0.25, 7, Mood.LOUD, None, "X", "S1", {512.0: 1, 1024.0: 3})


def test_every_kind_of_field_is_told_in_its_own_way() -> None:
    page = exposed(frame(1, [ALL, Meter("b", word="hm", count=1_234_567), Wire("w", "left")])).page(process=False)
    text = page.decode()
    assert text[text.index("# HELP sdstop_meter_info") :] == (
        "# HELP sdstop_meter_info Meters: metadata as labels; the value is always 1.\n"
        "# TYPE sdstop_meter_info gauge\n"
        'sdstop_meter_info{model="X",name="a",room="r1"} 1\n'
        'sdstop_meter_info{name="b",room="r"} 1\n'
        "# HELP sdstop_meter_count_total Things counted.\n"
        "# TYPE sdstop_meter_count_total counter\n"
        'sdstop_meter_count_total{name="a",room="r1"} 5\n'
        'sdstop_meter_count_total{name="b",room="r"} 1234567\n'
        "# HELP sdstop_meter_time_seconds_total Time spent.\n"
        "# TYPE sdstop_meter_time_seconds_total counter\n"
        'sdstop_meter_time_seconds_total{name="a",room="r1"} 1.5\n'
        "# HELP sdstop_meter_size_bytes How large.\n"
        "# TYPE sdstop_meter_size_bytes gauge\n"
        'sdstop_meter_size_bytes{name="a",room="r1"} 1536\n'
        '# HELP sdstop_meter_level_ratio A "level" \\\\ a share.\n'
        "# TYPE sdstop_meter_level_ratio gauge\n"
        'sdstop_meter_level_ratio{name="a",room="r1"} 0.25\n'
        "# HELP sdstop_meter_mood How it feels; 1 for the current state.\n"
        "# TYPE sdstop_meter_mood gauge\n"
        'sdstop_meter_mood{name="a",room="r1",state="calm"} 0\n'
        'sdstop_meter_mood{name="a",room="r1",state="loud"} 1\n'
        "# HELP sdstop_meter_word What it says; 1 for the current state.\n"
        "# TYPE sdstop_meter_word gauge\n"
        'sdstop_meter_word{name="b",room="r",state="hm"} 1\n'
        "# HELP sdstop_meter_sizes Sizes seen.\n"
        "# TYPE sdstop_meter_sizes histogram\n"
        'sdstop_meter_sizes_bucket{le="512.0",name="a",room="r1"} 1\n'
        'sdstop_meter_sizes_bucket{le="1024.0",name="a",room="r1"} 3\n'
        'sdstop_meter_sizes_bucket{le="+Inf",name="a",room="r1"} 3\n'
        "# HELP sdstop_wire_info Wires: metadata as labels; the value is always 1.\n"
        "# TYPE sdstop_wire_info gauge\n"
        'sdstop_wire_info{end="left",name="w"} 1\n'
    )


class ByHand:
    """The same families, made of readings by prometheus_client's own classes and nothing of the exporter's."""

    def __init__(self, rows: list[Meter]) -> None:
        self.rows = rows

    def collect(self) -> Iterator[core.Metric]:
        names = ("name", "room")
        info = core.InfoMetricFamily("sdstop_meter", "Meters: metadata as labels; the value is always 1.", labels=names)
        count = core.CounterMetricFamily("sdstop_meter_count", "Things counted.", labels=names)
        spent = core.CounterMetricFamily("sdstop_meter_time_seconds", "Time spent.", labels=names)
        size = core.GaugeMetricFamily("sdstop_meter_size_bytes", "How large.", labels=names)
        said = 'A "level" \\ a share.'
        level = core.GaugeMetricFamily("sdstop_meter_level_ratio", said, labels=names)
        states = (*names, "state")
        mood = core.GaugeMetricFamily("sdstop_meter_mood", "How it feels; 1 for the current state.", labels=states)
        word = core.GaugeMetricFamily("sdstop_meter_word", "What it says; 1 for the current state.", labels=states)
        sizes = core.HistogramMetricFamily("sdstop_meter_sizes", "Sizes seen.", labels=names)
        for row in self.rows:
            self.add(row, (info, count, spent, size, level, mood, word, sizes))
        for family in (info, count, spent, size, level, mood, word, sizes):
            if family.samples:
                yield family

    @staticmethod
    def add(row: Meter, families: tuple[Any, ...]) -> None:
        info, count, spent, size, level, mood, word, sizes = families
        own = [label(row.name), label(row.room)]
        info.add_metric(own, {} if row.model is None else {"model": label(row.model)})
        for family, value in (
            (count, row.count),
            (spent, None if row.time is None else row.time / 1000),
            (size, None if row.size is None else row.size * 512),
            (level, row.level),
        ):
            if value is not None:
                family.add_metric(own, value)
        for known in Mood if row.mood is not None else ():
            mood.add_metric([*own, known.value], int(known is row.mood))
        if row.word is not None:
            word.add_metric([*own, label(row.word)], 1)
        if row.sizes:
            buckets = [(go_number(bound), count) for bound, count in sorted(row.sizes.items())]
            sizes.add_metric(own, [*buckets, ("+Inf", buckets[-1][1])], None)


text = st.text(st.characters(), max_size=12) | st.sampled_from(
    ['"', "\\", "\n", "\x1b[2J", "\u202e", "\udc80", "a" * 600]
)
counts = st.none() | st.integers(0, 2**64)
meters = st.builds(
    Meter,
    text,
    text,
    counts,
    counts,
    counts,
    st.none() | st.floats(allow_nan=False),
    counts,
    st.none() | st.sampled_from(Mood),
    st.none() | text,
    st.none() | text,
    st.none() | text,
    st.none() | st.dictionaries(st.floats(1, 1e9), st.just(4), min_size=1, max_size=3),
)


def unlike(rows: list[Meter]) -> list[Meter]:
    """Drop rows that have the labels of an earlier one, once they are safe to look at."""
    return list({(label(row.name), label(row.room)): row for row in reversed(rows)}.values())[::-1]


def as_library(page: bytes) -> bytes:
    """Return a page of ours with its numbers written as the library writes them: the rest has to be the same."""
    return re.sub(rb"(?m)^([^#].*) (\S+)$", lambda m: m[1] + b" " + go_number(float(m[2])).encode(), page)


def of_meters(page: bytes) -> bytes:
    start = page.find(b"# HELP sdstop_meter")
    return page[start:] if start >= 0 else b""


@given(st.lists(st.lists(meters, max_size=5), min_size=1, max_size=4))
def test_page_is_what_prometheus_client_prints(history: list[list[Meter]]) -> None:
    page = exposed()
    for index, rows in enumerate(history, 1):
        chosen = unlike(rows)
        page.feed(frame(index, chosen))
        plain, other = page.page(process=False), page.page(process=False, openmetrics=True)
        assert as_library(plain) == generate_text(page)
        assert as_library(other) == generate_openmetrics(page)
        assert as_library(of_meters(plain)) == generate_text(ByHand(chosen))
        assert of_meters(other) or other.endswith(b"# EOF\n")
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", plain)
        samples(plain)
        list(parse_openmetrics(other.decode()))


@given(st.one_of(st.integers(-(2**60), 2**70), st.floats(), st.booleans()))
def test_numbers_are_exact(value: float) -> None:
    assert go_number(float(number(value))) == go_number(value)


@given(st.integers(-(2**52), 2**52) | st.integers(0, 1000).map((1000).__mul__))
def test_thousandths_are_exact(value: int) -> None:
    assert float(thousandths(value)) == value / 1000
    assert all_thousandths([value, 5]) == [thousandths(value), "0.005"]


@given(st.one_of(st.integers(0, 2**50), st.floats(min_value=0)))
def test_bounds_are_printed_as_prometheus_client_does(value: float) -> None:
    assert bound(value) == go_number(value)


@given(st.lists(st.tuples(text, text), max_size=6), text)
def test_headings_and_lines_survive_any_text(pairs: list[tuple[str, str]], said: str) -> None:
    labels = [{"one": label(one), "two": label(two)} for one, two in pairs]
    heading = Heading("x_total", "counter", label(said), ("one", "two"))
    page = heading.text() + lines("x_total", [(each, 1.0) for each in labels])
    (family,) = parse_text(page)
    assert [sample.labels for sample in family.samples] == labels
    assert family.documentation.strip() == label(said).strip()


def test_rows_whose_labels_look_the_same_are_dropped_and_counted() -> None:
    page = exposed(frame(1, [Meter("\x1b", count=1), Meter("\\x1b", count=2, level=0.5)]))
    found = samples(page.page())
    assert found["sdstop_meter_count_total", "name=\\x1b", "room=r"] == 1
    assert found["sdstop_series_dropped", "collector=meters"] == 3


def test_limit_and_exclusion() -> None:
    rows = [Meter(name, count=1) for name in ("loop0", "a", "b", "c")]
    page = exposed(frame(1, rows), chosen=Choice(2, {"meter": re.compile("loop[0-9]")}))
    found = samples(page.page())
    assert [key[1] for key in found if key[0] == "sdstop_meter_count_total"] == ["name=a", "name=b"]
    assert found["sdstop_series_dropped", "collector=meters"] == 2


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"limit": 0}, "export.limit: expected a whole number from 1"),
        ({"limit": True}, "export.limit: expected a whole number from 1"),
        ({"limmit": 1}, "export.limmit: unknown setting; did you mean limit?"),
        ({"exclude": ["x"]}, "export.exclude: expected a table"),
        ({"exclude": {"disc": "x"}}, "export.exclude.disc: unknown family; valid: meter, wire"),
        ({"exclude": {"meter": "("}}, "export.exclude.meter: not a regular expression: missing )"),
        ({"include": {"meter": "["}}, "export.include.meter: not a regular expression: "),
        ({"limits": {"meter": 0}}, "export.limits.meter: expected a whole number from 1"),
        ({"limits": {"disc": 1}}, "export.limits.disc: unknown family; valid: meter, wire"),
        ({"disks": "some"}, "export.disks: expected one of all, members, none"),
        ({"repeat": 1}, "export.repeat: expected true or false, got a whole number"),
        ({"exclude": {"meter": 5}}, "export.exclude.meter: expected a regular expression"),
    ],
)
def test_wrong_settings_are_named(table: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(complaint)}"):
        choice(table, {"meter", "wire"})


def test_right_settings() -> None:
    table = {"limit": 7, "exclude": {"meter": "x.*"}, "limits": {"wire": 3}, "include": {"meter": "a|b"}}
    chosen = choice(table, {"meter", "wire"})
    assert (chosen.limit, chosen.exclude["meter"].pattern, chosen.include["meter"].pattern) == (7, "x.*", "a|b")
    assert (chosen.most("meter"), chosen.most("wire"), chosen.disks, chosen.repeat) == (7, 3, "members", False)


def test_inclusion_and_a_limit_of_one_family() -> None:
    meters = [Meter(name, count=1) for name in ("x1", "a1", "a2", "a3")]
    rows: list[Meter | Wire | dict[str, Any]] = [*meters, Wire("w", "l"), Wire("w", "r")]
    page = exposed(frame(1, rows), chosen=Choice(9, {}, {"meter": re.compile("a.")}, {"meter": 2, "wire": 1}))
    found = samples(page.page())
    assert [key[1] for key in found if key[0] == "sdstop_meter_count_total"] == ["name=a1", "name=a2"]
    assert [key[1:] for key in found if key[0] == "sdstop_wire_info"] == [("end=l", "name=w")]
    assert found["sdstop_series_dropped", "collector=meters"] == 3  # a3 and a wire: of x1 nobody wants any


def test_rows_that_come_and_go_leave_no_series_behind() -> None:
    page = exposed(frame(1, [Meter("a", count=1), Meter("b", count=2)]))
    assert ("sdstop_meter_count_total", "name=b", "room=r") in samples(page.page())
    page.feed(frame(2, [Meter("a", count=3)]))
    found = samples(page.page())
    assert found["sdstop_meter_count_total", "name=a", "room=r"] == 3
    assert ("sdstop_meter_count_total", "name=b", "room=r") not in found
    page.feed(frame(3, [Meter("b", count=4), Meter("a")]))
    found = samples(page.page())
    assert found["sdstop_meter_count_total", "name=b", "room=r"] == 4
    assert ("sdstop_meter_count_total", "name=a", "room=r") not in found


@pytest.mark.parametrize(
    ("outcome", "applicable", "success", "reason"),
    [
        (Outcome.ABSENT, 0, 1, None),
        (Outcome.DENIED, 1, 0, "permission"),
        (Outcome.FAILED, 1, 0, "failed"),
        (Outcome.TIMEOUT, 1, 0, "timeout"),
    ],
)
def test_outcomes_of_a_source(outcome: Outcome, applicable: int, success: int, reason: str | None) -> None:
    page = exposed(frame(1, [Meter("a", count=1)]), frame(2, refusal(outcome)))
    found = samples(page.page())
    assert found["sdstop_collector_applicable", "collector=meters"] == applicable
    assert found["sdstop_collector_success", "collector=meters"] == success
    assert found["sdstop_collector_last_success_timestamp_seconds", "collector=meters"] == 1_800_000_001
    assert not any(key[0].startswith("sdstop_meter") for key in found)
    errors = {
        key[2]: value
        for key, value in found.items()
        if key[:2] == ("sdstop_collector_errors_total", "collector=meters")
    }
    assert errors == {f"reason={r}": float(r == reason) for r in ("timeout", "permission", "failed", "unread")}


def test_a_hang_is_one_error_and_its_age_is_seen() -> None:
    hung = RunMark(2.0, None)
    page = exposed(frame(1, [Meter("a", count=1)]), frame(2, refusal(Outcome.TIMEOUT), meters=hung))
    page.feed(frame(3, refusal(Outcome.TIMEOUT), meters=hung))
    found = samples(page.page())
    assert found["sdstop_collector_running_seconds", "collector=meters"] == 1.0
    assert found["sdstop_collector_errors_total", "collector=meters", "reason=timeout"] == 1
    assert found["sdstop_collector_duration_seconds", "collector=meters"] == 0.002
    page.feed(frame(4, [Meter("a", count=2)]))
    found = samples(page.page())
    assert found["sdstop_collector_running_seconds", "collector=meters"] == 0
    assert found["sdstop_collector_success", "collector=meters"] == 1


def test_sources_that_did_not_answer_yet_or_are_switched_off() -> None:
    page = exposed(frame(1, [Meter("a")]), known=[METERS, IDLE, *BUILTIN[:1]])
    found = samples(page.page())
    assert found["sdstop_collector_enabled", "collector=idle"] == 1
    assert found["sdstop_collector_enabled", f"collector={BUILTIN[0].name}"] == 0
    assert ("sdstop_collector_success", "collector=idle") not in found
    assert ("sdstop_collector_success", f"collector={BUILTIN[0].name}") not in found


def test_findings() -> None:
    rows = [Meter("a", mood=Mood.LOUD, level=0.9), Meter("b", mood=Mood.LOUD), Meter("c", mood=Mood.CALM)]
    found = samples(exposed(frame(1, rows)).page())
    assert found["sdstop_findings", "rule=too-loud", "severity=critical"] == 1
    assert found["sdstop_findings", "rule=too-loud", "severity=warning"] == 1
    assert found["sdstop_findings", "rule=too-loud", "severity=info"] == 0
    active = {key: value for key, value in found.items() if key[0] == "sdstop_finding_active"}
    labels = ("cause_rule=", "cause_subject=", "damage=availability", "rule=too-loud")
    assert active == {
        ("sdstop_finding_active", *labels, "severity=critical", "standing=true", "subject=a"): 3,
        ("sdstop_finding_active", *labels, "severity=warning", "standing=true", "subject=b"): 2,
    }
    assert found["sdstop_findings_dropped",] == 0
    assert found["sdstop_rule_evaluated_timestamp_seconds", "rule=too-loud"] == 1_800_000_001


def test_no_finding_is_0_only_where_the_rule_looked() -> None:
    def told(*rows: Meter) -> dict[str, float]:
        found = samples(exposed(frame(1, rows)).page())
        return {key[0]: value for key, value in found.items() if "rule=too-loud" in key and "severity=info" not in key}

    calm = told(Meter("a", mood=Mood.CALM))
    assert calm["sdstop_findings"] == 0
    assert "sdstop_findings" in told(Meter("a"))
    assert told() == {}
    helpless = told(Meter("a", word="x"))
    assert "sdstop_findings" not in helpless
    assert helpless["sdstop_rule_unchecked"] == 1


def test_time_in_force_is_counted_between_scrapes() -> None:
    loud, calm = [Meter("a", mood=Mood.LOUD)], [Meter("a", mood=Mood.CALM)]
    page = exposed(*(frame(n, loud if 2 <= n <= 4 else calm) for n in range(1, 8)))
    found = samples(page.page())
    assert found["sdstop_finding_seconds_total", "rule=too-loud", "severity=warning", "subject=a"] == 3
    assert found["sdstop_findings", "rule=too-loud", "severity=warning"] == 0


def test_many_findings_are_capped_and_the_rest_counted() -> None:
    rows = [Meter(f"m{n:03d}", mood=Mood.LOUD, level=0.9 if n == 119 else 0.1) for n in range(120)]
    found = samples(exposed(frame(1, rows)).page())
    shown = [key for key in found if key[0] == "sdstop_finding_active"]
    assert len(shown) == MOST_FINDINGS
    assert any({"severity=critical", "subject=m119"} <= set(key) for key in shown)
    assert found["sdstop_findings_dropped",] == 20


def test_the_time_of_findings_is_kept_of_so_many_subjects() -> None:
    pages = (frame(n, [Meter(f"m{n}-{k}", mood=Mood.LOUD) for k in range(200)]) for n in range(1, 6))
    found = samples(exposed(*pages).page())
    timed = {key for key in found if key[0] == "sdstop_finding_seconds_total"}
    assert len(timed) == MOST_LASTED
    assert {key[-1].partition("-")[0] for key in timed} == {"subject=m3", "subject=m4", "subject=m5"}


def test_old_rows_leave_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    page = exposed(frame(1, [Meter("a", count=1, mood=Mood.LOUD)]), live=True)
    key = ("sdstop_meter_count_total", "name=a", "room=r")
    now[0] = OLD + 1
    assert key in samples(page.page())
    assert page.ready
    now[0] = OLD + 1.5
    found = samples(page.page())
    assert key not in found
    assert not any(
        name.startswith(("sdstop_findings", "sdstop_finding_active"))
        for name, *_ in found
        if name != "sdstop_findings_dropped"
    )
    assert found["sdstop_collector_success", "collector=meters"] == 1
    assert not page.ready


def test_samples_that_wait_for_their_judgement_are_shown_and_do_not_make_it_younger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    page = exposed(live=True)
    page.session.judge_every(4.0)
    key = ("sdstop_meter_count_total", "name=a", "room=r")
    for at in range(1, 6):
        now[0] = float(at)
        page.feed(frame(at, [Meter("a", count=at)]))
        assert samples(page.page())[key] == at
        assert page.age == max(at - 2, 0)  # the second one has the first rates
    monkeypatch.setattr(Diagnosis, "add", lambda *_, **__: 1 / 0)
    for at in range(6, int(OLD) + 4):
        now[0] = float(at)
        with suppress(ZeroDivisionError):
            page.feed(frame(at, [Meter("a", count=at)]))
        assert page.ready is (at <= OLD + 2)


def test_seconds_of_findings_are_counted_between_judgements() -> None:
    page = exposed()
    page.session.judge_every(4.0)
    for at in range(1, 12):
        page.feed(frame(at, [Meter("a", level=2.0, mood=Mood.LOUD)]))
    found = samples(page.page())
    assert [spent for key, spent in found.items() if key[0] == "sdstop_finding_seconds_total"] == [10]


def test_a_page_is_made_once_for_each_frame_and_form() -> None:
    page = exposed(frame(1, [Meter("a", count=1)]))
    assert page.page() is page.page()
    assert page.page(packed=True) is page.page(packed=True)
    assert gzip.decompress(page.page(packed=True)) == page.page()
    before = page.page(process=False)
    page.feed(frame(2, [Meter("a", count=2)]))
    assert page.page(process=False) != before


def test_nothing_before_the_first_frame() -> None:
    page = exposed()
    assert not page.ready
    with pytest.raises(LookupError):
        page.page()


def test_render_is_the_page_over_a_session() -> None:
    page = render(session(frame(1, [Meter("a", count=1)])), openmetrics=True)
    assert b'sdstop_meter_count_total{name="a",room="r"} 1\n' in page
    assert page.endswith(b"# EOF\n")


@pytest.mark.needs("promtool")
def test_every_metric_of_the_project_is_lint_clean() -> None:
    """What promtool says of a page on which every metric that can be is."""
    page = b"".join(
        (
            heading.text() + lines(f"{heading.name}_bucket" if heading.type == "histogram" else heading.name, [({}, 1)])
        ).encode()
        for heading in catalogue(BUILTIN)
    )
    result = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, check=False)
    own = [line for line in result.stderr.decode().splitlines() if not line.startswith("process_")]
    assert (result.returncode, own) == (0, [])


def test_names_are_unique_and_say_their_unit() -> None:
    found = catalogue(BUILTIN)
    assert [heading.name for heading in found] == list(dict.fromkeys(heading.name for heading in found))
    for heading in found:
        assert re.fullmatch(r"(sdstop|process)_[a-z0-9_]+", heading.name)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in heading.labels)
        assert heading.help.isprintable()
        assert heading.name.endswith("_total") == (heading.type == "counter")
        assert heading.name.endswith("_info") == (heading.type == "info")


def test_every_declared_scale_is_whole_or_one_over_a_whole_number() -> None:
    families = {family for c in BUILTIN for family in (*c.families, *(d.target for d in c.derives))}
    marks = [column.mark for family in families for column in schema(family).columns]
    scales = {mark.scale for mark in marks if isinstance(mark, Metric)}
    assert all(scale == round(scale) if scale >= 1 else abs(1 / scale - round(1 / scale)) < 1e-6 for scale in scales)


@given(
    st.binary(max_size=60)
    | st.builds(lambda rows: json.dumps(rows).encode(), st.lists(st.dictionaries(st.just("name"), text)))
)
def test_garbage_from_the_node_still_makes_a_page(data: bytes) -> None:
    page = exposed(frame(1, Evidence(KEY, data=data)))
    samples(page.page())


def test_a_session_without_rows_has_a_page() -> None:
    page = Exposition(Session(session().origin, BUILTIN, RULES))
    page.feed(frame(1, [], **{c.name: RunMark(1.0, 0.1) for c in BUILTIN}))
    assert samples(page.page())["sdstop_collector_applicable", "collector=diskstats"] == 0


def test_each_help_is_a_sentence_that_can_be_read_alone() -> None:
    for heading in catalogue(BUILTIN):
        said = heading.help
        assert re.fullmatch(r"(?:[A-Z0-9]|iSCSI|md ).{3,}\.", said), heading
        assert not re.search(r"\bNone\b|/proc/|/sys/|^(It|Its|They|The same|Of) |^1 (if|when|where)\b", said), heading
        assert len(said) <= 120, heading
