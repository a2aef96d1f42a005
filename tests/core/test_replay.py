"""Frames of evidence become snapshots: outcomes, reuse, rates, staleness, links, listings."""

import json
from collections.abc import Iterable
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.collector import SLOW, Collector
from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark, slug
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, TimedOut
from sdstop.core.model import Derivation, Reading
from sdstop.core.replay import Replay
from tests.core.meters import Meter, Reader, Speed, collector, speed


def frame(n: int, text: str | None = None, *, ran: bool | None = None, outcome: Outcome = Outcome.OK) -> Frame:
    evidence = () if text is None else (Evidence("/m", outcome, text.encode(), "why"),)
    marks = None if ran is None else ({"meter": RunMark(float(n), 0.01)} if ran else {})
    return Frame(n, 1000.0 + n, float(n), evidence, marks)


def test_one_frame_has_no_rate() -> None:
    shot = Replay([collector(Reader())]).feed(frame(1, "a 5"))
    assert shot.get(Meter, "a") == Meter("a", 5)
    assert shot.run_of(Speed) is None


def test_two_frames_have_a_rate_over_the_time_between_the_reads() -> None:
    replay = Replay([collector(Reader())])
    replay.feed(frame(1, "a 5"))
    shot = replay.feed(frame(3, "a 9"))
    assert shot.get(Speed, "a") == Speed("a", 2.0)


def test_unchanged_evidence_of_a_run_is_a_true_zero_and_is_not_parsed_again() -> None:
    reader = Reader()
    replay = Replay([collector(reader)])
    replay.feed(frame(1, "a 5"))
    shot = replay.feed(frame(2))
    assert shot.get(Speed, "a") == Speed("a", 0.0)
    assert reader.asked == 1


def test_evidence_that_another_source_read_in_between_counts_at_the_next_run() -> None:
    reader = Reader()
    replay = Replay([collector(reader)])
    replay.feed(frame(1, "a 5", ran=True))
    shot = replay.feed(frame(2, "a 9", ran=False))  # the file changed, and this source did not run
    assert shot.get(Meter, "a") == Meter("a", 5)
    shot = replay.feed(frame(3, ran=True))
    assert shot.get(Meter, "a") == Meter("a", 9)
    assert reader.asked == 2
    replay.feed(frame(4, ran=True))
    assert reader.asked == 2


def test_a_collector_that_did_not_run_keeps_its_last_rate() -> None:
    replay = Replay([collector(Reader(), SLOW)])
    replay.feed(frame(1, "a 5", ran=True))
    replay.feed(frame(2, "a 7", ran=True))
    shot = replay.feed(frame(3, ran=False))
    assert shot.get(Speed, "a") == Speed("a", 2.0)
    assert shot.runs["meter"].started == 2.0


def test_a_counter_that_went_back_has_no_rate_but_others_do() -> None:
    replay = Replay([collector(Reader())])
    replay.feed(frame(1, "a 5\nb 1"))
    shot = replay.feed(frame(2, "a 3\nb 2"))
    assert list(shot.rows(Speed).values()) == [Speed("b", 1.0)]
    assert len(shot.rows(Speed)) == 1
    assert shot.get(Speed, "a") is None


@pytest.mark.parametrize("outcome", [Outcome.ABSENT, Outcome.DENIED, Outcome.FAILED, Outcome.TIMEOUT])
def test_outcomes_reach_the_run_and_the_last_good_rows_stay_apart(outcome: Outcome) -> None:
    replay = Replay([collector(Reader())])
    replay.feed(frame(1, "a 5"))
    first = replay.feed(frame(2, "", outcome=outcome))
    second = replay.feed(frame(3))
    for shot in (first, second):
        run = shot.runs["meter"]
        assert run.outcome is outcome
        assert "why" in run.reason
        assert run.since == 1002.0
        assert shot.rows(Meter) == {}
        assert run.last is not None
        assert run.last.tables[Meter] == {"a": Meter("a", 5)}


def test_rates_after_a_gap_span_the_gap() -> None:
    replay = Replay([collector(Reader())])
    replay.feed(frame(1, "a 0"))
    replay.feed(frame(2, "", outcome=Outcome.TIMEOUT))
    shot = replay.feed(frame(5, "a 8"))
    assert shot.get(Speed, "a") == Speed("a", 2.0)


