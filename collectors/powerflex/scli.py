"""Parser for recorded output of scli, ScaleIO's command line (1.31 to 3.6), into the gateway's data structure.

sdstop never runs scli, because its login takes the password as an argument. Pasted output and support bundles are read
by the same code as gateway responses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdstop.collectors.powerflex.objects import LISTS
from sdstop.core.expression import expression
from sdstop.core.host import Host, TimedOut, Unreadable

_GROUP = expression(r"([A-Z][A-Z_]{1,40}) ([0-9a-zA-Z]{1,32}):\s*")
_PAIR = expression(r"\s+([A-Z][A-Z0-9_]{0,60})\s+(\S.*?)\s*")
_EXACT = expression(r"\(([0-9]{1,18}) (Bytes|KB|MB|GB|TB)\)")
_BARE = expression(r"([0-9]{1,18}(?:\.[0-9]{1,6})?) (Bytes|KB|MB|GB|TB)\b")
_BWC = expression(r"([0-9]{1,12}) IOPS (.*) per-second")
_UNITS = {"Bytes": 1 / 1024, "KB": 1, "MB": 1 << 10, "GB": 1 << 20, "TB": 1 << 30}

_TYPES = {
    "PROTECTION_DOMAIN": "ProtectionDomain", "FAULT_SET": "FaultSet", "SDS": "Sds", "DEVICE": "Device",
    "STORAGE_POOL": "StoragePool", "VOLUME": "Volume", "SDC": "Sdc", "SYSTEM": "System", "MDM": "Mdm",
}  # fmt: skip
_NAMES = {
    "SPARE_PERCENT": "sparePercentage", "RMCACHE_SIZE": "rmcacheSizeInKb", "ORIGINAL_PATH": "deviceOriginalPathName",
    "CURRENT_PATH": "deviceCurrentPathName", "ERR_STATE": "errorState", "SIZE": "sizeInKb", "TYPE": "volumeType",
    "IP": "sdcIp", "APPROVED": "sdcApproved", "IPS": "ipList", "MAINTENANCE_MODE_STATE": "maintenanceState",
    "VERSION_NAME": "systemVersionName", "ZERO_PAD_ENABLED": "zeroPaddingEnabled", "GUID": "sdcGuid",
    "CAPACITY_LIMIT": "capacityLimitInKb", "MAX_CAPACITY": "maxCapacityInKb",
}  # fmt: skip
_STATES = {"Sds": "sdsState", "Device": "deviceState"}
_WORDS = {
    "REMOVE_STATE_NORMAL": "Normal", "MDM_CONNECTED": "Connected", "MDM_DISCONNECTED": "Disconnected",
    "JOINED": "Joined", "DEVICE_NORMAL": "Normal", "NO_ERROR": "None", "NO_MAINTENANCE": "NoMaintenance",
    "MDM_STATUS_NORMAL": "Normal", "N/A": None, "<Not Set>": None,
}  # fmt: skip


def recorded_objects(host: Host) -> tuple[dict[str, Any], str, dict[str, Any], str] | None:
    """Return objects and statistics of all recorded scli output, each with its evidence key; None without any."""
    said: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    origin = ""
    for name in host.recorded("scli"):
        try:
            output = host.recorded_output(name)
        except TimedOut:
            raise
        except Unreadable:
            continue
        more, counted = parse(output.text)
        if more:
            origin = origin or (f"cmd:{name}" if " " in name else f"slug:{name}")
            _merge(said, more)
            _merge(numbers, counted)
    return (said, origin, numbers, origin if numbers else "") if said else None


def parse(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one output into objects and statistics; unknown text is skipped. Never raises.

    `--query_properties` prints `SDS 275ac7b900000000:` and indented lines of name and value, `--query_cluster` prints
    `Mode: 3_node, State: Normal, Active: 3/3, Replicas: 2/2`, `--query_all` prints whole sentences, `--query_all_sds` a
    line for each.
    """
    lines = text.splitlines()
    if any(line.strip() == "Cluster:" for line in lines):
        return {"System": {"mdmCluster": _cluster(lines)}}, {}
    if any(line.startswith(("System Info:", "Query all returned")) for line in lines):
        return _query_all(lines)
    if any(_ALL_SDS.match(line) for line in lines):
        return _query_all_sds(lines), {}
    return _properties(lines)


