"""A ScaleIO/PowerFlex system as its gateway tells it: objects in one answer, numbers in another.

`GET /api/instances` is `{"System": {...}, "sdsList": [{...}], "volumeList": ...}`, lists may be null; the statistics
are `{"System": {...}, "StoragePool": {"<id>": {...}}, ...}`. Fields come and go with versions 1.32 to 4.5, numbers may
be text ("Unlimited", "Infinity"), names may be null: nothing is taken for granted. KB are of 1024 bytes.

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
LISTS: Mapping[str, str] = {
    "ProtectionDomain": "protectionDomainList", "FaultSet": "faultSetList", "Sds": "sdsList", "Device": "deviceList",
    "StoragePool": "storagePoolList", "Volume": "volumeList", "Sdc": "sdcList",
}  # fmt: skip
"""Types of objects, and the list that has them."""

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
"""What is asked for in every sample, of a version that knows it all."""

without_texts = json_texts(
    "autoDetectMediaType", "clusterMode", "clusterState", "deviceCurrentPathName", "deviceIdList",
    "deviceOriginalPathName", "deviceState", "errorState", "faultSetId", "id", "ip", "ips", "isMaster",
    "maintenanceState", "mappedSdcIdList", "master", "mdmClusterState", "mdmConnectionState", "mdmMode", "mediaType",
    "modelName", "name", "managementIPs", "perfProfile", "protectionDomainId", "rebalanceIoPriorityPolicy",
    "rebuildIoPriorityPolicy", "role", "sdcApproved", "sdcGuid", "sdcId", "sdcIp", "sdcName", "sdsId", "serialNumber",
    "softwareVersionInfo", "status",
    "storagePoolId", "systemVersionName", "vendorName", "versionInfo", "volumeType",
)  # fmt: skip
"""What redaction leaves of the objects: the texts that are read."""
Object = Mapping[str, Any]


class Objects(Struct, frozen=True):
    """The objects of a system; each type's by id, in the order of the answer."""

    system: Object
    session: int | None
    types: Mapping[str, Mapping[str, Object]]

    def of(self, kind: str) -> Mapping[str, Object]:
        """Return the objects of a type by id."""
        return self.types.get(kind, {})

    def name(self, kind: str, ident: str | None) -> str | None:
        """Return an object's name, or its id where it has none."""
        if ident is None:
            return None
        return text(self.of(kind).get(ident, {}).get("name")) or ident


def decode(data: bytes) -> Any:
    """Return JSON data. Raises Malformed."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the gateway's answer is no JSON: {str(error)[:100]}") from error


def objects(said: Any) -> Objects:
    """Read the answer to GET /api/instances. Raises Malformed if it is none."""
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
    return Objects(system, whole(said.get("sessionTag")), types)


def statistics(said: Any) -> Mapping[str, Mapping[str, Object]]:
    """Return numbers by type and id, the system's under "". Raises Malformed."""
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
    """Return a number that may come as text; None for "Infinity", "Unlimited" and what is none."""
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
    """Return a whole number that may come as text."""
    found = number(value)
    return None if found is None or found != found // 1 else int(found)


def size(row: Object, *names: str) -> int | None:
    """Return the first of some fields in KB as bytes."""
    for name in names:
        found = number(row.get(name))
        if found is not None and found >= 0:
            return int(found * KIB)
    return None


def text(value: Any) -> str | None:
    """Return a text that says something."""
    return value.strip() or None if isinstance(value, str) else None


def flag(value: Any) -> bool | None:
    """Return a truth value, also as scli writes it."""
    if isinstance(value, str):
        return {"yes": True, "true": True, "enabled": True, "no": False, "false": False, "disabled": False}.get(
            value.strip().lower()
        )
    return value if isinstance(value, bool) else None


def rates(row: Object, name: str) -> tuple[float | None, float | None]:
    """Return the operations and bytes a second of a `...Bwc`, each over its own seconds.

    `{"numSeconds": 5, "totalWeightInKb": 20480, "numOccured": 160}` is 32 a second and 4 MiB/s; 0 seconds: nothing
    happened lately.
    """
    bwc = row.get(name)
    if not isinstance(bwc, dict):
        return None, None
    seconds, count, weight = (number(bwc.get(key)) for key in ("numSeconds", "numOccured", "totalWeightInKb"))
    if seconds is None or count is None or weight is None or min(seconds, count, weight) < 0:
        return None, None
    return (count / seconds, weight * KIB / seconds) if seconds else (0.0, 0.0)


def latency(row: Object, name: str) -> float | None:
    """Return the mean seconds of a `...Latency`: of the same shape, its weight are microseconds."""
    bwc = row.get(name)
    if not isinstance(bwc, dict):
        return None
    count, weight = number(bwc.get("numOccured")), number(bwc.get("totalWeightInKb"))
    return weight / count / 1e6 if count and weight is not None and count > 0 <= weight else None


def microseconds(row: Object, name: str) -> float | None:
    """Return a mean in microseconds as seconds; 0 is said where there was none."""
    found = number(row.get(name))
    return found / 1e6 if found is not None and found > 0 else None


def remaining(row: Object, operation: str) -> int | None:
    """Return the bytes that wait to be moved, `Fwd`, `Bck`, `Norm` rebuilds or "" for rebalance; None: not told."""
    names = (
        ("pendingRebalanceCapacityInKb", "activeRebalanceCapacityInKb") if not operation
        else (f"pending{operation}RebuildCapacityInKb", f"active{operation}RebuildCapacityInKb")
    )  # fmt: skip
    found = [size(row, name) for name in names]
    return None if all(part is None for part in found) else sum(part or 0 for part in found)
