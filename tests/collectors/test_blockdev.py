"""What sysfs and udev say of block devices, on nodes of every kind."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.attributes import active, kind_of, wide_name
from sdstop.collectors.block.devices import BLOCKDEV, fingerprint
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.collectors.block.udev import answered_names, parse_names
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import TREE, EvidenceHost
from sdstop.core.host import Absent, TimedOut
from sdstop.core.replay import Replay
from sdstop.sampler.runner import sample
from tests.nodes.resting import RestingHost

PCI = "../devices/pci0000:00/0000:00:02.0/0000:3b:00.0"
SAS = f"{PCI}/host2/port-2:0/end_device-2:0/target2:0:0/2:0:0:0"

QUEUE = {
    "scheduler": "none [mq-deadline] kyber bfq \n",
    "rotational": "1",
    "iostats": "1",
    "logical_block_size": "512",
    "physical_block_size": "4096",
    "minimum_io_size": "4096",
    "optimal_io_size": "0",
    "max_sectors_kb": "1280",
    "read_ahead_kb": "128",
    "nr_requests": "256",
    "write_cache": "write back",
}


def disk(name: str, number: str, size: int = 2048, **attributes: str) -> dict[str, str]:
    """Return the files of a whole device; `queue__x` is `queue/x`."""
    files = {"dev": number, "size": str(size), "ro": "0", "hidden": "0", "diskseq": "9"}
    files |= {name.replace("__", "/"): value for name, value in attributes.items()}
    return {f"/sys/block/{name}/{path}": f"{value}\n" for path, value in files.items()}


def queue(name: str, **changes: str) -> dict[str, str]:
    return {f"/sys/block/{name}/queue/{path}": f"{value}\n" for path, value in {**QUEUE, **changes}.items()}


def read(*parts: Mapping[str, str]) -> tuple[dict[str, BlockDevice], list[tuple[str, str, str]]]:
    files: dict[str, str | bytes] = {}
    for part in parts:
        files.update(part)
    rows = list(BLOCKDEV.read(EvidenceHost.of(files)))
    devices = {row.device: row for row in rows if isinstance(row, BlockDevice)}
    links = [(row.device, row.below, row.relation) for row in rows if isinstance(row, BlockLink)]
    assert len(devices) + len(links) == len(rows)
    return devices, links


SDA = {
    **disk("sda", "8:0", 7_814_037_168),
    **queue("sda"),
    "link:/sys/block/sda": f"{SAS}/block/sda",
    "link:/sys/block/sda/device": "../../../2:0:0:0",
    "/sys/block/sda/device/vendor": "ACME    \n",
    "/sys/block/sda/device/model": "SPINNER 4000    \n",
    "/sys/block/sda/device/rev": "F00D\n",
    "/sys/block/sda/device/state": "running\n",
    "/sys/block/sda/device/queue_depth": "254\n",
    "/sys/block/sda/device/wwid": "naa.5000c500a1b2c3d4\n",
    "/sys/block/sda/sda1/partition": "1\n",
    "/sys/block/sda/sda1/dev": "8:1\n",
    "/sys/block/sda/sda1/start": "2048\n",
    "/sys/block/sda/sda1/size": "1000\n",
    "/sys/block/sda/sda1/ro": "0\n",
}
UDEV = {
    "/run/udev/data/b8:0": (
        "S:disk/by-id/scsi-35000c500a1b2c3d4\nS:disk/by-path/pci-0000:3b:00.0-sas-phy7-lun-0\n"
        "S:disk/by-id/wwn-0x5000c500a1b2c3d4\nI:123\nE:ID_WWN=0x5000c500a1b2c3d4\nE:ID_SERIAL_SHORT=Z1Z0\nG:systemd\n"
    ),
    "/run/udev/data/b8:1": (
        "S:disk/by-id/wwn-0x5000c500a1b2c3d4-part1\nS:disk/by-path/pci-0000:3b:00.0-sas-phy7-lun-0-part1\n"
        "E:ID_WWN=0x5000c500a1b2c3d4\nE:ID_SERIAL_SHORT=Z1Z0\n"
    ),
}


def test_a_sas_disk_with_a_partition() -> None:
    devices, links = read(SDA, UDEV)
    assert devices["sda"] == BlockDevice(
        "sda", "disk", None, "8:0", "sd", "ACME", "SPINNER 4000", "F00D", "Z1Z0", "0x5000c500a1b2c3d4", "2:0:0:0",
        "pci-0000:3b:00.0-sas-phy7-lun-0", "wwn-0x5000c500a1b2c3d4", f"/sys/{SAS[3:]}/block/sda",
        scheduler="mq-deadline", write_cache="write back", state="running", size=7_814_037_168 * 512, rotational=1,
        read_only=0, iostats_enabled=1, logical_block_size=512, physical_block_size=4096, minimum_io=4096,
        optimal_io=0, max_request=1_310_720, read_ahead=131_072, nr_requests=256, queue_depth=254, diskseq=9,
    )  # fmt: skip
    assert devices["sda1"] == BlockDevice(
        "sda1", "partition", "sda", "8:1", wwn="0x5000c500a1b2c3d4", size=512_000, start=1_048_576, read_only=0,
        by_path="pci-0000:3b:00.0-sas-phy7-lun-0-part1", by_id="wwn-0x5000c500a1b2c3d4-part1",
    )  # fmt: skip
    assert links == [("sda1", "sda", "partition")]


def test_names_without_udev() -> None:
    sda = read(SDA)[0]["sda"]
    assert (sda.wwn, sda.by_path, sda.by_id, sda.serial) == ("0x5000c500a1b2c3d4", None, None, None)


def test_names_of_an_answer_where_udev_is_out_of_sight() -> None:
    said = {"sda": {"ID_WWN": "0x1", "ID_SERIAL_SHORT": "S", "DEVLINKS": "/dev/disk/by-path/p /dev/disk/by-id/ata-x"}}
    answer = {"answer:udev.block": json.dumps(said)}
    sda = read(SDA, answer)[0]["sda"]
    assert (sda.by_path, sda.by_id, sda.serial, sda.wwn) == ("p", "ata-x", "S", "0x1")
    sda = read(SDA, answer, UDEV)[0]["sda"]
    assert sda.by_id == "wwn-0x5000c500a1b2c3d4"


def test_accounting_that_is_switched_off_is_seen() -> None:
    assert read(disk("sda", "8:0"), queue("sda", iostats="0"))[0]["sda"].iostats_enabled == 0


def test_an_nvme_device_below_its_multipath_head() -> None:
    head = {
        **disk("nvme0n1", "259:1", wwid="eui.0025385b71b0d1b2"),
        "link:/sys/block/nvme0n1/device": "../../nvme-subsys0",
        "/sys/block/nvme0n1/device/model": "FLASH 2                                 \n",
        "/sys/block/nvme0n1/device/firmware_rev": "1B2QEXM7\n",
        "/sys/block/nvme0n1/device/serial": "S3\n",
        **disk("nvme0c1n1", "259:2"),
        "/sys/block/nvme0c1n1/hidden": "1\n",
        "link:/sys/block/nvme0c1n1/device": "../../nvme1",
        "/sys/block/nvme0c1n1/device/state": "live\n",
        "/sys/block/nvme0n1/nvme0n1p1/dev": "259:3",
    }
    devices, links = read(head)
    found = devices["nvme0n1"]
    assert (found.kind, found.model, found.revision, found.serial) == ("nvme", "FLASH 2", "1B2QEXM7", "S3")
    assert (found.wwn, found.hctl, found.state) == ("eui.0025385b71b0d1b2", None, None)
    for field, file in (("wwn", "wwid"), ("serial", "device/serial"), ("revision", "device/firmware_rev")):
        source = found.source(field)
        assert source is not None
        assert source.key == f"/sys/block/nvme0n1/{file}"
    path = devices["nvme0c1n1"]
    assert (path.kind, path.hidden, path.state) == ("nvme_path", 1, "live")
    assert devices["nvme0n1p1"].parent == "nvme0n1"
    assert sorted(links) == [("nvme0n1", "nvme0c1n1", "path"), ("nvme0n1p1", "nvme0n1", "partition")]


def test_lvm_on_md_on_partitions() -> None:
    up = "../../../.."
    stack = {
        **SDA,
        **disk("md0", "9:0", md__level="raid1"),
        "link:/sys/block/md0/slaves/sda1": f"{up}/pci0000:00/x/block/sda/sda1",
        **disk("dm-0", "253:0", dm__name="vg-lv", dm__uuid="LVM-abc"),
        "link:/sys/block/dm-0/slaves/md0": f"{up}/virtual/block/md0",
        "/sys/block/md0/md0p1/size": "100\n",
    }
    devices, links = read(stack)
    assert (devices["md0"].kind, devices["dm-0"].kind) == ("md", "dm")
    assert (devices["dm-0"].dm_name, devices["dm-0"].dm_uuid) == ("vg-lv", "LVM-abc")
    assert (devices["md0p1"].kind, devices["md0p1"].parent, devices["md0p1"].size) == ("partition", "md0", 51_200)
    assert sorted(links) == [
        ("dm-0", "md0", "slave"),
        ("md0", "sda1", "slave"),
        ("md0p1", "md0", "partition"),
        ("sda1", "sda", "partition"),
    ]


def test_dm_multipath_stands_on_its_paths() -> None:
    stack = {
        **disk("dm-3", "253:3", dm__name="mpatha", dm__uuid="mpath-3600"),
        "link:/sys/block/dm-3/slaves/sdb": "../../../../x/block/sdb",
        "link:/sys/block/dm-3/slaves/sdc": "../../../../x/block/sdc",
    }
    assert read(stack)[1] == [("dm-3", "sdb", "slave"), ("dm-3", "sdc", "slave")]


def test_names_with_a_slash_are_those_of_diskstats() -> None:
    aoe = {
        **disk("etherd!e0.1", "152:16"),
        "/sys/block/etherd!e0.1/etherd!e0.1p1/dev": "152:17",
        **disk("dm-0", "253:0", dm__name="x"),
        "link:/sys/block/dm-0/slaves/etherd!e0.1": "../../../../virtual/block/etherd!e0.1",
    }
    devices, links = read(aoe)
    assert devices["etherd/e0.1"].kind == "aoe"
    assert devices["etherd/e0.1p1"].parent == "etherd/e0.1"
    assert sorted(links) == [("dm-0", "etherd/e0.1", "slave"), ("etherd/e0.1p1", "etherd/e0.1", "partition")]
    source = devices["etherd/e0.1p1"].source("size")
    assert source is not None
    assert source.key == "/sys/block/etherd!e0.1/etherd!e0.1p1/size"


def test_a_virtual_machine_with_nothing_but_loops() -> None:
    loops = {
        **disk("loop0", "7:0", loop__backing_file="/srv/image"),
        **queue("loop0", scheduler="none"),
        **disk("loop1", "7:1", size=0),
    }
    devices, links = read(loops)
    assert (devices["loop0"].kind, devices["loop0"].backing_file, devices["loop0"].scheduler) == (
        "loop",
        "/srv/image",
        "none",
    )
    assert (devices["loop1"].kind, devices["loop1"].size, devices["loop1"].scheduler) == ("loop", 0, None)
    assert links == []


def test_a_virtio_disk_has_neither_vendor_nor_address() -> None:
    vda = {
        **disk("vda", "254:0", serial="vol-1"),
        "link:/sys/block/vda/device": "../../../virtio1",
        "link:/sys/block/vda/device/driver": "../../../../bus/virtio/drivers/virtio_blk",
        "/sys/block/vda/device/vendor": "0x1af4\n",
    }
    found = read(vda)[0]["vda"]
    assert (found.kind, found.driver, found.serial) == ("disk", "virtio_blk", "vol-1")
    assert (found.vendor, found.hctl, found.model) == (None, None, None)


@pytest.mark.parametrize(
    ("entry", "names", "kind"),
    [
        ("sda", ["device"], "disk"), ("sdaa", [], "disk"), ("vdb", [], "disk"), ("xvda", [], "disk"),
        ("cciss!c0d0", ["device"], "disk"), ("sr0", ["device"], "rom"), ("fd0", [], "floppy"), ("mmcblk0", [], "mmc"),
        ("nvme0n1", [], "nvme"), ("nvme10c2n33", [], "nvme_path"), ("md127", [], "md"), ("md_d0", [], "md"),
        ("home", ["md"], "md"), ("dm-12", ["dm"], "dm"), ("loop7", [], "loop"), ("ram0", [], "ram"),
        ("zram0", [], "zram"), ("nbd3", [], "nbd"), ("rbd0", [], "rbd"), ("etherd!e1.2", [], "aoe"),
        ("drbd0", [], "drbd"), ("drbd_r0", [], "drbd"), ("bcache0", ["bcache"], "bcache"),
        ("sdb", ["bcache", "device"], "disk"), ("zd16", [], "zvol"), ("pmem0", [], "pmem"), ("scinia", [], "scini"),
        ("whatever", [], "virtual"), ("whatever", ["device"], "disk"), ("mdx", [], "virtual"),
    ],
)  # fmt: skip
def test_kinds(entry: str, names: list[str], kind: str) -> None:
    assert kind_of(entry, names) == kind


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("none [mq-deadline] kyber", "mq-deadline"),
        ("[none] mq-deadline", "none"),
        ("none", "none"),
        ("noop deadline", None),
        ("", None),
        (None, None),
    ],
)
def test_the_scheduler_in_use(text: str | None, word: str | None) -> None:
    assert active(text) == word


@pytest.mark.parametrize(
    ("wwid", "name"),
    [
        ("naa.5000c500a1b2c3d4", "0x5000c500a1b2c3d4"),
        ("eui.0025385b71b0d1b2", "eui.0025385b71b0d1b2"),
        ("t10.ATA     DISK    S1", "t10.ATA DISK S1"),
        ("", None),
        (None, None),
    ],
)
def test_world_wide_names(wwid: str | None, name: str | None) -> None:
    assert wide_name(wwid) == name


def test_the_best_of_several_stable_names() -> None:
    names = parse_names(
        "S:disk/by-id/scsi-1\nS:disk/by-id/ata-1\nS:disk/by-id/zz\nS:disk/by-path/b\nS:disk/by-path/a\n"
    )
    assert (names.by_id, names.by_path) == ("ata-1", "a")
    assert parse_names("E:ID_PATH=pci-1\nE:ID_WWN=0x1\nE:ID_WWN_WITH_EXTENSION=0x12\n").by_path == "pci-1"
    assert parse_names("E:ID_WWN=0x1\nE:ID_WWN_WITH_EXTENSION=0x12\n").wwn == "0x12"
    assert parse_names("").by_id is None


@given(st.text())
def test_no_text_breaks_the_database(text: str) -> None:
    names = parse_names(text)
    for name in (names.wwn, names.serial, names.by_path, names.by_id):
        assert name is None or name in text


@given(st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_no_answer_breaks_it(said: Any) -> None:
    assert all(isinstance(device, str) for device in answered_names(said))


@given(st.sampled_from(sorted(SDA)), st.text(max_size=40))
def test_no_attribute_breaks_it(key: str, text: str) -> None:
    devices, _ = read({**SDA, key: text})
    assert "sda" in devices


def test_attributes_that_cannot_be_read_are_none() -> None:
    files = {key: Evidence(key, data=text.encode()) for key, text in SDA.items()}
    for key in ("/sys/block/sda/queue/scheduler", "/sys/block/sda/device/state", "/sys/block/sda/size"):
        files[key] = Evidence(key, Outcome.FAILED, detail="Invalid argument")
    found = next(iter(BLOCKDEV.read(EvidenceHost(files.values()))))
    assert isinstance(found, BlockDevice)
    assert (found.scheduler, found.state, found.size, found.model) == (None, None, None, "SPINNER 4000")


def test_a_hung_attribute_is_not_passed_over() -> None:
    files = {key: Evidence(key, data=text.encode()) for key, text in SDA.items()}
    files["/sys/block/sda/device/state"] = Evidence("/sys/block/sda/device/state", Outcome.TIMEOUT)
    with pytest.raises(TimedOut):
        list(BLOCKDEV.read(EvidenceHost(files.values())))


def test_absent_without_sysfs() -> None:
    with pytest.raises(Absent):
        list(BLOCKDEV.read(EvidenceHost()))


def test_the_fingerprint_follows_whole_devices_and_their_sizes() -> None:
    empty = {**SDA, "/proc/partitions": "major minor  #blocks  name\n\n"}
    sized = {**SDA, "/proc/partitions": "major minor  #blocks  name\n\n   8        0    1048576 sda\n"}
    marks = [fingerprint(EvidenceHost.of(files)) for files in (SDA, {**SDA, **disk("sdb", "8:16")}, empty, sized, {})]
    assert len(set(marks)) == len(marks)
    assert fingerprint(EvidenceHost.of(sized)) == fingerprint(EvidenceHost.of(dict(sized)))


EVENTS = "/sys/kernel/uevent_seqnum"
PARTITIONS = "major minor  #blocks  name\n\n   8        0    1048576 sda\n   8        1       1024 sda1\n"


def resting(files: Mapping[str, str]) -> RestingHost:
    host = RestingHost()
    host.apply([Evidence(key, data=text.encode()) for key, text in files.items()])
    return host


def asked(host: RestingHost) -> set[str]:
    host.touched = set()
    list(BLOCKDEV.read(host))
    return set(host.touched) - {TREE}


def test_without_an_event_only_states_and_write_protection_are_read_again() -> None:
    part = {"/sys/block/sda/sda1/partition": "1\n", "/sys/block/sda/sda1/ro": "0\n"}
    others = {**disk("nvme0n1", "259:0"), **disk("md0", "9:0"), **disk("loop3", "7:3"), **disk("zram0", "252:0")}
    nvme = {"/sys/block/nvme0n1/device/state": "live\n"}
    host = resting({**SDA, **part, **others, **nvme, EVENTS: "812\n", "/proc/partitions": PARTITIONS})
    assert "/sys/block/sda/queue/scheduler" in asked(host)
    assert asked(host) == {
        "list:/sys/block", "/proc/partitions", EVENTS, "/sys/block/sda/ro", "/sys/block/sda/device/state",
        "/sys/block/sda/sda1/ro", "/sys/block/nvme0n1/ro", "/sys/block/nvme0n1/device/state", "/sys/block/md0/ro",
    }  # fmt: skip
    for change in (
        {EVENTS: "813\n"},
        {"/proc/partitions": PARTITIONS.replace("1048576", "2097152")},
        disk("sdb", "8:16"),
    ):
        host.apply([Evidence(key, data=text.encode()) for key, text in change.items()])
        assert "/sys/block/sda/queue/scheduler" in asked(host)
        assert "/sys/block/sda/queue/scheduler" not in asked(host)


def test_what_changes_without_an_event_is_in_the_rows_of_the_next_run() -> None:
    host, replay = resting({**SDA, EVENTS: "812\n", "/proc/partitions": PARTITIONS}), Replay((BLOCKDEV,))
    replay.feed(sample(host, (BLOCKDEV,), 1, 0.0, 0.0))
    changes = {"/sys/block/sda/ro": b"1\n", "/sys/block/sda/device/state": b"offline\n"}
    host.apply([Evidence(key, data=data) for key, data in changes.items()])
    row = replay.feed(sample(host, (BLOCKDEV,), 2, 60.0, 60.0)).get(BlockDevice, "sda")
    assert row is not None
    assert (row.read_only, row.state, row.model, row.scheduler) == (1, "offline", "SPINNER 4000", "mq-deadline")


@pytest.mark.parametrize(
    ("name", "disk"),
    [("sda1", "sda"), ("nvme0n1p2", "nvme0n1"), ("mmcblk0p1", "mmcblk0"), ("md127p3", "md127"), ("sda", None),
     ("nvme0n1", None), ("dm-0", None)],
)  # fmt: skip
def test_the_disk_of_a_partition_by_its_name(name: str, disk: str | None) -> None:
    host = resting({f"/sys/block/{each}/ro": "0" for each in ("sda", "nvme0n1", "mmcblk0", "md127", "dm-0")})
    listed = f"major minor  #blocks  name\n\n   8        0    1048576 {name}\n"
    host.apply([Evidence("/proc/partitions", data=listed.encode())])
    asked(host)
    assert (f"/sys/block/{disk}/{name}/ro" in asked(host)) is (disk is not None)


def test_sources_of_fields() -> None:
    devices, _ = read(SDA, UDEV)
    host = EvidenceHost.of({**SDA, **UDEV})
    for device in devices.values():
        for field in ("size", "scheduler", "by_path", "read_only", "kind", "model", "wwn", "serial"):
            source = device.source(field)
            assert source is not None
            if getattr(device, field) is not None:
                assert host.evidence(source.key) is not None


@pytest.mark.parametrize(
    ("device", "said", "hosted"),
    [
        ("vda", {}, True),
        ("xvdb", {}, True),
        ("sda", {"driver": "virtio_blk"}, True),
        ("sda", {"vendor": "QEMU", "model": "QEMU HARDDISK"}, True),
        ("sda", {"vendor": "VMware", "model": "Virtual disk"}, True),
        ("nvme1n1", {"model": "Amazon Elastic Block Store"}, True),
        ("sda", {"vendor": "ATA", "model": "ST4000NM0035"}, False),
        ("nvme0n1", {"model": "SAMSUNG MZQL2"}, False),
        ("sda", {}, False),
    ],
)
def test_disks_that_a_hypervisor_or_a_cloud_serves(device: str, said: dict[str, str], hosted: bool) -> None:  # noqa: FBT001
    assert BlockDevice(device, "disk", **said).hosted is hosted  # type: ignore[arg-type]
