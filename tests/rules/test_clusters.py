"""The rules on clusters: where each fires, where it must not, and near its threshold."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sdstop.collectors.block.names import DEVICE_NAMES
from sdstop.collectors.drbd.resources import DRBD
from sdstop.collectors.powerflex.cluster import SCALEIO
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Damage, Finding
from sdstop.core.judgement import Judgement
from sdstop.core.session import Session
from sdstop.readings.cluster import ClusterClient, ClusterDevice
from sdstop.rules import RULES
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from tests.nodes.drbd import STATUS, resource, status, syncing
from tests.stories.scaleio import _Cloud, _FourNodes

Change = Callable[[dict[str, Any], dict[str, Any]], None]
OURS = {
    "cluster-degraded", "mdm-no-redundancy", "spare-below-fault-set", "capacity-near-full", "unstable-device-path",
    "zero-padding-off", "rmcache-on-flash", "scaling-poor",
}  # fmt: skip
POOL = "40395b7b00000000"


def _as_it_is(said: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Change nothing."""


def judged(*changes: Change, files: Mapping[str, str] | None = None, of: Any = None) -> Judgement:
    """Return what is said after frames ten seconds apart, one for each change of what the gateway tells."""
    story = of or _Cloud()
    session = Session(Origin("n"), (SCALEIO, DEVICE_NAMES), [rule for rule in RULES if rule.id in OURS])
    for number, change in enumerate(changes or (_as_it_is,), 1):
        said, numbers = copy.deepcopy(story.objects()), copy.deepcopy(story.numbers(0))
        change(said, numbers)
        known = {
            "http:GET /api/instances": json.dumps(said),
            "http:POST /api/instances/querySelectedStatistics": json.dumps(numbers),
            **({} if number > 1 else files or {}),
        }
        evidence = tuple(Evidence(key, data=text.encode()) for key, text in known.items())
        session.feed(Frame(number, 1000.0 + 10 * number, 10.0 * number, evidence))
    return session.head().judgement


def found(of: Judgement, rule: str) -> list[Finding]:
    return [finding for finding in of.findings if finding.rule == rule]


def good(of: Judgement, rule: str) -> list[str]:
    return [said.summary for said in of.ruled_out if said.rule == rule]


# --- cluster-degraded ---------------------------------------------------------------------------------------


def test_a_whole_cluster_is_said_to_be_whole() -> None:
    said = judged()
    assert found(said, "cluster-degraded") == []
    assert good(said, "cluster-degraded") == ["ClusteredNormal, 12 of 12 nodes healthy, all copies present"]


def test_data_with_one_copy_is_critical_and_leads_to_its_evidence() -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        said["sdsList"][3]["mdmConnectionState"] = "Disconnected"
        for row in (numbers["System"], numbers["StoragePool"][POOL]):
            row["degradedHealthyCapacityInKb"] = 3 << 30

    (one,) = found(judged(change), "cluster-degraded")
    assert (one.severity.value, one.subject) == ("critical", "cloud1")
    assert (one.title, one.cause) == ("ONE COPY LEFT: 3 TiB", "3 TiB has a single copy; sds03 is Disconnected.")
    assert one.damage is Damage.REDUNDANCY
    assert any('"mdmConnectionState": "Disconnected"' in cite.excerpt for cite in one.evidence)
    assert any("degradedHealthyCapacityInKb" in cite.excerpt for cite in one.evidence)


@pytest.mark.parametrize(("change", "severity", "words"), [
    (lambda _, numbers: numbers["System"].update(failedCapacityInKb=1024), "critical", "No copy of 1 MiB is"),
    (lambda said, _: said["deviceList"][5].update(errorState="IoError"), "warning",
     "/dev/sdc of sds01 is IoError"),
    (lambda said, _: said["sdsList"][0].update(membershipState="Decoupled"), "warning", "sds00 is Decoupled"),
    (lambda said, _: said["sdsList"][0].update(maintenanceState="InMaintenance"), "info",
     "In maintenance: sds00"),
    (lambda said, _: said["System"]["mdmCluster"].update(clusterState="ClusteredDegraded"), "warning",
     "The cluster reports ClusteredDegraded"),
    (lambda said, _: said["protectionDomainList"][0].update(protectionDomainState="Inactive"), "warning",
     "is Inactive"),
    (lambda _, numbers: next(iter(numbers["StoragePool"].values())).update(failedCapacityInKb=1024), "critical",
     "No copy of 1 MiB is"),
], ids=["failed", "device", "node", "maintenance", "managers", "domain", "failed of a pool"])  # fmt: skip
def test_each_part_that_is_not_well_is_named(change: Change, severity: str, words: str) -> None:
    (one,) = found(judged(change), "cluster-degraded")
    assert one.severity.value == severity
    assert words in one.summary


