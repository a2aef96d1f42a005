"""The state of mapped devices: which of them a live node is asked about again."""

from __future__ import annotations

import pytest

from sdstop.collectors.devicemapper.readings import MappedState
from sdstop.collectors.devicemapper.suspended import SUSPENDED
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from tests.nodes.resting import RestingHost


def files(**suspended: str) -> dict[str, str]:
    names = [name.replace("_", "-") for name in suspended]
    states = zip(names, suspended.values(), strict=True)
    return {"list:/sys/block": "\n".join(("sda", *names))} | {
        f"/sys/block/{name}/dm/suspended": state for name, state in states
    }


def read(host: RestingHost, **suspended: str) -> tuple[list[MappedState], set[str]]:
    """Return the rows, and the devices whose files were read."""
    host.apply(EvidenceHost.of(files(**suspended)).state.values())
    host.touched = set()
    rows = [row for row in SUSPENDED.read(host) if isinstance(row, MappedState)]
    return rows, {key.split("/")[3] for key in host.touched if key.startswith("/")}


def test_a_suspended_device_is_read_each_second_and_another_after_some_seconds() -> None:
    host = RestingHost()
    good, bad = MappedState("dm-0", 0), MappedState("dm-1", 1)
    assert read(host, dm_0="0\n", dm_1="1\n") == ([good, bad], {"dm-0", "dm-1"})
    for _ in range(3):
        assert read(host, dm_0="0\n", dm_1="1\n") == ([good, bad], {"dm-1"})
    assert read(host, dm_0="0\n", dm_1="0\n")[1] == {"dm-1"}
    assert read(host, dm_0="1\n", dm_1="0\n")[1] == set()
    host.rested.clear()
    assert read(host, dm_0="1\n", dm_1="0\n") == ([MappedState("dm-0", 1), MappedState("dm-1", 0)], {"dm-0", "dm-1"})


def test_a_device_is_asked_again_before_a_suspension_would_be_reported() -> None:
    host = RestingHost()
    read(host, **{f"dm_{number}": "0\n" for number in range(100)})
    assert len(host.rested) == 100
    assert max(host.rested.values()) <= 4.0
    assert max(host.rested.values()) - min(host.rested.values()) > 1.0  # not all in the same second


def test_a_device_without_the_file_never_rests() -> None:
    host = RestingHost()
    assert read(host, dm_0="0\n")[0]
    host.drop("/sys/block/dm-0/dm/suspended")
    host.rested.clear()
    with pytest.raises(Absent):
        list(SUSPENDED.read(host))
    assert not host.rested
