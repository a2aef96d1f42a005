"""Limits of virtual machines' drives and RBD images: command lines, libvirt's files, what is never kept."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.ceph import rbd
from sdstop.collectors.ceph.image import image_of, parse_config
from sdstop.collectors.limits import qemu
from sdstop.collectors.limits.drives import QemuDrive, limits_of, parse_command_line, parse_domain
from sdstop.collectors.limits.machines import QUESTION as DRIVES
from sdstop.collectors.limits.machines import STATE, drives
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity, Unchecked
from sdstop.core.host import Absent, Denied, Malformed
from sdstop.readings.limit import Limit
from sdstop.rules.limits.qos_partial import QOS_PARTIAL
from sdstop.rules.limits.volume_qos_saturated import VOLUME_QOS_SATURATED
from tests.nodes.frames import Files, Judged, value

DOMAIN = """<domstatus state='running'><domain type='kvm' id='3'><name>web</name><devices>
  <graphics type='vnc' port='5900' passwd='hunter2'/>
  <disk type='block' device='disk'><source dev='/dev/vg/web' index='1'/><target dev='vda' bus='virtio'/>
    <iotune><total_iops_sec>500</total_iops_sec><read_bytes_sec>1048576</read_bytes_sec>
      <total_iops_sec_max>2000</total_iops_sec_max><total_iops_sec_max_length>60</total_iops_sec_max_length>
      <size_iops_sec>4096</size_iops_sec></iotune></disk>
  <disk type='network' device='disk'><source protocol='rbd' name='vms/web-1'/><target dev='vdb'/>
    <iotune><write_iops_sec>50</write_iops_sec></iotune></disk>
  <disk type='file' device='cdrom'><target dev='sda'/></disk>
