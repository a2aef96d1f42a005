"""What a gateway's answers and scli's text become."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.powerflex.cluster import SCALEIO
from sdstop.collectors.powerflex.objects import QUERY, latency, number, objects, rates, statistics
from sdstop.collectors.powerflex.readings import Gateway, ScaleioPool
from sdstop.collectors.powerflex.scli import parse
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Failed, Malformed
from sdstop.core.model import Reading, Rows
from sdstop.readings.cluster import (
    Cluster,
    ClusterClient,
    ClusterDevice,
    ClusterNode,
    ClusterPool,
    ClusterVolume,
    FailureDomain,
)
from sdstop.readings.limit import Limit
from sdstop.readings.rebuild import Rebuild
from tests.stories.scaleio import _Cloud, _FourNodes

R = TypeVar("R", bound=Reading)
MIB = 1 << 20


def host(said: Any, numbers: Any = None, **files: str) -> EvidenceHost:
    """Return a node from which a gateway was asked; names of files are paths with `__` for a slash."""
    known = {"http-slug:GET__api_instances": json.dumps(said)}
    if numbers is not None:
        known["http-slug:POST__api_instances_querySelectedStatistics"] = json.dumps(numbers)
    return EvidenceHost.of(known | {name.replace("__", "/"): text for name, text in files.items()})


def rows(of: EvidenceHost, family: type[R]) -> list[R]:
    return [row for row in SCALEIO.read(of) if isinstance(row, family)]


def cloud(elapsed: float = 0.0, **files: str) -> EvidenceHost:
    return host(_Cloud().objects(), _Cloud().numbers(elapsed), **files)


# --- numbers ------------------------------------------------------------------------------------------------


def test_a_bwc_is_over_its_own_seconds() -> None:
    said = {"a": {"numSeconds": 5, "totalWeightInKb": 20480, "numOccured": 160}, "b": {"numSeconds": 0}, "c": None}
    assert rates(said, "a") == (32.0, 4 * MIB)
    assert rates(said, "b") == (None, None)
    assert rates({"z": {"numSeconds": 0, "totalWeightInKb": 0, "numOccured": 0}}, "z") == (0.0, 0.0)
    assert rates(said, "c") == rates(said, "d") == (None, None)


def test_a_latency_is_microseconds_of_each() -> None:
    assert latency({"a": {"numSeconds": 1, "totalWeightInKb": 64000, "numOccured": 2}}, "a") == 0.032
    assert latency({"a": {"numSeconds": 1, "totalWeightInKb": 0, "numOccured": 0}}, "a") is None


@pytest.mark.parametrize(("value", "meant"), [
    (3, 3.0), ("4", 4.0), (2.5, 2.5), ("Infinity", None), ("Unlimited", None), (None, None), (True, None), ("", None),
    ("nan", None), (float("inf"), None), (10**400, None),
])  # fmt: skip
def test_numbers_may_be_anything(value: Any, meant: float | None) -> None:
    assert number(value) == meant


# --- objects ------------------------------------------------------------------------------------------------


def test_the_system_and_its_managers() -> None:
    (found,) = rows(cloud(), Cluster)
    assert (found.cluster, found.version, found.state, found.healthy) == (
        "cloud1", "ScaleIO R2_6.11000.113", "ClusteredNormal", 1
    )  # fmt: skip
    assert (found.managers, found.managers_up, found.replicas, found.tolerates, found.epoch) == (3, 3, 2, 1, 19)
    assert (found.nodes, found.nodes_up, found.leader) == (12, 12, "mdm1")
    managers = [node for node in rows(cloud(), ClusterNode) if node.role != "sds"]
    assert [(node.role, node.node, node.state, node.leads) for node in managers] == [
        ("mdm", "mdm1", "Normal", True), ("mdm", "mdm2", "Normal", False), ("tiebreaker", "tb3", "Normal", False)
    ]  # fmt: skip


@pytest.mark.parametrize(("more", "healthy", "tolerates"), [
    ({"clusterState": "ClusteredNormal", "clusterMode": "FiveNodes", "goodNodesNum": 5, "goodReplicasNum": 3}, 1, 2),
    ({"clusterState": "ClusteredDegraded", "clusterMode": "FiveNodes", "goodNodesNum": 4, "goodReplicasNum": 2}, 0, 1),
    ({"clusterState": "ClusteredDegraded", "clusterMode": "ThreeNodes", "goodNodesNum": 2, "goodReplicasNum": 1}, 0, 0),
    ({"clusterState": "NotClustered", "clusterMode": "SingleNode", "goodNodesNum": 1, "goodReplicasNum": 1}, 1, 0),
    ({"clusterState": "ClusteredNormal", "clusterMode": "ThreeNodes", "goodNodesNum": 2, "goodReplicasNum": 2}, 0, 0),
    ({"clusterMode": "ThreeNodes"}, None, None),
])  # fmt: skip
def test_how_many_managers_may_go(more: Mapping[str, Any], healthy: int | None, tolerates: int | None) -> None:
    said = {"System": {"id": "1", "mdmCluster": more}}
    (found,) = rows(host(said), Cluster)
    assert (found.healthy, found.tolerates) == (healthy, tolerates)


@pytest.mark.parametrize(("state", "healthy", "up", "tolerates"), [
    ("ClusteredNormal", 1, 3, 1), ("ClusteredDegraded", 0, 2, 0), ("ClusteredTiebreakerDown", 0, 2, 0),
    ("ClusteredDegradedTiebreakerDown", 0, 1, 0),
])  # fmt: skip
def test_1_32_tells_its_managers_flat(state: str, healthy: int, up: int, tolerates: int) -> None:
    (found,) = rows(host({"System": {"id": "1", "mdmMode": "Cluster", "mdmClusterState": state}}), Cluster)
    assert (found.healthy, found.managers, found.managers_up, found.tolerates) == (healthy, 3, up, tolerates)


def test_fault_sets_and_nodes_without_one_are_failure_domains() -> None:
    said = _Cloud().objects()
    said["sdsList"][11]["faultSetId"] = None
    found = {row.domain: row for row in rows(host(said, _Cloud().numbers(0.0)), FailureDomain)}
    disk = 1_800_000_000_000
    assert {name: (row.of, row.nodes, row.devices) for name, row in found.items()} == {
        "rack1": ("fault set", 3, 12), "rack2": ("fault set", 3, 12), "rack3": ("fault set", 3, 12),
        "rack4": ("fault set", 2, 8), "sds11": ("node", 1, 4),
    }  # fmt: skip
    assert found["rack1"].capacity == 12 * disk
    (pool,) = rows(host(said, _Cloud().numbers(0.0)), ClusterPool)
    assert (pool.domains, pool.largest, pool.largest_domain) == (5, 12 * disk, "rack1")


def test_a_pool_is_filled_as_its_alerts_count() -> None:
    (pool,) = rows(cloud(), ClusterPool)
    assert pool.capacity is not None
    assert pool.spare == pool.capacity // 4
    assert pool.filled == pytest.approx((44 << 40) / (pool.capacity * 0.75))
    assert (pool.near_full, pool.full, pool.spare_ratio) == (0.8, 0.9, 0.25)


def test_without_numbers_nothing_is_made_up() -> None:
    (pool,) = rows(host(_Cloud().objects()), ClusterPool)
    assert (pool.used, pool.filled, pool.degraded, pool.reads) == (None, None, None, None)
    assert pool.capacity == 48 * 1_800_000_000_000  # by its devices
    assert pool.spare == pool.capacity // 4  # as it is set
    assert rows(host(_Cloud().objects()), Rebuild) == []


def test_states_are_compared_as_whole_words() -> None:
    said = _Cloud().objects()
    said["sdsList"][3] |= {"mdmConnectionState": "Disconnected", "membershipState": "Decoupled"}
    said["sdsList"][4]["maintenanceState"] = "InMaintenance"
    nodes = {row.node: row for row in rows(host(said), ClusterNode)}
    assert (nodes["sds03"].state, nodes["sds03"].healthy) == ("Disconnected, Decoupled", 0)
    assert (nodes["sds04"].healthy, nodes["sds04"].maintenance) == (1, "InMaintenance")
    assert rows(host(said), Cluster)[0].nodes_up == 11
    said["deviceList"][0]["errorState"] = "IoError"
    device = rows(host(said), ClusterDevice)[0]
    assert (device.state, device.healthy) == ("IoError", 0)


def test_a_rebuild_has_its_policy_and_the_most_that_this_allows() -> None:
    (row,) = rows(cloud(60.0), Rebuild)
    assert (row.array, row.operation, row.state, row.kind) == ("cloud1/sas10k", "rebalance", "running", "powerflex")
    assert row.total is not None
    assert row.done is not None
    assert row.total - row.done == pytest.approx(1_800_000_000_000 - 60 * 10 * MIB, abs=2048)
    assert (row.speed, row.speed_max) == (10 * MIB, 10 * MIB)  # one device receives
    assert row.remaining == pytest.approx(47.7 * 3600, rel=0.002)
    assert row.limited_by is not None
    assert "10240 KB/s a device, 1 concurrent I/O a device, 1 receiving device" in row.limited_by


@pytest.mark.parametrize(("name", "operation"), [
    ("Fwd", "forward rebuild"), ("Bck", "backward rebuild"), ("Norm", "rebuild")
])  # fmt: skip
def test_each_kind_of_rebuild_is_told_apart(name: str, operation: str) -> None:
    said, numbers = _Cloud().objects(), _Cloud().numbers(0.0)
    pool = numbers["StoragePool"]["40395b7b00000000"]
    pool |= {f"pending{name}RebuildCapacityInKb": 4096, f"active{name}RebuildCapacityInKb": 1024}
    found = {row.operation: row for row in rows(host(said, numbers), Rebuild)}
    assert set(found) == {operation, "rebalance"}
    row = found[operation]
    assert row.total is not None
    assert row.done is not None
    assert row.total - row.done == 5 * MIB
    assert row.speed_max is None  # its policy limits concurrent I/Os, not bytes
    said["storagePoolList"][0]["rebuildEnabled"] = False
    assert {row.operation: row.state for row in rows(host(said, numbers), Rebuild)}[operation] == "paused"


def test_the_throttle_of_the_domain_bounds_it_too() -> None:
    said, numbers = _Cloud().objects(), _Cloud().numbers(0.0)
    said["protectionDomainList"][0] |= {
        "rebalanceNetworkThrottlingEnabled": True, "rebalanceNetworkThrottlingInKbps": 512
    }  # fmt: skip
    assert rows(host(said, numbers), Rebuild)[0].speed_max == 12 * 512 * 1024


# --- volumes ------------------------------------------------------------------------------------------------


def test_limits_are_of_each_mapping() -> None:
    found = {(row.volume, row.owner): row for row in rows(cloud(), Limit)}
    web = found["web-data", "10.20.0.201"]
    assert (web.limited, web.iops, web.bandwidth) == ("both", 500.0, 26 * MIB)
    assert web.requests_rate == pytest.approx(416, abs=1)
    assert web.bytes_rate == pytest.approx(26 * MIB, rel=0.01)
    shared = [row for (volume, _), row in found.items() if volume == "shared-vmfs"]
    assert [row.sharers for row in shared] == [3, 3, 3]


def test_what_is_not_told_of_a_limit_is_no_missing_limit() -> None:
    said = _Cloud().objects()
    for volume in said["volumeList"]:
        for mapping in volume["mappedSdcInfo"]:
            del mapping["limitIops"], mapping["limitBwInMbps"]  # as 4.5 may
    assert {(row.limited, row.iops) for row in rows(host(said), Limit)} == {(None, None)}
    said["volumeList"][0]["mappedSdcInfo"] = [{"sdcId": "6076fd1100000001", "limitIops": 0, "limitBwInMbps": 0}]
    said["volumeList"][1]["mappedSdcInfo"] = None
    found = {row.volume: row.limited for row in rows(host(said), Limit)}
    assert found["canary"] == "none"
    assert "web-data" not in found


TRIE = "Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- {}\n           /32 host LOCAL\n"


def test_on_a_client_its_own_device_carries_the_limit() -> None:
    of = cloud(__proc__net__fib_trie=TRIE.format("10.20.0.201"))
    known = {"link:/dev/disk/by-id/emc-vol-499634a44778afc0-993a355d00000001": "../../scinia",
             "link:/dev/disk/by-id/emc-vol-499634a44778afc0-993A355D00000004": "../../scinib"}  # fmt: skip
    of.apply(EvidenceHost.of(known).state.values())
    limits = {(row.volume, row.owner): row for row in rows(of, Limit)}
    web = limits["web-data", "10.20.0.201"]
    assert (web.device, web.requests_rate) == ("scinia", None)  # the kernel counts it, exactly
    assert limits["shared-vmfs", "10.20.0.201"].device == "scinib"
    assert limits["shared-vmfs", "10.20.0.202"].device is None
    assert {row.volume: row.local for row in rows(of, ClusterVolume)}["web-data"] == "scinia"
    assert [row.client for row in rows(of, ClusterClient) if row.local] == ["10.20.0.201"]


def test_on_a_storage_node_its_devices_are_its_own() -> None:
    of = cloud(__proc__net__fib_trie=TRIE.format("10.20.0.107"))
    found = [row for row in rows(of, ClusterDevice) if row.local is not None]
    assert [(row.node, row.local) for row in found] == [("sds07", f"sd{letter}") for letter in "bcdf"]
    assert [row.node for row in rows(of, ClusterNode) if row.local] == ["sds07"]


# --- the gateway --------------------------------------------------------------------------------------------

STALE = {"gateway": "gw1:443", "state": "stale", "age": 47.2, "trouble": "gw1:443 refuses connections"}


def test_what_is_stale_is_called_so_and_shows_no_rates_of_limits() -> None:
    of = cloud()
    of.apply(EvidenceHost.of({"answer:powerflex.gateway": json.dumps(STALE)}).state.values())
    found = list(SCALEIO.read(of))
    assert [(row.gateway, row.state, row.age) for row in found if isinstance(row, Gateway)] == [
        ("gw1:443", "stale", 47.2)
    ]
    assert {row.requests_rate for row in found if isinstance(row, Limit)} == {None}
    assert {row.state for row in found if isinstance(row, Rebuild)} == {"stale"}
    assert SCALEIO.lacks is not None
    tables: dict[type[Reading], Rows] = {Gateway: {row.gateway: row for row in found if isinstance(row, Gateway)}}
    assert SCALEIO.lacks(tables) == "stale, this is of 47 s ago: gw1:443 refuses connections"


@pytest.mark.parametrize("said", ["[]", "{}", '"token"', "null", "{", '{"System": 3}', "<html>"])
def test_what_is_no_answer_is_malformed(said: str) -> None:
    with pytest.raises(Malformed):
        list(SCALEIO.read(EvidenceHost.of({"http:GET /api/instances": said})))


def test_a_recorded_refusal_is_a_failure() -> None:
    of = cloud()
    of.state["http-slug:GET__api_instances"] = of.state["http-slug:GET__api_instances"].__class__(
        "http-slug:GET__api_instances", data=b"<html>", exit=503
    )
    with pytest.raises(Failed, match="503"):
        list(SCALEIO.read(of))


def test_without_a_gateway_the_source_is_absent() -> None:
    with pytest.raises(Absent) as absent:
        list(SCALEIO.read(EvidenceHost()))
    assert not absent.value.recorded


def test_objects_by_type_serve_as_well() -> None:
    said = _FourNodes().objects()
    known = {"http-slug:GET__api_types_System_instances": json.dumps([said["System"]]),
             "http-slug:GET__api_types_Sds_instances": json.dumps(said["sdsList"])}  # fmt: skip
    of = EvidenceHost.of(known)
    assert [row.cluster for row in rows(of, Cluster)] == ["flash4"]
    assert len([row for row in rows(of, ClusterNode) if row.role == "sds"]) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted(
    {key for lists in _Cloud().objects().values() if isinstance(lists, list) for row in lists for key in row}
    | set(_Cloud().objects()["System"]) | set(_Cloud().objects()["System"]["mdmCluster"])
)  # fmt: skip


@given(st.sampled_from(sorted(_Cloud().objects())), st.sampled_from(FIELDS), JSON, JSON)
def test_no_answer_raises_anything_but_malformed(part: str, name: str, value: Any, numbers: Any) -> None:
    said = _FourNodes().objects()
    rows_of = said.get(part)
    if isinstance(rows_of, list) and rows_of:
        rows_of[0][name] = value
    elif isinstance(rows_of, dict):
        rows_of[name] = value
        rows_of["mdmCluster"] = {name: value} if isinstance(rows_of.get("mdmCluster"), dict) else value
    else:
        said[part] = value
    counted = {"StoragePool": {"40395b7b00000001": {name: numbers}}, "Volume": numbers, "System": numbers}
    with contextlib.suppress(Malformed):
        assert list(SCALEIO.read(host(said, counted)))


@given(JSON)
def test_no_json_breaks_the_decoders(said: Any) -> None:
    for decode in (objects, statistics):
        with contextlib.suppress(Malformed):
            decode(said)


def test_the_question_names_each_property_once() -> None:
    for entry in QUERY["selectedStatisticsList"]:
        assert len(set(entry["properties"])) == len(entry["properties"])


# --- scli ---------------------------------------------------------------------------------------------------

QUERY_CLUSTER = """Cluster:
    Mode: 3_node, State: Degraded, Active: 2/3, Replicas: 1/2
    Virtual IPs: N/A
