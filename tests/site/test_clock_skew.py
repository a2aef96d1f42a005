"""Clocks that differ: the node whose monitor the cluster names."""

from __future__ import annotations

import json

from sdstop.core.finding import Severity
from tests.nodes.ceph import HEALTH, HERE, NAME, STATUS, status
from tests.nodes.site import Shown, finding, found, ruled_out, site, unchecked

LINE = "mon.mon1 clock skew 3.502213s > max 0.05s (latency 0.000731s)"
CHECK = {
    "MON_CLOCK_SKEW": {
        "severity": "HEALTH_WARN", "summary": {"message": "clock skew detected on mon.mon1", "count": 1},
        "detail": [{"message": LINE}],
    }
}  # fmt: skip


def monitor(number: int, *, skewed: bool = False, asks: bool = True) -> Shown:
    """Return what the node of a monitor shows."""
    folder = f"/var/lib/ceph/mon/ceph-mon{number}"
    said = json.loads(status(health="HEALTH_WARN" if skewed else "HEALTH_OK"))
    said["health"]["checks"] = CHECK if skewed else {}
    files = {
        "list:/var/lib/ceph/mon": f"ceph-mon{number}", f"list:{folder}": "keyring\nstore.db",
        "answer:ceph.daemons": json.dumps([{"kind": "mon", "id": f"mon{number}"}]),
        "/etc/ceph/ceph.conf": f"fsid = {said['fsid']}\n",
    }  # fmt: skip
    if asks:
        files |= {**HERE, STATUS: json.dumps(said), HEALTH: json.dumps({"checks": CHECK if skewed else {}})}
    return [(float(second), files) for second in (0, 5)]


def test_the_node_whose_clock_differs_is_named() -> None:
    made = site({"store0": monitor(0, skewed=True), "store1": monitor(1, asks=False)})
    one = finding(made, "clock-skew")
    assert (one.severity, one.subject, one.host) == (Severity.WARNING, "store1", "store1")
    assert one.title == "CLOCK DIFFERS by 3.5s"
    assert one.cause == "The clock of store1 (mon.mon1) is 3.5s off the leading monitor's."
    assert one.explains == (f"store0:ceph-health:{NAME}/MON_CLOCK_SKEW",)
    assert {value.name: value.value for value in one.values}["most"] == 0.05


def test_without_a_capture_of_its_node_nothing_is_said_of_it() -> None:
    made = site({"store0": monitor(0, skewed=True), "store2": monitor(2, asks=False)})
    assert found(made, "clock-skew") == []
    assert unchecked(made, "clock-skew", f"{NAME}/mon.mon1").startswith("mon.mon1 differs by 3.502213 s")


def test_clocks_that_agree_are_ruled_out() -> None:
    made = site({"store0": monitor(0), "store1": monitor(1, asks=False)})
    assert ruled_out(made, "clock-skew", "store1") == "mon.mon1: no clock skew reported by its cluster"
