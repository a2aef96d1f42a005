"""What a person reads, and what a terminal never gets to see."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core import format as human
from sdstop.core.evidence import dated
from sdstop.core.model import Column, Metric

HOSTILE = "\x1b]0;owned\x07\x9b5n\u202e[red]x[/red]\u2028\ud800\udc9b\x00"


@given(st.text(st.characters(codec=None), max_size=60))
def test_nothing_that_moves_a_cursor_survives(text: str) -> None:
    shown = human.safe(text)
    assert all(unicodedata.category(c)[0] not in "CM" and c not in "\u2028\u2029" for c in shown)
    shown.encode("utf-8")


def test_escapes_stay_readable() -> None:
    assert human.safe("a\x1b[31mb") == r"a\x1b[31mb"
    assert human.safe("\u202e") == r"\u202e"
    assert human.safe("\udc9b") == r"\x9b"
    assert "\x1b" not in human.safe(HOSTILE)


def test_ordinary_names_stay_themselves() -> None:
    assert human.safe("vg0-größe 日本") == "vg0-größe 日本"


def test_long_text_is_cut() -> None:
    assert human.safe("x" * 300, 10) == "xxxxxxx..."


def test_small_shares_have_no_exponent() -> None:
    texts = {0.0: "0%", 0.25: "25.0%", 0.0002: "0.02%", 2e-6: "0.0002%", 2e-7: "<0.0001%"}
    assert {value: human.quantity(value, "ratio") for value in texts} == texts


def test_blocks_keep_their_lines() -> None:
    assert human.safe_block("a\tb\nc\rd") == "a       b\nc\\x0dd"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (512, "512"), (1023, "1023"), (1024, "1K"), (524288, "512K"),
     (1023.9 * 1024, "1M"), (1.8 * 2**40, "1.8T"), (-2048, "-2K")],
)  # fmt: skip
def test_bytes(value: float | None, text: str) -> None:
    assert human.bytes_(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (0.42, "0.42"), (9.996, "10.0"), (98.71, "98.7"),
     (999.6, "1000"), (1234.5, "1234"), (123456, "123k"), (float("nan"), "-"), (float("inf"), "inf")],
)  # fmt: skip
def test_numbers(value: float | None, text: str) -> None:
    assert human.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.3, "0.3s"), (9.97, "10s"), (59.6, "1m00"), (3599.7, "1h00"), (171720, "47h42"),
     (172800, "2d00"), (-90, "-1m30")],
)  # fmt: skip
def test_durations(value: float | None, text: str) -> None:
    assert human.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (0.9934, "99.3"), (0.9996, "100"), (1.27, "127"), (0.001, "0.1")],
)
def test_percentages(value: float | None, text: str) -> None:
    assert human.percent(value) == text


def test_what_is_done_is_rounded_as_elsewhere_but_not_up_to_all_of_it() -> None:
    shares = (None, 0, 0.9626, 0.9989, 0.99999, 1.0)
    assert [human.done(share) for share in shares] == ["-", "0", "96.3", "99.9", "99.9", "100"]


def test_quantities_carry_their_unit() -> None:
    assert human.quantity(524288, "bytes") == "512 KiB"
    assert human.quantity(511, "bytes") == "511 B"
    assert human.quantity(98.2 * 2**20, "bytes_per_second") == "98.2 MiB/s"
    assert human.quantity(17.1e9, "decimal_bytes_per_second") == "17.1 GB/s"
    assert human.quantity(0.0124, "seconds") == "12.4 ms"
    assert human.quantity(75.0, "seconds") == "1m15"
    assert human.quantity(None, "bytes") == "-"
    assert [human.quantity(ratio, "ratio") for ratio in (0, 0.97, 0.0006, 1e-4)] == ["0%", "97.0%", "0.1%", "0.01%"]
    assert human.quantity("a\x1bb", "") == r"a\x1bb"


@given(st.floats())
def test_no_number_breaks_a_formatter(value: float) -> None:
    for make in (human.number, human.bytes_, human.rate, human.percent, human.wait, human.duration):
        if math.isfinite(value):
            assert make(value)


@given(st.floats(allow_nan=False))
def test_every_moment_has_a_date(taken: float) -> None:
    assert human.timestamp(taken).endswith("Z") == dated(taken)


def test_exact_numbers_are_shown_in_full() -> None:
    column = Column("mtu", Metric("MTU", "h", "bytes", exact=True), optional=True)
    assert human.cell(column, 9000) == "9000"
    assert human.cell(column, None) == "-"


def test_cells_of_a_column_have_the_same_decimals() -> None:
    assert [human.whole(v) for v in (None, 0.0, 0.4, 46083.2, 1_200_000.0)] == ["-", "0", "0", "46083", "1.2M"]
    assert [human.tenths(v) for v in (None, 0.0, 0.06, 79.24, 1250.0)] == ["-", "0.0", "0.1", "79.2", "1250.0"]
    assert [human.mebibytes(v) for v in (0.0, 392_000_000.0)] == ["0.0", "373.8"]
    assert [human.milliseconds(v) for v in (None, 0.00031, 0.0792)] == ["-", "0.3", "79.2"]
    assert [human.whole_percent(v) for v in (None, 0.0, 0.416, 1.0, 1.28)] == ["-", "0", "42", "100", "128"]


@given(st.floats(-1e12, 1e12))
def test_no_cell_is_wider_than_its_column(value: float) -> None:
    for shown in (human.whole(value), human.tenths(value)):
        assert len(shown) <= 7 + (value < 0)