Master MDM:
    Name: node-a, ID: 0x028f4e581a749942
        IPs: 10.9.0.1, 10.8.0.1, Management IPs: 10.1.0.1, Port: 9011, Virtual IP interfaces: N/A
        Version: 2.6.11000
Slave MDMs:
    Name: node-b, ID: 0x1402b04f3ad359c1
        IPs: 10.9.0.2, Management IPs: 10.1.0.2, Port: 9011
        Status: Disconnected, Version: N/A
Tie-Breakers:
    ID: 0x69dd57a10fa1c7b2
        IP Addresses: 10.9.0.3, Port: 9011
        Status: Normal, Version: 2.6.11000
"""
QUERY_ALL = """System Info:
\tProduct:  EMC ScaleIO Version: R1_32.402.1
\tID:      5267f11a3b9d8195

Query all returned 1 Protection Domain:
Protection Domain pd1 (Id: ed5448c100000001) has 1 storage pools, 0 Fault Sets, 3 SDS nodes, 1 volumes

Storage Pool sata (Id: 92fd353300000001) has 1 volumes and 112.0 GB (114688 MB) available for volume allocation
\tThe number of parallel rebuild/rebalance jobs: 2
\tRebuild is enabled and using Limit-Concurrent-IO policy with the following parameters:
\t Number of concurrent IOs per device: 1
\tRebalance is enabled and using Favor-Application-IO policy with the following parameters:
\t Number of concurrent IOs per device: 1, Bandwidth limit per device: 10240 KB per second
\tZero padding is disabled
\tSpare policy: 10% out of total
\tUses RAM Read Cache
\tRAM Read Cache write handling mode is 'passthrough'

