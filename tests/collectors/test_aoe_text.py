"""AoE disks in the text of aoe-stat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.aoe.stat_text import AOE_TEXT, parse
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from tests.nodes.frames import Judged

LINE = "      e1.{}      2000.398GB   eth2,eth3 8704  {}\n"


def test_a_line_is_a_disk() -> None:
    (row,) = parse(LINE.format(0, "up"), "k")
    assert (row.device, row.state, row.payload, row.interfaces) == ("etherd/e1.0", "up", 8704, "eth2,eth3")


@pytest.mark.parametrize(
    ("state", "kind"), [("up", RuledOut), ("down", Finding), ("down,closewait", Finding), ("closewait", Unchecked)]
)
def test_states(state: str, kind: type) -> None:
    text = LINE.format(0, "up") + LINE.format(1, state)
    said = Judged((AOE_TEXT,), [DISK_OFFLINE], [(0.0, {"cmd:aoe-stat": text})])
    verdict = said.of("etherd/e1.1")
    assert isinstance(verdict, kind)
    if isinstance(verdict, Finding):
        assert "e1.1" in verdict.evidence[0].excerpt
    if isinstance(verdict, Unchecked):
        assert verdict.gap is Gap.FAULTY


@given(st.integers(0, 90))
def test_a_cut_line_is_never_up(cut: int) -> None:
    text = LINE.format(0, "down").rstrip()[:cut]
    try:
        rows = list(parse(text, "k"))
    except Malformed:
        return
    assert all(row.state != "up" for row in rows)
