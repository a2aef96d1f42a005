"""Windows of snapshots, and findings over time."""

import random
import re
import threading
from array import array
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.collector import Collector, Need
from sdstop.core.column_series import Reprint, Row
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark, readable
from sdstop.core.excerpt import EXCERPT
from sdstop.core.families import Providers
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.finding_order import by_cause
from sdstop.core.guard import Part
from sdstop.core.history import KEEP, History, Window
from sdstop.core.host import Host
from sdstop.core.judgement import judge
from sdstop.core.lookback import Lookback
from sdstop.core.model import Reading, Source
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.session import Session
from sdstop.core.snapshot import GROUPED
from sdstop.core.timeline import Timeline
from tests.core.meters import Meter, Reader, Speed, collector, frame, session


def window_of(given: Session) -> Window:
    return given.head().window


def test_moments_are_distinct_runs() -> None:
    given = session()
    given.feed_all(frame(n, n * n) for n in range(1, 5))
    window = window_of(given)
    assert [m.rows["a"].count for m in window.moments(Meter)] == [1, 4, 9, 16]
    assert [m.rows["a"].per_second for m in window.moments(Speed)] == [3, 5, 7]
    assert [(t, r and r.per_second) for t, r in window.series(Speed, "a")] == [(2.0, 3), (3.0, 5), (4.0, 7)]
    assert [row for _, row in window.series(Speed, "b")] == [None, None, None]


def test_what_follows_from_a_run_is_worked_out_once_for_it() -> None:
    given = session()
    asked: list[int] = []

    def ask(n: int) -> int:
        asked.append(n)
        return n

    found = []
    for n, ran in enumerate([True, False, True], 1):
        marks = {"meter": RunMark(float(n), 0.1)} if ran else {}
        window = given.feed(Frame(n, float(n), float(n), (Evidence("/m", data=b"a 1"),), marks)).window
        found += [window.of_run(Meter, "k", partial(ask, n)) for _ in range(2)]
        found.append(window.of_run(Spare, "k", partial(ask, -n)))
    assert found == [1, 1, -1, 1, 1, -2, 3, 3, -3]
    assert asked == [1, -1, -2, 3, -3]


def test_brief_results_are_dropped_when_sixteen_snapshots_are_newer() -> None:
    """Those of a run that is still the newest one are kept: windows ask for it."""
    given = session()
    given.feed(frame(1, 1))
    moments = []
    for n in range(2, 40):
        window = given.feed(frame(n, n) if n < 20 else replace(frame(n, n), ran={})).window
        moments = window.moments(Meter)
        moments[-1].brief("a")["k"] = n
    known = [moment.brief("a").get("k") for moment in moments]
    assert known == [None] * 18 + [39]
    assert moments[-1].started == 19.0


def test_rows_of_old_runs_are_grouped_again_when_that_is_asked() -> None:
    given = session()
    for n in range(1, 9):
        window = given.feed(frame(n, n)).window
        assert [row.name for row in window.where(Meter, "count", n)] == ["a"]
        assert window.where(Meter, "count", -1) == ()
    assert [GROUPED in moment.memo for moment in window_of(given).moments(Meter)] == [False] * 6 + [True] * 2


class Spare(Meter, frozen=True):
    """A family that nobody brings."""


def test_a_window_can_be_shortened() -> None:
    given = session()
    given.feed_all(frame(n, n) for n in range(1, 31))
    assert window_of(given).seconds == 29.0
    assert window_of(given).last(10).seconds == 10.0


