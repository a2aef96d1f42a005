"""Missing devices in the text of btrfs filesystem show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.filesystems.errors import BTRFS_ERRORS, parse_missing
from sdstop.collectors.filesystems.scrubs import BTRFS_SCRUBS, parse_status
from sdstop.core.finding import Finding, Severity
from sdstop.core.host import Malformed
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


# --- btrfs scrub status, and its record ------------------------------------------------------------------------


NEW = f"UUID:             {UUID}\nScrub started:    Sat Nov 28 01:00:01 2026\nStatus:           {{}}\n"
COUNTS = "Error summary:    csum=44\n  Corrected:      {}\n  Uncorrectable:  {}\n  Unverified:     0\n"
OLD = f"scrub status for {UUID}\n\tscrub started at Sat Nov 28 01:00:01 2020 and finished after 04:01:22\n"
OLD_COUNTS = (
    "\ttotal bytes scrubbed: 1.21TiB with 44 errors\n\terror details: csum=44\n"
    "\tcorrected errors: {}, uncorrectable errors: {}, unverified errors: 0\n"
)


@pytest.mark.parametrize(
    ("text", "state", "corrected", "lost"),
    [
        (NEW.format("finished") + COUNTS.format(3, 41), "finished", 3, 41),
        (NEW.format("running") + "Error summary:    no errors found\n", "running", 0, 0),
        (NEW.format("aborted") + COUNTS.format(0, 0), "canceled", 0, 0),
        (f"UUID:             {UUID}\n\tno stats available\n", "never", None, None),
        (NEW.format("finished") + "\tuncorrectable_errors: 9\n\tcorrected_errors: 2\n", "finished", 2, 9),
        (OLD + OLD_COUNTS.format(3, 41), "finished", 3, 41),
        (OLD + "\ttotal bytes scrubbed: 1.21TiB with 0 errors\n", "finished", 0, 0),
    ],
)
def test_scrubs(text: str, state: str, corrected: int | None, lost: int | None) -> None:
    (row,) = parse_status(text, "k")
    assert (row.filesystem, row.state, row.corrected, row.uncorrectable) == (UUID, state, corrected, lost)


@pytest.mark.parametrize("text", [NEW.format("finished"), OLD, NEW.format("finished") + "  Corrected:      3\n"])
def test_a_scrub_without_its_errors_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(parse_status(text, "k"))


@pytest.mark.parametrize(
    ("corrected", "lost", "severity"), [(0, 0, None), (3, 0, Severity.INFO), (0, 1, Severity.CRITICAL)]
)
@pytest.mark.parametrize("live", [False, True])
def test_errors_of_a_scrub(corrected: int, lost: int, severity: Severity | None, live: bool) -> None:  # noqa: FBT001
    record = f"scrub status:1\n{UUID}:1|corrected_errors:{corrected}|uncorrectable_errors:{lost}|t_start:1|t_resumed:0"
    recorded = {
        f"/sys/fs/btrfs/{UUID}/devices/sda/size": "1\n",
        f"/var/lib/btrfs/scrub.status.{UUID}": f"{record}|duration:12|canceled:0|finished:1\n",
    }
    shown = {"cmd:btrfs scrub status /data": NEW.format("finished") + COUNTS.format(corrected, lost)}
    said = Judged((BTRFS_SCRUBS,), [FILESYSTEM_ERRORS], [(0.0, recorded if live else shown)])
    verdict = said.of(UUID)
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
