"""nfs-server-busy and nfs-server-refuses: threads of the kernel's NFS server, and calls that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.filesystems.nfsd import NFS_EXPORTS, NFS_SERVER
from sdstop.collectors.filesystems.share_readings import ETAB, NFSD, POOL_STATS
from sdstop.core.finding import Finding, Gap
from sdstop.rules.filesystems.nfs_server_busy import NFS_SERVER_BUSY
from sdstop.rules.filesystems.nfs_server_refuses import NFS_SERVER_REFUSES
from tests.nodes.frames import Judged

BUSY, REFUSES = NFS_SERVER_BUSY.id, NFS_SERVER_REFUSES.id
HEAD = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n"
Rate = Callable[[int], float]


def judged(
    waiting: Rate = lambda _: 0.0, *, rate: float = 100.0, seconds: int = 60, threads: int = 8, kernel: str = "6.1",
    every: int = 5, pools: int = 1, bad_format: float = 0, bad_login: float = 0, stale: float = 0, restart: int = 0,
    has_pools: bool = True, more: Mapping[str, str] | None = None,
) -> Judged:  # fmt: skip
    """Judge a server of `rate` requests per second, of which the share `waiting(second)` finds no idle thread."""
    arrived = queued = woken = 1000.0
    shown = []
    for second in range(seconds + 1):
        lacking = rate * waiting(second)
        arrived, woken = arrived + rate, woken + rate - lacking
        queued += lacking if kernel == "3.10" else rate
        if second == restart:
            arrived = queued = woken = 0
        if second % every == 0:
            calls = int(rate * (second + 10))
            bad, denied = int(bad_format * second), int(bad_login * second)
            files = {
                NFSD: f"rc 0 0 {calls}\nfh {int(stale * second)} 0 0 0 0\nio 0 0\nth {threads} 0 0.000\n"
                f"net {calls} 0 {calls} 3\nrpc {calls} {bad + denied} {bad} {denied} 0\n"
            }
            if has_pools:
                line = f"{int(arrived)} {int(queued)} {int(woken)} 0\n"
                files[POOL_STATS] = HEAD + "".join(f"{pool} {line}" for pool in range(pools))
            shown.append((float(second), {**files, **(more or {})}))
    return Judged((NFS_SERVER, NFS_EXPORTS, MOUNTED), (NFS_SERVER_BUSY, NFS_SERVER_REFUSES), shown)


@pytest.mark.parametrize("kernel", ["3.10", "6.1"])
@pytest.mark.parametrize(("share", "is_found"), [(0.0, False), (0.48, False), (0.52, True), (1.0, True)])
def test_near_the_share_of_requests_without_a_thread(
    kernel: str,
    share: float,
    is_found: bool,  # noqa: FBT001  # a table
) -> None:
    said = judged(lambda _: share, kernel=kernel).of("nfsd", BUSY)
    assert isinstance(said, Finding) is is_found, said


def test_an_idle_server_of_linux_4_15_queues_each_request_and_is_not_busy() -> None:
    assert judged().ruled_out("nfsd", BUSY).summary == "0 of 3000 requests in 30s waited"


@pytest.mark.parametrize(("rate", "is_found"), [(9.0, False), (11.0, True)])
def test_near_the_rate(rate: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert isinstance(judged(lambda _: 1.0, rate=rate).of("nfsd", BUSY), Finding) is is_found


def test_a_burst_is_not_found() -> None:
    judged(lambda second: float(second > 40 and second % 10 < 5)).ruled_out("nfsd", BUSY)


@pytest.mark.parametrize(("since", "is_found"), [(40, False), (24, True)])
def test_it_holds_for_thirty_seconds(since: int, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert isinstance(judged(lambda second: float(second > since)).of("nfsd", BUSY), Finding) is is_found


def test_twenty_seconds_of_a_capture_are_too_early() -> None:
    said = judged(lambda _: 1.0, seconds=20).unchecked("nfsd", BUSY)
    assert said.gap is Gap.EARLY
    assert said.reason == "all threads busy for 20s of 30s"


def test_samples_of_a_restarted_server_are_not_compared() -> None:
    assert judged(lambda _: 1.0, restart=50).unchecked("nfsd", BUSY).gap is Gap.EARLY


def test_a_single_sample_a_stopped_server_and_one_without_pools() -> None:
    assert judged(seconds=0).unchecked("nfsd", BUSY).gap is Gap.EARLY
    assert judged(threads=0).unchecked("nfsd", BUSY).calm
    assert not judged(has_pools=False).unchecked("nfsd", BUSY).calm


def test_pools_are_added_and_slow_samples_are_judged() -> None:
    finding = judged(lambda _: 0.9, pools=4, every=20, threads=1).finding("nfsd", BUSY)
    assert finding.title == "NFS SERVER: ITS ONLY THREAD BUSY"
    assert finding.cause == "90.0% of requests found no idle thread of 1 thread in 40s."


@pytest.mark.parametrize("kind", ["bad_format", "bad_login", "stale"])
@pytest.mark.parametrize(("rate", "is_found"), [(4.5, False), (6.0, True)])
def test_near_the_share_of_calls(kind: str, rate: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    said = judged(**{kind: rate}).of("nfsd", REFUSES)  # type: ignore[arg-type]
    assert isinstance(said, Finding) is is_found, said


@pytest.mark.parametrize(("rate", "is_found"), [(0.8, False), (1.2, True)])
def test_few_calls_are_not_found(rate: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert isinstance(judged(rate=3.0, bad_login=rate).of("nfsd", REFUSES), Finding) is is_found


def test_a_single_sample_has_no_refused_calls() -> None:
    assert judged(seconds=0).unchecked("nfsd", REFUSES).gap is Gap.EARLY


def test_mounted_file_systems_of_exports_are_named_once_and_cited() -> None:
    known = judged(
        lambda _: 1.0,
        more={
            ETAB: "/srv/home/anna\t*(rw)\n/srv/home/ben\t*(rw)\n/srv/homes\t*(rw)\n/data\t*(ro)\n",
            "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /srv/home xfs rw 0 0\n/dev/sdc1 /data xfs rw 0 0\n",
        },
    )
    finding = known.finding("nfsd", BUSY)
    assert set(finding.others) == {"/srv/home", "/", "/data"}
    assert any("/srv/home" in str(cited) for cited in finding.evidence)
    assert not judged(lambda _: 1.0).finding("nfsd", BUSY).others