SDS Summary:
\tTotal 3 SDS Nodes
\t300.0 GB (307200 MB) total capacity
\t30.0 GB (30720 MB) spare capacity
\t216.0 GB (221184 MB) in-use capacity
\t4.0 GB (4096 MB) degraded-healthy capacity
\t3.0 GB (3072 MB) pending fwd-rebuild capacity
\t1.0 GB (1024 MB) active fwd-rebuild capacity

\tForward-rebuild-writes                   20 IOPS 20.0 MB (20480 KB) per-second
"""
PROPERTIES = """SYSTEM 5914d6b47d479d5b:
        ID                                                 5914d6b47d479d5b
        NAME                                               N/A

STORAGE_POOL 59c7748300000001:
        NAME                                               pool01
        SPARE_PERCENT                                      34%
        USE_RMCACHE                                        Yes
        MAX_CAPACITY_IN_KB                                 65.5 TB (67059 GB)

SDS 275ac7ba00000001:
        NAME                                               sds-1
        IPS                                                192.168.56.121,192.168.57.121
        DEVICE_ID_LIST                                     8f82eaa000010000
        FAULT_SET_ID                                       0000000000000000
        MDM_CONNECTION_STATE                               MDM_DISCONNECTED
        MEMBERSHIP_STATE                                   JOINED
        RMCACHE_SIZE                                       96.0 GB (98304 MB)

