"""Temperatures, enclosure slots, SCSI error counters and recording of disks, from sysfs."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from sdstop.collectors.health.commands import COMMANDS
from sdstop.collectors.health.enclosures import ENCLOSURE_SLOTS
from sdstop.collectors.health.media import MEDIA
from sdstop.collectors.health.readings import DiskMedium, DiskTemperature, EnclosureSlot, ScsiCommands
from sdstop.collectors.health.temperatures import TEMPERATURES
from sdstop.core.evidence import Evidence
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, TimedOut
from sdstop.node import live
from sdstop.node.live import LiveHost

# --- temperatures -----------------------------------------------------------------------------------------

SENSOR = "/sys/class/hwmon/hwmon2"
NVME = {
    f"{SENSOR}/name": "nvme\n", f"{SENSOR}/temp1_input": "37850\n", f"{SENSOR}/temp1_max": "81850\n",
    f"{SENSOR}/temp1_crit": "84850\n", "/sys/class/nvme/nvme1/nvme1n1/size": "1\n",
}  # fmt: skip
DRIVETEMP = {
    f"{SENSOR}/name": "drivetemp\n", f"{SENSOR}/temp1_input": "41000\n", f"{SENSOR}/device/block/sdc/size": "1\n",
    "/sys/block/sdc/queue/rotational": "1\n", "/sys/block/sdc/stat": "100 0 800 10 50 0 400 5 0 10 15\n",
}  # fmt: skip


def temperatures(files: dict[str, str]) -> list[DiskTemperature]:
    return [row for row in TEMPERATURES.read(EvidenceHost.of(files)) if isinstance(row, DiskTemperature)]


@pytest.mark.parametrize(
    "link",
    [{f"link:{SENSOR}/device": "../../nvme1"}, {f"{SENSOR}/device/nvme/nvme1/model": "x\n"}],
    ids=["since Linux 5.17", "before"],
)
def test_the_sensor_of_an_nvme_disk(link: dict[str, str]) -> None:
    [row] = temperatures({**NVME, **link})
    assert row == DiskTemperature("nvme1n1", "nvme", "hwmon2", 37.85, 81.85, 84.85)
    assert row.remark() == "38 C, limit 82 C"


def test_the_namespace_of_a_multipath_controller() -> None:
    files = {key: text for key, text in NVME.items() if not key.endswith("size")}
    files |= {"/sys/class/nvme/nvme1/nvme0c1n1/size": "1\n", f"link:{SENSOR}/device": "../../nvme1"}
    assert [row.device for row in temperatures(files)] == ["nvme0n1"]


def test_drivetemp_of_a_capture_and_limits_that_are_not_set() -> None:
    [row] = temperatures({**DRIVETEMP, f"{SENSOR}/temp1_max": "0\n", f"{SENSOR}/temp1_crit": "65261850\n"})
    assert row == DiskTemperature("sdc", "drivetemp", "hwmon2", 41, None, None)


def test_other_sensors_are_none_of_disks() -> None:
    with pytest.raises(Absent):
        temperatures({f"{SENSOR}/name": "coretemp\n", f"{SENSOR}/temp1_input": "50000\n"})


class Remembering(EvidenceHost):
    """A host with the memory of a live one, which notes the files that are read."""

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__(Evidence(key, data=text.encode()) for key, text in files.items())
        self.marks = set[str]()
        self.seen = list[str]()

    def read(self, path: str) -> bytes:
        self.seen.append(path)
        return super().read(path)

    def maybe(self, path: str) -> str | None:
        self.seen.append(path)
        return super().maybe(path)

    def number(self, path: str) -> int | None:
        self.seen.append(path)
        return super().number(path)

    def rests(self, what: str, of: Hashable = None) -> bool:
        del of
        return what in self.marks

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        del of
        assert seconds > TEMPERATURES.pace
        self.marks.add(what)

    def asked(self) -> bool:
        """Return whether a round reads the temperature of the disk."""
        self.seen.clear()
        try:
            list(TEMPERATURES.read(self))
        except Absent:
            return False
        return f"{SENSOR}/temp1_input" in self.seen


def test_a_rotating_disk_without_io_is_not_asked_for_its_temperature() -> None:
    """Reading it could wake the disk, or keep it awake."""
    host = Remembering(DRIVETEMP)
    assert not host.asked()  # nothing is known of it yet
    assert not host.asked()  # no I/O since
    host.apply([Evidence("/sys/block/sdc/stat", data=b"101 0 808 10 50 0 400 5 0 10 15\n")])
    assert host.asked()
    assert not host.asked()
    host.apply([Evidence("/sys/block/sdc/queue/rotational", data=b"0\n")])
    assert host.asked()


@pytest.mark.live
def test_a_live_host_forgets_rests_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveHost()
    for number in range(live._MOST_RESTING + 10):
        host.rest(f"disk {number}", 0.0)
    assert len(host._resting) <= live._MOST_RESTING
    host.rest("kept", 100.0)
    monkeypatch.setattr(live, "_MOST_RESTING", 0)
    host.rest("another", 100.0)
    assert host.rests("kept")
    assert host.rests("another")
    assert len(host._resting) == 2


# --- enclosures -------------------------------------------------------------------------------------------

BAY = "/sys/class/enclosure/0:0:24:0/Slot 05"
SLOT = {
    "/sys/class/enclosure/0:0:24:0/id": "0x5003048001a2b3c4\n", "/sys/class/enclosure/0:0:24:0/components": "24\n",
    f"{BAY}/type": "array device\n", f"{BAY}/slot": "5\n", f"{BAY}/status": "critical\n", f"{BAY}/fault": "1\n",
    f"{BAY}/locate": "0\n", f"{BAY}/device/block/sdg/size": "1\n",
    "/sys/class/enclosure/0:0:24:0/Fan 01/type": "cooling\n",
}  # fmt: skip


def test_a_slot_with_its_disk_and_leds() -> None:
    [row] = ENCLOSURE_SLOTS.read(EvidenceHost.of(SLOT))
    assert isinstance(row, EnclosureSlot)
    assert (row.device, row.number, row.status, row.fault, row.locate) == ("sdg", 5, "critical", True, False)
    assert row.remark() == "Slot 05 of enclosure 0:0:24:0, status critical, fault LED on"


def test_an_enclosure_that_does_not_answer_keeps_its_disks_and_is_left_alone() -> None:
    class Silent(Remembering):
        def promptly(self, path: str, seconds: float) -> str:
            self.seen.append(path)
            raise TimedOut(path, f"took {seconds:g} s")

        def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
            del seconds, of
            self.marks.add(what)

    host = Silent({**SLOT, f"{BAY[:-1]}6/type": "device\n"})
    rows = [row for row in ENCLOSURE_SLOTS.read(host) if isinstance(row, EnclosureSlot)]
    assert [(row.slot, row.device, row.status, row.fault) for row in rows] == [
        ("Slot 05", "sdg", None, None), ("Slot 06", None, None, None)
    ]  # fmt: skip
    assert sum(path.endswith(("status", "fault", "locate")) for path in host.seen) == 1


# --- SCSI commands and recording --------------------------------------------------------------------------


def counted(done: str, errors: str, timeouts: str | None = None) -> ScsiCommands:
    base = "/sys/block/sda/device"
    files = {f"{base}/iodone_cnt": done, f"{base}/ioerr_cnt": errors}
    files |= {f"{base}/iotmo_cnt": timeouts} if timeouts is not None else {}
    [row] = COMMANDS.read(EvidenceHost.of(files))
    assert isinstance(row, ScsiCommands)
    return row


def test_scsi_counters_are_hexadecimal_and_a_few_errors_are_harmless() -> None:
    row = counted("0x1e240\n", "0xc\n", "0x0\n")
    assert (row.completed, row.errors, row.timeouts, row.remark()) == (123_456, 12, 0, "")
    assert counted("0x1e240\n", "0xc\n").timeouts is None
    assert counted("0x1e240\n", "0xc\n", "0x2\n").remark().startswith("2 timeouts, 12 of")
    assert counted("0x100\n", "0x10\n", "0x0\n").remark().startswith("16 of 256 commands")


@pytest.mark.parametrize(
    ("files", "recording"),
    [
        ({"queue/zoned": "none\n"}, "not zoned"),
        ({"queue/zoned": "host-managed\n"}, "SMR, host-managed"),
        ({"queue/zoned": "none\n", "device/model": "WDC WD40EFAX-68JH4N0\n"}, "SMR, drive-managed"),
        ({"queue/zoned": "none\n", "device/model": "WDC WD40EFRX-68N32N0\n"}, "not zoned"),
        ({"queue/zoned": "none\n", "device/vpd_pgb1": "\x00\x7f\x00\x3c\x1c\x20\x00\x03\x20\x00"}, "not zoned"),
    ],
)
def test_the_recording_of_a_disk(files: dict[str, str], recording: str) -> None:
    [row] = MEDIA.read(EvidenceHost.of({f"/sys/block/sda/{name}": text for name, text in files.items()}))
    assert isinstance(row, DiskMedium)
    assert row.recording == recording


def test_a_disk_that_reports_drive_managed_zones() -> None:
    page = bytes([0, 0xB1, 0, 0x3C, 0x1C, 0x20, 0, 3, 0x20, 0])
    host = EvidenceHost([Evidence("/sys/block/sda/device/vpd_pgb1", data=page)])
    [row] = MEDIA.read(host)
    assert row == DiskMedium("sda", "SMR, drive-managed", "VPD page")
    assert row.remark() == "SMR, drive-managed (VPD page)"
