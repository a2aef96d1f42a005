"""What a large ScaleIO/PowerFlex cluster takes: CPU milliseconds a sample as JSON, and whether memory is flat.

    python bench/clusters.py --volumes 500 --nodes 60 --devices 700 --samples 30 --long 1000

`decoded` is to make rows of a sample's two answers and `judged` to judge them, where only the numbers changed since the
sample before, as is usual; `all_new` is both where the objects changed, too. `child` is what the process that asks the
gateway does with the answers besides: to compare and to send them. `json` is the peer: json.loads of both answers, the
least that anybody can do. `growth` is KiB of memory a sample, over the last half of a long run.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from sdstop.collectors.powerflex.cluster import SCALEIO
from sdstop.collectors.powerflex.objects import QUERY
from sdstop.collectors.powerflex.readings import INSTANCES, STATISTICS
from sdstop.core.collector import providers_of
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Frame, http_key
from sdstop.core.history import History
from sdstop.core.replay import Replay
from sdstop.rules import RULES
from sdstop.sampler import wire
from sdstop.sampler.scheduler import ChangeFilter

PACE = 10.0
SETTLED = 10
"""Samples that are not counted: the windows of rules fill."""
_LINKS = [
    {"rel": f"/api/relationship/{n}", "href": f"/api/instances/X::0123456789abcdef/relationships/{n}"} for n in "abcd"
]
_WINDOWS = {
    name: {"threshold": 10000, "windowSizeInSec": 60, "lastOscillationCount": 0, "lastOscillationTime": 0}
    for name in ("shortWindow", "mediumWindow", "longWindow")
}


def objects(volumes: int, nodes: int, devices: int) -> dict[str, Any]:
    """Return what a gateway of 3.6 says of so many objects, as long as it really is."""
    pool = {
        "id": "p0", "name": "pool", "protectionDomainId": "d0", "sparePercentage": 10, "zeroPaddingEnabled": False,
        "useRmcache": True, "capacityAlertHighThreshold": 80, "capacityAlertCriticalThreshold": 90,
        "rebuildEnabled": True, "rebalanceEnabled": True, "rebalanceIoPriorityPolicy": "favorAppIos",
        "rebalanceIoPriorityBwLimitPerDeviceInKbps": 10240, "rebalanceIoPriorityNumOfConcurrentIosPerDevice": 1,
    }  # fmt: skip
    return {
        "System": {
            "id": "s0", "name": "large", "systemVersionName": "DellEMC PowerFlex Version: R3_6.500.113",
            "mdmCluster": {"clusterMode": "FiveNodes", "clusterState": "ClusteredNormal", "goodNodesNum": 5,
                           "goodReplicasNum": 3, "master": {"id": "m1", "name": "m1"}, "slaves": [], "tieBreakers": []},
        },
        "protectionDomainList": [{"id": "d0", "name": "pd"}],
        "faultSetList": [{"id": f"f{n}", "name": f"rack{n}", "protectionDomainId": "d0"} for n in range(6)],
        "storagePoolList": [pool],
        "sdsList": [
            {"id": f"n{n}", "name": f"sds{n}", "faultSetId": f"f{n % 6}", "protectionDomainId": "d0",
             "sdsState": "Normal", "mdmConnectionState": "Connected", "membershipState": "Joined",
             "maintenanceState": "NoMaintenance", "ipList": [{"ip": f"10.0.0.{n}", "role": "all"}],
             "rmcacheEnabled": True, "rmcacheSizeInKb": 131072, "sdsDecoupled": _WINDOWS, "links": _LINKS}
            for n in range(nodes)
        ],
        "deviceList": [
            {"id": f"dev{n}", "name": None, "sdsId": f"n{n % nodes}", "storagePoolId": "p0", "deviceState": "Normal",
             "errorState": "None", "deviceOriginalPathName": f"/dev/sd{'bcdefghijklm'[n // nodes % 12]}",
             "deviceCurrentPathName": f"/dev/sd{'bcdefghijklm'[n // nodes % 12]}", "mediaType": "SSD",
             "maxCapacityInKb": 1875374080, "capacityLimitInKb": 1875374080, "serialNumber": f"S4CCNF0M{n:06d}",
             "modelName": "MZILT1T9HBJR/007", "vendorName": "SAMSUNG", "longSuccessfulIos": _WINDOWS, "links": _LINKS}
            for n in range(devices)
        ],
        "volumeList": [
            {"id": f"v{n}", "name": f"volume-{n}", "storagePoolId": "p0", "sizeInKb": 109051904,
             "volumeType": "ThinProvisioned", "links": _LINKS, "vtreeId": f"t{n}", "useRmcache": False,
             "mappedSdcInfo": [{"sdcId": f"c{n % 200}", "sdcIp": f"10.1.0.{n % 200}", "limitIops": 500,
                                "limitBwInMbps": 26, "sdcName": None, "accessMode": "ReadWrite"}]}
            for n in range(volumes)
        ],
        "sdcList": [
            {"id": f"c{n}", "name": None, "sdcIp": f"10.1.0.{n}", "sdcApproved": True, "links": _LINKS,
             "mdmConnectionState": "Connected", "sdcGuid": f"B71F01AE-FF7A-47C5-A303-5A3F00000{n:03d}"}
            for n in range(200)
        ],
        "sessionTag": 7,
    }  # fmt: skip


def numbers(volumes: int, nodes: int, devices: int, sample: int) -> dict[str, Any]:
    """Return all that is asked for, with other rates in each sample."""

    def bwc(n: int) -> dict[str, int]:
        count = 60 + (n * 7 + sample * 13) % 180 + (n % 50 == 0) * 260
        return {"numSeconds": 1, "numOccured": count, "totalWeightInKb": count * 16}

    counts = {"System": 1, "StoragePool": 1, "Sds": nodes, "Device": devices, "Volume": volumes, "Sdc": 200}
    ids = {"StoragePool": "p", "Sds": "n", "Device": "dev", "Volume": "v", "Sdc": "c"}
    said: dict[str, Any] = {}
    for entry in QUERY["selectedStatisticsList"]:
        kind, names = entry["type"], entry["properties"]
        rows = {
            f"{ids.get(kind, '')}{n}": {
                name: bwc(n) if name.endswith(("Bwc", "Latency")) else 1 + n % 3 if "Jobs" in name else
                      0 if "ebuild" in name or "egraded" in name or "failed" in name else 10**9 - sample * 10**5
                for name in names
            }
            for n in range(counts[kind])
        }  # fmt: skip
        said[kind] = rows["0"] if kind == "System" else rows
    return said


def spent(work: Callable[[], object]) -> float:
    """Return the milliseconds of CPU that some work took."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1000


