"""nfs-slow and nfs-timeouts: mounts beside their own past, and requests without an answer in time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdstop.collectors.filesystems.nfs import NFS
from sdstop.collectors.filesystems.readings import MOUNTSTATS
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.rules.filesystems.nfs_slow import NFS_SLOW, _place
from sdstop.rules.filesystems.nfs_timeouts import NFS_TIMEOUTS
from tests.nodes.frames import Judged

HOME = "/srv/home"
HEAD = """device nas:/home mounted on /srv/home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,{gives_up},proto=tcp,timeo=600,retrans=2
\tage:\t{age}
\txprt:\ttcp 0 0 2 0 0 671 671 0 719 7 2 14 42
\tper-op statistics
"""
Times = Callable[[int], float]
"""Milliseconds of a request at a second."""


def judged(
    took: Times, *, seconds: int = 60, rate: Times = lambda _: 20.0, size: Times = lambda _: 4096.0,
    kind: str = "GETATTR", queued: float = 0.0, before: int = 100_000, usual: float = 0.8, gives_up: str = "hard",
    again: Times = lambda _: 0, timeouts: Times = lambda _: 0, every: int = 1,
) -> Judged:  # fmt: skip
    """Judge a mount of `before` requests that took `usual` ms each in a day, and then so long as is given."""
    done, moved, answered, waited = before, before * 4096.0, before * usual, 0.0
    repeated = failed = 0.0
    shown = []
    for second in range(seconds + 1):
        count = round(rate(second))
        done, moved = done + count, moved + count * size(second)
        answered, waited = answered + count * took(second), waited + count * queued
        repeated, failed = repeated + again(second), failed + timeouts(second)
        counts = (
            done,
            done + int(repeated),
            int(failed),
            int(moved),
            0,
            int(waited),
            int(answered),
            int(answered + waited),
            0,
        )
        text = HEAD.format(age=86_400 + second, gives_up=gives_up) + f"\t{kind}: {' '.join(map(str, counts))}\n"
        if second % every == 0:
            shown.append((float(second), {MOUNTSTATS: text, "/proc/net/rpc/nfs": "net 0 0 0 0\n"}))
    return Judged((NFS,), (NFS_TIMEOUTS, NFS_SLOW), shown)


def slowed(finding: Finding) -> tuple[Severity, str]:
    return finding.severity, finding.title


@pytest.mark.parametrize(
    ("after", "severity"), [(9.0, None), (11.0, Severity.INFO), (98.0, Severity.INFO), (102.0, Severity.WARNING)]
)
def test_near_the_thresholds_of_a_time(after: float, severity: Severity | None) -> None:
    said = judged(lambda second: after if second >= 30 else 0.8)
    if severity is None:
        said.ruled_out(HOME, "nfs-slow")
    else:
        assert said.finding(HOME, "nfs-slow").severity is severity


@pytest.mark.parametrize(("usual", "is_found"), [(9.0, True), (11.0, False)])
def test_a_server_that_was_slow_before_the_first_sample_is_known_from_the_mean_since_the_mount(
    usual: float,
    is_found: bool,  # noqa: FBT001  # a table
) -> None:
    said = judged(lambda _: 50.0, usual=usual, seconds=22)
    if is_found:
        assert said.finding(HOME, "nfs-slow").cause == (
            "Look-ups take 5.54 times their mean since the mount, at no more load."
        )
    else:
        said.ruled_out(HOME, "nfs-slow")


def test_a_mount_that_always_was_slow_is_not_called_good_and_a_new_one_is_not_judged() -> None:
    assert judged(lambda _: 90.0, usual=90.0).ruled_out(HOME, "nfs-slow").summary == "look-ups 90.0 ms"
    assert judged(lambda _: 150.0, usual=150.0).unchecked(HOME, "nfs-slow").reason == "look-ups 150 ms, as before"
    assert judged(lambda _: 150.0, before=0, seconds=22).unchecked(HOME, "nfs-slow").gap is Gap.EARLY


@pytest.mark.parametrize(("more", "is_found"), [(1.2, True), (1.3, False)])
def test_more_load_than_before_explains_a_longer_time(more: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(lambda second: 60.0 if second >= 30 else 0.8, rate=lambda second: 200 * more if second >= 30 else 200)
    assert isinstance(said.of(HOME, "nfs-slow"), Finding) is is_found


@pytest.mark.parametrize(("size", "is_found"), [(5900.0, True), (6300.0, False)])
def test_larger_reads_take_longer(size: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(
        lambda second: 60.0 if second >= 30 else 0.8, kind="READ", size=lambda second: size if second >= 30 else 4096.0
    )
    assert isinstance(said.of(HOME, "nfs-slow"), Finding) is is_found


def test_a_disk_that_spins_up_once_is_no_fault() -> None:
    assert judged(lambda second: 4000.0 if second == 57 else 0.8).unchecked(HOME, "nfs-slow").calm


def test_the_queue_of_writes_is_no_wait_and_that_of_reads_is() -> None:
    judged(lambda _: 0.8, kind="WRITE", queued=300.0).ruled_out(HOME, "nfs-slow")
    finding = judged(lambda _: 0.8, kind="READ", queued=300.0).finding(HOME, "nfs-slow")
    assert "most of it to be sent" in finding.impact


def test_requests_that_may_take_seconds_are_not_judged() -> None:
    assert judged(lambda _: 9000.0, kind="COPY").unchecked(HOME, "nfs-slow").calm


def test_a_check_of_some_seconds_shows_a_sign() -> None:
    assert judged(lambda _: 150.0, seconds=7).unchecked(HOME, "nfs-slow").gap is Gap.SIGNS
    assert judged(lambda _: 150.0, seconds=3).unchecked(HOME, "nfs-slow").gap is Gap.EARLY
    judged(lambda _: 0.9, seconds=7).ruled_out(HOME, "nfs-slow")


def test_samples_a_little_late_are_enough() -> None:
    assert (
        judged(lambda second: 150.0 if second > 33 else 0.8, every=11, seconds=66).finding(HOME, "nfs-slow").severity
        is Severity.WARNING
    )


def test_samples_of_an_exporter_at_rest_are_enough() -> None:
    assert slowed(judged(lambda second: 150.0 if second > 30 else 0.8, every=10).finding(HOME, "nfs-slow")) == (
        Severity.WARNING, "NFS SLOW: 0.80 to 150 ms",
    )  # fmt: skip


def test_a_mount_without_requests_is_not_called_fast() -> None:
    assert judged(lambda _: 0.8, rate=lambda _: 0).unchecked(HOME, "nfs-slow").reason == "0 requests answered in 20s"


@pytest.mark.parametrize(("again", "is_found"), [(2, False), (3, True)])
def test_requests_sent_again(again: int, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(lambda _: 0.8, again=lambda second: again if second == 50 else 0, rate=lambda _: 5)
    if is_found:
        finding = said.finding(HOME, "nfs-timeouts")
        assert finding.cause == "3 of 300 requests had no answer for 1m00 in the last 1m00."
    else:
        said.ruled_out(HOME, "nfs-timeouts")


def test_few_of_many_requests_sent_again_are_no_fault() -> None:
    said = judged(lambda _: 0.8, again=lambda second: 4 if second == 50 else 0, rate=lambda _: 20)
    said.ruled_out(HOME, "nfs-timeouts")


def test_one_major_timeout_is_a_fault_and_the_mean_that_holds_it_is_not_judged() -> None:
    said = judged(
        lambda second: 180_000.0 if second == 50 else 0.8, timeouts=lambda second: second == 50, gives_up="soft"
    )
    finding = said.finding(HOME, "nfs-timeouts")
    assert finding.impact == "Soft mount: such requests fail, and programs can lose data."
    assert said.unchecked(HOME, "nfs-slow").calm


def test_a_remount_that_sets_counters_back_is_no_fault() -> None:
    said = judged(lambda _: 0.8, rate=lambda second: -900 if second == 30 else 20, before=500)
    assert said.ruled_out(HOME, "nfs-timeouts").summary == "600 requests in 30s, 0 sent again"


@pytest.mark.parametrize(
    ("trip", "where"),
    [(None, "for the server or the network"), (149.0, "on the network"), (76.0, "on the network"),
     (74.0, "for the server or the network"), (14.0, "for the server")],
)  # fmt: skip
def test_the_round_trip_of_its_connection_tells_network_and_server_apart(trip: float | None, where: str) -> None:
    assert _place(0.15, trip / 1000 if trip else None) == where