def test_a_run_that_has_not_ended_is_a_timeout() -> None:
    replay = Replay([collector(Reader())])
    replay.feed(frame(1, "a 5", ran=True))
    shot = replay.feed(Frame(2, 1002.0, 2.0, (), {"meter": RunMark(1.5, None)}))
    assert shot.runs["meter"].outcome is Outcome.TIMEOUT


def test_a_bug_in_one_collector_costs_that_one_alone() -> None:
    def broken(host: Host) -> Iterable[Reading]:
        raise ZeroDivisionError("oh")

    bad = Collector("bad", "Bad", broken, (Speed,), ())
    shot = Replay([bad, collector(Reader())]).feed(frame(1, "a 5"))
    assert shot.runs["bad"].outcome is Outcome.FAILED
    assert "ZeroDivisionError" in shot.runs["bad"].reason
    assert shot.get(Meter, "a") is not None


def test_malformed_is_unread() -> None:
    def broken(host: Host) -> Iterable[Reading]:
        raise Malformed("line 3")

    shot = Replay([Collector("bad", "Bad", broken, (Speed,), ())]).feed(frame(1))
    assert (shot.runs["bad"].outcome, shot.runs["bad"].reason) == (Outcome.UNREAD, "not understood: line 3")


def test_not_recorded_is_told_from_absent() -> None:
    shot = Replay([collector(Reader())]).feed(Frame(1, 0.0, 0.0))
    assert shot.runs["meter"].outcome is Outcome.ABSENT
    assert not shot.runs["meter"].recorded
    assert "not recorded" in shot.runs["meter"].reason


# --- the host over evidence -------------------------------------------------------------------------------


def test_errors_by_outcome() -> None:
    host = EvidenceHost(
        Evidence(path, outcome)
        for path, outcome in (
            ("/a", Outcome.ABSENT),
            ("/d", Outcome.DENIED),
            ("/f", Outcome.FAILED),
            ("/t", Outcome.TIMEOUT),
        )
    )
    for path, error in (("/a", Absent), ("/d", Denied), ("/f", Failed), ("/t", TimedOut), ("/none", Absent)):
        with pytest.raises(error):
            host.read(path)
    with pytest.raises(TimedOut):
        host.maybe("/t")
    assert host.maybe("/f") is None
    assert host.number("/none") is None


def test_links_are_entries_and_are_followed() -> None:
    host = EvidenceHost.of(
        {
            "link:/sys/block/sda": "../devices/pci0/block/sda",
            "link:/sys/block/md0/slaves/sda": "../../sda",
            "/sys/devices/pci0/block/sda/size": "100\n",
            "/sys/block/md0/size": "50\n",
        }
    )
    assert host.entries("/sys/block") == ["md0", "sda"]
    assert host.glob("/sys/block/md0/slaves/*") == ["/sys/block/md0/slaves/sda"]
    assert host.number("/sys/block/sda/size") == 100
    assert host.number("/sys/block/md0/slaves/sda/size") == 100
    assert host.entries("/sys/block/sda") == ["size"]
    assert host.target("/sys/block/sda") == "sda"
    assert host.target("/sys/block/md0/size") is None


ATTRIBUTES = (
    *("1", "1\n", "42\n", " 42 \n", "-1\n", "+7\n", "007\n", "-007\n", "1_0\n", "0x1003\n", "4 2\n", "\n", ""),
    *("full\n", "\u0663\u0663\n", "9" * 33, "1\0\n", "\x1c42\n"),
)


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes_are_read_as_files_are(text: str) -> None:
    shown = {"/sys/a/x": text, "link:/sys/b": "a"}
    for path in ("/sys/a/x", "/sys/b/x", "/sys/a/none", "/sys/b/none", "/sys/none/x"):
        quick, plain = EvidenceHost.of(shown), EvidenceHost.of(shown)
        assert quick.number(path) == Host.number(plain, path)
        assert quick.maybe(path) == Host.maybe(plain, path)
        assert quick.target(path) == Host.target(plain, path)
        assert quick.touched == plain.touched
        assert quick.last == plain.last


