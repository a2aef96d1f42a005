"""Tables with a heading: columns by their positions, else by the number of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.host import Malformed
from sdstop.core.table import aligned, separated


def test_a_missing_cell_is_empty() -> None:
    lines = ["  LV   VG   LSize  Pool Origin", "  home vg0  32.00m            ", "  snap vg0  16.00m      home"]
    assert [row["Origin"] for row in aligned(lines)] == ["", "home"]
    assert aligned(lines)[0]["Pool"] == ""


def test_a_value_with_blanks_belongs_to_its_column() -> None:
    lines = ["NAME MODEL          ROTA", "sda  QEMU HARDDISK     1", "sdb  HGST HUH7280      1"]
    assert [row["MODEL"] for row in aligned(lines)] == ["QEMU HARDDISK", "HGST HUH7280"]


def test_the_first_cell_keeps_its_depth() -> None:
    assert aligned(["NAME   SIZE", "sda      1G", "`-sda1   1G", "  `-x    1G"])[2]["NAME"] == "  `-x"


def test_without_columns_words_are_counted() -> None:
    assert aligned(["VG #PV Attr", "vg0 1 wz--n-", "long-name 12 wz--n-"])[1]["#PV"] == "12"
    assert aligned(["NAME SIZE MOUNTPOINT", "sda 1T", "sda1 1T /boot"], ("MOUNTPOINT",))[0]["MOUNTPOINT"] == ""
    with pytest.raises(Malformed):
        aligned(["LV VG Pool Origin", "thin1 vg0 pool", "longer-name vg0"])


def test_equal_headings_are_malformed() -> None:
    with pytest.raises(Malformed):
        separated(["A;A", "1;2"], ";")


@given(st.lists(st.text(alphabet="ab  \t|", max_size=20), max_size=6))
def test_any_lines_are_rows_or_malformed(lines: list[str]) -> None:
    try:
        rows = aligned(lines)
    except Malformed:
        return
    assert len(rows) == max(sum(bool(line.strip()) for line in lines) - 1, 0)
