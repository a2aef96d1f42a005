"""Packed marks are those that were packed, in the same order, whatever other frames have."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import Frame, RunMark
from sdstop.core.packed_marks import PackedMarks
from sdstop.core.timeline import Timeline

SECONDS = st.floats(0, 1e9)
MARKS = st.dictionaries(st.text(max_size=4), st.builds(RunMark, SECONDS, st.none() | SECONDS), max_size=8)


@given(st.lists(MARKS, max_size=4))
def test_marks_are_those_that_were_packed(frames: list[Mapping[str, RunMark]]) -> None:
    names: dict[str, int] = {}
    for marks, packed in [(marks, PackedMarks(marks, names)) for marks in frames]:
        assert packed == marks
        assert packed.whole() == marks
        assert [*packed.items()] == [*marks.items()]
        assert [*packed] == [*marks]
        assert len(packed) == len(marks)
        assert all(packed[name] == mark and name in packed for name, mark in marks.items())
        assert "other" not in packed


def test_a_live_timeline_has_the_marks_of_each_frame_and_of_those_before_it() -> None:
    timeline = Timeline(seconds=3.0)
    told = [{"disks": RunMark(float(n), 0.001), **({"slow": RunMark(n - 0.5)} if n % 2 else {})} for n in range(8)]
    for number, marks in enumerate(told, start=1):
        timeline.append(Frame(number, 1000.0 + number, float(number), (), marks))
    timeline.append(Frame(9, 1009.0, 9.0))  # it was not recorded which ones ran
    first = 9 - len(timeline.frames)
    assert [timeline.frame(n).ran for n in range(len(timeline.frames))] == [*told[first:], None]
    assert timeline.recall(1, 3)[0].ran == {"disks": told[first + 1]["disks"], "slow": RunMark(4.5)}
