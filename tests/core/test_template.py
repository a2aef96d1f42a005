"""Templates filled from rows, one by one and as columns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sdstop.core.template import filled, filled_column

ROWS = [
    SimpleNamespace(device="etherd/e0.1", number=0, path="/dev/vg0/home", name=None, other="x"),
    SimpleNamespace(device="sda", number=None, path="/srv/file", name="", other=None),
    SimpleNamespace(device="", number=7, path=None, name="n", other="y"),
]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{device}", ["etherd/e0.1", "sda", None]),
        ("{number}", ["0", None, "7"]),
        ("{device}/{number}", ["etherd/e0.1/0", None, None]),
        ("disk/by-id/{device}", ["disk/by-id/etherd/e0.1", "disk/by-id/sda", None]),
        ("{device:sysfs}", ["etherd!e0.1", "sda", None]),
        ("{path:dev}", ["vg0/home", None, None]),
        ("{name|other}", ["x", None, "n"]),
        ("{name|number|device}", ["0", "sda", "n"]),
        ("/sys/{device}/size", ["/sys/etherd/e0.1/size", "/sys/sda/size", None]),
        ("[{number}]", ["[0]", None, "[7]"]),
    ],
)
def test_a_column_is_filled_as_each_row_is(template: str, expected: list[str | None]) -> None:
    assert [filled(template, row) for row in ROWS] == expected
    fields = ("device", "number", "path", "name", "other")
    columns = {name: [getattr(row, name) for row in ROWS] for name in fields}
    assert filled_column(template, columns) == expected


def test_a_template_without_fields_is_itself() -> None:
    assert [filled("/proc/mdstat", row) for row in ROWS] == ["/proc/mdstat"] * 3