@pytest.mark.parametrize("outcome", [Outcome.ABSENT, Outcome.DENIED, Outcome.FAILED])
def test_attributes_that_were_not_read_have_no_value(outcome: Outcome) -> None:
    quick = EvidenceHost([Evidence("/sys/a/x", outcome, b"42\n"), Evidence("link:/sys/a/y", outcome, b"../z")])
    assert quick.number("/sys/a/x") is None
    assert quick.maybe("/sys/a/x") is None
    assert quick.target("/sys/a/y") is None


def test_loops_of_links_end() -> None:
    host = EvidenceHost.of({"link:/a": "/b", "link:/b": "/a"})
    assert host.maybe("/a/x") is None
    assert host.names("/a") == []


def test_a_recorded_listing_is_the_whole_truth() -> None:
    host = EvidenceHost.of({"list:/d": "x\ny", "/d/z": "1"})
    assert host.entries("/d") == ["x", "y"]
    assert EvidenceHost.of({"list:/d": ""}).entries("/d") == []


def test_what_vanished_leaves_its_folder() -> None:
    host = EvidenceHost.of({"/d/x": "1", "/d/y": "2"})
    assert host.entries("/d") == ["x", "y"]
    host.apply([Evidence("/d/x", Outcome.ABSENT)])
    assert host.entries("/d") == ["y"]
    host.apply([Evidence("link:/d/w", data=b"../w"), Evidence("link:/d/w", Outcome.ABSENT)])
    assert host.entries("/d") == ["y"]


def test_commands_by_argv_and_by_slug() -> None:
    host = EvidenceHost.of({"cmd:ip -j link": "[]", f"slug:{slug('iostat -x 1 2')}": "Device"})
    assert host.run(["ip", "-j", "link"]).text == "[]"
    assert host.run(["iostat", "-x", "1", "2"]).text == "Device"
    assert host.recorded("iostat") == ["iostat_-x_1_2"]
    assert host.recorded_output("iostat_-x_1_2").text == "Device"
    assert host.recorded("io") == []
    with pytest.raises(Absent):
        host.run(["dmsetup", "status"])


def test_answers_are_json() -> None:
    host = EvidenceHost.of(
        {"answer:psutil.processes": json.dumps([{"pid": 1}]), "answer:bad": "{", "answer:deep": "[" * 100_000}
    )
    assert host.answer("psutil.processes") == [{"pid": 1}]
    for question in ("bad", "deep"):
        with pytest.raises(Failed):
            host.answer(question)


def test_new_paths_wake_who_listed_the_folder() -> None:
    def read(host: Host) -> Iterable[Reading]:
        for name in host.names("/d"):
            yield Meter(name, host.number(f"/d/{name}") or 0)

    replay = Replay([Collector("meter", "M", read, (Meter,), (), SLOW)])
    assert set(replay.feed(Frame(1, 1.0, 1.0, (Evidence("/d/x", data=b"1"),))).rows(Meter)) == {"x"}
    assert set(replay.feed(Frame(2, 2.0, 2.0, (Evidence("/d/y", data=b"2"),))).rows(Meter)) == {"x", "y"}
    assert set(replay.feed(Frame(3, 3.0, 3.0, (Evidence("/d/x", Outcome.ABSENT),))).rows(Meter)) == {"y"}


@given(st.text(st.characters(codec=None), min_size=1, max_size=300))
def test_slugs_are_safe_names(text: str) -> None:
    name = slug(text)
    assert len(name) <= 159
    assert not set(name) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=:+-~")


def test_slugs_that_are_taken_differ() -> None:
    assert slug("a b") == "a_b"
    assert slug("a/b", {"a_b": "a b"}).startswith("a_b~")
    assert slug("a b", {"a_b": "a b"}) == "a_b"


def test_a_collector_younger_than_the_capture_reads_what_evidence_there_is() -> None:
    replay = Replay([collector(Reader(), SLOW)], known=frozenset({"raw"}))
    others = {"raw": RunMark(1.0, 0.01)}
    first = replay.feed(Frame(1, 1001.0, 1.0, (Evidence("/m", data=b"a 5"),), others))
    assert first.get(Meter, "a") == Meter("a", 5)
    replay.feed(Frame(2, 1002.0, 2.0, (), others))
    shot = replay.feed(Frame(3, 1003.0, 3.0, (Evidence("/m", data=b"a 9"),), others))
    assert shot.get(Speed, "a") == Speed("a", 2.0)  # from news to news: frame 2 brought none
    still = replay.feed(Frame(4, 1009.0, 9.0, (), others))
    assert still.get(Speed, "a") == Speed("a", 0.0)