@pytest.mark.parametrize("count", [2, 200, pytest.param(600, marks=pytest.mark.slow)])
def test_runs_of_successive_windows_are_those_of_each_alone(count: int) -> None:
    """They are found once, and again after their tables are packed; a source may fail for some time."""

    def seen(window: Window) -> list[list[tuple[float, object]]]:
        moments = window.moments(Meter), window.last(5.0).moments(Meter), window.moments(Speed)
        return [[(moment.started, dict(moment.rows)) for moment in each] for each in moments]

    def shown(window: Window) -> list[list[tuple[float, object]]]:
        found: list[list[tuple[float, object]]] = []
        for family, part in ((Meter, window), (Meter, window.last(5.0)), (Speed, window)):
            runs = dict.fromkeys(filter(None, (shot.run_of(family) for shot in part.snapshots)))
            found.append([(run.started, dict(run.tables[family])) for run in runs])
        return found

    history, made = History(Providers({}), keep=20.0), session()
    for n in range(1, 60):
        text = "\n".join(f"m{i} {i * n // 5}" for i in range(count)).encode()
        outcome = Outcome.FAILED if n % 13 > 10 else Outcome.OK
        item = Evidence("/m", outcome, text)
        history.add(made.feed(Frame(n, float(n), float(n), (item,) if n % 3 or outcome is Outcome.FAILED else ())).now)
        window = history.window_at(n, 20.0, lambda _: None)
        assert window is not None
        if n % 7:  # not every family is asked for each second
            assert seen(window) == shown(window)
            earlier = history.window_at(max(n - 3, 1), 5.0, lambda _: None)
            assert earlier is None or seen(earlier) == shown(earlier)


def test_history_forgets_by_age_but_keeps_a_few() -> None:
    history = History(Providers({}), keep=5.0)
    given = session()
    for n in range(1, 41):
        history.add(given.feed(frame(n, n)).now)
    window = history.window(lambda _: None)
    assert window is not None
    assert len(window.snapshots) == 16


@pytest.mark.parametrize("count", [3, 200, 600])
def test_old_snapshots_take_less_room_and_say_the_same(count: int) -> None:
    def text(n: int) -> bytes:
        # Some rows come and go, some stand still, and some are too large for 64 bits.
        rows = [f"m{i} {i * n**2 if i % 3 else i << 70}" for i in range(count) if (i + n) % 7]
        return "\n".join(rows).encode()

    given = session()
    shots = [given.feed(Frame(n, float(n), float(n), (Evidence("/m", data=text(n)),))).now for n in range(1, 30)]
    fresh = session()
    for shot, n in zip(shots, range(1, 30), strict=True):
        whole = fresh.feed(Frame(n, float(n), float(n), (Evidence("/m", data=text(n)),))).now
        for family in (Meter, Speed):
            assert list(shot.rows(family)) == list(whole.rows(family))
            assert dict(shot.rows(family)) == dict(whole.rows(family))
            assert [shot.get(family, key) for key in ("m2", "m2", "none")] == [whole.get(family, "m2")] * 2 + [None]
            assert len(shot.rows(family)) == len(whole.rows(family))


def test_what_did_not_change_is_not_kept_twice() -> None:
    given = session()
    lines = "\n".join(f"m{i} {i}" for i in range(200)).encode()
    given.feed(Frame(1, 1.0, 1.0, (Evidence("/m", data=lines),)))
    for n in range(2, 20):
        given.feed(Frame(n, float(n), float(n)))
    tables = {id(shot.rows(Meter)) for shot in window_of(given).snapshots}
    assert len(tables) == 1


def test_quotes_are_the_marked_lines() -> None:
    given = session()
    given.feed(Frame(1, 1.0, 1.0, (Evidence("/m", data=b"a 1\nb 2\nab 3"),)))
    cite = window_of(given).quote("/m", "b 2")
    assert cite is not None
    assert (cite.key, cite.frame, cite.excerpt, cite.mark) == ("/m", 1, "b 2", "b 2")
    assert window_of(given).quote("/none") is None


def test_a_reading_without_source_cites_nothing() -> None:
    given = session()
    given.feed(frame(1, 1))
    row = given.head().now.get(Meter, "a")
    assert row is not None
    assert row.source() is None
    assert window_of(given).cite(row) is None


# --- rules over windows -----------------------------------------------------------------------------------


def fast(window: Window, limits: Limits) -> Iterable[Verdict]:
    for name, row in window.rows(Speed).items():
        if row.per_second > limits["most"]:
            yield Finding(severity=Severity.WARNING, subject=str(name), cause=f"{row.per_second}/s")
        else:
            yield RuledOut(str(name), f"{row.per_second}/s")


FAST = Rule("too-fast", "s", Severity.WARNING, fast, (Speed,), (Threshold("most", 5.0, "h"),))


