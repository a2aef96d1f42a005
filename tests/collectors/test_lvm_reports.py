"""Reports of lvs, vgs and pvs in the forms that people ask for."""
# ruff: noqa: E501, ISC004  # lines as wide as programs print them

from __future__ import annotations

from typing import Any

import pytest

from sdstop.collectors.devicemapper.lvm_report import FORMS as TEXTS
from sdstop.collectors.devicemapper.lvm_report import size
from sdstop.collectors.devicemapper.lvm_text import LVM_REPORTS
from sdstop.collectors.devicemapper.volume_readings import (
    LogicalVolume,
    PhysicalVolume,
    ThinPool,
    VolumeGroup,
    VolumeSnapshot,
)
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.host import Absent, Malformed
from sdstop.core.recorded import RecordedOutput
from sdstop.rules.arrays.volume_group_partial import VOLUME_GROUP_PARTIAL
from sdstop.rules.mappings.volume_unhealthy import VOLUME_UNHEALTHY
from sdstop.rules.space.snapshot_filling import SNAPSHOT_FILLING
from tests.nodes.frames import Judged


def read(command: str, text: str) -> list[Any]:
    return list(LVM_REPORTS.read(EvidenceHost.of({f"cmd:{command}": text})))


FORMS = [
    (
        "lvs -a -o vg_name,lv_name,segtype,stripes,stripe_size,lv_size,devices --units b",
        "  VG  LV   Type    #Str Stripe LSize     Devices\n"
        "  vg0 wide striped    2 65536B 67108864B /dev/sda(0),/dev/sdb(0)\n",
    ),
    (
        "lvs -o vg_name,lv_name,segtype,stripes,stripe_size,lv_size,devices --separator : --units m",
        "  VG:LV:Type:#Str:Stripe:LSize:Devices\n  vg0:wide:striped:2:64.00k:64.00m:/dev/sda(0),/dev/sdb(0)\n",
    ),
    (
        "lvs --noheadings --separator ; -o vg_name,lv_name,segtype,stripes,stripesize,lv_size,devices --units b --nosuffix",
        "  vg0;wide;striped;2;65536;67108864;/dev/sda(0),/dev/sdb(0)\n",
    ),
    (
        "lvs --nameprefixes --noheadings -o vg_name,lv_name,segtype,stripes,stripe_size,lv_size,devices",
        "  LVM2_VG_NAME='vg0' LVM2_LV_NAME='wide' LVM2_SEGTYPE='striped' LVM2_STRIPES='2' LVM2_STRIPE_SIZE='64.00k' "
        "LVM2_LV_SIZE='64.00m' LVM2_DEVICES='/dev/sda(0),/dev/sdb(0)'\n",
    ),
    (
        "lvs --reportformat json",
        '{"report": [{"lv": [{"lv_full_name": "vg0/wide", "seg_type": "striped", "stripes": "2", "stripe_size": "64.00k",'
        ' "lv_size": "64.00m", "devices": "/dev/sda(0),/dev/sdb(0)"}]}]}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("command", "text"), FORMS, ids=range(len(FORMS)))
def test_forms_of_lvs(command: str, text: str) -> None:
    (row,) = read(command, text)
    assert isinstance(row, LogicalVolume)
    assert (row.volume, row.type, row.devices, row.stripes, row.stripe_size, row.size, row.segments) == (
        "vg0/wide", "striped", "sda,sdb", 2, 65536, 64 << 20, 1,
    )  # fmt: skip


def test_messages_between_the_rows() -> None:
    text = (
        "  WARNING: PV /dev/sdc in VG vg0 is using an old PV header.\n  VG  #PV #LV #SN Attr   VSize  VFree\n"
        "  /dev/sdd: read failed after 0 of 4096 at 0: Input/output error\n  vg0   2   1   0 wz-pn- <5.99g 5.00g\n"
    )
    assert [(row.group, row.partial, row.size) for row in read("vgs", text)] == [("vg0", 1, round(5.99 * 2**30))]


@pytest.mark.parametrize(
    ("name", "synced", "title"),
    [("r1", "12.50", "SYNCHRONIZING: 12.5%"), ("r1", "100.00", None), ("r1", "", None), ("[pvmove0]", "12.50", None)],
)
def test_a_raid_that_is_not_in_sync_is_mentioned(name: str, synced: str, title: str | None) -> None:
    text = f"  LV        VG  Attr       LSize  Cpy%Sync\n  {name:<9} vg0 rwi-aor--- 10.00g {synced}\n"
    verdict = Judged((LVM_REPORTS,), [VOLUME_UNHEALTHY], [(0.0, {"cmd:lvs": text})]).of(f"vg0/{name.strip('[]')}")
    assert (verdict.title if isinstance(verdict, Finding) else None) == title


@pytest.mark.parametrize(
    ("attributes", "severity"),
    [("wz--n-", None), ("wzx-n-", Severity.INFO), ("wzxpn-", Severity.CRITICAL), ("wz-pn-", Severity.CRITICAL)],
)
def test_an_exported_volume_group_is_mentioned(attributes: str, severity: Severity | None) -> None:
    text = f"  VG  #PV #LV #SN Attr   VSize  VFree\n  vg0   3   2   0 {attributes} 59.99g    0\n"
    verdict = Judged((LVM_REPORTS,), [VOLUME_GROUP_PARTIAL], [(0.0, {"cmd:vgs": text})]).of("vg0")
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity


def test_missing_volumes_are_rows_of_their_own() -> None:
    text = "  PV        VG   Fmt  Attr PSize  PFree\n" + "  [unknown] vg0  lvm2 a-m  <2.00g    0\n" * 2
    found = read("pvs", text)
    assert all(isinstance(row, PhysicalVolume) and row.missing for row in found)
    assert [row.device for row in found] == ["[unknown]", "[unknown] #2"]


def test_a_report_without_groups_is_malformed() -> None:
    with pytest.raises(Malformed):
        read("lvs -o lv_name,lv_size", "  LV   LSize\n  home 1.00g\n")


POOLS = (
    "  LV   VG  Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
    "  idle vg0 twi---tz-- 10.00g                                                    \n"
    "  pool vg0 twi-aotzD- 96.00g              100.00 37.50                          \n"
    "  sick vg0 twi-aotzM- 96.00g              12.50  87.50                          \n"
)


def test_thin_pools_of_lvs() -> None:
    pools = {row.pool: row for row in read("lvs", POOLS) if isinstance(row, ThinPool)}
    assert {name: (row.state, row.filled, row.metadata_filled) for name, row in pools.items()} == {
        "vg0/pool": ("out of data space", 1.0, 0.375), "vg0/sick": ("read-only", 0.125, 0.875),
    }  # fmt: skip
    assert (pools["vg0/pool"].used, pools["vg0/pool"].mapping) == (96 << 30, "vg0-pool")


SNAPSHOTS = (
    "  LV   VG  Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
    "  home vg0 owi-aos--- 100.00g                                                    \n"
    "  s1   vg0 swi-a-s---  10.00g      home   87.50                                  \n"
    "  s2   vg0 swi-I-s---  10.00g      home   100.00                                 \n"
    "  s3   vg0 swi-a-s---  10.00g      home   12.50                                  \n"
    "  s4   vg0 swi---s---  10.00g      home                                          \n"
    "  data vg0 -wi-s-----  10.00g                                                    \n"
)


def test_snapshots_of_lvs() -> None:
    """An inactive one has no fill level."""
    files = {"cmd:lvs": SNAPSHOTS}
    found = {row.snapshot: row for row in LVM_REPORTS.read(EvidenceHost.of(files)) if isinstance(row, VolumeSnapshot)}
    assert {name: (row.state, row.filled) for name, row in found.items()} == {
        "vg0/s1": ("ok", 0.875), "vg0/s2": ("invalid", 1.0), "vg0/s3": ("ok", 0.125),
    }  # fmt: skip
    said = Judged((LVM_REPORTS,), [SNAPSHOT_FILLING, VOLUME_UNHEALTHY], [(0.0, files)])
    assert {(each.subject, each.severity.value) for each in said.all if isinstance(each, Finding)} == {
        ("vg0/s1", "warning"), ("vg0/s2", "critical"), ("vg0/data", "warning"),
    }  # fmt: skip
    assert said.finding("vg0/data").title == "VOLUME SUSPENDED"


@pytest.mark.parametrize(
    ("letter", "title"),
    [("E", "CACHE ERROR: writes can be lost"), ("r", "RAID NEEDS A REFRESH"), ("R", None), ("-", None), ("Q", "")],
)
def test_the_health_in_the_attributes_of_a_volume(letter: str, title: str | None) -> None:
    text = f"  LV   VG  Attr       LSize\n  mail vg0 Cwi-aoC-{letter}- 1.00t\n"
    said = Judged((LVM_REPORTS,), [VOLUME_UNHEALTHY], [(0.0, {"cmd:lvs": text})])
    if title:
        assert said.finding("vg0/mail").title == title
    elif title is None:
        assert isinstance(said.of("vg0/mail"), RuledOut)
    else:
        assert not said.unchecked("vg0/mail").calm  # a letter of no known version


def test_snapshots_are_those_of_dmsetup_if_its_status_was_recorded() -> None:
    files = {"cmd:lvs": SNAPSHOTS, "cmd:dmsetup status": "vg0-s1: 0 8 snapshot 2/8 1\n"}
    assert not [row for row in LVM_REPORTS.read(EvidenceHost.of(files)) if isinstance(row, VolumeSnapshot)]


def test_thin_pools_are_those_of_dmsetup_if_its_status_was_recorded() -> None:
    status = {
        "cmd:dmsetup status": "vg0-pool-tpool: 0 8 thin-pool 1 1/2 1/2 - rw discard_passdown queue_if_no_space - 1\n"
    }
    rows = list(LVM_REPORTS.read(EvidenceHost.of({"cmd:lvs": POOLS, **status})))
    assert [row for row in rows if isinstance(row, ThinPool)] == []
    rows = list(LVM_REPORTS.read(EvidenceHost.of({"cmd:lvs": POOLS, "cmd:dmsetup table": "a: 0 8 linear 8:0 0\n"})))
    assert len([row for row in rows if isinstance(row, ThinPool)]) == 2


def test_other_columns_without_groups_are_no_fault_beside_a_whole_report() -> None:
    columns = {"cmd:lvs -o name,cache_used_blocks": "  LV   CacheUsedBlocks\n  pool              37\n"}
    host = EvidenceHost.of({"cmd:lvs": POOLS, **columns})
    assert [row.volume for row in LVM_REPORTS.read(host) if isinstance(row, LogicalVolume)] == [
        "vg0/idle", "vg0/pool", "vg0/sick",
    ]  # fmt: skip
    assert not host.defects


def test_a_table_with_an_unknown_row_is_malformed() -> None:
    with pytest.raises(Malformed):
        read("vgs", "VG #PV #LV #SN Attr VSize VFree\nlonger-name 2 1 0 wz--n- <5.99g\n")


def test_nothing_recorded_is_absent() -> None:
    with pytest.raises(Absent):
        list(LVM_REPORTS.read(EvidenceHost()))


def test_no_groups_are_no_rows() -> None:
    assert read("vgs", "  Reloading config files\n  No volume groups found.\n") == []
    assert not any(isinstance(row, VolumeGroup) for row in read("vgs", "  No volume groups found.\n"))


@pytest.mark.parametrize(
    ("command", "cell", "value"),
    [
        ("lvs", "<9.31g", round(9.31 * 2**30)), ("lvs", "32,00m", 32 << 20), ("lvs", "0 ", 0), ("lvs", "", None),
        ("lvs", "1.00G", None), ("lvs --units G", "1.00G", 10**9), ("lvs --units s", "2048S", 1 << 20),
        ("lvs --units m --nosuffix", "32.00", 32 << 20), ("lvs", "32.00", None),
    ],
)  # fmt: skip
def test_sizes(command: str, cell: str, value: int | None) -> None:
    assert size(cell, RecordedOutput("", command, "")) == value


@pytest.mark.parametrize(("count", "found"), [("417", True), ("1", True), ("0", False), ("", False)])
def test_integrity_mismatches_are_a_fault(count: str, found: bool) -> None:  # noqa: FBT001
    text = (
        "  LV   VG  Attr       LSize Origin Cpy%Sync IntegMismatches\n"
        f"  r1   vg0 rwi-aor--- 1.00g        100.00   {count}\n"
    )
    files = {"cmd:lvs -o +integritymismatches": text}
    said = Judged((LVM_REPORTS,), [VOLUME_UNHEALTHY], [(0.0, files)]).of("vg0/r1")
    assert isinstance(said, Finding) is found


@pytest.mark.parametrize("first", ["VG", "LV", "PV"])
def test_a_line_that_begins_like_a_heading_is_read_at_once(first: str) -> None:
    text = f"  {first} Name              data\n" + "  Setting token to filter:3239,12;7|a:b\n" * 4000
    assert not any(form.begun(text) for form in TEXTS)


def test_a_heading_is_one_line() -> None:
    form = next(form for form in TEXTS if form.key == "cmd:vgs")
    assert form.begun("  VG;Attr;VSize\n")
    assert form.begun("  VG   #PV #LV #SN Attr   VSize VFree\n")
    assert not form.begun("  VG Name   data\n  VG Size  3 TiB\n  Attr VSize\n")


@pytest.mark.parametrize("files", [
    {"cmd:lvs -a -o +devices": "  WARNING: File locking is disabled.\n"},
    {"cmd:vgs -v": "  Reloading config files\n  WARNING: File locking is disabled.\n  No volume groups found.\n"},
    {"cmd:vgdisplay -vv": "  Loading config file: /etc/lvm/lvm.conf\n  /dev/vda: stat failed: No such file or directory\n"},
])  # fmt: skip
def test_messages_alone_are_a_node_without_volumes(files: dict[str, str]) -> None:
    assert list(LVM_REPORTS.read(EvidenceHost.of(files))) == []


def test_another_message_is_not_understood() -> None:
    with pytest.raises(Malformed):
        list(
            LVM_REPORTS.read(EvidenceHost.of({"cmd:lvs": "  WARNING: File locking is disabled.\n  Failed to scan.\n"}))
        )