def test_a_pool_that_does_not_rebuild_cannot_make_up_for_a_loss() -> None:
    off = found(
        judged(lambda said, _: said["storagePoolList"][0].update(rebuildEnabled=False)), "spare-below-fault-set"
    )
    assert any("REBUILD SWITCHED OFF" in one.title for one in off)
    assert not any("REBUILD SWITCHED OFF" in one.title for one in found(judged(), "spare-below-fault-set"))


def test_a_switch_of_the_managers_is_an_event() -> None:
    def switched(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        said["sessionTag"] = 20
        said["System"]["mdmCluster"]["master"]["name"] = "mdm2"

    said = judged(_as_it_is, switched)
    (one,) = found(said, "cluster-degraded")
    assert (one.severity.value, "session 19 -> 20); leader: mdm2" in one.summary) == ("info", True)


def resources(*told: dict[str, Any]) -> Judgement:
    """Return what is said of DRBD resources."""
    session = Session(Origin("n"), (DRBD,), [CLUSTER_DEGRADED])
    known = {"/proc/drbd": "version: 9.2.4 (api:2)\n", STATUS: status(*told), "/proc/sys/kernel/hostname": "store1\n"}
    session.feed(Frame(1, 1000.0, 1.0, tuple(Evidence(key, data=text.encode()) for key, text in known.items())))
    return session.head().judgement


OLD = "version: 8.4.11 (api:1/proto:86-101)\n 0: cs:{}\n"


@pytest.mark.parametrize(
    ("state", "severity", "title"),
    [
        ("Unconfigured", "warning", "NOT CONFIGURED"),
        ("Connected ro:Primary/Secondary ds:Diskless/Diskless C r-----", "critical", "I/O FAILS"),
        ("WFConnection ro:Primary/Unknown ds:Failed/DUnknown C r-----", "critical", "I/O FAILS"),
        ("Connected ro:Secondary/Secondary ds:Inconsistent/Inconsistent C r-----", "warning", None),
        ("StandAlone ro:Secondary/Unknown ds:Outdated/DUnknown r-----", "critical", "NO CURRENT COPY REACHABLE"),
        ("Connected ro:Secondary/Primary ds:Outdated/UpToDate C r-----", "critical", "ONE COPY LEFT"),
        ("Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----", "critical", None),
        ("Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----", None, None),
    ],
)
def test_a_resource_of_version_8_without_data_is_not_whole(state: str, severity: str | None, title: str | None) -> None:
    session = Session(Origin("n"), (DRBD,), [CLUSTER_DEGRADED])
    session.feed(Frame(1, 1000.0, 0.0, (Evidence("/proc/drbd", data=OLD.format(state).encode()),)))
    said = session.head().judgement
    assert [finding.severity.value for finding in said.findings] == ([severity] if severity else [])
    assert title is None or [finding.title for finding in said.findings] == [title]
    assert bool(said.ruled_out) == (severity is None)


@pytest.mark.parametrize(("told", "words"), [
    (resource(state="Connecting", peer_disk="DUnknown"), "20 GiB has a single reachable copy; store2 is"),
    (resource(state="Connecting", peer_disk="DUnknown"), "store2 is DUnknown"),
    (resource(state="Connecting", peer_disk="Outdated"), "20 GiB has a single copy; store2 is Outdated. Another"),
    (syncing(0), "20 GiB has a single copy; store2 is Inconsistent. Another failure can lose"),
    (resource(disk="Diskless"), "20 GiB has a single copy; store1 is Diskless. Another failure can lose this data."),
    (resource(disk="Inconsistent", replication="SyncTarget", out_of_sync=4), "4 KiB has a single copy"),
], ids=["away", "unknown", "outdated", "resync", "lost its disk", "target"])  # fmt: skip
def test_the_last_good_copy_of_a_resource_is_critical_as_an_array_without_redundancy_is(
    told: dict[str, Any], words: str
) -> None:
    (one,) = found(resources(told), "cluster-degraded")
    assert (one.severity.value, one.subject) == ("critical", "r0")
    assert words in one.summary
    assert any("Do not touch other nodes or disks" in advice for advice in one.steps)


def three(*peers: str, **changes: Any) -> dict[str, Any]:
    """Return a resource with a peer in each of these connection states."""
    said = {**resource(), **changes}
    far = [resource(state=state, peer_disk="UpToDate" if state == "Connected" else "DUnknown") for state in peers]
    said["connections"] = [
        {**each["connections"][0], "peer-node-id": number, "name": f"store{number + 1}"}
        for number, each in enumerate(far, 1)
    ]
    return said


@pytest.mark.parametrize(
    ("changes", "title", "cause"),
    [
        ({"suspended": True, "suspended-quorum": True}, "I/O SUSPENDED", "I/O is suspended: no quorum."),
        ({}, "I/O FAILS", "I/O fails: no quorum."),
        (
            {"role": "Secondary"},
            "ONE COPY REACHABLE: 20 GiB",
            "20 GiB has a single reachable copy; store2 is DUnknown.",
        ),
    ],
)
def test_a_lost_quorum_is_the_first_fault_where_it_stops_the_io(
    changes: dict[str, Any], title: str, cause: str
) -> None:
    said = three("Connecting", "Connecting", **changes)
    said["devices"][0]["quorum"] = False
    (one,) = found(resources(said), "cluster-degraded")
    assert (one.severity.value, one.title, one.cause) == ("critical", title, cause)


def test_a_disk_that_was_lost_here_is_a_copy_less_among_three() -> None:
    said = three("Connected", "Connected")
    said["devices"][0]["disk-state"] = "Diskless"
    (one,) = found(resources(said), "cluster-degraded")
    assert (one.severity.value, one.cause) == (
        "warning",
        "20 GiB has fewer copies than configured; store1 is Diskless.",
    )


def test_a_resource_without_peers_is_not_replicated() -> None:
    (one,) = found(resources(three()), "cluster-degraded")
    assert (one.severity.value, one.title) == ("info", "NOT REPLICATED")


def test_a_peer_with_outdated_data_is_not_down() -> None:
    said = three("Connected", "Connected")
    said["connections"][1]["peer_devices"][0].update({"peer-disk-state": "Outdated", "replication-state": "Off"})
    (one,) = found(resources(said), "cluster-degraded")
    assert (one.severity.value, one.title, one.cause) == ("warning", "COPY OUTDATED", "store3 is Outdated.")


def test_a_resource_with_two_good_copies_left_is_a_warning() -> None:
    three = resource(state="Connecting")
    three["connections"].append({**resource()["connections"][0], "peer-node-id": 2, "name": "store3"})
    (one,) = found(resources(three), "cluster-degraded")
    assert (one.severity.value, one.title.startswith("COPIES MISSING")) == ("warning", True)
    verified = resource(out_of_sync=8)  # both copies are complete, and differ: data-mismatch
    assert found(resources(verified), "cluster-degraded") == []


def test_a_client_of_a_resource_is_no_lost_copy() -> None:
    client = resource()
    client["connections"][0]["peer_devices"][0].update({"peer-disk-state": "Diskless", "peer-client": True})
    assert found(resources(client), "cluster-degraded") == []


def test_what_is_stale_is_not_called_good() -> None:
    stale = {"gateway": "gw1:443", "state": "stale", "age": 47.0, "trouble": "gw1:443 refuses connections"}
    said = judged(files={"answer:powerflex.gateway": json.dumps(stale)})
    for rule in ("cluster-degraded", "mdm-no-redundancy", "spare-below-fault-set", "capacity-near-full"):
        reasons = {unchecked.reason for unchecked in said.unchecked if unchecked.rule == rule}
        assert reasons == {"http:GET /api/instances: 47 s old: gw1:443 refuses connections"}
        assert not good(said, rule)


def test_a_device_that_is_tested_or_added_has_not_failed() -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        del numbers
        said["deviceList"][0]["deviceState"] = "InitialTest"
        said["deviceList"][1]["deviceState"] = "RemovePending"

    (finding,) = found(judged(change), "cluster-degraded")
    assert finding.title == "2 DEVICES NOT IN SERVICE"

    def fail(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        change(said, numbers)
        said["deviceList"][0]["errorState"] = "CommunicationError"
        said["deviceList"][1]["deviceState"] = "AStateOfNextYear"

    (finding,) = found(judged(fail), "cluster-degraded")
    assert finding.title == "2 DEVICES FAILED"


def test_a_single_manager_of_an_unknown_state_is_not_healthy() -> None:
    def change(word: str) -> Change:
        def changed(said: dict[str, Any], numbers: dict[str, Any]) -> None:
            del numbers
            said["System"]["mdmCluster"] |= {"clusterMode": "SingleNode", "clusterState": word}
            said["System"]["mdmCluster"] |= {"goodNodesNum": 1, "goodReplicasNum": 1}

        return changed

    assert found(judged(change("NotClustered")), "cluster-degraded") == []
    (finding,) = found(judged(change("AStateOfNextYear")), "cluster-degraded")
    assert "AStateOfNextYear" in finding.cause


def test_nodes_without_a_reported_state_are_not_counted_as_healthy() -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        del numbers
        for row in said["sdsList"]:
            for key in ("mdmConnectionState", "membershipState", "sdsState"):
                row.pop(key, None)

    assert good(judged(change), "cluster-degraded") == ["ClusteredNormal, all copies present"]


def test_a_device_or_client_without_a_state_is_unknown() -> None:
    def without(kind: str, key: str) -> Mapping[str, set[int | None]]:
        story = _Cloud()
        said, numbers = copy.deepcopy(story.objects()), story.numbers(0)
        for row in said[kind]:
            row.pop(key, None)
        known = {
            "http:GET /api/instances": json.dumps(said),
            "http:POST /api/instances/querySelectedStatistics": json.dumps(numbers),
        }
        rows = list(SCALEIO.read(EvidenceHost.of(known)))
        return {
            "devices": {row.healthy for row in rows if isinstance(row, ClusterDevice)},
            "clients": {row.healthy for row in rows if isinstance(row, ClusterClient)},
        }

    assert without("deviceList", "deviceState")["devices"] == {None}  # errorState None is no state
    assert without("sdcList", "mdmConnectionState")["clients"] == {None}  # approved is not connected
    assert without("volumeList", "name") == {"devices": {1}, "clients": {1}}


# --- mdm-no-redundancy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "up", "replicas", "severity"), [
    ("ThreeNodes", 3, 2, None), ("ThreeNodes", 2, 2, "critical"), ("ThreeNodes", 2, 1, "critical"),
    ("FiveNodes", 5, 3, None), ("FiveNodes", 4, 3, "warning"), ("FiveNodes", 3, 2, "critical"),
    ("SingleNode", 1, 1, "warning"),
])  # fmt: skip
def test_managers_are_missed_before_they_are_gone(mode: str, up: int, replicas: int, severity: str | None) -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        said["System"]["mdmCluster"] |= {"clusterMode": mode, "goodNodesNum": up, "goodReplicasNum": replicas}

    said = judged(change)
    told = [finding.severity.value for finding in found(said, "mdm-no-redundancy")]
    assert told == ([] if severity is None else [severity])
    assert bool(good(said, "mdm-no-redundancy")) is (severity is None)


