"""kernel-limit-reached: what all programs of a node share."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.kernel_limits import KERNEL_LIMITS
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.rules.system.kernel_limit_reached import KERNEL_LIMIT_REACHED
from tests.nodes.frames import Judged

NODE = {
    "/proc/sys/fs/file-nr": "1824\t0\t9223372036854775807\n",
    "/proc/sys/fs/aio-nr": "14336\n", "/proc/sys/fs/aio-max-nr": "65536\n",
    "/proc/loadavg": "0.28 0.20 0.11 2/345 9104\n",
    "/proc/sys/kernel/threads-max": "62923\n", "/proc/sys/kernel/pid_max": "4194304\n",
    "/proc/sys/net/netfilter/nf_conntrack_count": "312\n", "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
    "/proc/net/stat/arp_cache": "entries  allocs   destroys\n0000000a  00000011 00000002\n",
    "/proc/sys/net/ipv4/neigh/default/gc_thresh3": "1024\n",
}  # fmt: skip


def judged(changed: dict[str, str]) -> Judged:
    return Judged((KERNEL_LIMITS,), [KERNEL_LIMIT_REACHED], [(0.0, NODE | changed)])


def test_a_healthy_node_is_far_from_all_limits() -> None:
    said = judged({})
    assert [each.subject for each in said.all if isinstance(each, RuledOut)] == [
        "files", "aio", "connections", "threads", "neighbors",
    ]  # fmt: skip
    assert said.ruled_out("neighbors").summary == "10 of 1024 in use"
    assert said.ruled_out("threads").summary == "345 of 62923 in use"


@pytest.mark.parametrize(
    ("path", "text", "subject", "severity"),
    [
        ("/proc/sys/fs/file-nr", "899 0 1000", "files", None),
        ("/proc/sys/fs/file-nr", "901 0 1000", "files", Severity.WARNING),
        ("/proc/sys/fs/file-nr", "981 0 1000", "files", Severity.CRITICAL),
        ("/proc/sys/fs/aio-nr", "64000", "aio", None),  # 97.7%: reserved on purpose
        ("/proc/sys/fs/aio-nr", "64300", "aio", Severity.CRITICAL),
        ("/proc/sys/net/netfilter/nf_conntrack_count", "262144", "connections", Severity.CRITICAL),
        ("/proc/sys/kernel/pid_max", "350", "threads", Severity.CRITICAL),  # the smaller of both limits counts
        ("/proc/loadavg", "0.28 0.20 0.11 2/57000 9104", "threads", Severity.WARNING),
        ("/proc/net/stat/arp_cache", "entries allocs\n000003a0 00000001\n", "neighbors", Severity.WARNING),
    ],
)
def test_near_and_at_a_limit(path: str, text: str, subject: str, severity: Severity | None) -> None:
    said = judged({path: f"{text}\n"})
    if severity is None:
        said.ruled_out(subject)
    else:
        assert said.finding(subject).severity is severity
        assert [each.subject for each in said.all if isinstance(each, Finding)] == [subject]


@pytest.mark.parametrize(
    ("path", "text", "subject"),
    [
        ("/proc/sys/fs/file-nr", "1824 0", "files"),
        ("/proc/sys/fs/aio-max-nr", "garbage", "aio"),
        ("/proc/loadavg", "0.28 0.20", "threads"),
        ("/proc/net/stat/arp_cache", "entries\nxyz\n", "neighbors"),
        ("/proc/net/stat/arp_cache", "other\n000003ff\n", "neighbors"),
    ],
)
def test_what_is_not_understood_is_not_good(path: str, text: str, subject: str) -> None:
    assert not any(
        subject in each.subjects for each in judged({path: text}).all if isinstance(each, (Finding, RuledOut))
    )


def test_a_node_without_connection_tracking_has_four_limits() -> None:
    files = {path: text for path, text in NODE.items() if "conntrack" not in path}
    said = Judged((KERNEL_LIMITS,), [KERNEL_LIMIT_REACHED], [(0.0, files)])
    assert {each.subject for each in said.all if isinstance(each, RuledOut)} == {"files", "aio", "threads", "neighbors"}
