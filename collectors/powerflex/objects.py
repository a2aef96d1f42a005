"""Parsers for the two gateway responses of a ScaleIO/PowerFlex system: objects and statistics.

`GET /api/instances` is `{"System": {...}, "sdsList": [{...}], "volumeList": ...}`, lists may be null; the statistics
are `{"System": {...}, "StoragePool": {"<id>": {...}}, ...}`. Fields vary between versions 1.32 and 4.5, numbers may be
text ("Unlimited", "Infinity"), and names may be null, so every field is optional. 1 KB is 1024 bytes.

Sources: dell/goscaleio types/v1/types.go, dell/powerflex-gen1-monitoring querySelectedStatistics.json, netdata
modules/scaleio (client.go, queries.go), and answers of 2.6 and 4.5 systems.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from sdstop.core.host import Malformed
from sdstop.core.retention import json_texts

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
"""Bytes."""
LISTS: Mapping[str, str] = {
    "ProtectionDomain": "protectionDomainList", "FaultSet": "faultSetList", "Sds": "sdsList", "Device": "deviceList",
    "StoragePool": "storagePoolList", "Volume": "volumeList", "Sdc": "sdcList",
}  # fmt: skip
"""Object types and the name of their list."""

_KINDS = ("Fwd", "Bck", "Norm")
_CAPACITY = (
    "maxCapacityInKb", "capacityLimitInKb", "capacityInUseInKb", "spareCapacityInKb", "degradedHealthyCapacityInKb",
    "degradedFailedCapacityInKb", "failedCapacityInKb",
)  # fmt: skip
_USER = ("userDataReadBwc", "userDataWriteBwc")
_LATENCY = ("userDataSdcReadLatency", "userDataSdcWriteLatency")
_MOVING = (
    *(f"{state}{kind}RebuildCapacityInKb" for kind in _KINDS for state in ("pending", "active")),
    "pendingRebalanceCapacityInKb", "activeRebalanceCapacityInKb",
    *(f"{kind.lower()}RebuildWriteBwc" for kind in _KINDS), "rebalanceWriteBwc",
)  # fmt: skip
_RECEIVING = (
    *(f"activeMovingIn{kind}RebuildJobs" for kind in _KINDS), "activeMovingInRebalanceJobs",
)  # fmt: skip
_WANTED: Mapping[str, Sequence[str]] = {
    "System": (*_CAPACITY, *_USER),
    "StoragePool": (*_CAPACITY, *_USER, *_MOVING),
    "Sds": ("maxCapacityInKb", "capacityInUseInKb"),
    "Device": (
        "maxCapacityInKb", "capacityInUseInKb", "avgReadLatencyInMicrosec", "avgWriteLatencyInMicrosec", *_RECEIVING,
    ),
    "Volume": (*_USER, *_LATENCY),
    "Sdc": (*_USER, *_LATENCY),
}  # fmt: skip
QUERY: Mapping[str, Any] = {
    "selectedStatisticsList": [
        {"type": kind, **({} if kind == "System" else {"allIds": []}), "properties": list(names)}
        for kind, names in _WANTED.items()
    ]
}
"""Statistics requested in every sample, for versions that support all of them."""

without_texts = json_texts(
    "autoDetectMediaType", "clusterMode", "clusterState", "deviceCurrentPathName", "deviceIdList",
    "deviceOriginalPathName", "deviceState", "errorState", "faultSetId", "id", "ip", "ips", "isMaster",
    "maintenanceState", "mappedSdcIdList", "master", "mdmClusterState", "mdmConnectionState", "mdmMode", "mediaType",
    "modelName", "name", "managementIPs", "perfProfile", "protectionDomainId", "rebalanceIoPriorityPolicy",
    "rebuildIoPriorityPolicy", "role", "sdcApproved", "sdcGuid", "sdcId", "sdcIp", "sdcName", "sdsId", "serialNumber",
    "softwareVersionInfo", "status",
    "storagePoolId", "systemVersionName", "vendorName", "versionInfo", "volumeType",
)  # fmt: skip
"""Redaction of the objects; only the texts that are read remain."""
Object = Mapping[str, Any]


class SystemObjects(Struct, frozen=True):
    """The objects of a system by type and id, in the order of the response."""

    system: Object
    session: int | None
    types: Mapping[str, Mapping[str, Object]]

    def of(self, kind: str) -> Mapping[str, Object]:
        """Return the objects of a type by id."""
        return self.types.get(kind, {})

    def name(self, kind: str, ident: str | None) -> str | None:
        """Return an object's name, or its id if it has no name."""
        if ident is None:
            return None
        return text(self.of(kind).get(ident, {}).get("name")) or ident


