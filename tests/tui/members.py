"""An array of six members under a load, and verdicts about it, for tests of views."""

from __future__ import annotations

from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value
from tests.nodes.block import Load, Node, raid10

MEMBERS = tuple(f"sd{c}" for c in "abcdef")


def moving(device: str, second: int) -> Load:
    """Return the load of a crowd that stands at one member for two seconds, then at the next."""
    if device not in MEMBERS:
        return Load()
    here = MEMBERS.index(device) == second // 2 % len(MEMBERS)
    return Load(100, 50, 65536, 0.04, 24.0, 1.0) if here else Load(10, 5, 65536, 0.002, 0.1, 0.05)


def slow(device: str, second: int) -> Load:
    """Return the load of an array whose third member is slow."""
    return Load(50, 50, 4096, 0.06, 12.0, 0.99) if device == "sdc" else Load(50, 50, 4096, 0.005, 1.0, 0.3)


def array_node(loads: object = moving) -> Node:
    return Node((*MEMBERS, "md0"), loads, raid10("md0", MEMBERS))  # type: ignore[arg-type]


HUNG = Finding(
    rule="device-hung",
    severity=Severity.CRITICAL,
    subject="sdc",
    cause="sdc has 12 requests in flight and completed none for 31 s",
    values=(Value("in_flight", "in flight", 12), Value("seconds", "for", 31.0, "seconds", above=20.0)),
    evidence=(Cite("/proc/diskstats", 3, "   8       2 sdc 0 0 0", " sdc "),),
    advice=("cat /sys/block/sdc/device/state", "smartctl -x /dev/sdc"),
    refuted_by="a completed request",
    confidence=0.87,
)
SLOW = Finding(
    rule="slow-stripe-member",
    severity=Severity.WARNING,
    subject="md0/sdb",
    cause="sdb answers in 60 ms, its peers in 5 ms",
)
FINE = RuledOut("md0", "queue is even over 3 columns", rule="stripe-convoy")
BLIND = Unchecked("diskstats: denied, needs root", rule="hot-stripe-member")
UNRECORDED = Unchecked("dmcache: not recorded in this capture", calm=True, rule="cache-errors")
