"""HBAs and the ways to disks, from links and attributes in sysfs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.hba import HBA, kind_of, link_speed, link_width
from sdstop.collectors.fabric.readings import BLOCK, PCI, DiskPath, Hba
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.joins import ThingKind
from sdstop.core.model import Reading, Source
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.core.topologies import Topologies
from tests.fixtures import opened
from tests.nodes.hba import Card, files


def rows(found: dict[str, str]) -> list[Reading]:
    return list(HBA.read(EvidenceHost.of(found)))


def card(found: Card) -> Hba:
    said = [row for row in rows(files(found)) if isinstance(row, Hba)]
    assert len(said) == 1
    return said[0]


def test_an_hba_and_both_ends_of_its_link() -> None:
    row = card(Card(node=1))
    assert (row.hba, row.kind, row.device_id, row.driver, row.port, row.node) == (
        "0000:82:00.0", "sas", "1000:0097", "mpt3sas", "0000:80:02.0", 1,
    )  # fmt: skip
    assert (row.speed, row.width, row.max_speed, row.max_width) == (8e9, 8, 8e9, 8)
    assert (row.port_max_speed, row.port_max_width, row.port_device_id) == (8e9, 16, "8086:2f04")
    assert row.source("width") == Source(f"{PCI}/0000:82:00.0/current_link_width")
    assert row.source("port_max_width") == Source(f"{PCI}/0000:80:02.0/max_link_width")


def test_the_way_to_a_disk() -> None:
    found = files(Card())
    found["/sys/class/sas_device/end_device-130:0:1/bay_identifier"] = "17\n"
    path = next(row for row in rows(found) if isinstance(row, DiskPath) and row.device == "sdb")
    assert (path.hba, path.host, path.port, path.expander, path.end_device, path.bay) == (
        "0000:82:00.0", "host130", "port-130:0", "expander-130:0", "end_device-130:0:1", 17,
    )  # fmt: skip
    assert path.source() == Source(f"link:{BLOCK}/sdb")


def test_the_firmware_where_the_driver_says_it() -> None:
    assert card(Card(firmware="16.00.10.00")).firmware == "16.00.10.00"
    assert card(Card()).firmware is None
    found = files(Card(firmware="16.00.10.00"))
    found["link:/sys/bus/pci/devices/0000:82:00.0/driver"] = "../../../../bus/pci/drivers/ahci"
    assert next(row for row in rows(found) if isinstance(row, Hba)).firmware is None


def test_a_node_that_firmware_does_not_say_is_unknown() -> None:
    assert card(Card(node=-1)).node is None


def test_an_hba_without_disks_is_an_hba() -> None:
    assert card(Card(disks=())).port == "0000:80:02.0"


def test_a_network_card_is_none() -> None:
    assert rows(files(Card(disks=(), pci_class="0x020000"))) == []


@pytest.mark.parametrize(
    ("said", "speed"),
    [("8.0 GT/s PCIe", 8e9), ("8 GT/s", 8e9), ("2.5 GT/s", 2.5e9), ("Unknown", None), ("Unknown speed", None),
     ("", None), (None, None)],
)  # fmt: skip
def test_speeds(said: str | None, speed: float | None) -> None:
    assert link_speed(said) == speed


@pytest.mark.parametrize(("said", "lanes"), [(8, 8), (32, 32), (0, None), (255, None), (-1, None), (None, None)])
def test_widths(said: int | None, lanes: int | None) -> None:
    assert link_width(said) == lanes


@pytest.mark.parametrize(
    ("said", "kind"),
    [(0x010700, "sas"), (0x010802, "nvme"), (0x010601, "sata"), (0x018000, "storage"), (0x020000, None), (None, None)],
)
def test_classes(said: int | None, kind: str | None) -> None:
    assert kind_of(said) == kind


@given(st.text(max_size=30), st.integers())
def test_no_text_raises_anything(text: str, number: int) -> None:
    assert link_speed(text) is None or "GT/s" in text
    link_width(number)
    kind_of(number)
    found = files(Card(disks=()))
    names = ("numa_node", "current_link_speed", "max_link_width", "vendor")
    rows(found | {f"{PCI}/0000:82:00.0/{name}": text for name in names})


def last(fixture: str) -> Snapshot:
    origin, frames = opened(fixture)
    replay = Replay([HBA], known=origin.collectors)
    return [replay.feed(frame) for frame in frames][-1]


def test_hbas_of_a_real_kernel() -> None:
    shot = last("vm-sas-hba")
    ways = {name: (row.hba, row.host, row.end_device) for name, row in shot.rows(DiskPath).items()}
    assert ways == {
        "nvme0n1": ("0000:00:04.0", None, None),
        **{f"sd{c}": ("0000:00:02.0", "host0", None) for c in "abc"},
        "sdd": ("0000:00:03.0", "host1", None),
        "sde": ("0000:00:01.0", "host8", "end_device-8:0"),
        "sdf": ("0000:00:01.0", "host8", "end_device-8:1"),
        "vda": ("0000:00:05.0", None, None),
        "vdb": ("0000:00:06.0", None, None),
    }  # disks of scsi_debug hang on no hardware
    nvme = shot.rows(Hba)["0000:00:04.0"]
    assert (nvme.kind, nvme.speed, nvme.width, nvme.max_width, nvme.node) == ("nvme", None, None, None, None)


def test_behind_the_ports_of_the_far_node() -> None:
    row = last("vm-numa-one-dimm").rows(Hba)["0000:82:00.0"]
    assert (row.kind, row.port, row.node) == ("nvme", "0000:80:01.0", 1)
    assert (row.speed, row.width, row.max_speed, row.max_width) == (2.5e9, 1, 2.5e9, 1)
    assert (row.port_max_speed, row.port_max_width, row.port_device_id) == (16e9, 32, "1b36:000c")


def test_every_port_above_an_hba_is_below_it_in_the_topology() -> None:
    found = Card(0x82).files()
    base = f"{PCI}/{Card(0x82).address}"
    path = "0000:80:01.0/0000:81:00.0/0000:81:08.0"
    found[f"link:{base}"] = f"../../../devices/pci0000:80/{path}/{Card(0x82).address}"
    [row] = [each for each in rows(found) if isinstance(each, Hba)]
    assert (row.port, row.bridges) == ("0000:81:08.0", "0000:80:01.0,0000:81:00.0")
    topology = Topologies().of({Hba: {0: row}})
    hba = topology.find(row.hba)
    assert hba is not None
    assert {thing.name for thing in topology.below(hba)} == {*path.split("/"), "node0"}
    assert all(ThingKind.PCIE_LINK in thing.kinds for thing in topology.below(hba) if thing.name != "node0")