def decode(data: bytes) -> Any:
    """Decode JSON. Raises Malformed."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the gateway's answer is not JSON: {str(error)[:100]}") from error


def objects(said: Any) -> SystemObjects:
    """Parse the response to GET /api/instances. Raises Malformed."""
    if not isinstance(said, dict) or not (isinstance(said.get("System"), dict) or said.keys() & set(LISTS.values())):
        raise Malformed("the gateway's answer has no objects of a ScaleIO system")
    system = said["System"] if isinstance(said.get("System"), dict) else {}
    types: dict[str, dict[str, Object]] = {}
    for kind, name in LISTS.items():
        listed = said.get(name)
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        found = types[kind] = {}
        for entry in entries:
            ident = text(entry.get("id"))
            if ident is not None:
                found[ident] = entry
    return SystemObjects(system, whole(said.get("sessionTag")), types)


def statistics(said: Any) -> Mapping[str, Mapping[str, Object]]:
    """Parse statistics into numbers by type and id, with the system under "". Raises Malformed."""
    if not isinstance(said, dict):
        raise Malformed("the gateway's answer has no statistics")
    found: dict[str, Mapping[str, Object]] = {}
    for kind, table in said.items():
        if not isinstance(table, dict):
            continue
        rows = {"": table} if kind == "System" else table
        found[kind] = {str(ident): row for ident, row in rows.items() if isinstance(row, dict)}
    return found


def number(value: Any) -> float | None:
    """Return a number, which may be given as text; None for "Infinity", "Unlimited" and invalid values."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        word = value.strip()
        if len(word) > 30 or not word.replace(".", "", 1).removeprefix("-").isascii():
            return None
        try:
            value = float(word)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not -1e24 < value < 1e24:
        return None
    return float(value)


def whole(value: Any) -> int | None:
    """Return a whole number, which may be given as text."""
    found = number(value)
    return None if found is None or found != found // 1 else int(found)


def size(row: Object, *names: str) -> int | None:
    """Return the first available of several fields in KB, converted to bytes."""
    for name in names:
        found = number(row.get(name))
        if found is not None and found >= 0:
            return int(found * KIB)
    return None


def text(value: Any) -> str | None:
    """Return a text without surrounding whitespace; None if it is empty."""
    return value.strip() or None if isinstance(value, str) else None


def flag(value: Any) -> bool | None:
    """Return a boolean, also from scli's notation."""
    if isinstance(value, str):
        return {"yes": True, "true": True, "enabled": True, "no": False, "false": False, "disabled": False}.get(
            value.strip().lower()
        )
    return value if isinstance(value, bool) else None


def rates(row: Object, name: str) -> tuple[float | None, float | None]:
    """Return operations and bytes per second of a `...Bwc` field, which has its own interval.

    `{"numSeconds": 5, "totalWeightInKb": 20480, "numOccured": 160}` is 32 per second and 4 MiB/s; 0 seconds means no
    recent activity.
    """
    bwc = row.get(name)
    if not isinstance(bwc, dict):
        return None, None
    seconds, count, weight = (number(bwc.get(key)) for key in ("numSeconds", "numOccured", "totalWeightInKb"))
    if seconds is None or count is None or weight is None or min(seconds, count, weight) < 0:
        return None, None
    return (count / seconds, weight * KIB / seconds) if seconds else (0.0, 0.0)


def latency(row: Object, name: str) -> float | None:
    """Return the mean in seconds of a `...Latency` field, shaped like `...Bwc` with microseconds as its weight."""
    bwc = row.get(name)
    if not isinstance(bwc, dict):
        return None
    count, weight = number(bwc.get("numOccured")), number(bwc.get("totalWeightInKb"))
    return weight / count / 1e6 if count and weight is not None and count > 0 <= weight else None


def microseconds(row: Object, name: str) -> float | None:
    """Return a mean in microseconds as seconds; None for 0, which is reported without any requests."""
    found = number(row.get(name))
    return found / 1e6 if found is not None and found > 0 else None


def remaining(row: Object, operation: str) -> int | None:
    """Return the bytes left to move by a `Fwd`, `Bck` or `Norm` rebuild or ("") a rebalance; None if unknown."""
    names = (
        ("pendingRebalanceCapacityInKb", "activeRebalanceCapacityInKb") if not operation
        else (f"pending{operation}RebuildCapacityInKb", f"active{operation}RebuildCapacityInKb")
    )  # fmt: skip
    found = [size(row, name) for name in names]
    return None if all(part is None for part in found) else sum(part or 0 for part in found)
