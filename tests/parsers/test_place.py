"""The way to a device, by its folder's name."""

from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.place import PciePath, parse_place


def test_behind_an_expander() -> None:
    path = (
        "../devices/pci0000:80/0000:80:02.0/0000:82:00.0/host1/port-1:0/expander-1:0/port-1:0:5/end_device-1:0:5/"
        "target1:0:5/1:0:5:0/block/sdf"
    )
    assert parse_place(path) == PciePath(
        ("0000:80:02.0", "0000:82:00.0"), "host1", ("port-1:0", "port-1:0:5"), ("expander-1:0",), "end_device-1:0:5"
    )


def test_an_nvme_drive_and_a_device_of_no_hardware() -> None:
    place = parse_place("../devices/pci0000:80/0000:80:01.0/0000:82:00.0/nvme/nvme0/nvme0n1")
    assert place == PciePath(("0000:80:01.0", "0000:82:00.0"))
    assert parse_place("../devices/virtual/block/md0") == PciePath()


def test_a_long_domain_of_pci() -> None:
    assert parse_place("/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0/nvme").functions[-1] == "10000:01:00.0"


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    place = parse_place(text)
    assert all(part in text for part in (*place.functions, *place.ports, *place.expanders, place.host))