def test_a_rule_needs_two_frames_for_a_rate() -> None:
    given = session((FAST,))
    assert given.feed(frame(1, 1)).judgement.unchecked == (
        Unchecked("collecting data: needs two samples", rule="too-fast", gap=Gap.EARLY),
    )


def test_a_bug_in_one_rule_costs_that_rule_alone() -> None:
    def broken(window: Window, _limits: Limits) -> Iterable[Verdict]:
        yield RuledOut("a", "half a word")
        raise KeyError(window.now.number)

    given = session((Rule("broken", "s", Severity.INFO, broken, (Meter,)), FAST))
    given.feed(frame(1, 0))
    judgement = given.feed(frame(2, 5)).judgement
    (helpless,) = judgement.unchecked
    assert (helpless.rule, helpless.gap) == ("broken", Gap.FAULTY)
    assert re.fullmatch(r"error in this rule: KeyError: 2 \(test_history.py:\d+\)", helpless.reason)
    assert given.guard.counts == {(Part.RULE, "broken"): 2}
    assert [r.rule for r in judgement.ruled_out] == ["too-fast"]
    assert judgement.ran == ("too-fast",)


def test_near_the_threshold() -> None:
    given = session((FAST,))
    given.feed(frame(1, 0))
    assert given.feed(frame(2, 5)).judgement.ruled_out == (RuledOut("a", "5.0/s", rule="too-fast"),)
    assert [f.subject for f in given.feed(frame(3, 11)).judgement.findings] == ["a"]


def test_config_moves_the_threshold() -> None:
    given = Session(Origin("n"), [collector(Reader())], (FAST,), {"too-fast": {"most": 50.0}})
    given.feed(frame(1, 0))
    assert given.feed(frame(2, 40)).judgement.findings == ()


def test_a_rule_whose_source_failed_is_unchecked_not_good() -> None:
    given = session((FAST,))
    given.feed(frame(1, 0))
    look = given.feed(frame(2, 5, outcome=Outcome.DENIED))
    assert look.judgement.ruled_out == ()
    assert look.judgement.unchecked[0].reason.startswith("meter: denied")


class Gauge(Meter, frozen=True):
    """What two collectors may have rows of."""

    joined: ClassVar[bool] = True


def test_nothing_here_and_a_source_that_failed_is_unchecked() -> None:
    def reader(path: str) -> Collector:
        return Collector(path[1:], "G", lambda host: [Gauge(w, 1) for w in host.text(path).split()], (Gauge,), ())

    rule = Rule(
        "g",
        "g",
        Severity.INFO,
        lambda window, _: [RuledOut(str(k), "1") for k in window.rows(Gauge)],
        (Gauge,),
    )

    def judged(one: str, other: Evidence) -> list[tuple[str, str]]:
        given = Session(Origin("n"), [reader("/one"), reader("/other")], (rule,))
        said = given.feed(Frame(1, 1.0, 1.0, (Evidence("/one", data=one.encode()), other))).judgement
        return [*((u.rule, u.reason) for u in said.unchecked), *((r.rule, r.subject) for r in said.ruled_out)]

    denied = Evidence("/other", Outcome.DENIED, detail="needs root")
    assert judged("", denied) == [("g", "other: denied, /other: needs root")]
    assert judged("a", denied) == [("g", "a")]
    assert judged("", Evidence("/other", data=b"b")) == [("g", "b")]
    assert judged("", Evidence("/other", Outcome.ABSENT)) == []


def test_a_rule_whose_source_was_not_recorded_is_unchecked() -> None:
    given = session((FAST,))
    look = given.feed(Frame(1, 1.0, 1.0))
    assert "not recorded" in look.judgement.unchecked[0].reason


def test_a_rule_about_hardware_that_is_not_there_is_silent() -> None:
    given = session((FAST,))
    look = given.feed(Frame(1, 1.0, 1.0, (Evidence("/m", Outcome.ABSENT),)))
    assert look.judgement == judge(look.window, (), {})


