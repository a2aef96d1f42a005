"""session-down and volume-suspended: what holds requests back above the disks, where nothing is in flight."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.devicemapper.mapper import MAPPER
from sdstop.collectors.devicemapper.suspended import SUSPENDED
from sdstop.collectors.devicemapper.suspended_text import SUSPENDED_TEXT
from sdstop.collectors.network.session_states import SESSION_STATES
from sdstop.collectors.network.sessions import SESSIONS
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.rules.disks.device_hung import DEVICE_HUNG
from sdstop.rules.mappings.volume_suspended import VOLUME_SUSPENDED
from sdstop.rules.paths.session_down import SESSION_DOWN
from tests.nodes.frames import Judged, value

COLLECTORS = (SESSION_STATES, SESSIONS, BLOCKDEV, MAPPER, SUSPENDED)


def iscsi(number: int, state: str, disk: str | None) -> dict[str, str]:
    base = f"/sys/class/iscsi_session/session{number}"
    found = {
        f"{base}/state": f"{state}\n",
        f"{base}/targetname": "iqn.2026-11.example:pool\n",
        f"/sys/class/iscsi_connection/connection{number}:0/address": f"192.0.2.{number}\n",
        f"/sys/class/iscsi_connection/connection{number}:0/port": "3260\n",
    }
    if disk is not None:
        found |= {
            f"{base}/device/target{number}:0:0/{number}:0:0:1/block/{disk}/size": "2048\n",
            f"/sys/block/{disk}/dev": f"8:{16 * number}\n",
            f"/sys/block/{disk}/size": "2048\n",
        }
    return found


def nvme(name: str, state: str, transport: str = "tcp", namespace: str = "nvme0c{}n1") -> dict[str, str]:
    base = f"/sys/class/nvme/{name}"
    return {
        f"{base}/transport": f"{transport}\n",
        f"{base}/address": "traddr=192.0.2.7,trsvcid=4420\n",
        f"{base}/state": f"{state}\n",
        f"{base}/subsysnqn": "nqn.2026-11.example:fast\n",
        f"{base}/{namespace.format(name[-1])}/size": "2048\n",
    }


def judged(*shown: Mapping[str, str], pace: float = 1.0) -> Judged:
    return Judged(COLLECTORS, [SESSION_DOWN, VOLUME_SUSPENDED], [(n * pace, files) for n, files in enumerate(shown)])


# --- session-down -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "kind"), [(4, Unchecked), (5, Finding), (40, Finding)])
def test_five_seconds(seconds: int, kind: type) -> None:
    said = judged(*[nvme("nvme0", "connecting")] * (seconds + 1)).of("nvme0")
    assert isinstance(said, kind)
    if isinstance(said, Finding):
        assert said.severity is Severity.CRITICAL
        assert value(said, "seconds") == seconds
        assert said.cause.startswith("192.0.2.7:4420 does not answer: ")
        assert said.impact == "Requests to nvme0n1 wait or fail."


def test_a_reset_that_succeeds_is_none() -> None:
    shown = [nvme("nvme0", "live")] * 5 + [nvme("nvme0", "resetting")] * 3 + [nvme("nvme0", "live")] * 5
    judged(*shown).ruled_out("nvme0")


@pytest.mark.parametrize(("state", "kind"), [("live", RuledOut), ("marvellous", Unchecked), ("", Unchecked)])
def test_states_that_are_no_finding(state: str, kind: type) -> None:
    assert isinstance(judged(*[nvme("nvme0", state)] * 10).of("nvme0"), kind)


@pytest.mark.parametrize("state", ["FAILED", "FREE"])
def test_an_iscsi_session(state: str) -> None:
    finding = judged(*[iscsi(1, state, "sdb")] * 6).finding("session1")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause.startswith("192.0.2.1:3260 does not answer: ")
    assert finding.impact == "Requests to sdb wait or fail."
    assert finding.steps[0].startswith("ping -c 3 192.0.2.1 ")


def test_a_session_without_disks_is_a_warning() -> None:
    finding = judged(*[iscsi(1, "FAILED", None)] * 6).finding("session1")
    assert finding.severity is Severity.WARNING
    assert finding.impact.startswith("No disk here")


def test_another_controller_of_the_same_namespace_is_a_path_left() -> None:
    finding = judged(*[nvme("nvme0", "connecting") | nvme("nvme1", "live")] * 6).finding("nvme0")
    assert finding.severity is Severity.WARNING
    assert "1 other session up" in finding.impact
    both = judged(*[nvme("nvme0", "connecting") | nvme("nvme1", "connecting")] * 6)
    assert {both.finding(name).severity for name in ("nvme0", "nvme1")} == {Severity.CRITICAL}


def test_a_request_in_flight_on_the_path_of_a_dead_controller_is_its_effect() -> None:
    """Seen on a real kernel: nvme0c0n1 hangs 11 s before the keep-alive ends, and two findings had two causes."""
    blocks = {
        "/sys/block/nvme0n1/dev": "259:0\n",
        "/sys/block/nvme0n1/size": "2048\n",
        "/sys/block/nvme0c0n1/dev": "259:1\n",
        "/sys/block/nvme0c0n1/size": "2048\n",
    }
    counted = {"/proc/diskstats": " 259 0 nvme0n1 9 0 9 9 9 0 9 9 0 9 9\n 259 1 nvme0c0n1 9 0 9 9 9 0 9 9 1 9 9\n"}
    shown = [(float(n), {**nvme("nvme0", "connecting"), **blocks, **counted}) for n in range(20)]
    said = Judged((*COLLECTORS, DISKSTATS), [SESSION_DOWN, DEVICE_HUNG], shown)
    said.finding("nvme0c0n1", "device-hung")
    assert said.finding("nvme0", "session-down").explains == ("device-hung:nvme0c0n1",)


MULTIPATH = {
    "/sys/block/dm-0/dev": "253:0",
    "/sys/block/dm-0/dm/name": "mpatha",
    "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
    "link:/sys/block/dm-0/slaves/sdb": "../../sdb",
    "link:/sys/block/dm-0/slaves/sdc": "../../sdc",
    "cmd:dmsetup table": "mpatha: 0 4 multipath 0 0 1 1 round-robin 0 2 1 8:16 1 8:32 1\n",
    "cmd:dmsetup info -c --noheadings -o name,blkdevname,uuid --separator |": "mpatha|dm-0|mpath-36001405a\n",
}


def test_another_path_of_the_same_map() -> None:
    both = iscsi(1, "FREE", "sdb") | iscsi(2, "LOGGED_IN", "sdc")
    assert judged(*[both] * 6).finding("session1").severity is Severity.CRITICAL
    assert judged(*[both | MULTIPATH] * 6).finding("session1").severity is Severity.WARNING


def test_a_controller_that_the_kernel_has_given_up_is_not_forgotten() -> None:
    both = nvme("nvme0", "live") | nvme("nvme1", "connecting", namespace="nvme0c{}n1")
    both["/sys/class/nvme/nvme1/address"] = "traddr=192.0.2.8,trsvcid=4420\n"
    finding = judged(*[both] * 4, *[nvme("nvme0", "live")] * 4, pace=5.0).finding("nvme1")
    assert (finding.severity, finding.title) == (Severity.WARNING, "GONE, not repaired")
    assert finding.cause == "nvme1 had a fault, and is gone."
    assert (
        judged(*[both] * 4, *[both | nvme("nvme1", "live")] * 4, pace=5.0).ruled_out("nvme1", "session-down").summary
        == "all up: live"
    )


def test_a_new_login_to_the_same_portal_replaces_a_session_that_is_gone() -> None:
    new = iscsi(3, "LOGGED_IN", "sdc") | {"/sys/class/iscsi_connection/connection3:0/address": "192.0.2.1\n"}
    said = judged(*[iscsi(1, "FAILED", "sdb")] * 4, *[new] * 4, pace=5.0)
    assert said.ruled_out("session3", "session-down").summary == "all up: LOGGED_IN"
    assert [each for each in said.all if each.subject == "session1"] == []
    elsewhere = judged(*[iscsi(1, "FAILED", "sdb")] * 4, *[iscsi(3, "LOGGED_IN", "sdc")] * 4, pace=5.0)
    assert elsewhere.finding("session1").severity is Severity.CRITICAL


def test_a_local_controller_that_is_dead() -> None:
    disk = {"/sys/block/nvme3n1/dev": "259:1", "/sys/block/nvme3n1/size": "2048"}
    files = nvme("nvme3", "dead", "pcie", "nvme3n1") | disk
    finding = judged(*[files] * 6).finding("nvme3")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "CONTROLLER DOWN"
    assert finding.impact == "Requests to nvme3n1 wait or fail."


# --- volume-suspended ---------------------------------------------------------------------------------------


def suspended(*states: int) -> Judged:
    names = {"/sys/block/dm-0/dev": "253:0", "/sys/block/dm-0/dm/name": "vg0-data"}
    return judged(*[names | {"/sys/block/dm-0/dm/suspended": f"{state}\n"} for state in states])


@pytest.mark.parametrize(("seconds", "kind"), [(9, Unchecked), (10, Finding), (40, Finding)])
def test_ten_seconds(seconds: int, kind: type) -> None:
    said = suspended(*[1] * (seconds + 1)).of("dm-0")
    assert isinstance(said, kind)
    if isinstance(said, Finding):
        assert said.severity is Severity.WARNING  # nothing waits for it
        assert "dmsetup resume vg0-data   # once no such command runs" in said.steps


@pytest.mark.parametrize(("seconds", "gap"), [(0, Gap.EARLY), (1, Gap.EARLY), (2, Gap.SIGNS), (6, Gap.SIGNS)])
def test_a_check_of_seconds_is_not_good_while_each_sample_shows_it(seconds: int, gap: Gap) -> None:
    """A check that watches for itself has seven samples."""
    said = suspended(*[1] * (seconds + 1)).of("dm-0")
    assert isinstance(said, Unchecked)
    assert said.gap is gap


def test_a_text_of_one_moment_is_believed() -> None:
    text = "Name:              vg0-lv1\nState:             {}\nMajor, minor:      253, 0\nUUID: LVM-a\n"
    for state, kind in (("SUSPENDED", Finding), ("ACTIVE", RuledOut)):
        files = {"cmd:dmsetup info": text.format(state)}
        said = Judged((SUSPENDED_TEXT,), [VOLUME_SUSPENDED], [(0.0, files)]).of("dm-0")
        assert isinstance(said, kind)


def test_a_change_of_tables_suspends_for_a_moment() -> None:
    suspended(*[0] * 5, 1, *[0] * 20).ruled_out("dm-0")
    suspended(*[1, 0] * 20).ruled_out("dm-0")