def test_managers_that_are_not_told_are_unchecked() -> None:
    said = judged(lambda said, _: said["System"].pop("mdmCluster"))
    assert "mdm-no-redundancy" in {unchecked.rule for unchecked in said.unchecked}


# --- spare-below-fault-set ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "fires"), [(25.0, False), (24.8, False), (24.7, True), (10.0, True), (30.0, False)]
)
def test_the_spare_is_held_against_the_largest_fault_set(percent: float, *, fires: bool) -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        pool = numbers["StoragePool"][POOL]
        pool["spareCapacityInKb"] = round(pool["maxCapacityInKb"] * percent / 100)

    said = judged(change)
    assert bool(found(said, "spare-below-fault-set")) is fires
    for one in found(said, "spare-below-fault-set"):
        assert one.severity.value == "warning"
        assert "--spare_percentage 25" in one.steps[1]


def test_a_rebuild_that_would_not_fit_is_critical() -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        pool = numbers["StoragePool"][POOL]
        pool["spareCapacityInKb"] = pool["maxCapacityInKb"] // 10
        pool["capacityInUseInKb"] = pool["maxCapacityInKb"] * 76 // 100

    (one,) = found(judged(change), "spare-below-fault-set")
    assert one.severity.value == "critical"
    assert "cannot be rebuilt now" in one.summary