@pytest.mark.parametrize(
    ("asked", "pasted", "said"),
    [
        (Evidence("/m", Outcome.ABSENT), (), []),
        (Evidence("/m", Outcome.ABSENT), (Evidence("cmd:gauge", data=b"a"),), ["a"]),
        (None, (), ["live: not recorded in this capture"]),
        (Evidence("/m", Outcome.DENIED, detail="needs root"), (), ["live: denied, /m: needs root"]),
        (Evidence("/m", data=b"b"), (), ["b"]),
    ],
)
def test_a_text_that_nobody_pasted_means_nothing_where_the_node_was_asked(
    asked: Evidence | None, pasted: tuple[Evidence, ...], said: list[str]
) -> None:
    """A live node never has the texts; whether a rule applies to it follows from the sources that ask it."""

    def gauges(key: str) -> Iterable[Reading]:
        return [Gauge(key, 1)]

    live = Collector("live", "Gauges", lambda host: gauges(host.text("/m")), (Gauge,), (Need("/m", "all"),))
    text = Collector(
        "pasted", "Gauges", lambda host: gauges(host.run(["gauge"]).text), (Gauge,), (Need("cmd:gauge", "all"),)
    )
    rule = Rule("g", "g", Severity.INFO, lambda w, _: [RuledOut(str(k), "1") for k in w.rows(Gauge)], (Gauge,))
    given = Session(Origin("n"), [live, text], (rule,))
    found = given.feed(Frame(1, 1.0, 1.0, (*([asked] if asked else ()), *pasted))).judgement
    assert [*(u.reason for u in found.unchecked), *(r.subject for r in found.ruled_out)] == said
    only = Session(Origin("n", live=True), [text], (rule,))
    (unchecked,) = only.feed(Frame(1, 1.0, 1.0)).judgement.unchecked
    assert unchecked.reason == "pasted: needs recorded output, and there is none"


def test_a_rule_that_needs_a_longer_window_says_so() -> None:
    slow = Rule("patient", "s", Severity.INFO, lambda _w, _l: (), (Speed,), seconds=10.0)
    given = session((slow,))
    given.feed(frame(1, 0))
    assert "1 of 10 s" in given.feed(frame(2, 1)).judgement.unchecked[0].reason
    given.feed_all(frame(n, n) for n in range(3, 12))
    assert given.head().judgement.unchecked == ()


def test_episodes_have_a_beginning_and_an_end_and_bridge_a_short_gap() -> None:
    given = session((FAST,))
    counts = [0, 10, 20, 21, 31, 32, 33]
    given.feed_all(frame(n, c) for n, c in enumerate(counts, 1))
    (episode,) = given.episodes()
    assert (episode.since, episode.until) == (1002.0, 1006.0)
    assert given.episodes(until=1.0) == []


def test_a_finding_that_comes_back_later_is_a_second_episode() -> None:
    given = session((FAST,))
    given.feed_all([frame(1, 0), frame(2, 10), frame(3, 10), frame(4, 10, at=30.0), frame(5, 30, at=31.0)])
    assert [(e.since, e.until) for e in given.episodes()] == [(1031.0, None), (1002.0, 1003.0)]


def test_however_far_frames_are_apart_what_both_show_is_one_episode() -> None:
    given = session((FAST,))
    for number in range(1, 6):
        given.feed(frame(number, number * 1000, at=30.0 * number))
    assert [(e.since, e.until) for e in given.episodes()] == [(1060.0, None)]


def test_the_worst_moment_is_what_is_told() -> None:
    def graded(window: Window, _limits: Limits) -> Iterable[Verdict]:
        for name, row in window.rows(Speed).items():
            if row.per_second > 1:
                severity = Severity.CRITICAL if row.per_second > 9 else Severity.WARNING
                yield Finding(severity=severity, subject=str(name), cause=f"{row.per_second}")

    diagnosis = Diagnosis((Rule("g", "s", Severity.CRITICAL, graded, (Speed,)),))
    given = session()
    for n, count in enumerate([0, 2, 12, 14], 1):
        diagnosis.add(given.feed(frame(n, count)).window)
    (episode,) = diagnosis.ordered()
    assert (episode.finding.summary, episode.frame) == ("10.0", 3)


