"""Recording another host changes no answer, and what was recorded gives the same answers again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Host, Output, TimedOut, Unreadable
from sdstop.core.recording import RecordingHost


class Scripted(Host):
    """Answers by key from a table; an error in it is raised."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = table

    def _take(self, key: str) -> Any:
        answer = self.table.get(key, Absent(key))
        if isinstance(answer, Unreadable):
            raise answer
        return answer() if callable(answer) else answer

    def read(self, path: str) -> bytes:
        return bytes(self._take(path))

    def entries(self, path: str) -> list[str]:
        return list(self._take(f"list:{path}"))

    def link(self, path: str) -> str:
        return str(self._take(f"link:{path}"))

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        del deadline
        output = self._take("cmd:" + " ".join(argv))
        assert isinstance(output, Output)
        return output

    def answer(self, question: str) -> Any:
        return self._take(f"answer:{question}")


def questions(host: Host) -> list[Callable[[], Any]]:
    return [
        lambda: host.read("/a"),
        lambda: host.entries("/d"),
        lambda: host.link("/l"),
        lambda: host.run(["ip", "-j"]),
        lambda: host.answer("q"),
    ]


def outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Unreadable as error:
        return type(error), error.key, error.detail


NAMES = st.text(st.characters(exclude_characters="\0/\n", exclude_categories=()), min_size=1).map(
    lambda s: s.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ERRORS = st.sampled_from((Absent, Denied, Failed, TimedOut))


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    answers: dict[str, st.SearchStrategy[Any]] = {
        "/a": st.binary(),
        "list:/d": st.lists(NAMES, unique=True).map(sorted),
        "link:/l": NAMES,
        "cmd:ip -j": st.builds(Output, st.binary(), st.binary(), st.integers(-64, 255)),
        "answer:q": VALUES,
    }
    return {
        key: draw(ERRORS)(key, draw(st.text(max_size=9))) if draw(st.booleans()) else draw(answer)
        for key, answer in answers.items()
    }


@given(tables())
def test_recorded_answers_and_errors_are_the_same_again(table: dict[str, Any]) -> None:
    recording = RecordingHost(Scripted(table))
    heard = [outcome(ask) for ask in questions(recording)]
    assert heard == [outcome(ask) for ask in questions(Scripted(table))]
    assert [outcome(ask) for ask in questions(EvidenceHost(recording.evidence.values()))] == heard
    assert recording.evidence.keys() == table.keys()
    assert recording.current is None


def test_evidence_says_when_and_how_long() -> None:
    clock = iter([10.0, 10.25]).__next__
    recording = RecordingHost(Scripted({"/a": b"x"}), clock, lambda: 1_700_000_000.0)
    recording.read("/a")
    assert recording.evidence == {
        "/a": Evidence("/a", Outcome.OK, b"x", "", 1_700_000_000.0, 10.0, 0.25),
    }


def test_short_reads_share_the_start_of_the_first_of_them() -> None:
    """Of a long one the start is its own: it may be said to hang, and is recognized by that."""
    times = [10.0, 10.00004, 10.0001, 10.00013, 10.0009, 10.0043, 10.005, 10.00501]
    recording = RecordingHost(
        Scripted(dict.fromkeys(("/a", "/b", "/c", "/d"), b"x")), iter(times).__next__, lambda: 7.0
    )
    for path in ("/a", "/b", "/c", "/d"):
        recording.read(path)
    every = list(recording.evidence.values())
    assert [item.monotonic for item in every] == [10.0, 10.0, 10.0009, 10.005]
    assert every[0].monotonic is every[1].monotonic
    assert [item.duration for item in every] == pytest.approx([4e-5, 3e-5, 0.0034, 1e-5], abs=1e-6)
    assert [item.taken for item in every] == [7.0] * 4


def test_the_key_that_is_being_read_is_known() -> None:
    hosts: list[RecordingHost] = []
    hosts.append(RecordingHost(Scripted({"list:/d": lambda: [str(hosts[0].current)]})))
    assert hosts[0].entries("/d") == ["list:/d"]
    assert hosts[0].current is None


def test_a_collectors_glob_is_recorded_as_listings() -> None:
    table = {"list:/sys/block": ["sda", "sdb"], "list:/sys/block/sda": ["size"], "list:/sys/block/sdb": ["size"]}
    recording = RecordingHost(Scripted(table))
    found = recording.glob("/sys/block/*/size")
    assert found == ["/sys/block/sda/size", "/sys/block/sdb/size"]
    assert set(recording.evidence) == set(table)
    assert EvidenceHost(recording.evidence.values()).glob("/sys/block/*/size") == found


def test_a_name_with_a_line_break_cannot_pretend_to_be_two() -> None:
    assert RecordingHost(Scripted({"list:/d": ["a\nb", "c"]})).entries("/d") == ["c"]


def test_what_others_listed_at_this_moment_is_not_listed_again() -> None:
    table = {"list:/d": ["b", "a\nc"]}
    listed: dict[str, str] = {}
    first = RecordingHost(Scripted(table), listed=listed)
    assert first.entries("/d") == ["b"]
    first.entries("/d").append("mine alone")
    table["list:/d"] = ["e"]
    second = RecordingHost(Scripted(table), listed=listed)
    assert second.entries("/d") == ["b"]
    assert second.evidence["list:/d"].data == b"b"
    assert RecordingHost(Scripted(table)).entries("/d") == ["e"]
    with pytest.raises(Absent):
        second.entries("/none")
    table["list:/none"] = ["f"]
    assert second.entries("/none") == ["f"]  # that it was not there is asked again


def test_what_a_capture_lacks_is_no_evidence() -> None:
    recording = RecordingHost(EvidenceHost.of({"/a": "x"}))
    with pytest.raises(Absent):
        recording.read("/b")
    assert recording.evidence == {}


@pytest.mark.parametrize("key", ["cmd:iostat -x 1 2", "slug:iostat_-x_1_2", "cmd:iostat"])
def test_recorded_commands_of_another_capture_are_found_again(key: str) -> None:
    recording = RecordingHost(EvidenceHost([Evidence(key, data=b"table", stderr=b"e", exit=1)]))
    for name in recording.recorded("iostat"):
        recording.recorded_output(name)
    again = EvidenceHost(recording.evidence.values())
    assert [again.recorded_output(name) for name in again.recorded("iostat")] == [Output(b"table", b"e", 1)]
    assert again.run(key.partition(":")[2].replace("_", " ").split(" ")) == Output(b"table", b"e", 1)


def test_answers_are_kept_one_item_a_line() -> None:
    recording = RecordingHost(Scripted({"answer:list": [{"pid": 1, "name": "a"}, {"pid": 2}], "answer:dict": {"a": 1}}))
    recording.answer("list")
    recording.answer("dict")
    text = recording.evidence["answer:list"].data.decode()
    assert text.splitlines()[0] == '[{"pid": 1, "name": "a"},'
    assert json.loads(text) == [{"pid": 1, "name": "a"}, {"pid": 2}]
    assert json.loads(recording.evidence["answer:dict"].data) == {"a": 1}
