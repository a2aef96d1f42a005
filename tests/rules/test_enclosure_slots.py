"""disk-failing: what an enclosure reports about its slots, whatever the disks answer."""

from __future__ import annotations

import pytest

from sdstop.collectors.health.enclosures import ENCLOSURE_SLOTS
from sdstop.core.finding import Severity
from sdstop.rules.disks.disk_failing import DISK_FAILING
from tests.nodes.frames import Judged

BASE = "/sys/class/enclosure/0:0:8:0/Slot 3"
SLOT = {f"{BASE}/type": "array device\n", f"{BASE}/slot": "3\n", f"{BASE}/device/block/sdc/dev": "8:32\n",
        "/sys/class/enclosure/0:0:8:0/id": "0x5000\n"}  # fmt: skip


def judged(status: str, fault: int = 0) -> Judged:
    files = {**SLOT, f"{BASE}/status": f"{status}\n", f"{BASE}/fault": f"{fault}\n"}
    return Judged((ENCLOSURE_SLOTS,), [DISK_FAILING], [(0.0, files)])


@pytest.mark.parametrize("status", ["critical", "non-critical", "unrecoverable"])
def test_a_slot_with_a_fault(status: str) -> None:
    finding = judged(status).finding("0:0:8:0/Slot 3")
    assert finding.severity is Severity.WARNING
    assert finding.cause == f"The enclosure reports status {status} for Slot 3 with sdc."


@pytest.mark.parametrize("status", ["OK", "not installed", "unknown", "unavailable", "unsupported"])
@pytest.mark.parametrize("fault", [0, 1])
def test_a_slot_without_a_fault_is_not_reported_whatever_its_led(status: str, fault: int) -> None:
    assert judged(status, fault).silent()