def test_a_cause_comes_before_what_is_as_bad_in_a_judgement_and_among_episodes() -> None:
    found = {
        "a": Finding(severity=Severity.WARNING, subject="x", cause="as bad"),
        "b": Finding(severity=Severity.WARNING, subject="x", cause="the cause", explains=("c:x",)),
        "c": Finding(severity=Severity.WARNING, subject="x", cause="what follows"),
        "d": Finding(severity=Severity.CRITICAL, subject="x", cause="worse"),
    }
    rules = [Rule(name, "s", Severity.CRITICAL, lambda *_, f=finding: [f], (Meter,)) for name, finding in found.items()]
    diagnosis = Diagnosis(rules)
    diagnosis.add(session().feed(frame(1, 1)).window)
    judged = [finding.rule for finding in diagnosis.now.findings]
    assert judged == [episode.finding.rule for episode in diagnosis.ordered()] == ["d", "b", "c", "a"]


def told(*severities: tuple[str, Severity, bool] | None) -> list[tuple[str, float | None]]:
    """Return the episodes of one finding: its summary, severity and `totals` frame by frame, None: not said."""

    def said(window: Window, _limits: Limits) -> Iterable[Verdict]:
        now = severities[window.now.number - 1]
        if now is not None:
            summary, severity, totals = now
            yield Finding(severity=severity, subject="a", cause=summary, totals=totals)

    diagnosis = Diagnosis((Rule("t", "s", Severity.CRITICAL, said, (Meter,)),))
    given = session()
    for number in range(1, len(severities) + 1):
        diagnosis.add(given.feed(frame(number, number)).window)
    return [(episode.finding.summary, episode.until) for episode in diagnosis.ordered()]


def test_what_was_before_anybody_watched_gives_way_to_what_is_seen() -> None:
    totals, seen = ("totals", Severity.CRITICAL, True), ("seen", Severity.WARNING, False)
    assert told(totals) == [("totals", None)]
    assert told(totals, None) == []
    assert told(totals, seen) == [("seen", None)]
    assert told(totals, seen, None) == [("seen", 1003.0)]
    assert told(seen, ("calmer", Severity.INFO, True)) == [("seen", None)]


def finding(name: str, severity: Severity, *explains: str) -> Finding:
    return Finding(rule=name, severity=severity, subject="a", cause=name, explains=explains)


def order(*findings: Finding) -> list[tuple[str, bool, str]]:
    return [(findings[led.place].rule, led.follows, led.severity.value) for led in by_cause(findings)]


def test_what_is_explained_follows_its_cause() -> None:
    bypassed, pieces = finding("bypassed", Severity.CRITICAL), finding("pieces", Severity.WARNING, "bypassed:a")
    mtu = finding("mtu", Severity.WARNING, "pieces:a", "gone:a")
    other = finding("other", Severity.CRITICAL)
    assert order(bypassed, other, mtu, pieces) == [
        ("mtu", False, "critical"),
        ("pieces", True, "warning"),
        ("bypassed", True, "critical"),
        ("other", False, "critical"),
    ]
    assert order(other, bypassed) == [("other", False, "critical"), ("bypassed", False, "critical")]


def test_findings_that_explain_each_other_are_still_told() -> None:
    first, second = finding("first", Severity.INFO, "second:a"), finding("second", Severity.INFO, "first:a")
    assert order(first, second) == [("first", False, "info"), ("second", True, "info")]
    itself = finding("itself", Severity.INFO, "itself:a")
    assert order(itself) == [("itself", False, "info")]


# --- looking back -----------------------------------------------------------------------------------------


def test_every_moment_can_be_looked_at_again() -> None:
    given = session((FAST,))
    given.feed_all(frame(n, n * n) for n in range(1, 121))
    lookback = Lookback(given)
    for index in (0, 1, 57, 118, 119):
        look = lookback.at(index)
        row = look.now.get(Meter, "a")
        assert row is not None
        assert row.count == (index + 1) ** 2
        if index:
            speed = look.now.get(Speed, "a")
            assert speed is not None
            assert speed.per_second == 2 * index + 1
    assert lookback.at(999).index == 119
    assert lookback.at(-5).index == 0
    assert [f.summary for f in lookback.at(57).judgement.findings] == ["115.0/s"]


