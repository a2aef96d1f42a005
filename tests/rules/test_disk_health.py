"""disk-failing, disk-worn, disk-hot, disk-link-errors and cache-unprotected of NVMe disks: near their thresholds."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.health.enclosures import ENCLOSURE_SLOTS
from sdstop.collectors.health.smart import SMART
from sdstop.collectors.health.temperatures import TEMPERATURES
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.rules.arrays.array_degraded import ARRAY_DEGRADED
from sdstop.rules.arrays.cache_unprotected import CACHE_UNPROTECTED
from sdstop.rules.disks.disk_failing import DISK_FAILING
from sdstop.rules.disks.disk_hot import DISK_HOT
from sdstop.rules.disks.disk_link_errors import DISK_LINK_ERRORS
from sdstop.rules.disks.disk_worn import DISK_WORN
from tests.fixtures import story
from tests.nodes.disk_health import asked, ata, nvme, scsi, standby, sysfs, sysfs_nvme
from tests.nodes.frames import Files, Judged

RULES = [DISK_FAILING, DISK_WORN, DISK_HOT, DISK_LINK_ERRORS, CACHE_UNPROTECTED, ARRAY_DEGRADED]
SOURCES = (BLOCKDEV, HBA, MDRAID, MDMEMBERS, SMART, TEMPERATURES, ENCLOSURE_SLOTS)
HOUR = 3600.0


def node(*documents: str, device: str = "sda", more: Files | None = None) -> Judged:
    """Return a node with one disk, whose answers are an hour apart."""
    files = (sysfs_nvme() if device.startswith("nvme") else sysfs(device)) | dict(more or {})
    return Judged(SOURCES, RULES, [(at * HOUR, {**files, asked(device): text}) for at, text in enumerate(documents)])


def failing(*documents: str, device: str = "sda") -> Finding:
    return node(*documents, device=device).finding(device, "disk-failing")


def good(*documents: str, device: str = "sda") -> str:
    return node(*documents, device=device).ruled_out(device, "disk-failing").summary


# --- failing ----------------------------------------------------------------------------------------------


def test_a_disk_that_predicts_its_failure_is_critical() -> None:
    said = failing(ata(passed=False))
    assert (said.severity, said.title) == (Severity.CRITICAL, "DISK PREDICTS ITS FAILURE")
    assert '"smart_status":{"passed":false}' in said.evidence[0].excerpt
    ie = {"passed": False, "scsi": {"asc": 93, "ascq": 16, "ie_string": "FAILURE PREDICTION THRESHOLD EXCEEDED"}}
    said = failing(scsi(smart_status=ie))
    assert said.severity is Severity.CRITICAL
    assert "FAILURE PREDICTION" in said.cause


def test_a_good_disk_is_good_and_its_counts_are_stated() -> None:
    assert good(ata()) == "assessment good, 0 pending, 0 uncorrected, 0 reallocated"
    assert good(scsi()) == "assessment good, 0 uncorrected, 0 reallocated"
    assert good(nvme(), device="nvme0n1") == "assessment good, 0 uncorrected"


def test_one_pending_sector_is_a_warning_and_a_hundred_are_critical() -> None:
    assert failing(ata({197: 1})).severity is Severity.WARNING
    assert failing(ata({197: 99})).severity is Severity.WARNING
    said = failing(ata({197: 100}))
    assert (said.severity, said.title) == (Severity.CRITICAL, "UNREADABLE SECTORS")
    assert "Current_Pending_Sector" in said.evidence[0].excerpt


def test_offline_uncorrectable_sectors_count_where_pending_ones_are_not_reported() -> None:
    assert "1 reallocated" not in good(ata({198: 7}))
    assert failing(ata({197: "none", 198: 7})).title == "UNREADABLE SECTORS"


@pytest.mark.parametrize(("number", "limit"), [(187, 10), (5, 50)])
def test_a_few_old_errors_are_stated_and_many_are_a_warning(number: int, limit: int) -> None:
    assert "growth unknown" in good(ata({number: limit - 1}))
    said = failing(ata({number: limit}))
    assert said.severity is Severity.WARNING
    assert "GROW" not in said.title


@pytest.mark.parametrize("number", [187, 5])
def test_growth_needs_two_answers_with_their_times(number: int) -> None:
    assert "(no new ones)" in good(ata({number: 3}), ata({number: 3}, hours=30_001))
    said = failing(ata({number: 3}), ata({number: 4}))
    assert said.severity is Severity.WARNING
    assert said.title.endswith("GROW")
    assert "1 more in 1h00" in said.cause
    assert next(value for value in said.values if value.name == "compared").value


def test_another_disk_of_the_same_name_did_not_grow() -> None:
    assert "growth unknown" in good(ata({5: 3}), ata({5: 9}, serial="OTHER"))


def test_counts_that_fell_did_not_grow() -> None:
    assert "3 reallocated" in good(ata({5: 9}), ata({5: 3}))


def test_reallocated_blocks_of_flash_are_judged_by_its_spare() -> None:
    assert "500 reallocated" in good(ata({5: 500}, rotation=0))


def test_an_nvme_disk_by_its_critical_warning() -> None:
    for bit, title in ((4, "NVME RELIABILITY DEGRADED"), (8, "NVME DISK READ-ONLY")):
        said = failing(nvme(warning=bit), device="nvme0n1")
        assert (said.severity, said.title) == (Severity.CRITICAL, title)
    assert failing(nvme(media_errors=10), device="nvme0n1").severity is Severity.WARNING
    assert "9 uncorrected" in good(nvme(media_errors=9), device="nvme0n1")
    for others in (1, 2, 16):  # judged by disk-worn, disk-hot and cache-unprotected
        assert good(nvme(warning=others), device="nvme0n1")
    assert node(nvme(warning=64), device="nvme0n1").unchecked("nvme0n1", "disk-failing").gap is Gap.FAULTY


def test_a_failed_self_test_is_a_warning_until_a_newer_one_passes() -> None:
    test = {"status": {"value": 121, "string": "Completed: read failure"}, "lifetime_hours": 29_900}
    said = failing(ata(ata_smart_self_test_log={"standard": {"table": [test]}}))
    assert (said.severity, said.title) == (Severity.WARNING, "SELF-TEST FAILED")
    newer = {"status": {"value": 0, "string": "Completed without error"}, "lifetime_hours": 29_950}
    assert good(ata(ata_smart_self_test_log={"standard": {"table": [newer, test]}}))


def test_the_worst_sign_is_the_title_and_the_others_are_values() -> None:
    said = failing(ata({197: 8, 5: 200}, passed=False))
    assert said.title == "DISK PREDICTS ITS FAILURE"
    assert {value.title for value in said.values} >= {"unreadable sectors", "sectors reallocated"}


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        (ata()[:-9], Gap.FAULTY),
        (" ", Gap.FAULTY),
        (ata(passed=None), Gap.OPEN),
        (standby(), Gap.OPEN),
        ('{"smartctl":{"exit_status":0},"device":{"protocol":"ATA"},"smart_status":{"passed":true}}', Gap.OPEN),
    ],
)
def test_a_disk_without_an_answer_is_never_good(text: str, gap: Gap) -> None:
    said = node(text).unchecked("sda", "disk-failing")
    assert said.gap is gap


# --- worn -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "severity"),
    [
        (nvme(used=89), None), (nvme(used=90), Severity.WARNING), (nvme(used=130), Severity.WARNING),
        (nvme(spare=15), None), (nvme(spare=14), Severity.WARNING), (nvme(spare=10), Severity.WARNING),
        (nvme(spare=9), Severity.CRITICAL), (nvme(warning=1), Severity.CRITICAL),
    ],
)  # fmt: skip
def test_wear_near_its_limits(document: str, severity: Severity | None) -> None:
    known = node(document, device="nvme0n1")
    if severity is None:
        assert known.ruled_out("nvme0n1", "disk-worn").summary
    else:
        assert known.finding("nvme0n1", "disk-worn").severity is severity


def test_a_virtual_nvme_disk_has_no_spare_blocks_and_no_limit() -> None:
    log = {"critical_warning": 0, "temperature": 50, "available_spare": 0, "available_spare_threshold": 0,
           "percentage_used": 0, "media_errors": 0}  # fmt: skip
    said = node(nvme(nvme_smart_health_information_log=log), device="nvme0n1")
    assert said.ruled_out("nvme0n1", "disk-worn").summary == "0% of endurance used"


def test_flash_without_wear_data_is_unknown_and_rotating_disks_have_none() -> None:
    assert node(ata(rotation=0)).unchecked("sda", "disk-worn").calm
    assert not [each for each in node(ata()).all if each.rule == "disk-worn"]


# --- hot --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("celsius", "severity"), [(59, None), (60, Severity.WARNING), (64, Severity.WARNING), (65, Severity.CRITICAL)]
)
def test_a_rotating_disk_without_limits_of_its_own(celsius: int, severity: Severity | None) -> None:
    said = node(ata({194: celsius}, temperature={"current": celsius})).of("sda", "disk-hot")
    assert getattr(said, "severity", None) is severity


@pytest.mark.parametrize(
    ("celsius", "severity"), [(74, None), (75, Severity.WARNING), (79, Severity.WARNING), (80, Severity.CRITICAL)]
)
def test_flash_may_be_hotter(celsius: int, severity: Severity | None) -> None:
    said = node(ata(rotation=0, temperature={"current": celsius})).of("sda", "disk-hot")
    assert getattr(said, "severity", None) is severity


@pytest.mark.parametrize(
    ("celsius", "severity"), [(59, None), (60, Severity.WARNING), (64, Severity.WARNING), (65, Severity.CRITICAL)]
)
def test_a_sas_disk_by_its_trip_temperature(celsius: int, severity: Severity | None) -> None:
    said = node(scsi(temperature={"current": celsius, "drive_trip": 65})).of("sda", "disk-hot")
    assert getattr(said, "severity", None) is severity


def test_a_sensor_is_newer_than_the_answer_and_has_limits() -> None:
    sensor = {
        "/sys/class/hwmon/hwmon3/name": "nvme\n", "/sys/class/hwmon/hwmon3/temp1_input": "84850\n",
        "/sys/class/hwmon/hwmon3/temp1_max": "81850\n", "/sys/class/hwmon/hwmon3/temp1_crit": "84850\n",
        "link:/sys/class/hwmon/hwmon3/device": "../../nvme0", "/sys/class/nvme/nvme0/nvme0n1/size": "1\n",
    }  # fmt: skip
    said = node(nvme(), device="nvme0n1", more=sensor).finding("nvme0n1", "disk-hot")
    assert said.severity is Severity.CRITICAL
    assert said.evidence[0].excerpt == "84850"


def test_the_warning_bit_alone_is_a_warning() -> None:
    said = node(nvme(warning=2), device="nvme0n1").finding("nvme0n1", "disk-hot")
    assert (said.severity, said.title) == (Severity.WARNING, "DISK WARNS: temperature")


# --- link and cache ---------------------------------------------------------------------------------------


def test_crc_errors_point_to_the_cable_only_if_they_grow() -> None:
    assert node(ata()).ruled_out("sda", "disk-link-errors").summary == "0 CRC errors"
    assert node(ata({199: 5000})).unchecked("sda", "disk-link-errors").gap is Gap.EARLY
    assert node(ata({199: 5000}), ata({199: 5001})).ruled_out("sda", "disk-link-errors").summary
    said = node(ata({199: 5000}), ata({199: 5002})).finding("sda", "disk-link-errors")
    assert "cable" in said.title
    assert str(said.advice[0]).startswith("Reseat or replace the cable")
    assert node(ata({199: 5000}), ata({199: 5002})).ruled_out("sda", "disk-failing").summary


def test_the_failed_backup_of_an_nvme_cache() -> None:
    said = node(nvme(warning=16), device="nvme0n1").finding("nvme0n1", "cache-unprotected")
    assert said.severity is Severity.CRITICAL
    assert node(nvme(), device="nvme0n1").ruled_out("nvme0n1", "cache-unprotected").summary


# --- other findings and the enclosure ---------------------------------------------------------------------


def enclosure(slot: int, device: str) -> dict[str, str]:
    base = f"/sys/class/enclosure/0:0:24:0/Slot {slot:02d}"
    return {
        "/sys/class/enclosure/0:0:24:0/id": "0x5003048001a2b3c4\n", f"{base}/type": "array device\n",
        f"{base}/slot": f"{slot}\n", f"{base}/status": "OK\n", f"{base}/fault": "1\n", f"{base}/locate": "0\n",
        f"{base}/device/block/{device}/size": "1\n",
    }  # fmt: skip


def test_a_failed_member_shows_its_disks_health_and_slot() -> None:
    mdstat = (
        "Personalities : [raid1]\nmd0 : active raid1 sdb[1](F) sda[0]\n      8 blocks [2/1] [U_]\n\nunused devices: -\n"
    )
    files = {
        "/proc/mdstat": mdstat, **sysfs("sda"), **sysfs("sdb", number=1), **enclosure(5, "sdb"),
        asked("sda"): ata(), asked("sdb"): ata({197: 24}),
    }  # fmt: skip
    said = Judged(SOURCES, RULES, [(0.0, files)]).finding("md0", "array-degraded")
    values = {value.title: value.value for value in said.values}
    assert values["disk health of sdb"] == "passed, 24 pending, 31 C"
    assert values["slot of sdb"] == "Slot 05 of enclosure 0:0:24:0, fault LED on"
    assert "disk health of sda" not in values
    assert any(cite.key == asked("sdb") for cite in said.evidence)


def test_several_bad_disks_of_one_enclosure_are_a_finding_on_the_enclosure() -> None:
    files: dict[str, str] = {}
    for number, name in enumerate(("sda", "sdb", "sdc", "sdd", "sde", "sdf")):
        files |= {**sysfs(name, number=number), asked(name): ata({197: 8 if number < 3 else 0}, serial=f"Z{number}")}
        if number < 4:
            files |= enclosure(number, name)
    [said] = [each for each in Judged(SOURCES, RULES, [(0.0, files)]).all if isinstance(each, Finding)]
    assert said.subject == "0x5003048001a2b3c4"
    assert "3 of 4 disks in enclosure" in said.cause
    assert {member.subject for member in said.members} == {"sda", "sdb", "sdc"}


def test_disks_that_fail_in_one_enclosure_are_replaced_and_its_cables_left_alone() -> None:
    (found,) = (f for f in story("disks-failing").judgements[-1].findings if len(f.subjects) > 1)
    assert found.impact == "sdb: the disk can fail at any time."
    said = [str(step) for step in found.advice]
    assert said[0] == "Replace the disk; check first that its data has another copy."
    assert not any("cables" in step for step in said)
