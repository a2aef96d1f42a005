"""A node with DRBD resources made by hand: what drbdsetup and /proc/drbd say."""

from __future__ import annotations

import json
from typing import Any

STATUS = "cmd:drbdsetup status --json --statistics"
SHOW = "cmd:drbdsetup show --show-defaults"
MIB = 1 << 20


def resource(
    name: str = "r0",
    *,
    disk: str = "UpToDate",
    state: str = "Connected",
    replication: str = "Established",
    peer_disk: str = "UpToDate",
    out_of_sync: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """Return a resource of one volume of 20 GB and a peer; `out_of_sync` is KiB, `more` goes to the peer's volume."""
    far = {
        "volume": 0,
        "replication-state": replication,
        "peer-disk-state": peer_disk,
        "peer-client": False,
        "resync-suspended": "no",
        "received": 0,
        "sent": 702624,
        "out-of-sync": out_of_sync,
        "pending": 0,
        "unacked": 0,
        **more,
    }
    return {
        "name": name,
        "node-id": 0,
        "role": "Primary",
        "suspended": False,
        "devices": [{"volume": 0, "minor": 0, "disk-state": disk, "client": False, "quorum": True, "size": 20970204}],
        "connections": [
            {
                "peer-node-id": 1,
                "name": "store2",
                "connection-state": state,
                "congested": False,
                "peer-role": "Secondary",
                "peer_devices": [far] if state == "Connected" else [{**far, "replication-state": "Off"}],
            }
        ],
    }


RS_TOTAL = 41940408
"""Sectors of the resync of the story."""


def syncing(done: int) -> dict[str, Any]:
    """Return the story's resync at 93.05 MiB/s with so many sectors done."""
    left = RS_TOTAL - done
    speed = 933440 * 512 / 4.898
    details: dict[str, Any] = {
        "rs-total": RS_TOTAL,
        "rs-db1-sectors": 933440,
        "rs-dt1-ms": 4898,
        "db1/dt1 [MiB/s]": 93.05,
        "estimated-seconds-to-finish": round(left * 512 / speed),
        "percent-resync-done": round(done / RS_TOTAL * 100, 2),
        "has-sync-details": True,
    }
    return resource(replication="SyncSource", peer_disk="Inconsistent", out_of_sync=left // 2, **details)


def status(*resources: dict[str, Any]) -> str:
    return json.dumps(resources, indent=1)


def show(name: str = "r0", most: str = "102400k", plan: int = 20) -> str:
    """Return what is kept of `drbdsetup show`."""
    return (
        f'resource "{name}" {{\n        _name                   "store2";\n        volume 0 {{\n'
        f"                resync-rate             250k; # bytes/second, default\n"
        f"                c-plan-ahead            {plan}; # 1/10 seconds, default\n"
        f"                c-max-rate              {most}; # bytes/second, default\n"
        f"                c-min-rate              250k; # bytes/second, default\n        }}\n}}\n"
    )