def test_stepping_forward_and_backward_shows_the_same_as_jumping() -> None:
    given = session((FAST,))
    given.feed_all(frame(n, n * n) for n in range(1, 101))
    lookback = Lookback(given)
    for index in (40, 41, 42, 42, 43, 20, 21, 97, 98):
        stepped, jumped = lookback.at(index), Lookback(given).at(index)
        assert stepped.now.rows(Meter) == jumped.now.rows(Meter)
        assert dict(stepped.now.rows(Speed)) == dict(jumped.now.rows(Speed))
        assert stepped.judgement == jumped.judgement
        assert stepped.window.seconds == jumped.window.seconds


def test_a_live_ring_forgets_frames_but_not_what_they_established() -> None:
    big = b"a 7\n" + b"b 1\n" * 3000
    given = session(remember=10.0)
    given.feed(Frame(1, 1.0, 1.0, (Evidence("/m", data=big), Evidence("/n", data=b"\0z"))))
    for n in range(2, 40):
        given.feed(Frame(n, float(n), float(n), ()))
    assert len(given.timeline.frames) == 11
    look = Lookback(given).at(0)
    assert look.now.get(Meter, "a") == Meter("a", 7)
    kept = look.host.evidence("/n")
    assert kept is not None
    assert kept.data == b"\0z"
    whole = look.host.evidence("/m")
    assert whole is not None
    assert whole.data == big


def test_a_timeline_keeps_within_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.timeline.RING_BYTES", 100)
    timeline = Timeline(900.0)
    for n in range(1, 50):
        timeline.append(Frame(n, float(n), float(n), (Evidence("/m", data=b"x" * 20),)))
    assert 2 <= len(timeline.frames) <= 6
    assert timeline.recall(0, 1)[0].evidence[0].data == b"x" * 20


def test_source_marks() -> None:
    class Placed(Meter, frozen=True):
        def source(self, field: str = "") -> Source:
            del field
            return Source("/m", f"{self.name} ")

    def read(host: Host) -> Iterable[Reading]:
        host.read("/m")
        yield Placed("a", 1)

    only = Collector("placed", "P", read, (Placed,), ())
    given = Session(Origin("n"), [only], ())
    look = given.feed(Frame(1, 1.0, 1.0, (Evidence("/m", data=b"a 1\nb 2"),)))
    row = look.now.get(Placed, "a")
    assert row is not None
    cite = look.window.cite(row)
    assert cite is not None
    assert cite.excerpt == "a 1"


def test_of_a_binary_table_its_strings_are_quoted() -> None:
    table = b"\x11\x28\x00\x11\xfe\xffP1-DIMMA1\0\xe8A1\0Maker\0\0"
    assert readable(table) == "P1-DIMMA1\nMaker"
    assert readable(b"sdstop\0--from\0x\0") == "sdstop\0--from\0x\0"
    assert readable(b"a\xffb", "replace") == "a\ufffdb"


def quoted(text: str, needle: str = "") -> str:
    session = Session(Origin("n"), (), ())
    cite = session.feed(Frame(1, 1.0, 1.0, (Evidence("/f", data=text.encode()),))).window.quote("/f", needle)
    assert cite is not None
    return cite.excerpt


