"""Fill level of VDO pools as vdostats prints it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.vdostats import parse
from tests.pasted.corpus import findings, judged, ruled_out

HEAD = "Device               1k-blocks      Used Available Use% Space saving%\n"
NAME = "thin-pool-filling vdo0"


def shown(row: str, more: str = "") -> bytes:
    return f"[root@a ~]# vdostats\n{HEAD}{row}[root@a ~]# {more}\n".encode()


def row(share: int) -> str:
    return f"/dev/mapper/vdo0     104857600  {share * 1048576} {(100 - share) * 1048576} {share:3}%           12%\n"


@pytest.mark.parametrize(("share", "found"), [(100, "critical"), (95, "critical"), (85, "warning"), (39, "")])
def test_a_pool_by_its_share(share: int, found: str) -> None:
    session = judged(shown(row(share)))
    assert findings(session) == ({f"{found} {NAME}"} if found else set())
    assert NAME not in ruled_out(session)  # it can be read-only


def test_a_pool_that_recovers_shows_no_share() -> None:
    (pool,) = parse(f"{HEAD}vdo0    104857600       N/A       N/A  N/A           N/A\n", "cmd:vdostats")
    assert (pool.state, pool.size, pool.filled) == ("recovering", 100 << 30, None)


def test_the_state_of_dmsetup_comes_first() -> None:
    status = "dmsetup status\nvdo0: 0 419430400 vdo 253:3 read-only - online online 26214400 26214400\n[root@a ~]# "
    session = judged(shown(row(39), status))
    assert findings(session) == {f"critical {NAME}"}


@given(st.text("vdo0 123.KMGTNA/%-\n", max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for pool in parse(f"{HEAD}{row(50)}{text}", "cmd:vdostats"):
        assert pool.pool
