"""Ceph without a quorum: the nodes whose monitors do not run."""

from __future__ import annotations

import json

from sdstop.core.evidence import Evidence, Frame
from sdstop.core.finding import Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.ceph import FSID, NAME, STATUS
from tests.nodes.frames import START
from tests.nodes.site import HOSTNAME, finding, found, together, unchecked

TIMED_OUT = b"[errno 110] RADOS timed out (error connecting to the cluster)\n"


def node(number: int, *, runs: bool, monitors: int = 3) -> list[Frame]:
    """Return what the node of a monitor shows while no monitor answers it."""
    folder = f"/var/lib/ceph/mon/ceph-m{number}"
    addresses = ",".join(f"10.0.0.{each}" for each in range(monitors))
    files = {
        HOSTNAME: f"store{number}\n", "/etc/ceph/ceph.conf": f"fsid = {FSID}\nmon host = {addresses}\n",
        "list:/etc/ceph": "ceph.client.admin.keyring\nceph.conf", "list:/var/lib/ceph/mon": f"ceph-m{number}",
        f"list:{folder}": "keyring\nstore.db",
        "answer:ceph.daemons": json.dumps([{"kind": "mon", "id": f"m{number}"}] if runs else []),
    }  # fmt: skip
    items = [Evidence(key, data=text.encode()) for key, text in files.items()]
    items.append(Evidence(STATUS, data=b"", stderr=TIMED_OUT, exit=1))
    return [Frame(place, START + second, second, tuple(items)) for place, second in ((1, 0.0), (2, 5.0))]


def seen(*states: str) -> SiteSession:
    return together({f"store{n}": node(n, runs=state == "up") for n, state in enumerate(states)})


def test_the_only_monitor_that_does_not_run_is_the_cause_on_all_nodes() -> None:
    frames = {"store0": node(0, runs=False, monitors=1), "store1": node(1, runs=True, monitors=1)}
    one = finding(together(frames), "quorum-lost")
    assert (one.severity, one.subject, one.host) == (Severity.CRITICAL, NAME, "store0")
    assert (one.title, one.cause) == ("QUORUM LOST: 1 of 1 monitors down", "mon.m0 of store0 does not run.")
    assert set(one.explains) == {
        f"store0:ceph-daemon-down:{NAME}/store0/mon.m0", f"store0:ceph-health:{NAME}", f"store1:ceph-health:{NAME}",
    }  # fmt: skip


def test_two_of_three_monitors_are_enough_and_one_is_not() -> None:
    two = finding(seen("down", "down", "up"), "quorum-lost")
    assert (two.title, two.host) == ("QUORUM LOST: 2 of 3 monitors down", "")
    one = seen("down", "up", "up")
    assert found(one, "quorum-lost") == []
    assert unchecked(one, "quorum-lost", NAME).startswith("1 of 3 monitors seen to be down")
