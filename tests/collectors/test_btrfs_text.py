"""Missing devices in the text of btrfs filesystem show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.filesystems.errors import BTRFS_ERRORS, parse_missing
from sdstop.core.finding import Finding, Severity
from sdstop.rules.filesystems.filesystem_errors import FILESYSTEM_ERRORS
from tests.nodes.frames import Judged

UUID = "11111111-2222-3333-4444-555555555555"
OTHER = f"Label: none  uuid: {UUID.replace('5', '6')}\n\tTotal devices 1 FS bytes used 1.20GiB\n"
OTHER += "\tdevid    1 size 1.82TiB used 1.21TiB path /dev/sdx\n\n"


def shown(present: list[int], total: int, tail: str = "") -> str:
    """Return the text of a file system with these devices."""
    rows = "".join(f"\tdevid {n:4} size 1.82TiB used 1.21TiB path /dev/sd{chr(96 + n)}\n" for n in present)
    return f"Label: 'data'  uuid: {UUID}\n\tTotal devices {total} FS bytes used 1.20TiB\n{rows}{tail}\n"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (shown([1, 2], 2), []),
        (shown([1], 2, "\t*** Some devices missing\n"), [2]),
        (shown([2, 3], 4, "\t*** Some devices missing\n"), [1, 4]),
        (shown([1], 2, "\tdevid    2 size 0 used 0 path <missing disk> MISSING\n"), [2]),
        (shown([1], 2, "\tdevid    2 size 0 used 0 path /dev/sdb MISSING\n"), [2]),
        (OTHER + shown([1], 2, "\t*** Some devices missing\n"), [2]),
        (shown([1], 2, "\t*** Some devices missing\n") + OTHER, [2]),
    ],
)
def test_missing_devices(text: str, numbers: list[int]) -> None:
    rows = list(parse_missing(text, "k"))
    assert [(row.filesystem, row.number, row.missing) for row in rows] == [(UUID, number, 1) for number in numbers]


def test_a_missing_device_is_found_and_cited() -> None:
    text = shown([1], 2, "\t*** Some devices missing\n")
    said = Judged((BTRFS_ERRORS,), [FILESYSTEM_ERRORS], [(0.0, {"cmd:btrfs filesystem show": text})])
    (finding,) = (verdict for verdict in said.all if isinstance(verdict, Finding))
    assert (finding.severity, finding.title) == (Severity.WARNING, "BTRFS DEVICE MISSING")
    assert "Some devices missing" in finding.evidence[0].excerpt


@given(st.lists(st.integers(1, 20), unique=True, max_size=8), st.integers(0, 20), st.integers(0, 400))
def test_only_a_line_about_it_makes_a_device_missing(present: list[int], total: int, cut: int) -> None:
    assert not list(parse_missing(shown(present, total)[:cut], "k"))