def test_with_two_fault_sets_no_spare_is_enough() -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        for number, row in enumerate(said["sdsList"]):
            row["faultSetId"] = said["faultSetList"][number % 2]["id"]
        numbers["StoragePool"][POOL]["spareCapacityInKb"] *= 2

        numbers["StoragePool"][POOL]["capacityInUseInKb"] = numbers["StoragePool"][POOL]["maxCapacityInKb"] * 6 // 10

    (one,) = found(judged(change), "spare-below-fault-set")
    assert (one.severity.value, one.title) == ("warning", "TOO FEW FAILURE DOMAINS: 2")  # no rebuild needs the space
    assert "no place for a rebuild" in one.impact


# --- capacity-near-full -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "severity"), [(0.79, None), (0.8, "warning"), (0.89, "warning"), (0.9, "critical")])
def test_a_pool_is_full_by_its_own_thresholds(share: float, severity: str | None) -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        pool = numbers["StoragePool"][POOL]
        pool["capacityInUseInKb"] = int((pool["capacityLimitInKb"] - pool["spareCapacityInKb"]) * share) + 1

    told = [finding.severity.value for finding in found(judged(change), "capacity-near-full")]
    assert told == ([] if severity is None else [severity])


# --- settings of pools --------------------------------------------------------------------------------------