def test_a_younger_collector_has_no_answer_where_nothing_of_what_it_reads_was_recorded() -> None:
    replay = Replay([collector(Reader(), SLOW)], known=frozenset({"raw"}))
    run = replay.feed(Frame(1, 1001.0, 1.0, (), {"raw": RunMark(1.0, 0.01)})).runs["meter"]
    assert (run.outcome, run.recorded) == (Outcome.ABSENT, False)

    def nothing(host: Host) -> Iterable[Meter]:
        return [Meter(name, 1) for name in host.names("/m")]  # to list what nobody recorded is no error

    replay = Replay([collector(nothing, SLOW)], known=frozenset({"raw"}))
    run = replay.feed(Frame(1, 1001.0, 1.0, (Evidence("/other", data=b"1"),), {"raw": RunMark(1.0, 0.01)})).runs[
        "meter"
    ]
    assert (run.outcome, run.recorded, run.reason) == (Outcome.ABSENT, False, "not recorded")


def test_a_collector_that_ran_in_the_capture_runs_when_it_did() -> None:
    replay = Replay([collector(Reader(), SLOW)], known=frozenset({"raw", "meter"}))
    shot = replay.feed(Frame(1, 1001.0, 1.0, (Evidence("/m", data=b"a 5"),), {"raw": RunMark(1.0, 0.01)}))
    assert "meter" not in shot.runs


class Gauge(Meter, frozen=True):
    """What several collectors have rows of."""

    family: ClassVar[str] = "gauge"
    joined: ClassVar[bool] = True


def of_file(path: str) -> Collector:
    def read(host: Host) -> Iterable[Reading]:
        for line in host.text(path).splitlines():
            name, count = line.split()
            yield Gauge(name, int(count))

    return Collector(path[1:], path, read, (Gauge,), (), derives=(Derivation(Gauge, Speed, speed),))


def shown(number: int, *, ran: Iterable[str] = ("a", "b", "c"), **files: str) -> Frame:
    items = tuple(Evidence(f"/{name}", data=text.encode()) for name, text in files.items())
    return Frame(number, 1000.0 + number, float(number), items, {name: RunMark(float(number), 0.01) for name in ran})


def test_rows_of_a_joined_family_stand_side_by_side() -> None:
    replay = Replay([of_file("/a"), of_file("/b"), of_file("/c")])
    shot = replay.feed(shown(1, a="x 1\ny 2", b="y 9\nz 3", c=""))
    assert list(shot.rows(Gauge).values()) == [Gauge("x", 1), Gauge("y", 2), Gauge("z", 3)]  # of equal ones the first
    assert (shot.get(Gauge, "z"), shot.get(Gauge, "no"), len(shot.rows(Gauge))) == (Gauge("z", 3), None, 3)
    run = shot.run_of(Gauge)
    assert run is not None
    assert {"/a", "/b"} <= run.keys


def test_a_joined_family_goes_on_without_a_source_that_fails() -> None:
    replay = Replay([of_file("/a"), of_file("/b")])
    replay.feed(shown(1, a="x 1", b="z 3"))
    shot = replay.feed(shown(2, a="broken", b="z 4"))
    assert shot.runs["a"].outcome is Outcome.FAILED
    assert list(shot.rows(Gauge).values()) == [Gauge("z", 4)]


def test_what_is_joined_is_one_moment_as_long_as_no_source_ran() -> None:
    replay = Replay([of_file("/a"), of_file("/b")])
    first = replay.feed(shown(1, a="x 1", b="z 3"))
    again = replay.feed(shown(2, ran=()))
    later = replay.feed(shown(3, ran=["b"], b="z 5"))
    assert first.run_of(Gauge) is again.run_of(Gauge)
    assert later.run_of(Gauge) is not again.run_of(Gauge)
    assert list(later.rows(Gauge).values()) == [Gauge("x", 1), Gauge("z", 5)]