def _merge(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Merge `more` into `known`; list entries with the same id are merged."""
    for key, value in more.items():
        old = known.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            by_id = {entry.get("id"): entry for entry in old}
            for entry in value:
                if entry.get("id") in by_id:
                    _merge(by_id[entry.get("id")], entry)
                else:
                    old.append(entry)
        else:
            known[key] = value


def _properties(lines: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    said: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    row: dict[str, Any] = {}
    kind = ""
    for line in lines:
        group, pair = _GROUP.fullmatch(line), _PAIR.fullmatch(line)
        if group:
            kind, row = _TYPES.get(group[1], ""), {"id": group[2]}
            if kind == "System":
                said["System"] = numbers["System"] = row
            elif kind in LISTS:
                said.setdefault(LISTS[kind], []).append(row)
                numbers.setdefault(kind, {})[group[2]] = row
            elif kind == "Mdm":
                said.setdefault("mdms", []).append(row)
        elif pair and row and pair[1] != "ID":
            row[_name(kind, pair[1])] = _value(pair[1], pair[2])
    _relate(said)
    return said, numbers


def _name(kind: str, key: str) -> str:
    if key == "STATE" and kind in _STATES:
        return _STATES[kind]
    first, *rest = key.lower().split("_")
    return _NAMES.get(key, first + "".join(part.capitalize() for part in rest))


def _value(key: str, value: str) -> Any:
    if key.endswith("_BWC"):
        return _bwc(value)
    if value in _WORDS:
        return _WORDS[value]
    if value.endswith("%"):
        return value[:-1]
    if key.endswith("_IN_KB") or key in {"SIZE", "RMCACHE_SIZE", "MAX_CAPACITY", "CAPACITY_LIMIT"}:
        return _kib(value)
    return value


def _kib(value: str) -> int | None:
    """Parse a size into KiB; the number in parentheses is exact, with a varying unit: `65.5 TB (67059 GB)`."""
    found = _EXACT.search(value) or _BARE.search(value)
    return None if found is None else int(float(found[1]) * _UNITS[found[2]])


def _bwc(value: str) -> dict[str, int] | None:
    """Parse `4 IOPS 7.0 KB (7168 Bytes) per-second` into the gateway's structure."""
    found = _BWC.fullmatch(value.strip())
    weight = _kib(found[2]) if found else None
    if found is None or weight is None:
        return None
    return {"numSeconds": 1, "numOccured": int(found[1]), "totalWeightInKb": weight}


def _relate(said: dict[str, Any]) -> None:
    """Replace lists of ids by the gateway's structures."""
    owners = {
        device: sds["id"]
        for sds in said.get("sdsList", ())
        for device in str(sds.get("deviceIdList") or "").split(",")
        if device
    }
    devices = said.setdefault("deviceList", []) if owners else said.get("deviceList", [])
    known = {device["id"] for device in devices}
    devices += [{"id": ident} for ident in owners if ident not in known]
    for device in devices:
        if device["id"] in owners:
            device.setdefault("sdsId", owners[device["id"]])
    for volume in said.get("volumeList", ()):
        mapped = str(volume.get("mappedSdcIdList") or "")
        if mapped:
            volume["mappedSdcInfo"] = [{"sdcId": ident} for ident in mapped.split(",") if ident]
    mdms = said.pop("mdms", [])
    if mdms:
        said.setdefault("System", {})["mdmCluster"] = _of_mdms(mdms)


def _of_mdms(mdms: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the manager cluster from `--query_properties --object_type MDM`."""
    found: dict[str, Any] = {"slaves": [], "tieBreakers": [], "standbyMDMs": []}
    for row in mdms:
        row["versionInfo"] = str(row.get("softwareVersionInfo") or "").removeprefix("Version: ") or None
        row["ips"] = str(row.pop("ipList", "") or "").split(",")
        if row.get("isMaster") == "Yes":
            found["master"] = row
        elif row.get("isStandby") == "Yes":
            found["standbyMDMs"].append(row)
        else:
            found["tieBreakers" if "TIE_BREAKER" in str(row.get("role")) else "slaves"].append(row)
    return found


_HEAD = expression(r"Mode: (\w+), State: (\w+), Active: (\d{1,3})/(\d{1,3}), Replicas: (\d{1,3})/(\d{1,3})")
_SECTIONS = {
    "Master MDM:": "master", "Slave MDMs:": "slaves", "Tie-Breakers:": "tieBreakers", "Standby MDMs:": "standbyMDMs"
}  # fmt: skip


def _cluster(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"slaves": [], "tieBreakers": [], "standbyMDMs": []}
    section = ""
    row: dict[str, Any] = {}
    for line in lines:
        head = _HEAD.search(line)
        if head:
            numbers = [int(head[n]) for n in range(3, 7)]
            found |= {"clusterMode": head[1], "clusterState": head[2]}
            found |= dict(zip(("goodNodesNum", "nodesNum", "goodReplicasNum", "replicasNum"), numbers, strict=True))
            continue
        section = _SECTIONS.get(line.strip(), section)
        if not section or line.strip() in _SECTIONS:
            continue
        fields = dict(_fields(line))
        if "ID" in fields:
            row = {"id": fields["ID"].removeprefix("0x"), "name": fields.get("Name")}
            if section == "master":
                found["master"] = row
            else:
                found[section].append(row)
        for key, name in (("Status", "status"), ("Version", "versionInfo")):
            if key in fields:
                row[name] = fields[key]
        for key in ("IPs", "IP Addresses"):
            if key in fields:
                row["ips"] = fields[key].split(" ")
    return found


def _fields(line: str) -> Iterator[tuple[str, str]]:
    """Yield the `Name: x` fields of a line; an address without a name belongs to the field before it."""
    name, values = "", [""]
    for part in line.strip().split(", "):
        key, colon, value = part.partition(": ")
        if colon:
            if name:
                yield name, " ".join(values)
            name, values = key, [value]
        else:
            values.append(part)
    if name:
        yield name, " ".join(values)


_POOL = expression(r"Storage Pool (.*) \(Id: ([0-9a-f]{1,32})\) has ")
_DOMAIN = expression(r"Protection Domain (.*) \(Id: ([0-9a-f]{1,32})\) has ")
_POLICY = expression(r"\s*(Rebuild|Rebalance) is (enabled|disabled)(?: and using ([A-Za-z-]+) policy)?")
_IOS = expression(r"Number of concurrent IOs per device: (\d{1,6})")
_BANDWIDTH = expression(r"Bandwidth limit per device: (\d{1,9}) KB per second")
_SPARE = expression(r"Spare policy: (\d{1,3})% out of total")
_SUMMARY = expression(r"\s+(\S.*?) ([a-z-]+(?: [a-z-]+)?) capacity")
_RATE = expression(r"\s+([A-Z][a-z-]+)\s+(\d{1,12} IOPS .* per-second)")
_POLICIES = {
    "limit-concurrent-io": "limitNumOfConcurrentIos", "favor-application-io": "favorAppIos",
    "dynamic-bw-throttling": "dynamicBwThrottling", "no-limit": "unlimited", "unlimited": "unlimited",
}  # fmt: skip
_SUMMED = {
    "total": "maxCapacityInKb", "in-use": "capacityInUseInKb", "spare": "spareCapacityInKb",
    "failed": "failedCapacityInKb", "degraded-failed": "degradedFailedCapacityInKb",
    "degraded-healthy": "degradedHealthyCapacityInKb",
    **{f"{state} {kind}-rebuild": f"{state}{kind.capitalize()}RebuildCapacityInKb"
       for state in ("active", "pending") for kind in ("fwd", "bck", "norm")},
    **{f"{state} rebalance": f"{state}RebalanceCapacityInKb" for state in ("active", "pending")},
}  # fmt: skip
_RATED = {
    "Forward-rebuild-writes": "fwdRebuildWriteBwc", "Backward-rebuild-writes": "bckRebuildWriteBwc",
    "Rebalance-writes": "rebalanceWriteBwc",
}  # fmt: skip


_ALL_SDS = expression(r"\s*Query-all-SDS returned (\d{1,6}) SDS nodes?\b")
_SDS_DOMAIN = expression(
    r"\s*Protection Domain:?\s+(?:Name: (?P<first>.*?)\s+ID: )?(?P<id>[0-9a-f]{1,32})(?: Name: (?P<name>.*))?\s*"
)
_SDS = expression(
    r"\s*SDS ID: (?P<id>[0-9a-f]{1,32}) Name: (?P<name>(?:(?! State: ).)*?)"
    r"(?: State: (?P<link>\w{1,40}), (?P<member>\w{1,40})(?:, (?P<more>[\w, -]{1,80}?))?)?"
    r"\s+IP:?\s+(?P<ips>[0-9A-Fa-f.:, ]{2,400}?)\s+Port: \d{1,5}(?:\s+Version:? (?P<version>\S{1,60}))?\s*"
)


def _query_all_sds(lines: list[str]) -> dict[str, Any]:
    """Parse `--query_all_sds` into nodes and their domains; empty if nodes are missing, or a line is not understood.

        Query-all-SDS returned 2 SDS nodes.
        Protection Domain 5a20702900000000 Name: pd1
        SDS ID: 454581a100000002 Name: n2 State: Connected, Joined IP    10.0.0.11 Port: 7072 Version: 2.0.5014

    ScaleIO 1.x prints no state. The form is that of output in the documentation of ScaleIO's Mesos framework (2.0).
    """
    expected, domains, nodes = 0, list[dict[str, Any]](), list[dict[str, Any]]()
    for line in lines:
        if (head := _ALL_SDS.match(line)) is not None:
            expected += int(head[1])
        elif (node := _SDS.fullmatch(line)) is not None:
            nodes.append(
                {
                    "id": node["id"],
                    "name": node["name"],
                    "protectionDomainId": domains[-1]["id"] if domains else None,
                    "mdmConnectionState": node["link"],
                    "membershipState": node["member"],
                    "sdsState": node["more"],
                    "ipList": [{"ip": ip, "role": "all"} for ip in re.split(r"[, ]+", node["ips"])],
                    "softwareVersionInfo": node["version"],
                }
            )
        elif (domain := _SDS_DOMAIN.fullmatch(line)) is not None:
            domains.append({"id": domain["id"], "name": domain["first"] or domain["name"]})
        elif line.strip().startswith("SDS"):
            return {}
    return {"protectionDomainList": domains, "sdsList": nodes} if nodes and len(nodes) == expected else {}


def _query_all(lines: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse `--query_all` into the system and its pools; its totals apply to the pool if there is only one."""
    system: dict[str, Any] = {}
    pools: list[dict[str, Any]] = []
    domains: list[dict[str, Any]] = []
    sums: dict[str, Any] = {}
    what = ""
    for line in lines:
        told = line.strip()
        if told.startswith("Product:"):
            system["systemVersionName"] = told.removeprefix("Product:").strip()
        elif told.startswith("ID:") and "id" not in system:
            system["id"] = told.removeprefix("ID:").strip()
        elif domain := _DOMAIN.match(told):
            domains.append({"id": domain[2], "name": domain[1]})
        elif pool := _POOL.match(told):
            area = domains[-1]["id"] if domains else None
            pools.append({"id": pool[2], "name": pool[1], "protectionDomainId": area})
        elif pools and not sums:
            what = _setting(pools[-1], line, what)
        if found := _SUMMARY.fullmatch(line):
            sums |= {_SUMMED[found[2]]: _kib(found[1])} if found[2] in _SUMMED else {}
        elif (rate := _RATE.fullmatch(line)) and rate[1] in _RATED:
            sums[_RATED[rate[1]]] = _bwc(rate[2])
    said = {"System": system, "storagePoolList": pools, "protectionDomainList": domains}
    numbers: dict[str, Any] = {"System": sums}
    if len(pools) == 1:
        numbers["StoragePool"] = {pools[0]["id"]: sums}
    return said, numbers


def _setting(row: dict[str, Any], line: str, what: str) -> str:
    """Store a pool setting from a line; return the policy that the following lines refer to."""
    told = line.strip()
    if policy := _POLICY.match(line):
        what = policy[1].lower()
        row[f"{what}Enabled"] = policy[2] == "enabled"
        if policy[3]:
            row[f"{what}IoPriorityPolicy"] = _POLICIES.get(policy[3].lower(), policy[3])
    for pattern, name in ((_IOS, "NumOfConcurrentIosPerDevice"), (_BANDWIDTH, "BwLimitPerDeviceInKbps")):
        if (found := pattern.search(line)) and what:
            row[f"{what}IoPriority{name}"] = int(found[1])
    if spare := _SPARE.search(line):
        row["sparePercentage"] = int(spare[1])
    elif told in {"Zero padding is disabled", "Zero padding is enabled"}:
        row["zeroPaddingEnabled"] = told.endswith("enabled")
    elif "RAM Read Cache" in told and "write handling" not in told:
        row["useRmcache"] = told.startswith("Uses ")
    return what