def test_zero_padding_matters_to_thin_volumes() -> None:
    assert [one.severity.value for one in found(judged(), "zero-padding-off")] == ["warning"]

    def thick(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        for row in said["volumeList"]:
            row["volumeType"] = "ThickProvisioned"

    assert [one.severity.value for one in found(judged(thick), "zero-padding-off")] == ["info"]
    on = judged(lambda said, _: said["storagePoolList"][0].update(zeroPaddingEnabled=True))
    assert good(on, "zero-padding-off") == ["zero padding is on"]
    unknown = judged(lambda said, _: said["storagePoolList"][0].pop("zeroPaddingEnabled"))
    assert "zero-padding-off" in {unchecked.rule for unchecked in unknown.unchecked}


@pytest.mark.parametrize(("pool", "media", "nodes", "fires"), [
    (True, "SSD", True, True), (False, "SSD", True, False), (True, "HDD", True, False), (True, "SSD", False, False),
])  # fmt: skip
def test_the_ram_cache_is_in_the_way_of_flash_alone(*, pool: bool, media: str, nodes: bool, fires: bool) -> None:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        said["storagePoolList"][0] |= {"useRmcache": pool, "mediaType": media}
        for row in said["deviceList"]:
            row["mediaType"] = media
        for row in said["sdsList"]:
            row["rmcacheEnabled"] = nodes

    said = judged(change)
    assert bool(found(said, "rmcache-on-flash")) is fires
    assert bool(good(said, "rmcache-on-flash")) is not fires


def test_devices_whose_kind_nobody_knows_are_unchecked() -> None:
    said = judged(lambda said, _: said["storagePoolList"][0].update(useRmcache=True))
    assert "rmcache-on-flash" in {unchecked.rule for unchecked in said.unchecked}


# --- unstable-device-path -----------------------------------------------------------------------------------


def paths(*names: str, now: str | None = None, error: str = "None") -> Change:
    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        said["deviceList"] = said["deviceList"][: len(names)]
        for row, name in zip(said["deviceList"], names, strict=True):
            row |= {"deviceOriginalPathName": name, "deviceCurrentPathName": now or name, "errorState": error}

    return change


@pytest.mark.parametrize(("path", "fires"), [
    ("/dev/sdb", True), ("/dev/nvme0n1", True), ("/dev/vdc", True), ("/dev/sdaa1", True), ("/dev/xvdb", True),
    ("/dev/disk/by-path/pci-0000:02:00.0-scsi-0:2:1:0", False), ("/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", False),
    ("/dev/mapper/mpatha", False), ("/dev/md0", False),
])  # fmt: skip
def test_which_names_may_change(path: str, *, fires: bool) -> None:
    said = judged(paths(path))
    assert bool(found(said, "unstable-device-path")) is fires
    assert bool(good(said, "unstable-device-path")) is not fires


def test_one_that_moved_and_failed_is_critical() -> None:
    (one,) = found(judged(paths("/dev/sdb", now="/dev/sdf")), "unstable-device-path")
    assert (one.severity.value, one.damage, one.standing) == ("warning", Damage.DATA, False)
    assert one.title == "DEVICE NAME MOVED: sdb is now sdf"
    assert one.cause.startswith("/dev/sdb of sds00 is /dev/sdf now")
    (one,) = found(judged(paths("/dev/sdb", now="/dev/sdf", error="IoError")), "unstable-device-path")
    assert one.severity.value == "critical"


FSTAB = "UUID=1 / ext4 defaults 0 1\n/dev/sdb1 /srv/my\\040data xfs defaults 0 2  # the shelf\n# /dev/sdc1 /old xfs\n"
MDADM = (
    "DEVICE /dev/sd*\nARRAY /dev/md0 UUID=1:2:3:4\nARRAY /dev/md1\n   devices=/dev/sdc1,/dev/disk/by-id/ata-X-part1\n"
)


def test_files_of_the_node_are_read_too() -> None:
    said = judged(paths("/dev/mapper/a"), files={"/etc/fstab": FSTAB, "/etc/mdadm/mdadm.conf": MDADM})
    told = {one.subject: one for one in found(said, "unstable-device-path")}
    assert set(told) == {"/etc/fstab", "/etc/mdadm/mdadm.conf"}
    assert "/dev/sdb1 (/srv/my data)" in {value.value for value in told["/etc/fstab"].values}
    assert told["/etc/fstab"].evidence[0].excerpt.startswith("/dev/sdb1")
    assert "1 of 2" in told["/etc/mdadm/mdadm.conf"].summary


# --- scaling-poor -------------------------------------------------------------------------------------------


def phase(*loads: tuple[float, float]) -> Change:
    """Return readings in which each client does so many reads a second, each waiting so many seconds."""

    def change(said: dict[str, Any], numbers: dict[str, Any]) -> None:
        for number, (rate, wait) in enumerate(loads, 1):
            row = numbers["Sdc"][f"6076fd11{number:08x}"]
            row["userDataReadBwc"] = {"numSeconds": 1, "numOccured": round(rate), "totalWeightInKb": round(rate) * 4}
            weight = round(rate * wait * 1e6)
            row["userDataSdcReadLatency"] = {"numSeconds": 1, "numOccured": round(rate), "totalWeightInKb": weight}

    return change


ALONE = phase((80_000, 0.001), (0, 0), (0, 0), (0, 0))


@pytest.mark.parametrize(("each", "wait", "fires"), [
    (24_000, 0.0033, True),  # 30 %, and each had 79 outstanding as the one had 80
    (39_000, 0.002, True), (41_000, 0.002, False),  # near the threshold of 50 %
    (78_000, 0.001, False),  # scales
    (24_000, 0.0008, False),  # each wanted less: 19 outstanding
])  # fmt: skip
def test_four_clients_are_held_against_one(each: float, wait: float, *, fires: bool) -> None:
    together = phase(*[(each, wait)] * 4)
    said = judged(*[ALONE] * 4, *[together] * 4, of=_FourNodes())
    assert bool(found(said, "scaling-poor")) is fires
    assert bool(good(said, "scaling-poor")) is not fires


def test_without_both_phases_nothing_is_said() -> None:
    together = phase(*[(24_000, 0.0033)] * 4)
    for changes in ([ALONE] * 5, [together] * 5, [*[ALONE] * 4, together]):
        said = judged(*changes, of=_FourNodes())
        assert not found(said, "scaling-poor")
        assert not good(said, "scaling-poor")


def test_idle_clients_are_not_compared() -> None:
    said = judged(*[phase((300, 0.001), (0, 0))] * 4, *[phase(*[(80, 0.004)] * 4)] * 4, of=_FourNodes())
    assert not found(said, "scaling-poor")
