"""A RAID controller as storcli shows it (JSON)."""

from __future__ import annotations

import json
from typing import Any


def reply(data: dict[str, Any], status: str = "Success") -> str:
    """Return an answer of storcli about controller 0."""
    said = {"Command Status": {"Controller": 0, "Status": status, "Description": "None"}, "Response Data": data}
    return json.dumps({"Controllers": [said]}, indent=1)


def controller(
    *, battery: str | None = "Optimal", cache: str = "RWBD", state: str = "Optl", disks: dict[int, str] | None = None
) -> str:
    """Return the controller with a volume of three disks."""
    data: dict[str, Any] = {
        "Basics": {"Model": "PERC H730P Mini", "Serial Number": "58A00G3", "PCI Address": "00:3b:00:00"},
        "Version": {"Firmware Version": "4.300.00-8366"},
        "Status": {"Controller Status": "Optimal"},
        "HwCfg": {"BBU": "Present" if battery else "Absent"},
        "Scheduled Tasks": {"Patrol Read Reoccurrence": "168 hrs"},
        "VD LIST": [{"DG/VD": "0/1", "TYPE": "RAID5", "State": state, "Access": "RW", "Cache": cache, "Name": "data"}],
        "PD LIST": [
            {"EID:Slt": f"32:{slot}", "DID": slot, "State": word, "DG": 0, "Model": "ST300MM0006"}
            for slot, word in (disks or {0: "Onln", 1: "Onln", 2: "Onln"}).items()
        ],
    }
    if battery:
        data["BBU_Info"] = [{"Model": "BBU", "State": battery, "RetentionTime": "0 hour(s)", "Temp": "36C"}]
    return reply(data)


def volume(initial: str = "WriteBack", cache: str = "RWBD", device: str = "sda") -> str:
    """Return the properties of its volume."""
    return reply({
        "/c0/v1": [{"DG/VD": "0/1", "TYPE": "RAID5", "Cache": cache}],
        "VD1 Properties": {"Write Cache(initial setting)": initial, "OS Drive Name": f"/dev/{device}"},
    })  # fmt: skip


def disk(
    slot: int, predicted: object = 0, media: object = 0, alert: str = "No", state: str | None = None
) -> dict[str, Any]:
    """Return the details of a disk."""
    name = f"Drive /c0/e32/s{slot}"
    row = {"EID:Slt": f"32:{slot}", "DG": 0, "Model": "ST300MM0006"}
    return {
        name: [{**row, "State": state} if state else row],
        f"{name} - Detailed Information": {
            f"{name} State": {
                "Media Error Count": media, "Other Error Count": 0, "Drive Temperature": " 32C (89.60 F)",
                "Predictive Failure Count": predicted, "S.M.A.R.T alert flagged by drive": alert,
            },
            f"{name} Device attributes": {"SN": f"S0K1NPV{slot} ", "WWN": f"5000C5006EA2B1F{slot}"},
        },
    }  # fmt: skip