def main() -> None:
    """Print what it took."""
    parser = argparse.ArgumentParser(description="Costs of a large PowerFlex cluster.")
    for name, usual in (("volumes", 500), ("nodes", 60), ("devices", 700), ("samples", 30), ("long", 1000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    sizes = parser.parse_args()
    shape = (sizes.volumes, sizes.nodes, sizes.devices)
    said = objects(*shape)
    keys = http_key("GET", INSTANCES), http_key("POST", STATISTICS, QUERY)
    replay, delta = Replay((SCALEIO,)), ChangeFilter()
    history, diagnosis = History(providers_of((SCALEIO,))), Diagnosis(RULES)
    kinds = ("decoded", "judged", "all_new", "child", "json")
    took: dict[str, list[float]] = {name: [] for name in kinds}
    resident: list[int] = []
    size = 0
    for sample in range(SETTLED + max(sizes.samples, sizes.long)):
        fresh = sample % 3 == 0
        said["sessionTag"] = 7 if not fresh else 1000 + sample
        bodies = [json.dumps(said).encode(), json.dumps(numbers(*shape, sample % 50)).encode()]
        size = sum(map(len, bodies))
        at = PACE * sample
        items = [Evidence(key, data=body, taken=at, monotonic=at, exit=200)
                 for key, body in zip(keys, bodies, strict=True)]  # fmt: skip
        child = spent(lambda: [*wire.packets((at, at, delta.news(items), {}, False))])  # noqa: B023
        frame = Frame(sample + 1, at, at, tuple(items if fresh else items[1:]))
        decoded = spent(lambda: history.add(replay.feed(frame)))  # noqa: B023
        window = history.window(replay.host.evidence)
        assert window is not None
        judged = spent(lambda: diagnosis.add(window))  # noqa: B023
        if SETTLED <= sample < SETTLED + sizes.samples:
            took["child"].append(child)
            took["json"].append(spent(lambda: [json.loads(body) for body in bodies]))  # noqa: B023
            if fresh:
                took["all_new"].append(decoded + judged)
            else:
                took["decoded"].append(decoded)
                took["judged"].append(judged)
        resident.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024)
    half = resident[len(resident) // 2 :]
    middle = len(half) // 2
    growth = (mean(half[middle:]) - mean(half[:middle])) / max(middle, 1)
    print(json.dumps({name: round(mean(values), 1) for name, values in took.items()} | {
        "bytes": size, "samples": len(resident), "growth": round(growth, 2), "resident": resident[-1],
        "findings": len(diagnosis.now.findings),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
