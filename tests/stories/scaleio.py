"""The ScaleIO stories: what a gateway tells of the clusters, and the node from which it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.nodes.system import Node, Shape
from tests.stories.archive import Archive
from tests.stories.scene import Stories

KIB = 1024
DISK = 1_800_000_000_000
"""Bytes of a disk of 1.8 TB."""
_STARTED = 1_795_359_600.0
_STEP = 10.0
_ASK = "/http/GET__api_instances"
_COUNT = "/http/POST__api_instances_querySelectedStatistics"


def text(said: Any) -> str:
    return json.dumps(said, indent=1) + "\n"


def bwc(rate: float, size: float, seconds: int = 1) -> dict[str, int]:
    """Return what a gateway says of so many operations a second of so many bytes each."""
    return {
        "numSeconds": seconds, "numOccured": round(rate * seconds),
        "totalWeightInKb": round(rate * seconds * size / KIB),
    }  # fmt: skip


def latency(rate: float, seconds: float) -> dict[str, int]:
    """Return a latency in the shape of a Bwc: its weight are microseconds."""
    return {"numSeconds": 1, "numOccured": round(rate), "totalWeightInKb": round(rate * seconds * 1e6)}


NOTHING = {"numSeconds": 0, "numOccured": 0, "totalWeightInKb": 0}


def manager(number: int, version: str, role: str = "Manager") -> dict[str, Any]:
    name = f"mdm{number}" if role == "Manager" else f"tb{number}"
    return {
        "id": f"5ec3c8b17ce02e{number:02x}", "name": name, "ips": [f"10.20.0.{10 + number}"],
        "managementIPs": [f"10.1.0.{10 + number}"], "port": 9011, "role": role, "status": "Normal",
        "versionInfo": version,
    }  # fmt: skip


def system(name: str, ident: str, version: str) -> dict[str, Any]:
    master = manager(1, version)
    del master["status"]  # 2.6 says none of the master
    return {
        "id": ident, "name": name, "systemVersionName": f"DellEMC ScaleIO Version: {version}", "installId": "1f" * 8,
        "capacityAlertHighThresholdPercent": 80, "capacityAlertCriticalThresholdPercent": 90,
        "capacityTimeLeftInDays": "Unlimited", "maxCapacityInGb": "Unlimited",
        "mdmCluster": {
            "id": "5302483491453710272", "clusterMode": "ThreeNodes", "clusterState": "ClusteredNormal",
            "goodNodesNum": 3, "goodReplicasNum": 2, "master": master, "slaves": [manager(2, version)],
            "tieBreakers": [manager(3, version, "TieBreaker")],
        },
    }  # fmt: skip


def pool(ident: str, name: str, domain: str, **more: Any) -> dict[str, Any]:
    return {
        "id": ident, "name": name, "protectionDomainId": domain, "sparePercentage": 25, "zeroPaddingEnabled": False,
        "useRmcache": False, "rmcacheWriteHandlingMode": "Passthrough", "useRfcache": False, "checksumEnabled": False,
        "capacityAlertHighThreshold": 80, "capacityAlertCriticalThreshold": 90, "rebuildEnabled": True,
        "rebalanceEnabled": True, "numOfParallelRebuildRebalanceJobsPerDevice": 2,
        "rebuildIoPriorityPolicy": "limitNumOfConcurrentIos", "rebuildIoPriorityNumOfConcurrentIosPerDevice": 1,
        "rebuildIoPriorityBwLimitPerDeviceInKbps": 10240, "rebalanceIoPriorityPolicy": "favorAppIos",
        "rebalanceIoPriorityNumOfConcurrentIosPerDevice": 1, "rebalanceIoPriorityBwLimitPerDeviceInKbps": 10240,
    } | more  # fmt: skip


def sds(number: int, domain: str, fault_set: str | None, version: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"a1c062b7{number:08x}", "name": f"sds{number:02d}", "protectionDomainId": domain,
        "faultSetId": fault_set, "ipList": [{"ip": f"10.20.0.{100 + number}", "role": "all"}], "port": 7072,
        "sdsState": "Normal", "mdmConnectionState": "Connected", "membershipState": "Joined",
        "maintenanceState": "NoMaintenance", "rmcacheEnabled": False, "rmcacheSizeInKb": 131072,
        "softwareVersionInfo": version,
    } | more  # fmt: skip


def device(ident: str, node: str, pool_id: str, path: str, now: str, size: int) -> dict[str, Any]:
    return {
        "id": ident, "name": None, "sdsId": node, "storagePoolId": pool_id, "deviceOriginalPathName": path,
        "deviceCurrentPathName": now, "deviceState": "Normal", "errorState": "None",
        "maxCapacityInKb": size // KIB, "capacityLimitInKb": size // KIB,
    }  # fmt: skip


def sdc(number: int, version: str) -> dict[str, Any]:
    return {
        "id": f"6076fd11{number:08x}", "name": None, "sdcIp": f"10.20.0.{200 + number}", "sdcApproved": True,
        "sdcGuid": f"B71F01AE-FF7A-47C5-A303-5A3F000000{number:02X}", "mdmConnectionState": "Connected",
        "osType": "Linux", "softwareVersionInfo": version,
    }  # fmt: skip


def volume(number: int, name: str, pool_id: str, size: int, mappings: list[tuple[int, int, int]]) -> dict[str, Any]:
    """Return a volume of `size` GiB; a mapping is SDC, IOPS and MiB/s, 0 without a limit."""
    return {
        "id": f"993a355d{number:08x}", "name": name, "storagePoolId": pool_id, "sizeInKb": size << 20,
        "volumeType": "ThinProvisioned", "creationTime": 1_574_882_772, "useRmcache": False,
        "mappedSdcInfo": [
            {"sdcId": f"6076fd11{sdc:08x}", "sdcIp": f"10.20.0.{200 + sdc}", "limitIops": iops, "limitBwInMbps": mib}
            for sdc, iops, mib in mappings
        ],
    }  # fmt: skip


class _Cloud:
    """12 SDS of 4 disks in four fault sets; a disk that was lost after a reboot was added again and is being filled."""

    version = "R2_6.11000.113"
    domain, pool_id = "74d855a900000000", "40395b7b00000000"
    disks = 4
    used = 44 << 40
    volumes: tuple[
        tuple[str, int, list[tuple[int, int, int]], float, int], ...
    ] = (  # name, GiB, clients with IOPS and MiB/s, requests a second, bytes of each
        ("canary", 8, [(1, 500, 2)], 498.0, 4096),
        ("web-data", 104, [(1, 500, 26)], 416.0, 65536),
        ("mail-spool", 128, [(2, 500, 32)], 212.0, 16384),
        ("db-log", 104, [(3, 500, 26)], 37.0, 32768),
        ("shared-vmfs", 2048, [(1, 500, 512), (2, 500, 512), (3, 500, 512)], 640.0, 24576),
    )

    def objects(self) -> dict[str, Any]:
        sets = [f"a6a7b4cf{rack:08x}" for rack in range(4)]
        nodes = [sds(n, self.domain, sets[n // 3], self.version) for n in range(12)]
        return {
            "System": system("cloud1", "499634a44778afc0", self.version),
            "protectionDomainList": [
                {"id": self.domain, "name": "pd1", "protectionDomainState": "Active",
                 "rebuildNetworkThrottlingEnabled": False, "rebuildNetworkThrottlingInKbps": None,
                 "rebalanceNetworkThrottlingEnabled": False, "rebalanceNetworkThrottlingInKbps": None}
            ],
            "faultSetList": [
                {"id": ident, "name": f"rack{rack + 1}", "protectionDomainId": self.domain}
                for rack, ident in enumerate(sets)
            ],
            "sdsList": nodes,
            "deviceList": list(self.devices(nodes)),
            "storagePoolList": [pool(self.pool_id, "sas10k", self.domain)],
            "volumeList": [
                volume(n, name, self.pool_id, size, mappings)
                for n, (name, size, mappings, _, _) in enumerate(self.volumes)
            ],
            "sdcList": [sdc(n, self.version) for n in range(1, 4)],
            "rfcacheDeviceList": None,
            "sessionTag": 19,
            "isDirty": False,
        }  # fmt: skip

    def devices(self, nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for n, node in enumerate(nodes):
            for slot in range(self.disks):
                path = f"/dev/sd{'bcde'[slot]}"
                now = "/dev/sdf" if (n, slot) == (7, 3) else path  # it came back under another name
                yield device(f"ebbd{n:04x}{slot:08x}", node["id"], self.pool_id, path, now, DISK)

    def numbers(self, elapsed: float) -> dict[str, Any]:
        capacity = 12 * self.disks * DISK
        rate = 10240 * KIB
        left = DISK - round(rate * elapsed)
        sums = {
            "maxCapacityInKb": capacity // KIB, "capacityLimitInKb": capacity // KIB,
            "capacityInUseInKb": self.used // KIB, "spareCapacityInKb": capacity // KIB // 4,
            "degradedHealthyCapacityInKb": 0, "degradedFailedCapacityInKb": 0, "failedCapacityInKb": 0,
        }  # fmt: skip
        wobble = 1 + 0.01 * ((elapsed / _STEP) % 3 - 1)
        rates = {
            f"993a355d{n:08x}": {
                "userDataReadBwc": bwc(0.45 * self._now(n, rate_, wobble), size),
                "userDataWriteBwc": bwc(0.55 * self._now(n, rate_, wobble), size),
            }
            for n, (_, _, _, rate_, size) in enumerate(self.volumes)
        }
        moving = {
            **{f"{state}{kind}RebuildCapacityInKb": 0
               for kind in ("Fwd", "Bck", "Norm") for state in ("pending", "active")},
            **{f"{kind}RebuildWriteBwc": NOTHING for kind in ("fwd", "bck", "norm")},
            "pendingRebalanceCapacityInKb": left // KIB - 131072, "activeRebalanceCapacityInKb": 131072,
            "rebalanceWriteBwc": bwc(10, 1 << 20, 5),
        }  # fmt: skip
        total = {
            way: {"numSeconds": 1} | {
                key: sum(row[way][key] for row in rates.values()) for key in ("numOccured", "totalWeightInKb")
            }
            for way in ("userDataReadBwc", "userDataWriteBwc")
        }  # fmt: skip
        devices = {
            f"ebbd{n:04x}{slot:08x}": {
                "maxCapacityInKb": DISK // KIB,
                "capacityInUseInKb": (0 if (n, slot) == (7, 3) else self.used // 47) // KIB,
                "avgReadLatencyInMicrosec": 7900 + 13 * n + slot, "avgWriteLatencyInMicrosec": 2100 + 7 * n + slot,
                "activeMovingInRebalanceJobs": 2 if (n, slot) == (7, 3) else 0, "activeMovingInFwdRebuildJobs": 0,
                "activeMovingInBckRebuildJobs": 0, "activeMovingInNormRebuildJobs": 0,
            }
            for n in range(12) for slot in range(self.disks)
        }  # fmt: skip
        return {
            "System": sums | total,
            "StoragePool": {self.pool_id: sums | total | moving},
            "Device": devices,
            "Volume": rates,
            "Sdc": {},
        }

    def _now(self, number: int, rate: float, wobble: float) -> float:
        """Return a rate now: what is held by a limit does not vary."""
        return rate if number < 2 else rate * wobble

    def write(self, path: Path) -> None:
        """Write the capture: it was taken on sds07, whose disk it is."""
        archive = Archive(path, "sds07", taken=_STARTED, monotonic=88_204.0)
        node = Node(Shape("sds07"), _STARTED)
        for step in range(13):
            elapsed = step * _STEP
            files = node.files(elapsed) | {_COUNT: text(self.numbers(elapsed))}
            if not step:
                files |= {_ASK: text(self.objects()), **_disks("10.20.0.107")}
            archive.add(files, elapsed)
        archive.finish()


def _disks(address: str) -> Mapping[str, str]:
    """Return the files of a node with a system disk and four others, the last of them under a new name."""
    files = {
        "/proc/net/fib_trie": (
            "Main:\n  +-- 0.0.0.0/0 3 0 5\n     +-- 10.20.0.0/24 2 0 2\n"
            f"        |-- {address}\n           /32 host LOCAL\n"
            "     +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.1\n           /32 host LOCAL\n"
        ),
        "/etc/fstab": (
            "UUID=2f0b9c1e-7a44-4f0e-9d55-0a1d2c3b4e5f / ext4 errors=remount-ro 0 1\n/dev/sda2 none swap sw 0 0\n"
        ),
    }
    for number, name in enumerate(("sda", "sdb", "sdc", "sdd", "sdf")):
        minor = 16 * "abcdef".index(name[2])
        files |= {
            f"/sys/block/{name}/dev": f"8:{minor}\n",
            f"/sys/block/{name}/size": f"{DISK // 512}\n",
            f"/sys/block/{name}/queue/rotational": "1\n",
            f"/sys/block/{name}/device/model": "ST1800MM0018\n",
            f"/run/udev/data/b8:{minor}": (
                f"S:disk/by-path/pci-0000:02:00.0-scsi-0:2:{number}:0\nE:ID_MODEL=ST1800MM0018\nE:ID_BUS=scsi\n"
            ),
        }
    return files


class _FourNodes:
    """Four nodes of NVMe: one client has all for itself, then four work on four nodes."""

    version = "R3_6.200.105"
    domain, pool_id = "74d855a900000001", "40395b7b00000001"
    single, gain, outstanding = 93_500.0, 1.22, 80
    size = 3_200_631_791_616

    def objects(self) -> dict[str, Any]:
        nodes = [sds(n, self.domain, None, self.version, rmcacheEnabled=True) for n in range(1, 5)]
        devices = [
            device(f"f7fd{n:04x}{slot:08x}", node["id"], self.pool_id, path, path, self.size) | {"mediaType": "SSD"}
            for n, node in enumerate(nodes) for slot in range(4)
            for path in [f"/dev/disk/by-id/nvme-SAMSUNG_MZWLL3T2HAJQ_S4CCNF0M{n}{slot:02d}417"]
        ]  # fmt: skip
        return {
            "System": system("flash4", "1fcf40fc60c6520f", self.version),
            "protectionDomainList": [{"id": self.domain, "name": "pd1", "protectionDomainState": "Active"}],
            "faultSetList": None,
            "sdsList": nodes,
            "deviceList": devices,
            "storagePoolList": [
                pool(self.pool_id, "nvme", self.domain, zeroPaddingEnabled=True, useRmcache=True, mediaType="SSD")
            ],
            "volumeList": [volume(n, f"bench{n}", self.pool_id, 512, [(n, 0, 0)]) for n in range(1, 5)],
            "sdcList": [sdc(n, self.version) for n in range(1, 5)],
            "sessionTag": 3,
            "isDirty": False,
        }

    def numbers(self, step: int) -> dict[str, Any]:
        together = step >= 7
        each = self.single * self.gain / 4 if together else self.single
        each *= 1 + 0.004 * (step % 3 - 1)
        clients, volumes = {}, {}
        for n in range(1, 5):
            rate = each if together or n == 1 else 0.0
            wait = self.outstanding / rate if rate else 0.0
            said = {
                "userDataReadBwc": bwc(rate, 4096), "userDataWriteBwc": bwc(0, 0),
                "userDataSdcReadLatency": latency(rate, wait), "userDataSdcWriteLatency": latency(0, 0),
            }  # fmt: skip
            clients[f"6076fd11{n:08x}"] = said
            volumes[f"993a355d{n:08x}"] = said
        capacity = 16 * self.size // KIB
        sums = {
            "maxCapacityInKb": capacity, "capacityLimitInKb": capacity, "capacityInUseInKb": capacity // 10,
            "spareCapacityInKb": capacity // 4, "degradedHealthyCapacityInKb": 0, "degradedFailedCapacityInKb": 0,
            "failedCapacityInKb": 0, "userDataReadBwc": bwc(each * (4 if together else 1), 4096),
            "userDataWriteBwc": bwc(0, 0),
        }  # fmt: skip
        return {"System": sums, "StoragePool": {self.pool_id: sums}, "Volume": volumes, "Sdc": clients}

    def write(self, path: Path) -> None:
        """Write the capture: it was taken beside the cluster, where only the gateway was asked."""
        archive = Archive(path, "ops1", taken=_STARTED, monotonic=12_004.0)
        for step in range(14):
            files = {_COUNT: text(self.numbers(step))} | ({_ASK: text(self.objects())} if not step else {})
            archive.add(files, step * _STEP)
        archive.finish()


class _Tight(_Cloud):
    """The cloud later on: a manager is gone, the spare was lowered to gain room, and the room is used up."""

    used = 58 << 40
    spare = 0.1
    waiting = 3
    """The volume that gets less than its limit allows, though it asks for more."""
    rate, wait = 120.0, 0.26
    volumes = (
        ("canary", 8, [(1, 500, 2)], 210.0, 4096),
        ("web-data", 104, [(1, 500, 26), (2, 0, 0)], 310.0, 32768),
        ("mail-spool", 128, [(2, 500, 32)], 212.0, 16384),
        ("db-log", 104, [(3, 500, 26)], 120.0, 32768),
    )

    def objects(self) -> dict[str, Any]:
        said = super().objects()
        said["System"]["mdmCluster"] |= {"clusterState": "ClusteredDegraded", "goodNodesNum": 2, "goodReplicasNum": 1}
        said["System"]["mdmCluster"]["slaves"][0]["status"] = "Disconnected"
        said["storagePoolList"][0]["sparePercentage"] = round(100 * self.spare)
        return said

    def numbers(self, elapsed: float) -> dict[str, Any]:
        said = super().numbers(elapsed)
        for row in (said["System"], said["StoragePool"][self.pool_id]):
            row["spareCapacityInKb"] = round(row["maxCapacityInKb"] * self.spare)
        for row in said["Device"].values():  # full disks seek far
            row["avgReadLatencyInMicrosec"] *= 8
            row["avgWriteLatencyInMicrosec"] *= 20
        rate = self._now(self.waiting, self.rate, 1 + 0.01 * ((elapsed / _STEP) % 3 - 1))
        said["Volume"][f"993a355d{self.waiting:08x}"] |= {
            "userDataSdcReadLatency": latency(0.45 * rate, self.wait),
            "userDataSdcWriteLatency": latency(0.55 * rate, self.wait),
        }
        return said


class _Roomy(_FourNodes):
    """Four nodes that give four clients nearly four times as much as one, each below a limit of its own."""

    gain = 3.9
    limit = 100_000

    def objects(self) -> dict[str, Any]:
        said = super().objects()
        for node in said["sdsList"]:
            node["rmcacheEnabled"] = False
        said["storagePoolList"][0]["useRmcache"] = False
        said["volumeList"] = [volume(n, f"bench{n}", self.pool_id, 512, [(n, self.limit, 0)]) for n in range(1, 5)]
        return said


STORIES: Stories = {
    "scaleio-cloud": _Cloud, "scaleio-4node": _FourNodes, "scaleio-tight": _Tight, "scaleio-roomy": _Roomy,
}  # fmt: skip