DEVICE 8f82eaa000010000:
        ORIGINAL_PATH                                      /dev/sdb
        STORAGE_POOL_ID                                    59c7748300000001
        STATE                                              DEVICE_NORMAL
        ERR_STATE                                          NO_ERROR

VOLUME 823491ba00000001:
        NAME                                               volume-1
        SIZE                                               8.0 GB (8192 MB)
        TYPE                                               THIN_PROVISIONED
        STORAGE_POOL_ID                                    59c7748300000001
        TYPE                                               THIN_PROVISIONED
        MAPPED_SDC_ID_LIST                                 f0d91c5c00000001,f0d91c5c00000002
        USER_DATA_READ_BWC                                 4 IOPS 7.0 KB (7168 Bytes) per-second
"""


def scli(**texts: str) -> EvidenceHost:
    return EvidenceHost.of({f"slug:scli_--{name}": text for name, text in texts.items()})


def test_scli_tells_the_managers() -> None:
    of = scli(query_cluster=QUERY_CLUSTER)
    (found,) = rows(of, Cluster)
    assert (found.state, found.healthy, found.managers, found.managers_up, found.tolerates) == ("Degraded", 0, 3, 2, 0)
    assert [(row.node, row.state, row.address) for row in rows(of, ClusterNode)] == [
        ("node-a", "Normal", "10.9.0.1 10.8.0.1"), ("node-b", "Disconnected", "10.9.0.2"),
        ("69dd57a10fa1c7b2", "Normal", "10.9.0.3"),
    ]  # fmt: skip


def test_scli_tells_all() -> None:
    of = scli(query_all=QUERY_ALL)
    (pool,) = rows(of, ClusterPool)
    assert (pool.pool, pool.capacity, pool.spare, pool.degraded) == ("sata", 300 << 30, 30 << 30, 4 << 30)
    assert pool.filled == pytest.approx(0.8)
    (settings,) = rows(of, ScaleioPool)
    assert (settings.zero_padding, settings.rmcache, settings.rebalance_limit) == ("off", "on", 10240 * 1024)
    (row,) = rows(of, Rebuild)
    assert (row.operation, row.speed, row.remaining) == ("forward rebuild", 20 * MIB, 204)


def test_scli_tells_properties() -> None:
    of = scli(query_properties=PROPERTIES, query_cluster=QUERY_CLUSTER)
    (pool,) = rows(of, ClusterPool)
    assert (pool.capacity, pool.spare_ratio) == (67059 << 30, 0.34)
    (device,) = rows(of, ClusterDevice)
    assert (device.node, device.pool, device.original, device.healthy) == ("sds-1", "pool01", "/dev/sdb", 1)
    nodes = {row.node: row for row in rows(of, ClusterNode)}
    assert (nodes["sds-1"].state, nodes["sds-1"].domain) == ("Disconnected", "sds-1")
    assert nodes["sds-1"].address == "192.168.56.121 192.168.57.121"
    (volume,) = rows(of, ClusterVolume)
    assert (volume.size, volume.provisioning, volume.clients, volume.reads) == (8 << 30, "thin", 2, 4.0)
    assert rows(of, Cluster)[0].managers == 3


@given(
    st.text(alphabet=st.sampled_from("ABIDS_ :\t\n(0)%KMG,x"), max_size=200) | st.sampled_from([QUERY_ALL, PROPERTIES]),
    st.integers(0, 900),
)
def test_no_text_breaks_scli(text: str, cut: int) -> None:
    for piece in (text, text[:cut], text[cut:]):
        said, _ = parse(piece)
        assert isinstance(said, dict)
        with contextlib.suppress(Malformed, Absent):
            list(SCALEIO.read(scli(query_all=piece)))