@given(st.lists(st.sampled_from(["limitIops", "6076fd11", " ", ", ", "\n", "\t"]), min_size=60, max_size=150))
def test_what_is_quoted_ends_with_a_word(parts: list[str]) -> None:
    text = "".join(parts)
    shown = quoted(text)
    assert len(shown) <= EXCERPT
    whole = text.strip("\n")
    assert whole.startswith(shown)
    if len(whole) > EXCERPT and any(mark in whole[EXCERPT // 2 : EXCERPT] for mark in " ,\t\n"):
        after = whole[len(shown) : len(shown) + 1]
        assert not (after.isalnum() and shown[-1:].isalnum())


def test_a_word_longer_than_a_quotation_is_cut() -> None:
    assert quoted("x" * 2 * EXCERPT) == "x" * EXCERPT
    assert quoted("short") == "short"
    lines = "\n".join(f"line {n} of what a file held" for n in range(40))
    assert quoted(lines).splitlines()[-1] in lines.splitlines()


@given(
    st.text("ab ,\n", max_size=2 * EXCERPT), st.text("ab ,\n", max_size=2 * EXCERPT), st.sampled_from(["needle", "n e"])
)
def test_what_is_marked_is_quoted(before: str, after: str, needle: str) -> None:
    shown = quoted(before + needle + after, needle)
    assert needle in shown
    assert len(shown) <= EXCERPT
    assert all(line in before + needle + after for line in shown.splitlines())


def counters(n: int) -> bytes:
    return b"".join(b"   8 %7d sd%d %d %d 0.%02d\n" % (16 * k, k, n * k, n, n % 100) for k in range(60))


def test_a_packed_timeline_returns_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.timeline.RING_LOOSE", 0)
    timeline = Timeline(50.0)
    frames = []
    for n in range(1, 140):
        items = [Evidence("/disks", data=counters(n)), Evidence("/small", data=b"%d\n" % n)]
        items += [Evidence("/rare", data=b"r%d" % n * 400, stderr=b"e", exit=1)] if n % 40 == 1 else []
        frames.append(Frame(n, float(n), float(n), tuple(items), {"x": RunMark(float(n), 0.1)}))
        timeline.append(frames[-1])
    kept = list(timeline.frames)
    assert [each.number for each in kept] == list(range(89, 140))
    assert sum(len(item.data) for each in kept for item in each.evidence) < 500
    for index, each in enumerate(kept):
        assert timeline.frame(index) == frames[each.number - 1]
    first, *rest = timeline.recall(10, 20)
    assert rest == frames[99:108]
    assert {item.key: item.data for item in first.evidence} == {
        "/disks": counters(99), "/small": b"99\n", "/rare": b"r81" * 400
    }  # fmt: skip


@pytest.mark.parametrize("seconds", [KEEP, KEEP + 50])
def test_columns_take_the_place_of_a_text_that_they_print_again(seconds: float) -> None:
    timeline, frames = Timeline(seconds), []

    def printer(columns: Row) -> bytes:
        return counters(columns[0][0])

    for n in range(1, 200):
        parsed, other = counters(n), counters(n + 1)
        frames.append(Frame(n, float(n), float(n), (Evidence("/disks", data=parsed), Evidence("/more", data=other))))
        printed = [
            Reprint("/disks", parsed, [array("I", [n])], printer),
            Reprint("/more", counters(n), [array("I", [n])], printer),  # of another text than the frame has
        ]
        timeline.append(frames[-1], {each.key: each for each in printed})
    assert [len(item.data) > 0 for item in timeline.frames[-1].evidence] == [False, True]
    first = timeline.frames[0].number
    assert first == 199 - seconds
    assert [timeline.frame(at) for at in range(len(timeline.frames))] == frames[first - 1 :]
    assert [frame.evidence for frame in timeline.recall(3, 9)] == [e.evidence for e in frames[first + 2 : first + 8]]


def test_a_packed_timeline_counts_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.timeline.RING_LOOSE", 0)
    monkeypatch.setattr("sdstop.core.timeline.RING_BYTES", 20_000)
    timeline = Timeline(1e9)
    chance = random.Random(3)
    for n in range(1, 400):
        noise = chance.randbytes(600)
        timeline.append(
            Frame(n, float(n), float(n), (Evidence("/disks", data=counters(n)), Evidence("/n", data=noise)))
        )
    assert 20 <= len(timeline.frames) <= 100
    assert timeline.frame(0).evidence[0].data == counters(timeline.frames[0].number)
    assert timeline.recall(len(timeline.frames) - 1, 400)[0].evidence[0].data == counters(399)


def test_a_packed_timeline_is_read_while_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.timeline.RING_LOOSE", 0)
    timeline = Timeline(60.0)
    timeline.append(Frame(0, 0.0, 0.0, (Evidence("/disks", data=counters(0)),)))
    ended = threading.Event()
    wrong: list[int] = []

    def read() -> None:
        while not ended.is_set():
            shown = timeline.recall(0, 80)
            wrong.extend(each.number for each in shown if each.evidence[0].data != counters(each.number))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(1, 300):
        timeline.append(Frame(n, float(n), float(n), (Evidence("/disks", data=counters(n)),)))
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []
