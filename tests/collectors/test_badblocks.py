"""Output of badblocks, and the verdict about the disk."""

from __future__ import annotations

import pytest

from sdstop.collectors.health.badblocks import SURFACE_TESTS, fault, parse
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.disks.disk_failing import DISK_FAILING
from tests.nodes.frames import Judged

KEY = "cmd:badblocks -sv /dev/sdq"
HEAD = "Checking blocks 0 to 4095\nChecking for bad blocks (read-only test): "
WRITE = "Checking for bad blocks in read-write mode\nFrom block 0 to 99\n"


@pytest.mark.parametrize(("text", "mode", "finished", "bad", "counts"), [
    (f"{HEAD}done\nPass completed, 0 bad blocks found. (0/0/0 errors)\n", "read", True, 0, (0, 0, 0)),
    (f"{HEAD}17\n18\ndone\nPass completed, 2 bad blocks found. (2/0/0 errors)\n", "read", True, 2, (2, 0, 0)),
    (f"{HEAD}done\nPass completed, 0 bad blocks found.\n", "read", True, 0, (None, None, None)),
    (f"{HEAD}  3.20% done, 0:12 elapsed. (0/0/0 errors)\n", "read", False, None, (0, 0, 0)),
    (f"{HEAD}  3.20% done, 0:12 elapsed. (1/0/0 errors)\n", "read", False, None, (1, 0, 0)),
    (f"{HEAD}\nInterrupted at block 1024\n", "read", False, None, (None, None, None)),
    (f"{HEAD}\x08\x08 9.00% done, 2:00:12 elapsed. (0/0/0 errors)\n", "read", False, None, (0, 0, 0)),
    (f"{WRITE}Pass completed, 3 bad blocks found. (0/0/3 errors)\nPass completed, 0 bad blocks found. (0/0/3 errors)\n",
     "write", True, 3, (0, 0, 3)),
    ("8812\n8813\n", None, False, 2, (None, None, None)),
])  # fmt: skip
def test_what_is_read(
    text: str,
    mode: str | None,
    finished: bool,  # noqa: FBT001
    bad: int | None,
    counts: tuple[int | None, ...],
) -> None:
    row = parse(text, "sdq", KEY)
    assert (row.mode, row.finished, row.bad) == (mode, finished, bad)
    assert (row.read_errors, row.write_errors, row.compare_errors) == counts


@pytest.mark.parametrize("text", ["", "badblocks: Permission denied while trying\n", "no\n12\n"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text, "sdq", KEY)


def test_an_output_ends_with_a_pass_or_an_interruption() -> None:
    assert fault(f"{HEAD}  3.20% done, 0:12 elapsed. (0/0/0 errors)")
    assert not fault("Pass completed, 0 bad blocks found. (0/0/0 errors)")
    assert not fault("Interrupted at block 1024")


def _verdict(text: str) -> Finding | RuledOut | Unchecked:
    verdict = Judged((SURFACE_TESTS,), [DISK_FAILING], [(0.0, {KEY: text})]).of("sdq")
    assert isinstance(verdict, Finding | RuledOut | Unchecked)
    return verdict


@pytest.mark.parametrize(("bad", "severity"), [(1, "warning"), (99, "warning"), (100, "critical")])
def test_bad_blocks_are_found(bad: int, severity: str) -> None:
    found = _verdict(f"{HEAD}done\nPass completed, {bad} bad blocks found. ({bad}/0/0 errors)\n")
    assert isinstance(found, Finding)
    assert (found.subject, found.title, found.severity) == ("sdq", "BAD BLOCKS", Severity(severity))


def test_other_data_than_was_written_is_critical() -> None:
    found = _verdict("Checking for bad blocks in read-write mode\nPass completed, 1 bad blocks found. (0/0/1 errors)\n")
    assert isinstance(found, Finding)
    assert (found.title, found.severity) == ("DISK RETURNS OTHER DATA", Severity.CRITICAL)


def test_a_pass_without_bad_blocks_is_good() -> None:
    assert isinstance(_verdict(f"{HEAD}done\nPass completed, 0 bad blocks found. (0/0/0 errors)\n"), RuledOut)


def test_an_interrupted_test_is_not_good() -> None:
    assert isinstance(_verdict(f"{HEAD}\nInterrupted at block 1024\n"), Unchecked)
