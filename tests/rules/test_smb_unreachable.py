"""smb-unreachable: lost connections to SMB servers, and those that are made again repeatedly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdstop.collectors.filesystems.share_readings import DEBUG_DATA
from sdstop.collectors.filesystems.smb import SMB_SHARES
from sdstop.collectors.kernel.log import KERNEL_LOG
from sdstop.core.finding import Finding, Gap
from sdstop.rules.disks.kernel_io_errors import KERNEL_IO_ERRORS
from sdstop.rules.filesystems.smb_unreachable import SMB_UNREACHABLE
from tests.nodes import kernel_log
from tests.nodes.frames import Judged
from tests.nodes.smb import NEWER

SHARE = "//filer/scans"


def judged(
    status: Callable[[int], int] = lambda _: 1, made: Callable[[int], int] = lambda _: 1, seconds: int = 60
) -> Judged:
    """Judge the shares of a server whose connection has a status and a number of reconnects at a second."""
    shown = []
    for second in range(0, seconds + 1, 5):
        text = NEWER.replace("{status}", str(status(second))).replace("{instance}", str(made(second)))
        shown.append((float(second), {DEBUG_DATA: text.replace("Requests: 1", f"Requests: {second}")}))
    return Judged((SMB_SHARES,), (SMB_UNREACHABLE,), shown)


@pytest.mark.parametrize(("since", "is_found"), [(50, False), (45, True)])
def test_near_the_time_without_a_connection(since: int, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(lambda second: 3 if second >= since else 1).of(SHARE)
    assert isinstance(said, Finding) is is_found, said


@pytest.mark.parametrize(("count", "is_found"), [(2, False), (3, True)])
def test_near_the_number_of_reconnects(count: int, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(made=lambda second: 1 + min(count, second // 10)).of(SHARE)
    assert isinstance(said, Finding) is is_found, said


def test_a_share_that_waits_for_its_next_use_on_a_connection_that_is_up_is_no_fault() -> None:
    judged().ruled_out("//filer/team files")


def test_reconnects_before_the_first_sample_are_not_counted() -> None:
    judged(made=lambda _: 900).ruled_out(SHARE)
    assert judged(made=lambda _: 900, seconds=0).unchecked(SHARE).gap is Gap.EARLY


@pytest.mark.parametrize(("server", "follows"), [("filer", True), ("other", False)])
def test_what_the_kernel_logged_of_the_server_follows(server: str, follows: bool) -> None:  # noqa: FBT001  # a table
    message = (5.0, rf"CIFS: VFS: \\{server} has not responded in 180 seconds. Reconnecting...")
    text = NEWER.replace("{status}", "3").replace("{instance}", "1")
    shown = [
        (float(second), {DEBUG_DATA: f"{text}{' ' * second}", **kernel_log.log(message)}) for second in range(0, 31, 5)
    ]
    said = Judged((SMB_SHARES, KERNEL_LOG), (SMB_UNREACHABLE, KERNEL_IO_ERRORS), shown)
    assert (f"kernel-io-errors:{server}" in said.finding(SHARE).explains) is follows


def test_a_negotiation_is_not_checked() -> None:
    assert judged(lambda _: 5).unchecked(SHARE).reason == "connection negotiating"
