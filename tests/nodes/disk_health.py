"""Disks with health data: what smartctl, nvme, storcli and ssacli print of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sdstop.collectors.health.smart import ASK, ASK_NVME
from sdstop.core.evidence import command_key

Document = dict[str, Any]
NAMES = {
    5: "Reallocated_Sector_Ct", 9: "Power_On_Hours", 187: "Reported_Uncorrect", 194: "Temperature_Celsius",
    197: "Current_Pending_Sector", 198: "Offline_Uncorrectable", 199: "UDMA_CRC_Error_Count",
    233: "Media_Wearout_Indicator",
}  # fmt: skip


def asked(device: str) -> str:
    """Return the evidence key of smartctl's answer about a disk."""
    return command_key([f"/dev/{device}" if word == "*" else word for word in ASK])


def asked_nvme(device: str) -> str:
    """Return the evidence key of nvme's answer about a disk."""
    return command_key([f"/dev/{device}" if word == "*" else word for word in ASK_NVME])


def attribute(number: int, raw: int | str, value: int = 100, failed: str = "") -> Document:
    """Return a row of the table of attributes."""
    return {
        "id": number, "name": NAMES[number], "value": value, "worst": value, "thresh": 0, "when_failed": failed,
        "raw": {"value": raw if isinstance(raw, int) else 0, "string": str(raw)},
    }  # fmt: skip


def ata(
    raw: Mapping[int, int | str] | None = None, *, passed: bool | None = True, serial: str = "ZC1A7WQ9",
    rotation: int = 7200, hours: int = 30_000, **more: Any,
) -> str:  # fmt: skip
    """Return smartctl's document about a SATA disk; `raw` are raw values other than those of a good one."""
    known: dict[int, int | str] = {5: 0, 9: hours, 187: 0, 194: "31 (Min/Max 20/45)", 197: 0, 198: 0, 199: 0}
    document: Document = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
        "model_name": "ST4000NM0035-1V4107",
        "serial_number": serial,
        "wwn": {"naa": 5, "oui": 3152, "id": 2_752_131_924},
        "rotation_rate": rotation,
        "smart_status": {"passed": passed},
        "ata_smart_attributes": {"table": [attribute(n, value) for n, value in {**known, **(raw or {})}.items()]},
        "power_on_time": {"hours": hours},
        "temperature": {"current": 31},
        "ata_smart_self_test_log": {"standard": {"revision": 1, "count": 0}},
    }
    document.update(more)
    if passed is None:
        del document["smart_status"]
    return json.dumps(document, separators=(",", ":"))


def scsi(*, passed: bool = True, defects: int = 0, uncorrected: int = 0, **more: Any) -> str:
    """Return smartctl's document about a SAS disk."""
    counts = {"total_errors_corrected": 124, "total_uncorrected_errors": uncorrected}
    document: Document = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
        "scsi_vendor": "HGST",
        "scsi_product": "HUC101830CSS200",
        "serial_number": "0TG4D5XA",
        "rotation_rate": 10000,
        "smart_status": {"passed": passed},
        "temperature": {"current": 34, "drive_trip": 65},
        "power_on_time": {"hours": 48213},
        "scsi_grown_defect_list": defects,
        "scsi_error_counter_log": {"read": counts, "write": {**counts, "total_uncorrected_errors": 0}},
    }
    return json.dumps({**document, **more}, separators=(",", ":"))


def nvme(
    *, warning: int = 0, used: int = 3, spare: int = 100, media_errors: int = 0, temperature: int = 38, **more: Any
) -> str:
    """Return smartctl's document about an NVMe disk."""
    document: Document = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 8 if warning else 0},
        "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
        "model_name": "SAMSUNG MZQL23T8HCLS-00A07",
        "serial_number": "S64HNG0T123456",
        "smart_status": {"passed": not warning, "nvme": {"value": warning}},
        "nvme_smart_health_information_log": {
            "critical_warning": warning, "temperature": temperature, "available_spare": spare,
            "available_spare_threshold": 10, "percentage_used": used, "media_errors": media_errors,
            "num_err_log_entries": 4711,
        },
        "temperature": {"current": temperature},
        "power_on_time": {"hours": 9120},
    }  # fmt: skip
    return json.dumps({**document, **more}, separators=(",", ":"))


def standby() -> str:
    """Return smartctl's document about a disk that was left asleep."""
    said = [{"string": "Device is in STANDBY mode, exit(2)", "severity": "information"}]
    return json.dumps({"smartctl": {"version": [7, 3], "messages": said, "exit_status": 2}}, separators=(",", ":"))


def sysfs(device: str, driver: str = "ahci", number: int = 0) -> dict[str, str]:
    """Return the files of a SCSI disk behind a driver."""
    base = f"/sys/block/{device}"
    return {
        f"{base}/dev": f"8:{16 * number}\n",
        f"{base}/device/state": "running\n",
        f"{base}/device/model": "ST4000NM0035-1V4\n",
        f"{base}/device/wwid": f"naa.5000c5000000{number:04x}\n",
        f"link:{base}/device": f"../../../{number}:0:0:0",
        f"link:{base}": f"../devices/pci0000:00/0000:00:17.0/host{number}/{number}:0:0:0/block/{device}",
        f"/sys/class/scsi_host/host{number}/proc_name": f"{driver}\n",
    }


def sysfs_nvme(device: str = "nvme0n1", transport: str = "pcie") -> dict[str, str]:
    """Return the files of an NVMe disk."""
    controller = device.partition("n1")[0]
    return {
        f"/sys/block/{device}/dev": "259:0\n",
        f"link:/sys/block/{device}/device": f"../../{controller}",
        f"/sys/class/nvme/{controller}/transport": f"{transport}\n",
        f"/sys/class/nvme/{controller}/state": "live\n",
    }