</devices></domain></domstatus>"""


def test_a_domain_of_libvirt() -> None:
    web, image, cd = parse_domain(DOMAIN)
    assert (web.machine, web.name, web.source) == ("web", "vda", "/dev/vg/web")
    assert web.limits == {"iops": 500, "iops_max": 2000, "iops_max_length": 60, "bps_rd": 1048576, "iops_size": 4096}
    assert (image.source, image.limits) == ("rbd:vms/web-1", {"iops_wr": 50})
    assert not cd.is_limited
    total, reads = limits_of([web], {"/dev/vg/web": "dm-3"}, "x")
    assert (total.volume, total.owner, total.direction, total.device) == ("/dev/vg/web", "web", "total", "dm-3")
    assert (total.iops, total.iops_burst, total.iops_burst_length, total.iops_size) == (500, 2000, 60, 4096)
    assert (reads.direction, reads.bandwidth, reads.iops) == ("read", 1048576, None)


@pytest.mark.parametrize("text", ["", "<a/>", "<domain/>", "<domain><name/></domain>", "<!DOCTYPE a []><domain/>", "<"])
def test_what_is_no_domain_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_domain(text)


BURST = (
    "throttling.iops-total=100,throttling.iops-total-max=2000,throttling.iops-total-max-length=60,"
    "throttling.iops-size=8192"
)


def test_a_command_line_in_three_spellings() -> None:
    argv = [
        "qemu-system-x86_64", "-name", "guest=db,debug-threads=on",
        "-drive", f"file=/dev/vg/a,,b,if=virtio,id=d0,{BURST}",
        "-drive", "file=/img,if=ide,bps_rd=1048576,iops_wr=9",
        "-object", "throttle-group,id=g0,x-bps-total=4096",
        "-object", '{"qom-type":"throttle-group","id":"g1","limits":{"iops-read":7}}',
        "-blockdev", '{"driver":"throttle","throttle-group":"g1","file":{"driver":"file","filename":"/dev/sdx"}}',
        "-drive", "file=/free,if=virtio",
    ]  # fmt: skip
    assert parse_command_line(argv) == [
        QemuDrive("db", "d0", "/dev/vg/a,b", {"iops": 100, "iops_max": 2000, "iops_max_length": 60, "iops_size": 8192}),
        QemuDrive("db", "ide", "/img", {"bps_rd": 1048576, "iops_wr": 9}),
        QemuDrive("db", "g0", None, {"bps": 4096}, "g0"),
        QemuDrive("db", "g1", "/dev/sdx", {"iops_rd": 7}, "g1"),
    ]


def test_members_of_a_group_share_one_limit() -> None:
    members = [QemuDrive("db", f"vd{n}", f"/dev/{n}", {"iops": 100 * n}, "g") for n in (1, 2)]
    (row,) = limits_of(members, {"/dev/1": "sdb", "/dev/2": "sdc"}, "x")
    assert (row.volume, row.group, row.iops, row.device) == ("db/g", "g", 200, "sdb,sdc")  # who joined last sets it
    (half,) = limits_of(members, {"/dev/1": "sdb"}, "x")
    assert half.device is None  # what the other one does nobody counts


def answer(**limits: int) -> str:
    row = {"machine": "web", "drive": "vda", "source": "/dev/vg/web", "device": "dm-3", "group": None, "limits": limits}
    return json.dumps([row])


def stat(reads: int, t: int) -> str:
    return f" 253 3 dm-3 {reads * t} 0 {reads * t * 8} {reads * t} 0 0 0 0 0 {t * 100} {reads * t} 0 0 0 0 0 0\n"


@pytest.mark.parametrize(("reads", "fires"), [(90, False), (100, True)])
def test_a_machine_that_waits_for_its_limit(reads: int, fires: bool) -> None:  # noqa: FBT001  # a table
    shown: list[tuple[float, Files]] = [
        (float(t), {f"answer:{DRIVES}": answer(iops=100), "/proc/diskstats": stat(reads, t)}) for t in range(1, 14)
    ]
    said = Judged((qemu.QEMU, DISKSTATS), [VOLUME_QOS_SATURATED], shown)
    if fires:
        finding = said.finding("vol:/dev/vg/web@web")
        assert finding.severity is Severity.WARNING
        assert value(finding, "disk_wait") == pytest.approx(0.001)  # what QEMU holds back has not reached the disk
        assert value(finding, "wait") is None
        assert "Raise the limit of this disk with virsh blkdeviotune" in finding.steps[0]
        assert finding.steps[1].startswith("virsh blkdeviotune web DISK")
    else:
        assert "90.0% of 100 IOPS" in said.ruled_out("vol:/dev/vg/web@web").summary


def test_two_drives_of_a_group_are_counted_together() -> None:
    rows = [
        {"machine": "web", "drive": n, "source": f"/dev/{n}", "device": n, "group": "g", "limits": {"iops": 100}}
        for n in ("dm-3", "dm-4")
    ]
    shown: list[tuple[float, Files]] = [
        (
            float(t),
            {
                f"answer:{DRIVES}": json.dumps(rows),
                "/proc/diskstats": stat(50, t) + stat(50, t).replace("253 3 dm-3", "253 4 dm-4"),
            },
        )
        for t in range(1, 14)
    ]
    Judged((qemu.QEMU, DISKSTATS), [VOLUME_QOS_SATURATED], shown).finding("vol:web/g@web")


def test_a_drive_in_a_file_is_not_called_good() -> None:
    row = {"machine": "web", "drive": "vda", "source": "/img.qcow2", "device": None, "limits": {"iops": 100}}
    said = Judged((qemu.QEMU,), [VOLUME_QOS_SATURATED], [(1.0, {f"answer:{DRIVES}": json.dumps([row])})])
    assert said.unchecked("vol:/img.qcow2@web").reason == "no counter for this limit"


def rows(files: Mapping[str, str]) -> list[Limit]:
    return [row for row in qemu.read(EvidenceHost.of(files)) if isinstance(row, Limit)]


def test_files_of_libvirt_that_somebody_recorded() -> None:
    stale = DOMAIN.replace("<total_iops_sec>500<", "<total_iops_sec>9<")
    found = rows(
        {"/run/libvirt/qemu/web.xml": DOMAIN, "/etc/libvirt/qemu/web.xml": stale, "link:/dev/vg/web": "../dm-3"}
    )
    assert [(row.volume, row.direction, row.iops, row.device) for row in found] == [
        ("/dev/vg/web", "total", 500, "dm-3"), ("/dev/vg/web", "read", None, "dm-3"),
        ("rbd:vms/web-1", "write", 50, None),
    ]  # fmt: skip
    with pytest.raises(Absent):
        rows({})
    with pytest.raises(Absent, match="no virtual drive has a limit"):
        rows({f"answer:{DRIVES}": "[]"})


def test_of_the_live_node_nothing_but_limits_is_kept() -> None:
    files = {f"{STATE}/web.xml": DOMAIN, "/proc/version": "", "link:/dev/vg/web": "../mapper/vg-web",
             "link:/dev/mapper/vg-web": "../dm-3"}  # fmt: skip
    for pid, argv in (
        ("7", "qemu-system-x86_64\0-name\0guest=web\0-drive\0file=/dev/vg/web,iops=1\0"),
        ("8", "qemu-system-x86_64\0-name\0db\0-object\0secret,id=s,data=hunter2\0-drive\0file=/x,iops=77,id=d\0"),
        ("9", "sleep\0-drive\0file=/y,iops=5\0"),
    ):
        files[f"/proc/{pid}/comm"] = "sleep\n" if pid == "9" else "qemu-system-x86\n"
        files[f"/proc/{pid}/cmdline"] = argv
    said = drives(EvidenceHost.of(files))
    assert [(row["machine"], row["source"], row["device"], row["limits"].get("iops")) for row in said] == [
        ("web", "/dev/vg/web", "dm-3", 500), ("web", "rbd:vms/web-1", None, None), ("db", "/x", None, 77)
    ]  # fmt: skip
    assert "hunter2" not in json.dumps(said)
    with pytest.raises(Absent):
        drives(EvidenceHost.of({"/proc/version": ""}))


def test_a_state_that_may_not_be_read_is_denied() -> None:
    with pytest.raises(Denied):
        drives(EvidenceHost([Evidence(f"list:{STATE}", Outcome.DENIED)]))


def test_a_link_that_leads_to_itself_is_left_as_it_is() -> None:
    files = {f"{STATE}/web.xml": DOMAIN, "link:/dev/vg/web": "web", "/proc/version": ""}
    assert drives(EvidenceHost.of(files))[0]["device"] == "vg/web"


@pytest.mark.parametrize("said", [{}, [1], [{"machine": "a"}], [{"limits": {}}]])
def test_another_answer_is_malformed(said: object) -> None:
    with pytest.raises(Malformed):
        qemu.parse_answer(said)


# --- rbd

CONFIG = [
    {"name": "rbd_cache", "value": "true", "source": "config"},
    {"name": "rbd_qos_iops_limit", "value": "500", "source": "image"},
    {"name": "rbd_qos_iops_burst", "value": "2000", "source": "image"},
    {"name": "rbd_qos_iops_burst_seconds", "value": "60", "source": "image"},
    {"name": "rbd_qos_bps_limit", "value": "0", "source": "config"},
    {"name": "rbd_qos_write_bps_limit", "value": "1048576", "source": "pool"},
]
ASKED = "cmd:rbd config image list vms/web-1 --format json"


def images(files: Mapping[str, Any]) -> list[Limit]:
    return [row for row in rbd.read(EvidenceHost.of(files)) if isinstance(row, Limit)]


def test_limits_of_an_image() -> None:
    total, writes = images({ASKED: json.dumps(CONFIG)})
    assert (total.volume, total.direction, total.iops, total.iops_burst, total.iops_burst_length) == (
        "vms/web-1", "total", 500, 2000, 60
    )  # fmt: skip
    assert (total.bandwidth, total.unheld, writes.bandwidth) == (None, None, 1048576)
    with pytest.raises(Absent):
        images({})


def test_the_kernels_client_does_not_know_the_limit() -> None:
    mapped = {"/sys/bus/rbd/devices/0/pool": "vms\n", "/sys/bus/rbd/devices/0/name": "web-1\n"}
    for key in (ASKED, "slug:rbd_config_image_list_vms_web-1_--format_json"):
        said = Judged((rbd.RBD,), [QOS_PARTIAL], [(1.0, {key: json.dumps(CONFIG), **mapped})])
        finding = said.finding("vol:vms/web-1")
        assert finding.title == "LIMIT NOT ENFORCED"
        assert "(rbd0) ignores rbd_qos_*" in finding.cause
        assert "vms/web-1 can use everything" in finding.impact
    alone = Judged((rbd.RBD,), [QOS_PARTIAL], [(1.0, {ASKED: json.dumps(CONFIG)})])
    alone.ruled_out("vol:vms/web-1")


def test_a_node_that_maps_no_image_lacks_nothing_one_that_does_was_not_asked() -> None:
    mapped = {"/sys/bus/rbd/devices/0/pool": "vms\n", "/sys/bus/rbd/devices/0/name": "web-1\n"}
    for files, recorded in (({"list:/sys/bus/rbd/devices": ""}, True), (mapped, False), ({}, False)):
        with pytest.raises(Absent) as known:
            rbd.read(EvidenceHost.of(files))
        assert known.value.recorded is recorded


def test_a_rule_says_what_a_live_node_was_not_asked_for_and_why() -> None:
    mapped = {f"/sys/bus/rbd/devices/{n}/{k}": v for n in (0, 1) for k, v in (("pool", "vms"), ("name", f"web-{n}"))}
    (said,) = Judged((rbd.RBD,), [QOS_PARTIAL], [(1.0, {**mapped, "list:/sys/bus/rbd/devices": "0\n1"})]).all
    assert isinstance(said, Unchecked)
    assert said.reason == (
        "rbd: cmd:rbd config image list: limits of vms/web-0 and 1 more are not asked for: each would be a command to"
        " the monitors"
    )
    assert said.calm
    (said,) = Judged((rbd.RBD,), [QOS_PARTIAL], [(1.0, {})]).all
    assert isinstance(said, Unchecked)
    assert said.reason == "rbd: not recorded in this capture"


@pytest.mark.parametrize(
    ("command", "image"),
    [
        ("rbd config image ls vms/web-1 -f json", "vms/web-1"),
        ("rbd config image list a/b/c --format=json-pretty", "a/b/c"),
        ("rbd config image list vms/web-1", None),
        ("rbd ls vms --format json", None),
    ],
)
def test_which_image_was_asked_for(command: str, image: str | None) -> None:
    assert image_of(command) == image


# --- any text

WORDS = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(["-drive", "-object", "-blockdev", "-name", "throttle-group,id=g", '{"driver":"throttle"}']),
        st.from_regex(r"(throttling\.)?(iops|bps)(-total|_rd)?(-max)?=[0-9]{1,25},file=.{0,3}", fullmatch=True),
        st.recursive(
            st.integers() | st.text(max_size=3),
            lambda inner: st.dictionaries(
                st.sampled_from(["driver", "file", "limits", "iops-total", "id"]), inner, max_size=3
            ),
            max_leaves=5,
        ).map(json.dumps),
    ),
    max_size=6,
)


@given(WORDS)
def test_any_command_line_is_read(argv: list[str]) -> None:
    for drive in parse_command_line(argv):
        assert drive.is_limited


@given(
    st.one_of(
        st.text(max_size=60),
        st.tuples(st.text(max_size=10), st.integers()).map(lambda p: DOMAIN.replace("500", f"{p[0]}{p[1]}")),
    )
)
def test_any_text_is_a_domain_or_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        parse_domain(text)
    with contextlib.suppress(Malformed):
        parse_config(text)
