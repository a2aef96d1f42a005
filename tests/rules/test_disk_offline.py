"""disk-offline: states of disks, write protection, and AoE targets that do not answer."""

from __future__ import annotations

import pytest

from sdstop.collectors.aoe.targets import AOE
from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.md.arrays import MDMEMBERS, MDRAID
from sdstop.core.finding import Gap, Severity
from sdstop.rules.disk_offline import DISK_OFFLINE
from tests.nodes.frames import Judged, check

MDSTAT = (
    "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n\nunused devices: <none>\n"
)


def disk(name: str, minor: int, state: str = "running", *, read_only: int = 0) -> dict[str, str]:
    """Return a SCSI disk."""
    base = f"/sys/block/{name}"
    return {
        f"{base}/dev": f"8:{minor}\n", f"{base}/size": "16\n", f"{base}/ro": f"{read_only}\n",
        f"{base}/device/state": f"{state}\n", f"link:{base}/device": f"../../../{minor}:0:0:0",
        f"link:{base}": f"../devices/pci0000:00/0000:00:17.0/host0/target0:0:0/0:0:0:{minor}/block/{name}",
    }  # fmt: skip


def judged(*disks: dict[str, str], mdstat: str = MDSTAT) -> Judged:
    files = {"/proc/mdstat": mdstat}
    for each in disks:
        files |= each
    return Judged((BLOCKDEV, MDRAID, MDMEMBERS, AOE), [DISK_OFFLINE], [(0.0, files)])


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        ("offline", Severity.CRITICAL),
        ("transport-offline", Severity.CRITICAL),
        ("deleted", Severity.CRITICAL),
        ("blocked", Severity.WARNING),
        ("quiesce", Severity.WARNING),
    ],
)
def test_a_disk_in_a_state_without_service(state: str, severity: Severity) -> None:
    said = judged(disk("sda", 0), disk("sdb", 16, state))
    assert said.finding("sdb").severity is severity
    assert said.finding("sdb").cause == f"The kernel reports the state {state}."
    assert said.ruled_out("sda").summary
    check(said.finding("sdb"))


def test_disks_that_run_are_good() -> None:
    assert judged(disk("sda", 0), disk("sdb", 16)).ruled_out("sda").subjects == ("sda", "sdb")


def test_a_state_of_no_known_kernel_is_unchecked() -> None:
    said = judged(disk("sda", 0, "asleep")).unchecked("sda")
    assert (said.gap, said.reason) == (Gap.FAULTY, 'unknown state "asleep"')


def test_write_protection_matters_below_an_array_alone() -> None:
    protected = disk("sdb", 16, read_only=1)
    assert "md0 writes to it" in judged(disk("sda", 0), protected).finding("sdb").summary
    without = judged(disk("sda", 0), protected, mdstat="Personalities : \nunused devices: <none>\n")
    assert without.ruled_out("sdb").summary


@pytest.mark.parametrize("state", ["down", "down,closewait", "up,kickme"])
def test_an_aoe_target_that_does_not_answer_is_critical(state: str) -> None:
    base = "/sys/block/etherd!e0.1"
    known = {f"{base}/dev": "152:16\n", f"{base}/size": "16\n", f"{base}/payload": "8192\n", f"{base}/mac": "001b21\n"}
    assert judged(known | {f"{base}/state": f"{state}\n"}).finding("etherd/e0.1").severity is Severity.CRITICAL
    assert judged(known | {f"{base}/state": "up\n"}).ruled_out("etherd/e0.1").summary
    assert judged(known | {f"{base}/state": "lost\n"}).unchecked("etherd/e0.1").reason == 'unknown state "lost"'
