"""zfs-failmode, and the words about a suspended pool that follow from it."""

from __future__ import annotations

import pytest

from sdstop.collectors.zfs.kstats import ZFS_STATE
from sdstop.collectors.zfs.pool_settings import GET, POOL_SETTINGS
from sdstop.collectors.zfs.pools import ZFS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Severity, Unchecked
from sdstop.rules.zfs.zfs_failmode import ZFS_FAILMODE
from sdstop.rules.zfs.zfs_pool_degraded import ZFS_POOL_DEGRADED
from tests.nodes.frames import Judged

STATE = "/proc/spl/kstat/zfs/tank/state"


def judged(mode: str) -> Judged:
    files = {STATE: "ONLINE\n", command_key(GET): f"tank\tfailmode\t{mode}\n"}
    return Judged([POOL_SETTINGS], [ZFS_FAILMODE], [(0.0, files)])


@pytest.mark.parametrize(
    ("mode", "title"),
    [("continue", "WRITES FAIL when the pool fails"), ("panic", "NODE STOPS when the pool fails")],
)
def test_a_pool_whose_requests_do_not_wait(mode: str, title: str) -> None:
    finding = judged(mode).finding("tank")
    assert (finding.severity, finding.title) == (Severity.INFO, title)


def test_a_pool_whose_requests_wait_is_good() -> None:
    judged("wait").ruled_out("tank")


def test_a_mode_of_no_known_version_is_unchecked() -> None:
    verdict = judged("retry").of("tank")
    assert isinstance(verdict, Unchecked)
    assert not verdict.calm


def test_the_table_that_people_paste() -> None:
    text = "NAME  PROPERTY  VALUE     SOURCE\ntank  failmode  continue  local\n"
    said = Judged([POOL_SETTINGS], [ZFS_FAILMODE], [(0.0, {"cmd:zpool get failmode tank": text})])
    assert said.finding("tank").severity is Severity.INFO


@pytest.mark.parametrize(("mode", "words"), [("wait", "all I/O waits"), ("continue", "writes fail")])
def test_what_happens_while_the_pool_is_suspended(mode: str, words: str) -> None:
    files = {STATE: "SUSPENDED\n", command_key(GET): f"tank\tfailmode\t{mode}\n"}
    said = Judged([POOL_SETTINGS, ZFS_STATE, ZFS], [ZFS_POOL_DEGRADED], [(0.0, files)])
    assert words in said.finding("tank").title
